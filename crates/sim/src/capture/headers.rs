//! From a simulated packet to bytes: IPv4, and TCP, UDP or the [encapsulation](super::encapsulation) of other transports.
//!
//! Payload is not stored: where a checksum covers it, it is taken to be zeros.

use super::encapsulation::encapsulate;
use super::flows::Ends;
use super::segment::tcp;
use crate::engine::arena::{Hot, flag};
use crate::host::stack::Header;
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};

/// Payload for checksums.
static ZEROS: [u8; 65_535] = [0; 65_535];

/// Hops that a packet may take: what hosts set. Switches do not count them down.
const TTL: u8 = 64;

const IP: usize = Ipv4Header::MIN_LEN;

/// The subflow that a packet belongs to.
pub(super) fn subflow(header: &Header) -> u16 {
    match header {
        Header::Multipath(header) => header.subflow() as u16,
        _ => 0,
    }
}

/// Writes the headers of a packet. Returns its bytes on the wire: what the simulator counts, or more where that leaves no room for
/// the headers.
pub(super) fn write(hot: &Hot, header: &Header, ends: &Ends, out: &mut Vec<u8>) -> u32 {
    out.clear();
    let wire = usize::from(hot.size);
    let length = match header {
        Header::Tcp(segment) => write_tcp(hot, &tcp(segment, None, hot, ends), segment.len, ends, out),
        Header::Multipath(subflow) => {
            let segment = subflow.segment();
            write_tcp(hot, &tcp(&segment, Some(subflow.data), hot, ends), segment.len, ends, out)
        }
        Header::Udp(_) => {
            let payload = &ZEROS[..wire.saturating_sub(IP + UdpHeader::LEN)];
            write_udp(hot, payload, 0, ends, out)
        }
        other => {
            let own = encapsulate(hot, other, ends);
            let mut payload = own.to_vec();
            payload.resize(wire.saturating_sub(IP + UdpHeader::LEN).max(own.len()), 0);
            write_udp(hot, &payload, own.len(), ends, out)
        }
    };
    length.max(wire) as u32
}

fn write_tcp(hot: &Hot, tcp: &TcpHeader, payload: u16, ends: &Ends, out: &mut Vec<u8>) -> usize {
    let payload = if hot.has(flag::TRIMMED) { 0 } else { usize::from(payload) };
    let payload = payload.min(ZEROS.len() - IP - tcp.header_len());
    let ip = ip(hot, IpNumber::TCP, tcp.header_len() + payload, ends);
    let (from, to) = (ip.source, ip.destination);
    let checksum = tcp.calc_checksum_ipv4_raw(from, to, &ZEROS[..payload]).unwrap_or_default();
    out.extend(ip.to_bytes());
    out.extend(TcpHeader { checksum, ..tcp.clone() }.to_bytes());
    IP + tcp.header_len() + payload
}

/// Of the payload, the first `kept` bytes are stored.
fn write_udp(hot: &Hot, payload: &[u8], kept: usize, ends: &Ends, out: &mut Vec<u8>) -> usize {
    let ip = ip(hot, IpNumber::UDP, UdpHeader::LEN + payload.len(), ends);
    let (from, to) = (ends.source.port(), ends.destination.port());
    let udp = UdpHeader::with_ipv4_checksum(from, to, &ip, payload);
    out.extend(ip.to_bytes());
    out.extend(udp.unwrap_or_default().to_bytes());
    out.extend(&payload[..kept]);
    IP + UdpHeader::LEN + payload.len()
}

/// The IPv4 header of a packet with so many bytes behind it. The DSCP is the packet's priority (0 highest), the ECN field what
/// the simulator knows (RFC 3168 §5).
fn ip(hot: &Hot, protocol: IpNumber, behind: usize, ends: &Ends) -> Ipv4Header {
    let (from, to) = (ends.source.ip().octets(), ends.destination.ip().octets());
    let ecn = match (hot.has(flag::CE), hot.has(flag::ECT)) {
        (true, _) => IpEcn::CongestionExperienced,
        (false, true) => IpEcn::Ect0,
        (false, false) => IpEcn::NotEct,
    };
    let behind = behind.min(usize::from(u16::MAX) - IP) as u16;
    let mut ip = Ipv4Header {
        dscp: IpDscp::try_new(hot.priority()).unwrap_or_default(),
        ecn,
        total_len: IP as u16 + behind,
        dont_fragment: true,
        time_to_live: TTL,
        protocol,
        source: from,
        destination: to,
        ..Ipv4Header::default()
    };
    ip.header_checksum = ip.calc_header_checksum();
    ip
}
