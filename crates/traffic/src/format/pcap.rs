//! pcap, the format of libpcap (draft-ietf-opsawg-pcap): a file header of 24 bytes, then records.
//!
//! Microseconds or nanoseconds, either byte order, and the variant of A. Kuznetzov whose records have 8 bytes more. What
//! counts is the original length of a packet, not how much of it was kept.

use super::{Format, Start};
use crate::collect::Collector;
use crate::error::ReadError;
use crate::filter::{Frame, Link};
use crate::input::{Input, More};
use crate::stamp::SECOND;

pub(super) struct Pcap;

/// Bytes of a packet at most, unless the file header allows more: that of libpcap (`MAXIMUM_SNAPLEN`).
const SNAPLEN: u32 = 262_144;

/// More than this the file header may not allow either: USB captures go up to here.
const SNAPLEN_MAX: u32 = 128 << 20;

/// What the file header says.
#[derive(Clone, Copy, Debug)]
struct Head {
    big: bool,
    /// Nanoseconds in a unit of the fraction.
    unit: i64,
    /// Bytes of a record header.
    record: usize,
    limit: u32,
    link: Link,
    checksum: u8,
}

impl Head {
    #[inline]
    fn frame(self, data: &[u8], looked_into: bool) -> Frame<'_> {
        let mark = if looked_into { self.link.mark(data) } else { None };
        Frame { link: self.link, data, mark, checksum: self.checksum }
    }
}

/// (magic in the byte order of the file, nanoseconds per unit, bytes of a record header)
const MAGICS: [(u32, i64, usize); 3] = [(0xa1b2_c3d4, 1000, 16), (0xa1b2_3c4d, 1, 16), (0xa1b2_cd34, 1000, 24)];

fn magic(bytes: &[u8]) -> Option<(bool, i64, usize)> {
    let bytes = *bytes.first_chunk::<4>()?;
    let find = |value: u32| MAGICS.iter().find(|magic| magic.0 == value);
    let little = find(u32::from_le_bytes(bytes)).map(|magic| (false, magic.1, magic.2));
    little.or_else(|| find(u32::from_be_bytes(bytes)).map(|magic| (true, magic.1, magic.2)))
}

impl Format for Pcap {
    fn name(&self) -> &'static str {
        "pcap"
    }

    fn recognises(&self, start: &Start<'_>) -> bool {
        magic(start.bytes).is_some()
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let head = head(input)?;
        if head.big { records::<true>(input, out, head) } else { records::<false>(input, out, head) }
    }
}

fn head(input: &mut Input<'_>) -> Result<Head, ReadError> {
    let filled = input.fill(24)?;
    let place = input.place(input.offset());
    let Some((big, unit, record)) = magic(input.window()) else {
        return Err(ReadError::data(place, "not a pcap file: it does not begin with a1b2c3d4 in either byte order"));
    };
    let bytes = input.window();
    if !filled {
        return Err(ReadError::data(place, format!("the file header is cut: {} of 24 bytes", bytes.len())));
    }
    let word = |at: usize| -> u32 {
        let bytes = bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).unwrap_or_default();
        if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    let (snaplen, network) = (word(16), word(20));
    // The top four bits say how many 16-bit words of frame check sequence there are, if the bit below is set.
    let checksum = if network & 0x0400_0000 != 0 { (network >> 28) as u8 * 2 } else { 0 };
    let limit = if snaplen > SNAPLEN_MAX { SNAPLEN } else { snaplen.max(SNAPLEN) };
    input.consume(24);
    Ok(Head { big, unit, record, limit, link: Link::of(network as u16), checksum })
}

/// A record header: time, bytes kept, original length.
#[inline]
fn header<const BIG: bool>(bytes: [u8; 16], unit: i64) -> (i64, u32, u32) {
    let word = |at: usize| {
        let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if BIG { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    let at = i64::from(word(0)) * SECOND + i64::from(word(4)) * unit;
    (at, word(8), word(12))
}

fn records<const BIG: bool>(input: &mut Input<'_>, out: &mut Collector<'_>, head: Head) -> Result<(), ReadError> {
    let looked_into = out.selective();
    loop {
        let window = input.window();
        let mut used = 0;
        while let Some(bytes) = window.get(used..).and_then(|rest| rest.first_chunk::<16>()) {
            let (at, kept, wire) = header::<BIG>(*bytes, head.unit);
            if kept > head.limit {
                return Err(too_long(input, used, kept, head.limit));
            }
            let start = used + head.record;
            let Some(data) = window.get(start..start + kept as usize) else { break };
            if let Err(refused) = out.packet(at, wire, head.frame(data, looked_into)) {
                return Err(refused.at(input.place(input.offset() + used as u64)));
            }
            used = start + kept as usize;
        }
        input.consume(used);
        match input.more()? {
            More::Some => {}
            More::End => break,
            More::Full => {
                // A packet longer than the window: what is here of it is more than a filter looks at.
                let Some(bytes) = input.window().first_chunk::<16>() else { break };
                let (at, kept, wire) = header::<BIG>(*bytes, head.unit);
                let place = input.place(input.offset());
                let data = input.window().get(head.record..).unwrap_or_default();
                out.packet(at, wire, head.frame(data, looked_into)).map_err(|refused| refused.at(place))?;
                if !input.skip(head.record as u64 + u64::from(kept))? {
                    return Err(cut(place, "its packet ends before the file should"));
                }
            }
        }
    }
    let place = input.place(input.offset());
    match input.window().len() {
        0 => Ok(()),
        left if left < head.record => Err(cut(place, &format!("{left} bytes of a record header of {}", head.record))),
        left => Err(cut(place, &format!("{} bytes of a packet", left - head.record))),
    }
}

fn cut(place: crate::error::Place, left: &str) -> ReadError {
    ReadError::hinted(
        place,
        format!("the last record is cut: {left}"),
        "the capture was probably ended while writing; --keep-partial keeps all before this record",
    )
}

#[cold]
fn too_long(input: &Input<'_>, used: usize, kept: u32, limit: u32) -> ReadError {
    ReadError::hinted(
        input.place(input.offset() + used as u64),
        format!("the record says that {kept} bytes of its packet follow, the file header allows {limit}"),
        "the file is damaged here or before; --keep-partial keeps what was read before it",
    )
}
