//! Blocks, and what arrives of them.

/// A block, and which of its symbols arrive: several patterns of loss, which contenders go through in turn.
pub struct Workload {
    /// K.
    pub source_symbols: u32,
    /// Bytes of a symbol.
    pub symbol_size: usize,
    /// The block's bytes.
    pub block: Vec<u8>,
    /// Repair symbols from ESI K on.
    repairs: Vec<u8>,
    /// The ESIs that arrive, ascending.
    pub patterns: Vec<Vec<u32>>,
}

impl Workload {
    /// A block of random bytes, from which `lost` random source symbols are missing, and `lost + extra` repair symbols
    /// arrive. `encode` makes the repair symbols of a block from ESI K on.
    pub fn new(
        source_symbols: u32,
        symbol_size: usize,
        lost: u32,
        extra: u32,
        encode: impl FnOnce(&[u8], &mut [u8]),
    ) -> Self {
        let mut random = Random((u64::from(source_symbols) << 32) | u64::from(lost));
        let block = random.bytes(source_symbols as usize * symbol_size);
        let repair_count = if lost == 0 { 0 } else { lost + extra };
        let mut repairs = vec![0; repair_count as usize * symbol_size];
        encode(&block, &mut repairs);
        let patterns = match source_symbols {
            0..=2000 => 16,
            2001..=20_000 => 4,
            _ => 2,
        };
        let patterns = (0..patterns).map(|_| {
            let mut kept = random.sample(source_symbols, source_symbols - lost);
            kept.sort_unstable();
            kept.extend(source_symbols..source_symbols + repair_count);
            kept
        });
        let patterns = patterns.collect();
        Self { source_symbols, symbol_size, block, repairs, patterns }
    }

    /// The symbol `esi`.
    pub fn symbol(&self, esi: u32) -> &[u8] {
        let (symbols, index) = match esi.checked_sub(self.source_symbols) {
            None => (&self.block, esi),
            Some(repair) => (&self.repairs, repair),
        };
        &symbols[index as usize * self.symbol_size..][..self.symbol_size]
    }

    /// What arrives according to one of the patterns, over and over again.
    pub fn arrivals(&self, pattern: usize) -> impl Iterator<Item = (u32, &[u8])> {
        self.patterns[pattern % self.patterns.len()].iter().map(|&esi| (esi, self.symbol(esi)))
    }
}

/// How many of `source_symbols` are lost at a rate of `per_cent`: at least one, unless nothing is to be lost.
pub fn losses(source_symbols: u32, per_cent: u32) -> u32 {
    if per_cent == 0 { 0 } else { ((source_symbols * per_cent + 50) / 100).max(1) }
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let words = std::iter::repeat_with(|| self.bits().to_le_bytes());
        let mut bytes: Vec<u8> = words.take(length.div_ceil(8)).flatten().collect();
        bytes.truncate(length);
        bytes
    }

    fn sample(&mut self, n: u32, count: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (0..n).collect();
        for i in 0..count {
            let other = i + (((self.bits() >> 32) * u64::from(n - i)) >> 32) as u32;
            all.swap(i as usize, other as usize);
        }
        all.truncate(count as usize);
        all
    }
}
