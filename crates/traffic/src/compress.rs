//! Decompression, found by the first bytes of a file and streamed.

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// Bytes that tell the compressions apart.
pub(crate) const MAGIC_BYTES: usize = 6;

/// Read from the file at a time.
const CHUNK: usize = 256 << 10;

/// Memory a dictionary may ask for, KiB: `xz -9` needs 64 MiB, and a hostile header may claim 4 GiB.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// Window a Zstandard frame may ask for: 2^27 bytes, the limit of the `zstd` program.
const ZSTD_WINDOW: u64 = 1 << 27;

/// The name of a compression, and a reader of what is inside.
pub(crate) type Opened<'a> = (Option<&'static str>, Box<dyn Read + Send + 'a>);

/// Reads the first bytes of a source and puts a decompressor in front of it if they ask for one.
pub(crate) fn open<'a>(mut source: impl Read + Send + 'a) -> io::Result<Opened<'a>> {
    let mut start = Vec::with_capacity(MAGIC_BYTES);
    (&mut source).take(MAGIC_BYTES as u64).read_to_end(&mut start)?;
    let name = match start.as_slice() {
        [0x1f, 0x8b, ..] => "gzip",
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "xz",
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => "zstd",
        _ => return Ok((None, Box::new(io::Cursor::new(start).chain(source)))),
    };
    let source = BufReader::with_capacity(CHUNK, io::Cursor::new(start).chain(source));
    let reader: Box<dyn Read + Send + 'a> = match name {
        "gzip" => Box::new(MultiGzDecoder::new(source)),
        "xz" => Box::new(XzReader::new_mem_limit(source, true, XZ_MEMORY_KIB)),
        _ => Box::new(Frames::new(source)),
    };
    Ok((Some(name), reader))
}

/// Zstandard frames one after the other, as `pzstd` and `cat` make them; skippable frames are skipped.
struct Frames<R> {
    source: R,
    decoder: Box<FrameDecoder>,
    inside: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        let mut decoder = Box::new(FrameDecoder::new());
        decoder.set_max_window_size(ZSTD_WINDOW);
        Self { source, decoder, inside: false }
    }

    /// Begins the next frame; false at the end.
    fn begin(&mut self) -> io::Result<bool> {
        if self.source.fill_buf()?.is_empty() {
            return Ok(false);
        }
        match self.decoder.reset(&mut self.source) {
            Ok(()) => self.inside = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                let skipped = io::copy(&mut (&mut self.source).take(length.into()), &mut io::sink())?;
                if skipped < length.into() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
        }
        Ok(true)
    }

    /// Ends a frame whose bytes have all been handed out.
    fn end(&mut self) -> io::Result<()> {
        self.inside = false;
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside {
                if !self.begin()? {
                    return Ok(0);
                }
                continue;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            self.end()?;
        }
    }
}
