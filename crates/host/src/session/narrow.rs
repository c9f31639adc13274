//! Paths that carry smaller packets than a host sends: how that is told, and for how long it is remembered.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use anabranch_transport::{Duration, Time};

use crate::wire::MIN_OPEN_BYTES;

/// IP packets of these sizes are common limits: jumbo frames, PPP over Ethernet, and tunnels in all combinations (RFC 1191 §7.1 has older ones).
const COMMON: [u16; 27] = [
    32_000, 16_110, 9000, 8900, 8000, 4464, 4352, 2002, 1500, 1492, 1480, 1476, 1472, 1460, 1454, 1450, 1440, 1430,
    1420, 1410, 1400, 1390, 1380, 1360, 1340, 1320, 1280,
];

/// How long a size is remembered: then a larger one is tried again (`PMTU_RAISE_TIMER`, RFC 8899 §5.1.1).
const REMEMBERED_FOR: Duration = Duration::from_secs(600);

/// Hosts whose paths are remembered at most.
const MOST: usize = 4096;

/// Bytes of the headers of IP and UDP that a datagram to or from this host has, without options.
pub(crate) fn headers(host: SocketAddr) -> u16 {
    if host.ip().to_canonical().is_ipv4() { 28 } else { 48 }
}

/// Sizes of datagrams to or from a host that are tried, from the largest on: those below `size` that are common.
pub(crate) fn common_below(host: SocketAddr, size: u16) -> impl Iterator<Item = u16> {
    let common = COMMON.into_iter().map(move |packet| packet - headers(host));
    common.filter(move |&common| common < size && usize::from(common) > MIN_OPEN_BYTES)
}

/// A path that does not carry the packets of a session. Sizes are those of IP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrow {
    /// The other end.
    pub peer: SocketAddr,
    /// The packets go there; else they come from there.
    pub outward: bool,
    /// The size that does not arrive.
    pub needed: u16,
    /// The largest size that is known to arrive; `None` if a session can have no packets as small as that.
    pub carried: Option<u16>,
}

impl Narrow {
    /// A path that carries datagrams of `carried` bytes, and not of `needed` bytes. No session has datagrams of less than [`MIN_OPEN_BYTES`].
    pub(crate) fn new(peer: SocketAddr, outward: bool, needed: u16, carried: u16) -> Self {
        let headers = headers(peer);
        let carried = (usize::from(carried) >= MIN_OPEN_BYTES).then(|| carried.min(needed).saturating_add(headers));
        Self { peer, outward, needed: needed.saturating_add(headers), carried }
    }

    /// Whether another session has packets that arrive.
    pub fn is_worth_another_session(&self) -> bool {
        self.carried.is_some_and(|carried| carried < self.needed)
    }
}

impl fmt::Display for Narrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, needed, .. } = self;
        if self.outward {
            write!(f, "packets of {needed} B do not arrive at {peer}, ")?;
        } else {
            write!(f, "packets of {needed} B from {peer} do not arrive, ")?;
        }
        match self.carried {
            Some(carried) => write!(f, "packets of {carried} B do"),
            None => f.write_str("small ones do"),
        }
    }
}

/// The largest datagrams that paths to some hosts carry, or paths from them, where that is less than a host would send.
#[derive(Debug, Default)]
pub(crate) struct PathSizes(HashMap<IpAddr, (u16, Time)>);

impl PathSizes {
    /// Remembers what has been found.
    pub(crate) fn learn(&mut self, now: Time, found: &Narrow) {
        let Some(carried) = found.carried else { return };
        self.0.retain(|_, (_, since)| now.since(*since) < REMEMBERED_FOR);
        let host = found.peer.ip().to_canonical();
        if self.0.len() < MOST || self.0.contains_key(&host) {
            self.0.insert(host, (carried.saturating_sub(headers(found.peer)), now));
        }
    }

    /// The largest datagram, of at most `largest` bytes, that the paths of all these hosts carry as far as is known.
    pub(crate) fn largest<'a>(&self, now: Time, hosts: impl IntoIterator<Item = &'a SocketAddr>, largest: u16) -> u16 {
        let known = hosts.into_iter().filter_map(|host| self.0.get(&host.ip().to_canonical()));
        known.filter(|(_, since)| now.since(*since) < REMEMBERED_FOR).map(|(size, _)| *size).fold(largest, u16::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(n: u32) -> SocketAddr {
        SocketAddr::from((std::net::Ipv4Addr::from(n), 7000))
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn sizes_are_those_of_packets_with_their_headers() {
        let six: SocketAddr = "[fd00::1]:7".parse().expect("an address");
        let found = Narrow::new(six, true, 1452, 1232);
        assert_eq!(found.to_string(), "packets of 1500 B do not arrive at [fd00::1]:7, packets of 1280 B do");
        let mapped: SocketAddr = "[::ffff:10.0.0.1]:7".parse().expect("an address");
        let found = Narrow::new(mapped, false, 1472, 1199);
        assert_eq!(found.to_string(), "packets of 1500 B from [::ffff:10.0.0.1]:7 do not arrive, small ones do");
        for (host, least) in [(host(1), 1252), (six, 1232)] {
            let tried: Vec<u16> = common_below(host, 1452).collect();
            assert!(tried.is_sorted_by(|a, b| a > b) && tried.last() == Some(&least), "{tried:?}");
            assert!(tried.iter().all(|&size| (1200..1452).contains(&size)));
        }
    }

    #[test]
    fn what_paths_carry_is_forgotten_and_of_few_hosts() {
        let mut sizes = PathSizes::default();
        sizes.learn(at(0), &Narrow::new(host(1), true, 1472, 1372));
        sizes.learn(at(5), &Narrow::new(host(2), true, 1472, 1252));
        sizes.learn(at(5), &Narrow::new(host(3), true, 1472, 0));
        let largest = |sizes: &PathSizes, now, hosts: &[u32]| {
            let hosts: Vec<SocketAddr> = hosts.iter().map(|&n| host(n)).collect();
            sizes.largest(now, &hosts, 1472)
        };
        assert_eq!(largest(&sizes, at(9), &[1]), 1372);
        assert_eq!(largest(&sizes, at(9), &[3, 4]), 1472);
        assert_eq!(largest(&sizes, at(9), &[4, 1, 2, 3]), 1252);
        assert_eq!((largest(&sizes, at(599), &[1]), largest(&sizes, at(600), &[1])), (1372, 1472));
        assert_eq!(sizes.largest(at(9), &[host(1)], 1300), 1300);
        (0..10_000).for_each(|n| sizes.learn(at(700), &Narrow::new(host(n), true, 1472, 1372)));
        assert_eq!(sizes.0.len(), MOST);
    }
}
