//! Flows that wait for their host's link: they take turns, a packet each, as the queue pairs of a network adapter do.
//!
//! A flow joins the queue of an interface when it has a packet that may leave, once. Whenever the interface has nothing left to send, the
//! first flow in its queue hands over a packet, and joins it again at the end if it has another. So flows share a link evenly, by packets, and
//! a host with many of them has one event for a packet, not one for each flow that waits.

use super::Hosts;
use super::attending::LinkFree;
use crate::host::EndpointId;
use crate::network::engine::Engine;
use crate::network::fabric::Fabric;
use crate::network::ledger::Ledger;
use anabranch_transport::Time;
use std::collections::VecDeque;

/// The flows that wait at an interface.
#[derive(Clone, Debug, Default)]
struct Line {
    waiting: VecDeque<EndpointId>,
    /// Picoseconds: no turn before, though the port has nothing to send.
    closed_until: u64,
}

/// The queues of all interfaces.
#[derive(Clone, Default)]
pub(super) struct Turns {
    /// None where no transport takes turns.
    lines: Vec<Line>,
    /// An interface whose queue an end has joined since it was last looked at.
    joined: Option<u32>,
}

impl Turns {
    /// For so many interfaces, if some transport [takes turns](crate::host::protocol::Transport::takes_turns), else for none.
    pub(super) fn new(interfaces: usize) -> Self {
        Self { lines: vec![Line::default(); interfaces], joined: None }
    }

    /// How many interfaces have a queue: all or none.
    pub(super) fn interfaces(&self) -> u32 {
        self.lines.len() as u32
    }

    /// An end that is not in a queue has a packet that may leave.
    pub(super) fn join(&mut self, interface: u32, id: EndpointId) {
        debug_assert!(self.joined.is_none_or(|joined| joined == interface), "that one was looked at");
        self.lines[interface as usize].waiting.push_back(id);
        self.joined = Some(interface);
    }

    /// The interface whose queue somebody has joined, once.
    #[inline]
    pub(super) fn take_joined(&mut self) -> Option<u32> {
        self.joined.take()
    }

    /// Exchanges the queue of an interface with another part of the run.
    pub(super) fn swap(&mut self, interface: usize, other: &mut Self) {
        if let Some(line) = self.lines.get_mut(interface) {
            std::mem::swap(line, &mut other.lines[interface]);
        }
    }
}

impl Hosts {
    /// Gives turns at an interface for as long as it has nothing else to send, and schedules the next.
    pub(in crate::network) fn give_turns(
        &mut self,
        engine: &mut Engine,
        fabric: &mut Fabric,
        ledger: &mut Ledger,
        interface: u32,
    ) {
        loop {
            if self.turns.lines[interface as usize].waiting.is_empty() {
                return;
            }
            let free = self.free_at(engine, fabric, interface);
            if free > engine.now {
                return engine.wake(engine.entities.turn(interface), Time(free));
            }
            let line = &mut self.turns.lines[interface as usize];
            let Some((id, mut hosted)) =
                line.waiting.pop_front().and_then(|id| Some((id, self.endpoints[id as usize].take()?)))
            else {
                continue;
            };
            hosted.place_mut().in_turn = false;
            self.attend(engine, fabric, ledger, id, hosted, LinkFree);
            let Some(joined) = self.turns.take_joined() else { continue };
            let free = self.free_at(engine, fabric, joined);
            if joined != interface {
                // It left by another link than the one before.
                engine.wake(engine.entities.turn(joined), Time(free));
            } else if free <= engine.now {
                // Its packet is lost already: the link is cut, or leads nowhere. Sending it takes time all the same.
                let time = fabric.packet_time(self.interfaces.ports[interface as usize]);
                self.turns.lines[interface as usize].closed_until = engine.now + time;
            }
        }
    }

    /// When an interface has nothing left to send.
    fn free_at(&self, engine: &mut Engine, fabric: &mut Fabric, interface: u32) -> u64 {
        let idle = fabric.idle_at(engine, self.interfaces.ports[interface as usize]);
        idle.max(self.turns.lines[interface as usize].closed_until)
    }
}
