//! The states of a connection (RFC 9293 §3.3.2), its handshake and its retransmission timer: what both ends have alike.

use super::events::Events;
use super::handshake::Handshake;
use crate::endpoint::Event;
use crate::tcp::config::TcpConfig;
use crate::tcp::segment::{Flags, Segment};
use crate::tcp::timer::RetransmissionTimer;
use crate::units::Time;

/// The states that a transfer in one direction passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Listen,
    SynSent,
    SynReceived,
    /// Data flows; FIN-WAIT too, since the FIN travels with the last segment.
    Established,
    /// Receiver: everything arrived, our FIN is not acknowledged yet.
    LastAck,
    Closed,
    Failed,
}

/// Where a connection is between its opening and its end.
#[derive(Clone, Debug)]
pub(super) struct Lifecycle {
    state: State,
    handshake: Handshake,
    timer: RetransmissionTimer,
    events: Events,
    timeouts: u32,
}

impl Lifecycle {
    /// Of the active end: it opens the connection, or finds it open if there is no handshake.
    pub(super) fn connect(config: &TcpConfig) -> Self {
        let mut life = Self::new(config, State::SynSent);
        if config.handshake {
            life.handshake.demand();
        } else {
            life.state = State::Established;
            life.events.on_connected();
        }
        life
    }

    /// Of the passive end.
    pub(super) fn listen(config: &TcpConfig) -> Self {
        Self::new(config, if config.handshake { State::Listen } else { State::SynReceived })
    }

    fn new(config: &TcpConfig, state: State) -> Self {
        let timer = RetransmissionTimer::new(config);
        let handshake = Handshake::new(config, &timer);
        Self { state, handshake, timer, events: Events::default(), timeouts: 0 }
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        self.state
    }

    #[inline]
    pub(super) fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether the handshake is not over.
    pub(super) fn is_opening(&self) -> bool {
        matches!(self.state, State::Listen | State::SynSent | State::SynReceived)
    }

    #[inline]
    pub(super) fn timer(&self) -> &RetransmissionTimer {
        &self.timer
    }

    #[inline]
    pub(super) fn timer_mut(&mut self) -> &mut RetransmissionTimer {
        &mut self.timer
    }

    /// What happened. `may_close`: nothing has to leave any more.
    #[inline]
    pub(super) fn poll_event(&mut self, may_close: impl FnOnce() -> bool) -> Option<Event> {
        self.events.poll(may_close)
    }

    /// Retransmission timeouts that fired.
    pub(super) fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Whether SYN or SYN-ACK must be sent.
    #[inline]
    pub(super) fn syn_is_due(&self) -> bool {
        self.handshake.is_due()
    }

    /// SYN or, if `is_answer`, SYN-ACK leaves.
    pub(super) fn send_syn(&mut self, now: Time, is_answer: bool) -> Segment {
        Segment { flags: self.handshake.send(now, &mut self.timer, is_answer), ..Segment::default() }
    }

    /// A SYN arrived. Whether ECN and SACK are in use; `None`: it is an old one.
    pub(super) fn on_syn(&mut self, flags: Flags) -> Option<(bool, bool)> {
        if !matches!(self.state, State::Listen | State::SynReceived) {
            return None;
        }
        self.handshake.on_syn(flags);
        self.state = State::SynReceived;
        Some(self.handshake.options())
    }

    /// The answer to our SYN arrived. Whether ECN and SACK are in use.
    pub(super) fn on_syn_ack(&mut self, now: Time, flags: Flags) -> (bool, bool) {
        self.handshake.on_syn_ack(flags);
        self.establish(now, true);
        self.handshake.options()
    }

    /// The first segment after our SYN-ACK arrived: any with ACK ends the handshake, the sender's third packet already carries data.
    pub(super) fn on_third_packet(&mut self, now: Time) {
        let is_answer = self.timer.deadline() != Time::MAX || self.timer.consecutive() > 0;
        self.establish(now, is_answer);
    }

    /// The handshake is over; `is_sample`: what was sent of it is answered.
    fn establish(&mut self, now: Time, is_sample: bool) {
        self.handshake.end(now, &mut self.timer, is_sample);
        self.state = State::Established;
        self.events.on_connected();
    }

    /// The whole object has arrived.
    pub(super) fn complete(&mut self, now: Time) {
        self.state = State::LastAck;
        self.events.on_completed(now);
    }

    pub(super) fn close(&mut self) {
        self.state = State::Closed;
        self.timer.stop();
        self.events.on_closed();
    }

    /// Ends here and now, without a word.
    pub(super) fn abort(&mut self) {
        self.state = State::Closed;
        self.handshake.stop();
        self.timer.stop();
    }

    /// The retransmission timer fired. Whether the end has something to send again itself; `keeps_trying`: however often it has done so.
    pub(super) fn on_timeout(&mut self, keeps_trying: bool) -> bool {
        let tries_left = self.timer.fire() || keeps_trying;
        if !tries_left && self.state == State::LastAck {
            // Everything was delivered; only the farewell got lost.
            self.close();
        } else if !tries_left {
            self.state = State::Failed;
            self.timer.stop();
            self.events.on_failed();
        } else {
            self.timeouts += 1;
            if !matches!(self.state, State::SynSent | State::SynReceived) {
                return true;
            }
            self.handshake.demand();
        }
        false
    }

    /// For a person; `None`: for what the end itself waits.
    pub(super) fn waiting_for(&self) -> Option<String> {
        match self.state {
            State::Listen => Some("a SYN".into()),
            State::SynSent => Some(format!("the SYN-ACK; timeout {}", self.timer.rto())),
            State::SynReceived => Some(format!("the first data; timeout {}", self.timer.rto())),
            State::LastAck => Some("the ACK of the receiver's FIN; the object is complete".into()),
            State::Closed => Some("nothing: closed".into()),
            State::Failed => Some("nothing: gave up".into()),
            State::Established => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::FailureReason;

    fn config(handshake: bool) -> TcpConfig {
        TcpConfig { handshake, retries: 2, ..TcpConfig::default() }
    }

    #[test]
    fn a_syn_that_is_not_answered_is_repeated_until_the_retries_are_exhausted() {
        let mut life = Lifecycle::connect(&config(true));
        for _ in 0..3 {
            assert!(life.syn_is_due() && life.is_opening());
            life.send_syn(Time::ZERO, false);
            assert!(!life.on_timeout(false));
        }
        assert_eq!((life.state(), life.timeouts(), life.timer.deadline()), (State::Failed, 2, Time::MAX));
        assert_eq!(life.poll_event(|| true), Some(Event::Failed(FailureReason::TimedOut)));
    }

    #[test]
    fn an_end_that_has_everything_closes_whether_or_not_its_fin_is_acknowledged() {
        let mut life = Lifecycle::listen(&config(true));
        assert!(life.on_syn(Flags::SYN).is_some());
        life.send_syn(Time::ZERO, true);
        life.on_third_packet(Time(5));
        assert!(life.is_established() && life.on_syn(Flags::SYN).is_none(), "an old one");
        life.complete(Time(9));
        assert_eq!([(); 3].map(|()| life.on_timeout(false)), [true, true, false]);
        let told = [(); 3].map(|()| life.poll_event(|| true).unwrap());
        assert_eq!(told, [Event::Connected, Event::Completed { at: Time(9) }, Event::Closed]);
    }

    #[test]
    fn without_a_handshake_the_active_end_finds_the_connection_open() {
        let mut life = Lifecycle::connect(&config(false));
        assert!(life.is_established() && !life.syn_is_due());
        assert_eq!(life.poll_event(|| true), Some(Event::Connected));
        assert_eq!(Lifecycle::listen(&config(false)).state(), State::SynReceived);
        assert!([(); 9].map(|()| life.on_timeout(true)).iter().all(|&again| again), "it keeps trying");
    }
}
