//! Pulls at the rate at which a bottleneck that trims can answer them.
//!
//! A trimmed header arrives at once, by a queue of its own. A receiver that pulls another symbol for each of them at once gets more trimmed headers,
//! as fast as the path takes them; so the receivers of NDP and SCDP pull at the rate of their links (NDP §3.2.1, SCDP §IV-C). A real host knows
//! neither where the bottleneck is nor its rate. It learns from the share `p` of symbols that are trimmed: a rate `r`, in pulls per millisecond, becomes
//!
//! ```text
//! (1 - p) r + g sqrt(r)
//! ```
//!
//! As with TCP, more is asked for until something is lost, and receivers that share a bottleneck come to equal rates: where `p` is the same for all, so is
//! `r = (g / p)^2`. It is about the same for all if they pull at random times: at regular ones, the pulls of one receiver find a full queue always, and
//! those of another never. Each sender has a rate of its own: one whose path is slow, or that sends headers only, holds up no other.

use crate::pacer::Pacer;
use crate::random::mix;
use crate::{Duration, Time};

/// `g`, in square roots of pulls per millisecond.
const GROWTH: f64 = 0.1;
/// The rate changes once in this time at most, and after so many symbols.
const MEASURED_OVER: Duration = Duration::from_ms(1);
const MEASURED_SYMBOLS: u32 = 8;
/// The rate grows by this factor when nothing has been trimmed for so long: the bottleneck carries more than before.
const SPEED_UP: f64 = 1.25;
const SPEED_UP_AFTER: Duration = Duration::from_ms(10);
/// A rate is at most this many times that at which symbols come: one that holds nothing back says nothing about the path (RFC 7661).
const AHEAD: f64 = 3.0;
/// The slowest rate, in pulls per millisecond.
const SLOWEST: f64 = 0.1;
/// The longest time between symbols that counts as rate of the path, unless the rate says that there is as long between them.
const IDLE: Duration = Duration::from_ms(10);
const IDLE_PULLS: f64 = 4.0;
/// How much a late timer may make up for: the bottleneck is idle meanwhile, but trims what is more than its queue holds.
const LATE: Duration = Duration::from_ms(4);

const PS_PER_MS: f64 = 1e9;

/// What has come after `since`, up to `until`. A host handles at once what has come since it last woke, so symbols that are handled at the same time
/// belong to the time before.
#[derive(Clone, Copy, Debug)]
struct Interval {
    since: Time,
    until: Time,
    whole: u32,
    trimmed: u32,
}

impl Interval {
    const fn from(at: Time) -> Self {
        Self { since: at, until: at, whole: 0, trimmed: 0 }
    }

    fn count(&mut self, now: Time, trimmed: bool) {
        if now > self.since {
            self.until = now;
            self.trimmed += u32::from(trimmed);
            self.whole += u32::from(!trimmed);
        }
    }

    fn is_complete(&self) -> bool {
        self.until.since(self.since) >= MEASURED_OVER && self.whole + self.trimmed >= MEASURED_SYMBOLS
    }
}

/// When the next pull to a sender may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct PullPace {
    /// Begins with the first trimmed header.
    interval: Option<Interval>,
    /// Pulls per millisecond. `None`: pulls leave at once.
    rate: Option<f64>,
    /// When a symbol was last trimmed, or the rate last grew for want of that.
    quiet_since: Time,
    /// What times of pulls are drawn from.
    random: u64,
    pacer: Pacer,
    /// When the next pull may leave, if one has been asked for too early.
    due: Option<Time>,
}

impl Default for PullPace {
    fn default() -> Self {
        Self { interval: None, rate: None, quiet_since: Time::ZERO, random: 0, pacer: Pacer::new(LATE), due: None }
    }
}

impl PullPace {
    /// A symbol of the sender has arrived, whole or trimmed.
    pub(super) fn on_symbol(&mut self, now: Time, trimmed: bool) {
        if trimmed {
            self.quiet_since = now;
        }
        let Some(mut interval) = self.interval else {
            self.interval = trimmed.then_some(Interval::from(now));
            return;
        };
        if now > interval.until {
            if self.is_idle(now.since(interval.until)) {
                interval = Interval::from(now);
            } else if interval.is_complete() {
                self.rate = self.next_rate(&interval);
                interval = Interval::from(interval.until);
            }
        }
        interval.count(now, trimmed);
        self.interval = Some(interval);
    }

    /// Whether nobody has pulled for so long that no symbol has come.
    fn is_idle(&self, gap: Duration) -> bool {
        gap > IDLE && self.rate.is_none_or(|rate| gap.ps() as f64 / PS_PER_MS * rate > IDLE_PULLS)
    }

    fn next_rate(&mut self, interval: &Interval) -> Option<f64> {
        let ms = interval.until.since(interval.since).ps() as f64 / PS_PER_MS;
        let (whole, symbols) = (f64::from(interval.whole), f64::from(interval.whole + interval.trimmed));
        // What came whole was not too much: the share is of pulls a round trip ago, when the rate may have been another one.
        let kept = match self.rate {
            None if interval.trimmed == 0 => return None,
            None => whole / ms,
            Some(rate) => (rate * whole / symbols).max(rate / 2.0).max(whole / ms),
        };
        let mut rate = kept + GROWTH * kept.sqrt();
        if interval.until.since(self.quiet_since) >= SPEED_UP_AFTER {
            rate *= SPEED_UP;
            self.quiet_since = interval.until;
        }
        Some(rate.min(AHEAD * symbols / ms).max(SLOWEST))
    }

    /// Finds out whether a pull may leave now; otherwise it [has to wait](Self::waits_until).
    pub(super) fn ask(&mut self, now: Time) {
        self.due = self.rate.and_then(|_| self.pacer.wait(now));
    }

    /// When the next pull may leave, if it has to wait, as far as was [asked](Self::ask).
    #[inline]
    pub(super) fn waits_until(&self) -> Option<Time> {
        self.due
    }

    /// Time has passed: what is due by now does not wait.
    pub(super) fn on_time(&mut self, now: Time) {
        self.due = self.due.filter(|due| *due > now);
    }

    /// The mean time between pulls. `None`: they leave at once.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.rate.map(|rate| Duration::from_ps((PS_PER_MS / rate) as u64))
    }

    /// A pull for one symbol leaves.
    pub(super) fn spend(&mut self, now: Time) {
        if let Some(rate) = self.rate {
            self.random = mix(self.random.wrapping_add(now.ps()));
            // Uniform in [0, 2).
            let factor = (self.random >> 11) as f64 / (1_u64 << 52) as f64;
            self.pacer.spend(now, Duration::from_ps((factor * PS_PER_MS / rate) as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    fn may_leave(pace: &mut PullPace, now: Time) -> bool {
        pace.ask(now);
        pace.waits_until().is_none()
    }

    /// A bottleneck: time of a symbol, symbols that its queue holds, and the time from a pull to its symbol.
    #[derive(Clone, Copy, Debug)]
    struct Path {
        symbol: Duration,
        queue: u64,
        round_trip: Duration,
    }

    /// What a receiver got: whole symbols and trimmed headers.
    #[derive(Clone, Copy, Default, Debug)]
    struct Got {
        whole: u64,
        trimmed: u64,
    }

    /// Receivers that share a bottleneck for some time, each with so many symbols on their way at most; what they get in the second half. They
    /// begin one after the other. They wake each 20 us, or at random times, up to 150 us later and now and then 2 ms.
    fn share(path: Path, receivers: usize, late: bool, time: Duration) -> Vec<Got> {
        let window = 2 * (path.round_trip.ps() / path.symbol.ps() + path.queue) as usize;
        let end = Time::ZERO + time;
        let step = Duration::from_us(20);
        let mut paces = vec![PullPace::default(); receivers];
        let mut on_their_way: Vec<VecDeque<(Time, bool)>> = vec![VecDeque::new(); receivers];
        let mut got = vec![Got::default(); receivers];
        let mut wakes: Vec<Time> =
            (0..receivers as u64).map(|n| Time::ZERO + time / 8 * n / receivers as u64).collect();
        let (mut free, mut now, mut random) = (Time::ZERO, Time::ZERO, 1);
        while now < end {
            for turn in 0..receivers {
                // Nobody is always first.
                let one = (turn + (now.ps() / step.ps()) as usize) % receivers;
                if wakes[one] > now {
                    continue;
                }
                if late {
                    random = mix(random + 1);
                    wakes[one] = now + Duration::from_us(if random % 200 == 0 { 2_000 } else { random % 150 });
                }
                on_their_way[one].make_contiguous().sort_unstable();
                while let Some((_, trimmed)) = on_their_way[one].pop_front_if(|(at, _)| *at <= now) {
                    paces[one].on_symbol(now, trimmed);
                    if now > Time::ZERO + time / 2 {
                        got[one].trimmed += u64::from(trimmed);
                        got[one].whole += u64::from(!trimmed);
                    }
                }
                while on_their_way[one].len() < window && may_leave(&mut paces[one], now) {
                    paces[one].spend(now);
                    let comes = now + path.round_trip / 2;
                    let trimmed = free > comes + path.symbol * path.queue;
                    let leaves = if trimmed { comes } else { free.max(comes) + path.symbol };
                    free = free.max(leaves);
                    on_their_way[one].push_back((leaves + path.round_trip / 2, trimmed));
                }
            }
            now += step;
        }
        got
    }

    /// Time of a symbol, symbols of the queue, round trip: from 10 Mbps with 10 ms to 1 Gbps with 0.1 ms.
    const PATHS: [(u64, u64, u64); 7] = [
        (1200, 10, 10_000),
        (120, 10, 200),
        (120, 10, 12_000),
        (120, 40, 2_000),
        (24, 10, 1_000),
        (12, 10, 400),
        (12, 100, 100),
    ];

    fn paths() -> impl Iterator<Item = Path> {
        PATHS.into_iter().map(|(symbol, queue, round_trip)| Path {
            symbol: Duration::from_us(symbol),
            queue,
            round_trip: Duration::from_us(round_trip),
        })
    }

    #[test]
    fn one_receiver_fills_its_bottleneck_and_little_is_trimmed() {
        for path in paths() {
            let time = (path.symbol * 20_000).max(Duration::from_ms(500));
            let got = share(path, 1, false, time)[0];
            let most = (time.ps() / 2 / path.symbol.ps()) as f64;
            let (whole, trimmed) = (got.whole as f64 / most, got.trimmed as f64 / most);
            assert!(whole > 0.97, "{path:?}: {whole:.2} of what it carries");
            assert!(trimmed < if path.symbol > Duration::from_ms(1) { 0.35 } else { 0.25 }, "{path:?}: {trimmed:.2}");
        }
    }

    /// Jain's index is 1 for equal shares, and `1 / receivers` if one has everything.
    #[test]
    fn receivers_that_share_a_bottleneck_have_about_equal_shares() {
        for path in paths() {
            for (receivers, late) in [2, 4, 10].into_iter().flat_map(|n| [(n, false), (n, true)]) {
                let time = (path.symbol * 40_000).max(Duration::from_secs(2));
                let got = share(path, receivers, late, time);
                let most = (time.ps() / 2 / path.symbol.ps()) as f64;
                let sum: f64 = got.iter().map(|one| one.whole as f64).sum();
                let squares: f64 = got.iter().map(|one| (one.whole as f64).powi(2)).sum();
                let (fair, used) = (sum * sum / squares / receivers as f64, sum / most);
                let trimmed = got.iter().map(|one| one.trimmed).sum::<u64>() as f64 / most;
                let which = format!("{path:?}, {receivers} receivers, late {late}: {got:?}");
                assert!(fair > 0.75, "{which}: fairness {fair:.2}");
                assert!(used > 0.8, "{which}: {used:.2} of what it carries");
                assert!(trimmed < 0.8, "{which}: {trimmed:.2} trimmed");
            }
        }
    }

    #[test]
    fn headers_alone_slow_pulls_down_whatever_came_before() {
        for whole in [0, 1, 1000] {
            let mut pace = PullPace::default();
            let mut now = Time::ZERO;
            pace.on_symbol(now, true);
            for n in 0..whole + 20_000 {
                now += Duration::from_us(10);
                pace.on_symbol(now, n >= whole);
            }
            assert!(pace.rate.is_some_and(|rate| rate < 1.0), "{:?} after {whole} symbols", pace.rate);
        }
    }

    #[test]
    fn silence_says_nothing_about_the_rate() {
        let mut pace = PullPace::default();
        let mut now = Time::ZERO;
        for n in 0..2_000 {
            now += Duration::from_us(100);
            pace.on_symbol(now, n % 20 == 0);
        }
        let rate = pace.rate;
        now += Duration::from_secs(1);
        pace.on_symbol(now, false);
        assert_eq!(pace.rate, rate);
    }

    #[test]
    fn a_bottleneck_that_becomes_faster_is_found_and_kept() {
        let mut pace = PullPace::default();
        let mut now = Time::ZERO;
        let carry = |pace: &mut PullPace, now: &mut Time, symbol: Duration, time: Duration| {
            // The path carries so much, and trims a pull for which there is no room.
            let (end, mut room) = (*now + time, 0.0_f64);
            while *now < end {
                let each = Duration::from_ps((PS_PER_MS / pace.rate.unwrap_or(1e3)) as u64);
                *now += each;
                room = (room + each.ps() as f64 / symbol.ps() as f64).min(10.0);
                let trimmed = room < 1.0;
                room -= f64::from(u8::from(!trimmed));
                pace.on_symbol(*now, trimmed);
            }
        };
        carry(&mut pace, &mut now, Duration::from_us(100), Duration::from_ms(300));
        let slow = pace.rate.expect("something was trimmed");
        assert!((9.0..13.0).contains(&slow), "{slow} pulls per ms of 10");
        carry(&mut pace, &mut now, Duration::from_us(10), Duration::from_ms(300));
        let fast = pace.rate.expect("as before");
        assert!((90.0..115.0).contains(&fast), "{fast} pulls per ms of 100");
    }

    #[test]
    fn where_nothing_is_trimmed_nothing_waits() {
        let mut pace = PullPace::default();
        for n in 0..10_000 {
            let now = Time::ZERO + Duration::from_us(n);
            assert!(may_leave(&mut pace, now));
            pace.spend(now);
            pace.on_symbol(now, false);
        }
    }
}
