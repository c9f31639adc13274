//! The handshake (RFC 9293 §3.5): when a SYN or SYN-ACK is due, what both ends agree on, and what the timer learns of it.

use super::super::config::TcpConfig;
use super::super::segment::Flags;
use super::super::timer::RetransmissionTimer;
use crate::units::{Duration, Time};

/// One end's part of the handshake.
#[derive(Clone, Debug)]
pub(super) struct Handshake {
    /// SYN or SYN-ACK must be sent (again).
    is_due: bool,
    /// Wanted, and in the end agreed on.
    ecn: bool,
    sack: bool,
    sent_at: Time,
    /// The timeout of the first SYN.
    first: Duration,
    rto_initial: Duration,
}

impl Handshake {
    pub(super) fn new(config: &TcpConfig, timer: &RetransmissionTimer) -> Self {
        Self {
            is_due: false,
            ecn: config.wants_ecn(),
            sack: config.sack,
            sent_at: Time::ZERO,
            first: config.syn_timeout.unwrap_or(timer.rto()),
            rto_initial: config.rto_initial,
        }
    }

    /// Whether SYN or SYN-ACK must be sent.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// It must be, at first or again.
    pub(super) fn demand(&mut self) {
        self.is_due = true;
    }

    /// It need not be any more.
    pub(super) fn stop(&mut self) {
        self.is_due = false;
    }

    /// Whether ECN and SACK are in use, as far as is known.
    pub(super) fn options(&self) -> (bool, bool) {
        (self.ecn, self.sack)
    }

    /// The other end's SYN has arrived, which is to be answered.
    pub(super) fn on_syn(&mut self, flags: Flags) {
        self.ecn &= flags.has(Flags::ECE | Flags::CWR);
        self.sack &= flags.has(Flags::SACK_PERMITTED);
        self.is_due = true;
    }

    /// The answer to a SYN has arrived.
    pub(super) fn on_syn_ack(&mut self, flags: Flags) {
        self.ecn &= flags.has(Flags::ECE);
        self.sack &= flags.has(Flags::SACK_PERMITTED);
    }

    /// SYN or, if `is_answer`, SYN-ACK leaves: with these flags.
    pub(super) fn send(&mut self, now: Time, timer: &mut RetransmissionTimer, is_answer: bool) -> Flags {
        self.is_due = false;
        self.sent_at = now;
        timer.start_with(now, self.first);
        // RFC 3168 §6.1.1: ECE and CWR on the SYN, ECE alone on the SYN-ACK.
        let role = if is_answer { Flags::ACK } else { Flags::CWR.when(self.ecn) };
        Flags::SYN | role | Flags::ECE.when(self.ecn) | Flags::SACK_PERMITTED.when(self.sack)
    }

    /// It is over. `is_sample`: the other end has answered what was sent (Karn: that is a round trip only if nothing was repeated).
    pub(super) fn end(&mut self, now: Time, timer: &mut RetransmissionTimer, is_sample: bool) {
        self.is_due = false;
        if timer.consecutive() > 0 {
            timer.reset_after_lost_syn(self.rto_initial);
        } else if is_sample {
            timer.sample(now.since(self.sent_at));
        }
        timer.progress();
        timer.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Algorithm;

    const RTT: Duration = Duration::from_us(80);

    fn ends(ours: &TcpConfig, theirs: &TcpConfig) -> [(Handshake, RetransmissionTimer); 2] {
        [ours, theirs].map(|config| {
            let timer = RetransmissionTimer::new(config);
            (Handshake::new(config, &timer), timer)
        })
    }

    #[test]
    fn what_one_end_does_not_want_neither_uses() {
        let config = TcpConfig { congestion: Algorithm::Reno, ..TcpConfig::default() };
        let both = TcpConfig { ecn: true, sack: true, ..config.clone() };
        let neither = TcpConfig { ecn: false, sack: false, ..config };
        for (ours, theirs, agreed) in
            [(&both, &both, (true, true)), (&both, &neither, (false, false)), (&neither, &both, (false, false))]
        {
            let [(mut active, mut timer), (mut passive, mut other)] = ends(ours, theirs);
            passive.on_syn(active.send(Time::ZERO, &mut timer, false));
            active.on_syn_ack(passive.send(Time::ZERO, &mut other, true));
            assert_eq!((active.options(), passive.options()), (agreed, agreed));
        }
    }

    #[test]
    fn the_answer_to_a_syn_is_a_round_trip_unless_that_was_repeated() {
        let config = TcpConfig { syn_timeout: Some(Duration::from_ms(3)), ..TcpConfig::default() };
        let [(mut plain, mut timer), (mut lossy, mut late)] = ends(&config, &config);
        plain.demand();
        let flags = plain.send(Time::ZERO, &mut timer, false);
        assert!(flags.has(Flags::SYN) && !flags.has(Flags::ACK) && !plain.is_due());
        assert_eq!(timer.deadline(), Time::ZERO + Duration::from_ms(3));
        plain.end(Time::ZERO + RTT, &mut timer, true);
        assert_eq!((timer.srtt(), timer.deadline()), (RTT, Time::MAX));
        lossy.send(Time::ZERO, &mut late, false);
        let again = late.deadline();
        late.fire();
        lossy.send(again, &mut late, false);
        lossy.end(again + RTT, &mut late, true);
        assert_eq!((late.srtt(), late.consecutive()), (Duration::ZERO, 0));
    }
}
