//! Senders whose application has not the whole object yet.

use super::*;
use crate::testing::Slow;
use crate::testing::poor::Poor;
use proptest::prelude::*;

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// A transfer whose application provides its object as told, run to the end.
fn provided(
    cfg: &NdpConfig,
    bytes: u64,
    provides: Vec<(Time, u64)>,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Slow<Connection>> {
    let sender = Slow::new(Connection::Sender(Sender::new(cfg, Some(bytes))), provides);
    let receiver = Slow::new(Connection::Receiver(Receiver::new(cfg)), []);
    let mut pair = Pair::new(vec![sender, receiver], DELAY, 1, PACKET, policy);
    let ended = pair.run(Time::ZERO + Duration::from_secs(100_000));
    assert!(ended, "{} and {}", pair.nodes[SENDER].waiting_for(), pair.nodes[RECEIVER].waiting_for());
    assert_eq!(pair.events[SENDER].last().map(|e| e.1), Some(Event::Closed), "{}", pair.nodes[RECEIVER].waiting_for());
    assert_eq!(pair.nodes[RECEIVER].stats().bytes_delivered, bytes);
    pair
}

fn data(pair: &Pair<Slow<Connection>>) -> Vec<(Time, u64)> {
    let sent = pair.log.iter().filter_map(|(at, _, _, t, _)| match t.header {
        Header::Data { seq, .. } => Some((*at, seq)),
        _ => None,
    });
    sent.collect()
}

fn completed(pair: &Pair<Slow<Connection>>) -> Duration {
    pair.completed_at(RECEIVER).expect("completed") - Time::ZERO
}

/// An application that provides a packet just when the last one has left: the object goes at line rate, as if it had been
/// there from the start.
#[test]
fn a_steady_application_is_kept_up_with() {
    let steps = (0..100).map(|n| (at(12 * n), (n + 1) * PAYLOAD)).collect();
    let p = provided(&NdpConfig::default(), 100 * PAYLOAD, steps, |_, _, _| Fate::Deliver);
    assert_eq!(data(&p), (0..100).map(|n| (at(12 * n), n)).collect::<Vec<_>>());
    assert_eq!(completed(&p), PACKET * 100 + DELAY);
    assert_eq!((p.nodes[SENDER].stats().timeouts, p.nodes[RECEIVER].stats().timeouts), (0, 0));
}

/// Pulls that cannot be answered are kept: what they asked for leaves as soon as it is there.
#[test]
fn pulls_are_credit_until_there_is_data() {
    // All of the window was asked for again when the rest comes, half a millisecond later.
    let steps = vec![(at(0), 12 * PAYLOAD), (at(500), 30 * PAYLOAD)];
    let p = provided(&NdpConfig::default(), 30 * PAYLOAD, steps, |_, _, _| Fate::Deliver);
    let sent = data(&p);
    assert_eq!(sent.iter().filter(|d| d.0 == at(500)).count(), 12);
    assert_eq!((sent.len(), p.nodes[SENDER].stats().timeouts, p.nodes[RECEIVER].stats().timeouts), (30, 0, 0));
    assert_eq!(completed(&p), Duration::from_us(500) + PACKET * 18 + DELAY);
}

/// In a long pause the receiver gives its pulls up and asks again. What may leave at once stays one window.
#[test]
fn a_long_pause_does_not_widen_the_window() {
    for first in [1, 5, 12, 13, 20] {
        let steps = vec![(at(0), first * PAYLOAD), (at(300_000), 60 * PAYLOAD)];
        let p = provided(&NdpConfig::default(), 60 * PAYLOAD, steps, |_, _, _| Fate::Deliver);
        let sent = data(&p);
        assert_eq!((sent.len(), p.nodes[SENDER].stats().timeouts), (60, 0), "{first}");
        assert!(sent[first as usize - 1].0 < at(500));
        let burst = sent.iter().filter(|d| d.0 == at(300_000)).count();
        assert!((1..=12).contains(&burst), "{burst} after {first}");
        assert!(completed(&p) < Duration::from_us(300_000 + 60 * 15), "{first}: {}", completed(&p));
    }
}

#[test]
fn a_packet_lost_before_a_pause_is_repaired_in_it() {
    let steps = vec![(at(0), 5 * PAYLOAD), (at(50_000), 20 * PAYLOAD)];
    for fate in [Fate::Drop, Fate::Trim] {
        let p = provided(&NdpConfig::default(), 20 * PAYLOAD, steps.clone(), once(fate, |t| is_data(t, 4)));
        let again: Vec<Time> = data(&p).iter().filter(|d| d.1 == 4).map(|d| d.0).collect();
        assert!(again.len() == 2 && again[1] < at(2_500), "{again:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_transfer_completes_however_slow_the_application(
        steps in prop::collection::vec((0_u64..3_000, 0_u64..9_000), 1..30),
        window in 1_u32..30,
        (lose, trim) in (0_u8..64, 0_u8..64),
        seed in any::<u64>(),
    ) {
        let (mut time, mut bytes) = (Time::ZERO, 1);
        let steps: Vec<_> = steps.into_iter().map(|(us, more)| {
            (time, bytes) = (time + Duration::from_us(us), bytes + more);
            (time, bytes)
        }).collect();
        let cfg = config(|c| c.initial_window = window);
        let poor = Poor { seed, lose, lose_back: lose, trim, ..Poor::GOOD };
        let p = provided(&cfg, bytes, steps.clone(), poor.policy());
        for (at, seq) in data(&p) {
            let there = steps.iter().take_while(|s| s.0 <= at).last().map_or(0, |s| s.1);
            prop_assert!(((seq + 1) * PAYLOAD).min(bytes) <= there, "packet {seq} of {there} B");
        }
    }
}
