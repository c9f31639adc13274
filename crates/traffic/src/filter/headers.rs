//! The fields of packet headers, as far as a filter asks for them. Total: any bytes give an answer.
//!
//! A field *is* something, is *absent* (the packet has no such field), or was *cut* (it lies behind what was captured,
//! or in a header not known here).

use super::Way;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is known of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field<T> {
    Is(T),
    Absent,
    Cut,
}

/// What the first byte of a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    /// IPv4 or IPv6, as the first four bits say.
    Ip,
    /// Linux cooked captures, version 1 and 2.
    Cooked,
    Cooked2,
    /// BSD loopback: the address family in four bytes of either order.
    Loopback,
    /// Point-to-point protocol, with or without the HDLC bytes.
    Ppp,
    /// Cisco HDLC.
    Hdlc,
    Unknown,
}

impl Link {
    /// Link types of libpcap (<https://www.tcpdump.org/linktypes.html>).
    pub(crate) fn of(number: u16) -> Self {
        match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            9 | 50 => Self::Ppp,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            104 => Self::Hdlc,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            _ => Self::Unknown,
        }
    }

    /// Which way a packet went, where the link header says: the packet type of Linux cooked captures, 4 for what this
    /// machine sent, 0 to 2 for what came to it.
    pub(crate) fn mark(self, data: &[u8]) -> Option<Way> {
        let kind = match self {
            Self::Cooked => u16::from_be_bytes(*data.first_chunk()?),
            Self::Cooked2 => u16::from(*data.get(10)?),
            _ => return None,
        };
        match kind {
            0..=2 => Some(Way::In),
            4 => Some(Way::Out),
            _ => None,
        }
    }
}

/// Virtual LANs of a frame at most; more are not looked at.
const TAGS: usize = 4;

/// IPv6 extension headers and MPLS labels at most.
const NESTED: usize = 16;

/// The fields of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    /// 4 or 6.
    pub(crate) version: Field<u8>,
    pub(crate) source: Field<IpAddr>,
    pub(crate) destination: Field<IpAddr>,
    /// The protocol in the last IP header.
    pub(crate) protocol: Field<u8>,
    /// Source and destination port of TCP, UDP, UDP-Lite, DCCP or SCTP.
    pub(crate) source_port: Field<u16>,
    pub(crate) destination_port: Field<u16>,
    /// Virtual LANs, outermost first.
    pub(crate) vlans: [u16; TAGS],
    pub(crate) vlan_count: usize,
    pub(crate) vlan_cut: bool,
}

impl Fields {
    /// Nothing but Ethernet, or something that is not IP.
    pub(crate) const NONE: Self = Self {
        version: Field::Absent,
        source: Field::Absent,
        destination: Field::Absent,
        protocol: Field::Absent,
        source_port: Field::Absent,
        destination_port: Field::Absent,
        vlans: [0; TAGS],
        vlan_count: 0,
        vlan_cut: false,
    };

    const CUT: Self = Self {
        version: Field::Cut,
        source: Field::Cut,
        destination: Field::Cut,
        protocol: Field::Cut,
        source_port: Field::Cut,
        destination_port: Field::Cut,
        ..Self::NONE
    };

    /// The fields of an answer.
    pub(crate) fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..self
        }
    }

    /// Parses what is captured of a packet.
    pub(crate) fn of(link: Link, data: &[u8]) -> Self {
        let ethertype = |at: usize| data.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
        let rest = |at: usize| data.get(at..).unwrap_or_default();
        let (kind, rest) = match link {
            Link::Ethernet => (ethertype(12), rest(14)),
            Link::Cooked => (ethertype(14), rest(16)),
            Link::Cooked2 => (ethertype(0), rest(20)),
            Link::Hdlc => (ethertype(2), rest(4)),
            Link::Ppp => {
                let skip = if data.starts_with(&[0xff, 0x03]) { 2 } else { 0 };
                let kind = match ethertype(skip) {
                    Some(0x0021) => Some(IPV4),
                    Some(0x0057) => Some(IPV6),
                    other => other.map(|_| 0),
                };
                (kind, rest(skip + 2))
            }
            // AF_INET is 2 everywhere, AF_INET6 is 10, 24, 28 or 30: what follows tells.
            Link::Loopback if data.len() < 4 => (None, data),
            Link::Loopback => (Some(version_type(rest(4))), rest(4)),
            Link::Ip => (if data.is_empty() { None } else { Some(version_type(data)) }, data),
            Link::Unknown => return Self { vlan_cut: true, ..Self::CUT },
        };
        match kind {
            None => Self { vlan_cut: true, ..Self::CUT },
            Some(kind) => Self::of_type(kind, rest),
        }
    }

    /// Parses what follows an Ethernet type.
    fn of_type(mut kind: u16, mut data: &[u8]) -> Self {
        let (mut vlans, mut vlan_count) = ([0; TAGS], 0);
        while matches!(kind, 0x8100 | 0x88a8 | 0x9100) {
            let tag = data.first_chunk::<4>();
            let (Some(&[a, b, c, d]), true) = (tag, vlan_count < TAGS) else {
                return Self { vlans, vlan_count, vlan_cut: true, ..Self::CUT };
            };
            vlans[vlan_count] = u16::from_be_bytes([a, b]) & 0x0fff;
            vlan_count += 1;
            kind = u16::from_be_bytes([c, d]);
            data = &data[4..];
        }
        if matches!(kind, 0x8847 | 0x8848) {
            // MPLS: labels up to the bottom of the stack; what is below says its version.
            for _ in 0..NESTED {
                let Some(&[_, _, bottom, _]) = data.first_chunk::<4>() else { break };
                data = &data[4..];
                if bottom & 1 == 1 {
                    kind = version_type(data);
                    break;
                }
            }
            if !matches!(kind, IPV4 | IPV6) {
                return Self { vlans, vlan_count, ..Self::CUT };
            }
        }
        let fields = match kind {
            IPV4 => Self::of_ipv4(data),
            IPV6 => Self::of_ipv6(data),
            0x0806 | 0x8035 => Self::of_arp(data),
            _ => Self::NONE,
        };
        Self { vlans, vlan_count, ..fields }
    }

    /// Requests and answers of ARP and RARP are between IPv4 addresses, as `tcpdump` has it.
    fn of_arp(data: &[u8]) -> Self {
        let address = |at: usize| {
            let bytes: Option<[u8; 4]> = data.get(at..at + 4).and_then(|b| b.try_into().ok());
            bytes.map_or(Field::Cut, |b| Field::Is(IpAddr::V4(Ipv4Addr::from(b))))
        };
        match data.get(..8) {
            // Ethernet addresses of 6 bytes, IPv4 addresses of 4.
            Some([0, 1, 8, 0, 6, 4, ..]) => Self { source: address(14), destination: address(24), ..Self::NONE },
            Some(_) => Self::NONE,
            None => Self { source: Field::Cut, destination: Field::Cut, ..Self::NONE },
        }
    }

    fn of_ipv4(data: &[u8]) -> Self {
        let mut fields = Self { version: Field::Is(4), ..Self::CUT };
        let address = |at: usize| {
            let bytes: Option<[u8; 4]> = data.get(at..at + 4).and_then(|b| b.try_into().ok());
            bytes.map_or(Field::Cut, |b| Field::Is(IpAddr::V4(Ipv4Addr::from(b))))
        };
        fields.source = address(12);
        fields.destination = address(16);
        let (Some(&first), Some(&fragment), Some(&protocol)) =
            (data.first(), data.get(6..8).and_then(|b| b.first_chunk::<2>()), data.get(9))
        else {
            return fields;
        };
        fields.protocol = Field::Is(protocol);
        let offset = u16::from_be_bytes(fragment) & 0x1fff;
        let header = usize::from(first & 0x0f) * 4;
        fields.ports(protocol, if offset == 0 && header >= 20 { data.get(header..) } else { None });
        fields
    }

    fn of_ipv6(data: &[u8]) -> Self {
        let mut fields = Self { version: Field::Is(6), ..Self::CUT };
        let address = |at: usize| {
            let bytes: Option<[u8; 16]> = data.get(at..at + 16).and_then(|b| b.try_into().ok());
            bytes.map_or(Field::Cut, |b| Field::Is(IpAddr::V6(Ipv6Addr::from(b))))
        };
        fields.source = address(8);
        fields.destination = address(24);
        let Some(&(mut next)) = data.get(6) else { return fields };
        let mut rest = data.get(40..);
        for _ in 0..NESTED {
            let length = match (next, rest) {
                // Hop-by-hop options, routing, destination options, mobility: length in 8 bytes after the first 8.
                (0 | 43 | 60 | 135, Some(&[_, length, ..])) => 8 * (usize::from(length) + 1),
                // Authentication header: length in 4 bytes, minus 2 of them.
                (51, Some(&[_, length, ..])) => 4 * (usize::from(length) + 2),
                (44, Some(&[_, _, a, b, ..])) => {
                    if u16::from_be_bytes([a, b]) & 0xfff8 != 0 {
                        // A later fragment: the protocol is known if no extension header is in the fragments.
                        let protocol = rest.and_then(|rest| rest.first().copied()).unwrap_or_default();
                        if !matches!(protocol, 0 | 43 | 51 | 60 | 135) {
                            fields.protocol = Field::Is(protocol);
                            fields.ports(protocol, None);
                        }
                        return fields;
                    }
                    8
                }
                (0 | 43 | 44 | 51 | 60 | 135, _) => return fields,
                _ => {
                    fields.protocol = Field::Is(next);
                    fields.ports(next, rest);
                    return fields;
                }
            };
            next = rest.and_then(|rest| rest.first().copied()).unwrap_or_default();
            rest = rest.and_then(|rest| rest.get(length..));
        }
        fields
    }

    /// Sets the ports, where the protocol has any: TCP, UDP, DCCP, SCTP, UDP-Lite.
    fn ports(&mut self, protocol: u8, data: Option<&[u8]>) {
        (self.source_port, self.destination_port) = if matches!(protocol, 6 | 17 | 33 | 132 | 136) {
            let port = |at: usize| {
                let bytes: Option<[u8; 2]> = data.and_then(|data| data.get(at..at + 2)).and_then(|b| b.try_into().ok());
                bytes.map_or(Field::Cut, |b| Field::Is(u16::from_be_bytes(b)))
            };
            (port(0), port(2))
        } else {
            (Field::Absent, Field::Absent)
        };
    }

    /// Whether the frame is in a virtual LAN, in any or in a certain one.
    pub(crate) fn vlan(&self, wanted: Option<u16>) -> Option<bool> {
        let tags = self.vlans.get(..self.vlan_count).unwrap_or_default();
        let found = wanted.map_or(!tags.is_empty(), |wanted| tags.contains(&wanted));
        if found || !self.vlan_cut { Some(found) } else { None }
    }
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// The Ethernet type of an IP packet, by its version; 0 if it is neither.
fn version_type(data: &[u8]) -> u16 {
    match data.first().map(|first| first >> 4) {
        Some(4) => IPV4,
        Some(6) => IPV6,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, fragment: u16, options: usize) -> Vec<u8> {
        let mut packet = vec![0x45 + (options / 4) as u8, 0, 0, 0, 0, 0];
        packet.extend(fragment.to_be_bytes());
        packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 192, 0, 2, 7]);
        packet.extend(vec![1; options]);
        packet.extend([0x01, 0xbb, 0xc0, 0x01, 0, 0, 0, 0]);
        packet
    }

    fn ipv6(chain: &[u8], protocol: u8) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, chain.first().copied().unwrap_or(protocol), 64];
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        for (i, _) in chain.iter().enumerate() {
            packet.extend([chain.get(i + 1).copied().unwrap_or(protocol), 0, 0, 0, 0, 0, 0, 0]);
        }
        packet.extend([0, 53, 0xc0, 0x01, 0, 0, 0, 0]);
        packet
    }

    fn ethernet(tags: &[u16], kind: u16, inner: &[u8]) -> Vec<u8> {
        let mut frame = vec![0xaa; 12];
        for tag in tags {
            frame.extend([0x81, 0]);
            frame.extend(tag.to_be_bytes());
        }
        frame.extend(kind.to_be_bytes());
        frame.extend(inner);
        frame
    }

    #[test]
    fn the_same_packet_is_seen_through_every_link() {
        let packet = ipv4(6, 0, 8);
        let mut cooked = vec![0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
        let mut cooked2 = vec![8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
        assert_eq!((Link::Cooked.mark(&cooked), Link::Cooked2.mark(&cooked2)), (Some(Way::Out), Some(Way::In)));
        let expected = Fields {
            version: Field::Is(4),
            source: Field::Is("10.0.0.1".parse().expect("good")),
            destination: Field::Is("192.0.2.7".parse().expect("good")),
            protocol: Field::Is(6),
            source_port: Field::Is(443),
            destination_port: Field::Is(49153),
            ..Fields::NONE
        };
        cooked.extend(&packet);
        cooked2.extend(&packet);
        let mpls = [&[0, 1, 0x20, 64, 0, 2, 0x31, 64][..], &packet].concat();
        for (link, data) in [
            (Link::Ethernet, ethernet(&[], 0x0800, &packet)),
            (Link::Ethernet, ethernet(&[], 0x8847, &mpls)),
            (Link::Ip, packet.clone()),
            (Link::Cooked, cooked),
            (Link::Cooked2, cooked2),
            (Link::Loopback, [&[2, 0, 0, 0][..], &packet].concat()),
            (Link::Ppp, [&[0xff, 3, 0, 0x21][..], &packet].concat()),
            (Link::Ppp, [&[0, 0x21][..], &packet].concat()),
            (Link::Hdlc, [&[0x0f, 0, 8, 0][..], &packet].concat()),
        ] {
            assert_eq!(Fields::of(link, &data), expected, "{link:?}");
        }
        let tagged = Fields::of(Link::Ethernet, &ethernet(&[0x2007, 9], 0x0800, &packet));
        assert_eq!(
            (tagged.vlan(Some(7)), tagged.vlan(Some(9)), tagged.vlan(Some(8))),
            (Some(true), Some(true), Some(false))
        );
        assert_eq!(Fields { vlans: [0; TAGS], vlan_count: 0, ..tagged }, expected);
    }

    #[test]
    fn ipv6_extension_headers_are_walked() {
        for chain in [&[][..], &[0], &[0, 43, 60], &[44], &[0, 44, 60]] {
            let fields = Fields::of(Link::Ip, &ipv6(chain, 17));
            assert_eq!((fields.protocol, fields.source_port), (Field::Is(17), Field::Is(53)), "{chain:?}");
        }
        let endless = vec![0; NESTED + 1];
        assert_eq!(Fields::of(Link::Ip, &ipv6(&endless, 17)).protocol, Field::Cut);
    }

    #[test]
    fn ports_of_fragments_and_of_cut_packets_are_unknown_but_not_absent() {
        let fragment = Fields::of(Link::Ip, &ipv4(17, 5, 0));
        assert_eq!((fragment.protocol, fragment.source_port), (Field::Is(17), Field::Cut));
        let cut = Fields::of(Link::Ip, &ipv4(6, 0, 0)[..22]);
        assert_eq!((cut.protocol, cut.source_port, cut.destination_port), (Field::Is(6), Field::Is(443), Field::Cut));
        assert_eq!(Fields::of(Link::Ip, &ipv4(1, 0, 0)).source_port, Field::Absent);
        assert_eq!(Fields::of(Link::Ethernet, &[0; 60]), Fields::NONE);
    }

    #[test]
    fn what_is_seen_of_a_cut_packet_is_what_is_seen_of_the_whole() {
        fn agrees<T: PartialEq + Copy>(cut: Field<T>, whole: Field<T>) -> bool {
            cut == Field::Cut || cut == whole
        }
        let packets = [
            ethernet(&[5], 0x0800, &ipv4(6, 0, 4)),
            ethernet(&[], 0x86dd, &ipv6(&[0, 44], 17)),
            ethernet(&[1, 2], 0x0806, &[[0, 1, 8, 0, 6, 4, 0, 1].as_slice(), &[9; 20]].concat()),
        ];
        for packet in packets {
            let whole = Fields::of(Link::Ethernet, &packet);
            for length in 0..packet.len() {
                let cut = Fields::of(Link::Ethernet, &packet[..length]);
                assert!(agrees(cut.version, whole.version) && agrees(cut.source, whole.source));
                assert!(agrees(cut.destination, whole.destination) && agrees(cut.protocol, whole.protocol));
                assert!(agrees(cut.source_port, whole.source_port));
                assert!(agrees(cut.destination_port, whole.destination_port));
                for wanted in [None, Some(5), Some(9)] {
                    assert!(cut.vlan(wanted).is_none_or(|found| Some(found) == whole.vlan(wanted)));
                }
            }
        }
    }
}
