//! The active end: opens the connection, sends the object, and acknowledges what little the other end sends.

use super::lifecycle::{Lifecycle, State};
use crate::tcp::outgoing::Outgoing;
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
        if now >= life.timer().deadline() && life.on_timeout(self.sender.keeps_probing()) {
            self.sender.on_timeout(life.timer(), now);
        }
    }

    /// It is over, without a word.
    pub(super) fn abort(&mut self) {
        self.owed = Owed::Nothing;
    }

    #[inline]
    pub(super) fn poll_transmit(&mut self, life: &mut Lifecycle, now: Time) -> Option<Outgoing> {
        if life.syn_is_due() {
            // The application opens the connection when it has something to send.
            let begins = !self.sender.stream().has_nothing();
            return begins.then(|| Outgoing::bare(life.send_syn(now, false)));
        }
        if life.is_established()
            && let Some(out) = self.sender.poll_transmit(life.timer_mut(), now)
        {
            // Data acknowledges as well.
            self.owed = Owed::Nothing;
            return Some(out);
        }
        let ack = match self.owed {
            Owed::Nothing => return None,
            Owed::Ack => 0,
            Owed::AckOfFin => 1,
        };
        self.owed = Owed::Nothing;
        Some(Outgoing::bare(Segment { ack, flags: Flags::ACK, ..Segment::default() }))
    }

    #[inline]
    pub(super) fn deadline(&self, life: &Lifecycle) -> Time {
        let release = if life.is_established() { self.sender.release() } else { Time::MAX };
        life.timer().deadline().min(release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpConfig;
    use crate::tcp::flow::FlowSpec;

    fn end(config: &TcpConfig, bytes: u64) -> (Active, Lifecycle) {
        let sender = Sender::new(config, FlowSpec::of(Some(bytes)), Time::ZERO);
        (Active::new(sender), Lifecycle::connect(config))
    }

    fn answer(ack: u64, flags: Flags) -> Segment {
        Segment { ack, window: 65_535, flags: flags | Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn data_acknowledges_and_only_where_there_is_none_a_bare_ack_does() {
        let (mut end, mut life) = end(&TcpConfig::default(), 1000);
        assert!(end.poll_transmit(&mut life, Time::ZERO).is_some_and(|out| out.segment.flags.has(Flags::SYN)));
        end.on_packet(&mut life, Time(5), &answer(0, Flags::SYN));
        assert!(end.poll_transmit(&mut life, Time(5)).is_some_and(|out| out.segment.len == 1000));
        assert!(end.poll_transmit(&mut life, Time(5)).is_none());
        end.on_packet(&mut life, Time(6), &answer(0, Flags::SYN));
        let bare = end.poll_transmit(&mut life, Time(6)).unwrap().segment;
        assert_eq!((bare.ack, bare.len, end.owes_ack()), (0, 0, false), "the SYN-ACK came again");
    }

    #[test]
    fn the_other_end_s_fin_is_acknowledged_however_often_it_comes() {
        let config = TcpConfig { handshake: false, ..TcpConfig::default() };
        let (mut end, mut life) = end(&config, 1000);
        end.poll_transmit(&mut life, Time::ZERO);
        for _ in 0..2 {
            end.on_packet(&mut life, Time(5), &answer(1001, Flags::FIN));
            assert!(end.owes_ack() && life.state() == State::Closed);
            assert_eq!(end.poll_transmit(&mut life, Time(5)).map(|out| out.segment.ack), Some(1));
            assert!(end.poll_transmit(&mut life, Time(5)).is_none());
        }
    }
}
