//! A receiver's window after BBR (Cardwell et al., ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-02).
//!
//! BBR runs at the sender; here all of it runs at the receiver, as pulls do. What is kept: the window follows the highest delivery
//! rate of the last ten round trips times the least round trip of the last ten seconds; start-up, drain, and
//! a probe of the round trip; from its second version the [`Ceiling`] that losses leave. What differs: a symbol is pulled when
//! another one arrives, so only the host's pull queue paces, and BBR's window gain of 2 alone
//! applies. So a session alone keeps a queue of one bandwidth-delay product; its cycle of gains goes around that value.
//!
//! A gain below 1 is only used by the probe and the drain: in a group a symbol leaves when all receivers have asked for it, and a
//! receiver with a window of just what it needs would hold the others back, see that less is delivered, and shrink again. With twice
//! as much none delays the others; a probe is over long before the ten round trips for which a rate is remembered.
//!
//! One pull is timed at a time, until its symbol arrives: that is a round trip. Its rate is what arrived meanwhile, counted
//! from the last arrival before it. Pulls may leave in batches, while symbols arrive one after the other: so a round trip includes
//! the wait for the symbols ahead in the same batch, which the least of many round trips does not. A symbol may also have left before
//! it was asked for, as the answer to a repeated pull of this receiver or another: so a single round trip is never taken as the least,
//! only the longer of two in a row.

use super::ceiling::{BETA, Ceiling};
use super::{Duration, Seen, Time};
use crate::scdp::layout::mix;

/// The minimum window: enough to see a gap, and to keep both ends busy (ibid. §2.7: `BBRMinPipeCwnd`).
const FLOOR: f64 = 4.0;
/// Nor is the window less than this many batches of what hosts handle at once. A batch is at most what arrives in [`BATCH_TIME`] (ibid.
/// §4.4.2.1 and §4.6.3: `BBR.offload_budget`, `BBR.send_quantum`).
const BATCHES: f64 = 3.0;
const BATCH_TIME: Duration = Duration::from_ms(1);
/// Window gain while the rate may still grow: 2 / ln 2 (ibid. §2.4: `BBRStartupPacingGain`).
const STARTUP_GAIN: f64 = 2.885;
/// Start-up ends when the rate has grown by less than this factor over [`FLAT_ROUNDS`] round trips in a row (ibid. §4.3.1.2).
const GROWTH: f64 = 1.25;
const FLAT_ROUNDS: u32 = 3;
/// Window gain otherwise (ibid. §2.4: `BBRCwndGain`); it is 1/4 more in one round trip in eight, and 1/4 less in the next (ACM Queue:
/// the cycle of pacing gains). That makes shares converge: sessions with a small share gain more by it than those with the largest,
/// unless all do it at once. So each lane draws at random when.
const GAIN: f64 = 2.0;
const GAIN_UP: f64 = 2.5;
const GAIN_DOWN: f64 = 1.5;
const CYCLE: u64 = 8;
/// Growth of the window with each symbol that arrives, below the known bandwidth-delay product and
/// beyond it: so the growth of a window is not sent at once, to a buffer that may be short.
const GROWTH_BELOW: f64 = 1.0;
const GROWTH_BEYOND: f64 = 0.25;
/// Round trips for which a rate is remembered (ACM Queue: six to ten).
const RATES: usize = 10;
/// The least round trip is valid this long; then it is probed with half of the product (ibid. §2.8, §4.3.4).
const ROUND_TRIP_FOR: Duration = Duration::from_secs(10);
const PROBE_GAIN: f64 = 0.5;
/// Round trips that a probe, and the drain after start-up, take: in the first the queue empties.
const PROBE_ROUNDS: u32 = 3;
const DRAIN_ROUNDS: u32 = 3;
/// Two and a half times the product never takes longer than [`CROWDED`] least round trips. If all of [`CROWDED_ROUNDS`] round trips took
/// longer than this, flows that only yield to losses hold the queue. Then the window does not fall below what it was before, but grows by
/// one in each, as Reno's does (the competitive mode of Copa, NSDI 2018 §2.2, with AIMD).
const CROWDED: f64 = 3.0;
const CROWDED_ROUNDS: u32 = 10;
/// Part of the symbols that may be lost (ibid. §2.7: `BBRLossThresh`).
const LOSS: f64 = 0.02;
/// Losses are judged over at most this many symbols. Fewer are less significant: by chance more than [`LOSS`] of them may be lost. So the
/// losses must exceed the expected number by [`BEYOND_CHANCE`] standard deviations (of a Poisson distribution).
const JUDGED_BY: u32 = 500;
const BEYOND_CHANCE: f64 = 1.65;
/// A loss ends start-up only if at least this many symbols were lost: start-up is short, and ending it by chance costs much (ibid. §2.7:
/// `BBRStartupFullLossCnt`, which counts bursts of them).
const STARTUP_LOST: u32 = 8;
/// Part of a round trip's symbols that, when marked, ends start-up (`ecn_thresh` of Google's second version).
const MARKED: f64 = 0.5;
/// Weight of a round trip in the smoothed part of symbols that are marked (RFC 8257 §3.3: g).
const MARKS_GAIN: f64 = 1.0 / 16.0;
/// A timed symbol counts as lost once this many symbols requested after it have arrived.
const OVERTAKEN: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    /// For how many round trips.
    Drain(u32),
    Steady,
    /// For how many round trips.
    Probe(u32),
}

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

/// What arrived in this round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    arrived: u32,
    marked: u32,
    limited: bool,
}

/// The window of one lane.
#[derive(Clone, Debug)]
pub(in crate::scdp::receiver) struct Bbr {
    window: f64,
    /// The size it grows towards.
    goal: f64,
    initial: f64,
    least: f64,
    limit: f64,
    batch: f64,
    state: State,
    /// Symbols that have arrived whole, and when the last did.
    delivered: u64,
    last_delivery: Time,
    timed: Option<Timed>,
    round: Round,
    rounds: u64,
    /// For random draws.
    seed: u64,
    /// Symbols per picosecond in the last round trips, the newest first.
    rates: [f64; RATES],
    last_round_trip: Option<f64>,
    /// The least round trip in picoseconds, and when it was seen; then the least of the probe in progress.
    round_trip: Option<(f64, Time)>,
    probed: f64,
    /// The window before round trips took too long, grown by one in each such round trip; and how many there were.
    crowded: (f64, u32),
    /// The rate that start-up has to exceed, and for how many round trips it has not done so.
    full: (f64, u32),
    /// Symbols judged, and how many of them were lost.
    judged: (u32, u32),
    /// Part of the symbols that are marked, smoothed; 1 at first (RFC 8257 §3.3).
    marked: f64,
    ceiling: Ceiling,
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
            state: State::Startup,
            delivered: 0,
            last_delivery: Time::ZERO,
            timed: None,
            round: Round::default(),
            rounds: 0,
            seed,
            rates: [0.0; RATES],
            last_round_trip: None,
            round_trip: None,
            probed: f64::INFINITY,
            crowded: (0.0, 0),
            full: (0.0, 0),
            judged: (0, 0),
            marked: 1.0,
            ceiling: Ceiling::default(),
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
        self.round_trip.map(|(least, _)| Duration::from_ps(least as u64))
    }

    pub(super) fn on_pull(&mut self, now: Time, block: u32, index: u32, is_round_trip: bool, on_their_way: u32) {
        if self.timed.is_none() {
            let since = if on_their_way == 0 { now } else { self.last_delivery };
            let (delivered, on_their_way) = (self.delivered, u64::from(on_their_way));
            self.timed = Some(Timed { block, index, at: now, is_round_trip, delivered, since, on_their_way });
        }
    }

    pub(super) fn on_symbol(&mut self, now: Time, block: u32, index: u32, seen: Seen, on_their_way: u32) {
        if seen == Seen::Trimmed {
            // A switch had no room for it: as good as lost.
            return self.on_lost(1);
        }
        self.delivered += 1;
        self.last_delivery = now;
        self.round.arrived += 1;
        self.round.marked += u32::from(seen == Seen::Marked);
        self.judged.0 += 1;
        self.grow();
        let Some(timed) = self.timed else { return };
        let answered = (block, index) == (timed.block, timed.index);
        // Otherwise what arrives after the least round trip, or after all that was in flight, ends the round.
        let over = self.round_trip.is_some_and(|(least, _)| (now - timed.at).ps() as f64 >= least);
        if answered && timed.is_round_trip {
            let single = (now - timed.at).ps() as f64;
            let taken = self.last_round_trip.replace(single).map_or(f64::INFINITY, |last| single.max(last));
            if taken.is_finite() && self.round_trip.is_none_or(|(least, _)| taken <= least) {
                self.round_trip = Some((taken, now));
            }
            self.probed = self.probed.min(taken);
            self.judge_crowd(single);
        }
        let ends = if timed.is_round_trip { answered } else { over };
        if ends || self.delivered - timed.delivered > timed.on_their_way + OVERTAKEN {
            self.end_round(now, timed, on_their_way);
        }
    }

    pub(super) fn on_lost(&mut self, count: u32) {
        (self.judged.0, self.judged.1) = (self.judged.0.saturating_add(count), self.judged.1.saturating_add(count));
    }

    pub(super) fn on_limited(&mut self) {
        self.round.limited = true;
    }

    /// One silence may come from a few lost pulls; a symbol requested twice is not timed (RFC 6298 §3). After two, what was known
    /// of the path may no longer hold.
    pub(super) fn on_timeout(&mut self, timeouts: u32) {
        (self.timed, self.last_round_trip) = (None, None);
        if timeouts > 1 {
            let (delivered, last_delivery) = (self.delivered, self.last_delivery);
            *self = Self {
                delivered,
                last_delivery,
                least: self.least,
                ..Self::new(self.initial as u32, self.limit as u32, self.batch as u32, self.seed)
            };
        }
    }

    /// Symbols per picosecond.
    fn rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// The bandwidth-delay product in symbols, once there is one.
    fn product(&self) -> Option<f64> {
        self.round_trip.map(|(least, _)| least * self.rate()).filter(|&product| product > 0.0)
    }

    fn gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain(_) => 1.0,
            State::Steady => {
                let up = mix(self.seed ^ mix(self.rounds / CYCLE)) % (CYCLE - 1);
                match (self.rounds % CYCLE).checked_sub(up) {
                    Some(0) => GAIN_UP,
                    Some(1) => GAIN_DOWN,
                    _ => GAIN,
                }
            }
            State::Probe(_) => PROBE_GAIN,
        }
    }

    /// The window wanted, losses apart.
    fn wanted(&self, product: f64) -> f64 {
        let (window, rounds) = self.crowded;
        let held = self.state == State::Steady && rounds >= CROWDED_ROUNDS;
        let wanted = (product * self.gain()).max(if held { window } else { 0.0 });
        if matches!(self.state, State::Probe(_)) { wanted } else { wanted.max(self.batches()) }
    }

    /// The window that keeps two hosts busy that handle symbols in batches: one batch sent, one in flight, one received. Where hosts
    /// are late by more than the least round trip, the product alone would shrink the window further and further.
    fn batches(&self) -> f64 {
        BATCHES * (self.rate() * BATCH_TIME.ps() as f64).min(self.batch)
    }

    fn judge_crowd(&mut self, taken: f64) {
        let free = self.round_trip.is_none_or(|(least, _)| taken <= least * CROWDED);
        self.crowded = if free { (self.window, 0) } else { (self.crowded.0 + 1.0, self.crowded.1 + 1) };
    }

    /// After each round trip: sets the window's goal. A window above it shrinks at once.
    fn set_goal(&mut self) {
        let Some(product) = self.product() else { return };
        let wanted = self.wanted(product);
        let goal = if self.state == State::Startup { wanted.max(self.initial) } else { self.ceiling.bound(wanted) };
        self.goal = goal.max(self.least).min(self.limit);
        self.window = self.window.min(self.goal);
    }

    /// A symbol has arrived.
    fn grow(&mut self) {
        let known = self.product();
        if self.state == State::Startup && known.is_none() {
            // Doubles in each round trip, until the length of one is known.
            self.goal = (self.goal + 1.0).min(self.limit);
        }
        let below = self.state == State::Startup || known.is_some_and(|product| self.window < product);
        self.window = (self.window + if below { GROWTH_BELOW } else { GROWTH_BEYOND }).min(self.goal);
    }

    fn end_round(&mut self, now: Time, timed: Timed, on_their_way: u32) {
        let round = std::mem::take(&mut self.round);
        let arrived = (self.delivered - timed.delivered) as f64;
        self.timed = None;
        self.rounds += 1;
        self.remember_rate(arrived / (now - timed.since).ps().max(1) as f64, round.limited);
        let lossy = self.is_lossy();
        let marked = f64::from(round.marked) / f64::from(round.arrived.max(1));
        self.marked += (marked - self.marked) * MARKS_GAIN;
        match self.state {
            State::Startup => self.start_up(now, arrived, lossy || marked > MARKED, round.limited),
            State::Drain(rounds) => {
                let drained = self.product().is_some_and(|product| f64::from(on_their_way) <= product);
                self.state = if drained || rounds <= 1 { State::Steady } else { State::Drain(rounds - 1) };
            }
            State::Steady => self.keep(now, arrived, lossy, marked > 0.0, round.limited),
            State::Probe(rounds) if rounds > 1 => self.state = State::Probe(rounds - 1),
            State::Probe(_) => {
                if self.probed.is_finite() {
                    self.round_trip = Some((self.probed, now));
                }
                self.state = State::Steady;
            }
        }
        self.set_goal();
    }

    /// The rate of a lane that was not asked for all that it could deliver says little, unless it exceeds the known rate. Nor does
    /// that of a probe.
    fn remember_rate(&mut self, rate: f64, limited: bool) {
        let held_back = limited || matches!(self.state, State::Probe(_));
        if held_back && rate <= self.rate() {
            return;
        }
        self.rates.rotate_right(1);
        self.rates[0] = rate;
    }

    /// Whether too many symbols were lost. Counting restarts once that is decided.
    fn is_lossy(&mut self) -> bool {
        let (judged, lost) = self.judged;
        let allowed = LOSS * f64::from(judged);
        let least = if self.state == State::Startup { STARTUP_LOST } else { 0 };
        let lossy = f64::from(lost) > allowed + BEYOND_CHANCE * allowed.sqrt() && lost >= least;
        if lossy || judged >= JUDGED_BY {
            self.judged = (0, 0);
        }
        lossy
    }

    fn start_up(&mut self, now: Time, arrived: f64, lossy: bool, limited: bool) {
        if lossy {
            self.ceiling.on_loss(now, self.window, arrived);
            self.state = State::Drain(DRAIN_ROUNDS);
            return;
        }
        let (full, flat) = self.full;
        if self.rate() >= full * GROWTH {
            self.full = (self.rate(), 0);
        } else if !limited {
            self.full.1 = flat + 1;
        }
        if self.full.1 >= FLAT_ROUNDS {
            self.state = State::Drain(DRAIN_ROUNDS);
        }
    }

    fn keep(&mut self, now: Time, arrived: f64, lossy: bool, marked: bool, limited: bool) {
        if lossy {
            self.ceiling.on_loss(now, self.window, arrived);
            self.crowded.0 *= BETA;
        } else if marked {
            self.ceiling.on_marks(now, self.window, self.marked / 2.0);
        } else if !limited {
            let wanted = self.product().map_or(self.window, |product| self.wanted(product));
            self.ceiling.on_round(now, self.window, wanted);
        }
        if let Some((_, seen)) = self.round_trip
            && now - seen >= ROUND_TRIP_FOR
        {
            (self.probed, self.last_round_trip) = (f64::INFINITY, None);
            self.state = State::Probe(PROBE_ROUNDS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that holds 100 symbols in a round trip of 1 ms, on which nothing is lost and no buffer is full.
    struct Path {
        bbr: Bbr,
        now: u64,
        asked: u32,
        coming: std::collections::VecDeque<(u64, u32)>,
        idle_at: u64,
        /// Interval at which pulls leave together; 0: each when it can.
        batch: u64,
        asks_at: u64,
    }

    const ROUND: u64 = 1_000_000_000;
    const EACH: u64 = ROUND / 100;

    impl Path {
        fn new(limit: u32) -> Self {
            Self::batched(limit, 0)
        }

        fn batched(limit: u32, batch: u64) -> Self {
            let (bbr, coming) = (Bbr::new(10, limit, 1, 7), std::collections::VecDeque::new());
            let mut path = Self { bbr, now: 0, asked: 0, coming, idle_at: 0, batch, asks_at: 0 };
            path.ask();
            path
        }

        fn ask(&mut self) {
            while self.coming.len() < self.bbr.window() as usize {
                self.bbr.on_pull(Time(self.now), 0, self.asked, true, self.coming.len() as u32);
                self.idle_at = self.idle_at.max(self.now + ROUND - EACH) + EACH;
                self.coming.push_back((self.idle_at, self.asked));
                self.asked += 1;
            }
        }

        /// `symbols` symbols arrive, and others are requested; returns the highest window meanwhile.
        fn run(&mut self, symbols: u32) -> u32 {
            let mut most = 0;
            for _ in 0..symbols {
                let on_their_way = self.coming.len() as u32;
                // Batches that leave before the next symbol arrives.
                while self.batch > 0 && self.coming.front().is_none_or(|&(at, _)| self.asks_at < at) {
                    self.now = self.asks_at;
                    self.ask();
                    self.asks_at += self.batch;
                }
                let (at, index) = self.coming.pop_front().expect("some were asked for");
                self.now = self.now.max(at);
                self.bbr.on_symbol(Time(self.now), 0, index, Seen::Whole, on_their_way);
                if self.batch == 0 {
                    self.ask();
                }
                most = most.max(self.bbr.window());
            }
            most
        }
    }

    #[test]
    fn start_up_finds_the_product_and_the_window_stays_around_twice_that() {
        let mut path = Path::new(8192);
        let most = path.run(2_000);
        assert!((250..=289).contains(&most), "start-up: {most}");
        assert_ne!(path.bbr.state, State::Startup);
        let most = path.run(20_000);
        assert!((240..=255).contains(&most), "steady: {most}");
        assert!(path.bbr.product().is_some_and(|product| (99.0..102.0).contains(&product)), "{:?}", path.bbr.product());
        let mut bounded = Path::new(30);
        assert_eq!(bounded.run(2_000), 30);
    }

    #[test]
    fn pulls_may_leave_in_batches() {
        // Where only one batch leaves in each round trip, the window is a little short when its gain is at its lowest.
        for (batches, cost) in [(1, 0.1), (2, 0.02), (4, 0.02), (10, 0.02)] {
            let mut path = Path::batched(8192, ROUND / batches);
            path.run(5_000);
            let begun = path.now;
            path.run(20_000);
            let taken = (path.now - begun) as f64 / (20_000 * EACH) as f64;
            // A symbol waits for up to a batch before it is asked for: that is part of the round trip.
            let product = path.bbr.product().expect("known");
            assert!(
                taken < 1.0 + cost && (98.0..=210.0).contains(&product),
                "{batches} in a round trip: {taken}, {product}"
            );
        }
    }

    #[test]
    fn after_ten_seconds_the_round_trip_is_probed() {
        let mut path = Path::new(8192);
        path.run(4_000);
        let mut least = u32::MAX;
        // Eleven seconds.
        for _ in 0..1_100_000 {
            path.run(1);
            least = least.min(path.bbr.window());
        }
        assert!((49..=52).contains(&least), "half of the product: {least}");
        assert!(path.bbr.product().is_some_and(|product| (99.0..102.0).contains(&product)));
    }

    #[test]
    fn a_single_short_round_trip_is_not_believed() {
        let mut path = Path::new(8192);
        path.run(3_000);
        let before = path.bbr.round_trip.expect("known").0;
        let timed = path.bbr.timed.expect("one always is");
        path.bbr.on_symbol(Time(timed.at.ps() + ROUND / 50), timed.block, timed.index, Seen::Whole, 100);
        assert!(path.bbr.round_trip.expect("known").0 >= before);
    }

    #[test]
    fn hosts_that_are_late_keep_as_much_on_its_way_as_they_handle_at_once() {
        // 100 symbols arrive in a millisecond. Once both ends were awake, and a round trip took a fiftieth of that.
        for (batch, expected) in [(1, 3.0..5.1), (45, 135.0..135.1), (1000, 300.0..306.0)] {
            let mut path = Path::new(8192);
            path.run(3_000);
            path.bbr.batch = f64::from(batch);
            assert_eq!(path.bbr.state, State::Steady);
            let wanted = path.bbr.wanted(2.0);
            assert!(expected.contains(&wanted), "{batch} at once: {wanted}");
        }
    }

    #[test]
    fn a_lane_that_is_not_asked_for_all_it_could_bring_keeps_its_rate() {
        let mut path = Path::new(8192);
        path.run(3_000);
        let rate = path.bbr.rate();
        // A symbol in each millisecond, for a second.
        for _ in 0..1_000 {
            path.now += ROUND;
            path.bbr.on_limited();
            path.bbr.on_pull(Time(path.now), 1, path.asked, true, 0);
            path.bbr.on_symbol(Time(path.now + ROUND), 1, path.asked, Seen::Whole, 1);
            path.asked += 1;
        }
        assert!(path.bbr.rate() >= rate);
    }

    #[test]
    fn losses_beyond_two_percent_cut_the_window_and_fewer_do_not() {
        for (one_in, cut) in [(100, false), (10, true)] {
            let mut path = Path::new(8192);
            path.run(3_000);
            let mut most = 0;
            for n in 0..1_000 {
                let window = path.run(one_in);
                path.bbr.on_lost(1);
                most = if n < 100 { 0 } else { most.max(window) };
            }
            assert_eq!(most < 220, cut, "one in {one_in}: {most}");
        }
    }

    #[test]
    fn two_timeouts_in_a_row_begin_anew() {
        let mut path = Path::new(8192);
        path.run(3_000);
        let before = path.bbr.window();
        path.bbr.on_timeout(1);
        assert_eq!(path.bbr.window(), before);
        path.bbr.on_timeout(2);
        assert_eq!((path.bbr.window(), path.bbr.state), (10, State::Startup));
    }
}
