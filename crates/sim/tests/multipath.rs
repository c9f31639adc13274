//! Transports with several connections: each subflow has a path of its own.

use crate::common::{DELAY, GBPS, at, complete, drop_tail, fct, ms, setup, unicast};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode;
use anabranch_sim::fabric::topology::{FatTree, Layers, TopologyConfig};
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Change, Setup, Target};
use anabranch_transport::Bytes;
use anabranch_transport::multipath::{FrontBackConfig, MptcpConfig, Subflows};
use anabranch_transport::tcp::TcpConfig;
use std::path::Path;

/// With four core switches.
fn fat_tree() -> Graph {
    let config = FatTree { k: 4, rate: GBPS, delay: DELAY, layers: Layers::default() };
    TopologyConfig::FatTree(config).build(Path::new("")).expect("the fabric is possible")
}

fn tcp() -> TcpConfig {
    TcpConfig { rto_min: ms(1), rto_initial: ms(10), receive_window: Bytes(1 << 20), ..TcpConfig::default() }
}

fn front_back(subflows: Subflows) -> Protocol {
    Protocol::Multipath(FrontBackConfig { subflows, ..FrontBackConfig::default() }.over(&tcp()))
}

fn mptcp(subflows: Subflows) -> Protocol {
    Protocol::Multipath(MptcpConfig { subflows, ..MptcpConfig::default() }.over(&tcp()))
}

/// One transfer from the first host of a fat-tree with four core switches to the last.
fn across(protocol: Protocol, seed: u64) -> Setup {
    let base = setup(fat_tree(), drop_tail(100), protocol, RoutingMode::PerFlow, vec![unicast(0, 15, 3_000_000)]);
    Setup { seed, ..base }
}

/// Core switches that sent data packets.
fn cores(record: &RunRecord) -> usize {
    record.links.iter().filter(|link| link.src_level == "core" && link.bytes > 200_000).count()
}

#[test]
fn subflows_take_several_paths_and_one_takes_one() {
    for protocol in [front_back, mptcp] {
        let used: Vec<usize> = (0..8).map(|seed| cores(&complete(across(protocol(Subflows::ALL), seed)))).collect();
        assert!(used.iter().all(|&n| (1..=4).contains(&n)) && used.iter().sum::<usize>() >= 16, "{used:?}");
        assert_eq!(cores(&complete(across(protocol(Subflows::Count(1)), 1))), 1);
    }
}

/// The host's link is the bottleneck of an idle fabric: several subflows take no longer than one, handshakes and options apart.
#[test]
fn a_transfer_alone_takes_as_long_as_its_bytes() {
    for protocol in [front_back, mptcp] {
        for subflows in [Subflows::Count(1), Subflows::Count(4), Subflows::ALL] {
            let record = complete(across(protocol(subflows), 3));
            let took = fct(&record, 0);
            // 3 MB in packets of 1500 B, 1432 B or more of them data, at 1 Gbps: 25.1 ms and slow start.
            assert!(took > ms(24) && took < ms(28), "{took}");
        }
    }
}

/// A core switch fails: subflows by others carry on, and what was lost with it is sent on these.
#[test]
fn mptcp_outlives_a_core_switch() {
    for seed in 0..4 {
        for core in 32..36 {
            let cut = vec![(at(5_000), Change::Cut(Target::Switch(core)))];
            let record = complete(Setup { changes: cut, ..across(mptcp(Subflows::Count(4)), seed) });
            assert!(fct(&record, 0) < ms(60), "core {core}, seed {seed}: {}", fct(&record, 0));
        }
    }
}
