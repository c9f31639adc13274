//! Priority flow control: when a pause is asked for and how long it lasts, whom it hits, that nothing is lost, and deadlocks.

use crate::common::*;
use anabranch_sim::fabric::graph::{Graph, Level, Link, Node};
use anabranch_sim::fabric::pfc::{Pfc, Threshold, headroom};
use anabranch_sim::fabric::queue::Limit;
use anabranch_sim::fabric::queue::{Queue, drop_tail::DropTail, ecn::Ecn};
use anabranch_sim::fabric::routing::RoutingMode;
use anabranch_sim::host::protocol::{Protocol, Transport};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Scheduling, SessionGroup, Setup};
use anabranch_sim::workload::Session;
use anabranch_transport::roce::{Congestion, DcqcnConfig, RoceConfig};
use anabranch_transport::tcp::TcpConfig;
use anabranch_transport::{Bytes, Duration, PriorityBy, Rate, Time, udp};

/// Four packets, and two.
const FIXED: Threshold = Threshold::Fixed { xoff: 6000, xon: 3000 };

fn unlimited(_: u32) -> Queue {
    Queue::DropTail(DropTail::new(Limit::NONE))
}

/// UDP on switches that pause: hosts hand over all that they have at once.
fn paused(graph: Graph, pfc: Pfc, sessions: Vec<Session>) -> Setup {
    let protocol = Protocol::Udp(udp::UdpConfig::default());
    Setup { pfc: Some(pfc), ..setup(graph, unlimited, protocol, RoutingMode::PerFlow, sessions) }
}

fn fixed(priorities: u8) -> Pfc {
    Pfc { priorities, threshold: FIXED, headroom: None }
}

/// So many full packets of UDP.
fn packets(source: u32, sink: u32, count: u64) -> Session {
    let config = udp::UdpConfig::default();
    unicast(source, sink, count * (config.packet.0 - config.header.0))
}

/// Pause frames sent by the port from `src` to `dst`, and for how long it was paused.
fn pauses(record: &RunRecord, src: &str, dst: &str) -> (u64, Duration) {
    let link = record.links.iter().find(|l| (&*l.src, &*l.dst) == (src, dst)).expect("there is such a link");
    (link.pause_frames, Duration::from_ps(link.paused_ps))
}

/// Hosts 1 and 2 send 15 packets each to host 0, at 1 Gbps (12 us a packet) over links of 10 us; host 2 begins 6 us later. Packets of
/// host 1 reach the switch at 22 us + 12 us n, those of host 2 at 28 us + 12 us n, and leave in turns: every 24 us one of each.
fn two_senders() -> Vec<Session> {
    let second = Session { start: at(6), ..packets(2, 0, 15) };
    vec![packets(1, 0, 15), second]
}

#[test]
fn a_pause_comes_with_the_fifth_packet_and_lasts_until_two_are_left() {
    let record = complete(paused(star(3), fixed(1), two_senders()));
    // Of host 2 the ninth packet, at 124 us, is the fifth that waits. The pause frame takes 0.512 us and 10 us; two more packets have left.
    // Eleven have come, one leaves at 34 us + 24 us n: two are left at 226 us. The frame that ends the pause takes as long as the first.
    assert_eq!(pauses(&record, "s0", "h2").0, 2);
    assert_eq!(pauses(&record, "h2", "s0"), (0, us(226) - us(124)));
    // Of host 1 the tenth packet, at 130 us, is the fifth that waits. Twelve have come, one leaves at 46 us + 24 us n: two are left at 238 us.
    assert_eq!(pauses(&record, "s0", "h1").0, 2);
    assert_eq!(pauses(&record, "h1", "s0"), (0, us(238) - us(130)));
    assert_eq!(pauses(&record, "s0", "h0"), (0, Duration::ZERO));
    // Enough is left for the link to host 0 to be busy throughout: 30 packets from 22 us on, and 10 us.
    assert_eq!(record.flows.iter().filter_map(|flow| flow.end).max(), Some(at(22 + 30 * 12 + 10)));
    let down = record.links.iter().find(|l| l.dst == "h0").expect("a downlink");
    // Six wait of host 2 at 148 us, and of host 1 at 154 us, when five of host 2 are left.
    assert_eq!(down.queue_max_packets, 11);
}

#[test]
fn headroom_that_is_too_small_loses_packets_and_they_are_counted() {
    // Six wait of each: four below the threshold, two in headroom.
    for (headroom, lost) in [(3000, 0), (2999, 1)] {
        let pfc = Pfc { headroom: Some(headroom), ..fixed(1) };
        let setup = Setup {
            stop: anabranch_sim::network::Stop::Limit,
            time_limit: at(1000),
            ..paused(star(3), pfc, two_senders())
        };
        let record = run(setup);
        let drops = |src: &str| record.links.iter().find(|l| l.src == src).expect("an uplink").headroom_drops;
        assert_eq!([drops("h1"), drops("h2")], [lost; 2], "{headroom}");
        assert_eq!(record.conservation.dropped, 2 * lost);
    }
}

#[test]
fn a_pause_waits_for_the_packet_that_is_being_sent() {
    // Host 0 sends to host 2 without end: the port to it is busy when the pause is due, at 124 us, and its packets are sent at 22 us + 12 us n.
    let mut sessions = two_senders();
    sessions.push(packets(0, 2, 100));
    let record = complete(paused(star(3), fixed(1), sessions));
    // The frame waits until 130 us, and takes effect at 140.512 us: a twelfth packet has begun at 138 us. Two of twelve are left at 250 us.
    // The first frame has moved the packets by 0.512 us: the second one waits for so long.
    assert_eq!(pauses(&record, "h2", "s0").1, us(250) + Duration::from_ns(512) - us(130));
}

#[test]
fn a_pause_hits_all_packets_of_its_priority_and_no_others() {
    // Host 1 sends much to host 0, which host 2 also does; its ten packets to the idle host 3 wait with the others, or do not.
    let victim = |priorities, priority: bool| {
        let sessions =
            vec![packets(1, 0, 60), packets(2, 0, 60), Session { group: 1, start: at(200), ..unicast(1, 3, 1000) }];
        let base = paused(star(4), fixed(priorities), sessions);
        let (priority_by, priority_thresholds) = (PriorityBy::Size, if priority { vec![Bytes(1)] } else { vec![] });
        let tcp = TcpConfig { handshake: false, priority_by, priority_thresholds, ..TcpConfig::default() };
        let transport = Transport { name: "victim".to_owned(), protocol: Protocol::Tcp(tcp) };
        let groups = vec![base.groups[0].clone(), SessionGroup { transport, ..base.groups[0].clone() }];
        let record = complete(Setup { groups, ..base });
        let flow = record.flows.iter().find(|flow| flow.dst_host == 3).expect("the victim");
        flow.end.expect("complete").since(flow.start)
    };
    // All that host 1 has goes first, in the order in which it was handed over; its link is paused for half of the time.
    let (behind, beside) = (victim(1, false), victim(2, true));
    assert!(behind > us(1000), "{behind}");
    // In the other priority it does not wait for pauses: two links of 20 us, and the packet that is being sent.
    assert!(beside < us(20 + 2 * 9 + 12), "{beside}");
    // Two priorities help only who is in the other one.
    assert_eq!(victim(2, false), behind);
}

#[test]
fn a_pause_ends_when_others_have_left_memory_free() {
    // Ports share 17 000 B, and packets may come again 1500 B below what is free. Hosts 2, 4 and 5 send three packets each to host 3, at 30 Mbps: of
    // these eight wait from 46 us on, and leave at 22 us + 400 us n.
    let mut graph = star(7);
    for (host, mbps) in [(0, 10), (3, 30), (6, 100)] {
        graph.links[host].rate = Rate::from_mbps(mbps);
    }
    let mut sessions: Vec<_> = [2, 4, 5].into_iter().map(|host| packets(host, 3, 3)).collect();
    // Host 1 sends three to host 0, at 10 Mbps. Two of them wait from 146 us on, and the first of these until 1322 us. Then four to host 6, at 100 Mbps.
    // The second of these comes at 170 us and finds 2000 B free, less than 4500: that pauses host 1. Three wait, and leave until 518 us.
    sessions.push(Session { start: at(100), ..packets(1, 0, 3) });
    sessions.push(Session { start: at(101), ..packets(1, 6, 4) });
    let headroom = 7065;
    let threshold = Threshold::Dynamic { memory: 17_000 + 7 * headroom, alpha: 1.0, below: 1500 };
    let pfc = Pfc { priorities: 1, threshold, headroom: Some(headroom) };
    let run = |scheduling| {
        let setup = || Setup { time_limit: at(1000), ..paused(graph.clone(), pfc, sessions.clone()) };
        scheduled(setup(), scheduling)
    };
    let record = run(Scheduling::Events);
    // Host 1 may go on when 3000 B are 1500 B less than what is free: with six packets for host 3, from 822 us on.
    assert_eq!(pauses(&record, "h1", "s0").1, us(822) - us(170));
    assert_same(&record, &run(Scheduling::Windows), "in windows");
}

#[test]
fn an_incast_of_32_loses_nothing() {
    for (pfc, frames) in [
        (fixed(1), true),
        (
            Pfc {
                priorities: 1,
                threshold: Threshold::Dynamic { memory: 1_000_000, alpha: 0.125, below: 3000 },
                headroom: None,
            },
            true,
        ),
        (
            Pfc { priorities: 1, threshold: Threshold::Fixed { xoff: 10_000_000, xon: 9_000_000 }, headroom: None },
            false,
        ),
    ] {
        let sessions = || (1..=32).map(|host| packets(host, 0, 40)).collect::<Vec<_>>();
        let record = complete(paused(star(33), pfc, sessions()));
        assert_eq!(record.conservation.dropped, 0);
        assert!(record.links.iter().all(|link| link.headroom_drops == 0));
        assert_eq!(record.links.iter().any(|link| link.pause_frames > 0), frames);
        // The link to the receiver is busy from the first packet to the last.
        assert_eq!(record.flows.iter().filter_map(|flow| flow.end).max(), Some(at(22 + 32 * 40 * 12 + 10)));
        // The same in windows.
        let in_windows = scheduled(paused(star(33), pfc, sessions()), Scheduling::Windows);
        assert_same(&record, &in_windows, "in windows");
    }
}

/// Host 0 sends to host 1 over so many switches, and so does host 2, which is at the last one.
fn line_with_a_rival(switches: u32) -> Graph {
    let mut graph = chain(switches);
    let host = |node: u32| if node < 2 { node } else { node + 1 };
    graph.links.iter_mut().for_each(|link| (link.a, link.b) = (host(link.a), host(link.b)));
    graph.nodes.insert(2, Node { name: "h2".to_owned(), level: Level::Host, pod: None });
    graph.links.push(Link { a: 2, b: 2 + switches, rate: GBPS, delay: DELAY });
    Graph { hosts: 3, ..graph }
}

/// What waits at a port that is paused is held, too: pauses go on from switch to switch, and none holds more of a link than its threshold and headroom.
#[test]
fn pauses_spread_to_the_sender_before_any_switch_holds_too_much() {
    let dynamic = Threshold::Dynamic { memory: 200_000, alpha: 0.25, below: 3000 };
    for (priorities, threshold, most) in [(1, FIXED, 6000), (2, FIXED, 6000), (1, dynamic, 50_000)] {
        let pfc = Pfc { priorities, threshold, headroom: None };
        let most = most + headroom(GBPS, DELAY, 1500, priorities);
        let sessions = || vec![packets(0, 1, 400), packets(2, 1, 400)];
        let record = complete(paused(line_with_a_rival(4), pfc, sessions()));
        for (src, dst) in [("s0", "s1"), ("s1", "s2"), ("s2", "s3")] {
            let link = record.links.iter().find(|l| (&*l.src, &*l.dst) == (src, dst)).expect("there is such a link");
            // One link leads to each of these ports.
            assert!(
                link.queue_max_bytes <= most,
                "{src} holds {} B, more than {most}: {threshold:?}",
                link.queue_max_bytes
            );
            assert!(link.queue_max_bytes > 0 && link.headroom_drops == 0, "{src}: {threshold:?}");
        }
        assert!(pauses(&record, "h0", "s0").1 > Duration::ZERO, "{threshold:?}");
        // The link to the receiver is busy from the first packet to the last.
        assert_eq!(
            record.flows.iter().filter_map(|flow| flow.end).max(),
            Some(at(22 + 800 * 12 + 10)),
            "{threshold:?}"
        );
        let in_windows = scheduled(paused(line_with_a_rival(4), pfc, sessions()), Scheduling::Windows);
        assert_same(&record, &in_windows, "in windows");
    }
}

/// Eight senders at 40 Gbps, each 2 MB: RoCEv2 repeats nothing where nothing is lost, and DCQCN leaves less to pauses.
#[test]
fn roce_repeats_nothing_and_dcqcn_pauses_less() {
    let run = |config: RoceConfig| {
        let mut graph = star(9);
        graph.links.iter_mut().for_each(|link| (link.rate, link.delay) = (Rate::from_gbps(40), us(1)));
        let sessions = (1..9).map(|host| unicast(host, 0, 2_000_000)).collect();
        let marking = |_| Queue::Ecn(Ecn::new(Limit::NONE, Limit::Bytes(40_000)));
        let threshold = Threshold::Fixed { xoff: 50_000, xon: 40_000 };
        let pfc = Some(Pfc { threshold, ..fixed(1) });
        let record =
            complete(Setup { pfc, ..setup(graph, marking, Protocol::Roce(config), RoutingMode::PerFlow, sessions) });
        let repeated: u64 = record.flows.iter().map(|flow| flow.packets_retransmitted + flow.timeouts).sum();
        assert_eq!((record.conservation.dropped, repeated), (0, 0));
        record.links.iter().map(|link| link.pause_frames).sum::<u64>()
    };
    let (roce, dcqcn) =
        (run(RoceConfig::default()), run(RoceConfig::default().with(Congestion::Dcqcn(DcqcnConfig::default()))));
    assert!(dcqcn > 0 && 2 * dcqcn < roce, "{dcqcn} {roce}");
}

/// Four switches in a ring, a host at each.
fn ring() -> Graph {
    let mut graph = Graph { hosts: 4, ..Graph::default() };
    let link = |a, b| Link { a, b, rate: GBPS, delay: DELAY };
    graph.nodes.extend((0..4).map(|h| Node { name: format!("h{h}"), level: Level::Host, pod: None }));
    graph.nodes.extend((0..4).map(|s| Node { name: format!("s{s}"), level: Level::Edge, pod: None }));
    graph.links.extend((0..4).map(|n| link(n, 4 + n)));
    graph.links.extend((0..4).map(|n| link(4 + n, 4 + (n + 1) % 4)));
    graph
}

#[test]
fn switches_in_a_ring_deadlock_and_the_circle_is_named() {
    // Everybody sends to the host opposite, all the same way round: half of the packets of each link go on in the ring.
    let sessions = || {
        let flows = (0..4_u32).flat_map(|host| (0..8).map(move |n| (host, n)));
        flows.map(|(host, n)| Session { start: at(n), ..packets(host, (host + 2) % 4, 200) }).collect::<Vec<_>>()
    };
    let record = run(paused(ring(), fixed(1), sessions()));
    let Ending::Stalled(why) = &record.ending else { panic!("{:?}", record.ending) };
    assert!(why.contains("a deadlock of pauses of priority 0: s"), "{why}");
    assert!(record.simulated < Time::ZERO + ms(100), "{}", record.simulated);
    assert_same(&record, &scheduled(paused(ring(), fixed(1), sessions()), Scheduling::Windows), "in windows");
    // Transports that try again and again do not hide it.
    let tcp = Protocol::Tcp(TcpConfig { initial_window: 100, ..TcpConfig::default() });
    let base = setup(ring(), unlimited, tcp, RoutingMode::PerFlow, sessions());
    let record = run(Setup { pfc: Some(fixed(1)), ..base });
    assert!(
        matches!(&record.ending, Ending::Stalled(why) if why.contains("a deadlock of pauses")),
        "{:?}",
        record.ending
    );
}

/// A deadlock is named at a time limit, too.
#[test]
fn a_run_that_ends_at_its_limit_in_a_deadlock_says_so() {
    let flows = || (0..4_u32).flat_map(|host| (0..8).map(move |n| (host, n)));
    let sessions = || flows().map(|(host, n)| Session { start: at(n), ..packets(host, (host + 2) % 4, 200) }).collect();
    let looked = run(paused(ring(), fixed(1), sessions())).simulated;
    let time_limit = Time::ZERO + looked.since(at(100));
    let record = run(Setup { time_limit, ..paused(ring(), fixed(1), sessions()) });
    assert!(
        matches!(&record.ending, Ending::Stalled(why) if why.contains("a deadlock of pauses")),
        "{:?}",
        record.ending
    );
    assert_eq!(record.simulated, time_limit);
}
