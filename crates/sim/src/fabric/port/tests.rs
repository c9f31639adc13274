//! Ports by themselves: one, its wire, and a packet or a few.

use super::*;
use crate::engine::arena::Arena;
use crate::engine::wheel::Wheel;
use crate::fabric::queue::testing::{data, insert};
use crate::fabric::queue::{Limit, drop_tail::DropTail, nic::Nic};

fn port(queue: Queue) -> Port {
    Port::new(Rate::from_gbps(1), Duration::from_us(10), 0, queue)
}

#[test]
fn packets_arrive_back_to_back_with_one_event_pending() {
    let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
    let mut port = port(Queue::Nic(Nic::new()));
    for label in 0..50 {
        let id = insert(&mut arena, data(0), label);
        port.send(0, arena.hots(), &mut pending, id, 0);
        assert_eq!(pending.wheel.len(), 1);
    }
    for n in 0..50 {
        let (now, _) = pending.wheel.pop().expect("an arrival is pending");
        assert_eq!(now, (n + 1) * 12_000_000 + 10_000_000);
        let id = port.arrive(0, arena.hots(), &mut pending, now);
        assert_eq!(*arena.header(id), n as u32);
    }
    assert!(pending.is_empty());
    assert_eq!(port.counters().busy_ps, 50 * 12_000_000);
    // The n-th packet waited 12 us for each one before it.
    assert_eq!(port.counters().waited, (0..50).map(|n| n * 12_000_000 * 1500).sum());
}

#[test]
fn an_urgent_packet_overtakes_only_what_has_not_started() {
    let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
    let mut port = port(Queue::Nic(Nic::new()));
    for label in 0..3 {
        let id = insert(&mut arena, data(3), label);
        port.send(0, arena.hots(), &mut pending, id, 0);
    }
    // At 12 us packet 1 starts, although no event told the port; the urgent one comes after it.
    let urgent = insert(&mut arena, data(0), 9);
    port.send(0, arena.hots(), &mut pending, urgent, 12_000_000);
    let mut order = Vec::new();
    while let Some((now, _)) = pending.wheel.pop() {
        let id = port.arrive(0, arena.hots(), &mut pending, now);
        order.push(*arena.header(id));
    }
    assert_eq!(order, [0, 1, 9, 2]);
}

/// Packets that wait for hours: their bytes times their picoseconds do not fit into 64 bits.
#[test]
fn hours_of_waiting_are_counted() {
    let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
    let mut port = Port::new(Rate(1), Duration::from_us(10), 0, Queue::Nic(Nic::new()));
    for label in 0..3 {
        let id = insert(&mut arena, data(0), label);
        port.send(0, arena.hots(), &mut pending, id, 0);
    }
    for _ in 0..3 {
        let (now, _) = pending.wheel.pop().expect("an arrival is pending");
        port.arrive(0, arena.hots(), &mut pending, now);
    }
    // 12000 bits at a bit each second: one waits for one packet before it, the other for two.
    assert_eq!(port.counters().waited, 3 * 12_000 * 1_000_000_000_000 * 1500);
}

#[test]
fn jitter_is_a_pause_before_each_packet_and_keeps_their_order() {
    for jitter in [Jitter::Time(Duration::from_us(30)), Jitter::Packets(2.5)] {
        let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
        let mut port = port(Queue::Nic(Nic::new())).with_jitter(jitter, 1500, 7);
        let mut pauses = Vec::new();
        for burst in 0..200 {
            let now = burst * 1_000_000_000;
            for label in 0..3 {
                let id = insert(&mut arena, data(0), label);
                port.send(0, arena.hots(), &mut pending, id, now);
            }
            let arrivals: Vec<u64> = (0..3)
                .map(|label| {
                    let (now, _) = pending.wheel.pop().expect("an arrival is pending");
                    let id = port.arrive(0, arena.hots(), &mut pending, now);
                    assert_eq!(*arena.header(id), label, "in order");
                    arena.remove(id);
                    now
                })
                .collect();
            pauses.push(arrivals[0] - now - 22_000_000);
            pauses.extend(arrivals.windows(2).map(|pair| pair[1] - pair[0] - 12_000_000));
        }
        assert!(pauses.iter().all(|&p| p < 30_000_000));
        let mean = pauses.iter().sum::<u64>() / pauses.len() as u64;
        assert!((12_000_000..18_000_000).contains(&mean), "uniform from 0 to 30 us: mean {mean} ps");
    }
    // Told in packets, it follows the rate.
    let mut port = port(Queue::Nic(Nic::new())).with_jitter(Jitter::Packets(0.5), 1500, 7);
    assert_eq!(port.tx.rare.pause, Duration::from_us(6));
    port.set_rate(Rate::from_mbps(10));
    assert_eq!(port.tx.rare.pause, Duration::from_us(600));
}

#[test]
fn when_it_is_idle_does_not_depend_on_when_it_was_looked_at() {
    // At 7 Gbps each transmission is rounded up to a picosecond.
    let idle_at = |look: bool| {
        let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
        let mut port = Port::new(Rate::from_gbps(7), Duration::from_us(10), 0, Queue::Nic(Nic::new()));
        for label in 0..20 {
            let id = insert(&mut arena, data(0), label);
            port.send(0, arena.hots(), &mut pending, id, 0);
        }
        if look {
            port.catch_up(0, arena.hots(), &mut pending, 9_000_000);
        }
        port.idle_at(0, arena.hots(), &mut pending, 9_500_000)
    };
    assert_eq!(idle_at(false), idle_at(true));
}

#[test]
fn a_very_slow_link_is_idle_very_late() {
    let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
    let mut port = Port::new(Rate(1), Duration::from_us(10), 0, Queue::Nic(Nic::new()));
    for label in 0..2000 {
        let id = insert(&mut arena, data(0), label);
        port.send(0, arena.hots(), &mut pending, id, 0);
    }
    assert_eq!(port.idle_at(0, arena.hots(), &mut pending, 1), u64::MAX);
}

#[test]
fn a_cut_link_loses_everything() {
    let (mut arena, mut pending) = (Arena::new(), Pending::new(Wheel::new(22_000_000, 1, 0)));
    let mut port = port(Queue::DropTail(DropTail::new(Limit::Packets(10))));
    for label in 0..5 {
        let id = insert(&mut arena, data(0), label);
        port.send(0, arena.hots(), &mut pending, id, 0);
    }
    let lost = port.cut(0, arena.hots(), &mut pending, 15_000_000);
    assert_eq!(lost.len(), 5);
    assert!(pending.is_empty());
    let id = insert(&mut arena, data(0), 6);
    assert_eq!(port.send(0, arena.hots(), &mut pending, id, 16_000_000), Some(Enqueued::rejected(id)));
    port.restore(20_000_000);
    assert_eq!(port.send(0, arena.hots(), &mut pending, id, 20_000_000), None);
    assert_eq!(pending.wheel.pop().map(|e| e.0), Some(42_000_000));
}
