//! Sums of symbols over GF(2).

use crate::kernels::Kernels;

/// `target ^= source`; both have the same length.
pub(super) fn xor(target: &mut [u8], source: &[u8]) {
    Kernels::best().xor_into(target, source);
}

/// Adds symbol `source` of `symbols` to symbol `target`, which is another one.
pub(super) fn xor_within(symbols: &mut [u8], symbol_size: usize, target: usize, source: usize) {
    let (t, s) = (target * symbol_size, source * symbol_size);
    if t < s {
        let (left, right) = symbols.split_at_mut(s);
        xor(&mut left[t..t + symbol_size], &right[..symbol_size]);
    } else {
        let (left, right) = symbols.split_at_mut(t);
        xor(&mut right[..symbol_size], &left[s..s + symbol_size]);
    }
}

/// Symbol `index` of `symbols`.
pub(super) fn symbol(symbols: &[u8], symbol_size: usize, index: usize) -> &[u8] {
    &symbols[index * symbol_size..][..symbol_size]
}

/// Symbol `index` of `symbols`, to be written.
pub(super) fn symbol_mut(symbols: &mut [u8], symbol_size: usize, index: usize) -> &mut [u8] {
    &mut symbols[index * symbol_size..][..symbol_size]
}
