//! All of it: which symbols there are, and the program that makes the intermediate symbols of them.

use super::bits::ColumnBits;
use super::eliminate::Elimination;
use super::peel::Peeling;
use super::skeleton::{Skeleton, row_columns};
use crate::kernels::Kernels;
use crate::kernels::program::{Program, Source};

/// The received symbols do not determine the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deficit {
    /// How many more symbols are needed at least: what the rank lacks.
    pub(crate) symbols: u32,
}

/// Which symbols there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    /// Rows of the block that are missing, in rising order.
    pub(crate) lost: &'a [u32],
    /// Internal symbol ids of the repair symbols, in the order in which they are stored.
    pub(crate) repairs: &'a [u32],
}

/// Makes programs. Its memory is used again by the next block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solver {
    peeling: Peeling,
    columns: ColumnBits,
    elimination: Elimination,
    program: Program,
}

impl Solver {
    /// The program for these symbols.
    ///
    /// # Errors
    ///
    /// [`Deficit`] when the symbols do not determine the block.
    pub(crate) fn solve(
        &mut self,
        kernels: Kernels,
        skeleton: &Skeleton,
        received: Received<'_>,
    ) -> Result<&Program, Deficit> {
        let parameters = &skeleton.parameters;
        let rows = skeleton.rows() as u32;
        let source = |row: u32| {
            if row < parameters.k_prime {
                Source::row(row)
            } else {
                row.checked_sub(rows).map_or(Source::NONE, Source::repair)
            }
        };
        self.program.clear();
        self.program.columns = parameters.l as usize;
        self.peeling.start(skeleton, received.lost.iter().copied());
        for &isi in received.repairs {
            self.peeling.add_row(parameters.w as u16, |columns| {
                row_columns(parameters, isi, |column| columns.push(column as u16));
            });
        }
        self.peeling.run(skeleton);
        self.columns.follow(&self.peeling, skeleton, source, &mut self.program);
        self.elimination.run(kernels, &self.peeling, skeleton, &self.columns, source, &mut self.program)?;
        self.program.seal(skeleton.hdpc.rows);
        Ok(&self.program)
    }

    /// Makes room for a little more than there is.
    pub(crate) fn settle(&mut self) {
        self.peeling.settle();
        self.columns.settle();
        self.elimination.settle();
        self.program.settle();
    }

    /// The program last made, to be kept.
    pub(crate) fn into_program(self) -> Program {
        self.program
    }
}
