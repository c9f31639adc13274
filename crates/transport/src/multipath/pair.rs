//! A session layer over paths whose rates are given: no network, no transport, exact arithmetic.
//!
//! A path sends one segment at a time at its rate and asks for the next at the moment when it is sent. Paths that ask at the
//! same moment do so in their order. That is the setting of the dissertation's examples and of its proofs (Song 2017, chapter 4).

use super::session::{Scheduler, Session};

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Segments per unit of time that the sender believes the path carries.
    pub estimate: u64,
    /// Segments per unit of time that it carries at first, from 1.
    pub rate: u64,
    /// Later rates, from 1, each with the time from which it holds, as numerator and denominator; in order of time.
    pub changes: Vec<((u64, u64), u64)>,
}

impl Path {
    /// A path that always carries `rate`, and is believed to carry `estimate`.
    pub fn new(estimate: u64, rate: u64) -> Self {
        Self { estimate, rate, changes: Vec::new() }
    }
}

/// What partitions after the first are based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimates {
    /// The first estimates, whatever happens.
    Fixed,
    /// What each path has carried so far, in segments per unit of time.
    Measured,
}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// How it is divided.
    pub scheduler: Scheduler,
    /// Segments to send.
    pub segments: u64,
    /// What repartitions are based on.
    pub estimates: Estimates,
    /// The paths.
    pub paths: Vec<Path>,
}

/// How a transfer went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When the last segment was sent, in ticks.
    pub finish: u128,
    /// The same for the best whole-segment assignment for exactly these rates (hindsight).
    pub best_finish: u128,
    /// Ticks per unit of time.
    pub ticks: u128,
    /// Jumps of the paths' pointers into the reassembly buffer.
    pub context_switches: u64,
    /// Segments by path.
    pub sent: Vec<u64>,
}

impl Completion {
    /// When the last segment was sent, in units of time.
    pub fn finish_time(&self) -> f64 {
        self.finish as f64 / self.ticks as f64
    }

    /// The earliest finish of any assignment of whole segments, in units of time.
    pub fn best_finish_time(&self) -> f64 {
        self.best_finish as f64 / self.ticks as f64
    }
}

/// A path's rates on a grid of time on which every segment ends, whatever happens.
struct Clock {
    /// Work per segment: a path at rate r does r of it in a tick.
    work: u128,
    /// Each rate, with the tick from which it holds.
    rates: Vec<(u128, u128)>,
}

impl Clock {
    /// When a segment that begins at `start` is sent.
    fn segment_from(&self, start: u128) -> u128 {
        let (mut now, mut left) = (start, self.work);
        for (i, &(from, rate)) in self.rates.iter().enumerate() {
            let until = self.rates.get(i + 1).map_or(u128::MAX, |next| next.0);
            if until <= now {
                continue;
            }
            now = now.max(from);
            let need = left.div_ceil(rate);
            if need <= until - now {
                return now + need;
            }
            left -= (until - now) * rate;
            now = until;
        }
        unreachable!("the last rate holds for ever")
    }
}

/// Ticks per unit of time, and the paths' clocks: each further change of a rate needs a grid that is finer by the least common
/// multiple of all rates and denominators.
fn clocks(paths: &[Path]) -> (u128, Vec<Clock>) {
    let numbers = paths.iter().flat_map(|p| {
        let later = p.changes.iter().flat_map(|&((_, denominator), rate)| [denominator, rate]);
        std::iter::once(p.rate).chain(later)
    });
    let multiple = numbers.fold(1u128, |m, n| lcm(m, u128::from(n)));
    let changes = paths.iter().map(|p| p.changes.len()).max().unwrap_or(0) as u32;
    let ticks = multiple.pow(changes + 1);
    let clock = |p: &Path| {
        let later = p.changes.iter().map(|&((n, d), rate)| (ticks / u128::from(d) * u128::from(n), u128::from(rate)));
        Clock { work: ticks, rates: std::iter::once((0, u128::from(p.rate))).chain(later).collect() }
    };
    (ticks, paths.iter().map(clock).collect())
}

fn lcm(a: u128, b: u128) -> u128 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

/// Runs a transfer.
///
/// # Panics
/// If there is no path, or a rate or a denominator is 0.
pub fn run(transfer: &Transfer) -> Completion {
    let (ticks, clocks) = clocks(&transfer.paths);
    let n = clocks.len();
    let mut session = Session::new(transfer.scheduler, n, 1);
    session.provide(transfer.segments);
    let first: Vec<f64> = transfer.paths.iter().map(|p| p.estimate as f64).collect();
    session.estimate(&first);
    let mut idle_at: Vec<Option<u128>> = vec![Some(0); n];
    let (mut sent, mut finish) = (vec![0u64; n], 0);
    while let Some((path, now)) = next(&idle_at) {
        if transfer.estimates == Estimates::Measured && now > 0 && session.partitions_next(path) {
            session.estimate(&measured(&sent, &idle_at, now));
        }
        idle_at[path] = session.take(path).map(|_| clocks[path].segment_from(now));
        if let Some(end) = idle_at[path] {
            sent[path] += 1;
            finish = end.max(finish);
        }
    }
    let best_finish = best_finish(&clocks, transfer.segments);
    Completion { finish, best_finish, ticks, context_switches: session.context_switches(), sent }
}

/// The path that can take a segment first, and when.
fn next(idle_at: &[Option<u128>]) -> Option<(usize, u128)> {
    let asking = idle_at.iter().enumerate().filter_map(|(path, at)| at.map(|at| (path, at)));
    asking.min_by_key(|&(path, at)| (at, path))
}

/// Segments sent, per tick.
fn measured(sent: &[u64], idle_at: &[Option<u128>], now: u128) -> Vec<f64> {
    let gone = |path: usize| sent[path] - u64::from(idle_at[path].is_some_and(|at| at > now));
    (0..sent.len()).map(|path| gone(path) as f64 / now as f64).collect()
}

/// The earliest time by which the paths together can have sent `segments` segments: each sends as many as it can by then.
fn best_finish(clocks: &[Clock], segments: u64) -> u128 {
    let mut ends: Vec<u128> = clocks.iter().map(|c| c.segment_from(0)).collect();
    let mut last = 0;
    for _ in 0..segments {
        let path = (0..ends.len()).min_by_key(|&p| ends[p]).expect("there is a path");
        last = ends[path];
        ends[path] = clocks[path].segment_from(last);
    }
    last
}
