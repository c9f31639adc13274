//! Senders whose application has not the whole object yet.

use super::super::flow::FlowSpec;
use super::super::sender::Sender;
use super::super::timer::RetransmissionTimer;
use super::*;
use crate::Bytes;
use crate::testing::Slow;
use crate::testing::poor::Poor;
use proptest::prelude::*;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

/// A transfer whose application provides its object as told, run to the end.
fn provided(
    config: &TcpConfig,
    bytes: u64,
    provides: Vec<(Time, u64)>,
    policy: impl FnMut(u64, usize, &Packet) -> Fate + 'static,
) -> Pair<Slow<Connection>> {
    config.validate().unwrap();
    let sender = Slow::new(Connection::connect(config, Some(bytes), Time::ZERO), provides);
    let ends = vec![sender, Slow::new(Connection::listen(config), [])];
    let mut pair = Pair::new(ends, DELAY, GBPS, Duration::ZERO, policy);
    let ended = pair.run(END);
    assert!(ended, "{} and {}", pair.nodes[SENDER].waiting_for(), pair.nodes[RECEIVER].waiting_for());
    for node in [SENDER, RECEIVER] {
        assert_eq!(pair.events[node].last().map(|e| e.1), Some(Event::Closed), "{}", pair.nodes[node].waiting_for());
    }
    assert_eq!(pair.nodes[RECEIVER].stats().bytes_delivered, bytes);
    pair
}

fn data(pair: &Pair<Slow<Connection>>) -> Vec<(Time, u64, u64)> {
    let sent = pair.log.iter().filter(|(_, from, _, p, _)| *from == SENDER && p.header.len > 0);
    sent.map(|(at, _, _, p, _)| (*at, p.header.seq, u64::from(p.header.len))).collect()
}

#[test]
fn the_connection_opens_with_the_first_byte() {
    let pair = provided(&TcpConfig::default(), 3 * MSS, vec![(at(5), 1), (at(6), 3 * MSS)], |_, _, _| Fate::Deliver);
    assert_eq!(pair.log[0].0, at(5));
    assert!(pair.log[0].3.header.flags.has(Flags::SYN));
    // The handshake is over by then; the first byte alone made no segment.
    assert_eq!(data(&pair).iter().map(|d| (d.0, d.2)).collect::<Vec<_>>(), [(at(6), MSS); 3]);
}

#[test]
fn segments_are_full_but_the_last() {
    let steps = (1..40).map(|i| (Time::ZERO + Duration::from_us(50 * i), 700 * i)).collect();
    let pair = provided(&TcpConfig::default(), 700 * 39, steps, |_, _, _| Fate::Deliver);
    let lengths: Vec<u64> = data(&pair).iter().map(|d| d.2).collect();
    let (last, full) = lengths.split_last().unwrap();
    assert!(full.iter().all(|&len| len == MSS) && *last == 700 * 39 % MSS, "{lengths:?}");
    assert_eq!(pair.nodes[SENDER].stats().timeouts, 0);
}

/// Waiting is no silence of the network: the timer does not run, and the window starts again (RFC 5681 §4.1).
#[test]
fn an_idle_sender_has_no_timeouts_and_restarts_its_window() {
    let config = TcpConfig { receive_window: Bytes(1 << 20), ..TcpConfig::default() };
    let steps = vec![(Time::ZERO, 100 * MSS), (at(60_000), 200 * MSS)];
    let pair = provided(&config, 200 * MSS, steps, |_, _, _| Fate::Deliver);
    assert_eq!((pair.nodes[SENDER].stats().timeouts, pair.nodes[SENDER].stats().retransmitted), (0, 0));
    let sent = data(&pair);
    assert!(sent[99].0 < at(10));
    assert_eq!(sent.iter().filter(|d| d.0 == at(60_000)).count(), 10, "the initial window");
    assert!(sent[199].0 < at(60_010));
}

#[test]
fn a_short_pause_leaves_the_window_as_it_is() {
    let config = TcpConfig { receive_window: Bytes(1 << 20), ..TcpConfig::default() };
    let steps = vec![(Time::ZERO, 100 * MSS), (at(50), 200 * MSS)];
    let pair = provided(&config, 200 * MSS, steps, |_, _, _| Fate::Deliver);
    assert!(data(&pair).iter().filter(|d| d.0 == at(50)).count() > 50);
}

/// A window that the application does not fill does not grow (RFC 7661, RFC 9438 §5.8).
#[test]
fn a_trickle_does_not_grow_the_window() {
    let config = TcpConfig { receive_window: Bytes(1 << 20), ..TcpConfig::default() };
    let steps = (1..=100).map(|i| (at(i), i * MSS)).collect();
    let pair = provided(&config, 100 * MSS, steps, |_, _, _| Fate::Deliver);
    assert_eq!(pair.nodes[SENDER].end.cwnd(), Some(10 * MSS));
}

/// RFC 9438 §4.2, §5.8: time in which application or receive window limit the flow is no part of `t`. A flow that lost
/// something, paused for half a minute of its congestion avoidance and goes on must have the window that it would have
/// had without the pause, not one from far up the cubic.
#[test]
fn cubic_s_clock_stands_still_while_the_application_provides_nothing() {
    let window_after = |pause: u64| {
        let config = TcpConfig {
            congestion: Algorithm::Cubic,
            receive_window: Bytes(1 << 20),
            // Longer than the pause: no restart of an idle window.
            rto_min: Duration::from_secs(100),
            rto_max: Duration::from_secs(100),
            ..TcpConfig::default()
        };
        // Half of the object is there at once; the rest `pause` after the first half has been acknowledged.
        let steps = vec![(Time::ZERO, 2_000 * MSS), (at(30 + pause), 4_000 * MSS)];
        let pair = provided(&config, 4_000 * MSS, steps, lose(&[(60 * MSS, 1)]));
        assert_eq!(pair.nodes[SENDER].stats().timeouts, 0);
        pair.nodes[SENDER].end.cwnd().unwrap()
    };
    let (without, with) = (window_after(0), window_after(30_000));
    assert!(with.abs_diff(without) <= 2 * MSS, "{} and {} segments", without / MSS, with / MSS);
}

/// The same for the receive window: it holds the flow for twenty seconds, and then opens.
#[test]
fn cubic_s_clock_stands_still_while_the_receive_window_is_the_limit() {
    let config = TcpConfig { congestion: Algorithm::Cubic, initial_window: 30, ..TcpConfig::default() };
    let mut sender = Sender::new(&config, FlowSpec::of(None), Time::ZERO);
    let mut timer = RetransmissionTimer::new(&config);
    // One round trip after the other: each ACK lets new segments go, which are acknowledged in the next.
    let (mut now, mut sent) = (at(1), vec![0]);
    let mut drive = |sender: &mut Sender, rounds: u64, peer_window: u64| {
        for _ in 0..rounds {
            now += Duration::from_ms(10);
            for ack in std::mem::take(&mut sent) {
                let window = (peer_window * MSS) as u32;
                let segment = Segment { ack, window, flags: Flags::ACK, ..Segment::default() };
                sender.on_ack(&mut timer, now, &segment);
                while let Some(out) = sender.poll_transmit(&mut timer, now) {
                    sent.push(out.segment.seq + u64::from(out.segment.len));
                }
            }
        }
        sender.window().size() / MSS
    };
    sender.window_mut().leave_slow_start();
    assert_eq!(drive(&mut sender, 2_000, 30), 31, "as large as the receive window lets it grow");
    let after = drive(&mut sender, 20, 1_000);
    // Twenty round trips of the Reno-friendly region. Half a window each would be 30 * 1.5^20.
    assert!((49..=53).contains(&after), "{after} segments");
}

#[test]
fn what_is_lost_before_a_pause_is_repaired_in_it() {
    for sack in [false, true] {
        let config = TcpConfig { sack, ..TcpConfig::default() };
        let steps = vec![(Time::ZERO, 4 * MSS), (at(5_000), 8 * MSS)];
        let pair = provided(&config, 8 * MSS, steps, lose(&[(3 * MSS, 1)]));
        let repeated: Vec<Time> = data(&pair).iter().filter(|d| d.1 == 3 * MSS).map(|d| d.0).collect();
        assert!(repeated.len() == 2 && repeated[1] < at(300), "{repeated:?}");
        assert_eq!(pair.nodes[SENDER].stats().timeouts, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_transfer_completes_however_slow_the_application(
        steps in prop::collection::vec((0_u64..3_000, 0_u64..9_000), 1..30),
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        [sack, delayed_ack, handshake] in prop::array::uniform3(any::<bool>()),
        lose in 0_u8..80,
        seed in any::<u64>(),
    ) {
        let (mut time, mut bytes) = (Time::ZERO, 1);
        let steps: Vec<_> = steps.into_iter().map(|(us, more)| {
            (time, bytes) = (time + Duration::from_us(us), bytes + more);
            (time, bytes)
        }).collect();
        let config = TcpConfig {
            sack, delayed_ack, handshake, congestion: algorithm,
            rto_min: Duration::from_ms(1), rto_initial: Duration::from_ms(3), rto_max: Duration::from_secs(1), retries: 200,
            ..TcpConfig::default()
        };
        let provides = steps.clone();
        let pair = provided(&config, bytes, provides, Poor { seed, lose, lose_back: lose, ..Poor::GOOD }.policy());
        for (at, seq, len) in data(&pair) {
            let there = steps.iter().take_while(|s| s.0 <= at).last().map_or(0, |s| s.1);
            prop_assert!(seq + len <= there, "{} of {there}", seq + len);
        }
    }
}

/// FA-DCTCP tells long flows by it.
#[test]
fn the_buffer_s_high_water_mark_is_that_of_what_has_not_been_acknowledged() {
    let new = |bytes| Sender::new(&TcpConfig::default(), FlowSpec::of(bytes), Time::ZERO);
    assert_eq!(new(Some(5000)).stream().most_queued(), 5000, "handed over at once");
    assert_eq!(new(None).stream().most_queued(), u64::MAX);
    let (mut sender, mut timer) = (new(Some(100 * MSS)), RetransmissionTimer::new(&TcpConfig::default()));
    sender.stream_mut().provide(0);
    assert_eq!(sender.stream().most_queued(), 0);
    sender.stream_mut().provide(4 * MSS);
    while sender.poll_transmit(&mut timer, at(1)).is_some() {}
    let ack = Segment { ack: 3 * MSS, window: 65_535, flags: Flags::ACK, ..Segment::default() };
    sender.on_ack(&mut timer, at(2), &ack);
    sender.stream_mut().provide(6 * MSS);
    assert_eq!(sender.stream().most_queued(), 4 * MSS, "three of six are acknowledged");
    sender.stream_mut().provide(9 * MSS);
    assert_eq!(sender.stream().most_queued(), 6 * MSS);
    sender.stream_mut().provide(200 * MSS);
    assert_eq!(sender.stream().most_queued(), 97 * MSS, "no more than the object has");
}
