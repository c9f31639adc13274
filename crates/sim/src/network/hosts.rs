//! What happens at hosts: packets reach endpoints, endpoints send, pulls are paced, timers fire.

use super::Network;
use crate::engine::arena::{Hot, NO_PACKET, PacketId, flag};
use crate::fabric::graph::PortId;
use crate::host::stack::{Header, Seen, Stack};
use crate::host::{EndpointId, Hosted};
use anabranch_transport::{GROUP, Time, Transmit};

impl Network {
    /// A packet has reached its host.
    #[inline]
    pub(super) fn deliver(&mut self, id: PacketId) {
        let hot = *self.engine.packets.hot(id);
        let header = *self.engine.packets.header(id);
        self.engine.packets.remove(id);
        if hot.has(flag::TRIMMED) {
            self.counts.trimmed += 1;
        } else {
            self.counts.delivered += 1;
        }
        self.engine.trace(u64::from(hot.endpoint) << 32 | u64::from(hot.size));
        let seen = Seen {
            from: hot.from,
            trimmed: hot.has(flag::TRIMMED),
            ce: hot.has(flag::CE),
            returned: hot.has(flag::RETURNED),
        };
        self.with_endpoint(hot.endpoint, |stack, now| stack.handle_packet(now, &header, seen));
    }

    /// A packet has reached a host in a fabric where hosts have several links. It may have further to go.
    pub(super) fn reach(&mut self, host: u32, port: PortId, id: PacketId) {
        let hot = self.engine.packets.hot_mut(id);
        if hot.has(flag::MULTICAST) {
            let Some(copy) = self.own_copy(host, id) else { return };
            return self.receive(port, copy);
        }
        if hot.destination != host {
            hot.flags |= flag::RELAYED;
            return self.forward(host, id);
        }
        self.receive(port, id);
    }

    /// A packet has reached its host by a port that leads to one of its interfaces.
    fn receive(&mut self, port: PortId, id: PacketId) {
        let endpoint = self.engine.packets.hot(id).endpoint;
        if let Some(hosted) = self.endpoints[endpoint as usize].as_deref_mut() {
            hosted.interface = self.interfaces.reached_by[port as usize];
        }
        self.deliver(id);
    }

    /// An endpoint's wake-up. Endpoints move their deadline on every packet, so the event may be early: timers are lazy.
    pub(super) fn timer_fires(&mut self, id: EndpointId) {
        let now = Time(self.engine.now);
        let supplied = self.take_supply(id);
        self.with_endpoint(id, |stack, _| {
            if let Some(bytes) = supplied {
                stack.set_available(now, bytes);
            }
            if stack.poll_timeout().is_some_and(|deadline| deadline <= now) {
                stack.handle_timeout(now);
            }
        });
        self.await_supply(id);
    }

    /// Lets something happen to an endpoint, then does what it asks for. Nothing if it has closed.
    #[inline]
    pub(super) fn with_endpoint(&mut self, id: EndpointId, act: impl FnOnce(&mut Stack, Time)) {
        let Some(mut hosted) = self.endpoints[id as usize].take() else { return };
        act(&mut hosted.stack, Time(self.engine.now));
        let interface = hosted.interface;
        let feeds = hosted.feeds.map(|relay| (relay, hosted.stack.stats().bytes_delivered));
        self.attend(id, hosted);
        if let Some((relay, bytes)) = feeds {
            self.feed(relay, bytes);
        }
        if !self.interfaces.pulls[interface as usize].is_empty() {
            self.pace(interface);
        }
    }

    /// Tells an endpoint until when its host is busy with the packets that it has: of several links, the one that is busy for
    /// longest, for nobody can tell by which the next packet leaves.
    #[inline]
    fn tell_departure(&mut self, hosted: &mut Hosted) {
        if !hosted.stack.uses_departure() {
            return;
        }
        let first = self.hosts[hosted.host as usize].interface as usize;
        let mut idle_at = self.idle_at(first);
        if self.interfaces.several {
            let end = self
                .interfaces
                .first
                .get(hosted.host as usize + 1)
                .map_or(self.interfaces.ports.len(), |&i| i as usize);
            for interface in first + 1..end {
                idle_at = idle_at.max(self.idle_at(interface));
            }
        }
        hosted.stack.set_departure(Time(idle_at.max(self.engine.now)));
    }

    /// When the link of an interface will have sent all that waits for it.
    #[inline]
    fn idle_at(&mut self, interface: usize) -> u64 {
        let port = self.interfaces.ports[interface];
        self.ports[port as usize].idle_at(port, self.engine.packets.hots(), &mut self.engine.wheel, self.engine.now)
    }

    /// More of its object has arrived at a relay's host.
    fn feed(&mut self, relay: EndpointId, bytes: u64) {
        self.with_endpoint(relay, |stack, now| stack.set_available(now, bytes));
    }

    /// Sends what an endpoint wants to send, takes its events, and sees to its pulls and its timer.
    #[inline]
    fn attend(&mut self, id: EndpointId, mut hosted: Box<Hosted>) {
        let now = Time(self.engine.now);
        let mut open = true;
        self.tell_departure(&mut hosted);
        loop {
            while let Some(transmit) = hosted.stack.poll_transmit(now) {
                self.inject(id, &mut hosted, transmit);
                if self.engine.packets.is_full() {
                    break;
                }
                self.tell_departure(&mut hosted);
            }
            let Some(event) = hosted.stack.poll_event() else { break };
            open &= self.note(&mut hosted, event);
        }
        if !open {
            return self.close(id, &hosted);
        }
        if !hosted.pulling && hosted.stack.pending_pulls() > 0 {
            hosted.pulling = true;
            let urgency = if self.pulls_by_priority { hosted.stack.pull_priority() } else { 0 };
            self.interfaces.pulls[hosted.interface as usize].push(id, urgency);
        }
        if let Some(deadline) = hosted.stack.poll_timeout() {
            self.engine.wake(self.engine.entities.timer(id), deadline);
        }
        self.endpoints[id as usize] = Some(hosted);
    }

    /// Grants the turns that are due in an interface's pull queue, and schedules the next.
    pub(super) fn pace(&mut self, interface: u32) {
        let now = Time(self.engine.now);
        while let Some(id) = self.interfaces.pulls[interface as usize].poll(now) {
            let Some(mut hosted) = self.endpoints[id as usize].take() else {
                self.interfaces.pulls[interface as usize].refund(now);
                continue;
            };
            hosted.pulling = false;
            match hosted.stack.poll_pull(now) {
                Some(transmit) => self.inject(id, &mut hosted, transmit),
                None => self.interfaces.pulls[interface as usize].refund(now),
            }
            let at = hosted.interface;
            self.attend(id, hosted);
            if at != interface {
                // Its last packet came by another interface, and it queues there now.
                self.wake_pacer(at);
            }
        }
        self.wake_pacer(interface);
    }

    /// Schedules the next turn in an interface's pull queue, if an endpoint waits there.
    fn wake_pacer(&mut self, interface: u32) {
        if let Some(next) = self.interfaces.pulls[interface as usize].poll_timeout() {
            let pacer = self.engine.entities.pacer(interface);
            if self.engine.wheel.due(pacer).is_none() {
                self.engine.wheel.schedule(pacer, next.ps().max(self.engine.now));
            }
        }
    }

    /// Puts an endpoint's packet into its host's queue.
    #[inline]
    fn inject(&mut self, id: EndpointId, hosted: &mut Hosted, transmit: Transmit<Header>) {
        let mut flags = 0;
        for (set, flag) in [
            (transmit.control, flag::CONTROL),
            (transmit.ect, flag::ECT),
            (transmit.trimmed_size < transmit.size, flag::DATA),
        ] {
            flags |= if set { flag } else { 0 };
        }
        let (destination, endpoint, from) = match hosted.group {
            Some(group) if transmit.to == GROUP => {
                flags |= flag::MULTICAST;
                (group, id, 0)
            }
            _ => {
                let remote = hosted.remotes.get(transmit.to);
                (remote.host, remote.endpoint, remote.from)
            }
        };
        let path = hosted.path.next(&mut self.hosts[hosted.host as usize].random);
        // Copies lose the flag at the last switch, where they still are multicast packets to that switch: what must not
        // be cut is told by its sizes.
        let uncut = flags & flag::MULTICAST != 0 && !self.trim_multicast;
        let trimmed_size = if uncut { transmit.size } else { transmit.trimmed_size };
        let hot = Hot {
            at: self.engine.now,
            next: NO_PACKET,
            endpoint,
            destination,
            path,
            size: transmit.size as u16,
            trimmed_size: trimmed_size as u16,
            from,
            tag: Hot::tag(hosted.class, transmit.priority, transmit.pushed),
            flags,
        };
        self.counts.sent += 1;
        let packet = self.engine.packets.insert(hot, transmit.header);
        if self.interfaces.several {
            return self.forward(hosted.host, packet);
        }
        self.send(self.interfaces.ports[hosted.host as usize], packet);
    }
}
