//! Membership messages: IGMP (RFC 2236, RFC 3376) and MLD (RFC 2710, RFC 3810).
//!
//! Source filters are ignored: a host that includes some sources of a group gets the whole group.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::checksum;
use crate::frame::{ICMPV6, IGMP, Ip, get16};

/// IGMP's types (RFC 3376 §4, §7.3.2; version 1: RFC 1112).
const QUERY: u8 = 0x11;
const REPORT_1: u8 = 0x12;
const REPORT_2: u8 = 0x16;
const LEAVE: u8 = 0x17;
const REPORT_3: u8 = 0x22;
/// MLD's types (RFC 2710 §3, RFC 3810 §5).
const MLD_QUERY: u8 = 130;
const MLD_REPORT: u8 = 131;
const MLD_DONE: u8 = 132;
const MLD_REPORT_2: u8 = 143;
/// Types of a record in a report of version 3, or version 2 of MLD (RFC 3376 §4.2.12).
const IS_INCLUDE: u8 = 1;
const IS_EXCLUDE: u8 = 2;
const TO_INCLUDE: u8 = 3;
const TO_EXCLUDE: u8 = 4;
const ALLOW: u8 = 5;

/// A host joins or leaves a group: a report's change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) group: IpAddr,
    pub(crate) joined: bool,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A router asks who is in which group.
    Query,
    /// A host reports its memberships.
    Report(Vec<Change>),
}

/// The message in a packet; none if it is something else, or damaged.
pub(crate) fn message(frame: &[u8], ip: &Ip) -> Option<Message> {
    let body = &frame[ip.transport..ip.end];
    if ip.fragment {
        return None;
    }
    match (ip.version, ip.protocol) {
        (4, IGMP) if checksum::fold(checksum::add(0, body)) == 0 => igmp(body),
        (6, ICMPV6) if checksum::verify_transport(frame, ip) == 0 => mld(body),
        _ => None,
    }
}

fn igmp(body: &[u8]) -> Option<Message> {
    let single = |joined| Some(Message::Report(vec![Change { group: v4(body.get(4..8)?), joined }]));
    match *body.first()? {
        QUERY => Some(Message::Query),
        REPORT_1 | REPORT_2 => single(true),
        LEAVE => single(false),
        REPORT_3 => Some(Message::Report(records(body, 4, v4))),
        _ => None,
    }
}

fn mld(body: &[u8]) -> Option<Message> {
    let single = |joined| Some(Message::Report(vec![Change { group: v6(body.get(8..24)?), joined }]));
    match *body.first()? {
        MLD_QUERY => Some(Message::Query),
        MLD_REPORT => single(true),
        MLD_DONE => single(false),
        MLD_REPORT_2 => Some(Message::Report(records(body, 16, v6))),
        _ => None,
    }
}

/// The records of a report (RFC 3376 §4.2, RFC 3810 §5.2): both have the same form, but for the length of an address.
fn records(body: &[u8], address: usize, read: fn(&[u8]) -> IpAddr) -> Vec<Change> {
    let (mut changes, mut at) = (Vec::new(), 8);
    for _ in 0..get16(body, 6).unwrap_or(0) {
        let Some(record) = body.get(at..).filter(|record| record.len() >= 4 + address) else { break };
        let sources = usize::from(get16(record, 2).unwrap_or(0));
        let group = read(&record[4..4 + address]);
        match (record[0], sources) {
            (IS_EXCLUDE | TO_EXCLUDE, _) | (IS_INCLUDE | TO_INCLUDE | ALLOW, 1..) => {
                changes.push(Change { group, joined: true });
            }
            (IS_INCLUDE | TO_INCLUDE, 0) => changes.push(Change { group, joined: false }),
            // Sources blocked, or none allowed: who is in the group stays in it.
            _ => {}
        }
        at += 4 + address + sources * address + usize::from(record[1]) * 4;
    }
    changes
}

fn v4(bytes: &[u8]) -> IpAddr {
    Ipv4Addr::from(<[u8; 4]>::try_from(bytes).expect("four bytes")).into()
}

fn v6(bytes: &[u8]) -> IpAddr {
    Ipv6Addr::from(<[u8; 16]>::try_from(bytes).expect("sixteen bytes")).into()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::frame::put16;
    use crate::testing::{Family, ip};
    use proptest::prelude::*;

    /// A frame with an IGMP or MLD message from a host, with its checksum.
    pub(crate) fn message_frame(family: Family, from: u8, body: &[u8]) -> Vec<u8> {
        let protocol = if family == Family::V4 { IGMP } else { ICMPV6 };
        let mut frame = ip(family, from, 99, protocol, body.len());
        let ip = Ip::of(&frame).expect("a packet");
        frame[ip.transport..].copy_from_slice(body);
        put16(&mut frame, ip.transport + 2, 0);
        if family == Family::V4 {
            let sum = checksum::fold(checksum::add(0, &frame[ip.transport..]));
            put16(&mut frame, ip.transport + 2, sum);
        } else {
            checksum::set_transport(&mut frame, &ip, 2);
        }
        frame[..6].copy_from_slice(if family == Family::V4 {
            &[1, 0, 0x5e, 0, 0, 22]
        } else {
            &[0x33, 0x33, 0, 0, 0, 22]
        });
        frame
    }

    /// A report of version 2, or a leave, of 239.1.2.`group`.
    pub(crate) fn report(from: u8, group: u8, joined: bool) -> Vec<u8> {
        message_frame(Family::V4, from, &[if joined { REPORT_2 } else { LEAVE }, 0, 0, 0, 239, 1, 2, group])
    }

    /// A general query.
    pub(crate) fn query(from: u8) -> Vec<u8> {
        message_frame(Family::V4, from, &[QUERY, 100, 0, 0, 0, 0, 0, 0])
    }

    fn read(frame: &[u8]) -> Option<Message> {
        message(frame, &Ip::of(frame).expect("a packet"))
    }

    fn group(n: u8) -> IpAddr {
        Ipv4Addr::new(239, 1, 2, n).into()
    }

    #[test]
    fn version_2_has_one_group() {
        assert_eq!(read(&report(1, 3, true)), Some(Message::Report(vec![Change { group: group(3), joined: true }])));
        assert_eq!(read(&report(1, 3, false)), Some(Message::Report(vec![Change { group: group(3), joined: false }])));
        assert_eq!(read(&query(1)), Some(Message::Query));
        let mut damaged = report(1, 3, true);
        *damaged.last_mut().expect("a byte") ^= 1;
        assert_eq!(read(&damaged), None);
    }

    #[test]
    fn version_3_has_records() {
        let mut body = vec![REPORT_3, 0, 0, 0, 0, 0, 0, 6];
        // Type, words of auxiliary data, sources, group.
        body.extend([TO_EXCLUDE, 0, 0, 0, 239, 1, 2, 1]);
        body.extend([TO_INCLUDE, 1, 0, 0, 239, 1, 2, 2, 9, 9, 9, 9]);
        body.extend([ALLOW, 0, 0, 1, 239, 1, 2, 3, 10, 0, 0, 1]);
        body.extend([6, 0, 0, 1, 239, 1, 2, 4, 10, 0, 0, 1]);
        body.extend([TO_INCLUDE, 0, 0, 2, 239, 1, 2, 5, 10, 0, 0, 1, 10, 0, 0, 2]);
        body.extend([IS_EXCLUDE, 0, 0, 0, 239, 1, 2, 6]);
        let expected = [(1, true), (2, false), (3, true), (5, true), (6, true)];
        let changes = expected.map(|(n, joined)| Change { group: group(n), joined }).to_vec();
        assert_eq!(read(&message_frame(Family::V4, 1, &body)), Some(Message::Report(changes)));
        // Its number of records is larger than what follows.
        let short = message_frame(Family::V4, 1, &body[..24]);
        assert_eq!(
            read(&short),
            Some(Message::Report(vec![
                Change { group: group(1), joined: true },
                Change { group: group(2), joined: false }
            ]))
        );
    }

    #[test]
    fn mld_reports_groups_of_ipv6() {
        let group = "ff15::1234".parse::<Ipv6Addr>().expect("an address");
        for (kind, joined) in [(MLD_REPORT, true), (MLD_DONE, false)] {
            let mut body = vec![kind, 0, 0, 0, 0, 0, 0, 0];
            body.extend(group.octets());
            let found = read(&message_frame(Family::V6, 1, &body));
            assert_eq!(found, Some(Message::Report(vec![Change { group: group.into(), joined }])));
        }
        let mut body = vec![MLD_REPORT_2, 0, 0, 0, 0, 0, 0, 1, TO_INCLUDE, 0, 0, 0];
        body.extend(group.octets());
        let found = read(&message_frame(Family::V6, 1, &body));
        assert_eq!(found, Some(Message::Report(vec![Change { group: group.into(), joined: false }])));
    }

    proptest! {
        #[test]
        fn any_body_will_do(body in proptest::collection::vec(any::<u8>(), 4..200), kind in prop_oneof![Just(REPORT_3), Just(MLD_REPORT_2), any::<u8>()], v6: bool) {
            let mut body = body;
            body[0] = kind;
            read(&message_frame(if v6 { Family::V6 } else { Family::V4 }, 1, &body));
        }
    }
}
