//! Peers that fall silent forever: what the others do, and when.

use super::hostile::{options, symbol};
use super::*;
use crate::scdp::{Pull, Straggler, StragglerPolicy, WindowControl};
use crate::{Arrival, FailureReason, Peer};
use proptest::prelude::*;

const FAILED: Event = Event::Failed(FailureReason::TimedOut);
const BOUND: Duration = Duration::from_ms(700);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

fn soon() -> ScdpConfig {
    config(|c| c.retries = 5)
}

fn bounded() -> ScdpConfig {
    config(|c| c.give_up_after = Some(BOUND))
}

/// All that these nodes send is lost from their n-th packet on.
fn dead(nodes: &[usize], after: u32) -> impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static {
    let nodes = nodes.to_vec();
    let mut sent = [0; 16];
    move |_, from, _| {
        sent[from] += 1;
        if nodes.contains(&from) && sent[from] > after { Fate::Drop } else { Fate::Deliver }
    }
}

fn dropped(pair: &Pair<Connection>) -> Vec<Peer> {
    let peer = |(_, e): &(Time, Event)| if let Event::PeerDropped(peer) = e { Some(*peer) } else { None };
    pair.events[HUB].iter().filter_map(peer).collect()
}

fn last(pair: &Pair<Connection>, node: usize) -> Option<(Time, Event)> {
    pair.events[node].last().copied()
}

/// When a node last got a packet that was not lost.
fn last_arrival(pair: &Pair<Connection>, node: usize) -> Time {
    let (mut busy, mut last) = ([Time::ZERO; 16], Time::ZERO);
    for (at, from, to, transmit, fate) in &pair.log {
        busy[*from] = busy[*from].max(*at) + Duration(u64::from(transmit.size) * 8_000);
        if (*to, *fate) == (node, Fate::Deliver) {
            last = last.max(busy[*from] + DELAY);
        }
    }
    last
}

/// A group whose sender gives up after five probes, and whose receivers wait for longer; or both by time.
fn group(
    by_time: bool,
    straggler: Straggler,
    symbols: u64,
    receivers: u16,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let patient = config(|c| c.straggler = straggler);
    let (of_sender, of_receivers) = if by_time {
        let bounded = ScdpConfig { straggler, ..bounded() };
        (bounded.clone(), bounded)
    } else {
        (ScdpConfig { straggler, ..soon() }, patient)
    };
    let sender = Sender::one_to_many(&of_sender, Some(symbols * SYMBOL), receivers);
    let receiver = |i| Connection::Receiver(Receiver::new(&of_receivers, 1, u64::from(i)));
    pair_of(std::iter::once(Connection::Sender(sender)).chain((0..receivers).map(receiver)).collect(), policy)
}

#[test]
fn the_others_go_on_without_a_dead_receiver() {
    for policy in [StragglerPolicy::Wait, StragglerPolicy::Drop] {
        let straggler = Straggler { policy, ..Straggler::default() };
        for by_time in [false, true] {
            let mut p = group(by_time, straggler, 300, 3, dead(&[2], 20));
            finish_but(&mut p, &[2]);
            assert_eq!(dropped(&p), [1]);
            assert_eq!(stats(&p, 1).bytes_delivered, 300 * SYMBOL);
        }
    }
}

#[test]
fn a_quorum_that_can_no_longer_be_had_is_all_that_are_left() {
    let straggler = Straggler { policy: StragglerPolicy::Drop, quorum: 2, ..Straggler::default() };
    let mut p = group(false, straggler, 300, 3, dead(&[1, 3], 20));
    finish_but(&mut p, &[1, 3]);
    assert_eq!(dropped(&p).into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([0, 2]));
}

#[test]
fn a_group_of_which_nobody_is_left_fails() {
    let mut p = one_to_many(&soon(), 300 * SYMBOL, 3, dead(&[1, 2, 3], 20));
    assert!(p.run(Time::ZERO + Duration::from_secs(100_000)));
    assert_eq!(dropped(&p).len(), 3);
    assert_eq!(last(&p, HUB).map(|e| e.1), Some(FAILED));
    assert_eq!(p.nodes[HUB].poll_timeout(), None);
}

#[test]
fn a_sender_closes_if_somebody_has_everything() {
    // The second receiver's *done* never arrives.
    let mut p = one_to_many(
        &soon(),
        60 * SYMBOL,
        2,
        |_, from, t| {
            if from == 2 && is_done(t) { Fate::Drop } else { Fate::Deliver }
        },
    );
    finish(&mut p);
    assert_eq!(dropped(&p), [1]);
}

#[test]
fn a_single_receiver_that_is_dead_fails_the_session() {
    for cfg in [soon(), bounded()] {
        let mut p = unicast(&cfg, 300 * SYMBOL, dead(&[1], 20));
        assert!(p.run(Time::ZERO + Duration::from_secs(100_000)));
        let events: Vec<_> = p.events[HUB].iter().map(|e| e.1).collect();
        assert_eq!(events, [FAILED], "nobody is left, and nobody was dropped from a group");
    }
}

#[test]
fn silence_is_bounded_however_the_back_off_stands() {
    let mut p = unicast(&bounded(), 300 * SYMBOL, dead(&[1], 20));
    assert!(p.run(Time::ZERO + Duration::from_secs(100_000)));
    assert_eq!(last(&p, HUB), Some((last_arrival(&p, HUB) + BOUND, FAILED)));
    let mut p = unicast(&bounded(), 300 * SYMBOL, dead(&[HUB], 20));
    assert!(p.run(Time::ZERO + Duration::from_secs(100_000)));
    assert_eq!(last(&p, 1), Some((last_arrival(&p, 1) + BOUND, FAILED)));
}

#[test]
fn one_that_comes_back_is_told_that_it_was_given_up() {
    let mut sent = 0;
    let mut p = one_to_many(&bounded(), 60_000 * SYMBOL, 3, move |n, from, _| {
        sent += u32::from(from == 2);
        // About three seconds of repeated pulls.
        if from == 2 && (20..60).contains(&sent) && n > 20 { Fate::Drop } else { Fate::Deliver }
    });
    p.run(Time::ZERO + Duration::from_secs(100_000));
    assert_eq!(dropped(&p), [1]);
    assert_eq!(last(&p, 2).map(|e| e.1), Some(Event::Failed(FailureReason::GivenUp)));
    assert_eq!(last(&p, HUB).map(|e| e.1), Some(Event::Closed));
    assert!(p.completed_at(1).is_some() && p.completed_at(3).is_some());
}

#[test]
fn who_asks_again_and_again_does_not_keep_others_from_being_probed() {
    // The first receiver sends *done* six times before one arrives, each time because it is probed; the second needs symbols that
    // wait for the first, and repeats its pulls more often than that.
    let cfg = config(|c| {
        (c.pull_timeout, c.probe_timeout) = (Duration::from_ms(1), Duration::from_ms(4));
        c.give_up_after = Some(BOUND);
    });
    let (mut said, mut copies) = (0, 0);
    let mut p = one_to_many(&cfg, 100 * SYMBOL, 2, move |_, from, t| {
        said += u32::from(from == 1 && is_done(t));
        copies += u32::from(is_symbol(t, 0, 50));
        let lost = from == 1 && is_done(t) && said <= 6 || is_symbol(t, 0, 50) && copies == 2;
        if lost { Fate::Drop } else { Fate::Deliver }
    });
    finish(&mut p);
    assert!(dropped(&p).is_empty());
}

#[test]
fn one_dead_sender_of_several_is_left_to_the_others() {
    let mut p = many_to_one(&bounded(), 3000 * SYMBOL, 3, dead(&[2], 20));
    finish_but(&mut p, &[2]);
    assert_eq!(stats(&p, HUB).bytes_delivered, 3000 * SYMBOL);
    let mut p = many_to_one(&bounded(), 3000 * SYMBOL, 3, dead(&[1, 2, 3], 20));
    assert!(p.run(Time::ZERO + Duration::from_secs(100_000)));
    let (when, event) = last(&p, HUB).expect("an end");
    // One of the senders may have been asked for more after the last symbol had arrived.
    let bound = last_arrival(&p, HUB) + BOUND;
    assert!(event == FAILED && (bound..bound + PACKET).contains(&when), "{when} {bound}");
}

#[test]
fn who_is_asked_for_nothing_is_told_that_somebody_is_there() {
    // The second sender is dead, and holds the only missing symbols: the first is asked for repair symbols when the
    // second has been silent for 6 ms. Until then it has nothing to do, and probes.
    let cfg = config(|c| {
        (c.probe_timeout, c.give_up_after) = (Duration::from_ms(1), Some(Duration::from_ms(5)));
    });
    let mut p = many_to_one(&cfg, 12 * SYMBOL, 2, dead(&[2], 0));
    finish_but(&mut p, &[2]);
    assert!(stats(&p, 1).timeouts >= 2);
}

#[test]
fn a_receiver_waits_for_its_first_symbol_only_so_long() {
    let mut r = Receiver::new(bounded(), 1, 0);
    assert_eq!(r.poll_timeout(), None, "not started");
    r.start(at(3));
    r.start(at(9));
    assert_eq!(r.poll_timeout(), Some(at(3) + BOUND));
    r.handle_timeout(at(3));
    assert_eq!(r.poll_event(), None);
    r.handle_timeout(at(3) + BOUND);
    assert_eq!((r.poll_event(), r.poll_timeout()), (Some(FAILED), None));
    // A receiver that receives something in time continues.
    let mut r = Receiver::new(bounded(), 1, 0);
    r.start(at(3));
    let first = Sender::unicast(bounded(), Some(100 * SYMBOL)).poll_transmit(at(5)).expect("a symbol");
    let arrival = Arrival { header: first.header, from: 0, trimmed: false, ce: false, returned: false };
    r.handle_packet(at(700), &arrival);
    r.handle_timeout(at(703));
    assert_eq!((r.poll_event(), r.poll_event()), (Some(Event::Connected), None));
    // By default silence is not bounded.
    let mut r = Receiver::new(ScdpConfig::default(), 1, 0);
    r.start(at(3));
    assert_eq!(r.poll_timeout(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whichever end dies, and whenever: all others complete, and the sender ends well unless no other is left.
    #[test]
    fn no_receiver_is_lost_with_another(
        symbols in 1u64..500, dying in prop::collection::vec(any::<bool>(), 2..6), after in 0u32..200, by_time in any::<bool>(),
        policy in prop_oneof![Just(StragglerPolicy::Wait), Just(StragglerPolicy::Detach)],
    ) {
        let straggler = Straggler { policy, ..Straggler::default() };
        let nodes: Vec<usize> = (1..=dying.len()).filter(|&n| dying[n - 1]).collect();
        let mut p = group(by_time, straggler, symbols, dying.len() as u16, dead(&nodes, after));
        prop_assert!(p.run(Time::ZERO + Duration::from_secs(100_000)));
        for n in (1..=dying.len()).filter(|n| !nodes.contains(n)) {
            prop_assert!(p.completed_at(n).is_some(), "{}", p.nodes[n].waiting_for());
        }
        let told = p.events[HUB].iter().filter(|e| matches!(e.1, Event::PeerCompleted(_) | Event::PeerDropped(_))).count();
        prop_assert_eq!(told, dying.len());
        let anybody = p.events[HUB].iter().any(|e| matches!(e.1, Event::PeerCompleted(_)));
        prop_assert_eq!(last(&p, HUB).map(|e| e.1), Some(if anybody { Event::Closed } else { FAILED }));
    }
}

/// How long after its last pull a receiver is probed that has pulled each millisecond, but for one pause of half a second.
fn probed_after(steady_before: u64, steady_after: u64) -> Duration {
    let mut sender = Sender::unicast(config(|c| c.probe_timeout = Duration::from_ms(16)), None);
    let mut upto = 12;
    let mut pull = |sender: &mut Sender, ms| {
        upto += 1;
        let pull =
            Pull { block: upto / 100, upto: upto % 100 + 1, base: upto / 100, fin: false, retry: false, done: false };
        let (header, from) = (Header::Pull(pull), 0);
        sender.handle_packet(at(ms), &Arrival { header, from, trimmed: false, ce: false, returned: false });
        while sender.poll_transmit(at(ms)).is_some() {}
    };
    while sender.poll_transmit(at(0)).is_some() {}
    let resumed = steady_before + 500;
    let last = resumed + steady_after;
    (1..steady_before).chain(resumed..=last).for_each(|ms| pull(&mut sender, ms));
    sender.poll_timeout().expect("it waits") - at(last)
}

#[test]
fn one_pause_does_not_slow_probes_down_for_the_rest_of_the_session() {
    assert!(probed_after(100, 1) >= Duration::from_secs(1), "it may pause again");
    assert_eq!(probed_after(100, 20_000), Duration::from_ms(16));
    assert_eq!(probed_after(1000, 60_000), Duration::from_ms(16));
}

#[test]
fn probes_do_not_postpone_a_repeated_pull_for_ever() {
    let mut r = Receiver::new(config(|c| c.window_control = WindowControl::Bbr), 1, 0);
    (0..12).for_each(|esi| r.handle_packet(at(0), &symbol(0, esi, options())));
    assert!(std::iter::from_fn(|| r.poll_pull(at(0))).count() > 1);
    // One answer comes, late, and no other. The sender probes again and again, sooner than the timer is due.
    let mut answer = symbol(0, 12, options());
    if let Header::Symbol(symbol) = &mut answer.header {
        symbol.syn = false;
    }
    r.handle_packet(at(400), &answer);
    let probed_every = Duration::from_ms(500);
    assert!(r.poll_timeout() > Some(at(400) + probed_every), "{:?}", r.poll_timeout());
    let repeated = (1..20).any(|n| {
        let now = at(400) + probed_every * n;
        r.handle_timeout(now);
        r.handle_packet(now, &symbol(0, 0, options()));
        std::iter::from_fn(|| r.poll_transmit(now)).any(|t| matches!(t.header, Header::Pull(pull) if pull.retry))
    });
    assert!(repeated, "it waits for ever: {}", r.waiting_for());
}
