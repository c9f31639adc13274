//! Objects to send.

use std::io;
use std::sync::Arc;

use crate::HashTree;

/// Bytes that can be read at any offset, such as those of a file. They must not change while they are sent: receivers compare the hash.
pub trait Object: Send {
    /// Size in bytes.
    fn size(&self) -> u64;

    /// Fills `bytes` with the bytes from `offset` on, which are never beyond the end.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Permission bits, at most 0o777, that receivers may give to a file with these bytes. Default: only its owner may read and write it.
    fn mode(&self) -> u16 {
        0o600
    }

    /// The hashes of its parts, if they are known: otherwise the object is read once more when a receiver first asks for hashes.
    fn hash_tree(&self) -> Option<Arc<HashTree>> {
        None
    }
}

impl<T: AsRef<[u8]> + Send> Object for T {
    fn size(&self) -> u64 {
        self.as_ref().len() as u64
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(offset).ok();
        let found = start.and_then(|start| self.as_ref().get(start..start.checked_add(bytes.len())?));
        bytes.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
