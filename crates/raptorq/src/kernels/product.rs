//! A dense matrix over GF(256) times symbols.

use core::ops::Range;

use super::execute::{Chunk, lanes};
use super::{Kernels, LANE, Lane, Operation};
use crate::threads::Threads;

/// Sums that are kept in registers at a time.
const BLOCK: usize = 4;

/// The factors of a dense product.
#[derive(Clone, Copy)]
pub(crate) struct Coefficients<'a> {
    /// One line an input: `lanes` chunks, of which byte `n` is the coefficient in output `n`.
    pub(crate) by_input: &'a [Chunk],
    /// Chunks of a line.
    pub(crate) lanes: usize,
}

/// Rows of symbols, and which of them take part.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub(crate) symbols: &'a [u8],
    pub(crate) rows: &'a [u32],
}

/// Rows to write.
pub(crate) struct Outputs<'a> {
    pub(crate) symbols: &'a mut [u8],
    pub(crate) rows: &'a [u32],
    /// Whether what is there does not count.
    pub(crate) replace: bool,
}

impl Kernels {
    /// `out[targets[n]] += sum over i of c[i][n] * symbols[rows[i]]`, for all `targets`.
    ///
    /// Symbols and outputs are rows of `symbol_size` bytes, one after the other. With `replace` the outputs'
    /// content does not count.
    ///
    /// # Panics
    ///
    /// If symbols have no bytes, an input or a target is not there, or a coefficient is missing.
    pub(crate) fn product(
        self,
        coefficients: Coefficients<'_>,
        inputs: Inputs<'_>,
        symbol_size: usize,
        outputs: Outputs<'_>,
        threads: Threads,
    ) {
        let Outputs { symbols: out, rows: targets, replace } = outputs;
        // Divisions rather than products, which might overflow.
        let lines = coefficients.by_input.len().checked_div(coefficients.lanes);
        assert!(lines.is_some_and(|lines| inputs.rows.len() <= lines), "a coefficient is missing");
        assert!(lanes(targets.len()) <= coefficients.lanes, "a coefficient is missing");
        let (symbols, places) = (inputs.symbols.len() / symbol_size, out.len() / symbol_size);
        assert!(inputs.rows.iter().all(|&row| (row as usize) < symbols), "an input is missing");
        assert!(targets.iter().all(|&target| (target as usize) < places), "a target is missing");
        let out = out.as_mut_ptr();
        let product = Product { coefficients, inputs, size: symbol_size, targets, out, replace };
        if symbol_size > LANE {
            let shares = threads.shares(symbol_size.div_ceil(2 * LANE));
            threads.each(shares, |range| self.run(Strips::<2> { product, range }));
        } else {
            self.run(Strips::<1> { product, range: 0..1 });
        }
    }
}

#[derive(Clone, Copy)]
struct Product<'a> {
    coefficients: Coefficients<'a>,
    inputs: Inputs<'a>,
    size: usize,
    targets: &'a [u32],
    out: *mut u8,
    replace: bool,
}

// SAFETY: threads that share a product write different strips of the outputs, and the caller of `product` holds these until
// all are done.
unsafe impl Sync for Product<'_> {}

/// Strips of `N` lanes that one thread does.
struct Strips<'a, const N: usize> {
    product: Product<'a>,
    range: Range<usize>,
}

impl<const N: usize> Operation for Strips<'_, N> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(self) {
        let product = &self.product;
        for offset in self.range.map(|strip| strip * N * LANE) {
            let bytes = product.size - offset;
            for first in (0..product.targets.len()).step_by(BLOCK) {
                // SAFETY: `product` checked the targets and the coefficients; the instructions are there.
                unsafe {
                    if bytes >= N * LANE {
                        product.block::<V, N, true>(offset, first);
                    } else {
                        product.block::<V, N, false>(offset, first);
                    }
                }
            }
        }
    }
}

// SAFETY, for every block below: `product` checked the targets and the coefficients; offsets are below the size of a
// symbol, and lanes that reach over its end are loaded and stored in part; the instructions are there.
#[allow(clippy::undocumented_unsafe_blocks, reason = "said once, above")]
impl Product<'_> {
    /// Some outputs, a strip of them.
    #[inline(always)]
    unsafe fn block<V: Lane, const N: usize, const FULL: bool>(&self, offset: usize, first: usize) {
        let outputs = (self.targets.len() - first).min(BLOCK);
        let mut sums = [[unsafe { V::zero() }; N]; BLOCK];
        let line = self.coefficients.lanes * LANE;
        unsafe {
            // Lines have a multiple of BLOCK bytes: reading those of outputs that do not exist does no harm.
            let mut coefficient = self.coefficients.by_input.as_ptr().cast::<u8>().wrapping_add(first);
            // Without inputs there may be no bytes either; the pointers are then not used.
            let symbols = self.inputs.symbols.as_ptr().wrapping_add(offset);
            for &row in self.inputs.rows {
                let from = symbols.add(row as usize * self.size);
                let mut input = [V::zero(); N];
                for (lane, input) in input.iter_mut().enumerate() {
                    *input = self.load::<V, FULL>(from, offset, lane);
                }
                for (output, sum) in sums.iter_mut().enumerate() {
                    let factor = V::factor(*coefficient.add(output));
                    for lane in 0..N {
                        sum[lane] = sum[lane].xor(input[lane].multiply(factor));
                    }
                }
                // It stays inside until the last input is done.
                coefficient = coefficient.wrapping_add(line);
            }
            for (output, sum) in sums.iter().enumerate().take(outputs) {
                let to = self.out.add(self.targets[first + output] as usize * self.size + offset);
                for (lane, &sum) in sum.iter().enumerate() {
                    let mut value = sum;
                    if !self.replace {
                        value = value.xor(self.load::<V, FULL>(to, offset, lane));
                    }
                    let at = offset + lane * LANE;
                    if FULL || at + LANE <= self.size {
                        value.store(to.add(lane * LANE));
                    } else if at < self.size {
                        value.store_part(to.add(lane * LANE), self.size - at);
                    }
                }
            }
        }
    }

    /// A lane of a symbol whose strip is at `strip`.
    #[inline(always)]
    unsafe fn load<V: Lane, const FULL: bool>(&self, strip: *const u8, offset: usize, lane: usize) -> V {
        let at = offset + lane * LANE;
        unsafe {
            if FULL || at + LANE <= self.size {
                V::load(strip.add(lane * LANE))
            } else if at < self.size {
                V::load_part(strip.add(lane * LANE), self.size - at)
            } else {
                V::zero()
            }
        }
    }
}
