//! pcapng (draft-ietf-opsawg-pcapng): blocks; every section has its own byte order and interfaces, every interface its
//! own resolution of time and link type.
//!
//! Counted are enhanced packet blocks, the obsolete packet blocks, and simple packet blocks; these have no time stamp,
//! so they are in the total and in no bin. Other blocks are skipped.

use super::{Format, Start};
use crate::collect::Collector;
use crate::error::{Place, ReadError};
use crate::filter::{Frame, Link, Way};
use crate::input::{CAPACITY, Input, More};
use crate::stamp::{self, SECOND};

pub(super) struct Pcapng;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const ENHANCED: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Bytes of a block at most. Wireshark has the same limit.
const BLOCK_MAX: u32 = 128 << 20;

/// Interfaces of a section at most: a hostile file would otherwise fill the memory with 20 bytes each.
const INTERFACES_MAX: usize = 1 << 16;

/// How stamps of an interface become nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ticks {
    /// A tick is this many nanoseconds.
    Multiply(i128),
    /// So many ticks are a nanosecond.
    Divide(i128),
    /// 2^n ticks are a second.
    Binary(u32),
}

impl Ticks {
    /// The option `if_tsresol`: a negative power of 10, or of 2 if the top bit is set.
    fn of(resolution: u8) -> Option<Self> {
        let exponent = u32::from(resolution & 0x7f);
        if resolution & 0x80 != 0 {
            return (exponent < 96).then_some(Self::Binary(exponent));
        }
        if exponent <= 9 {
            Some(Self::Multiply(10_i128.pow(9 - exponent)))
        } else {
            10_i128.checked_pow(exponent - 9).map(Self::Divide)
        }
    }

    fn nanoseconds(self, ticks: u64) -> i128 {
        let ticks = i128::from(ticks);
        match self {
            Self::Multiply(by) => ticks * by,
            Self::Divide(by) => ticks / by,
            Self::Binary(bits) => (ticks * i128::from(SECOND)) >> bits,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Link,
    ticks: Ticks,
    offset: i128,
    checksum: u8,
}

/// Numbers in the byte order of the section.
#[derive(Clone, Copy, Debug)]
struct Order {
    big: bool,
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = bytes.get(at..)?.first_chunk()?;
        Some(if self.big { u16::from_be_bytes(*bytes) } else { u16::from_le_bytes(*bytes) })
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = bytes.get(at..)?.first_chunk()?;
        Some(if self.big { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) })
    }

    fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let bytes = bytes.get(at..)?.first_chunk()?;
        Some(if self.big { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) })
    }

    /// The value of an option, if it is there; options begin at `at`.
    fn option(self, block: &[u8], mut at: usize, wanted: u16) -> Option<&[u8]> {
        loop {
            let (code, length) = (self.u16(block, at)?, usize::from(self.u16(block, at + 2)?));
            if code == 0 {
                return None;
            }
            if code == wanted {
                return block.get(at + 4..at + 4 + length);
            }
            at += 4 + length.next_multiple_of(4);
        }
    }
}

impl Format for Pcapng {
    fn name(&self) -> &'static str {
        "pcapng"
    }

    fn recognises(&self, start: &Start<'_>) -> bool {
        start.bytes.starts_with(&SECTION.to_be_bytes()) && byte_order(start.bytes).is_some()
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let mut section = Section { order: Order { big: false }, interfaces: Vec::new(), begun: false };
        loop {
            let mut used = 0;
            let window = input.window();
            let base = input.offset();
            while let Some(head) = window.get(used..).filter(|rest| rest.len() >= 12) {
                let place = input.place(base + used as u64);
                let length = section.begin(head, place)?;
                let Some(block) = window.get(used..used + length) else { break };
                let stated = section.order.u32(block, length - 4);
                if stated != Some(length as u32) {
                    let stated = stated.unwrap_or_default();
                    let message = format!("the block says {length} bytes at its start and {stated} at its end");
                    return Err(ReadError::hinted(place, message, DAMAGED));
                }
                section.block(block, place, out)?;
                used += length;
            }
            input.consume(used);
            match input.more()? {
                More::Some => {}
                More::End => break,
                More::Full => {
                    // A block longer than the window: what is here of it is more than is looked at.
                    let place = input.place(input.offset());
                    let length = section.begin(input.window(), place)?;
                    section.block(input.window(), place, out)?;
                    if !input.skip(length as u64)? {
                        return Err(ReadError::hinted(place, format!("the block of {length} bytes is cut"), CUT));
                    }
                }
            }
        }
        let left = input.window().len();
        if left > 0 {
            let place = input.place(input.offset());
            return Err(ReadError::hinted(place, format!("the last block is cut: {left} bytes of it"), CUT));
        }
        Ok(())
    }
}

const DAMAGED: &str = "the file is damaged here or before; --keep-partial keeps what was read before it";
const CUT: &str = "the capture was probably ended while writing; --keep-partial keeps all before this block";

/// The byte order of a section, from its header block.
fn byte_order(block: &[u8]) -> Option<Order> {
    let magic = *block.get(8..)?.first_chunk::<4>()?;
    if u32::from_be_bytes(magic) == BYTE_ORDER {
        Some(Order { big: true })
    } else {
        (u32::from_le_bytes(magic) == BYTE_ORDER).then_some(Order { big: false })
    }
}

struct Section {
    order: Order,
    interfaces: Vec<Interface>,
    begun: bool,
}

impl Section {
    /// Looks at the first 12 bytes of a block: its length. A section header sets the byte order.
    fn begin(&mut self, head: &[u8], place: Place) -> Result<usize, ReadError> {
        if head.starts_with(&SECTION.to_be_bytes()) {
            let order = byte_order(head);
            self.order = order.ok_or_else(|| ReadError::hinted(place, "the section has no byte order", DAMAGED))?;
            self.begun = true;
            self.interfaces.clear();
        } else if !self.begun {
            return Err(ReadError::data(place, "not a pcapng file: it does not begin with a section header"));
        }
        let length = self.order.u32(head, 4).unwrap_or_default();
        if length < 12 || !length.is_multiple_of(4) || length > BLOCK_MAX {
            let message = format!("a block of {length} bytes: expected a multiple of 4 from 12 to {BLOCK_MAX}");
            return Err(ReadError::hinted(place, message, DAMAGED));
        }
        Ok(length as usize)
    }

    /// Takes a block, or as much of it as the window holds.
    fn block(&mut self, block: &[u8], place: Place, out: &mut Collector<'_>) -> Result<(), ReadError> {
        let order = self.order;
        let kind = order.u32(block, 0).unwrap_or_default();
        let short =
            || ReadError::hinted(place, format!("the block of kind {kind} is too short for its fields"), DAMAGED);
        match kind {
            INTERFACE => self.interface(block, place).transpose().unwrap_or_else(|| Err(short())),
            ENHANCED | OLD_PACKET => {
                let number = match kind {
                    ENHANCED => order.u32(block, 8),
                    _ => order.u16(block, 8).map(u32::from),
                };
                let (Some(number), Some(high), Some(low), Some(kept), Some(wire)) =
                    (number, order.u32(block, 12), order.u32(block, 16), order.u32(block, 20), order.u32(block, 24))
                else {
                    return Err(short());
                };
                let Some(interface) = self.interfaces.get(number as usize).copied() else {
                    let known = self.interfaces.len();
                    let message = format!("a packet of interface {number}, but the section describes {known} so far");
                    return Err(ReadError::hinted(place, message, DAMAGED));
                };
                let room = block.len().saturating_sub(32);
                if kept as usize > room && block.len() < CAPACITY {
                    let message = format!("a packet of {kept} bytes in a block that has room for {room}");
                    return Err(ReadError::hinted(place, message, DAMAGED));
                }
                let data = block.get(28..28 + (kept as usize).min(room)).unwrap_or_default();
                let ticks = u64::from(high) << 32 | u64::from(low);
                let Some(at) = stamp::checked(interface.ticks.nanoseconds(ticks) + interface.offset) else {
                    let message = "the time stamp is more than 146 years from 1970";
                    return Err(ReadError::hinted(place, message, DAMAGED));
                };
                let mark = if out.selective() {
                    self.mark(block, 28 + (kept as usize).next_multiple_of(4)).or_else(|| interface.link.mark(data))
                } else {
                    None
                };
                let frame = Frame { link: interface.link, data, mark, checksum: interface.checksum };
                out.packet(at, wire, frame).map_err(|refused| refused.at(place))
            }
            SIMPLE => {
                let Some(wire) = order.u32(block, 8) else { return Err(short()) };
                if self.interfaces.is_empty() {
                    return Err(ReadError::hinted(
                        place,
                        "a packet before the section describes an interface",
                        DAMAGED,
                    ));
                }
                out.unstamped(wire);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The direction in the flags of a packet: 1 in, 2 out.
    fn mark(&self, block: &[u8], options: usize) -> Option<Way> {
        let end = block.len().saturating_sub(4);
        let flags = self.order.u32(self.order.option(block.get(..end)?, options, 2)?, 0)?;
        match flags & 3 {
            1 => Some(Way::In),
            2 => Some(Way::Out),
            _ => None,
        }
    }

    /// Takes the description of an interface; none if it is too short.
    fn interface(&mut self, block: &[u8], place: Place) -> Result<Option<()>, ReadError> {
        let order = self.order;
        let (Some(link), Some(_snaplen)) = (order.u16(block, 8), order.u32(block, 12)) else { return Ok(None) };
        let options = block.get(..block.len().saturating_sub(4)).unwrap_or_default();
        let ticks = match order.option(options, 16, 9).and_then(<[u8]>::first) {
            None => Ticks::Multiply(1000),
            Some(&resolution) => Ticks::of(resolution).ok_or_else(|| {
                ReadError::hinted(place, format!("time in units of {resolution:#04x} is too fine to be true"), DAMAGED)
            })?,
        };
        let offset = order.option(options, 16, 14).and_then(|value| order.u64(value, 0)).unwrap_or_default() as i64;
        let checksum = order.option(options, 16, 13).and_then(|value| value.first().copied()).unwrap_or_default();
        if self.interfaces.len() >= INTERFACES_MAX {
            return Err(ReadError::hinted(place, format!("more than {INTERFACES_MAX} interfaces"), DAMAGED));
        }
        let offset = i128::from(offset) * i128::from(SECOND);
        self.interfaces.push(Interface { link: Link::of(link), ticks, offset, checksum });
        Ok(Some(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolutions_become_nanoseconds_exactly() {
        for (resolution, ticks, ns) in [
            (6, 1_234_567, 1_234_567_000),
            (9, 1_234_567_890, 1_234_567_890),
            (0, 5, 5_000_000_000),
            (12, 1_999, 1),
            (0x8a, 1024 + 512, 1_500_000_000),
            (0xa0, 1 << 31, 500_000_000),
        ] {
            assert_eq!(Ticks::of(resolution).map(|t| t.nanoseconds(ticks)), Some(ns), "{resolution:#x}");
        }
        assert_eq!(Ticks::of(0x7f), None);
        assert_eq!(Ticks::of(0xff), None);
    }
}
