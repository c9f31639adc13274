use super::*;
use crate::Settings;
use crate::loggops::{LogGops, estimate};
use crate::progress::driving::drive;
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

pub(super) fn chunks(chunks: u32) -> Shape {
    Shape { chunks, ..Shape::default() }
}

pub(super) fn servers(per_server: u32) -> Shape {
    Shape { per_server, ..Shape::default() }
}

pub(super) fn job(what: (Collective, Algorithm), n: u32, size: u64, shape: Shape) -> (Arc<crate::Job>, Vec<Vec<Op>>) {
    let mut b = Builder::new(n);
    let members: Vec<u32> = (0..n).collect();
    let last = add(&mut b, what, &members, Bytes(size), shape, &vec![Vec::new(); n as usize]);
    let last = last.unwrap_or_else(|e| panic!("{what:?} of {n}: {e}"));
    (Arc::new(b.build().unwrap_or_else(|e| panic!("{what:?} of {n}: {e}"))), last)
}

/// When the last operation of the model ends.
fn takes(what: (Collective, Algorithm), n: u32, size: u64, shape: Shape) -> u64 {
    let (job, _) = job(what, n, size, shape);
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
            assert_eq!(takes(what, n, size, Shape::default()), expected, "{what:?} of {n}");
        }
        for parts in [1, 2, 8] {
            let takes = takes((Broadcast, Algorithm::Chain), n, size, chunks(parts));
            let parts = u64::from(parts);
            assert_eq!(takes, (count - 2 + parts) * step(parts), "{parts} chunks of {n}");
        }
        for g in (0..=log).map(|bit| 1 << bit) {
            let (m, shape) = (count / g, servers(g as u32));
            let (inside, rails) = ((g - 1) * step(g), (m - 1) * step(count));
            let how = Algorithm::Hierarchical;
            assert_eq!(takes((AllReduce, how), n, size, shape), 2 * (inside + rails), "{g} of {n}");
            assert_eq!(takes((ReduceScatter, how), n, size, shape), inside + rails, "{g} of {n}");
            assert_eq!(takes((AllGather, how), n, size, shape), inside + rails, "{g} of {n}");
            assert_eq!(takes((AllToAll, how), n, size, shape), inside + (m - 1) * step(m), "{g} of {n}");
        }
    }
}

#[test]
fn what_an_algorithm_cannot_do_is_refused() {
    let error = |what, n: u32, size, parts| {
        let mut b = Builder::new(n);
        let members: Vec<u32> = (0..n).collect();
        let after = vec![Vec::new(); n as usize];
        let error = add(&mut b, what, &members, Bytes(size), chunks(parts), &after).unwrap_err();
        (error.message, error.hint.unwrap_or_default())
    };
    let (message, hint) = error((Collective::AllReduce, Algorithm::Bruck), 8, 4096, 1);
    assert_eq!(
        (message.as_str(), hint.as_str()),
        ("bruck does no all-reduce", "known are ring, halving-doubling, recursive-doubling, double-tree, hierarchical")
    );
    let power = error((Collective::AllReduce, Algorithm::HalvingDoubling), 6, 4096, 1).0;
    assert_eq!(power, "halving-doubling is for 2, 4, 8 and so on members, not for 6");
    assert_eq!(error((Collective::AllReduce, Algorithm::Ring), 6, 4096, 2).0, "ring cuts nothing into 2 chunks");
    let many = error((Collective::AllReduce, Algorithm::Ring), 100_000, 1 << 30, 1).0;
    assert_eq!(many, "all-reduce by ring of 100000 ranks takes too many messages");
    let chunks = error((Collective::AllReduce, Algorithm::DoubleTree), 8, 1 << 30, u32::MAX).0;
    assert_eq!(chunks, "all-reduce by double-tree of 8 ranks takes too many messages");
    let hierarchical = (Collective::AllReduce, Algorithm::Hierarchical);
    assert_eq!(error(hierarchical, 8, 4096, 1).0, "hierarchical needs to know which ranks share a server");
    let mut b = Builder::new(12);
    let uneven = add(&mut b, hierarchical, &[0, 1, 2, 8, 9], Bytes(64), servers(8), &vec![Vec::new(); 5]);
    assert_eq!(
        uneven.unwrap_err().message,
        "hierarchical needs as many ranks in each server: server 0 has 3 of them, server 1 2"
    );
}

/// No message is longer than a chunk, and none is shorter than half of one where bytes suffice.
#[test]
fn chunks_have_the_length_that_is_asked_for() {
    let (size, chunk) = (2_000_000, CHUNK);
    for algorithm in [Algorithm::Chain, Algorithm::DoubleTree] {
        let (job, _) =
            job((Collective::Broadcast, algorithm), 9, size, chunks(algorithm.chunks_of(Bytes(size), chunk)));
        let bytes = |op: &Op| match job.operations()[*op as usize].action {
            Action::Send { bytes, .. } => bytes.0,
            other => panic!("{other:?} sends nothing"),
        };
        let all: Vec<u64> = job.sends().iter().map(bytes).collect();
        assert!(all.iter().all(|&bytes| bytes <= chunk.0 && bytes > chunk.0 / 2), "{algorithm:?}: {all:?}");
    }
    assert_eq!(Algorithm::Ring.chunks_of(Bytes(size), chunk), 1);
    assert_eq!(Algorithm::Chain.chunks_of(Bytes(0), chunk), 1);
}

/// Groups are what they are, whatever the servers: one rank of each, all of one, or some of some.
#[test]
fn servers_are_of_ranks_not_of_members() {
    let messages = |members: &[u32]| {
        let mut b = Builder::new(32);
        let what = (Collective::AllReduce, Algorithm::Hierarchical);
        add(&mut b, what, members, Bytes(1 << 20), servers(8), &vec![Vec::new(); members.len()]).unwrap();
        let job = b.build().unwrap();
        let inside = |op: &&Op| {
            let to = job.receivers(**op)[0];
            job.operations()[**op as usize].rank / 8 == to / 8
        };
        let count = job.sends().iter().filter(inside).count();
        (count, job.sends().len() - count)
    };
    assert_eq!(messages(&[0, 8, 16, 24]), (0, 4 * 6));
    assert_eq!(messages(&[8, 9, 10, 11]), (4 * 6, 0));
    assert_eq!(messages(&[9, 17, 11, 19, 25, 31]), (6 * 2, 6 * 4));
}

fn any_of_all() -> impl Strategy<Value = (Collective, Algorithm)> {
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
    fn all_that_is_needed_gets_there(what in any_of_all(), n in 1_u32..20, power in 0_u32..5, extra in prop_oneof![0_u64..30, 0_u64..5000], chunks in 1_u32..5, divisor in any::<prop::sample::Index>()) {
        let (collective, algorithm) = what;
        let n = if algorithm.needs_power_of_two() { 1 << power } else { n };
        let chunks = if algorithm.has_chunks() { chunks } else { 1 };
        // The servers are of as many ranks as divide them.
        let divisors: Vec<u32> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
        let per_server = if algorithm.has_servers() { *divisor.get(&divisors) } else { 0 };
        let (size, shape) = (extra, Shape { chunks, per_server, at_once: 0 });
        let (job, last) = job(what, n, size, shape);
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
        let most = messages_at_most(what, u64::from(n), shape);
        prop_assert!(messages <= most && most <= 2 * messages.max(1), "{messages} of {most}");
        job.sends().iter().for_each(|op| sent(&mut total, op));
        let others = u64::from(n - 1);
        let expected = match what {
            (
                Collective::AllReduce,
                Algorithm::Ring | Algorithm::HalvingDoubling | Algorithm::DoubleTree | Algorithm::Hierarchical,
            ) => Some(2 * others * size),
            (Collective::AllReduce, _)
            | (Collective::AllToAll, Algorithm::Bruck | Algorithm::Hierarchical)
            | (Collective::Broadcast, Algorithm::ScatterAllGather) => None,
            _ => Some(others * size),
        };
        prop_assert!(expected.is_none_or(|expected| expected == total), "{total} of {expected:?}");
        let progress = drive(Arc::unwrap_or_clone(job), Settings::default(), |_| Duration::ZERO, Duration::ZERO);
        prop_assert!(progress.is_complete(), "{:?}", progress.stuck());
    }
}

/// The root has all bytes at once, and does not send all at once: messages would share its link and arrive together, the first as late as
/// the last.
#[test]
fn a_root_sends_one_after_the_other() {
    for (algorithm, parts, at_once) in [
        (Algorithm::Chain, 8, CHUNKS_UNDER_WAY),
        (Algorithm::DoubleTree, 8, 2 * CHUNKS_UNDER_WAY),
        (Algorithm::Binomial, 1, 1),
        (Algorithm::ScatterAllGather, 1, 1),
    ] {
        let (job, _) = job((Collective::Broadcast, algorithm), 9, 1 << 20, chunks(parts));
        let mut progress = crate::Progress::new(job, Settings::default(), Time::ZERO);
        let begun: Vec<u32> = std::iter::from_fn(|| progress.take_message()).map(|message| message.number).collect();
        assert_eq!(begun.len(), at_once, "{algorithm:?}");
        // The next begins when the first is acknowledged.
        progress.acknowledged(begun[0], Time::ZERO);
        progress.advance(Time::ZERO);
        assert_eq!(std::iter::from_fn(|| progress.take_message()).count(), 1, "{algorithm:?}");
    }
}

/// Of members that send to all others, so many do at a time.
#[test]
fn chains_of_one_to_many_messages_take_turns() {
    for at_once in [1, 2, 3, 8, 20] {
        let shape = Shape { at_once, ..Shape::default() };
        let (job, _) = job((Collective::AllGather, Algorithm::OneToMany), 8, 800, shape);
        let mut progress = crate::Progress::new(job, Settings::default(), Time::ZERO);
        let mut under_way = VecDeque::new();
        let (mut most, mut total) = (0, 0);
        loop {
            under_way.extend(std::iter::from_fn(|| progress.take_message()));
            most = under_way.len().max(most);
            let Some(message) = under_way.pop_front() else { break };
            total += 1;
            (0..7).for_each(|receiver| progress.delivered(message.number, receiver, Time::ZERO));
            progress.acknowledged(message.number, Time::ZERO);
            progress.advance(Time::ZERO);
        }
        assert_eq!((most, total), (at_once.min(8) as usize, 8));
    }
    let mut b = Builder::new(4);
    let shape = Shape { at_once: 2, ..Shape::default() };
    let ring = (Collective::AllGather, Algorithm::Ring);
    let refused = add(&mut b, ring, &[0, 1, 2, 3], Bytes(64), shape, &vec![Vec::new(); 4]).unwrap_err();
    assert_eq!(refused.message, "ring of all-gather knows no `at_once`: it is of all-gather by one-to-many");
}
