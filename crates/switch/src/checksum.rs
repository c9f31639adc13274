//! The Internet checksum (RFC 1071), and where IPv4, UDP and TCP have it.

use crate::frame::{Ip, UDP, get16, put16};

/// Adds 16-bit words in network order, and nothing for the missing byte of an odd number. The sum of 64 KiB is far from overflow.
pub(crate) fn add(sum: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let sum = words.iter().fold(sum, |sum, word| sum + u64::from(u32::from_be_bytes(*word)));
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_be_bytes(last))
}

/// Folds a sum into 16 bits and complements it: the checksum.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Updates a checksum after a change of what it covers (RFC 1624 §3, equation 3): `removed` and `added` are sums of what was there, and is now.
///
/// One that was wrong stays as wrong as it was. To compute it anew would hide a bit error from the receiver.
pub(crate) fn update(checksum: u16, removed: u64, added: u64) -> u16 {
    fold(u64::from(!checksum) + u64::from(fold(removed)) + added)
}

/// Updates the checksum of an IPv4 header, whose first four bytes (class, length) had the sum `before`. IPv6 has none.
pub(crate) fn update_ipv4(bytes: &mut [u8], ip: &Ip, before: u64) {
    if let (4, Some(checksum)) = (ip.version, get16(bytes, ip.start + 10)) {
        put16(bytes, ip.start + 10, update(checksum, before, first_words(bytes, ip)));
    }
}

/// The sum of the first four bytes of an IP header.
pub(crate) fn first_words(bytes: &[u8], ip: &Ip) -> u64 {
    add(0, &bytes[ip.start..ip.start + 4])
}

/// A checksum as UDP has it (RFC 768): zero means that there is none, and ones' complement has another zero.
pub(crate) fn udp_checksum(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}

/// Writes the checksum of an IPv4 header (RFC 791 §3.1). IPv6 has none.
pub(crate) fn set_ipv4(bytes: &mut [u8], ip: &Ip) {
    if let Some(options) = ip.ipv4_header() {
        put16(bytes, ip.start + 10, 0);
        let checksum = fold(add(0, &bytes[options]));
        put16(bytes, ip.start + 10, checksum);
    }
}

/// The sum of what UDP and TCP add to their checksum: addresses, protocol, length (RFC 768; RFC 8200 §8.1).
fn pseudo_header(bytes: &[u8], ip: &Ip) -> u64 {
    let length = ip.end - ip.transport;
    add(u64::from(ip.protocol) + (length as u64 & 0xffff) + (length as u64 >> 16), &bytes[ip.addresses()])
}

/// The checksum of a UDP datagram, TCP segment or `ICMPv6` message, over what its checksum field holds as well: 0 if that is right.
pub(crate) fn verify_transport(bytes: &[u8], ip: &Ip) -> u16 {
    fold(add(pseudo_header(bytes, ip), &bytes[ip.transport..ip.end]))
}

/// Writes the checksum of a UDP datagram or TCP segment, whose field is `at` bytes behind the start of its header.
pub(crate) fn set_transport(bytes: &mut [u8], ip: &Ip, at: usize) {
    put16(bytes, ip.transport + at, 0);
    let checksum = verify_transport(bytes, ip);
    put16(bytes, ip.transport + at, if ip.protocol == UDP { udp_checksum(checksum) } else { checksum });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_1071_has_an_example() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(add(0, &bytes)), !0xddf2);
        // Of odd length: as if a zero followed.
        assert_eq!(fold(add(0, &bytes[..7])), fold(add(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0x00])));
    }

    #[test]
    fn rfc_1624_has_an_example() {
        // §4: the equation of RFC 1141 gives 0xffff here.
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
        assert_eq!(update(0x0000, 0x3285, 0x5555), 0xdd2f, "and back");
    }

    #[test]
    fn the_header_of_a_known_packet() {
        // From the Wikipedia article on the IPv4 header checksum: b861 is right.
        let mut frame = vec![0; 14];
        frame[12] = 8;
        frame.extend([0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7]);
        frame.resize(14 + 0x73, 0);
        let ip = Ip::of(&frame).expect("an IPv4 packet");
        set_ipv4(&mut frame, &ip);
        assert_eq!(frame[24..26], [0xb8, 0x61]);
    }
}
