//! Two ends on the simulated pair: 1 Gbit/s, 1500 B packets (12 us each).

use super::*;
use crate::testing::{Fate, Pair, RECEIVER, SENDER, Slow};
use crate::{Bytes, Duration};
use proptest::prelude::*;

/// Application bytes of a full packet.
const PAYLOAD: u64 = 1472;
/// A full packet's time on the wire.
const PACKET: Duration = Duration::from_us(12);
const DELAY: Duration = Duration::from_us(10);
const LONG: Time = Time(Duration::from_secs(100).0);

type Ends = Pair<Slow<Connection>>;

/// A pair whose application provides the object little by little; all at once if `provides` is empty.
fn slow_pair(
    config: &UdpConfig,
    object: Option<u64>,
    provides: Vec<(Time, u64)>,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Ends {
    let sender = Slow::new(Connection::Sender(Sender::new(config, object)), provides);
    let receiver = Slow::new(Connection::Receiver(Receiver::new(config)), []);
    Pair::new(vec![sender, receiver], DELAY, 1, PACKET, policy)
}

fn pair(object: u64, policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static) -> Ends {
    slow_pair(&UdpConfig::default(), Some(object), Vec::new(), policy)
}

fn events(pair: &Ends, node: usize) -> Vec<Event> {
    pair.events[node].iter().map(|(_, event)| *event).collect()
}

#[test]
fn an_object_takes_its_time_on_the_wire_and_nothing_comes_back() {
    let mut p = pair(2 * PAYLOAD + 100, |_, _, _| Fate::Deliver);
    assert!(p.run(LONG));
    // Two full packets and one of 128 B.
    let at = Time::ZERO + PACKET * 2 + Duration::from_ns(128 * 8) + DELAY;
    assert_eq!(events(&p, RECEIVER), [Event::Completed { at }, Event::Closed]);
    assert_eq!(events(&p, SENDER), [Event::PeerDropped(0), Event::Closed]);
    // Its linger begins when the last packet leaves, after the two before it.
    assert_eq!(p.events[SENDER][0].0, Time::ZERO + PACKET * 2 + Duration::from_secs(1));
    assert_eq!(p.log.iter().map(|sent| sent.3.size).collect::<Vec<_>>(), [1500, 1500, 128]);
    assert!(p.log.iter().all(|(at, from, ..)| *at == Time::ZERO && *from == SENDER), "all handed over at once");
    let (sent, got) = (p.nodes[SENDER].stats(), p.nodes[RECEIVER].stats());
    assert_eq!((sent.data_sent, sent.retransmitted, sent.timeouts), (3, 0, 0));
    assert_eq!((got.data_received, got.bytes_delivered), (3, 2 * PAYLOAD + 100));
}

#[test]
fn an_empty_object_is_one_header() {
    let mut p = pair(0, |_, _, _| Fate::Deliver);
    assert!(p.run(LONG));
    assert_eq!(p.completed_at(RECEIVER), Some(Time::ZERO + Duration::from_ns(28 * 8) + DELAY));
}

#[test]
fn what_is_lost_or_trimmed_stays_lost() {
    for fate in [Fate::Drop, Fate::Trim, Fate::Return] {
        let mut p = pair(5 * PAYLOAD, move |n, _, _| if n == 2 { fate } else { Fate::Deliver });
        assert!(p.run(LONG));
        assert_eq!(events(&p, RECEIVER), [], "{fate:?}");
        assert_eq!(events(&p, SENDER), [Event::PeerDropped(0), Event::Closed], "{fate:?}");
        let got = p.nodes[RECEIVER].stats();
        assert_eq!((got.bytes_delivered, got.trimmed_received), (4 * PAYLOAD, u64::from(fate == Fate::Trim)));
        assert!(p.nodes[RECEIVER].waiting_for().contains("not sent again"));
        assert_eq!(p.log.len(), 5, "{fate:?}");
    }
}

#[test]
fn packets_leave_when_the_application_has_provided_all_of_them() {
    let us = |n| Time::ZERO + Duration::from_us(n);
    let object = 3 * PAYLOAD + 5;
    let provides = vec![(us(100), PAYLOAD - 1), (us(200), 2 * PAYLOAD), (us(300), object - 1), (us(400), object)];
    let mut p = slow_pair(&UdpConfig::default(), Some(object), provides, |_, _, _| Fate::Deliver);
    assert!(p.run(LONG));
    assert_eq!(p.log.iter().map(|sent| sent.0).collect::<Vec<_>>(), [us(200), us(200), us(300), us(400)]);
    assert_eq!(p.log[3].3.size, 28 + 5);
    assert_eq!(p.nodes[RECEIVER].stats().bytes_delivered, object);
}

#[test]
fn a_stream_without_end_sends_what_is_provided_and_never_more() {
    let provides = vec![(Time::ZERO + PACKET, 3 * PAYLOAD)];
    let mut p = slow_pair(&UdpConfig::default(), None, provides, |_, _, _| Fate::Deliver);
    assert!(p.run(LONG));
    assert_eq!((p.log.len(), events(&p, SENDER)), (3, vec![]));
}

#[test]
fn packets_look_as_configured_and_marks_are_counted() {
    let config = UdpConfig { packet: Bytes(1000), header: Bytes(100), priority: 3, ect: true, ..UdpConfig::default() };
    let mut p = slow_pair(&config, Some(1000), Vec::new(), |_, _, _| Fate::Mark);
    assert!(p.run(LONG));
    let packet = p.log[0].3;
    assert_eq!((packet.size, packet.trimmed_size, packet.priority, packet.control), (1000, 100, 3, false));
    assert_eq!(p.nodes[RECEIVER].stats().marked_received, 2);
}

#[test]
fn a_receiver_believes_nothing() {
    let mut receiver = Receiver::new(&UdpConfig::default());
    let arrival =
        |seq, object| Arrival { header: Header { seq, object }, from: 0, trimmed: false, ce: false, returned: false };
    receiver.receive(Time::ZERO, &arrival(1, PAYLOAD));
    receiver.receive(Time::ZERO, &arrival(u64::MAX, u64::MAX));
    assert_eq!(receiver.stats().data_received, 0);
    receiver.receive(Time::ZERO, &arrival(0, 2 * PAYLOAD));
    receiver.receive(Time::ZERO, &arrival(0, 3 * PAYLOAD));
    assert_eq!(receiver.stats().bytes_delivered, PAYLOAD);
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let late = (0..5_000_u64).prop_map(|us| Fate::Late(Duration::from_us(us)));
    let fate = prop_oneof![6 => Just(Fate::Deliver), 1 => Just(Fate::Drop), 1 => Just(Fate::Trim), 2 => late];
    prop::collection::vec(fate, 1..50)
}

proptest! {
    #[test]
    fn whatever_the_path_does_each_byte_is_sent_once_and_complete_means_all(
        object in 1..100 * PAYLOAD, fates in fates(), steps in prop::collection::vec(0.0..1.0_f64, 0..8),
    ) {
        let mut steps: Vec<u64> = steps.iter().map(|share| (share * object as f64) as u64).collect();
        steps.sort_unstable();
        steps.push(object);
        let provides = (1..).zip(steps).map(|(ms, bytes)| (Time::ZERO + Duration::from_ms(ms), bytes)).collect();
        let cycle = fates.clone();
        let fate = move |n: u64| cycle[n as usize % cycle.len()];
        let mut p = slow_pair(&UdpConfig::default(), Some(object), provides, move |n, _, _| fate(n));
        prop_assert!(p.run(LONG));
        let packets = object.div_ceil(PAYLOAD);
        let wire: u64 = p.log.iter().map(|sent| u64::from(sent.3.size)).sum();
        prop_assert_eq!((p.log.len() as u64, wire), (packets, object + 28 * packets));
        let lost = p.log.iter().filter(|sent| matches!(sent.4, Fate::Drop | Fate::Trim)).count() as u64;
        prop_assert_eq!(p.completed_at(RECEIVER).is_some(), lost == 0);
        prop_assert_eq!(p.nodes[RECEIVER].stats().data_received, packets - lost);
        prop_assert_eq!(events(&p, SENDER), [Event::PeerDropped(0), Event::Closed]);
    }
}
