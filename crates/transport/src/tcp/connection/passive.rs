//! The passive end: waits for the connection, receives the object, and closes after it has it.
//!
//! The receiving application closes when it has read the FIN, so the receiver's last ACK carries its own FIN (RFC 9293
//! §3.6 case 1). It repeats that until the sender has acknowledged it, or until its retries are exhausted.

use super::lifecycle::{Lifecycle, State};
use crate::tcp::outgoing::Outgoing;
use crate::tcp::receiver::Receiver;
use crate::tcp::segment::{Flags, Segment};
use crate::units::Time;

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Passive {
    receiver: Receiver,
}

impl Passive {
    pub(super) fn new(receiver: Receiver) -> Self {
        Self { receiver }
    }

    pub(super) fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    #[inline]
    pub(super) fn on_packet(&mut self, life: &mut Lifecycle, now: Time, segment: &Segment, ce: bool) {
        if segment.flags.has(Flags::SYN) {
            self.on_syn(life, segment.flags);
            return;
        }
        match life.state() {
            State::Listen => return,
            State::SynReceived => life.on_third_packet(now),
            State::LastAck if segment.ack > 0 => life.close(),
            _ => {}
        }
        if segment.len == 0 && !segment.flags.has(Flags::FIN) {
            return;
        }
        self.receiver.on_data(now, segment, ce);
        if life.is_established() && self.receiver.is_finished() {
            life.complete(now);
        }
    }

    fn on_syn(&mut self, life: &mut Lifecycle, flags: Flags) {
        match life.on_syn(flags) {
            Some((ecn, sack)) => self.receiver.set_options(ecn, sack),
            // RFC 9293 §3.10.7.4: an old SYN is answered by an ACK.
            None => self.receiver.acknowledge_now(),
        }
    }

    /// A timer fired, perhaps.
    pub(super) fn on_timeout(&mut self, life: &mut Lifecycle, now: Time) {
        self.receiver.on_timeout(now);
        if now >= life.timer().deadline() && life.on_timeout(false) {
            // The farewell again.
            self.receiver.acknowledge_now();
        }
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, life: &mut Lifecycle, now: Time) -> Option<Outgoing> {
        if life.syn_is_due() {
            return Some(Outgoing::bare(life.send_syn(now, true)));
        }
        let mut segment = self.receiver.poll_ack()?;
        if life.state() == State::LastAck && self.receiver.is_finished() {
            segment.flags = segment.flags | Flags::FIN.when(segment.ack > self.receiver.delivered());
            life.timer_mut().start(now);
        }
        Some(Outgoing::bare(segment))
    }

    #[inline]
    pub(super) fn deadline(&self, life: &Lifecycle) -> Time {
        life.timer().deadline().min(self.receiver.deadline())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpConfig;

    fn data(seq: u64, len: u16, flags: Flags) -> Segment {
        Segment { seq, len, flags: flags | Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn the_last_ack_carries_the_fin_and_is_repeated_until_it_is_acknowledged() {
        let config = TcpConfig { handshake: false, ..TcpConfig::default() };
        let (mut end, mut life) = (Passive::new(Receiver::new(&config)), Lifecycle::listen(&config));
        end.on_packet(&mut life, Time(1), &data(0, 500, Flags::NONE), false);
        assert!(!end.poll_transmit(&mut life, Time(1)).unwrap().segment.flags.has(Flags::FIN));
        end.on_packet(&mut life, Time(2), &data(500, 500, Flags::FIN), false);
        for _ in 0..2 {
            let last = end.poll_transmit(&mut life, Time(2)).unwrap().segment;
            assert!(last.flags.has(Flags::FIN) && last.ack == 1001);
            assert!(end.poll_transmit(&mut life, Time(2)).is_none());
            let at = end.deadline(&life);
            end.on_timeout(&mut life, at);
        }
        end.on_packet(&mut life, Time(3), &Segment { ack: 1, ..data(0, 0, Flags::NONE) }, false);
        assert_eq!(life.state(), State::Closed);
    }

    #[test]
    fn a_syn_is_answered_by_a_syn_ack_or_if_it_is_old_by_an_ack() {
        let config = TcpConfig::default();
        let (mut end, mut life) = (Passive::new(Receiver::new(&config)), Lifecycle::listen(&config));
        end.on_packet(&mut life, Time(1), &data(0, 500, Flags::NONE), false);
        assert!(end.poll_transmit(&mut life, Time(1)).is_none(), "it listens");
        end.on_packet(&mut life, Time(1), &data(0, 0, Flags::SYN), false);
        assert!(end.poll_transmit(&mut life, Time(1)).is_some_and(|out| out.segment.flags.has(Flags::SYN)));
        end.on_packet(&mut life, Time(2), &data(0, 500, Flags::NONE), false);
        assert!(end.poll_transmit(&mut life, Time(2)).is_some_and(|out| out.segment.ack == 500));
        end.on_packet(&mut life, Time(3), &data(0, 0, Flags::SYN), false);
        let old = end.poll_transmit(&mut life, Time(3)).unwrap().segment;
        assert!(old.ack == 500 && !old.flags.has(Flags::SYN));
    }
}
