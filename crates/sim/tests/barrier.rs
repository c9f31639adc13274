//! Clients that ask for block after block, each when all fragments of the last one have arrived.

use crate::common::control::at_times;
use crate::common::*;
use anabranch_sim::control::{Action, Rule, Verdict};
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::{BlockRow, RunRecord};
use anabranch_sim::network::{Change, Ending, Network, Setup, Stop, Target};
use anabranch_sim::scenario::parse;
use anabranch_sim::workload::{Barrier, Connections, Session};
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::{Bytes, Duration, Time};

/// A request of 64 bytes over two links of 1 Gbps and 10 us.
const REQUEST: Duration = Duration(2 * (512_000 + 10_000_000));
/// Ten full packets over two such links: ten and one transmission, two delays.
const FRAGMENT: Duration = Duration((11 * 12 + 20) * 1_000_000);
/// SYN and SYN-ACK of 40 bytes over two such links each.
const HANDSHAKE: Duration = Duration(4 * (320_000 + 10_000_000));

fn scenario(servers: u32, connections: &str, more: &str) -> String {
    format!(
        r#"
        fabric = {{ topology = "star", hosts = 9, rate = "1Gbps", delay = "10us" }}
        transport = {{ name = "newreno", tcp = {{ initial_window = 10, rto_min = "1ms", rto_initial = "3ms" }} }}
        [[workload]]
        sizes = {{ law = "fixed", size = "14600B" }}
        placement = {{ pattern = "incast", senders = {servers}, receiver = 0, choice = "consecutive" }}
        barrier = {{ blocks = 5, connections = "{connections}", think = "0s" }}
        {more}
        "#
    )
}

fn ran(text: &str, overrides: &[&str]) -> RunRecord {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    let plan = parse("test.toml", text, &overrides).unwrap();
    let mut network = plan.network(&plan.runs[0]).unwrap();
    let ending = network.run(|n| n.events() < 20_000_000);
    RunRecord::take(&mut network, ending)
}

fn run(text: &str, overrides: &[&str]) -> RunRecord {
    let record = ran(text, overrides);
    assert_eq!(record.ending, Ending::Complete);
    assert!(record.conservation.holds());
    record
}

fn end(block: &BlockRow) -> Time {
    block.end.expect("complete")
}

/// Blocks follow each other, and none begins before the last one is complete and the client has thought.
fn in_order(blocks: &[BlockRow], think: Duration) {
    for (n, pair) in blocks.windows(2).enumerate() {
        assert_eq!((pair[0].block, pair[1].block), (n as u32, n as u32 + 1));
        assert_eq!(pair[1].start, end(&pair[0]) + think);
    }
}

#[test]
fn blocks_of_one_server_take_what_a_hand_computes() {
    let total = |record: &RunRecord| end(&record.blocks[4]);
    // The window holds a fragment, and the last acknowledgement is back before the next request.
    let kept = run(&scenario(1, "kept", ""), &["transport.tcp.handshake=false"]);
    in_order(&kept.blocks, Duration::ZERO);
    assert_eq!(total(&kept), Time::ZERO + (REQUEST + FRAGMENT) * 5);
    assert_eq!((kept.flows.len(), kept.flows[0].size_bytes, kept.flows[0].end), (1, 73_000, kept.blocks[4].end));
    let with_handshake = run(&scenario(1, "kept", ""), &[]);
    assert_eq!(total(&with_handshake), total(&kept) + HANDSHAKE);
    let new = run(&scenario(1, "new", ""), &[]);
    in_order(&new.blocks, Duration::ZERO);
    assert_eq!(total(&new), total(&kept) + HANDSHAKE * 5, "one for each block");
    // A session for each block, which begins when the client asks for it.
    assert_eq!(new.flows.len(), 5);
    for (n, (flow, block)) in new.flows.iter().zip(&new.blocks).enumerate() {
        assert_eq!(
            (flow.block, flow.start, flow.end, flow.size_bytes),
            (Some(n as u32), block.start, block.end, 14_600)
        );
    }
    assert_eq!(kept.flows[0].block, None, "all of them");
    let thinking = run(&scenario(1, "kept", ""), &["transport.tcp.handshake=false", "workload.0.barrier.think=1ms"]);
    in_order(&thinking.blocks, ms(1));
    assert_eq!(total(&thinking), total(&kept) + ms(4));
}

/// A block has the fragments of all servers, and waits for the last.
#[test]
fn a_slow_server_delays_all() {
    for connections in ["kept", "new"] {
        let fast = run(&scenario(4, connections, ""), &[]);
        let slow = "[[failure]]\nat = \"0s\"\nlink = \"h2-sw0\"\naction = \"slow\"\nrate = \"100Mbps\"";
        let graph = parse("t.toml", &scenario(4, connections, ""), &[]).unwrap();
        let name = graph.network(&graph.runs[0]).unwrap().graph().nodes[9].name.clone();
        let slow = run(&scenario(4, connections, &slow.replace("sw0", &name)), &[]);
        for record in [&fast, &slow] {
            in_order(&record.blocks, Duration::ZERO);
            assert_eq!((record.blocks.len(), record.blocks[0].servers, record.blocks[0].size_bytes), (5, 4, 58_400));
        }
        // Ten packets of 120 us.
        assert!(slow.blocks.iter().all(|b| end(b).since(b.start) > us(1200)), "{connections}");
        assert!(fast.blocks.iter().all(|b| end(b).since(b.start) < us(1200)), "{connections}");
        if connections == "new" {
            // Fast servers are done long before, and wait.
            let of = |server: u32| slow.flows.iter().filter(move |f| f.src_host == server);
            assert!(of(1).zip(of(2)).all(|(fast, slow)| fast.start == slow.start && fast.end < slow.end));
        }
    }
}

/// Every host is a client of N others and serves N; each client has a barrier of its own.
#[test]
fn barriers_of_many_clients_are_independent() {
    let text = scenario(3, "kept", "")
        .replace("receiver = 0, choice = \"consecutive\"", "receivers = \"each\", choice = \"balanced\"");
    let record = run(&text, &["switch.buffer=20 packets"]);
    assert_eq!(record.blocks.len(), 9 * 5);
    for client in record.blocks.chunks(5) {
        in_order(client, Duration::ZERO);
        assert!(client.iter().all(|b| b.dst_host == client[0].dst_host && b.servers == 3));
    }
    assert_eq!(record.flows.len(), 27);
}

/// With one barrier for all, no block of anybody begins before the last block of everybody is complete.
#[test]
fn clients_may_wait_for_each_other() {
    for connections in ["kept", "new"] {
        let text = scenario(3, connections, "")
            .replace("receiver = 0, choice = \"consecutive\"", "receivers = \"each\", choice = \"balanced\"")
            .replace("think = \"0s\"", "think = \"1ms\", together = true");
        let record = run(&text, &["switch.buffer=20 packets"]);
        assert_eq!(record.blocks.len(), 9 * 5, "a row for each client and block");
        for block in 0..5 {
            let of = |block: u32| record.blocks.iter().filter(move |b| b.block == block);
            assert_eq!(of(block).count(), 9);
            let last = of(block).map(end).max().expect("nine");
            assert!(of(block + 1).all(|b| b.start == last + ms(1)), "{connections}: {block}");
        }
        let ends: std::collections::BTreeSet<Time> = record.blocks.iter().map(end).collect();
        assert!(ends.len() > 5, "each client has its own time");
    }
}

/// While a client thinks nothing else happens: the monitor goes on all the same, and the window ends where it should.
#[test]
fn series_and_window_go_on_while_clients_think() {
    let text = scenario(2, "kept", "[measure]\ninterval = \"50us\"\nqueues = true\nwindow = \"250ms\"");
    let record = run(&text.replace("think = \"0s\"", "think = \"100ms\""), &[]);
    let (begin, window_end) = record.window.expect("a window");
    assert_eq!((begin, window_end), (Time::ZERO, Time::ZERO + ms(250)));
    let last = end(record.blocks.last().unwrap());
    assert!(last > Time::ZERO + ms(400));
    // The last block's packets wait in the queue, and are seen.
    let seen = record.series.iter().map(|sample| sample.time).max().unwrap();
    assert!(Time::ZERO + Duration::from_ps(seen) + ms(2) > last, "{seen} {last}");
}

#[test]
fn all_transports_that_retransmit_have_barriers() {
    for (transport, connections) in
        [("ndp", "kept"), ("ndp", "new"), ("scdp", "new"), ("dctcp", "kept"), ("cubic", "new")]
    {
        let queue = if ["ndp", "scdp"].contains(&transport) { "trim" } else { "drop-tail" };
        let queue = format!("switch.queue={queue}");
        let record = run(
            &scenario(6, connections, "").replace("14600B", "100KB"),
            &[&format!("transport.name={transport}"), &queue, "switch.buffer=8 packets"],
        );
        in_order(&record.blocks, Duration::ZERO);
        let bytes: u64 = record.flows.iter().map(|f| f.size_bytes).sum();
        assert_eq!((record.blocks.len(), bytes), (5, 6 * 5 * 100_000), "{transport} {connections}");
    }
}

/// A client whose server fails stops those that wait for it.
#[test]
fn one_failure_stops_all_who_wait_together() {
    let text = scenario(2, "new", "")
        .replace("receiver = 0, choice = \"consecutive\"", "receivers = \"each\", choice = \"balanced\"")
        .replace("think = \"0s\"", "together = true");
    let cut = "[[failure]]\nat = \"700us\"\nlink = \"NAME-h3\"\naction = \"cut\"";
    let graph = parse("t.toml", &text, &[]).unwrap();
    let switch = graph.network(&graph.runs[0]).unwrap().graph().nodes[9].name.clone();
    let record = ran(&format!("{text}{}", cut.replace("NAME", &switch)), &["transport.tcp.retries=2"]);
    let Ending::Stalled(why) = &record.ending else { panic!("{:?}", record.ending) };
    assert!(why.contains("will never be complete"), "{why}");
    let begun = record.blocks.iter().map(|b| b.block).max();
    assert!(begun < Some(4), "{begun:?}");
}

#[test]
fn what_cannot_wait_at_a_barrier_is_refused() {
    let error = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
        let parsed = parse("test.toml", &scenario(2, "kept", ""), &overrides);
        parsed
            .and_then(|plan| {
                plan.prepare(&plan.runs[0]).map(drop).map_err(|e| anabranch_sim::scenario::ScenarioErrors(vec![*e]))
            })
            .unwrap_err()
            .to_string()
    };
    let scdp = error(&["transport.name=scdp"]);
    assert!(scdp.contains("barrier.connections: scdp needs the whole object at the start"), "{scdp}");
    assert!(scdp.contains("hint: connections = \"new\""), "{scdp}");
    assert!(error(&["transport.name=udp"]).contains("sends nothing again"));
    assert!(error(&["workload.0.barrier.blocks=0"]).contains("must be"));
    assert!(error(&["workload.0.sizes={ law = \"endless\" }"]).contains("fragments need a size"));
    assert!(error(&["workload.0.sizes.size=1000B"]).contains("less than a full packet of newreno"));
    let many = error(&["workload.0.barrier={ blocks = 1000000, connections = \"new\" }", "run.memory_limit=100MB"]);
    assert!(many.contains("workload[0].barrier.blocks") && many.contains("for which there is memory"), "{many}");
}

fn setup_of(connections: Connections, servers: u32) -> Setup {
    let tcp = Protocol::Tcp(TcpConfig {
        rto_min: us(1000),
        rto_initial: us(1000),
        retries: 2,
        congestion: Algorithm::NewReno,
        ..TcpConfig::default()
    });
    let barrier = Barrier { blocks: 5, connections, think: Duration::ZERO, together: false };
    let copies = barrier.copies();
    let size = barrier.session_size(Bytes(100_000));
    let sessions = (0..copies).flat_map(|block| {
        (1..=servers).map(move |server| Session { block, size: Some(size), ..unicast(server, 0, 1) })
    });
    let mut setup = setup(star(servers + 3), drop_tail(20), tcp, Single, sessions.collect());
    setup.groups[0].barrier = Some(barrier);
    (setup.stop, setup.time_limit) = (Stop::Foreground, Time::MAX);
    setup
}

fn to_the_end(setup: Setup) -> RunRecord {
    let mut network = Network::new(setup);
    let ending = network.run(|n| n.events() < 20_000_000);
    RunRecord::take(&mut network, ending)
}

/// Beside sessions of other workloads, which still finish.
#[test]
fn a_server_that_fails_stops_its_barrier() {
    for connections in [Connections::Kept, Connections::New] {
        let mut setup = setup_of(connections, 3);
        let group =
            anabranch_sim::network::SessionGroup { barrier: None, name: "other".into(), ..setup.groups[0].clone() };
        setup.groups.push(group);
        setup.sessions.push(Session { group: 1, request: 1, ..unicast(4, 5, 30_000_000) });
        // In the second block or the third.
        setup.changes = vec![(at(6_000), Change::Cut(Target::Link(2)))];
        let record = to_the_end(setup);
        let Ending::Stalled(why) = &record.ending else { panic!("{:?}", record.ending) };
        assert!(why.contains("gave up, sender on h2"), "{why}");
        assert!(why.contains("will never be complete: sender on h2"), "{why}");
        let last = record.blocks.last().unwrap();
        assert!(last.end.is_none() && (1..4).contains(&last.block), "{last:?}");
        assert!(record.flows.last().unwrap().end > Some(at(200_000)), "the other is done");
        let complete = record.flows.iter().filter(|f| &*f.workload != "other" && f.end.is_some()).count();
        assert_eq!(complete >= 3, connections == Connections::New, "{complete}");
        assert!(record.conservation.holds());
    }
}

/// Controllers see each connection when the request for it reaches its server.
#[test]
fn a_held_connection_holds_its_barrier_and_a_refused_one_stops_it() {
    let rule = Rule { larger_than: None, source: Some(2), destination: None, port: None };
    let held = |verdict| {
        let mut setup = setup_of(Connections::New, 3);
        setup.controllers = vec![at_times(vec![
            (us(1_000), Action::Admission(rule, verdict)),
            (us(90_000), Action::Admission(rule, Verdict::Admit)),
        ])];
        to_the_end(setup)
    };
    let record = held(Verdict::Hold);
    assert_eq!(record.ending, Ending::Complete);
    in_order(&record.blocks, Duration::ZERO);
    assert!(end(&record.blocks[1]) > at(90_000) && end(&record.blocks[0]) < at(20_000));
    let record = held(Verdict::Refuse);
    let Ending::Stalled(why) = &record.ending else { panic!("{:?}", record.ending) };
    assert!(why.contains("will never be complete: refused by a controller"), "{why}");
    assert_eq!(record.blocks.len(), 2);
}

/// A deadline counts from when the client asks for a block.
#[test]
fn the_time_of_a_session_counts_from_its_request() {
    let record = run(&scenario(2, "new", ""), &["workload.0.deadline=1ms", "transport.name=d2tcp", "switch.queue=ecn"]);
    assert!(record.flows.iter().all(|f| f.deadline == Some(ms(1)) && f.end.unwrap().since(f.start) < ms(1)));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let text = scenario(6, "kept", "[sweep]\n\"workload.0.barrier.connections\" = [\"kept\", \"new\"]");
    let plan = parse("test.toml", &format!("repeat = 3\n{text}"), &["switch.buffer=8 packets".to_owned()]).unwrap();
    let runs: Vec<usize> = (0..plan.runs.len()).collect();
    let with = |threads| {
        let found = std::sync::Mutex::new(vec![String::new(); runs.len()]);
        anabranch_sim::experiment::run_all::<String>(
            &runs,
            threads,
            &anabranch_sim::experiment::Progress::new(runs.len()),
            |i| plan.network(&plan.runs[i]).map_err(|e| e.to_string()),
            |i, record, _| {
                let all =
                    format!("{:016x} {:?} {:?} {:?}", record.fingerprint, record.flows, record.blocks, record.links);
                found.lock().unwrap()[i] = all;
                Ok(())
            },
        )
        .unwrap();
        found.into_inner().unwrap()
    };
    let one = with(1);
    assert_eq!(one.len(), 6);
    assert_eq!(one, with(2));
}

/// The example scenario: a few servers fill the client's link, many make its goodput collapse. Mbps, mean of five seeds.
#[test]
fn goodput_collapses_with_the_number_of_servers() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/examples/barrier.toml");
    let plan = anabranch_sim::scenario::load(&file, &[]).unwrap();
    let mut goodput = std::collections::BTreeMap::<(String, u32), f64>::new();
    for run in &plan.runs {
        let mut network = plan.network(run).unwrap();
        let ending = network.run(|n| n.events() < 50_000_000);
        let record = RunRecord::take(&mut network, ending);
        assert_eq!(record.ending, Ending::Complete);
        let bytes: u64 = record.blocks.iter().map(|b| b.size_bytes).sum();
        let took = end(record.blocks.last().unwrap()).since(record.blocks[0].start);
        let point = run.point.values().map(|v| v.to_string().replace('"', "")).collect::<Vec<_>>();
        let key = (point[0].clone(), point[1].parse::<u32>().unwrap());
        *goodput.entry(key).or_default() += bytes as f64 * 8e6 / took.ps() as f64 / 5.0;
    }
    println!("{goodput:#?}");
    let of = |buffer: &str, servers| goodput[&(buffer.to_owned(), servers)];
    for buffer in ["85KB", "128KB"] {
        assert!(of(buffer, 1) > 850.0, "one server: {}", of(buffer, 1));
        let worst = [8, 16, 32, 47].map(|servers| of(buffer, servers)).into_iter().fold(f64::MAX, f64::min);
        assert!(worst < 0.25 * of(buffer, 1), "{worst}");
    }
}
