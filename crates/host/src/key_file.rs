//! Keys as text: `scdp-key-1:` and 64 hexadecimal digits on a line.

use std::fmt;

use thiserror::Error;
use zeroize::Zeroizing;

/// Why a text contains no key. `line` counts from 1; the text itself is never shown, as it may be most of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyFileError {
    /// No line has a key.
    #[error("no key: expected a line `{prefix}` and 64 hexadecimal digits")]
    Missing {
        /// The expected beginning of the line.
        prefix: &'static str,
    },
    /// A line is neither empty, nor a comment, nor a key of this kind.
    #[error("line {line}: expected `{prefix}` and 64 hexadecimal digits")]
    Line {
        /// The line.
        line: usize,
        /// The expected beginning of the line.
        prefix: &'static str,
    },
    /// A key of the wrong length.
    #[error("line {line}: a key has 64 hexadecimal digits, this one has {found} characters")]
    Length {
        /// The line.
        line: usize,
        /// Characters after the prefix.
        found: usize,
    },
    /// A character that is not a hexadecimal digit.
    #[error("line {line}: character {column} is not a hexadecimal digit")]
    Digit {
        /// The line.
        line: usize,
        /// The character's place in the line, from 1.
        column: usize,
    },
    /// A second key.
    #[error("line {line}: a second key; a file has one")]
    Second {
        /// The line.
        line: usize,
    },
    /// A key of zeros, from which sessions without a key derive theirs.
    #[error("line {line}: a key of zeros is no secret")]
    Zeros {
        /// The line.
        line: usize,
    },
}

/// The only key in `text`. Empty lines and lines that begin with `#` are skipped, and so is white space around a line.
pub(crate) fn parse(text: &str, prefix: &'static str) -> Result<Zeroizing<[u8; 32]>, KeyFileError> {
    let mut key = None;
    for (line, content) in (1..).zip(text.lines()) {
        let indent = content.chars().take_while(|c| c.is_whitespace()).count();
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let digits = content.strip_prefix(prefix).ok_or(KeyFileError::Line { line, prefix })?;
        if key.is_some() {
            return Err(KeyFileError::Second { line });
        }
        if let Some(at) = digits.chars().position(|c| !c.is_ascii_hexdigit()) {
            return Err(KeyFileError::Digit { line, column: indent + prefix.len() + at + 1 });
        }
        if digits.len() != 64 {
            return Err(KeyFileError::Length { line, found: digits.len() });
        }
        let mut bytes = Zeroizing::new([0; 32]);
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let value = |digit: u8| char::from(digit).to_digit(16).expect("checked above") as u8;
            *byte = value(pair[0]) << 4 | value(pair[1]);
        }
        if *bytes == [0; 32] {
            return Err(KeyFileError::Zeros { line });
        }
        key = Some(bytes);
    }
    key.ok_or(KeyFileError::Missing { prefix })
}

/// Formats bytes as hexadecimal digits.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
