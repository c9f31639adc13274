//! What happens at nodes: packets reach them, pulls are paced, timers fire. The same in a run and in a part of one.

use super::engine::Engine;
use super::fabric::Fabric;
use super::hosts::Hosts;
use super::ledger::Ledger;
use crate::engine::boxes::Arrival;
use crate::engine::wheel::Entity;

/// Handles the event of an entity that is at a node: a port, a pacer of pulls, a turn at an interface or a timer. False if it is none of these.
#[inline]
pub(super) fn at_node(
    engine: &mut Engine,
    fabric: &mut Fabric,
    hosts: &mut Hosts,
    ledger: &mut Ledger,
    entity: Entity,
) -> bool {
    let e = &engine.entities;
    if entity < e.pacers {
        if let Some(packet) = fabric.arrive(engine, ledger, hosts, entity) {
            hosts.deliver(engine, fabric, ledger, entity, packet);
        }
    } else if entity < e.turns {
        let interface = e.interface(entity);
        hosts.pace(engine, fabric, ledger, interface);
    } else if entity < e.next_session {
        let interface = e.interface(entity);
        hosts.give_turns(engine, fabric, ledger, interface);
    } else if entity >= e.timers {
        let endpoint = entity - e.timers;
        hosts.timer_fires(engine, fabric, ledger, endpoint);
    } else {
        return false;
    }
    true
}

/// A packet in the box of all hosts reaches its host: the event of its link.
#[inline]
pub(super) fn reaches_host(
    engine: &mut Engine,
    fabric: &mut Fabric,
    hosts: &mut Hosts,
    ledger: &mut Ledger,
    Arrival { time, link, packet }: Arrival,
) {
    engine.begin_event(time);
    engine.trace_event(link);
    hosts.deliver(engine, fabric, ledger, link, packet);
}
