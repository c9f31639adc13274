//! Headers around a packet: link layers, virtual LANs, provider bridges, MPLS, PPP, LLC. Total: any bytes give an answer.
//!
//! Whatever is not understood here is [`Inner::Opaque`], which leaves filters and directions undecided. Only what is
//! known to hold no packet of IP is [`Inner::Other`]: there "not port 80" is true, and no border is crossed.

use super::link::Link;

/// The packet in a frame, as far as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner<'a> {
    Ipv4(&'a [u8]),
    Ipv6(&'a [u8]),
    Arp(&'a [u8]),
    /// Something that is known to be no IP: control protocols of links, bridges and routers.
    Other,
    /// The header that would say was not captured.
    Cut,
    /// A header that is not known here, or encrypted.
    Opaque,
}

/// Headers around a packet at most: no real frame has so many, and each costs time.
const NESTED: usize = 16;

/// Types below this are lengths of 802.3 frames.
const LENGTHS: u16 = 0x05dc;

/// Ethernet types of protocols that are no IP and carry none (IEEE's public list): loopback test, wake-on-LAN, the
/// discovery stage of `PPPoE`, flow control, slow protocols, CFM, LLDP, 802.1X, MRP and its applications, PTP, `HomePlug`,
/// DEC's and Xerox's, `AppleTalk`, IPX, Profinet, `EtherCAT`, ATA over Ethernet, `FCoE`, 802.11's control frames on a wire, `RoCE`'s first version.
const NO_IP: [u16; 34] = [
    0x0600, 0x0842, 0x22ea, 0x22f0, 0x22f4, 0x6000, 0x6001, 0x6002, 0x6003, 0x6004, 0x6007, 0x809b, 0x80f3, 0x8137,
    0x8808, 0x8809, 0x8863, 0x887b, 0x888e, 0x8892, 0x88a2, 0x88a4, 0x88b8, 0x88cc, 0x88e1, 0x88f5, 0x88f6, 0x88f7,
    0x8902, 0x8906, 0x890d, 0x8914, 0x8915, 0x9000,
];

/// Virtual LANs of a frame at most; more are not looked at.
const TAGS: usize = 4;

/// The virtual LANs of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vlans {
    /// Outermost first.
    tags: [u16; TAGS],
    count: usize,
    /// Whether there may be more.
    pub(super) cut: bool,
}

impl Vlans {
    pub(super) const NONE: Self = Self { tags: [0; TAGS], count: 0, cut: false };

    /// Notes a tag; false if there are too many.
    fn add(&mut self, tag: u16) -> bool {
        let Some(slot) = self.tags.get_mut(self.count) else { return false };
        *slot = tag & 0x0fff;
        self.count += 1;
        true
    }

    /// Whether the frame is in a virtual LAN, in any or in a certain one.
    pub(super) fn has(&self, wanted: Option<u16>) -> Option<bool> {
        let tags = self.tags.get(..self.count).unwrap_or_default();
        let found = wanted.map_or(!tags.is_empty(), |wanted| tags.contains(&wanted));
        if found || !self.cut { Some(found) } else { None }
    }
}

/// Which header comes next.
#[derive(Clone, Copy)]
enum Header {
    /// An Ethernet type was read; what it says follows.
    Type(u16),
    /// Destination, source and type, or length.
    Ethernet,
    Pppoe,
    /// The protocol field of PPP.
    Ppp,
    /// IEEE 802.2.
    Llc,
    /// A label of MPLS.
    Label,
    /// IP, as the first four bits say.
    Version,
    /// A protocol of the link itself.
    Control,
}

impl<'a> Inner<'a> {
    /// The packet in a frame, and the frame's virtual LANs.
    pub(super) fn of(link: Link, data: &'a [u8]) -> (Self, Vlans) {
        let mut vlans = Vlans::NONE;
        let inner = Self::behind_headers(link, data, &mut vlans);
        vlans.cut = inner == Self::Cut;
        (inner, vlans)
    }

    fn behind_headers(link: Link, data: &'a [u8], vlans: &mut Vlans) -> Self {
        let Some((mut header, mut rest)) = first(link, data) else { return Self::Cut };
        for _ in 0..NESTED {
            let found = match header {
                Header::Type(kind) => of_type(kind, rest, vlans),
                Header::Ethernet => typed(rest, 12),
                Header::Pppoe => of_pppoe(rest),
                Header::Ppp => of_ppp(rest),
                Header::Llc => of_llc(rest),
                Header::Label => of_label(rest),
                Header::Version => Step::Is(of_version(rest)),
                Header::Control => Step::Is(Inner::Other),
            };
            (header, rest) = match found {
                Step::Is(inner) => return inner,
                Step::Next(header, rest) => (header, rest),
            };
        }
        Self::Cut
    }
}

/// The next step after a header.
enum Step<'a> {
    Is(Inner<'a>),
    Next(Header, &'a [u8]),
}

/// A field of two bytes.
fn two(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

/// The bytes after the first `bytes`; empty if there are fewer.
fn behind(data: &[u8], bytes: usize) -> &[u8] {
    data.get(bytes..).unwrap_or_default()
}

/// The first header that is not the link's own; none if that was cut, or is of a link not known here.
fn first(link: Link, data: &[u8]) -> Option<(Header, &[u8])> {
    Some(match link {
        Link::Ethernet => (Header::Ethernet, data),
        Link::Cooked => (cooked(two(data, 14)?), behind(data, 16)),
        Link::Cooked2 => (cooked(two(data, 0)?), behind(data, 20)),
        Link::Hdlc => of_hdlc(data)?,
        Link::Ppp => of_framed(data)?,
        Link::PppWay => of_framed(data.get(1..)?)?,
        Link::Pppoe => (Header::Pppoe, data),
        Link::Llc(bytes) => (Header::Llc, behind(data, usize::from(bytes))),
        // AF_INET is 2 everywhere, AF_INET6 is 10, 24, 28 or 30: what follows tells.
        Link::Loopback => (Header::Version, data.get(4..)?),
        Link::Ip => (Header::Version, data),
        Link::Unknown => return None,
    })
}

/// The protocol field of Linux cooked captures: an Ethernet type, or what the kernel has where there is none (`if_ether.h`).
fn cooked(kind: u16) -> Header {
    if kind == 0x0004 { Header::Llc } else { Header::Type(kind) }
}

/// PPP behind the bytes of HDLC, or without them; links of PPP carry the frames of Cisco's HDLC, too.
fn of_framed(data: &[u8]) -> Option<(Header, &[u8])> {
    Some(match data.get(..2)? {
        [0xff, 0x03] => (Header::Ppp, behind(data, 2)),
        [0x0f | 0x8f, 0] => of_hdlc(data)?,
        _ => (Header::Ppp, data),
    })
}

/// Cisco's HDLC: an address, a zero, an Ethernet type. Its keepalive has the number of RARP, its discovery one of its own.
fn of_hdlc(data: &[u8]) -> Option<(Header, &[u8])> {
    let header = match two(data, 2)? {
        0x8035 | 0x2000 => Header::Control,
        kind => Header::Type(kind),
    };
    Some((header, behind(data, 4)))
}

/// An Ethernet type or a length, at some place.
fn typed(data: &[u8], at: usize) -> Step<'_> {
    match two(data, at) {
        Some(kind) => Step::Next(Header::Type(kind), behind(data, at + 2)),
        None => Step::Is(Inner::Cut),
    }
}

fn of_type<'a>(kind: u16, data: &'a [u8], vlans: &mut Vlans) -> Step<'a> {
    Step::Is(match kind {
        0x0800 => Inner::Ipv4(data),
        0x86dd => Inner::Ipv6(data),
        0x0806 | 0x8035 => Inner::Arp(data),
        // 802.1Q, 802.1ad and what came before it: a tag, and the type of what it is put before.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => match two(data, 0) {
            Some(tag) if vlans.add(tag) => return typed(data, 2),
            _ => Inner::Cut,
        },
        // 802.1ah: a service instance of four bytes, and the customer's frame.
        0x88e7 => return Step::Next(Header::Ethernet, behind(data, 4)),
        0x8847 | 0x8848 => return Step::Next(Header::Label, data),
        0x8864 => return Step::Next(Header::Pppoe, data),
        // A length, or the type that stands for one in jumbo frames.
        0..=LENGTHS | 0x8870 => return Step::Next(Header::Llc, data),
        kind if NO_IP.contains(&kind) => Inner::Other,
        _ => Inner::Opaque,
    })
}

/// RFC 2516 §4: version and type 1, code 0 for a session, its number, a length.
fn of_pppoe(data: &[u8]) -> Step<'_> {
    match data.get(..6) {
        Some([0x11, 0, ..]) => Step::Next(Header::Ppp, behind(data, 6)),
        Some(_) => Step::Is(Inner::Opaque),
        None => Step::Is(Inner::Cut),
    }
}

/// RFC 1661 §2: the protocol in two bytes, or in one that is odd (§6.5). From 0x4000 on it is no network's packets:
/// control protocols of the link and of the networks on it.
fn of_ppp(data: &[u8]) -> Step<'_> {
    let (protocol, rest) = match data {
        [short, rest @ ..] if short & 1 == 1 => (u16::from(*short), rest),
        [a, b, rest @ ..] => (u16::from_be_bytes([*a, *b]), rest),
        _ => return Step::Is(Inner::Cut),
    };
    match protocol {
        0x0021 => Step::Is(Inner::Ipv4(rest)),
        0x0057 => Step::Is(Inner::Ipv6(rest)),
        0x0281 | 0x0283 => Step::Next(Header::Label, rest),
        0x4000.. => Step::Is(Inner::Other),
        _ => Step::Is(Inner::Opaque),
    }
}

/// IEEE 802.2: two access points and a control byte; SNAP has an organisation and a type behind them.
fn of_llc(data: &[u8]) -> Step<'_> {
    let Some([to, from, control]) = data.first_chunk::<3>() else { return Step::Is(Inner::Cut) };
    // XID and TEST, commands and answers, are about the link.
    if matches!(control, 0xaf | 0xbf | 0xe3 | 0xf3) {
        return Step::Is(Inner::Other);
    }
    Step::Is(match (to, from, control) {
        (0xaa, 0xaa, 3) => match data.get(3..6) {
            // The types of Ethernet, in its own name and in that of bridges.
            Some([0, 0, 0 | 0xf8]) => return typed(data, 6),
            // Cisco's protocols between its devices: CDP, VTP, DTP, UDLD, PVST+.
            Some([0, 0, 0x0c]) => match two(data, 6) {
                Some(0x0104 | 0x010b | 0x010c | 0x0111 | 0x2000 | 0x2003 | 0x2004) => Inner::Other,
                Some(_) => Inner::Opaque,
                None => Inner::Cut,
            },
            Some(_) => Inner::Opaque,
            None => Inner::Cut,
        },
        (0x06, 0x06, 3) => Inner::Ipv4(behind(data, 3)),
        // OSI's networks, with the number of the network: IP's, and IS-IS, ES-IS, CLNP and the inactive one.
        (0xfe, 0xfe, 3) => match data.get(3) {
            Some(0xcc) => Inner::Ipv4(behind(data, 4)),
            Some(0x8e) => Inner::Ipv6(behind(data, 4)),
            Some(0x81..=0x83 | 0) => Inner::Other,
            Some(_) => Inner::Opaque,
            None => Inner::Cut,
        },
        // Spanning tree, NetBIOS, IPX, and IPX without LLC.
        (0x42, 0x42, _) | (0xf0, 0xf0 | 0xf1, _) | (0xe0, 0xe0, _) | (0xff, 0xff, _) => Inner::Other,
        _ => Inner::Opaque,
    })
}

/// MPLS, RFC 3032 §2.1: labels up to the bottom of the stack; what is below says its version, if it is IP.
fn of_label(data: &[u8]) -> Step<'_> {
    match data.first_chunk::<4>() {
        Some([_, _, bottom, _]) => {
            Step::Next(if bottom & 1 == 1 { Header::Version } else { Header::Label }, behind(data, 4))
        }
        None => Step::Is(Inner::Cut),
    }
}

fn of_version(data: &[u8]) -> Inner<'_> {
    match data.first().map(|first| first >> 4) {
        Some(4) => Inner::Ipv4(data),
        Some(6) => Inner::Ipv6(data),
        Some(_) => Inner::Opaque,
        None => Inner::Cut,
    }
}
