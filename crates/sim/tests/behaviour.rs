//! The phenomena that the field knows, each in its smallest setting.

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::jitter::Jitter;
use anabranch_sim::fabric::queue::Queue;
use anabranch_sim::fabric::queue::express::Express;
use anabranch_sim::fabric::routing::RoutingMode::{PerPacket, Single};
use anabranch_sim::fabric::topology::{BCube, DCell, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::{LinkRow, RunRecord};
use anabranch_sim::network::{Change, Ending, Network, Sampling, Setup, Stop, Target};
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::ndp::NdpConfig;
use anabranch_transport::tcp::Algorithm::{Dctcp, NewReno as Newreno};
use anabranch_transport::tcp::TcpConfig;
use anabranch_transport::{Bytes, Duration, Time};
use std::path::Path;

fn incast(senders: u32, bytes: u64) -> Vec<Session> {
    (1..=senders).map(|h| unicast(h, 0, bytes)).collect()
}

/// The link into host `h` of a star.
fn downlink(record: &RunRecord, h: u32) -> &LinkRow {
    record.links.iter().find(|l| l.dst == format!("h{h}")).expect("every host has a downlink")
}

fn last_end(record: &RunRecord) -> Duration {
    record.flows.iter().map(|f| f.end.expect("complete").since(Time::ZERO)).max().expect("there are flows")
}

#[test]
fn two_long_dctcp_flows_keep_the_queue_near_k() {
    let endless = |source| Session { size: None, ..unicast(source, 0, 0) };
    let mut s = setup(star(3), ecn(250, 20), tcp(Dctcp), Single, vec![endless(1), endless(2)]);
    s.sampling = Sampling { interval: Duration::from_us(100), queues: true, ..Sampling::default() };
    s.time_limit = at(200_000);
    let record = run(s);
    let port = downlink(&record, 0).link;
    let lengths: Vec<f64> = record
        .series
        .iter()
        .filter(|s| s.metric == "queue_packets" && s.id == port && s.time > Duration::from_ms(50).ps())
        .map(|s| s.value)
        .collect();
    assert!(lengths.len() > 1400, "the queue hardly ever drains: {}", lengths.len());
    let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
    let max = lengths.iter().fold(0.0_f64, |a, &b| a.max(b));
    assert!((14.0..26.0).contains(&mean), "mean queue {mean} packets with K = 20");
    assert!(max < 40.0, "longest queue {max} packets with K = 20");
    assert_eq!(downlink(&record, 0).dropped, 0);
    assert!(downlink(&record, 0).utilisation > 0.98);
}

#[test]
fn newreno_fills_the_buffer_that_dctcp_leaves_empty() {
    let endless = |source| Session { size: None, ..unicast(source, 0, 0) };
    let wide = Protocol::Tcp(TcpConfig { receive_window: Bytes(1_000_000), ..TcpConfig::default() });
    let mut s = setup(star(3), drop_tail(100), wide, Single, vec![endless(1), endless(2)]);
    s.time_limit = at(300_000);
    let record = run(s);
    assert!(downlink(&record, 0).dropped > 0);
    assert_eq!(downlink(&record, 0).queue_max_packets, 100);
}

#[test]
fn tcp_incast_collapses_with_a_long_timeout_and_recovers_with_a_short_one() {
    let goodput = |rto_min| {
        // SYNs are lost too: without a first sample the initial timeout would hide the minimum.
        let config = TcpConfig { congestion: Newreno, rto_min, rto_initial: rto_min, ..TcpConfig::default() };
        let record = complete(setup(star(33), drop_tail(20), Protocol::Tcp(config), Single, incast(32, 64_000)));
        32.0 * 64_000.0 * 8.0 / last_end(&record).as_secs_f64() / 1e9
    };
    let (long, short) = (goodput(Duration::from_ms(200)), goodput(Duration::from_ms(1)));
    assert!(long < 0.2, "200 ms: {long} Gbps");
    assert!(short > 5.0 * long, "1 ms: {short} Gbps, 200 ms: {long} Gbps");
}

#[test]
fn receiver_driven_incast_keeps_the_downlink_busy() {
    for (name, protocol) in [("ndp", ndp(12)), ("scdp", scdp(12))] {
        let queue = trim(8);
        let record = complete(setup(star(101), queue, protocol, Single, incast(100, 200_000)));
        let ideal = 100.0 * 200_000.0 * 8.0 / 1e9;
        let took = last_end(&record).as_secs_f64();
        assert!(took < 1.15 * ideal, "{name}: {took} s against {ideal} s of pure payload");
    }
}

#[test]
fn outcast_starves_the_near_flow_under_tcp_and_not_under_scdp() {
    // One flow enters the switch alone, twelve share the other input port: port blackout hits the lone one.
    let near_to_far = |protocol: Protocol, scdp: bool| {
        use anabranch_sim::fabric::graph::{Graph, Level, Link, Node};
        let hosts = 14;
        let mut graph = Graph { hosts, ..Graph::default() };
        for h in 0..hosts {
            graph.nodes.push(Node { name: format!("h{h}"), level: Level::Host, pod: None });
        }
        for s in 0..2 {
            graph.nodes.push(Node { name: format!("s{s}"), level: Level::Edge, pod: None });
        }
        let link = |a, b| Link { a, b, rate: GBPS, delay: DELAY };
        graph.links.push(link(0, hosts));
        graph.links.push(link(1, hosts));
        graph.links.extend((2..hosts).map(|h| link(h, hosts + 1)));
        graph.links.push(link(hosts, hosts + 1));
        let sessions: Vec<_> = (1..hosts).map(|h| Session { size: None, ..unicast(h, 0, 0) }).collect();
        let mut s = if scdp {
            setup(graph, mlfq_trim(20), protocol, Single, sessions)
        } else {
            setup(graph, drop_tail(20), protocol, Single, sessions)
        };
        s.time_limit = at(1_000_000);
        // Hosts are not clockwork: in lockstep, whose packets find a full queue is a matter of phase alone.
        s.host_jitter = Jitter::Time(Duration::from_us(1));
        let record = run(s);
        let rates: Vec<f64> = record.flows.iter().map(|f| f.size_bytes as f64).collect();
        rates[0] / (rates[1..].iter().sum::<f64>() / 12.0)
    };
    let quick = Protocol::Tcp(TcpConfig { rto_initial: Duration::from_ms(200), ..TcpConfig::default() });
    let tcp_share = near_to_far(quick, false);
    let scdp_share = near_to_far(scdp(12), true);
    assert!(tcp_share < 0.7, "the near TCP flow gets {tcp_share} of a far one");
    assert!((0.9..1.1).contains(&scdp_share), "the near SCDP flow gets {scdp_share} of a far one");
}

#[test]
fn one_to_many_sends_each_symbol_once_on_each_link_of_the_tree() {
    let session = Session { mode: Mode::OneToMany, sinks: vec![1, 2, 3].into(), ..unicast(0, 1, 1436 * 300) };
    let record = complete(setup(star(5), mlfq_trim(20), scdp(12), Single, vec![session]));
    let uplink = record.links.iter().find(|l| l.src == "h0").expect("h0 has an uplink");
    assert_eq!(uplink.packets, 300);
    for h in 1..4 {
        assert_eq!(downlink(&record, h).packets, 300);
    }
    assert_eq!(downlink(&record, 4).packets, 0);
    assert_eq!(record.conservation.replicated, 600);
    assert!(record.flows.iter().all(|f| f.end.is_some() && !f.decoded));
}

#[test]
fn many_to_one_fills_the_downlink_from_all_sources() {
    let session = Session { mode: Mode::ManyToOne, sources: vec![1, 2, 3].into(), ..unicast(1, 0, 1436 * 3000) };
    let record = complete(setup(star(4), mlfq_trim(20), scdp(12), Single, vec![session]));
    let shares: Vec<u64> =
        (1..4).map(|h| record.links.iter().find(|l| l.src == format!("h{h}")).expect("uplink").packets).collect();
    assert!(shares.iter().all(|&s| s > 800), "each sends about a third: {shares:?}");
    assert!(shares.iter().sum::<u64>() < 3100);
}

#[test]
fn a_cut_link_is_survived() {
    for (name, protocol) in [("tcp", tcp(Newreno)), ("ndp", ndp(12)), ("scdp", scdp(12))] {
        // Two spines; the first loses its link to the receiver's leaf while packets are on their way.
        use anabranch_sim::fabric::graph::{Graph, Level, Link, Node};
        let mut graph = Graph { hosts: 2, ..Graph::default() };
        for name in ["h0", "h1", "leaf0", "leaf1", "spine0", "spine1"] {
            let level = if name.starts_with('h') { Level::Host } else { Level::Edge };
            graph.nodes.push(Node { name: name.to_owned(), level, pod: None });
        }
        for (a, b) in [(0, 2), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5)] {
            graph.links.push(Link { a, b, rate: GBPS, delay: DELAY });
        }
        let mut s = setup(graph, mlfq_trim(20), protocol, PerPacket, vec![unicast(0, 1, 1_000_000)]);
        s.changes = vec![cut(4, at(2_000))];
        let record = complete(s);
        assert!(record.conservation.dropped > 0, "{name}: packets were on the link");
    }
}

#[test]
fn a_group_opened_while_a_link_is_down_finishes_after_its_repair() {
    let session = Session { start: at(100), mode: Mode::OneToMany, sinks: vec![1, 2].into(), ..unicast(0, 1, 100_000) };
    let mut s = setup(star(3), mlfq_trim(20), scdp(12), Single, vec![session]);
    s.changes = vec![cut(2, at(50)), (at(5_000), Change::Restore(Target::Link(2)))];
    let record = complete(s);
    assert!(record.flows[1].end > Some(at(5_000)));
}

#[test]
fn a_run_that_cannot_finish_says_who_waits() {
    let mut s = setup(star(2), drop_tail(20), tcp(Newreno), Single, vec![unicast(0, 1, 1_000_000)]);
    s.changes = vec![cut(1, at(100))];
    s.stop = Stop::Foreground;
    let record = run(s);
    let text = format!("{:?}", record.ending);
    assert!(text.contains("session 0 (h0 -> h1)"), "{text}");
}

#[test]
fn flows_that_stop_share_the_link_while_they_last() {
    let flow = |source: u32, start_us| Session { size: None, start: at(start_us), ..unicast(source, 0, 0) };
    let sessions = vec![flow(1, 0), flow(2, 20_000), flow(3, 40_000)];
    let mut s = setup(star(4), trim(20), ndp(12), PerPacket, sessions);
    s.stop = Stop::Foreground;
    s.groups[0].duration = Some(Duration::from_ms(60));
    s.sampling = Sampling { interval: Duration::from_ms(10), goodput: true, ..Sampling::default() };
    let record = complete(s);
    assert_eq!(record.simulated, at(100_000), "the last flow stops 60 ms after its start");
    assert!(record.flows.iter().all(|f| f.end == Some(f.start + Duration::from_ms(60))));
    let goodput = |session: u32, time_ms: u64| {
        let sample = record.series.iter().find(|s| s.id == session && s.time == Duration::from_ms(time_ms).ps());
        sample.map_or(0.0, |s| s.value)
    };
    // One of 1436 bytes in 1500 is payload. Alone, then two, then three, then two again, then alone.
    let link = 1e9 * 1436.0 / 1500.0;
    for (time_ms, session, share) in [(20, 0, 1.0), (40, 1, 0.5), (60, 2, 1.0 / 3.0), (80, 1, 0.5), (90, 2, 1.0)] {
        let found = goodput(session, time_ms) / link;
        assert!((found / share - 1.0).abs() < 0.15, "flow {session} at {time_ms} ms: {found} of the link");
    }
    // The run ends with the last flow, before the sample of that time.
    for (i, flow) in record.flows.iter().enumerate().take(2) {
        let sampled: f64 = record.series.iter().filter(|s| s.id == i as u32).map(|s| s.value * 0.01 / 8.0).sum();
        assert!((sampled - flow.size_bytes as f64).abs() < 1.0, "samples add up to what was delivered");
    }
}

#[test]
fn a_run_waits_for_small_objects_only() {
    let sessions = vec![unicast(1, 0, 50_000_000), unicast(2, 0, 100_000)];
    let mut s = setup(star(3), mlfq_trim(20), scdp(12), PerPacket, sessions);
    s.stop = Stop::Foreground;
    let all = complete(setup(star(3), mlfq_trim(20), scdp(12), PerPacket, s.sessions.clone()));
    s.groups[0].awaited_size = Bytes(1_000_000);
    let mut network = Network::new(s);
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete);
    assert!(record.flows[0].end.is_none());
    assert_eq!(record.flows[1], all.flows[1], "what it waits for is as in a run that waits for all");
}

/// A fabric of hosts that relay.
fn built(fabric: &TopologyConfig) -> Graph {
    fabric.build(Path::new("")).expect("the fabric is possible")
}

#[test]
fn pulls_are_paced_at_the_link_that_the_packets_come_by() {
    // Three senders of the receiver's own rack: all packets arrive on one of its two links, and its pulls must not ask
    // for what two could carry.
    let bcube = built(&TopologyConfig::BCube(BCube { n: 4, k: 1, rate: GBPS, delay: DELAY }));
    let trimmed = |graph| {
        let record = complete(setup(graph, mlfq_trim(20), scdp(12), PerPacket, incast(3, 3_000_000)));
        let ideal = 9e6 * 8.0 / 1e9;
        assert!(last_end(&record).as_secs_f64() < 1.1 * ideal);
        record.flows.iter().map(|f| f.packets_trimmed).sum::<u64>() as f64
    };
    let (one_link, two_links) = (trimmed(star(4)), trimmed(bcube));
    assert!((0.8..1.25).contains(&(two_links / one_link)), "{two_links} trimmed, {one_link} with one link");
}

#[test]
fn a_session_that_changes_interfaces_keeps_its_turns_to_pull() {
    let bcube = built(&TopologyConfig::BCube(BCube { n: 4, k: 1, rate: GBPS, delay: DELAY }));
    let hosts = bcube.hosts;
    let one = (1..hosts).map(|h| unicast(h, 0, 143_600));
    let all = (1..hosts).filter(|h| (h + 5) % hosts != *h).map(|h| unicast(h, (h + 5) % hosts, 300_000));
    let record = complete(setup(bcube, mlfq_trim(20), scdp(12), PerPacket, one.chain(all).collect()));
    assert_eq!(record.flows.iter().map(|f| f.timeouts).sum::<u64>(), 0);
}

#[test]
fn a_host_shares_its_link_with_what_it_relays() {
    // DCell_1 of 2: host 0 reaches host 3 by host 2, which sends to host 3 itself.
    let dcell = built(&TopologyConfig::DCell(DCell { n: 2, k: 1, rate: GBPS, delay: DELAY }));
    let endless = |source| Session { size: None, ..unicast(source, 3, 0) };
    for (protocol, path) in [(tcp(Dctcp), Single), (scdp(12), PerPacket), (ndp(12), PerPacket)] {
        let queue = ecn(100, 20);
        let mut s = setup(dcell.clone(), queue, protocol.clone(), path, vec![endless(0), endless(2)]);
        s.time_limit = at(100_000);
        let record = run(s);
        let bits: Vec<f64> = record.flows.iter().map(|f| f.size_bytes as f64 * 8.0).collect();
        assert!(bits.iter().all(|b| (0.4..0.6).contains(&(b / 0.1e9))), "{protocol:?}: {bits:?}");
        assert!(downlink(&record, 3).utilisation > 0.95);
    }
}

#[test]
fn pulls_that_are_too_fast_fill_the_queue_and_slow_ones_waste_the_link() {
    let paced = |pull_pace: f64| {
        let mut s = setup(star(5), trim(20), ndp(12), PerPacket, incast(4, 3_750_000));
        s.pull_pace = pull_pace;
        let record = complete(s);
        let trimmed = record.flows.iter().map(|f| f.packets_trimmed).sum::<u64>();
        (trimmed as f64, last_end(&record).as_secs_f64())
    };
    // Four windows are more than the path and the queue hold; then the pulls keep the pace.
    let (first, ideal) = paced(1.0);
    assert!(first < 48.0, "{first}");
    // 15 MB are some 10 450 packets: the link cannot carry 3 % of what is asked for.
    let (excess, same) = paced(1.03);
    assert!((250.0..380.0).contains(&excess), "{excess}");
    assert!((same / ideal - 1.0).abs() < 0.02, "{same} {ideal}");
    let (few, slow) = paced(0.8);
    assert!(few < 48.0 && (slow / ideal - 1.25).abs() < 0.01, "{few} {slow} {ideal}");
}

#[test]
fn pushed_windows_that_go_first_are_never_trimmed_and_wait_for_nobody() {
    // One long object, and ten of one initial window that meet it.
    let sessions = || {
        let short = |host| Session { start: at(2_000), ..unicast(host, 0, 17_000) };
        std::iter::once(unicast(11, 0, 2_000_000)).chain((1..=10).map(short)).collect::<Vec<_>>()
    };
    for protocol in [ndp(12), scdp(12)] {
        let last = |record: &RunRecord| {
            let short = record.flows.iter().filter(|f| f.size_bytes == 17_000);
            short.map(|f| f.end.expect("complete").since(f.start)).max().expect("there are short flows")
        };
        let plain = complete(setup(star(12), trim(8), protocol.clone(), PerPacket, sessions()));
        let inner = trim(8);
        let first = move |port| Queue::Express(Box::new(Express::new(inner(port))));
        let express = complete(setup(star(12), first, protocol, PerPacket, sessions()));
        let trimmed =
            |r: &RunRecord| r.flows.iter().filter(|f| f.size_bytes == 17_000).map(|f| f.packets_trimmed).sum();
        let counts: (u64, u64) = (trimmed(&plain), trimmed(&express));
        assert!(counts.0 > 50 && counts.1 == 0, "{counts:?}");
        // 120 packets of 12 us, and less than 100 us to get there.
        assert!(last(&express) < Duration::from_us(120 * 12 + 100), "{:?}", last(&express));
        assert!(last(&plain) > last(&express), "{:?}", last(&plain));
    }
}

#[test]
fn pulls_by_priority_let_a_short_object_pass_long_ones() {
    // Eight long objects share the link; one of 60 KB, five windows, comes later.
    let sessions = || {
        let short = Session { start: at(10_000), ..unicast(9, 0, 60_000) };
        (1..=8).map(|host| unicast(host, 0, 3_000_000)).chain([short]).collect::<Vec<_>>()
    };
    let thresholds = vec![Bytes(10_000), Bytes(100_000), Bytes(1_000_000)];
    let ndp_plus = NdpConfig { priority_thresholds: thresholds, ..NdpConfig::default() };
    for protocol in [scdp(12), Protocol::Ndp(ndp_plus)] {
        let completed = |pulls_by_priority| {
            let run = setup(star(10), mlfq_trim(20), protocol.clone(), PerPacket, sessions());
            let record = complete(Setup { pulls_by_priority, ..run });
            let short = record.flows.iter().find(|f| f.size_bytes == 60_000).expect("the short one");
            (short.end.expect("complete").since(short.start), last_end(&record))
        };
        let ((in_turns, all), (first, same)) = (completed(false), completed(true));
        // 42 packets of 12 us alone on the link, against one in nine of it beyond the first window.
        assert!(in_turns > Duration::from_ms(2) && first < Duration::from_us(800), "{in_turns:?} {first:?}");
        let ratio = same.as_secs_f64() / all.as_secs_f64();
        assert!((ratio - 1.0).abs() < 0.02, "the link is as busy as ever: {all:?} {same:?}");
    }
}
