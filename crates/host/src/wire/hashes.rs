//! Hashes: a page of an object's hash tree, for a receiver that asks for it.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | [prefix](super::Prefix) |
//! | 8..16 | number |
//! | 16..24 | MAC of the whole packet |
//! | 24.. | the page, sealed: level (1 byte), count (1 byte), index (8 bytes), and the hashes, 32 bytes each; then the tag of 16 bytes |

use super::{Kind, Reader, WireError};
use crate::hash_tree::{PAGE_HASHES, Page, TreeHash};

/// Bytes of the header of a packet of hashes.
pub const HASHES_HEADER: usize = Kind::Hashes.header_bytes();

/// A page of hashes. They are right if they match the hash of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashesRepr {
    /// Identifies the page.
    pub page: Page,
    /// Its hashes, 1 to 32.
    pub hashes: Vec<TreeHash>,
}

impl HashesRepr {
    /// Parses the page in the body of a packet of hashes, after decryption.
    ///
    /// # Errors
    /// [`WireError::Field`] or [`WireError::Length`].
    pub fn parse(body: &[u8]) -> Result<Self, WireError> {
        let mut body = Reader::new(body);
        let (level, count) = (body.u8()?, usize::from(body.u8()?));
        if level == 0 {
            return Err(WireError::Field("level"));
        }
        if !(1..=PAGE_HASHES).contains(&count) {
            return Err(WireError::Field("number of hashes"));
        }
        let page = Page { level, index: body.u64()? };
        let hashes = (0..count).map(|_| body.array()).collect::<Result<_, _>>()?;
        body.end()?;
        Ok(Self { page, hashes })
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        let hashes = &self.hashes[..self.hashes.len().min(PAGE_HASHES)];
        out.extend_from_slice(&[self.page.level, hashes.len() as u8]);
        out.extend_from_slice(&self.page.index.to_be_bytes());
        for hash in hashes {
            out.extend_from_slice(hash);
        }
    }
}
