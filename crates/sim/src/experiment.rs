//! Many runs at once: independent runs share the cores; when fewer runs are left than there are threads, a run takes several.
//!
//! What a run produces depends on its own plan only, never on which threads ran it, on how many, or when.

use crate::measure::RunRecord;
use crate::network::{Network, Undone};
pub use crate::stopwatch::Spent;
use crate::stopwatch::Stopwatch;
use serde::Serialize;
use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How runs were simulated that were given several threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Parallelism {
    /// Runs that were divided among them.
    pub divided: usize,
    /// Runs that were simulated by one of them, by the reason.
    pub sequential: BTreeMap<&'static str, usize>,
    /// Runs that were divided, [undone](crate::network::Undone), and restarted on one, by the reason.
    pub restarted: BTreeMap<&'static str, usize>,
}

/// Shared view of an experiment while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    stop: AtomicBool,
    /// Time on the wall that a run may take.
    limit: Option<Duration>,
    done: AtomicUsize,
    kept: AtomicUsize,
    events: AtomicU64,
    shared: Mutex<Parallelism>,
    /// Per run: simulated picoseconds, or 0 before it starts.
    simulated: Vec<AtomicU64>,
    /// Per run: 0 waiting, 1 running, 2 ended.
    state: Vec<AtomicUsize>,
}

impl Progress {
    /// The view of an experiment of `runs` runs.
    pub fn new(runs: usize) -> Self {
        Self {
            simulated: (0..runs).map(|_| AtomicU64::new(0)).collect(),
            state: (0..runs).map(|_| AtomicUsize::new(0)).collect(),
            ..Self::default()
        }
    }

    /// Each run is interrupted once it has taken so long on the wall.
    #[must_use]
    pub fn with_limit(self, limit: Option<Duration>) -> Self {
        Self { limit, ..self }
    }

    /// Time on the wall that a run may take.
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Asks all runs to end soon; those that have not begun will not.
    pub fn interrupt(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Counts `runs` as done that were there already.
    pub fn keep(&self, runs: usize) {
        self.kept.fetch_add(runs, Relaxed);
    }

    /// Runs that were there already.
    pub fn runs_kept(&self) -> usize {
        self.kept.load(Relaxed)
    }

    /// Runs that have ended, or were there already.
    pub fn runs_done(&self) -> usize {
        self.done.load(Relaxed) + self.runs_kept()
    }

    /// What became of the runs that were given several threads.
    pub fn shared(&self) -> Parallelism {
        self.on_several().clone()
    }

    fn on_several(&self) -> MutexGuard<'_, Parallelism> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events handled by all runs so far.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    /// (index, simulated picoseconds) of the runs in progress.
    pub fn running(&self) -> Vec<(usize, u64)> {
        let running = |&i: &usize| self.state[i].load(Relaxed) == 1;
        (0..self.state.len()).filter(running).map(|i| (i, self.simulated[i].load(Relaxed))).collect()
    }
}

/// Why runs stopped.
#[derive(Debug, thiserror::Error)]
pub enum Stopped<E> {
    /// A run could not be built, or its end not be taken.
    #[error(transparent)]
    Failed(#[from] E),
    /// A run panicked: a fault of the simulator.
    #[error("run {run} panicked: {message}")]
    Panicked {
        /// Its number.
        run: usize,
        /// What the panic said.
        message: String,
    },
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Which threads have nothing to do.
struct Spare {
    /// Runs that have not begun.
    runs: usize,
    /// Workers that have no run, and threads that no run has.
    workers: usize,
    threads: usize,
    /// Threads that a run may have.
    most: usize,
}

impl Spare {
    /// A worker begins a run: on how many threads.
    fn begin(&mut self) -> usize {
        // What comes first takes longest.
        let threads = self.threads.div_ceil(self.workers.min(self.runs).max(1)).clamp(1, self.most);
        self.runs -= 1;
        self.workers -= 1;
        self.threads -= threads;
        threads
    }

    /// It has ended.
    fn end(&mut self, threads: usize) {
        self.workers += 1;
        self.threads += threads;
    }
}

/// How many threads a run takes at most where nobody said how many there are: each of them takes memory, and a core that other programs
/// might want.
const UNASKED: usize = 4;

/// Runs the networks that `runs` numbers, in that order, on `threads` threads: as many at once as there are threads, and the last ones
/// on several each, where that is faster. 0: a thread for each core; of these the last runs take up to four each, for as long as that is
/// faster by the clock: other programs may need the cores. `build` makes the one of a number, again if it has to be done anew; `ended`
/// receives each record with the time that the run took, on whichever thread ran it, in order of ending. Runs
/// interrupted before they began are not reported.
///
/// # Errors
/// The first error of `build` or `ended`, or the first panic; the other runs are interrupted.
pub fn run_all<E: Send>(
    runs: &[usize],
    threads: usize,
    progress: &Progress,
    build: impl Fn(usize) -> Result<Network, E> + Sync,
    ended: impl Fn(usize, RunRecord, Spent) -> Result<(), E> + Sync,
) -> Result<(), Stopped<E>> {
    let unasked = threads == 0;
    let one = |i: usize, threads: usize| -> Result<(), Stopped<E>> {
        if progress.stop.load(Relaxed) {
            return Ok(());
        }
        progress.state[i].store(1, Relaxed);
        let clock = Stopwatch::start();
        let mut network = build(i)?;
        let mut counted = 0;
        let mut keep_going = |n: &Network| {
            progress.events.fetch_add(n.events().saturating_sub(counted), Relaxed);
            counted = counted.max(n.events());
            progress.simulated[i].store(n.now().ps(), Relaxed);
            !progress.stop.load(Relaxed) && progress.limit.is_none_or(|limit| clock.wall() < limit)
        };
        let outcome = if unasked {
            network.run_on_spare(threads, &mut keep_going)
        } else {
            network.run_on(threads, &mut keep_going)
        };
        let (ending, helpers) = match outcome {
            Ok((ending, division)) => {
                if let Some(why) = division.whole {
                    *progress.on_several().sequential.entry(why).or_default() += 1;
                } else if threads > 1 {
                    progress.on_several().divided += 1;
                }
                (ending, division.helpers)
            }
            Err(_) if progress.stop.load(Relaxed) => {
                // Nothing of it can be kept.
                progress.state[i].store(0, Relaxed);
                return Ok(());
            }
            Err(Undone(why)) => {
                *progress.on_several().restarted.entry(why).or_default() += 1;
                drop(network);
                network = build(i)?;
                (network.run(keep_going), Duration::ZERO)
            }
        };
        progress.events.fetch_add(network.events().saturating_sub(counted), Relaxed);
        let record = RunRecord::take(&mut network, ending);
        drop(network);
        let Spent { wall, cpu } = clock.spent();
        let outcome = ended(i, record, Spent { wall, cpu: cpu + helpers });
        progress.state[i].store(2, Relaxed);
        progress.done.fetch_add(1, Relaxed);
        Ok(outcome?)
    };
    let threads = if unasked { thread::available_parallelism().map_or(1, NonZero::get) } else { threads };
    let most = if unasked { UNASKED } else { threads };
    let workers = threads.min(runs.len());
    let spare = Mutex::new(Spare { runs: runs.len(), workers, threads, most });
    let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    // From the front, one at a time: what comes first is done first, and no thread waits while runs are left.
    let work = || -> Result<(), Stopped<E>> {
        loop {
            let (run, threads) = {
                let mut spare = spare();
                let Some(&run) = runs.get(runs.len() - spare.runs) else { return Ok(()) };
                (run, spare.begin())
            };
            // What a run leaves behind when it panics is its own, and is not looked at again.
            let outcome = catch_unwind(AssertUnwindSafe(|| one(run, threads)))
                .unwrap_or_else(|panic| Err(Stopped::Panicked { run, message: message(&*panic) }));
            outcome.inspect_err(|_| progress.interrupt())?;
            spare().end(threads);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.fold(Ok(()), Result::and)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_names_its_run_and_stops_the_others() {
        for threads in [1, 3] {
            let progress = Progress::new(4);
            let build = |i: usize| -> Result<Network, String> {
                if i == 2 { panic!("queue {i} is lost") } else { Err("no network".to_owned()) }
            };
            let stopped = run_all(&[2, 0, 1, 3], threads, &progress, build, |_, _, _| Ok(()));
            let text = stopped.expect_err("none can be run").to_string();
            assert!(text == "run 2 panicked: queue 2 is lost" || threads > 1 && text == "no network", "{text}");
            assert!(progress.stop.load(Relaxed));
        }
    }

    #[test]
    fn the_last_runs_share_the_spare_threads() {
        let begun = |threads: usize, runs: usize| {
            let mut spare = Spare { runs, workers: threads.min(runs), threads, most: threads };
            let first: Vec<usize> = (0..threads.min(runs)).map(|_| spare.begin()).collect();
            (first, spare)
        };
        assert_eq!(begun(8, 3).0, [3, 3, 2]);
        assert_eq!(begun(2, 1).0, [2]);
        let (first, mut spare) = begun(4, 5);
        assert_eq!(first, [1, 1, 1, 1]);
        spare.end(1);
        spare.end(1);
        assert_eq!(spare.begin(), 2, "the last one, while two go on");
        assert_eq!((spare.runs, spare.threads), (0, 0));
        let mut unasked = Spare { runs: 2, workers: 2, threads: 64, most: UNASKED };
        assert_eq!((unasked.begin(), unasked.begin()), (UNASKED, UNASKED));
    }
}
