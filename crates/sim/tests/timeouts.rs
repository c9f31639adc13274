//! Timeouts where nothing is lost: on slow and long links, and while packets wait in their own host's queue.

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode::PerPacket;
use anabranch_sim::fabric::topology::{BCube, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::workload::Session;
use anabranch_transport::tcp::Algorithm;
use anabranch_transport::{Duration, Rate};
use std::path::Path;

fn star_of(n: u32, rate: Rate, delay: Duration) -> Graph {
    let mut graph = star(n);
    graph.links.iter_mut().for_each(|link| (link.rate, link.delay) = (rate, delay));
    graph
}

/// (data packets sent, timeouts)
fn sent(record: &RunRecord) -> (u64, u64) {
    let sum = |count: fn(&anabranch_sim::measure::FlowRow) -> u64| record.flows.iter().map(count).sum::<u64>();
    (sum(|f| f.packets_sent), sum(|f| f.timeouts))
}

#[test]
fn an_idle_flow_on_a_slow_link_sends_nothing_twice() {
    for (mbps, bytes) in [(10, 100_000), (1, 100_000), (10, 1_000_000)] {
        let one = |protocol: Protocol, queue| {
            let graph = star_of(2, Rate::from_mbps(mbps), DELAY);
            sent(&complete(setup(graph, queue, protocol, PerPacket, vec![unicast(0, 1, bytes)])))
        };
        assert_eq!(one(ndp(12), trim(20)), ((bytes).div_ceil(1436), 0), "NDP, {mbps} Mbps");
        assert_eq!(one(tcp(Algorithm::NewReno), trim(100)).1, 0, "TCP, {mbps} Mbps");
        // A pull that is repeated before a round trip is known brings a symbol that would have come next.
        let (symbols, timeouts) = one(scdp(12), trim(20));
        assert!(symbols <= bytes.div_ceil(1436) + 6 && timeouts <= 6, "SCDP, {mbps} Mbps: {symbols}, {timeouts}");
    }
}

#[test]
fn many_short_flows_at_once_wait_in_their_hosts_and_are_not_sent_twice() {
    // 600 flows from each of 16 hosts: 5 ms of packets in each host's queue, and 15 ms of its link with full packets.
    const HOSTS: u32 = 16;
    for bytes in [1000, 2800] {
        for protocol in [ndp(12), scdp(12)] {
            let flow = |i: u32| unicast(i % HOSTS, (i % HOSTS + 1 + i / HOSTS % (HOSTS - 1)) % HOSTS, bytes);
            let sessions: Vec<Session> = (0..600 * HOSTS).map(flow).collect();
            let packets = sessions.len() as u64 * bytes.div_ceil(1436);
            let record = complete(setup(star(HOSTS), trim(20), protocol.clone(), PerPacket, sessions));
            let trimmed = record.flows.iter().map(|f| f.packets_trimmed).sum::<u64>();
            let (data, timeouts) = sent(&record);
            assert!(data <= packets + trimmed + packets / 100, "{protocol:?}: {data} sent, {trimmed} trimmed");
            assert!(timeouts < packets / 100, "{protocol:?}: {timeouts} timeouts");
        }
    }
}

#[test]
fn tcp_does_not_repeat_what_has_not_left_its_host() {
    // 200 connections of 10 segments each: 24 s of a host's queue at 1 Mbps, 12 s of two; the first timeout is 1 s.
    let star = star_of(2, Rate::from_mbps(1), DELAY);
    let several = BCube { n: 2, k: 1, rate: Rate::from_mbps(1), delay: DELAY };
    let several = TopologyConfig::BCube(several).build(Path::new("")).expect("the fabric is possible");
    for graph in [star, several] {
        // Hosts 0 and 1 of the BCube share a switch.
        let (name, sessions) = (graph.nodes.len(), (0..200).map(|_| unicast(0, 1, 14_000)).collect());
        let record = complete(setup(graph, trim(20_000), tcp(Algorithm::NewReno), PerPacket, sessions));
        // Receivers repeat their FIN, whose acknowledgement waits in that queue.
        let (data, timeouts) = sent(&record);
        assert_eq!(data, 200 * 10, "{name} nodes: {timeouts} timeouts");
    }
}

#[test]
fn ndp_keeps_its_window_on_long_paths() {
    for rtt_ms in [20, 80, 400] {
        let packets = 2400;
        let graph = star_of(2, GBPS, Duration::from_ms(rtt_ms) / 4);
        let record = complete(setup(graph, trim(20), ndp(12), PerPacket, vec![unicast(0, 1, 1436 * packets)]));
        // The last packet is half a round trip on its way.
        let rounds = fct(&record, 0).as_secs_f64() / (rtt_ms as f64 / 1e3) + 0.5;
        let in_flight = packets as f64 / rounds;
        assert!((11.8..12.05).contains(&in_flight), "{rtt_ms} ms: {in_flight} packets in flight");
        assert!(sent(&record).0 <= packets + rtt_ms / 50, "{rtt_ms} ms: {:?}", sent(&record));
    }
}
