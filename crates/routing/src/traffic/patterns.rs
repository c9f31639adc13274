//! Traffic matrices with a name.

use super::TrafficMatrix;
use crate::error::{RoutingError, RoutingResult, nearest};
use crate::number::Exact;
use anabranch_sim::random::stream;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;

/// Pairs that a pattern may have: about 2 GB of memory.
const MOST_PAIRS: u64 = 1 << 24;

/// A traffic pattern; every flow carries one unit unless the pattern says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Host i sends to host (i + stride) mod N (Song §5.3.1.3).
    Stride(u32),
    /// A random permutation without fixed points: each host sends to one other and receives from one.
    Random,
    /// Each host sends to one other, drawn uniformly, so that some receive from several: Song's *Random* (§5.3.1.3).
    Uniform,
    /// Each host receives from N others, those before it: host i from i-1, i-2, ... i-N (mod hosts). Song gives the pattern
    /// as a drawing only (Figure 5.9, not in the text); "each node receives data from N other nodes" is what this keeps.
    Senders(u32),
    /// Hosts 1 to N send to host 0.
    Incast(u32),
    /// Every host sends 1/(N-1) to every other, one unit in all.
    AllToAll,
}

impl Pattern {
    const NAMES: [&'static str; 6] = ["stride", "random", "uniform", "senders", "incast", "all-to-all"];

    /// Reads `stride:4`, `random`, `uniform`, `senders:3`, `incast:8` or `all-to-all`; `None` if `text` begins like none of
    /// them.
    ///
    /// # Errors
    ///
    /// A missing, extra or unusable number after the name.
    pub fn parse(text: &str) -> Option<RoutingResult<Self>> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, n)| (name, Some(n)));
        if !Self::NAMES.contains(&name) {
            return None;
        }
        let count = || {
            number.and_then(|n| n.parse::<u32>().ok()).filter(|&n| n > 0).ok_or_else(|| {
                let given = number.map_or_else(|| "no number".to_owned(), |n| format!("{n:?}"));
                RoutingError::new(format!("traffic {text:?}: {given} after {name}: expected a whole number from 1"))
                    .hint(format!("{name}:4"))
            })
        };
        let plain = |pattern| match number {
            None => Ok(pattern),
            Some(n) => Err(RoutingError::new(format!("traffic {text:?}: expected nothing after {name}, not {n:?}"))),
        };
        Some(match name {
            "stride" => count().map(Self::Stride),
            "senders" => count().map(Self::Senders),
            "incast" => count().map(Self::Incast),
            "random" => plain(Self::Random),
            "uniform" => plain(Self::Uniform),
            _ => plain(Self::AllToAll),
        })
    }

    /// The name that `text` may have meant.
    pub fn meant(text: &str) -> Option<&'static str> {
        nearest(text.split(':').next().unwrap_or(text), Self::NAMES.into_iter())
    }

    /// The matrix for `hosts` hosts; `seed` matters to the random ones.
    ///
    /// # Errors
    ///
    /// More senders than other hosts; a stride that is a multiple of the number of hosts.
    pub fn matrix(self, hosts: u32, seed: u64) -> RoutingResult<TrafficMatrix> {
        let mut tm = TrafficMatrix::empty(hosts);
        let pairs = u64::from(hosts)
            * match self {
                Self::AllToAll => u64::from(hosts) - 1,
                Self::Senders(n) => u64::from(n.min(hosts)),
                _ => 1,
            };
        if pairs > MOST_PAIRS {
            return Err(RoutingError::new(format!("{pairs} pairs of hosts send: expected {MOST_PAIRS} at most"))
                .hint("a smaller fabric of the same family, or a pattern with fewer pairs, such as random"));
        }
        let too_many = |what: &str, n: u32| {
            Err(RoutingError::new(format!("{what}:{n} needs {} hosts: this fabric has {hosts}", u64::from(n) + 1)))
        };
        match self {
            Self::Stride(by) if by % hosts == 0 => {
                return Err(RoutingError::new(format!(
                    "stride:{by} lets every one of the {hosts} hosts send to itself"
                )));
            }
            Self::Stride(by) => (0..hosts).try_for_each(|i| {
                let to = (u64::from(i) + u64::from(by)) % u64::from(hosts);
                tm.add(i, to as u32, Exact::ONE)
            })?,
            Self::Random => {
                let mut random = stream(seed, "routing-permutation");
                let mut to: Vec<u32> = (0..hosts).collect();
                // Uniform over the permutations without fixed points, by rejection: about e draws.
                loop {
                    to.shuffle(&mut random);
                    if to.iter().enumerate().all(|(s, &d)| s as u32 != d) {
                        break;
                    }
                }
                for (s, &d) in to.iter().enumerate() {
                    tm.add(s as u32, d, Exact::ONE)?;
                }
            }
            Self::Uniform => {
                let mut random = stream(seed, "routing-uniform");
                for s in 0..hosts {
                    let d = random.random_range(0..hosts - 1);
                    tm.add(s, d + u32::from(d >= s), Exact::ONE)?;
                }
            }
            Self::Senders(n) if n >= hosts => return too_many("senders", n),
            Self::Senders(n) => {
                for (i, k) in (0..hosts).flat_map(|i| (1..=n).map(move |k| (i, k))) {
                    tm.add((i + hosts - k) % hosts, i, Exact::ONE)?;
                }
            }
            Self::Incast(n) if n >= hosts => return too_many("incast", n),
            Self::Incast(n) => (1..=n).try_for_each(|s| tm.add(s, 0, Exact::ONE))?,
            Self::AllToAll => {
                let each = Exact::new(1, i128::from(hosts) - 1);
                for (s, d) in (0..hosts).flat_map(|s| (0..hosts).map(move |d| (s, d))) {
                    tm.add(s, d, each)?;
                }
            }
        }
        Ok(tm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(text: &str, hosts: u32) -> TrafficMatrix {
        Pattern::parse(text).unwrap().unwrap().matrix(hosts, 7).unwrap()
    }

    #[test]
    fn stride_4_is_table_5_1() {
        let tm = matrix("stride:4", 16);
        let expected: Vec<_> = (0..16).map(|i| (i, (i + 4) % 16, Exact::ONE)).collect();
        assert_eq!(tm.iter().collect::<Vec<_>>(), expected);
        assert_eq!(tm.baseload::<Exact>().unwrap(), Exact::ONE);
    }

    #[test]
    fn each_pattern_has_its_sums() {
        let sums = |text: &str| {
            let (sent, received) = matrix(text, 16).sums::<Exact>().unwrap();
            let range = |v: &[Exact]| (v.iter().min().unwrap().to_string(), v.iter().max().unwrap().to_string());
            (range(&sent), range(&received))
        };
        let span = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(sums("random"), (span("1", "1"), span("1", "1")));
        assert_eq!(sums("senders:3"), (span("3", "3"), span("3", "3")));
        assert_eq!(sums("all-to-all"), (span("1", "1"), span("1", "1")));
        assert_eq!(sums("incast:8"), (span("0", "1"), span("0", "8")));
        assert_eq!(sums("uniform").0, span("1", "1"));
        // Another seed, another permutation; the same seed, the same.
        let draw = |seed| Pattern::Random.matrix(64, seed).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| Pattern::parse(text).unwrap().and_then(|p| p.matrix(16, 1)).unwrap_err().to_string();
        assert_eq!(
            error("stride"),
            "traffic \"stride\": no number after stride: expected a whole number from 1\nhint: stride:4"
        );
        assert!(error("senders:0").contains("\"0\" after senders"));
        assert!(error("random:3").contains("expected nothing after random"));
        assert_eq!(error("stride:32"), "stride:32 lets every one of the 16 hosts send to itself");
        assert_eq!(error("senders:16"), "senders:16 needs 17 hosts: this fabric has 16");
        let large = Pattern::AllToAll.matrix(8192, 1).unwrap_err();
        assert_eq!(large.message, "67100672 pairs of hosts send: expected 16777216 at most");
        assert!(Pattern::parse("tm.csv").is_none());
        assert_eq!(Pattern::meant("strid:4"), Some("stride"));
    }
}
