//! `transport.window`: windows that follow the fabric.

use super::{Scenario, TransportName, WindowRule};
use crate::fabric::graph::{Graph, PortId};
use crate::fabric::routing::{Exchange, LongestPath, Routes};
use crate::host::protocol::{Protocol, Transport};
use crate::workload::{Mode, PlacementConfig};
use anabranch_transport::scdp::ScdpConfig;
use anabranch_transport::tcp::Algorithm;
use anabranch_transport::{Bytes, Rate};
use std::sync::Arc;

/// Largest windows that the transports admit.
const NDP_MAX: u64 = 16_384;
const SCDP_MAX: u64 = 65_535;
const PFABRIC_MAX: u64 = 1000;
const TCP_MAX: u64 = 1 << 30;
const HOMA_MAX: u64 = 1_000_000_000;
const PHOST_MAX: u64 = 1 << 24;

/// The fabric of a scenario as its windows see it.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    pub(super) graph: Arc<Graph>,
    pub(super) routes: Arc<Routes>,
}

impl Scenario {
    /// The longest path of the packets of a transport.
    pub(super) fn longest_path(
        &self,
        name: TransportName,
        transport: &Transport,
        paths: &Paths,
    ) -> Option<LongestPath> {
        let mode = self.routing.resolve(name);
        let sprayed = mode.reorders();
        let exchange = Exchange {
            packet: transport.packet_bytes(),
            reply: transport.header_bytes(),
            spread: sprayed || transport.sprays() || transport.divides(),
        };
        LongestPath::of(&paths.graph, &paths.routes, exchange)
    }

    /// A transport with the windows that it has in this fabric. Only those that follow the fabric need to know it.
    pub(super) fn carrier(&self, name: TransportName, paths: Option<&Paths>) -> Transport {
        let mut transport = self.transport.transport(name);
        if let WindowRule::Bdp(thousandths) = self.transport.window
            && let Some(path) = paths.and_then(|paths| self.longest_path(name, &transport, paths))
        {
            let bytes = u128::from(path.bdp().0) * u128::from(thousandths);
            let packets = bytes.div_ceil(1000 * u128::from(transport.packet_bytes().max(1)));
            let packets = u64::try_from(packets).unwrap_or(u64::MAX).max(1);
            set_window(&mut transport, packets, u64::from(self.senders_of_a_session()));
            share_pulls(&mut transport, self.receivers_of_a_session());
        }
        self.set_round_trip(name, &mut transport, paths);
        if let (Protocol::Phost(config), Some(paths)) = (&mut transport.protocol, paths) {
            config.rate = config.rate.or_else(|| slowest_host(&paths.graph));
        }
        transport
    }

    /// Whether the fabric decides what packet times are.
    pub(super) fn needs_packet_time(&self) -> bool {
        self.transport.phost.rate.is_none() && self.uses(TransportName::Phost)
    }

    /// Senders of a many-to-one session; 1 if there are none, and of a trace, which may have any number.
    pub(super) fn senders_of_a_session(&self) -> u32 {
        let senders = self.workload.iter().filter_map(|workload| match &workload.placement {
            Some(placement @ PlacementConfig::Replicas(replicas)) => {
                let mode = placement.law().mode(workload.mode).ok()?;
                (mode == Mode::ManyToOne).then_some(replicas.replicas)
            }
            _ => None,
        });
        senders.min().unwrap_or(1).max(1)
    }

    /// Receivers of the largest one-to-many session; 1 if there are none, and of a trace or the file of a job, which may have any number.
    pub(super) fn receivers_of_a_session(&self) -> u32 {
        let receivers = self.workload.iter().filter_map(|workload| match &workload.placement {
            None => workload.job.as_ref()?.receivers_of_a_message(),
            Some(placement @ PlacementConfig::Replicas(replicas)) => {
                let mode = placement.law().mode(workload.mode).ok()?;
                (mode == Mode::OneToMany).then_some(replicas.replicas)
            }
            _ => None,
        });
        receivers.max().unwrap_or(1).max(1)
    }
}

/// Symbols that a pull asks for so that the pulls of so many receivers take half of their sender's link, at most. The other half is for what
/// else that host is sent, and for pulls that come together.
pub(super) fn symbols_per_pull(receivers: u32, packet: u64, header: u64) -> u32 {
    let pulls = u64::from(receivers).saturating_mul(header);
    pulls.saturating_mul(2).div_ceil(packet.max(1)).clamp(1, SCDP_MAX) as u32
}

/// Lets the receivers of a group ask for as many symbols at once as that takes. What gathers for a pull is not on its way, so the window has room for it.
fn share_pulls(transport: &mut Transport, receivers: u32) {
    let (packet, header) = (transport.packet_bytes(), transport.header_bytes());
    if let Protocol::Scdp(config) = &mut transport.protocol {
        let config = Arc::make_mut(&mut config.protocol);
        let own = config.symbols_per_pull.unwrap_or_else(|| symbols_per_pull(receivers, packet, header));
        if own > 1 {
            config.symbols_per_pull = Some(own);
            config.initial_window = (config.initial_window + own - 1).min(SCDP_MAX as u32);
        }
    }
}

/// The rate of the slowest link of a host.
fn slowest_host(graph: &Graph) -> Option<Rate> {
    let of_host = |port: PortId| graph.port_owner(port) < graph.hosts;
    let links = (0..).zip(&graph.links).filter(|(link, _)| of_host(2 * link) || of_host(2 * link + 1));
    links.map(|(_, link)| link.rate).min()
}

/// Gives a transport a window of so many packets. All senders but one of a many-to-one session have it together: "a subset of senders (e.g. 2
/// out of 3 in a 3-replica scenario) can still fill the receiver's downstream link" (SCDP §IV-E), so that a near one does not get ahead of the rest.
#[allow(clippy::match_wildcard_for_single_variants)] // one today
fn set_window(transport: &mut Transport, packets: u64, senders: u64) {
    let payload = transport.packet_bytes() - transport.header_bytes();
    let receive = Bytes(packets.saturating_mul(payload).min(TCP_MAX));
    match &mut transport.protocol {
        Protocol::Ndp(config) => config.initial_window = packets.min(NDP_MAX) as u32,
        Protocol::Scdp(config) => {
            let config = Arc::make_mut(&mut config.protocol);
            config.initial_window = packets.min(SCDP_MAX) as u32;
            config.initial_window_many_to_one = packets.div_ceil((senders - 1).max(1)).min(SCDP_MAX) as u32;
            let tolerance = ScdpConfig::default().reorder_tolerance;
            if config.reorder_tolerance == tolerance {
                config.reorder_tolerance = tolerance.max(config.initial_window.saturating_mul(2));
            }
        }
        Protocol::Homa(config) => config.rtt_bytes = Bytes(packets.saturating_mul(payload).min(HOMA_MAX)),
        Protocol::Phost(config) => config.window = packets.min(PHOST_MAX) as u32,
        Protocol::Tcp(config) => {
            config.receive_window = receive;
            if config.congestion == Algorithm::Pfabric {
                config.initial_window = packets.min(PFABRIC_MAX) as u32;
            }
        }
        Protocol::Multipath(config) => config.set_receive_window(receive),
        Protocol::Uec(config) => config.initial_window = Some(packets.min(NDP_MAX) as u32),
        // UDP has no window, and a transport that is added need not have one.
        _ => {}
    }
}

#[cfg(test)]
mod tests;
