//! The recorded progress of an incomplete file, from which another session can resume.
//!
//! The record follows the content, in the same file: its kind, the object's hash, and how many bytes from the beginning are there. It is written from
//! time to time, after the bytes that it counts. When a process is killed, the system still writes both. After a loss of power the disk may have the
//! record and not the bytes: then the hash of the whole does not match, and nothing is kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use anabranch_host::Manifest;

/// The record is written after each further `STEP` bytes. Less than that is not worth keeping.
const STEP: u64 = 16 << 20;

/// Magic number of the record.
const KIND: &[u8; 8] = b"scdp.p.1";
const RECORD: usize = KIND.len() + 32 + 8;

/// The parts of a file that are there.
#[derive(Debug)]
pub(super) struct Begun {
    hash: [u8; 32],
    size: u64,
    /// All bytes before this one are there.
    bytes: u64,
    /// Ranges that are there beyond those: few.
    beyond: BTreeMap<u64, u64>,
    recorded: u64,
}

impl Begun {
    /// What an earlier session has left in `file`; if that is of no use, nothing, and the file is emptied.
    pub(super) fn open(file: &File, manifest: &Manifest) -> io::Result<Self> {
        let (hash, size) = (manifest.hash, manifest.size);
        let bytes = recorded(file, &hash, size)?;
        if bytes.is_none() {
            file.set_len(0)?;
        }
        let bytes = bytes.unwrap_or(0);
        Ok(Self { hash, size, bytes, beyond: BTreeMap::new(), recorded: bytes })
    }

    /// Bytes that are there from the beginning.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The same, if they are worth keeping.
    pub(super) fn kept(&self) -> u64 {
        if self.bytes >= STEP { self.bytes } else { 0 }
    }

    /// Bytes have been written.
    pub(super) fn add(&mut self, file: &File, offset: u64, end: u64) -> io::Result<()> {
        if end > self.bytes {
            // Most blocks follow another one: a range grows, however much arrives before what comes first.
            let before = self.beyond.range_mut(..=offset).next_back().filter(|(_, known)| **known >= offset);
            match before {
                Some((_, known)) => *known = end.max(*known),
                None => _ = self.beyond.insert(offset, end),
            }
        }
        while let Some(next) = self.beyond.first_entry().filter(|next| *next.key() <= self.bytes) {
            self.bytes = self.bytes.max(next.remove());
        }
        if self.bytes - self.recorded >= STEP { self.record(file) } else { Ok(()) }
    }

    /// Writes the record.
    pub(super) fn record(&mut self, file: &File) -> io::Result<()> {
        let mut record = [0; RECORD];
        record[..8].copy_from_slice(KIND);
        record[8..40].copy_from_slice(&self.hash);
        record[40..].copy_from_slice(&self.bytes.to_le_bytes());
        file.write_all_at(&record, self.size)?;
        self.recorded = self.bytes;
        Ok(())
    }
}

/// The byte count in a file's record, if it has one for this object.
fn recorded(file: &File, hash: &[u8; 32], size: u64) -> io::Result<Option<u64>> {
    if file.metadata()?.len() != size + RECORD as u64 {
        return Ok(None);
    }
    let mut record = [0; RECORD];
    file.read_exact_at(&mut record, size)?;
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&record[40..]);
    let bytes = u64::from_le_bytes(bytes);
    Ok((record[..8] == *KIND && record[8..40] == *hash && bytes <= size).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_host::ObjectName;

    fn manifest(size: u64) -> Manifest {
        Manifest { hash: [7; 32], size, name: ObjectName::new("sea").expect("a name"), signature: None }
    }

    #[test]
    fn blocks_count_when_all_before_them_are_there() {
        let file = tempfile::tempfile().expect("a file");
        let mut begun = Begun::open(&file, &manifest(1000)).expect("opened");
        for (offset, end, bytes) in [(0, 10, 10), (20, 30, 10), (30, 40, 10), (10, 20, 40), (5, 15, 40), (35, 60, 60)] {
            begun.add(&file, offset, end).expect("added");
            assert_eq!(begun.bytes(), bytes, "{offset} to {end}");
        }
        assert!(begun.beyond.is_empty());
        assert_eq!(begun.kept(), 0);
        for offset in (100..900).step_by(10) {
            begun.add(&file, offset, offset + 10).expect("added");
            assert_eq!((begun.beyond.len(), begun.bytes()), (1, 60), "one range, however long");
        }
        begun.add(&file, 60, 100).expect("added");
        assert_eq!(begun.bytes(), 900);
    }

    #[test]
    fn the_record_tells_another_session_and_none_of_another_object() {
        let file = tempfile::tempfile().expect("a file");
        let size = 3 * STEP;
        let mut begun = Begun::open(&file, &manifest(size)).expect("opened");
        begun.add(&file, 0, STEP - 1).expect("added");
        assert_eq!(file.metadata().expect("there").len(), 0, "too little to be recorded");
        begun.add(&file, STEP - 1, STEP + 5).expect("added");
        assert_eq!(file.metadata().expect("there").len(), size + RECORD as u64);
        begun.add(&file, STEP + 5, STEP + 9).expect("added");
        assert_eq!(begun.kept(), STEP + 9);
        assert_eq!(Begun::open(&file, &manifest(size)).expect("opened").bytes(), STEP + 5);
        let other = Manifest { hash: [8; 32], ..manifest(size) };
        assert_eq!(Begun::open(&file, &other).expect("opened").bytes(), 0);
        assert_eq!(file.metadata().expect("there").len(), 0, "and nothing is left of it");
    }
}
