//! What can be sent.

use std::io;
use std::sync::Arc;

use crate::HashTree;

/// Bytes that can be read at any place, such as those of a file. They must not change while they are sent: receivers compare the hash.
pub trait Object: Send {
    /// How many bytes there are.
    fn size(&self) -> u64;

    /// Reads the bytes from `offset` on, as many as `bytes` has room for: never beyond the end.
    ///
    /// # Errors
    ///
    /// What the system says.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// The hashes of its parts, if they are known: otherwise it is read once more when a receiver first asks for some.
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
