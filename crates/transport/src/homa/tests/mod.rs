//! Two ends on the simulated pair: 1 Gbit/s, 1500 B packets (12 us each), 58 B control packets (464 ns).

mod hostile;
mod limited;
mod loss;
mod property;
mod schedule;

use super::{Connection, Header, HomaConfig, Receiver, Sender};
use crate::testing::{Fate, Pair, RECEIVER, SENDER, deliver, once};
use crate::{Bytes, Duration, Endpoint, Event, Stats, Time, Transmit};

/// Application bytes of a full packet.
const PAYLOAD: u64 = 1442;
/// Packets that are unscheduled, and then granted.
const WINDOW: u64 = 7;

/// A full packet's time on the wire.
const PACKET: Duration = Duration::from_us(12);
/// A control packet's time on the wire.
const CONTROL: Duration = Duration::from_ns(464);
const DELAY: Duration = Duration::from_us(10);
const TIMEOUT: Duration = Duration::from_ms(5);

fn pair_with(
    cfg: &HomaConfig,
    message: Option<u64>,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let nodes = vec![Connection::Sender(Sender::new(cfg, message)), Connection::Receiver(Receiver::new(cfg))];
    Pair::new(nodes, DELAY, 1, PACKET, policy)
}

/// A pair with the default configuration that moves `packets` full packets.
fn pair(packets: u64, policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static) -> Pair<Connection> {
    pair_with(&HomaConfig::default(), Some(packets * PAYLOAD), policy)
}

fn stats(pair: &Pair<Connection>) -> (Stats, Stats) {
    (pair.nodes[SENDER].stats(), pair.nodes[RECEIVER].stats())
}

/// Runs to rest and checks what must hold after every transfer: all bytes arrived once, both ends closed, nobody claims anything, and the completion
/// was reported once. Returns the flow completion time.
#[track_caller]
fn finish(pair: &mut Pair<Connection>, message: u64) -> Duration {
    assert!(pair.run(Time::ZERO + Duration::from_secs(100_000)), "{}", pair.nodes[SENDER].waiting_for());
    let events = |node: usize| pair.events[node].iter().map(|(_, e)| *e).collect::<Vec<_>>();
    assert_eq!(events(SENDER), [Event::Closed], "{}", pair.nodes[RECEIVER].waiting_for());
    let at = pair.completed_at(RECEIVER).expect("completed");
    assert_eq!(events(RECEIVER), [Event::Completed { at }, Event::Closed]);
    assert_eq!(stats(pair).1.bytes_delivered, message);
    assert_eq!([SENDER, RECEIVER].map(|end| pair.nodes[end].claim()), [None, None]);
    at - Time::ZERO
}

/// Packets of one kind in the order in which they left: when, and what they say.
fn sent(pair: &Pair<Connection>, kind: fn(&Header) -> bool) -> Vec<(Time, Header)> {
    pair.log.iter().filter(|(.., t, _)| kind(&t.header)).map(|(at, _, _, t, _)| (*at, t.header)).collect()
}

fn grants(pair: &Pair<Connection>) -> Vec<(Time, Header)> {
    sent(pair, |header| matches!(header, Header::Grant { .. }))
}

fn is_data(t: &Transmit<Header>, number: u64) -> bool {
    matches!(t.header, Header::Data { seq, .. } if seq == number)
}

fn config(change: impl FnOnce(&mut HomaConfig)) -> HomaConfig {
    let mut cfg = HomaConfig::default();
    change(&mut cfg);
    assert_eq!(cfg.validate(), Ok(()));
    cfg
}
