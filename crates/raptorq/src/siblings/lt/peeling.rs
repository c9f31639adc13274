//! Belief propagation over the erasure channel: a symbol with one unknown neighbour gives that neighbour, which is then
//! subtracted from all symbols that it is part of, and so on.

use alloc::vec;
use alloc::vec::Vec;

use crate::siblings::xor::{symbol, symbol_mut, xor};

/// No entry.
const NONE: u32 = u32::MAX;

/// A received symbol that still has unknown neighbours.
#[derive(Clone, Copy)]
struct Waiting {
    /// How many neighbours are unknown.
    unknown: u32,
    /// The sum (xor) of their numbers: when there is one, its number.
    sum: u32,
}

/// That symbol `waiting` has some source symbol as a neighbour; the list goes on at `next`.
#[derive(Clone, Copy)]
struct Edge {
    waiting: u32,
    next: u32,
}

/// The decoder's graph, on which work is done as symbols come.
pub(super) struct Peeling {
    symbol_size: usize,
    /// The source block, as far as it is known.
    block: Vec<u8>,
    known: Vec<bool>,
    missing: usize,
    waiting: Vec<Waiting>,
    /// The values of `waiting`, less their known neighbours.
    values: Vec<u8>,
    /// For each source symbol the first of its edges.
    first: Vec<u32>,
    edges: Vec<Edge>,
    /// The ripple: waiting symbols with one unknown neighbour.
    ripple: Vec<u32>,
}

impl Peeling {
    /// A graph without symbols. A `symbol_size` of 0 peels without bytes.
    pub(super) fn new(source_symbols: u32, symbol_size: usize) -> Self {
        let k = source_symbols as usize;
        Self {
            symbol_size,
            block: vec![0; k * symbol_size],
            known: vec![false; k],
            missing: k,
            waiting: Vec::new(),
            values: Vec::new(),
            first: vec![NONE; k],
            edges: Vec::new(),
            ripple: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.known.fill(false);
        self.missing = self.known.len();
        self.waiting.clear();
        self.values.clear();
        self.first.fill(NONE);
        self.edges.clear();
    }

    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// The source block, once it is complete.
    pub(super) fn block(&self) -> &[u8] {
        &self.block
    }

    /// Takes a symbol, the sum of the distinct `neighbours`, and recovers what can be recovered now.
    pub(super) fn add(&mut self, neighbours: &[u32], value: &[u8]) {
        let index = self.waiting.len() as u32;
        let (start, edges) = (self.values.len(), self.edges.len());
        self.values.extend_from_slice(value);
        let (mut unknown, mut sum) = (0, 0);
        for &neighbour in neighbours {
            let n = neighbour as usize;
            if self.known[n] {
                xor(&mut self.values[start..], symbol(&self.block, self.symbol_size, n));
            } else {
                unknown += 1;
                sum ^= neighbour;
                self.edges.push(Edge { waiting: index, next: self.first[n] });
                self.first[n] = (self.edges.len() - 1) as u32;
            }
        }
        if unknown == 0 {
            // Nothing new. (It made no edges.)
            debug_assert_eq!(self.edges.len(), edges);
            self.values.truncate(start);
            return;
        }
        self.waiting.push(Waiting { unknown, sum });
        if unknown == 1 {
            self.ripple.push(index);
            self.peel();
        }
    }

    fn peel(&mut self) {
        while let Some(index) = self.ripple.pop() {
            let Waiting { unknown, sum } = self.waiting[index as usize];
            if unknown == 0 {
                // Another symbol of the ripple gave the same neighbour.
                continue;
            }
            let n = sum as usize;
            let value = symbol(&self.values, self.symbol_size, index as usize);
            symbol_mut(&mut self.block, self.symbol_size, n).copy_from_slice(value);
            self.known[n] = true;
            self.missing -= 1;
            let mut at = self.first[n];
            while at != NONE {
                let Edge { waiting, next } = self.edges[at as usize];
                let entry = &mut self.waiting[waiting as usize];
                entry.unknown -= 1;
                entry.sum ^= sum;
                if entry.unknown == 1 {
                    self.ripple.push(waiting);
                }
                let value = symbol_mut(&mut self.values, self.symbol_size, waiting as usize);
                xor(value, symbol(&self.block, self.symbol_size, n));
                at = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_literature() {
        // MacKay, "Fountain codes", figure 3; also figure 2.13 of Alasmar's thesis: three source bits, E = 1 0 1 1 with
        // neighbours {1}, {1, 2, 3}, {2, 3}, {1, 2}; S = 1 0 1.
        let mut peeling = Peeling::new(3, 1);
        for (neighbours, value) in [(&[0][..], 1), (&[0, 1, 2], 0), (&[1, 2], 1), (&[0, 1], 1)] {
            assert!(!peeling.is_complete());
            peeling.add(neighbours, &[value]);
        }
        assert!(peeling.is_complete());
        assert_eq!(peeling.block(), [1, 0, 1]);
    }

    #[test]
    fn a_solvable_set_without_degree_one_waits() {
        // {1,2}, {2,3}, {1,2,3} has full rank. Belief propagation does not start.
        let mut peeling = Peeling::new(3, 1);
        for (neighbours, value) in [(&[0, 1][..], 3), (&[1, 2], 6), (&[0, 1, 2], 7)] {
            peeling.add(neighbours, &[value]);
        }
        assert!(!peeling.is_complete());
        // One symbol of degree one resumes, and the set is found to be consistent: 1, 2, 4.
        peeling.add(&[2], &[4]);
        assert!(peeling.is_complete());
        assert_eq!(peeling.block(), [1, 2, 4]);
        peeling.clear();
        assert!(!peeling.is_complete());
    }
}
