//! Memory that is used again.
//!
//! Blocks of one shape need about as much of everything, but not exactly as much: which symbols were lost decides. So
//! after a block that lost more than those before, every vector gets room for as much again.

use alloc::vec::Vec;

/// Makes room for twice as much.
pub(crate) fn reserve_double<T>(vector: &mut Vec<T>) {
    vector.reserve_exact(vector.len() + 64);
}

/// Bytes that a vector takes.
pub(crate) fn allocated<T>(vector: &Vec<T>) -> usize {
    vector.capacity() * size_of::<T>()
}
