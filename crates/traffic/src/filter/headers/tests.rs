//! What is found in frames of all kinds, and what is not.

use super::*;
use crate::filter::Way;

fn ipv4(protocol: u8, fragment: u16, options: usize) -> Vec<u8> {
    let mut packet = vec![0x45 + (options / 4) as u8, 0, 0, 0, 0, 0];
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 192, 0, 2, 7]);
    packet.extend(vec![1; options]);
    packet.extend([0x01, 0xbb, 0xc0, 0x01, 0, 0, 0, 0]);
    packet
}

fn ipv6(chain: &[u8], protocol: u8) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, chain.first().copied().unwrap_or(protocol), 64];
    packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    for (i, _) in chain.iter().enumerate() {
        packet.extend([chain.get(i + 1).copied().unwrap_or(protocol), 0, 0, 0, 0, 0, 0, 0]);
    }
    packet.extend([0, 53, 0xc0, 0x01, 0, 0, 0, 0]);
    packet
}

fn ethernet(tags: &[u16], kind: u16, inner: &[u8]) -> Vec<u8> {
    let mut frame = vec![0xaa; 12];
    for tag in tags {
        frame.extend([0x81, 0]);
        frame.extend(tag.to_be_bytes());
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(inner);
    frame
}

#[test]
fn the_same_packet_is_seen_through_every_link() {
    let packet = ipv4(6, 0, 8);
    let mut cooked = vec![0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
    let mut cooked2 = vec![8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
    assert_eq!((Link::Cooked.mark(&cooked), Link::Cooked2.mark(&cooked2)), (Some(Way::Out), Some(Way::In)));
    let expected = Fields {
        version: Field::Is(4),
        source: Field::Is("10.0.0.1".parse().expect("good")),
        destination: Field::Is("192.0.2.7".parse().expect("good")),
        protocol: Field::Is(6),
        source_port: Field::Is(443),
        destination_port: Field::Is(49153),
        ..Fields::NONE
    };
    cooked.extend(&packet);
    cooked2.extend(&packet);
    let mpls = [&[0, 1, 0x20, 64, 0, 2, 0x31, 64][..], &packet].concat();
    for (link, data) in [
        (Link::Ethernet, ethernet(&[], 0x0800, &packet)),
        (Link::Ethernet, ethernet(&[], 0x8847, &mpls)),
        (Link::Ip, packet.clone()),
        (Link::Cooked, cooked),
        (Link::Cooked2, cooked2),
        (Link::Loopback, [&[2, 0, 0, 0][..], &packet].concat()),
        (Link::Ppp, [&[0xff, 3, 0, 0x21][..], &packet].concat()),
        (Link::Ppp, [&[0, 0x21][..], &packet].concat()),
        (Link::Hdlc, [&[0x0f, 0, 8, 0][..], &packet].concat()),
    ] {
        assert_eq!(Fields::of(link, &data), expected, "{link:?}");
    }
    let tagged = Fields::of(Link::Ethernet, &ethernet(&[0x2007, 9], 0x0800, &packet));
    assert_eq!(
        (tagged.vlans.has(Some(7)), tagged.vlans.has(Some(9)), tagged.vlans.has(Some(8))),
        (Some(true), Some(true), Some(false))
    );
    assert_eq!(Fields { vlans: Vlans::NONE, ..tagged }, expected);
}

#[test]
fn ipv6_extension_headers_are_walked() {
    for chain in [&[][..], &[0], &[0, 43, 60], &[44], &[0, 44, 60]] {
        let fields = Fields::of(Link::Ip, &ipv6(chain, 17));
        assert_eq!((fields.protocol, fields.source_port), (Field::Is(17), Field::Is(53)), "{chain:?}");
    }
    let endless = vec![0; NESTED + 1];
    assert_eq!(Fields::of(Link::Ip, &ipv6(&endless, 17)).protocol, Field::Cut);
}

#[test]
fn ports_of_fragments_and_of_cut_packets_are_unknown_but_not_absent() {
    let fragment = Fields::of(Link::Ip, &ipv4(17, 5, 0));
    assert_eq!((fragment.protocol, fragment.source_port), (Field::Is(17), Field::Cut));
    let cut = Fields::of(Link::Ip, &ipv4(6, 0, 0)[..22]);
    assert_eq!((cut.protocol, cut.source_port, cut.destination_port), (Field::Is(6), Field::Is(443), Field::Cut));
    assert_eq!(Fields::of(Link::Ip, &ipv4(1, 0, 0)).source_port, Field::Absent);
}

fn pppoe(protocol: &[u8], inner: &[u8]) -> Vec<u8> {
    let length = (protocol.len() + inner.len()) as u16;
    [&[0x11, 0, 0, 1][..], &length.to_be_bytes(), protocol, inner].concat()
}

/// What a provider's backbone puts around a frame: service tag, backbone addresses and tag, service instance.
fn backbone(customer: &[u8]) -> Vec<u8> {
    let instance = [&[0x88, 0xe7, 0, 0, 0, 100][..], customer].concat();
    [&[2; 12][..], &[0x88, 0xa8, 0, 7], &instance].concat()
}

#[test]
fn ip_is_found_in_what_carries_it() {
    let (v4, v6) = (ipv4(17, 0, 0), ipv6(&[], 17));
    let snap = [&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &v4].concat();
    let in_pppoe = pppoe(&[0, 0x21], &v4);
    let mut untagged = backbone(&ethernet(&[], 0x0800, &v4));
    untagged.drain(12..16);
    let cooked = |kind: u16, inner: &[u8]| [&[0; 14][..], &kind.to_be_bytes(), inner].concat();
    let cases = [
        ("PPPoE", 4, Link::Ethernet, ethernet(&[], 0x8864, &in_pppoe)),
        ("PPPoE with IPv6", 6, Link::Ethernet, ethernet(&[], 0x8864, &pppoe(&[0, 0x57], &v6))),
        ("PPPoE with a short protocol field", 4, Link::Ethernet, ethernet(&[], 0x8864, &pppoe(&[0x21], &v4))),
        ("PPPoE with MPLS", 4, Link::Ethernet, ethernet(&[], 0x8864, &pppoe(&[2, 0x81, 0, 1, 0x31, 64], &v4))),
        ("VLAN, PPPoE", 4, Link::Ethernet, ethernet(&[100], 0x8864, &in_pppoe)),
        ("two VLANs, PPPoE", 4, Link::Ethernet, ethernet(&[100, 7], 0x8864, &in_pppoe)),
        ("802.1ah", 4, Link::Ethernet, backbone(&ethernet(&[], 0x0800, &v4))),
        ("802.1ah, VLAN, PPPoE", 4, Link::Ethernet, backbone(&ethernet(&[9], 0x8864, &in_pppoe))),
        ("802.1ah without a backbone tag", 4, Link::Ethernet, untagged),
        ("SNAP", 4, Link::Ethernet, ethernet(&[], snap.len() as u16, &snap)),
        ("VLAN, SNAP", 4, Link::Ethernet, ethernet(&[5], snap.len() as u16, &snap)),
        ("SNAP in a jumbo frame", 4, Link::Ethernet, ethernet(&[], 0x8870, &snap)),
        ("IP's own SAP", 4, Link::Ethernet, ethernet(&[], 90, &[&[6, 6, 3][..], &v4].concat())),
        ("cooked PPPoE", 4, Link::Cooked, cooked(0x8864, &in_pppoe)),
        ("cooked SNAP", 4, Link::Cooked, cooked(4, &snap)),
        ("PPPoE alone", 4, Link::Pppoe, in_pppoe),
        ("PPP with a direction", 4, Link::PppWay, [&[1, 0xff, 3, 0, 0x21][..], &v4].concat()),
        ("HDLC on a link of PPP", 6, Link::Ppp, [&[0x0f, 0, 0x86, 0xdd][..], &v6].concat()),
        ("FDDI", 4, Link::Llc(13), [&[0x50; 13][..], &snap].concat()),
        ("IP over ATM", 4, Link::Llc(0), snap.clone()),
        ("loopback", 6, Link::Loopback, [&[0, 0, 0, 30][..], &v6].concat()),
    ];
    for (name, version, link, data) in cases {
        let found = Fields::of(link, &data);
        assert_eq!(found.version, Field::Is(version), "{name}");
        assert_eq!(found.protocol, Field::Is(17), "{name}");
        let port = if version == 4 { 443 } else { 53 };
        assert_eq!((found.source_port, found.vlans.cut), (Field::Is(port), false), "{name}");
    }
    let tags = Fields::of(Link::Ethernet, &backbone(&ethernet(&[9], 0x0800, &v4)));
    assert_eq!(
        (tags.vlans.has(Some(7)), tags.vlans.has(Some(9)), tags.vlans.has(Some(8))),
        (Some(true), Some(true), Some(false))
    );
    assert_eq!(Link::PppWay.mark(&[1, 0, 0x21]), Some(Way::Out));
}

#[test]
fn what_is_not_understood_is_undecided_and_never_no_ip() {
    let v4 = ipv4(17, 0, 0);
    let opaque = [
        ("MACsec", Link::Ethernet, ethernet(&[], 0x88e5, &v4)),
        ("a type nobody knows", Link::Ethernet, ethernet(&[], 0x1234, &v4)),
        ("a type nobody knows, tagged", Link::Ethernet, ethernet(&[3], 0x1234, &v4)),
        ("TRILL", Link::Ethernet, ethernet(&[], 0x22f3, &v4)),
        ("neither a length nor a type", Link::Ethernet, ethernet(&[], 0x05e0, &v4)),
        ("PPPoE of a version to come", Link::Ethernet, ethernet(&[], 0x8864, &[&[0x21, 0][..], &v4].concat())),
        ("compressed headers in PPPoE", Link::Ethernet, ethernet(&[], 0x8864, &pppoe(&[0, 0x2d], &v4))),
        ("multilink in PPPoE", Link::Ethernet, ethernet(&[], 0x8864, &pppoe(&[0, 0x3d], &v4))),
        ("a SNAP of a vendor", Link::Ethernet, ethernet(&[], 90, &[&[0xaa, 0xaa, 3, 0, 9, 9, 8, 0][..], &v4].concat())),
        ("a SAP nobody knows", Link::Ethernet, ethernet(&[], 90, &[&[0x12, 0x12, 3][..], &v4].concat())),
        ("no header at all", Link::Ethernet, vec![0; 60]),
        ("a pseudowire", Link::Ethernet, ethernet(&[], 0x8847, &[0, 1, 0x31, 64, 0, 0, 0, 0, 2, 2])),
        ("what is no IPv4", Link::Ethernet, ethernet(&[], 0x0800, &[0x15; 40])),
        ("loopback of a family nobody knows", Link::Loopback, vec![99, 0, 0, 0, 1, 2, 3, 4]),
        ("cooked, of a radio", Link::Cooked, [&[0; 14][..], &[0, 0x19], &v4].concat()),
        ("a link nobody knows", Link::Unknown, v4.clone()),
    ];
    for (name, link, data) in opaque {
        let found = Fields::of(link, &data);
        let undecided = (Field::Cut, Field::Cut, Field::Cut);
        assert_eq!((found.version, found.protocol, found.source_port), undecided, "{name}");
        assert_eq!((found.source, found.destination), (Field::Cut, Field::Cut), "{name}");
    }
}

#[test]
fn what_is_known_to_carry_no_ip_is_decided() {
    let cases = [
        ("PPPoE discovery", Link::Ethernet, ethernet(&[8], 0x8863, &[0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0])),
        ("LCP in PPPoE", Link::Ethernet, ethernet(&[8], 0x8864, &pppoe(&[0xc0, 0x21], &[9, 0, 0, 8]))),
        ("IPCP", Link::Ppp, vec![0xff, 3, 0x80, 0x21, 1, 1, 0, 4]),
        ("LLDP", Link::Ethernet, ethernet(&[], 0x88cc, &[2, 7, 4])),
        ("LACP", Link::Ethernet, ethernet(&[], 0x8809, &[1, 1])),
        ("spanning tree", Link::Ethernet, ethernet(&[], 38, &[0x42, 0x42, 3, 0, 0])),
        ("an exchange of identification", Link::Ethernet, ethernet(&[], 6, &[0, 1, 0xaf, 0x81, 1, 0])),
        ("IS-IS", Link::Ethernet, ethernet(&[], 100, &[0xfe, 0xfe, 3, 0x83])),
        ("CDP", Link::Ethernet, ethernet(&[], 100, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0, 2])),
        ("Cisco's keepalive", Link::Hdlc, vec![0x8f, 0, 0x80, 0x35, 0, 0, 0, 2]),
    ];
    for (name, link, data) in cases {
        let found = Fields::of(link, &data);
        assert_eq!((found.version, found.protocol), (Field::Absent, Field::Absent), "{name}");
        assert_eq!((found.source, found.source_port), (Field::Absent, Field::Absent), "{name}");
    }
}

#[test]
fn what_is_seen_of_a_cut_packet_is_what_is_seen_of_the_whole() {
    fn agrees<T: PartialEq + Copy>(cut: Field<T>, whole: Field<T>) -> bool {
        cut == Field::Cut || cut == whole
    }
    let packets = [
        ethernet(&[5], 0x0800, &ipv4(6, 0, 4)),
        ethernet(&[], 0x86dd, &ipv6(&[0, 44], 17)),
        ethernet(&[1, 2], 0x0806, &[[0, 1, 8, 0, 6, 4, 0, 1].as_slice(), &[9; 20]].concat()),
        ethernet(&[5], 0x8864, &pppoe(&[0, 0x57], &ipv6(&[], 6))),
        ethernet(&[5], 0x8864, &pppoe(&[0xc0, 0x21], &[9, 0, 0, 8])),
        backbone(&ethernet(&[5, 9], 0x8864, &pppoe(&[0, 0x21], &ipv4(6, 0, 4)))),
        ethernet(&[5], 60, &[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], &ipv4(6, 0, 4)].concat()),
        ethernet(&[], 60, &[0x42, 0x42, 3, 0, 0, 0, 0]),
    ];
    for packet in packets {
        let whole = Fields::of(Link::Ethernet, &packet);
        for length in 0..packet.len() {
            let cut = Fields::of(Link::Ethernet, &packet[..length]);
            assert!(agrees(cut.version, whole.version) && agrees(cut.source, whole.source));
            assert!(agrees(cut.destination, whole.destination) && agrees(cut.protocol, whole.protocol));
            assert!(agrees(cut.source_port, whole.source_port));
            assert!(agrees(cut.destination_port, whole.destination_port));
            for wanted in [None, Some(5), Some(9)] {
                assert!(cut.vlans.has(wanted).is_none_or(|found| Some(found) == whole.vlans.has(wanted)));
            }
        }
    }
}
