//! The paths of an endpoint's packets.

use super::Hosts;
use crate::fabric::routing::{Ends, FlowPaths, RoutingMode};
use crate::host::{EndpointId, Remotes};
use crate::network::fabric::Fabric;
use crate::network::ledger::Ledger;

impl Hosts {
    /// The paths of an endpoint on `host` with `subflows` subflows.
    pub(in crate::network) fn paths(
        &mut self,
        fabric: &Fabric,
        mode: RoutingMode,
        host: u32,
        remotes: &Remotes,
        group: Option<u32>,
        subflows: u8,
    ) -> FlowPaths {
        // A hub's nearest remote may be in its own rack, with a single path; a group's packets choose among trees, too.
        let routes = fabric.routes();
        let paths = remotes.all().iter().map(|r| routes.path_count(host, r.host)).max().unwrap_or(0);
        let paths = paths.max(group.map_or(0, |_| fabric.multicast_trees()));
        let hops = remotes.all().iter().map(|r| routes.hop_count(host, r.host)).max().unwrap_or(0);
        let ends = Ends { source: host, destination: remotes.get(0).host, paths, hops };
        fabric.schemes().flows(mode, &ends, subflows, &mut self.random[host as usize])
    }

    /// Whether an endpoint has not closed.
    pub(in crate::network) fn is_open(&self, endpoint: EndpointId) -> bool {
        self.endpoints[endpoint as usize].is_some()
    }

    /// Whether [the path of a sender can be chosen](FlowPaths::is_placeable).
    pub(in crate::network) fn is_placeable(&self, sender: EndpointId) -> bool {
        self.endpoints[sender as usize].as_ref().is_some_and(|hosted| hosted.place().paths.is_placeable())
    }

    /// All packets that this sender hands over from now on have these path bits.
    pub(in crate::network) fn place(&mut self, sender: EndpointId, bits: u32) {
        if let Some(hosted) = &mut self.endpoints[sender as usize] {
            hosted.place_mut().paths.place(bits);
        }
    }

    /// Links have failed or recovered: renews the paths of all endpoints, in order of their numbers.
    pub(in crate::network) fn renew_paths(&mut self, fabric: &Fabric, ledger: &Ledger) {
        for id in 0..self.endpoints.len() {
            let Some(mut hosted) = self.endpoints[id].take() else { continue };
            let mode = ledger.group_of(&ledger.specs()[hosted.place().session as usize]).routing;
            let (subflows, place) = (hosted.subflows(), hosted.place_mut());
            place.paths = self.paths(fabric, mode, place.host, &place.remotes, place.group, subflows);
            self.endpoints[id] = Some(hosted);
        }
    }
}
