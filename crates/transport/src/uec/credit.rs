//! What a sender may send by its receiver's leave, and what it says that it wants.
//!
//! Receiver and sender count alike: all credit that is ever needed is what the sender holds and has been given, and one more for each packet
//! that was trimmed. A receiver knows of these first, so what a sender wants leaves out those that it knows of: its *target* does not
//! change when a packet is trimmed, when credit comes, or when it is spent. Messages that are lost or doubled make it wrong; a request sets it
//! right.

/// Credit that is this far ahead of the last is not believed. Real jumps are lost pulls.
const MOST_SKIPPED: u64 = 1 << 20;

/// Credit of a sender, in packets.
#[derive(Clone, Debug)]
pub(super) struct Credit {
    held: u64,
    /// It holds what it gave itself, and has heard nothing.
    speculating: bool,
    /// What the receiver has given in all.
    pulls: u64,
    /// Packets known to be trimmed.
    trims: u64,
    /// Highest target told.
    told: u64,
    /// Most that is asked for ahead.
    window: u64,
    /// Most that it may hold.
    most: u64,
}

impl Credit {
    /// A sender that begins with a window of its own accord, and may be given `ahead` more than it wants.
    pub(super) fn new(window: u32, ahead: u32) -> Self {
        let (window, ahead) = (u64::from(window), u64::from(ahead));
        Self { held: window, speculating: true, pulls: 0, trims: 0, told: 0, window, most: window + ahead }
    }

    /// Whether a packet may leave.
    #[inline]
    pub(super) fn has(&self) -> bool {
        self.held > 0
    }

    /// What the receiver has given in all.
    pub(super) fn pulls(&self) -> u64 {
        self.pulls
    }

    /// A packet leaves.
    pub(super) fn spend(&mut self) {
        self.held -= 1;
    }

    /// Whether no answer has come yet.
    pub(super) fn is_speculating(&self) -> bool {
        self.speculating
    }

    /// The receiver has answered, and decides from now on.
    pub(super) fn on_answer(&mut self) {
        if std::mem::take(&mut self.speculating) {
            self.held = 0;
        }
    }

    pub(super) fn on_trimmed(&mut self) {
        self.trims += 1;
    }

    /// It has given so much in all.
    pub(super) fn on_pull(&mut self, number: u64) {
        if number > self.pulls && number - self.pulls <= MOST_SKIPPED {
            self.held = (self.held + number - self.pulls).min(self.most);
            self.pulls = number;
        }
    }

    /// The target to be told with the next message, of a sender that has `work` packets to send.
    pub(super) fn tell(&mut self, work: u64) -> u64 {
        let wants = (self.pulls + work.min(self.window)).saturating_sub(self.held + self.trims);
        // Its own credit ends with the first answer: of a sender that is given none ahead, one packet must go on then
        // (uet-htsim: it "saves our bacon for short transfers").
        let least = if self.speculating && work > 0 && self.most == self.window { self.pulls + 1 } else { 0 };
        self.told = self.told.max(wants).max(least);
        self.told
    }

    /// What a request asks for in all, of a sender that has `work` packets to send and no credit: whatever the two have counted, and
    /// whatever was lost.
    pub(super) fn ask(&mut self, work: u64) -> u64 {
        self.tell(work);
        self.pulls + work.min(self.window)
    }

    /// Whether nothing more will come by what was told, although there is `work`.
    pub(super) fn is_stuck(&self, work: u64) -> bool {
        self.held == 0 && work > 0 && self.told + self.trims <= self.pulls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_all_that_will_ever_be_needed_whatever_happens() {
        let mut credit = Credit::new(3, 0);
        // Of 10 packets, three leave of its own accord; it asks three ahead.
        let targets: Vec<u64> = (7..10)
            .rev()
            .map(|left| {
                credit.spend();
                credit.tell(left)
            })
            .collect();
        assert_eq!(targets, [1, 2, 3]);
        credit.on_answer();
        assert!(!credit.has() && !credit.is_stuck(7));
        // One was trimmed, which adds to the work and not to the target.
        credit.on_trimmed();
        assert_eq!(credit.tell(8), 3);
        credit.on_pull(4);
        assert_eq!(credit.held, 3, "not more than a window");
        credit.on_pull(2);
        assert_eq!(credit.held, 3, "late");
    }

    #[test]
    fn an_answer_ends_what_it_does_of_its_own_accord_and_then_it_must_ask() {
        for ahead in [0, 50] {
            let mut credit = Credit::new(50, ahead);
            credit.spend();
            assert_eq!(
                credit.tell(20),
                u64::from(ahead == 0),
                "it holds enough, but for one more where none is given ahead"
            );
            credit.on_answer();
            assert_eq!((credit.is_stuck(20), credit.is_stuck(0)), (ahead > 0, false));
            assert_eq!(credit.tell(20), 20);
            assert!(!credit.is_stuck(20));
            credit.on_pull(20);
            (0..20).for_each(|_| credit.spend());
            assert!(credit.is_stuck(1), "a packet that timed out");
            credit.on_pull(MOST_SKIPPED * 2);
            assert!(!credit.has(), "absurd");
        }
    }
}
