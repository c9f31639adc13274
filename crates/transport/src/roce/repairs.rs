//! What a sender sends again after a gap, if it repeats single packets: which of them the receiver has, and which holes are still to be filled
//! (Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, §3.1).

use crate::ranges::RangeSet;

/// The packets between what is acknowledged and what was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Repairs {
    /// Those that have arrived out of order.
    arrived: RangeSet,
    /// Holes from here on, up to there, have not been sent again.
    from: u64,
    until: u64,
}

impl Repairs {
    /// All packets before `expected` have arrived, and so has `got`: whatever is missing before it is lost. Whether that is news.
    pub(super) fn on_gap(&mut self, expected: u64, got: u64) -> bool {
        self.on_ack(expected);
        self.until = self.until.max(got);
        got > expected && self.arrived.insert(got, got + 1)
    }

    /// All packets before `expected` have arrived.
    pub(super) fn on_ack(&mut self, expected: u64) {
        self.arrived.remove_below(expected);
        self.from = self.from.max(expected);
    }

    /// Nothing was acknowledged for too long: all holes before `fresh`, the first packet that was never sent, are to be filled again.
    pub(super) fn on_timeout(&mut self, acknowledged: u64, fresh: u64) {
        (self.from, self.until) = (acknowledged, fresh);
    }

    /// The packet to send again next.
    pub(super) fn next(&self) -> Option<u64> {
        let (hole, _) = self.arrived.gap_from(self.from);
        (hole < self.until).then_some(hole)
    }

    /// It is sent.
    pub(super) fn on_sent(&mut self, psn: u64) {
        self.from = psn + 1;
    }

    /// How many have arrived out of order.
    pub(super) fn arrived(&self) -> u64 {
        self.arrived.as_slice().iter().map(|range| range.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends all holes that are to be filled.
    fn fill(repairs: &mut Repairs) -> Vec<u64> {
        std::iter::from_fn(|| repairs.next().inspect(|&psn| repairs.on_sent(psn))).collect()
    }

    #[test]
    fn holes_before_what_has_arrived_are_filled_once() {
        let mut repairs = Repairs::default();
        assert_eq!(fill(&mut repairs).len(), 0);
        assert!(repairs.on_gap(3, 5));
        assert!(!repairs.on_gap(3, 5), "known");
        assert_eq!((fill(&mut repairs), repairs.arrived()), (vec![3, 4], 1));
        assert!(repairs.on_gap(3, 9) && repairs.on_gap(3, 7));
        assert_eq!(fill(&mut repairs), [6, 8]);
        assert_eq!(fill(&mut repairs).len(), 0);
        // 3 and 4 have come; nothing more is known to be lost.
        repairs.on_ack(6);
        assert_eq!((fill(&mut repairs), repairs.arrived()), (vec![], 2));
        // 6 and 8 were lost again: that only time tells.
        repairs.on_timeout(6, 12);
        assert_eq!(fill(&mut repairs), [6, 8, 10, 11]);
    }

    #[test]
    fn what_is_acknowledged_is_no_hole() {
        let mut repairs = Repairs::default();
        assert!(repairs.on_gap(0, 4));
        repairs.on_ack(2);
        assert_eq!(fill(&mut repairs), [2, 3]);
        repairs.on_ack(9);
        assert!(!repairs.on_gap(9, 4), "an old one");
        assert_eq!((fill(&mut repairs), repairs.arrived()), (vec![], 0));
    }
}
