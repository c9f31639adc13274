//! Offloads that hosts leave to their network card are done here: checksums and segmentation.
//!
//! A host on a `veth` hands frames over with only the pseudo header's sum for a checksum, and up to 64 KiB in one TCP segment or several
//! datagrams in one. A packet socket with `PACKET_VNET_HDR` (packet(7)) has a header with these in front of each frame; a
//! real cable carries neither, so both end where frames enter the switch.
//! Only what the kernel names is changed: in a frame without offloads, a checksum that is wrong stays wrong. Segments get new checksums, of IPv4, too,
//! as a card computes them. That hides no bit errors of TCP and UDP: the kernel has not computed the checksum of a frame that is to be segmented
//! (`CHECKSUM_PARTIAL`), or has verified it (generic receive offload).

use thiserror::Error;

use crate::checksum;
use crate::frame::{Ip, TCP, UDP, get16, put16};

/// `struct virtio_net_hdr` (`linux/virtio_net.h`).
const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
/// Or'ed to the two kinds of TCP: the first segment alone has CWR.
const GSO_ECN: u8 = 0x80;
/// Flags of TCP (RFC 9293 §3.1) that belong to the last segment, and to the first.
const FIN_PSH: u8 = 0x01 | 0x08;
const CWR: u8 = 0x80;

/// The offloads that are to be done for a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Where the bytes that a checksum covers start, and where in them it is to be written, over the pseudo header's sum.
    checksum: Option<(usize, usize)>,
    /// `GSO_` and the bytes of payload of each segment.
    segments: Option<(u8, usize)>,
}

/// Why a frame cannot be sent as it would be on a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OffloadError {
    /// The checksum's place is not in the frame.
    #[error("the checksum's place is outside of the frame")]
    Checksum,
    /// Segmentation that is not of TCP or UDP, or a frame that is neither.
    #[error("cannot be cut into segments")]
    Segments,
}

impl Offload {
    /// Bytes of the header in front of each frame.
    pub const HEADER: usize = 10;

    /// Reads that header, which is in the machine's byte order.
    pub fn of_header(header: &[u8; Self::HEADER]) -> Self {
        let word = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
        let kind = header[1] & !GSO_ECN;
        Self {
            checksum: (header[0] & NEEDS_CHECKSUM != 0).then(|| (word(6), word(8))),
            segments: (kind != GSO_NONE).then(|| (kind, word(4))),
        }
    }

    /// Does the offloads: emits the frames that a network card would send.
    ///
    /// # Errors
    ///
    /// If the header does not fit the frame; then nothing is to be sent.
    pub fn apply(self, mut frame: Vec<u8>, mut emit: impl FnMut(Vec<u8>)) -> Result<(), OffloadError> {
        if let Some((kind, size)) = self.segments {
            return segment(&frame, kind, size, emit);
        }
        if let Some((start, offset)) = self.checksum {
            let at = start + offset;
            if at + 2 > frame.len() {
                return Err(OffloadError::Checksum);
            }
            // Linux does not care whether UDP is in it, either (`skb_checksum_help`): the two zeros are the same number.
            let sum = checksum::fold(checksum::add(0, &frame[start..]));
            put16(&mut frame, at, if sum == 0 { 0xffff } else { sum });
        }
        emit(frame);
        Ok(())
    }
}

fn segment(frame: &[u8], kind: u8, size: usize, mut emit: impl FnMut(Vec<u8>)) -> Result<(), OffloadError> {
    let ip = Ip::of(frame).filter(|ip| !ip.fragment && size > 0).ok_or(OffloadError::Segments)?;
    let header = match (kind, ip.protocol) {
        (GSO_TCP4 | GSO_TCP6, TCP) => {
            usize::from(*frame.get(ip.transport + 12).ok_or(OffloadError::Segments)? >> 4) * 4
        }
        (GSO_UDP, UDP) => 8,
        _ => return Err(OffloadError::Segments),
    };
    let payload = ip.transport + header;
    if payload >= ip.end || (ip.protocol == TCP && header < 20) {
        return Err(OffloadError::Segments);
    }
    let chunks = frame[payload..ip.end].chunks(size);
    let last = chunks.len() - 1;
    for (n, chunk) in chunks.enumerate() {
        let mut one = Vec::with_capacity(payload + chunk.len());
        one.extend_from_slice(&frame[..payload]);
        one.extend_from_slice(chunk);
        let (end, mut ip) = (one.len(), ip);
        ip.set_len(&mut one, end);
        if ip.version == 4 {
            let identification = get16(&one, ip.start + 4).expect("an IPv4 header").wrapping_add(n as u16);
            put16(&mut one, ip.start + 4, identification);
            checksum::set_ipv4(&mut one, &ip);
        }
        if ip.protocol == UDP {
            put16(&mut one, ip.transport + 4, (end - ip.transport) as u16);
            checksum::set_transport(&mut one, &ip, 6);
        } else {
            adjust_tcp(&mut one[ip.transport..], n * size, n == 0, n == last);
            checksum::set_transport(&mut one, &ip, 16);
        }
        emit(one);
    }
    Ok(())
}

/// Writes sequence number and flags of a segment, `behind` bytes after the first one.
fn adjust_tcp(segment: &mut [u8], behind: usize, first: bool, last: bool) {
    let sequence: [u8; 4] = segment[4..8].try_into().expect("four bytes");
    segment[4..8].copy_from_slice(&u32::from_be_bytes(sequence).wrapping_add(behind as u32).to_be_bytes());
    if !first {
        segment[13] &= !CWR;
    }
    if !last {
        segment[13] &= !FIN_PSH;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Family, is_valid, tcp, udp};
    use proptest::prelude::*;

    fn header(flags: u8, kind: u8, size: u16, start: u16, offset: u16) -> [u8; 10] {
        let mut header = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        for (at, word) in [(4, size), (6, start), (8, offset)] {
            header[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        }
        header
    }

    fn applied(header: [u8; 10], frame: Vec<u8>) -> Result<Vec<Vec<u8>>, OffloadError> {
        let mut out = Vec::new();
        Offload::of_header(&header).apply(frame, |frame| out.push(frame))?;
        Ok(out)
    }

    #[test]
    fn a_checksum_is_completed() {
        for family in [Family::V4, Family::V6] {
            let whole = udp(family, 1, 2, 333);
            let ip = Ip::of(&whole).expect("a packet");
            // What a host leaves there: the sum of the pseudo header, not complemented.
            let mut frame = whole.clone();
            put16(&mut frame, ip.transport + 6, 0);
            let mut bare = frame.clone();
            bare[ip.transport..].fill(0);
            let pseudo = !checksum::verify_transport(&bare, &ip);
            put16(&mut frame, ip.transport + 6, pseudo);
            assert!(!is_valid(&frame));
            let done = applied(header(1, 0, 0, ip.transport as u16, 6), frame).expect("applied");
            assert_eq!(done, [whole]);
        }
    }

    #[test]
    fn what_is_completed_here_can_be_marked_and_trimmed() {
        for family in [Family::V4, Family::V6] {
            let mut whole = udp(family, 1, 2, 2500);
            let ip = Ip::of(&whole).expect("a packet");
            if family == Family::V4 {
                whole[15] |= 2;
                checksum::set_ipv4(&mut whole, &ip);
            } else {
                whole[15] |= 2 << 4;
            }
            let pseudo = !checksum::verify_transport(&[&whole[..ip.transport], &[0; 2508]].concat(), &ip);
            put16(&mut whole, ip.transport + 6, pseudo);
            let completed = applied(header(1, 0, 0, ip.transport as u16, 6), whole.clone()).expect("applied");
            let segments = applied(header(1, GSO_UDP, 1000, ip.transport as u16, 6), whole).expect("applied");
            assert_eq!((completed.len(), segments.len()), (1, 3));
            for frame in completed.into_iter().chain(segments) {
                let (mut marked, mut trimmed) = (frame.clone(), frame);
                assert!(crate::mark::mark(&mut marked) && is_valid(&marked));
                assert!(crate::trim::trim(&mut trimmed, 129, Some(10)) && is_valid(&trimmed));
            }
        }
    }

    #[test]
    fn a_wrong_checksum_is_left_wrong() {
        let mut frame = udp(Family::V4, 1, 2, 333);
        frame[100] ^= 1;
        assert_eq!(applied(header(0, 0, 0, 0, 0), frame.clone()), Ok(vec![frame]));
    }

    #[test]
    fn datagrams_are_segmented() {
        for family in [Family::V4, Family::V6] {
            let whole = udp(family, 1, 2, 2500);
            let at = Ip::of(&whole).expect("a packet").transport + 8;
            let parts = applied(header(1, GSO_UDP, 1000, 0, 0), whole.clone()).expect("applied");
            assert_eq!(parts.iter().map(|p| p.len() - at).collect::<Vec<_>>(), [1000, 1000, 500]);
            assert!(parts.iter().all(|p| is_valid(p) && Ip::of(p).expect("a packet").is_udp(p)));
            let together: Vec<u8> = parts.iter().flat_map(|p| p[at..].to_vec()).collect();
            assert_eq!(together, whole[at..]);
        }
    }

    #[test]
    fn segments_follow_each_other() {
        for (family, kind) in [(Family::V4, GSO_TCP4), (Family::V6, GSO_TCP6 | GSO_ECN)] {
            let mut whole = tcp(family, 1, 2, 2500);
            let at = Ip::of(&whole).expect("a packet").transport;
            // CWR, PSH, ACK, FIN.
            whole[at + 13] = 0x99;
            let parts = applied(header(1, kind, 1000, 0, 0), whole).expect("applied");
            assert!(parts.iter().all(|p| is_valid(p)));
            let seen: Vec<_> = parts.iter().map(|p| (p[at + 4..at + 8].to_vec(), p[at + 13])).collect();
            assert_eq!(
                seen,
                // From ffffff00 past the end of the sequence space.
                [(vec![0xff, 0xff, 0xff, 0], 0x90), (vec![0, 0, 2, 0xe8], 0x10), (vec![0, 0, 6, 0xd0], 0x19)]
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let frame = udp(Family::V4, 1, 2, 2500);
        assert_eq!(applied(header(1, 0, 0, 2500, 60), frame.clone()), Err(OffloadError::Checksum));
        for (kind, size) in [(GSO_TCP4, 1000), (GSO_UDP, 0), (3, 1000), (77, 1000)] {
            assert_eq!(applied(header(1, kind, size, 0, 0), frame.clone()), Err(OffloadError::Segments));
        }
    }

    proptest! {
        #[test]
        fn any_header_on_any_frame(bytes in proptest::collection::vec(any::<u8>(), 0..300), header: [u8; 10], tcp_frame: bool) {
            let _ = applied(header, bytes.clone());
            // Over a sound packet with a few bytes changed.
            let mut frame = if tcp_frame { tcp(Family::V4, 1, 2, 100) } else { udp(Family::V6, 1, 2, 100) };
            for pair in bytes.chunks_exact(2).take(3) {
                let at = usize::from(pair[0]) % frame.len();
                frame[at] = pair[1];
            }
            let _ = applied(header, frame);
        }
    }
}
