//! One-to-many and many-to-one sessions of transports that have only unicast (SCDP §V-A).

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::queue::{Limit, Queue, mlfq};
use anabranch_sim::fabric::routing::RoutingMode::{self, PerFlow, PerPacket, Single};
use anabranch_sim::fabric::topology::{FatTree, Layers, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::{FlowRow, RunRecord};
use anabranch_sim::network::Fallback;
use anabranch_sim::network::Setup;
use anabranch_sim::scenario;
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::{Bytes, Duration, Rate};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Makes the queue of each port.
type Queues = Box<dyn Fn(u32) -> Queue + Send>;

/// Application bytes of a full NDP packet and of a full TCP packet.
const NDP_PAYLOAD: u64 = 1436;
const MSS: u64 = 1460;

fn write(size: u64, sinks: &[u32]) -> Session {
    Session { mode: Mode::OneToMany, sinks: sinks.into(), ..unicast(0, 1, size) }
}

fn read(size: u64, sources: &[u32], sink: u32) -> Session {
    Session { mode: Mode::ManyToOne, sources: sources.into(), ..unicast(0, sink, size) }
}

fn with(fallback: Fallback, mut setup: Setup) -> Setup {
    setup.groups.iter_mut().for_each(|g| g.fallback = Some(fallback));
    setup
}

fn fat_tree(k: u32) -> Graph {
    let config = FatTree { k, rate: GBPS, delay: DELAY, layers: Layers::default() };
    TopologyConfig::FatTree(config).build(Path::new("")).expect("the fabric is possible")
}

/// TCP without a handshake, so that arithmetic is short.
fn plain_tcp(change: impl FnOnce(&mut TcpConfig)) -> Protocol {
    let mut config = TcpConfig { handshake: false, rto_min: Duration::from_ms(10), ..TcpConfig::default() };
    change(&mut config);
    Protocol::Tcp(config)
}

fn pias() -> Protocol {
    plain_tcp(|c| {
        (c.congestion, c.handshake) = (Algorithm::Dctcp, true);
        c.priority_thresholds = [10_000, 100_000, 1_000_000, 10_000_000].map(Bytes).to_vec();
    })
}

/// PIAS's switch.
fn bands(packets: u32, mark: u32) -> impl Fn(u32) -> Queue + Send {
    let parameters = mlfq::MlfqParameters {
        priorities: 5,
        buffer: Limit::Packets(packets),
        trim: false,
        header_buffer: Limit::NONE,
        weight: 10,
        victim: mlfq::Victim::Arriving,
        mark: Some(Limit::Packets(mark)),
    };
    move |_| Queue::Mlfq(mlfq::Mlfq::new(parameters))
}

/// A client on a link of 500 Mbit/s writes to replicas on links of 1 Gbit/s: their forwarding waits for nothing. Each
/// replica adds the time of one packet over two links, behind the ACK that its host sends first.
#[test]
fn a_daisy_chain_forwards_packet_by_packet() {
    for (protocol, payload, ack) in
        [(ndp(12), NDP_PAYLOAD, Duration::from_ns(512)), (plain_tcp(|_| {}), MSS, Duration::from_ns(320))]
    {
        for packets in [1, 2, 12, 13, 60] {
            let mut graph = star(5);
            graph.links[0].rate = Rate::from_mbps(500);
            let session = write(packets * payload, &[2, 4, 1, 3]);
            let run = setup(graph, drop_tail(100), protocol.clone(), Single, vec![session]);
            let record = complete(with(Fallback::DaisyChain, run));
            let first = us(24) * packets + DELAY + FULL + DELAY;
            for hop in 0..4 {
                let expected = first + (ack + FULL + DELAY + FULL + DELAY) * hop;
                assert_eq!(fct(&record, hop as usize), expected, "{packets} packets, replica {hop}");
            }
            let hops: Vec<_> = record.flows.iter().map(|f| (f.src_host, f.dst_host)).collect();
            assert_eq!(hops, [(0, 2), (2, 4), (4, 1), (1, 3)]);
            assert_eq!(record.flows[0].packets_sent, 4 * packets, "of the session: over all hops");
            assert_eq!(record.flows.iter().map(|f| f.timeouts).sum::<u64>(), 0);
        }
    }
}

/// What Figure 4 of SCDP's paper is about: the client's uplink carries the object once, not once for each replica.
#[test]
fn a_daisy_chain_takes_the_client_s_uplink_once_and_overlaps_its_hops() {
    // A window of twelve would not fill the way between pods.
    for (protocol, path, payload) in [(ndp(24), PerPacket, NDP_PAYLOAD), (pias(), PerFlow, MSS)] {
        let size = 1000 * payload;
        let run = |fallback| {
            let session = write(size, &[1, 6, 7]);
            let queues: Queues = if path == PerPacket { Box::new(trim(8)) } else { Box::new(bands(100, 20)) };
            complete(with(fallback, setup(fat_tree(4), queues, protocol.clone(), path, vec![session])))
        };
        let uplink = |record: &RunRecord| {
            let data = record.links.iter().find(|l| l.src == "h0").expect("h0 has an uplink").bytes;
            data as f64 / (1500.0 * 1000.0)
        };
        let (chain, multi) = (run(Fallback::DaisyChain), run(Fallback::MultiUnicast));
        assert!((1.0..1.1).contains(&uplink(&chain)) && (3.0..3.1).contains(&uplink(&multi)));
        let last = |record: &RunRecord| (0..3).map(|i| fct(record, i)).max().expect("three replicas").ps() as f64;
        let alone = (FULL * 1000).ps() as f64;
        // Hop by hop, one after the other, it would take three times as long.
        assert!(last(&chain) < 1.35 * alone, "{}", last(&chain) / alone);
        assert!(last(&multi) > 2.9 * alone, "{}", last(&multi) / alone);
        assert!((0..2).all(|i| fct(&chain, i) < fct(&chain, i + 1)), "in order");
    }
}

/// Every hop meets traffic that overflows its queues.
#[test]
fn daisy_chains_complete_under_loss() {
    let crowd = || -> Vec<Session> {
        let mut sessions: Vec<Session> = (0..8).map(|i| write(150_000 + i, &[4, 8, 9])).collect();
        sessions.extend((5..16).filter(|h| !(8..10).contains(h)).map(|h| unicast(h, 4, 60_000)));
        sessions.extend((10..16).map(|h| unicast(h, 8, 60_000)));
        sessions
    };
    let tcp = |congestion| {
        plain_tcp(|c| (c.congestion, c.handshake, c.rto_initial) = (congestion, true, Duration::from_ms(10)))
    };
    let runs: Vec<(&str, Protocol, Queues, RoutingMode)> = vec![
        ("ndp, trimming", ndp(12), Box::new(trim(4)), PerPacket),
        ("ndp, dropping", ndp(12), Box::new(drop_tail(4)), PerPacket),
        ("newreno", tcp(Algorithm::NewReno), Box::new(drop_tail(6)), PerFlow),
        ("cubic", tcp(Algorithm::Cubic), Box::new(drop_tail(6)), PerFlow),
        ("pias", pias(), Box::new(bands(8, 4)), PerFlow),
    ];
    for (name, protocol, queue, path) in runs {
        let record = complete(with(Fallback::DaisyChain, setup(fat_tree(4), queue, protocol, path, crowd())));
        assert!(record.conservation.dropped + record.conservation.trimmed > 100, "{name}: nothing was lost");
        let chains = record.flows.iter().filter(|f| f.mode == "one_to_many");
        assert_eq!(chains.filter(|f| f.end.is_some()).count(), 24, "{name}");
    }
}

#[test]
fn parts_add_up_to_the_object() {
    for (protocol, payload) in [(ndp(12), NDP_PAYLOAD), (plain_tcp(|_| {}), MSS)] {
        for size in [1, 2, 3, 4, 1_000_003] {
            let run = setup(star(4), drop_tail(1000), protocol.clone(), Single, vec![read(size, &[1, 2, 3], 0)]);
            let record = complete(with(Fallback::Partition, run));
            let [flow] = &record.flows[..] else { panic!("one receiver, one row") };
            assert_eq!((flow.size_bytes, flow.src_host), (size, 1));
            // The parts differ by one byte at most.
            let part = |i: u64| size * (i + 1) / 3 - size * i / 3;
            let packets = |i| part(i).div_ceil(payload);
            assert_eq!(flow.packets_sent, (0..3).map(packets).sum::<u64>(), "{size} B");
            for (i, host) in (0..3).zip(["h1", "h2", "h3"]) {
                let uplink = record.links.iter().find(|l| l.src == host).expect("an uplink");
                assert_eq!(uplink.packets > 0, part(i) > 0, "{host} has {} B to send", part(i));
            }
        }
    }
}

/// Three uplinks of 300 Mbit/s feed a downlink of 1 Gbit/s: the parts arrive side by side.
#[test]
fn parts_travel_at_once() {
    let mut graph = star(4);
    (1..4).for_each(|h| graph.links[h].rate = Rate::from_mbps(300));
    let size = 300 * NDP_PAYLOAD;
    let run = |fallback| {
        let run = setup(graph.clone(), drop_tail(100), ndp(12), Single, vec![read(size, &[1, 2, 3], 0)]);
        fct(&complete(with(fallback, run)), 0)
    };
    let ends = FULL + DELAY + DELAY;
    assert_eq!(run(Fallback::Nearest), us(40) * 300 + ends);
    // The last packets of all three are at the switch at the same time.
    assert_eq!(run(Fallback::Partition), us(40) * 100 + ends + FULL * 2);
}

/// A group of two is none: it has unicast's window and paths.
#[test]
fn one_sender_and_one_receiver_are_unicast() {
    let time = |session: Session| {
        let record = complete(setup(fat_tree(4), mlfq_trim(20), scdp(12), PerPacket, vec![session]));
        let up = record.links.iter().filter(|l| l.src.starts_with("agg0") && l.dst.starts_with("core"));
        assert_eq!(up.filter(|l| l.packets > 0).count(), 4, "sprayed over all cores");
        fct(&record, 0)
    };
    let size = 200 * NDP_PAYLOAD;
    let alone = time(unicast(0, 15, size));
    assert_eq!(time(write(size, &[15])), alone);
    assert_eq!(time(read(size, &[0], 15)), alone);
}

/// A read is answered by a replica in the client's rack, or else by a random one: whatever the transport, the same.
#[test]
fn the_nearest_is_in_the_rack_or_random() {
    // Two hosts to a rack, four to a pod: host 1 is in the rack of host 0, hosts 2 and 3 are in its pod.
    let reads = || -> Vec<Session> {
        let near = (0..20).map(|_| read(3_000, &[8, 1, 2], 0));
        near.chain((0..120).map(|_| read(3_000, &[2, 8, 12], 0))).collect()
    };
    let sources = |protocol, seed| {
        let run = setup(fat_tree(4), drop_tail(1000), protocol, PerFlow, reads());
        let record = complete(Setup { seed, ..run });
        record.flows.iter().map(|f: &FlowRow| f.src_host).collect::<Vec<_>>()
    };
    let chosen = sources(ndp(12), 1);
    assert!(chosen[..20].iter().all(|&s| s == 1));
    let mut counts = BTreeMap::new();
    chosen[20..].iter().for_each(|s| *counts.entry(*s).or_insert(0) += 1);
    // Host 2 has the shortest way, and gets no more for it.
    assert_eq!(counts.keys().copied().collect::<Vec<u32>>(), [2, 8, 12]);
    assert!(counts.values().all(|n| (22..60).contains(n)), "{counts:?}");
    assert_eq!(chosen, sources(pias(), 1));
    assert_eq!(chosen, sources(plain_tcp(|_| {}), 1));
    assert_ne!(chosen, sources(ndp(12), 2));
}

const STORAGE: &str = r#"
[fabric]
topology = "fat-tree"
k = 6
[transport]
name = "ndp"
[[workload]]
name = "write"
arrivals = { law = "poisson", rate = 2000 }
sizes = { law = "pareto", shape = 1.5, min = "10KB", max = "1MB" }
placement = { pattern = "replicas", replicas = 3, policy = "remote" }
sessions = 60
[[workload]]
name = "read"
arrivals = { law = "poisson", rate = 2000 }
sizes = { law = "fixed", size = "100KB" }
placement = { pattern = "replicas", replicas = 3, access = "read", blocks = 3 }
sessions = 60
"#;

fn sessions(overrides: &[&str]) -> Vec<Session> {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    let plan = scenario::parse("test.toml", STORAGE, &overrides).unwrap_or_else(|e| panic!("{e}"));
    plan.prepare(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}")).sessions
}

#[test]
fn a_seed_asks_for_the_same_whatever_carries_it() {
    let asked = sessions(&[]);
    assert_eq!(asked.iter().map(|s| s.request).collect::<BTreeSet<_>>().len(), 60 + 20);
    for transport in ["scdp", "polyraptor", "ndp+", "pias", "cubic"] {
        assert_eq!(asked, sessions(&[&format!("transport.name={transport}")]));
    }
    for (write, read) in [("daisy-chain", "partition"), ("multi-unicast", "nearest")] {
        let write = format!("workload.write.fallback={write}");
        let read = format!("workload.read.fallback={read}");
        assert_eq!(asked, sessions(&[&write, &read]));
    }
    assert_ne!(asked, sessions(&["seed=2"]));
}

#[test]
fn a_fallback_for_the_other_mode_is_an_error() {
    let error = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
        scenario::parse("test.toml", STORAGE, &overrides).expect_err("a mistake").to_string()
    };
    let text = error(&["workload.write.fallback=nearest"]);
    assert!(text.contains("workload[0].fallback: is for many_to_one sessions; these are one_to_many"), "{text}");
    assert!(text.contains("daisy-chain"), "{text}");
    assert!(error(&["workload.write.placement.blocks=2"]).contains("only reads fetch several blocks"));
}

/// A short flow meets two long ones at the bottleneck, PIAS's case: its packets go first.
#[test]
fn pias_lets_short_flows_pass_long_ones() {
    // Off the beat of the long flow's packets: simultaneous events have no order to rely on.
    let start = at(60_000) + Duration::from_ns(3_210);
    let short = |queue: Queues, protocol| {
        let long = |from| unicast(from, 0, 10_000_000);
        let short = Session { start, ..unicast(2, 0, 6 * MSS) };
        let record = complete(setup(star(4), queue, protocol, PerFlow, vec![long(1), long(3), short]));
        fct(&record, 2)
    };
    // A handshake, then six packets in one window, each of which may find one of a long flow on the wire.
    let idle = (Duration::from_ns(320) + DELAY) * 4 + FULL * 7 + DELAY * 2;
    let tagged = short(Box::new(bands(100, 20)), pias());
    assert!(tagged <= idle + FULL * 3, "{tagged} of {idle}");
    let untagged = short(Box::new(ecn(100, 20)), plain_tcp(|c| (c.congestion, c.handshake) = (Algorithm::Dctcp, true)));
    assert!(untagged > idle + FULL * 20, "{untagged} of {idle}");
}
