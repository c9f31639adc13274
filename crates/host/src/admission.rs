//! Admission of sessions: keeps peers and replayed packets from exhausting a host.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};

use crate::event::SessionId;
use crate::wire::{Refusal, Salt};

/// Opening packets that are remembered, so that a copy opens nothing.
const REMEMBERED: usize = 4096;

/// How a peer opened a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    Offer,
    /// A request, with a cookie or without.
    Request {
        validated: bool,
    },
}

/// What is known of an opening packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Copies of it are ignored.
    Used,
    /// A copy of it is refused again.
    Refused(Refusal),
}

/// A session that a peer has opened.
#[derive(Clone, Copy, Debug)]
struct Guest {
    network: IpAddr,
    opening: Opening,
    /// Its opener has not shown yet that it is there now, at that address.
    half_open: bool,
}

/// Sessions that peers have opened, and the last opening packets.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// By salt.
    opened: HashMap<Salt, Known>,
    order: VecDeque<Salt>,
    guests: HashMap<SessionId, Guest>,
    by_network: HashMap<IpAddr, usize>,
    half_open_requests: usize,
    /// Ordered by age, the oldest first.
    half_open_offers: BTreeSet<SessionId>,
}

impl Admission {
    /// An opening packet has been used, here or at the other end: copies of it are ignored.
    pub(crate) fn remember(&mut self, salt: Salt) {
        if self.opened.insert(salt, Known::Used).is_none() {
            self.order.push_back(salt);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.opened.remove(&oldest);
        }
    }

    /// An opening packet is refused: the answer may be lost, and the packet repeated.
    pub(crate) fn refuse(&mut self, salt: Salt, refusal: Refusal) {
        self.remember(salt);
        self.opened.insert(salt, Known::Refused(refusal));
    }

    /// An opening packet has opened nothing after all: it may come again.
    pub(crate) fn forget(&mut self, salt: Salt) {
        self.opened.remove(&salt);
        // It is among the last.
        if let Some(place) = self.order.iter().rposition(|other| *other == salt) {
            self.order.remove(place);
        }
    }

    /// What is known of an opening packet, if anything.
    pub(crate) fn known(&self, salt: Salt) -> Option<&Known> {
        self.opened.get(&salt)
    }

    /// A peer opens a session.
    pub(crate) fn enter(&mut self, id: SessionId, address: IpAddr, opening: Opening) {
        let half_open = opening != Opening::Request { validated: true };
        let network = network(address);
        self.guests.insert(id, Guest { network, opening, half_open });
        *self.by_network.entry(network).or_default() += 1;
        match opening {
            Opening::Offer => _ = self.half_open_offers.insert(id),
            Opening::Request { validated } => self.half_open_requests += usize::from(!validated),
        }
    }

    /// The opener of a session has shown that it is there. Returns whether that is new.
    pub(crate) fn prove(&mut self, id: SessionId) -> bool {
        let Some(guest) = self.guests.get_mut(&id) else { return false };
        let is_new = std::mem::take(&mut guest.half_open);
        if is_new {
            match guest.opening {
                Opening::Offer => _ = self.half_open_offers.remove(&id),
                Opening::Request { .. } => self.half_open_requests -= 1,
            }
        }
        is_new
    }

    /// A session is over.
    pub(crate) fn leave(&mut self, id: SessionId) {
        self.prove(id);
        let Some(guest) = self.guests.remove(&id) else { return };
        if let Some(count) = self.by_network.get_mut(&guest.network) {
            *count -= 1;
            if *count == 0 {
                self.by_network.remove(&guest.network);
            }
        }
    }

    /// Sessions that were opened from an address, or from its network.
    pub(crate) fn from(&self, address: IpAddr) -> usize {
        self.by_network.get(&network(address)).copied().unwrap_or(0)
    }

    /// Requests whose address is not validated.
    pub(crate) fn half_open_requests(&self) -> usize {
        self.half_open_requests
    }

    /// The oldest offer whose opener has not shown that it is there, if there are more than `limit`.
    pub(crate) fn offer_too_many(&self, limit: usize) -> Option<SessionId> {
        self.half_open_offers.first().copied().filter(|_| self.half_open_offers.len() > limit)
    }
}

/// The addresses that one peer is likely to control: an IPv4 address, or a 64-bit subnet of IPv6 (RFC 4291 §2.5.4).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Reason;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_newest_packets_are_remembered_and_refusals_with_them() {
        let mut admission = Admission::default();
        let salt = |n: usize| Salt((n as u128).to_be_bytes());
        let refusal = Refusal::new(Reason::NotFound, "no");
        for n in 0..3 * REMEMBERED {
            admission.remember(salt(n));
            admission.remember(salt(n));
            if n % 2 == 0 {
                admission.refuse(salt(n), refusal.clone());
            }
        }
        assert_eq!((admission.opened.len(), admission.order.len()), (REMEMBERED, REMEMBERED));
        assert_eq!(admission.known(salt(2 * REMEMBERED - 1)), None);
        assert_eq!(admission.known(salt(2 * REMEMBERED)), Some(&Known::Refused(refusal)));
        assert_eq!(admission.known(salt(3 * REMEMBERED - 1)), Some(&Known::Used));
    }

    #[test]
    fn what_is_counted_is_what_is_there() {
        let mut admission = Admission::default();
        let peers = ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"];
        for (n, peer) in (0..).zip(peers) {
            admission.enter(SessionId(n), ip(peer), Opening::Offer);
            admission.enter(SessionId(10 + n), ip(peer), Opening::Request { validated: n == 0 });
        }
        assert_eq!(peers.map(|peer| admission.from(ip(peer))), [4, 4, 4, 4, 2]);
        assert_eq!((admission.half_open_requests(), admission.offer_too_many(5)), (4, None));
        assert_eq!(admission.offer_too_many(4), Some(SessionId(0)));
        for _ in 0..2 {
            admission.prove(SessionId(0));
            admission.prove(SessionId(11));
        }
        assert_eq!((admission.half_open_requests(), admission.offer_too_many(3)), (3, Some(SessionId(1))));
        for n in (0..20).chain(0..20) {
            admission.leave(SessionId(n));
        }
        assert!(
            admission.guests.is_empty() && admission.by_network.is_empty() && admission.half_open_offers.is_empty()
        );
        assert_eq!(admission.half_open_requests(), 0);
    }
}
