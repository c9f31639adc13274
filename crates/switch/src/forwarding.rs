//! Which station is behind which port: learned from source addresses, forgotten after five minutes (IEEE 802.1Q §8.7, §8.8).

use std::collections::BTreeMap;

use anabranch_transport::{Duration, Time};

use crate::frame::{Mac, is_group};

/// Stations at most. Frames to those that find no room are flooded.
const MOST_STATIONS: usize = 4096;
/// How long a station is remembered that says nothing (IEEE 802.1Q Table 8-6, the default).
const AGEING: Duration = Duration::from_secs(300);
/// How often a full table is searched for what it can forget, at most: it costs time, and any host can fill the table.
const SEARCH: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Station {
    port: usize,
    seen: Time,
}

/// The stations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stations {
    known: BTreeMap<Mac, Station>,
    searched: Time,
}

impl Stations {
    /// A frame from there came in at a port.
    pub(crate) fn learn(&mut self, mac: Mac, port: usize, now: Time) {
        if is_group(mac) {
            return;
        }
        if self.known.len() >= MOST_STATIONS && !self.known.contains_key(&mac) {
            if now.since(self.searched) < SEARCH {
                return;
            }
            self.searched = now;
            self.known.retain(|_, station| now.since(station.seen) < AGEING);
            if self.known.len() >= MOST_STATIONS {
                return;
            }
        }
        self.known.insert(mac, Station { port, seen: now });
    }

    /// The port that leads there, if it is known.
    pub(crate) fn port(&self, mac: Mac, now: Time) -> Option<usize> {
        self.known.get(&mac).filter(|station| now.since(station.seen) < AGEING).map(|station| station.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(n: u32) -> Mac {
        let mut mac = [2, 0, 0, 0, 0, 0];
        mac[2..].copy_from_slice(&n.to_be_bytes());
        mac
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn stations_move_and_are_forgotten() {
        let mut stations = Stations::default();
        assert_eq!(stations.port(mac(1), at(0)), None);
        stations.learn(mac(1), 3, at(0));
        assert_eq!(stations.port(mac(1), at(299)), Some(3));
        assert_eq!(stations.port(mac(1), at(300)), None);
        stations.learn(mac(1), 4, at(301));
        assert_eq!(stations.port(mac(1), at(302)), Some(4));
        stations.learn([0xff; 6], 1, at(302));
        assert_eq!(stations.port([0xff; 6], at(302)), None, "nobody sends from a group");
    }

    #[test]
    fn the_table_is_bounded_and_makes_room() {
        let mut stations = Stations::default();
        for n in 0..10_000 {
            stations.learn(mac(n), 1, at(10));
        }
        assert_eq!(stations.known.len(), MOST_STATIONS);
        assert_eq!(stations.port(mac(9_999), at(10)), None);
        stations.learn(mac(7), 2, at(300));
        assert_eq!(stations.port(mac(7), at(300)), Some(2), "who is known may move even so");
        stations.learn(mac(9_999), 1, at(310));
        assert_eq!(stations.port(mac(9_999), at(310)), Some(1));
        assert_eq!(stations.known.len(), 2);
    }
}
