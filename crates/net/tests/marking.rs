//! The DSCP and ECN fields of what an endpoint sends, as they arrive.

use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;

use anabranch_net::{Endpoint, HostConfig, Input, Protection, send_file};
use anabranch_transport::Duration;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};

/// The kind of a datagram (docs/reference/wire.md).
const SYMBOL: u8 = 1;
const OPEN: u8 = 4;

/// The kinds and the octets of the IP header of all that has arrived.
fn arrived(socket: &UdpSocket) -> Vec<(u8, u8)> {
    let mut found = Vec::new();
    loop {
        let (mut bytes, mut space) = ([0; 2000], nix::cmsg_space!([u8; 64]));
        let mut buffer = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_DONTWAIT;
        let Ok(message) = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut buffer, Some(&mut space), flags) else {
            return found;
        };
        let octet = |message| if let ControlMessageOwned::Ipv4Tos(octet) = message { Some(octet) } else { None };
        let octet = message.cmsgs().expect("whole").find_map(octet).expect("the octet");
        found.push((bytes[0] & 15, octet));
    }
}

#[test]
fn symbols_have_one_class_and_all_else_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rivers.txt");
    std::fs::write(&path, vec![7; 20_000]).expect("written");
    let deaf = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    setsockopt(&deaf, sockopt::IpRecvTos, &true).expect("an option");
    let config = HostConfig {
        dscp: "AF11".parse().expect("a class"),
        control_dscp: "CS5".parse().expect("a class"),
        give_up_after: Duration::from_ms(100),
        ..HostConfig::new(Protection::None)
    };
    let mut endpoint = Endpoint::bind("127.0.0.1:0".parse().expect("an address"), config).expect("a socket");
    let file = Input::open(&path, None).expect("a file");
    let to = [deaf.local_addr().expect("an address")];
    let outcomes = send_file(&mut endpoint, &file, &to, None, |_| ControlFlow::Continue(()));
    assert!(!outcomes.expect("it ran")[0].is_success(), "nobody answers");
    let found = arrived(&deaf);
    let octets = |kind| found.iter().filter(move |one| one.0 == kind).map(|one| one.1).collect::<Vec<_>>();
    assert!(!octets(OPEN).is_empty() && octets(OPEN).iter().all(|&octet| octet == 40 << 2), "{found:?}");
    // AF11, and ECT(0): a session with one receiver takes notice of marks.
    assert!(octets(SYMBOL).len() >= 10 && octets(SYMBOL).iter().all(|&octet| octet == 10 << 2 | 2), "{found:?}");
}
