//! Whether as many blocks are under way as may be, so that a longer path or a faster link would carry no more.

use anabranch_transport::{Duration, Time};

use crate::limits::LIVE_BLOCKS;

/// Receivers that come at the same pace have all blocks under way for a moment now and then, after a loss.
const FULL_FOR: Duration = Duration::from_ms(500);

/// The blocks under way.
#[derive(Debug, Default)]
pub(super) struct Full {
    since: Option<Time>,
    told: bool,
    due: bool,
}

impl Full {
    /// So many blocks are under way.
    pub(super) fn on_blocks(&mut self, now: Time, blocks: u32) {
        if u64::from(blocks) + 1 < LIVE_BLOCKS {
            self.since = None;
            return;
        }
        if now.since(*self.since.get_or_insert(now)) >= FULL_FOR && !self.told {
            (self.told, self.due) = (true, true);
        }
    }

    /// Whether to tell the application so now: once.
    pub(super) fn take(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_and_only_if_it_lasts() {
        let (mut full, at) = (Full::default(), |ms| Time::ZERO + Duration::from_ms(ms));
        for ms in 0..2000 {
            full.on_blocks(at(ms), if ms % 400 == 0 { 63 } else { 64 });
        }
        assert!(!full.take());
        (2000..2501).for_each(|ms| full.on_blocks(at(ms), 65));
        assert!(full.take() && !full.take());
        (2501..9000).for_each(|ms| full.on_blocks(at(ms), 65));
        assert!(!full.take());
    }
}
