//! Invariants over random traffic and random fabrics.

use crate::common::{fabric, ft};
use anabranch_routing::fabric::Fabric;
use anabranch_routing::findings::tree;
use anabranch_routing::loads::Loads;
use anabranch_routing::number::{Exact, Scalar};
use anabranch_routing::optimum::on_tree;
use anabranch_routing::schemes::{Mdnvr, Scheme, Shares, make, registry};
use anabranch_routing::theorems::{Policy, mload_at, mloadsw_any, mloadsw_at};
use anabranch_routing::traffic::TrafficMatrix;
use anabranch_routing::worst::WorstCase;
use proptest::prelude::*;

/// Fabrics of every kind: trees, those with failures, without levels, with parallel paths of unequal number, with hosts that
/// relay.
fn fabrics() -> Vec<Fabric> {
    vec![
        ft(4, 3),
        ft(6, 2),
        fabric("topology = 'm-port-n-tree'\nm = 4\nn = 3", &["edge0.0@2-agg0.1@1", "agg1.0@1-core0.0@0"]),
        fabric("topology = 'leaf-spine'\nleaves = 3\nspines = 3\nhosts_per_leaf = 3", &["spine1-leaf0"]),
        fabric("topology = 'leaf-spine'\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\noversubscription = 4", &[]),
        fabric("topology = 'jellyfish'\nswitches = 8\nports = 5\nhosts_per_switch = 2", &[]),
        fabric("topology = 'fat-tree'\nk = 4", &["agg2.1-core3"]),
        fabric("topology = 'bcube'\nn = 3\nk = 1", &[]),
        fabric("topology = 'star'\nhosts = 5", &[]),
        fabric("topology = 'dumbbell'\nleft = 3\nright = 3", &[]),
    ]
}

fn matrix(hosts: u32, entries: &[(u32, u32, u64)]) -> TrafficMatrix {
    let mut tm = TrafficMatrix::empty(hosts);
    for &(s, d, amount) in entries {
        tm.add(s % hosts, d % hosts, Exact::ratio(amount, 7)).unwrap();
    }
    tm
}

fn schemes(fabric: &Fabric, seed: u64) -> Vec<(String, Box<dyn Scheme<Exact>>)> {
    let names = registry::<Exact>().into_iter().map(|e| e.name.to_owned());
    let more = ["mdnvr-k:4/3", "mdnvr-k:3", "virtual-tables:3"].map(String::from);
    let made = names.chain(more).filter_map(|name| {
        let scheme = make::<Exact>(&name, fabric, seed);
        assert!(scheme.is_ok() || name == "balanced", "{name}");
        Some((name, scheme.ok()?))
    });
    made.collect()
}

fn entries() -> impl Strategy<Value = Vec<(u32, u32, u64)>> {
    prop::collection::vec((0..1000_u32, 0..1000_u32, 1..30_u64), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What a host sends leaves it once, arrives once, and is conserved at every node between.
    #[test]
    fn shares_are_conserved(which in 0..10_usize, s: u32, d: u32, seed: u64) {
        let fabric = &fabrics()[which];
        let (s, d) = (s % fabric.hosts(), d % fabric.hosts());
        prop_assume!(s != d);
        for (name, scheme) in schemes(fabric, seed) {
            let mut shares = Shares::new(fabric);
            shares.fill(scheme.as_ref(), fabric, s, d).unwrap();
            let mut balance = vec![(Exact::ZERO, Exact::ZERO); fabric.graph.nodes.len()];
            for &(port, share) in &shares.ports {
                prop_assert!(fabric.alive[(port / 2) as usize], "{} uses a failed link", name);
                let (from, to) = (fabric.graph.port_owner(port) as usize, fabric.graph.port_peer(port) as usize);
                balance[from].1 = balance[from].1.plus(share).unwrap();
                balance[to].0 = balance[to].0.plus(share).unwrap();
            }
            for (node, (into, out)) in balance.into_iter().enumerate() {
                let (before, after) = (u32::from(node as u32 == s), u32::from(node as u32 == d));
                let whole = |n: u32| Exact::whole(u64::from(n));
                prop_assert_eq!(into.plus(whole(before)), out.plus(whole(after)), "{} at node {}", name, node);
            }
        }
    }

    /// Loads are the sums of shares, pair by pair: no error in treating racks alike. Their total is traffic times hops.
    #[test]
    fn loads_are_sums_of_shares(which in 0..10_usize, entries in entries(), seed: u64) {
        let fabric = &fabrics()[which];
        let tm = matrix(fabric.hosts(), &entries);
        for (name, scheme) in schemes(fabric, seed) {
            let loads = Loads::of(fabric, scheme.as_ref(), &tm).unwrap();
            let mut ports = vec![Exact::ZERO; fabric.graph.ports() as usize];
            let mut shares = Shares::new(fabric);
            let mut hops = Exact::ZERO;
            for (s, d, amount) in tm.iter() {
                shares.fill(scheme.as_ref(), fabric, s, d).unwrap();
                for &(port, share) in &shares.ports {
                    let here = share.times(amount).unwrap();
                    ports[port as usize] = ports[port as usize].plus(here).unwrap();
                }
                if scheme.shortest() {
                    let access = [fabric.first_port(s), fabric.last_port(d)].iter().flatten().count() as u64;
                    let from = fabric.racks.node[fabric.rack(s) as usize];
                    let between = u64::from(fabric.distance(from, fabric.rack(d)));
                    hops = hops.plus(amount.times(Exact::whole(access + between)).unwrap()).unwrap();
                }
            }
            prop_assert_eq!(&ports, &loads.ports, "{}", name);
            if scheme.shortest() {
                let total = loads.ports.iter().try_fold(Exact::ZERO, |sum, l| sum.plus(*l)).unwrap();
                prop_assert_eq!(total, hops, "{}", name);
            }
        }
    }

    /// Song's upper bounds, and Corollary 3.2: MDNVR's largest link load is the base load.
    #[test]
    fn upper_bounds_hold(size in 0..4_usize, entries in entries(), seed: u64) {
        let (m, n) = [(4, 2), (4, 3), (6, 3), (8, 2)][size];
        let fabric = tree(m, n).unwrap();
        let ft = fabric.tree.unwrap();
        let tm = matrix(fabric.hosts(), &entries);
        let base = tm.baseload::<Exact>().unwrap();
        let best = on_tree::<Exact>(&fabric, &tm).unwrap();
        prop_assert_eq!(best.optu, base);
        let k = Exact::new(4, 3);
        let policies = [("nr", Policy::Nr), ("balanced", Policy::Dnvr), ("mdnvr", Policy::Mdnvr), ("mdnvr-k:4/3", Policy::MdnvrK(k)), ("mdnvr-k:2", Policy::MdnvrK(Exact::whole(2)))];
        for (name, policy) in policies {
            let loads = Loads::of(&fabric, make::<Exact>(name, &fabric, seed).unwrap().as_ref(), &tm).unwrap();
            for t in 0..n {
                let link = mload_at(ft, policy, t).unwrap().times(base).unwrap();
                prop_assert!(loads.mload_at(&fabric, t) <= link, "{} level {}", name, t);
                let switch = mloadsw_at(ft, policy, t).unwrap().times(base).unwrap();
                prop_assert!(loads.mloadsw(&fabric, Some(t)) <= switch, "{} level {}", name, t);
                prop_assert!(loads.mloadsw(&fabric, Some(t)) <= mloadsw_any(ft, t).times(base).unwrap());
                prop_assert!(best.optusw[t as usize] <= loads.mloadsw(&fabric, Some(t)), "{} level {}", name, t);
            }
            prop_assert!(base <= loads.mload());
        }
        let mdnvr = Loads::<Exact>::of(&fabric, &Mdnvr, &tm).unwrap();
        prop_assert_eq!(mdnvr.mload(), base);
        for t in 0..n {
            prop_assert_eq!(mdnvr.mloadsw(&fabric, Some(t)), best.optusw[t as usize]);
        }
    }

    /// No permutation exceeds the worst one, and the worst one has the load that is said.
    #[test]
    fn no_permutation_exceeds_the_worst(which in 0..10_usize, order in any::<u64>(), seed: u64) {
        let fabric = &fabrics()[which];
        let random = anabranch_routing::traffic::Pattern::Random.matrix(fabric.hosts(), order).unwrap();
        for (name, scheme) in schemes(fabric, seed) {
            let worst = WorstCase::new(fabric, scheme.as_ref()).unwrap();
            let links = worst.links().unwrap();
            let used = |tm: &TrafficMatrix| {
                Loads::of(fabric, scheme.as_ref(), tm).unwrap().most_utilised(fabric).unwrap().unwrap().value
            };
            prop_assert!(used(&random) <= links.value, "{}", name);
            prop_assert_eq!(used(&links.traffic()), links.value, "{}", name);
            prop_assert!(links.traffic().baseload::<Exact>().unwrap() <= Exact::ONE);
            for t in 0..fabric.level_names.len() as u32 {
                let switch = worst.switches_at(t).unwrap();
                let load = |tm: &TrafficMatrix| {
                    Loads::of(fabric, scheme.as_ref(), tm).unwrap().mloadsw(fabric, Some(t))
                };
                prop_assert!(load(&random) <= switch.value, "{} level {}", name, t);
                prop_assert_eq!(load(&switch.traffic()), switch.value, "{} level {}", name, t);
            }
        }
    }
}

/// Every permutation of few hosts.
fn permutations(hosts: u32, visit: &mut impl FnMut(&TrafficMatrix)) {
    fn go(order: &mut Vec<u32>, at: usize, visit: &mut impl FnMut(&TrafficMatrix)) {
        if at == order.len() {
            let to: Vec<Option<u32>> = order.iter().map(|&d| Some(d)).collect();
            visit(&TrafficMatrix::permutation(&to));
        }
        for i in at..order.len() {
            order.swap(at, i);
            go(order, at + 1, visit);
            order.swap(at, i);
        }
    }
    go(&mut (0..hosts).collect(), 0, visit);
}

#[test]
fn the_worst_pattern_is_the_worst_of_all_permutations() {
    let small = [
        fabric("topology = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 2", &["leaf1-spine0"]),
        fabric("topology = 'leaf-spine'\nleaves = 2\nspines = 3\nhosts_per_leaf = 3", &[]),
        fabric("topology = 'jellyfish'\nswitches = 6\nports = 4\nhosts_per_switch = 1", &[]),
        fabric("topology = 'dumbbell'\nleft = 2\nright = 3", &[]),
        fabric("topology = 'star'\nhosts = 4", &[]),
        ft(2, 3),
    ];
    for fabric in &small {
        for (name, scheme) in schemes(fabric, 5) {
            let mut most = Exact::ZERO;
            let levels = fabric.level_names.len() as u32;
            let mut switches = vec![Exact::ZERO; levels as usize];
            permutations(fabric.hosts(), &mut |tm| {
                let loads = Loads::of(fabric, scheme.as_ref(), tm).unwrap();
                most = most.max(loads.most_utilised(fabric).unwrap().unwrap().value);
                for t in 0..levels {
                    switches[t as usize] = switches[t as usize].max(loads.mloadsw(fabric, Some(t)));
                }
            });
            let worst = WorstCase::new(fabric, scheme.as_ref()).unwrap();
            assert_eq!(worst.links().unwrap().value, most, "{name}");
            for t in 0..levels {
                assert_eq!(worst.switches_at(t).unwrap().value, switches[t as usize], "{name}, level {t}");
            }
        }
    }
}

/// Theorems 3.1, 3.3, 3.4 and 3.6 over all 40320 permutations of FT(4, 2).
#[test]
fn upper_bounds_hold_for_every_permutation_of_a_small_tree() {
    let fabric = ft(4, 2);
    let tree = fabric.tree.unwrap();
    let two = Exact::whole(2);
    for (name, policy) in
        [("nr", Policy::Nr), ("balanced", Policy::Dnvr), ("mdnvr", Policy::Mdnvr), ("mdnvr-k:2", Policy::MdnvrK(two))]
    {
        let scheme = make::<f64>(name, &fabric, 9).unwrap();
        let mut attained = [0.0_f64; 2];
        permutations(8, &mut |tm| {
            let loads = Loads::of(&fabric, scheme.as_ref(), tm).unwrap();
            for t in 0..2 {
                attained[t as usize] = attained[t as usize].max(loads.mloadsw(&fabric, Some(t)));
            }
        });
        let bounds = [0, 1].map(|t| mloadsw_at(tree, policy, t).unwrap().float());
        assert!(attained[0] <= bounds[0] && attained[1] <= bounds[1], "{name}: {attained:?} {bounds:?}");
        // Attained at both levels, but for the drawn paths, whose worst is that of the draw.
        let reached = attained.iter().zip(&bounds).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(reached || name == "mdnvr-k:2", "{name}: {attained:?} {bounds:?}");
    }
}

#[test]
fn large_and_small_agree() {
    // Floating point and the bound by the envelope lead to the same worst case as exact fractions.
    for name in ["nr", "d-mod-k", "dnvr", "mdnvr-k:2", "vlb"] {
        let fabric = ft(6, 3);
        let exact =
            WorstCase::new(&fabric, make::<Exact>(name, &fabric, 1).unwrap().as_ref()).unwrap().links().unwrap();
        let float = WorstCase::new(&fabric, make::<f64>(name, &fabric, 1).unwrap().as_ref()).unwrap().links().unwrap();
        assert!((exact.value.float() - float.value).abs() < 1e-6, "{name}");
    }
}
