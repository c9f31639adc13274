//! A file as a window of bytes that moves forward: large reads, no seeks, memory of one buffer.

use crate::compress;
use crate::error::{Place, ReadError};
use crate::watch::Watch;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// Bytes of the window. Large enough that a read(2) costs little, small enough to stay in the second-level cache.
pub(crate) const CAPACITY: usize = 512 << 10;

/// A file that is being read.
pub(crate) struct Input<'a> {
    source: Box<dyn Read + Send + 'a>,
    compression: Option<&'static str>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes before `start`.
    offset: u64,
    ended: bool,
    failure: Option<Failure>,
    watch: &'a Watch,
}

/// What came of reading more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    /// The window grew.
    Some,
    /// The window is as large as it gets.
    Full,
    /// The file has ended.
    End,
}

/// Counts what is read.
struct Watched<'a, R> {
    inner: R,
    watch: &'a Watch,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.watch.add(read as u64);
        Ok(read)
    }
}

/// What has no end, or no bytes, is no file to read; a pipe is.
fn refuse(there: &Metadata) -> io::Result<()> {
    if there.is_dir() {
        return Err(io::Error::other("is a folder, expected a file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let kind = there.file_type();
        if kind.is_char_device() || kind.is_block_device() || kind.is_socket() {
            return Err(io::Error::other("is a device or a socket, expected a file"));
        }
    }
    Ok(())
}

impl<'a> Input<'a> {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(path: &str, watch: &'a Watch) -> io::Result<Self> {
        if path == "-" {
            return Self::new(io::stdin(), watch);
        }
        // Before it is opened: that may wait, or start something.
        refuse(&std::fs::metadata(Path::new(path))?)?;
        Self::new(File::open(Path::new(path))?, watch)
    }

    /// Reads from anything.
    pub(crate) fn new(source: impl Read + Send + 'a, watch: &'a Watch) -> io::Result<Self> {
        let (compression, source) = compress::open(Watched { inner: source, watch })?;
        Ok(Self {
            source,
            compression,
            buffer: vec![0; CAPACITY],
            start: 0,
            end: 0,
            offset: 0,
            ended: false,
            failure: None,
            watch,
        })
    }

    /// How the file is compressed.
    pub(crate) fn compression(&self) -> Option<&'static str> {
        self.compression
    }

    /// The bytes read and not yet consumed.
    pub(crate) fn window(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Bytes before the window.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The place of a byte.
    pub(crate) fn place(&self, offset: u64) -> Place {
        Place::Byte { offset, decompressed: self.compression.is_some() }
    }

    /// Gives back the first bytes of the window.
    pub(crate) fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.end - self.start);
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Reads more behind the window.
    pub(crate) fn more(&mut self) -> Result<More, ReadError> {
        if self.ended {
            return Ok(More::End);
        }
        if self.watch.interrupted() {
            return Err(ReadError::Interrupted);
        }
        // A decompressor that has failed says that the data end here when it is asked again.
        if let Some(failure) = &self.failure {
            return Err(failure.tell());
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let Some(room) = self.buffer.get_mut(self.end..).filter(|room| !room.is_empty()) else {
            return Ok(More::Full);
        };
        let read = loop {
            match self.source.read(room) {
                Ok(read) => break read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let failure = self.failed(&error);
                    return Err(self.failure.insert(failure).tell());
                }
            }
        };
        self.end += read;
        self.ended = read == 0;
        Ok(if self.ended { More::End } else { More::Some })
    }

    /// Reads until the window holds some number of bytes, at most [`CAPACITY`]; false if the file ends before.
    pub(crate) fn fill(&mut self, bytes: usize) -> Result<bool, ReadError> {
        while self.end - self.start < bytes {
            if self.more()? != More::Some {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Skips bytes, more than the window holds if need be; false if the file ends before.
    pub(crate) fn skip(&mut self, mut bytes: u64) -> Result<bool, ReadError> {
        loop {
            let here = bytes.min((self.end - self.start) as u64);
            self.consume(here as usize);
            bytes -= here;
            if bytes == 0 {
                return Ok(true);
            }
            if self.more()? == More::End {
                return Ok(false);
            }
        }
    }

    fn failed(&self, error: &io::Error) -> Failure {
        match (self.compression, error.raw_os_error()) {
            // The system's errors have a number, the decompressor's have not.
            (Some(name), None) => {
                let place = self.place(self.offset + (self.end - self.start) as u64);
                let message = if error.kind() == io::ErrorKind::UnexpectedEof {
                    format!("the {name} data ends too early")
                } else {
                    format!("the {name} data is damaged ({error})")
                };
                Failure::Data(place, message)
            }
            (_, Some(number)) => Failure::System(number),
            (None, None) => Failure::Other(error.kind(), error.to_string()),
        }
    }
}

/// Why nothing more can be read; kept, as it is told whenever more is asked for.
enum Failure {
    Data(Place, String),
    System(i32),
    Other(io::ErrorKind, String),
}

impl Failure {
    fn tell(&self) -> ReadError {
        match self {
            Self::Data(place, message) => {
                ReadError::hinted(*place, message.clone(), "--keep-partial keeps what was read before it")
            }
            Self::System(number) => ReadError::Io(io::Error::from_raw_os_error(*number)),
            Self::Other(kind, message) => ReadError::Io(io::Error::new(*kind, message.clone())),
        }
    }
}
