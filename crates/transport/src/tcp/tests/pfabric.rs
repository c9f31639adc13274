//! pFabric's senders: whole windows at once, losses by timeouts only, probes.

use super::super::pfabric::PfabricConfig;
use super::*;
use crate::rank::rank;

/// On a path of 1 Gbps with round trips of 212 us for a full packet.
fn config() -> TcpConfig {
    let pfabric = PfabricConfig { initial_window: 18, rto: Duration::from_us(640), ..PfabricConfig::default() };
    pfabric.over(&TcpConfig { handshake: false, ..TcpConfig::default() })
}

fn data(pair: &Pair<Connection>) -> Vec<(Time, u64, u64)> {
    let sent = pair.log.iter().filter(|(_, from, _, p, _)| *from == SENDER && p.header.len > 0);
    sent.map(|(at, _, _, p, _)| (*at, p.header.seq, u64::from(p.header.len))).collect()
}

#[test]
fn a_flow_begins_with_a_whole_window() {
    let pair = transfer(&config(), 18 * MSS, |_, _, _| Fate::Deliver);
    assert_delivered(&pair, 18 * MSS);
    assert!(data(&pair).iter().all(|(at, ..)| *at == Time::ZERO), "handed over at once, as the window allows");
    let ranks: Vec<u16> = pair.log.iter().filter(|p| p.1 == SENDER && p.3.header.len > 0).map(|p| p.3.rank).collect();
    assert_eq!(ranks, [rank(18 * MSS); 18], "nothing is acknowledged yet");
    assert!(pair.log.iter().filter(|p| p.1 == RECEIVER).all(|p| p.3.rank == 0), "ACKs go before all flows");
}

#[test]
fn a_loss_waits_for_the_timeout_and_only_it_is_repaired() {
    let pair = transfer(&config(), 18 * MSS, lose(&[(5 * MSS, 1)]));
    assert_delivered(&pair, 18 * MSS);
    let stats = pair.nodes[SENDER].stats();
    assert_eq!(
        (stats.retransmitted, stats.timeouts),
        (1, 1),
        "duplicates say nothing, selective ACKs what has arrived"
    );
    // The timer last started with the ACK of the fifth segment: five serialised, a round trip.
    let progress = Time::ZERO + DATA_TIME * 5 + ACK_TIME + DELAY * 2;
    assert_eq!(sent_at(&pair, 5 * MSS)[1], progress + Duration::from_us(640));
}

#[test]
fn the_timeout_is_the_same_each_time_and_the_fifth_sends_a_probe_of_one_byte() {
    let pair = transfer(&config(), 2 * MSS, |_, from, p| {
        // Full segments never get through, and then single bytes do.
        if from == SENDER && p.header.len > 1 && p.header.seq == 0 { Fate::Drop } else { Fate::Deliver }
    });
    assert_delivered(&pair, 2 * MSS);
    let sent = data(&pair);
    let firsts: Vec<(Time, u64)> = sent.iter().filter(|d| d.1 == 0).map(|d| (d.0, d.2)).collect();
    // The first, four repetitions, and with the fifth timeout in a row a probe.
    let times: Vec<u64> = firsts.windows(2).map(|pair| pair[1].0.since(pair[0].0).ps() / 1_000_000).collect();
    assert_eq!(times.len(), 5, "{firsts:?}");
    assert!(times[1..].iter().all(|&us| us == 640), "no back-off: {times:?}");
    assert_eq!(firsts.iter().map(|f| f.1).collect::<Vec<_>>(), [MSS, MSS, MSS, MSS, MSS, 1]);
    // What the probe opened is slow start, from behind its byte.
    assert_eq!(sent.iter().find(|d| d.1 == 1).map(|d| d.2), Some(MSS - 1), "the rest of what has not arrived");
}

#[test]
fn a_sender_probes_for_longer_than_tcp_would_wait_and_not_for_ever() {
    let lost = |until: u64| {
        let ends = vec![Connection::connect(&config(), Some(MSS), Time::ZERO), Connection::listen(&config())];
        let until = Time::ZERO + Duration::from_ms(until);
        let mut pair = Pair::new(ends, DELAY, GBPS, Duration::ZERO, |_, _, _| Fate::Drop);
        pair.run(until);
        pair
    };
    // 255 timeouts of 640 us are 163 ms; 65535 are 42 s.
    let early = lost(30_000);
    assert_eq!(early.events[SENDER].len(), 1, "connected, and asking");
    assert!(waits(&early, SENDER).contains("ACK"), "{}", waits(&early, SENDER));
    let late = lost(60_000);
    assert!(late.events[SENDER].iter().any(|e| matches!(e.1, Event::Failed(_))));
    assert!(data(&late).len() < 66_000);
}

#[test]
fn a_window_that_a_probe_reopens_is_one_segment() {
    // Nothing arrives for 10 ms, then everything.
    let opens = Time::ZERO + Duration::from_ms(10);
    let size = 300 * MSS;
    let ends = vec![Connection::connect(&config(), Some(size), Time::ZERO), Connection::listen(&config())];
    let mut sent = 0;
    let mut pair = Pair::new(ends, DELAY, GBPS, Duration::ZERO, move |_, from, _| {
        sent += u64::from(from == SENDER);
        // 18 at first, four repetitions, and probes every 640 us.
        if from == SENDER && sent < 30 { Fate::Drop } else { Fate::Deliver }
    });
    assert!(pair.run(END));
    assert_delivered(&pair, size);
    let sent = data(&pair);
    let open = sent.iter().position(|d| d.0 > Time::ZERO && d.2 == MSS && d.1 == 1).expect("it starts again");
    let at_once = sent[open..].iter().take_while(|d| d.0 == sent[open].0).count();
    assert_eq!(at_once, 1, "slow start begins with a segment");
    assert!(sent[open].0 < opens);
}

#[test]
fn what_a_probe_has_shifted_is_sent_again_although_more_is_not_provided_yet() {
    // The application has given two segments of an object of many, of which nothing arrives for 10 ms: then a probe's byte does.
    let mut sender = Connection::connect(&config(), Some(50 * MSS), Time::ZERO);
    sender.set_available(Time::ZERO, 2 * MSS);
    let ends = vec![sender, Connection::listen(&config())];
    let opens = Time::ZERO + Duration::from_ms(10);
    let mut dropped = 0;
    let mut pair = Pair::new(ends, DELAY, GBPS, Duration::ZERO, move |_, from, _| {
        dropped += u64::from(from == SENDER);
        if from == SENDER && dropped < 20 { Fate::Drop } else { Fate::Deliver }
    });
    pair.run(opens + Duration::from_ms(500));
    assert!(data(&pair).iter().any(|d| d.2 == 1), "it has probed");
    let waits = waits(&pair, SENDER);
    assert!(waits.contains("all of them sent and acknowledged"), "{waits}");
}
