//! Jobs: messages that wait for each other.

use crate::common::{self, at, drop_tail, setup, star};
use crate::scenes::{transport, transports};
use anabranch_job::collective::{Algorithm, Collective};
use anabranch_job::{Action, Builder, Peers, Settings};
use anabranch_sim::fabric::routing::RoutingMode::PerPacket;
use anabranch_sim::measure::{FlowRow, RunRecord};
use anabranch_sim::network::{Ending, Network, Scheduling};
use anabranch_sim::scenario::parse;
use anabranch_sim::workload::{Mode, PlacedJob};
use anabranch_transport::{Bytes, Duration, Time, tcp};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

const STAR: &str = "{ topology = 'star', hosts = 4, rate = '10Gbps', delay = '1us' }";
const TREE: &str = "{ topology = 'fat-tree', k = 4, rate = '10Gbps', delay = '1us' }";

/// A file of a job for one test.
fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a folder for tests");
    path
}

fn scenario(fabric: &str, transport: &str, file: &std::path::Path, more: &str) -> String {
    let file = file.display();
    format!(
        "fabric = {fabric}\ntransport = {{ name = '{transport}' }}\n[[workload]]\njob = {{ file = '{file}'{more} }}\n"
    )
}

fn network(text: &str) -> Network {
    let plan = parse("test.toml", text, &[]).unwrap_or_else(|e| panic!("{e:?}"));
    plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"))
}

fn record(mut network: Network) -> RunRecord {
    let ending = network.run(|n| n.events() < 20_000_000);
    RunRecord::take(&mut network, ending)
}

fn run(text: &str) -> RunRecord {
    let record = record(network(text));
    assert_eq!(record.ending, Ending::Complete);
    assert!(record.conservation.holds());
    assert_eq!(record.fault(), None);
    record
}

fn end(flow: &FlowRow) -> Time {
    flow.end.expect("complete")
}

/// A ring all-reduce: every rank sends a chunk to the next in each of 2 (n - 1) steps, when it has the one from the rank before.
fn ring(ranks: u32, chunk: u64) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let (before, next) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
        let _ = writeln!(text, "rank {rank} {{");
        for step in 0..2 * (ranks - 1) {
            let _ = writeln!(text, "s{step}: send {chunk}b to {next}\nr{step}: recv {chunk}b from {before}");
            if step > 0 {
                let last = step - 1;
                let _ = writeln!(text, "s{step} requires r{last}\ns{step} requires s{last}");
            }
        }
        text.push_str("}\n");
    }
    text
}

#[test]
fn messages_begin_when_their_operations_do() {
    let goal = "num_ranks 2\nrank 0 {\nthere: send 10000b to 1\nback: recv 20000b from 1\nlast: calc 7000\nlast requires back\n}\n\
                rank 1 {\ngot: recv 10000b from 0\nthink: calc 5000\nthink requires got\nback: send 20000b to 0\n\
                back requires think\n}\n";
    let file = file("there-and-back.goal", goal);
    let record = run(&scenario(STAR, "ndp", &file, ", start = '3us', hosts = [2, 0]"));
    let [there, back] = &record.flows[..] else { panic!("two messages") };
    assert_eq!((there.src_host, there.dst_host, there.start, there.size_bytes), (2, 0, at(3), 10_000));
    assert_eq!((back.src_host, back.dst_host, back.size_bytes), (0, 2, 20_000));
    assert_eq!(back.start, end(there) + Duration::from_us(5));
    // Alone on the fabric, each takes its ideal time.
    assert_eq!((there.measured_ps, back.measured_ps), (there.ideal_ps, back.ideal_ps));
    let [first, second] = &record.ranks[..] else { panic!("two ranks") };
    assert_eq!((first.host, first.operations, first.ended, first.start), (2, 3, 3, at(3)));
    assert_eq!(
        first.end,
        Some(end(back) + Duration::from_us(7)),
        "what needs no network goes on after the last message"
    );
    assert_eq!((first.computing, second.computing), (Duration::from_us(7), Duration::from_us(5)));
    assert_eq!(
        second.end,
        Some(end(back)),
        "the run ends before its sender has the acknowledgement, for which nothing waits"
    );
}

#[test]
fn operations_are_recorded_where_that_is_asked_for_and_change_nothing() {
    let goal = "num_ranks 3\nrank 0 {\nthere: send 10000b to 1\nback: recv 20000b from 2\n}\n\
                rank 1 {\ngot: recv 10000b from 0\nthink: calc 5000\nthink requires got\non: send 20000b to 2\non requires think\n}\n\
                rank 2 {\ngot: recv 20000b from 1\nback: send 20000b to 0\nback requires got\n}\n";
    let file = file("operations.goal", goal);
    let text = scenario(STAR, "ndp", &file, "") + "[host.server]\nhosts = 2\nrate = '100Gbps'\nlatency = '1us'\n";
    let (plain, told) = (run(&text), run(&(text.clone() + "[measure]\noperations = true\n")));
    assert!(plain.operations.is_empty());
    assert_eq!((plain.fingerprint, &plain.ranks), (told.fingerprint, &told.ranks));
    let rows: Vec<_> =
        told.operations.iter().map(|row| (row.rank, row.kind, row.peer, row.bytes, row.inside, row.place)).collect();
    let of = |rank, kind, peer, bytes, inside, line| (rank, kind, Some(peer), Some(bytes), inside, Some(line));
    assert_eq!(
        rows,
        [
            of(0, "send", 1, 10_000, true, 3),
            of(0, "receive", 2, 20_000, false, 4),
            of(1, "receive", 0, 10_000, true, 7),
            (1, "compute", None, None, false, Some(8)),
            of(1, "send", 2, 20_000, false, 10),
            of(2, "receive", 1, 20_000, false, 14),
            of(2, "send", 0, 20_000, false, 15),
        ]
    );
    let [_, _, got, think, on, arrived, _] = &told.operations[..] else { panic!("seven operations") };
    // 800 ns at the rate of the server's link, and the latency.
    assert_eq!((got.start, got.end), (Time::ZERO, Some(Time(1_800_000))));
    assert_eq!((think.start, think.end), (Time(1_800_000), Some(Time(6_800_000))));
    assert_eq!(on.start, Time(6_800_000));
    assert_eq!((arrived.start, arrived.end), (Time::ZERO, told.flows[0].end), "ready from the start");
    assert_eq!((got.sent, arrived.sent, on.sent), (Some(Time::ZERO), Some(on.start), None));
}

/// A receive from anybody knows its sender, and one of a message for several whether that took packets.
#[test]
fn receives_know_the_message_that_they_got() {
    let goal = "num_ranks 3\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from -1\nsend 1000b to 2\n}\nrank 2 {\nrecv 1000b from -1\n}\n";
    let file = file("anybody.goal", goal);
    let servers = "[host.server]\nhosts = 2\nrate = '100Gbps'\nlatency = '1us'\n[measure]\noperations = true\n";
    let rows = run(&(scenario(STAR, "ndp", &file, ", overhead = '2us'") + servers)).operations;
    let received: Vec<_> = rows.iter().filter(|row| row.kind == "receive").collect();
    let told: Vec<_> = received.iter().map(|row| (row.peer, row.inside, row.sent)).collect();
    assert_eq!(told, [(Some(0), true, Some(at(2))), (Some(1), false, Some(at(2)))]);
    let gather = format!(
        "fabric = {STAR}\ntransport = {{ name = 'scdp' }}\n[[workload]]\njob = {{ collective = {{ kind = 'all-gather', \
         algorithm = 'one-to-many', ranks = 4, size = '40KB' }} }}\n{servers}"
    );
    let rows = run(&gather).operations;
    assert!(rows.iter().all(|row| !row.inside), "each of these messages is for both servers");
    assert!(rows.iter().filter(|row| row.kind == "receive").all(|row| row.peer.is_some_and(|peer| peer != row.rank)));
}

#[test]
fn operations_are_refused_where_there_is_no_job() {
    let text = format!(
        "fabric = {STAR}\ntransport = {{ name = 'ndp' }}\n[[workload]]\nsessions = 1\nsizes = {{ law = 'fixed', size = '1KB' }}\nplacement = {{ pattern = 'random' }}\n\
         [measure]\noperations = true\n"
    );
    let error = parse("test.toml", &text, &[]).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("no workload has a `job`"), "{error}");
}

#[test]
fn hosts_that_take_time_for_messages() {
    let goal = "num_ranks 2\nrank 0 {\na: send 1000b to 1\nb: send 1000b to 1\nb requires a\n}\nrank 1 {\nrecv 1000b from 0\nrecv 1000b from 0\n}\n";
    let file = file("overhead.goal", goal);
    let starts = |more: &str| {
        let record = run(&scenario(STAR, "ndp", &file, more));
        (record.flows.iter().map(|flow| flow.start).collect::<Vec<_>>(), record.ranks[1].end, end(&record.flows[1]))
    };
    let (eager, done, arrived) = starts(", overhead = '2us', eager = '1000B'");
    assert_eq!(eager, [at(2), at(4)], "it goes on when the first has left");
    assert_eq!(done, Some(arrived + Duration::from_us(2)));
    let (late, ..) = starts(", overhead = '2us', eager = '999B'");
    assert!(late[1] > at(2 + 2 + 4), "when it is acknowledged, over four links: {late:?}");
}

/// Rings end, on every transport, and take no less than the closed form: each step at least a message over its links.
#[test]
fn a_ring_ends_on_every_transport() {
    let file = file("ring-8.goal", &ring(8, 20_000));
    for transport in transports().filter(|&name| name != "udp") {
        let record = run(&scenario(TREE, transport, &file, ""));
        assert_eq!(record.flows.len(), 8 * 14, "{transport}");
        assert!(record.ranks.iter().all(|rank| rank.ended == 28), "{transport}: {:?}", record.ranks);
        // A step takes at least a message from host to host behind the same switch.
        let least = record.flows.iter().map(|flow| flow.ideal_ps).min().expect("flows");
        let took = record.ranks.iter().map(|rank| rank.end.expect("ended").ps()).max().expect("ranks");
        assert!(took >= 14 * least, "{transport}: {took} ps");
    }
}

#[test]
fn in_windows_and_on_threads_it_is_the_same() {
    let file = file("ring-16.goal", &ring(16, 30_000));
    for transport in ["ndp", "dctcp", "scdp"] {
        let text = scenario(TREE, transport, &file, ", overhead = '500ns'");
        let [events, windows] = [Scheduling::Events, Scheduling::Windows].map(|scheduling| {
            let mut network = network(&text);
            network.schedule_in(scheduling);
            let record = record(network);
            (record.fingerprint, record.flows, record.ranks)
        });
        assert!(events == windows, "{transport}");
    }
}

/// Ranks 0 and 1 share a server, 2 and 3 another: their messages are no sessions, and take the time of the servers' links.
#[test]
fn inside_a_server_there_are_no_packets() {
    let goal = "num_ranks 4\nrank 0 {\na: send 45000b to 1\nb: send 10000b to 2\nb requires a\n}\nrank 1 {\nrecv 45000b from 0\n}\n\
                rank 2 {\na: recv 10000b from 0\nb: send 90000b to 3\nb requires a\n}\nrank 3 {\na: recv 90000b from 2\n}\n";
    let file = file("servers.goal", goal);
    let text = |hosts: &str| {
        let server = "host = { server = { hosts = 2, rate = '3600Gbps', latency = '1us' } }\n";
        format!("{server}{}", scenario(STAR, "ndp", &file, hosts))
    };
    let record = run(&text(""));
    let [flow] = &record.flows[..] else { panic!("one message needs the network: {:?}", record.flows) };
    // 45 kB at 450 GB/s take 100 ns.
    let server = |bytes: u64| Duration::from_us(1) + Duration::from_ns(bytes / 450);
    assert_eq!((flow.src_host, flow.dst_host, flow.start), (0, 2, at(0) + server(45_000)));
    let ends: Vec<_> = record.ranks.iter().map(|rank| rank.end.expect("ended")).collect();
    assert_eq!((ends[1], ends[3]), (at(0) + server(45_000), end(flow) + server(90_000)));
    // Servers are of hosts, wherever the ranks are: here 0 shares one with 2, and 1 with 3.
    let record = run(&text(", hosts = [0, 2, 1, 3]"));
    assert_eq!(record.flows.iter().map(|flow| flow.size_bytes).collect::<Vec<_>>(), [45_000, 90_000]);
    let refused = |text: &str| {
        let plan = parse("test.toml", text, &[]);
        match plan {
            Err(errors) => format!("{errors:?}"),
            Ok(plan) => plan.network(&plan.runs[0]).err().map(|error| error.to_string()).unwrap_or_default(),
        }
    };
    let one = text("").replace("hosts = 2", "hosts = 4");
    assert!(refused(&one).contains("stay inside a server"), "{}", refused(&one));
    let odd = text("").replace("hosts = 2", "hosts = 3");
    assert!(refused(&odd).contains("4 hosts are no whole number of servers: 1 are left over"), "{}", refused(&odd));
}

/// Servers whose ranks do most of the talking: event by event and in windows the same, on several transports.
#[test]
fn servers_and_the_network_take_turns() {
    let file = file("ring-servers.goal", &ring(16, 30_000));
    let servers = "host = { server = { hosts = 4, rate = '900Gbps', latency = '700ns' } }\n";
    for transport in ["ndp", "dctcp", "scdp"] {
        let text = format!("{servers}{}", scenario(TREE, transport, &file, ", overhead = '500ns'"));
        let [events, windows] = [Scheduling::Events, Scheduling::Windows].map(|scheduling| {
            let mut network = network(&text);
            network.schedule_in(scheduling);
            let record = record(network);
            assert_eq!((record.flows.len(), record.ending), (4 * 30, Ending::Complete));
            assert!(record.ranks.iter().all(|rank| rank.ended == 60));
            (record.fingerprint, record.flows, record.ranks)
        });
        assert!(events == windows, "{transport}");
    }
}

/// A receiver that has seen all that was sent to it is gone with its sender: its time to linger is no event.
#[test]
fn receivers_that_have_seen_everything_do_not_linger() {
    let events = |computes_ns: u64| {
        let goal = format!(
            "num_ranks 2\nrank 0 {{\na: send 90000b to 1\nc: calc {computes_ns}\nc requires a\nb: send 90000b to 1\nb requires c\n}}\n\
             rank 1 {{\nrecv 90000b from 0\nrecv 90000b from 0\n}}\n"
        );
        let file = file(&format!("linger-{computes_ns}.goal"), &goal);
        run(&scenario(STAR, "ndp", &file, "")).events
    };
    assert_eq!(events(1_000_000), events(2_000_000_000), "half a second is what receivers linger");
}

#[test]
fn a_deadlock_is_named() {
    let goal = "num_ranks 2\nrank 0 {\nr: recv 8b from 1\ns: send 8b to 1\ns requires r\n}\nrank 1 {\nr: recv 8b from 0\ns: send 8b to 0\ns requires r\n}\n";
    let file = file("deadlock.goal", goal);
    let record = record(network(&scenario(STAR, "ndp", &file, "")));
    let Ending::Stalled(why) = &record.ending else { panic!("{:?}", record.ending) };
    assert!(why.contains("the job is in a deadlock: 4 of 4 operations have not ended"), "{why}");
    assert!(why.contains("rank 0, line 3: receive 8B from 1 with tag 0 (started)"), "{why}");
    assert!(record.ranks.iter().all(|rank| rank.end.is_none() && rank.ended == 0));
}

/// What a message needs is cut off: its job stops, and another one goes on.
#[test]
fn a_message_that_is_given_up_stops_its_job_only() {
    let file = file("ring-4.goal", &ring(4, 50_000));
    let text = format!(
        "{}[[workload]]\njob = {{ file = '{}', hosts = [8, 9, 10, 11] }}\n[[failure]]\nswitch = 'edge0.0'\nat = '20us'\naction = 'cut'\n",
        scenario(TREE, "newreno", &file, ", hosts = [0, 1, 2, 3]"),
        file.display()
    );
    let record = record(network(&text));
    let Ending::Stalled(why) = &record.ending else { panic!("{:?}", record.ending) };
    assert!(why.contains("gave up"), "{why}");
    let (cut, whole): (Vec<_>, Vec<_>) = record.ranks.iter().partition(|rank| rank.workload == "workload0");
    assert!(cut.iter().all(|rank| rank.end.is_none()));
    assert!(whole.iter().all(|rank| rank.end.is_some()));
}

/// The same while other sessions are still under way: they end as if there were no job, and so does the run.
#[test]
fn what_outlasts_a_stopped_job_goes_on() {
    let file = file("ring-4-stopped.goal", &ring(4, 50_000));
    let tcp = "tcp = { rto_min = '1ms', rto_initial = '1ms', retries = 2 }";
    let text = format!(
        "{}[[workload]]\nsizes = {{ law = 'fixed', size = '40MB' }}\nplacement = {{ pattern = 'pairs', pairs = [[8, 9]] }}\n\
         [[failure]]\nswitch = 'edge0.0'\nat = '20us'\naction = 'cut'\n",
        scenario(TREE, "newreno", &file, ", hosts = [0, 1, 2, 3]")
            .replace("'newreno' }", &format!("'newreno', {tcp} }}"))
    );
    let record = record(network(&text));
    assert!(matches!(record.ending, Ending::Stalled(_)), "{:?}", record.ending);
    let long = record.flows.iter().find(|flow| &*flow.workload == "workload1").expect("it is there");
    assert!(end(long) > Time::ZERO + Duration::from_ms(30), "{long:?}");
    assert!(record.ranks.iter().all(|rank| rank.end.is_none()));
}

/// A job for which the run does not wait has ended as far as it has, and no further.
#[test]
fn a_job_that_nobody_waits_for_is_cut_off_with_the_run() {
    let file = file("ring-4-behind.goal", &ring(4, 5_000_000));
    let text = format!(
        "{}background = true\n[[workload]]\nsizes = {{ law = 'fixed', size = '100KB' }}\nplacement = {{ pattern = 'pairs', pairs = [[8, 9]] }}\n",
        scenario(TREE, "ndp", &file, "")
    );
    let record = run(&text);
    assert!(record.ranks.iter().all(|rank| rank.end.is_none() && rank.ended == 0), "{:?}", record.ranks);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_expanded() {
    let error = |job: &str, more: &str| {
        let text = format!("fabric = {STAR}\ntransport = {{ name = 'ndp' }}\n[[workload]]\njob = {{ {job} }}\n{more}");
        let said = |e: String| e.lines().next().unwrap_or_default().to_owned();
        match parse("test.toml", &text, &[]) {
            Err(e) => said(e.to_string()),
            Ok(plan) => plan.network(&plan.runs[0]).map_or_else(|e| said(e.to_string()), |_| "nothing".to_owned()),
        }
    };
    let collective =
        |rest: &str| format!("collective = {{ kind = 'all-reduce', algorithm = 'ring', size = '1MB', {rest} }}");
    let ring_of = |rest: &str| error(&collective(rest), "");
    assert!(ring_of("ranks = 4000000000").contains("all-reduce by ring of 4000000000 ranks takes too many messages"));
    assert!(
        ring_of("ranks = 5").contains("collective.ranks: there are 4 hosts, each for one rank"),
        "{}",
        ring_of("ranks = 5")
    );
    assert!(ring_of("ranks = 4, rounds = 4000000000").contains("more messages than the"));
    assert!(ring_of("ranks = 4, chunks = 2").contains("ring cuts nothing into 2 chunks"));
    assert!(ring_of("ranks = 4, at_once = 2").contains("ring of all-reduce knows no `at_once`"));
    let model = |rest: &str| {
        let shape = "layers = 4, hidden = 64, attention = 8000, feed_forward = 16000, sequence = 16, microbatches = 2, tflops = 1";
        error(&format!("model = {{ {shape}, {rest} }}"), "")
    };
    assert!(model("data = 8").contains("job.model: there are 4 hosts, each for one rank"), "{}", model("data = 8"));
    assert!(model("pipeline = 3").contains("job.model.pipeline: 4 layers are no multiple of 3 stages"));
    assert!(model("data = 4000000000, tensor = 4000000000").contains("ranks, of 2 to 16777216"));
    assert_eq!(model("data = 4"), "nothing");
    let both = format!("{}, file = 'a.goal'", collective("ranks = 4"));
    assert!(error(&both, "").contains("a job is one of `file`, `collective` and `model`, not several"));
    let slow = error(&format!("{}, jitter = 0.1", collective("ranks = 4")), "");
    assert!(slow.contains("job.jitter: is about computations: the all-reduce has none"), "{slow}");
    let file = file("ring-4-refused.goal", &ring(4, 5_000));
    let goal = format!("file = '{}'", file.display());
    assert!(error(&format!("{goal}, groups = 'g.json'"), "").contains("job.groups: only for Chakra traces"));
    assert!(error(&goal, "sessions = 4\n").contains("sessions: not with `job`"));
    assert!(error(&goal, "[run]\nstop_size = '1MB'\n").contains("run.stop_size: a job goes on"));
    assert!(error(&format!("{goal}, hosts = [0, 1, 1, 2]"), "").contains("host 1 is named twice"));
    assert!(error(&format!("{goal}, hosts = [0, 1]"), "").contains("job.hosts: names 2 hosts, but"));
    assert_eq!(error(&goal, ""), "nothing");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Any collective on any transport, with or without links inside servers: all messages arrive, in windows and event by event the same;
    /// and without servers the bytes that cross the link of each member are those that the bus bandwidth counts, at least.
    #[test]
    fn any_collective_ends_and_is_the_same_in_windows(
        what in collectives(),
        transport in transport(),
        power in 1_u32..4,
        size in 8_000_u64..200_000,
        chunks in 1_u32..4,
        eager in prop::sample::select(vec!["0B", "1GB"]),
        servers in any::<bool>(),
    ) {
        prop_assume!(transport != "udp");
        let (kind, algorithm) = what;
        let chunks = if algorithm.has_chunks() { chunks } else { 1 };
        let ranks = 1 << power;
        // Two ranks would need no network.
        let servers = servers && ranks > 2;
        let host = if servers { "host = { server = { hosts = 2, rate = '900Gbps', latency = '300ns' } }\n" } else { "" };
        let per_server = if algorithm.has_servers() && !servers { ", per_server = 2" } else { "" };
        let text = format!(
            "fabric = {TREE}\n{host}transport = {{ name = '{transport}' }}\n[[workload]]\njob = {{ collective = {{ kind = '{}', algorithm = '{}', \
             ranks = {ranks}, size = '{size}B', chunks = {chunks}, rounds = 2{per_server} }}, eager = '{eager}' }}\n",
            kind.name(),
            algorithm.name()
        );
        let record = ends_the_same_in_windows(&text);
        let arrived: u64 = record.flows.iter().map(|flow| flow.size_bytes).sum();
        let members = f64::from(ranks) - if kind == Collective::Broadcast { 1.0 } else { 0.0 };
        prop_assert!(servers || arrived as f64 + 1.0 >= 2.0 * members * kind.bus_bytes(Bytes(size), ranks), "{arrived}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// A training step of any division, on any transport: it ends, and in windows and event by event it is the same.
    #[test]
    fn any_training_step_ends_and_is_the_same_in_windows(
        transport in transport(),
        (tensor, stages, data) in prop::sample::select(vec![(1, 2, 2), (2, 1, 4), (2, 2, 2), (1, 4, 2), (4, 1, 2), (1, 1, 8)]),
        experts in any::<bool>(),
        servers in any::<bool>(),
        gather in prop::sample::select(vec!["ring", "one-to-many", "recursive-doubling"]),
        microbatches in 1_u32..4,
    ) {
        prop_assume!(transport != "udp");
        let servers = servers && tensor * stages * data > 2 && data > 1 && tensor < 4;
        let host = if servers { "host = { server = { hosts = 2, rate = '900Gbps', latency = '300ns' } }\n" } else { "" };
        let experts = if experts { ", experts = { ranks = 2, parameters = 40000, active = 20000, copies = 2 }" } else { "" };
        let text = format!(
            "fabric = {TREE}\n{host}transport = {{ name = '{transport}' }}\n[[workload]]\njob = {{ algorithms = {{ all-gather = '{gather}' }}, model = {{ \
             layers = {stages}, hidden = 64, attention = 8000, feed_forward = 16000, sequence = 16, microbatches = {microbatches}, tensor = {tensor}, \
             pipeline = {stages}, data = {data}, tflops = 0.1{experts} }} }}\n",
        );
        ends_the_same_in_windows(&text);
    }
}

/// A run in which every rank ends, event by event and in windows the same.
fn ends_the_same_in_windows(text: &str) -> RunRecord {
    let [events, windows] = [Scheduling::Events, Scheduling::Windows].map(|scheduling| {
        let mut network = network(text);
        network.schedule_in(scheduling);
        record(network)
    });
    assert_eq!(events.ending, Ending::Complete);
    assert_eq!(events.fault(), None);
    assert!(events.ranks.iter().all(|rank| rank.end.is_some()));
    let all = |record: &RunRecord| (record.fingerprint, format!("{:?} {:?}", record.flows, record.ranks));
    assert_eq!(all(&events), all(&windows));
    events
}

fn collectives() -> impl Strategy<Value = (Collective, Algorithm)> {
    let all = Collective::ALL.into_iter().flat_map(|what| Algorithm::all(what).into_iter().map(move |how| (what, how)));
    prop::sample::select(all.collect::<Vec<_>>())
}

/// One message for three ranks: a group where the transport has them, else a connection for each.
#[test]
fn a_message_for_several_is_one_session() {
    let cases = [(common::scdp(8), true), (common::tcp(tcp::Algorithm::NewReno), false)];
    for (protocol, multicast) in cases {
        let mut b = Builder::new(4);
        let to = b.list(vec![1, 2, 3]);
        let first = b.add(0, Action::Send { to, bytes: Bytes(100_000), tag: 0 });
        for rank in 1..4 {
            b.add(rank, Action::Receive { from: Some(0), bytes: Bytes(100_000), tag: Some(0) });
        }
        let after = b.add(0, Action::Send { to: Peers::One(1), bytes: Bytes(1000), tag: 1 });
        b.after(after, first);
        b.add(1, Action::Receive { from: Some(0), bytes: Bytes(1000), tag: Some(1) });
        let job = Arc::new(b.build().expect("it is right"));
        let placed = PlacedJob::new(job, vec![0, 1, 2, 3], Settings::default(), Time::ZERO);
        let sessions = placed.sessions(0);
        assert_eq!((sessions[0].mode, sessions[0].sinks.len(), sessions[1].mode), (Mode::OneToMany, 3, Mode::Unicast));
        let mut setup = setup(star(4), drop_tail(100), protocol, PerPacket, sessions);
        setup.groups[0].job = Some(Arc::new(placed));
        let record = common::run(setup);
        let [to_one, .., next] = &record.flows[..] else { panic!("two messages, three receivers of the first") };
        assert_eq!((record.flows.len(), to_one.start), (4, at(0)));
        // It begins when all receivers have the first message and its sender knows.
        let all = record.flows[..3].iter().map(end).max().expect("three");
        assert!(next.start > all, "{next:?}");
        assert_eq!(record.ranks[0].ended, 2);
        // A group crosses the uplink once, connections three times.
        let packets = if multicast { 100_000 / 1400 } else { 3 * 100_000 / 1400 };
        assert!(
            record.links.iter().any(|link| link.src == "h0" && link.packets.abs_diff(packets) < 20),
            "{:?}",
            record.links
        );
    }
}
