//! BBR's state machine, and the gain of each state: by how much the window exceeds the bandwidth-delay product.
//!
//! A gain below 1 is only used by the probe and the drain: in a group a symbol leaves when all receivers have asked for it, and a
//! receiver with a window of just what it needs would hold the others back, see that less is delivered, and shrink again. With twice
//! as much none delays the others; a probe is over long before the ten round trips for which a rate is remembered.

use crate::random::mix;

/// Window gain while the rate may still grow: 2 / ln 2 (draft-cardwell-iccrg-bbr-congestion-control-02 §2.4: `BBRStartupPacingGain`).
const STARTUP_GAIN: f64 = 2.885;
/// Start-up ends when the rate has grown by less than this factor over [`FLAT_ROUNDS`] round trips in a row (ibid. §4.3.1.2).
const GROWTH: f64 = 1.25;
const FLAT_ROUNDS: u32 = 3;
/// Window gain otherwise (ibid. §2.4: `BBRCwndGain`); it is 1/4 more in one round trip in eight, and 1/4 less in the next (ACM Queue 14(5):
/// the cycle of pacing gains). That makes shares converge: sessions with a small share gain more by it than those with the largest,
/// unless all do it at once. So each lane draws at random when.
const GAIN: f64 = 2.0;
const GAIN_UP: f64 = 2.5;
const GAIN_DOWN: f64 = 1.5;
const CYCLE: u64 = 8;
/// Window gain while the queue empties, after start-up.
const DRAIN_GAIN: f64 = 1.0;
/// The least round trip is probed with half of the product (ibid. §2.8, §4.3.4).
const PROBE_GAIN: f64 = 0.5;
/// Round trips that a probe, and the drain after start-up, take: in the first the queue empties.
const PROBE_ROUNDS: u32 = 3;
const DRAIN_ROUNDS: u32 = 3;

/// What the window is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The bandwidth is unknown.
    Startup,
    /// The queue that start-up has left empties, for so many round trips at most.
    Drain(u32),
    Steady,
    /// The queue is kept empty to measure the round trip, for so many round trips.
    Probe(u32),
}

/// What a round trip has shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    /// Too many symbols were lost or marked.
    pub(super) congested: bool,
    /// No more is in flight than the bandwidth-delay product.
    pub(super) drained: bool,
    /// The least round trip is too old.
    pub(super) stale: bool,
}

/// The state, and what leads to the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateMachine {
    state: State,
    /// The rate that start-up has to exceed, and for how many round trips it has not done so.
    full: (f64, u32),
}

impl Default for StateMachine {
    fn default() -> Self {
        Self { state: State::Startup, full: (0.0, 0) }
    }
}

impl StateMachine {
    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn is_startup(&self) -> bool {
        self.state == State::Startup
    }

    pub(super) fn is_probe(&self) -> bool {
        matches!(self.state, State::Probe(_))
    }

    /// The window in bandwidth-delay products, after so many `rounds`. `seed`: draws when it is more and less.
    pub(super) fn gain(&self, rounds: u64, seed: u64) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain(_) => DRAIN_GAIN,
            State::Steady => {
                let up = mix(seed ^ mix(rounds / CYCLE)) % (CYCLE - 1);
                match (rounds % CYCLE).checked_sub(up) {
                    Some(0) => GAIN_UP,
                    Some(1) => GAIN_DOWN,
                    _ => GAIN,
                }
            }
            State::Probe(_) => PROBE_GAIN,
        }
    }

    /// A round trip is over, after which this `rate` is known. `limited`: the lane was not asked for all that the window allows.
    pub(super) fn on_round(&mut self, rate: f64, limited: bool, observed: Observed) {
        let ends_startup = self.is_startup() && (observed.congested || self.is_full(rate, limited));
        self.state = match self.state {
            State::Startup if ends_startup => State::Drain(DRAIN_ROUNDS),
            State::Drain(rounds) if rounds > 1 && !observed.drained => State::Drain(rounds - 1),
            State::Steady if observed.stale => State::Probe(PROBE_ROUNDS),
            State::Probe(rounds) if rounds > 1 => State::Probe(rounds - 1),
            State::Drain(_) | State::Probe(_) => State::Steady,
            same @ (State::Startup | State::Steady) => same,
        };
    }

    /// Whether the rate no longer grows.
    fn is_full(&mut self, rate: f64, limited: bool) -> bool {
        let (full, flat) = self.full;
        if rate >= full * GROWTH {
            self.full = (rate, 0);
        } else if !limited {
            self.full.1 = flat + 1;
        }
        self.full.1 >= FLAT_ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Observed = Observed { congested: false, drained: false, stale: false };
    const CONGESTED: Observed = Observed { congested: true, ..NOTHING };
    const DRAINED: Observed = Observed { drained: true, ..NOTHING };
    const STALE: Observed = Observed { stale: true, ..NOTHING };

    /// The states after each of these round trips.
    fn after(machine: &mut StateMachine, rounds: &[Observed]) -> Vec<State> {
        let next = |observed: &Observed| {
            machine.on_round(1.0, false, *observed);
            machine.state()
        };
        rounds.iter().map(next).collect()
    }

    /// The state after each round trip with nothing but a rate.
    fn after_rates<const N: usize>(machine: &mut StateMachine, rates: [f64; N], limited: bool) -> [State; N] {
        rates.map(|rate| {
            machine.on_round(rate, limited, NOTHING);
            machine.state()
        })
    }

    /// Start-up and the drain are over.
    fn steady() -> StateMachine {
        let mut machine = StateMachine::default();
        assert_eq!(after(&mut machine, &[CONGESTED, DRAINED]), [State::Drain(3), State::Steady]);
        machine
    }

    #[test]
    fn start_up_ends_after_three_round_trips_without_growth() {
        let mut machine = StateMachine::default();
        assert_eq!(after_rates(&mut machine, [1.0, 2.0, 2.4, 2.4, 2.6, 3.0], false), [State::Startup; 6]);
        assert_eq!(after_rates(&mut machine, [3.0; 9], true), [State::Startup; 9], "it was not asked for more");
        let states = after_rates(&mut machine, [3.0; 5], false);
        assert_eq!(states, [State::Startup, State::Drain(3), State::Drain(2), State::Drain(1), State::Steady]);
    }

    #[test]
    fn an_empty_queue_ends_the_drain_and_so_do_three_round_trips() {
        let mut machine = StateMachine::default();
        let states = after(&mut machine, &[DRAINED, CONGESTED, CONGESTED, DRAINED]);
        assert_eq!(states, [State::Startup, State::Drain(3), State::Drain(2), State::Steady]);
        let mut machine = StateMachine::default();
        assert_eq!(after(&mut machine, &[CONGESTED; 4])[1..], [State::Drain(2), State::Drain(1), State::Steady]);
    }

    #[test]
    fn an_old_round_trip_is_probed_for_three() {
        let mut machine = steady();
        let states = after(&mut machine, &[STALE; 4]);
        assert_eq!(states, [State::Probe(3), State::Probe(2), State::Probe(1), State::Steady]);
        assert_eq!(after(&mut machine, &[CONGESTED]), [State::Steady]);
    }

    #[test]
    fn in_each_cycle_the_gain_is_more_in_one_round_trip_and_less_in_the_next() {
        let machine = steady();
        for seed in 0..20 {
            for cycle in 0..10 {
                let tenths: Vec<u32> =
                    (0..CYCLE).map(|n| (10.0 * machine.gain(CYCLE * cycle + n, seed)) as u32).collect();
                let up = tenths.iter().position(|tenths| *tenths == 25).expect("once");
                assert_eq!(tenths[up + 1], 15);
                assert_eq!(tenths.iter().filter(|tenths| **tenths == 20).count(), 6, "{tenths:?}");
            }
        }
        let drawn = |seed| (0..80).map(|rounds| (10.0 * machine.gain(rounds, seed)) as u32).collect::<Vec<_>>();
        assert_ne!(drawn(1), drawn(2));
    }
}
