//! The HDPC rows applied to columns of bits.

use super::program::Hdpc;
use super::{Kernels, LANE, Lane, Operation};

impl Kernels {
    /// `MT * GAMMA` (RFC 6330 §5.3.3.3) times a matrix of bits: `bits` holds `words` 64-bit words for each column;
    /// `out` gets `64 * words` bytes for each of the H rows.
    ///
    /// # Panics
    ///
    /// If `bits` has fewer columns than the HDPC rows cover, a row that they name does not exist, or `out` is too short.
    pub(crate) fn hdpc_of_bits(self, hdpc: &Hdpc, bits: &[u64], words: usize, out: &mut [u8]) {
        let columns = bits.len().checked_div(words).unwrap_or(0);
        assert!(columns > hdpc.pairs.len(), "a column is missing");
        assert!(hdpc.pairs.iter().flatten().all(|&row| usize::from(row) < hdpc.rows));
        // Slicing checks the length; a product that overflows is no length of a slice.
        let bytes = hdpc.rows.saturating_mul(words).saturating_mul(LANE);
        out[..bytes].fill(0);
        for word in 0..words {
            self.run(OneWord { hdpc, bits: &bits[word..], words, out: &mut out[word * LANE..] });
        }
    }
}

/// One word of every column: 64 columns of the result.
struct OneWord<'a> {
    hdpc: &'a Hdpc,
    bits: &'a [u64],
    words: usize,
    out: &'a mut [u8],
}

impl Operation for OneWord<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Lane>(self) {
        let stride = self.words * LANE;
        let out = self.out.as_mut_ptr();
        let mut columns = self.bits.iter().step_by(self.words);
        // SAFETY: every row's lane lies in `out`, which `hdpc_of_bits` made sure of; the instructions are there.
        unsafe {
            let add = |row: usize, y: V| {
                let at = out.add(row * stride);
                V::load(at).xor(y).store(at);
            };
            let mut y = V::zero();
            for (&[first, second], &bits) in self.hdpc.pairs.iter().zip(&mut columns) {
                y = y.double().xor(V::from_bits(bits));
                add(usize::from(first), y);
                add(usize::from(second), y);
            }
            // The last column of MT holds the powers of 2.
            y = y.double().xor(V::from_bits(columns.next().copied().unwrap_or(0)));
            for row in 0..self.hdpc.rows {
                add(row, y);
                y = y.double();
            }
        }
    }
}
