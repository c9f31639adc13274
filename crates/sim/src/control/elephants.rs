//! What controllers that place large flows have in common.

use super::{Action, Given, View};
use crate::fabric::graph::PortId;
use crate::workload::Fault;
use std::collections::{BTreeMap, BTreeSet};

/// A large flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Elephant {
    pub(super) session: u32,
    pub(super) source: u32,
    pub(super) destination: u32,
}

/// Where flows have been placed.
#[derive(Debug, Default)]
pub(super) struct Placed {
    paths: BTreeMap<u32, Vec<PortId>>,
    /// Flows that are where `paths` says: since links have failed or come back, hashes among other ports may have moved the others.
    there: BTreeSet<u32>,
    links_up: Vec<bool>,
}

impl Placed {
    /// Looks which links work, and forgets flows that are over.
    pub(super) fn look(&mut self, view: &View<'_>) {
        let links = 0..view.graph().links.len() as u32;
        let links_up = links.map(|link| view.port(2 * link).up).collect();
        if std::mem::replace(&mut self.links_up, links_up) != self.links_up {
            self.there.clear();
        }
        let flows = view.flows();
        self.paths.retain(|session, _| flows.binary_search_by_key(session, |flow| flow.session).is_ok());
        self.there.retain(|session| self.paths.contains_key(session));
    }

    /// The path on which a flow has been placed, if it has been.
    pub(super) fn path(&self, session: u32) -> Option<&[PortId]> {
        self.paths.get(&session).map(Vec::as_slice)
    }

    /// What places a flow on a path; `None` if it is there.
    pub(super) fn place(&mut self, session: u32, path: &[PortId]) -> Option<Action> {
        let before = self.paths.insert(session, path.to_vec());
        let is_there = !self.there.insert(session) && before.as_deref() == Some(path);
        (!is_there).then(|| Action::Place(session, path.to_vec()))
    }
}

/// What is wrong with a fabric in which flows are to be placed.
pub(super) fn needs_placeable_flows(fabric: &Given<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !fabric.placeable {
        let fault = Fault::new("law", "places flows, and no workload has flows with one path each that can be chosen");
        faults.push(fault.hint(
            "a transport with one connection for each flow, as \"dctcp\", and in [routing]: mode = \"per-flow\"",
        ));
    }
    if fabric.graph.multi_homed() {
        let fault =
            Fault::new("law", "looks at the switch of each host, and in this fabric hosts have several links or relay");
        faults.push(fault.hint("choose another fabric: fat-tree, leaf-spine"));
    }
    faults
}
