//! Multi-level feedback queueing, the senders' part: a packet's priority falls with the bytes that its flow has sent
//! (PIAS, NSDI 2015 §3; SCDP §IV-C). Where sizes are known beforehand, it may follow those instead.

use crate::{Bytes, ConfigError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the priority of a packet follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PriorityBy {
    /// The bytes that its flow has sent before it: nothing need be known of the flow.
    #[default]
    Sent,
    /// The size of its flow, known beforehand: all its packets have the priority that `sent` gives to the last.
    Size,
}

/// Switches have eight priorities at most, so seven demotions.
pub(crate) const MOST_THRESHOLDS: usize = 7;
/// More than any flow sends.
const NEVER: u64 = u64::MAX;

/// The thresholds of a flow's demotion, in place: they are looked at for every packet.
#[derive(Clone, Debug)]
pub(crate) struct Demotion {
    /// Those that there are not lie at the end, beyond any size.
    thresholds: [u64; MOST_THRESHOLDS],
    /// What counts as sent before the first packet.
    from: u64,
}

impl Demotion {
    /// Of a flow of `size` bytes, `u64::MAX` if it has no end.
    pub(crate) fn new(thresholds: &[Bytes], by: PriorityBy, size: u64) -> Self {
        let from = match by {
            PriorityBy::Sent => 0,
            PriorityBy::Size => size.saturating_sub(1),
        };
        let mut all = [NEVER; MOST_THRESHOLDS];
        all.iter_mut().zip(thresholds).for_each(|(place, threshold)| *place = threshold.0);
        Self { thresholds: all, from }
    }

    /// Priority of the packet that leaves when `sent` bytes have been sent before it; 0 is the highest.
    #[inline]
    pub(crate) fn priority(&self, sent: u64) -> u8 {
        let sent = sent.max(self.from);
        self.thresholds.iter().take_while(|&&t| t <= sent && t < NEVER).count() as u8
    }
}

/// Checks a configuration's `priority_thresholds`.
pub(crate) fn validate(thresholds: &[Bytes]) -> Result<(), ConfigError> {
    let fail = |problem| Err(ConfigError { field: "priority_thresholds", problem });
    if thresholds.len() > MOST_THRESHOLDS {
        let (given, most) = (thresholds.len(), MOST_THRESHOLDS);
        return fail(format!("{given} thresholds; expected at most {most}, as switches have {} priorities", most + 1));
    }
    if let Some([low, high]) = thresholds.windows(2).find(|w| w[0] >= w[1]) {
        return fail(format!("{high} does not exceed {low} before it; expected each to exceed the one before"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_demoted_once_the_threshold_was_sent_before_it() {
        let demotion = Demotion::new(&[Bytes(10), Bytes(20)], PriorityBy::Sent, 15);
        let priorities: Vec<u8> = [0, 9, 10, 19, 20, u64::MAX].map(|sent| demotion.priority(sent)).to_vec();
        assert_eq!(priorities, [0, 0, 1, 1, 2, 2]);
        assert_eq!(Demotion::new(&[], PriorityBy::Sent, 1).priority(u64::MAX), 0);
    }

    #[test]
    fn by_size_all_packets_have_the_last_ones_priority() {
        let first = |size| Demotion::new(&[Bytes(10), Bytes(20)], PriorityBy::Size, size).priority(0);
        assert_eq!([1, 10, 11, 20, 21, u64::MAX].map(first), [0, 0, 1, 1, 2, 2]);
    }
}
