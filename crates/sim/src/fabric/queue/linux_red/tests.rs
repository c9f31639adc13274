//! By hand, from the formulas of the kernel and of `tc`.

use super::super::testing::{data, insert};
use super::*;
use crate::engine::arena::Arena;

const MBPS_100: Rate = Rate(100_000_000);

/// As Mininet asks for it, at 100 Mbps.
fn mininet(packets: u32) -> LinuxRedParameters {
    LinuxRedParameters {
        buffer: Limit::Packets(1000),
        min: Limit::Packets(packets),
        width: 1,
        burst: Some(20),
        packet: 1500,
        probability: 1.0,
        harddrop: false,
        ages: false,
    }
}

fn queue(parameters: LinuxRedParameters) -> LinuxRed {
    let mut queue = LinuxRed::new(parameters, 7);
    queue.set_rate(MBPS_100);
    queue
}

fn capable() -> Hot {
    Hot { flags: flag::DATA | flag::ECT, ..data(0) }
}

#[test]
fn the_weight_is_that_of_the_kernels_table() {
    // 20 + 1 - 3 = 18: 17.29 with 2^-6, 18.58 with 2^-7. 16: 15.04 with 2^-5, 17.29. 11: 7.45 with 2^-3, 11.60.
    for (packets, log) in [(3, 7), (5, 6), (10, 4), (20, 1)] {
        assert_eq!(weight_log(packets * 1500, 20, 1500), Some(log), "{packets}");
    }
    // include/net/red.h: th_min / S = 32. Bursts up to L are let pass by 2^-log: 33, 35, 39, 46, 57, 75.
    for (burst, log) in [(34, 2), (37, 3), (42, 4), (50, 5), (65, 6)] {
        assert_eq!(weight_log(32 * 1500, burst, 1500), Some(log), "{burst}");
    }
    assert_eq!((weight_log(21 * 1501, 20, 1500), weight_log(1000, 20, 1500)), (None, None), "tc refuses them");
    assert_eq!((chosen_burst(4500, 1, 1500), weight_log(4500, 3, 1500)), (3, Some(1)), "hardly an average");
}

#[test]
fn random_numbers_have_the_digits_that_tc_tells() {
    // 0.02 / 98304 = 2.03e-7 doubles 23 times until it is above 1; 1 / 1, once; 1 / 16384, 15 times.
    for (width, probability, log) in [(98_304, 0.02, 23), (1, 1.0, 1), (16_384, 1.0, 15)] {
        assert_eq!(probability_log(width, probability), Some(log), "{width}");
    }
    // 2^-30 doubles 31 times until it is above 1. 2^-31 would have to 32 times.
    assert_eq!([1.0, 0.5, 1e-9].map(|probability| probability_log(LONGEST, probability)), [Some(31), None, None]);
}

#[test]
fn the_average_has_a_binary_point_and_each_arrival_a_weight() {
    let kernel = mininet(3).kernel(MBPS_100);
    assert_eq!((kernel.min, kernel.max), (4500 << 7, 4501 << 7));
    assert_eq!(kernel.average(0, 6000), 6000);
    assert_eq!(kernel.average(6000, 6000), 11_954, "6000 / 128 = 46 are forgotten");
    let settled = (0..2000).fold(0, |average, _| kernel.average(average, 6000));
    assert!((settled >> 7).abs_diff(6000) <= 1, "{settled}");
}

/// A burst that would be marked at an instantaneous threshold of three passes, as `burst` asks.
#[test]
fn a_burst_passes_and_a_standing_queue_is_marked() {
    let mut arena = Arena::new();
    let mut queue = queue(mininet(3));
    let mut arrive = |queue: &mut LinuxRed| {
        let id = insert(&mut arena, capable(), 0);
        let outcome = queue.enqueue(arena.hots(), id);
        assert_eq!(outcome.rejected, crate::engine::arena::NO_PACKET);
        if queue.packets() > 20 {
            queue.dequeue(arena.hots());
        }
        outcome.marked
    };
    let marks: Vec<bool> = (0..200).map(|_| arrive(&mut queue)).collect();
    let first = marks.iter().position(|&mark| mark).unwrap();
    // The sum of 1500 n / 128 up to n = 20 is 2461 < 4500; 20 packets of queue later add 234 each.
    assert!((21..40).contains(&first), "{first}");
    assert!(marks[first..].iter().all(|&mark| mark));
}

/// From the upper threshold on: marked, and dropped only what cannot be, or with `harddrop`. Between them each is like that.
#[test]
fn beyond_the_upper_threshold_packets_are_marked() {
    let at = |parameters: LinuxRedParameters, hot: Hot| {
        let mut queue = queue(parameters);
        queue.average = 5000 << 7;
        let mut hot = hot;
        (queue.pass(&mut hot, 0), hot.has(flag::CE), queue.count)
    };
    assert_eq!(at(mininet(3), capable()), (Passing::Marked, true, -1));
    assert_eq!(at(mininet(3), data(0)), (Passing::Rejected, false, -1));
    assert_eq!(at(LinuxRedParameters { harddrop: true, ..mininet(3) }, capable()), (Passing::Rejected, false, -1));
    let marked = Hot { flags: flag::DATA | flag::ECT | flag::CE, ..data(0) };
    assert_eq!(at(mininet(3), marked), (Passing::Unmarked, true, -1), "it had the mark");
}

/// Above 8192 B of 16384 the random number, below 32768, is reached after 1, 2, 3 or 4 packets, each as likely.
#[test]
fn between_the_thresholds_gaps_are_uniform() {
    let mut queue = queue(LinuxRedParameters { width: 16_384, ..mininet(3) });
    queue.average = (4500 + 8192) << queue.kernel.weight_log;
    assert_eq!(queue.action(), Action::Admit, "the first only draws a number");
    let (mut gaps, mut gap) = ([0_u32; 5], 0);
    for _ in 0..25_000 {
        gap += 1;
        if queue.action() == Action::ByChance {
            gaps[gap] += 1;
            gap = 0;
        }
    }
    assert_eq!(gaps[0], 0);
    assert!(gaps[1..].iter().all(|&n| n.abs_diff(2500) < 250), "{gaps:?}");
    queue.average = 0;
    assert_eq!((queue.action(), queue.count), (Action::Admit, -1));
}

#[test]
fn a_queue_that_ages_forgets_by_the_table_of_tc() {
    let mut queue = queue(LinuxRedParameters { ages: true, ..mininet(3) });
    // 1500 B last 1875 ticks; -ln(127/128) / 1875 = 4.183e-6 digits a tick; 31 of them 7.41e6 ticks, 452 cells of 2^14.
    assert_eq!(queue.kernel.cell_log, 14);
    // i 2^14 4.183e-6 = 0.0685 i.
    let digits = [0, 14, 15, 30, 254, 255].map(|cell: usize| queue.kernel.idle[cell]);
    assert_eq!(digits, [0, 0, 1, 2, 17, 31]);
    let average = 4500 << 7;
    let after = |queue: &mut LinuxRed, idle: u64| {
        queue.average = average;
        queue.pass(&mut capable(), idle);
        queue.average
    };
    // 120 us: 1875 / 16384 of it. 1 ms: 15625 / 16384 would be more than half. 20 ms are cell 19: one digit. 40 ms: two.
    assert_eq!(after(&mut queue, 1500), average - average * 1875 / 16_384);
    assert_eq!(after(&mut queue, 12_500), average / 2);
    assert_eq!(after(&mut queue, 250_000), average / 2);
    assert_eq!(after(&mut queue, 500_000), average / 4);
    assert_eq!(after(&mut queue, u64::MAX), average >> 31);
    // Below htb an arrival that finds it empty is a sample, however long it was.
    queue.parameters.ages = false;
    assert_eq!(after(&mut queue, u64::MAX), average - (average >> 7));
}

#[test]
fn a_controller_moves_both_thresholds_and_the_average_begins_anew() {
    let mut queue = queue(mininet(3));
    (queue.average, queue.count) = (9999, 5);
    assert!(queue.set(Setting::MarkingThreshold(Limit::Packets(10))));
    assert_eq!(queue.marking_threshold(), Some(Limit::Packets(10)));
    assert_eq!((queue.kernel.min, queue.kernel.max), (15_000 << 4, 15_001 << 4));
    assert_eq!((queue.average, queue.count), (0, -1));
    assert!(queue.set(Setting::MarkingThreshold(Limit::Packets(30))), "beyond the burst");
    assert_eq!(queue.kernel.weight_log, 1);
}

/// 30 KB are 3.3 packets of 9000 B: `tc` would choose 3.
#[test]
fn a_burst_is_as_long_as_the_threshold_at_least() {
    assert_eq!((chosen_burst(30_000, 1, 9000), burst(None, 30_000, 1, 9000)), (3, 4));
    assert_eq!([2, 4, 20].map(|given| burst(Some(given), 30_000, 1, 9000)), [4, 4, 20]);
}

#[test]
fn the_longest_thresholds_fit() {
    for (min, packet) in [(Limit::Bytes(u64::MAX), 1), (Limit::Packets(u32::MAX), 65_535)] {
        let kernel =
            LinuxRedParameters { min, packet, width: LONGEST, burst: Some(65_535), ..mininet(3) }.kernel(MBPS_100);
        assert_eq!((kernel.min, kernel.max), (LONGEST << kernel.weight_log, (2 * LONGEST) << kernel.weight_log));
    }
}
