//! What the papers promise, on random scenarios: no packet vanishes, every transport delivers every object, a multicast
//! packet crosses each link of its tree once, and without loss nothing is sent in vain and nothing is decoded.
//!
//! `PROPTEST_CASES=5000` looks longer. `properties.rs` has hostile worlds; here everything is as in a scenario file.

use crate::scenes::*;
use anabranch_sim::experiment::{Progress, run_all};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Network, Straggler};
use anabranch_sim::workload::Mode;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Mutex;

/// Links from the source to each node.
fn distances(graph: &Graph, source: u32) -> Vec<u32> {
    let mut distances = vec![u32::MAX; graph.nodes.len()];
    distances[source as usize] = 0;
    let mut next = VecDeque::from([source]);
    while let Some(node) = next.pop_front() {
        for port in (0..graph.ports()).filter(|&p| graph.port_owner(p) == node) {
            let peer = graph.port_peer(port);
            if distances[peer as usize] == u32::MAX {
                distances[peer as usize] = distances[node as usize] + 1;
                next.push_back(peer);
            }
        }
    }
    distances
}

/// Packets sent by each port that leads away from `source`: nothing but what the source sent, for pulls go the other way.
fn away_from(network: &Network, source: u32) -> Vec<(u32, u32, u64)> {
    let graph = network.graph();
    let distances = distances(graph, source);
    let leads_away = |p: &u32| distances[graph.port_peer(*p) as usize] > distances[graph.port_owner(*p) as usize];
    let sent = |p: u32| (graph.port_owner(p), graph.port_peer(p), network.ports()[p as usize].counters().packets);
    (0..graph.ports()).filter(leads_away).map(sent).filter(|(_, _, packets)| *packets > 0).collect()
}

/// Whether switches or clocks took anything of a session for lost.
fn lost(network: &Network, session: usize) -> bool {
    let row = &network.sessions()[session];
    row.packets_trimmed + row.packets_dropped + row.sent.timeouts > 0
        || row.receivers.iter().any(|r| r.stats.timeouts > 0)
}

proptest! {
    #![proptest_config(settings(25))]

    /// After every single event.
    #[test]
    fn every_packet_is_somewhere_at_any_time(scene in scenes(), transport in transport()) {
        let mut network = scene.network(transport);
        let mut now = network.now();
        let ending = loop {
            let ending = network.advance(1);
            let counts = network.conservation();
            prop_assert!(counts.holds(), "{transport} after {} events: {counts:?}", network.events());
            prop_assert!(network.now() >= now && network.events() < 4_000_000);
            now = network.now();
            if let Some(ending) = ending {
                break ending;
            }
        };
        prop_assert_eq!(ending, Ending::Complete);
    }

    /// Of the same workload. And what switches did to the sessions is what they count themselves.
    #[test]
    fn every_transport_delivers_every_object_no_faster_than_a_link(scene in scenes()) {
        for transport in transports() {
            let mut network = scene.network(transport);
            complete(&mut network);
            for (row, spec) in network.sessions().iter().zip(network.specs()) {
                let size = spec.size.expect("an end").0;
                for receiver in &row.receivers {
                    // UDP repeats nothing: what loses a packet is given up.
                    if transport == "udp" && receiver.straggler == Some(Straggler::Dropped) {
                        prop_assert!(receiver.stats.bytes_delivered < size && row.packets_dropped + row.packets_trimmed > 0);
                        continue;
                    }
                    prop_assert_eq!(receiver.stats.bytes_delivered, size, "{}: {:?}", transport, spec);
                    let took = receiver.completed.expect("complete").since(spec.start);
                    // In Mbit/s and ps: bits * 10^6 / ps.
                    let goodput = u128::from(size) * 8_000_000 / u128::from(took.ps());
                    prop_assert!(goodput <= u128::from(scene.rate_mbps), "{}: {} Mbit/s: {:?}", transport, goodput, spec);
                }
            }
            let record = RunRecord::take(&mut network, Ending::Complete);
            for link in &record.links {
                let carried = u128::from(link.bytes) * 8_000_000 / u128::from(record.simulated.ps());
                // The packet that is being sent counts whole.
                let last = 1500 * 8_000_000 / u128::from(record.simulated.ps()) + 1;
                prop_assert!(carried <= u128::from(scene.rate_mbps) + last, "{}: {:?}", transport, link);
            }
            let sessions = network.sessions();
            let flows = |count: fn(&anabranch_sim::network::SessionRow) -> u64| sessions.iter().map(count).sum::<u64>();
            let links = |count: fn(&anabranch_sim::measure::LinkRow) -> u64| record.links.iter().map(count).sum::<u64>();
            prop_assert_eq!(flows(|s| s.packets_trimmed), links(|l| l.trimmed), "{}", transport);
            prop_assert_eq!(flows(|s| s.packets_dropped), links(|l| l.dropped), "{}", transport);
            prop_assert_eq!(flows(|s| s.packets_dropped), record.conservation.dropped, "{}", transport);
        }
    }

    /// Also: of a session that lost nothing, among others that did.
    #[test]
    fn nothing_is_decoded_unless_something_was_lost(scene in scenes()) {
        let mut network = scene.network("scdp");
        complete(&mut network);
        for (session, row) in network.sessions().iter().enumerate() {
            // Of several senders, one may run out of source symbols before the others: docs/fidelity/scdp-protocol.md.
            if network.specs()[session].mode != Mode::ManyToOne && !lost(&network, session) {
                for receiver in &row.receivers {
                    prop_assert_eq!((receiver.stats.decoded_blocks, receiver.stats.overhead_symbols), (0, 0));
                }
                prop_assert_eq!(row.sent.data_sent, scene.symbols());
            }
        }
    }

    /// Headers of what is trimmed arrive, so that everything that is waited for is on its way: SCDP's clocks are for packets that are lost.
    #[test]
    fn nothing_waits_for_a_clock_unless_a_header_was_lost(scene in scenes(), policy in select(vec!["wait", "detach", "drop"])) {
        let policy = format!("transport.scdp.straggler.policy={policy}");
        let mut network = Scene { patient: true, ..scene }.network_with("scdp", &[&policy]);
        complete(&mut network);
        prop_assert_eq!(network.conservation().dropped, 0);
        for row in network.sessions() {
            let receivers = row.receivers.iter().map(|receiver| receiver.stats.timeouts);
            prop_assert_eq!((row.sent.timeouts, receivers.sum::<u64>()), (0, 0), "{:?}", row);
        }
    }

    #[test]
    fn without_loss_every_transport_sends_each_packet_once(scene in lossless_unicast()) {
        for transport in transports() {
            let mut network = scene.network(transport);
            complete(&mut network);
            for (session, row) in network.sessions().iter().enumerate() {
                prop_assert!(!lost(&network, session), "{}: {:?}", transport, row);
                let packets = network.groups()[0].transport.packets(scene.size_bytes).count;
                prop_assert_eq!((row.sent.data_sent, row.sent.retransmitted), (packets, 0), "{}", transport);
                prop_assert_eq!(row.receivers[0].stats.data_received, packets, "{}", transport);
                prop_assert_eq!((row.receivers[0].stats.decoded_blocks, row.receivers[0].stats.overhead_symbols), (0, 0));
            }
            if transport == "scdp" {
                prop_assert_eq!(network.groups()[0].transport.packets(scene.size_bytes).count, scene.symbols());
            }
        }
    }

    #[test]
    fn without_loss_a_group_gets_each_symbol_once(scene in lossless_one_to_many()) {
        let mut network = scene.network("scdp");
        complete(&mut network);
        for (session, row) in network.sessions().iter().enumerate() {
            prop_assert!(!lost(&network, session), "{:?}", row);
            prop_assert_eq!(row.sent.data_sent, scene.symbols());
            for receiver in &row.receivers {
                let stats = receiver.stats;
                prop_assert_eq!((stats.data_received, stats.decoded_blocks), (scene.symbols(), 0));
            }
        }
    }

    /// The links that carry a group's packets are a tree with its receivers as leaves, and each carries each packet once,
    /// whole or trimmed.
    #[test]
    fn a_multicast_packet_crosses_each_link_of_its_tree_once(scene in one_group()) {
        // Of traffic that is not waited for, until the last packet has arrived.
        let idle = ["workload.0.background=true", "run.stop=foreground", "run.time_limit=1000s"];
        let mut network = scene.network_with("scdp", &idle);
        complete(&mut network);
        prop_assert_eq!((network.conservation().in_flight, network.conservation().dropped), (0, 0));
        prop_assert!(network.sessions()[0].receivers.iter().all(|r| r.completed.is_some() && r.stats.timeouts == 0));
        let spec = &network.specs()[0];
        let sent = network.sessions()[0].sent.data_sent;
        let used = away_from(&network, spec.sources[0]);
        for &(from, to, packets) in &used {
            prop_assert_eq!(packets, sent, "from {} to {}", from, to);
            let parent = used.iter().filter(|link| link.1 == from).count();
            prop_assert_eq!(parent, usize::from(from != spec.sources[0]), "what node {} sends, it got once", from);
            prop_assert_eq!(used.iter().filter(|link| link.1 == to).count(), 1, "node {} gets it twice", to);
            let goes_on = used.iter().any(|link| link.0 == to);
            prop_assert!(goes_on || spec.sinks.contains(&to), "nobody behind node {}", to);
        }
        for sink in &spec.sinks {
            prop_assert!(used.iter().any(|link| link.1 == *sink), "host {} gets nothing", sink);
        }
    }

    /// With several trees, each packet takes one of them.
    #[test]
    fn a_packet_takes_one_tree(scene in lossless_one_to_many()) {
        let mut network = Scene { requests: 1, ..scene }.network("scdp");
        complete(&mut network);
        let (spec, sent) = (&network.specs()[0], network.sessions()[0].sent.data_sent);
        let used = away_from(&network, spec.sources[0]);
        let got = |node: u32| used.iter().filter(|link| link.1 == node).map(|link| link.2).sum::<u64>();
        prop_assert_eq!(used.iter().filter(|link| link.0 == spec.sources[0]).map(|link| link.2).sum::<u64>(), sent);
        for node in 0..network.graph().nodes.len() as u32 {
            prop_assert!(got(node) <= sent, "node {} gets {} of {}", node, got(node), sent);
        }
        for &sink in &spec.sinks {
            prop_assert_eq!(got(sink), sent, "host {}", sink);
        }
    }

    #[test]
    fn the_workload_depends_on_the_seed_and_not_on_the_transport(scene in scenes()) {
        let sessions = |transport: &str, seed: u32| {
            let plan = scene.plan(&[&format!("transport.name={transport}"), &format!("seed={seed}")]);
            plan.prepare(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}")).sessions
        };
        let own = sessions("scdp", scene.seed);
        for transport in transports() {
            prop_assert_eq!(&sessions(transport, scene.seed), &own, "{}", transport);
        }
        if scene.load.is_some() {
            prop_assert_ne!(sessions("scdp", scene.seed ^ 1), own);
        }
    }

    /// Neither the number of threads nor what else they run changes a run, to the last column.
    #[test]
    fn threads_change_nothing(scene in scenes(), threads in 2..5_usize) {
        let sweep = scene.sweep(2);
        let all = |threads: usize| {
            let records: Vec<Mutex<Option<RunRecord>>> = sweep.runs.iter().map(|_| Mutex::new(None)).collect();
            let every: Vec<usize> = (0..sweep.runs.len()).collect();
            let done = run_all::<Infallible>(
                &every,
                threads,
                &Progress::new(sweep.runs.len()),
                |i| Ok(sweep.network(&sweep.runs[i]).unwrap_or_else(|e| panic!("{e}"))),
                |i, record, _| {
                    *records[i].lock().expect("a record") = Some(record);
                    Ok(())
                },
            );
            done.expect("nothing fails");
            records.into_iter().map(|r| r.into_inner().expect("a record").expect("it ran")).collect::<Vec<_>>()
        };
        let (one, many) = (all(1), all(threads));
        for (one, many) in one.iter().zip(&many) {
            prop_assert_eq!(one.fingerprint, many.fingerprint);
            prop_assert_eq!(&one.flows, &many.flows);
            prop_assert_eq!(&one.links, &many.links);
            prop_assert_eq!(one.conservation, many.conservation);
        }
        if scene.load.is_some() {
            prop_assert_ne!(one[0].fingerprint, one[1].fingerprint, "another seed is another run");
        }
    }
}
