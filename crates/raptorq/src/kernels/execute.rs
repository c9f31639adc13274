//! Runs a [program](super::program::Program) over a block, strip by strip.
//!
//! A strip is some lanes of every symbol. All slots of a strip fit a near cache, and the program is walked once for
//! each: the symbols themselves are read where they lie.

use core::ops::Range;

use super::program::{Bounds, Gather, GatherList, Hdpc, Sealed};
use super::{Kernels, LANE, Lane, Operation};
use crate::threads::Threads;

/// 64 bytes at an address that every vector load likes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Chunk(pub(crate) [u8; LANE]);

impl Chunk {
    pub(crate) const ZERO: Self = Self([0; LANE]);
}

/// Symbols one after the other: to be read, or also to be written.
pub(crate) enum Rows<'a> {
    Read(&'a [u8]),
    Write(&'a mut [u8]),
}

impl Rows<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Read(bytes) => bytes.len(),
            Self::Write(bytes) => bytes.len(),
        }
    }

    /// The first byte, and how many may be written.
    fn pointer(&mut self) -> (*mut u8, usize) {
        match self {
            Self::Read(bytes) => (bytes.as_ptr().cast_mut(), 0),
            Self::Write(bytes) => (bytes.as_mut_ptr(), bytes.len()),
        }
    }
}

/// Where an emitted list's lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emission {
    Block,
    Repairs,
}

/// A program, and the symbols to run it over.
pub(crate) struct Task<'a> {
    pub(crate) program: &'a Sealed,
    pub(crate) hdpc: &'a Hdpc,
    pub(crate) symbol_size: usize,
    /// The source symbols, of which lost ones must be zero if the program takes them.
    pub(crate) block: Rows<'a>,
    pub(crate) repairs: Rows<'a>,
    /// Sums of intermediate symbols to write in the end, each to a row of the symbols that `emission` names.
    pub(crate) emit: &'a GatherList,
    pub(crate) emission: Emission,
    /// The strip's width in lanes: 1, 2 or 4.
    pub(crate) width: usize,
    pub(crate) layout: Layout,
    /// How many threads share the strips, the calling one included.
    pub(crate) threads: Threads,
}

/// How the slots of the strips lie in the work area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Every strip's intermediate symbols are kept, the strips one after the other.
    Keep,
    /// The strips use the same slots in turn.
    Reuse,
}

/// Lanes of a symbol.
pub(crate) fn lanes(symbol_size: usize) -> usize {
    symbol_size.div_ceil(LANE)
}

/// Chunks that the work area must have. More than there can be if the number overflows.
pub(crate) fn chunks(task: &Task<'_>) -> usize {
    let &Task { program, symbol_size, width, layout, threads, .. } = task;
    let strips = lanes(symbol_size).div_ceil(width);
    let strip = program.slots().saturating_mul(width);
    let shares = threads.shares(strips).len();
    match layout {
        // A strip's residuals and sums lie where the next strip's symbols will be. Where that is another thread's, the strip
        // is made aside.
        Layout::Keep => {
            let before = strips.saturating_sub(1).saturating_mul(program.columns);
            before.saturating_mul(width).saturating_add(strip.saturating_mul(shares))
        }
        Layout::Reuse => strip.saturating_mul(shares),
    }
}

impl Kernels {
    /// Computes the intermediate symbols in `area`, and what the task emits.
    ///
    /// # Panics
    ///
    /// If the symbols or the work area are smaller than the task needs.
    pub(crate) fn execute(self, mut task: Task<'_>, area: &mut [Chunk]) {
        let Task { program, hdpc, symbol_size, emit, .. } = task;
        let needed = chunks(&task);
        let bounds = program.bounds();
        let reach = emit.reach();
        let (rows, repairs) = (task.block.len() / symbol_size, task.repairs.len() / symbol_size);
        let (block, block_writable) = task.block.pointer();
        let (repair, repairs_writable) = task.repairs.pointer();
        let (out, writable) = match task.emission {
            Emission::Block => (block, block_writable),
            Emission::Repairs => (repair, repairs_writable),
        };
        assert!(bounds.repairs.max(reach.repairs) <= repairs, "a repair symbol is missing");
        assert!(reach.targets <= writable / symbol_size && reach.terms <= program.columns, "nowhere to emit to");
        assert!(needed <= area.len(), "the work area is too small");
        assert!(program.free.is_empty() || hdpc.fits(program), "the program is of another K'");
        let run = Execute {
            program,
            hdpc,
            bounds,
            emit,
            size: symbol_size,
            block,
            rows,
            repairs: repair,
            out,
            layout: task.layout,
        };
        let strips = lanes(symbol_size).div_ceil(task.width);
        let (kept, slots) = (program.columns * task.width, program.slots() * task.width);
        let area = Area(area.as_mut_ptr());
        let shares = task.threads.shares(strips).enumerate().map(|(number, share)| {
            let (at, aside) = match task.layout {
                Layout::Keep => {
                    let last = share.end == strips;
                    (share.start * kept, (!last).then_some((strips - 1) * kept + (number + 1) * slots))
                }
                Layout::Reuse => (number * slots, None),
            };
            // SAFETY: the area has as many as `chunks` counts: what is kept of all strips but the last, and all slots of a
            // strip for each share.
            unsafe { Share { strips: share, slots: area.at(at), aside: aside.map(|aside| area.at(aside)) } }
        });
        let solve = |range, slots| match task.width {
            1 => self.run(Strips::<1> { run, range, slots }),
            2 => self.run(Strips::<2> { run, range, slots }),
            4 => self.run(Strips::<4> { run, range, slots }),
            _ => panic!("a strip has 1, 2 or 4 lanes"),
        };
        task.threads.each(shares, |Share { strips, slots, aside }| match aside {
            None => solve(strips, slots),
            Some(aside) => {
                let last = strips.end - 1;
                solve(strips.start..last, slots);
                solve(last..strips.end, aside);
                // SAFETY: this is the share's own; what is aside was made just now.
                unsafe { slots.add((last - strips.start) * kept).copy_from_nonoverlapping(aside, kept) }
            }
        });
    }
}

#[derive(Clone, Copy)]
struct Execute<'a> {
    program: &'a Sealed,
    hdpc: &'a Hdpc,
    bounds: Bounds,
    emit: &'a GatherList,
    /// Bytes of a symbol.
    size: usize,
    block: *const u8,
    rows: usize,
    repairs: *const u8,
    /// Where emitted rows go; it may be the block or the repair symbols.
    out: *mut u8,
    layout: Layout,
}

// SAFETY: threads that share a run read and write different strips: different bytes of the symbols, and different chunks of
// the area. The caller of `execute` holds the symbols and the area until all are done.
unsafe impl Sync for Execute<'_> {}

/// The work area.
struct Area(*mut Chunk);

// SAFETY: it only says where a share's slots are, each of which goes to one thread.
unsafe impl Sync for Area {}

impl Area {
    /// # Safety
    ///
    /// So many chunks are in the area.
    unsafe fn at(&self, chunks: usize) -> *mut Chunk {
        // SAFETY: the caller's.
        unsafe { self.0.add(chunks) }
    }
}

/// Strips that one thread does.
struct Share {
    strips: Range<usize>,
    /// Where the first strip's slots are.
    slots: *mut Chunk,
    /// Where the slots of the last one are made if the strips are [kept](Layout::Keep), and another thread's come next: there
    /// is no room for its residuals.
    aside: Option<*mut Chunk>,
}

// SAFETY: what it points to is for one share only.
unsafe impl Send for Share {}

/// Some strips of a run. It is a copy, which nothing else can reach: what is read from it need not be read again after each
/// store.
struct Strips<'a, const N: usize> {
    run: Execute<'a>,
    range: Range<usize>,
    slots: *mut Chunk,
}

impl<const N: usize> Operation for Strips<'_, N> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(self) {
        let run = &self.run;
        let mut slots = self.slots.cast();
        for offset in self.range.map(|strip| strip * N * LANE) {
            let strip = Strip { run, slots, offset, bytes: (run.size - offset).min(N * LANE) };
            // SAFETY: `execute` compared the program's bounds with the block, the symbols and the area.
            unsafe {
                if strip.bytes == N * LANE {
                    strip.solve::<V, N, true>();
                } else {
                    strip.solve::<V, N, false>();
                }
                if run.layout == Layout::Keep {
                    slots = slots.add(run.program.columns * N * LANE);
                }
            }
        }
    }
}

/// One strip's view.
struct Strip<'a> {
    run: &'a Execute<'a>,
    slots: *mut u8,
    /// Where the strip starts in each symbol.
    offset: usize,
    /// How many of its bytes the symbols have.
    bytes: usize,
}

/// The part of a line's terms that counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Forward,
    All,
}

// SAFETY, for every block below: the sealed program's bounds were compared with the lengths of the block, the symbols
// and the area before a strip was made; the instructions are there, as `Operation::run` was entered.
#[allow(clippy::undocumented_unsafe_blocks, reason = "said once, above")]
impl Strip<'_> {
    #[inline(always)]
    unsafe fn solve<V: Lane, const N: usize, const FULL: bool>(&self) {
        let program = self.run.program;
        unsafe {
            self.gather::<V, N, FULL>(&program.peeled, Pass::Forward);
            self.gather::<V, N, FULL>(&program.residuals, Pass::All);
            if !program.free.is_empty() {
                self.sum_hdpc::<V, N>();
            }
            self.gather::<V, N, FULL>(&program.leads, Pass::All);
            if !program.free.is_empty() {
                self.solve_free::<V, N>();
                self.gather::<V, N, FULL>(&program.corrections, Pass::All);
            }
            self.gather::<V, N, FULL>(&program.peeled, Pass::All);
            self.emit::<V, N, FULL>(self.run.emit);
        }
    }

    #[inline(always)]
    unsafe fn slot<const N: usize>(&self, slot: usize) -> *mut u8 {
        debug_assert!(slot < self.run.bounds.slots);
        unsafe { self.slots.add(slot * (N * LANE)) }
    }

    #[inline(always)]
    unsafe fn load<V: Lane, const N: usize>(&self, slot: usize) -> [V; N] {
        unsafe {
            let from = self.slot::<N>(slot);
            let mut value = [V::zero(); N];
            for (lane, value) in value.iter_mut().enumerate() {
                *value = V::load(from.add(lane * LANE));
            }
            value
        }
    }

    #[inline(always)]
    unsafe fn store<V: Lane, const N: usize>(&self, slot: usize, value: [V; N]) {
        unsafe {
            let to = self.slot::<N>(slot);
            for (lane, &value) in value.iter().enumerate() {
                value.store(to.add(lane * LANE));
            }
        }
    }

    /// The strip of a line's received symbol.
    #[inline(always)]
    unsafe fn source<V: Lane, const N: usize, const FULL: bool>(&self, line: &Gather) -> [V; N] {
        let size = self.run.size;
        unsafe {
            let symbol = if let Some(row) = line.source.as_row(self.run.rows) {
                self.run.block.add(row * size)
            } else if let Some(index) = line.source.as_repair() {
                self.run.repairs.add(index * size)
            } else {
                return [V::zero(); N];
            };
            let from = symbol.add(self.offset);
            let mut value = [V::zero(); N];
            for (lane, value) in value.iter_mut().enumerate() {
                let at = lane * LANE;
                if FULL || at + LANE <= self.bytes {
                    *value = V::load(from.add(at));
                } else if at < self.bytes {
                    *value = V::load_part(from.add(at), self.bytes - at);
                }
            }
            value
        }
    }

    /// `value` and the slots of `count` terms, added up.
    #[inline(always)]
    unsafe fn sum<V: Lane, const N: usize>(&self, mut value: [V; N], terms: *const u16, count: usize) -> [V; N] {
        unsafe {
            let mut i = 0;
            while i + 2 <= count {
                let a = self.slot::<N>(*terms.add(i) as usize);
                let b = self.slot::<N>(*terms.add(i + 1) as usize);
                for (lane, value) in value.iter_mut().enumerate() {
                    *value = value.xor3(V::load(a.add(lane * LANE)), V::load(b.add(lane * LANE)));
                }
                i += 2;
            }
            if i < count {
                let a = self.slot::<N>(*terms.add(i) as usize);
                for (lane, value) in value.iter_mut().enumerate() {
                    *value = value.xor(V::load(a.add(lane * LANE)));
                }
            }
            value
        }
    }

    #[inline(always)]
    unsafe fn gather<V: Lane, const N: usize, const FULL: bool>(&self, list: &GatherList, pass: Pass) {
        let mut terms = list.terms.as_ptr();
        for line in &list.lines {
            unsafe {
                let value = self.source::<V, N, FULL>(line);
                let count = if pass == Pass::Forward { line.forward } else { line.total };
                let value = self.sum(value, terms, count as usize);
                self.store(line.target as usize, value);
                terms = terms.add(line.total as usize);
            }
        }
    }

    /// The HDPC rows' sums over the peeled columns: `MT * GAMMA` of RFC 6330 §5.3.3.3 applied by Horner's rule, for
    /// `GAMMA` turns the columns into running sums `y = 2 y + c`, and `MT` adds each of them to two rows.
    #[inline(always)]
    unsafe fn sum_hdpc<V: Lane, const N: usize>(&self) {
        let program = self.run.program;
        let hdpc = self.run.hdpc;
        let sums = program.columns + program.residuals.lines.len();
        unsafe {
            for &column in &program.inactive {
                self.store(column as usize, [V::zero(); N]);
            }
            for row in 0..hdpc.rows {
                self.store(sums + row, [V::zero(); N]);
            }
            let mut y = [V::zero(); N];
            for (column, pair) in hdpc.pairs.iter().enumerate() {
                let c = self.load::<V, N>(column);
                for lane in 0..N {
                    y[lane] = y[lane].double().xor(c[lane]);
                }
                for &row in pair {
                    let mut sum = self.load::<V, N>(sums + usize::from(row));
                    for lane in 0..N {
                        sum[lane] = sum[lane].xor(y[lane]);
                    }
                    self.store(sums + usize::from(row), sum);
                }
            }
            // The last column of MT holds the powers of 2.
            let c = self.load::<V, N>(hdpc.pairs.len());
            for lane in 0..N {
                y[lane] = y[lane].double().xor(c[lane]);
            }
            for row in 0..hdpc.rows {
                let mut sum = self.load::<V, N>(sums + row);
                for lane in 0..N {
                    sum[lane] = sum[lane].xor(y[lane]);
                    y[lane] = y[lane].double();
                }
                self.store(sums + row, sum);
            }
        }
    }

    /// The free columns: a dense product with few rows.
    #[inline(always)]
    unsafe fn solve_free<V: Lane, const N: usize>(&self) {
        let program = self.run.program;
        let inputs = &program.dense_inputs;
        unsafe {
            for (&target, coefficients) in program.free.iter().zip(program.dense.chunks_exact(inputs.len())) {
                let mut value = [V::zero(); N];
                for (&slot, &coefficient) in inputs.iter().zip(coefficients) {
                    let factor = V::factor(coefficient);
                    let input = self.load::<V, N>(slot as usize);
                    for lane in 0..N {
                        value[lane] = value[lane].xor(input[lane].multiply(factor));
                    }
                }
                self.store(target as usize, value);
            }
        }
    }

    /// Writes sums of slots where they are wanted.
    #[inline(always)]
    unsafe fn emit<V: Lane, const N: usize, const FULL: bool>(&self, list: &GatherList) {
        let mut terms = list.terms.as_ptr();
        for line in &list.lines {
            unsafe {
                let value = self.source::<V, N, FULL>(line);
                let value = self.sum(value, terms, line.total as usize);
                let to = self.run.out.add(line.target as usize * self.run.size + self.offset);
                for (lane, &value) in value.iter().enumerate() {
                    let at = lane * LANE;
                    if FULL || at + LANE <= self.bytes {
                        value.store(to.add(at));
                    } else if at < self.bytes {
                        value.store_part(to.add(at), self.bytes - at);
                    }
                }
                terms = terms.add(line.total as usize);
            }
        }
    }
}
