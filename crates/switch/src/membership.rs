//! Multicast snooping (RFC 4541): the ports that have members of a group.
//!
//! Each host is remembered by itself, so that a port is removed from a group with the leave of its last member: no query is needed to find out
//! whether others remain (fast leave with explicit tracking, RFC 3376 Appendix A.2). Hosts report unasked when they join and leave, so
//! that it works without a querier; then the entry of a host that vanishes does not age out. With a querier, entries age out that no report refreshes.
//!
//! A report that finds the table full is refused, and its sender is a member without an entry: all groups are flooded, as long as there may be one.
//! That ends when a querier has been seen for an interval in which no report was refused. Without a querier no host reports again, and flooding stays.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anabranch_transport::{Duration, Time};

use crate::frame::Mac;
use crate::igmp::{Change, Message};

/// Memberships at most, of IPv4 and of IPv6. When there are more, multicast is flooded.
const MAX_MEMBERS: usize = 8192;
/// How long a membership or a querier is valid without another report or query (RFC 3376 §8.4, Group Membership Interval).
const INTERVAL: Duration = Duration::from_secs(260);
/// How often the table is searched for entries that have aged out, at most: it costs time, and any host can send queries and fill it.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

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

    pub(crate) fn union(self, other: Self) -> Self {
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

/// The members of groups of IPv4, or of IPv6: IGMP and MLD have queriers of their own (RFC 4541 §3).
#[derive(Clone, Debug, Default)]
pub(crate) struct Memberships {
    /// When each member reported last; ordered by group, then port, then host.
    members: BTreeMap<(IpAddr, usize, Mac), Time>,
    /// Router ports, where queries were received, and when last: they get all groups (RFC 4541 §2.1.1).
    routers: BTreeMap<usize, Time>,
    /// Since when there has been a querier without a pause, if there is one.
    queried_since: Time,
    /// When a report was refused last, because the table was full.
    overflow: Option<Time>,
    /// When the table was last searched for entries that have aged out.
    last_sweep: Time,
}

impl Memberships {
    /// A port has received a message of a host.
    pub(crate) fn on_message(&mut self, message: &Message, port: usize, host: Mac, now: Time) {
        match message {
            Message::Query => {
                if !self.has_querier(now) {
                    self.queried_since = now;
                }
                self.routers.insert(port, now);
                self.age_out(now);
            }
            Message::Report(changes) => {
                for Change { group, joined } in changes.iter().filter(|change| is_snooped(change.group)) {
                    let member = (*group, port, host);
                    if *joined {
                        self.join(member, now);
                    } else {
                        self.members.remove(&member);
                    }
                }
            }
        }
    }

    fn join(&mut self, member: (IpAddr, usize, Mac), now: Time) {
        let is_full = |members: &BTreeMap<_, _>| members.len() >= MAX_MEMBERS && !members.contains_key(&member);
        if is_full(&self.members) {
            self.age_out(now);
        }
        if is_full(&self.members) {
            self.overflow = Some(now);
        } else {
            self.members.insert(member, now);
        }
    }

    /// The ports that a group is forwarded to; none if it is to be flooded.
    pub(crate) fn ports(&self, group: IpAddr, now: Time) -> Option<Ports> {
        let expiry = self.expiry(now);
        let is_current = |reported: Time| expiry.is_none_or(|expiry| reported > expiry);
        if self.overflow.is_some_and(is_current) || !is_snooped(group) {
            return None;
        }
        let from = (group, 0, [0; 6]);
        let to = (group, usize::MAX, [0xff; 6]);
        let members = self.members.range(from..=to).filter(|(_, reported)| is_current(**reported));
        let routers = self.routers.iter().filter(|(_, queried)| is_fresh(**queried, now)).map(|(port, _)| *port);
        let egress = members.map(|((_, port, _), _)| *port).chain(routers);
        Some(egress.fold(Ports::default(), |ports, port| ports.union(Ports::one(port))))
    }

    fn has_querier(&self, now: Time) -> bool {
        self.routers.values().any(|queried| is_fresh(*queried, now))
    }

    /// Entries refreshed then or before have aged out: they were queried for a whole interval without an answer. None if there was no querier for so long.
    fn expiry(&self, now: Time) -> Option<Time> {
        let is_asked = self.has_querier(now) && !is_fresh(self.queried_since, now);
        is_asked.then(|| Time(now.ps().saturating_sub(INTERVAL.ps())))
    }

    /// Removes entries that have aged out. The overflow is one of them: after an interval of queries without a refusal, all members have entries.
    fn age_out(&mut self, now: Time) {
        if now.since(self.last_sweep) < SWEEP_INTERVAL {
            return;
        }
        self.last_sweep = now;
        if let Some(expiry) = self.expiry(now) {
            self.members.retain(|_, reported| *reported > expiry);
            self.overflow = self.overflow.filter(|refused| *refused > expiry);
        }
    }
}

/// Whether a report or query of that time is still valid.
fn is_fresh(last: Time, now: Time) -> bool {
    now.since(last) < INTERVAL
}

/// Link-local groups are always flooded: 224.0.0.x, which hosts use without reports (RFC 4541 §2.1.2), and those of IPv6 whose scope is
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
            groups.on_message(&change(1, true), port, host(n), at(0));
        }
        assert_eq!(groups.ports(group(1), at(9999)), Some(Ports(0b1010)), "without queries nothing is forgotten");
        assert_eq!(groups.ports(group(2), at(0)), Some(Ports(0)));
        groups.on_message(&change(1, false), 1, host(2), at(1));
        assert_eq!(groups.ports(group(1), at(1)), Some(Ports(0b1010)));
        groups.on_message(&change(1, false), 1, host(1), at(1));
        assert_eq!(groups.ports(group(1), at(1)), Some(Ports(0b1000)));
    }

    #[test]
    fn with_queries_members_are_forgotten_and_routers_get_all() {
        let mut groups = Memberships::default();
        groups.on_message(&change(1, true), 1, host(1), at(0));
        for now in [50, 175, 300] {
            groups.on_message(&Message::Query, 0, host(9), at(now));
            assert_eq!(groups.ports(group(1), at(now)), Some(Ports(0b11)));
        }
        assert_eq!(groups.ports(group(1), at(310)), Some(Ports(0b01)), "no answer");
        groups.on_message(&change(1, true), 1, host(1), at(310));
        assert_eq!(groups.ports(group(1), at(310)), Some(Ports(0b11)));
        assert_eq!(groups.ports(group(1), at(600)), Some(Ports(0b10)), "the router is gone");
    }

    #[test]
    fn the_first_query_gives_members_time_to_answer() {
        let mut groups = Memberships::default();
        groups.on_message(&change(1, true), 1, host(1), at(0));
        for now in [1000, 1125, 1250] {
            groups.on_message(&Message::Query, 0, host(9), at(now));
            assert_eq!(
                groups.ports(group(1), at(now)),
                Some(Ports(0b11)),
                "nobody had asked it for an interval at {now}"
            );
        }
        assert_eq!(groups.ports(group(1), at(1260)), Some(Ports(0b01)));
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
        for n in 0..=MAX_MEMBERS as u16 {
            assert!(groups.ports(group(n), at(0)).is_some());
            groups.on_message(&change(n, true), 1, host(1), at(0));
        }
        assert_eq!(groups.members.len(), MAX_MEMBERS);
        assert_eq!(groups.ports(group(1), at(0)), None);
    }

    /// As many members as there is room for, of groups 0 and following.
    fn full() -> Memberships {
        let mut groups = Memberships::default();
        for n in 0..MAX_MEMBERS as u16 {
            groups.on_message(&change(n, true), 1, host(1), at(0));
        }
        groups
    }

    #[test]
    fn a_full_table_forgets_members_that_do_not_answer_first() {
        let mut groups = full();
        for now in [10, 135, 260] {
            groups.on_message(&Message::Query, 0, host(9), at(now));
        }
        groups.on_message(&change(9000, true), 2, host(2), at(269));
        assert_eq!(groups.ports(group(9000), at(269)), None, "they may still answer");
        let mut groups = full();
        for now in [10, 135, 260] {
            groups.on_message(&Message::Query, 0, host(9), at(now));
        }
        groups.on_message(&change(9000, true), 2, host(2), at(270));
        assert_eq!(groups.ports(group(9000), at(270)), Some(Ports(0b101)));
        assert_eq!(groups.members.len(), 1);
    }

    #[test]
    fn flooding_ends_when_all_members_were_asked_again_and_found_room() {
        let mut groups = full();
        groups.on_message(&change(9000, true), 2, host(2), at(1));
        for n in 0..100 {
            groups.on_message(&change(n, false), 1, host(1), at(2));
        }
        assert_eq!(groups.ports(group(1), at(9999)), None, "host 2 is still a member, and nobody asks it");
        for now in (10_000..=10_250).step_by(125) {
            groups.on_message(&Message::Query, 0, host(9), at(now));
            groups.on_message(&change(9000, true), 2, host(2), at(now));
            assert_eq!(groups.ports(group(1), at(now)), None, "others may have been refused as well");
        }
        groups.on_message(&Message::Query, 0, host(9), at(10_260));
        assert_eq!(groups.ports(group(9000), at(10_260)), Some(Ports(0b101)));
        assert_eq!(groups.ports(group(1), at(10_260)), Some(Ports(0b001)), "it left");
        assert_eq!(groups.ports(group(9000), at(99_999)), Some(Ports(0b100)), "also without the querier");
    }

    #[test]
    fn while_members_find_no_room_flooding_goes_on() {
        let mut groups = full();
        for now in (0..2000).step_by(125) {
            groups.on_message(&Message::Query, 0, host(9), at(now));
            for n in 0..=MAX_MEMBERS as u16 {
                groups.on_message(&change(n, true), 1, host(1), at(now));
            }
            assert_eq!(groups.ports(group(1), at(now)), None);
        }
    }

    #[test]
    fn sets_of_ports() {
        assert_eq!(Ports::all(64).iter().count(), 64);
        assert_eq!(Ports::all(3).without(1).iter().collect::<Vec<_>>(), [0, 2]);
    }
}
