//! Weights of the ports among which a switch chooses: weighted-cost multipath (Zhou et al., `EuroSys` 2014).
//!
//! A port has weight 1 if nothing else is said, so that a fabric without weights is one in which all are equal: the choice
//! is then that of [`select`](super::select), digit for digit. Of a port with weight 0 no packet makes use.

use super::Hop;
use crate::fabric::graph::PortId;
use std::collections::BTreeMap;

/// The weight of a port as a way to a host, or to all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathWeight {
    /// The port.
    pub port: PortId,
    /// The host; `None`: every host for which the port has no weight of its own.
    pub to: Option<u32>,
    /// How much of what the switch sends there goes this way, next to the weights of its other ports. 0: nothing.
    pub weight: u16,
}

/// All weights of a fabric.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    of: BTreeMap<(PortId, Option<u32>), u16>,
}

impl Weights {
    /// Sets a weight.
    pub fn set(&mut self, weight: PathWeight) {
        self.of.insert((weight.port, weight.to), weight.weight);
    }

    /// The weight of a port as a way to a host.
    pub fn get(&self, port: PortId, host: u32) -> u16 {
        let own = self.of.get(&(port, Some(host))).or_else(|| self.of.get(&(port, None)));
        own.copied().unwrap_or(1)
    }

    /// The port that a path fraction chooses among those on shortest paths; `None` if there is none with a weight.
    ///
    /// Like [`select`](super::select) it uses up the leading digit of the fraction, here one of a system whose digits have
    /// lengths in proportion to the weights, and leaves the rest to the next switch.
    pub fn choose(&self, hop: &Hop<'_>, fraction: &mut u32) -> Option<PortId> {
        let ports = hop.routes.next_ports(hop.node, hop.destination);
        let weight = |port: PortId| u64::from(self.get(port, hop.destination));
        let total: u64 = ports.iter().map(|&port| weight(port)).sum();
        // Fewer than 2^16 ports of weights below 2^16: this fits.
        let mut place = u64::from(*fraction) * total;
        for &port in ports {
            let own = weight(port) << 32;
            if place < own {
                *fraction = if ports.len() == 1 { *fraction } else { (place / weight(port)) as u32 };
                return Some(port);
            }
            place -= own;
        }
        None
    }
}
