//! Blocks of pcapng files (draft-ietf-opsawg-pcapng): one section, its interfaces, their packets, statistics, names of addresses.
//!
//! Written here because what counts is not in the libraries: packets go out one by one without an allocation each, with the options
//! for drops and comments, and the number of bytes is known before they are written, so that a limit can be kept.

use std::io::{self, Write};
use std::net::Ipv4Addr;

/// Packets begin with the IP header.
pub(super) const LINKTYPE_RAW: u16 = 101;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const NAME_RESOLUTION: u32 = 4;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Options of any block (§3.5).
const COMMENT: u16 = 1;
/// Options of the section header (§4.1).
const SHB_USERAPPL: u16 = 4;
/// Options of interfaces (§4.2).
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
/// Options of packets (§4.3).
const EPB_FLAGS: u16 = 2;
const EPB_DROPCOUNT: u16 = 4;
/// Options of statistics (§4.6).
const ISB_STARTTIME: u16 = 2;
const ISB_ENDTIME: u16 = 3;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;
const ISB_USRDELIV: u16 = 8;

/// Which way a packet went at the node that is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    /// It came to the node.
    Inbound,
    /// The node sent it.
    Outbound,
}

/// A directed link that is captured.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) rate_bps: u64,
}

/// A packet, as far as it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    pub(super) interface: u32,
    /// Nanoseconds since the beginning of the run.
    pub(super) time_ns: u64,
    pub(super) data: &'a [u8],
    /// Bytes on the wire.
    pub(super) length: u32,
    pub(super) direction: Direction,
    /// Packets that the interface lost since the one before.
    pub(super) dropped: u64,
    pub(super) comment: &'a str,
}

/// What is counted of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Statistics {
    /// Packets that it carried.
    pub(super) carried: u64,
    /// Packets that were lost there.
    pub(super) dropped: u64,
    /// Packets in the file.
    pub(super) written: u64,
}

/// A block that is being made.
#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
}

impl Block {
    fn begin(&mut self, kind: u32) {
        self.bytes.clear();
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend([0; 4]);
    }

    fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// A time has its upper half first, whatever the byte order (§4.3).
    fn time(&mut self, time_ns: u64) {
        self.u32((time_ns >> 32) as u32);
        self.u32(time_ns as u32);
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.u16(code);
        self.u16(value.len() as u16);
        self.bytes.extend(value);
        self.pad();
    }

    /// A text; none if it is empty.
    fn text(&mut self, code: u16, text: &str) {
        if !text.is_empty() {
            self.option(code, text.as_bytes());
        }
    }

    /// Ends the block, with the mark that ends options if it has any.
    fn end(&mut self, options: bool) {
        if options {
            self.u32(0);
        }
        let length = self.bytes.len() as u32 + 4;
        self.bytes[4..8].copy_from_slice(&length.to_le_bytes());
        self.u32(length);
    }
}

/// A file with one section. Little endian, whatever the machine: the same run makes the same bytes.
pub(super) struct Writer<W> {
    to: W,
    block: Block,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file: its section, and the interfaces in it.
    pub(super) fn new(to: W, comment: &str, snap: u32, interfaces: &[Interface]) -> io::Result<Self> {
        let mut writer = Self { to, block: Block::default(), written: 0 };
        let block = &mut writer.block;
        block.begin(SECTION_HEADER);
        block.u32(0x1a2b_3c4d);
        block.u16(1);
        block.u16(0);
        block.u32(u32::MAX); // The length of the section is not known yet.
        block.u32(u32::MAX);
        block.text(COMMENT, comment);
        block.text(SHB_USERAPPL, concat!("Anabranch ", env!("CARGO_PKG_VERSION")));
        block.end(true);
        writer.write()?;
        for interface in interfaces {
            let block = &mut writer.block;
            block.begin(INTERFACE_DESCRIPTION);
            block.u16(LINKTYPE_RAW);
            block.u16(0);
            block.u32(snap);
            block.text(IF_NAME, &interface.name);
            block.text(IF_DESCRIPTION, &interface.description);
            block.option(IF_SPEED, &interface.rate_bps.to_le_bytes());
            block.option(IF_TSRESOL, &[9]);
            block.end(true);
            writer.write()?;
        }
        Ok(writer)
    }

    /// Writes a packet, unless the file would then have more than `limit` bytes: false.
    pub(super) fn packet(&mut self, packet: &Packet<'_>, limit: u64) -> io::Result<bool> {
        let block = &mut self.block;
        block.begin(ENHANCED_PACKET);
        block.u32(packet.interface);
        block.time(packet.time_ns);
        block.u32(packet.data.len() as u32);
        block.u32(packet.length);
        block.bytes.extend(packet.data);
        block.pad();
        block.text(COMMENT, packet.comment);
        let direction: u32 = if packet.direction == Direction::Inbound { 1 } else { 2 };
        block.option(EPB_FLAGS, &direction.to_le_bytes());
        if packet.dropped > 0 {
            block.option(EPB_DROPCOUNT, &packet.dropped.to_le_bytes());
        }
        block.end(true);
        let fits = self.written + block.bytes.len() as u64 <= limit;
        if fits {
            self.write()?;
        }
        Ok(fits)
    }

    /// Ends the file, with the names of these addresses and what was counted of each interface until the end of the run.
    pub(super) fn finish<'a>(
        mut self,
        names: impl Iterator<Item = (Ipv4Addr, &'a str)>,
        statistics: &[Statistics],
        end_ns: u64,
    ) -> io::Result<u64> {
        let block = &mut self.block;
        block.begin(NAME_RESOLUTION);
        for (address, name) in names {
            let length = 4 + name.len().min(1000) + 1;
            block.u16(1);
            block.u16(length as u16);
            block.bytes.extend(address.octets());
            block.bytes.extend(&name.as_bytes()[..length - 5]);
            block.bytes.push(0);
            block.pad();
        }
        block.u32(0);
        block.end(false);
        self.write()?;
        for (interface, counted) in statistics.iter().enumerate() {
            let block = &mut self.block;
            block.begin(INTERFACE_STATISTICS);
            block.u32(interface as u32);
            block.time(end_ns);
            let mut time = |code, time_ns: u64| {
                let halves = [(time_ns >> 32) as u32, time_ns as u32].map(u32::to_le_bytes);
                block.option(code, halves.as_flattened());
            };
            time(ISB_STARTTIME, 0);
            time(ISB_ENDTIME, end_ns);
            block.option(ISB_IFRECV, &counted.carried.to_le_bytes());
            block.option(ISB_IFDROP, &counted.dropped.to_le_bytes());
            block.option(ISB_USRDELIV, &counted.written.to_le_bytes());
            block.end(true);
            self.write()?;
        }
        self.to.flush()?;
        Ok(self.written)
    }

    fn write(&mut self) -> io::Result<()> {
        self.written += self.block.bytes.len() as u64;
        self.to.write_all(&self.block.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface() -> Interface {
        Interface { name: "h0-s".to_owned(), description: String::new(), rate_bps: 1_000_000_000 }
    }

    fn packet(data: &[u8]) -> Packet<'_> {
        Packet {
            interface: 0,
            time_ns: 0x1_0000_0002,
            data,
            length: 1500,
            direction: Direction::Outbound,
            dropped: 0,
            comment: "",
        }
    }

    /// Each block: its kind and what is between its lengths.
    fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"));
        let mut found = Vec::new();
        while !file.is_empty() {
            let length = number(&file[4..]) as usize;
            assert_eq!((length % 4, number(&file[length - 4..]) as usize), (0, length));
            found.push((number(file), file[8..length - 4].to_vec()));
            file = &file[length..];
        }
        found
    }

    #[test]
    fn a_file_has_the_bytes_of_the_draft() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, "c", 128, &[interface()]).expect("memory takes all");
        let with_options = Packet { dropped: 3, comment: "why", ..packet(&[0x45, 0, 0]) };
        assert!(writer.packet(&with_options, u64::MAX).expect("memory takes all"));
        let names = [(Ipv4Addr::new(10, 0, 0, 1), "h0")];
        let counted = Statistics { carried: 1, dropped: 3, written: 1 };
        let length = writer.finish(names.into_iter(), &[counted], 7).expect("memory takes all");
        assert_eq!(length, file.len() as u64);
        let blocks = blocks(&file);
        assert_eq!(blocks.iter().map(|b| b.0).collect::<Vec<_>>(), [0x0a0d_0d0a, 1, 6, 4, 5]);
        assert_eq!(blocks[0].1[..8], [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0]);
        let speed = [&[8, 0, 8, 0][..], &1_000_000_000_u64.to_le_bytes(), &[9, 0, 1, 0, 9, 0, 0, 0], &[0; 4]].concat();
        let description = [&[101, 0, 0, 0, 128, 0, 0, 0, 2, 0, 4, 0][..], b"h0-s", &speed].concat();
        assert_eq!(blocks[1].1, description);
        let packet = [
            &[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0xdc, 5, 0, 0, 0x45, 0, 0, 0][..],
            &[1, 0, 3, 0, b'w', b'h', b'y', 0, 2, 0, 4, 0, 2, 0, 0, 0, 4, 0, 8, 0, 3, 0, 0, 0, 0, 0, 0, 0],
            &[0; 4],
        ];
        assert_eq!(blocks[2].1, packet.concat());
        assert_eq!(blocks[3].1, [1, 0, 7, 0, 10, 0, 0, 1, b'h', b'0', 0, 0, 0, 0, 0, 0]);
        assert_eq!(blocks[4].1[..12], [0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
    }

    #[test]
    fn a_packet_that_does_not_fit_is_not_written() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, "", 128, &[interface()]).expect("memory takes all");
        let before = writer.written;
        let size = 32 + 8 + 8 + 4;
        let mut write = |limit| writer.packet(&packet(&[0x45; 8]), limit).expect("memory takes all");
        assert_eq!([write(before + size - 1), write(before + size), write(before + size)], [false, true, false]);
        assert_eq!(writer.written, before + size);
    }
}
