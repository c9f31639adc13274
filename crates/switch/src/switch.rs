//! The switch: frames in, frames out, and time told from outside.

use anabranch_transport::Time;

use crate::config::{Config, ConfigError, Multicast};
use crate::counters::Counters;
use crate::forwarding::Stations;
use crate::frame::{self, Ip, Mac};
use crate::igmp;
use crate::impair::{Impair, Odds};
use crate::membership::{Memberships, Ports};
use crate::port::{Link, Port};
use crate::queue::Limits;

/// An Ethernet switch without sockets and clock. Ports are numbered from 0 in the order of their names.
#[derive(Clone, Debug)]
pub struct Switch {
    ports: Vec<Port>,
    /// The links from hosts to the switch, of those that have a rate.
    uplinks: Vec<Option<Port>>,
    stations: Stations,
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
            stations: Stations::default(),
            igmp: Memberships::default(),
            mld: Memberships::default(),
            multicast: config.multicast(),
        };
        for name in names.iter().map(AsRef::as_ref) {
            let port = config.port(name);
            let impair = |odds| Impair::new(odds, config.seed(), name);
            switch.ports.push(Port::new(port.link, port.limits, impair(port.odds)));
            switch.uplinks.push(port.uplink.map(|(rate, queue)| {
                let link = Link { rate: Some(rate), delay: anabranch_transport::Duration::ZERO, ..port.link };
                let limits = Limits { data: queue, headers: 0, trim: None, trim_dscp: None, ecn: None };
                Port::new(link, limits, impair(Odds::default()))
            }));
        }
        Ok(switch)
    }

    /// A frame came in at a port at that time. The driver may tell of it later, in any case before it asks what leaves later than that: queues
    /// and links are as they would have been. The checksums of the frame are those that it has on the cable.
    ///
    /// Bytes that are no Ethernet frame are counted and dropped.
    ///
    /// # Panics
    ///
    /// If there is no such port.
    pub fn receive(&mut self, port: usize, frame: Vec<u8>, at: Time) {
        self.take_from_uplinks(at);
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
        self.take_from_uplinks(now);
        (0..self.ports.len()).find_map(|port| self.ports[port].transmit(now).map(|(_, frame)| (port, frame)))
    }

    /// When [`poll_transmit`](Self::poll_transmit) is to be asked again; none if only a frame that comes in can change anything.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.ports.iter().chain(self.uplinks.iter().flatten()).filter_map(Port::next).min()
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

    /// A frame could not be sent, or what came in could not be read: the driver says so.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no driver elsewhere"))]
    pub(crate) fn counters_mut(&mut self, port: usize) -> &mut Counters {
        &mut self.ports[port].counters
    }

    /// Forwards what has arrived on the links from hosts, in the order in which it has.
    fn take_from_uplinks(&mut self, now: Time) {
        loop {
            let next = self.uplinks.iter().enumerate().filter_map(|(n, uplink)| Some((uplink.as_ref()?.next()?, n)));
            let Some((at, port)) = next.min().filter(|(at, _)| *at <= now) else { return };
            let uplink = self.uplinks[port].as_mut().expect("it has a next event");
            if let Some((arrival, frame)) = uplink.transmit(at) {
                self.forward(port, frame, arrival);
            }
        }
    }

    fn forward(&mut self, port: usize, frame: Vec<u8>, at: Time) {
        self.ports[port].counters.port.count_in(&frame);
        let wanted = self.destinations(port, &frame, at).without(port);
        let mut left = wanted.iter().count();
        if left == 0 {
            self.ports[port].counters.port.in_discards += 1;
            return;
        }
        let mut frame = Some(frame);
        for out in wanted.iter() {
            left -= 1;
            let copy = if left == 0 { frame.take() } else { frame.clone() };
            self.ports[out].enqueue(copy.expect("the last one takes it"), at);
        }
    }

    /// Where a frame goes; the port that it came from may be one of them. Learns from it.
    fn destinations(&mut self, port: usize, frame: &[u8], now: Time) -> Ports {
        let all = Ports::all(self.ports.len());
        let Some((to, from)) = frame::addresses(frame) else { return Ports::default() };
        self.stations.learn(from, port, now);
        if is_reserved(to) {
            return Ports::default();
        }
        if !frame::is_group(to) {
            return self.stations.port(to, now).map_or(all, Ports::one);
        }
        if self.multicast == Multicast::Flood || !is_ip_multicast(to) {
            return all;
        }
        let Some(ip) = Ip::of(frame) else { return all };
        let groups = if ip.version == 4 { &mut self.igmp } else { &mut self.mld };
        if let Some(message) = igmp::message(frame, &ip) {
            // Reports go to all ports, and not to routers alone (RFC 4541 §2.1.1): so do further switches learn of members.
            groups.hear(&message, port, from, now);
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
