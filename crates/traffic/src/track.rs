//! One series in the making: its bins at all widths, and what is known of its records.

use crate::bins::Bins;
use crate::request::Settings;
use serde::Serialize;

/// Gaps kept with their reason.
const GAPS: usize = 10_000;

/// Time of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Last moment known before it, ns.
    pub from_ns: i64,
    /// First moment known after it, ns.
    pub to_ns: i64,
    /// Why nothing is known: `silence`, `between files`, `missing poll`, `counter reset`, `missing rows`.
    pub why: String,
}

/// The shortest bins that records can fill, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Least {
    /// Width in nanoseconds; 0 where any will do.
    pub bin_ns: i64,
    /// A clause: "polls come about every 5 min".
    pub why: String,
}

impl Least {
    /// Whether bins of a width are wide enough. Pollers run a few per cent late, and users name the nominal interval.
    pub fn allows(&self, width_ns: i64) -> bool {
        width_ns >= self.bin_ns - self.bin_ns / 10
    }
}

/// The kind of a track's records. It decides which bins are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Everything between the first and the last record was observed, but for long silences.
    Packets,
    /// The same; the records overlap and are in no order.
    Flows,
    /// Only what the intervals cover is known.
    Intervals,
}

/// One series in the making, at all widths.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The widths asked for.
    pub(crate) widths: Vec<i64>,
    /// Packets and flows: bins of the widths that no other divides. Intervals: of every width.
    pub(crate) bins: Vec<Bins>,
    /// Intervals only, as `bins`: nanoseconds covered (in `bytes`), and by how many intervals (in `packets`).
    pub(crate) covered: Vec<Bins>,
    pub(crate) has_packets: bool,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) least: Least,
}

/// The widths that are no multiple of another one: the rest are sums of these.
pub(crate) fn bases(widths: &[i64]) -> Vec<i64> {
    let mut sorted = widths.to_vec();
    sorted.sort_unstable();
    let mut bases: Vec<i64> = Vec::new();
    for width in sorted {
        if !bases.iter().any(|base| width % base == 0) {
            bases.push(width);
        }
    }
    bases
}

impl Track {
    pub(crate) fn new(name: String, kind: Kind, widths: &[i64], origin: i64, settings: &Settings) -> Self {
        let bins = |&width: &i64| Bins::new(width, origin, settings.max_bins, &settings.budget);
        let make = |widths: &[i64]| widths.iter().map(bins).collect();
        let (bins, covered) = match kind {
            Kind::Intervals => (make(widths), make(widths)),
            Kind::Packets | Kind::Flows => (make(&bases(widths)), Vec::new()),
        };
        Self {
            name,
            kind,
            widths: widths.to_vec(),
            bins,
            covered,
            has_packets: true,
            gaps: Vec::new(),
            least: Least::default(),
        }
    }

    pub(crate) fn gap(&mut self, from_ns: i64, to_ns: i64, why: &str) {
        if self.gaps.len() < GAPS {
            self.gaps.push(Gap { from_ns, to_ns, why: why.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_widths_that_no_other_divides_are_counted() {
        assert_eq!(bases(&[1000, 5, 100, 5000]), [5]);
        assert_eq!(bases(&[6, 4, 12, 10]), [4, 6, 10]);
    }
}
