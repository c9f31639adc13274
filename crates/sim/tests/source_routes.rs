//! Source routes when links fail: what is on its way is repaired by switches, hosts build new ones.

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode::NixVector;
use anabranch_sim::fabric::topology::{FatTree, Layers, TopologyConfig};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Change, Setup, Target};
use anabranch_transport::tcp::Algorithm;
use std::path::Path;

fn fat_tree() -> Graph {
    let config = TopologyConfig::FatTree(FatTree { k: 4, rate: GBPS, delay: DELAY, layers: Layers::default() });
    config.build(Path::new("")).expect("the fabric is possible")
}

fn world(changes: Vec<(anabranch_transport::Time, Change)>) -> Setup {
    let setup = setup(fat_tree(), drop_tail(100), tcp(Algorithm::NewReno), NixVector, vec![unicast(0, 15, 20_000_000)]);
    Setup { changes, ..setup }
}

/// Packets that have passed a link.
fn packets(record: &RunRecord, link: u32) -> u64 {
    record.links[link as usize].packets
}

#[test]
fn hosts_build_new_vectors_when_a_link_of_theirs_fails() {
    let whole = complete(world(Vec::new()));
    let busy = |link: &&anabranch_sim::measure::LinkRow| link.packets > 10_000;
    let used: Vec<_> =
        whole.links.iter().filter(busy).map(|link| (link.src.clone(), link.dst.clone(), link.link)).collect();
    assert_eq!(used.len(), 12, "one path there, and one of the receiver's own back: {used:?}");
    // The link from the core switch down: the core switch has no other way to that pod but up and down again.
    let find = |src: &str, dst: &str| used.iter().find(|(a, b, _)| a.starts_with(src) && b.starts_with(dst)).unwrap();
    let (core, _, down) = find("core", "agg3");
    let (_, _, up) = find("agg0", core);
    assert!(packets(&whole, *up) > 13_000);
    let cut = (at(50_000), Change::Cut(Target::Link(down / 2)));
    let record = complete(world(vec![cut]));
    assert!(record.conservation.holds());
    // 50 of 165 ms. What was on its way then is repaired; what comes later never sees that core switch.
    let before = packets(&record, *up);
    assert!((3_000..4_400).contains(&before), "{before}");
    assert!(fct(&record, 0) < fct(&whole, 0) * 2, "{}", fct(&record, 0));
    // And back: new vectors again, over a fabric that is whole.
    let restored = (at(90_000), Change::Restore(Target::Link(down / 2)));
    complete(world(vec![cut, restored]));
}
