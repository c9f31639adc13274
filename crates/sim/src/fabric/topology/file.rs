//! Any fabric, from a text file that lists hosts, switches and links.
//!
//! ```text
//! # Comments run to the end of the line.
//! [hosts]                      # name [, pod]
//! a
//! b
//! [switches]                   # name [, level [, pod]]; level: edge (default), aggregation, core
//! left
//! right, edge
//! [links]                      # node, node [, rate [, delay]]; what is left out is the scenario's
//! a, left
//! b, right, 1Gbps, 10us
//! left, right, 2.5Gbps, 1ms
//! ```
//!
//! Hosts are numbered in their order in the file, and a switch lists its ports in the order of the links. Each host has
//! exactly one link unless `host_links` says otherwise; its first link to a switch tells its rack. There need be no switches
//! where hosts relay. The fabric is connected.

use super::links::{MAX_HOSTS, Size, default_delay, default_rate};
use super::{Hint, LinkSpec, Topology, TopologyError};
use crate::fabric::graph::{Graph, Level, Link, Node, NodeId};
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A fabric described in a text file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileTopology {
    /// The file; a relative name starts at the scenario's folder.
    pub path: PathBuf,
    /// Bit rate of the links for which the file gives none, above zero.
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Propagation delay of the links for which the file gives none, 0 to 1000 s.
    #[serde(default = "default_delay")]
    pub delay: Duration,
    /// Whether two switches may be joined by several links. Off, a link listed twice is taken for a mistake.
    #[serde(default)]
    pub parallel_links: bool,
    /// How many links a host may have, and what it does with them.
    #[serde(default)]
    pub host_links: HostLinks,
}

/// What the hosts of a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostLinks {
    /// Each host has one link, to a switch.
    #[default]
    One,
    /// Hosts may have several links, and send and receive on all of them (for example servers with two `ToR` switches).
    Several,
    /// The same, and hosts pass on the packets of others; they may be linked to one another, with switches or without any.
    Relay,
}

impl Topology for FileTopology {
    fn graph(&self, base_dir: &Path) -> Result<Graph, TopologyError> {
        let path = base_dir.join(&self.path);
        let read = |source| TopologyError::Read { path: path.clone(), source, hint: Hint::default() };
        let text = crate::input::read(&path).map_err(|e| match e.kind() {
            ErrorKind::NotFound => read(e).with_hint("relative paths start at the folder of the scenario file"),
            _ => read(e),
        })?;
        self.parse(&text, &path)
    }

    fn may_be_multi_homed(&self) -> bool {
        true
    }

    fn data_file(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

impl FileTopology {
    /// Reads `text`, naming `path` in errors.
    pub(crate) fn parse(&self, text: &str, path: &Path) -> Result<Graph, TopologyError> {
        let base = LinkSpec::checked(self.rate, self.delay, "")?;
        let mut parser = Parser::new(path, base, self);
        for (i, line) in text.lines().enumerate() {
            parser.line = i + 1;
            parser.read_line(line)?;
        }
        parser.finish()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Hosts,
    Switches,
    Links,
}

/// A node as declared, with its line.
struct Declared {
    node: Node,
    line: usize,
}

struct Parser<'a> {
    path: &'a Path,
    base: LinkSpec,
    parallel_links: bool,
    host_links: HostLinks,
    line: usize,
    section: Section,
    hosts: Vec<Declared>,
    switches: Vec<Declared>,
    /// Names and whether they are hosts, with their index among hosts or switches.
    names: BTreeMap<String, (bool, u32)>,
    /// Links wait for the end of the file, when it is known how many hosts come before the switches.
    links: Vec<([(bool, u32); 2], LinkSpec)>,
    /// Which hosts have their link.
    linked: Vec<bool>,
    pairs: BTreeSet<[(bool, u32); 2]>,
}

impl<'a> Parser<'a> {
    fn new(path: &'a Path, base: LinkSpec, config: &FileTopology) -> Self {
        Self {
            path,
            base,
            parallel_links: config.parallel_links,
            host_links: config.host_links,
            line: 0,
            section: Section::None,
            hosts: Vec::new(),
            switches: Vec::new(),
            names: BTreeMap::new(),
            links: Vec::new(),
            linked: Vec::new(),
            pairs: BTreeSet::new(),
        }
    }

    fn error(&self, found: impl Into<String>, expected: impl Into<String>) -> TopologyError {
        self.error_at(self.line, found, expected)
    }

    fn error_at(&self, line: usize, found: impl Into<String>, expected: impl Into<String>) -> TopologyError {
        let path = self.path.to_path_buf();
        TopologyError::Line { path, line, found: found.into(), expected: expected.into(), hint: Hint::default() }
    }

    fn read_line(&mut self, line: &str) -> Result<(), TopologyError> {
        let text = line.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(());
        }
        if text.starts_with('[') {
            self.section = match text {
                "[hosts]" => Section::Hosts,
                "[switches]" => Section::Switches,
                "[links]" => Section::Links,
                other => return Err(self.error(format!("section {other}"), "[hosts], [switches] or [links]")),
            };
            return Ok(());
        }
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        match (self.section, cells.as_slice()) {
            (Section::None, _) => {
                Err(self.error(format!("{text:?}"), "a section first: [hosts], [switches] or [links]"))
            }
            (Section::Hosts, [name, pod @ ..]) if pod.len() <= 1 => self.node(name, Level::Host, pod.first()),
            (Section::Hosts, _) => Err(self.error(format!("{text:?}"), "name [, pod]")),
            (Section::Switches, [name, rest @ ..]) if rest.len() <= 2 => {
                let level = rest.first().map_or(Ok(Level::Edge), |l| self.level(l))?;
                self.node(name, level, rest.get(1))
            }
            (Section::Switches, _) => Err(self.error(format!("{text:?}"), "name [, level [, pod]]")),
            (Section::Links, [a, b, rest @ ..]) if rest.len() <= 2 => self.link(a, b, rest),
            (Section::Links, _) => Err(self.error(format!("{text:?}"), "node, node [, rate [, delay]]")),
        }
    }

    fn level(&self, text: &str) -> Result<Level, TopologyError> {
        let levels = [Level::Edge, Level::Aggregation, Level::Core];
        levels
            .into_iter()
            .find(|l| l.name() == text)
            .ok_or_else(|| self.error(format!("level {text:?}"), "edge, aggregation or core"))
    }

    fn node(&mut self, name: &str, level: Level, pod: Option<&&str>) -> Result<(), TopologyError> {
        if name.is_empty() {
            return Err(self.error("an empty name", "a name"));
        }
        let pod = pod
            .map(|p| p.parse().map_err(|_| self.error(format!("pod {p:?}"), "a whole number from 0")))
            .transpose()?;
        let host = level == Level::Host;
        let list = if host { &mut self.hosts } else { &mut self.switches };
        let index = list.len() as u32;
        list.push(Declared { node: Node { name: name.into(), level, pod }, line: self.line });
        if self.names.insert(name.into(), (host, index)).is_some() {
            return Err(self.error(format!("{name} a second time"), "each name once"));
        }
        if host {
            self.linked.push(false);
            if self.hosts.len() as u64 > MAX_HOSTS {
                return Err(self.error("one host more", format!("at most {MAX_HOSTS} hosts")));
            }
        }
        Ok(())
    }

    fn end(&self, name: &str) -> Result<(bool, u32), TopologyError> {
        self.names.get(name).copied().ok_or_else(|| {
            let near = self
                .names
                .keys()
                .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)).then(b.cmp(a)));
            let error = self.error(format!("node {name:?}"), "a name listed above in [hosts] or [switches]");
            match near.filter(|n| strsim::jaro_winkler(n, name) > 0.8) {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error,
            }
        })
    }

    fn quantity<T: FromStr<Err: std::fmt::Display>>(
        &self,
        text: Option<&&str>,
        default: T,
    ) -> Result<T, TopologyError> {
        match text {
            None | Some(&"") => Ok(default),
            Some(text) => text.parse().map_err(|e: T::Err| self.error(e.to_string(), "node, node [, rate [, delay]]")),
        }
    }

    fn link(&mut self, a: &str, b: &str, rest: &[&str]) -> Result<(), TopologyError> {
        let ends = [self.end(a)?, self.end(b)?];
        let rate = self.quantity(rest.first(), self.base.rate)?;
        let delay = self.quantity(rest.get(1), self.base.delay)?;
        let spec = LinkSpec::checked(rate, delay, "").map_err(|e| match e {
            TopologyError::Field { field, found, expected, .. } => self.error(format!("{field} {found}"), expected),
            other => other,
        })?;
        if ends[0] == ends[1] {
            return Err(self.error(format!("a link from {a} to itself"), "two different nodes"));
        }
        if ends.iter().all(|e| e.0) && self.host_links != HostLinks::Relay {
            return Err(self
                .error(format!("a link between the hosts {a} and {b}"), "a switch at one end at least")
                .with_hint("for hosts that pass on packets, set `host_links = \"relay\"` in the scenario's [fabric]"));
        }
        for (&(host, index), name) in ends.iter().zip([a, b]) {
            if host && std::mem::replace(&mut self.linked[index as usize], true) && self.host_links == HostLinks::One {
                return Err(self
                    .error(format!("a second link of host {name}"), "exactly one link for each host")
                    .with_hint("for hosts with several, set `host_links` to \"several\" or \"relay\" in the scenario's [fabric]"));
            }
        }
        let mut pair = ends;
        pair.sort_unstable();
        if !self.pairs.insert(pair) && !self.parallel_links {
            return Err(self.error(format!("a second link between {a} and {b}"), "each link once").with_hint(
                "to join two switches by several links, set `parallel_links = true` in the scenario's [fabric]",
            ));
        }
        self.links.push((ends, spec));
        Ok(())
    }

    fn finish(self) -> Result<Graph, TopologyError> {
        if self.hosts.len() < 2 {
            let found = format!("{} hosts by the end of the file", self.hosts.len());
            return Err(self.error_at(self.line.max(1), found, "at least 2, one a line, under [hosts]"));
        }
        if let Some(h) = self.linked.iter().position(|&linked| !linked) {
            let host = &self.hosts[h];
            return Err(self.error_at(
                host.line,
                format!("host {} without a link", host.node.name),
                if self.host_links == HostLinks::One { "exactly one link" } else { "at least one link" },
            ));
        }
        let hosts = self.hosts.len() as u32;
        let id = |(host, index): (bool, u32)| -> NodeId { if host { index } else { hosts + index } };
        let links: Vec<Link> = self
            .links
            .iter()
            .map(|&([a, b], spec)| Link { a: id(a), b: id(b), rate: spec.rate, delay: spec.delay })
            .collect();
        let ends = links.iter().map(|l| (l.a.min(l.b), l.a.max(l.b)));
        let racks: BTreeSet<NodeId> = ends.filter(|&(a, b)| a < hosts && b >= hosts).map(|(_, b)| b).collect();
        let size = Size {
            hosts: u64::from(hosts),
            switches: self.switches.len() as u64,
            racks: racks.len() as u64,
            links: links.len() as u64,
        };
        let declared = self.hosts.iter().chain(&self.switches);
        let nodes = declared.map(|d| d.node.clone()).collect();
        let hosts_relay = self.host_links == HostLinks::Relay;
        let graph = Graph { nodes, links, hosts, hosts_relay };
        size.with_choosing_hosts(graph.multi_homed()).check("path", self.path.display())?;
        if let Some((n, from)) = graph.unreachable() {
            let lost = if graph.is_host(n) { &self.hosts[n as usize] } else { &self.switches[(n - hosts) as usize] };
            let found = format!("{}, which no path joins to {}", lost.node.name, self.hosts[from as usize].node.name);
            return Err(self.error_at(lost.line, found, "a connected fabric"));
        }
        Ok(graph)
    }
}
