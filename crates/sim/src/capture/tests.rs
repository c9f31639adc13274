//! The bytes of packets.

use super::flows::{Ends, Flows, Party};
use super::{headers, segment};
use crate::engine::arena::{Hot, NO_PACKET, flag};
use crate::host::protocol::{Protocol, Transport};
use crate::host::stack::Header;
use crate::host::{Remote, Remotes};
use anabranch_transport::tcp::{Flags, Segment, TcpConfig};
use anabranch_transport::{Bytes, ndp, scdp, udp};
use std::num::NonZeroU16;

fn hot(size: u16, trimmed_size: u16, flags: u8) -> Hot {
    let tag = Hot::tag(0, 3, false);
    Hot {
        at: 0,
        next: NO_PACKET,
        endpoint: 1,
        destination: 1,
        path: 0xa1b2_c3d4,
        size,
        trimmed_size,
        from: 0,
        tag,
        flags,
    }
}

fn ends() -> Ends {
    Ends {
        source: "10.0.0.1:32768".parse().expect("an address"),
        destination: "10.0.0.2:30000".parse().expect("an address"),
        session: 7,
        scale: 0,
        payload: 1436,
    }
}

/// The bytes of a packet and its length on the wire.
fn bytes(hot: &Hot, header: Header, ends: &Ends) -> (Vec<u8>, u32) {
    let mut out = Vec::new();
    let length = headers::write(hot, &header, ends, &mut out);
    (out, length)
}

fn changed(mut segment: Segment, change: impl FnOnce(&mut Segment)) -> Segment {
    change(&mut segment);
    segment
}

fn segment(flags: Flags) -> Segment {
    changed(Segment::default(), |segment| (segment.window, segment.flags) = (65_535, flags))
}

#[test]
fn a_segment_is_a_tcp_packet() {
    let data = changed(segment(Flags::ACK | Flags::CWR), |segment| (segment.seq, segment.len) = (2920, 1460));
    let (own, length) = bytes(&hot(1500, 40, flag::DATA | flag::ECT), Header::Tcp(data), &ends());
    let ip = [0x45, 3 << 2 | 2, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0x21, 0x0c, 10, 0, 0, 1, 10, 0, 0, 2];
    assert_eq!((own.len(), length, &own[..20]), (40, 1500, &ip[..]));
    let tcp = [0x80, 0, 0x75, 0x30, 0, 0, 0x0b, 0x69, 0, 0, 0, 1, 0x50, 0x90, 0xff, 0xff];
    assert_eq!((&own[20..36], &own[38..]), (&tcp[..], &[0, 0][..]));
}

#[test]
fn numbers_wrap_as_on_the_wire() {
    let far = changed(segment(Flags::ACK | Flags::FIN), |segment| {
        (segment.seq, segment.ack, segment.len) = ((1 << 32) + 4, (1 << 33) - 1, 1);
    });
    let (own, _) = bytes(&hot(41, 40, flag::DATA), Header::Tcp(far), &ends());
    assert_eq!(own[24..32], [0, 0, 0, 5, 0, 0, 0, 0]);
    assert_eq!(own[33], 0x11);
}

#[test]
fn a_trimmed_segment_has_no_payload() {
    let data = changed(segment(Flags::ACK), |segment| segment.len = 1460);
    let (own, length) = bytes(&hot(40, 40, flag::DATA | flag::TRIMMED), Header::Tcp(data), &ends());
    assert_eq!((&own[2..4], length), (&[0, 40][..], 40));
}

#[test]
fn a_syn_has_the_options_that_its_ends_need() {
    let syn = segment(Flags::SYN | Flags::SACK_PERMITTED);
    let wide = Ends { scale: 5, ..ends() };
    let (own, length) = bytes(&hot(40, 40, 0), Header::Tcp(syn), &wide);
    assert_eq!(own[40..], [1, 1, 4, 2, 1, 3, 3, 5, 2, 4, 0x05, 0x9c], "SACK permitted, scale, 1436 B");
    assert_eq!((own[24..28].to_vec(), own[33], length), (vec![0; 4], 0x02, 52));
    let (own, length) = bytes(&hot(40, 40, 0), Header::Tcp(segment(Flags::SYN)), &ends());
    assert_eq!((own.len(), length), (40, 40));
}

#[test]
fn windows_are_scaled_behind_the_handshake() {
    let wide = Ends { scale: 5, ..ends() };
    let window = |flags, window| {
        let (own, _) =
            bytes(&hot(40, 40, 0), Header::Tcp(changed(segment(flags), |segment| segment.window = window)), &wide);
        u16::from_be_bytes([own[34], own[35]])
    };
    assert_eq!([window(Flags::ACK, 1_000_000), window(Flags::ACK, 1)], [31_250, 1]);
    assert_eq!([window(Flags::SYN, 1_000_000), window(Flags::SYN, 1000)], [65_535, 1000]);
}

#[test]
fn udp_has_its_length_and_a_checksum() {
    let (own, length) =
        bytes(&hot(1500, 28, flag::DATA), Header::Udp(udp::Header { seq: 9, object: 1 << 20 }), &ends());
    assert_eq!((own.len(), length, &own[20..26]), (28, 1500, &[0x80, 0, 0x75, 0x30, 0x05, 0xc8][..]));
    // RFC 768: pseudo-header, header, and zeros.
    let words = [0x0a00, 0x0001, 0x0a00, 0x0002, 17, 0x05c8, 0x8000, 0x7530, 0x05c8];
    let sum: u32 = words.iter().sum();
    assert_eq!(u16::from_be_bytes([own[26], own[27]]), !((sum & 0xffff) + (sum >> 16)) as u16);
}

#[test]
fn ndp_is_told_in_36_bytes() {
    let data = ndp::Header::Data {
        seq: 0x01_0203_0405,
        pull: 6,
        object: ndp::ENDLESS,
        sent: ndp::Stamp(0x0708_090a),
        syn: NonZeroU16::new(12),
        last: false,
    };
    let (own, length) = bytes(&hot(64, 64, flag::DATA | flag::TRIMMED), Header::Ndp(data), &ends());
    let head = [b'A', b'B', 0x11, 2, 0x83, 0x05, 0x9c, 0, 0, 0, 7, 0xa1, 0xb2, 0xc3, 0xd4];
    let rest = [1, 2, 3, 4, 5, 0, 0, 0, 6, 255, 255, 255, 255, 255, 255, 7, 8, 9, 10, 0, 12];
    assert_eq!((&own[28..43], &own[43..], length), (&head[..], &rest[..], 64));
    let last = ndp::Header::Data { seq: 2, pull: 0, object: 3000, sent: ndp::Stamp(0), syn: None, last: true };
    let (own, _) = bytes(&hot(64, 64, flag::DATA | flag::TRIMMED), Header::Ndp(last), &ends());
    assert_eq!(own[31..35], [1, 0x83, 0, 128], "the payload of the last packet, which a switch cut off");
    let pull = ndp::Header::Pull { number: 1, void: 2, pushed: true, below: 3 };
    let (own, length) = bytes(&hot(64, 64, flag::CONTROL), Header::Ndp(pull), &ends());
    assert_eq!((own[30..35].to_vec(), length), (vec![0x14, 1, 0x23, 0, 0], 64));
    assert_eq!(own[43..58], [0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3]);
}

#[test]
fn scdp_is_told_in_36_bytes() {
    let options = scdp::Options {
        object_bytes: 100_000,
        symbol_bytes: 1436,
        block_symbols: 100,
        window: 12,
        lanes: 3,
        mode: scdp::Mode::ManyToOne,
    };
    let symbol = scdp::Symbol { block: 0, esi: 69, index: 23, options, syn: true };
    let flags = flag::DATA | flag::TRIMMED;
    let (own, _) = bytes(&hot(64, 64, flags), Header::Scdp(scdp::Header::Symbol(symbol)), &ends());
    assert_eq!(own[30..35], [0x21, 5, 0x83, 0x03, 0x94], "of the last source symbol 100000 - 69 * 1436 = 916 bytes");
    let rest = [0, 0, 0, 0, 0, 0, 69, 0, 0, 23, 0, 0, 0, 1, 0x86, 0xa0, 0, 100, 0, 12, 3];
    assert_eq!(own[43..], rest);
    let pull = scdp::Pull { block: 1, upto: 2, base: 3, fin: true, retry: false, done: true };
    let (own, _) = bytes(&hot(64, 64, flag::CONTROL), Header::Scdp(scdp::Header::Pull(pull)), &ends());
    assert_eq!((own[30..32].to_vec(), &own[43..55]), (vec![0x24, 5], &[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3][..]));
}

#[test]
fn a_datagram_that_is_too_short_grows() {
    let (own, length) = bytes(&hot(40, 40, 0), Header::Scdp(scdp::Header::GivenUp), &ends());
    assert_eq!((own.len(), length, &own[2..4]), (64, 64, &[0, 64][..]));
}

fn transport(window: u64) -> Transport {
    let config = TcpConfig { receive_window: Bytes(window), ..TcpConfig::default() };
    Transport { name: "newreno".to_owned(), protocol: Protocol::Tcp(config) }
}

/// Opens endpoints: host, whether it receives, subflows, remote ends.
fn opened(transport: &Transport, port: u16, parties: &[(u32, bool, u8, Remotes)]) -> Flows {
    let mut flows = Flows::default();
    for (host, receives, subflows, remotes) in parties {
        let (host, receives, subflows) = (*host, *receives, *subflows);
        flows.add(&Party { host, session: 5, receives, subflows, workload: 2, port, transport, remotes });
    }
    flows
}

fn remote(host: u32, endpoint: u32, from: u16) -> Remote {
    Remote { host, endpoint, from }
}

#[test]
fn connections_have_addresses_and_ports_of_their_own() {
    let one = |host, endpoint| Remotes::One(remote(host, endpoint, 0));
    let parties =
        [(3, false, 4, one(255, 1)), (255, true, 4, one(3, 0)), (3, false, 1, one(255, 3)), (255, true, 1, one(3, 2))];
    for (port, service) in [(0, 30_002), (80, 80)] {
        let flows = opened(&transport(1 << 20), port, &parties);
        let told = |endpoint, subflow| {
            let ends = flows.ends(&Hot { endpoint, ..hot(40, 40, 0) }, subflow).expect("it is open");
            assert_eq!((ends.session, ends.scale, ends.payload), (5, 5, 1460));
            format!("{} {}", ends.source, ends.destination)
        };
        assert_eq!(told(1, 0), format!("10.0.0.4:32768 10.0.1.0:{service}"));
        assert_eq!(told(1, 3), format!("10.0.0.4:32771 10.0.1.0:{service}"));
        assert_eq!(told(0, 3), format!("10.0.1.0:{service} 10.0.0.4:32771"));
        assert_eq!(told(3, 0), format!("10.0.0.4:32772 10.0.1.0:{service}"));
        assert_eq!(flows.ends(&Hot { endpoint: 4, ..hot(40, 40, 0) }, 0), None);
    }
}

#[test]
fn groups_have_addresses_too() {
    let hub = Remotes::Many([remote(1, 1, 0), remote(2, 2, 0)].into());
    let member = |from| Remotes::One(remote(0, 0, from));
    let parties = [(0, false, 1, hub), (1, true, 1, member(0)), (2, true, 1, member(1))];
    let flows = opened(&transport(65_535), 0, &parties);
    let told = |hot: Hot| flows.ends(&hot, 0).map(|ends| format!("{} {}", ends.source, ends.destination));
    let copy = Hot { endpoint: 0, destination: 6, ..hot(40, 40, flag::MULTICAST) };
    assert_eq!(told(copy).as_deref(), Some("10.0.0.1:32768 239.0.0.7:30002"));
    let pull = Hot { endpoint: 0, from: 1, ..hot(40, 40, flag::CONTROL) };
    assert_eq!(told(pull).as_deref(), Some("10.0.0.3:30002 10.0.0.1:32768"));
    assert_eq!(told(Hot { from: 2, ..pull }), None, "there is no third member");
}

#[test]
fn a_subflows_data_says_where_it_belongs() {
    let data = changed(segment(Flags::ACK), |segment| (segment.seq, segment.len) = (1432, 1432));
    for (flags, bits, length) in [(Flags::NONE, 0x0f, [0x05, 0x98]), (Flags::DATA_FIN, 0x1f, [0x05, 0x99])] {
        let header = segment::tcp(
            &changed(data, |segment| segment.flags = segment.flags | flags),
            Some(0x0102_0304_0506),
            &hot(1500, 68, flag::DATA),
            &ends(),
        );
        let signal =
            [&[1, 1, 30, 26, 0x20, bits][..], &[0; 8], &[0, 0, 1, 2, 3, 4, 5, 6], &[0, 0, 0x05, 0x99], &length];
        assert_eq!(header.options.as_slice(), signal.concat());
    }
    // An ACK has room for what has arrived, a packet of Front-Back for nothing.
    let ack = segment(Flags::ACK);
    let options = |size| segment::tcp(&ack, Some(9), &hot(size, size, 0), &ends()).options.as_slice().to_vec();
    assert_eq!(options(52), [30, 12, 0x20, 0x03, 0, 0, 0, 0, 0, 0, 0, 9]);
    assert!(options(40).is_empty());
}
