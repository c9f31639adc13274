//! Asks for the memory of the events to come in a run event by event, where the fabric is too large for the processor's caches.
//!
//! An arrival needs its link's port, then the packet, then the route (or the endpoint), then the port by which the packet
//! leaves, then what waits there: five cache misses, each of which needs the one before. Here each step is taken for another
//! one of the coming events, in the order in which they will need it, so that none has to wait.

use super::engine::Engine;
use super::fabric::Fabric;
use super::hosts::Hosts;
use crate::engine::prefetch::{prefetch, prefetch_lines};
use crate::engine::wheel::Entity;
use crate::fabric::graph::PortId;
use crate::fabric::port::Port;

/// How many events ahead each step is: port, packet, route, egress. Two or three events take as long as a miss.
const AHEAD: [usize; 4] = [12, 9, 6, 4];
/// The ports of a larger fabric than this, in bytes, are not to be had from the second-level cache, nor mostly from the third.
/// In smaller ones asking costs more than it saves. Builds with debug assertions always ask, so that all tests see that it
/// changes nothing.
const LARGE: usize = if cfg!(debug_assertions) { 0 } else { 1 << 22 };

/// What is known of the events to come.
pub(super) struct Prefetcher {
    /// Ports by which packets will leave in the next events, by turns.
    egress: [Option<PortId>; 2],
    turn: usize,
}

impl Prefetcher {
    /// `None` if the fabric is small.
    pub(super) fn new(ports: u32) -> Option<Self> {
        (ports as usize * size_of::<Port>() > LARGE).then_some(Self { egress: [None; 2], turn: 0 })
    }

    /// Before each event; events from `limit` on do not come up.
    #[inline(never)]
    pub(super) fn step(&mut self, engine: &mut Engine, fabric: &Fabric, hosts: &Hosts, limit: u64) {
        if engine.pending.wheel.batch() == 0 {
            engine.pending.wheel.advance_before(limit);
            for (step, ahead) in AHEAD.into_iter().enumerate() {
                for n in 0..ahead.min(engine.pending.wheel.batch()) {
                    self.ask(engine, fabric, hosts, step, n);
                }
            }
        }
        for (step, ahead) in AHEAD.into_iter().enumerate() {
            self.ask(engine, fabric, hosts, step, ahead);
        }
    }

    /// Takes a step for the event that comes after `n` others.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that the steps are told apart when this is compiled")]
    fn ask(&mut self, engine: &Engine, fabric: &Fabric, hosts: &Hosts, step: usize, n: usize) {
        if step == 3 {
            self.turn ^= 1;
            if let Some(port) = self.egress[self.turn].take() {
                engine.packets.prefetch(fabric.ports()[port as usize].next_waiting());
            }
        }
        let Some(port) = engine.pending.wheel.ahead(n).filter(|&entity: &Entity| entity < engine.entities.pacers)
        else {
            return;
        };
        match step {
            0 => prefetch_lines(&fabric.ports()[port as usize], 0..4),
            1 => {
                let port = &fabric.ports()[port as usize];
                engine.packets.prefetch(port.first_in_flight());
                engine.packets.prefetch(port.next_waiting());
            }
            _ => {
                let Some((hot, node)) = fabric.next_arrival(engine, port) else { return };
                let to_host = node < fabric.graph().hosts;
                match step {
                    2 if to_host => prefetch(&hosts.endpoints()[hot.endpoint as usize]),
                    2 if hot.is_unicast() => fabric.routes().prefetch(node, hot.destination),
                    3 if to_host => {
                        if let Some(hosted) = &hosts.endpoints()[hot.endpoint as usize] {
                            hosted.prefetch();
                        }
                    }
                    3 if hot.is_unicast() => {
                        let egress = fabric.egress(node, hot);
                        if let Some(port) = egress {
                            prefetch_lines(&fabric.ports()[port as usize], 0..4);
                        }
                        self.egress[self.turn] = egress;
                    }
                    _ => {}
                }
            }
        }
    }
}
