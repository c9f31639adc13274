//! pHost: flows that share receivers and senders, at switches with strict priorities.

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::queue::mlfq::{Mlfq, MlfqParameters, Victim};
use anabranch_sim::fabric::queue::{Limit, Queue};
use anabranch_sim::fabric::routing::RoutingMode::{self, Single};
use anabranch_sim::fabric::topology::{LayerLinks, Layers, LeafSpine, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::{FlowRow, RunRecord};
use anabranch_sim::network::{Change, Setup, Stop, Target};
use anabranch_sim::scenario::parse;
use anabranch_sim::workload::Session;
use anabranch_transport::phost::PhostConfig;
use anabranch_transport::{Duration, Rate, Time};
use std::path::Path;

/// Application bytes of a full packet.
const PAYLOAD: u64 = 1460;
/// A control packet of 40 B.
const CONTROL: Duration = Duration::from_ns(320);
/// Tokens that are not answered, and the longest flow with free ones.
const WINDOW: u64 = 8;

/// On a star of links of 1 Gbps and 10 us, where a full packet and its token take 64.64 us: 5.4 packets.
fn phost(change: impl FnOnce(&mut PhostConfig)) -> Protocol {
    let mut config = PhostConfig { rate: Some(Rate::from_gbps(1)), ..PhostConfig::default() };
    change(&mut config);
    assert_eq!(config.validate(), Ok(()));
    Protocol::Phost(config)
}

/// Flows on a star of so many hosts.
fn on_a_star(hosts: u32, protocol: Protocol, sessions: Vec<Session>) -> Setup {
    setup(star(hosts), priority(24), protocol, Single, sessions)
}

fn late(us: u64, session: Session) -> Session {
    Session { start: at(us), ..session }
}

/// A packet through one switch.
fn way(packet: Duration) -> Duration {
    packet * 2 + DELAY * 2
}

/// Full packets, one after the other, through one switch: with free tokens after the RTS, without them after the first token.
fn idle(packets: u64) -> Duration {
    let first = if packets <= WINDOW { CONTROL } else { way(CONTROL) * 2 };
    first + FULL * (packets + 1) + DELAY * 2
}

fn fcts(record: &RunRecord) -> Vec<Duration> {
    (0..record.flows.len()).map(|n| fct(record, n)).collect()
}

#[test]
fn a_flow_alone_takes_what_its_packets_take() {
    for packets in [1, 7, 8, 9, 100] {
        let record = complete(on_a_star(2, phost(|_| {}), vec![unicast(0, 1, packets * PAYLOAD)]));
        assert_eq!(fcts(&record), [idle(packets)], "{packets} packets");
    }
}

/// By hand: the oldest flow of those with the least left gets all tokens but the first ones, which go to those whose RTS came first. The link is never idle:
/// after the first token, a packet comes in each packet time.
#[test]
fn senders_share_their_receiver_s_link_and_nothing_is_lost() {
    for senders in [2, 8, 15] {
        let sessions = (1..=senders).map(|h| unicast(h, 0, 20 * PAYLOAD)).collect();
        let record = complete(on_a_star(16, phost(|_| {}), sessions));
        let mut took = fcts(&record);
        took.sort_unstable();
        for (n, &took) in (1..).zip(&took) {
            let beyond = idle(20 * n + 4);
            assert!(took >= idle(20 * n) && took <= beyond, "{n} of {senders}: {took}, not up to {beyond}");
        }
        let last = idle(20 * u64::from(senders));
        // Besides, the link carries the announcements.
        assert!(took.last().is_some_and(|&took| took <= last + FULL), "{took:?}, not {last}");
        assert_eq!(record.flows.iter().map(|flow| flow.packets_retransmitted).sum::<u64>(), 0);
    }
}

#[test]
fn a_shorter_flow_goes_before_those_that_are_under_way() {
    let sizes = [300, 200, 100, 50];
    let sessions = (0..4).map(|n| late(200 * u64::from(n), unicast(n + 1, 0, sizes[n as usize] * PAYLOAD))).collect();
    let took = fcts(&complete(on_a_star(5, phost(|_| {}), sessions)));
    assert!(took[0] >= idle(650) && took[0] <= idle(651), "the link is never idle: {}", took[0]);
    for (n, beyond) in [(1, 350), (2, 150), (3, 50)] {
        // What was given to others when it came.
        assert!(took[n] >= idle(beyond) && took[n] <= idle(beyond + WINDOW), "{n}: {}", took[n]);
    }
}

#[test]
fn a_host_sends_its_shortest_flow_first_and_tokens_of_the_other_expire() {
    let sessions = vec![unicast(0, 1, 700 * PAYLOAD), late(1000, unicast(0, 2, 60 * PAYLOAD))];
    let record = complete(on_a_star(3, phost(|_| {}), sessions));
    let took = fcts(&record);
    assert!(took[1] <= idle(61), "at most one packet of the long one before: {}", took[1]);
    // What expired was not sent; the receiver tries once in 25 packet times whether its sender is free again.
    assert!(took[0] >= idle(760) && took[0] <= idle(760 + 25 + 9 + 8), "{}", took[0]);
    assert_eq!(record.flows[0].packets_retransmitted, 0);
}

/// The sender of the flow with the least left is cut off. Its receiver gives it a window of tokens, and then, except for one in 25 packet times, all to the
/// other.
#[test]
fn a_silent_source_is_downgraded_and_others_have_its_turns() {
    let other = |downgrade: u64| {
        let sessions = vec![unicast(1, 0, 100 * PAYLOAD), unicast(2, 0, 300 * PAYLOAD)];
        let changes = vec![(at(300), Change::Cut(Target::Link(1))), (at(20_000), Change::Restore(Target::Link(1)))];
        // It is tried as often although it is cut off for long.
        let protocol = phost(|c| (c.downgrade, c.resend_timeout) = (Some(FULL * downgrade), ms(100)));
        fct(&complete(Setup { changes, ..on_a_star(3, protocol, sessions) }), 1)
    };
    // Before the cut, some 20 packets of the first; then a window of tokens, and the tries.
    let took = other(25);
    assert!(took > idle(300 + 20 + 8) && took < idle(300 + 30 + 8 + 300 / 25 + 2), "{took}");
    // One in 10 packet times is a tenth of the link, until the other has the least left.
    let often = other(10);
    assert!(often > took + FULL * 10, "{often}, {took}");
}

#[test]
fn turns_pass_while_free_packets_come_so_that_none_waits() {
    // A long flow, and short ones of six packets, one after the other.
    let mut sessions = vec![Session { size: None, ..unicast(1, 0, 0) }];
    sessions.extend((0..20).map(|n| late(5_000 + 2_000 * n, unicast(2, 0, 6 * PAYLOAD))));
    let record = run(Setup { stop: Stop::Limit, time_limit: at(50_000), ..on_a_star(3, phost(|_| {}), sessions) });
    let took: Vec<Duration> = (1..21).map(|n| fct(&record, n)).collect();
    // They have the higher priority: a packet that is being sent is not interrupted.
    assert!(took.iter().all(|&took| took >= idle(6) && took <= idle(7)), "{took:?}");
    let downlink = record.links.iter().find(|l| l.dst == "h0").expect("host 0 has a downlink");
    assert!(downlink.utilisation > 0.99, "{}", downlink.utilisation);
}

#[test]
fn what_a_full_buffer_drops_gets_other_tokens() {
    // Free packets of 15 senders at once, and room for eight packets.
    let sessions = (1..16).map(|h| unicast(h, 0, 8 * PAYLOAD)).collect();
    let record = complete(setup(star(16), priority(8), phost(|_| {}), Single, sessions));
    let (again, timeouts) =
        record.flows.iter().fold((0, 0), |sum, flow| (sum.0 + flow.packets_retransmitted, sum.1 + flow.timeouts));
    assert!(again > 50 && timeouts > 0, "{again} packets, {timeouts} timeouts");
    // Tokens are paced: what is sent again is not lost again.
    let all = fcts(&record).into_iter().max();
    assert!(all < Some(idle(2 * 120)), "{all:?}");
}

/// The fabric of its authors' simulator (NetSys/simulator, `run/experiment.cpp`): nine racks of 16 hosts at 10 Gbps, four core switches at 40 Gbps, 200 ns for
/// each link, 36 KB for each port, where the packet of the lowest priority is dropped.
fn authors_fabric() -> Graph {
    let core = LayerLinks { rate: Some(Rate::from_gbps(40)), delay: None };
    let layers = Layers { core: Some(core), ..Layers::default() };
    let (rate, delay) = (Rate::from_gbps(10), Duration::from_ns(200));
    let fabric = LeafSpine { leaves: 9, spines: 4, hosts_per_leaf: 16, oversubscription: None, rate, delay, layers };
    TopologyConfig::LeafSpine(fabric).build(Path::new("")).expect("the fabric is possible")
}

/// Flows, and how long they took in the authors' simulator, store and forward: as it is, and mended. There, a receiver whose only flow is downgraded sleeps for
/// 25 packet times even if an answer comes earlier; mended, an answer wakes it.
struct Theirs {
    sessions: Vec<Session>,
    took: Vec<Duration>,
    mended: Vec<Duration>,
}

fn theirs(rows: &str) -> Theirs {
    let mut theirs = Theirs { sessions: vec![], took: vec![], mended: vec![] };
    for row in rows.lines().skip(1) {
        let cells: Vec<u64> = row.split(',').map(|cell| cell.parse().expect("a number")).collect();
        let [start, from, to, packets, took, mended] = cells[..] else { panic!("six columns: {row}") };
        let session = unicast(from as u32, to as u32, packets * PAYLOAD);
        theirs.sessions.push(Session { start: Time::ZERO + Duration::from_ns(start), ..session });
        theirs.took.push(Duration::from_ns(took));
        theirs.mended.push(Duration::from_ns(mended));
    }
    theirs
}

/// How long these flows take here, until the acknowledgement is back at the sender, as there.
fn ours(sessions: Vec<Session>) -> Vec<Duration> {
    let queue = |_| {
        let (buffer, victim) = (Limit::Bytes(36_864), Victim::Lowest);
        let all = MlfqParameters {
            priorities: 3,
            buffer,
            victim,
            trim: false,
            header_buffer: Limit::NONE,
            weight: 1,
            mark: None,
        };
        Queue::Mlfq(Mlfq::new(all))
    };
    let protocol = phost(|c| c.rate = None);
    let record = complete(setup(authors_fabric(), queue, protocol, RoutingMode::PerPacketPermuted, sessions));
    let back = |flow: &FlowRow| {
        // 40 B over two links of 10 Gbps, and between racks over two of 40 Gbps.
        let apart = flow.src_host / 16 != flow.dst_host / 16;
        Duration::from_ns(if apart { 2 * 32 + 2 * 8 + 4 * 200 } else { 2 * 32 + 2 * 200 })
    };
    fcts(&record).into_iter().zip(&record.flows).map(|(took, flow)| took + back(flow)).collect()
}

/// Two long flows, the first with short ones to its receiver, the second with short ones from its sender: flow by flow.
#[test]
fn flows_of_one_rack_take_as_long_as_in_the_authors_simulator() {
    let Theirs { sessions, took, mended } = theirs(include_str!("phost/few.csv"));
    let ours = ours(sessions);
    let apart = |theirs: &[Duration]| ours.iter().zip(theirs).map(|(a, b)| a.ps().abs_diff(b.ps())).max();
    assert!(apart(&mended) < Some(20_000), "within 20 ns: {ours:?}, there {mended:?}");
    // Up to the second long flow, that holds for it as it is.
    assert!(ours[..13].iter().zip(&took).all(|(a, b)| a.ps().abs_diff(b.ps()) < 20_000));
    assert!(took[13] > ours[13] + us(300), "{}, there {}: it slept for {}", ours[13], took[13], took[13] - ours[13]);
}

/// Web search at a load of 0.6, where the order of packets differs, for both draw which way round they spray.
#[test]
fn flows_of_web_search_take_as_long_as_in_the_authors_simulator() {
    let Theirs { sessions, took, mended } = theirs(include_str!("phost/websearch.csv"));
    let ours = ours(sessions);
    for (theirs, mean, each) in [(took, 0.02, 0.005), (mended, 0.02, 0.002)] {
        let mut ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a.ps() as f64 / b.ps() as f64).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let (average, median) = (ratios.iter().sum::<f64>() / ratios.len() as f64, ratios[ratios.len() / 2]);
        assert!((average - 1.0).abs() < mean && (median - 1.0).abs() < each, "mean {average}, median {median}");
    }
}

/// `scenarios/fidelity/phost.toml` with fewer flows: pHost is near pFabric, as its authors have it (abstract).
#[test]
fn short_and_long_flows_together_take_little_longer_than_with_pfabric() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/fidelity/phost.toml");
    let text = std::fs::read_to_string(file).expect("it is there");
    let fewer = ["repeat=1", "workload.flows.sessions=400"].map(str::to_owned);
    let plan = parse(file, &text, &fewer).unwrap_or_else(|e| panic!("{e}"));
    let means = plan.runs.iter().map(|run| {
        let mut network = plan.network(run).expect("it is possible");
        let ending = network.run(|_| true);
        let record = RunRecord::take(&mut network, ending);
        let slowdown = |n: usize| fct(&record, n).ps() as f64 / record.flows[n].ideal_ps as f64;
        (0..record.flows.len()).map(slowdown).sum::<f64>() / record.flows.len() as f64
    });
    let means: Vec<f64> = means.collect();
    assert!(means[0] > 1.0 && means[0] < 1.25 * means[1], "pHost {}, pFabric {}", means[0], means[1]);
}
