//! All receivers of a session: what they want together, and how many of them are done.

use super::member::{LatePull, Member};
use super::quorum::Quorum;
use super::stream::Stream;
use crate::scdp::header::Pull;
use crate::scdp::layout::Layout;
use crate::scdp::straggler::Demand;
use crate::{Peer, Time};

/// Repair symbols of a small block that not all receivers have asked for: as many as may be lost in a row in front of a full link.
const REPAIRS_FOR_ANY: u32 = 100;

/// The receivers of a session.
#[derive(Debug)]
pub(super) struct Members {
    all: Vec<Member>,
    /// Those that still need something of the group.
    not_done: u32,
    /// Those that have the whole object, in whatever session.
    completed: u32,
    /// Which of them set the pace, if not all.
    quorum: Option<Quorum>,
    /// A repair symbol leaves when one receiver has asked for it.
    pub(super) repairs_for_any: bool,
}

impl Members {
    /// `receivers` receivers, of which `quorum` set the pace, if not all.
    pub(super) fn new(first: Member, receivers: u16, quorum: Option<usize>) -> Self {
        Self {
            all: vec![first; usize::from(receivers)],
            not_done: u32::from(receivers),
            completed: 0,
            quorum: quorum.map(Quorum::of),
            repairs_for_any: false,
        }
    }

    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.all.len() == 1
    }

    /// How many there were when the session began.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Member> {
        self.all.iter()
    }

    #[inline]
    pub(super) fn get(&self, peer: Peer) -> Option<&Member> {
        self.all.get(usize::from(peer))
    }

    /// For what changes neither whether a receiver is done nor whether others wait for it.
    #[inline]
    pub(super) fn get_mut(&mut self, peer: Peer) -> Option<&mut Member> {
        self.all.get_mut(usize::from(peer))
    }

    /// The session begins.
    pub(super) fn begin(&mut self, now: Time) {
        self.all.iter_mut().for_each(|member| member.silence.begin(now));
    }

    /// The first receiver of which this holds.
    #[inline]
    pub(super) fn find(&self, which: impl FnMut(&Member) -> bool) -> Option<Peer> {
        self.all.iter().position(which).map(|peer| peer as Peer)
    }

    /// Receivers that still need something of the group.
    pub(super) fn not_done(&self) -> u32 {
        self.not_done
    }

    /// Whether any receiver has the whole object.
    pub(super) fn has_completed(&self) -> bool {
        self.completed > 0
    }

    /// A receiver outside the group has the whole object.
    pub(super) fn on_completed_apart(&mut self) {
        self.completed += 1;
    }

    /// A receiver has the whole object.
    pub(super) fn complete(&mut self, peer: Peer) {
        self.all[usize::from(peer)].complete();
        self.not_done -= 1;
        self.completed += 1;
    }

    /// A receiver leaves the group.
    pub(super) fn leave(&mut self, peer: Peer) {
        self.all[usize::from(peer)].leave();
        self.not_done -= 1;
    }

    /// All that still need something leave the group. Returns them.
    pub(super) fn leave_rest(&mut self) -> Vec<Peer> {
        self.not_done = 0;
        let rest = self.all.iter_mut().enumerate().filter(|(_, member)| !member.is_done());
        rest.map(|(peer, member)| (member.leave(), peer as Peer).1).collect()
    }

    /// The others go on without a receiver until it comes. False if there are no others, or it is not one of those that they wait for.
    pub(super) fn go_on_without(&mut self, peer: Peer) -> bool {
        let counts = |index: &usize| self.all[*index].counts();
        let others = (0..self.all.len()).filter(counts).any(|index| index != usize::from(peer));
        let member = self.get_mut(peer).filter(|member| member.counts() && others);
        member.map(Member::go_absent).is_some()
    }

    /// A pull of a receiver that others did not wait for, or that came late.
    pub(super) fn on_late_pull(&mut self, from: Peer, pull: &Pull, stream: &Stream) -> LatePull {
        let index = usize::from(from);
        let others = self.all[index].is_absent() && self.all.iter().any(Member::counts);
        self.all[index].on_late_pull(pull, stream, others)
    }

    /// How many symbols of a block, of which there are `k` source symbols, are to have been emitted: those that every receiver that still needs the
    /// block has asked for.
    #[inline]
    pub(super) fn wanted(&mut self, block: u32, k: u32) -> u32 {
        if let [only] = self.all.as_slice() {
            return only.asked(block);
        }
        if let Some(quorum) = self.quorum.as_mut().filter(|quorum| quorum.rules(self.completed)) {
            return quorum.wanted(&self.all, block);
        }
        let asked = self.all.iter().filter(|m| m.counts() && m.base() <= block).map(|m| m.asked(block));
        let least = asked.clone().min().unwrap_or(0);
        if self.repairs_for_any && least >= k {
            asked.max().unwrap_or(0).min(least + k.max(REPAIRS_FOR_ANY))
        } else {
            least
        }
    }

    /// The first block that a receiver needs which others wait for.
    pub(super) fn base(&self) -> Option<u32> {
        self.all.iter().filter(|m| m.counts()).map(Member::base).min()
    }

    /// The first block, of `blocks`, that those need that set the pace, if these are not all.
    pub(super) fn front(&mut self, blocks: u32) -> Option<u32> {
        let quorum = self.quorum.as_mut().filter(|quorum| quorum.rules(self.completed))?;
        Some(quorum.front(&self.all, blocks))
    }

    /// Nobody that the others wait for has asked for blocks from this one on; those are left out that are far ahead of them.
    pub(super) fn end(&self, stream: &Stream) -> Option<u32> {
        self.all.iter().filter(|m| m.counts() && stream.may_begin(m.base())).map(Member::end).max()
    }

    /// The receiver that holds back the rest, and when its last pull arrived. `None` if no receiver is behind.
    pub(super) fn straggler(&self) -> Option<(Peer, Time)> {
        let waiting = self.all.iter().enumerate().filter(|(_, m)| m.counts());
        let place = |m: &Member| (m.base(), m.under_way());
        let (slowest, fastest) =
            (waiting.clone().min_by_key(|(_, m)| place(m))?, waiting.max_by_key(|(_, m)| place(m))?);
        let behind = place(slowest.1) < place(fastest.1);
        behind.then(|| (slowest.0 as Peer, slowest.1.silence.last_pull()))
    }

    /// How far each receiver is; `None` for one that needs no more, has left the group, or has not come.
    pub(super) fn demands(&self, layout: &Layout) -> impl Iterator<Item = Option<Demand>> {
        self.all.iter().map(|member| member.demand(layout))
    }

    /// Whether a symbol that another has asked for waits until a receiver asks for it, too, or completes blocks before it, and that receiver itself
    /// waits for no other.
    pub(super) fn is_waited_for(&self, peer: usize, stream: &Stream) -> bool {
        let Some(member) = self.all.get(peer).filter(|member| member.counts()) else { return false };
        let others = self.all.iter().filter(|other| other.counts());
        let waits = others.flat_map(Member::requests).any(|(block, asked)| {
            let emitted = stream.emitted(block);
            block >= member.base() && asked > emitted && member.asked(block) <= emitted
        });
        waits && !member.requests().any(|(block, asked)| asked > stream.emitted(block))
    }

    /// Blocks that all have completed in order in the group.
    pub(super) fn completed_blocks(&self) -> u64 {
        self.all.iter().map(|member| u64::from(member.base())).sum()
    }

    /// Checks the bookkeeping.
    #[cfg(test)]
    pub(super) fn check(&self, stream: &Stream) {
        use crate::scdp::layout::LIVE_BLOCKS;
        for m in &self.all {
            assert!(m.in_progress() <= LIVE_BLOCKS as u32 + 1 && (!m.counts() || m.base() >= stream.base()));
            assert!(!m.is_done() || !m.silence.is_probe_due());
        }
        assert_eq!(self.not_done as usize, self.all.iter().filter(|m| !m.is_done()).count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::config::Repair;
    use crate::scdp::sender::numbering::Numbering;

    /// Receivers that have asked for so many symbols of the first block, of ten.
    fn members(asked: &[u32]) -> Members {
        let mut members = Members::new(Member::default(), asked.len() as u16, None);
        members.all.iter_mut().zip(asked).for_each(|(member, &upto)| member.ask(0, upto));
        members
    }

    fn stream() -> Stream {
        let layout = Layout::new(1000, 10, 10).expect("fits");
        Stream::from(0, Numbering::new(layout, 0, 1, Repair::Partitioned))
    }

    #[test]
    fn a_symbol_leaves_when_all_that_need_its_block_have_asked_for_it() {
        let mut group = members(&[9, 4, 7]);
        assert_eq!((group.wanted(0, 10), group.straggler()), (4, Some((1, Time::ZERO))));
        group.all[1].has_before(1);
        assert_eq!(group.wanted(0, 10), 7);
        group.complete(2);
        assert_eq!((group.wanted(0, 10), group.not_done(), group.has_completed()), (9, 2, true));
        assert_eq!(members(&[9]).wanted(0, 10), 9);
    }

    #[test]
    fn repair_symbols_leave_when_one_has_asked_for_them() {
        let mut group = members(&[9, 40, 500]);
        group.repairs_for_any = true;
        assert_eq!(group.wanted(0, 10), 9, "source symbols wait");
        group.all[0].ask(0, 10);
        assert_eq!(group.wanted(0, 10), 110);
        assert_eq!(group.wanted(0, 400), 10, "of a larger block these are source symbols");
    }

    #[test]
    fn the_last_one_is_always_waited_for() {
        let mut group = members(&[1, 1]);
        assert!(group.go_on_without(0) && !group.go_on_without(0) && !group.go_on_without(1));
        assert_eq!((group.base(), group.not_done()), (Some(0), 2));
        group.leave(1);
        assert_eq!(group.base(), None);
    }

    #[test]
    fn who_has_asked_for_less_is_waited_for_unless_it_waits_itself() {
        let (group, mut stream) = (members(&[9, 4, 4]), stream());
        stream.emit(0, 4, false);
        assert_eq!([0, 1, 2].map(|peer| group.is_waited_for(peer, &stream)), [false, true, true]);
        let mut group = members(&[9, 4]);
        group.all[1].ask(1, 1);
        assert!(!group.is_waited_for(1, &stream), "its next block waits for the first");
    }
}
