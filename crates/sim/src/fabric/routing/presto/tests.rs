//! Labels, turns and cells against values worked out by hand.

use super::*;
use crate::fabric::topology::tests::{fabric, parse};
use crate::random;
use std::collections::BTreeSet;

fn stream() -> Stream {
    random::stream(1, "test")
}

fn presto(graph: &Graph, settings: Presto) -> Presto {
    let mut scheme = settings;
    scheme.install(graph, &|_| true);
    scheme
}

fn ends(source: u32, destination: u32) -> Ends {
    Ends { source, destination, paths: 1, hops: 2 }
}

fn packet(size: u32) -> Departing {
    Departing { now: 0, size, destination: 1 }
}

/// The switches that a packet with a label passes.
fn passed(graph: &Graph, scheme: &Presto, (from, to): (u32, u32), bits: u32) -> Vec<NodeId> {
    let routes = Routes::build(graph, |_| true);
    let (mut bits, cell) = (bits, bits as u16);
    let mut node = graph.port_peer(routes.ways(from, to)[0]);
    let mut passed = Vec::new();
    while node != to {
        passed.push(node);
        let hop = Hop { routes: &routes, node, destination: to };
        node = graph.port_peer(scheme.egress(&hop, &mut bits).expect("there is a way"));
        assert_eq!(scheme.cell(bits), Some(cell), "switches leave the cell as it is");
    }
    passed
}

#[test]
fn each_label_names_a_path_of_its_own() {
    let fabrics = [
        "topology = 'fat-tree'\nk = 4",
        "topology = 'fat-tree'\nk = 6",
        "topology = 'leaf-spine'\nleaves = 2\nspines = 7\nhosts_per_leaf = 2",
        "topology = 'm-port-n-tree'\nm = 6\nn = 4",
        "topology = 'jellyfish'\nswitches = 12\nports = 6\nhosts_per_switch = 2\nseed = 5",
    ];
    for text in fabrics {
        let graph = fabric(text);
        let scheme = presto(&graph, Presto::default());
        let map = scheme.map.as_ref().expect("installed");
        for to in 1..graph.hosts {
            let labels = map.round(0, to, Turns::Equal);
            let paths: BTreeSet<_> =
                labels.iter().map(|&label| passed(&graph, &scheme, (0, to), u32::from(label) << 16 | 0x4d)).collect();
            assert_eq!(paths.len(), map.routes.path_count(0, to) as usize, "{text}: to {to}");
            assert_eq!(labels.len(), paths.len());
        }
    }
}

#[test]
fn a_cell_has_as_many_packets_as_fit_and_the_next_takes_the_next_path() {
    let graph = fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 4\nhosts_per_leaf = 2");
    let scheme = presto(&graph, Presto::default());
    let mut flow = scheme.flow(&ends(0, 3), &mut stream());
    // 65 536 B hold 43 packets of 1500 B, which leave 1036 B: too little for the 44th.
    let bits: Vec<u32> = (0..43 * 9).map(|_| flow.next(&packet(1500), &mut stream())).collect();
    let cells: Vec<&[u32]> = bits.chunks(43).collect();
    assert!(cells.iter().all(|cell| cell.iter().all(|bits| *bits == cell[0])));
    for (n, pair) in cells.windows(2).enumerate() {
        let (before, next) = (pair[0][0], pair[1][0]);
        assert_eq!(next as u16, (before as u16).wrapping_add(1));
        assert_ne!(next >> 16, before >> 16, "cell {n}");
    }
    let spines: Vec<NodeId> = cells.iter().map(|cell| passed(&graph, &scheme, (0, 3), cell[0])[1]).collect();
    assert_eq!(spines[..4].iter().collect::<BTreeSet<_>>().len(), 4, "{spines:?}");
    assert_eq!((&spines[..4], spines[8]), (&spines[4..8], spines[0]), "round robin");
    // Packets of several sizes: 40 + 40 + 65 456 fill a cell, and one byte more does not fit.
    let mut flow = scheme.flow(&ends(0, 3), &mut stream());
    let sizes = [40, 40, 65_456, 40, 65_497, 65_536, 1];
    let cells = sizes.map(|size| flow.next(&packet(size), &mut stream()) as u16);
    assert_eq!(cells.map(|cell| cell.wrapping_sub(cells[0])), [0, 0, 0, 1, 2, 3, 4]);
}

#[test]
fn flows_begin_with_any_path() {
    let graph = fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 4\nhosts_per_leaf = 2");
    let (scheme, mut random) = (presto(&graph, Presto::default()), stream());
    let mut first = [0_u32; 4];
    for _ in 0..40_000 {
        first[(scheme.flow(&ends(0, 3), &mut random).next(&packet(1500), &mut stream()) >> 30) as usize] += 1;
    }
    // Five standard deviations of 87.
    assert!(first.iter().all(|first| first.abs_diff(10_000) < 435), "{first:?}");
}

#[test]
fn turns_are_in_proportion_and_spread() {
    assert_eq!(turns(&[1, 1, 1]), [1, 1, 1]);
    assert_eq!(turns(&[40_000_000_000, 10_000_000_000, 25_000_000_000]), [8, 2, 5]);
    // Of numbers without a common divisor no more than 8192 in all, one at least.
    assert_eq!(turns(&[1_000_000_007, 1_000_000_009, 3]), [4095, 4095, 1]);
    assert_eq!(turns(&[]), [0; 0]);
}

/// Two racks, two spines: one by links of 10 Gbps, the other by one of 10 and one of 2.5.
const SLOW: &str = "[hosts]\nh0\nh1\n[switches]\nt0\nt1\ns0\ns1\n[links]\nh0, t0\nh1, t1\n\
                    t0, s0, 10Gbps\ns0, t1, 10Gbps\nt0, s1, 10Gbps\ns1, t1, 2.5Gbps\n";

#[test]
fn a_slow_link_gets_its_share_of_the_turns() {
    let graph = parse(SLOW).expect("the fabric is right");
    let scheme = presto(&graph, Presto::default());
    let map = scheme.map.as_ref().expect("installed");
    // Fractions of a quarter and of three quarters.
    assert_eq!(map.paths(0, 1), [(1 << 14, 10_000_000_000), (3 << 14, 2_500_000_000)]);
    // Four turns at 1/8, 3/8, 5/8 and 7/8 of a round, and one in its middle.
    assert_eq!(*map.round(0, 1, Turns::Rate), [1, 1, 3, 1, 1].map(|quarter| quarter << 14));
    assert_eq!(*map.round(0, 1, Turns::Equal), [1, 3].map(|quarter| quarter << 14));
}

#[test]
fn a_path_that_fails_has_no_turn() {
    let graph = fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 4\nhosts_per_leaf = 2");
    let mut scheme = presto(&graph, Presto::default());
    let dead = graph.links.iter().position(|link| !graph.is_host(link.a) && !graph.is_host(link.b)).expect("one");
    scheme.install(&graph, &|link| link != dead as u32);
    let map = scheme.map.as_ref().expect("installed");
    assert_eq!(map.round(0, 3, Turns::Rate).len(), 3);
    scheme.install(&graph, &|_| false);
    let mut flow = scheme.flow(&ends(0, 3), &mut stream());
    assert_eq!(flow.next(&packet(1500), &mut stream()) >> 16, 0, "nothing leads there");
}

#[test]
fn what_has_more_paths_than_labels_can_name_is_refused() {
    let fits = |text: &str| Presto::fits(&fabric(text)).err();
    assert_eq!(fits("topology = 'fat-tree'\nk = 8"), None);
    let many = fits("topology = 'leaf-spine'\nleaves = 2\nspines = 8193\nhosts_per_leaf = 2").expect("too many");
    assert!(many.contains("8193 shortest paths"), "{many}");
}
