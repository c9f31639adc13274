//! Receivers that hold a one-to-many session back: how they are identified, and what to do about them.
//!
//! A symbol leaves when every receiver has asked for it, so a group goes at the pace of its slowest member. SCDP §IV-D
//! leaves it to the application what to do then; these are the choices. Stragglers are identified from pulls alone:
//! a receiver that is behind can only have asked for less than the others, who may be ahead by the window at most.

use crate::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a one-to-many sender does about receivers that hold the others back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Straggler {
    /// What it does.
    pub policy: StragglerPolicy,
    /// `detach`: symbols by which a receiver must have asked for less than the median of those that still need something,
    /// at least 1. Default: half the initial window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<u32>,
    /// `detach`: how long it must have been that far behind without interruption. The default is ten round trips of the
    /// SCDP paper's fabric: bursts of cross traffic pass in less.
    pub time: Duration,
    /// `drop`: number of receivers that must complete, at least 1. A session with no more receivers than this waits for all.
    /// The default is the majority of three replicas.
    pub quorum: u16,
    /// `drop`: time that the others have from then on.
    pub grace: Duration,
}

/// What to do about receivers that hold the others back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StragglerPolicy {
    /// Nothing: the group keeps the pace of its slowest receiver (SCDP §IV-D).
    #[default]
    Wait,
    /// A receiver that stays behind leaves the multicast group and is served by a unicast session of its own, which continues
    /// from where the group was: nothing is sent to it twice.
    Detach,
    /// The group keeps the pace of a quorum: a symbol leaves when that many receivers have asked for it. Once the quorum
    /// is complete, the others have `grace` to catch up, and are then given up.
    Drop,
}

impl Default for Straggler {
    fn default() -> Self {
        let time = Duration::from_ms(2);
        Self { policy: StragglerPolicy::Wait, symbols: None, time, quorum: 2, grace: time }
    }
}

impl Straggler {
    /// How many of `receivers` receivers must have asked for a symbol before it leaves, if not all.
    pub(super) fn quorum(&self, receivers: usize) -> Option<usize> {
        let quorum = usize::from(self.quorum);
        (self.policy == StragglerPolicy::Drop && quorum < receivers).then_some(quorum)
    }

    pub(super) fn validate(&self) -> Result<(), (&'static str, String)> {
        match self {
            Self { symbols: Some(0), .. } => Err(("straggler.symbols", "must be at least 1".to_owned())),
            Self { quorum: 0, .. } => Err(("straggler.quorum", "must be at least 1".to_owned())),
            _ => Ok(()),
        }
    }
}

/// A receiver of the group, as far as stragglers are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It needs more, and has asked for this many symbols of the object so far.
    Asked(u64),
    /// It has the whole object.
    Complete,
    /// It has been detached or given up.
    Gone,
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This receiver leaves the group.
    Detach(usize),
    /// All receivers that are not complete are given up.
    GiveUp,
}

/// The policy as applied to one session.
#[derive(Debug)]
pub(super) struct Watch {
    straggler: Straggler,
    /// How far behind is too far, in symbols.
    bound: u64,
    /// Since when each receiver has been too far behind.
    behind: Vec<Option<Time>>,
    /// When the receivers that are not complete are given up.
    grace_ends: Option<Time>,
    /// What the receivers that need more have asked for; kept to reuse its memory.
    asked: Vec<u64>,
}

impl Watch {
    /// `None` if there is nothing to watch.
    pub(super) fn new(straggler: &Straggler, window: u32, receivers: usize) -> Option<Self> {
        let watches = straggler.policy != StragglerPolicy::Wait && receivers > 1;
        watches.then(|| Self {
            straggler: straggler.clone(),
            bound: u64::from(straggler.symbols.unwrap_or((window / 2).max(1))),
            behind: vec![None; receivers],
            grace_ends: None,
            asked: Vec::new(),
        })
    }

    /// A pull has arrived: where all receivers stand now.
    pub(super) fn observe(&mut self, now: Time, standings: impl Iterator<Item = Standing> + Clone) {
        match self.straggler.policy {
            StragglerPolicy::Wait => {}
            StragglerPolicy::Detach => {
                let median = self.median(standings.clone());
                for (behind, standing) in self.behind.iter_mut().zip(standings) {
                    match standing {
                        Standing::Asked(asked) if asked + self.bound <= median => _ = behind.get_or_insert(now),
                        _ => *behind = None,
                    }
                }
            }
            StragglerPolicy::Drop => {
                let complete = standings.filter(|s| *s == Standing::Complete).count();
                if complete >= usize::from(self.straggler.quorum) {
                    self.grace_ends.get_or_insert(now + self.straggler.grace);
                }
            }
        }
    }

    /// The median of the receivers that need more; of two, the one ahead. So half of a group never waits for one receiver, and one
    /// that is ahead of all does not make the others stragglers.
    fn median(&mut self, standings: impl Iterator<Item = Standing>) -> u64 {
        self.asked.clear();
        self.asked.extend(standings.filter_map(|s| if let Standing::Asked(asked) = s { Some(asked) } else { None }));
        self.asked.sort_unstable_by(|a, b| b.cmp(a));
        self.asked.get(self.asked.len().saturating_sub(1) / 2).copied().unwrap_or(0)
    }

    /// When to ask for a verdict.
    pub(super) fn due(&self) -> Option<Time> {
        let detach = self.behind.iter().flatten().min().map(|since| *since + self.straggler.time);
        detach.or(self.grace_ends)
    }

    /// The next decision that is due. Each is returned once.
    pub(super) fn verdict(&mut self, now: Time) -> Option<Verdict> {
        let late = |since: &Option<Time>| since.is_some_and(|since| since + self.straggler.time <= now);
        if let Some(receiver) = self.behind.iter().position(late) {
            self.behind[receiver] = None;
            return Some(Verdict::Detach(receiver));
        }
        self.grace_ends.take_if(|at| *at <= now).map(|_| Verdict::GiveUp)
    }
}

#[cfg(test)]
mod tests {
    use super::Standing::{Asked, Complete, Gone};
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn detach() -> Watch {
        let time = Duration::from_us(100);
        let straggler = Straggler { policy: StragglerPolicy::Detach, time, ..Straggler::default() };
        Watch::new(&straggler, 12, 3).expect("there is something to watch")
    }

    #[test]
    fn who_stays_behind_the_median_for_long_enough_is_detached() {
        let mut watch = detach();
        let behind = [Asked(20), Asked(14), Asked(26)];
        watch.observe(at(0), [Asked(20), Asked(15), Asked(26)].into_iter());
        assert_eq!(watch.due(), None, "by less than half a window");
        watch.observe(at(10), behind.into_iter());
        assert_eq!((watch.due(), watch.verdict(at(109))), (Some(at(110)), None));
        watch.observe(at(50), behind.into_iter());
        assert_eq!(watch.verdict(at(110)), Some(Verdict::Detach(1)), "since when it was first seen");
        assert_eq!((watch.verdict(at(110)), watch.due()), (None, None), "told once");
    }

    #[test]
    fn who_catches_up_meanwhile_is_not() {
        let mut watch = detach();
        watch.observe(at(0), [Asked(20), Asked(10), Asked(20)].into_iter());
        watch.observe(at(60), [Asked(20), Asked(18), Asked(20)].into_iter());
        watch.observe(at(90), [Asked(26), Asked(18), Asked(26)].into_iter());
        assert_eq!((watch.due(), watch.verdict(at(150))), (Some(at(190)), None));
    }

    #[test]
    fn neither_a_majority_nor_the_last_one_is_a_straggler() {
        let mut watch = detach();
        for standings in [
            [Asked(50), Asked(10), Asked(10)],
            [Asked(10), Complete, Complete],
            [Asked(10), Complete, Gone],
            [Gone, Complete, Gone],
        ] {
            watch.observe(at(0), standings.into_iter());
            assert_eq!(watch.due(), None, "{standings:?}");
        }
        watch.observe(at(0), [Asked(50), Asked(10), Complete].into_iter());
        assert_eq!(watch.due(), Some(at(100)), "of two, the one behind");
    }

    #[test]
    fn the_rest_is_given_up_after_the_quorum_and_the_grace() {
        let grace = Duration::from_us(100);
        let straggler = Straggler { policy: StragglerPolicy::Drop, grace, ..Straggler::default() };
        let mut watch = Watch::new(&straggler, 12, 3).expect("there is something to watch");
        watch.observe(at(0), [Complete, Asked(9), Asked(9)].into_iter());
        assert_eq!(watch.due(), None);
        watch.observe(at(10), [Complete, Complete, Asked(9)].into_iter());
        watch.observe(at(50), [Complete, Complete, Asked(10)].into_iter());
        assert_eq!((watch.due(), watch.verdict(at(109))), (Some(at(110)), None));
        assert_eq!((watch.verdict(at(110)), watch.verdict(at(110))), (Some(Verdict::GiveUp), None));
    }

    #[test]
    fn nothing_is_watched_where_all_are_waited_for_or_one_is_alone() {
        assert!(Watch::new(&Straggler::default(), 12, 3).is_none());
        let straggler = Straggler { policy: StragglerPolicy::Drop, ..Straggler::default() };
        assert!(Watch::new(&straggler, 12, 1).is_none());
    }
}
