//! Files made before a run, and files compared after it.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use rand::Rng;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Bytes at a time.
const CHUNK: usize = 1 << 20;

/// Writes so many random bytes. Name and seed decide which.
pub(crate) fn write_random(path: &Path, name: &str, seed: u64, size: u64) -> std::io::Result<()> {
    // FNV-1a: files of one seed differ.
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ hash);
    let mut file = BufWriter::new(File::create_new(path)?);
    let (mut left, mut chunk) = (size, vec![0; CHUNK]);
    while left > 0 {
        let now = left.min(CHUNK as u64) as usize;
        random.fill_bytes(&mut chunk[..now]);
        file.write_all(&chunk[..now])?;
        left -= now as u64;
    }
    file.flush()
}

/// What is wrong if two files are not the same, byte for byte.
pub(crate) fn difference(one: &Path, other: &Path) -> Option<String> {
    match compare(one, other) {
        Ok(None) => None,
        Ok(Some(at)) => Some(format!("{} differs from {} at byte {at}", other.display(), one.display())),
        Err((path, error)) => Some(format!("{}: {error}", path.display())),
    }
}

fn compare<'p>(one: &'p Path, other: &'p Path) -> Result<Option<u64>, (&'p Path, std::io::Error)> {
    let open = |path: &'p Path| File::open(path).map_err(|error| (path, error));
    let (mut first, mut second) = (open(one)?, open(other)?);
    let (mut a, mut b) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
    let mut position = 0;
    loop {
        a.clear();
        b.clear();
        (&mut first).take(CHUNK as u64).read_to_end(&mut a).map_err(|error| (one, error))?;
        (&mut second).take(CHUNK as u64).read_to_end(&mut b).map_err(|error| (other, error))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_depend_on_seed_and_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = |file: &str, name: &str, seed, size| {
            let path = folder.path().join(file);
            write_random(&path, name, seed, size).expect("it can be written");
            path
        };
        let first = made("1", "a", 1, 3_000_000);
        assert_eq!(std::fs::metadata(&first).expect("it is there").len(), 3_000_000);
        assert_eq!(difference(&first, &made("2", "a", 1, 3_000_000)), None);
        assert!(difference(&first, &made("3", "a", 2, 3_000_000)).is_some());
        assert!(difference(&first, &made("4", "b", 1, 3_000_000)).is_some());
        let shorter = difference(&first, &made("5", "a", 1, 2_999_999)).expect("a difference");
        assert!(shorter.ends_with("at byte 2999999"), "{shorter}");
        assert!(difference(&first, &folder.path().join("none")).is_some_and(|what| what.contains("No such file")));
    }
}
