//! Link layers: which one a capture has, and which way a packet went by its header.

use super::Way;

/// The link layer that a packet begins with.
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
    /// The same behind a byte that says which way the packet went: 0 for what came to this machine.
    PppWay,
    /// `PPPoE` without the Ethernet header.
    Pppoe,
    /// Cisco HDLC.
    Hdlc,
    /// IEEE 802.2 behind a header of so many bytes: FDDI, IP over ATM.
    Llc(u8),
    Unknown,
}

impl Link {
    /// Link types of libpcap (<https://www.tcpdump.org/linktypes.html>).
    pub(crate) fn of(number: u16) -> Self {
        match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            9 | 50 => Self::Ppp,
            10 => Self::Llc(13),
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            51 => Self::Pppoe,
            100 => Self::Llc(0),
            104 => Self::Hdlc,
            113 => Self::Cooked,
            166 | 204 => Self::PppWay,
            276 => Self::Cooked2,
            _ => Self::Unknown,
        }
    }

    /// Which way a packet went, where the link header says: the packet type of Linux cooked captures, 4 for what this
    /// machine sent, 0 to 2 for what came to it.
    pub(crate) fn mark(self, data: &[u8]) -> Option<Way> {
        let kind = match self {
            Self::PppWay => return data.first().map(|sent| if *sent == 0 { Way::In } else { Way::Out }),
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
