//! What a slow receiver costs a one-to-many session under each policy, in a network.

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Setup, Stop, Straggler};
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::scdp::{self, ScdpConfig, StragglerPolicy};
use anabranch_transport::{Bytes, Duration, Rate};

const SYMBOLS: u64 = 1000;

/// Five hosts on a switch; the link of host 3 is ten times slower.
fn slow_host() -> Graph {
    let mut graph = star(5);
    graph.links[3].rate = Rate::from_mbps(100);
    graph
}

fn straggler(policy: StragglerPolicy) -> scdp::Straggler {
    scdp::Straggler { policy, time: Duration::from_ms(1), grace: Duration::from_ms(5), ..scdp::Straggler::default() }
}

fn write(policy: StragglerPolicy) -> Setup {
    write_with(straggler(policy))
}

fn write_with(straggler: scdp::Straggler) -> Setup {
    let session = Session { mode: Mode::OneToMany, sinks: vec![1, 2, 3].into(), ..unicast(0, 1, 1436 * SYMBOLS) };
    let protocol = Protocol::Scdp(ScdpConfig { straggler, ..ScdpConfig::default() }.into());
    Setup { stop: Stop::Foreground, ..setup(slow_host(), mlfq_trim(20), protocol, Single, vec![session]) }
}

fn packets_into(record: &RunRecord, host: u32) -> u64 {
    record.links.iter().find(|l| l.dst == format!("h{host}")).expect("every host has a link").packets
}

#[test]
fn waiting_makes_all_as_slow_as_the_slowest() {
    let record = complete(write(StragglerPolicy::Wait));
    // 1000 packets at 100 Mbps.
    for n in 0..3 {
        assert!(fct(&record, n) > Duration::from_ms(118), "{}", fct(&record, n));
    }
    assert!(record.flows.iter().all(|f| f.straggler.is_none()));
    assert_eq!(packets_into(&record, 3), SYMBOLS);
}

#[test]
fn a_detached_receiver_is_served_by_itself_and_the_group_leaves_it_in_peace() {
    let record = complete(write(StragglerPolicy::Detach));
    let stragglers: Vec<_> = record.flows.iter().map(|f| f.straggler).collect();
    assert_eq!(stragglers, [None, None, Some(Straggler::Detached)]);
    // The uplink carries the group's symbols, and a tenth of its rate besides.
    assert!(fct(&record, 0) < Duration::from_us(12 * 1000 * 12 / 10 + 2_000), "{}", fct(&record, 0));
    assert!(fct(&record, 2) < Duration::from_ms(125), "{}", fct(&record, 2));
    // One copy to each on the links of the tree, and none to who has left it.
    assert_eq!(packets_into(&record, 1), SYMBOLS);
    assert_eq!(packets_into(&record, 3), SYMBOLS);
    assert!(record.flows.iter().all(|f| !f.decoded));
}

#[test]
fn a_dropped_receiver_ends_without_an_end_and_nobody_waits_for_it() {
    let record = complete_but(write(StragglerPolicy::Drop));
    let ends: Vec<_> = record.flows.iter().map(|f| (f.end.is_some(), f.straggler)).collect();
    assert_eq!(ends, [(true, None), (true, None), (false, Some(Straggler::Dropped))]);
    let whole = Duration::from_us(12 * 1000 + 50);
    assert!(fct(&record, 0) < whole && fct(&record, 1) < whole, "{} {}", fct(&record, 0), fct(&record, 1));
    // And everybody closes.
    let idle = complete_but(Setup { stop: Stop::Idle, ..write(StragglerPolicy::Drop) });
    assert_eq!(idle.conservation.in_flight, 0);
}

/// [`complete`] without the rule that all flows have an end.
fn complete_but(setup: Setup) -> RunRecord {
    use anabranch_sim::network::{Ending, Network};
    let mut network = Network::new(setup);
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete);
    assert!(record.conservation.holds(), "{:?}", record.conservation);
    record
}

#[test]
fn trees_of_a_group_that_a_receiver_has_left_follow_failures() {
    let mut setup = write(StragglerPolicy::Detach);
    // The receiver that stays is cut off for a while, after the slow one was detached.
    setup.changes = vec![cut(1, at(6_000)), (at(9_000), restore(1))];
    let record = complete(setup);
    assert!(record.flows.iter().all(|f| f.end.is_some()));
    assert!(record.conservation.dropped > 0);
}

/// Symbols of 200 blocks: three times as many as are under way at once.
const MANY_SYMBOLS: u64 = 20_000;

/// A write of [`MANY_SYMBOLS`] to three hosts, the last of them at `mbps`.
fn long_write(policy: StragglerPolicy, mbps: u64) -> RunRecord {
    complete_but(long_write_with(straggler(policy), mbps))
}

fn long_write_with(straggler: scdp::Straggler, mbps: u64) -> Setup {
    let mut setup = write_with(straggler);
    let mut graph = slow_host();
    graph.links[3].rate = Rate::from_mbps(mbps);
    setup.graph = graph.into();
    setup.sessions[0].size = Some(Bytes(1436 * MANY_SYMBOLS));
    setup
}

const SLOW_MBPS: [u64; 5] = [10, 100, 500, 900, 990];

/// What the object takes on a link, at least.
fn least(mbps: u64) -> f64 {
    Rate::from_mbps(mbps).transmit_time(1500 * MANY_SYMBOLS).as_secs_f64()
}

#[test]
fn a_group_of_many_blocks_goes_at_the_pace_of_its_slowest() {
    for mbps in SLOW_MBPS {
        let record = long_write(StragglerPolicy::Wait, mbps);
        for n in 0..3 {
            let pace = fct(&record, n).as_secs_f64() / least(mbps);
            assert!((0.98..1.05).contains(&pace), "{mbps} Mbps, receiver {n}: {pace}");
        }
        assert!(record.flows.iter().map(|f| f.timeouts).sum::<u64>() < 10, "{mbps} Mbps");
    }
}

#[test]
fn a_straggler_of_many_blocks_is_detached_and_served() {
    for mbps in SLOW_MBPS {
        let record = long_write(StragglerPolicy::Detach, mbps);
        let alone = fct(&record, 2).as_secs_f64() / least(mbps);
        assert!(alone > 0.98 && alone < 1.1 * (mbps as f64 / 500.0).max(1.0), "{mbps} Mbps: {alone}");
        for n in 0..2 {
            // The sender's link carries the straggler's symbols, too: half of it at most.
            let pace = fct(&record, n).as_secs_f64() / least(1000);
            let most = (1.0 / (1.0 - mbps as f64 / 1000.0)).min(2.0);
            assert!(pace < 1.05 * most, "{mbps} Mbps, receiver {n}: {pace}, {most}");
        }
    }
}

#[test]
fn a_quorum_of_many_blocks_goes_at_its_own_pace() {
    for mbps in SLOW_MBPS {
        let record = long_write(StragglerPolicy::Drop, mbps);
        for n in 0..2 {
            let pace = fct(&record, n).as_secs_f64() / least(1000);
            assert!((0.98..1.05).contains(&pace), "{mbps} Mbps, receiver {n}: {pace}");
        }
        assert_eq!(record.flows[2].straggler, Some(Straggler::Dropped), "{mbps} Mbps");
    }
}

#[test]
fn a_straggler_of_many_blocks_catches_up_in_a_long_grace() {
    for mbps in SLOW_MBPS {
        let straggler = scdp::Straggler { grace: Duration::from_secs(100), ..straggler(StragglerPolicy::Drop) };
        let record = complete(long_write_with(straggler, mbps));
        let (quorum, all) = (fct(&record, 0).as_secs_f64(), fct(&record, 2).as_secs_f64());
        assert!(quorum < 1.05 * least(1000), "{mbps} Mbps: {quorum} s");
        // From then on it gets what it lacks at its own pace.
        assert!(all < quorum + 1.1 * least(mbps), "{mbps} Mbps: {all} s");
    }
}

fn restore(link: u32) -> anabranch_sim::network::Change {
    anabranch_sim::network::Change::Restore(anabranch_sim::network::Target::Link(link))
}

/// A group of hosts 1, 2 and 3 with the parameters of real hosts, on links of 100 Mbps; that of host 3 has so many.
fn as_on_hosts(policy: StragglerPolicy, mbps: u64) -> RunRecord {
    let straggler = scdp::Straggler::on_hosts(policy);
    let config = ScdpConfig { straggler, ..ScdpConfig::on_hosts(Bytes(1500), Bytes(64)) };
    let session = Session { mode: Mode::OneToMany, sinks: vec![1, 2, 3].into(), ..unicast(0, 1, 1436 * LATE_SYMBOLS) };
    let mut graph = star(5);
    graph.links.iter_mut().for_each(|link| link.rate = Rate::from_mbps(100));
    graph.links[3].rate = Rate::from_mbps(mbps);
    let setup = setup(graph, drop_tail(200), Protocol::Scdp(config.into()), Single, vec![session]);
    complete(Setup { stop: Stop::Foreground, ..setup })
}

/// 0.84 s at 100 Mbps.
const LATE_SYMBOLS: u64 = 7000;

#[test]
fn by_lateness_who_is_slow_is_detached_and_the_others_finish_in_their_time() {
    let without = fct(&as_on_hosts(StragglerPolicy::Detach, 100), 0);
    for mbps in [1, 10, 30] {
        let record = as_on_hosts(StragglerPolicy::Detach, mbps);
        let stragglers: Vec<_> = record.flows.iter().map(|f| f.straggler).collect();
        println!("{mbps} Mbps: {} instead of {without}, {stragglers:?}", fct(&record, 0));
        assert_eq!(stragglers, [None, None, Some(Straggler::Detached)], "{mbps} Mbps");
        assert!(fct(&record, 0) < without * 2 + Duration::from_ms(300), "{mbps} Mbps: {}", fct(&record, 0));
    }
    let record = as_on_hosts(StragglerPolicy::Wait, 30);
    assert!(record.flows.iter().all(|f| f.straggler.is_none()));
    assert!(fct(&record, 0) > without * 3, "all wait: {}", fct(&record, 0));
}

#[test]
fn by_lateness_nobody_leaves_who_is_as_fast_as_the_others() {
    let record = as_on_hosts(StragglerPolicy::Detach, 100);
    assert!(record.flows.iter().all(|f| f.straggler.is_none()));
    assert!(fct(&record, 0) < Duration::from_ms(950), "{}", fct(&record, 0));
}
