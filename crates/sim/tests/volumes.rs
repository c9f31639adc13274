//! Traffic that follows a volume series: what goes in is what the links count, and no transport is left waiting.

use crate::common::*;
use anabranch_sim::fabric::queue::drop_tail::DropTail;
use anabranch_sim::fabric::queue::{Limit, Queue};
use anabranch_sim::fabric::routing::RoutingMode;
use anabranch_sim::host::protocol::{Protocol, Transport};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Sampling, Setup, Stop, Straggler};
use anabranch_sim::scenario::{Plan, parse};
use anabranch_sim::workload::supply::{Series, Spread};
use anabranch_sim::workload::{Mode, Session, Supply};
use anabranch_transport::tcp::Algorithm;
use anabranch_transport::udp::UdpConfig;
use anabranch_transport::{Bytes, Duration};
use proptest::prelude::*;
use std::sync::Arc;

const BIN: Duration = Duration::from_ms(10);

fn udp() -> Protocol {
    Protocol::Udp(UdpConfig::default())
}

fn series(bytes: &[u64], spread: Spread) -> Arc<Series> {
    Arc::new(Series { bin: BIN, bytes: bytes.to_vec(), chunk: 1500, spread })
}

/// A session from host 0 to host 1 that follows a series from bin `first` on.
fn following(series: &Arc<Series>, first: u32, protocol: &Protocol) -> Session {
    let transport = Transport { name: "test".to_owned(), protocol: protocol.clone() };
    let size = Some(Bytes(transport.object(series.total())));
    Session {
        size,
        supply: Some(Supply { series: Arc::clone(series), first, seed: u64::from(first) }),
        ..unicast(0, 1, 1)
    }
}

fn unlimited(_: u32) -> Queue {
    Queue::DropTail(DropTail::new(Limit::NONE))
}

fn measured(protocol: Protocol, session: Session) -> RunRecord {
    let sampling = Sampling { interval: BIN, volumes: true, ..Sampling::default() };
    complete(Setup { sampling, ..setup(star(2), unlimited, protocol, RoutingMode::PerFlow, vec![session]) })
}

/// Bytes that a port sent in each of the first `bins` bins.
fn sent(record: &RunRecord, port: u32, bins: usize) -> Vec<u64> {
    let mut volumes = vec![0; bins];
    for sample in record.series.iter().filter(|s| s.metric == "bytes" && s.id == port) {
        volumes[(sample.time / BIN.ps()) as usize - 1] += sample.value as u64;
    }
    volumes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The last packet may be shorter than its headers: then it is not sent.
    #[test]
    fn what_goes_in_leaves_by_the_hosts_link(
        // At most a tenth of what 1 Gbps carries in 10 ms.
        bytes in prop::collection::vec(prop_oneof![Just(0), 0..125_000_u64], 1..30).prop_filter("traffic", |b| b.iter().sum::<u64>() > 28),
        first in any::<prop::sample::Index>(),
    ) {
        let n = bytes.len();
        let first = first.index(n);
        let record = measured(udp(), following(&series(&bytes, Spread::Even), first as u32, &udp()));
        let total: u64 = bytes.iter().sum();
        let link = &record.links[0];
        prop_assert!(link.bytes <= total && total - link.bytes <= 28, "{} of {total}", link.bytes);
        let (mut out, mut asked) = (0, 0);
        for (bin, volume) in sent(&record, 0, n).into_iter().enumerate() {
            let wanted = bytes[(first + bin) % n];
            prop_assert!(wanted > 0 || volume == 0, "an empty bin stays empty");
            (out, asked) = (out + volume, asked + wanted);
            prop_assert!(out <= asked && asked - out < 1500 + 28, "bin {bin}: {out} of {asked}");
        }
        prop_assert_eq!(out, link.bytes, "every byte is in a bin");
    }

    #[test]
    fn every_transport_that_can_wait_delivers_all_of_it(
        bytes in prop::collection::vec(0..60_000_u64, 1..8).prop_filter("traffic", |b| b.iter().sum::<u64>() > 100),
        protocol in prop::sample::select(vec![udp(), tcp(Algorithm::NewReno), tcp(Algorithm::Dctcp), ndp(12)]),
        spread in prop::sample::select(vec![Spread::Even, Spread::Poisson]),
    ) {
        let session = following(&series(&bytes, spread), 0, &protocol);
        let (size, last) = (session.size, bytes.iter().rposition(|&volume| volume > 0).unwrap_or(0) as u64);
        // NDP's receiver asks again while the application is silent.
        let patient = !matches!(protocol, Protocol::Ndp(_));
        let record = measured(protocol, session);
        prop_assert_eq!(record.flows[0].size_bytes, size.map_or(0, |s| s.0));
        // Not before the application has written it, and soon after.
        let end = record.flows[0].end.expect("it is complete").ps();
        prop_assert!(end >= last * BIN.ps() && end < (last + 1) * BIN.ps() + Duration::from_ms(5).ps(), "{end}");
        prop_assert!(record.flows[0].timeouts == 0 || !patient);
    }
}

#[test]
fn a_transfer_that_lost_packets_does_not_keep_the_run_waiting() {
    // Two hosts send at the link's rate each to a third, over a queue of five packets.
    let sessions = vec![unicast(1, 0, 300_000), unicast(2, 0, 300_000)];
    let mut s = setup(star(3), drop_tail(5), udp(), RoutingMode::PerFlow, sessions);
    s.stop = Stop::Foreground;
    let mut network = anabranch_sim::network::Network::new(s);
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete);
    assert!(record.conservation.holds() && record.conservation.dropped > 100);
    for flow in &record.flows {
        assert_eq!((flow.end, flow.straggler), (None, Some(Straggler::Dropped)));
        assert_eq!(flow.packets_retransmitted, 0);
    }
}

#[test]
fn of_several_receivers_only_those_that_lost_packets_are_given_up() {
    // Host 0 sends to 1, 2 and 3; a burst of host 4 to host 2 fills the queue there.
    let write = Session { mode: Mode::OneToMany, sinks: vec![1, 2, 3].into(), ..unicast(0, 1, 100_000) };
    let s = setup(star(5), drop_tail(20), udp(), RoutingMode::PerFlow, vec![write, unicast(4, 2, 2_000_000)]);
    let mut network = anabranch_sim::network::Network::new(s);
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete);
    let lost: Vec<bool> = record.flows[..3].iter().map(|flow| flow.straggler.is_some()).collect();
    assert_eq!(lost, [false, true, false]);
    assert!(record.flows[..3].iter().all(|flow| flow.end.is_none() == flow.straggler.is_some()));
}

/// A scenario beside the volumes of the repository.
fn scenario(more: &str, overrides: &[&str]) -> Result<Plan, String> {
    let text = format!(
        r#"
        [fabric]
        topology = "star"
        hosts = 4
        [transport]
        name = "udp"
        [[workload]]
        sizes = {{ law = "volumes", file = "volumes.csv" }}
        placement = {{ pattern = "pairs", pairs = [[0, 1], [2, 3]] }}
        {more}
        "#
    );
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/traffic/test.toml");
    parse(file, &text, &overrides).map_err(|e| e.to_string())
}

#[test]
fn volumes_are_background_and_the_same_for_every_transport() {
    let sessions = |transport: &str| {
        let name = format!("transport.name={transport}");
        let starts = "workload.0.sizes.start=random";
        let plan = scenario("", &[&name, starts, "run.time_limit=1s"]).unwrap();
        assert!(plan.runs[0].scenario.workload[0].is_background());
        plan.prepare(&plan.runs[0]).unwrap().sessions
    };
    let [by_udp, by_tcp] = ["udp", "newreno"].map(sessions);
    assert_eq!(by_udp.len(), 2);
    assert_ne!(by_udp[0].supply, by_udp[1].supply, "each has a start of its own");
    for (a, b) in by_udp.iter().zip(&by_tcp) {
        assert_eq!((a.start, &a.supply, &a.sources), (b.start, &b.supply, &b.sources));
        let wire = a.supply.as_ref().unwrap().series.total();
        assert_eq!(a.size, Some(Bytes(wire / 1500 * 1472 + (wire % 1500).saturating_sub(28))));
        assert_eq!(b.size, Some(Bytes(wire / 1500 * 1460 + (wire % 1500).saturating_sub(40))));
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let error = |more: &str, overrides: &[&str]| scenario(more, overrides).unwrap_err();
    let endless = "run.time_limit=1s";
    let found = error("", &[endless, "transport.name=scdp"]);
    assert!(found.contains("scdp needs the whole object at the start") && found.contains("udp"), "{found}");
    let found = error("", &[endless, "workload.0.sizes={ law = \"endless\" }"]);
    assert!(found.contains("udp sends all that there is at once"), "{found}");
    let replicas =
        r#"workload.0.placement={ pattern = "replicas", replicas = 3, policy = "random", access = "write" }"#;
    let found = error("", &[endless, replicas, "workload.0.mode=one_to_many", "fabric.hosts=5"]);
    assert!(found.contains("volumes are for sessions with one sender and one receiver"), "{found}");
    let found = error("", &[endless, "workload.0.sizes.file=gone.csv"]);
    assert!(found.contains("gone.csv"), "{found}");
    assert!(error("", &[]).contains("the run waits for no session"));
}

#[test]
fn the_series_is_part_of_the_hash() {
    let plan = scenario("", &["run.time_limit=1s"]).unwrap();
    assert_eq!(plan.runs[0].scenario.data_files(), ["volumes.csv"]);
}

/// 250 MB take two seconds at 1 Gbps, longer than `linger`: what waits in the host's queue is not lost.
#[test]
fn what_has_not_left_the_host_is_not_taken_for_lost() {
    let large = Session { size: Some(Bytes(250_000_000)), ..unicast(0, 1, 1) };
    let record = complete(setup(star(2), unlimited, udp(), RoutingMode::PerFlow, vec![large]));
    assert!(record.flows[0].end.is_some(), "{:?}", record.flows[0]);
    assert_eq!(record.flows[0].straggler, None);
}
