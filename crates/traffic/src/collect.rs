//! From the records of one file to bins: every record is seen once, by all widths.

use crate::bins::{Bins, Cell};
use crate::error::Refused;
use crate::filter::{Field, Fields, Frame, Way};
use crate::order::Order;
use crate::request::{Align, DEFAULT_BINS_NS, Request, Settings, Want};
use crate::track::{Kind, Least, Track};

/// Times of which stamps may be whole multiples: nothing shorter is known of what they stamp. Of times below a second, traffic that is
/// sent by a clock has many, too.
const GRAINS: [i64; 3] = [3_600_000_000_000, 60_000_000_000, 1_000_000_000];

/// Records that tell a grain: fewer may be whole by chance, or because somebody typed them.
const GRAINED: u64 = 10;

/// The coarsest grain of stamps so far.
#[derive(Clone, Copy, Debug)]
struct Grain(i64);

impl Grain {
    /// Sees another stamp.
    #[cold]
    fn see(&mut self, at: i64) {
        if at % self.0 != 0 {
            self.0 = GRAINS.into_iter().find(|grain| *grain < self.0 && at % grain == 0).unwrap_or(0);
        }
    }
}

/// The usual widths that records can fill, of which the least is given; that one if there are none.
fn usual_widths(least: i64) -> Vec<i64> {
    let usual: Vec<i64> = DEFAULT_BINS_NS.into_iter().filter(|width| *width >= least).collect();
    if usual.is_empty() { vec![least] } else { usual }
}

/// Spreads a volume evenly over `[from, to)`: each bin gets its share, and the shares add up exactly.
fn spread(bins: &mut Bins, from: i64, to: i64, cell: Cell) -> Result<(), Refused> {
    let (a, b) = (bins.index(from), bins.index((to - 1).max(from)));
    bins.add(b, Cell::default())?;
    if a == b {
        return bins.add(a, cell);
    }
    let length = i128::from(to - from);
    let until = |total: i64, x: i64| (i128::from(total) * i128::from(x - from)).div_euclid(length) as i64;
    let mut before = Cell::default();
    for index in a..=b {
        let end = bins.start(index + 1).min(to);
        let sum = Cell { bytes: until(cell.bytes, end), packets: until(cell.packets, end) };
        bins.add(index, Cell { bytes: sum.bytes - before.bytes, packets: sum.packets - before.packets })?;
        before = sum;
    }
    Ok(())
}

/// An interval with a known volume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) cell: Cell,
    /// So long that its volume may not be spread: it counts only in bins that hold it whole.
    pub(crate) long: bool,
}

/// Takes the records of one file.
pub(crate) struct Collector<'s> {
    pub(crate) settings: &'s Settings,
    /// Where the grid begins: given if other files share it.
    origin: Option<i64>,
    peek: bool,
    /// The first stamp, for a peek.
    pub(crate) peeked: Option<i64>,
    selective: bool,
    overhead: i64,
    /// Nanoseconds that the bins allowed span at the finest width.
    reach: u64,
    /// Of the stamps of packets, or of the beginnings and the ends of flows; 0 once there is none.
    grains: [Grain; 2],
    /// The grain of the first stamps, where they were looked at before.
    foreseen: i64,
    pub(crate) order: Order,
    pub(crate) tracks: Vec<Track>,
    pub(crate) records: u64,
    pub(crate) bytes: i64,
    pub(crate) packets: i64,
    pub(crate) left_out: u64,
    pub(crate) undecided: u64,
    pub(crate) unstamped: u64,
    pub(crate) rounded: u64,
    pub(crate) notes: Vec<String>,
    /// How the columns of a table were read.
    pub(crate) assumed: Option<String>,
    /// The format as whose table a document was read.
    pub(crate) reader: Option<&'static str>,
}

impl<'s> Collector<'s> {
    pub(crate) fn new(settings: &'s Settings, origin: Option<i64>) -> Self {
        let request = &settings.request;
        Self {
            settings,
            origin: if request.align == Align::Clock { Some(0) } else { origin },
            peek: false,
            peeked: None,
            selective: settings.filter.is_some() || request.direction.is_some(),
            overhead: if request.overhead { Request::OVERHEAD_BYTES } else { 0 },
            reach: u64::MAX,
            grains: [Grain(GRAINS[0]); 2],
            foreseen: 0,
            order: Order::new(request.gap_ns),
            tracks: Vec::new(),
            records: 0,
            bytes: 0,
            packets: 0,
            left_out: 0,
            undecided: 0,
            unstamped: 0,
            rounded: 0,
            notes: Vec::new(),
            assumed: None,
            reader: None,
        }
    }

    /// Wants only the first stamp.
    pub(crate) fn peek(settings: &'s Settings) -> Self {
        Self { peek: true, ..Self::new(settings, None) }
    }

    /// Whether a filter or a direction needs the packets' headers.
    pub(crate) fn selective(&self) -> bool {
        self.selective
    }

    /// Sets where the file's time begins; returns the origin of the grid.
    pub(crate) fn begin(&mut self, at: i64) -> Result<i64, Refused> {
        self.peeked = self.peeked.or(Some(at));
        if self.peek { Err(Refused::Peeked) } else { Ok(*self.origin.get_or_insert(at)) }
    }

    /// The shortest bins that packets or flows can fill, by their stamps; intervals say themselves what they can.
    pub(crate) fn least(&self) -> Least {
        let grain = self.grains.iter().map(|grain| grain.0).max().unwrap_or_default();
        let stamped = self.tracks.iter().any(|track| track.kind != Kind::Intervals);
        let name = match grain {
            0 => return Least::default(),
            _ if !stamped || self.records < GRAINED => return Least::default(),
            1_000_000_000 => "seconds",
            60_000_000_000 => "minutes",
            _ => "hours",
        };
        Least { bin_ns: grain, why: format!("the time stamps are whole {name}") }
    }

    /// Looks at the first stamps of packets, so that no bins are begun that they cannot fill: there may be too many of them. Several
    /// files of one series need the same.
    pub(crate) fn foresee(&mut self, stamps: impl ExactSizeIterator<Item = i64>) {
        let alone = self.settings.request.each || self.settings.request.files.len() == 1;
        if !alone || (stamps.len() as u64) < GRAINED {
            return;
        }
        let mut grain = Grain(GRAINS[0]);
        for at in stamps {
            if grain.0 == 0 {
                break;
            }
            grain.see(at);
        }
        self.foreseen = grain.0;
    }

    /// The widths asked for, or else what the format proposes.
    pub(crate) fn widths(&self, proposal: &[i64]) -> Vec<i64> {
        let asked = &self.settings.request.bins_ns;
        if asked.is_empty() { proposal.to_vec() } else { asked.clone() }
    }

    /// Begins a track and returns its number.
    pub(crate) fn track(&mut self, name: String, kind: Kind, widths: &[i64], origin: i64) -> usize {
        self.tracks.push(Track::new(name, kind, widths, origin, self.settings));
        self.tracks.len() - 1
    }

    /// Begins the tracks of packets or flows: one, or one for each direction.
    fn begin_records(&mut self, at: i64, kind: Kind, proposal: &[i64]) -> Result<(), Refused> {
        let origin = self.begin(at)?;
        let widths = self.widths(proposal);
        let names: &[&str] = match self.settings.request.direction {
            None => &[""],
            Some(Want::In) => &["in"],
            Some(Want::Out) => &["out"],
            Some(Want::Split) => &["in", "out"],
        };
        let finest = widths.iter().min().map_or(1, |width| width.unsigned_abs());
        self.reach = finest.saturating_mul(self.settings.max_bins as u64);
        for name in names {
            self.track((*name).to_owned(), kind, &widths, origin);
        }
        Ok(())
    }

    /// Counts a packet of `wire` bytes.
    #[inline]
    pub(crate) fn packet(&mut self, at: i64, wire: u32, frame: Frame<'_>) -> Result<(), Refused> {
        if !self.order.calm(at) {
            self.unusual(at)?;
        }
        if self.grains[0].0 != 0 {
            self.grains[0].see(at);
            self.grains[1] = self.grains[0];
        }
        let bytes = i64::from(wire);
        self.records += 1;
        self.bytes += bytes;
        let cost = if self.overhead == 0 { bytes } else { bytes + self.overhead - i64::from(frame.checksum) };
        if self.selective {
            return self.select(at, cost, frame);
        }
        let Some(track) = self.tracks.first_mut() else { return Ok(()) };
        for bins in &mut track.bins {
            bins.count(at, cost)?;
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn unusual(&mut self, at: i64) -> Result<(), Refused> {
        if !self.order.started() {
            let usual = usual_widths(self.foreseen);
            self.begin_records(at, Kind::Packets, &usual)?;
        }
        self.within_reach(at)?;
        self.order.note(at);
        Ok(())
    }

    /// The span counts, filtered or not: a stamp that is far off is refused before it makes the series long.
    fn within_reach(&self, at: i64) -> Result<(), Refused> {
        let Order { first, last, .. } = self.order;
        let edge = if !self.order.started() {
            at
        } else if at < last {
            last
        } else {
            first
        };
        if at.abs_diff(edge) < self.reach {
            return Ok(());
        }
        let (origin, max) = (self.origin.unwrap_or(edge), self.settings.max_bins);
        let width = self.reach.div_euclid(max as u64) as i64;
        Err(Refused::TooManyBins { stamp: at, origin, width, max })
    }

    #[inline(never)]
    fn select(&mut self, at: i64, cost: i64, frame: Frame<'_>) -> Result<(), Refused> {
        let fields = Fields::of(frame.link, frame.data);
        let Some(track) = self.choose(&fields, frame.mark) else { return Ok(()) };
        for bins in self.tracks.get_mut(track).into_iter().flat_map(|track| &mut track.bins) {
            bins.count(at, cost)?;
        }
        Ok(())
    }

    /// The track of a packet or flow, unless it is left out.
    fn choose(&mut self, fields: &Fields, mark: Option<Way>) -> Option<usize> {
        if let Some(filter) = &self.settings.filter {
            match filter.matches(fields) {
                Some(true) => {}
                Some(false) => {
                    self.left_out += 1;
                    return None;
                }
                None => {
                    self.undecided += 1;
                    return None;
                }
            }
        }
        let Some(want) = self.settings.request.direction else { return Some(0) };
        let inside = &self.settings.inside;
        let way = if inside.is_empty() { mark.map_or(Field::Cut, Field::Is) } else { fields.way(inside) };
        match (way, want) {
            (Field::Cut, _) => self.undecided += 1,
            (Field::Is(Way::In), Want::In | Want::Split) | (Field::Is(Way::Out), Want::Out) => return Some(0),
            (Field::Is(Way::Out), Want::Split) => return Some(1),
            _ => self.left_out += 1,
        }
        None
    }

    /// Counts a packet that has no stamp: it is in no bin.
    pub(crate) fn unstamped(&mut self, wire: u32) {
        self.records += 1;
        self.unstamped += 1;
        self.bytes += i64::from(wire);
    }

    /// Counts a flow: its volume is spread evenly over its time.
    pub(crate) fn flow(&mut self, from: i64, to: i64, cell: Cell, fields: &Fields) -> Result<(), Refused> {
        if !self.order.started() {
            self.begin_records(from, Kind::Flows, &[300_000_000_000])?;
            self.order.note(from);
        }
        self.within_reach(from)?;
        for (grain, at) in self.grains.iter_mut().zip([from, to]).filter(|(grain, _)| grain.0 != 0) {
            grain.see(at);
        }
        self.order.first = self.order.first.min(from);
        self.within_reach(to)?;
        self.order.last = self.order.last.max(to);
        self.records += 1;
        self.bytes = self.bytes.saturating_add(cell.bytes);
        self.packets = self.packets.saturating_add(cell.packets);
        let cost = Cell { bytes: cell.bytes.saturating_add(cell.packets.saturating_mul(self.overhead)), ..cell };
        let Some(track) = (if self.selective { self.choose(fields, None) } else { Some(0) }) else { return Ok(()) };
        for bins in self.tracks.get_mut(track).into_iter().flat_map(|track| &mut track.bins) {
            spread(bins, from, to, cost)?;
        }
        Ok(())
    }

    /// Counts the volume of an interval of a track.
    pub(crate) fn interval(&mut self, track: usize, interval: Interval) -> Result<(), Refused> {
        let Interval { from, to, cell, long } = interval;
        // All widths or none.
        for bins in self.tracks.get(track).iter().flat_map(|track| &track.bins) {
            bins.fits(from)?;
            bins.fits(to - 1)?;
        }
        self.bytes = self.bytes.saturating_add(cell.bytes);
        self.packets = self.packets.saturating_add(cell.packets);
        let cost = Cell { bytes: cell.bytes.saturating_add(cell.packets.saturating_mul(self.overhead)), ..cell };
        let Some(track) = self.tracks.get_mut(track) else { return Ok(()) };
        for (bins, covered) in track.bins.iter_mut().zip(&mut track.covered) {
            let (a, b) = (bins.index(from), bins.index(to - 1));
            if long && a != b {
                continue;
            }
            spread(bins, from, to, cost)?;
            for index in a..=b {
                let overlap = bins.start(index + 1).min(to) - bins.start(index).max(from);
                covered.add(index, Cell { bytes: overlap, packets: 1 })?;
            }
        }
        Ok(())
    }

    /// Records how the columns of a table were read.
    pub(crate) fn assume(&mut self, what: String) {
        self.assumed = Some(what);
    }

    /// Notes something worth knowing, once.
    pub(crate) fn remark(&mut self, note: String) {
        if !self.notes.contains(&note) && self.notes.len() < 100 {
            self.notes.push(note);
        }
    }

    /// Notes how often something came, if it did: `one` is said of one, `many` of more.
    pub(crate) fn remark_count(&mut self, count: u64, one: &str, many: &str) {
        match count {
            0 => {}
            1 => self.remark(format!("1 {one}")),
            _ => self.remark(format!("{count} {many}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_volume_adds_up() {
        for (from, to, bytes) in [(3, 1003, 1_000_001), (0, 10, 7), (9, 11, 1), (5, 5, 12), (-25, 26, 100), (7, 8, 3)] {
            let mut bins = Bins::new(10, 0, 1000, &crate::bins::Budget::new(10_000));
            spread(&mut bins, from, to, Cell { bytes, packets: 3 }).expect("few bins");
            assert_eq!(bins.total(), Cell { bytes, packets: 3 });
            let (a, b) = (bins.index(from), bins.index((to - 1).max(from)));
            for index in a..=b {
                let share = (bins.start(index + 1).min(to) - bins.start(index).max(from)).max(0) as f64;
                let expected = if to > from { bytes as f64 * share / (to - from) as f64 } else { bytes as f64 };
                assert!((bins.get(index).bytes as f64 - expected).abs() <= 1.0, "bin {index} of {from}..{to}");
            }
        }
    }
}
