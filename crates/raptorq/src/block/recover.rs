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
//!
//! Making the plan's program takes as long as the first route: the first block of a K' that a process decodes does without.

use alloc::vec::Vec;

use super::coefficients::RepairCoefficients;
use super::received::Received;
use super::shape::Shape;
use crate::kernels::execute::{Chunk, Emission, Layout, Rows, Task, chunks, lanes};
use crate::kernels::product::{Coefficients, Inputs, Outputs};
use crate::kernels::program::{GatherList, Source};
use crate::kernels::{Kernels, LANE, Level};
use crate::memory::reserve_double;
use crate::solve::{self, Deficit, Solver, Work, push_symbol};
use crate::threads::Threads;

/// What there is of a block.
pub(super) struct Arrived<'a> {
    pub(super) shape: &'a Shape,
    pub(super) received: &'a Received,
    pub(super) block: &'a mut [u8],
    pub(super) repairs: &'a mut [u8],
    /// Whether fewer symbols did not determine the block.
    pub(super) failed: bool,
    pub(super) threads: Threads,
}

/// Repair symbols beyond the losses that are looked at first: the chance that they do not suffice is 256^-5. The others
/// only cost time.
const SPARE: usize = 4;
/// Repair symbols beyond the losses that are looked at ever. Whoever picks the ids that arrive can make any number of
/// them useless, and all of them take time and memory.
const MOST_SPARE: usize = 512;

/// A way to the lost symbols; see above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Solve,
    Plan,
    Dense,
}

/// Memory of all routes, used again by the next block.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub(super) forced: Option<Route>,
    lost: Vec<u32>,
    /// All rows of the block, as inputs of a product.
    sources: Vec<u32>,
    /// Internal ids of the repair symbols.
    isis: Vec<u32>,
    solver: Solver,
    area: Vec<Chunk>,
    emit: GatherList,
    coefficients: RepairCoefficients,
    /// Coefficients of the lost symbols in the repair symbols; then the inverse of a part of it.
    matrix: Vec<Chunk>,
    /// The repair symbols picked: one for each line of the inverse.
    chosen: Vec<u32>,
    /// The lost symbols in the order of the bytes of a line.
    targets: Vec<u32>,
    line: Vec<u8>,
    /// Repair symbols that syndromes are made of.
    syndromes: Vec<u32>,
    /// The most losses that there is room for, or is [going to be](Self::make_room): by the plan, and by solving.
    reserved: [usize; 2],
    grown: bool,
}

impl Recovery {
    /// Fills in the lost rows of the block, and says how many octets of symbols were added or multiplied for that. What it
    /// took to find out how is added to `work`.
    ///
    /// # Errors
    ///
    /// [`Deficit`] when the symbols do not determine the block; they are all as they were then.
    pub(super) fn run(&mut self, kernels: Kernels, arrived: Arrived<'_>, work: &mut Work) -> Result<u64, Deficit> {
        let shape = arrived.shape;
        if self.forced.is_some() {
            work.limit = u64::MAX;
        }
        self.lost.clear();
        self.lost.extend(arrived.received.lost(shape.source_symbols));
        self.isis.clear();
        self.isis.extend(arrived.received.repairs().iter().map(|&esi| shape.isi(esi)));
        let mut route = self.forced.unwrap_or_else(|| route(shape, self.lost.len(), kernels.level()));
        if self.forced.is_none() && route != Route::Solve && shape.plan.spare_program() {
            route = Route::Solve;
        }
        let [few, many] = [SPARE, MOST_SPARE].map(|spare| self.isis.len().min(self.lost.len() + spare));
        // Once that failed, a few symbols are not likely to do.
        let few = if arrived.failed { many } else { few };
        let found = match self.find(kernels, shape, route, few, work) {
            Err(_) if few < many => self.find(kernels, shape, route, many, work),
            found => found,
        };
        let result = match found {
            Ok(()) if route != Route::Solve => Ok(self.resolve(kernels, arrived, route)),
            // A program that is long out of all proportion is as bad as one that takes long to make.
            Ok(()) if !work.allows(self.solver.program().work(shape.strips())) => Err(Deficit::UNKNOWN),
            Ok(()) => Ok(self.solve(kernels, arrived)),
            // What the repair symbols that were not looked at could have added is not known.
            Err(_) if many < self.isis.len() => Err(Deficit::UNKNOWN),
            Err(deficit) => Err(deficit),
        };
        let most = &mut self.reserved[usize::from(route == Route::Solve)];
        if self.lost.len() > *most {
            *most = self.lost.len();
            self.grown = true;
        }
        result
    }

    /// Makes room for as much again if the block before took more than those before it: when another comes, and not for the
    /// last.
    pub(super) fn make_room(&mut self) {
        if core::mem::take(&mut self.grown) {
            self.reserve_double();
        }
    }

    /// Frees all memory.
    pub(super) fn forget(&mut self) {
        *self = Self { forced: self.forced, ..Self::default() };
    }

    /// Blocks are going to have another number of symbols: what there is room for says nothing about them.
    pub(super) fn forget_reserved(&mut self) {
        (self.reserved, self.grown) = ([0; 2], false);
    }

    /// Finds out how the first `repairs` repair symbols give the lost symbols. No symbol is touched.
    fn find(
        &mut self,
        kernels: Kernels,
        shape: &Shape,
        route: Route,
        repairs: usize,
        work: &mut Work,
    ) -> Result<(), Deficit> {
        if route == Route::Solve {
            let received = solve::Received { lost: &self.lost, repairs: &self.isis[..repairs] };
            self.solver.solve(kernels, &shape.plan.skeleton, received, work)
        } else {
            let octets = dense_work(shape, self.lost.len(), repairs);
            if !work.allows(octets) {
                return Err(Deficit::UNKNOWN);
            }
            work.add(octets);
            self.find_coefficients(kernels, shape, repairs);
            self.invert(kernels, repairs).map_err(|rank| Deficit { symbols: (self.lost.len() - rank) as u32 })
        }
    }

    /// Makes room for as much again.
    fn reserve_double(&mut self) {
        for vector in [&mut self.lost, &mut self.isis, &mut self.chosen, &mut self.targets, &mut self.syndromes] {
            reserve_double(vector);
        }
        self.solver.reserve_double();
        self.emit.reserve_double();
        self.coefficients.reserve_double();
        reserve_double(&mut self.matrix);
        reserve_double(&mut self.line);
    }

    /// Runs the program that was found.
    fn solve(&mut self, kernels: Kernels, arrived: Arrived<'_>) -> u64 {
        let Arrived { shape, block, repairs, threads, .. } = arrived;
        let skeleton = &shape.plan.skeleton;
        let program = self.solver.program();
        let threads = threads.for_work(program.work(shape.strips()));
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
            width: shape.width(threads),
            layout: Layout::Reuse,
            threads,
        };
        provide(&mut self.area, chunks(&task));
        kernels.execute(task, &mut self.area);
        let strips = shape.strips();
        program.work(strips) + (self.emit.terms.len() * strips) as u64
    }

    /// Multiplies the syndromes with the inverse that was found. Nothing can fail any more, and the block is complete
    /// afterwards, so that the syndromes may take the place of the repair symbols.
    fn resolve(&mut self, kernels: Kernels, arrived: Arrived<'_>, route: Route) -> u64 {
        let Arrived { shape, block, repairs, threads, .. } = arrived;
        let size = shape.symbol_size;
        for &row in &self.lost {
            // A lost row has its place in the plan and its coefficients, but nothing to multiply with them.
            block[row as usize * size..][..size].fill(0);
        }
        let highest = self.chosen.iter().max().map_or(0, |&row| row + 1);
        let made = match route {
            // It makes all syndromes up to the last that is needed, which is one of the first unless ids were chosen.
            Route::Dense if highest as usize <= self.lost.len() + SPARE => {
                self.syndromes.clear();
                self.syndromes.extend(0..highest);
                self.sources.clear();
                self.sources.extend(0..shape.source_symbols);
                let octets = self.sources.len() * self.syndromes.len() * shape.strips();
                kernels.product(
                    self.coefficients.all(),
                    Inputs { symbols: block, rows: &self.sources },
                    size,
                    Outputs { symbols: repairs, rows: &self.syndromes, replace: false },
                    threads.for_work(octets as u64),
                );
                octets
            }
            _ => self.syndromes_by_plan(kernels, shape, block, repairs, threads),
        };
        let inverse = Coefficients { by_input: &self.matrix, lanes: self.coefficients.lanes() };
        let octets = self.chosen.len() * self.targets.len() * shape.strips();
        let inputs = Inputs { symbols: repairs, rows: &self.chosen };
        let threads = threads.for_work(octets as u64);
        kernels.product(inverse, inputs, size, Outputs { symbols: block, rows: &self.targets, replace: true }, threads);
        (made + octets) as u64
    }

    /// The coefficients of the source symbols in the first `repairs` repair symbols.
    fn find_coefficients(&mut self, kernels: Kernels, shape: &Shape, repairs: usize) {
        let isis = self.isis[..repairs].iter().copied();
        self.coefficients.find(kernels, &shape.plan, shape.source_symbols, isis);
    }

    /// Picks as many repair symbols as there are losses, and inverts the coefficients of the losses in them.
    ///
    /// The matrix is taken transposed, a row for each loss, as the coefficients are there. So is its inverse: a line
    /// for each repair symbol picked, which is what multiplying them wants.
    ///
    /// # Errors
    ///
    /// The rank, if that is less than the number of losses.
    fn invert(&mut self, kernels: Kernels, repairs: usize) -> Result<(), usize> {
        let lost = self.lost.len();
        let width = lanes(repairs);
        self.matrix.clear();
        for &row in &self.lost {
            self.matrix.extend_from_slice(self.coefficients.line(row));
        }
        kernels.invert(&mut self.matrix, lost, repairs, &mut self.chosen)?;
        // Byte `chosen[j]` of each line belongs to loss `j`. Mostly the first repair symbols are picked, and then the
        // bytes have no gaps.
        if self.chosen.iter().any(|&repair| repair as usize >= lost) {
            for line in self.matrix.chunks_exact_mut(width) {
                let gathered = self.chosen.iter().map(|&repair| line[repair as usize / LANE].0[repair as usize % LANE]);
                self.line.clear();
                self.line.extend(gathered);
                for (j, &octet) in self.line.iter().enumerate() {
                    line[j / LANE].0[j % LANE] = octet;
                }
            }
            self.targets.clone_from(&self.lost);
        } else {
            self.targets.resize(lost, 0);
            for (&repair, &row) in self.chosen.iter().zip(&self.lost) {
                self.targets[repair as usize] = row;
            }
        }
        Ok(())
    }

    fn syndromes_by_plan(
        &mut self,
        kernels: Kernels,
        shape: &Shape,
        block: &[u8],
        repairs: &mut [u8],
        threads: Threads,
    ) -> usize {
        let plan = &*shape.plan;
        let size = shape.symbol_size;
        let threads = threads.for_work(plan.program().work(shape.strips()));
        self.emit.clear();
        for &repair in &self.chosen {
            let isi = self.isis[repair as usize];
            push_symbol(&mut self.emit, &plan.skeleton.parameters, isi, Source::repair(repair), repair);
        }
        let task = Task {
            program: plan.program(),
            hdpc: &plan.skeleton.hdpc,
            symbol_size: size,
            block: Rows::Read(block),
            repairs: Rows::Write(repairs),
            emit: &self.emit,
            emission: Emission::Repairs,
            width: shape.width(threads),
            layout: Layout::Reuse,
            threads,
        };
        provide(&mut self.area, chunks(&task));
        kernels.execute(task, &mut self.area);
        let strips = shape.strips();
        plan.program().work(strips) as usize + self.emit.terms.len() * strips
    }
}

/// Octets that are added or multiplied to find the coefficients of the `lost` source symbols in `repairs` repair symbols,
/// and to invert them.
fn dense_work(shape: &Shape, lost: usize, repairs: usize) -> u64 {
    let line = lanes(repairs) * LANE;
    shape.plan.program().work(line).saturating_add((lost * lost).saturating_mul(line) as u64)
}

/// Makes the work area large enough, with room for a few slots more. Nothing in it needs to be zero: a run reads no slot
/// that it has not written in the same strip.
fn provide(area: &mut Vec<Chunk>, chunks: usize) {
    if area.len() < chunks {
        if area.capacity() < chunks {
            area.clear();
            area.reserve_exact(chunks + chunks / 8);
        }
        area.resize(chunks, Chunk::ZERO);
    }
}

/// The route that should be fastest for `lost` losses.
///
/// What the routes cost, in lanes added up (of which a core with AVX-512 does about three in a nanosecond): estimates
/// from measurements, good enough to tell routes apart that differ by more than a tenth.
fn route(shape: &Shape, lost: usize, level: Level) -> Route {
    /// A symbol's lines in a plan, for each of the symbol's lanes.
    const RUN: u64 = 24;
    /// A symbol's part in making a program, for each doubling of K from 8 on.
    const SOLVE: u64 = 80;
    /// A symbol's lines in a transposed plan, for 64 repair symbols.
    const TRANSPOSE: u64 = 130;
    /// An entry of the matrix to invert, for 64 of its columns.
    const INVERT: u64 = 8;
    // A lane multiplied and added.
    let multiply = match level {
        Level::Avx512 | Level::Avx2Gfni => 1,
        Level::Avx2 => 2,
        Level::Ssse3 | Level::Neon => 3,
        Level::Portable => 11,
    };
    let (k, lost) = (u64::from(shape.source_symbols), lost as u64);
    let width = lanes(shape.symbol_size) as u64;
    let lanes_of_lost = lost.div_ceil(64);
    let small = k * TRANSPOSE * lanes_of_lost + lost * lost * multiply * (width + INVERT * lanes_of_lost);
    let costs = [
        (Route::Dense, small + k * lost * width * multiply * 9 / 8),
        (Route::Plan, small + k * RUN * width),
        (Route::Solve, k * (RUN * width + SOLVE * u64::from((k / 8).max(1).ilog2()))),
    ];
    costs.into_iter().min_by_key(|cost| cost.1).map_or(Route::Solve, |cost| cost.0)
}
