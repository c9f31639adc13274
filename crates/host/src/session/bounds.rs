//! When a session ends by itself: the rule of both ends.
//!
//! Two silences are told apart. A peer that is owed an answer and gives none for `give_up_after` is not there; SCDP's ends have the same bound for
//! symbols and pulls ([`ScdpConfig::give_up_after`](anabranch_transport::scdp::ScdpConfig)), and [repeated messages](super::repeat) for their answers.
//! A peer that answers and gets nowhere for `stall_after` may be stuck, or attack: it holds a session, so it is given up as well.

use anabranch_transport::{Duration, Time};

use crate::config::HostConfig;

/// How long a session lasts by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// While nothing shows that the peer is there.
    pub(super) give_up_after: Duration,
    /// While there is no progress: at least `give_up_after`.
    pub(super) stall_after: Duration,
}

impl Bounds {
    pub(crate) fn of(config: &HostConfig) -> Self {
        Self { give_up_after: config.give_up_after, stall_after: config.stall_after }
    }

    /// When a session ends that last made progress at `progress`. `unproven`: since when its peer has not shown that it is there, if it has to.
    pub(crate) fn deadline(self, progress: Time, unproven: Option<Time>) -> Time {
        let stalled = progress + self.stall_after;
        unproven.map_or(stalled, |since| stalled.min(since + self.give_up_after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_not_shown_that_it_is_there_has_less_time() {
        let bounds = Bounds { give_up_after: Duration::from_secs(10), stall_after: Duration::from_secs(300) };
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        assert_eq!(bounds.deadline(at(5), None), at(305));
        assert_eq!(bounds.deadline(at(5), Some(at(20))), at(30));
        assert_eq!(bounds.deadline(at(5), Some(at(1000))), at(305), "signs of life are no progress");
    }
}
