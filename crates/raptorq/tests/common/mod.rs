//! What the tests share: the peer, the oracle, and reproducible blocks and losses.
#![allow(dead_code, reason = "no test binary uses all of it")]

pub(crate) mod ours;
pub(crate) mod peer;
pub(crate) mod reference;

/// `SplitMix64`: the tests' only source of randomness, so that a failure names what repeats it.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The generator that `seed` stands for.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 fresh bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`. The bias, below 2^-32, is of no account here.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A block of `length` bytes.
    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 7);
        while bytes.len() < length {
            bytes.extend(self.bits().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }

    /// Another order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }

    /// `count` different numbers below `n`, in no order.
    pub(crate) fn sample(&mut self, n: u32, count: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (0..n).collect();
        for i in 0..count {
            let other = i + self.below(n - i);
            all.swap(i as usize, other as usize);
        }
        all.truncate(count as usize);
        all
    }

    /// The ESIs that arrive of a block of `source_symbols`, in no order: all but `lost` source symbols, and `repair`
    /// repair symbols from anywhere in the range of ESIs.
    pub(crate) fn arrivals(&mut self, source_symbols: u32, lost: u32, repair: u32) -> Vec<u32> {
        let mut esis = self.sample(source_symbols, source_symbols - lost);
        let first = source_symbols + self.below(MAX_ESI - source_symbols - repair);
        esis.extend(first..first + repair);
        self.shuffle(&mut esis);
        esis
    }
}

/// The largest ESI (RFC 6330 §3.2: 24 bits).
pub(crate) const MAX_ESI: u32 = (1 << 24) - 1;

/// The 477 values of K', ascending.
pub(crate) fn classes() -> Vec<u32> {
    reference::systematic_indices().iter().map(|row| row[0]).collect()
}

/// Gives each item to one of as many threads as there are processors, the first items first.
pub(crate) fn in_parallel<T: Sync>(items: &[T], each: impl Fn(&T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    each(item);
                }
            });
        }
    });
}
