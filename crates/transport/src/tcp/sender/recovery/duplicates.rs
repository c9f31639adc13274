//! Duplicate ACKs outside recovery: when they mean a loss, and what may be sent beyond the window on them.

use crate::tcp::config::{DUP_THRESHOLD, TcpConfig};
use crate::tcp::congestion::Control;

/// Duplicate ACKs since the last ACK of something new.
#[derive(Clone, Debug)]
pub(super) struct Duplicates {
    count: u32,
    /// Whether they tell of losses.
    are_heeded: bool,
    limited_transmit: bool,
    /// Bytes sent beyond the window on them (RFC 3042; RFC 6675 §5 step 3).
    sent: u64,
    /// RFC 6582's `recover` and RFC 6675's `RecoveryPoint`: one past the highest offset sent when a loss was last
    /// detected; 0 before the first.
    recover: u64,
    /// With SACK an ACK is a duplicate when it tells of new octets (RFC 6675 §2).
    sack: bool,
    mss: u64,
}

impl Duplicates {
    pub(super) fn new(config: &TcpConfig, control: &impl Control) -> Self {
        Self {
            count: 0,
            are_heeded: config.fast_retransmit && control.heeds_duplicates(),
            limited_transmit: config.limited_transmit,
            sent: 0,
            recover: 0,
            sack: config.sack,
            mss: config.mss(),
        }
    }

    /// The receiver does not send SACK blocks.
    pub(super) fn disable_sack(&mut self) {
        self.sack = false;
    }

    /// Something new was acknowledged.
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.count, self.sent) = (0, 0);
    }

    /// Whether there was any.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.count > 0
    }

    /// An ACK of nothing new but, if `news`, of octets beyond `una`. `lost`: the scoreboard says so. Whether it means a loss that is
    /// not being repaired.
    pub(super) fn tell_of_loss(&mut self, news: bool, lost: bool, una: u64) -> bool {
        if !self.are_heeded {
            return false;
        }
        self.count += u32::from(news);
        // RFC 5681 §3.2.
        (self.count >= DUP_THRESHOLD || lost) && self.may_tell(una)
    }

    /// Those that only answer go-back-N's repetitions must not start a recovery: the cumulative ACK has to
    /// cover more than `recover` (RFC 6582 §3.2 step 1; RFC 6675 §5.1 is content with all of it). Kept for Reno too,
    /// where only timeouts set `recover`.
    fn may_tell(&self, una: u64) -> bool {
        self.recover == 0 || una > self.recover || (self.sack && una == self.recover)
    }

    /// What tells of a loss from now on must be about what is sent beyond `max`.
    pub(super) fn set_recover(&mut self, max: u64) {
        self.recover = max;
    }

    /// Bytes that they stand for, a segment each.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.count) * self.mss
    }

    /// RFC 3042: one new segment beyond the window on each of the first two. This one would exceed it by `over`. With SACK they make
    /// room in the window instead.
    pub(super) fn let_leave(&self, len: u64, over: u64) -> bool {
        let allowed = u64::from(self.count.min(DUP_THRESHOLD - 1)) * self.mss;
        self.limited_transmit && !self.sack && self.sent + len <= allowed && over <= allowed
    }

    /// Bytes leave beyond the window.
    pub(super) fn on_sent(&mut self, len: u64) {
        self.sent += len;
    }

    /// Bytes that were sent beyond the window, which count no more.
    pub(super) fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;
    use crate::tcp::Algorithm;
    use crate::tcp::congestion::Controller;

    const MSS: u64 = 1000;

    fn duplicates(config: TcpConfig) -> Duplicates {
        let config = TcpConfig { packet: Bytes(MSS + 40), ..config };
        Duplicates::new(&config, &Controller::new(&config))
    }

    fn loss(duplicates: &mut Duplicates, una: u64, count: u64) -> bool {
        (0..count).fold(false, |_, _| duplicates.tell_of_loss(true, false, una))
    }

    #[test]
    fn three_that_tell_of_something_mean_a_loss() {
        let mut duplicates = duplicates(TcpConfig::default());
        let loss = [true, false, true, true].map(|news| duplicates.tell_of_loss(news, false, 0));
        assert_eq!((loss, duplicates.bytes()), ([false, false, false, true], 3 * MSS));
        duplicates.clear();
        assert!(!duplicates.any() && !duplicates.tell_of_loss(true, false, 0) && duplicates.any());
        assert!(duplicates.tell_of_loss(true, true, 0), "the scoreboard says so");
    }

    #[test]
    fn where_only_timeouts_tell_of_losses_they_do_not_count() {
        let mut duplicates = duplicates(TcpConfig { congestion: Algorithm::Pfabric, ..TcpConfig::default() });
        assert!(!loss(&mut duplicates, 0, 5) && !duplicates.any());
    }

    #[test]
    fn those_that_answer_repetitions_mean_no_loss() {
        for (sack, least) in [(false, 11), (true, 10)] {
            let mut duplicates = duplicates(TcpConfig { sack, ..TcpConfig::default() });
            duplicates.set_recover(10);
            assert!(!loss(&mut duplicates, least - 1, 5) && loss(&mut duplicates, least, 1));
        }
    }

    #[test]
    fn each_of_the_first_two_lets_a_segment_leave() {
        let mut on = duplicates(TcpConfig::default());
        assert!(!on.let_leave(MSS, MSS), "none yet");
        loss(&mut on, 0, 1);
        assert!(on.let_leave(MSS, MSS) && !on.let_leave(MSS, 2 * MSS));
        on.on_sent(MSS);
        assert!(!on.let_leave(MSS, MSS));
        loss(&mut on, 0, 1);
        assert!(on.let_leave(MSS, 2 * MSS));
        on.on_sent(MSS);
        loss(&mut on, 0, 1);
        assert!(!on.let_leave(MSS, 2 * MSS), "the third begins recovery");
        assert_eq!((on.take_sent(), on.take_sent()), (2 * MSS, 0));
        for off in [
            TcpConfig { limited_transmit: false, ..TcpConfig::default() },
            TcpConfig { sack: true, ..TcpConfig::default() },
        ] {
            let mut off = duplicates(off);
            loss(&mut off, 0, 1);
            assert!(!off.let_leave(MSS, MSS));
        }
    }
}
