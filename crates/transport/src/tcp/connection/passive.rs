//! The passive end: waits for the connection, receives the object, and closes after it has it.
//!
//! The receiving application closes when it has read the FIN, so the receiver's last ACK carries its own FIN (RFC 9293
//! §3.6 case 1). It repeats that until the sender has acknowledged it, or until its retries are exhausted.

use super::lifecycle::{Lifecycle, State};
use crate::endpoint::Transmit;
use crate::tcp::outgoing::Framing;
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
    pub(super) fn poll_transmit(
        &mut self,
        life: &mut Lifecycle,
        framing: &Framing,
        now: Time,
    ) -> Option<Transmit<Segment>> {
        if life.syn_is_due() {
            return Some(framing.bare(life.send_syn(now, true)));
        }
        let mut segment = self.receiver.poll_ack()?;
        if life.state() == State::LastAck && self.receiver.is_finished() {
            segment.flags = segment.flags | Flags::FIN.when(segment.ack > self.receiver.delivered());
            life.timer_mut().start(now);
        }
        Some(framing.bare(segment))
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

    struct Bench {
        end: Passive,
        life: Lifecycle,
        framing: Framing,
    }

    impl Bench {
        fn new(config: &TcpConfig) -> Self {
            let end = Passive::new(Receiver::new(config));
            Self { end, life: Lifecycle::listen(config), framing: Framing::new(config) }
        }

        fn data(&mut self, seq: u64, len: u16, flags: Flags) {
            let segment = Segment { seq, len, flags: flags | Flags::ACK, ..Segment::default() };
            self.end.on_packet(&mut self.life, Time(1), &segment, false);
        }

        /// Acknowledgement number and flags of the next segment.
        fn poll(&mut self) -> Option<(u64, Flags)> {
            let packet = self.end.poll_transmit(&mut self.life, &self.framing, Time(1));
            packet.map(|packet| (packet.header.ack, packet.header.flags))
        }
    }

    #[test]
    fn the_last_ack_carries_the_fin_and_is_repeated_until_it_is_acknowledged() {
        let mut bench = Bench::new(&TcpConfig { handshake: false, ..TcpConfig::default() });
        bench.data(0, 500, Flags::NONE);
        assert_eq!(bench.poll(), Some((500, Flags::ACK)));
        bench.data(500, 500, Flags::FIN);
        for _ in 0..2 {
            assert_eq!([bench.poll(), bench.poll()], [Some((1001, Flags::ACK | Flags::FIN)), None]);
            let at = bench.end.deadline(&bench.life);
            bench.end.on_timeout(&mut bench.life, at);
        }
        let last = Segment { ack: 1, flags: Flags::ACK, ..Segment::default() };
        bench.end.on_packet(&mut bench.life, Time(3), &last, false);
        assert_eq!(bench.life.state(), State::Closed);
    }

    #[test]
    fn a_syn_is_answered_by_a_syn_ack_or_if_it_is_old_by_an_ack() {
        let mut bench = Bench::new(&TcpConfig::default());
        bench.data(0, 500, Flags::NONE);
        assert_eq!(bench.poll(), None, "it listens");
        bench.data(0, 0, Flags::SYN);
        assert!(bench.poll().is_some_and(|(_, flags)| flags.has(Flags::SYN)));
        bench.data(0, 500, Flags::NONE);
        assert_eq!(bench.poll(), Some((500, Flags::ACK)));
        bench.data(0, 0, Flags::SYN);
        assert_eq!(bench.poll(), Some((500, Flags::ACK)));
    }
}
