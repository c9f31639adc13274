//! All of it: which symbols there are, and the program that makes the intermediate symbols of them.

use super::bits::ColumnBits;
use super::eliminate::{Deficit, Elimination};
use super::peel::Peeling;
use super::skeleton::{Skeleton, row_columns};
use super::work::Work;
use crate::kernels::Kernels;
use crate::kernels::program::{MOST_SLOTS, Sealed, Source};

/// Which symbols there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    /// Rows of the block that are missing, in rising order.
    pub(crate) lost: &'a [u32],
    /// Internal symbol ids of the repair symbols, in the order in which they are stored.
    pub(crate) repairs: &'a [u32],
}

/// Columns that are set aside at most.
///
/// Solving for them takes time that grows with the cube of their number, and memory that grows with its square. Losses by
/// chance lead to about 550 in the largest blocks, but whoever picks the ids of the symbols that arrive can make it three
/// quarters of all columns. This bounds the memory; the work is bounded by the limit of [`Work`].
pub(super) const MOST_INACTIVE: usize = 4096;

/// Makes programs. Its memory is used again by the next block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solver {
    peeling: Peeling,
    columns: ColumnBits,
    elimination: Elimination,
    program: Sealed,
}

impl Solver {
    /// The program for these symbols.
    ///
    /// # Errors
    ///
    /// [`Deficit`] when the symbols do not determine the block, or when finding out would take more work than its limit.
    pub(crate) fn solve(
        &mut self,
        kernels: Kernels,
        skeleton: &Skeleton,
        received: Received<'_>,
        work: &mut Work,
    ) -> Result<(), Deficit> {
        let Self { peeling, columns, elimination, program } = self;
        let parameters = &skeleton.parameters;
        let rows = skeleton.rows() as u32;
        let source = |row: u32| {
            if row < parameters.k_prime {
                Source::row(row)
            } else {
                row.checked_sub(rows).map_or(Source::NONE, Source::repair)
            }
        };
        program.write(skeleton.hdpc.rows, |program| {
            program.columns = parameters.l as usize;
            peeling.start(skeleton, received.lost.iter().copied());
            for &isi in received.repairs {
                peeling.add_row(parameters.w as u16, |columns| {
                    row_columns(parameters, isi, |column| columns.push(column as u16));
                });
            }
            if !peeling.run(skeleton, MOST_INACTIVE, work) {
                return Err(Deficit::UNKNOWN);
            }
            // One slot for each column, each row that peeling left, and each HDPC row.
            if program.columns + peeling.residual_rows().count() + skeleton.hdpc.rows > MOST_SLOTS {
                return Err(Deficit::UNKNOWN);
            }
            columns.follow(peeling, skeleton, source, program, work);
            elimination.run(kernels, peeling, skeleton, columns, source, program, work)
        })
    }

    /// Makes room for as much again.
    pub(crate) fn reserve_double(&mut self) {
        self.peeling.reserve_double();
        self.columns.reserve_double();
        self.elimination.reserve_double();
        self.program.reserve_double();
    }

    /// The program last made. If it could not be made, it cannot be run.
    pub(crate) fn program(&self) -> &Sealed {
        &self.program
    }

    /// The program last made, to be kept.
    pub(crate) fn into_program(self) -> Sealed {
        self.program
    }
}
