//! Packet trimming: a datagram that finds the queue full loses its payload, but for the first bytes, instead of being dropped
//! (NDP, SIGCOMM 2017 §3.1).
//!
//! What is left is a datagram in order: lengths and checksums are rewritten, so that the receiving kernel delivers it. SCDP knows a trimmed
//! symbol by its payload, which is shorter than its header declares (docs/reference/wire.md).

use crate::checksum;
use crate::frame::{Ip, put16};

/// Bytes of IP packets that can be kept: commodity switches keep 80 to 256.
pub(crate) const KEPT: std::ops::RangeInclusive<u16> = 80..=1024;

/// Cuts the datagram in a frame, so that its IP packet has `keep` bytes, and sets its DSCP if there is one to set.
///
/// False, and nothing is changed, if it is no UDP datagram, a fragment, or not longer than that.
pub(crate) fn trim(frame: &mut Vec<u8>, keep: u16, dscp: Option<u8>) -> bool {
    let Some(mut ip) = Ip::of(frame) else { return false };
    let end = ip.start + usize::from(keep);
    if !ip.is_udp(frame) || end >= ip.end || end < ip.transport + 8 {
        return false;
    }
    frame.truncate(end);
    // Queues are bounded by the bytes of their frames: without this, one of trimmed packets would take the memory of whole ones.
    frame.shrink_to_fit();
    ip.set_len(frame, end);
    put16(frame, ip.transport + 4, (end - ip.transport) as u16);
    if let Some(dscp) = dscp {
        set_dscp(frame, &ip, dscp);
    }
    checksum::set_ipv4(frame, &ip);
    checksum::set_transport(frame, &ip, 6);
    true
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
    use crate::frame::get16;
    use crate::testing::{Family, is_sound, tcp, udp};
    use proptest::prelude::*;

    #[test]
    fn a_trimmed_datagram_is_a_shorter_datagram() {
        for (family, header) in [(Family::V4, 20), (Family::V6, 40)] {
            let whole = udp(family, 1, 2, 1400);
            let mut frame = whole.clone();
            assert!(trim(&mut frame, 128, None));
            assert_eq!(frame.len(), 14 + 128);
            assert!(is_sound(&frame));
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
            assert!(is_sound(&frame));
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

    proptest! {
        #[test]
        fn trimming_keeps_what_it_keeps(payload in 0_usize..1500, keep in KEPT, v6: bool) {
            let whole = udp(if v6 { Family::V6 } else { Family::V4 }, 1, 2, payload);
            let mut frame = whole.clone();
            let trimmed = trim(&mut frame, keep, None);
            prop_assert_eq!(trimmed, whole.len() > 14 + usize::from(keep));
            prop_assert_eq!(frame.len(), whole.len().min(14 + usize::from(keep)));
            prop_assert!(is_sound(&frame));
        }
    }
}
