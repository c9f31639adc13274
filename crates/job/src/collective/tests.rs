use super::*;
use crate::loggops::{LogGops, estimate};
use crate::progress::driving::drive;
use crate::{Progress, Settings};
use anabranch_transport::{Duration, Time};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Time of an empty message, and of a byte, in picoseconds.
const A: u64 = 2_000_000;
const B: u64 = 20;

/// A member sends one message at a time, and receives one: `A + B s` each.
fn one_port() -> LogGops {
    // Of the first byte the model says nothing.
    let empty = Duration(A + B);
    LogGops {
        latency: empty,
        gap: empty,
        gap_per_byte: Duration(B),
        overhead: Duration::ZERO,
        overhead_per_byte: Duration::ZERO,
        rendezvous: Bytes(u64::MAX),
    }
}

fn job(what: (Collective, Algorithm), n: u32, size: u64, chunks: u32) -> (Arc<crate::Job>, Vec<Vec<Op>>) {
    let mut b = Builder::new(n);
    let members: Vec<u32> = (0..n).collect();
    let last = add(&mut b, what, &members, Bytes(size), chunks, &vec![Vec::new(); n as usize]);
    let last = last.unwrap_or_else(|e| panic!("{what:?} of {n}: {e}"));
    (Arc::new(b.build().unwrap_or_else(|e| panic!("{what:?} of {n}: {e}"))), last)
}

/// When the last operation of the model ends.
fn takes(what: (Collective, Algorithm), n: u32, size: u64, chunks: u32) -> u64 {
    let (job, _) = job(what, n, size, chunks);
    let ends = estimate(&job, &one_port()).into_iter().map(|times| times.ended.expect("it ends").ps());
    // Sends end at once.
    ends.max().unwrap_or(0)
}

#[test]
fn each_takes_its_closed_form_to_the_byte() {
    use Collective::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter};
    for n in [2_u32, 4, 8, 16, 64] {
        let (count, log) = (u64::from(n), u64::from(n.ilog2()));
        let size = 1024 * count;
        let step = |parts: u64| A + B * size / parts;
        let others = B * size * (count - 1) / count;
        let expected = [
            ((AllReduce, Algorithm::Ring), 2 * (count - 1) * step(count)),
            ((AllGather, Algorithm::Ring), (count - 1) * step(count)),
            ((ReduceScatter, Algorithm::Ring), (count - 1) * step(count)),
            ((AllReduce, Algorithm::HalvingDoubling), 2 * (log * A + others)),
            ((ReduceScatter, Algorithm::HalvingDoubling), log * A + others),
            ((AllReduce, Algorithm::RecursiveDoubling), log * step(1)),
            ((AllGather, Algorithm::RecursiveDoubling), log * A + others),
            ((Broadcast, Algorithm::Binomial), log * step(1)),
            ((Broadcast, Algorithm::ScatterAllGather), (log + count - 1) * A + 2 * others),
            ((Broadcast, Algorithm::Linear), (count - 1) * step(1)),
            ((Broadcast, Algorithm::OneToMany), step(1)),
            ((AllGather, Algorithm::OneToMany), (count - 1) * step(count)),
            ((AllToAll, Algorithm::Bruck), log * step(2)),
            ((AllToAll, Algorithm::Pairwise), (count - 1) * step(count)),
            ((AllToAll, Algorithm::Linear), (count - 1) * step(count)),
        ];
        for (what, expected) in expected {
            assert_eq!(takes(what, n, size, 1), expected, "{what:?} of {n}");
        }
        for chunks in [1, 2, 8] {
            let parts = u64::from(chunks);
            assert_eq!(
                takes((Broadcast, Algorithm::Chain), n, size, chunks),
                (count - 2 + parts) * step(parts),
                "{chunks} chunks of {n}"
            );
        }
    }
}

/// The same where members send and receive at the same time, which `LogGOPS` does not let them: a receive takes a stream there.
fn takes_both_ways(what: (Collective, Algorithm), n: u32, size: u64, chunks: u32) -> u64 {
    let (job, _) = job(what, n, size, chunks);
    let mut progress =
        Progress::new(Arc::clone(&job), Settings { eager: Bytes(u64::MAX), ..Settings::default() }, Time::ZERO);
    let mut queues: Vec<VecDeque<u32>> = vec![VecDeque::new(); n as usize];
    let mut receives = vec![Time::ZERO; n as usize];
    // When the sends under way end, and of whom.
    let mut busy: BTreeSet<(Time, u32)> = BTreeSet::new();
    let mut now = Time::ZERO;
    loop {
        while let Some(message) = progress.take_message() {
            queues[job.operations()[message.op as usize].rank as usize].push_back(message.number);
        }
        for rank in 0..n {
            let idle = busy.iter().all(|&(_, of)| of != rank);
            let Some(number) = queues[rank as usize].front().copied().filter(|_| idle) else { continue };
            queues[rank as usize].pop_front();
            let op = job.sends()[number as usize];
            let Action::Send { bytes, .. } = job.operations()[op as usize].action else {
                panic!("only what sends is sent")
            };
            let takes = Duration(A + B * bytes.0);
            for (receiver, &to) in (0..).zip(job.receivers(op)) {
                let free = &mut receives[to as usize];
                *free = now.max(*free) + takes;
                progress.delivered(number, receiver, *free);
            }
            progress.acknowledged(number, now + takes);
            busy.insert((now + takes, rank));
        }
        let Some(due) = progress.due().into_iter().chain(busy.first().map(|&(end, _)| end)).min() else { break };
        now = due;
        busy.retain(|&(end, _)| end > now);
        progress.advance(now);
    }
    assert!(progress.is_complete());
    now.ps()
}

/// Of many chunks, two trees bring a broadcast to `S / B` and an all-reduce to twice that, but for the way through the trees: the fact
/// for which they were invented (Sanders, Speck, Traff 2009). A binomial tree takes `log n` times as long.
#[test]
fn two_trees_use_the_whole_link() {
    for n in [5_u32, 8, 32, 33, 64] {
        let (size, chunks) = (1 << 31, 256);
        let bound = size * B;
        let broadcast = takes_both_ways((Collective::Broadcast, Algorithm::DoubleTree), n, size, chunks);
        assert!(broadcast >= bound && broadcast < bound * 115 / 100, "{n}: {broadcast} of {bound}");
        let sum = takes_both_ways((Collective::AllReduce, Algorithm::DoubleTree), n, size, chunks);
        assert!(sum >= bound && sum < 2 * bound * 130 / 100, "{n}: {sum} of {}", 2 * bound);
    }
}

#[test]
fn what_an_algorithm_cannot_do_is_refused() {
    let error = |what, n: u32, size, chunks| {
        let mut b = Builder::new(n);
        let members: Vec<u32> = (0..n).collect();
        let error = add(&mut b, what, &members, Bytes(size), chunks, &vec![Vec::new(); n as usize]).unwrap_err();
        (error.message, error.hint.unwrap_or_default())
    };
    let (message, hint) = error((Collective::AllReduce, Algorithm::Bruck), 8, 4096, 1);
    assert_eq!(
        (message.as_str(), hint.as_str()),
        ("bruck does no all-reduce", "known are ring, halving-doubling, recursive-doubling, double-tree")
    );
    let power = error((Collective::AllReduce, Algorithm::HalvingDoubling), 6, 4096, 1).0;
    assert_eq!(power, "halving-doubling is for 2, 4, 8 and so on members, not for 6");
    assert_eq!(error((Collective::AllReduce, Algorithm::Ring), 6, 4096, 2).0, "ring cuts nothing into 2 chunks");
    let many = error((Collective::AllReduce, Algorithm::Ring), 100_000, 1 << 30, 1).0;
    assert_eq!(many, "all-reduce by ring of 100000 ranks takes too many messages");
    let chunks = error((Collective::AllReduce, Algorithm::DoubleTree), 8, 1 << 30, u32::MAX).0;
    assert_eq!(chunks, "all-reduce by double-tree of 8 ranks takes too many messages");
}

fn any() -> impl Strategy<Value = (Collective, Algorithm)> {
    let all = Collective::ALL.into_iter().flat_map(|what| Algorithm::all(what).into_iter().map(move |how| (what, how)));
    prop::sample::select(all.collect::<Vec<_>>())
}

/// The members whose data an operation depends on: those that have sent something before it, by whatever ways.
fn knows(job: &crate::Job, ends: &[Op]) -> BTreeSet<u32> {
    let mut before: BTreeMap<Op, Vec<Op>> = BTreeMap::new();
    let mut sender_of: BTreeMap<u32, Op> = BTreeMap::new();
    for (op, operation) in (0..).zip(job.operations()) {
        job.after_end(op).iter().for_each(|&next| before.entry(next).or_default().push(op));
        if let Action::Send { tag, .. } = operation.action {
            sender_of.insert(tag, op);
        }
    }
    let (mut left, mut seen, mut known) = (ends.to_vec(), BTreeSet::new(), BTreeSet::new());
    while let Some(op) = left.pop() {
        if !seen.insert(op) {
            continue;
        }
        left.extend(before.get(&op).into_iter().flatten());
        match job.operations()[op as usize] {
            Operation { action: Action::Receive { tag: Some(tag), .. }, .. } => left.push(sender_of[&tag]),
            Operation { rank, .. } => _ = known.insert(rank),
        }
    }
    known
}

proptest! {
    /// Whatever is to reach a member has a way to it, with messages in any order, of sizes that divide badly; bytes are what the
    /// algorithm is known for; and the job ends.
    #[test]
    fn all_that_is_needed_gets_there(what in any(), n in 1_u32..20, power in 0_u32..5, extra in prop_oneof![0_u64..30, 0_u64..5000], chunks in 1_u32..5) {
        let (collective, algorithm) = what;
        let n = if algorithm.needs_power_of_two() { 1 << power } else { n };
        let chunks = if algorithm.has_chunks() { chunks } else { 1 };
        let size = extra;
        let (job, last) = job(what, n, size, chunks);
        for (member, ends) in (0..).zip(&last) {
            let known = knows(&job, ends);
            match collective {
                Collective::Broadcast => prop_assert!(member == 0 || known.contains(&0)),
                _ => prop_assert!((0..n).all(|other| n == 1 || other == member || known.contains(&other)), "{member}: {known:?}"),
            }
        }
        let sent = |bytes: &mut u64, op: &Op| {
            if let Action::Send { bytes: more, .. } = job.operations()[*op as usize].action {
                *bytes += more.0 * job.receivers(*op).len() as u64;
            }
        };
        let mut total = 0;
        let messages: u64 = job.sends().iter().map(|&op| job.receivers(op).len() as u64).sum();
        let most = messages_at_most(what, u64::from(n), chunks);
        prop_assert!(messages <= most && most <= 2 * messages.max(1), "{messages} of {most}");
        job.sends().iter().for_each(|op| sent(&mut total, op));
        let others = u64::from(n - 1);
        let expected = match what {
            (Collective::AllReduce, Algorithm::Ring | Algorithm::HalvingDoubling | Algorithm::DoubleTree) => Some(2 * others * size),
            (Collective::AllReduce, _)
            | (Collective::AllToAll, Algorithm::Bruck)
            | (Collective::Broadcast, Algorithm::ScatterAllGather) => None,
            _ => Some(others * size),
        };
        prop_assert!(expected.is_none_or(|expected| expected == total), "{total} of {expected:?}");
        let progress = drive(Arc::unwrap_or_clone(job), Settings::default(), |_| Duration::ZERO, Duration::ZERO);
        prop_assert!(progress.is_complete(), "{:?}", progress.stuck());
    }
}
