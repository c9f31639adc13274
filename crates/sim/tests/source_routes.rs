//! Source routes when links fail: what is on its way is repaired by switches, hosts build new ones.

mod common;

use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode::NixVector;
use anabranch_sim::fabric::topology::{FatTree, Layers, TopologyConfig};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Change, Setup, Target};
use anabranch_transport::tcp::Algorithm;
use common::*;
use std::path::Path;

fn fat_tree() -> Graph {
    let config = TopologyConfig::FatTree(FatTree { k: 4, rate: GBPS, delay: DELAY, layers: Layers::default() });
    config.build(Path::new("")).expect("the fabric is possible")
}

fn world(changes: Vec<(anabranch_transport::Time, Change)>) -> Setup {
    let setup = setup(fat_tree(), drop_tail(100), tcp(Algorithm::NewReno), NixVector, vec![unicast(0, 15, 20_000_000)]);
    Setup { changes, ..setup }
}

/// Packets on links that touch pods 1 and 2, where nothing is to be found on a shortest path between pods 0 and 3.
fn astray(record: &RunRecord) -> u64 {
    let other = |name: &str| ["agg1.", "agg2.", "edge1.", "edge2."].iter().any(|pod| name.starts_with(pod));
    record.links.iter().filter(|link| other(&link.src) || other(&link.dst)).map(|link| link.packets).sum()
}

#[test]
fn hosts_build_new_vectors_when_a_link_of_theirs_fails() {
    let whole = complete(world(Vec::new()));
    let busy = |link: &&anabranch_sim::measure::LinkRow| link.packets > 10_000;
    let used: Vec<_> =
        whole.links.iter().filter(busy).map(|link| (link.src.clone(), link.dst.clone(), link.link)).collect();
    assert_eq!((used.len(), astray(&whole)), (12, 0), "one path there, and one of the receiver's own back: {used:?}");
    // The link from the core switch down: its core switch has no other way to that pod but up and down again.
    let (_, _, down) = used.iter().find(|(src, dst, _)| src.starts_with("core") && dst.starts_with("agg3")).unwrap();
    let cut = (at(50_000), Change::Cut(Target::Link(down / 2)));
    let record = complete(world(vec![cut]));
    assert!(record.conservation.holds());
    // What was on its way is repaired: at most a window. All packets after it have a shortest path.
    assert!(astray(&record) <= 4 * 46, "{}", astray(&record));
    assert!(fct(&record, 0) < fct(&whole, 0) * 2, "{}", fct(&record, 0));
    // And back: new vectors again, over a fabric that is whole.
    let restored = (at(90_000), Change::Restore(Target::Link(down / 2)));
    assert!(astray(&complete(world(vec![cut, restored]))) <= 4 * 46);
}
