//! When a peer is given up that does not answer: after so many timeouts in a row.
//!
//! All transports count so. They differ in what an answer is, because they differ in what a silent peer may be doing:
//!
//! - TCP: an acknowledgement of something new. Duplicates show that the peer is there, but a connection that makes no progress ends
//!   (RFC 9293 §3.8.3).
//! - NDP: any packet of the peer. Trimmed headers arrive even where no payload does.
//! - SCDP's sender: a pull. SCDP's receiver: a whole symbol; headers alone count as one timeout, so that a path which trims all symbols is
//!   asked slowly and never given up.
//!
//! Where hosts are real, back-off makes a number of timeouts a poor bound: round trips from 100 us to 1 s would end after milliseconds or hours. There
//! [`give_up_after`](crate::scdp::ScdpConfig::give_up_after) bounds the silence itself, of SCDP's ends and of the hosts' own messages alike. What
//! begins it is the last sign of life that the other end owes: for a sender the receiver's last pull, or when it got no more because it asks
//! without need; for a receiver the last symbol of the sender that has been silent for the shortest time, as one is enough.

/// Timeouts in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retries {
    timeouts: u32,
}

impl Retries {
    /// Timeouts since the last answer.
    #[inline]
    pub(crate) fn timeouts(self) -> u32 {
        self.timeouts
    }

    /// Another timeout. Returns whether the peer is given up: it has not answered `most` retries.
    pub(crate) fn on_timeout(&mut self, most: u32) -> bool {
        self.timeouts += 1;
        self.timeouts > most
    }

    /// The peer has answered. Returns whether there had been timeouts.
    #[inline]
    pub(crate) fn on_answer(&mut self) -> bool {
        std::mem::take(&mut self.timeouts) > 0
    }

    /// It has shown that it is there, which counts as no more than so many timeouts.
    #[inline]
    pub(crate) fn limit(&mut self, timeouts: u32) {
        self.timeouts = self.timeouts.min(timeouts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_given_up_when_the_last_retry_is_not_answered() {
        let mut retries = Retries::default();
        assert_eq!([1, 2, 3].map(|_| retries.on_timeout(2)), [false, false, true]);
        assert_eq!((retries.on_answer(), retries.on_answer()), (true, false));
        assert_eq!([1, 2, 3].map(|_| retries.on_timeout(2)), [false, false, true], "those in a row count");
        retries.limit(1);
        assert_eq!((retries.timeouts(), retries.on_timeout(2), retries.on_timeout(2)), (1, false, true));
    }
}
