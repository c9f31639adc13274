//! Multi-level feedback queueing, the senders' part: a packet's priority falls with the bytes that its flow has sent
//! (PIAS, NSDI 2015 §3; SCDP §IV-C).

use crate::{Bytes, ConfigError};

/// Switches have eight priorities at most, so seven demotions.
const MOST_THRESHOLDS: usize = 7;

/// The thresholds of a flow's demotion.
#[derive(Clone, Debug)]
pub(crate) struct Demotion(Box<[u64]>);

impl Demotion {
    pub(crate) fn new(thresholds: &[Bytes]) -> Self {
        Self(thresholds.iter().map(|t| t.0).collect())
    }

    /// Priority of the packet that leaves when `sent` bytes have been sent before it; 0 is the highest.
    #[inline]
    pub(crate) fn priority(&self, sent: u64) -> u8 {
        self.0.iter().take_while(|&&t| t <= sent).count() as u8
    }
}

/// Checks a configuration's `priority_thresholds`.
pub(crate) fn validate(thresholds: &[Bytes]) -> Result<(), ConfigError> {
    let fail = |problem| Err(ConfigError { field: "priority_thresholds", problem });
    if thresholds.len() > MOST_THRESHOLDS {
        return fail(format!("{} of them; at most {MOST_THRESHOLDS}", thresholds.len()));
    }
    if let Some([low, high]) = thresholds.windows(2).find(|w| w[0] >= w[1]) {
        return fail(format!("{high} does not exceed {low} before it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_demoted_once_the_threshold_was_sent_before_it() {
        let demotion = Demotion::new(&[Bytes(10), Bytes(20)]);
        let priorities: Vec<u8> = [0, 9, 10, 19, 20, u64::MAX].map(|sent| demotion.priority(sent)).to_vec();
        assert_eq!(priorities, [0, 0, 1, 1, 2, 2]);
        assert_eq!(Demotion::new(&[]).priority(u64::MAX), 0);
    }
}
