//! Contenders take turns at the same task, and medians are compared.

use crate::clock::Clock;

/// One way to do a task. Only [`Contender::run`] is timed.
pub trait Contender {
    /// What a run consumes.
    type Input;
    /// What a run makes. It is kept until the clock stands: freeing it costs the contender nothing.
    type Output;

    /// Runs between two readings of the clock; more than one only where one is too short to be measured.
    fn batch(&self) -> usize;
    /// Makes what the next run needs.
    fn prepare(&mut self) -> Self::Input;
    /// Does the task.
    fn run(&mut self, input: Self::Input) -> Self::Output;
    /// Panics unless the result is right.
    fn check(&mut self, output: Self::Output);
}

/// A contender, whatever it consumes and makes.
pub trait Timed {
    /// Does the task `count` times; the seconds that took.
    fn time(&mut self, clock: Clock, count: usize) -> f64;
}

impl<C: Contender> Timed for C {
    fn time(&mut self, clock: Clock, count: usize) -> f64 {
        let batch = self.batch();
        let mut inputs = Vec::with_capacity(batch);
        let mut outputs = Vec::with_capacity(batch);
        let mut seconds = 0.0;
        for first in (0..count).step_by(batch) {
            inputs.extend((first..count.min(first + batch)).map(|_| self.prepare()));
            seconds += clock.time(|| {
                for input in inputs.drain(..) {
                    outputs.push(self.run(input));
                }
            });
            for output in outputs.drain(..) {
                self.check(output);
            }
        }
        seconds
    }
}

/// As many runs between two readings of the clock as work on 128 KiB of source symbols.
pub fn batch_for(block_bytes: usize) -> usize {
    ((128 << 10) / block_bytes).max(1)
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Samples of each contender.
    pub samples: usize,
    /// Seconds that a sample takes at least.
    pub least: f64,
}

/// Seconds of one run.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    /// Of all samples.
    pub median: f64,
    /// The fastest sample.
    pub fastest: f64,
    /// The slowest sample.
    pub slowest: f64,
}

impl Stats {
    /// Of at least one sample.
    pub fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        Self { median: seconds[seconds.len() / 2], fastest: seconds[0], slowest: seconds[seconds.len() - 1] }
    }

    /// Half the distance from the fastest to the slowest sample, in per cent of the median.
    pub fn spread(&self) -> f64 {
        50.0 * (self.slowest - self.fastest) / self.median
    }
}

/// Samples of the contenders in turns, so that what disturbs the machine for a while disturbs all of them.
///
/// Each first does at least `warm_up` runs that do not count.
pub fn compete(clock: Clock, sampling: Sampling, warm_up: usize, contenders: &mut [Box<dyn Timed + '_>]) -> Vec<Stats> {
    /// Seconds of a run from which on few samples have to do.
    const LONG: f64 = 0.1;
    let once: Vec<f64> = contenders
        .iter_mut()
        .map(|contender| {
            contender.time(clock, warm_up.max(1));
            let once = contender.time(clock, 1);
            contender.time(clock, (sampling.least / once.max(1e-6)) as usize);
            once
        })
        .collect();
    let counts: Vec<usize> =
        once.iter().map(|once| (sampling.least / once.max(1e-9)).ceil().max(1.0) as usize).collect();
    let samples = if once.iter().any(|&once| once > LONG) { sampling.samples.min(3) } else { sampling.samples };
    let mut seconds = vec![Vec::new(); contenders.len()];
    for sample in 0..samples {
        let mut turns: Vec<usize> = (0..contenders.len()).collect();
        turns.rotate_left(sample % contenders.len());
        for turn in turns {
            let count = counts[turn];
            seconds[turn].push(contenders[turn].time(clock, count) / count as f64);
        }
    }
    seconds.into_iter().map(Stats::of).collect()
}
