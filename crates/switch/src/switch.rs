//! The switch: ingress, forwarding decision, egress. The caller has the clock.

use anabranch_transport::Time;

use crate::config::{Config, ConfigError, Multicast};
use crate::counters::Counters;
use crate::forwarding::FilteringDatabase;
use crate::frame::{self, Ip, Mac};
use crate::igmp;
use crate::impair::{ImpairmentProcess, Impairments};
use crate::membership::{Memberships, Ports};
use crate::port::{Link, Port};
use crate::queue::Limits;

/// An Ethernet switch without sockets and clock. Ports are numbered from 0 in the order of their names.
#[derive(Clone, Debug)]
pub struct Switch {
    ports: Vec<Port>,
    /// The links from hosts to the switch, of those that have a rate.
    uplinks: Vec<Option<Port>>,
    fdb: FilteringDatabase,
    igmp: Memberships,
    mld: Memberships,
    multicast: Multicast,
}

impl Switch {
    /// A switch with these ports.
    ///
    /// # Errors
    ///
    /// As [`Config::check_ports`].
    pub fn new(config: &Config, names: &[impl AsRef<str>]) -> Result<Self, ConfigError> {
        config.check_ports(names)?;
        let mut switch = Self {
            ports: Vec::new(),
            uplinks: Vec::new(),
            fdb: FilteringDatabase::default(),
            igmp: Memberships::default(),
            mld: Memberships::default(),
            multicast: config.multicast(),
        };
        for name in names.iter().map(AsRef::as_ref) {
            let port = config.port(name);
            let impair = |impairments| ImpairmentProcess::new(impairments, config.seed(), name);
            switch.ports.push(Port::new(port.link, port.limits, impair(port.impairments)));
            switch.uplinks.push(port.uplink.map(|(rate, queue)| {
                let link = Link { rate: Some(rate), delay: anabranch_transport::Duration::ZERO, ..port.link };
                let limits = Limits { data: queue, headers: 0, trim: None, trim_dscp: None, ecn: None };
                Port::new(link, limits, impair(Impairments::default()))
            }));
        }
        Ok(switch)
    }

    /// A port has received a frame at that time. The driver may call this later, but before it polls for frames that leave after that time: queues
    /// and links are as they would have been. The checksums of the frame are those that it has on the cable.
    ///
    /// Bytes that are no Ethernet frame are counted and dropped.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn receive(&mut self, port: usize, frame: Vec<u8>, at: Time) {
        self.drain_uplinks(at);
        let counters = &mut self.ports[port].counters.port;
        if frame.len() < frame::ETHERNET {
            counters.in_errors += 1;
            return;
        }
        match &mut self.uplinks[port] {
            Some(uplink) => uplink.enqueue(frame, at),
            None => self.forward(port, frame, at),
        }
    }

    /// The next frame that leaves by `now`, and the port where it does.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(usize, Vec<u8>)> {
        self.drain_uplinks(now);
        (0..self.ports.len()).find_map(|port| self.ports[port].transmit(now).map(|(_, frame)| (port, frame)))
    }

    /// When [`poll_transmit`](Self::poll_transmit) is to be called again; none if only a received frame can change anything.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.ports.iter().chain(self.uplinks.iter().flatten()).filter_map(Port::next_event).min()
    }

    /// The counters of a port.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn counters(&self, port: usize) -> Counters {
        let mut counters = self.ports[port].counters();
        if let Some(uplink) = &self.uplinks[port] {
            counters.port.in_discards += uplink.counters.port.out_discards;
        }
        counters
    }

    /// For the driver, which counts frames that it could not send or receive.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no driver elsewhere"))]
    pub(crate) fn counters_mut(&mut self, port: usize) -> &mut Counters {
        &mut self.ports[port].counters
    }

    /// Forwards the frames that have arrived on the uplinks, in the order of their arrival.
    fn drain_uplinks(&mut self, now: Time) {
        loop {
            let next =
                self.uplinks.iter().enumerate().filter_map(|(n, uplink)| Some((uplink.as_ref()?.next_event()?, n)));
            let Some((at, port)) = next.min().filter(|(at, _)| *at <= now) else { return };
            let uplink = self.uplinks[port].as_mut().expect("it has a next event");
            if let Some((arrival, frame)) = uplink.transmit(at) {
                self.forward(port, frame, arrival);
            }
        }
    }

    fn forward(&mut self, port: usize, frame: Vec<u8>, at: Time) {
        self.ports[port].counters.port.count_in(&frame);
        let egress = self.egress_ports(port, &frame, at).without(port);
        let mut left = egress.iter().count();
        if left == 0 {
            self.ports[port].counters.port.in_discards += 1;
            return;
        }
        let mut frame = Some(frame);
        for out in egress.iter() {
            left -= 1;
            let copy = if left == 0 { frame.take() } else { frame.clone() };
            self.ports[out].enqueue(copy.expect("the last one takes it"), at);
        }
    }

    /// The egress ports of a frame; the ingress port may be one of them. Learns its source address.
    fn egress_ports(&mut self, port: usize, frame: &[u8], now: Time) -> Ports {
        let all = Ports::all(self.ports.len());
        let Some((to, from)) = frame::addresses(frame) else { return Ports::default() };
        self.fdb.learn(from, port, now);
        if is_reserved(to) {
            return Ports::default();
        }
        if !frame::is_group(to) {
            return self.fdb.lookup(to, now).map_or(all, Ports::one);
        }
        if self.multicast == Multicast::Flood || !is_ip_multicast(to) {
            return all;
        }
        let Some(ip) = Ip::of(frame) else { return all };
        let groups = if ip.version == 4 { &mut self.igmp } else { &mut self.mld };
        if let Some(message) = igmp::message(frame, &ip) {
            // Reports go to all ports, and not to routers alone (RFC 4541 §2.1.1): so do further switches learn of members.
            groups.on_message(&message, port, from, now);
            return all;
        }
        groups.ports(ip.destination(frame), now).unwrap_or(all)
    }
}

/// Addresses that no bridge forwards (IEEE 802.1Q Table 8-1): pause frames, spanning tree, LLDP.
fn is_reserved(to: Mac) -> bool {
    to[..5] == [0x01, 0x80, 0xc2, 0, 0] && to[5] < 0x10
}

/// Groups of IPv4 (RFC 1112 §6.4) and IPv6 (RFC 2464 §7).
fn is_ip_multicast(to: Mac) -> bool {
    (to[..3] == [0x01, 0, 0x5e] && to[3] < 0x80) || to[..2] == [0x33, 0x33]
}

#[cfg(test)]
mod tests;
