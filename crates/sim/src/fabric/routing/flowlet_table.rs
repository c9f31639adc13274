//! The table by which a switch tells flowlets apart (CONGA §3.4, `LetFlow` §4).
//!
//! A packet's flow names an entry by a hash; flows that share an entry are one to the switch. An entry that no packet has
//! used for long is free: the next packet begins a flowlet, and gets a port anew.

use crate::fabric::graph::PortId;
use crate::random;
use anabranch_transport::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::num::NonZeroU32;

/// How a switch tells flowlets apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Flowlets {
    /// The pause that ends a flowlet. Default 500 us (CONGA §3.4).
    pub gap: Duration,
    /// Entries of the table of each switch, at least 1. Default 65536 (CONGA §3.4).
    pub entries: NonZeroU32,
    /// How the pause is measured.
    pub aging: Aging,
}

/// How a switch measures pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aging {
    /// By one bit for each entry, as in hardware (CONGA §3.4): a packet clears it; every `gap`, from time 0 on, the switch frees the entries that
    /// have it and sets it in the others. So a flowlet ends after a pause between `gap` and twice as much.
    #[default]
    Bit,
    /// By the time of the last packet: a flowlet ends after a pause longer than `gap`.
    Timestamp,
}

impl Default for Flowlets {
    fn default() -> Self {
        let entries = NonZeroU32::MIN.saturating_add(u32::from(u16::MAX));
        Self { gap: Duration::from_us(500), entries, aging: Aging::default() }
    }
}

impl Flowlets {
    /// Whether an entry still belongs to its flowlet.
    fn goes_on(&self, last: u64, now: u64) -> bool {
        let gap = self.gap.ps().max(1);
        match self.aging {
            Aging::Bit => now / gap - last / gap < 2,
            Aging::Timestamp => now - last <= gap,
        }
    }
}

/// The table of one switch.
#[derive(Debug)]
pub(super) struct FlowletTable {
    settings: Flowlets,
    /// Of the hash, which differs from switch to switch.
    salt: u64,
    /// Those that have been used.
    entries: HashMap<u32, Entry, BuildHasherDefault<Spread>>,
}

/// Hashes the numbers of entries, which are hashes already: spreads them over all bits, of which the map uses the lowest and the highest.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        // 2^64 over the golden ratio (Knuth, vol. 3, §6.4).
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Debug)]
struct Entry {
    port: PortId,
    /// When its last packet came.
    last: u64,
}

impl FlowletTable {
    pub(super) fn new(settings: Flowlets, salt: u64) -> Self {
        Self { settings, salt, entries: HashMap::default() }
    }

    /// The port of the flowlet that a packet of a flow belongs to. If it begins one, or if that port no longer leads on, `choose` names
    /// it, and is told the port of the one before, if it leads on.
    pub(super) fn port(
        &mut self,
        flow: u32,
        now: u64,
        ways: &[PortId],
        choose: impl FnOnce(Option<PortId>) -> PortId,
    ) -> PortId {
        let hash = random::mix(self.salt ^ u64::from(flow)) >> 32;
        let place = (hash * u64::from(self.settings.entries.get())) >> 32;
        let entry = self.entries.get_mut(&(place as u32));
        let before = entry.as_ref().map(|entry| entry.port).filter(|port| ways.contains(port));
        let active = entry.as_ref().is_some_and(|entry| self.settings.goes_on(entry.last, now));
        let port = before.filter(|_| active).unwrap_or_else(|| choose(before));
        match entry {
            Some(entry) => *entry = Entry { port, last: now },
            None => drop(self.entries.insert(place as u32, Entry { port, last: now })),
        }
        port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: [PortId; 3] = [4, 6, 8];

    fn table(aging: Aging, entries: u32) -> FlowletTable {
        let entries = NonZeroU32::new(entries).expect("above 0");
        FlowletTable::new(Flowlets { gap: Duration(100), entries, aging }, 7)
    }

    /// Whether the packets of one flow at these times begin flowlets.
    fn begins(aging: Aging, times: &[u64]) -> Vec<bool> {
        let mut table = table(aging, 1024);
        let mut begins = |&now: &u64| {
            let mut begun = false;
            table.port(3, now, &WAYS, |_| {
                begun = true;
                4
            });
            begun
        };
        times.iter().map(&mut begins).collect()
    }

    #[test]
    fn a_timestamp_ends_a_flowlet_after_the_gap() {
        assert_eq!(begins(Aging::Timestamp, &[0, 100, 200, 301, 350, 451]), [true, false, false, true, false, true]);
    }

    #[test]
    fn a_bit_ends_a_flowlet_after_one_gap_to_two() {
        // Of the last two before: at 100 the bit is set, at 200 the entry is freed.
        assert_eq!(begins(Aging::Bit, &[99, 200]), [true, true], "a pause of 101");
        assert_eq!(begins(Aging::Bit, &[99, 199]), [true, false], "a pause of 100");
        assert_eq!(begins(Aging::Bit, &[100, 299]), [true, false], "a pause of 199");
        assert_eq!(begins(Aging::Bit, &[100, 300]), [true, true], "a pause of 200");
        // A packet every 90: there are never two scans between two of them.
        let often: Vec<u64> = (0..50).map(|n| 90 * n).collect();
        assert_eq!(begins(Aging::Bit, &often).iter().filter(|begun| **begun).count(), 1);
    }

    #[test]
    fn flows_in_one_entry_are_one() {
        let mut table = table(Aging::Timestamp, 1);
        assert_eq!(table.port(1, 0, &WAYS, |_| 6), 6);
        assert_eq!(table.port(2, 90, &WAYS, |_| unreachable!("flow 1 has the entry")), 6);
        assert_eq!(table.port(1, 180, &WAYS, |_| unreachable!("flow 2 has kept it")), 6);
        // With many entries they rarely share one: of 10 flows in 2^16, with probability 0.0007.
        let mut table = self::table(Aging::Timestamp, 1 << 16);
        (0..10).for_each(|flow| {
            table.port(flow, 0, &WAYS, |before| {
                assert_eq!(before, None);
                4
            });
        });
    }

    #[test]
    fn a_port_that_leads_on_no_longer_is_not_taken() {
        let mut table = table(Aging::Timestamp, 1024);
        assert_eq!(table.port(1, 0, &WAYS, |_| 6), 6);
        let told = |before: Option<PortId>| {
            assert_eq!(before, None);
            8
        };
        assert_eq!(table.port(1, 10, &[4, 8], told), 8);
        // The next flowlet is told of the one before.
        let told = |before: Option<PortId>| before.expect("8 leads on");
        assert_eq!(table.port(1, 1000, &WAYS, told), 8);
    }
}
