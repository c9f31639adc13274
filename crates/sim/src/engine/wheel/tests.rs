use super::*;
use proptest::prelude::*;

const SALT: u64 = 0x5bf0_3635;

#[test]
fn pops_by_time() {
    let mut w = Wheel::new(22_000_000, 8, SALT);
    for (entity, time) in [(3, 51), (1, 50), (2, 10), (5, 1 << 60), (4, 300_000_000_000), (6, 70_000_000)] {
        w.schedule(entity, time);
    }
    let order: Vec<_> = std::iter::from_fn(|| w.pop()).collect();
    let expected = [(10, 2), (50, 1), (51, 3), (70_000_000, 6), (300_000_000_000, 4), (1 << 60, 5)];
    assert_eq!(order, expected);
}

/// The entity that comes first at a time.
fn first(salt: u64, time: u64, entities: &[Entity]) -> Entity {
    let mut wheel = Wheel::new(22_000_000, 32, salt);
    for &entity in entities {
        wheel.schedule(entity, time);
    }
    wheel.pop().expect("some are pending").1
}

#[test]
fn ties_favour_nobody_and_do_not_depend_on_insertion() {
    // Numbers that differ by a Fibonacci number are those that a golden-ratio hash keeps apart worst.
    for pair in [[3, 7], [3, 16], [3, 24], [8, 9]] {
        let mut wins = 0;
        for time in (0..1000).map(|n| n * 12_000_000) {
            let winner = first(SALT, time, &pair);
            assert_eq!(winner, first(SALT, time, &[pair[1], pair[0]]));
            wins += u32::from(winner == pair[0]);
        }
        assert!((400..600).contains(&wins), "{pair:?}: {wins} of 1000");
    }
    let mut wins = [0; 5];
    for time in (0..1000).map(|n| n * 12_000_000) {
        wins[first(SALT, time, &[0, 1, 2, 3, 4]) as usize] += 1;
    }
    assert!(wins.iter().all(|n| (140..260).contains(n)), "{wins:?}");
}

#[test]
fn another_salt_breaks_ties_another_way() {
    let wins = (0..1000).filter(|&salt| first(salt, 12_000_000, &[3, 7]) == 3).count();
    assert!((400..600).contains(&wins), "{wins} of 1000");
}

/// Two events in the first slot of a turn: the later one was scheduled when that turn was far off, the earlier one
/// when it was near.
#[test]
fn a_turn_begins_with_all_events_of_its_first_slot() {
    let mut w = Wheel::new(63_000, 8, SALT);
    let turn = 64 * 1024;
    w.schedule(1, 2 * turn + 20);
    w.schedule(2, turn + 5000);
    assert_eq!(w.pop(), Some((turn + 5000, 2)));
    w.schedule(2, 2 * turn + 10);
    assert_eq!(w.pop(), Some((2 * turn + 10, 2)));
    assert_eq!(w.pop(), Some((2 * turn + 20, 1)));
}

/// A thousand steps at most, however long nothing happens.
#[test]
fn idle_time_costs_nothing() {
    for gap in [1_u64 << 46, 1_000_000_000_000_000_000, u64::MAX - 2] {
        let mut w = Wheel::new(22_000_000, 8, SALT);
        w.schedule(1, 5);
        w.schedule(2, gap);
        assert_eq!(w.pop(), Some((5, 1)));
        let (mut steps, mut limit) = (0_u64, 5);
        // Each time nothing is due before the bound, and what comes first is no further away than one step.
        while w.pop_before(limit).is_none() {
            let bound = w.next_bound();
            assert!(bound <= gap && bound >= limit, "{bound} {limit} {gap}");
            limit = bound + 1;
            steps += 1;
        }
        let farthest = (COARSE - 2) << COARSE_BITS << w.fine_bits << w.shift;
        assert!(steps <= gap / farthest + 8, "{steps} steps over {gap} ps");
    }
}

/// The order in which events must leave.
fn order(&(time, entity): &(u64, Entity)) -> (u64, u32, Entity) {
    (time, tie(SALT, time, entity), entity)
}

#[derive(Clone, Debug)]
enum Op {
    Schedule(u32, u64),
    Reschedule(u32, u64),
    Cancel(u32),
    Pop,
    PopBefore(u64),
    PopAheadOf(u64, u32),
    Again,
}

fn op() -> impl Strategy<Value = Op> {
    // Delays from nothing to minutes, so that every level and every boundary is crossed.
    let delay = (0u32..47, 0u64..1 << 20).prop_map(|(bits, x)| (x << bits) >> 20);
    prop_oneof![
        4 => (0u32..64, delay.clone()).prop_map(|(e, d)| Op::Schedule(e, d)),
        1 => (0u32..64, delay.clone()).prop_map(|(e, d)| Op::Reschedule(e, d)),
        4 => delay.clone().prop_map(Op::PopBefore),
        4 => (delay, 0u32..64).prop_map(|(d, e)| Op::PopAheadOf(d, e)),
        1 => Just(Op::Again),
        1 => (0u32..64).prop_map(Op::Cancel),
        4 => Just(Op::Pop),
    ]
}

proptest! {
    #[test]
    fn behaves_like_a_sorted_list(horizon in 1_000u64..100_000_000, ops in prop::collection::vec(op(), 1..400)) {
        let mut wheel = Wheel::new(horizon, 64, SALT);
        let mut model: Vec<(u64, Entity)> = Vec::new();
        let mut now = 0;
        for op in ops {
            match op {
                Op::Schedule(e, d) => {
                    if wheel.due(e).is_none() {
                        wheel.schedule(e, now + d);
                        model.push((now + d, e));
                    }
                }
                Op::Reschedule(e, d) => {
                    model.retain(|&(_, x)| x != e);
                    wheel.reschedule(e, now + d);
                    model.push((now + d, e));
                }
                Op::Cancel(e) => {
                    model.retain(|&(_, x)| x != e);
                    wheel.cancel(e);
                }
                Op::Pop => {
                    model.sort_by_key(|e| std::cmp::Reverse(order(e)));
                    let expected = model.pop();
                    prop_assert_eq!(wheel.pop(), expected);
                    now = expected.map_or(now, |e| e.0);
                }
                Op::PopBefore(d) => {
                    let limit = now + d;
                    model.sort_by_key(|e| std::cmp::Reverse(order(e)));
                    let expected = model.pop_if(|e| e.0 < limit);
                    prop_assert_eq!(wheel.pop_before(limit), expected);
                    // From the limit on anything can be scheduled now.
                    now = expected.map_or(limit, |e| e.0);
                    let bound = wheel.next_bound();
                    prop_assert!(model.iter().all(|e| e.0 >= bound));
                    prop_assert!(expected.is_some() || bound >= limit);
                }
                Op::PopAheadOf(d, e) => {
                    model.sort_by_key(|e| std::cmp::Reverse(order(e)));
                    // Often at the very time of the next event.
                    let time = model.last().map_or(now + d, |next| if d % 2 == 0 { next.0 } else { now + d });
                    let expected = model.pop_if(|next| order(next) < order(&(time, e)));
                    prop_assert_eq!(wheel.pop_ahead_of(time, e), expected);
                    now = expected.map_or(time, |e| e.0);
                }
                Op::Again => {
                    let mut other = wheel.like(now);
                    for (entity, time) in wheel.events() {
                        other.schedule(entity, time);
                    }
                    wheel = other;
                    let mut events = wheel.drain(now);
                    prop_assert!(wheel.is_empty());
                    // In whatever order they are scheduled again.
                    events.reverse();
                    for (entity, time) in events {
                        wheel.schedule(entity, time);
                    }
                }
            }
            prop_assert_eq!(wheel.len(), model.len());
            prop_assert_eq!(wheel.earliest(), model.iter().map(|e| e.0).min().unwrap_or(IDLE));
        }
        model.sort_by_key(|e| std::cmp::Reverse(order(e)));
        while let Some(expected) = model.pop() {
            prop_assert_eq!(wheel.pop(), Some(expected));
        }
        prop_assert_eq!(wheel.pop(), None);
    }
}
