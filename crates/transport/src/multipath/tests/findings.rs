//! Song's statements applied to whole segments: each of these tests fails if the finding is wrong.

use crate::multipath::Scheduler::{self, Divide, FrontBack, RoundRobin};
use crate::multipath::pair::{Completion, Estimates, Path, Transfer, run};

fn transfer(scheduler: Scheduler, segments: u64, paths: &[(u64, u64)], estimates: Estimates) -> Completion {
    let paths = paths.iter().map(|&(estimate, rate)| Path::new(estimate, rate)).collect();
    run(&Transfer { scheduler, segments, estimates, paths })
}

#[test]
fn two_paths_have_no_context_switches_whatever_their_rates() {
    for rates in [[1, 1], [10, 1], [3, 7]] {
        for segments in [0, 1, 2, 5, 1000] {
            let paths = rates.map(|rate| (1, rate));
            let outcome = transfer(FrontBack, segments, &paths, Estimates::Fixed);
            assert_eq!(outcome.context_switches, 0, "Lemma 4.2");
            assert_eq!(outcome.sent.iter().sum::<u64>(), segments);
        }
    }
    let alternating = transfer(RoundRobin, 1000, &[(1, 1); 2], Estimates::Fixed);
    assert_eq!(alternating.context_switches, 998, "the worst case of §4.1: |P| - N");
}

/// Theorem 4.1 says that FB2 finishes "at least as early as any other algorithm".
#[test]
fn theorem_4_1_does_not_hold_for_whole_segments() {
    let outcome = transfer(FrontBack, 2, &[(10, 10), (1, 1)], Estimates::Fixed);
    assert_eq!((outcome.finish_time(), outcome.best_finish_time()), (1.0, 0.2));
    // Where the first path is the faster one: at twice the rate of the other there is a tie, at three times there is not.
    for (rate, finish, best) in [(2, 2, 2), (3, 3, 2)] {
        let outcome = transfer(FrontBack, 2, &[(rate, rate), (1, 1)], Estimates::Fixed);
        assert_eq!(
            (outcome.finish * u128::from(rate), outcome.best_finish * u128::from(rate)),
            (finish * outcome.ticks, best * outcome.ticks)
        );
    }
}

/// The excess is less than a segment's time on the slowest path, for any scheduler here: none lets a path wait.
#[test]
fn the_excess_is_less_than_a_segment_of_the_slowest_path() {
    for rates in [vec![10, 1], vec![7, 3], vec![5, 3, 2], vec![1, 2, 3, 4], vec![9, 1, 1, 1]] {
        let slowest = u128::from(*rates.iter().min().unwrap());
        for segments in 1..60 {
            for scheduler in [FrontBack, Divide, RoundRobin] {
                let paths: Vec<_> = rates.iter().map(|&rate| (1, rate)).collect();
                let outcome = transfer(scheduler, segments, &paths, Estimates::Measured);
                let excess = outcome.finish - outcome.best_finish;
                assert!(excess * slowest < outcome.ticks, "{scheduler:?}, {rates:?}, {segments} segments");
            }
        }
    }
}

/// Conjecture 4.1 says the same of N paths, of finish time and of context switches. The best that whole segments allow has neither: N
/// contiguous parts, each as large as its path can send by then.
#[test]
fn conjecture_4_1_does_not_hold_although_all_rates_are_known_and_constant() {
    let known = |scheduler, segments, rates: &[u64]| {
        let paths: Vec<_> = rates.iter().map(|&rate| (rate, rate)).collect();
        let outcome = transfer(scheduler, segments, &paths, Estimates::Fixed);
        (outcome.context_switches, outcome.finish_time(), outcome.best_finish_time())
    };
    assert_eq!(
        known(FrontBack, 1, &[1, 2, 1]),
        (0, 1.0, 0.5),
        "later: one segment, and the first path is not the fastest"
    );
    assert_eq!(known(FrontBack, 4, &[1, 1, 1]), (1, 2.0, 2.0), "a switch: four segments, three paths that are alike");
    // An algorithm with the same knowledge does better.
    assert_eq!(known(FrontBack, 5, &[1, 2, 2, 1]), (1, 1.0, 1.0));
    assert_eq!(known(Divide, 5, &[1, 2, 2, 1]), (0, 1.0, 1.0));
    assert_eq!((known(FrontBack, 4, &[2, 3, 3]).0, known(Divide, 4, &[2, 3, 3]).0), (1, 0));
}

/// Example 1 (Figures 4.3 and 4.4) with an error of +50 %: path 2 carries 10 / 1.5. Time runs 150 times as fast.
#[test]
fn example_1_in_numbers() {
    let paths = [(10, 1500), (10, 1000)];
    let (ours, divide) =
        (transfer(FrontBack, 200_000, &paths, Estimates::Fixed), transfer(Divide, 200_000, &paths, Estimates::Fixed));
    assert_eq!((ours.context_switches, divide.context_switches), (0, 7));
    assert_eq!(ours.finish, divide.finish, "Divide2 lets no path wait, either: it is not later");
    let learning = transfer(Divide, 200_000, &paths, Estimates::Measured);
    assert_eq!(learning.context_switches, 1, "with what was measured instead of the wrong estimate");
}

/// Example 2 (Figure 4.6) has the error at path 1. With the wrong estimates throughout FB4 is no better than Divide4; with measured ones
/// it is.
#[test]
fn example_2_in_numbers() {
    let switches = |scheduler, error: u64, estimates| {
        let rate = 10 * error;
        let paths = [(10, 1000), (10, rate), (10, rate), (10, rate)];
        transfer(scheduler, 200_000, &paths, estimates).context_switches
    };
    let both = |error, estimates| [FrontBack, Divide].map(|scheduler| switches(scheduler, error, estimates));
    assert_eq!([both(50, Estimates::Fixed), both(50, Estimates::Measured)], [[19, 14], [4, 13]], "-50 %");
    assert_eq!([both(100, Estimates::Fixed), both(100, Estimates::Measured)], [[0, 0], [0, 0]], "no error");
    assert_eq!([both(150, Estimates::Fixed), both(150, Estimates::Measured)], [[13, 14], [3, 10]], "+50 %");
    assert_eq!([both(200, Estimates::Fixed), both(200, Estimates::Measured)], [[16, 15], [2, 13]], "+100 %");
}
