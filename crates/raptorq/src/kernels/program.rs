//! What to compute for a block, as flat lists that a kernel walks once for each strip of the symbols.
//!
//! The work area is an array of *slots*, each as wide as a strip: first the L intermediate symbols, at their column's
//! number, then the residuals, then the H sums of the HDPC rows. Every line of a program is a *gather*: the sum of some
//! slots and perhaps one received symbol is written to one slot, once. That keeps the sum in registers; the list of
//! two-operand operations that codecs usually replay reads and writes the destination for every term.

use alloc::vec::Vec;
use core::ops::Deref;

use crate::memory::{allocated, reserve_double};

/// One line: `slot[target] = source + sum of slot[term]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gather {
    /// The received symbol that is added: see [`Source`].
    pub(crate) source: Source,
    /// Where the sum goes: a slot, or in an emitted list a row of the block or of the repair symbols.
    pub(crate) target: u32,
    /// How many of the line's terms count in the forward pass.
    pub(crate) forward: u16,
    /// How many terms the line has.
    pub(crate) total: u16,
}

/// A received symbol: row `n` of the block, repair symbol `n`, or nothing.
///
/// Rows of the block beyond its K symbols are padding, and count as nothing: one plan serves every K of its K'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source(u32);

impl Source {
    pub(crate) const NONE: Self = Self(u32::MAX);
    const REPAIR: u32 = 1 << 31;

    pub(crate) fn row(row: u32) -> Self {
        debug_assert!(row < Self::REPAIR);
        Self(row)
    }

    pub(crate) fn repair(index: u32) -> Self {
        debug_assert!(index < Self::REPAIR - 1);
        Self(Self::REPAIR | index)
    }

    /// The row of the block, if it is one below `rows`.
    #[inline(always)]
    pub(super) fn as_row(self, rows: usize) -> Option<usize> {
        ((self.0 as usize) < rows).then_some(self.0 as usize)
    }

    /// The index of the repair symbol, if it is one.
    #[inline(always)]
    pub(super) fn as_repair(self) -> Option<usize> {
        (self.0 & Self::REPAIR != 0 && self != Self::NONE).then_some((self.0 & !Self::REPAIR) as usize)
    }
}

/// Lines in order, with their terms one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct GatherList {
    pub(crate) lines: Vec<Gather>,
    pub(crate) terms: Vec<u16>,
}

impl GatherList {
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
        self.terms.clear();
    }

    /// Makes room for as much again.
    pub(crate) fn reserve_double(&mut self) {
        reserve_double(&mut self.lines);
        reserve_double(&mut self.terms);
    }

    /// Bytes that it takes.
    fn bytes(&self) -> usize {
        allocated(&self.lines) + allocated(&self.terms)
    }

    /// Ends a line whose terms were pushed since the line before; all of them count in every pass.
    pub(crate) fn push_line(&mut self, source: Source, target: u32, terms_before: usize) {
        let total = (self.terms.len() - terms_before) as u16;
        self.lines.push(Gather { source, target, forward: total, total });
    }
}

/// What the lines of a list may touch: one past the highest of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    pub(super) terms: usize,
    pub(super) targets: usize,
    pub(super) repairs: usize,
}

impl GatherList {
    /// Finds out.
    ///
    /// # Panics
    ///
    /// If a line's terms are not there.
    pub(super) fn reach(&self) -> Reach {
        let mut reach =
            Reach { terms: self.terms.iter().max().map_or(0, |&most| most as usize + 1), ..Reach::default() };
        let (mut terms, mut ordered) = (0, true);
        for line in &self.lines {
            ordered &= line.forward <= line.total;
            terms += line.total as usize;
            reach.targets = reach.targets.max(line.target as usize + 1);
            reach.repairs = reach.repairs.max(line.source.as_repair().map_or(0, |repair| repair + 1));
        }
        assert!(ordered && terms == self.terms.len(), "every term belongs to one line");
        reach
    }
}

/// The two HDPC rows that a column's Horner sum goes to.
pub(crate) type Pair = [u8; 2];

/// The HDPC rows (RFC 6330 §5.3.3.3) but for the identity that ends them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hdpc {
    /// For each of the K' + S columns but the last, the rows that `MT` has a 1 in.
    pub(crate) pairs: Vec<Pair>,
    /// H.
    pub(crate) rows: usize,
}

impl Hdpc {
    /// Whether the rows cover columns of the program only, and name existing rows: what running it relies on.
    pub(super) fn fits(&self, program: &Sealed) -> bool {
        let sums = program.columns + program.residuals.lines.len();
        self.pairs.len() < program.columns
            && sums + self.rows <= program.bounds().slots
            && self.pairs.iter().flatten().all(|&row| usize::from(row) < self.rows)
    }
}

/// Slots that a program can have: their numbers are 16-bit.
pub(crate) const MOST_SLOTS: usize = 1 << 16;

/// What a program does: written by the solver, and [sealed](Sealed) to be run by [`super::execute`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// L.
    pub(crate) columns: usize,
    /// Columns solved by peeling, in an order in which each needs only those before it and inactive ones.
    pub(crate) peeled: GatherList,
    /// Rows over inactive columns only, once the peeled columns are taken out. Targets are slots from L.
    pub(crate) residuals: GatherList,
    /// Inactive columns as sums of residuals, as if all free columns were 0.
    pub(crate) leads: GatherList,
    /// The inactive columns, leads and free ones.
    pub(crate) inactive: Vec<u16>,
    /// Inactive columns that the binary rows leave open; the HDPC rows determine them.
    pub(crate) free: Vec<u16>,
    /// Slots that the free columns are computed from: the HDPC sums, then the leads.
    pub(crate) dense_inputs: Vec<u16>,
    /// The coefficients: a row for each free column, a column for each input.
    pub(crate) dense: Vec<u8>,
    /// What the free columns add to the leads; each line has its own target among its terms.
    pub(crate) corrections: GatherList,
}

/// A program that can be run. It can be read but not changed other than by [writing it anew](Sealed::write), so that its
/// bounds are always true: that makes it sound to run it without checking every index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sealed {
    program: Program,
    /// `None` while it is being written, or after that failed.
    bounds: Option<Bounds>,
}

/// What a sealed program may touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Slots, all told.
    pub(super) slots: usize,
    /// One past the highest repair symbol.
    pub(super) repairs: usize,
    /// Slots read in all, those of two walks counted twice.
    pub(super) reads: usize,
}

impl Program {
    /// Empties it, keeping its memory.
    fn clear(&mut self) {
        self.columns = 0;
        for list in [&mut self.peeled, &mut self.residuals, &mut self.leads, &mut self.corrections] {
            list.clear();
        }
        self.inactive.clear();
        self.free.clear();
        self.dense_inputs.clear();
        self.dense.clear();
    }

    /// Finds what the program may touch.
    ///
    /// # Panics
    ///
    /// If a line's terms are not there, the dense matrix has another shape than its inputs say, or there are more slots
    /// than their numbers can name.
    fn bounds(&self, hdpc_rows: usize) -> Bounds {
        let once = self.residuals.terms.len() + self.leads.terms.len() + self.corrections.terms.len();
        // The HDPC rows take every column, and add it to two sums.
        let dense = if self.free.is_empty() { 0 } else { self.dense.len() + 3 * self.columns };
        let lines = 2 * self.peeled.lines.len() + self.residuals.lines.len() + self.leads.lines.len();
        let mut bounds = Bounds {
            slots: self.columns + self.residuals.lines.len() + hdpc_rows,
            repairs: 0,
            reads: 2 * self.peeled.terms.len() + once + dense + lines,
        };
        let top = |values: &[u16]| values.iter().max().map_or(0, |&most| most as usize + 1);
        for list in [&self.peeled, &self.residuals, &self.leads, &self.corrections] {
            let reach = list.reach();
            bounds.slots = bounds.slots.max(reach.terms).max(reach.targets);
            bounds.repairs = bounds.repairs.max(reach.repairs);
        }
        bounds.slots = bounds.slots.max(top(&self.inactive)).max(top(&self.free)).max(top(&self.dense_inputs));
        assert_eq!(self.dense.len(), self.free.len() * self.dense_inputs.len());
        assert!(bounds.slots <= MOST_SLOTS, "{} slots cannot be numbered", bounds.slots);
        bounds
    }
}

impl Sealed {
    /// Has `write` make another program in the memory of this one. If it fails there is no program that could be run.
    ///
    /// # Panics
    ///
    /// If what it made is not a program: see [`Program::bounds`].
    pub(crate) fn write<E>(
        &mut self,
        hdpc_rows: usize,
        write: impl FnOnce(&mut Program) -> Result<(), E>,
    ) -> Result<(), E> {
        self.bounds = None;
        self.program.clear();
        write(&mut self.program)?;
        self.bounds = Some(self.program.bounds(hdpc_rows));
        Ok(())
    }

    /// Slots that a strip needs.
    pub(crate) fn slots(&self) -> usize {
        self.bounds().slots
    }

    /// Octets that are added or multiplied to run it over symbols of `size` octets.
    pub(crate) fn work(&self, size: usize) -> u64 {
        self.bounds().reads as u64 * size as u64
    }

    /// Makes room for as much again.
    pub(crate) fn reserve_double(&mut self) {
        let program = &mut self.program;
        for list in [&mut program.peeled, &mut program.residuals, &mut program.leads, &mut program.corrections] {
            list.reserve_double();
        }
        reserve_double(&mut program.inactive);
        reserve_double(&mut program.free);
        reserve_double(&mut program.dense_inputs);
        reserve_double(&mut program.dense);
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let Program { peeled, residuals, leads, inactive, free, dense_inputs, dense, corrections, .. } = &self.program;
        let lists: usize = [peeled, residuals, leads, corrections].map(GatherList::bytes).iter().sum();
        let columns: usize = [inactive, free, dense_inputs].map(allocated).iter().sum();
        lists + columns + allocated(dense)
    }

    /// # Panics
    ///
    /// If the program was never written, or not to its end.
    pub(super) fn bounds(&self) -> Bounds {
        self.bounds.expect("only whole programs are run")
    }
}

impl Deref for Sealed {
    type Target = Program;

    #[inline]
    fn deref(&self) -> &Program {
        &self.program
    }
}
