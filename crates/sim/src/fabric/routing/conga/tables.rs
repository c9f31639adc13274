//! What a leaf knows of the paths to other leaves, and what it has heard of those from them (CONGA §3.3).

use super::header::Header;
use anabranch_transport::Duration;

/// A metric, and when it was last heard of.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    metric: u8,
    at: u64,
}

impl Heard {
    /// It counts as 0 when it is old.
    fn at(self, now: u64, age: Duration) -> u8 {
        if now - self.at > age.ps() { 0 } else { self.metric }
    }
}

/// The congestion-to-leaf table: of each leaf, what it has given back of each uplink here.
#[derive(Debug)]
pub(super) struct ToLeaf {
    age: Duration,
    leaves: Vec<Vec<Heard>>,
}

impl ToLeaf {
    pub(super) fn new(leaves: usize, uplinks: usize, age: Duration) -> Self {
        Self { age, leaves: vec![vec![Heard::default(); uplinks]; leaves] }
    }

    /// How congested the path by an uplink to a leaf is, as far as that is known.
    pub(super) fn metric(&self, leaf: u32, tag: usize, now: u64) -> u8 {
        let heard = self.leaves.get(leaf as usize).and_then(|uplinks| uplinks.get(tag));
        heard.map_or(0, |heard| heard.at(now, self.age))
    }

    /// A packet has come from a leaf.
    pub(super) fn learn(&mut self, header: Header, now: u64) {
        let heard = self
            .leaves
            .get_mut(header.leaf as usize)
            .and_then(|uplinks| uplinks.get_mut(usize::from(header.feedback_tag)));
        if let Some(heard) = heard {
            *heard = Heard { metric: header.feedback, at: now };
        }
    }
}

/// The congestion-from-leaf table: of each leaf, what packets by each of its uplinks have met on their way here.
#[derive(Debug)]
pub(super) struct FromLeaf {
    age: Duration,
    leaves: Vec<Leaf>,
}

#[derive(Clone, Debug, Default)]
struct Leaf {
    /// By tag, as far as packets have come. Whether it is another than was given back last.
    uplinks: Vec<(Heard, bool)>,
    /// Whose turn it is.
    next: usize,
}

impl FromLeaf {
    pub(super) fn new(leaves: usize, age: Duration) -> Self {
        Self { age, leaves: vec![Leaf::default(); leaves] }
    }

    /// A packet has come from a leaf.
    pub(super) fn learn(&mut self, header: Header, now: u64) {
        let Some(leaf) = self.leaves.get_mut(header.leaf as usize) else { return };
        let tag = usize::from(header.tag);
        if tag >= leaf.uplinks.len() {
            leaf.uplinks.resize(tag + 1, (Heard::default(), false));
        }
        let (heard, changed) = &mut leaf.uplinks[tag];
        *changed |= heard.metric != header.congestion;
        *heard = Heard { metric: header.congestion, at: now };
    }

    /// What is given back with a packet to a leaf, a tag and its metric: uplinks take turns, those first whose metric has changed since it was given
    /// back.
    pub(super) fn next(&mut self, leaf: u32, now: u64) -> (u8, u8) {
        let Some(Leaf { uplinks, next }) = self.leaves.get_mut(leaf as usize) else { return (0, 0) };
        let count = uplinks.len();
        if count == 0 {
            return (0, 0);
        }
        let mut turns = (0..count).map(|n| (*next + n) % count);
        let tag = turns.find(|&tag| uplinks[tag].1).unwrap_or(*next % count);
        *next = (tag + 1) % count;
        uplinks[tag].1 = false;
        (tag as u8, uplinks[tag].0.at(now, self.age))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE: Duration = Duration::from_ms(10);

    fn header(tag: u8, congestion: u8, feedback_tag: u8, feedback: u8) -> Header {
        Header { leaf: 1, tag, congestion, feedback_tag, feedback }
    }

    #[test]
    fn what_has_changed_is_given_back_first_and_then_all_in_turn() {
        let mut from = FromLeaf::new(2, AGE);
        assert_eq!(from.next(1, 0), (0, 0), "nothing has come");
        for (tag, congestion) in [(0, 3), (1, 0), (2, 5), (3, 0)] {
            from.learn(header(tag, congestion, 0, 0), 0);
        }
        let mut given: Vec<_> = (0..2).map(|_| from.next(1, 0)).collect();
        assert_eq!(given, [(0, 3), (2, 5)]);
        given = (0..4).map(|_| from.next(1, 0)).collect();
        assert_eq!(given, [(3, 0), (0, 3), (1, 0), (2, 5)]);
        from.learn(header(1, 7, 0, 0), 0);
        given = (0..3).map(|_| from.next(1, 0)).collect();
        assert_eq!(given, [(1, 7), (2, 5), (3, 0)]);
        assert_eq!(from.next(0, 0), (0, 0), "of the other leaf nothing is known");
    }

    #[test]
    fn what_is_old_counts_as_nothing() {
        let (mut to, mut from) = (ToLeaf::new(2, 2, AGE), FromLeaf::new(2, AGE));
        to.learn(header(0, 4, 1, 6), 1000);
        from.learn(header(0, 4, 1, 6), 1000);
        let old = 1000 + AGE.ps();
        assert_eq!([1000, old, old + 1].map(|now| to.metric(1, 1, now)), [6, 6, 0]);
        assert_eq!([1000, old, old + 1].map(|now| from.next(1, now)), [(0, 4), (0, 4), (0, 0)]);
        assert_eq!((to.metric(1, 0, 1000), to.metric(0, 1, 1000)), (0, 0), "others are as they were");
        // A tag that no uplink has is passed over.
        to.learn(header(0, 0, 9, 7), 1000);
        assert_eq!(to.metric(1, 9, 1000), 0);
    }
}
