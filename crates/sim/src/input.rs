//! Files that a scenario names: read whole, and only if they are regular files of a bounded size.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// Larger files are refused rather than read into memory.
pub(crate) const FILE_MAX: u64 = 256 << 20;

/// The text of a file.
///
/// # Errors
/// What the system says; or that the path leads to a device, a pipe or a folder, which may never end, or that there is
/// more in it than [`FILE_MAX`].
pub(crate) fn read(path: &Path) -> io::Result<String> {
    String::from_utf8(read_bytes(path)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// The bytes of a file.
///
/// # Errors
/// As [`read`], but for what is no text.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let refuse = |why: String| Err(io::Error::new(ErrorKind::InvalidInput, why));
    // Before it is opened: to open a pipe waits for its other end.
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return refuse("it is not a regular file".to_owned());
    }
    let too_large = |bytes: u64| refuse(format!("{bytes} bytes are more than the limit of {FILE_MAX}"));
    if about.len() > FILE_MAX {
        return too_large(about.len());
    }
    // It may grow, and files of the system have a length of zero.
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_MAX {
        return too_large(bytes.len() as u64);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_bounded_size() {
        let folder = std::env::temp_dir().join(format!("anabranch-input-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        let file = folder.join("small.csv");
        fs::write(&file, "a,b\n").expect("it can be written");
        assert_eq!(read(&file).expect("it can be read"), "a,b\n");
        assert!(read(&folder).is_err_and(|e| e.to_string().contains("not a regular file")));
        let large = folder.join("large.csv");
        File::create(&large).and_then(|f| f.set_len(FILE_MAX + 1)).expect("a sparse file can be made");
        assert!(read(&large).is_err_and(|e| e.to_string().contains("more than the limit")));
        if Path::new("/dev/zero").exists() {
            assert!(read(Path::new("/dev/zero")).is_err_and(|e| e.to_string().contains("not a regular file")));
        }
        assert!(read(&folder.join("none")).is_err_and(|e| e.kind() == ErrorKind::NotFound));
        fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
