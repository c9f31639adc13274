//! Transports without a standard header on the wire: NDP, SCDP, and whatever else has none here. Their packets are UDP datagrams
//! that begin with 36 bytes: with IPv4 and UDP the 64 bytes that the simulator counts for their headers.
//!
//! `docs/reference/results.md` has the layout, `tools/wireshark/anabranch.lua` reads it. Numbers are big endian; those of more bits
//! than they have here wrap, and "none" is all ones.

use super::flows::Ends;
use crate::engine::arena::{Hot, flag};
use crate::host::stack::Header;
use anabranch_transport::scdp::{Layout, Mode, Symbol};
use anabranch_transport::{ndp, scdp};

/// Bytes of a header.
pub(super) const LENGTH: usize = 36;

/// The first two bytes, by which a dissector knows it: "AB".
const MAGIC: [u8; 2] = *b"AB";

/// Which protocol (upper half of the third byte).
#[derive(Clone, Copy)]
enum Protocol {
    /// One without a form of its own here.
    Other = 0,
    Ndp = 1,
    Scdp = 2,
}

/// What a packet is (lower half of the third byte).
#[derive(Clone, Copy)]
enum Kind {
    /// Payload, or a symbol; or what a switch left of it.
    Data = 1,
    Ack = 2,
    Nack = 3,
    Pull = 4,
    GivenUp = 5,
    /// Anything without payload of a protocol without a form of its own.
    Control = 6,
}

/// Bits of the fifth byte, above the priority.
const TRIMMED: u8 = 0x80;
const RETURNED: u8 = 0x40;
const CONTROL: u8 = 0x20;
const PUSHED: u8 = 0x10;
const MULTICAST: u8 = 0x08;

/// A header that is being written.
struct Bytes {
    bytes: [u8; LENGTH],
    used: usize,
}

impl Bytes {
    /// The lowest bytes of a number.
    fn put(&mut self, number: u64, bytes: usize) {
        self.bytes[self.used..self.used + bytes].copy_from_slice(&number.to_be_bytes()[8 - bytes..]);
        self.used += bytes;
    }
}

/// What a packet says, in 36 bytes.
pub(super) fn encapsulate(hot: &Hot, header: &Header, ends: &Ends) -> [u8; LENGTH] {
    let (protocol, kind, own) = match header {
        Header::Ndp(header) => (Protocol::Ndp, ndp_kind(header), ndp_bits(header)),
        Header::Scdp(header) => (Protocol::Scdp, scdp_kind(header), scdp_bits(header)),
        _ => (Protocol::Other, if hot.has(flag::DATA) { Kind::Data } else { Kind::Control }, 0),
    };
    let mut shared = hot.priority();
    for (flag, bit) in [
        (hot.has(flag::TRIMMED), TRIMMED),
        (hot.has(flag::RETURNED), RETURNED),
        (hot.has(flag::CONTROL), CONTROL),
        (hot.pushed(), PUSHED),
        (hot.has(flag::MULTICAST), MULTICAST),
    ] {
        shared |= if flag { bit } else { 0 };
    }
    let mut out = Bytes { bytes: [0; LENGTH], used: 0 };
    out.put(u64::from(u16::from_be_bytes(MAGIC)), 2);
    out.put((protocol as u64) << 4 | kind as u64, 1);
    out.put(u64::from(own), 1);
    out.put(u64::from(shared), 1);
    out.put(u64::from(payload(hot, header, ends)), 2);
    out.put(u64::from(ends.session), 4);
    out.put(u64::from(hot.path), 4);
    match header {
        Header::Ndp(header) => put_ndp(&mut out, header),
        Header::Scdp(header) => put_scdp(&mut out, header),
        _ => {}
    }
    out.bytes
}

/// Payload bytes that the packet has, or had before a switch cut them off.
fn payload(hot: &Hot, header: &Header, ends: &Ends) -> u16 {
    if !hot.has(flag::TRIMMED) {
        return hot.size - hot.trimmed_size.min(hot.size);
    }
    match header {
        Header::Ndp(ndp::Header::Data { seq, object, .. }) => {
            let before = seq.saturating_mul(u64::from(ends.payload));
            object.saturating_sub(before).min(u64::from(ends.payload)) as u16
        }
        Header::Scdp(scdp::Header::Symbol(symbol)) => symbol_bytes(symbol),
        _ => ends.payload,
    }
}

fn symbol_bytes(symbol: &Symbol) -> u16 {
    let full = symbol.options.symbol_bytes;
    let layout = Layout::from_options(&symbol.options).filter(|layout| layout.is_last(symbol.block, symbol.esi));
    layout.map_or(full, |layout| layout.last_symbol_bytes(symbol.options.object_bytes, u64::from(full)) as u16)
}

fn ndp_kind(header: &ndp::Header) -> Kind {
    match header {
        ndp::Header::Data { .. } => Kind::Data,
        ndp::Header::Ack { .. } => Kind::Ack,
        ndp::Header::Nack { .. } => Kind::Nack,
        ndp::Header::Pull { .. } => Kind::Pull,
    }
}

/// Data: 1 the last packet, 2 *syn*. Pull: 1 packets of the initial window are still expected.
fn ndp_bits(header: &ndp::Header) -> u8 {
    match header {
        ndp::Header::Data { last, syn, .. } => u8::from(*last) | u8::from(syn.is_some()) << 1,
        ndp::Header::Pull { pushed, .. } => u8::from(*pushed),
        ndp::Header::Ack { .. } | ndp::Header::Nack { .. } => 0,
    }
}

fn put_ndp(out: &mut Bytes, header: &ndp::Header) {
    match *header {
        ndp::Header::Data { seq, pull, object, sent, syn, .. } => {
            out.put(seq, 5);
            out.put(pull, 4);
            out.put(object, 6);
            out.put(u64::from(sent.0), 4);
            out.put(syn.map_or(0, |burst| u64::from(burst.get())), 2);
        }
        ndp::Header::Ack { seq, below, sent } => {
            out.put(seq, 5);
            out.put(below, 5);
            out.put(u64::from(sent.0), 4);
        }
        ndp::Header::Nack { seq, below } => {
            out.put(seq, 5);
            out.put(below, 5);
        }
        ndp::Header::Pull { number, void, below, .. } => {
            out.put(number, 5);
            out.put(void, 5);
            out.put(below, 5);
        }
    }
}

fn scdp_kind(header: &scdp::Header) -> Kind {
    match header {
        scdp::Header::Symbol(_) => Kind::Data,
        scdp::Header::Pull(_) => Kind::Pull,
        scdp::Header::GivenUp => Kind::GivenUp,
    }
}

/// Symbol: 1 *syn*, and the mode in the bits 2 and 4. Pull: 1 *fin*, 2 repeated, 4 the receiver has everything.
fn scdp_bits(header: &scdp::Header) -> u8 {
    match header {
        scdp::Header::Symbol(symbol) => {
            let mode = match symbol.options.mode {
                Mode::Unicast => 0,
                Mode::OneToMany => 1,
                Mode::ManyToOne => 2,
            };
            u8::from(symbol.syn) | mode << 1
        }
        scdp::Header::Pull(pull) => u8::from(pull.fin) | u8::from(pull.retry) << 1 | u8::from(pull.done) << 2,
        scdp::Header::GivenUp => 0,
    }
}

fn put_scdp(out: &mut Bytes, header: &scdp::Header) {
    match header {
        scdp::Header::Symbol(Symbol { block, esi, index, options, .. }) => {
            out.put(u64::from(*block), 4);
            out.put(u64::from(*esi), 3);
            out.put(u64::from(*index), 3);
            out.put(options.object_bytes, 6);
            out.put(u64::from(options.block_symbols), 2);
            out.put(u64::from(options.window), 2);
            out.put(u64::from(options.lanes.min(255)), 1);
        }
        scdp::Header::Pull(pull) => {
            out.put(u64::from(pull.block), 4);
            out.put(u64::from(pull.upto), 4);
            out.put(u64::from(pull.base), 4);
        }
        scdp::Header::GivenUp => {}
    }
}
