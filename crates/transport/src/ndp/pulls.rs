//! The receiver's account of what it has asked for and not yet got.
//!
//! NDP's pull clock (one pull for each arrival) runs down when packets vanish together with their headers: each takes
//! its pull with it, and when the last one is gone nothing moves any more. So the receiver counts what is owed, and
//! writes off what has not come for a whole timeout; what is written off is asked for again, through the host's paced
//! pull queue. An answer that comes after it was written off changes nothing: a timeout that was too short doubles what is
//! in flight for a round trip and adds no packets for good. While no round trip is known every timeout may be too short, so
//! that nothing is written off then.

/// Pulls sent, by age. Pull numbers start at 1; number 0 stands for the initial window, which nobody asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Pulls {
    /// The last pull sent.
    sent: u64,
    /// Pulls up to this one are done with: answered or written off.
    void: u64,
    /// Pulls above `void` and up to this one were sent before the last [`Self::age`].
    old_end: u64,
    /// Packets of the initial window that have not come.
    unasked: u32,
    /// Whether the initial window is younger than the last [`Self::age`].
    unasked_young: bool,
    /// Unanswered pulls of `void + 1 ..= old_end`.
    old: u32,
    /// Unanswered pulls of `old_end + 1 ..= sent`.
    young: u32,
}

impl Pulls {
    /// The connection opens: a burst of `unasked` packets is on its way.
    pub(super) fn open(unasked: u32) -> Self {
        Self { unasked, unasked_young: true, ..Self::default() }
    }

    /// Packets that should still come.
    pub(super) fn outstanding(&self) -> u32 {
        self.unasked + self.old + self.young
    }

    /// The oldest pull that should still be answered; which of those of its age is a guess: that they are answered in order.
    pub(super) fn oldest(&self) -> u64 {
        match () {
            () if self.unasked > 0 => 0,
            () if self.old > 0 => self.old_end + 1 - u64::from(self.old),
            () => self.sent + 1 - u64::from(self.young),
        }
    }

    /// Whether packets of the initial window should still come.
    pub(super) fn expects_pushed(&self) -> bool {
        self.unasked > 0
    }

    /// The last pull sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Pulls up to this one need no answer any more.
    pub(super) fn void(&self) -> u64 {
        self.void
    }

    /// One more pull leaves; returns its number.
    pub(super) fn send(&mut self) -> u64 {
        self.sent += 1;
        self.young += 1;
        self.sent
    }

    /// A packet came that answers pull `number`. Late and repeated answers are harmless, numbers never sent
    /// meaningless.
    pub(super) fn answer(&mut self, number: u64) {
        let owed = if number == 0 {
            &mut self.unasked
        } else if number <= self.void || number > self.sent {
            return;
        } else if number <= self.old_end {
            &mut self.old
        } else {
            &mut self.young
        };
        *owed = owed.saturating_sub(1);
    }

    /// Nobody asked for the packet that came, and it is new: the sender has repeated it, so one that was asked for is lost. Only
    /// while nothing is written off, or it would be counted twice.
    pub(super) fn answer_by_repetition(&mut self) {
        if self.unasked > 0 {
            self.unasked -= 1;
        } else if self.old > 0 {
            self.old -= 1;
        } else {
            self.young = self.young.saturating_sub(1);
        }
    }

    /// A timeout has passed since the last call: what was old then is written off, what was young is old. Returns how
    /// many were written off.
    pub(super) fn age(&mut self) -> u32 {
        let unasked = if std::mem::take(&mut self.unasked_young) { 0 } else { std::mem::take(&mut self.unasked) };
        let lost = unasked + self.old;
        (self.void, self.old_end) = (self.old_end, self.sent);
        (self.old, self.young) = (self.young, 0);
        lost
    }

    /// Nothing has come for a timeout: everything is written off. Returns how many.
    pub(super) fn write_off(&mut self) -> u32 {
        let lost = self.outstanding();
        *self = Self { sent: self.sent, void: self.sent, old_end: self.sent, ..Self::default() };
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_answered_within_two_ages_is_written_off() {
        let mut p = Pulls::open(3);
        p.answer(0);
        assert_eq!((p.send(), p.send(), p.outstanding()), (1, 2, 4));
        assert_eq!(p.age(), 0);
        p.send();
        p.answer(1);
        assert_eq!(p.outstanding(), 4);
        // Lost: two unasked packets and pull 2. Pull 3 is too young to tell.
        assert_eq!((p.age(), p.outstanding(), p.void()), (3, 1, 2));
        p.answer(2);
        p.answer(0);
        assert_eq!(p.outstanding(), 1, "late answers change nothing");
        p.answer(3);
        p.answer(3);
        p.answer(99);
        assert_eq!(p.outstanding(), 0);
        assert_eq!(p.age(), 0);
    }

    #[test]
    fn the_oldest_is_of_the_greatest_age_of_which_any_is_owed() {
        let mut p = Pulls::open(1);
        (0..4).for_each(|_| _ = p.send());
        p.age();
        (0..2).for_each(|_| _ = p.send());
        assert_eq!(p.oldest(), 0, "the initial window");
        // One of the young ones is answered before the last of the old ones.
        for number in [0, 1, 2, 3, 5] {
            p.answer(number);
        }
        let taken: Vec<u64> = std::iter::repeat_with(|| {
            let oldest = p.oldest();
            p.answer(oldest);
            oldest
        })
        .take(3)
        .collect();
        assert_eq!((taken, p.outstanding()), (vec![4, 6, 7], 0), "7 was never sent");
    }

    #[test]
    fn silence_writes_everything_off() {
        let mut p = Pulls::open(12);
        p.send();
        assert_eq!((p.write_off(), p.outstanding(), p.void()), (13, 0, 1));
        assert_eq!(p.send(), 2);
        p.answer(1);
        assert_eq!(p.outstanding(), 1);
        p.answer(2);
        assert_eq!(p.outstanding(), 0);
    }
}
