//! Priorities by bytes sent (PIAS, NSDI 2015 §3).

use super::*;
use crate::Bytes;

fn config() -> TcpConfig {
    TcpConfig {
        congestion: Algorithm::Dctcp,
        priority_thresholds: vec![Bytes(10_000), Bytes(100_000)],
        initial_window: 20,
        receive_window: Bytes(1 << 20),
        ..TcpConfig::default()
    }
}

fn data(pair: &Pair<Connection>) -> impl Iterator<Item = &Packet> {
    pair.log.iter().filter(|(_, from, _, p, _)| *from == SENDER && p.header.len > 0).map(|(.., p, _)| p)
}

#[test]
fn data_is_demoted_by_bytes_sent_and_control_is_not() {
    let pair = transfer(&config(), 100 * MSS, |_, _, _| Fate::Deliver);
    assert_delivered(&pair, 100 * MSS);
    for p in data(&pair) {
        let expected = u8::from(p.header.seq >= 10_000) + u8::from(p.header.seq >= 100_000);
        assert_eq!(p.priority, expected, "at {}", p.header.seq);
    }
    let rest = pair.log.iter().filter(|(.., p, _)| p.header.len == 0);
    let control: Vec<_> = rest.map(|(_, from, _, p, _)| (*from, p.priority)).collect();
    assert!(control.iter().any(|c| c.0 == SENDER) && control.iter().any(|c| c.0 == RECEIVER));
    assert!(control.iter().all(|c| c.1 == 0), "SYN, SYN-ACK and ACKs have the highest priority");
}

#[test]
fn a_retransmission_has_the_priority_of_new_data_and_does_not_count() {
    // The second segment is lost once. When it is repeated, more than 10 KB have left.
    let pair = transfer(&config(), 100 * MSS, lose(&[(MSS, 1)]));
    assert_delivered(&pair, 100 * MSS);
    let repeated: Vec<u8> = data(&pair).filter(|p| p.header.seq == MSS).map(|p| p.priority).collect();
    assert_eq!(repeated, [0, 1]);
    let mut first_time = data(&pair).filter(|p| p.header.seq != MSS);
    assert!(first_time.all(|p| p.priority == u8::from(p.header.seq >= 10_000) + u8::from(p.header.seq >= 100_000)));
}

#[test]
fn a_starved_flow_is_young_again() {
    // One segment is lost five times: at the fast retransmission, then at each timeout.
    let starved = |reset: u8| {
        let config = TcpConfig { priority_reset: reset, ..config() };
        let pair = transfer(&config, 40 * MSS, lose(&[(25 * MSS, 5)]));
        assert_delivered(&pair, 40 * MSS);
        data(&pair).filter(|p| p.header.seq == 25 * MSS).map(|p| p.priority).collect::<Vec<_>>()
    };
    assert_eq!(starved(0), [1, 1, 1, 1, 1, 1]);
    assert_eq!(starved(3), [1, 1, 1, 1, 0, 0]);
}

#[test]
fn without_thresholds_everything_is_urgent() {
    let plain = TcpConfig { priority_thresholds: Vec::new(), ..config() };
    let pair = transfer(&plain, 100 * MSS, |_, _, _| Fate::Deliver);
    assert!(pair.log.iter().all(|(.., p, _)| p.priority == 0));
}
