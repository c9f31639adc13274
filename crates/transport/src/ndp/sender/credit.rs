//! How many packets a sender may send: those that it was asked for, and a few that nobody asked for.

/// A pull this far ahead of the last one is not believed. Real jumps are lost pulls: windows that the receiver asked
/// for and wrote off.
const MOST_PULLS_SKIPPED: u64 = 1 << 20;

/// Leave to send.
#[derive(Clone, Debug)]
pub(super) struct Credit {
    /// Highest pull that came.
    pull: u64,
    /// Last pull answered. Those from here to `pull` are credit: a pull may overtake the NACK that gives it its
    /// meaning.
    answered: u64,
    /// Most credit ever owed: the initial window.
    most: u32,
    /// Packets that may leave without a pull: the initial window, and what a timeout or a returned header allows.
    unasked: u32,
    /// What the next unasked packet answers all the same: the pull of the returned packet whose place it takes, or 0.
    answers: u64,
    /// Length of the unasked burst, told in its packets.
    burst: u16,
}

impl Credit {
    /// For an object of so many packets, of which `initial_window` are pushed unasked.
    pub(super) fn new(initial_window: u32, packets: u64) -> Self {
        let burst = u64::from(initial_window).min(packets) as u32;
        Self { pull: 0, answered: 0, most: initial_window, unasked: burst, answers: 0, burst: burst as u16 }
    }

    /// Highest pull that came.
    pub(super) fn last_pull(&self) -> u64 {
        self.pull
    }

    /// Packets that were asked for and have not left.
    pub(super) fn asked(&self) -> u64 {
        self.pull - self.answered
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked() == 0 && self.unasked == 0
    }

    /// Whether packets may leave without a pull.
    pub(super) fn may_send_unasked(&self) -> bool {
        self.unasked > 0
    }

    /// Length of the unasked burst.
    pub(super) fn burst(&self) -> u16 {
        self.burst
    }

    /// Pull numbers are cumulative (NDP §3.2): one that jumps by `n` asks for `n` packets, one that is late for none. Those up to
    /// `void` need no answer. `pushed`: packets of the initial window are still expected.
    pub(super) fn on_pull(&mut self, number: u64, void: u64, pushed: bool) {
        if !pushed {
            // While the application was slow, the receiver has given up the rest of the initial window, and asks for it.
            self.unasked = 0;
        }
        if number > self.pull && number - self.pull <= MOST_PULLS_SKIPPED {
            self.pull = number;
            let forgotten = number.saturating_sub(u64::from(self.most));
            self.answered = self.answered.max(void.min(number)).max(forgotten);
        }
    }

    /// A packet leaves; returns the pull that it answers, 0 if none.
    pub(super) fn spend(&mut self) -> u64 {
        if self.asked() > 0 {
            self.answered += 1;
            self.answered
        } else {
            self.unasked -= 1;
            std::mem::take(&mut self.answers)
        }
    }

    /// There is nothing to send: pulls are kept, leave to send unasked is not.
    pub(super) fn give_up_unasked(&mut self) {
        self.unasked = 0;
    }

    /// The returned packet that answered `pull` leaves again at once.
    pub(super) fn allow_instead(&mut self, pull: u64) {
        (self.unasked, self.answers) = (1, pull);
    }

    /// After a timeout `count` packets may leave, asked for or not.
    pub(super) fn allow(&mut self, count: u32) {
        self.unasked = count.saturating_sub(self.asked() as u32);
    }

    /// The receiver may know nothing of the connection, which one packet is to open.
    pub(super) fn open_with_one(&mut self) {
        self.burst = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend_all(credit: &mut Credit) -> Vec<u64> {
        std::iter::from_fn(|| (!credit.is_empty()).then(|| credit.spend())).collect()
    }

    #[test]
    fn an_initial_window_leaves_unasked_and_then_a_packet_for_each_pull() {
        let mut credit = Credit::new(12, 3);
        assert_eq!((credit.burst(), spend_all(&mut credit)), (3, vec![0; 3]));
        credit.on_pull(2, 0, true);
        assert_eq!(spend_all(&mut credit), [1, 2], "a later pull makes up for a lost one");
        credit.on_pull(1, 0, true);
        assert!(credit.is_empty(), "late");
        credit.on_pull(5, 4, true);
        assert_eq!(spend_all(&mut credit), [5], "the others are void");
    }

    #[test]
    fn no_pull_asks_for_more_than_a_window_and_absurd_ones_for_nothing() {
        let mut credit = Credit::new(12, 3);
        credit.give_up_unasked();
        credit.on_pull(MOST_PULLS_SKIPPED + 1, 0, true);
        assert!(credit.is_empty());
        credit.on_pull(100, 0, true);
        assert_eq!((credit.asked(), credit.spend()), (12, 89));
    }

    #[test]
    fn a_receiver_that_has_given_up_the_initial_window_asks_for_it() {
        let mut credit = Credit::new(12, 100);
        credit.on_pull(1, 0, false);
        assert_eq!(spend_all(&mut credit), [1]);
    }

    #[test]
    fn what_leaves_after_a_timeout_uses_up_pulls_first() {
        let mut credit = Credit::new(1, 100);
        credit.on_pull(1, 0, false);
        credit.allow(3);
        assert_eq!(spend_all(&mut credit), [1, 0, 0]);
    }

    #[test]
    fn a_returned_packet_answers_its_pull_when_it_leaves_again() {
        let mut credit = Credit::new(1, 100);
        credit.give_up_unasked();
        credit.allow_instead(7);
        assert_eq!(spend_all(&mut credit), [7]);
    }
}
