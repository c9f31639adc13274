//! Frames for tests, made without the code that they test.

/// Which IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    /// Bytes of its header.
    fn header(self) -> usize {
        if self == Self::V4 { 20 } else { 40 }
    }
}

/// An Ethernet header from host `from` to host `to`.
fn ethernet(from: u8, to: u8, ethertype: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from];
    frame.extend(ethertype.to_be_bytes());
    frame
}

/// A datagram with so many bytes of payload, and right checksums.
pub(crate) fn udp(family: Family, from: u8, to: u8, payload: usize) -> Vec<u8> {
    let mut frame = ip(family, from, to, 17, 8 + payload);
    let at = 14 + family.header();
    put(&mut frame, at, 1000);
    put(&mut frame, at + 2, 2000);
    put(&mut frame, at + 4, 8 + payload);
    for (n, byte) in frame[at + 8..].iter_mut().enumerate() {
        *byte = n as u8;
    }
    let checksum = !sum_of_transport(&frame, family);
    put(&mut frame, at + 6, if checksum == 0 { 0xffff } else { usize::from(checksum) });
    frame
}

/// A TCP segment with so many bytes of payload, and right checksums.
pub(crate) fn tcp(family: Family, from: u8, to: u8, payload: usize) -> Vec<u8> {
    let mut frame = ip(family, from, to, 6, 20 + payload);
    let at = 14 + family.header();
    frame[at + 4..at + 8].copy_from_slice(&[0xff, 0xff, 0xff, 0x00]);
    (frame[at + 12], frame[at + 13]) = (5 << 4, 0x18);
    for (n, byte) in frame[at + 20..].iter_mut().enumerate() {
        *byte = n as u8;
    }
    let checksum = !sum_of_transport(&frame, family);
    put(&mut frame, at + 16, usize::from(checksum));
    frame
}

/// A packet with so many zeros behind its header.
pub(crate) fn ip(family: Family, from: u8, to: u8, protocol: u8, length: usize) -> Vec<u8> {
    let mut frame = match family {
        Family::V4 => {
            let mut frame = ethernet(from, to, 0x0800);
            frame.extend([0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
            put(&mut frame, 16, 20 + length);
            let checksum = !sum(&frame[14..34]);
            put(&mut frame, 24, usize::from(checksum));
            frame
        }
        Family::V6 => {
            let mut frame = ethernet(from, to, 0x86dd);
            frame.extend([0x60, 0, 0, 0, 0, 0, protocol, 64]);
            put(&mut frame, 18, length);
            for host in [from, to] {
                frame.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
            }
            frame
        }
    };
    frame.resize(frame.len() + length, 0);
    frame
}

/// Whether lengths and checksums of a frame with UDP or TCP, without options and extensions, are right.
pub(crate) fn is_valid(frame: &[u8]) -> bool {
    let family = if frame[12] == 8 { Family::V4 } else { Family::V6 };
    let length = |at: usize| usize::from(frame[at]) << 8 | usize::from(frame[at + 1]);
    let (packet, protocol) = match family {
        Family::V4 => (length(16), frame[23]),
        Family::V6 => (length(18) + 40, frame[20]),
    };
    let transport = 14 + family.header();
    let is_long = packet + 14 == frame.len() && (protocol != 17 || length(transport + 4) + transport == frame.len());
    let header = family == Family::V6 || sum(&frame[14..34]) == 0xffff;
    is_long && header && sum_of_transport(frame, family) == 0xffff
}

/// How wrong the checksum of an IPv4 header without options is: 0 if it is right, and for IPv6, which has none.
pub(crate) fn ipv4_residual(frame: &[u8]) -> u16 {
    if frame[12] == 8 { sum(&frame[14..34]) % 0xffff } else { 0 }
}

/// How wrong the checksum of UDP or TCP is: 0 if it is right.
pub(crate) fn transport_residual(frame: &[u8], family: Family) -> u16 {
    sum_of_transport(frame, family) % 0xffff
}

/// The sum of a pseudo header (RFC 768, RFC 8200 §8.1) and what follows the IP header.
fn sum_of_transport(frame: &[u8], family: Family) -> u16 {
    let transport = &frame[14 + family.header()..];
    let (addresses, protocol) = match family {
        Family::V4 => (&frame[26..34], frame[23]),
        Family::V6 => (&frame[22..54], frame[20]),
    };
    let mut all = addresses.to_vec();
    all.extend([0, protocol]);
    all.extend((transport.len() as u16).to_be_bytes());
    all.extend(transport);
    sum(&all)
}

/// RFC 1071, word by word.
fn sum(bytes: &[u8]) -> u16 {
    bytes.chunks(2).fold(0, |sum: u16, word| {
        let (sum, carry) = sum.overflowing_add(u16::from(word[0]) << 8 | u16::from(*word.get(1).unwrap_or(&0)));
        sum + u16::from(carry)
    })
}

fn put(frame: &mut [u8], at: usize, value: usize) {
    frame[at..at + 2].copy_from_slice(&(value as u16).to_be_bytes());
}
