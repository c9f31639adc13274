//! One end of a transfer, as drivers see it: an [active](Active) or a [passive](Passive) one, over what both have alike.
//!
//! The receiver's last ACK carries its FIN, which it repeats: a lost last ACK never leaves the sender hanging. The sender is done when
//! its own FIN is acknowledged; there is no TIME-WAIT. If the sender's own last ACK is lost and the driver has dropped it, the receiver
//! stays in LAST-ACK for the time of its retries, which delays nothing but its own `Closed`.

use super::config::TcpConfig;
use super::flow::FlowSpec;
use super::outgoing::Framing;
use super::receiver::Receiver;
use super::segment::Segment;
use super::sender::Sender;
use crate::endpoint::{Arrival, Endpoint, Event, Stats, Transmit};
use crate::units::{Duration, Time};

mod active;
mod events;
mod handshake;
mod lifecycle;
mod passive;
mod subflow;

use active::Active;
use lifecycle::Lifecycle;
use passive::Passive;

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a transfer has one of each; what holds a connection is boxed")]
enum Half {
    Active(Active),
    Passive(Passive),
}

/// One end of a TCP transfer: the active sender or the passive receiver.
#[derive(Clone, Debug)]
pub struct Connection {
    life: Lifecycle,
    framing: Framing,
    half: Half,
}

impl Connection {
    /// The active end, which sends an object of `object_bytes` (`None`: a stream without end) from `now` on.
    pub fn connect(config: &TcpConfig, object_bytes: Option<u64>, now: Time) -> Self {
        Self::connect_with(config, FlowSpec::of(object_bytes), now)
    }

    /// The active end of a flow of which its application says more than the size.
    pub fn connect_with(config: &TcpConfig, flow: FlowSpec, now: Time) -> Self {
        let half = Half::Active(Active::new(Sender::new(config, flow, now)));
        Self { life: Lifecycle::connect(config), framing: Framing::new(config), half }
    }

    /// The passive end, which receives one object.
    pub fn listen(config: &TcpConfig) -> Self {
        let half = Half::Passive(Passive::new(Receiver::new(config)));
        Self { life: Lifecycle::listen(config), framing: Framing::new(config), half }
    }

    /// Congestion window in bytes; `None` at the receiver.
    pub fn cwnd(&self) -> Option<u64> {
        self.sender().map(|sender| sender.window().size())
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn smoothed_rtt(&self) -> Duration {
        self.life.timer().srtt()
    }

    fn sender(&self) -> Option<&Sender> {
        match &self.half {
            Half::Active(end) => Some(end.sender()),
            Half::Passive(_) => None,
        }
    }

    fn sender_mut(&mut self) -> Option<&mut Sender> {
        match &mut self.half {
            Half::Active(end) => Some(end.sender_mut()),
            Half::Passive(_) => None,
        }
    }
}

impl Endpoint for Connection {
    type Header = Segment;

    #[inline]
    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Segment>) {
        // TCP knows neither trimming nor return to sender: such a packet fails its checksum, or is not for us.
        if arrival.trimmed || arrival.returned {
            return;
        }
        match &mut self.half {
            Half::Active(end) => end.on_packet(&mut self.life, now, &arrival.header),
            Half::Passive(end) => end.on_packet(&mut self.life, now, &arrival.header, arrival.ce),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        match &mut self.half {
            Half::Active(end) => end.on_timeout(&mut self.life, now),
            Half::Passive(end) => end.on_timeout(&mut self.life, now),
        }
    }

    #[inline]
    fn set_departure(&mut self, at: Time) {
        self.life.timer_mut().set_departure(at);
    }

    #[inline]
    fn uses_departure(&self) -> bool {
        matches!(self.half, Half::Active(_)) || !self.life.is_established()
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        match &mut self.half {
            Half::Active(end) => end.poll_transmit(&mut self.life, &self.framing, now),
            Half::Passive(end) => end.poll_transmit(&mut self.life, &self.framing, now),
        }
    }

    fn set_available(&mut self, _now: Time, bytes: u64) {
        if let Some(sender) = self.sender_mut() {
            sender.stream_mut().provide(bytes);
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Time> {
        let deadline = match &self.half {
            Half::Active(end) => end.deadline(&self.life),
            Half::Passive(end) => end.deadline(&self.life),
        };
        (deadline != Time::MAX).then_some(deadline)
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        // Not while the last ACK still has to leave.
        let may_close = || !matches!(&self.half, Half::Active(end) if end.owes_ack());
        self.life.poll_event(may_close)
    }

    fn stats(&self) -> Stats {
        let stats = match &self.half {
            Half::Active(end) => end.sender().stats(),
            Half::Passive(end) => end.receiver().stats(),
        };
        Stats { timeouts: self.life.timeouts().into(), ..stats }
    }

    fn congestion_window(&self) -> Option<u64> {
        self.cwnd()
    }

    fn waiting_for(&self) -> String {
        self.life.waiting_for().unwrap_or_else(|| match &self.half {
            Half::Active(end) => end.sender().waiting_for(self.life.timer().rto()),
            Half::Passive(end) => end.receiver().waiting_for(),
        })
    }
}
