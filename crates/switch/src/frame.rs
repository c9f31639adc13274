//! Frames as the switch reads them: Ethernet addresses, and the parts of an IP packet. Total: any bytes are a frame or none.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use etherparse::{Ipv4HeaderSlice, Ipv6ExtensionsSlice, Ipv6HeaderSlice};

/// Bytes of extension headers that are read (RFC 8200 §4). A chain of thousands would take a processor's time in every queue that it passes.
const EXTENSIONS: usize = 256;

/// Bytes of an Ethernet header without tags.
pub(crate) const ETHERNET: usize = 14;
/// IP protocol numbers (IANA).
pub(crate) const IGMP: u8 = 2;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;

/// An Ethernet address.
pub(crate) type Mac = [u8; 6];

/// The addresses of a frame; none if it is too short to have them.
pub(crate) fn addresses(bytes: &[u8]) -> Option<(Mac, Mac)> {
    let header = bytes.get(..ETHERNET)?;
    Some((header[..6].try_into().ok()?, header[6..12].try_into().ok()?))
}

/// Whether an address is of several stations; broadcast is one of these (IEEE 802 §8.2).
pub(crate) fn is_group(mac: Mac) -> bool {
    mac[0] & 1 == 1
}

/// Where the parts of an IPv4 or IPv6 packet in a frame are: all offsets are inside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ip {
    /// The IP header.
    pub(crate) start: usize,
    /// The transport header, after the IP header and its extensions.
    pub(crate) transport: usize,
    /// The end of the packet; padding may follow.
    pub(crate) end: usize,
    /// Which protocol `transport` is of.
    pub(crate) protocol: u8,
    /// One of several parts of a packet, or one whose extension headers cannot be read: `transport` may be anything.
    pub(crate) fragment: bool,
    /// 4 or 6.
    pub(crate) version: u8,
}

impl Ip {
    /// The packet in a frame; none if there is no whole one.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        match get16(bytes, 12)? {
            0x0800 => Self::v4(bytes),
            0x86dd => Self::v6(bytes),
            _ => None,
        }
    }

    fn v4(bytes: &[u8]) -> Option<Self> {
        let start = ETHERNET;
        let header = Ipv4HeaderSlice::from_slice(&bytes[start..]).ok()?;
        let (transport, end) = (start + header.slice().len(), start + usize::from(header.total_len()));
        let (protocol, fragment) = (header.protocol().0, header.is_fragmenting_payload());
        let whole = transport <= end && end <= bytes.len();
        whole.then_some(Self { start, transport, end, protocol, fragment, version: 4 })
    }

    fn v6(bytes: &[u8]) -> Option<Self> {
        let start = ETHERNET;
        let header = Ipv6HeaderSlice::from_slice(&bytes[start..]).ok()?;
        let behind = start + header.slice().len();
        let end = behind + usize::from(header.payload_length());
        let packet = bytes.get(behind..end)?;
        let read = &packet[..packet.len().min(EXTENSIONS)];
        // What follows the header of a later fragment is the middle of a packet, and may look like anything.
        let (extensions, protocol, rest, error) = Ipv6ExtensionsSlice::from_slice_lax(header.next_header(), read);
        let fragment = extensions.is_fragmenting_payload() || error.is_some();
        let transport = behind + read.len() - rest.len();
        Some(Self { start, transport, end, protocol: protocol.0, fragment, version: 6 })
    }

    /// The header of IPv4, with its options.
    pub(crate) fn ipv4_header(&self) -> Option<Range<usize>> {
        (self.version == 4).then_some(self.start..self.transport)
    }

    /// Source and destination address.
    pub(crate) fn addresses(&self) -> Range<usize> {
        if self.version == 4 { self.start + 12..self.start + 20 } else { self.start + 8..self.start + 40 }
    }

    /// Where the packet goes.
    pub(crate) fn destination(&self, bytes: &[u8]) -> IpAddr {
        let both = &bytes[self.addresses()];
        if self.version == 4 {
            Ipv4Addr::from(<[u8; 4]>::try_from(&both[4..]).expect("four bytes")).into()
        } else {
            Ipv6Addr::from(<[u8; 16]>::try_from(&both[16..]).expect("sixteen bytes")).into()
        }
    }

    /// Bytes of the packet, with its IP header.
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether this is one whole UDP datagram.
    pub(crate) fn is_udp(&self, bytes: &[u8]) -> bool {
        let length = self.end - self.transport;
        self.protocol == UDP && !self.fragment && length >= 8 && get16(bytes, self.transport + 4) == Some(length as u16)
    }

    /// Writes the length of a packet that now ends elsewhere.
    pub(crate) fn set_len(&mut self, bytes: &mut [u8], end: usize) {
        self.end = end;
        if self.version == 4 {
            put16(bytes, self.start + 2, (end - self.start) as u16);
        } else {
            put16(bytes, self.start + 4, (end - self.start - 40) as u16);
        }
    }
}

/// The number of 16 bits there.
pub(crate) fn get16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Writes a number of 16 bits; the caller knows that there is room.
pub(crate) fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Family, udp};
    use proptest::prelude::*;

    #[test]
    fn parts_are_found() {
        for (family, header) in [(Family::V4, 20), (Family::V6, 40)] {
            let frame = udp(family, 1, 2, 100);
            let ip = Ip::of(&frame).expect("a packet");
            assert_eq!((ip.start, ip.transport, ip.end), (14, 14 + header, frame.len()));
            assert!(ip.is_udp(&frame));
            assert_eq!(Ip::of(&frame[..frame.len() - 1]), None, "cut off");
        }
    }

    #[test]
    fn padding_is_no_part_of_the_packet() {
        let mut frame = udp(Family::V4, 1, 2, 3);
        frame.resize(60, 0);
        let ip = Ip::of(&frame).expect("a packet");
        assert_eq!(ip.end, 14 + 20 + 8 + 3);
        assert!(ip.is_udp(&frame));
    }

    #[test]
    fn extensions_are_skipped_and_fragments_known() {
        let plain = udp(Family::V6, 1, 2, 20);
        // Hop-by-hop options; a first fragment; a packet in one fragment, which is whole (RFC 6946 §1).
        for (kind, flags, fragment) in [(0, 0, false), (44, 1, true), (44, 0, false)] {
            let mut frame = plain.clone();
            frame.splice(54..54, [UDP, 0, 0, flags, 0, 0, 0, 0]);
            frame[20] = kind;
            let length = (frame.len() - 54) as u16;
            put16(&mut frame, 18, length);
            let ip = Ip::of(&frame).expect("a packet");
            assert_eq!((ip.transport, ip.protocol, ip.fragment), (62, UDP, fragment));
            assert_eq!(ip.is_udp(&frame), !fragment);
        }
        let later_fragment = [60, 0, 0x10, 1, 0, 0, 0, 0];
        let second_hop_by_hop = [0, 0, 0, 0, 0, 0, 0, 0];
        let too_long = [UDP, 200, 0, 0, 0, 0, 0, 0];
        for (kind, header) in [(44, later_fragment), (43, second_hop_by_hop), (0, too_long), (51, too_long)] {
            let mut frame = plain.clone();
            frame.splice(54..54, header);
            frame[20] = kind;
            let length = (frame.len() - 54) as u16;
            put16(&mut frame, 18, length);
            let ip = Ip::of(&frame).expect("a packet, which is forwarded to where it goes");
            assert!(ip.fragment && !ip.is_udp(&frame) && ip.transport <= ip.end, "{kind}");
        }
        let mut chain = plain.clone();
        chain.splice(54..54, [60, 0, 0, 0, 0, 0, 0, 0].repeat(100));
        chain[20] = 60;
        let length = (chain.len() - 54) as u16;
        put16(&mut chain, 18, length);
        let ip = Ip::of(&chain).expect("a packet");
        assert!(ip.fragment && ip.transport <= 54 + EXTENSIONS, "no more is read");
        let mut fragment = udp(Family::V4, 1, 2, 20);
        fragment[20] = 0x20;
        assert!(!Ip::of(&fragment).expect("a packet").is_udp(&fragment));
    }

    proptest! {
        #[test]
        fn any_bytes_will_do(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            v6: bool,
            kinds in proptest::array::uniform3(proptest::sample::select(&[0, 6, UDP, 43, 44, 51, 60])),
            whole: bool,
        ) {
            let mut bytes = bytes;
            if bytes.len() > 70 {
                (bytes[12], bytes[13]) = if v6 { (0x86, 0xdd) } else { (8, 0) };
                bytes[14] = if v6 { 0x60 } else { 0x40 | bytes[14] & 0xf };
                if whole {
                    let (at, before) = if v6 { (18, 54) } else { (16, 14) };
                    let length = (bytes.len() - before) as u16;
                    put16(&mut bytes, at, length);
                    (bytes[20], bytes[54], bytes[62]) = kinds.into();
                    bytes[55] %= 4;
                }
            }
            if let Some(ip) = Ip::of(&bytes) {
                prop_assert!(ip.start <= ip.transport && ip.transport <= ip.end && ip.end <= bytes.len());
                ip.destination(&bytes);
                ip.is_udp(&bytes);
            }
        }
    }
}
