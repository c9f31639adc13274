//! Tables of packets: a time and a length in every row, as `tshark -T fields -e frame.time_epoch -e frame.len` and the
//! traces of the Internet Traffic Archive have them.

use super::Format;
use super::cell::show;
use super::columns;
use super::preview::Preview;
use super::roles;
use crate::collect::Collector;
use crate::error::{Place, ReadError};
use crate::filter::{Frame, Link};
use crate::input::Input;

pub(super) struct CsvPackets;

/// Names of columns of lengths, in lower case.
const LENGTH: [&str; 10] = [
    "length",
    "len",
    "size",
    "frame.len",
    "ip.len",
    "wire_len",
    "orig_len",
    "packet_length",
    "pkt_len",
    "length_bytes",
];
const AMBIGUOUS: [&str; 2] = ["bytes", "size_bytes"];

/// Nothing longer than this is a packet.
const PACKET_MAX: f64 = 65_549.0;

impl Format for CsvPackets {
    fn name(&self) -> &'static str {
        "csv-packets"
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let (mut lines, columns, first) = columns::open(input, out)?;
        let wanted = out.settings.request.columns.first().cloned();
        let place = Place::Line { line: 1, offset: 0 };
        let length = match wanted {
            Some(name) => columns.find(&name, place)?,
            None if columns.first_is_row() => 1,
            None => columns.named(&LENGTH).or_else(|| columns.named(&AMBIGUOUS)).ok_or_else(|| {
                let message = format!("no column looks like a length: {}", roles::listed(columns.names()));
                ReadError::hinted(place, message, "name it: --column NAME")
            })?,
        };
        let mut packets = Packets::default();
        let result = columns.rows(first.as_ref(), &mut lines, |row| {
            let bytes = columns.count(row, length)?;
            let bytes = u32::try_from(bytes).map_err(|_| {
                let text = row.fields.get(length).copied().unwrap_or_default();
                ReadError::data(row.place, format!("{:?} is not the length of a packet", show(text)))
            })?;
            packets.take(Packet { place: row.place, at: row.at, bytes }, out)?;
            Ok(true)
        });
        // What was read before damage is worth keeping.
        result.and(packets.release(out))
    }
}

/// A row.
struct Packet {
    place: Place,
    at: i64,
    bytes: u32,
}

/// Rows that tell how fine the stamps are before the bins are chosen.
const WAITING: usize = 64;

/// The first rows, until there are enough of them.
#[derive(Default)]
struct Packets {
    waiting: Vec<Packet>,
    released: bool,
}

impl Packets {
    fn take(&mut self, packet: Packet, out: &mut Collector<'_>) -> Result<(), ReadError> {
        if self.released {
            return count(&packet, out);
        }
        self.waiting.push(packet);
        if self.waiting.len() < WAITING { Ok(()) } else { self.release(out) }
    }

    fn release(&mut self, out: &mut Collector<'_>) -> Result<(), ReadError> {
        self.released = true;
        out.foresee(self.waiting.iter().map(|packet| packet.at));
        self.waiting.drain(..).try_for_each(|packet| count(&packet, out))
    }
}

fn count(packet: &Packet, out: &mut Collector<'_>) -> Result<(), ReadError> {
    let frame = Frame { link: Link::Unknown, data: &[], mark: None, checksum: 0 };
    out.packet(packet.at, packet.bytes, frame).map_err(|refused| refused.at(packet.place))
}

fn has(table: &Preview, known: &[&str]) -> bool {
    let names = table.layout.names.iter().flatten().enumerate();
    let asked = |column: usize| table.roles.asked.as_ref().is_none_or(|asked| asked.contains(&column));
    names.into_iter().any(|(column, name)| asked(column) && known.contains(&name.to_ascii_lowercase().as_str()))
}

/// Whether a column can only be of lengths, by its name.
pub(super) fn has_length(table: &Preview) -> bool {
    has(table, &LENGTH)
}

/// Whether there are bytes that come at irregular times and are small enough for packets.
pub(super) fn looks_irregular(table: &Preview) -> bool {
    (has(table, &AMBIGUOUS) || table.layout.names.is_none()) && irregular(table)
}

/// Whether the second column can be lengths of packets: the steps of time differ, and no value is too large.
fn irregular(table: &Preview) -> bool {
    let numbers = |column: usize| -> Option<Vec<f64>> {
        table.rows.iter().map(|row| std::str::from_utf8(row.get(column)?).ok()?.parse().ok()).collect()
    };
    let (Some(times), Some(values)) = (numbers(0), numbers(1)) else { return false };
    times.len() >= 8
        && !regular(&times)
        && values.iter().all(|value| (1.0..=PACKET_MAX).contains(value) && value.fract() == 0.0)
}

/// Whether at least nine steps in ten are about the middle one, or a multiple of it: rows may be missing.
pub(super) fn regular(times: &[f64]) -> bool {
    let mut steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step != 0.0).collect();
    steps.sort_by(f64::total_cmp);
    let Some(&middle) = steps.get(steps.len() / 2) else { return false };
    let near = |step: f64| (step / middle - (step / middle).round().max(1.0)).abs() <= 0.1;
    middle > 0.0 && steps.iter().filter(|step| near(**step)).count() * 10 >= steps.len() * 9
}
