//! An act on an endpoint, and all that the endpoint asks for then: packets, reports, turns for pulls, a timer.
//!
//! Compiled for each protocol, and where its ends are types of their own, for each end: which it is, is asked once.

use super::Hosts;
use crate::engine::arena::{Hot, NO_PACKET, PacketId, flag};
use crate::fabric::routing::{Departing, FlowPath as _};
use crate::host::stack::{Header, HostedHeader, Seen, Visit};
use crate::host::{EndpointId, Hosted, Place};
use crate::network::engine::Engine;
use crate::network::fabric::Fabric;
use crate::network::ledger::Ledger;
use anabranch_transport::pull::IN_TURN;
use anabranch_transport::standings::Standing;
use anabranch_transport::{Endpoint, GROUP, Time, Transmit};
use rand::Rng as _;

/// Something that happens to an endpoint.
pub(super) trait Act {
    fn on<E: Endpoint<Header: HostedHeader>>(
        self,
        endpoint: &mut E,
        engine: &mut Engine,
        now: Time,
    ) -> Acted<E::Header>;
}

/// What comes of it at once, before the endpoint is asked for anything else.
pub(super) enum Acted<H> {
    Nothing,
    /// A packet to send.
    Sends(Transmit<H>),
    /// The turn at an interface was not used.
    Unused(u32),
}

/// A packet has arrived.
pub(super) struct Arrive {
    pub(super) packet: PacketId,
    pub(super) header: Header,
    pub(super) seen: Seen,
}

impl Act for Arrive {
    #[inline]
    fn on<E: Endpoint<Header: HostedHeader>>(
        self,
        endpoint: &mut E,
        engine: &mut Engine,
        now: Time,
    ) -> Acted<E::Header> {
        match E::Header::from_any(&self.header) {
            Some(header) if E::Header::IS_WRITTEN_INTO => {
                let mut header = *header;
                header.append(&engine.pending.stamps.take(self.packet));
                endpoint.handle_packet(now, &self.seen.arrival(header));
            }
            Some(header) => endpoint.handle_packet(now, &self.seen.arrival(*header)),
            None => debug_assert!(false, "a packet reached an endpoint of another protocol"),
        }
        Acted::Nothing
    }
}

/// The same where hosts put packets in order. An act of its own: what is compiled for [`Arrive`] then has one caller and is inlined there.
pub(super) struct Rise {
    pub(super) header: Header,
    pub(super) seen: Seen,
}

impl Act for Rise {
    fn on<E: Endpoint<Header: HostedHeader>>(
        self,
        endpoint: &mut E,
        _engine: &mut Engine,
        now: Time,
    ) -> Acted<E::Header> {
        debug_assert!(!E::Header::IS_WRITTEN_INTO, "what switches wrote would be lost");
        match E::Header::from_any(&self.header) {
            Some(header) => endpoint.handle_packet(now, &self.seen.arrival(*header)),
            None => debug_assert!(false, "a packet reached an endpoint of another protocol"),
        }
        Acted::Nothing
    }
}

/// What happens less often than for each packet: compiled once for each protocol.
pub(super) enum Rarely {
    /// Its session has just been opened.
    Start,
    /// So many bytes of its object are available.
    Provide(u64),
    /// Its timer fires, maybe early; or its application has written, so that so many bytes are available.
    Fire { written: Option<u64> },
    /// Its place among the ends of its host is another.
    Stand(Option<Standing>),
}

impl Act for Rarely {
    #[inline]
    fn on<E: Endpoint<Header: HostedHeader>>(
        self,
        endpoint: &mut E,
        _engine: &mut Engine,
        now: Time,
    ) -> Acted<E::Header> {
        if let Self::Provide(bytes) | Self::Fire { written: Some(bytes) } = self {
            endpoint.set_available(now, bytes);
        }
        if let Self::Stand(standing) = self {
            endpoint.set_standing(now, standing);
        }
        if matches!(self, Self::Fire { .. }) && endpoint.poll_timeout().is_some_and(|deadline| deadline <= now) {
            endpoint.handle_timeout(now);
        }
        Acted::Nothing
    }
}

/// It may send a pull.
pub(super) struct Turn {
    pub(super) interface: u32,
}

impl Act for Turn {
    #[inline]
    fn on<E: Endpoint<Header: HostedHeader>>(
        self,
        endpoint: &mut E,
        _engine: &mut Engine,
        now: Time,
    ) -> Acted<E::Header> {
        endpoint.poll_pull(now).map_or(Acted::Unused(self.interface), Acted::Sends)
    }
}

/// The link of its host is free, and it is its turn.
pub(super) struct LinkFree;

impl Act for LinkFree {
    #[inline]
    fn on<E: Endpoint<Header: HostedHeader>>(
        self,
        endpoint: &mut E,
        _engine: &mut Engine,
        now: Time,
    ) -> Acted<E::Header> {
        endpoint.take_turn(now).map_or(Acted::Nothing, Acted::Sends)
    }
}

/// An act on an endpoint in its place.
struct Attending<'a, A> {
    hosts: &'a mut Hosts,
    engine: &'a mut Engine,
    fabric: &'a mut Fabric,
    ledger: &'a mut Ledger,
    id: EndpointId,
    act: A,
}

/// What an endpoint wants after an act.
struct Wants {
    /// Bytes that it had delivered after the act, if somebody is told.
    delivered: Option<u64>,
    /// `None`: it has closed.
    open: Option<Open>,
}

struct Open {
    /// It wants to pull, as urgently as this.
    pull: Option<u8>,
    /// When its timer is to fire.
    deadline: Option<Time>,
}

impl<A: Act> Visit for Attending<'_, A> {
    type Output = Wants;

    #[inline]
    fn visit<E: Endpoint<Header: HostedHeader>>(self, place: &mut Place, endpoint: &mut E) -> Wants {
        let Self { hosts, engine, fabric, ledger, id, act } = self;
        let now = engine.now();
        let acted = act.on(endpoint, engine, now);
        let delivered = place.feeds.map(|_| endpoint.stats().bytes_delivered);
        match acted {
            Acted::Nothing => {}
            Acted::Sends(transmit) => {
                hosts.inject(engine, fabric, ledger, id, place, transmit);
                if E::TAKES_TURNS {
                    endpoint.set_line(fabric.rate(hosts.interfaces.ports[place.leaves_by as usize]));
                }
            }
            Acted::Unused(interface) => hosts.interfaces.pulls[interface as usize].refund(now),
        }
        hosts.tell_departure(engine, fabric, place.host, endpoint);
        let mut open = true;
        loop {
            while let Some(transmit) = endpoint.poll_transmit(now) {
                hosts.inject(engine, fabric, ledger, id, place, transmit);
                if engine.packets.is_full() {
                    break;
                }
                hosts.tell_departure(engine, fabric, place.host, endpoint);
            }
            let Some(event) = endpoint.poll_event() else { break };
            open &= hosts.on_event(engine, fabric, ledger, place, event);
        }
        let hold = endpoint.poll_hold();
        if hold > 0 {
            hosts.interfaces.pulls[place.interface as usize].hold(now, hold);
        }
        if let Some(change) = endpoint.poll_claim() {
            hosts.ranking.update(id, place, change);
        }
        if E::TAKES_TURNS && open && !place.in_turn && endpoint.wants_turn() {
            place.in_turn = true;
            hosts.turns.join(place.leaves_by, id);
        }
        let pulls = open && (E::RANKS_PULLS || place.pulling.is_none()) && endpoint.pending_pulls() > 0;
        let urgency = || if E::RANKS_PULLS || hosts.pulls_by_priority { endpoint.pull_priority() } else { IN_TURN };
        let pull = pulls.then(urgency);
        Wants { delivered, open: open.then(|| Open { pull, deadline: endpoint.poll_timeout() }) }
    }
}

impl Hosts {
    /// Acts on an endpoint, sends what it wants to send, and handles its reports, its pulls and its timer. Returns how many bytes
    /// it had delivered after the act, if somebody is told.
    #[inline]
    pub(super) fn attend(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
        mut hosted: Hosted,
        act: impl Act,
    ) -> Option<u64> {
        let Wants { delivered, open } = hosted.visit(Attending { hosts: self, engine, fabric, ledger, id, act });
        let Some(Open { pull, deadline }) = open else {
            self.close(engine, fabric, ledger, id, &hosted);
            return delivered;
        };
        if let Some(urgency) = pull {
            let place = hosted.place_mut();
            let queues = &mut self.interfaces.pulls;
            let (interface, before) = place.pulling.unwrap_or((place.interface, u8::MAX));
            if place.pulling.is_none() {
                queues[interface as usize].push(id, urgency);
            } else if urgency < before {
                queues[interface as usize].raise(id, before, urgency);
            }
            place.pulling = Some((interface, urgency.min(before)));
        }
        if let Some(deadline) = deadline {
            engine.wake(engine.entities.timer(id), deadline);
        }
        self.endpoints[id as usize] = Some(hosted);
        delivered
    }

    /// Tells an endpoint until when its host is busy with queued packets. With several links, the one that is busy for
    /// longest counts, since it is unknown by which link the next packet leaves.
    #[inline]
    fn tell_departure<E: Endpoint<Header: HostedHeader>>(
        &self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        host: u32,
        endpoint: &mut E,
    ) {
        if !endpoint.uses_departure() {
            return;
        }
        let first = self.interfaces.first_of(host) as usize;
        let mut idle_at = fabric.idle_at(engine, self.interfaces.ports[first]);
        if self.interfaces.several {
            for interface in self.interfaces.of(host).skip(1) {
                idle_at = idle_at.max(fabric.idle_at(engine, self.interfaces.ports[interface]));
            }
        }
        endpoint.set_departure(Time(idle_at.max(engine.now)));
    }

    /// Puts an endpoint's packet into its host's queue.
    #[inline]
    fn inject<H: HostedHeader>(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        id: EndpointId,
        place: &mut Place,
        transmit: Transmit<H>,
    ) {
        let mut flags = 0;
        for (set, flag) in [
            (transmit.control, flag::CONTROL),
            (transmit.ect, flag::ECT),
            (transmit.trimmed_size < transmit.size, flag::DATA),
        ] {
            flags |= if set { flag } else { 0 };
        }
        let (destination, endpoint, from) = match place.group {
            Some(group) if transmit.to == GROUP => {
                flags |= flag::MULTICAST;
                (group, id, 0)
            }
            _ => {
                let remote = place.remotes.get(transmit.to);
                (remote.host, remote.endpoint, remote.from)
            }
        };
        let random = &mut self.random[place.host as usize];
        let path = if flags & flag::MULTICAST != 0 && fabric.schemes().own_bits() {
            random.next_u32()
        } else if H::HAS_ENTROPY
            && let Some(path) = place.paths.by_entropy(transmit.header.entropy())
        {
            path
        } else {
            place
                .paths
                .of(transmit.subflow)
                .next(&Departing { now: engine.now, size: transmit.size, destination }, random)
        };
        // Copies lose the flag at the last switch, which still has to treat them as multicast packets: equal sizes mark a packet
        // that must not be cut.
        let uncut = flags & flag::MULTICAST != 0 && !fabric.trims_multicast();
        let trimmed_size = if uncut { transmit.size } else { transmit.trimmed_size };
        let hot = Hot {
            at: engine.now,
            next: NO_PACKET,
            endpoint,
            destination,
            path,
            size: transmit.size as u16,
            trimmed_size: trimmed_size as u16,
            // One of the two is 0: only unicast sessions have ranks.
            from: from | transmit.rank,
            tag: Hot::tag(place.class, transmit.priority, transmit.pushed),
            flags,
        };
        ledger.packet_sent();
        let packet = engine.packets.insert(hot, transmit.header.into_any());
        if H::IS_WRITTEN_INTO {
            // Of another packet that had this handle.
            engine.pending.stamps.take(packet);
        }
        if self.interfaces.several {
            let port = fabric.forward(engine, ledger, self, place.host, packet);
            place.leaves_by = port.map_or(place.leaves_by, |port| self.interfaces.of_port(port));
            return;
        }
        let port = self.interfaces.ports[place.host as usize];
        fabric.send(engine, ledger, self, port, packet);
    }
}
