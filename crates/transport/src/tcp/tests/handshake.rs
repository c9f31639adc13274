//! Opening, closing and giving up.

use super::*;
use crate::FailureReason;

/// Loses the first `times` packets that satisfy `which`.
fn lose_first(times: u32, which: fn(usize, &Packet) -> bool) -> impl FnMut(u64, usize, &Packet) -> Fate + 'static {
    let mut left = times;
    move |_, from, packet| {
        if left > 0 && which(from, packet) {
            left -= 1;
            Fate::Drop
        } else {
            Fate::Deliver
        }
    }
}

fn connected_at(pair: &Pair<Connection>, node: usize) -> Time {
    pair.events[node].iter().find(|(_, e)| *e == Event::Connected).unwrap().0
}

#[test]
fn a_lost_syn_is_repeated_after_the_initial_timeout() {
    let pair = transfer(&TcpConfig::default(), 20 * MSS, lose_first(2, |_, p| p.header.flags == Flags::SYN));
    assert_delivered(&pair, 20 * MSS);
    // 1 s, then 2 s, then a round trip.
    let round_trip = (DELAY + ACK_TIME) * 2;
    assert_eq!(connected_at(&pair, SENDER), Time::ZERO + Duration::from_secs(3) + round_trip);
    // RFC 5681 §3.1: one segment first.
    let burst = pair.log.iter().filter(|(at, f, ..)| *f == SENDER && *at == connected_at(&pair, SENDER)).count();
    assert_eq!(burst, 1);
}

#[test]
fn a_lost_syn_ack_is_repeated_by_either_end() {
    let is_syn_ack: fn(usize, &Packet) -> bool = |from, p| from == RECEIVER && p.header.flags.has(Flags::SYN);
    let pair = transfer(&TcpConfig::default(), 5 * MSS, lose_first(1, is_syn_ack));
    assert_delivered(&pair, 5 * MSS);
    assert!(connected_at(&pair, SENDER) > Time::ZERO + Duration::from_secs(1));
    assert!(connected_at(&pair, SENDER) < Time::ZERO + Duration::from_ms(1_010));
}

/// RFC 6298 §5.7: without a sample the first data timeout is three times the initial one.
#[test]
fn data_after_a_lost_syn_starts_with_a_long_timeout() {
    let mut syn_lost = false;
    let mut data_lost = false;
    let pair = transfer(&TcpConfig::default(), 100, move |_, from, packet| {
        let lost = if packet.header.flags.has(Flags::SYN) { &mut syn_lost } else { &mut data_lost };
        if from == SENDER && !std::mem::replace(lost, true) { Fate::Drop } else { Fate::Deliver }
    });
    assert_delivered(&pair, 100);
    let sent = sent_at(&pair, 0);
    assert_eq!(sent[1] - sent[0], Duration::from_secs(3));
}

/// The SYN's timeout is its own, whatever bounds that of data: a SYN and its repetition are lost.
#[test]
fn the_syn_has_a_timeout_of_its_own() {
    for (syn_ms, rto_min_ms, rto_initial_ms, data_ms) in
        [(50, 200, 1_000, 3_000), (1_000, 1, 10, 30), (3_000, 200, 3_000, 3_000)]
    {
        let config = TcpConfig {
            syn_timeout: Some(Duration::from_ms(syn_ms)),
            rto_min: Duration::from_ms(rto_min_ms),
            rto_initial: Duration::from_ms(rto_initial_ms),
            ..TcpConfig::default()
        };
        let (mut syns, mut data) = (2, 1);
        let pair = transfer(&config, 100, move |_, from, packet| {
            let left = if packet.header.flags.has(Flags::SYN) { &mut syns } else { &mut data };
            let lost = from == SENDER && *left > 0;
            *left -= u32::from(lost);
            if lost { Fate::Drop } else { Fate::Deliver }
        });
        assert_delivered(&pair, 100);
        let round_trip = (DELAY + ACK_TIME) * 2;
        assert_eq!(connected_at(&pair, SENDER), Time::ZERO + Duration::from_ms(3 * syn_ms) + round_trip);
        let sent = sent_at(&pair, 0);
        assert_eq!(sent[1] - sent[0], Duration::from_ms(data_ms), "RFC 6298 §5.7");
    }
}

/// Without a lost SYN the handshake's sample counts, and nothing is left of the SYN's timeout.
#[test]
fn a_short_syn_timeout_does_not_shorten_that_of_data() {
    let config = TcpConfig { syn_timeout: Some(Duration::from_ms(5)), ..TcpConfig::default() };
    let pair = transfer(&config, 100, lose(&[(0, 1)]));
    let sent = sent_at(&pair, 0);
    assert_eq!(sent[1] - sent[0], config.rto_min);
}

#[test]
fn a_lost_fin_is_repeated() {
    // The FIN travels with the last segment.
    let pair = transfer(&TcpConfig::default(), 3 * MSS, lose(&[(2 * MSS, 1)]));
    assert_delivered(&pair, 3 * MSS);
    let pair = transfer(&TcpConfig::default(), 0, lose(&[(0, 1)]));
    assert_delivered(&pair, 0);
    assert_eq!(pair.nodes[SENDER].stats().retransmitted, 1);
}

#[test]
fn lost_acks_of_the_fin_do_not_hang_the_sender() {
    for times in [1, 2, 3, 6] {
        let is_last: fn(usize, &Packet) -> bool = |from, p| from == RECEIVER && p.header.ack > 3 * MSS;
        let pair = transfer(&TcpConfig::default(), 3 * MSS, lose_first(times, is_last));
        assert_delivered(&pair, 3 * MSS);
    }
}

#[test]
fn a_lost_last_ack_only_delays_the_receiver_s_end() {
    let is_last: fn(usize, &Packet) -> bool = |from, p| from == SENDER && p.header.ack > 0;
    let pair = transfer(&TcpConfig::default(), 3 * MSS, lose_first(1, is_last));
    assert_delivered(&pair, 3 * MSS);
    let closed = |node: usize| pair.events[node].last().unwrap().0;
    assert!(closed(RECEIVER) > closed(SENDER) + Duration::from_ms(200));
}

/// A receiver whose sender is gone ends by itself, and without an error: it has everything.
#[test]
fn a_forgotten_receiver_closes() {
    let is_last: fn(usize, &Packet) -> bool = |from, p| from == SENDER && p.header.ack > 0;
    let config = TcpConfig { retries: 4, ..TcpConfig::default() };
    let pair = transfer(&config, 3 * MSS, lose_first(u32::MAX, is_last));
    assert_delivered(&pair, 3 * MSS);
}

#[test]
fn an_end_gives_up_after_its_retries() {
    let config = TcpConfig { retries: 3, ..TcpConfig::default() };
    // Nobody answers: 1 + 2 + 4 + 8 s.
    let pair = transfer(&config, MSS, |_, _, _| Fate::Drop);
    let failed = Event::Failed(FailureReason::TimedOut);
    assert_eq!(pair.events[SENDER], [(Time::ZERO + Duration::from_secs(15), failed)]);
    // The path breaks after the handshake: 200 + 400 + 800 + 1600 ms after the data.
    let pair = transfer(&config, MSS, |n, _, _| if n < 2 { Fate::Deliver } else { Fate::Drop });
    let sent = sent_at(&pair, 0);
    assert_eq!(sent.len(), 4);
    assert_eq!(pair.events[SENDER].last(), Some(&(sent[0] + Duration::from_ms(3_000), failed)));
    // The receiver's SYN-ACK is never answered.
    assert_eq!(pair.events[RECEIVER].last().unwrap().1, failed);
    assert!(pair.nodes[SENDER].poll_timeout().is_none());
    assert!(pair.nodes[SENDER].waiting_for().contains("gave up"));
}

#[test]
fn without_handshake_data_leaves_at_once() {
    let config = TcpConfig { handshake: false, ..TcpConfig::default() };
    let pair = transfer(&config, MSS, |_, _, _| Fate::Deliver);
    assert_eq!(pair.completed_at(RECEIVER), Some(Time::ZERO + DATA_TIME + DELAY));
    assert_eq!(pair.log.len(), 3);
}

/// Early and spurious wake-ups change nothing.
#[test]
fn spurious_timeouts_are_harmless() {
    let config = TcpConfig::default();
    let mut sender = Connection::connect(&config, Some(MSS), Time::ZERO);
    assert!(sender.poll_transmit(Time::ZERO).is_some());
    sender.handle_timeout(Time::ZERO + Duration::from_ms(999));
    assert!(sender.poll_transmit(Time::ZERO + Duration::from_ms(999)).is_none());
    assert_eq!(sender.poll_timeout(), Some(Time::ZERO + Duration::from_secs(1)));
    assert_eq!(sender.waiting_for(), "the SYN-ACK; timeout 1s");
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    use crate::Bytes;
    let bad = |config: TcpConfig| config.validate().unwrap_err().field;
    let good = TcpConfig::default;
    assert_eq!(good().validate(), Ok(()));
    assert_eq!(bad(TcpConfig { packet: Bytes(40), ..good() }), "packet");
    assert_eq!(bad(TcpConfig { packet: Bytes(70_000), ..good() }), "packet");
    assert_eq!(bad(TcpConfig { header: Bytes(0), ..good() }), "header");
    assert_eq!(bad(TcpConfig { initial_window: 0, ..good() }), "initial_window");
    assert_eq!(bad(TcpConfig { receive_window: Bytes(1459), ..good() }), "receive_window");
    assert_eq!(bad(TcpConfig { receive_window: Bytes(2 << 30), ..good() }), "receive_window");
    assert_eq!(bad(TcpConfig { rto_min: Duration::ZERO, ..good() }), "rto_min");
    assert_eq!(bad(TcpConfig { syn_timeout: Some(Duration::ZERO), ..good() }), "syn_timeout");
    assert_eq!(bad(TcpConfig { syn_timeout: Some(Duration::from_secs(61)), ..good() }), "syn_timeout");
    assert_eq!(bad(TcpConfig { hystart_min_rtt_thresh: Duration::ZERO, ..good() }), "hystart_min_rtt_thresh");
    assert_eq!(bad(TcpConfig { hystart_max_rtt_thresh: Duration::from_ms(3), ..good() }), "hystart_max_rtt_thresh");
    assert_eq!(bad(TcpConfig { rto_max: Duration::from_ms(1), ..good() }), "rto_max");
    assert_eq!(bad(TcpConfig { delayed_ack_timeout: Duration::from_secs(1), ..good() }), "delayed_ack_timeout");
    assert_eq!(bad(TcpConfig { dctcp_gain: f64::NAN, ..good() }), "dctcp_gain");
    assert_eq!(bad(TcpConfig { retries: 0, ..good() }), "retries");
}
