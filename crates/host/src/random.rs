//! Random bytes from a seed that the driver draws: this crate has no randomness of its own.

/// An endless stream of bytes, indistinguishable from random ones without the seed.
pub(crate) struct Random(blake3::OutputReader);

impl Random {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Self(blake3::Hasher::new_derive_key("anabranch scdp 1 random").update(seed).finalize_xof())
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill(&mut bytes);
        bytes
    }
}

impl std::fmt::Debug for Random {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Random(..)")
    }
}
