//! Round trips, one after the other: how long each takes, and what arrives meanwhile.
//!
//! One pull is timed at a time, until its symbol arrives: that is a round trip. Its rate is what arrived meanwhile, counted
//! from the last arrival before it (draft-cheng-iccrg-delivery-rate-estimation). Pulls may leave in batches, while symbols arrive one after the
//! other: so a round trip includes the wait for the symbols ahead in the same batch, which the least of many round trips does not.

use crate::Time;

/// A timed symbol counts as lost once this many symbols requested after it have arrived.
const OVERTAKEN: u64 = 64;

/// The pull whose answer ends a round trip.
#[derive(Clone, Copy, Debug)]
struct Timed {
    block: u32,
    index: u32,
    at: Time,
    /// Its symbol cannot have left before.
    is_round_trip: bool,
    /// Symbols that had arrived by then, and when the last of them did; the time of the pull if nothing was in flight.
    delivered: u64,
    since: Time,
    on_their_way: u64,
}

/// A round trip that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Round {
    /// Symbols that arrived while its pull was timed.
    pub(super) arrived: f64,
    /// In symbols per picosecond.
    pub(super) rate: f64,
    /// Part of the symbols that were marked.
    pub(super) marked: f64,
    /// The lane was not asked for all that the window allows.
    pub(super) limited: bool,
}

/// The round trip in progress, and how many there were.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    count: u64,
    timed: Option<Timed>,
    /// Symbols that have arrived whole, and when the last did.
    delivered: u64,
    last_delivery: Time,
    /// Of these, since the last round trip was over.
    arrived: u32,
    marked: u32,
    limited: bool,
}

impl Rounds {
    /// How many are over.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The `index`-th symbol of the lane in a block is requested, with `on_their_way` in flight. `is_round_trip`: it was not sent before.
    pub(super) fn on_pull(&mut self, now: Time, block: u32, index: u32, is_round_trip: bool, on_their_way: u32) {
        if self.timed.is_none() {
            let since = if on_their_way == 0 { now } else { self.last_delivery };
            let (delivered, on_their_way) = (self.delivered, u64::from(on_their_way));
            self.timed = Some(Timed { block, index, at: now, is_round_trip, delivered, since, on_their_way });
        }
    }

    /// A symbol has arrived whole.
    pub(super) fn on_symbol(&mut self, now: Time, marked: bool) {
        self.delivered += 1;
        self.last_delivery = now;
        self.arrived += 1;
        self.marked += u32::from(marked);
    }

    /// There was less to ask for than the window allows.
    pub(super) fn on_limited(&mut self) {
        self.limited = true;
    }

    /// How long its pull took, in picoseconds, if this symbol is the answer to the one that is timed, and cannot have left before.
    pub(super) fn measure(&self, now: Time, block: u32, index: u32) -> Option<f64> {
        let timed = self.timed.as_ref().filter(|timed| timed.is_round_trip && timed.is_answered_by(block, index))?;
        Some((now - timed.at).ps() as f64)
    }

    /// Ends the round trip if it is over with this symbol. One that cannot be measured is over after the `least` known, in picoseconds; any is
    /// after all that was in flight.
    pub(super) fn end(&mut self, now: Time, block: u32, index: u32, least: Option<f64>) -> Option<Round> {
        let timed = self.timed?;
        let is_over = if timed.is_round_trip {
            timed.is_answered_by(block, index)
        } else {
            least.is_some_and(|least| (now - timed.at).ps() as f64 >= least)
        };
        let arrived = self.delivered - timed.delivered;
        if !is_over && arrived <= timed.on_their_way + OVERTAKEN {
            return None;
        }
        let arrived = arrived as f64;
        let round = Round {
            arrived,
            rate: arrived / (now - timed.since).ps().max(1) as f64,
            marked: f64::from(self.marked) / f64::from(self.arrived.max(1)),
            limited: self.limited,
        };
        self.count += 1;
        self.timed = None;
        (self.arrived, self.marked, self.limited) = (0, 0, false);
        Some(round)
    }

    /// The symbol that is timed may never arrive.
    pub(super) fn forget_pull(&mut self) {
        self.timed = None;
    }

    /// As at first; symbols go on to arrive.
    pub(super) fn anew(&self) -> Self {
        Self { delivered: self.delivered, last_delivery: self.last_delivery, ..Self::default() }
    }

    /// The pull that is timed: block, index and when it left.
    #[cfg(test)]
    pub(super) fn timed(&self) -> Option<(u32, u32, Time)> {
        self.timed.map(|timed| (timed.block, timed.index, timed.at))
    }
}

impl Timed {
    fn is_answered_by(&self, block: u32, index: u32) -> bool {
        (block, index) == (self.block, self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A symbol arrives whole; what ends with it.
    fn arrive(rounds: &mut Rounds, now: u64, index: u32, least: Option<f64>) -> Option<Round> {
        rounds.on_symbol(Time(now), false);
        rounds.end(Time(now), 0, index, least)
    }

    #[test]
    fn a_round_trip_is_over_with_the_symbol_that_was_asked_for_at_its_beginning() {
        let mut rounds = Rounds::default();
        rounds.on_pull(Time(100), 0, 5, true, 0);
        rounds.on_pull(Time(110), 0, 6, true, 1);
        assert_eq!(arrive(&mut rounds, 150, 4, None), None);
        rounds.on_symbol(Time(200), true);
        assert_eq!((rounds.measure(Time(200), 0, 6), rounds.measure(Time(200), 0, 5)), (None, Some(100.0)));
        let round = Round { arrived: 2.0, rate: 0.02, marked: 0.5, limited: false };
        assert_eq!((rounds.end(Time(200), 0, 5, None), rounds.count()), (Some(round), 1));
        assert_eq!(rounds.end(Time(300), 0, 5, None), None, "none is timed");
    }

    #[test]
    fn a_rate_is_counted_from_the_last_arrival_before_if_anything_was_in_flight() {
        let mut rounds = Rounds::default();
        rounds.on_symbol(Time(60), false);
        rounds.on_pull(Time(100), 0, 0, true, 1);
        rounds.on_limited();
        let round = Round { arrived: 1.0, rate: 1.0 / 40.0, marked: 0.0, limited: true };
        assert_eq!(arrive(&mut rounds, 100, 0, None), Some(round));
        rounds.on_pull(Time(200), 0, 1, true, 0);
        let round = arrive(&mut rounds, 250, 1, None).expect("it is over");
        assert!((round.rate - 1.0 / 50.0).abs() < 1e-12 && !round.limited);
    }

    #[test]
    fn one_that_cannot_be_measured_takes_the_least_time() {
        let mut rounds = Rounds::default();
        rounds.on_pull(Time(0), 0, 5, false, 0);
        assert_eq!((rounds.measure(Time(9), 0, 5), arrive(&mut rounds, 9, 5, None)), (None, None));
        assert_eq!(arrive(&mut rounds, 9, 5, Some(10.0)), None);
        assert!(arrive(&mut rounds, 10, 7, Some(10.0)).is_some());
    }

    #[test]
    fn a_symbol_that_very_many_have_overtaken_is_waited_for_no_longer() {
        let mut rounds = Rounds::default();
        rounds.on_pull(Time(0), 0, 5, true, 3);
        assert!((0..67).all(|n| arrive(&mut rounds, n, 6, None).is_none()));
        assert!(arrive(&mut rounds, 67, 6, None).is_some());
    }

    #[test]
    fn what_has_arrived_is_remembered_when_all_begins_anew() {
        let mut rounds = Rounds::default();
        rounds.on_pull(Time(0), 0, 0, true, 0);
        rounds.on_limited();
        assert!(arrive(&mut rounds, 40, 0, None).is_some());
        let mut rounds = rounds.anew();
        assert_eq!((rounds.count(), rounds.timed()), (0, None));
        rounds.on_pull(Time(50), 0, 1, true, 1);
        assert_eq!(arrive(&mut rounds, 60, 1, None).map(|round| round.rate), Some(1.0 / 20.0), "since 40");
    }
}
