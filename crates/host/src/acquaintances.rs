//! Addresses of recently seen hosts, remembered for some time: their number is bounded, whoever sends.

use std::collections::HashMap;
use std::net::SocketAddr;

use anabranch_transport::{Duration, Time};

/// Addresses at most; further ones are treated as unknown.
const MOST: usize = 4096;

/// Addresses, and when each was last seen.
#[derive(Debug)]
pub(crate) struct Acquaintances {
    last: HashMap<SocketAddr, Time>,
    for_time: Duration,
}

impl Acquaintances {
    /// A host that was not seen for `for_time` is unknown again: another host may have its address.
    pub(crate) fn new(for_time: Duration) -> Self {
        Self { last: HashMap::new(), for_time }
    }

    /// The host has been seen.
    pub(crate) fn meet(&mut self, now: Time, peer: SocketAddr) {
        if self.last.len() >= MOST && !self.last.contains_key(&peer) {
            let limit = self.for_time;
            self.last.retain(|_, last| now.since(*last) < limit);
            if self.last.len() >= MOST {
                return;
            }
        }
        self.last.insert(peer, now);
    }

    /// Whether the host was seen recently.
    pub(crate) fn knows(&self, now: Time, peer: SocketAddr) -> bool {
        self.last.get(&peer).is_some_and(|last| now.since(*last) < self.for_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_heard_of_lately_is_known_and_not_too_many_are() {
        let peer = |n: u32| SocketAddr::from((std::net::Ipv4Addr::from(n), 1));
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let mut known = Acquaintances::new(Duration::from_secs(60));
        (0..10_000).for_each(|n| known.meet(at(0), peer(n)));
        assert!(known.last.len() == MOST && known.knows(at(59), peer(0)) && !known.knows(at(59), peer(9999)));
        known.meet(at(30), peer(0));
        assert!(known.knows(at(89), peer(0)) && !known.knows(at(60), peer(1)));
        known.meet(at(60), peer(9999));
        assert!(known.last.len() == 2 && known.knows(at(60), peer(9999)));
    }
}
