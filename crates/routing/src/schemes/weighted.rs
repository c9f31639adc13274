//! Paths with weights that were chosen for a traffic matrix, or for a set of them (Song §2.4); the choice itself is a linear
//! program, in `python/anabranch/routing`.

use super::{Matters, Scheme, Shares};
use crate::error::{RoutingError, RoutingResult};
use crate::fabric::Fabric;
use crate::number::{Exact, Scalar};
use anabranch_sim::fabric::graph::PortId;
use std::collections::BTreeMap;

/// Paths of a pair of racks, as ports between their nodes, and the share of each.
pub type PathList = Vec<(Vec<PortId>, Exact)>;

/// Given paths with given shares; equal over all shortest paths for pairs of racks that have none.
#[derive(Clone, Debug, Default)]
pub struct Weighted {
    paths: BTreeMap<(u32, u32), PathList>,
}

impl Weighted {
    /// Checks and keeps paths and shares.
    ///
    /// # Errors
    ///
    /// A path that does not lead from rack to rack over working links; shares that do not add up to one.
    pub fn new(fabric: &Fabric, paths: BTreeMap<(u32, u32), PathList>) -> RoutingResult<Self> {
        for (&(from, to), list) in &paths {
            let racks = fabric.racks.node.len() as u32;
            if from >= racks || to >= racks {
                return Err(RoutingError::new(format!("racks {from} and {to}: expected numbers below {racks}")));
            }
            let node = |rack: u32| fabric.racks.node[rack as usize];
            let mut sum = Exact::ZERO;
            for (path, share) in list {
                let mut at = node(from);
                for &port in path {
                    if port >= fabric.graph.ports()
                        || !fabric.alive[(port / 2) as usize]
                        || fabric.graph.port_owner(port) != at
                    {
                        return Err(RoutingError::new(format!(
                            "racks {from} and {to}: port {port} does not continue the path"
                        )));
                    }
                    at = fabric.graph.port_peer(port);
                }
                if at != node(to) {
                    return Err(RoutingError::new(format!("racks {from} and {to}: a path ends elsewhere")));
                }
                sum = sum.plus(*share).ok_or_else(RoutingError::overflow)?;
            }
            if sum != Exact::ONE {
                return Err(RoutingError::new(format!("racks {from} and {to}: shares add up to {sum}: expected 1")));
            }
        }
        Ok(Self { paths })
    }
}

impl<S: Scalar> Scheme<S> for Weighted {
    fn matters(&self) -> (Matters, Matters) {
        (Matters::Rack, Matters::Rack)
    }

    fn shares(&self, fabric: &Fabric, s: u32, d: u32, out: &mut Shares<S>) -> RoutingResult<()> {
        let Some((from, to)) = out.ends(fabric, s, d)? else { return Ok(()) };
        if let Some(list) = self.paths.get(&(fabric.rack(s), to)) {
            for (path, share) in list {
                path.iter().try_for_each(|&port| out.add(port, S::of(*share)))?;
            }
            Ok(())
        } else {
            let all = fabric.paths(from, to)?;
            out.by_paths(fabric, from, to, |through| S::ratio(through, all))
        }
    }

    fn shortest(&self) -> bool {
        false
    }
}
