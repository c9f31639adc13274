//! Exponential back-off, of all timers here and of the messages that hosts repeat.

use crate::units::Duration;

/// The pause after `times` earlier ones: they double from `first` up to `longest`.
#[inline]
pub fn back_off(first: Duration, longest: Duration, times: u32) -> Duration {
    Duration(first.ps().saturating_mul(1 << times.min(63))).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let ms = |times| back_off(Duration::from_ms(20), Duration::from_secs(1), times).ps() / 1_000_000_000;
        assert_eq!([0, 1, 2, 5, 6, 7, 100, u32::MAX].map(ms), [20, 40, 80, 640, 1000, 1000, 1000, 1000]);
    }
}
