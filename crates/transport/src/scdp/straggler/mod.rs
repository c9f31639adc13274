//! Receivers that hold a one-to-many session back: how they are identified, and what to do about them.
//!
//! A symbol leaves when every receiver has asked for it, so a group goes at the pace of its slowest member. SCDP §IV-D
//! leaves it to the application what to do then: a [`StragglerPolicy`]. Who is a straggler is told by one of two [rules](StragglerRule), from pulls
//! alone. Each is a type of its own in a file of its own; the sender applies them.

use crate::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod behind;
mod grace;
mod holding;
mod lag;

pub(super) use behind::Behind;
pub(super) use grace::Grace;
pub(super) use holding::{Demand, Holding, Patience};
pub(super) use lag::{Lag, Place};

/// What a one-to-many sender does about receivers that hold the others back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Straggler {
    /// What it does.
    pub policy: StragglerPolicy,
    /// How it tells who holds the others back; no effect with `drop`. Default: `symbols`.
    #[serde(skip_serializing_if = "StragglerRule::is_default")]
    pub rule: StragglerRule,
    /// `detach` by `symbols`: symbols by which a receiver must have asked for less than the median of those that still need something,
    /// at least 1. Default: half the initial window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<u32>,
    /// `detach`: by `symbols`, how long it must have been that far behind without interruption. The default is ten round trips of the
    /// SCDP paper's fabric: bursts of cross traffic pass in less. By `lateness`, the averaging time.
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

/// How stragglers are identified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StragglerRule {
    /// By what they ask for: less than the median by `symbols`, for `time`. For fixed windows, where a receiver that is not slow cannot be
    /// further behind.
    #[default]
    Symbols,
    /// By when they complete blocks: later than the median, by more than their paths explain, for `time`. For windows that receivers find, which differ.
    /// By less than 1 ms nobody is late: timers of hosts are. Receivers that complete nothing leave the group as well: with `wait` after
    /// `give_up_after`, which it needs, with `detach` after ten times `time`.
    Lateness,
}

impl StragglerPolicy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Wait, Self::Detach, Self::Drop];

    /// As in scenario files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Detach => "detach",
            Self::Drop => "drop",
        }
    }
}

impl StragglerRule {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Straggler {
    fn default() -> Self {
        let time = Duration::from_ms(2);
        Self {
            policy: StragglerPolicy::Wait,
            rule: StragglerRule::Symbols,
            symbols: None,
            time,
            quorum: 2,
            grace: time,
        }
    }
}

impl Straggler {
    /// How many of `receivers` receivers must have asked for a symbol before it leaves, if not all.
    pub(super) fn quorum(&self, receivers: usize) -> Option<usize> {
        let quorum = usize::from(self.quorum);
        (self.policy == StragglerPolicy::Drop && quorum < receivers).then_some(quorum)
    }

    /// Where nobody is detached, only silence tells who holds the others back.
    pub(super) fn needs_give_up_after(&self) -> bool {
        self.policy == StragglerPolicy::Wait && self.rule == StragglerRule::Lateness
    }

    pub(super) fn validate(&self) -> Result<(), (&'static str, String)> {
        match self {
            Self { symbols: Some(0), .. } => Err(("straggler.symbols", "must be at least 1".to_owned())),
            Self { symbols: Some(_), rule: StragglerRule::Lateness, .. } => {
                Err(("straggler.symbols", "has no effect with rule = \"lateness\"".to_owned()))
            }
            Self { quorum: 0, .. } => Err(("straggler.quorum", "must be at least 1".to_owned())),
            _ => Ok(()),
        }
    }
}

/// The median, the one ahead of the two in the middle: half of a group never waits for one receiver, and one that is ahead of all does not make the
/// others stragglers. Leaves all sorted, the largest first.
fn median(sorted: &mut Vec<u64>, all: impl Iterator<Item = u64>) -> Option<u64> {
    sorted.clear();
    sorted.extend(all);
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}
