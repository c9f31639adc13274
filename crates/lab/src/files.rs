//! Files made before a run, and files compared after it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use rand::Rng;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::LabError;
use crate::process::Stop;

/// Bytes at a time.
const CHUNK: usize = 1 << 20;

/// Writes so many random bytes. Name and seed decide which.
///
/// # Errors
/// [`LabError::Path`], and [`LabError::Stopped`] if `stop` says so.
pub(crate) fn write_random(path: &Path, name: &str, seed: u64, size: u64, stop: Stop<'_>) -> Result<(), LabError> {
    // FNV-1a: files of one seed differ.
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ hash);
    let mut file = File::create_new(path).map_err(LabError::path(path))?;
    let (mut left, mut chunk) = (size, vec![0; CHUNK]);
    while left > 0 {
        if stop() {
            return Err(LabError::Stopped);
        }
        let now = left.min(CHUNK as u64) as usize;
        random.fill_bytes(&mut chunk[..now]);
        file.write_all(&chunk[..now]).map_err(LabError::path(path))?;
        left -= now as u64;
    }
    Ok(())
}

/// The difference of two files, if they are not equal byte for byte. A file that cannot be read equals none.
///
/// # Errors
/// [`LabError::Stopped`] if `stop` says so.
pub(crate) fn difference(one: &Path, other: &Path, stop: Stop<'_>) -> Result<Option<String>, LabError> {
    match compare(one, other, stop) {
        Ok(None) => Ok(None),
        Ok(Some(at)) => Ok(Some(format!("{} differs from {} at byte {at}", other.display(), one.display()))),
        Err(LabError::Stopped) => Err(LabError::Stopped),
        Err(error) => Ok(Some(error.to_string())),
    }
}

fn compare(one: &Path, other: &Path, stop: Stop<'_>) -> Result<Option<u64>, LabError> {
    let (mut first, mut second) = (open(one)?, open(other)?);
    let (mut a, mut b) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
    let mut position = 0;
    loop {
        if stop() {
            return Err(LabError::Stopped);
        }
        a.clear();
        b.clear();
        (&mut first).take(CHUNK as u64).read_to_end(&mut a).map_err(LabError::path(one))?;
        (&mut second).take(CHUNK as u64).read_to_end(&mut b).map_err(LabError::path(other))?;
        if a != b {
            let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            return Ok(Some(position + same as u64));
        }
        if a.is_empty() {
            return Ok(None);
        }
        position += a.len() as u64;
    }
}

/// A file that has an end: devices have none, and a pipe waits for its writer.
fn open(path: &Path) -> Result<File, LabError> {
    let data = std::fs::metadata(path).map_err(LabError::path(path))?;
    if !data.is_file() {
        return Err(LabError::path(path)(io::Error::other("is no regular file")));
    }
    File::open(path).map_err(LabError::path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO_ON: Stop<'_> = &|| false;

    fn different(one: &Path, other: &Path) -> Option<String> {
        difference(one, other, GO_ON).expect("nobody stops it")
    }

    #[test]
    fn bytes_depend_on_seed_and_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = |file: &str, name: &str, seed, size| {
            let path = folder.path().join(file);
            write_random(&path, name, seed, size, GO_ON).expect("it can be written");
            path
        };
        let first = made("1", "a", 1, 3_000_000);
        assert_eq!(std::fs::metadata(&first).expect("it is there").len(), 3_000_000);
        assert_eq!(different(&first, &made("2", "a", 1, 3_000_000)), None);
        assert!(different(&first, &made("3", "a", 2, 3_000_000)).is_some());
        assert!(different(&first, &made("4", "b", 1, 3_000_000)).is_some());
        let shorter = different(&first, &made("5", "a", 1, 2_999_999)).expect("a difference");
        assert!(shorter.ends_with("at byte 2999999"), "{shorter}");
        assert!(different(&first, &folder.path().join("none")).is_some_and(|what| what.contains("No such file")));
    }

    #[test]
    fn who_stops_it_need_not_wait() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        // The third of a million chunks is not written.
        let asked = std::cell::Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) == 2;
        let stopped = write_random(&path, "x", 1, 1 << 40, &stop);
        assert!(matches!(stopped, Err(LabError::Stopped)));
        assert_eq!(std::fs::metadata(&path).expect("it is there").len(), 2 << 20);
        asked.set(1);
        assert!(matches!(difference(&path, &path, &stop), Err(LabError::Stopped)));
        assert_eq!(different(&path, &path), None);
    }

    #[test]
    fn what_has_no_end_is_not_compared() {
        let zero = Path::new("/dev/zero");
        assert_eq!(different(zero, zero).as_deref(), Some("/dev/zero: is no regular file"));
    }
}
