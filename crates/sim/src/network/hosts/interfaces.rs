//! The links of hosts, as the hosts see them.

use crate::fabric::graph::{Graph, PortId};
use crate::host::EndpointId;
use anabranch_transport::pull::PullQueue;
use anabranch_transport::units::PS_PER_S;
use anabranch_transport::{Duration, Rate};
use std::ops::Range;

/// The interfaces of all hosts. Where each host has one, interface `h` is that of host `h`.
#[derive(Clone)]
pub(super) struct Interfaces {
    /// The port that each interface sends through.
    pub(super) ports: Vec<PortId>,
    /// Turns of the receiver-driven endpoints that are reached through an interface, paced at the rate of its link.
    pub(super) pulls: Vec<PullQueue<EndpointId>>,
    /// The first interface of each host.
    first: Vec<u32>,
    /// Whether some host has several, so that hosts choose among them as switches do.
    pub(super) several: bool,
    /// Whether more than the endpoint is to be told of a packet: there are several, or packets are put in order.
    pub(super) particular: bool,
    /// If some host has several: the interface that each port leads to.
    reached_by: Vec<u32>,
}

impl Interfaces {
    /// Pulls ask for full packets of `packet_bytes` bytes, `pull_pace` times as many as the incoming link carries.
    pub(super) fn new(graph: &Graph, packet_bytes: u64, pull_pace: f64) -> Self {
        let several = graph.multi_homed();
        let (mut ports, mut first) = (Vec::new(), Vec::new());
        for of_host in graph.ports_by_node().into_iter().take(graph.hosts as usize) {
            first.push(ports.len() as u32);
            ports.extend(of_host);
        }
        let mut reached_by = vec![u32::MAX; if several { graph.ports() as usize } else { 0 }];
        if several {
            for (interface, port) in (0..).zip(&ports) {
                reached_by[(port ^ 1) as usize] = interface;
            }
        }
        let pulls = ports.iter().map(|p| {
            let rate = graph.links[(p / 2) as usize].rate;
            PullQueue::new(pull_interval(rate, packet_bytes, pull_pace))
        });
        Self { pulls: pulls.collect(), ports, first, several, particular: several, reached_by }
    }

    /// The first interface of a host.
    #[inline]
    pub(super) fn first_of(&self, host: u32) -> u32 {
        self.first[host as usize]
    }

    /// The interfaces of a host.
    pub(super) fn of(&self, host: u32) -> Range<usize> {
        let end = self.first.get(host as usize + 1).map_or(self.ports.len(), |&i| i as usize);
        self.first[host as usize] as usize..end
    }

    /// Where hosts have several: that of a host's own port.
    pub(super) fn of_port(&self, port: PortId) -> u32 {
        self.reached_by(port ^ 1)
    }

    /// Where hosts have several: the interface that a port leads to.
    pub(super) fn reached_by(&self, port: PortId) -> u32 {
        self.reached_by[port as usize]
    }
}

/// The time between pulls: what a full packet takes on the incoming link, at a pace of 1.
fn pull_interval(rate: Rate, packet_bytes: u64, pace: f64) -> Duration {
    debug_assert!(rate.bps() <= PS_PER_S * 8, "rates are checked on input");
    Duration((rate.transmit_time(packet_bytes).ps() as f64 / pace).round() as u64)
}
