//! Which source symbols an LT symbol is the sum of.

use alloc::vec;
use alloc::vec::Vec;

use crate::siblings::Soliton;
use crate::siblings::random::SplitMix64;
use crate::siblings::soliton::Degrees;

/// Up to this degree a set is searched from end to end, which is faster than anything that must be cleared first.
const SMALL: usize = 48;

/// Draws the neighbours of each symbol of one code and one K.
pub(super) struct Neighbours {
    degrees: Degrees,
    seed: u64,
    source_symbols: u32,
}

impl Neighbours {
    pub(super) fn new(soliton: Soliton, seed: u64, source_symbols: u32) -> Self {
        Self { degrees: Degrees::new(soliton, source_symbols), seed, source_symbols }
    }

    /// Replaces `drawn` by the neighbours of symbol `id`: a uniform set of a size that follows the distribution.
    ///
    /// The first number of the symbol's stream gives the degree, the following ones the set, by Floyd's algorithm
    /// (Bentley and Floyd, CACM 30 (9), 1987): `degree` numbers for `degree` distinct neighbours.
    pub(super) fn draw(&self, id: u32, drawn: &mut Vec<u32>) {
        let k = self.source_symbols;
        let mut random = SplitMix64::of_symbol(self.seed, k, id);
        let degree = self.degrees.draw(random.next());
        drawn.clear();
        if degree as usize <= SMALL {
            for upper in k - degree..k {
                let candidate = random.below(upper + 1);
                drawn.push(if drawn.contains(&candidate) { upper } else { candidate });
            }
        } else {
            let mut taken = vec![0u64; k.div_ceil(64) as usize];
            for upper in k - degree..k {
                let candidate = random.below(upper + 1);
                let is_taken = taken[candidate as usize / 64] >> (candidate % 64) & 1 == 1;
                let neighbour = if is_taken { upper } else { candidate };
                taken[neighbour as usize / 64] |= 1 << (neighbour % 64);
                drawn.push(neighbour);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    const ROBUST: Soliton = Soliton::Robust { c: 0.1, delta: 0.5 };

    #[test]
    fn neighbours_are_distinct_and_belong_to_the_block() {
        for k in [1, 2, 3, 7, 64, 1000] {
            let neighbours = Neighbours::new(ROBUST, 1, k);
            let mut drawn = Vec::new();
            let mut largest = 0;
            for id in 0..3000 {
                neighbours.draw(id, &mut drawn);
                let set: BTreeSet<u32> = drawn.iter().copied().collect();
                assert!(!drawn.is_empty() && set.len() == drawn.len() && set.iter().all(|&n| n < k));
                largest = largest.max(drawn.len());
            }
            assert!(k < 64 || largest > SMALL, "both ways of drawing are tested");
        }
    }

    #[test]
    fn every_source_symbol_is_equally_likely() {
        let k = 40;
        let neighbours = Neighbours::new(ROBUST, 2, k);
        let mut counts = [0u32; 40];
        let (mut drawn, mut edges) = (Vec::new(), 0);
        for id in 0..40_000 {
            neighbours.draw(id, &mut drawn);
            edges += drawn.len() as u32;
            for &n in &drawn {
                counts[n as usize] += 1;
            }
        }
        let mean = f64::from(edges) / 40.0;
        assert!(counts.iter().all(|&n| (f64::from(n) - mean).abs() < 5.0 * mean.sqrt()), "{mean} {counts:?}");
    }

    #[test]
    fn the_code_does_not_change() {
        // Sender and receiver may run different versions: these sets are part of the code. A second implementation, in
        // another language and with that language's logarithm, gave the same.
        let mut drawn = Vec::new();
        let mut of = |seed, k, id| {
            Neighbours::new(ROBUST, seed, k).draw(id, &mut drawn);
            drawn.clone()
        };
        assert_eq!(of(0, 10, 0), [7, 6, 9]);
        assert_eq!(of(0, 10, 1), [8, 4]);
        assert_eq!(of(1, 10, 1), [0, 2, 3, 4, 1, 6, 7, 8, 9]);
        let spike = of(0, 1000, 1);
        assert_eq!((spike.len(), &spike[..4], spike[40]), (41, &[694, 300, 400, 311][..], 855));
        assert_eq!(of(0, 1000, u32::MAX), [227, 43]);
    }
}
