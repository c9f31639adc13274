//! A receiver's window after BBR (Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-02).
//!
//! BBR runs at the sender; here all of it runs at the receiver, as pulls do. What is kept: the window follows the highest delivery
//! rate of the last ten round trips ([`Bandwidth`]) times the least round trip of the last ten seconds ([`LeastRoundTrip`]); start-up, drain, and
//! a probe of the round trip ([`StateMachine`]); from its second version the [`Ceiling`] that losses leave. What differs: a symbol is pulled when
//! another one arrives, so only the host's pull queue paces, and BBR's window gain of 2 alone
//! applies. So a session alone keeps a queue of one bandwidth-delay product; its cycle of gains goes around that value. And where other flows hold
//! the queue, the window competes with them ([`Crowd`]).

use super::{Duration, Seen, Time};
use bandwidth::Bandwidth;
use ceiling::Ceiling;
use congestion::Congestion;
use crowd::Crowd;
use least_round_trip::LeastRoundTrip;
use rounds::{Round, Rounds};
use state::{Observed, State, StateMachine};

mod bandwidth;
mod ceiling;
mod congestion;
mod crowd;
mod least_round_trip;
mod rounds;
mod state;

/// The minimum window: enough to see a gap, and to keep both ends busy (ibid. §2.7: `BBRMinPipeCwnd`).
const FLOOR: f64 = 4.0;
/// Nor is the window less than this many batches of what hosts handle at once. A batch is at most what arrives in [`BATCH_TIME`] (ibid.
/// §4.4.2.1 and §4.6.3: `BBR.offload_budget`, `BBR.send_quantum`).
const BATCHES: f64 = 3.0;
const BATCH_TIME: Duration = Duration::from_ms(1);
/// Growth of the window with each symbol that arrives, below the known bandwidth-delay product and
/// beyond it: so the growth of a window is not sent at once, to a buffer that may be short.
const GROWTH_BELOW: f64 = 1.0;
const GROWTH_BEYOND: f64 = 0.25;
/// A loss ends start-up only if at least this many symbols were lost: start-up is short, and ending it by chance costs much (ibid. §2.7:
/// `BBRStartupFullLossCnt`, which counts bursts of them).
const STARTUP_LOST: u32 = 8;

/// The window of one lane, in symbols.
#[derive(Clone, Debug)]
pub(super) struct Bbr {
    window: f64,
    /// The size it grows towards.
    goal: f64,
    initial: f64,
    least: f64,
    limit: f64,
    /// Symbols that hosts handle at once.
    batch: f64,
    /// For random draws.
    seed: u64,
    states: StateMachine,
    rounds: Rounds,
    bandwidth: Bandwidth,
    round_trip: LeastRoundTrip,
    congestion: Congestion,
    ceiling: Ceiling,
    crowd: Crowd,
}

impl Bbr {
    /// Begins with the sender's initial window; the window is at most `limit`. Hosts handle `batch` symbols at once.
    pub(super) fn new(initial: u32, limit: u32, batch: u32, seed: u64) -> Self {
        Self {
            window: f64::from(initial),
            goal: f64::from(initial),
            initial: f64::from(initial),
            least: FLOOR,
            limit: f64::from(limit),
            batch: f64::from(batch),
            seed,
            states: StateMachine::default(),
            rounds: Rounds::default(),
            bandwidth: Bandwidth::default(),
            round_trip: LeastRoundTrip::default(),
            congestion: Congestion::default(),
            ceiling: Ceiling::default(),
            crowd: Crowd::default(),
        }
    }

    /// The same; the window is at least `least`.
    pub(super) fn with_least(self, least: u32) -> Self {
        Self { least: f64::from(least).max(FLOOR), ..self }
    }

    pub(super) fn window(&self) -> u32 {
        self.window as u32
    }

    /// The least round trip of the last time, once it is known.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.round_trip.get().map(|least| Duration::from_ps(least as u64))
    }

    pub(super) fn on_pull(&mut self, now: Time, block: u32, index: u32, is_round_trip: bool, on_their_way: u32) {
        self.rounds.on_pull(now, block, index, is_round_trip, on_their_way);
    }

    pub(super) fn on_symbol(&mut self, now: Time, block: u32, index: u32, seen: Seen, on_their_way: u32) {
        if seen == Seen::Trimmed {
            // A switch had no room for it: as good as lost.
            return self.on_lost(1);
        }
        self.rounds.on_symbol(now, seen == Seen::Marked);
        self.congestion.on_arrival();
        self.grow();
        if let Some(taken) = self.rounds.measure(now, block, index) {
            self.round_trip.sample(now, taken);
            self.crowd.on_round_trip(taken, self.round_trip.get(), self.window);
        }
        if let Some(round) = self.rounds.end(now, block, index, self.round_trip.get()) {
            self.on_round(now, &round, on_their_way);
        }
    }

    pub(super) fn on_lost(&mut self, count: u32) {
        self.congestion.on_lost(count);
    }

    pub(super) fn on_limited(&mut self) {
        self.rounds.on_limited();
    }

    /// One silence may come from a few lost pulls; a symbol requested twice is not timed (RFC 6298 §3). After two, what was known
    /// of the path may no longer hold.
    pub(super) fn on_timeout(&mut self, timeouts: u32) {
        self.rounds.forget_pull();
        self.round_trip.interrupt();
        if timeouts > 1 {
            *self = Self {
                rounds: self.rounds.anew(),
                least: self.least,
                ..Self::new(self.initial as u32, self.limit as u32, self.batch as u32, self.seed)
            };
        }
    }

    /// The bandwidth-delay product in symbols, once there is one.
    fn product(&self) -> Option<f64> {
        self.round_trip.get().map(|least| least * self.bandwidth.get()).filter(|&product| product > 0.0)
    }

    /// The window wanted, losses apart.
    fn wanted(&self, product: f64) -> f64 {
        let competing = if self.states.state() == State::Steady { self.crowd.least_window() } else { 0.0 };
        let wanted = (product * self.states.gain(self.rounds.count(), self.seed)).max(competing);
        if self.states.is_probe() { wanted } else { wanted.max(self.batches()) }
    }

    /// The window that keeps two hosts busy that handle symbols in batches: one batch sent, one in flight, one received. Where hosts
    /// are late by more than the least round trip, the product alone would shrink the window further and further.
    fn batches(&self) -> f64 {
        BATCHES * (self.bandwidth.get() * BATCH_TIME.ps() as f64).min(self.batch)
    }

    /// A symbol has arrived.
    fn grow(&mut self) {
        let known = self.product();
        let is_startup = self.states.is_startup();
        if is_startup && known.is_none() {
            // Doubles in each round trip, until the length of one is known.
            self.goal = (self.goal + 1.0).min(self.limit);
        }
        let below = is_startup || known.is_some_and(|product| self.window < product);
        self.window = (self.window + if below { GROWTH_BELOW } else { GROWTH_BEYOND }).min(self.goal);
    }

    /// A round trip is over, with `on_their_way` symbols in flight.
    fn on_round(&mut self, now: Time, round: &Round, on_their_way: u32) {
        let (before, is_startup) = (self.states.state(), self.states.is_startup());
        // The rate of a probe says nothing.
        self.bandwidth.on_round(round.rate, round.limited || self.states.is_probe());
        let lossy = self.congestion.on_round(round.marked, if is_startup { STARTUP_LOST } else { 0 });
        let congested = lossy || is_startup && congestion::ends_startup(round.marked);
        match before {
            State::Startup if congested => self.ceiling.on_loss(now, self.window, round.arrived),
            State::Steady => self.bound(now, round, lossy),
            State::Startup | State::Drain(_) | State::Probe(_) => {}
        }
        let drained = self.product().is_some_and(|product| f64::from(on_their_way) <= product);
        let observed = Observed { congested, drained, stale: self.round_trip.is_stale(now) };
        self.states.on_round(self.bandwidth.get(), round.limited, observed);
        match (before, self.states.state()) {
            (State::Steady, State::Probe(_)) => self.round_trip.begin_probe(),
            (State::Probe(_), State::Steady) => self.round_trip.end_probe(now),
            _ => {}
        }
        self.set_goal();
    }

    /// What losses, marks, or their absence say about the most that the path carries.
    fn bound(&mut self, now: Time, round: &Round, lossy: bool) {
        if lossy {
            self.ceiling.on_loss(now, self.window, round.arrived);
            self.crowd.on_loss();
        } else if round.marked > 0.0 {
            self.ceiling.on_marks(now, self.window, self.congestion.cut());
        } else if !round.limited {
            let wanted = self.product().map_or(self.window, |product| self.wanted(product));
            self.ceiling.on_round(now, self.window, wanted);
        }
    }

    /// After each round trip: sets the window's goal. A window above it shrinks at once.
    fn set_goal(&mut self) {
        let Some(product) = self.product() else { return };
        let wanted = self.wanted(product);
        let goal = if self.states.is_startup() { wanted.max(self.initial) } else { self.ceiling.bound(wanted) };
        self.goal = goal.max(self.least).min(self.limit);
        self.window = self.window.min(self.goal);
    }
}

#[cfg(test)]
mod tests;
