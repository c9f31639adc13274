//! Subflows that ended without a FIN, and of which the other end may not know.

use super::bundle::{Set, members};

/// Subflows of one end that were reset.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Resets {
    ended: Set,
    /// Those for which the other end must be told so.
    due: Set,
}

impl Resets {
    /// Subflow `i` has ended; `told`: the other end is to be told.
    pub(super) fn end(&mut self, i: usize, told: bool) {
        self.ended |= 1 << i;
        self.due |= Set::from(told) << i;
    }

    /// The other end has told that subflow `i` is over.
    pub(super) fn on_reset(&mut self, i: usize) {
        self.due &= !(1 << i);
    }

    /// A segment of subflow `i` arrived. Whether that has ended: a segment for a connection that does not exist is answered with a reset
    /// (RFC 9293 §3.10.7.1).
    pub(super) fn answer(&mut self, i: usize) -> bool {
        self.due |= self.ended & (1 << i);
        self.ended & (1 << i) != 0
    }

    /// The next subflow whose reset leaves.
    pub(super) fn take(&mut self) -> Option<usize> {
        let next = members(self.due).next();
        next.inspect(|i| self.due &= !(1 << i))
    }

    /// Whether any has to leave.
    pub(super) fn any_due(&self) -> bool {
        self.due != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_end_is_told_again_as_long_as_it_sends() {
        let mut resets = Resets::default();
        resets.end(1, false);
        resets.end(3, true);
        assert_eq!([resets.take(), resets.take()], [Some(3), None], "1 was ended by the other end");
        assert!(resets.answer(1) && resets.answer(3) && !resets.answer(0));
        resets.on_reset(3);
        assert_eq!((resets.any_due(), resets.take(), resets.any_due()), (true, Some(1), false));
    }
}
