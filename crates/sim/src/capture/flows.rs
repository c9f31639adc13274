//! Addresses and ports: the simulator's packets say which endpoint they are for; captured ones say hosts and ports.
//!
//! Host `n` has the address 10.0.0.1 + n, multicast group `n` the address 239.0.0.1 + n. The receiving side of a connection has
//! the destination port of its workload, or else 30000 and the workload's number; the sending side counts up from 32768, a port
//! for each connection and each of its subflows.

use crate::engine::arena::{EndpointId, Hot, flag};
use crate::host::Remotes;
use crate::host::protocol::{Protocol, Transport};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Where the ports of workloads begin that name none.
const SERVICE: u16 = 30_000;
/// Where those of sending sides begin: those that Linux chooses begin there, too.
const EPHEMERAL: u16 = 1 << 15;

/// The ends of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) source: SocketAddrV4,
    pub(super) destination: SocketAddrV4,
    /// Session that it belongs to.
    pub(super) session: u32,
    /// Window scale of both ends (RFC 7323 §2.2).
    pub(super) scale: u8,
    /// Payload of a full packet.
    pub(super) payload: u16,
}

/// An endpoint, as far as its packets show it.
#[derive(Clone, Debug)]
struct Known {
    host: u32,
    session: u32,
    receives: bool,
    /// Its port; of several subflows, the first's.
    port: u16,
    scale: u8,
    payload: u16,
    remotes: Remotes,
}

/// An endpoint that is being opened.
#[derive(Clone, Debug)]
pub struct Party<'a> {
    /// Host it runs on.
    pub host: u32,
    /// Session it belongs to.
    pub session: u32,
    /// Whether it is on the receiving side.
    pub receives: bool,
    /// Connections that it opens to its other end.
    pub subflows: u8,
    /// Number of its workload.
    pub workload: u16,
    /// Destination port of its workload; 0: none is given.
    pub port: u16,
    /// What it speaks.
    pub transport: &'a Transport,
    /// Its other ends.
    pub remotes: &'a Remotes,
}

/// All endpoints of a run, by number.
#[derive(Debug, Default)]
pub(super) struct Flows {
    known: Vec<Known>,
    /// Ports given to sending sides so far.
    given: u32,
}

impl Flows {
    /// The next endpoint.
    pub(super) fn add(&mut self, party: &Party<'_>) {
        let id = self.known.len() as EndpointId;
        let port = if party.receives {
            if party.port == 0 { SERVICE.wrapping_add(party.workload) } else { party.port }
        } else {
            self.given += u32::from(party.subflows);
            EPHEMERAL | (self.given - u32::from(party.subflows)) as u16
        };
        debug_assert!(party.remotes.all().iter().all(|remote| remote.endpoint != id), "nobody sends to itself");
        let window = receive_window(party.transport);
        self.known.push(Known {
            host: party.host,
            session: party.session,
            receives: party.receives,
            port,
            scale: (0..14).find(|scale| u16::try_from(window >> scale).is_ok()).unwrap_or(14),
            payload: party.transport.object(party.transport.packet_bytes()) as u16,
            remotes: party.remotes.clone(),
        });
    }

    /// The ends of a packet of a subflow. `None` if it is for an endpoint that was never opened.
    pub(super) fn ends(&self, hot: &Hot, subflow: u16) -> Option<Ends> {
        let own = self.known.get(hot.endpoint as usize)?;
        let socket = |known: &Known| {
            // The receiving side has one port for all subflows.
            let port = if known.receives { known.port } else { EPHEMERAL | known.port.wrapping_add(subflow) };
            SocketAddrV4::new(address(known.host), port)
        };
        let (source, destination) = if hot.has(flag::MULTICAST) {
            // Told by its sender.
            let port = self.known.get(own.remotes.all().first()?.endpoint as usize).map_or(SERVICE, |to| to.port);
            (socket(own), SocketAddrV4::new(group(hot.destination), port))
        } else {
            let from = match &own.remotes {
                Remotes::One(remote) => remote,
                Remotes::Many(remotes) => remotes.get(usize::from(hot.from))?,
            };
            (socket(self.known.get(from.endpoint as usize)?), socket(own))
        };
        Some(Ends { source, destination, session: own.session, scale: own.scale, payload: own.payload })
    }
}

/// The address of a host.
pub(super) fn address(host: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0000 | ((host + 1) & 0x00ff_ffff))
}

/// The address of a multicast group.
fn group(group: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0xef00_0000 | ((group + 1) & 0x00ff_ffff))
}

/// What a receiver takes at once; 0 if it does not say so.
fn receive_window(transport: &Transport) -> u64 {
    match &transport.protocol {
        Protocol::Tcp(config) => config.receive_window.0,
        Protocol::Multipath(config) => config.receive_window().0,
        _ => 0,
    }
}
