//! Reads and writes the fields of sealed bodies. All reads are bounded by the available bytes.

use super::WireError;

/// The rest of a body.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(WireError::Length)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (first, rest) = self.0.split_at_checked(length).ok_or(WireError::Length)?;
        self.0 = rest;
        Ok(first)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_be_bytes)
    }

    /// 0 or 1.
    pub(crate) fn bool(&mut self) -> Result<bool, WireError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Field("neither yes nor no")),
        }
    }

    /// A UTF-8 string, preceded by its length in one byte.
    pub(crate) fn string(&mut self) -> Result<&'a str, WireError> {
        let length = self.u8()?;
        std::str::from_utf8(self.bytes(usize::from(length))?).map_err(|_| WireError::Field("text"))
    }

    /// Nothing may follow.
    pub(crate) fn end(self) -> Result<(), WireError> {
        if self.0.is_empty() { Ok(()) } else { Err(WireError::Length) }
    }

    /// Only padding of zeros may follow.
    pub(crate) fn end_padded(self) -> Result<(), WireError> {
        if self.0.iter().all(|&byte| byte == 0) { Ok(()) } else { Err(WireError::Field("padding")) }
    }
}

/// Writes a string of at most 255 bytes in the format of [`Reader::string`].
pub(crate) fn put_string(out: &mut Vec<u8>, text: &str) {
    out.push(u8::try_from(text.len()).expect("its type keeps it short"));
    out.extend_from_slice(text.as_bytes());
}
