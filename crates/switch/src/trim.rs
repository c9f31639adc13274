//! Packet trimming: a datagram that arrives at a full queue is truncated to its first bytes instead of being dropped
//! (NDP, SIGCOMM 2017 §3.1).
//!
//! The result is a valid datagram: lengths and checksums are updated, so that the receiving kernel delivers it. Checksums are not computed
//! anew (RFC 1624): a datagram with a bit error fails the receiver's check after trimming as before it, wherever the error was. SCDP knows a trimmed
//! symbol by its payload, which is shorter than its header declares (docs/reference/wire.md).

use crate::checksum;
use crate::frame::{Ip, get16, put16};

/// Bytes of a trimmed IP packet (SAI: trim size): commodity switches have 80 to 256.
pub(crate) const TRIM_SIZES: std::ops::RangeInclusive<u16> = 80..=1024;

/// Truncates the datagram in a frame, so that its IP packet has `size` bytes, and sets its DSCP if there is one to set.
///
/// False, and nothing is changed, if it is no UDP datagram, a fragment, or not longer than that.
pub(crate) fn trim(frame: &mut Vec<u8>, size: u16, dscp: Option<u8>) -> bool {
    let Some(mut ip) = Ip::of(frame) else { return false };
    let end = ip.start + usize::from(size);
    if !ip.is_udp(frame) || end >= ip.end || end < ip.transport + 8 {
        return false;
    }
    let before = checksum::first_words(frame, &ip);
    truncate_datagram(frame, &ip, end);
    // Queues are bounded by the bytes of their frames: without this, one of trimmed packets would take the memory of whole ones.
    frame.shrink_to_fit();
    ip.set_len(frame, end);
    if let Some(dscp) = dscp {
        set_dscp(frame, &ip, dscp);
    }
    checksum::update_ipv4(frame, &ip, before);
    true
}

/// Truncates a frame to `end` bytes, and updates the length and the checksum of the UDP datagram in it. A checksum of zero, which is none (RFC 768), stays zero.
fn truncate_datagram(frame: &mut Vec<u8>, ip: &Ip, end: usize) {
    // The words of the sum are counted from the start of the datagram: an odd byte that is left was half of one.
    let last_word = end - (end - ip.transport) % 2;
    // The length is in the pseudo header, too.
    let sum = |frame: &[u8], end: usize| checksum::add(2 * (end - ip.transport) as u64, &frame[last_word..end]);
    let (removed, added) = (sum(frame, ip.end), sum(frame, end));
    frame.truncate(end);
    put16(frame, ip.transport + 4, (end - ip.transport) as u16);
    if let Some(before) = get16(frame, ip.transport + 6).filter(|checksum| *checksum != 0) {
        put16(frame, ip.transport + 6, checksum::udp_checksum(checksum::update(before, removed, added)));
    }
}

/// Writes the six bits of DSCP, and leaves the two of ECN (RFC 2474 §3).
fn set_dscp(frame: &mut [u8], ip: &Ip, dscp: u8) {
    if ip.version == 4 {
        frame[ip.start + 1] = frame[ip.start + 1] & 3 | dscp << 2;
    } else {
        // Version (4 bits), traffic class (8 bits), flow label.
        frame[ip.start] = 0x60 | dscp >> 2;
        frame[ip.start + 1] = frame[ip.start + 1] & 0x3f | dscp << 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::ETHERNET;
    use crate::testing::{Family, ipv4_residual, is_valid, tcp, transport_residual, udp};
    use proptest::prelude::*;

    #[test]
    fn a_trimmed_datagram_is_a_shorter_datagram() {
        for (family, header) in [(Family::V4, 20), (Family::V6, 40)] {
            let whole = udp(family, 1, 2, 1400);
            let mut frame = whole.clone();
            assert!(trim(&mut frame, 128, None));
            assert_eq!(frame.len(), 14 + 128);
            assert!(is_valid(&frame));
            let ip = Ip::of(&frame).expect("a packet");
            assert_eq!((ip.len(), get16(&frame, ip.transport + 4)), (128, Some(128 - header)));
            assert_eq!(frame[ip.transport + 8..], whole[ip.transport + 8..14 + 128]);
            let once = frame.clone();
            assert!(!trim(&mut frame, 128, None), "there is nothing to cut any more");
            assert_eq!(frame, once);
        }
    }

    #[test]
    fn dscp_is_set_and_ecn_left() {
        for family in [Family::V4, Family::V6] {
            let mut frame = udp(family, 1, 2, 1400);
            if family == Family::V4 {
                frame[15] = 0b10;
            } else {
                frame[15] = 0b10 << 4 | 0xf;
            }
            let ip = Ip::of(&frame).expect("a packet");
            checksum::set_ipv4(&mut frame, &ip);
            assert!(trim(&mut frame, 128, Some(0b10_1101)));
            let class = if family == Family::V4 { frame[15] } else { frame[14] << 4 | frame[15] >> 4 };
            assert_eq!(class, 0b1011_0110);
            assert!(family == Family::V4 || frame[15] & 0xf == 0xf, "the flow label stays");
            assert!(is_valid(&frame));
        }
    }

    #[test]
    fn only_datagrams_are_trimmed() {
        let mut segment = tcp(Family::V4, 1, 2, 1400);
        assert!(!trim(&mut segment, 128, None));
        let mut fragment = udp(Family::V4, 1, 2, 1400);
        fragment[20] = 0x20;
        assert!(!trim(&mut fragment, 128, None));
    }

    #[test]
    fn the_memory_of_the_payload_is_given_back() {
        let mut frame = udp(Family::V4, 1, 2, 1400);
        assert!(trim(&mut frame, 128, None));
        // An allocator may round up, but not to the size of a whole frame.
        assert!(frame.capacity() < 2 * frame.len(), "{} bytes for {}", frame.capacity(), frame.len());
    }

    #[test]
    fn a_datagram_without_a_checksum_gets_none() {
        let mut frame = udp(Family::V4, 1, 2, 1400);
        put16(&mut frame, 14 + 20 + 6, 0);
        assert!(trim(&mut frame, 128, None));
        assert_eq!(get16(&frame, 14 + 20 + 6), Some(0));
    }

    proptest! {
        #[test]
        fn wrong_checksums_stay_as_wrong_as_they_were(payload in 200_usize..1500, size in 80_u16..200, at: prop::sample::Index, bit in 0..8_u8, v6: bool) {
            let family = if v6 { Family::V6 } else { Family::V4 };
            let mut frame = udp(family, 1, 2, payload);
            let at = ETHERNET + at.index(frame.len() - ETHERNET);
            frame[at] ^= 1_u8 << bit;
            let Some(ip) = Ip::of(&frame) else { return Ok(()) };
            // The bit error may have made "no checksum" of it.
            prop_assume!(get16(&frame, ip.transport + 6) != Some(0));
            // Or options of the bytes after the IP header.
            prop_assume!(ip.transport == if v6 { 54 } else { 34 });
            let before = (ipv4_residual(&frame), transport_residual(&frame, family));
            if trim(&mut frame, size, Some(10)) {
                prop_assert_eq!((ipv4_residual(&frame), transport_residual(&frame, family)), before);
            }
        }

        #[test]
        fn trimming_keeps_what_it_keeps(payload in 0_usize..1500, size in TRIM_SIZES, v6: bool) {
            let whole = udp(if v6 { Family::V6 } else { Family::V4 }, 1, 2, payload);
            let mut frame = whole.clone();
            let trimmed = trim(&mut frame, size, None);
            prop_assert_eq!(trimmed, whole.len() > 14 + usize::from(size));
            prop_assert_eq!(frame.len(), whole.len().min(14 + usize::from(size)));
            prop_assert!(is_valid(&frame));
        }
    }
}
