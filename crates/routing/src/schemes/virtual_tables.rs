//! Virtual table-based routing: V static routing tables, each of which gives every switch one default upward port, and equal
//! traffic on each table (Song §2.3, Figure 2.2, which has V = 2: IPv4 and IPv6).
//!
//! The figure is generalised so: within one table, neighbouring switches of a level take neighbouring ports, and table v
//! turns all of them by v. A switch that stands at place i of its level takes port (v + i) mod n of the n that lie on
//! shortest paths, so that the switches below an aggregation switch arrive there by different tables and leave it by
//! different ports. With more tables than ports, switches one level up are turned by v mod n + v div n, so that (m/2)^(n-1)
//! tables use every path of FT(m, n) once. On a fat-tree without failures a switch's port depends on the table alone; after
//! failures, and in other fabrics, also on which of its ports lead to the destination.

use super::{Matters, Scheme, Settings, Shares};
use crate::error::{RoutingError, RoutingResult};
use crate::fabric::Fabric;
use crate::number::{Exact, Scalar};
use anabranch_sim::fabric::graph::NodeId;

/// Tables at most: sixteen times the paths of FT(32, 3).
const MOST: u64 = 4096;

/// V static tables.
#[derive(Clone, Copy, Debug)]
pub struct VirtualTables {
    tables: u64,
}

impl VirtualTables {
    pub(super) fn new(settings: &Settings<'_>) -> RoutingResult<Self> {
        let tables = settings.parameter("virtual-tables", "a whole number of tables from 1", Exact::whole(2))?;
        if tables.denom() != 1 || tables > Exact::whole(MOST) {
            return Err(RoutingError::new(format!(
                "virtual-tables:{tables}: expected a whole number of tables from 1 to {MOST}"
            )));
        }
        Ok(Self { tables: tables.numer() as u64 })
    }
}

/// Place of a switch in its level.
fn place(fabric: &Fabric, node: NodeId) -> usize {
    let level = fabric.level[node as usize];
    // Levels are runs of consecutive nodes in every topology that this project makes; a count would be right in any.
    let first = fabric.level.iter().position(|l| *l == level).unwrap_or(0);
    node as usize - first
}

impl<S: Scalar> Scheme<S> for VirtualTables {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Rack, Matters::Rack)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        let share = S::ratio(1, self.tables);
        for table in 0..self.tables {
            let mut turn = table as usize;
            out.path(fabric, from, to, share, |node, choices| {
                let chosen = (turn + place(fabric, node)) % choices;
                turn = turn % choices + turn / choices;
                chosen
            })?;
        }
        Ok(())
    }
}
