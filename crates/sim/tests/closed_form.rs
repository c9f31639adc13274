//! One flow on an idle path takes exactly as long as arithmetic says, to the picosecond.

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode::{PerFlow, PerPacketPermuted, Single};
use anabranch_sim::fabric::topology::{BCube, DCell, TopologyConfig};
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::Duration;
use anabranch_transport::tcp::Algorithm::NewReno as Newreno;
use std::path::Path;

/// Payload of a full NDP or SCDP packet: 1500 bytes less a header of 64.
const PAYLOAD: u64 = 1436;
/// Serialisation time of a control packet or trimmed header of 64 bytes.
const CONTROL: Duration = Duration::from_ns(512);

/// When the receiver has all of `packets` full packets, over `links` links, with a window of `window` and one pull sent
/// for each packet that arrives while packets remain to be asked for. The pacer never delays on an idle path, where
/// packets arrive no faster than it paces.
fn receiver_driven(packets: u64, window: u64, links: u64) -> Duration {
    let forward = (FULL + DELAY) * links;
    let back = (CONTROL + DELAY) * links;
    let mut sent_at: Vec<Duration> = Vec::new();
    let mut free = Duration::ZERO;
    for n in 0..packets {
        let asked = if n < window { Duration::ZERO } else { sent_at[(n - window) as usize] + forward + back };
        let start = free.max(asked);
        free = start + FULL;
        sent_at.push(start);
    }
    sent_at[packets as usize - 1] + forward
}

#[test]
fn scdp_is_as_fast_as_its_window_allows() {
    for switches in [1, 3, 5] {
        for packets in [1, 2, 11, 12, 13, 100, 101, 250] {
            let sessions = vec![unicast(0, 1, packets * PAYLOAD)];
            let record = complete(setup(chain(switches), mlfq_trim(20), scdp(12), Single, sessions));
            let expected = receiver_driven(packets, 12, u64::from(switches) + 1);
            assert_eq!(fct(&record, 0), expected, "{packets} packets through {switches} switches");
            assert_eq!(record.flows[0].packets_sent, packets, "no symbol is sent in vain");
        }
    }
}

/// `DCell_1` of 2: hosts 0 and 1, 2 and 3, 4 and 5 share a switch; 0 is linked to 2, 1 to 4, 3 to 5.
fn dcell() -> Graph {
    TopologyConfig::DCell(DCell { n: 2, k: 1, rate: GBPS, delay: DELAY }).build(Path::new("")).expect("it is possible")
}

#[test]
fn a_host_that_relays_is_one_more_store_and_forward_hop() {
    // From 0 to 3 by host 2, from 0 to 5 by hosts 2 and 3, from 4 to 2 by hosts 1 and 0.
    for (source, sink, links) in [(0, 2, 1), (0, 3, 3), (0, 5, 4), (4, 2, 4)] {
        for packets in [1, 2, 12, 13, 100] {
            let sessions = vec![unicast(source, sink, packets * PAYLOAD)];
            let record = complete(setup(dcell(), mlfq_trim(20), scdp(12), Single, sessions));
            assert_eq!(fct(&record, 0), receiver_driven(packets, 12, links), "{packets} packets, {source} -> {sink}");
            assert_eq!(u64::from(record.flows[0].hops), links);
        }
        // With a window that fills the path.
        let record = complete(setup(dcell(), trim(20), ndp(20), Single, vec![unicast(source, sink, 500 * PAYLOAD)]));
        assert_eq!(fct(&record, 0).ps(), record.flows[0].ideal_ps);
        assert_eq!(fct(&record, 0), (FULL + DELAY) * links + FULL * 499);
    }
}

#[test]
fn a_spraying_transport_fills_all_links_of_its_hosts() {
    // BCube_k of 2: from the first host to the last there are k + 1 ways of k + 1 hops (two links each).
    for k in 0..4_u64 {
        let fabric = TopologyConfig::BCube(BCube { n: 2, k: k as u32, rate: GBPS, delay: DELAY });
        let graph = fabric.build(Path::new("")).expect("it is possible");
        let (last, ways) = (graph.hosts - 1, k + 1);
        for protocol in [scdp(100), ndp(100)] {
            let sessions = vec![unicast(0, last, 600 * PAYLOAD)];
            let record = complete(setup(graph.clone(), mlfq_trim(200), protocol, PerPacketPermuted, sessions));
            assert_eq!(record.flows[0].ideal_ps, ((FULL + DELAY) * (2 * ways) + FULL * (600 / ways - 1)).ps());
            // A round of the permutation sends k! packets on each link, in any order.
            let late = fct(&record, 0).ps() - record.flows[0].ideal_ps;
            let round: u64 = (1..=k).product();
            assert!(late <= (FULL * (round + 2)).ps(), "{late} ps late over {ways} ways");
        }
        // One path for each flow fills one link.
        let record = complete(setup(graph, mlfq_trim(200), scdp(100), PerFlow, vec![unicast(0, last, 600 * PAYLOAD)]));
        assert_eq!(fct(&record, 0), (FULL + DELAY) * (2 * ways) + FULL * 599);
    }
}

#[test]
fn a_symbol_crosses_each_link_of_a_tree_once_and_hosts_on_the_way_get_it_too() {
    // The tree goes 0 - 2 - switch - 3 - 5; hosts 2 and 3 take their copy and pass it on.
    let session = Session { mode: Mode::OneToMany, sinks: vec![5, 3, 2].into(), ..unicast(0, 1, 200 * PAYLOAD) };
    let record = complete(setup(dcell(), mlfq_trim(20), scdp(40), Single, vec![session]));
    let data = |src: &str, dst: &str| {
        let link = record.links.iter().find(|l| l.src == src && l.dst == dst).expect("the link is there");
        (link.packets, link.bytes)
    };
    for (src, dst) in [("h0", "h2"), ("h2", "mini1"), ("mini1", "h3"), ("h3", "h5")] {
        assert_eq!(data(src, dst), (200, 200 * 1500), "{src} -> {dst}");
    }
    for (flow, links) in record.flows.iter().zip([4, 3, 1]) {
        assert_eq!(flow.end.expect("complete").since(flow.start), (FULL + DELAY) * links + FULL * 199);
    }
    // Copies: at 2 and at 3, one for the host itself.
    assert_eq!(record.conservation.replicated, 400);
}

#[test]
fn ndp_is_as_fast_as_its_window_allows() {
    for switches in [1, 3, 5] {
        for packets in [1, 2, 12, 13, 100, 250] {
            let sessions = vec![unicast(0, 1, packets * PAYLOAD)];
            let record = complete(setup(chain(switches), trim(8), ndp(12), Single, sessions));
            // An ACK leaves the receiver's interface just before each pull.
            let links = u64::from(switches) + 1;
            let mut slowest = Duration::ZERO;
            if packets > 12 && receiver_driven(packets, 12, links) > receiver_driven(packets, packets, links) {
                // Window-limited: every round trip is longer by the ACK ahead of the pull.
                slowest = CONTROL * ((packets - 1) / 12);
            }
            assert_eq!(fct(&record, 0), receiver_driven(packets, 12, links) + slowest, "{packets} through {switches}");
        }
    }
}

#[test]
fn a_window_that_fills_the_path_gives_the_ideal_time() {
    for protocol in [scdp(20), ndp(20)] {
        let record = complete(setup(chain(5), trim(20), protocol, Single, vec![unicast(0, 1, 500 * PAYLOAD)]));
        assert_eq!(fct(&record, 0).ps(), record.flows[0].ideal_ps);
    }
}

#[test]
fn tcp_shakes_hands_and_starts_slowly() {
    // MSS 1460; segments of 1500 bytes on the wire, ACKs of 40.
    let ack = Duration::from_ns(320);
    for (switches, segments) in [(1, 1), (1, 10), (1, 44), (3, 200), (5, 3), (5, 100)] {
        let links = switches + 1;
        let sessions = vec![unicast(0, 1, segments * 1460)];
        let record = complete(setup(chain(switches as u32), drop_tail(1000), tcp(Newreno), Single, sessions));
        // Every ACK opens the window by two segments: the one that it acknowledges and the one of slow start
        // (RFC 5681 §3.1), up to the receive window of 65535 bytes = 44 segments.
        let handshake = (ack + DELAY) * links * 2;
        let round_trip = (FULL + DELAY) * links + (ack + DELAY) * links;
        let mut sends: Vec<Duration> = Vec::new();
        let (mut free, mut acked, mut allowed) = (handshake, 0, 10u64.min(segments));
        while (sends.len() as u64) < segments {
            let now = if (sends.len() as u64) < allowed {
                Duration::ZERO
            } else {
                let arrival = sends[acked as usize] + round_trip;
                acked += 1;
                allowed = acked + (10 + acked).min(44);
                arrival
            };
            while (sends.len() as u64) < allowed.min(segments) {
                let start = free.max(now.max(handshake));
                sends.push(start);
                free = start + FULL;
            }
        }
        let expected = sends[segments as usize - 1] + (FULL + DELAY) * links;
        assert_eq!(fct(&record, 0), expected, "{segments} segments through {switches} switches");
    }
}
