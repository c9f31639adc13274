//! TCP headers: those of TCP's segments and, with the options of MPTCP, of its subflows'.
//!
//! The simulator's offsets count the application's bytes from 0. On the wire SYN has the sequence number 0 and the first byte 1, so
//! that raw and relative numbers are the same; they wrap at 2^32, as they do (RFC 9293 §3.4).

use super::flows::Ends;
use crate::engine::arena::Hot;
use anabranch_transport::tcp::{Flags, Segment};
use etherparse::TcpHeader;

/// Kinds of options: RFC 9293 §3.1, RFC 7323 §2.2, RFC 2018 §2 and §3, RFC 8684 §3.
const NOP: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const MPTCP: u8 = 30;

/// Subtype of a data sequence signal, in the upper half of a byte (RFC 8684 §3.3).
const DSS: u8 = 2 << 4;
/// What is in it: a data ACK of 64 bits; a mapping with a number of 64 bits; the end of the data.
const DATA_ACK: u8 = 0x01 | 0x02;
const MAPPING: u8 = 0x04 | 0x08;
const DATA_FIN: u8 = 0x10;

/// The bytes of options that a header can have (RFC 9293 §3.1).
const MOST: usize = 40;

/// Options, each with what aligns it to four bytes before it.
#[derive(Default)]
struct Options {
    bytes: Vec<u8>,
}

impl Options {
    fn add(&mut self, kind: u8, value: &[u8]) {
        let length = value.len() + 2;
        let aligned = length.next_multiple_of(4);
        if self.bytes.len() + aligned > MOST {
            return;
        }
        self.bytes.resize(self.bytes.len() + aligned - length, NOP);
        self.bytes.extend([kind, length as u8]);
        self.bytes.extend(value);
    }
}

/// The number on the wire of an offset: behind SYN.
fn number(offset: u64) -> u32 {
    offset.wrapping_add(1) as u32
}

/// The header of a segment. `data`: of a subflow's, where its data belongs, or what has arrived (see [`anabranch_transport::multipath::Header`]).
/// The checksum is not there yet.
pub(super) fn tcp(segment: &Segment, data: Option<u64>, hot: &Hot, ends: &Ends) -> TcpHeader {
    let flags = segment.flags;
    let syn = flags.has(Flags::SYN);
    // A SYN's window is not scaled (RFC 7323 §2.2). Rounded up: nobody sends beyond what is told here.
    let scale = if syn { 0 } else { ends.scale };
    let window = (u64::from(segment.window) + (1 << scale) - 1) >> scale;
    let mut header = TcpHeader::new(
        ends.source.port(),
        ends.destination.port(),
        if syn { 0 } else { number(segment.seq) },
        window.min(u64::from(u16::MAX)) as u16,
    );
    header.syn = syn;
    header.fin = flags.has(Flags::FIN);
    header.rst = flags.has(Flags::RST);
    header.ack = flags.has(Flags::ACK);
    header.ece = flags.has(Flags::ECE);
    header.cwr = flags.has(Flags::CWR);
    if header.ack {
        header.acknowledgment_number = number(segment.ack);
    }
    // What is too much is left out.
    let _ = header.set_options_raw(&options(segment, data, hot, ends).bytes);
    header
}

fn options(segment: &Segment, data: Option<u64>, hot: &Hot, ends: &Ends) -> Options {
    let mut options = Options::default();
    let flags = segment.flags;
    if flags.has(Flags::SYN) {
        if flags.has(Flags::SACK_PERMITTED) {
            options.add(SACK_PERMITTED, &[]);
        }
        if ends.scale > 0 {
            options.add(WINDOW_SCALE, &[ends.scale]);
        }
        // Whoever sends options with a SYN sends this one. Without any it is told by nothing, as the simulator counts it.
        if !options.bytes.is_empty() || room(hot) >= 4 {
            options.add(MAXIMUM_SEGMENT_SIZE, &ends.payload.to_be_bytes());
        }
    }
    let mut blocks = Vec::new();
    for (start, end) in segment.sack_blocks() {
        blocks.extend(number(start).to_be_bytes());
        blocks.extend(number(end).to_be_bytes());
    }
    if !blocks.is_empty() {
        options.add(SACK, &blocks);
    }
    if let Some(data) = data {
        add_signal(&mut options, segment, data, hot);
    }
    options
}

/// Bytes that the simulator counts for options.
fn room(hot: &Hot) -> usize {
    usize::from(hot.trimmed_size).saturating_sub(20 + TcpHeader::MIN_LEN)
}

/// The data sequence signal of a subflow's segment, if the simulator counts bytes for one: MPTCP's have it, Front-Back's not. Data goes
/// one way, so that its packets have received nothing. `DATA_FIN` takes a byte of the mapping (RFC 8684 §3.3.3).
fn add_signal(options: &mut Options, segment: &Segment, data: u64, hot: &Hot) {
    let left = room(hot).saturating_sub(options.bytes.len());
    let fin = segment.flags.has(Flags::DATA_FIN);
    let bits = DATA_ACK | if fin { DATA_FIN } else { 0 };
    if segment.flags.has(Flags::SYN) || segment.flags.has(Flags::RST) {
        return;
    }
    if left >= 28 && (segment.len > 0 || fin) {
        let stream = if segment.len > 0 { number(segment.seq) } else { 0 };
        let length = segment.len.saturating_add(u16::from(fin));
        let signal =
            [&[DSS, bits | MAPPING][..], &[0; 8], &data.to_be_bytes(), &stream.to_be_bytes(), &length.to_be_bytes()];
        options.add(MPTCP, &signal.concat());
    } else if left >= 12 && segment.len == 0 {
        options.add(MPTCP, &[&[DSS, bits][..], &data.to_be_bytes()].concat());
    }
}
