use super::*;
use crate::builder::Builder;
use crate::job::{Operation, Peers, Place};
use anabranch_transport::Bytes;
use driving::ended_us;

const US: fn(u64) -> Duration = Duration::from_us;
const AT: fn(u64) -> Time = |us| Time::ZERO + Duration::from_us(us);

fn calc(us: u64) -> Action {
    Action::Calc(US(us))
}

fn send(to: u32, bytes: u64) -> Action {
    Action::Send { to: Peers::One(to), bytes: Bytes(bytes), tag: 0 }
}

fn receive(from: u32, bytes: u64) -> Action {
    Action::Receive { from: Some(from), bytes: Bytes(bytes), tag: Some(0) }
}

/// A network in which a message is there after 1 us and 1 us for each kilobyte, and acknowledged 1 us later.
fn drive(job: Job, settings: Settings) -> Progress {
    driving::drive(job, settings, |bytes| US(1 + bytes.0 / 1000), US(1))
}

#[test]
fn a_message_there_and_back_and_what_each_waits_for() {
    let mut b = Builder::new(2);
    let (there, back) = (b.add(0, send(1, 1000)), b.add(0, receive(1, 3000)));
    let got = b.add(1, receive(0, 1000));
    let think = b.add(1, calc(5));
    let answer = b.add(1, send(0, 3000));
    b.after(think, got);
    b.after(answer, think);
    let progress = drive(b.build().unwrap(), Settings::default());
    // There at 2, thought until 7, back at 11; a sender goes on when all is acknowledged.
    assert_eq!((there, back), (0, 1));
    let matched = |send, us| Some(Matched { send, left: AT(us) });
    assert_eq!(progress.matched(), [None, matched(answer, 7), matched(there, 0), None, None]);
    assert_eq!(ended_us(&progress), [3, 11, 2, 7, 12]);
    assert_eq!(progress.times(1).started, Some(AT(0)));
    let ranks = progress.ranks();
    assert_eq!((ranks[1].computing, ranks[1].ended, ranks[1].operations), (US(5), Some(AT(12)), 3));
    assert_eq!(ranks[0].computing, Duration::ZERO);
    assert!(progress.is_complete());
}

#[test]
fn small_messages_are_copied_and_large_ones_are_waited_for() {
    let mut b = Builder::new(2);
    let (small, large) = (b.add(0, send(1, 1000)), b.add(0, send(1, 1001)));
    for bytes in [1000, 1001] {
        b.add(1, receive(0, bytes));
    }
    let settings = Settings { eager: Bytes(1000), overhead: US(2), ..Settings::default() };
    let progress = drive(b.build().unwrap(), settings);
    // Each takes 2 us of its stream at both ends.
    assert_eq!(ended_us(&progress)[small as usize], 2);
    assert_eq!(ended_us(&progress)[large as usize], 4 + 2 + 1);
    assert_eq!(ended_us(&progress)[2..], [4 + 2, 6 + 2]);
    let left = progress.matched()[2..].iter().map(|matched| matched.map(|matched| matched.left)).collect::<Vec<_>>();
    assert_eq!(left, [Some(AT(2)), Some(AT(4))], "after what it takes of the stream");
}

#[test]
fn a_stream_does_one_thing_after_the_other_and_streams_go_side_by_side() {
    let mut b = Builder::new(1);
    for (stream, us) in [(0, 3), (0, 4), (1, 5)] {
        b.push(Operation { rank: 0, stream, action: calc(us), place: Place::None });
    }
    let progress = drive(b.build().unwrap(), Settings::default());
    assert_eq!(ended_us(&progress), [3, 7, 5]);
    assert_eq!(progress.ranks()[0].computing, US(7), "time, not work");
}

#[test]
fn what_waits_for_a_start_goes_beside() {
    let mut b = Builder::new(1);
    let (first, second) = (b.add(0, calc(3)), b.add(0, calc(4)));
    let beside = b.push(Operation { rank: 0, stream: 1, action: calc(1), place: Place::None });
    b.after(second, first);
    b.after_start(beside, second);
    let progress = drive(b.build().unwrap(), Settings::default());
    assert_eq!(ended_us(&progress), [3, 7, 4]);
}

#[test]
fn one_message_for_several() {
    let mut b = Builder::new(4);
    let to = b.list(vec![3, 1, 2]);
    b.add(0, Action::Send { to, bytes: Bytes(2000), tag: 0 });
    for rank in 1..4 {
        b.add(rank, receive(0, 2000));
    }
    let progress = drive(b.build().unwrap(), Settings::default());
    assert_eq!(ended_us(&progress), [4, 3, 3, 3]);
}

#[test]
fn ranks_that_wait_for_each_other_are_stuck_and_named() {
    let mut b = Builder::new(2);
    for (rank, other) in [(0, 1), (1, 0)] {
        let got = b.add(rank, receive(other, 8));
        let answer = b.add(rank, send(other, 8));
        b.after(answer, got);
    }
    let progress = drive(b.build().expect("no circle but for the messages"), Settings::default());
    let why = progress.stuck().expect("nothing can happen");
    assert_eq!(
        why,
        "4 of 4 operations have not ended\n  rank 0: receive 8B from 1 with tag 0 (started)\n  rank 1: receive 8B from 0 with \
         tag 0 (started)\n  rank 0: send 8B to 1 with tag 0 (not started)\n  rank 1: send 8B to 0 with tag 0 (not started)"
    );
}

#[test]
fn a_message_that_comes_too_early_waits_for_its_receive() {
    let mut b = Builder::new(2);
    b.add(0, send(1, 1000));
    let (busy, late) = (b.add(1, calc(9)), b.add(1, receive(0, 1000)));
    b.after(late, busy);
    let progress = drive(b.build().unwrap(), Settings::default());
    assert_eq!(ended_us(&progress), [3, 9, 9]);
    assert_eq!(progress.times(late).started, Some(AT(9)));
    assert_eq!(progress.matched(), [None, None, Some(Matched { send: 0, left: AT(0) })]);
}

#[test]
fn ranks_that_are_slow_and_computations_that_vary() {
    let mut b = Builder::new(2);
    for rank in [0, 1] {
        for _ in 0..1000 {
            b.push(Operation { rank, stream: 0, action: calc(10), place: Place::None });
        }
    }
    let job = b.build().unwrap();
    let ran = |settings| drive(job.clone(), settings).ranks();
    let slow = ran(Settings { slow: vec![(1, 2.5)], ..Settings::default() });
    assert_eq!([slow[0].computing, slow[1].computing], [US(10_000), US(25_000)]);
    let vary = |seed| ran(Settings { jitter: 0.2, seed, ..Settings::default() });
    // On average a tenth longer.
    let mean = vary(1)[0].computing.ps() as f64 / US(10_000).ps() as f64;
    assert!((1.09..1.11).contains(&mean), "{mean}");
    assert_eq!(vary(1), vary(1));
    assert_ne!(vary(1), vary(2));
}
