//! Captures made in memory: what a file must look like, written independently of the readers.

use anabranch_traffic::{IngestError, Ingested, Request, Watch, ingest_bytes};

/// A packet: nanoseconds, length on the wire, and what was kept of it.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) ns: u64,
    pub(crate) wire: u32,
    pub(crate) data: Vec<u8>,
}

impl Packet {
    pub(crate) fn new(ns: u64, wire: u32, kept: usize) -> Self {
        // Bytes that do not compress well.
        let noise = |i: usize| ((i as u64 + ns).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        Self { ns, wire, data: (0..kept).map(noise).collect() }
    }
}

/// Packets in order of time, of all sizes, with `kept` bytes at most.
pub(crate) fn packets(count: u64, step_ns: u64, kept: usize) -> Vec<Packet> {
    let start = 1_700_000_000_000_000_000;
    let wire = |i: u64| 60 + (i * 7919 % 1455) as u32;
    (0..count).map(|i| Packet::new(start + i * step_ns, wire(i), kept.min(wire(i) as usize))).collect()
}

/// Numbers in one byte order.
pub(crate) struct Bytes {
    big: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Bytes {
    pub(crate) fn new(big: bool) -> Self {
        Self { big, bytes: Vec::new() }
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }
}

/// A pcap file; `magic` chooses the unit of time and the layout.
pub(crate) fn pcap(packets: &[Packet], big: bool, magic: u32, link: u32) -> Vec<u8> {
    let mut file = Bytes::new(big);
    file.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(96).u32(link);
    let unit = if magic == 0xa1b2_3c4d { 1 } else { 1000 };
    for packet in packets {
        file.u32((packet.ns / 1_000_000_000) as u32).u32((packet.ns % 1_000_000_000 / unit) as u32);
        file.u32(packet.data.len() as u32).u32(packet.wire);
        if magic == 0xa1b2_cd34 {
            file.u32(1).u16(0x0800).u16(0);
        }
        file.bytes.extend(&packet.data);
    }
    file.bytes
}

/// A pcapng block.
pub(crate) fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = 12 + body.len().next_multiple_of(4) as u32;
    let mut file = Bytes::new(big);
    file.u32(kind).u32(length);
    file.bytes.extend(body);
    file.bytes.resize(length as usize - 4, 0);
    file.u32(length);
    file.bytes
}

/// A section header.
pub(crate) fn section(big: bool) -> Vec<u8> {
    let mut body = Bytes::new(big);
    body.u32(0x1a2b_3c4d).u16(1).u16(0).u64(u64::MAX);
    block(big, 0x0a0d_0d0a, &body.bytes)
}

/// The description of an interface, with options.
pub(crate) fn interface(big: bool, link: u16, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = Bytes::new(big);
    body.u16(link).u16(0).u32(96);
    for (code, value) in options {
        body.u16(*code).u16(value.len() as u16);
        body.bytes.extend(value);
        let padded = body.bytes.len().next_multiple_of(4);
        body.bytes.resize(padded, 0);
    }
    if !options.is_empty() {
        body.u32(0);
    }
    block(big, 1, &body.bytes)
}

/// An enhanced packet block, with the direction in its flags if there is one.
pub(crate) fn enhanced(big: bool, interface: u32, ticks: u64, packet: &Packet, flags: Option<u32>) -> Vec<u8> {
    let mut body = Bytes::new(big);
    body.u32(interface).u32((ticks >> 32) as u32).u32(ticks as u32).u32(packet.data.len() as u32).u32(packet.wire);
    body.bytes.extend(&packet.data);
    let padded = body.bytes.len().next_multiple_of(4);
    body.bytes.resize(padded, 0);
    if let Some(flags) = flags {
        body.u16(2).u16(4).u32(flags).u32(0);
    }
    block(big, 6, &body.bytes)
}

/// An ERF file of Ethernet records, some with an extension header.
pub(crate) fn erf(packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    for (i, packet) in packets.iter().enumerate() {
        let extended = i % 3 == 1;
        let length = (16 + if extended { 16 } else { 0 } + 2 + packet.data.len()).next_multiple_of(8);
        let start = file.len();
        let fraction = ((u128::from(packet.ns % 1_000_000_000) << 32).div_ceil(1_000_000_000)) as u64;
        file.extend(((packet.ns / 1_000_000_000) << 32 | fraction).to_le_bytes());
        file.extend([if extended { 0x82 } else { 2 }, 4]);
        file.extend((length as u16).to_be_bytes());
        file.extend([0, 0]);
        file.extend((packet.wire as u16).to_be_bytes());
        if extended {
            file.extend([0x83, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 2]);
        }
        file.extend([0, 0]);
        file.extend(&packet.data);
        file.resize(start + length, 0);
    }
    file
}

/// Reads bytes as a file.
pub(crate) fn read(request: &Request, bytes: &[u8]) -> Result<Ingested, IngestError> {
    ingest_bytes(request, "memory", bytes, &Watch::new())
}

/// A request for some bin widths.
pub(crate) fn bins(widths: &[i64]) -> Request {
    Request { bins_ns: widths.to_vec(), ..Request::default() }
}

/// Checks every series against packets counted one by one.
pub(crate) fn check(outcome: &Ingested, packets: &[Packet], unit: u64) {
    let stamp = |packet: &Packet| (packet.ns / unit * unit) as i64;
    let origin = stamp(&packets[0]);
    assert_eq!(outcome.files[0].records, packets.len() as u64);
    assert_eq!(outcome.files[0].bytes, packets.iter().map(|packet| i64::from(packet.wire)).sum::<i64>());
    assert!(!outcome.series.is_empty());
    for series in &outcome.series {
        let index = |packet: &Packet| (stamp(packet) - origin).div_euclid(series.bin_ns);
        let first = packets.iter().map(index).min().unwrap_or(0);
        let last = packets.iter().map(index).max().unwrap_or(0);
        assert_eq!(series.start_ns, origin + first * series.bin_ns);
        let mut expected = vec![(0, 0); (last - first + 1) as usize];
        for packet in packets {
            let bin = &mut expected[(index(packet) - first) as usize];
            *bin = (bin.0 + i64::from(packet.wire), bin.1 + 1);
        }
        let counts = series.packets.clone().unwrap_or_default();
        let found: Vec<(i64, i64)> = series.bytes.iter().copied().zip(counts).collect();
        assert_eq!(found, expected, "bins of {} ns", series.bin_ns);
        assert!(series.missing.iter().all(|missing| !missing));
    }
}
