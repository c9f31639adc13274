//! The fields of packet headers, as far as a filter asks for them. Total: any bytes give an answer.
//!
//! A field *is* something, is *absent* (the packet has no such field), or was *cut* (it lies behind what was captured,
//! or in a header not known here). [`Inner`] finds the packet within the frame.

use super::encapsulation::{Inner, Vlans};
use super::link::Link;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A field, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field<T> {
    Is(T),
    Absent,
    Cut,
}

/// IPv6 extension headers at most.
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
    pub(crate) vlans: Vlans,
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
        vlans: Vlans::NONE,
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
        let (inner, vlans) = Inner::of(link, data);
        let found = match inner {
            Inner::Ipv4(data) => Self::of_ipv4(data),
            Inner::Ipv6(data) => Self::of_ipv6(data),
            Inner::Arp(data) => Self::of_arp(data),
            Inner::Other => Self::NONE,
            Inner::Cut | Inner::Opaque => Self::CUT,
        };
        Self { vlans, ..found }
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
        // Where the first byte is not that of an IPv4 header, nothing else is to be believed.
        if data.first().is_some_and(|first| *first >> 4 != 4) {
            return Self::CUT;
        }
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
        if data.first().is_some_and(|first| *first >> 4 != 6) {
            return Self::CUT;
        }
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
}

#[cfg(test)]
mod tests;
