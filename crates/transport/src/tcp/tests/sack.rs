//! Selective acknowledgement: RFC 2018 at the receiver, RFC 6675 at the sender.

use super::*;
use crate::Bytes;

fn config() -> TcpConfig {
    TcpConfig { sack: true, initial_window: 60, receive_window: Bytes(1 << 20), ..TcpConfig::default() }
}

#[test]
fn many_holes_are_repaired_within_one_round_trip() {
    let losses: Vec<(u64, u32)> = (0..10).map(|i| ((10 + 3 * i) * MSS, 1)).collect();
    for congestion in repairing() {
        let with = transfer(&TcpConfig { congestion, ..config() }, 80 * MSS, lose(&losses));
        assert_delivered(&with, 80 * MSS);
        let stats = with.nodes[SENDER].stats();
        assert_eq!((stats.retransmitted, stats.timeouts), (10, 0), "{congestion:?}: each hole once");
        let again: Vec<Time> = losses.iter().map(|(seq, _)| sent_at(&with, *seq)[1]).collect();
        // As many segments follow the first hole as a window holds, so the ACKs that clock the repair take longer
        // than an idle round trip; NewReno would need ten.
        let round_trip = DELAY * 2 + DATA_TIME * 60;
        assert!(*again.iter().max().unwrap() - again[0] < round_trip, "{congestion:?} {again:?}");
    }
    let without = transfer(&TcpConfig { sack: false, ..config() }, 80 * MSS, lose(&losses));
    let with = transfer(&config(), 80 * MSS, lose(&losses));
    assert!(with.completed_at(RECEIVER).unwrap() + DELAY * 4 < without.completed_at(RECEIVER).unwrap());
}

#[test]
fn acks_report_up_to_three_blocks_latest_first_and_pay_for_them() {
    let losses = [(MSS, 1), (3 * MSS, 1), (5 * MSS, 1), (7 * MSS, 1)];
    let pair = transfer(&config(), 12 * MSS, lose(&losses));
    assert_delivered(&pair, 12 * MSS);
    let acks: Vec<&Packet> = pair.log.iter().filter(|(_, f, ..)| *f == RECEIVER).map(|(.., p, _)| p).collect();
    let blocks = |ack: &Packet| ack.header.sack_blocks().map(|(s, e)| (s / MSS, e / MSS)).collect::<Vec<_>>();
    let told: Vec<_> = acks.iter().map(|a| blocks(a)).filter(|b| !b.is_empty()).collect();
    assert_eq!(told[0], [(2, 3)]);
    assert_eq!(told[1], [(4, 5), (2, 3)]);
    assert_eq!(told[2], [(6, 7), (4, 5), (2, 3)]);
    assert_eq!(told[3], [(8, 9), (6, 7), (4, 5)]);
    assert_eq!(told[4], [(8, 10), (6, 7), (4, 5)]);
    for ack in acks {
        let option = match blocks(ack).len() as u32 {
            0 => 0,
            n => 8 * n + 4,
        };
        assert_eq!((ack.size, ack.trimmed_size), (40 + option, 40 + option));
    }
}

#[test]
fn sack_needs_both_ends() {
    let sender = TcpConfig::default();
    let ends = vec![Connection::connect(&sender, Some(50 * MSS), Time::ZERO), Connection::listen(&config())];
    let mut pair = Pair::new(ends, DELAY, GBPS, Duration::ZERO, lose(&[(3 * MSS, 1)]));
    assert!(pair.run(END));
    assert_delivered(&pair, 50 * MSS);
    assert!(pair.log.iter().all(|(.., p, _)| p.header.sack_blocks().count() == 0));
}

/// What was sacked before a timeout is not sent again after it.
#[test]
fn a_timeout_keeps_the_scoreboard() {
    // The hole's retransmission is lost as well, so only the timer repairs it.
    let pair = transfer(&config(), 50 * MSS, lose(&[(10 * MSS, 2), (20 * MSS, 2)]));
    assert_delivered(&pair, 50 * MSS);
    let stats = pair.nodes[SENDER].stats();
    assert_eq!(stats.timeouts, 1);
    assert_eq!(stats.retransmitted, 4, "both holes twice, nothing else");
}

/// RFC 6675 §4 rule 4: a lost tail behind a lost segment is found by a rescue retransmission, not by the timer.
#[test]
fn a_rescue_retransmission_finds_a_lost_tail() {
    let losses = [(5 * MSS, 1), (18 * MSS, 1), (19 * MSS, 1)];
    let pair = transfer(&config(), 20 * MSS, lose(&losses));
    assert_delivered(&pair, 20 * MSS);
    assert_eq!(pair.nodes[SENDER].stats().timeouts, 0);
    assert!(pair.completed_at(RECEIVER).unwrap() < Time::ZERO + Duration::from_ms(3));
}

/// RFC 6675 §5 steps 3 and 4.2: on the first two duplicate ACKs new data may leave, and does not raise the threshold.
#[test]
fn what_limited_transmit_sent_is_not_halved() {
    let config = TcpConfig { handshake: false, initial_window: 10, ..config() };
    let mut sender = Connection::connect(&config, Some(200 * MSS), Time::ZERO);
    let mut ack = |sacked: u64| {
        let mut header = Segment { window: 1 << 20, flags: Flags::ACK, ..Segment::default() };
        if sacked > 1 {
            header.push_sack(MSS, sacked * MSS);
        }
        sender
            .handle_packet(Time::ZERO, &crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false });
        let sent: Vec<u64> =
            std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).map(|p| p.header.seq / MSS).collect();
        (sender.cwnd().unwrap() / MSS, sent)
    };
    assert_eq!(ack(0), (10, (0..10).collect()));
    assert_eq!(ack(2), (10, vec![10]));
    assert_eq!(ack(3), (10, vec![11]));
    // Ten of twelve were within the window. Of these the first is lost and three have arrived.
    assert_eq!(ack(4), (5, vec![0]));
}
