//! What happens to a packet between hosts.

use super::Network;
use crate::engine::arena::{NO_PACKET, PacketId, flag};
use crate::fabric::graph::{NodeId, PortId};
use crate::fabric::queue::Outcome;
use crate::fabric::routing;

impl Network {
    /// The event of link `port`: a packet's last bit has reached the far end.
    #[inline]
    pub(super) fn packet_arrives(&mut self, port: PortId) {
        let p = &mut self.ports[port as usize];
        let node = p.peer();
        let id = p.arrive(port, self.engine.packets.hots(), &mut self.engine.wheel, self.engine.now);
        if node >= self.graph.hosts {
            self.forward(node, id);
        } else if self.interfaces.several {
            self.reach(node, port, id);
        } else {
            self.deliver(id);
        }
    }

    /// A switch, or a host with several links, decides where a packet goes on.
    #[inline]
    pub(super) fn forward(&mut self, node: NodeId, id: PacketId) {
        let hot = self.engine.packets.hot_mut(id);
        if hot.has(flag::MULTICAST) {
            return self.replicate(node, id);
        }
        let ports = self.routes.next_ports(node, hot.destination);
        if ports.is_empty() {
            return self.drop_packet(id);
        }
        let port = routing::select(ports, &mut hot.path);
        self.send(port, id);
    }

    /// A switch, or a host with several links, copies a multicast packet to every branch of the group's tree.
    fn replicate(&mut self, node: NodeId, id: PacketId) {
        let index = self.engine.packets.hot(id).destination as usize;
        let Some(group) = self.multicast[index].take() else { return self.drop_packet(id) };
        let tree = group.group.tree(self.engine.packets.hot(id).path);
        let branches = tree.of(node);
        for (n, &(_, port)) in branches.iter().enumerate() {
            let copy = if n + 1 < branches.len() {
                self.counts.replicated += 1;
                self.engine.packets.duplicate(id)
            } else {
                id
            };
            let peer = self.ports[port as usize].peer();
            // The last link of its way; hosts with several links may also be in the middle.
            if peer < self.graph.hosts && (!self.interfaces.several || tree.of(peer).is_empty()) {
                let at = group.receivers.partition_point(|r| r.0 < peer);
                self.engine.packets.hot_mut(copy).address(peer, group.receivers[at].1);
            }
            self.send(port, copy);
        }
        if branches.is_empty() {
            self.drop_packet(id);
        }
        self.multicast[index] = Some(group);
    }

    /// A multicast packet has reached a host: passes it on if the host is in the middle of the tree, and gives what is for
    /// the host itself.
    pub(super) fn own_copy(&mut self, host: u32, id: PacketId) -> Option<PacketId> {
        let hot = self.engine.packets.hot_mut(id);
        hot.flags |= flag::RELAYED;
        let own = self.multicast[hot.destination as usize].as_deref().and_then(|group| {
            let at = group.receivers.binary_search_by_key(&host, |r| r.0).ok()?;
            Some((group.receivers[at].1, group.group.tree(hot.path).of(host).is_empty()))
        });
        let Some((endpoint, last)) = own else {
            self.replicate(host, id);
            return None;
        };
        let mut copy = id;
        if !last {
            self.counts.replicated += 1;
            copy = self.engine.packets.duplicate(id);
            self.replicate(host, id);
        }
        self.engine.packets.hot_mut(copy).address(host, endpoint);
        Some(copy)
    }

    /// Hands a packet to an egress port and settles what the queue did.
    #[inline]
    pub(super) fn send(&mut self, port: PortId, id: PacketId) {
        let outcome = self.ports[port as usize].send(
            port,
            self.engine.packets.hots(),
            &mut self.engine.wheel,
            id,
            self.engine.now,
        );
        if outcome != Outcome::QUEUED {
            self.settle(port, outcome);
        }
    }

    #[cold]
    fn settle(&mut self, port: PortId, outcome: Outcome) {
        if outcome.trimmed != NO_PACKET {
            let endpoint = self.engine.packets.hot(outcome.trimmed).endpoint;
            self.sessions[self.endpoint_session[endpoint as usize] as usize].packets_trimmed += 1;
        }
        if outcome.rejected == NO_PACKET {
            return;
        }
        if self.return_to_sender && self.turn_round(outcome.rejected) {
            let node = self.graph.port_owner(port);
            return self.forward(node, outcome.rejected);
        }
        self.drop_packet(outcome.rejected);
    }

    /// NDP §3.2.4: a header that finds the header queue full goes back to its sender, once.
    fn turn_round(&mut self, id: PacketId) -> bool {
        let hot = *self.engine.packets.hot(id);
        if hot.flags & (flag::RETURNED | flag::CONTROL | flag::MULTICAST) != 0 || !hot.has(flag::TRIMMED) {
            return false;
        }
        let Some(receiver) = self.endpoints[hot.endpoint as usize].as_deref() else { return false };
        let sender = receiver.remotes.get(hot.from);
        let path = self.hosts[sender.host as usize].random_path();
        let hot = self.engine.packets.hot_mut(id);
        hot.flags |= flag::RETURNED;
        hot.destination = sender.host;
        hot.endpoint = sender.endpoint;
        hot.from = sender.from;
        hot.path = path;
        true
    }

    pub(super) fn drop_packet(&mut self, id: PacketId) {
        let endpoint = self.engine.packets.hot(id).endpoint;
        self.sessions[self.endpoint_session[endpoint as usize] as usize].packets_dropped += 1;
        self.counts.dropped += 1;
        self.engine.packets.remove(id);
    }
}
