//! The filtering database: the port of each station, learned from source addresses and aged out after five minutes (IEEE 802.1Q §8.7, §8.8).

use std::collections::BTreeMap;

use anabranch_transport::{Duration, Time};

use crate::frame::{Mac, is_group};

/// Entries at most. Frames to stations without one are flooded.
const MAX_ENTRIES: usize = 4096;
/// Ageing time of an entry whose station sends nothing (IEEE 802.1Q Table 8-6, the default).
const AGEING: Duration = Duration::from_secs(300);
/// How often a full table is searched for entries that have aged out, at most: it costs time, and any host can fill the table.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Entry {
    port: usize,
    seen: Time,
}

/// The dynamic entries, by MAC address.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilteringDatabase {
    entries: BTreeMap<Mac, Entry>,
    last_sweep: Time,
}

impl FilteringDatabase {
    /// A frame of that source address was received at a port.
    pub(crate) fn learn(&mut self, mac: Mac, port: usize, now: Time) {
        if is_group(mac) {
            return;
        }
        if self.entries.len() >= MAX_ENTRIES && !self.entries.contains_key(&mac) {
            if now.since(self.last_sweep) < SWEEP_INTERVAL {
                return;
            }
            self.last_sweep = now;
            self.entries.retain(|_, entry| now.since(entry.seen) < AGEING);
            if self.entries.len() >= MAX_ENTRIES {
                return;
            }
        }
        self.entries.insert(mac, Entry { port, seen: now });
    }

    /// The port of a station, if there is an entry.
    pub(crate) fn lookup(&self, mac: Mac, now: Time) -> Option<usize> {
        self.entries.get(&mac).filter(|entry| now.since(entry.seen) < AGEING).map(|entry| entry.port)
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
    fn stations_move_and_age_out() {
        let mut fdb = FilteringDatabase::default();
        assert_eq!(fdb.lookup(mac(1), at(0)), None);
        fdb.learn(mac(1), 3, at(0));
        assert_eq!(fdb.lookup(mac(1), at(299)), Some(3));
        assert_eq!(fdb.lookup(mac(1), at(300)), None);
        fdb.learn(mac(1), 4, at(301));
        assert_eq!(fdb.lookup(mac(1), at(302)), Some(4));
        fdb.learn([0xff; 6], 1, at(302));
        assert_eq!(fdb.lookup([0xff; 6], at(302)), None, "nobody sends from a group");
    }

    #[test]
    fn the_table_is_bounded_and_makes_room() {
        let mut fdb = FilteringDatabase::default();
        for n in 0..10_000 {
            fdb.learn(mac(n), 1, at(10));
        }
        assert_eq!(fdb.entries.len(), MAX_ENTRIES);
        assert_eq!(fdb.lookup(mac(9_999), at(10)), None);
        fdb.learn(mac(7), 2, at(300));
        assert_eq!(fdb.lookup(mac(7), at(300)), Some(2), "who is known may move even so");
        fdb.learn(mac(9_999), 1, at(310));
        assert_eq!(fdb.lookup(mac(9_999), at(310)), Some(1));
        assert_eq!(fdb.entries.len(), 2);
    }
}
