//! The pace of a group that goes on without its slowest receivers: that of as many as are to have the whole object first.

use super::member::Member;

/// How many receivers set the pace of their group.
#[derive(Debug)]
pub(super) struct Quorum {
    receivers: usize,
    /// How far each receiver is; kept to reuse its memory.
    reached: Vec<u32>,
}

impl Quorum {
    pub(super) fn of(receivers: usize) -> Self {
        Self { receivers, reached: Vec::new() }
    }

    /// Whether it sets the pace until so many receivers have the whole object.
    pub(super) fn rules(&self, completed: u32) -> bool {
        (completed as usize) < self.receivers
    }

    /// How many symbols of a block the group is to have been sent.
    pub(super) fn wanted(&mut self, members: &[Member], block: u32) -> u32 {
        self.reached.clear();
        self.reached.extend(members.iter().filter(|m| !m.is_done() && m.base() <= block).map(|m| m.asked(block)));
        let have = members.iter().filter(|m| !m.has_left()).count() - self.reached.len();
        // The most that as many receivers have asked for as the quorum lacks, or as are left. Zero if the quorum
        // lacks none.
        let lacks = self.receivers.saturating_sub(have).min(self.reached.len());
        largest(&mut self.reached, lacks).unwrap_or(0)
    }

    /// All blocks before this one, of `blocks`, are complete at a quorum of receivers.
    pub(super) fn front(&mut self, members: &[Member], blocks: u32) -> u32 {
        self.reached.clear();
        let left = members.iter().filter(|m| !m.has_left());
        self.reached.extend(left.map(|m| if m.is_done() { blocks } else { m.base() }));
        let receivers = self.receivers.min(self.reached.len());
        largest(&mut self.reached, receivers).unwrap_or(0)
    }
}

/// The `n`-th largest number, `n` from 1. Linear time, as it runs for each pull of a receiver.
fn largest(numbers: &mut [u32], n: usize) -> Option<u32> {
    let place = numbers.len().checked_sub(n).filter(|_| n > 0)?;
    Some(*numbers.select_nth_unstable(place).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_nth_largest_is_the_most_that_n_have_reached(numbers in prop::collection::vec(0..9_u32, 0..12), n in 0..14_usize) {
            let reached_by_n = |at: &u32| n > 0 && numbers.iter().filter(|other| *other >= at).count() >= n;
            let expected = numbers.iter().copied().filter(reached_by_n).max();
            prop_assert_eq!(largest(&mut numbers.clone(), n), expected);
        }
    }

    /// Receivers that have the first block and have asked for so many symbols of the second.
    fn members(asked: &[u32]) -> Vec<Member> {
        let member = |&upto: &u32| {
            let mut member = Member::default();
            member.has_before(1);
            member.ask(1, upto);
            member
        };
        asked.iter().map(member).collect()
    }

    #[test]
    fn two_of_three_set_the_pace() {
        let (mut quorum, mut members) = (Quorum::of(2), members(&[5, 9, 2]));
        assert_eq!((quorum.wanted(&members, 1), quorum.front(&members, 10)), (5, 1));
        members[1].has_before(2);
        assert_eq!(quorum.wanted(&members, 1), 5, "one has the block, and one more is to get it");
        members[0].has_before(2);
        assert_eq!((quorum.wanted(&members, 1), quorum.front(&members, 10)), (0, 2), "two have it");
        members[0].complete();
        assert_eq!(quorum.front(&members, 10), 2, "the second is at block 2");
        assert_eq!([1, 2].map(|completed| quorum.rules(completed)), [true, false]);
    }

    #[test]
    fn of_a_group_that_has_become_smaller_all_that_are_left_count() {
        let (mut quorum, mut members) = (Quorum::of(3), members(&[5, 9, 2]));
        members[2].leave();
        assert_eq!(quorum.wanted(&members, 1), 5);
    }
}
