//! Errors: which file, where in it, what is wrong, and what to do about it.

use std::fmt;
use std::io;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A byte of the file, or of what it holds when decompressed; 0 is the first.
    Byte {
        /// Bytes before it.
        offset: u64,
        /// Whether the bytes are those of the decompressed data.
        decompressed: bool,
    },
    /// A line of text, and the byte it begins at.
    Line {
        /// 1 is the first.
        line: u64,
        /// Bytes before it, of the decompressed data.
        offset: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte { offset, decompressed: false } => write!(f, "byte {offset}"),
            Self::Byte { offset, decompressed: true } => write!(f, "byte {offset} of the decompressed data"),
            Self::Line { line, offset } => write!(f, "line {line} (byte {offset})"),
        }
    }
}

/// Why there is no series.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The request contradicts itself, or asks for what cannot be.
    #[error("{message}{}", hint_line(.hint.as_deref()))]
    Request {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The file system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file is damaged, or not what it should be.
    #[error("{path}: {place}: {message}{}", hint_line(.hint.as_deref()))]
    Data {
        /// The file.
        path: String,
        /// Where.
        place: Place,
        /// What is wrong, and what was expected.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl IngestError {
    pub(crate) fn request(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Request { message: message.into(), hint: Some(hint.into()) }
    }
}

fn hint_line(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!("\nhint: {text}"))
}

/// What is wrong with a file, and where.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// Why the reading of a file ended early; the path is added further up.
#[derive(Debug)]
pub(crate) enum ReadError {
    Io(io::Error),
    Data(Box<Fault>),
    Request {
        message: String,
        hint: String,
    },
    Interrupted,
    /// The first stamp was all that was wanted.
    Peeked,
}

impl ReadError {
    pub(crate) fn data(place: Place, message: impl Into<String>) -> Self {
        Self::Data(Box::new(Fault { place, message: message.into(), hint: None }))
    }

    pub(crate) fn hinted(place: Place, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Data(Box::new(Fault { place, message: message.into(), hint: Some(hint.into()) }))
    }

    pub(crate) fn of(self, path: &str) -> IngestError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => IngestError::Io { path, source },
            Self::Data(fault) => {
                let Fault { place, message, hint } = *fault;
                IngestError::Data { path, place, message, hint }
            }
            Self::Request { message, hint } => {
                IngestError::Request { message: format!("{path}: {message}"), hint: Some(hint) }
            }
            Self::Interrupted | Self::Peeked => IngestError::Interrupted,
        }
    }
}

/// A record that cannot be put into a bin; its place is added by the reader.
#[derive(Debug)]
pub(crate) enum Refused {
    /// More bins than allowed.
    TooManyBins { stamp: i64, origin: i64, width: i64, max: usize },
    /// More bins in all series than allowed.
    TooManyInAll { max: usize },
    /// See [`ReadError::Peeked`].
    Peeked,
}

impl Refused {
    #[cold]
    pub(crate) fn at(self, place: Place) -> ReadError {
        match self {
            Self::TooManyBins { stamp, origin, width, max } => ReadError::hinted(
                place,
                format!(
                    "the stamp {} is {} from the first, {}: more than {max} bins of {}",
                    crate::stamp::show(stamp),
                    crate::stamp::duration(stamp.abs_diff(origin)),
                    crate::stamp::show(origin),
                    crate::stamp::duration(width.unsigned_abs()),
                ),
                "if the stamp is right, use wider bins or raise --max-bins (16 bytes of memory a bin); if it is damaged, \
                 --keep-partial keeps what comes before it",
            ),
            Self::TooManyInAll { max } => ReadError::hinted(
                place,
                format!("all series together have more than {max} bins here"),
                "use wider bins, choose series (--column, --row), or raise --max-bins (16 bytes of memory a bin)",
            ),
            Self::Peeked => ReadError::Peeked,
        }
    }
}
