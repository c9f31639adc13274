//! Small opening packets for a host that does not answer padded ones: they show whether it is the path that drops these.
//!
//! A host that does not know the opener's address opens nothing for a small packet. It only says so, in a packet that is smaller still.

/// How often a padded packet is sent before a small one follows each: a host that is there has mostly answered by then.
const PADDED: u32 = 4;

/// Small packets that must have been answered, and none of the padded ones that were sent before each of them.
const ENOUGH: u32 = 12;

/// The small packets to one host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unpadded {
    due: bool,
    answered: u32,
}

impl Unpadded {
    /// A padded packet is sent, for the `times`-th time.
    pub(super) fn on_padded(&mut self, times: u32) {
        self.due = times > PADDED;
    }

    /// Whether a small packet is to be sent now.
    pub(super) fn take(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// One has been answered: the next padded packet is due. Returns whether padded ones do not arrive.
    pub(super) fn on_answer(&mut self) -> bool {
        self.answered += 1;
        self.answered >= ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_packet_follows_each_padded_one_that_is_repeated_for_long() {
        let mut unpadded = Unpadded::default();
        for times in 1..100 {
            unpadded.on_padded(times);
            assert_eq!((unpadded.take(), unpadded.take()), (times > PADDED, false));
            if times > PADDED {
                assert_eq!(unpadded.on_answer(), times - PADDED >= ENOUGH, "{times}");
            }
        }
    }
}
