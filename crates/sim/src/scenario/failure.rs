//! `[[failure]]`: what breaks, and when.

use crate::fabric::graph::{Graph, Link, NodeId};
use crate::network::{Change, Target};
use crate::workload::Fault;
use anabranch_transport::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One change of a link, or of all links of a switch, during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// When.
    pub at: Duration,
    /// The link, by the names of its ends: `edge0.0-agg0.1`. Give `link` or `switch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The switch, by its name: `core3`. Give `link` or `switch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// What happens.
    pub action: Action,
    /// The new bit rate, with `action = "slow"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// What happens to a link or a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It carries nothing any more.
    Cut,
    /// It is as at the start again.
    Restore,
    /// Its bit rate changes to `rate`.
    Slow,
}

impl Failure {
    /// What is wrong, whatever the fabric.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        match (&self.link, &self.switch) {
            (None, None) => {
                faults.push(Fault::new("", "a failure needs `link` or `switch`").hint("link = \"edge0.0-agg0.1\""));
            }
            (Some(_), Some(_)) => faults.push(Fault::new("switch", "give either `link` or `switch`, not both")),
            (Some(link), None) if !link.contains('-') => {
                let message = format!("{link:?} is not a link: expected the names of its ends with a hyphen between");
                faults.push(Fault::new("link", message).hint("like \"edge0.0-agg0.1\""));
            }
            _ => {}
        }
        match (self.action, self.rate) {
            (Action::Slow, None) => {
                faults.push(Fault::new("action", "\"slow\" needs a `rate`").hint("rate = \"100Mbps\""));
            }
            (Action::Slow, Some(rate)) if rate.bps() == 0 => {
                faults.push(Fault::new("rate", "must be above 0").hint("for no rate at all: action = \"cut\""));
            }
            (Action::Cut | Action::Restore, Some(_)) => {
                faults.push(Fault::new("rate", "only with action = \"slow\""));
            }
            _ => {}
        }
        faults
    }
}

/// What happens to links and switches, in order of time.
pub(super) fn changes(failures: &[Failure], graph: &Graph) -> Result<Vec<(Time, Change)>, Fault> {
    let mut changes = Vec::new();
    for (index, failure) in failures.iter().enumerate() {
        changes.extend(change(failure, graph).map_err(|fault| fault.under(&format!("failure.{index}")))?);
    }
    changes.sort_by_key(|c| c.0);
    Ok(changes)
}

fn change(failure: &Failure, graph: &Graph) -> Result<Vec<(Time, Change)>, Fault> {
    let targets = match (&failure.link, &failure.switch) {
        (Some(link), _) => vec![find_link(link, graph)?],
        (None, Some(switch)) => {
            let node = find_node(switch, graph).filter(|n| !graph.is_host(*n));
            let node = node.ok_or_else(|| unknown("switch", switch, graph, graph.hosts as usize))?;
            links_of(node, graph)
        }
        (None, None) => return Err(Fault::new("", "a failure needs `link` or `switch`")),
    };
    let change = |link: u32| {
        let target = Target::Link(link);
        match (failure.action, failure.rate) {
            (Action::Cut, _) => vec![Change::Cut(target)],
            (Action::Slow, Some(rate)) => vec![Change::Rate(target, rate)],
            // As at the start: up, and as fast as it was.
            (Action::Restore | Action::Slow, _) => {
                vec![Change::Restore(target), Change::Rate(target, graph.links[link as usize].rate)]
            }
        }
    };
    let when = Time::ZERO + failure.at;
    Ok(targets.into_iter().flat_map(change).map(|c| (when, c)).collect())
}

fn links_of(node: NodeId, graph: &Graph) -> Vec<u32> {
    let touches = |l: &u32| {
        let link = &graph.links[*l as usize];
        link.a == node || link.b == node
    };
    (0..graph.links.len() as u32).filter(touches).collect()
}

pub(super) fn find_node(name: &str, graph: &Graph) -> Option<NodeId> {
    graph.nodes.iter().position(|n| n.name == name).map(|n| n as NodeId)
}

/// A link by the names of its ends, in either order. Names may contain hyphens themselves.
fn find_link(name: &str, graph: &Graph) -> Result<u32, Fault> {
    for (hyphen, _) in name.match_indices('-') {
        let (a, b) = (name[..hyphen].trim(), name[hyphen + 1..].trim());
        if let (Some(a), Some(b)) = (find_node(a, graph), find_node(b, graph)) {
            let joins = |l: &Link| (l.a, l.b) == (a, b) || (l.a, l.b) == (b, a);
            if let Some(link) = graph.links.iter().position(joins) {
                return Ok(link as u32);
            }
            return Err(like(Fault::new("link", format!("no link joins {name:?}")), a, graph));
        }
    }
    let first = name.split('-').find(|part| find_node(part.trim(), graph).is_none()).unwrap_or(name);
    let fault = unknown("link", first.trim(), graph, 0);
    Err(match &fault.hint {
        Some(hint) if hint.starts_with("did you mean") => fault,
        _ => like(fault, graph.hosts, graph),
    })
}

/// Name of a link of a node, as an example: to a switch, if there is one.
pub(super) fn link_of(node: NodeId, graph: &Graph) -> Option<String> {
    let peer = |link: &Link| match (link.a == node, link.b == node) {
        (true, _) => Some(link.b),
        (_, true) => Some(link.a),
        _ => None,
    };
    let peers: Vec<NodeId> = graph.links.iter().filter_map(peer).collect();
    let chosen = peers.iter().find(|peer| !graph.is_host(**peer)).or(peers.first())?;
    Some(format!("{}-{}", graph.nodes[node as usize].name, graph.nodes[*chosen as usize].name))
}

/// A fault with a link of this fabric as an example.
fn like(fault: Fault, node: NodeId, graph: &Graph) -> Fault {
    match link_of(node, graph) {
        Some(name) => fault.hint(format!("links have names like {name:?}")),
        None => fault,
    }
}

pub(super) fn unknown(key: &str, name: &str, graph: &Graph, from: usize) -> Fault {
    let fault = Fault::new(key, format!("the fabric has no node {name:?} here"));
    let names = graph.nodes[from..].iter().map(|n| n.name.as_str());
    let close = names
        .map(|n| (strsim::damerau_levenshtein(name, n), n))
        .min()
        .filter(|(distance, _)| *distance <= 2)
        .map(|(_, n)| n);
    match close {
        Some(close) => fault.hint(format!("did you mean {close:?}?")),
        None => fault.hint(format!("names look like {:?}", graph.nodes[from].name)),
    }
}
