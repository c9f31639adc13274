//! A program run backwards: how much each source symbol counts in given encoding symbols.
//!
//! A program is a linear map from the symbols of a block to its intermediate symbols, and an encoding symbol is a sum
//! of some of these. The transposed map takes that sum back to coefficients of the source symbols: every line is
//! walked in reverse, and what it gathered is scattered. One byte of a lane stands for one encoding symbol, so that
//! 64 of them go through at once, at a fraction of the price of encoding a block.

use super::execute::Chunk;
use super::program::{GatherList, Hdpc, Sealed};
use super::{Kernels, LANE, Lane, Operation};

impl Kernels {
    /// Coefficients of the first symbols of the block in the encoding symbols whose columns are the lines of
    /// `wanted`, 64 at most: byte `n` of `out[row * stride]` is that of `row` in line `n`.
    ///
    /// `area` is scratch of [`Sealed::slots`] chunks.
    ///
    /// # Panics
    ///
    /// If a buffer is too short, more than 64 lines are wanted, a line has a column that the program lacks, or the
    /// program takes repair symbols.
    pub(crate) fn coefficients(
        self,
        program: &Sealed,
        hdpc: &Hdpc,
        wanted: Wanted<'_>,
        area: &mut [Chunk],
        out: &mut [Chunk],
        stride: usize,
    ) {
        let bounds = program.bounds();
        assert!(wanted.list.lines[wanted.first..wanted.end].len() <= LANE && area.len() >= bounds.slots);
        assert!(bounds.repairs == 0 && hdpc.fits(program));
        self.run(Transpose { program, hdpc, wanted, area, out, stride });
    }
}

/// Some lines of a list.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) list: &'a GatherList,
    /// The first line.
    pub(crate) first: usize,
    /// One past the last line.
    pub(crate) end: usize,
    /// Where the first line's terms start.
    pub(crate) terms: usize,
}

impl Wanted<'_> {
    /// Adds the lines to the slots, each in a byte of its own.
    fn add_to(self, area: &mut [Chunk]) {
        let mut terms = &self.list.terms[self.terms..];
        for (byte, line) in self.list.lines[self.first..self.end].iter().enumerate() {
            let (columns, rest) = terms.split_at(line.total as usize);
            for &column in columns {
                area[column as usize].0[byte] ^= 1;
            }
            terms = rest;
        }
    }
}

struct Transpose<'a> {
    program: &'a Sealed,
    hdpc: &'a Hdpc,
    wanted: Wanted<'a>,
    area: &'a mut [Chunk],
    out: &'a mut [Chunk],
    stride: usize,
}

// SAFETY, for every block below: the sealed program's slots are all in the area, which `coefficients` made sure of;
// rows are compared with the output; the instructions are there, as `Operation::run` was entered.
#[allow(clippy::undocumented_unsafe_blocks, reason = "said once, above")]
impl Operation for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(mut self) {
        let program = self.program;
        self.area.fill(Chunk::ZERO);
        self.wanted.add_to(self.area);
        unsafe {
            // What is wanted of the inactive columns, by way of the peeled ones.
            let area = self.area.as_mut_ptr();
            each_line_backwards(&program.peeled, |line, terms| {
                let value = V::load(slot(area, line.target as u16));
                for &term in terms {
                    add(slot(area, term), value);
                }
            });
            // The leads and the free columns, in the reverse of the order in which they are computed.
            each_line_backwards(&program.corrections, |line, terms| {
                let value = V::load(slot(area, line.target as u16));
                // The line's own target is its last term.
                for &term in &terms[..terms.len() - 1] {
                    add(slot(area, term), value);
                }
            });
            let inputs = &program.dense_inputs;
            for (&free, coefficients) in program.free.iter().zip(program.dense.chunks_exact(inputs.len().max(1))) {
                let value = V::load(slot(area, free));
                for (&input, &coefficient) in inputs.iter().zip(coefficients) {
                    add(slot(area, input), value.multiply(V::factor(coefficient)));
                }
            }
            each_line_backwards(&program.leads, |line, terms| {
                let value = V::load(slot(area, line.target as u16));
                for &term in terms {
                    add(slot(area, term), value);
                }
            });
            // From here on the peeled columns start anew: with what is wanted of them, and what residuals and HDPC
            // sums take from them. One walk then gives both of what the program's two walks contribute.
            for line in &program.peeled.lines {
                V::zero().store(slot(area, line.target as u16));
            }
            self.wanted.add_to(self.area);
            if !program.free.is_empty() {
                self.scatter_hdpc::<V>();
            }
            let area = self.area.as_mut_ptr();
            let stride = self.stride;
            let rows = self.out.len().div_ceil(stride);
            let out = &mut *self.out;
            each_line_backwards(&program.residuals, |line, terms| {
                let value = V::load(slot(area, line.target as u16));
                for &term in terms {
                    add(slot(area, term), value);
                }
                if let Some(row) = line.source.as_row(rows) {
                    value.store(out[row * stride].0.as_mut_ptr());
                }
            });
            each_line_backwards(&program.peeled, |line, terms| {
                let value = V::load(slot(area, line.target as u16));
                for &term in &terms[..line.forward as usize] {
                    add(slot(area, term), value);
                }
                if let Some(row) = line.source.as_row(rows) {
                    value.store(out[row * stride].0.as_mut_ptr());
                }
            });
        }
    }
}

// SAFETY: as above.
#[allow(clippy::undocumented_unsafe_blocks, reason = "said once, above")]
impl Transpose<'_> {
    /// Horner's rule backwards: what is wanted of a running sum is what is wanted of its two rows, and twice what is
    /// wanted of the next running sum.
    #[inline(always)]
    unsafe fn scatter_hdpc<V: Lane>(&mut self) {
        let area = self.area.as_mut_ptr();
        let sums = (self.program.columns + self.program.residuals.lines.len()) as u16;
        unsafe {
            let mut y = V::zero();
            for row in (0..self.hdpc.rows).rev() {
                y = y.double().xor(V::load(slot(area, sums + row as u16)));
            }
            add(slot(area, self.hdpc.pairs.len() as u16), y);
            for (column, &[first, second]) in self.hdpc.pairs.iter().enumerate().rev() {
                let first = V::load(slot(area, sums + u16::from(first)));
                y = y.double().xor3(first, V::load(slot(area, sums + u16::from(second))));
                add(slot(area, column as u16), y);
            }
        }
    }
}

#[inline(always)]
unsafe fn slot(area: *mut Chunk, slot: u16) -> *mut u8 {
    // SAFETY: the caller's slots are in the area.
    unsafe { area.add(slot as usize).cast() }
}

#[inline(always)]
unsafe fn add<V: Lane>(to: *mut u8, value: V) {
    // SAFETY: the caller vouches for the lane at `to`.
    unsafe { V::load(to).xor(value).store(to) }
}

#[inline(always)]
fn each_line_backwards(list: &GatherList, mut each: impl FnMut(&super::program::Gather, &[u16])) {
    let mut end = list.terms.len();
    for line in list.lines.iter().rev() {
        let start = end - line.total as usize;
        each(line, &list.terms[start..end]);
        end = start;
    }
}
