//! One sender, several receivers: node 0 and the others.

use super::*;
use crate::Peer;
use crate::ndp::{GroupSender, Multicast};
use crate::testing::poor::Poor;
use proptest::prelude::*;

/// The sender.
const HUB: usize = SENDER;

fn group_with(
    multicast: Multicast,
    packets: u64,
    receivers: u16,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let cfg = config(|c| c.multicast = Some(multicast));
    let sender = Connection::GroupSender(GroupSender::new(&cfg, Some(packets * PAYLOAD), receivers));
    let others = (0..receivers).map(|_| Connection::Receiver(Receiver::new(&cfg)));
    Pair::new(std::iter::once(sender).chain(others).collect(), DELAY, 1, PACKET, policy)
}

/// A channel that loses, trims or delays up to so many of 256 packets.
fn unkind(bad: u8, seed: u64) -> impl FnMut(u64, usize, &Transmit<Header>) -> Fate {
    let (share, latest) = (bad / 3, Duration::from_us(1023));
    Poor { seed, lose: share, lose_back: share, trim: share, late: bad / 2, latest, ..Poor::GOOD }.policy()
}

/// Runs to rest: all have everything, once, and all ends are closed. When each had it.
#[track_caller]
fn finish_all(p: &mut Pair<Connection>, packets: u64) -> Vec<Duration> {
    assert!(p.run(Time::ZERO + Duration::from_secs(100_000)), "{}", p.nodes[HUB].waiting_for());
    let receivers = p.nodes.len() - 1;
    let told = p.events[HUB].iter().filter(|(_, event)| matches!(event, Event::PeerCompleted(_))).count();
    assert_eq!((told, p.events[HUB].last().map(|event| event.1)), (receivers, Some(Event::Closed)));
    let completed = (1..=receivers).map(|node| {
        assert_eq!(p.nodes[node].stats().bytes_delivered, packets * PAYLOAD);
        p.completed_at(node).expect("completed") - Time::ZERO
    });
    completed.collect()
}

#[test]
fn equal_receivers_get_each_packet_once() {
    for multicast in [Multicast::RepeatToAll, Multicast::RepeatToOne] {
        let mut p = group_with(multicast, 250, 3, deliver);
        assert_eq!(finish_all(&mut p, 250), [PACKET * 250 + DELAY; 3]);
        let sent = p.nodes[HUB].stats();
        assert_eq!((sent.data_sent, sent.retransmitted, sent.timeouts), (250, 0, 0));
        assert!((1..=3).all(|node| (p.nodes[node].stats().data_received, p.nodes[node].stats().timeouts) == (250, 0)));
    }
}

#[test]
fn a_receiver_with_slow_pulls_holds_the_others_back() {
    let slow = |_: u64, from: usize, _: &Transmit<Header>| {
        if from == 2 { Fate::Late(Duration::from_us(200)) } else { Fate::Deliver }
    };
    let mut p = group_with(Multicast::RepeatToAll, 60, 2, slow);
    let took = finish_all(&mut p, 60);
    // A window of twelve in each round trip of 12 + 10 + 0.512 + 210 us; the last packet is the last of the fifth window.
    let round = PACKET + DELAY * 2 + CONTROL + Duration::from_us(200);
    assert!(took.iter().all(|&took| took >= round * 4 + PACKET && took <= round * 4 + PACKET * 13 + DELAY), "{took:?}");
    assert_eq!(p.nodes[HUB].stats().data_sent, 60);
}

/// Three receivers, each of which has lost another packet.
#[test]
fn what_each_has_lost_is_sent_to_all_again_or_to_it() {
    let lost = || {
        let mut copies = [0; 3];
        move |_: u64, _: usize, t: &Transmit<Header>| {
            let Header::Data { seq, .. } = t.header else { return Fate::Deliver };
            // The log has the copies of a packet in the order of the receivers.
            let Some(place) = [20, 30, 40].iter().position(|&lost| lost == seq) else { return Fate::Deliver };
            copies[place] += 1;
            if copies[place] == place + 1 { Fate::Trim } else { Fate::Deliver }
        }
    };
    let mut all = group_with(Multicast::RepeatToAll, 100, 3, lost());
    let took = finish_all(&mut all, 100);
    assert_eq!((all.nodes[HUB].stats().data_sent, all.nodes[HUB].stats().retransmitted), (103, 3));
    // Each gets two packets that it has.
    assert!((1..=3).all(|node| all.nodes[node].stats().data_received == 102));
    assert!(took.iter().all(|&took| took > PACKET * 102 + DELAY), "{took:?}");
    let mut one = group_with(Multicast::RepeatToOne, 100, 3, lost());
    finish_all(&mut one, 100);
    assert_eq!((one.nodes[HUB].stats().data_sent, one.nodes[HUB].stats().retransmitted), (103, 3));
    assert!((1..=3).all(|node| one.nodes[node].stats().data_received == 100));
}

#[test]
fn the_others_go_on_without_a_receiver_that_does_not_answer() {
    let silent = |_: u64, from: usize, _: &Transmit<Header>| if from == 2 { Fate::Drop } else { Fate::Deliver };
    let cfg = config(|c| (c.multicast, c.retries) = (Some(Multicast::RepeatToAll), 3));
    let sender = Connection::GroupSender(GroupSender::new(&cfg, Some(100 * PAYLOAD), 2));
    let receiver = || Connection::Receiver(Receiver::new(&cfg));
    let mut p = Pair::new(vec![sender, receiver(), receiver()], DELAY, 1, PACKET, silent);
    assert!(p.run(Time::ZERO + Duration::from_secs(100)), "{}", p.nodes[HUB].waiting_for());
    let told: Vec<Event> = p.events[HUB].iter().map(|event| event.1).collect();
    assert_eq!(told, [Event::PeerDropped(1), Event::PeerCompleted(0), Event::Closed]);
    assert!(p.completed_at(1).is_some() && p.completed_at(2).is_none());
}

/// What the sender has said of each receiver, where the last one is cut off at `at`; the others must complete.
#[track_caller]
fn said_with_cut(p: Pair<Connection>, packets: u64, at: Time) -> Vec<Event> {
    let last = p.nodes.len() - 1;
    let mut p = p.with_cut(last, at);
    assert!(p.run(Time::ZERO + Duration::from_secs(1000)), "{}", p.nodes[HUB].waiting_for());
    let said: Vec<Event> = p.events[HUB].iter().map(|event| event.1).collect();
    for node in 1..last {
        assert!(p.completed_at(node).is_some(), "{node}: {said:?}");
        assert_eq!(p.nodes[node].stats().bytes_delivered, packets * PAYLOAD);
        assert!(said.contains(&Event::PeerCompleted(node as Peer - 1)), "{node}: {said:?}");
    }
    assert_eq!((said.len(), said.last()), (last + 1, Some(&Event::Closed)));
    said
}

/// Packets are in flight then that left one after the other, and so time out one after the other.
#[test]
fn the_others_go_on_without_a_receiver_that_is_cut_off_in_mid_transfer() {
    for multicast in [Multicast::RepeatToAll, Multicast::RepeatToOne] {
        for at in (0..12).map(|n| Time::ZERO + PACKET * 100 + PACKET * n / 2) {
            let said = said_with_cut(group_with(multicast, 250, 3, deliver), 250, at);
            assert_eq!(said[0], Event::PeerDropped(2));
        }
    }
}

proptest! {
    /// Whatever the channel does, and whenever one of them is cut off, the others get everything.
    #[test]
    fn the_others_complete_whenever_one_is_cut_off(
        packets in 1..120_u64, receivers in 2..5_u16, bad in 0..60_u8, to_all in any::<bool>(), at in 0..2000_u64, seed in any::<u64>()
    ) {
        let multicast = if to_all { Multicast::RepeatToAll } else { Multicast::RepeatToOne };
        let p = group_with(multicast, packets, receivers, unkind(bad, seed));
        said_with_cut(p, packets, Time::ZERO + Duration::from_us(at));
    }

    /// Whatever the channel does, all get everything.
    #[test]
    fn every_receiver_completes(packets in 1..120_u64, receivers in 2..5_u16, bad in 0..90_u8, to_all in any::<bool>(), seed in any::<u64>()) {
        let multicast = if to_all { Multicast::RepeatToAll } else { Multicast::RepeatToOne };
        let mut p = group_with(multicast, packets, receivers, unkind(bad, seed));
        finish_all(&mut p, packets);
    }
}
