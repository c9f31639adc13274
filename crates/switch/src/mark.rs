//! Congestion marks: CE in packets whose endpoints understand it (RFC 3168 §5).

use crate::checksum;
use crate::frame::Ip;

/// The codepoints of the ECN field (RFC 3168 §5). Not-ECT is 0.
const CE: u8 = 0b11;

/// Sets CE in the packet of a frame, if it is ECN-capable; whether it was set now.
pub(crate) fn mark(frame: &mut [u8]) -> bool {
    let Some(ip) = Ip::of(frame) else { return false };
    let (byte, shift) = (ip.start + 1, if ip.version == 4 { 0 } else { 4 });
    let field = frame[byte] >> shift & 0b11;
    if field == 0 || field == CE {
        return false;
    }
    let before = checksum::first_words(frame, &ip);
    frame[byte] |= CE << shift;
    // The checksum of UDP and TCP does not cover the field.
    checksum::update_ipv4(frame, &ip, before);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Family, ipv4_residual, is_valid, udp};

    #[test]
    fn only_capable_packets_are_marked_and_once() {
        for (family, shift) in [(Family::V4, 0), (Family::V6, 4)] {
            for (before, marked, after) in [(0, false, 0), (1, true, 3), (2, true, 3), (3, false, 3)] {
                let mut frame = udp(family, 1, 2, 100);
                frame[15] |= before << shift;
                let ip = Ip::of(&frame).expect("a packet");
                checksum::set_ipv4(&mut frame, &ip);
                assert_eq!(mark(&mut frame), marked);
                assert_eq!(frame[15] >> shift & 3, after);
                assert!(is_valid(&frame));
            }
        }
        assert!(!mark(&mut [0xff; 60]), "no IP");
    }

    #[test]
    fn a_wrong_header_checksum_stays_as_wrong_as_it_was() {
        let mut marked = 0;
        for bit in 0..20 * 8 {
            let mut frame = udp(Family::V4, 1, 2, 100);
            frame[15] = 0b10;
            let ip = Ip::of(&frame).expect("a packet");
            checksum::set_ipv4(&mut frame, &ip);
            frame[14 + bit / 8] ^= 1 << (bit % 8);
            let before = ipv4_residual(&frame);
            assert_ne!(before, 0, "bit {bit}");
            // A header whose length or version is damaged is no packet.
            if mark(&mut frame) {
                marked += 1;
                assert_eq!(ipv4_residual(&frame), before, "bit {bit}");
            }
        }
        assert!(marked > 100, "{marked}");
    }
}
