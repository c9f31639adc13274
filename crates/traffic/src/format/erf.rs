//! ERF, the format of Endace DAG cards: records of a 16-byte header, extension headers, and what was kept of the packet.
//!
//! There are no magic bytes: a file is ERF if its first records follow each other as they should. Lengths are those
//! on the wire and include the frame check sequence of Ethernet.

use super::{Format, Start};
use crate::collect::Collector;
use crate::error::ReadError;
use crate::filter::{Frame, Link};
use crate::input::Input;
use crate::stamp::SECOND;

pub(super) struct Erf;

/// Types of records that are packets.
const ETHERNET: [u8; 4] = [2, 11, 16, 20];
const IPV4: u8 = 22;
const IPV6: u8 = 23;
const HDLC: [u8; 5] = [1, 10, 15, 17, 19];
/// Records that are not packets: metadata, and padding.
const META: u8 = 27;
const PAD: u8 = 48;

/// The most a record can be: its length has 16 bits.
const RECORD_MAX: usize = 65_535;

struct Header {
    kind: u8,
    at: i64,
    length: usize,
    wire: u16,
    extended: bool,
}

impl Header {
    fn of(bytes: &[u8]) -> Option<Self> {
        let [t0, t1, t2, t3, t4, t5, t6, t7, kind, _flags, l0, l1, _, _, w0, w1] = *bytes.first_chunk::<16>()?;
        // 32.32 fixed point since 1970, little-endian; all else is big-endian.
        let time = u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
        let fraction = ((time & 0xffff_ffff) * SECOND as u64) >> 32;
        Some(Self {
            kind: kind & 0x7f,
            at: (time >> 32) as i64 * SECOND + fraction as i64,
            length: usize::from(u16::from_be_bytes([l0, l1])),
            wire: u16::from_be_bytes([w0, w1]),
            extended: kind & 0x80 != 0,
        })
    }

    fn is_packet(&self) -> bool {
        ![META, PAD].contains(&self.kind)
    }

    /// Where the packet begins in its record.
    fn data<'r>(&self, record: &'r [u8]) -> (Link, &'r [u8], u8) {
        let mut at = 16;
        let mut more = self.extended;
        while more {
            more = record.get(at).is_some_and(|first| first & 0x80 != 0);
            at += 8;
        }
        // Two bytes of offset and padding before an Ethernet frame.
        let (link, skip, checksum) = match self.kind {
            kind if ETHERNET.contains(&kind) => (Link::Ethernet, 2, 4),
            kind if HDLC.contains(&kind) => (Link::Hdlc, 0, 0),
            IPV4 | IPV6 => (Link::Ip, 0, 0),
            _ => (Link::Unknown, 0, 0),
        };
        (link, record.get(at + skip..).unwrap_or_default(), checksum)
    }
}

impl Format for Erf {
    fn name(&self) -> &'static str {
        "erf"
    }

    /// All records within the first bytes have a known type and a sane length, and their time does not jump.
    fn recognises(&self, start: &Start<'_>) -> bool {
        let (mut used, mut seen, mut before) = (0, 0, None);
        while let Some(header) = start.bytes.get(used..).and_then(Header::of) {
            let known = (1..=27).contains(&header.kind) || header.kind == PAD;
            let day = 86_400 * SECOND as u64;
            let near = before.is_none_or(|before: i64| before.abs_diff(header.at) < day);
            let sane = header.length >= 16 && (!header.is_packet() || (header.wire > 0 && near));
            if !known || !sane {
                return false;
            }
            if header.is_packet() {
                before = Some(header.at);
            }
            used += header.length;
            seen += 1;
        }
        // One record alone must be all there is.
        seen > 1 || (seen == 1 && start.whole && used == start.bytes.len())
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        const CUT: &str = "the capture was probably ended while writing; --keep-partial keeps all before this record";
        const DAMAGED: &str =
            "the file is damaged here or before, or not ERF; --keep-partial keeps what was read before it";
        loop {
            input.fill(RECORD_MAX)?;
            let window = input.window();
            let ended = window.len() < RECORD_MAX;
            let mut used = 0;
            while let Some(header) = window.get(used..).and_then(Header::of) {
                let place = input.place(input.offset() + used as u64);
                if header.length < 16 {
                    let message = format!("a record of {} bytes: expected at least 16", header.length);
                    return Err(ReadError::hinted(place, message, DAMAGED));
                }
                let Some(record) = window.get(used..used + header.length) else { break };
                if header.is_packet() {
                    let (link, data, checksum) = header.data(record);
                    let frame = Frame { link, data, mark: None, checksum };
                    out.packet(header.at, header.wire.into(), frame).map_err(|refused| refused.at(place))?;
                }
                used += header.length;
            }
            let left = window.len() - used;
            input.consume(used);
            if ended {
                return match left {
                    0 => Ok(()),
                    left => {
                        let place = input.place(input.offset());
                        Err(ReadError::hinted(place, format!("the last record is cut: {left} bytes of it"), CUT))
                    }
                };
            }
        }
    }
}
