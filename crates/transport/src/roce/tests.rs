//! Two ends on the simulated pair: 1 Gbit/s, 10 us each way, packets of 1068 B (8.544 us each) and answers of 44 B (0.352 us).

use super::*;
use crate::testing::{Fate, Pair, RECEIVER, SENDER};
use crate::{Bytes, Duration, FailureReason, Rate};
use proptest::prelude::*;

const PAYLOAD: u64 = 1024;
const PACKET: Duration = Duration::from_ns(8544);
const ANSWER: Duration = Duration::from_ns(352);
const DELAY: Duration = Duration::from_us(10);
const LONG: Time = Time(Duration::from_secs(100).0);

type Ends = Pair<Connection>;

fn pair_of(
    config: &RoceConfig,
    message: u64,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Ends {
    let sender = Connection::Sender(Sender::new(config, Some(message)));
    let receiver = Connection::Receiver(Receiver::new(config));
    Pair::new(vec![sender, receiver], DELAY, 1, PACKET, policy)
}

/// The first packets with these numbers meet this fate.
fn with(message: u64, fate: Fate, chosen: &[Bth]) -> Ends {
    let mut left = chosen.to_vec();
    pair_of(&RoceConfig::default(), message, move |_, _, transmit| {
        let found = left.iter().position(|&bth| bth == transmit.header.bth);
        found.map_or(Fate::Deliver, |at| {
            left.remove(at);
            fate
        })
    })
}

fn data(psn: u32, message: u64) -> Bth {
    Bth::Data { psn, message, asks: false }
}

/// The packets that an end has sent, in order.
fn sent(pair: &Ends, node: usize) -> Vec<Bth> {
    pair.log.iter().filter(|sent| sent.1 == node).map(|sent| sent.3.header.bth).collect()
}

fn numbers(pair: &Ends) -> Vec<u32> {
    let number = |bth| if let Bth::Data { psn, .. } = bth { psn } else { u32::MAX };
    sent(pair, SENDER).into_iter().map(number).collect()
}

#[test]
fn packets_leave_one_by_one_and_each_is_acknowledged() {
    let mut p = with(2 * PAYLOAD + 100, Fate::Drop, &[]);
    assert!(p.run(LONG));
    // Two full packets and one of 144 B; each is handed over when the one before has left.
    let at = Time::ZERO + PACKET * 2 + Duration::from_ns(144 * 8) + DELAY;
    assert_eq!(p.completed_at(RECEIVER), Some(at));
    let handed: Vec<Time> = p.log.iter().filter(|sent| sent.1 == SENDER).map(|sent| sent.0).collect();
    assert_eq!(handed, [Time::ZERO, Time::ZERO + PACKET, Time::ZERO + PACKET * 2]);
    assert_eq!(sent(&p, RECEIVER), [Bth::Ack(1), Bth::Ack(2), Bth::Ack(3)]);
    assert_eq!(p.events[SENDER], [(at + ANSWER + DELAY, Event::Closed)]);
    // The receiver lingers for eight timeouts.
    assert_eq!(p.events[RECEIVER][1], (at + Duration::from_ns(4096 << 10) * 8, Event::Closed));
    assert_eq!(p.nodes[RECEIVER].stats().bytes_delivered, 2 * PAYLOAD + 100);
}

#[test]
fn one_acknowledgement_for_so_many_packets_or_for_the_message() {
    for (ack_every, answers) in [(0, vec![7]), (3, vec![3, 6, 7]), (7, vec![7])] {
        let config = RoceConfig { ack_every, ..RoceConfig::default() };
        let mut p = pair_of(&config, 7 * PAYLOAD, |_, _, _| Fate::Deliver);
        assert!(p.run(LONG));
        assert_eq!(sent(&p, RECEIVER), answers.into_iter().map(Bth::Ack).collect::<Vec<_>>(), "{ack_every}");
    }
}

#[test]
fn after_a_gap_the_sender_goes_back_to_what_is_expected() {
    let message = 8 * PAYLOAD;
    let mut p = with(message, Fate::Drop, &[data(1, message)]);
    assert!(p.run(LONG));
    // Packet 2 shows the gap at 35.6 us, its NAK is there 10.4 us later; packet 5 has been handed over at 42.7 us.
    assert_eq!(numbers(&p), [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6, 7]);
    // One NAK for the gap, whatever follows it.
    let naks = sent(&p, RECEIVER).into_iter().filter(|header| matches!(header, Bth::Nak(_)));
    assert_eq!(naks.collect::<Vec<_>>(), [Bth::Nak(1)]);
    let stats = p.nodes[SENDER].stats();
    assert_eq!((stats.data_sent, stats.retransmitted, stats.timeouts), (13, 5, 0));
    // Packets 0 to 5 have left at 6 packet times; then seven more.
    assert_eq!(p.completed_at(RECEIVER), Some(Time::ZERO + PACKET * 13 + DELAY));
}

#[test]
fn a_timeout_mends_what_no_gap_shows() {
    let message = 3 * PAYLOAD;
    let timeout = Duration::from_ns(4096 << 10);
    // The last packet: the timeout runs from the acknowledgement of the one before.
    let mut p = with(message, Fate::Drop, &[data(2, message)]);
    assert!(p.run(LONG));
    assert_eq!(numbers(&p), [0, 1, 2, 2]);
    let acknowledged = Time::ZERO + PACKET * 2 + DELAY + ANSWER + DELAY;
    assert_eq!(p.completed_at(RECEIVER), Some(acknowledged + timeout + PACKET + DELAY));
    // The packet that is sent again for a NAK.
    let mut p = with(message, Fate::Drop, &[data(1, message), data(1, message)]);
    assert!(p.run(LONG));
    assert_eq!((p.nodes[SENDER].stats().timeouts, p.nodes[RECEIVER].stats().bytes_delivered), (1, message));
    // The last acknowledgement: the packet is a duplicate, and acknowledged again.
    let mut p = with(message, Fate::Drop, &[Bth::Ack(3)]);
    assert!(p.run(LONG));
    assert_eq!(numbers(&p), [0, 1, 2, 2]);
    assert_eq!(p.events[SENDER].last().map(|event| event.1), Some(Event::Closed));
}

#[test]
fn a_silent_peer_is_given_up_after_the_retries() {
    let config = RoceConfig { retries: 2, ..RoceConfig::default() };
    let mut p = pair_of(&config, PAYLOAD, |_, _, _| Fate::Drop);
    assert!(p.run(LONG));
    assert_eq!(p.events[SENDER].last().map(|event| event.1), Some(Event::Failed(FailureReason::TimedOut)));
    assert_eq!(numbers(&p), [0, 0, 0]);
}

#[test]
fn a_rate_sets_the_pace() {
    let config = RoceConfig { rate: Some(Rate::from_mbps(100)), ..RoceConfig::default() };
    let mut p = pair_of(&config, 3 * PAYLOAD, |_, _, _| Fate::Deliver);
    assert!(p.run(LONG));
    let handed: Vec<Time> = p.log.iter().filter(|sent| sent.1 == SENDER).map(|sent| sent.0).collect();
    assert_eq!(handed, [0, 1, 2].map(|n| Time::ZERO + PACKET * 10 * n));
}

#[test]
fn a_marked_packet_halves_the_rate_and_the_timer_raises_it() {
    let config = RoceConfig::default().with(Congestion::Dcqcn(DcqcnConfig::default()));
    let mut p = pair_of(&config, 9 * PAYLOAD, |_, _, transmit| match transmit.header.bth {
        Bth::Data { psn: 0, .. } => Fate::Mark,
        _ => Fate::Deliver,
    });
    assert!(p.run(LONG));
    // The mark is there at 18.544 us, and its CNP of 60 B at 29.024 us, after the fourth packet has been handed over; the fifth has its time. Then
    // they go at half of 1 Gbps, 17.088 us apart. At 84.024 us the rate rises to 750 Mbps: 11.392 us.
    let handed: Vec<Time> = p.log.iter().filter(|sent| sent.1 == SENDER).map(|sent| sent.0).collect();
    let expected = [0, 8544, 17_088, 25_632, 34_176, 51_264, 68_352, 85_440, 96_832];
    assert_eq!(handed, expected.map(|ns| Time::ZERO + Duration::from_ns(ns)));
    assert_eq!(sent(&p, RECEIVER).iter().filter(|&&header| header == Bth::Cnp).count(), 1);
}

#[test]
fn notifications_keep_their_distance() {
    for (config, expected) in [
        (DcqcnConfig::default(), 2),
        (DcqcnConfig { cnp_interval: Some(Duration::from_us(1)), ..DcqcnConfig::default() }, 9),
        // Each marked packet.
        (DcqcnConfig { rules: Rules::Connectx, ..DcqcnConfig::default() }, 9),
    ] {
        let mut p = pair_of(
            &RoceConfig { rate: Some(Rate::from_gbps(1)), ..RoceConfig::default() }
                .with(Congestion::Dcqcn(config.clone())),
            9 * PAYLOAD,
            |_, from, _| {
                if from == SENDER { Fate::Mark } else { Fate::Deliver }
            },
        );
        assert!(p.run(LONG));
        let notified: Vec<Time> =
            p.log.iter().filter(|sent| sent.3.header.bth == Bth::Cnp).map(|sent| sent.0).collect();
        let least = config.cnp_interval().unwrap_or(Duration::ZERO);
        assert!(notified.windows(2).all(|pair| pair[1].since(pair[0]) >= least), "{notified:?}");
        assert!(notified.len() >= expected, "{notified:?}");
    }
}

#[test]
fn timely_spaces_segments_and_asks_for_their_acknowledgement() {
    let step = Rate::from_mbps(100);
    let timely = TimelyConfig { segment: Bytes(2 * PAYLOAD), additive_increase: step, ..TimelyConfig::default() };
    let config = RoceConfig { ack_every: 0, rate: Some(Rate::from_mbps(500)), ..RoceConfig::default() };
    let mut p = pair_of(&config.with(Congestion::Timely(timely)), 9 * PAYLOAD, |_, _, _| Fate::Deliver);
    assert!(p.run(LONG));
    // The first packet tells the link's rate. Then two packets make a segment, one after the other, which takes 34.176 us at 500 Mbps; its acknowledgement is there
    // 37.44 us after it has begun, of which 17.088 are its own: a round trip of 20.352 us, below 50. From 54.528 us on the rate is 600 Mbps, from 88.704 us on 700.
    let handed: Vec<Time> = p.log.iter().filter(|sent| sent.1 == SENDER).map(|sent| sent.0).collect();
    let expected = [0, 17_088, 25_632, 51_264, 59_808, 79_744, 88_288, 108_224, 116_768];
    assert_eq!(handed, expected.map(|ns| Time::ZERO + Duration::from_ns(ns)));
    assert_eq!(sent(&p, RECEIVER), [3, 5, 7, 9].map(Bth::Ack));
}

/// The same with a receiver that keeps what comes out of order.
fn selective(message: u64, lost: &[Bth]) -> Ends {
    let mut left = lost.to_vec();
    let config = RoceConfig { repeat: Repeat::Selective, ..RoceConfig::default() };
    pair_of(&config, message, move |_, _, transmit| {
        let found = left.iter().position(|&bth| bth == transmit.header.bth);
        found.map_or(Fate::Deliver, |at| {
            left.remove(at);
            Fate::Drop
        })
    })
}

#[test]
fn with_selective_repeat_only_what_is_missing_is_sent_again() {
    let message = 10 * PAYLOAD;
    let mut p = selective(message, &[data(1, message), data(3, message)]);
    assert!(p.run(LONG));
    // Packet 2 shows that 1 is missing: known at the sender at 46.0 us, when packet 5 has been handed over; of 4, that 3 is.
    assert_eq!(numbers(&p), [0, 1, 2, 3, 4, 5, 1, 6, 3, 7, 8, 9]);
    let gap = |expected, got| Bth::Gap { expected, got };
    let answers = [Bth::Ack(1), gap(1, 2), gap(1, 4), gap(1, 5), Bth::Ack(3), gap(3, 6), Bth::Ack(7)];
    assert_eq!(sent(&p, RECEIVER)[..7], answers);
    let stats = p.nodes[SENDER].stats();
    assert_eq!((stats.data_sent, stats.retransmitted, stats.timeouts), (12, 2, 0));
    assert_eq!(p.completed_at(RECEIVER), Some(Time::ZERO + PACKET * 12 + DELAY));
}

#[test]
fn what_is_lost_again_is_sent_again_after_a_timeout() {
    let message = 6 * PAYLOAD;
    let mut p = selective(message, &[data(1, message), data(1, message), data(5, message)]);
    assert!(p.run(LONG));
    assert_eq!(numbers(&p), [0, 1, 2, 3, 4, 5, 1, 1, 5]);
    assert_eq!((p.nodes[SENDER].stats().timeouts, p.nodes[RECEIVER].stats().bytes_delivered), (1, message));
}

#[test]
fn numbers_of_packets_are_whole_again() {
    for (psn, near, all) in [
        (0, 0, 0),
        (7, 3, 7),
        (3, 7, 3),
        (0, u64::from(u32::MAX), 1 << 32),
        (u32::MAX, 1 << 32, u64::from(u32::MAX)),
        (5, (9 << 32) + 2, (9 << 32) + 5),
        // Of a packet that was never sent.
        (u32::MAX, 0, 0),
    ] {
        assert_eq!(whole(psn, near), all);
    }
}

proptest! {
    /// Whatever is lost, late, doubled or returned: the message arrives once, in order, and both ends close.
    #[test]
    fn a_message_arrives_whatever_happens(message in 0..40_000_u64, ack_every in 0..5_u32, selective: bool, control in 0..7_u8, fates in prop::collection::vec(0..12_u8, 0..60)) {
        let timely = |variant, segment| TimelyConfig { variant, segment: Bytes(segment), ..TimelyConfig::default() };
        let congestion = match control {
            1 => Some(Congestion::Dcqcn(DcqcnConfig::default())),
            2 => Some(Congestion::Timely(timely(Variant::Gradient, 4000))),
            3 => Some(Congestion::Timely(timely(Variant::Patched, 1))),
            4 => Some(Congestion::Hpcc(HpccConfig::default())),
            6 => Some(Congestion::Timely(timely(Variant::PerRtt, 1000))),
            5 => Some(Congestion::Dcqcn(DcqcnConfig { rules: Rules::Connectx, ..DcqcnConfig::default() })),
            _ => None,
        };
        let ack_every = if control == 4 { 1 } else { ack_every };
        let repeat = if selective { Repeat::Selective } else { Repeat::GoBackN };
        let config = RoceConfig { ack_every, repeat, congestion, retries: 1000, timeout: Duration::from_us(300), ..RoceConfig::default() };
        let mut p = pair_of(&config, message, move |n, _, _| match fates.get(n as usize) {
            Some(0..=2) => Fate::Drop,
            Some(3) => Fate::Late(Duration::from_us(70)),
            Some(4) => Fate::Duplicate,
            Some(5) => Fate::Return,
            Some(6) => Fate::Trim,
            Some(7) => Fate::Mark,
            _ => Fate::Deliver,
        });
        prop_assert!(p.run(LONG));
        prop_assert_eq!(p.nodes[RECEIVER].stats().bytes_delivered, message);
        prop_assert_eq!(p.events[RECEIVER].iter().filter(|(_, event)| matches!(event, Event::Completed { .. })).count(), 1);
        prop_assert_eq!(p.events[SENDER].last().map(|event| event.1), Some(Event::Closed));
    }
}
