//! The receiver alone: when it acknowledges and what it says.

use super::*;
use crate::Arrival;

const RECEIVED: Time = Time(1_000_000);

fn receiver(config: &TcpConfig) -> Connection {
    Connection::listen(&TcpConfig { handshake: false, ..config.clone() })
}

/// Delivers segment number `i`; returns the ACKs that leave: segments acknowledged and ECN echo.
fn arrive(receiver: &mut Connection, i: u64, ce: bool, flags: Flags) -> Vec<(u64, bool)> {
    let header = Segment { seq: i * MSS, len: MSS as u16, flags: Flags::ACK | flags, ..Segment::default() };
    receiver.handle_packet(RECEIVED, &Arrival { header, from: 0, trimmed: false, ce, returned: false });
    acks(receiver, RECEIVED)
}

fn acks(receiver: &mut Connection, now: Time) -> Vec<(u64, bool)> {
    std::iter::from_fn(|| receiver.poll_transmit(now))
        .map(|t| (t.header.ack / MSS, t.header.flags.has(Flags::ECE)))
        .collect()
}

#[test]
fn every_segment_is_acknowledged_without_delay() {
    let mut r = receiver(&TcpConfig::default());
    for i in 0..4 {
        assert_eq!(arrive(&mut r, i, false, Flags::NONE), [(i + 1, false)]);
    }
    assert_eq!(r.poll_timeout(), None);
}

#[test]
fn delayed_acks_cover_two_segments_or_wait_for_the_timer() {
    let config = TcpConfig { delayed_ack: true, ..TcpConfig::default() };
    let mut r = receiver(&config);
    assert_eq!(arrive(&mut r, 0, false, Flags::NONE), []);
    assert_eq!(arrive(&mut r, 1, false, Flags::NONE), [(2, false)]);
    assert_eq!(r.poll_timeout(), None);
    assert_eq!(arrive(&mut r, 2, false, Flags::NONE), []);
    let due = RECEIVED + Duration::from_ms(40);
    assert_eq!(r.poll_timeout(), Some(due));
    r.handle_timeout(Time(due.0 - 1));
    assert_eq!(acks(&mut r, Time(due.0 - 1)), []);
    r.handle_timeout(due);
    assert_eq!(acks(&mut r, due), [(3, false)]);
    assert_eq!(r.poll_timeout(), None);
    // A gap is acknowledged at once, so is what fills it (RFC 5681 §4.2).
    assert_eq!(arrive(&mut r, 4, false, Flags::NONE), [(3, false)]);
    assert_eq!(arrive(&mut r, 3, false, Flags::NONE), [(5, false)]);
}

#[test]
fn the_first_acks_may_be_quick() {
    let config = TcpConfig { delayed_ack: true, quick_acks: 2, ..TcpConfig::default() };
    let mut r = receiver(&config);
    assert_eq!(arrive(&mut r, 0, false, Flags::NONE), [(1, false)]);
    assert_eq!(arrive(&mut r, 1, false, Flags::NONE), [(2, false)]);
    assert_eq!(arrive(&mut r, 2, false, Flags::NONE), []);
    assert_eq!(arrive(&mut r, 3, false, Flags::NONE), [(4, false)]);
    assert_eq!(r.poll_timeout(), None);
}

#[test]
fn delayed_acks_halve_the_number_of_acks() {
    let config = TcpConfig { delayed_ack: true, ..TcpConfig::default() };
    let pair = transfer(&config, 40 * MSS, |_, _, _| Fate::Deliver);
    assert_delivered(&pair, 40 * MSS);
    let acks = pair.log.iter().filter(|(_, f, _, p, _)| *f == RECEIVER && !p.header.flags.has(Flags::SYN)).count();
    assert_eq!(acks, 20);
}

/// RFC 8257 §3.2: a change of the mark sends the ACK for what came before with the old echo, then its own.
#[test]
fn dctcp_echoes_exactly_the_marked_segments_despite_delayed_acks() {
    let config = TcpConfig { delayed_ack: true, congestion: Algorithm::Dctcp, ..TcpConfig::default() };
    let mut r = receiver(&config);
    assert_eq!(arrive(&mut r, 0, false, Flags::NONE), []);
    assert_eq!(arrive(&mut r, 1, true, Flags::NONE), [(1, false), (2, true)]);
    assert_eq!(arrive(&mut r, 2, true, Flags::NONE), []);
    assert_eq!(arrive(&mut r, 3, true, Flags::NONE), [(4, true)]);
    assert_eq!(arrive(&mut r, 4, false, Flags::NONE), [(5, false)]);
    assert_eq!(arrive(&mut r, 5, false, Flags::NONE), []);
    assert_eq!(arrive(&mut r, 6, false, Flags::CWR), [(7, false)]);
    assert_eq!(r.stats().marked_received, 3);
}

/// RFC 3168 §6.1.3: the echo stays until the sender says CWR.
#[test]
fn classic_ecn_echoes_until_the_sender_has_reduced() {
    let config = TcpConfig { ecn: true, ..TcpConfig::default() };
    let mut r = receiver(&config);
    assert_eq!(arrive(&mut r, 0, false, Flags::NONE), [(1, false)]);
    assert_eq!(arrive(&mut r, 1, true, Flags::NONE), [(2, true)]);
    assert_eq!(arrive(&mut r, 2, false, Flags::NONE), [(3, true)]);
    assert_eq!(arrive(&mut r, 3, false, Flags::CWR), [(4, false)]);
    assert_eq!(arrive(&mut r, 4, true, Flags::CWR), [(5, true)]);
}

/// Data beyond the window is answered and not stored.
#[test]
fn data_beyond_the_window_is_refused() {
    let mut r = receiver(&TcpConfig::default());
    assert_eq!(arrive(&mut r, 0, false, Flags::NONE), [(1, false)]);
    assert_eq!(arrive(&mut r, 46, false, Flags::NONE), [(1, false)]);
    assert!(r.waiting_for().contains("; 0 B beyond it"), "{}", r.waiting_for());
    assert_eq!(arrive(&mut r, 44, false, Flags::NONE), [(1, false)]);
    assert!(r.waiting_for().contains("; 1460 B beyond it"), "{}", r.waiting_for());
}

#[test]
fn trimmed_and_returned_packets_are_not_for_tcp() {
    let mut r = receiver(&TcpConfig::default());
    let header = Segment { len: MSS as u16, flags: Flags::ACK, ..Segment::default() };
    for (trimmed, returned) in [(true, false), (false, true)] {
        r.handle_packet(RECEIVED, &Arrival { header, from: 0, trimmed, ce: false, returned });
        assert_eq!(acks(&mut r, RECEIVED), []);
    }
    assert_eq!(r.stats().data_received, 0);
}
