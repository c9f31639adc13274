//! Segments spaced by a rate that the congestion control asks for, and priorities of its own.

use super::*;
use crate::Bytes;

/// A full segment at the 100 Mbit/s of the paced control, ten times what it takes on the link.
const SPACE: Duration = Duration::from_us(120);

fn config() -> TcpConfig {
    TcpConfig { congestion: Algorithm::Paced, receive_window: Bytes(1 << 20), ..TcpConfig::default() }
}

/// When data segments were sent, in order.
fn departures(pair: &Pair<Connection>) -> Vec<(Time, u64)> {
    let data = pair.log.iter().filter(|(_, from, _, p, _)| *from == SENDER && p.header.len > 0);
    data.map(|(at, _, _, p, _)| (*at, p.header.seq)).collect()
}

#[test]
fn full_segments_leave_at_the_rate_from_the_first_on() {
    let pair = transfer(&config(), 50 * MSS, |_, _, _| Fate::Deliver);
    assert_delivered(&pair, 50 * MSS);
    let sent = departures(&pair);
    assert_eq!(sent.len(), 50);
    // The initial window of ten segments would have left at once.
    for (i, pair) in sent.windows(2).enumerate() {
        assert_eq!(pair[1].0.since(pair[0].0), SPACE, "segments {i} and {}", i + 1);
    }
}

#[test]
fn the_window_still_is_a_limit_and_waiting_for_it_gives_no_credit() {
    // Two segments for each round trip of 2 ms and more.
    let config = TcpConfig { receive_window: Bytes(2 * MSS), ..config() };
    let ends = vec![Connection::connect(&config, Some(20 * MSS), Time::ZERO), Connection::listen(&config)];
    let mut pair = Pair::new(ends, Duration::from_ms(1), GBPS, Duration::ZERO, |_, _, _| Fate::Deliver);
    assert!(pair.run(END));
    assert_delivered(&pair, 20 * MSS);
    let sent = departures(&pair);
    let gaps: Vec<Duration> = sent.windows(2).map(|pair| pair[1].0.since(pair[0].0)).collect();
    assert!(gaps.iter().all(|gap| *gap >= SPACE), "{gaps:?}");
    assert_eq!(gaps.iter().filter(|gap| **gap > Duration::from_ms(1)).count(), 9, "{gaps:?}");
}

#[test]
fn retransmissions_are_spaced_too() {
    let pair = transfer(&config(), 50 * MSS, lose(&[(10 * MSS, 1), (12 * MSS, 2)]));
    assert_delivered(&pair, 50 * MSS);
    let sent = departures(&pair);
    assert!(sent.len() >= 53 && sent.windows(2).all(|pair| pair[1].0.since(pair[0].0) >= SPACE));
}

#[test]
fn handshake_and_acks_are_not_held_back() {
    let paced = transfer(&config(), 50 * MSS, |_, _, _| Fate::Deliver);
    let acks = paced.log.iter().filter(|(_, from, _, p, _)| *from == RECEIVER && p.header.len == 0);
    // The last byte of the k-th segment arrives 12 us and the way after it left, and is acknowledged at once.
    let mut answered: Vec<Time> = acks.map(|(at, ..)| *at).skip(1).collect();
    answered.truncate(50);
    let arrivals: Vec<Time> = departures(&paced).iter().map(|(at, _)| *at + DATA_TIME + DELAY).collect();
    assert_eq!(answered, arrivals);
}

#[test]
fn a_control_may_say_the_priority_of_segments() {
    let pair = transfer(&config(), 50 * MSS, |_, _, _| Fate::Deliver);
    let data: Vec<u8> = pair.log.iter().filter(|(.., p, _)| p.header.len > 0).map(|(.., p, _)| p.priority).collect();
    // By what is not yet acknowledged: 1 for the last 10 KB.
    assert_eq!((data[0], data[30], data[49]), (5, 5, 1));
    assert!(data.is_sorted_by(|a, b| a >= b));
}
