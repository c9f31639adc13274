//! Swift: round trips stay at their target, whether one flow or a thousand share a link of 10 Gbps, whose windows then are below one packet.

use crate::common::{at, chain, complete, drop_tail, run, setup, star, unicast, us};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::network::{Sampling, Setup, Stop};
use anabranch_sim::workload::Session;
use anabranch_transport::tcp::{SwiftConfig, TcpConfig};
use anabranch_transport::{Bytes, Rate};

/// Of a packet of 1500 B 1460 are the application's.
const PAYLOAD_GBPS: f64 = 10.0 * 1460.0 / 1500.0;
/// The round trip without queues: four links of 1 us, the packet at 40 and at 10 Gbps, and 40 B at 10 and at 40 Gbps.
const BASE_US: f64 = 4.0 + 0.3 + 1.2 + 0.032 + 0.008;
const MOST_SENDERS: u32 = 100;

/// Hosts at 40 Gbps over links of 1 us, host 0 at 10 Gbps.
fn fabric(hosts: u32) -> Graph {
    let mut graph = star(hosts);
    graph.links.iter_mut().for_each(|link| (link.rate, link.delay) = (Rate::from_gbps(40), us(1)));
    graph.links[0].rate = Rate::from_gbps(10);
    graph
}

fn swift(config: &SwiftConfig) -> Protocol {
    let tcp = TcpConfig { handshake: false, initial_window: 1, receive_window: Bytes(1 << 20), ..TcpConfig::default() };
    Protocol::Tcp(tcp.with_swift(config))
}

/// So many flows without end to host 0, of up to 100 hosts, each of which begins 1 us after the one before. In the second half of a run of
/// 100 ms: the share of the link that is used, the least and the largest flow over the mean, and the mean round trip in us.
fn share(flows: u32, config: &SwiftConfig) -> (f64, [f64; 2], f64) {
    let hosts = flows.min(MOST_SENDERS);
    let session = |n: u32| Session { size: None, start: at(u64::from(n)), ..unicast(1 + n % hosts, 0, 0) };
    let sessions = (0..flows).map(session).collect();
    let (interval, half) = (us(20), us(50_000).ps());
    let record = run(Setup {
        stop: Stop::Limit,
        time_limit: at(100_000),
        sampling: Sampling { interval, queues: true, goodput: true, ..Sampling::default() },
        ..setup(fabric(hosts + 1), drop_tail(2000), swift(config), Single, sessions)
    });
    assert_eq!(record.conservation.dropped, 0);
    let samples = 50_000.0 / 20.0;
    let port = record.links.iter().find(|link| link.dst == "h0").expect("a downlink").link;
    let late = |metric| record.series.iter().filter(move |s| s.metric == metric && s.time > half);
    let mut rates = vec![0.0; flows as usize];
    late("goodput_bps").for_each(|s| rates[s.id as usize] += s.value / samples / 1e9);
    let total: f64 = rates.iter().sum();
    let over_mean = |rate: f64| rate * f64::from(flows) / total;
    let extremes = [rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max)];
    // Bytes at 10 Gbps; what has no sample had an empty queue.
    let queue: f64 = late("queue_bytes").filter(|s| s.id == port).map(|s| s.value * 8.0 / 1e4).sum::<f64>() / samples;
    (total / PAYLOAD_GBPS, extremes.map(over_mean), queue + BASE_US)
}

/// The target of a window of so many packets, over one switch.
fn target(window: f64) -> f64 {
    let scaling = |window: f64| 1.0 / window.sqrt();
    let share = (scaling(window) - scaling(100.0)) / (scaling(0.1) - scaling(100.0));
    20.0 + 3.053 + 100.0 * share.clamp(0.0, 1.0)
}

/// The round trip at which so many flows fill the link with windows that have this target: 10 Gbps are 1500 B in 1.2 us.
fn expected(flows: u32) -> f64 {
    let (mut low, mut high) = (1.0, 1000.0);
    for _ in 0..60 {
        let rtt = f64::midpoint(low, high);
        let over = rtt > target(rtt / 1.2 / f64::from(flows));
        (low, high) = if over { (low, rtt) } else { (rtt, high) };
    }
    low
}

/// SIGCOMM 2020, §3.5 and §3.6.
#[test]
fn round_trips_are_at_their_target_for_one_flow_and_for_a_thousand() {
    for flows in [1, 10, 100, 1000] {
        let (used, extremes, rtt) = share(flows, &SwiftConfig::default());
        let expected = expected(flows);
        println!(
            "{flows} flows: {used:.3} of the link, {extremes:.2?} of the mean, {rtt:.1} us, expected {expected:.1}"
        );
        assert!(used > 0.97, "{flows} flows: {used}");
        // It swings around the target, and more above: each flow adds a packet in a round trip.
        assert!((0.9..1.25).contains(&(rtt / expected)), "{flows} flows: {rtt}, not {expected}");
        // A flow of a thousand sends some forty packets in this time.
        assert!(flows > 100 || extremes[0] > 0.75 && extremes[1] < 1.33, "{flows} flows: {extremes:?}");
    }
}

/// SIGCOMM 2020, §3.5: topology scaling.
#[test]
fn each_switch_adds_to_the_target() {
    for switches in [1, 4] {
        let config =
            SwiftConfig { base_target: us(200), hop_target: us(200), scaling_range: us(0), ..SwiftConfig::default() };
        let endless = Session { size: None, ..unicast(0, 1, 0) };
        let record = run(Setup {
            stop: Stop::Limit,
            time_limit: at(200_000),
            sampling: Sampling { interval: us(100), windows: vec![0], ..Sampling::default() },
            ..setup(chain(switches), drop_tail(2000), swift(&config), Single, vec![endless])
        });
        let late: Vec<f64> = record.series.iter().filter(|s| s.time > us(100_000).ps()).map(|s| s.value).collect();
        // Of the window of payload 1460 B take 12 us at 1 Gbps: so long is the round trip.
        let rtt = late.iter().sum::<f64>() / late.len() as f64 / 1460.0 * 12.0;
        let expected = 200.0 * f64::from(1 + switches);
        println!("{switches} switches: {rtt:.1} us, expected {expected:.1}");
        assert!((rtt / expected - 1.0).abs() < 0.05, "{switches} switches: {rtt}, not {expected}");
    }
}

/// Forty senders, 100 kB each at once: windows that begin at one packet lose nothing in a buffer of 100.
#[test]
fn an_incast_loses_nothing() {
    let sessions = (1..41).map(|host| unicast(host, 0, 100_000)).collect();
    let record = complete(setup(fabric(41), drop_tail(100), swift(&SwiftConfig::default()), Single, sessions));
    let repeated: u64 = record.flows.iter().map(|flow| flow.packets_retransmitted + flow.timeouts).sum();
    let last = record.flows.iter().filter_map(|flow| flow.end).max().expect("flows");
    println!("{} dropped, {repeated} repeated, the last at {last}", record.conservation.dropped);
    assert_eq!((record.conservation.dropped, repeated), (0, 0));
}
