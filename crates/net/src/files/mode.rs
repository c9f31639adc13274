//! Permission bits of files that are received: at most those that the sender's file has.

use std::fs::File;
use std::sync::LazyLock;

use rustix::fs::{Mode, fchmod};

/// While a file is incomplete, and for ever if its sender does not tell its mode: its owner alone may read it.
pub(super) const PRIVATE: u16 = 0o600;

/// Reading, writing and executing. Programs do not gain the rights of their owner or group (set-user-ID, set-group-ID) by being copied.
const BITS: u16 = 0o777;

/// The process's file mode creation mask, as it was first.
static UMASK: LazyLock<Mode> = LazyLock::new(|| {
    // The only way to ask for it everywhere. Files that other threads make meanwhile may be read by fewer.
    let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(mask);
    mask
});

/// The mode for a file whose sender tells this one.
fn for_sender(told: Option<u16>, umask: Mode) -> Mode {
    Mode::from_raw_mode((told.unwrap_or(PRIVATE) & BITS).into()).difference(umask)
}

/// Gives a complete file the mode that its sender tells, less what the process's mask forbids.
pub(super) fn set(file: &File, told: Option<u16>) {
    // Where files have no modes of their own, that fails, and nothing gets wider.
    let _ = fchmod(file, for_sender(told, *UMASK));
}

/// Makes sure that only its owner may read an incomplete file, whoever made it.
pub(super) fn make_private(file: &File) {
    let _ = fchmod(file, Mode::from_raw_mode(PRIVATE.into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mode_is_wider_than_the_senders_or_than_the_mask_allows() {
        for mask in [0, 0o022, 0o027, 0o077, 0o777] {
            let umask = Mode::from_raw_mode(mask);
            for told in (0..=0o7777).map(Some).chain([None]) {
                let mode = for_sender(told, umask).as_raw_mode();
                assert_eq!(mode & mask, 0);
                assert_eq!(mode & !u32::from(told.unwrap_or(PRIVATE)), 0, "{told:?}");
                assert_eq!(mode & 0o7000, 0, "{told:?}");
            }
        }
        let mode = |told| for_sender(told, Mode::from_raw_mode(0o022)).as_raw_mode();
        assert_eq!(
            [Some(0o600), Some(0o666), Some(0o4755), Some(0o1777), None].map(mode),
            [0o600, 0o644, 0o755, 0o755, 0o600]
        );
    }
}
