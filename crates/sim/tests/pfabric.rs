//! pFabric: small flows beside long ones, at a bottleneck that goes by what remains.

use crate::common::{at, complete, ecn, fct, run, setup, star, tcp, unicast, us};
use anabranch_sim::fabric::queue::pfabric::Pfabric;
use anabranch_sim::fabric::queue::{Limit, Queue};
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Stop;
use anabranch_sim::workload::Session;
use anabranch_transport::Duration;
use anabranch_transport::tcp::{Algorithm, PfabricConfig, TcpConfig};

/// A star of links of 1 Gbps and 10 us: a full packet and its ACK take 64 us, 5.4 packets.
fn pfabric() -> Protocol {
    let config = PfabricConfig { initial_window: 6, rto: us(200), ..PfabricConfig::default() };
    Protocol::Tcp(config.over(&TcpConfig { handshake: false, ..TcpConfig::default() }))
}

/// Of two bandwidth-delay products.
fn queue() -> impl Fn(u32) -> Queue + Send {
    |_| Queue::Pfabric(Box::new(Pfabric::new(Limit::Packets(12))))
}

/// Twenty flows of 30 KB, one each 2 ms, to host 0 beside two flows without end.
fn short_beside_long(protocol: Protocol, queue: impl Fn(u32) -> Queue + Send + 'static) -> RunRecord {
    let endless = |source| Session { size: None, ..unicast(source, 0, 0) };
    let mut sessions = vec![endless(1), endless(2)];
    sessions.extend((0..20).map(|n| Session { start: at(10_000 + 2_000 * n), ..unicast(3, 0, 30_000) }));
    let mut setup = setup(star(4), queue, protocol, Single, sessions);
    (setup.stop, setup.time_limit) = (Stop::Limit, at(60_000));
    run(setup)
}

fn slowdowns(record: &RunRecord) -> Vec<f64> {
    (2..22).map(|n| fct(record, n).ps() as f64 / record.flows[n].ideal_ps as f64).collect()
}

#[test]
fn short_flows_are_nearly_as_fast_as_alone() {
    let record = short_beside_long(pfabric(), queue());
    let all = slowdowns(&record);
    let worst = all.iter().fold(0.0_f64, |a, &b| a.max(b));
    let dctcp = slowdowns(&short_beside_long(tcp(Algorithm::Dctcp), ecn(100, 20)));
    let best = dctcp.iter().fold(f64::MAX, |a, &b| a.min(b));
    let downlink = record.links.iter().find(|l| l.dst == "h0").expect("host 0 has a downlink");
    // A packet that is being sent is not interrupted: 12 us of 300.
    assert!(worst < 1.1, "{all:?}");
    assert!(best > 2.0, "{dctcp:?}");
    assert!(downlink.utilisation > 0.9, "{}", downlink.utilisation);
}

#[test]
fn flows_end_in_the_order_of_their_sizes_as_if_one_after_the_other() {
    // Four flows at once to one host: SRPT serves them one by one, a fair queue would end them nearly together.
    let sizes = [400_000, 100_000, 300_000, 200_000];
    let sessions = (1..5).map(|h| unicast(h, 0, sizes[h as usize - 1])).collect();
    let record = complete(setup(star(5), queue(), pfabric(), Single, sessions));
    let ends: Vec<Duration> = (0..4).map(|n| fct(&record, n)).collect();
    // The bytes of all that are not larger, at 1 Gbps with 40 B of headers for each 1460 B.
    for (n, &size) in sizes.iter().enumerate() {
        let before: u64 = sizes.iter().filter(|&&other| other <= size).sum();
        let ideal = before as f64 * 1500.0 / 1460.0 * 8.0 / 1e9;
        let took = ends[n].as_secs_f64();
        assert!(took > ideal && took < 1.25 * ideal, "{size} B: {took} s, ideally {ideal} s");
    }
}

#[test]
fn a_starved_flow_probes_and_ends_when_the_others_have() {
    // 2 MB before 10 MB: the long one gets nothing through for 16 ms, 80 timeouts.
    let sessions = vec![unicast(1, 0, 10_000_000), unicast(2, 0, 2_000_000)];
    let record = complete(setup(star(3), queue(), pfabric(), Single, sessions));
    let total = 12e6 * 1500.0 / 1460.0 * 8.0 / 1e9;
    let long = fct(&record, 0).as_secs_f64();
    assert!(long < 1.1 * total, "{long} s of {total} s");
    assert!(record.flows[0].timeouts > 20);
}
