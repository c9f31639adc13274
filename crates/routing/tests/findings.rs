//! Each finding about Song's dissertation, with its numbers.

use crate::common::{exact, ft, texts};
use anabranch_routing::findings::*;
use anabranch_routing::number::{Exact, Scalar};
use anabranch_routing::schemes::{Balanced, Dnvr, Mdnvr, NormalRouting, make};
use anabranch_routing::theorems::{Policy, mloadsw_at, perfsw_at};

#[test]
fn lower_bounds_hold_at_the_edge_only() {
    let found = lower_bound_below_the_edge().unwrap();
    assert_eq!(found.each_ref().map(|f| f.found.to_string()), ["0", "1/4", "1/4"]);
    assert!(found.iter().all(|f| f.found < f.claimed));
}

#[test]
fn random_single_paths_are_as_bad_as_normal_routing() {
    for (m, n, claimed, worst) in [(4, 2, 2, 2), (4, 3, 2, 4), (8, 3, 4, 16), (8, 2, 2, 4)] {
        for finding in random_paths(m, n, 20).unwrap() {
            assert_eq!((finding.claimed, finding.found), (Exact::whole(claimed), Exact::whole(worst)), "FT({m}, {n})");
        }
    }
}

/// So are their switches: (3.14) has 32 where 128, everything, may pass one core switch.
#[test]
fn random_single_paths_exceed_theorem_3_3() {
    let fabric = ft(8, 3);
    let worst = worst_loads(&fabric, &Dnvr::new(1)).unwrap();
    assert_eq!(texts(&worst.switch), ["128", "32", "8"]);
    let bounds = [0, 1, 2].map(|t| mloadsw_at(fabric.tree.unwrap(), Policy::Dnvr, t).unwrap());
    assert_eq!(texts(&bounds), ["32", "32", "8"]);
}

#[test]
fn the_constructed_assignment_keeps_theorem_3_2() {
    for (m, n, link) in [(4, 2, 2), (8, 2, 2), (16, 2, 3), (4, 3, 2), (8, 3, 4)] {
        let fabric = ft(m, n);
        let worst = worst_loads(&fabric, &Balanced::new(&fabric).unwrap()).unwrap();
        assert_eq!(worst.link, Exact::whole(link), "FT({m}, {n})");
        for (t, load) in (0..n).zip(&worst.switch) {
            assert!(*load <= mloadsw_at(fabric.tree.unwrap(), Policy::Dnvr, t).unwrap(), "FT({m}, {n}) level {t}");
        }
    }
}

/// "Tight" (§3.3.3, Theorem 5.5): at the core yes, at level 1 not for this assignment.
#[test]
fn what_stride_attains() {
    let fabric = ft(4, 3);
    let stride = |s: &dyn anabranch_routing::schemes::Scheme<Exact>| texts(&under_stride(&fabric, s).unwrap());
    assert_eq!(stride(&NormalRouting), ["16", "8", "4"]);
    assert_eq!(stride(&Mdnvr), ["4", "4", "4"]);
    let balanced = Balanced::new(&fabric).unwrap();
    assert_eq!(stride(&balanced), ["8", "4", "4"]);
    let worst = worst_loads(&fabric, &balanced).unwrap();
    assert_eq!(texts(&worst.switch), ["8", "6", "4"]);
    assert_eq!(mloadsw_at(fabric.tree.unwrap(), Policy::Dnvr, 1), Some(exact("8")));
}

#[test]
fn mdnvr_k_is_not_optimal_among_policies_with_as_many_paths() {
    let pair = |m, n| better_than_mdnvr_k(m, n).map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
    assert_eq!(pair(4, 3), ("4".into(), "2".into()));
    assert_eq!(pair(8, 3), ("16".into(), "4".into()));
    assert_eq!(pair(8, 2), ("4".into(), "2".into()));
}

/// Nor with two paths: dual IPv4/IPv6 routing, said to be a special case of `MDNVRk` with k = 2, never loads a switch of FT(4, 3)
/// more than all four paths do.
#[test]
fn two_static_tables_load_switches_like_all_paths() {
    let fabric = ft(4, 3);
    let worst = |name: &str| worst_loads(&fabric, make::<Exact>(name, &fabric, 1).unwrap().as_ref()).unwrap();
    let (tables, all, drawn) = (worst("virtual-tables:2"), worst("mdnvr"), worst("mdnvr-k:2"));
    assert_eq!((tables.link, texts(&tables.switch)), (exact("2"), texts(&all.switch)));
    assert_eq!((drawn.link, texts(&drawn.switch)), (exact("2"), vec!["8".into(), "8".into(), "4".into()]));
    assert_eq!(texts(&all.switch), ["4", "4", "4"]);
}

#[test]
fn single_paths_have_the_ratio_of_normal_routing_at_every_level() {
    for (m, n, t, claimed, ratio) in [(4, 3, 0, 2, 4), (4, 3, 1, 2, 2), (8, 3, 0, 4, 16), (8, 2, 0, 2, 4)] {
        let finding = one_pair_on_one_path(m, n, t).unwrap();
        assert_eq!((finding.claimed, finding.found), (Exact::whole(claimed), Exact::whole(ratio)), "FT({m}, {n}), {t}");
        assert_eq!(perfsw_at(anabranch_routing::fabric::Tree { m, n }, Policy::Nr, t), Some(finding.found));
    }
}

/// Table 5.2's 16 for k = 4 has probability 4 / 4^16 = 1 / 2^30; the most likely maximum is 6.
#[test]
fn the_worst_draw_of_table_5_2_is_one_in_a_billion() {
    let chances = draws_of_one_path(16, 4);
    assert_eq!(chances.iter().try_fold(Exact::ZERO, |sum, c| sum.plus(*c)), Some(Exact::ONE));
    assert_eq!(chances[16], Exact::new(1, 1 << 30));
    assert!(chances[..4].iter().all(Scalar::is_zero));
    let likely = (0..=16).max_by(|&a, &b| chances[a].cmp(&chances[b])).unwrap();
    assert_eq!(likely, 6);
    let mean: f64 = chances.iter().enumerate().map(|(v, c)| v as f64 * c.float()).sum();
    assert!((mean - 6.139).abs() < 1e-3, "{mean}");
    let at_most_8: f64 = chances[..=8].iter().map(Scalar::float).sum();
    assert!(at_most_8 > 0.9, "{at_most_8}");
}
