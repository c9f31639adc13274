//! Every byte is handed out once, whichever path asks whenever, and whatever the estimates of the paths.

use crate::multipath::{Scheduler, Session};
use proptest::prelude::*;
use std::collections::VecDeque;

const SCHEDULERS: [Scheduler; 3] = [Scheduler::FrontBack, Scheduler::Divide, Scheduler::RoundRobin];

#[derive(Clone, Debug)]
enum Step {
    Take(usize),
    Estimate(Vec<f64>),
    Provide(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0usize..9).prop_map(Step::Take),
        1 => proptest::collection::vec(prop_oneof![0.0..20.0f64, Just(f64::NAN), Just(0.0)], 9).prop_map(Step::Estimate),
        1 => (0u64..400).prop_map(Step::Provide),
    ];
    proptest::collection::vec(step, 1..300)
}

proptest! {
    #[test]
    fn every_byte_once(paths in 1usize..9, unit in 1u64..50, first in 0u64..3000, steps in steps()) {
        for scheduler in SCHEDULERS {
            let mut session = Session::new(scheduler, paths, unit);
            let mut size = first;
            session.provide(size);
            let mut times = vec![0u8; 3000 + 400 * 300];
            let mut steps: VecDeque<Step> = steps.clone().into();
            let mut round = 0;
            loop {
                // The given requests, and then each path in turn until nothing is left.
                let step = steps.pop_front().unwrap_or(Step::Take({ round += 1; round }));
                match step {
                    Step::Estimate(rates) => session.estimate(&rates[..paths]),
                    Step::Provide(more) => { size += more; session.provide(size); }
                    Step::Take(path) => if let Some(piece) = session.take(path % paths) {
                        prop_assert!(!piece.is_empty() && piece.end <= size && piece.end - piece.start <= unit);
                        piece.for_each(|byte| times[byte as usize] += 1);
                    } else {
                        prop_assert!(session.is_exhausted(), "a path that asks gets what is left");
                        if steps.is_empty() { break }
                    },
                }
            }
            prop_assert!(times[..size as usize].iter().all(|&n| n == 1));
            prop_assert!(times[size as usize..].iter().all(|&n| n == 0));
        }
    }

    /// A block of `n` segments over two paths takes `n` segments: streams that meet make no more.
    #[test]
    fn two_streams_that_meet_leave_one_short_segment_at_most(asks in proptest::collection::vec(0usize..2, 100), bytes in 1u64..1000) {
        let mut session = Session::new(Scheduler::FrontBack, 2, 10);
        session.provide(bytes);
        let pieces = asks.into_iter().map_while(|path| session.take(path)).count() as u64;
        prop_assert_eq!(pieces, bytes.div_ceil(10));
        prop_assert_eq!(session.context_switches(), 0, "Lemma 4.2");
    }
}

#[test]
fn what_is_provided_later_is_a_block_of_its_own() {
    let mut session = Session::new(Scheduler::FrontBack, 2, 10);
    session.provide(40);
    assert_eq!([session.take(0), session.take(1)], [Some(0..10), Some(30..40)]);
    session.provide(60);
    session.provide(80);
    assert_eq!([session.take(0), session.take(1)], [Some(10..20), Some(20..30)], "the first block is finished first");
    assert!(session.is_between_blocks() && !session.is_exhausted());
    assert_eq!(
        [session.take(1), session.take(0)],
        [Some(70..80), Some(40..50)],
        "what has come meanwhile is one block"
    );
}
