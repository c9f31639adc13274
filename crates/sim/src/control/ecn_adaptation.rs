//! ECN adaptation (Joy, "Improving Throughput for Long Flows via SDN based ECN Adaptation in Data Centers", thesis chapter 4):
//! a link that long flows have nearly to themselves gets a high marking threshold, any other a low one.
//!
//! Once a period the flow monitor (§4.3.1) counts the short and the long flows that sent by each bottleneck link; if there are
//! at most δ short ones for each long one, the link gets the upper threshold, else the lower one (§4.3.2, figure 17). The `QoS`
//! control (§4.3.3) is the `delay` of every controller. A schedule of times of day says when the upper threshold may be used
//! at all (§4.1, §4.3.4). Several controllers, each of which knows late what the others see, are future work there (§5.3).
//!
//! What the thesis leaves open, and what is done here:
//!
//! - **Short and long.** §2.1 and §3 draw the line at 1 MB; how a controller knows is either counters (§4.3.1 (1)) or the five-tuple
//!   (§4.3.1 (2)). By counters a long flow is a short one until it has sent so much by this port. The five-tuple comes down to
//!   the destination port, for source ports are not modelled.
//! - **Which flows count.** "For the monitoring period" (§4.3.2.2): those whose counters have grown in it, ended ones included.
//!   A link without flows has no ratio: it keeps its threshold. One with short flows only is above any δ.
//! - **Equality.** ≤ δ is the upper threshold (§4.3.2.2); §4.3.2 says "below".
//! - **N** in eq. 3 is "the number of TCP flows on the bottleneck link". Here it is that of long ones, at least 1. Table 3 has
//!   5 packets for 2 to 4 flows, which is eq. 3 with N = 1.
//! - **T** is the "average Round Trip Time": of propagation only, as in tables 2 and 3 (four links of 150 us, 600 us).
//! - **B** in eq. 5 is the buffer of a port; here what eq. 6 asks for at least, 3 C T, if no other is given. Tables 2 and 3
//!   use 25 packets, five times C T, and so have 10 packets as the upper threshold.
//! - **Table 2** has 3 packets where eq. 4 gives 0.7. Lower thresholds are rounded up and upper ones down, to 1 packet at least, and an
//!   upper one is never below the lower one.
//! - **The period**: 10 minutes, and 5 minutes for the check that short flows are few (§4.1, §4.3.4). Here both are `period`.

use super::rtt::round_trip;
use super::{Action, Controller, ControllerConfig, Given, PortFlow, View, Watch};
use crate::fabric::buffer::BufferSize;
use crate::fabric::graph::{Graph, Level, NodeId, PortId};
use crate::fabric::queue::{Limit, Setting};
use crate::workload::Fault;
use anabranch_transport::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

#[cfg(test)]
mod tests;

/// Thresholds in packets count packets of so many bytes (Ethernet).
const PACKET: f64 = 1500.0;

/// Marking thresholds by the ratio of short to long flows (Joy, chapter 4). For queues that mark at a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EcnAdaptation {
    /// Time from one poll of the flow counters to the next, at least 1 us. In the thesis 10 minutes (§4.3.4).
    pub period: Duration,
    /// Time from a poll until the thresholds that follow from it are set.
    pub delay: Duration,
    /// δ: up to so many short flows for each long one a link gets the upper threshold (§4.3.2.2). At least 0.
    pub delta: f64,
    /// Which flows are long.
    pub flows: Classify,
    /// The ports whose thresholds are adapted.
    pub links: Links,
    /// Of these, only the ports with these names: `["edge0-h4"]` is that of `edge0` to `h4`. None: all of them.
    pub only: Vec<String>,
    /// How the lower threshold follows from rate and round-trip time.
    pub lower_law: LowerLaw,
    /// The lower threshold itself: `"3 packets"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<BufferSize>,
    /// The upper threshold itself: `"10 packets"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<BufferSize>,
    /// B of eq. 5, from which the upper threshold follows: (B - C T) / 2. If left out: 3 C T (eq. 6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferSize>,
    /// T of eqs. 3 to 6. If left out: the mean round-trip time of the hosts whose packets pass the link, by propagation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// Windows of the day with one threshold or the other (§4.1). None: the ratio decides all day. With windows: outside of
    /// them, the lower threshold.
    pub schedule: Vec<Window>,
    /// Length of a day, above 0: the schedule begins anew after it.
    pub day: Duration,
    /// In windows with the upper threshold: links with too many short flows get the lower one at the next poll all the same.
    pub fallback: bool,
    /// How many controllers there are.
    pub controllers: Scope,
    /// How old what a controller knows of flows is: with `per-pod`, of those that begin in other pods; else of all.
    pub staleness: Duration,
}

/// How long flows are told from short ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Classify {
    /// By the counters of switches: long is what has sent that much by this port.
    Counters {
        /// Bytes from which on a flow is long, headers and retransmissions included.
        long: Bytes,
    },
    /// By what it has to send, as if hosts told the controller.
    Size {
        /// Bytes from which on a flow is long.
        long: Bytes,
    },
    /// By the five-tuple: long is what goes to one of these ports.
    Port {
        /// Destination ports of long flows.
        long: Vec<u16>,
    },
}

/// Ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// All of top-of-rack switches (§4.3.1: "`ToR` switch links form the bottleneck links").
    Edge,
    /// All of switches.
    All,
}

/// A lower threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LowerLaw {
    /// C T / 7 (eq. 4).
    Dctcp,
    /// C T / sqrt(N), with N the long flows on the link, at least 1 (eq. 3).
    EcnStar,
}

/// One of the two thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// `K_LB`.
    Lower,
    /// `K_UB`.
    Upper,
}

/// A part of the day. One whose `to` is before its `from` ends on the next day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// When it begins, from 0 to `day`.
    pub from: Duration,
    /// When it has ended, up to `day`.
    pub to: Duration,
    /// What its links get.
    pub threshold: Bound,
}

impl Window {
    fn contains(&self, time: Duration) -> bool {
        if self.from < self.to { (self.from..self.to).contains(&time) } else { time >= self.from || time < self.to }
    }
}

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// One controller for the fabric.
    One,
    /// One for the switches of each pod (of each rack, where there are no pods). It sees the flows that begin there.
    PerPod,
}

impl Default for EcnAdaptation {
    fn default() -> Self {
        Self {
            period: Duration::from_ms(10),
            delay: Duration::from_us(100),
            delta: 1.0,
            flows: Classify::Counters { long: Bytes(1_000_000) },
            links: Links::Edge,
            only: Vec::new(),
            lower_law: LowerLaw::Dctcp,
            lower: None,
            upper: None,
            buffer: None,
            rtt: None,
            schedule: Vec::new(),
            day: Duration::from_secs(24 * 60 * 60),
            fallback: true,
            controllers: Scope::One,
            staleness: Duration::ZERO,
        }
    }
}

/// Flows of a link in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mix {
    short: u32,
    long: u32,
}

impl Mix {
    /// Figure 17. `None`: there are none.
    fn bound(self, delta: f64) -> Option<Bound> {
        match self {
            Self { short: 0, long: 0 } => None,
            Self { short, long } if f64::from(short) <= delta * f64::from(long) => Some(Bound::Upper),
            _ => Some(Bound::Lower),
        }
    }
}

/// Who is responsible for a node: a pod, or the one switch that belongs to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Domain {
    Pod(u32),
    Switch(NodeId),
}

/// What the flow counters said at a poll: for each port the domain in which each flow begins, and whether it is long.
#[derive(Debug)]
struct Poll {
    at: u64,
    flows: BTreeMap<PortId, Vec<(Domain, bool)>>,
}

/// The controller at work.
#[derive(Debug)]
struct Adaptation {
    config: EcnAdaptation,
    /// Ports that are adapted, with the domain of their switch.
    ports: Vec<(PortId, Domain)>,
    /// Of each host.
    domains: Vec<Domain>,
    links_of: Vec<Vec<PortId>>,
    /// The latest polls, the newest last; the first one is the newest that is old enough to be known everywhere, if any is.
    polls: VecDeque<Poll>,
    trips: BTreeMap<PortId, Duration>,
    /// What was last decided for, and noted of, each port.
    decided: BTreeMap<PortId, Limit>,
    noted: BTreeMap<PortId, Mix>,
}

impl EcnAdaptation {
    fn is_long(&self, seen: &PortFlow) -> bool {
        match &self.flows {
            Classify::Counters { long } => seen.is_long(*long),
            Classify::Size { long } => seen.flow.is_long(*long),
            Classify::Port { long } => long.contains(&seen.flow.port),
        }
    }

    /// What a link gets; `None`: what it has.
    fn bound(&self, now: Time, mix: Mix) -> Option<Bound> {
        let by_ratio = mix.bound(self.delta);
        if self.schedule.is_empty() {
            return by_ratio;
        }
        let time = Duration(now.ps() % self.day.ps());
        let scheduled = self.schedule.iter().find(|window| window.contains(time)).map(|window| window.threshold);
        match scheduled {
            Some(Bound::Upper) if self.fallback => by_ratio.or(Some(Bound::Upper)),
            other => Some(other.unwrap_or(Bound::Lower)),
        }
    }

    /// The threshold, told as the queue tells its own.
    fn threshold(&self, bound: Bound, rate: Rate, rtt: Duration, long_flows: u32, like: Limit) -> Limit {
        let product = rate.bytes_in(rtt) as f64;
        let lower = match self.lower_law {
            LowerLaw::Dctcp => product / 7.0,
            LowerLaw::EcnStar => product / f64::from(long_flows.max(1)).sqrt(),
        };
        let lower = at_least_one(self.lower.map_or(lower, bytes), like, f64::ceil);
        match bound {
            Bound::Lower => lower,
            Bound::Upper => {
                let buffer = self.buffer.map_or(3.0 * product, bytes);
                let upper = self.upper.map_or((buffer - product) / 2.0, bytes);
                larger(at_least_one(upper, like, f64::floor), lower)
            }
        }
    }
}

/// A length in bytes.
fn bytes(size: BufferSize) -> f64 {
    match size {
        BufferSize::Packets(n) => f64::from(n) * PACKET,
        BufferSize::Bytes(n) => n.0 as f64,
        // Refused by `check`.
        BufferSize::Auto | BufferSize::Unlimited => f64::MAX,
    }
}

/// Bytes as a threshold of one packet at least.
fn at_least_one(bytes: f64, like: Limit, round: fn(f64) -> f64) -> Limit {
    match like {
        Limit::Packets(_) => Limit::Packets(round(bytes / PACKET).max(1.0) as u32),
        Limit::Bytes(_) => Limit::Bytes(round(bytes).max(PACKET) as u64),
    }
}

fn larger(one: Limit, other: Limit) -> Limit {
    match (one, other) {
        (Limit::Packets(a), Limit::Packets(b)) => Limit::Packets(a.max(b)),
        (Limit::Bytes(a), Limit::Bytes(b)) => Limit::Bytes(a.max(b)),
        _ => one,
    }
}

impl Adaptation {
    /// The flow monitor looks at the counters of all ports.
    fn poll(&self, view: &View<'_>) -> Poll {
        let now = view.now().ps();
        let since = now.saturating_sub(self.config.period.ps());
        let of = |&(port, _): &(PortId, Domain)| {
            let grown = view.flows_at(port).into_iter().filter(|seen| seen.counters.last.ps() >= since);
            let flows = grown.map(|seen| (self.domains[seen.flow.source as usize], self.config.is_long(&seen)));
            (port, flows.collect())
        };
        Poll { at: now, flows: self.ports.iter().map(of).collect() }
    }

    /// The flows of a port, as the controller of `domain` knows them now.
    fn mix(&self, port: PortId, domain: Domain, now: u64) -> Mix {
        let of = |poll: Option<&Poll>, own: bool| {
            let here = |from: Domain| self.config.controllers == Scope::PerPod && from == domain;
            let flows = poll.and_then(|poll| poll.flows.get(&port)).into_iter().flatten();
            let known = flows.filter(|(from, _)| here(*from) == own);
            known.fold(Mix::default(), |mix, (_, long)| Mix {
                short: mix.short + u32::from(!long),
                long: mix.long + u32::from(*long),
            })
        };
        let old = self.polls.front().filter(|poll| poll.at.saturating_add(self.config.staleness.ps()) <= now);
        let (own, others) = (of(self.polls.back(), true), of(old, false));
        Mix { short: own.short + others.short, long: own.long + others.long }
    }

    fn trip(&mut self, graph: &Graph, port: PortId) -> Duration {
        let links_of = &self.links_of;
        let given = self.config.rtt;
        given.unwrap_or_else(|| *self.trips.entry(port).or_insert_with(|| round_trip(graph, links_of, port)))
    }
}

impl Controller for Adaptation {
    fn decide(&mut self, view: &View<'_>) -> Vec<Action> {
        let now = view.now().ps();
        let poll = self.poll(view);
        self.polls.push_back(poll);
        let known = |poll: &Poll| poll.at.saturating_add(self.config.staleness.ps()) <= now;
        while self.polls.get(1).is_some_and(known) {
            self.polls.pop_front();
        }
        let mut actions = Vec::new();
        for (port, domain) in self.ports.clone() {
            let seen = view.port(port);
            let Some(threshold) = seen.marking_threshold.filter(|_| seen.up) else { continue };
            let mix = self.mix(port, domain, now);
            if self.noted.insert(port, mix).unwrap_or_default() != mix {
                actions.push(Action::Note("seen_short_flows", port, f64::from(mix.short)));
                actions.push(Action::Note("seen_long_flows", port, f64::from(mix.long)));
            }
            let Some(bound) = self.config.bound(view.now(), mix) else { continue };
            let trip = self.trip(view.graph(), port);
            let wanted = self.config.threshold(bound, seen.rate, trip, mix.long, threshold);
            if self.decided.insert(port, wanted) != Some(wanted) {
                actions.push(Action::Queue(port, Setting::MarkingThreshold(wanted)));
            }
        }
        actions
    }
}

impl ControllerConfig for EcnAdaptation {
    fn period(&self) -> Duration {
        self.period
    }

    fn delay(&self) -> Duration {
        self.delay
    }

    fn watches(&self) -> Watch {
        Watch { flows: true, ..Watch::NOTHING }
    }

    fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !(self.delta >= 0.0 && self.delta.is_finite()) {
            faults.push(Fault::new("delta", format!("must be a number from 0 on, not {}", self.delta)));
        }
        if matches!(&self.flows, Classify::Port { long } if long.is_empty()) {
            faults.push(Fault::new("flows.long", "names no port: no flow would be long").hint("long = [5001]"));
        }
        for (key, size) in [("lower", self.lower), ("upper", self.upper), ("buffer", self.buffer)] {
            let told = matches!(size, None | Some(BufferSize::Packets(1..) | BufferSize::Bytes(Bytes(1..))));
            if !told {
                faults
                    .push(Fault::new(key, "must be a number of packets or bytes above 0").hint("like \"10 packets\""));
            }
        }
        if let (Some(lower), Some(upper)) = (self.lower, self.upper)
            && bytes(lower) > bytes(upper)
        {
            faults.push(Fault::new("lower", format!("{lower} is more than upper, {upper}")));
        }
        if self.rtt == Some(Duration::ZERO) {
            faults.push(Fault::new("rtt", "must be above 0"));
        }
        faults.extend(self.check_schedule());
        faults.extend(self.without_effect());
        faults
    }

    fn check_in(&self, fabric: &Given<'_>) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !fabric.marks {
            let fault = Fault::new("law", "adapts marking thresholds, but no switch marks packets at one");
            faults.push(fault.hint("in [switch]: queue = \"ecn\""));
        }
        let ports = ports(self.links, fabric.graph);
        for (n, name) in self.only.iter().enumerate() {
            if fabric.graph.port_named(name).is_none_or(|port| !ports.contains(&port)) {
                let message = format!("{name:?} is none of the ports of `links`");
                let example = ports.first().map_or(String::new(), |&port| port_name(fabric.graph, port));
                faults.push(Fault::new(format!("only.{n}"), message).hint(format!("names look like {example:?}")));
            }
        }
        faults
    }

    fn start(&self, graph: &Graph, _seed: u64) -> Box<dyn Controller> {
        let domain = |node: NodeId| graph.nodes[node as usize].pod.map_or(Domain::Switch(node), Domain::Pod);
        let only: Vec<PortId> = self.only.iter().filter_map(|name| graph.port_named(name)).collect();
        let all = ports(self.links, graph).into_iter().filter(|port| only.is_empty() || only.contains(port));
        Box::new(Adaptation {
            ports: all.map(|port| (port, domain(graph.port_owner(port)))).collect(),
            domains: graph.racks().into_iter().map(domain).collect(),
            links_of: graph.ports_by_node(),
            polls: VecDeque::new(),
            trips: BTreeMap::new(),
            decided: BTreeMap::new(),
            noted: BTreeMap::new(),
            config: self.clone(),
        })
    }
}

impl EcnAdaptation {
    /// Keys that others make void.
    fn without_effect(&self) -> impl Iterator<Item = Fault> {
        let (lower, upper) = (self.lower.is_some(), self.upper.is_some());
        let fresh = self.controllers == Scope::PerPod && self.staleness == Duration::ZERO;
        let void = [
            ("lower_law", lower && self.lower_law != LowerLaw::Dctcp, "with `lower`"),
            ("buffer", upper && self.buffer.is_some(), "with `upper`"),
            ("rtt", lower && upper && self.rtt.is_some(), "with `lower` and `upper`"),
            ("controllers", fresh, "without `staleness`: all controllers know the same"),
        ];
        let void = void.into_iter().filter(|(_, is_void, _)| *is_void);
        void.map(|(key, _, why)| Fault::new(key, format!("has no effect {why}")).warn())
    }

    fn check_schedule(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.day == Duration::ZERO {
            return vec![Fault::new("day", "must be above 0")];
        }
        for (n, window) in self.schedule.iter().enumerate() {
            let at = |key: &str| format!("schedule.{n}.{key}");
            if window.from >= self.day {
                faults.push(Fault::new(
                    at("from"),
                    format!("{} is not before the end of a day of {}", window.from, self.day),
                ));
            }
            if window.to > self.day {
                faults.push(Fault::new(at("to"), format!("{} is after the end of a day of {}", window.to, self.day)));
            }
            if window.from == window.to {
                faults.push(Fault::new(at("to"), "is also the beginning: the window is empty"));
            }
            let overlaps = |other: &Window| other.contains(window.from) || window.contains(other.from);
            if let Some(other) = self.schedule[..n].iter().position(overlaps) {
                faults.push(Fault::new(at("from"), format!("overlaps with window {other}")));
            }
        }
        if self.schedule.is_empty() && !self.fallback {
            faults.push(Fault::new("fallback", "has no effect without a schedule").warn());
        }
        faults
    }
}

/// The ports of switches that `links` names.
fn ports(links: Links, graph: &Graph) -> Vec<PortId> {
    let level = |port| graph.nodes[graph.port_owner(port) as usize].level;
    let wanted = |&port: &PortId| match links {
        Links::Edge => level(port) == Level::Edge,
        Links::All => level(port) != Level::Host,
    };
    (0..graph.ports()).filter(wanted).collect()
}

fn port_name(graph: &Graph, port: PortId) -> String {
    let name = |node: NodeId| graph.nodes[node as usize].name.as_str();
    format!("{}-{}", name(graph.port_owner(port)), name(graph.port_peer(port)))
}
