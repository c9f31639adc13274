//! Which ports want which multicast groups (snooping, RFC 4541).
//!
//! Each host is remembered by itself, so that a port is out of a group with the leave of its last member: no query is needed to find out
//! whether others are left (fast leave with explicit tracking, RFC 3376 Appendix A.2). Hosts report unasked when they join and leave, so
//! that it works without a querier; then nothing is forgotten of hosts that vanish. Where queries are seen, members that do not answer them are.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anabranch_transport::{Duration, Time};

use crate::frame::Mac;
use crate::igmp::{Change, Message};

/// Memberships at most. When there are more, multicast is flooded.
const MOST_MEMBERS: usize = 8192;
/// How long a membership or a querier holds without being heard of again (RFC 3376 §8.4, Group Membership Interval).
const INTERVAL: Duration = Duration::from_secs(260);

/// A set of ports, of 64 at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ports(pub(crate) u64);

impl Ports {
    pub(crate) fn one(port: usize) -> Self {
        Self(1 << port)
    }

    pub(crate) fn all(ports: usize) -> Self {
        Self(if ports == 64 { u64::MAX } else { (1 << ports) - 1 })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, port: usize) -> Self {
        Self(self.0 & !(1 << port))
    }

    pub(crate) fn iter(mut self) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            let port = self.0.trailing_zeros() as usize;
            (self.0 != 0).then(|| {
                self.0 &= self.0 - 1;
                port
            })
        })
    }
}

/// Who is in which group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memberships {
    /// Ordered by group, then port, then host.
    members: BTreeMap<(IpAddr, usize, Mac), Time>,
    /// Where queries came from, and when last: multicast routers are there, which want all groups (RFC 4541 §2.1.1).
    queriers: BTreeMap<usize, Time>,
    /// Somebody found no room.
    overflowed: bool,
}

impl Memberships {
    /// A host has said something.
    pub(crate) fn hear(&mut self, message: &Message, port: usize, host: Mac, now: Time) {
        match message {
            Message::Query => {
                self.queriers.insert(port, now);
            }
            Message::Report(changes) => {
                for Change { group, joined } in changes.iter().filter(|change| is_snooped(change.group)) {
                    let member = (*group, port, host);
                    if !joined {
                        self.members.remove(&member);
                    } else if self.members.len() < MOST_MEMBERS || self.members.contains_key(&member) {
                        self.members.insert(member, now);
                    } else {
                        self.overflowed = true;
                    }
                }
            }
        }
    }

    /// The ports that a group's packets go to; none if that is not known.
    pub(crate) fn ports(&self, group: IpAddr, now: Time) -> Option<Ports> {
        if self.overflowed || !is_snooped(group) {
            return None;
        }
        let is_fresh = |seen: Time| now.since(seen) < INTERVAL;
        let asked = self.queriers.values().any(|seen| is_fresh(*seen));
        let from = (group, 0, [0; 6]);
        let to = (group, usize::MAX, [0xff; 6]);
        let members = self.members.range(from..=to).filter(|(_, seen)| !asked || is_fresh(**seen));
        let routers = self.queriers.iter().filter(|(_, seen)| is_fresh(**seen)).map(|(port, _)| *port);
        let wanted = members.map(|((_, port, _), _)| *port).chain(routers);
        Some(wanted.fold(Ports::default(), |ports, port| ports.and(Ports::one(port))))
    }
}

/// Groups of one link are always flooded: 224.0.0.x, which hosts use without reports (RFC 4541 §2.1.2), and those of IPv6 whose scope is
/// the link or less (RFC 4291 §2.7), by which neighbours find each other.
fn is_snooped(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(group) => group.is_multicast() && group.octets()[..3] != [224, 0, 0],
        IpAddr::V6(group) => group.is_multicast() && group.octets()[1] & 0xf > 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn group(n: u16) -> IpAddr {
        let [a, b] = n.to_be_bytes();
        Ipv4Addr::new(239, 1, a, b).into()
    }

    fn change(n: u16, joined: bool) -> Message {
        Message::Report(vec![Change { group: group(n), joined }])
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn host(n: u8) -> Mac {
        [2, 0, 0, 0, 0, n]
    }

    #[test]
    fn a_port_is_in_a_group_until_its_last_host_leaves() {
        let mut groups = Memberships::default();
        assert_eq!(groups.ports(group(1), at(0)), Some(Ports(0)));
        for (port, n) in [(1, 1), (1, 2), (3, 3)] {
            groups.hear(&change(1, true), port, host(n), at(0));
        }
        assert_eq!(groups.ports(group(1), at(9999)), Some(Ports(0b1010)), "without queries nothing is forgotten");
        assert_eq!(groups.ports(group(2), at(0)), Some(Ports(0)));
        groups.hear(&change(1, false), 1, host(2), at(1));
        assert_eq!(groups.ports(group(1), at(1)), Some(Ports(0b1010)));
        groups.hear(&change(1, false), 1, host(1), at(1));
        assert_eq!(groups.ports(group(1), at(1)), Some(Ports(0b1000)));
    }

    #[test]
    fn with_queries_members_are_forgotten_and_routers_get_all() {
        let mut groups = Memberships::default();
        groups.hear(&change(1, true), 1, host(1), at(0));
        groups.hear(&Message::Query, 0, host(9), at(250));
        assert_eq!(groups.ports(group(1), at(250)), Some(Ports(0b11)));
        assert_eq!(groups.ports(group(1), at(300)), Some(Ports(0b01)), "no answer");
        groups.hear(&change(1, true), 1, host(1), at(300));
        assert_eq!(groups.ports(group(1), at(300)), Some(Ports(0b11)));
        assert_eq!(groups.ports(group(1), at(600)), Some(Ports(0b10)), "the router is gone");
    }

    #[test]
    fn groups_of_the_link_are_not_snooped() {
        let groups = Memberships::default();
        for address in ["224.0.0.251", "ff02::1:ff00:1", "ff01::1"] {
            assert_eq!(groups.ports(address.parse().expect("an address"), at(0)), None);
        }
        assert_eq!(groups.ports("ff05::2".parse().expect("an address"), at(0)), Some(Ports(0)));
    }

    #[test]
    fn too_many_members_mean_flooding() {
        let mut groups = Memberships::default();
        for n in 0..=MOST_MEMBERS as u16 {
            assert!(groups.ports(group(n), at(0)).is_some());
            groups.hear(&change(n, true), 1, host(1), at(0));
        }
        assert_eq!(groups.members.len(), MOST_MEMBERS);
        assert_eq!(groups.ports(group(1), at(0)), None);
    }

    #[test]
    fn sets_of_ports() {
        assert_eq!(Ports::all(64).iter().count(), 64);
        assert_eq!(Ports::all(3).without(1).iter().collect::<Vec<_>>(), [0, 2]);
    }
}
