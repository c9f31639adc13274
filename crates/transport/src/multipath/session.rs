//! The session layer: which path sends which bytes of a block (Song 2017, §4.2, Figure 4.2). It contains no transport.
//!
//! It is called whenever a path can take another segment, and returns the bytes of that segment. So every byte is handed out
//! once, and a path that can send does so as long as any byte is left: the [`Scheduler`] only decides which byte.

use super::divide::Divide;
use super::front_back::FrontBack;
use super::parts::take_front;
use super::tally::Tally;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How a block is divided among paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Pairs of paths, each with a part of the block of its own, one from the front and one from the back (§4.1, §4.4.1).
    #[default]
    FrontBack,
    /// A part of the block for each path; a path that has finished takes a share of the largest remainder (`DivideN`, §4.3 and §4.4.2).
    Divide,
    /// The next segment for whoever asks.
    RoundRobin,
}

/// The part of a scheduler that has state.
#[derive(Clone, Debug)]
enum Parts {
    FrontBack(FrontBack),
    Divide(Divide),
    RoundRobin(Range<u64>),
}

/// Hands a block out to paths, segment by segment.
#[derive(Clone, Debug)]
pub struct Session {
    parts: Parts,
    /// Bytes provided, and not yet part of a block.
    waiting: Range<u64>,
    /// Bytes of a full segment: no piece has more, and the sizes of a block's parts are multiples of it where possible.
    unit: u64,
    rates: Vec<f64>,
    tally: Tally,
}

impl Session {
    /// A session over `paths` paths, from 1, with segments of `unit` bytes, from 1. All paths are taken to be equally fast.
    pub fn new(scheduler: Scheduler, paths: usize, unit: u64) -> Self {
        let parts = match scheduler {
            Scheduler::FrontBack => Parts::FrontBack(FrontBack::new(paths)),
            Scheduler::Divide => Parts::Divide(Divide::new(paths)),
            Scheduler::RoundRobin => Parts::RoundRobin(0..0),
        };
        Self { parts, waiting: 0..0, unit, rates: vec![1.0; paths], tally: Tally::new(paths) }
    }

    /// The application has provided all bytes before `end`. New ones become a block once all before them have been handed out.
    pub fn provide(&mut self, end: u64) {
        self.waiting.end = self.waiting.end.max(end);
    }

    /// Whether this path's next segment makes a partition, so that fresh [estimates](Self::estimate) count.
    pub fn partitions_next(&self, path: usize) -> bool {
        match &self.parts {
            Parts::FrontBack(parts) => parts.is_done(path),
            Parts::Divide(parts) => parts.is_done(path),
            Parts::RoundRobin(_) => false,
        }
    }

    /// Estimated throughputs of the paths, in any unit, for partitions from now on. Anything but a number above 0 counts as 0.
    pub fn estimate(&mut self, rates: &[f64]) {
        for (old, &new) in self.rates.iter_mut().zip(rates) {
            *old = if new.is_finite() && new > 0.0 { new } else { 0.0 };
        }
    }

    /// The bytes of a path's next segment. `None`: everything provided has been handed out.
    pub fn take(&mut self, path: usize) -> Option<Range<u64>> {
        let piece = match self.take_from_block(path) {
            Some(piece) => piece,
            None if self.waiting.is_empty() => return None,
            None => {
                let block = self.waiting.clone();
                self.waiting.start = block.end;
                match &mut self.parts {
                    Parts::FrontBack(parts) => parts.begin(block, self.unit, &self.rates),
                    Parts::Divide(parts) => parts.begin(block, self.unit, &self.rates),
                    Parts::RoundRobin(rest) => *rest = block,
                }
                self.take_from_block(path)?
            }
        };
        self.tally.write(path, &piece);
        Some(piece)
    }

    fn take_from_block(&mut self, path: usize) -> Option<Range<u64>> {
        match &mut self.parts {
            Parts::FrontBack(parts) => parts.take(path, self.unit, &self.rates),
            Parts::Divide(parts) => parts.take(path, self.unit, &self.rates),
            Parts::RoundRobin(rest) => take_front(rest, self.unit),
        }
    }

    /// Whether the next segment begins a block.
    pub fn is_between_blocks(&self) -> bool {
        match &self.parts {
            Parts::FrontBack(parts) => parts.is_all_done(),
            Parts::Divide(parts) => parts.is_all_done(),
            Parts::RoundRobin(rest) => rest.is_empty(),
        }
    }

    /// Whether everything provided has been handed out.
    pub fn is_exhausted(&self) -> bool {
        self.waiting.is_empty() && self.is_between_blocks()
    }

    /// Jumps of the paths' pointers into the reassembly buffer so far (§4.1).
    pub fn context_switches(&self) -> u64 {
        self.tally.jumps()
    }
}
