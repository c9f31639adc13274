//! The lost source symbols, by one of three routes.
//!
//! - [`Route::Solve`]: the received symbols' own program, by inactivation decoding. It is the only one that many
//!   losses leave.
//! - [`Route::Plan`]: the encoding plan with zeros for the lost symbols gives, for each repair symbol, what the
//!   received source symbols contribute to it. What is left of the repair symbol, its syndrome, is a dense combination
//!   of the lost symbols, whose coefficients the transposed plan gives. So e losses take one run of a plan that is there
//!   already, and an e x e system.
//! - [`Route::Dense`]: the same, but the transposed plan's coefficients of *all* source symbols serve to make the
//!   syndromes. Without any intermediate symbol, this is the fastest while losses are few.

use alloc::vec::Vec;

use super::received::Received;
use super::shape::Shape;
use crate::kernels::execute::{Chunk, Emission, Layout, Rows, Task, chunks, lanes};
use crate::kernels::product::{Coefficients, Inputs};
use crate::kernels::program::{GatherList, Source};
use crate::kernels::transpose::Wanted;
use crate::kernels::{Kernels, LANE};
use crate::solve::{self, Deficit, Solver, row_columns};

/// What there is of a block.
pub(super) struct Arrived<'a> {
    pub(super) shape: &'a Shape,
    pub(super) received: &'a Received,
    pub(super) block: &'a mut [u8],
    pub(super) repairs: &'a mut [u8],
}

/// A way to the lost symbols; see above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Solve,
    Plan,
    Dense,
}

/// Memory of all routes, used again by the next block.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    pub(super) forced: Option<Route>,
    lost: Vec<u32>,
    kept: Vec<u32>,
    /// Internal ids of the repair symbols.
    isis: Vec<u32>,
    solver: Solver,
    area: Vec<Chunk>,
    emit: GatherList,
    /// A line of columns for each repair symbol.
    wanted: GatherList,
    /// For each source symbol, its coefficient in each repair symbol.
    coefficients: Vec<Chunk>,
    /// Coefficients of the lost symbols, by repair symbol; then the inverse.
    matrix: Vec<Chunk>,
    /// The inverse, by repair symbol.
    transposed: Vec<Chunk>,
    chosen: Vec<u32>,
    targets: Vec<u32>,
}

impl Recovery {
    /// Fills in the lost rows of the block.
    ///
    /// # Errors
    ///
    /// [`Deficit`] when the symbols do not determine the block; nothing was changed that matters.
    pub(super) fn run(&mut self, kernels: Kernels, arrived: Arrived<'_>) -> Result<(), Deficit> {
        let shape = arrived.shape;
        self.lost.clear();
        self.lost.extend(arrived.received.lost(shape.source_symbols));
        self.isis.clear();
        self.isis.extend(arrived.received.repairs().iter().map(|&esi| shape.isi(esi)));
        match self.forced.unwrap_or_else(|| route(shape, self.lost.len())) {
            Route::Solve => self.solve(kernels, arrived),
            route => self.resolve(kernels, arrived, route),
        }
    }

    fn solve(&mut self, kernels: Kernels, arrived: Arrived<'_>) -> Result<(), Deficit> {
        let Arrived { shape, block, repairs, .. } = arrived;
        let skeleton = &shape.plan.skeleton;
        let received = solve::Received { lost: &self.lost, repairs: &self.isis };
        let program = self.solver.solve(kernels, skeleton, received)?;
        self.emit.clear();
        for &row in &self.lost {
            let before = self.emit.terms.len();
            self.emit.terms.extend_from_slice(skeleton.row(row as usize));
            self.emit.push_line(Source::NONE, row, before);
        }
        let task = Task {
            program,
            hdpc: &skeleton.hdpc,
            symbol_size: shape.symbol_size,
            block: Rows::Write(block),
            repairs: Rows::Read(repairs),
            emit: &self.emit,
            emission: Emission::Block,
            width: shape.width(),
            layout: Layout::Reuse,
        };
        self.area.resize(chunks(program, shape.symbol_size, task.width, task.layout), Chunk::ZERO);
        kernels.execute(task, &mut self.area);
        Ok(())
    }

    fn resolve(&mut self, kernels: Kernels, arrived: Arrived<'_>, route: Route) -> Result<(), Deficit> {
        /// Repair symbols beyond the losses that are looked at first: the chance that no regular system is among them
        /// is 256^-5.
        const SPARE: usize = 4;
        let Arrived { shape, block, repairs, .. } = arrived;
        let lost = self.lost.len();
        let mut rows = self.isis.len().min(lost + SPARE);
        self.find_coefficients(kernels, shape, rows);
        if let Err(rank) = self.invert(kernels, rows) {
            if rows == self.isis.len() {
                return Err(Deficit { symbols: (lost - rank) as u32 });
            }
            rows = self.isis.len();
            self.find_coefficients(kernels, shape, rows);
            self.invert(kernels, rows).map_err(|rank| Deficit { symbols: (lost - rank) as u32 })?;
        }
        // From here on nothing fails, and the repair symbols may be overwritten by their syndromes.
        let size = shape.symbol_size;
        match route {
            Route::Dense => {
                let highest = self.chosen.iter().max().map_or(0, |&row| row + 1);
                self.targets.clear();
                self.targets.extend(0..highest);
                // Lost rows have a coefficient too, but nothing to multiply with.
                let size = shape.symbol_size;
                for &row in &self.lost {
                    block[row as usize * size..][..size].fill(0);
                }
                self.kept.clear();
                self.kept.extend(0..shape.source_symbols);
                let coefficients = Coefficients { by_input: &self.coefficients, lanes: lanes(rows) };
                kernels.product(
                    coefficients,
                    Inputs { symbols: block, rows: &self.kept },
                    size,
                    &self.targets,
                    repairs,
                    false,
                );
            }
            _ => self.syndromes_by_plan(kernels, shape, block, repairs),
        }
        let inverse = Coefficients { by_input: &self.transposed, lanes: lanes(lost) };
        kernels.product(inverse, Inputs { symbols: repairs, rows: &self.chosen }, size, &self.lost, block, true);
        Ok(())
    }

    /// The coefficients of the source symbols in the first `rows` repair symbols.
    fn find_coefficients(&mut self, kernels: Kernels, shape: &Shape, rows: usize) {
        let plan = &*shape.plan;
        self.wanted.clear();
        for &isi in &self.isis[..rows] {
            let terms = &mut self.wanted.terms;
            let before = terms.len();
            row_columns(&plan.skeleton.parameters, isi, |column| terms.push(column as u16));
            self.wanted.push_line(Source::NONE, 0, before);
        }
        let stride = lanes(rows);
        self.coefficients.resize(shape.source_symbols as usize * stride, Chunk::ZERO);
        self.area.resize(plan.program.slots().max(self.area.len()), Chunk::ZERO);
        let mut terms = 0;
        for lane in 0..stride {
            let (first, end) = (lane * LANE, rows.min((lane + 1) * LANE));
            let wanted = Wanted { list: &self.wanted, first, end, terms };
            let out = &mut self.coefficients[lane..];
            kernels.coefficients(
                &plan.program,
                &plan.skeleton.hdpc,
                wanted,
                &mut self.area[..plan.program.slots()],
                out,
                stride,
            );
            terms += self.wanted.lines[first..end].iter().map(|line| line.total as usize).sum::<usize>();
        }
    }

    /// Picks as many repair symbols as there are losses, and inverts the coefficients of the losses in them.
    fn invert(&mut self, kernels: Kernels, rows: usize) -> Result<(), usize> {
        let lost = self.lost.len();
        let (stride, width) = (lanes(rows), lanes(lost));
        self.matrix.clear();
        self.matrix.resize(rows * width, Chunk::ZERO);
        for (at, &row) in self.lost.iter().enumerate() {
            let line = &self.coefficients[row as usize * stride..][..stride];
            for repair in 0..rows {
                self.matrix[repair * width + at / LANE].0[at % LANE] = line[repair / LANE].0[repair % LANE];
            }
        }
        kernels.invert(&mut self.matrix, lost, &mut self.chosen)?;
        self.transposed.clear();
        self.transposed.resize(lost * width, Chunk::ZERO);
        for row in 0..lost {
            for repair in 0..lost {
                self.transposed[repair * width + row / LANE].0[row % LANE] =
                    self.matrix[row * width + repair / LANE].0[repair % LANE];
            }
        }
        Ok(())
    }

    fn syndromes_by_plan(&mut self, kernels: Kernels, shape: &Shape, block: &mut [u8], repairs: &mut [u8]) {
        let plan = &*shape.plan;
        let size = shape.symbol_size;
        for &row in &self.lost {
            block[row as usize * size..][..size].fill(0);
        }
        self.emit.clear();
        for &repair in &self.chosen {
            let before = self.emit.terms.len();
            let terms = &mut self.emit.terms;
            row_columns(&plan.skeleton.parameters, self.isis[repair as usize], |column| terms.push(column as u16));
            self.emit.push_line(Source::repair(repair), repair, before);
        }
        let task = Task {
            program: &plan.program,
            hdpc: &plan.skeleton.hdpc,
            symbol_size: size,
            block: Rows::Read(block),
            repairs: Rows::Write(repairs),
            emit: &self.emit,
            emission: Emission::Repairs,
            width: shape.width(),
            layout: Layout::Reuse,
        };
        self.area.resize(chunks(&plan.program, size, task.width, task.layout), Chunk::ZERO);
        kernels.execute(task, &mut self.area);
    }
}

/// The route that is fastest for `lost` losses.
fn route(shape: &Shape, lost: usize) -> Route {
    let k = shape.source_symbols as usize;
    if lost <= 30 {
        Route::Dense
    } else if lost <= k / 5 {
        Route::Plan
    } else {
        Route::Solve
    }
}
