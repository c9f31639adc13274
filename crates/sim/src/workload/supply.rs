//! Objects that become available little by little: an application that writes along a volume series.
//!
//! Volumes count bytes on the wire, as captures do. The application writes them in [chunks](Series::chunk); each leaves its
//! instant within its bin, so that a bin's volume is right to within a chunk, and so is the sum of any number of bins.

use crate::random::Stream;
use anabranch_transport::Duration;
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where in its bin a chunk is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// At equal distances, the first and the last half a distance from the ends of the bin.
    Even,
    /// At independent random instants: a Poisson process, given the number of chunks.
    #[default]
    Poisson,
}

/// A volume series and how it is written, shared by the sessions that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Width of a bin, above zero.
    pub bin: Duration,
    /// Bytes on the wire in each bin; at least one bin is not empty.
    pub bytes: Vec<u64>,
    /// Bytes on the wire that are written at once, above zero.
    pub chunk: u64,
    /// Where in the bin.
    pub spread: Spread,
}

impl Series {
    /// Bytes on the wire in all bins.
    pub fn total(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// The supply of one session: all bins of a series in turn, from one of them on and round to the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supply {
    /// What it follows.
    pub series: Arc<Series>,
    /// The bin at which it begins.
    pub first: u32,
    /// Of the random instants: drawn with the session, so that they do not depend on other workloads.
    pub seed: u64,
}

/// A supply that is being written. Needs no memory for what it has written or will write.
#[derive(Clone, Debug)]
pub struct Writing {
    supply: Supply,
    random: Stream,
    total: u64,
    /// Bins begun.
    begun: usize,
    /// Bytes in these.
    volume: u64,
    /// Chunks of the current bin: all, and those left.
    chunks: u64,
    left: u64,
    /// Where the last random chunk of the bin was, as a share of it.
    at: f64,
    /// Chunks written in all.
    written: u64,
}

impl Writing {
    /// From the start. Random instants are drawn from `random`, one for each chunk.
    pub fn new(supply: Supply, random: Stream) -> Self {
        let total = supply.series.total();
        Self { supply, random, total, begun: 0, volume: 0, chunks: 0, left: 0, at: 0.0, written: 0 }
    }

    /// The next chunk: when it is written, counted from the session's start, and the bytes on the wire up to its end.
    /// `None` if all are written.
    pub fn next_chunk(&mut self) -> Option<(Duration, u64)> {
        while self.left == 0 {
            self.begin_bin()?;
        }
        let share = match self.supply.series.spread {
            Spread::Even => ((self.chunks - self.left) as f64 + 0.5) / self.chunks as f64,
            Spread::Poisson => {
                // The least of `left` uniform numbers between the last one and 1.
                let u: f64 = self.random.random();
                self.at += (1.0 - self.at) * -libm::expm1(libm::log1p(-u) / self.left as f64);
                self.at
            }
        };
        self.left -= 1;
        self.written += 1;
        let bin = self.supply.series.bin.ps();
        // Never at the end of the bin, which is the next one's.
        let within = ((share * bin as f64) as u64).min(bin - 1);
        let when = (self.begun as u64 - 1).saturating_mul(bin).saturating_add(within);
        Some((Duration(when), (self.written * self.supply.series.chunk).min(self.total)))
    }

    /// Whether all chunks are written.
    pub fn is_done(&self) -> bool {
        self.written * self.supply.series.chunk >= self.total
    }

    /// Begins the next bin. A chunk belongs to the bin in which it becomes full; the last one, which may be shorter, to the
    /// last bin with any traffic.
    fn begin_bin(&mut self) -> Option<()> {
        let series = &self.supply.series;
        if self.begun == series.bytes.len() {
            return None;
        }
        let place = (self.supply.first as usize + self.begun) % series.bytes.len();
        self.begun += 1;
        self.volume += series.bytes[place];
        let full = self.volume / series.chunk;
        let rest = self.volume == self.total && !self.volume.is_multiple_of(series.chunk);
        self.chunks = full + u64::from(rest) - self.written;
        (self.left, self.at) = (self.chunks, 0.0);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use proptest::prelude::*;

    const BIN: Duration = Duration::from_ms(100);

    fn writing(bytes: &[u64], first: u32, spread: Spread) -> Writing {
        let series = Arc::new(Series { bin: BIN, bytes: bytes.to_vec(), chunk: 1500, spread });
        Writing::new(Supply { series, first, seed: 0 }, stream(1, "volumes"))
    }

    fn all(mut writing: Writing) -> Vec<(Duration, u64)> {
        std::iter::from_fn(|| writing.next_chunk()).collect()
    }

    #[test]
    fn even_chunks_are_at_equal_distances() {
        let ms = |n: f64| Duration((n * 1e9) as u64);
        let found = all(writing(&[6000, 0, 3000], 0, Spread::Even));
        assert_eq!(found[..4], [(ms(12.5), 1500), (ms(37.5), 3000), (ms(62.5), 4500), (ms(87.5), 6000)]);
        assert_eq!(found[4..], [(ms(225.0), 7500), (ms(275.0), 9000)]);
    }

    #[test]
    fn what_does_not_fill_a_chunk_is_carried_on_and_the_rest_ends_with_the_traffic() {
        // 700, 1400 and 2300 bytes: the first chunk is full in the third bin; 800 bytes are left, in no empty bin.
        let found = all(writing(&[700, 700, 900, 0], 0, Spread::Even));
        assert_eq!(found, [(Duration::from_ms(225), 1500), (Duration::from_ms(275), 2300)]);
    }

    #[test]
    fn a_later_start_wraps_round() {
        let found = all(writing(&[1500, 0, 3000], 1, Spread::Even));
        let bins: Vec<u64> = found.iter().map(|(when, _)| when.ps() / BIN.ps()).collect();
        assert_eq!((bins, found.last().unwrap().1), (vec![1, 1, 2], 4500));
    }

    #[test]
    fn random_instants_are_uniform() {
        let n = 20_000;
        let found = all(writing(&[n * 1500], 0, Spread::Poisson));
        let below = |share: f64| {
            let count = found.iter().filter(|(when, _)| (when.ps() as f64) < share * BIN.ps() as f64).count();
            count as f64 / n as f64
        };
        for share in [0.1, 0.25, 0.5, 0.9] {
            // Three standard errors of a share of 20 000.
            assert!((below(share) - share).abs() < 0.011, "{share}: {}", below(share));
        }
        // Gaps of a Poisson process: a share exp(-1) of them is longer than the mean.
        let long = found.windows(2).filter(|pair| (pair[1].0.ps() - pair[0].0.ps()) * n > BIN.ps()).count();
        assert!((long as f64 / n as f64 - (-1.0_f64).exp()).abs() < 0.011);
    }

    proptest! {
        #[test]
        fn every_bin_gets_its_volume_to_within_a_chunk(
            bytes in prop::collection::vec(prop_oneof![Just(0), 0..100_000_u64], 1..50),
            first in any::<prop::sample::Index>(),
            spread in prop::sample::select(vec![Spread::Even, Spread::Poisson]),
        ) {
            let total: u64 = bytes.iter().sum();
            let first = first.index(bytes.len());
            let found = all(writing(&bytes, first as u32, spread));
            prop_assert!(found.is_sorted());
            prop_assert_eq!(found.last().map_or(0, |chunk| chunk.1), total);
            let (mut written, mut asked) = (0, 0);
            for n in 0..bytes.len() {
                let volume = bytes[(first + n) % bytes.len()];
                let in_bin = |chunk: &&(Duration, u64)| chunk.0.ps() / BIN.ps() == n as u64;
                let up_to = found.iter().rfind(in_bin).map_or(written, |chunk| chunk.1);
                prop_assert!(volume > 0 || up_to == written, "an empty bin stays empty");
                (written, asked) = (up_to, asked + volume);
                prop_assert!(written <= asked && asked - written < 1500);
            }
        }
    }
}
