//! From bins to series: what is zero, what is unknown, and whether the last bin is complete.

use crate::bins::Bins;
use crate::request::{Align, Settings};
use crate::track::{Gap, Kind, Least, Track};
use serde::Serialize;

/// Pauses between files up to this are silence, ns.
const PAUSE: i64 = 1_000_000_000;

/// Bytes and packets per bin of one width.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Series {
    /// Of the file or files, with the direction, column or key where there are several.
    pub name: String,
    /// Width of a bin.
    pub bin_ns: i64,
    /// Start of the first bin: since 1970 UTC, or since whatever the file counts from.
    pub start_ns: i64,
    /// Bytes per bin; 0 where unknown.
    #[serde(skip)]
    pub bytes: Vec<i64>,
    /// Packets per bin, where the file says; 0 where unknown.
    #[serde(skip)]
    pub packets: Option<Vec<i64>>,
    /// Bins of which not everything is known: not zero.
    #[serde(skip)]
    pub missing: Vec<bool>,
    /// Whether the last bin was observed to its end.
    pub complete: bool,
    /// When nothing was known, at most 10 000 of them.
    pub gaps: Vec<Gap>,
    /// Bins that more than one row of the same table claims.
    pub claimed_twice: u64,
    /// The shortest bins that its records can fill.
    pub least: Least,
    /// The files it was made from, by their place in [`Ingested::files`](crate::Ingested::files).
    pub files: Vec<usize>,
}

/// The observed time of one file: first and last record, and the silences in it that are gaps.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) longest: i64,
    pub(crate) silences: Vec<(i64, i64)>,
}

/// Makes the series of a track, one for each width.
pub(crate) fn finish(name: &str, mut track: Track, spans: &[Span], settings: &Settings) -> Vec<Series> {
    for bins in track.bins.iter_mut().chain(&mut track.covered) {
        bins.close();
    }
    if settings.request.bins_ns.is_empty() && track.kind == Kind::Packets {
        let least = track.least.bin_ns;
        track.widths.retain(|width| *width >= least);
        if track.widths.is_empty() {
            track.widths.push(least);
        }
    }
    let name = if track.name.is_empty() { name.to_owned() } else { format!("{name} {}", track.name) };
    match track.kind {
        Kind::Intervals => (0..track.widths.len()).filter_map(|i| of_intervals(&name, &track, i)).collect(),
        Kind::Packets | Kind::Flows => {
            let gaps = gaps(spans, settings, track.kind);
            let Some(first) = spans.iter().map(|span| span.first).min() else { return Vec::new() };
            let last = spans.iter().map(|span| span.last).max().unwrap_or(first);
            let view = Observed { first, last, gaps, align: settings.request.align };
            track.widths.iter().filter_map(|&width| of_records(&name, &track, width, &view)).collect()
        }
    }
}

/// Time of which nothing is known: silences longer than asked for, and pauses between files.
fn gaps(spans: &[Span], settings: &Settings, kind: Kind) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut ordered: Vec<&Span> = spans.iter().collect();
    ordered.sort_by_key(|span| (span.first, span.last));
    // Without a limit, a pause between files is a gap if neither file knows such a silence.
    let longest = ordered.iter().map(|span| span.longest).max().unwrap_or_default();
    let limit = match (settings.request.gap_ns, kind) {
        (Some(limit), _) => limit,
        (None, Kind::Flows) => i64::MAX,
        (None, _) => longest.max(PAUSE),
    };
    let mut end = ordered.first().map_or(0, |span| span.first);
    for span in ordered {
        if span.first.saturating_sub(end) > limit {
            gaps.push(Gap { from_ns: end, to_ns: span.first, why: "between files".to_owned() });
        }
        end = end.max(span.last);
        let silences = span.silences.iter().map(|&(from_ns, to_ns)| Gap { from_ns, to_ns, why: "silence".to_owned() });
        gaps.extend(silences);
    }
    gaps.sort_by_key(|gap| gap.from_ns);
    gaps
}

struct Observed {
    first: i64,
    last: i64,
    gaps: Vec<Gap>,
    align: Align,
}

fn of_records(name: &str, track: &Track, width: i64, view: &Observed) -> Option<Series> {
    let bins = track.bins.iter().find(|bins| width % bins.width() == 0)?;
    let (factor, origin) = (width / bins.width(), bins.origin());
    let index = |at: i64| (at - origin).div_euclid(width);
    let (from, to) = (index(view.first), index(view.last));
    let start = |index: i64| origin + index * width;
    let count = usize::try_from(to - from + 1).ok()?;
    let (mut bytes, mut packets) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for k in from..=to {
        let cell = if factor == 1 { bins.get(k) } else { bins.range(k * factor, factor) };
        bytes.push(cell.bytes);
        packets.push(cell.packets);
    }
    let mut missing = vec![false; count];
    // On the clock's grid the first bin began before anybody watched; so it did if the first flow was not the earliest.
    missing[0] = (view.align == Align::Clock || track.kind == Kind::Flows) && view.first > start(from);
    for gap in &view.gaps {
        let (a, b) = (index(gap.from_ns).max(from), index(gap.to_ns - 1).min(to));
        for k in a..=b {
            missing[(k - from) as usize] = true;
        }
    }
    for (k, unknown) in missing.iter().enumerate() {
        if *unknown {
            (bytes[k], packets[k]) = (0, 0);
        }
    }
    Some(Series {
        name: name.to_owned(),
        bin_ns: width,
        start_ns: start(from),
        bytes,
        packets: track.has_packets.then_some(packets),
        missing,
        complete: view.last + 1 >= start(to + 1),
        least: track.least.clone(),
        gaps: view.gaps.iter().take(10_000).cloned().collect(),
        claimed_twice: 0,
        files: Vec::new(),
    })
}

fn of_intervals(name: &str, track: &Track, i: usize) -> Option<Series> {
    let (bins, covered): (&Bins, &Bins) = (track.bins.get(i)?, track.covered.get(i)?);
    let (from, to) = covered.extent()?;
    let width = bins.width();
    let count = usize::try_from(to - from + 1).ok()?;
    let (mut bytes, mut packets) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut missing = Vec::with_capacity(count);
    let mut twice = 0;
    for k in from..=to {
        let known = covered.get(k).bytes;
        // The last bin may be partial and says so; any other that is, the first included, is unknown.
        let unknown = known < width && (k < to || known == 0);
        let cell = if unknown { crate::bins::Cell::default() } else { bins.get(k) };
        twice += u64::from(known > width);
        missing.push(unknown);
        bytes.push(cell.bytes);
        packets.push(cell.packets);
    }
    let mut gaps = Vec::new();
    let mut reasons = track.gaps.iter().peekable();
    let mut k = 0;
    while k < count && gaps.len() < 10_000 {
        let run = missing[k..].iter().take_while(|unknown| **unknown).count();
        // A first bin that was only partly covered is where the data begin, not a gap.
        let beginning = k == 0 && run == 1 && covered.get(from).bytes > 0;
        if run > 0 && !beginning {
            let (from_ns, to_ns) = (bins.start(from + k as i64), bins.start(from + (k + run) as i64));
            while reasons.peek().is_some_and(|gap| gap.to_ns <= from_ns) {
                reasons.next();
            }
            let why = reasons.peek().filter(|gap| gap.from_ns < to_ns).map_or("no rows", |gap| gap.why.as_str());
            gaps.push(Gap { from_ns, to_ns, why: why.to_owned() });
        }
        k += run + 1;
    }
    Some(Series {
        name: name.to_owned(),
        bin_ns: width,
        start_ns: bins.start(from),
        bytes,
        packets: track.has_packets.then_some(packets),
        missing,
        complete: covered.get(to).bytes >= width,
        least: track.least.clone(),
        gaps,
        claimed_twice: twice,
        files: Vec::new(),
    })
}
