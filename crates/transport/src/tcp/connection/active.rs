//! The active end: opens the connection, sends the object, and acknowledges what little the other end sends.

use super::lifecycle::{Lifecycle, State};
use crate::endpoint::Transmit;
use crate::tcp::outgoing::Framing;
use crate::tcp::segment::{Flags, Segment};
use crate::tcp::sender::Sender;
use crate::units::Time;

/// What it acknowledges without data. The receiver's stream is empty: its FIN is all that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Nothing,
    Ack,
    AckOfFin,
}

/// The sending end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Active {
    sender: Sender,
    owed: Owed,
}

impl Active {
    pub(super) fn new(sender: Sender) -> Self {
        Self { sender, owed: Owed::Nothing }
    }

    #[inline]
    pub(super) fn sender(&self) -> &Sender {
        &self.sender
    }

    pub(super) fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// Whether an ACK has to leave.
    #[inline]
    pub(super) fn owes_ack(&self) -> bool {
        self.owed != Owed::Nothing
    }

    #[inline]
    pub(super) fn on_packet(&mut self, life: &mut Lifecycle, now: Time, segment: &Segment) {
        match life.state() {
            State::Established => {
                if segment.flags.has(Flags::SYN) {
                    // The receiver repeated its SYN-ACK: our ACK has not reached it.
                    self.owed = Owed::Ack;
                }
                self.sender.on_ack(life.timer_mut(), now, segment);
                if self.sender.stream().is_finished() {
                    self.owed = if segment.flags.has(Flags::FIN) { Owed::AckOfFin } else { Owed::Nothing };
                    life.close();
                }
            }
            State::SynSent if segment.flags.has(Flags::SYN | Flags::ACK) => self.on_syn_ack(life, now, segment),
            State::Closed if segment.flags.has(Flags::FIN) => self.owed = Owed::AckOfFin,
            _ => {}
        }
    }

    fn on_syn_ack(&mut self, life: &mut Lifecycle, now: Time, segment: &Segment) {
        let repeated = life.timer().consecutive() > 0;
        let (ecn, sack) = life.on_syn_ack(now, segment.flags);
        self.sender.set_options(ecn, sack, segment.window, repeated);
        // Data acknowledges as well, where there is any.
        self.owed = if self.sender.stream().waits_for_data() { Owed::Ack } else { Owed::Nothing };
    }

    /// The retransmission timer fired, perhaps.
    pub(super) fn on_timeout(&mut self, life: &mut Lifecycle, now: Time) {
        if life.is_established() {
            self.sender.on_wake(life.timer_mut(), now);
        }
        if now >= life.timer().deadline() && life.on_timeout(self.sender.keeps_probing()) {
            self.sender.on_timeout(life.timer(), now);
        }
    }

    /// It is over, without a word.
    pub(super) fn abort(&mut self) {
        self.owed = Owed::Nothing;
    }

    #[inline]
    pub(super) fn poll_transmit(
        &mut self,
        life: &mut Lifecycle,
        framing: &Framing,
        now: Time,
    ) -> Option<Transmit<Segment>> {
        if life.syn_is_due() {
            // The application opens the connection when it has something to send.
            let begins = !self.sender.stream().has_nothing();
            return begins.then(|| framing.bare(life.send_syn(now, false)));
        }
        if life.is_established()
            && let Some(out) = self.sender.poll_transmit(life.timer_mut(), now)
        {
            // Data acknowledges as well.
            self.owed = Owed::Nothing;
            return Some(framing.packet(out));
        }
        let ack = match self.owed {
            Owed::Nothing => return None,
            Owed::Ack => 0,
            Owed::AckOfFin => 1,
        };
        self.owed = Owed::Nothing;
        Some(framing.bare(Segment { ack, flags: Flags::ACK, ..Segment::default() }))
    }

    #[inline]
    pub(super) fn deadline(&self, life: &Lifecycle) -> Time {
        let wake = if life.is_established() { self.sender.wake() } else { Time::MAX };
        life.timer().deadline().min(wake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpConfig;
    use crate::tcp::flow::FlowSpec;

    /// With an object of 1000 bytes.
    struct Bench {
        end: Active,
        life: Lifecycle,
        framing: Framing,
    }

    impl Bench {
        fn new(config: &TcpConfig) -> Self {
            let sender = Sender::new(config, FlowSpec::of(Some(1000)), Time::ZERO);
            Self { end: Active::new(sender), life: Lifecycle::connect(config), framing: Framing::new(config) }
        }

        fn answer(&mut self, ack: u64, flags: Flags) {
            let segment = Segment { ack, window: 65_535, flags: flags | Flags::ACK, ..Segment::default() };
            self.end.on_packet(&mut self.life, Time(5), &segment);
        }

        fn poll(&mut self) -> Option<Segment> {
            self.end.poll_transmit(&mut self.life, &self.framing, Time(5)).map(|packet| packet.header)
        }
    }

    #[test]
    fn data_acknowledges_and_only_where_there_is_none_a_bare_ack_does() {
        let mut bench = Bench::new(&TcpConfig::default());
        assert!(bench.poll().is_some_and(|syn| syn.flags.has(Flags::SYN)));
        bench.answer(0, Flags::SYN);
        assert_eq!([bench.poll(), bench.poll()].map(|out| out.map(|segment| segment.len)), [Some(1000), None]);
        bench.answer(0, Flags::SYN);
        let bare = bench.poll().map(|segment| (segment.ack, segment.len));
        assert_eq!((bare, bench.end.owes_ack()), (Some((0, 0)), false), "the SYN-ACK came again");
    }

    #[test]
    fn the_other_end_s_fin_is_acknowledged_however_often_it_comes() {
        let mut bench = Bench::new(&TcpConfig { handshake: false, ..TcpConfig::default() });
        bench.poll();
        for _ in 0..2 {
            bench.answer(1001, Flags::FIN);
            assert!(bench.end.owes_ack() && bench.life.state() == State::Closed);
            assert_eq!([bench.poll(), bench.poll()].map(|out| out.map(|segment| segment.ack)), [Some(1), None]);
        }
    }
}
