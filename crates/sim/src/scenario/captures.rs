//! `measure.packets`: from names to the ports that are captured.

use super::failure::{find_node, link_of, unknown};
use super::{BufferSize, Measure, Plan, RunPlan, Scenario, ScenarioError, TransportName};
use crate::capture::CapturePlan;
use crate::fabric::graph::{Graph, NodeId, PortId};
use crate::workload::Fault;
use anabranch_transport::Bytes;

/// Ports that are captured at a time: each has a file open, or two, and every run that goes on at the time has them.
const MOST: usize = 100;

/// What a capture holds unless the scenario says otherwise.
const LIMIT: u64 = 1_000_000_000;

/// Bytes that a capture needs for the headers of a protocol: IPv4 with TCP, with UDP, with UDP and the encapsulation.
const TCP: u64 = 40;
const UDP: u64 = 28;
const ENCAPSULATED: u64 = 64;

/// What is wrong with the keys, whatever the fabric.
pub(super) fn check(measure: &Measure) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (i, name) in measure.packets.iter().enumerate() {
        if measure.packets[..i].contains(name) {
            faults.push(Fault::new(format!("packets.{i}"), format!("{name:?} is there already")));
        }
    }
    if matches!(measure.packets_limit, BufferSize::Packets(0) | BufferSize::Bytes(Bytes(0))) {
        let message = "must be above 0";
        faults.push(Fault::new("packets_limit", message).hint("without limit: packets_limit = \"unlimited\""));
    }
    if !(20..=65_535).contains(&measure.packets_snap.0) {
        let message = format!("{}; must be 20B (an IPv4 header) to 65535B", measure.packets_snap);
        faults.push(Fault::new("packets_snap", message));
    }
    let default = Measure::default();
    for (key, changed) in [
        ("packets_limit", measure.packets_limit != default.packets_limit),
        ("packets_snap", measure.packets_snap != default.packets_snap),
    ] {
        if changed && measure.packets.is_empty() {
            let fault = Fault::new(key, "nothing is captured").hint("packets = [\"h0\"]");
            faults.push(fault.warn());
        }
    }
    faults
}

impl Scenario {
    /// What is wrong with the captures in this fabric, and what they cannot show as it is simulated.
    pub(super) fn check_captures(&self, graph: &Graph) -> Vec<Fault> {
        let (mut faults, mut count) = (Vec::new(), 0);
        for (i, name) in self.measure.packets.iter().enumerate() {
            match ports(name, graph) {
                Ok(ports) => count += ports.len(),
                Err(fault) => faults.push(Fault { key: format!("packets.{i}"), ..fault }),
            }
        }
        if count > MOST {
            let message = format!("{count} ports; at most {MOST} are captured at a time");
            faults.push(Fault::new("packets", message).hint("name the ports that you will look at: \"edge0-h4\""));
        }
        if self.measure.packets.is_empty() {
            return faults;
        }
        let mut seen: Vec<TransportName> = Vec::new();
        for workload in &self.workload {
            let name = self.transport_of(workload);
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            let transport = self.transport.transport(name);
            let (needs, has) = (needs(&transport.protocol), transport.header_bytes());
            if has < needs {
                let message = format!(
                    "headers of {} have {has}B here and {needs}B in a capture: its packets are up to {}B longer there",
                    name.name(),
                    needs - has
                );
                faults.push(Fault::new("packets", message).warn());
            }
        }
        faults
    }
}

/// Bytes of headers that a capture writes.
fn needs(protocol: &crate::host::protocol::Protocol) -> u64 {
    use crate::host::protocol::Protocol;
    match protocol {
        Protocol::Tcp(_) | Protocol::Multipath(_) => TCP,
        Protocol::Udp(_) => UDP,
        _ => ENCAPSULATED,
    }
}

/// The ports of a node, or one port, by name.
fn ports(name: &str, graph: &Graph) -> Result<Vec<PortId>, Fault> {
    if let Some(node) = find_node(name.trim(), graph) {
        let own: Vec<PortId> = (0..graph.ports()).filter(|&port| graph.port_owner(port) == node).collect();
        return if own.is_empty() { Err(Fault::new("packets", format!("{name:?} has no link"))) } else { Ok(own) };
    }
    if let Some(port) = graph.port_named(name) {
        return Ok(vec![port]);
    }
    let mut ends = name.match_indices('-').map(|(hyphen, _)| (name[..hyphen].trim(), name[hyphen + 1..].trim()));
    if let Some((a, b)) = ends.find(|(a, b)| find_node(a, graph).is_some() && find_node(b, graph).is_some()) {
        let fault = Fault::new("packets", format!("no link joins {a} and {b}"));
        let port = find_node(a, graph).and_then(|node| link_of(node, graph));
        return Err(match port {
            Some(port) => fault.hint(format!("{port:?} is a port")),
            None => fault,
        });
    }
    let missing = name.split('-').map(str::trim).find(|part| find_node(part, graph).is_none()).unwrap_or(name);
    let fault = unknown("packets", missing, graph, 0);
    let port = graph.host_ports().first().filter(|&&port| port < graph.ports()).copied();
    Err(match (&fault.hint, port) {
        (Some(hint), Some(port)) if !hint.starts_with("did you mean") => {
            let node = |node: NodeId| &graph.nodes[node as usize].name;
            let (host, switch) = (node(graph.port_peer(port)), node(graph.port_owner(port)));
            fault.hint(format!("{host:?} is a host, {switch:?} a switch, \"{switch}-{host}\" a port"))
        }
        _ => fault,
    })
}

impl Plan {
    /// The captures of a run that the scenario asks for.
    ///
    /// # Errors
    /// A name that the fabric does not have, at its place in the scenario.
    pub fn captures(&self, run: &RunPlan, graph: &Graph) -> Result<Vec<CapturePlan>, Box<ScenarioError>> {
        let measure = &run.scenario.measure;
        let (packets, bytes) = match measure.packets_limit {
            BufferSize::Auto => (None, Some(LIMIT)),
            BufferSize::Unlimited => (None, None),
            BufferSize::Packets(packets) => (Some(u64::from(packets)), None),
            BufferSize::Bytes(bytes) => (None, Some(bytes.0)),
        };
        let mut plans: Vec<CapturePlan> = Vec::new();
        for (i, name) in measure.packets.iter().enumerate() {
            let fault = |fault: Fault| Fault { key: format!("measure.packets.{i}"), ..fault };
            for port in ports(name, graph).map_err(|e| Box::new(self.fault_error(run, &fault(e))))? {
                if plans.iter().any(|plan| plan.port == port) {
                    continue;
                }
                let node = |node: NodeId| &graph.nodes[node as usize].name;
                let name = format!("{}-{}", node(graph.port_owner(port)), node(graph.port_peer(port)));
                let file = file_name(&name, |file| plans.iter().any(|plan| plan.name.eq_ignore_ascii_case(file)));
                let of = format!("scenario {}, run {}, seed {}", run.scenario.name, run.name(), run.seed);
                let comment = format!("{of}, captured at port {name}");
                let snap = measure.packets_snap.0 as u16;
                plans.push(CapturePlan { name: file, port, snap, packets, bytes, comment });
            }
        }
        Ok(plans)
    }
}

/// A name for a file that any system takes, and that no other capture has.
fn file_name(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let safe: String = name.trim().chars().map(|c| if plain(c) { c } else { '_' }).collect();
    let safe = safe.trim_start_matches('.');
    let names = (1..).map(|n| if n == 1 { safe.to_owned() } else { format!("{safe}.{n}") });
    names.into_iter().find(|name| !taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain_and_differ() {
        let taken = ["a_b", "A_B.2"];
        let name = |name| file_name(name, |file| taken.iter().any(|t| t.eq_ignore_ascii_case(file)));
        assert_eq!([name("h0"), name("../x"), name("a/b")], ["h0", "_x", "a_b.3"]);
    }
}
