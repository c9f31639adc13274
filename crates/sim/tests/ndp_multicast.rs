//! NDP without codes for several receivers or from several senders, beside SCDP: 4 MB, three replicas, in a fat tree of 1 Gbps (SCDP §I, §V-A).

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode::PerPacket;
use anabranch_sim::fabric::topology::{FatTree, Layers, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Change, Ending, Fallback, Network, Setup, Straggler, Target};
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::ndp::{Multicast, NdpConfig};
use anabranch_transport::{Duration, Rate};
use std::path::Path;

const SIZE: u64 = 4_000_000;
/// Packets that fill the longest path.
const WINDOW: u32 = 20;
/// The replicas, in three pods.
const REPLICAS: [u32; 3] = [5, 9, 13];

fn fat_tree() -> Graph {
    let config = FatTree { k: 4, rate: GBPS, delay: DELAY, layers: Layers::default() };
    TopologyConfig::FatTree(config).build(Path::new("")).expect("the fabric is possible")
}

fn multicast(multicast: Multicast) -> Protocol {
    Protocol::Ndp(NdpConfig { initial_window: WINDOW, multicast: Some(multicast), ..NdpConfig::default() })
}

fn write() -> Session {
    Session { mode: Mode::OneToMany, sinks: (&REPLICAS[..]).into(), ..unicast(0, 1, SIZE) }
}

fn read() -> Session {
    Session { mode: Mode::ManyToOne, sources: (&REPLICAS[..]).into(), ..unicast(5, 0, SIZE) }
}

/// What the payload takes at 1 Gbps, with NDP's headers, which are SCDP's.
fn payload(bytes: u64) -> Duration {
    Duration(FULL.ps() * bytes.div_ceil(1436))
}

fn link_of(graph: &Graph, host: u32) -> u32 {
    (0..graph.ports()).find(|&port| graph.port_owner(port) == host).expect("it has one") / 2
}

/// A run with some links slower, and besides the session others between hosts of their own.
fn record(protocol: Protocol, sessions: Vec<Session>, slow: Option<(u32, u64)>, fallback: Fallback) -> RunRecord {
    let mut setup = setup(fat_tree(), mlfq_trim(8), protocol, PerPacket, sessions);
    setup.groups[0].fallback = Some(fallback);
    let graph = std::sync::Arc::clone(&setup.graph);
    let slower = |(host, mbps)| (at(0), Change::Rate(Target::Link(link_of(&graph, host)), Rate::from_mbps(mbps)));
    let changes = slow.map(slower);
    complete(Setup { changes: changes.into_iter().collect(), ..setup })
}

/// The times of the session's rows.
fn times(record: &RunRecord, rows: usize) -> Vec<Duration> {
    (0..rows).map(|row| fct(record, row)).collect()
}

fn writes(protocol: Protocol, slow: Option<(u32, u64)>) -> Vec<Duration> {
    times(&record(protocol, vec![write()], slow, Fallback::MultiUnicast), 3)
}

fn within(time: Duration, least: Duration, most: f64) -> bool {
    time >= least && (time.ps() as f64) < least.ps() as f64 * most
}

#[test]
fn on_an_idle_fabric_a_multicast_write_takes_as_long_as_to_one_and_three_connections_three_times() {
    for protocol in [multicast(Multicast::RepeatToAll), multicast(Multicast::RepeatToOne), scdp(WINDOW)] {
        let took = writes(protocol, None);
        assert!(took.iter().all(|&took| within(took, payload(SIZE), 1.02)), "{took:?}");
    }
    let apart = writes(ndp(WINDOW), None);
    assert!(apart.iter().all(|&took| within(took, payload(SIZE) * 29 / 10, 1.06)), "{apart:?}");
}

#[test]
fn a_packet_for_all_crosses_each_link_once() {
    let record = record(multicast(Multicast::RepeatToAll), vec![write()], None, Fallback::MultiUnicast);
    let packets = SIZE.div_ceil(1436);
    assert_eq!((record.flows[0].packets_sent, record.flows[0].packets_retransmitted), (packets, 0));
    let up = record.links.iter().find(|link| link.src == "h0").expect("host 0 has an uplink");
    assert_eq!(up.packets, packets);
}

/// All go at the pace of the slowest, in SCDP as in NDP, unless it detaches stragglers. Three connections do not: they share the sender's link until the
/// fast ones are done.
#[test]
fn a_slow_receiver_holds_up_the_others_of_its_group() {
    let slow = Some((9, 250));
    for protocol in [multicast(Multicast::RepeatToAll), multicast(Multicast::RepeatToOne), scdp(WINDOW)] {
        let took = writes(protocol, slow);
        assert!(within(took[1], payload(SIZE) * 4, 1.12), "{took:?}");
        assert!([took[0], took[2]].iter().all(|&took| within(took, payload(SIZE) * 39 / 10, 1.15)), "{took:?}");
    }
    let apart = writes(ndp(WINDOW), slow);
    assert!([apart[0], apart[2]].iter().all(|&took| took < payload(SIZE) * 3), "{apart:?}");
}

/// Packets that are on their way to it then time out one after the other.
#[test]
fn the_others_go_on_without_a_receiver_whose_link_fails() {
    for protocol in [multicast(Multicast::RepeatToAll), multicast(Multicast::RepeatToOne)] {
        let graph = fat_tree();
        let changes = vec![cut(link_of(&graph, REPLICAS[1]), at(10_000))];
        let setup = setup(graph, mlfq_trim(8), protocol, PerPacket, vec![write()]);
        let mut network = Network::new(Setup { changes, ..setup });
        let ending = network.run(|_| true);
        let record = RunRecord::take(&mut network, ending);
        assert_eq!((&record.ending, record.flows[1].end), (&Ending::Complete, None));
        assert_eq!([0, 1, 2].map(|row| record.flows[row].straggler), [None, Some(Straggler::Dropped), None]);
        // Half of what it would take them to give up the sender: 1000 pauses of 8 ms and more.
        let wait = [0, 2].map(|row| fct(&record, row) - payload(SIZE));
        assert!(wait.iter().all(|&wait| wait > ms(3900) && wait < ms(4700)), "{wait:?}");
    }
}

/// Other flows to each receiver, so that each loses other packets. Without codes each loss is sent again, and with them any symbol makes up for any.
#[test]
fn what_each_has_lost_for_itself_is_sent_again_and_with_codes_nothing_is() {
    let busy = |protocol| {
        let mut sessions = vec![write()];
        for (n, &sink) in (0..).zip(&REPLICAS) {
            sessions.extend((1..4).map(|k| unicast(4 * k + n % 3 + u32::from(4 * k + n % 3 == sink), sink, 400_000)));
        }
        record(protocol, sessions, None, Fallback::MultiUnicast)
    };
    let [all, one, codes] =
        [multicast(Multicast::RepeatToAll), multicast(Multicast::RepeatToOne), scdp(WINDOW)].map(busy);
    let last = |record: &RunRecord| times(record, 3).into_iter().max().expect("three rows");
    let again = |record: &RunRecord| record.flows[0].packets_retransmitted;
    assert!(again(&all) > 0 && again(&one) > 0 && again(&codes) == 0);
    // What codes save here is little: most of what a group saves, multicast does (SCDP §V-A says so, too).
    let times = [&all, &one, &codes].map(|record| last(record).ps() as f64);
    assert!(times[0] > times[2] && times[0] < 1.1 * times[2] && (times[1] / times[2] - 1.0).abs() < 0.05, "{times:?}");
}

#[test]
fn a_slow_sender_holds_up_a_partitioned_read_and_with_codes_the_others_make_up_for_it() {
    let reads = |protocol, slow| times(&record(protocol, vec![read()], slow, Fallback::Partition), 1)[0];
    // A window for all three together fills the path.
    for protocol in [ndp(7), scdp(7)] {
        let took = reads(protocol, None);
        assert!(within(took, payload(SIZE), 1.02), "{took}");
    }
    let slow = Some((9, 100));
    // A third of the object at a tenth of the rate.
    let parts = reads(ndp(7), slow);
    let full = SIZE / 3 / 1436 * 1436;
    assert!(within(parts, payload(full) * 10, 1.02), "{parts}, not {}", payload(full) * 10);
    // What is decoded takes time, too.
    let codes = reads(scdp(7), slow);
    assert!(within(codes, payload(SIZE), 1.3), "{codes}, not {}", payload(SIZE));
}
