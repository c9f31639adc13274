//! Frames for tests.

use crate::checksum;
use crate::frame::{Ip, put16};

/// Which IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

/// An Ethernet header from host `from` to host `to`.
fn ethernet(from: u8, to: u8, ethertype: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from];
    frame.extend(ethertype.to_be_bytes());
    frame
}

/// A datagram with so many bytes of payload, and right checksums.
pub(crate) fn udp(family: Family, from: u8, to: u8, payload: usize) -> Vec<u8> {
    let mut frame = ip(family, from, to, crate::frame::UDP, 8 + payload);
    let ip = Ip::of(&frame).expect("a packet");
    let at = ip.transport;
    put16(&mut frame, at, 1000);
    put16(&mut frame, at + 2, 2000);
    put16(&mut frame, at + 4, (8 + payload) as u16);
    for (n, byte) in frame[at + 8..].iter_mut().enumerate() {
        *byte = n as u8;
    }
    checksum::set_transport(&mut frame, &ip, 6);
    frame
}

/// A TCP segment with so many bytes of payload, and right checksums.
pub(crate) fn tcp(family: Family, from: u8, to: u8, payload: usize) -> Vec<u8> {
    let mut frame = ip(family, from, to, crate::frame::TCP, 20 + payload);
    let ip = Ip::of(&frame).expect("a packet");
    let at = ip.transport;
    frame[at + 4..at + 8].copy_from_slice(&[0xff, 0xff, 0xff, 0x00]);
    (frame[at + 12], frame[at + 13]) = (5 << 4, 0x18);
    for (n, byte) in frame[at + 20..].iter_mut().enumerate() {
        *byte = n as u8;
    }
    checksum::set_transport(&mut frame, &ip, 16);
    frame
}

/// A packet with so many zeros behind its header.
pub(crate) fn ip(family: Family, from: u8, to: u8, protocol: u8, length: usize) -> Vec<u8> {
    let mut frame = match family {
        Family::V4 => {
            let mut frame = ethernet(from, to, 0x0800);
            frame.extend([0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
            put16(&mut frame, 16, (20 + length) as u16);
            frame
        }
        Family::V6 => {
            let mut frame = ethernet(from, to, 0x86dd);
            frame.extend([0x60, 0, 0, 0, 0, 0, protocol, 64]);
            put16(&mut frame, 18, length as u16);
            for host in [from, to] {
                frame.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
            }
            frame
        }
    };
    frame.resize(frame.len() + length, 0);
    let ip = Ip::of(&frame).expect("a packet");
    checksum::set_ipv4(&mut frame, &ip);
    frame
}

/// Whether the checksums of a frame with UDP or TCP are right.
pub(crate) fn is_sound(frame: &[u8]) -> bool {
    let ip = Ip::of(frame).expect("a packet");
    let header = ip.ipv4_header().map_or(0, |header| checksum::finish(checksum::add(0, &frame[header])));
    header == 0 && checksum::verify_transport(frame, &ip) == 0
}
