//! The experiment: random sets of received symbols, and whether they decode.
//!
//! One trial draws an order of symbols to be received. For each overhead o, the first K + o of them are given to the code's
//! own decoder. So the trials of different overheads are not independent of each other (what decodes with o decodes
//! with o + 1), which saves nearly all the work; each overhead by itself is a fair sample.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anabranch_raptorq::fountain::{Decodability, FountainCode, FountainError};

/// Which symbols are received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// Distinct ids, uniform over all that the code has: nearly all are repair symbols. RFC 6330 §5.8 states its
    /// failure probabilities for ids that are independent and uniform.
    Uniform,
    /// Symbols 0, 1, 2, .. are sent, each is lost with this probability, and the receiver takes the first K + o that
    /// arrive: source symbols, and as many repair symbols as replace the lost ones.
    Loss(f64),
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Loss(p) => write!(f, "loss={p}"),
        }
    }
}

/// One code, one number of source symbols, one pattern.
pub(crate) struct Case<'a> {
    pub(crate) code: &'a dyn FountainCode,
    pub(crate) k: u32,
    pub(crate) pattern: Pattern,
    /// Symbols beyond K, ascending.
    pub(crate) overheads: Vec<u32>,
}

/// What ends an experiment.
#[derive(Debug)]
pub(crate) enum Error {
    Code(FountainError),
    /// The code has not as many symbols as the receiver wants.
    Exhausted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(error) => error.fmt(f),
            Self::Exhausted => f.write_str("the code has no more encoding symbols to send"),
        }
    }
}

impl From<FountainError> for Error {
    fn from(error: FountainError) -> Self {
        Self::Code(error)
    }
}

impl Case<'_> {
    /// Counts the failures in `trials` trials, for each overhead. The same `seed` gives the same counts whatever `threads`
    /// is. `progress` is called at each percent.
    pub(crate) fn run(
        &self,
        trials: u64,
        seed: u64,
        threads: usize,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<u64>, Error> {
        // A trial's numbers are a function of its index alone, and sums do not depend on the order.
        const BATCH: u64 = 64;
        let next = AtomicU64::new(0);
        let done = Mutex::new(0);
        let work = || -> Result<Vec<u64>, Error> {
            let mut trial = Trial::new(self)?;
            let mut failures = vec![0; self.overheads.len()];
            loop {
                let first = next.fetch_add(BATCH, Ordering::Relaxed);
                if first >= trials {
                    return Ok(failures);
                }
                let end = trials.min(first + BATCH);
                for index in first..end {
                    trial.run(seed, index, &mut failures)?;
                }
                let mut done = done.lock().expect("no thread panics with the lock");
                let before = *done * 100 / trials;
                *done += end - first;
                if *done * 100 / trials > before {
                    progress(*done);
                }
            }
        };
        let results: Vec<_> = thread::scope(|scope| {
            let handles: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
            handles.into_iter().map(|handle| handle.join().expect("a worker does not panic")).collect()
        });
        let mut total = vec![0; self.overheads.len()];
        for result in results {
            total.iter_mut().zip(result?).for_each(|(sum, part)| *sum += part);
        }
        Ok(total)
    }
}

/// One thread's memory.
struct Trial<'a> {
    case: &'a Case<'a>,
    decodability: Box<dyn Decodability>,
    symbols: u64,
    received: Vec<u32>,
    seen: Seen,
}

impl<'a> Trial<'a> {
    fn new(case: &'a Case<'a>) -> Result<Self, Error> {
        let wanted = (case.k + case.overheads.last().copied().unwrap_or(0)) as usize;
        let symbols = case.code.limits().encoding_symbols;
        if symbols < wanted as u64 {
            return Err(Error::Exhausted);
        }
        let decodability = case.code.decodability(case.k)?;
        Ok(Self { case, decodability, symbols, received: Vec::with_capacity(wanted), seen: Seen::new(wanted) })
    }

    fn run(&mut self, seed: u64, index: u64, failures: &mut [u64]) -> Result<(), Error> {
        self.receive(&mut Random::new(seed, self.case.k, index))?;
        for (&overhead, failures) in self.case.overheads.iter().zip(failures) {
            if self.decodability.decodes(&self.received[..(self.case.k + overhead) as usize])? {
                break;
            }
            *failures += 1;
        }
        Ok(())
    }

    fn receive(&mut self, random: &mut Random) -> Result<(), Error> {
        let wanted = self.received.capacity();
        self.received.clear();
        match self.case.pattern {
            Pattern::Uniform => {
                self.seen.clear();
                while self.received.len() < wanted {
                    let id = random.below(self.symbols);
                    if self.seen.insert(id) {
                        self.received.push(id);
                    }
                }
            }
            Pattern::Loss(p) => {
                let mut sent = 0;
                while self.received.len() < wanted {
                    if sent == self.symbols {
                        return Err(Error::Exhausted);
                    }
                    if random.unit() >= p {
                        self.received.push(sent as u32);
                    }
                    sent += 1;
                }
            }
        }
        Ok(())
    }
}

/// A set of ids that is cleared at no cost.
struct Seen {
    /// Round and id, by open addressing; a place of an earlier round is free.
    places: Vec<u64>,
    round: u64,
}

impl Seen {
    fn new(capacity: usize) -> Self {
        Self { places: vec![0; (4 * capacity).next_power_of_two()], round: 0 }
    }

    fn clear(&mut self) {
        self.round += 1;
    }

    fn insert(&mut self, id: u32) -> bool {
        let entry = (self.round << 32) | u64::from(id);
        let mask = self.places.len() - 1;
        let mut at = (u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.places[at] >> 32 == self.round {
            if self.places[at] == entry {
                return false;
            }
            at = (at + 1) & mask;
        }
        self.places[at] = entry;
        true
    }
}

/// `SplitMix64`, started anew for each trial from the seed, K and the trial's index.
struct Random(u64);

impl Random {
    fn new(seed: u64, k: u32, index: u64) -> Self {
        let mut random = Self(seed);
        for part in [u64::from(k), index] {
            random.0 = random.next() ^ part;
        }
        random.0 = random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is at most 2^32.
    fn below(&mut self, bound: u64) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }

    /// A number in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anabranch_raptorq::siblings::{Field, R10, RandomLinear};

    use super::*;
    use crate::statistics;

    fn failures(code: &dyn FountainCode, k: u32, pattern: Pattern, trials: u64, seed: u64, threads: usize) -> Vec<u64> {
        Case { code, k, pattern, overheads: vec![0, 1, 2, 5] }.run(trials, seed, threads, &|_| {}).unwrap()
    }

    #[test]
    fn counts_depend_on_the_seed_and_not_on_the_threads() {
        for pattern in [Pattern::Uniform, Pattern::Loss(0.3)] {
            let one = failures(&R10, 20, pattern, 1000, 1, 1);
            assert_eq!(one, failures(&R10, 20, pattern, 1000, 1, 3));
            assert_ne!(one, failures(&R10, 20, pattern, 1000, 2, 1));
            assert!(one.is_sorted_by(|a, b| a >= b) && one[0] > 0, "{one:?}");
        }
    }

    #[test]
    fn the_random_linear_fountain_fails_as_often_as_it_must() {
        let code = RandomLinear::new(Field::Gf2, 9);
        let trials = 4000;
        for (count, o) in failures(&code, 16, Pattern::Uniform, trials, 5, 2).into_iter().zip([0, 1, 2, 5]) {
            // With 99.99 %: four tests of this should not fail for any seed that one would choose.
            let (low, high) = statistics::clopper_pearson(count, trials, 0.9999);
            let exact = statistics::random_linear_failure(2.0, 16, o);
            assert!(low <= exact && exact <= high, "{o}: {count} of {trials} and {exact}");
        }
    }

    #[test]
    fn received_symbols_are_distinct_and_follow_the_pattern() {
        for pattern in [Pattern::Uniform, Pattern::Loss(0.25)] {
            let case = Case { code: &R10, k: 1000, pattern, overheads: vec![10] };
            let mut trial = Trial::new(&case).unwrap();
            let mut largest = 0;
            for index in 0..50 {
                trial.receive(&mut Random::new(3, 1000, index)).unwrap();
                assert_eq!(trial.received.iter().collect::<BTreeSet<_>>().len(), 1010);
                largest = largest.max(*trial.received.iter().max().unwrap());
            }
            match pattern {
                Pattern::Uniform => assert!((65_000..65_536).contains(&largest)),
                // 1347 on average, with a standard deviation of 21.
                Pattern::Loss(_) => assert!((1347..1460).contains(&largest), "{largest}"),
            }
        }
    }

    #[test]
    fn a_code_without_symbols_is_an_error() {
        let case = Case { code: &R10, k: 8192, pattern: Pattern::Loss(0.99), overheads: vec![0] };
        assert!(matches!(case.run(1, 1, 1, &|_| {}), Err(Error::Exhausted)));
    }
}
