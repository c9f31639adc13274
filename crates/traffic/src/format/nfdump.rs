//! Flow records as `nfdump -o csv` writes them, versions 1.6 (`ts,te,td,sa,...`) and 1.7 (`firstSeen,duration,...`).
//!
//! The volume of a flow is spread evenly over its time; a flow without duration falls into one bin. Of a flow in both
//! directions (`opkt`, `obyt`), the way back counts as a flow of its own.

use super::cell::show;
use super::columns;
use super::{Format, Start};
use crate::bins::Cell;
use crate::collect::Collector;
use crate::error::ReadError;
use crate::filter::{Field, Fields};
use crate::input::Input;
use crate::stamp;
use std::net::IpAddr;

pub(super) struct Nfdump;

const START: [&str; 3] = ["ts", "firstSeen", "first"];
const END: [&str; 3] = ["te", "lastSeen", "last"];
const DURATION: [&str; 2] = ["td", "duration"];
const BYTES: [&str; 4] = ["ibyt", "bytes", "byt", "inBytes"];
const PACKETS: [&str; 4] = ["ipkt", "packets", "pkt", "inPackets"];
const BYTES_BACK: [&str; 2] = ["obyt", "outBytes"];
const PACKETS_BACK: [&str; 2] = ["opkt", "outPackets"];

fn has(names: &[String], known: &[&str]) -> bool {
    names.iter().any(|name| known.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

impl Format for Nfdump {
    fn name(&self) -> &'static str {
        "nfdump"
    }

    fn recognises(&self, start: &Start<'_>) -> bool {
        let names = start.table.as_ref().and_then(|table| table.layout.names.as_ref());
        names.is_some_and(|names| {
            has(names, &START) && has(names, &BYTES) && (has(names, &END) || has(names, &DURATION))
        })
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let mut lines = super::table::Lines::new(input)?;
        let place = crate::error::Place::Line { line: 1, offset: 0 };
        let Some(first) = lines.next()? else { return Err(ReadError::data(place, "the table is empty")) };
        // The time is what nfdump calls it, whatever else there is.
        let clock = super::clock::Clock::new(None, out.settings.request.time_format.as_deref());
        let layout = super::table::Layout::of(first.text, &clock);
        let names = layout.names.as_deref().unwrap_or_default();
        let time = names.iter().find(|name| START.iter().any(|known| name.eq_ignore_ascii_case(known))).cloned();
        let Some(time) = out.settings.request.time.clone().or(time) else {
            return Err(ReadError::data(place, "no column ts or firstSeen: not a table of nfdump"));
        };
        let request = crate::request::Request { time: Some(time), by: None, ..out.settings.request.clone() };
        let columns = columns::Columns::of(first, &request)?;
        columns.unordered();
        let column = |known: &[&str]| columns.named(known);
        let (end, duration) = (column(&END), column(&DURATION));
        let Some(bytes) = column(&BYTES) else {
            return Err(ReadError::data(place, "no column ibyt or bytes: not a table of nfdump"));
        };
        let packets = column(&PACKETS);
        let back = column(&BYTES_BACK).map(|bytes| (bytes, column(&PACKETS_BACK)));
        let headers = Headers {
            source: column(&["sa", "srcAddr"]),
            destination: column(&["da", "dstAddr"]),
            source_port: column(&["sp", "srcPort"]),
            destination_port: column(&["dp", "dstPort"]),
            protocol: column(&["pr", "proto", "protocol"]),
        };
        lines.until(b"Summary");
        columns.rows(None, &mut lines, |row| {
            let count = |column: Option<usize>| column.map_or(Ok(0), |column| columns.count(row, column));
            let cell = |bytes: u64, packets: u64| Cell {
                bytes: bytes.min(i64::MAX as u64) as i64,
                packets: packets.min(i64::MAX as u64) as i64,
            };
            let field = |column: usize| columns.field(row, column);
            let unreadable = |text: &[u8]| ReadError::data(row.place, format!("{:?} is not a time", show(text)));
            let last = match (end, duration) {
                (Some(end), _) => columns.stamp(field(end)?, row.key, row.place)?,
                (None, Some(duration)) => {
                    let text = field(duration)?;
                    row.at.saturating_add(stamp::span(text).ok_or_else(|| unreadable(text))?)
                }
                (None, None) => row.at,
            };
            // Exporters with a broken clock write flows that end before they begin.
            let last = last.clamp(row.at, stamp::MAX);
            let fields = headers.of(row.fields);
            let place = row.place;
            out.flow(row.at, last, cell(count(Some(bytes))?, count(packets)?), &fields).map_err(|r| r.at(place))?;
            if let Some((bytes, packets)) = back {
                let there = cell(count(Some(bytes))?, count(packets)?);
                if there != Cell::default() {
                    out.flow(row.at, last, there, &fields.reversed()).map_err(|r| r.at(place))?;
                }
            }
            Ok(true)
        })
    }
}

/// The columns that a filter looks at.
struct Headers {
    source: Option<usize>,
    destination: Option<usize>,
    source_port: Option<usize>,
    destination_port: Option<usize>,
    protocol: Option<usize>,
}

impl Headers {
    fn of(&self, row: &[&[u8]]) -> Fields {
        let text = |column: Option<usize>| std::str::from_utf8(row.get(column?)?).ok();
        let known = |value: Option<u16>| value.map_or(Field::Cut, Field::Is);
        let address = |column| text(column).and_then(|text| text.parse::<IpAddr>().ok()).map_or(Field::Cut, Field::Is);
        let (source, destination) = (address(self.source), address(self.destination));
        let version = match source {
            Field::Is(IpAddr::V4(_)) => Field::Is(4),
            Field::Is(IpAddr::V6(_)) => Field::Is(6),
            _ => Field::Cut,
        };
        // The port column of ICMP holds type and code, as "3.1" or a number.
        let protocol = text(self.protocol).and_then(protocol);
        let ports = protocol.is_none_or(|protocol| matches!(protocol, 6 | 17 | 33 | 132 | 136));
        let port = |column| if ports { known(text(column).and_then(|text| text.parse().ok())) } else { Field::Absent };
        Fields {
            version,
            source,
            destination,
            protocol: protocol.map_or(Field::Cut, Field::Is),
            source_port: port(self.source_port),
            destination_port: port(self.destination_port),
            ..Fields::NONE
        }
    }
}

/// A protocol by number or by the name that nfdump writes.
fn protocol(text: &str) -> Option<u8> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let names = [
        ("ICMP", 1),
        ("IGMP", 2),
        ("IPIP", 4),
        ("TCP", 6),
        ("UDP", 17),
        ("DCCP", 33),
        ("IPv6", 41),
        ("GRE", 47),
        ("ESP", 50),
        ("AH", 51),
        ("ICMP6", 58),
        ("EIGRP", 88),
        ("OSPF", 89),
        ("PIM", 103),
        ("VRRP", 112),
        ("L2TP", 115),
        ("SCTP", 132),
        ("UDPlt", 136),
    ];
    names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, number)| *number)
}
