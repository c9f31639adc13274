//! A traffic matrix as a sum, one part for each level of switches that its pairs reach and no higher (Song §5.2.2).

use crate::error::RoutingResult;
use crate::fabric::Fabric;
use crate::number::{Exact, Scalar};
use crate::traffic::TrafficMatrix;
use std::fmt::Write as _;

/// TM = `TM_0` + ... + TM_(n-1) (Song Eq. 5.13).
#[derive(Clone, Debug)]
pub struct Decomposition {
    /// Part t holds the pairs whose shortest paths reach level t and no higher.
    pub parts: Vec<TrafficMatrix>,
    /// Names of the levels, from the top.
    pub levels: Vec<String>,
}

/// The highest level that shortest paths between two hosts reach.
pub fn highest(fabric: &Fabric, s: u32, d: u32) -> u32 {
    if let Some(tree) = fabric.tree {
        return tree.meeting(s, d);
    }
    let to = fabric.rack(d);
    let from = fabric.racks.node[fabric.rack(s) as usize];
    let lowest = fabric.level_names.len() as u32 - 1;
    let (mut open, mut seen, mut best) = (vec![from], vec![false; fabric.graph.nodes.len()], lowest);
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node as usize], true) {
            best = best.min(fabric.level[node as usize].unwrap_or(lowest));
            open.extend(fabric.next_ports(node, to).iter().map(|&p| fabric.graph.port_peer(p)));
        }
    }
    best
}

/// The letter of a level: I (inter-pod) for the top, E (same edge switch) for the lowest, A (same aggregation switch), B ...
/// from below for those between.
pub fn letter(level: u32, levels: u32) -> char {
    if level + 1 == levels {
        'E'
    } else if level == 0 {
        'I'
    } else {
        char::from(b'A' + ((levels - 2 - level) % 4) as u8)
    }
}

impl Decomposition {
    /// Decomposes a matrix.
    ///
    /// # Errors
    ///
    /// A sum that does not fit.
    pub fn of(fabric: &Fabric, tm: &TrafficMatrix) -> RoutingResult<Self> {
        let mut parts = vec![TrafficMatrix::empty(tm.hosts); fabric.level_names.len()];
        for (s, d, amount) in tm.iter() {
            parts[highest(fabric, s, d) as usize].add(s, d, amount)?;
        }
        Ok(Self { parts, levels: fabric.level_names.clone() })
    }

    /// What each part carries in all.
    ///
    /// # Errors
    ///
    /// A sum that does not fit.
    pub fn totals(&self) -> RoutingResult<Vec<Exact>> {
        self.parts.iter().map(TrafficMatrix::total::<Exact>).collect()
    }

    /// The matrix as text: at each pair that sends the letter of its part, a dot elsewhere (Song Figure 5.5).
    pub fn text(&self) -> String {
        let hosts = self.parts.first().map_or(0, |p| p.hosts);
        let levels = self.parts.len() as u32;
        grid(hosts, |s, d| {
            let part = (0..levels).find(|&t| !self.parts[t as usize].get(s, d).is_zero());
            part.map_or('.', |t| letter(t, levels))
        })
    }
}

/// The letter of every pair, whether it sends or not (Song Figure 5.4).
pub fn map(fabric: &Fabric) -> String {
    let levels = fabric.level_names.len() as u32;
    grid(fabric.hosts(), |s, d| if s == d { '.' } else { letter(highest(fabric, s, d), levels) })
}

fn grid(hosts: u32, cell: impl Fn(u32, u32) -> char) -> String {
    let width = hosts.saturating_sub(1).to_string().len();
    let mut text = " ".repeat(width);
    for d in 0..hosts {
        let _ = write!(text, " {d:>width$}");
    }
    text.push('\n');
    for s in 0..hosts {
        let _ = write!(text, "{s:>width$}");
        for d in 0..hosts {
            let _ = write!(text, " {:>width$}", cell(s, d));
        }
        text.push('\n');
    }
    text
}
