//! RACK-TLP on a path (RFC 8985).

use super::*;
use crate::Bytes;
use crate::tcp::WindowRules;
use proptest::prelude::*;

fn config() -> TcpConfig {
    TcpConfig { sack: true, rack: true, initial_window: 20, receive_window: Bytes(1 << 20), ..TcpConfig::default() }
}

/// Without RACK only the timer finds it. Here the first segment that was sent after the repetition tells, or the next, which a queue of
/// at most the window delays.
#[test]
fn a_lost_repetition_is_found_within_a_round_trip_and_a_quarter() {
    for prr in [false, true] {
        let run = |rack| {
            let pair = transfer(&TcpConfig { prr, rack, ..config() }, 200 * MSS, lose(&[(5 * MSS, 2)]));
            assert_delivered(&pair, 200 * MSS);
            pair
        };
        assert_eq!(run(false).nodes[SENDER].stats().timeouts, 1);
        let pair = run(true);
        let stats = pair.nodes[SENDER].stats();
        assert_eq!((stats.retransmitted, stats.timeouts), (2, 0), "PRR {prr}");
        let sent = sent_at(&pair, 5 * MSS);
        let round_trip = DELAY * 2 + DATA_TIME * 20 + ACK_TIME;
        assert!(sent[2] - sent[1] >= DELAY * 2 && sent[2] - sent[1] < round_trip / 4 * 5, "{}", sent[2] - sent[1]);
    }
}

/// As often as it is lost.
#[test]
fn a_segment_that_is_lost_five_times_costs_no_timeout() {
    let pair = transfer(&config(), 400 * MSS, lose(&[(5 * MSS, 5), (9 * MSS, 3)]));
    assert_delivered(&pair, 400 * MSS);
    let stats = pair.nodes[SENDER].stats();
    assert_eq!((stats.retransmitted, stats.timeouts), (8, 0));
}

/// §7.2: the last of five is lost. Two smoothed round trips and a tick after the fourth's ACK it is probed for; the smoothed one is of the SYN,
/// and for an eighth of the first segment.
#[test]
fn a_lost_tail_is_probed_for_after_two_round_trips() {
    let pair = transfer(&config(), 5 * MSS, lose(&[(4 * MSS, 1)]));
    assert_delivered(&pair, 5 * MSS);
    let stats = pair.nodes[SENDER].stats();
    assert_eq!((stats.retransmitted, stats.timeouts), (1, 0));
    let sent = sent_at(&pair, 4 * MSS);
    let fourth_ack = sent[0] + DATA_TIME * 4 + DELAY + ACK_TIME + DELAY;
    let (of_syn, of_data) = (200_640_000, 212_320_000);
    assert_eq!(sent[1], fourth_ack + Duration(of_syn / 8 * 7 + of_data / 8) * 2 + Duration::from_us(1));
}

/// The handshake has told of a round trip: so the probe's arrival tells that all before it are lost.
#[test]
fn a_whole_first_window_that_is_lost_costs_no_timeout() {
    for count in 2..=5 {
        let all: Vec<(u64, u32)> = (0..count).map(|n| (n * MSS, 1)).collect();
        let pair = transfer(&config(), count * MSS, lose(&all));
        assert_delivered(&pair, count * MSS);
        let stats = pair.nodes[SENDER].stats();
        assert_eq!((stats.retransmitted, stats.timeouts), (count, 0), "{count} segments");
    }
}

/// A connection that was open before knows its round trip: a whole first window that is lost costs no timeout.
#[test]
fn a_round_trip_that_is_known_beforehand_makes_the_first_window_probe() {
    let known = DELAY * 2;
    let lost: Vec<_> = (0..4).map(|n| (n * MSS, 1)).collect();
    let run = |known_rtt| {
        let config = TcpConfig { handshake: false, known_rtt, ..config() };
        let pair = transfer(&config, 4 * MSS, lose(&lost));
        assert_delivered(&pair, 4 * MSS);
        pair
    };
    let (pair, blind) = (run(Some(known)), run(None));
    assert_eq!([&pair, &blind].map(|p| p.nodes[SENDER].stats().timeouts), [0, 1]);
    // The probe repeats the last segment, two round trips and a tick after the three before have left.
    let sent = sent_at(&pair, 3 * MSS);
    assert_eq!(sent[1] - sent[0], DATA_TIME * 3 + known * 2 + Duration::from_us(1));
}

/// A single segment waits for a delayed ACK, too.
#[test]
fn a_single_segment_has_the_time_of_a_delayed_ack() {
    let delay = Duration::from_ms(7);
    let config = TcpConfig { delayed_ack: true, delayed_ack_timeout: delay, ..config() };
    let pair = transfer(&config, MSS, lose(&[(0, 1)]));
    let sent = sent_at(&pair, 0);
    assert_eq!(sent[1] - sent[0], (DELAY + ACK_TIME) * 4 + delay + Duration::from_us(1));
    assert_eq!(pair.nodes[SENDER].stats().timeouts, 0);
}

/// The probe's ACK tells of what was lost before it; a lost probe leaves it to the timer.
#[test]
fn the_probe_tells_of_a_longer_tail() {
    for (losses, repeated, timeouts) in [(vec![(2, 1), (3, 1), (4, 1)], 3, 0), (vec![(4, 2)], 2, 1)] {
        let losses: Vec<(u64, u32)> = losses.iter().map(|&(segment, times)| (segment * MSS, times)).collect();
        let pair = transfer(&config(), 5 * MSS, lose(&losses));
        assert_delivered(&pair, 5 * MSS);
        let stats = pair.nodes[SENDER].stats();
        assert_eq!((stats.retransmitted, stats.timeouts), (repeated, timeouts), "{losses:?}");
    }
}

/// §7.3: where there is new data the probe is the next segment of it, beyond the window; after one the retransmission timer runs.
#[test]
fn a_probe_is_new_data_where_there_is_some() {
    let at = |us| Time::ZERO + Duration::from_us(us);
    let config = TcpConfig { handshake: false, initial_window: 4, ..config() };
    let mut sender = Connection::connect(&config, None, Time::ZERO);
    let send = |sender: &mut Connection, now| {
        std::iter::from_fn(|| sender.poll_transmit(now)).map(|p| p.header.seq / MSS).collect::<Vec<_>>()
    };
    assert_eq!(send(&mut sender, Time::ZERO), [0, 1, 2, 3]);
    let header = Segment { ack: MSS, window: 1 << 20, flags: Flags::ACK, ..Segment::default() };
    sender.handle_packet(at(100), &crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false });
    assert_eq!(send(&mut sender, at(100)), [4, 5]);
    let due = at(100 + 2 * 100 + 1);
    assert_eq!(sender.poll_timeout(), Some(due));
    sender.handle_timeout(due);
    assert_eq!(send(&mut sender, due), [6]);
    assert_eq!(sender.poll_timeout(), Some(due + config.rto_min));
}

/// Overtaken by two it is not lost, and from then on reordering is known: by four it is not either. Without RACK three are proof.
#[test]
fn reordering_that_was_seen_is_tolerated() {
    for rack in [true, false] {
        let pair = transfer(&TcpConfig { rack, ..config() }, 80 * MSS, move |_, from, p| {
            let behind = match p.header.seq / MSS {
                6 => 2,
                30 => 4,
                _ => 0,
            };
            let extra = DATA_TIME * behind + Duration::from_us(1);
            if from == SENDER && p.header.len > 0 && behind > 0 { Fate::Late(extra) } else { Fate::Deliver }
        });
        assert_delivered(&pair, 80 * MSS);
        assert_eq!(pair.nodes[SENDER].stats().retransmitted == 0, rack);
    }
}

/// A segment that is overtaken by one and never comes: a quarter of the least round trip, which is the SYN's, after the other, and a tick, it
/// is lost.
#[test]
fn a_loss_that_too_few_duplicates_tell_of_is_found_by_the_reordering_timer() {
    let pair = transfer(&config(), 2 * MSS, lose(&[(0, 1)]));
    assert_delivered(&pair, 2 * MSS);
    assert_eq!(pair.nodes[SENDER].stats().timeouts, 0);
    let sent = sent_at(&pair, 0);
    // Both left at once, the other's ACK took: its own time and that of the one before, an ACK with one block.
    let sack_time = Duration::from_ns(52 * 8);
    let round_trip = DATA_TIME * 2 + DELAY * 2 + sack_time;
    let of_syn = Duration(200_640_000);
    let due = round_trip + of_syn / 4;
    assert!((due..=due + Duration::from_us(2)).contains(&(sent[1] - sent[0])), "{}", sent[1] - sent[0]);
}

/// RFC 5681 §3.1 equation 4: all twenty were in flight when the ACK came, of which it acknowledges sixteen and tells that one is lost.
#[test]
fn what_the_ack_acknowledges_that_tells_of_a_loss_was_in_flight() {
    let mut sender = Connection::connect(&TcpConfig { handshake: false, ..config() }, None, Time::ZERO);
    while sender.poll_transmit(Time::ZERO).is_some() {}
    let mut header = Segment { ack: 16 * MSS, window: 1 << 20, flags: Flags::ACK, ..Segment::default() };
    header.push_sack(17 * MSS, 20 * MSS);
    let arrival = crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false };
    sender.handle_packet(Time::ZERO + DELAY * 2, &arrival);
    assert_eq!(sender.cwnd(), Some(10 * MSS));
}

#[test]
fn it_needs_sack_and_is_not_for_pfabric() {
    let field = |config: TcpConfig| config.validate().err().map(|error| error.field);
    assert_eq!(field(TcpConfig { sack: false, ..config() }), Some("rack"));
    assert_eq!(field(TcpConfig { congestion: Algorithm::Pfabric, ..config() }), Some("rack"));
    assert_eq!(field(config()), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is lost, late, doubled or marked: everything arrives.
    #[test]
    fn transfers_complete_whatever_the_path_does(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        [prr, hystart, delayed_ack, ecn, linux, handshake] in prop::array::uniform6(any::<bool>()),
        bytes in 1_u64..300_000, lost in 0_u8..32, seed in any::<u64>(),
        rto_us in prop::sample::select(vec![10_u64, 1_000, 20_000]),
    ) {
        let config = TcpConfig {
            congestion: algorithm, prr, hystart, delayed_ack, ecn, handshake,
            hystart_min_rtt_thresh: Duration::from_us(20),
            rto_min: Duration::from_us(rto_us), rto_initial: Duration::from_ms(3), rto_max: Duration::from_secs(1), retries: 200,
            ..config()
        };
        let config = if config.validate().is_ok() { config } else { TcpConfig { congestion: Algorithm::Reno, ..config } };
        let by_linux = TcpConfig { window_rules: WindowRules::Linux61, ..config.clone() };
        let config = if linux && by_linux.validate().is_ok() { by_linux } else { config };
        let pair = transfer(&config, bytes, unkind(lost, seed));
        assert_delivered(&pair, bytes);
    }

    /// Where nothing is lost or overtaken, nothing is repeated, however few segments are on their way.
    #[test]
    fn nothing_is_repeated_without_need(
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        [prr, delayed_ack, handshake] in prop::array::uniform3(any::<bool>()),
        bytes in 1_u64..300_000, initial_window in 1_u32..20,
    ) {
        let algorithm = if algorithm == Algorithm::Pfabric { Algorithm::Reno } else { algorithm };
        let config = TcpConfig { congestion: algorithm, prr, delayed_ack, handshake, initial_window, ..config() };
        let pair = transfer(&config, bytes, |_, _, _| Fate::Deliver);
        assert_delivered(&pair, bytes);
        let stats = pair.nodes[SENDER].stats();
        prop_assert_eq!((stats.retransmitted, stats.timeouts), (0, 0));
    }
}
