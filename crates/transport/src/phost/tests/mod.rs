//! Two ends on the simulated pair: 1 Gbit/s, 1500 B packets (12 us each), 40 B control packets (320 ns).

mod hostile;
mod loss;
mod property;
mod schedule;

use super::{Connection, Header, PhostConfig, Receiver, Sender};
use crate::testing::{Fate, Pair, RECEIVER, SENDER, deliver, once};
use crate::{Duration, Endpoint, Event, Rate, Stats, Time, Transmit};

/// Application bytes of a full packet.
const PAYLOAD: u64 = 1460;
/// Tokens that are not answered, and the longest flow with free ones.
const WINDOW: u64 = 8;

/// A full packet's time on the wire.
const PACKET: Duration = Duration::from_us(12);
/// A control packet's time on the wire.
const CONTROL: Duration = Duration::from_ns(320);
const DELAY: Duration = Duration::from_us(10);
/// From an RTS to its token, or from a token to its packet, without that packet.
const WAY: Duration = Duration::from_ns(10_320);
const TIMEOUT: Duration = Duration::from_ms(1);

fn config(change: impl FnOnce(&mut PhostConfig)) -> PhostConfig {
    let mut cfg = PhostConfig { rate: Some(Rate::from_gbps(1)), ..PhostConfig::default() };
    change(&mut cfg);
    assert_eq!(cfg.validate(), Ok(()));
    cfg
}

fn pair_with(
    cfg: &PhostConfig,
    flow: Option<u64>,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let nodes = vec![Connection::Sender(Sender::new(cfg, flow)), Connection::Receiver(Receiver::new(cfg))];
    Pair::new(nodes, DELAY, 1, PACKET, policy)
}

/// A pair with the default configuration that moves `packets` full packets.
fn pair(packets: u64, policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static) -> Pair<Connection> {
    pair_with(&config(|_| {}), Some(packets * PAYLOAD), policy)
}

fn stats(pair: &Pair<Connection>) -> (Stats, Stats) {
    (pair.nodes[SENDER].stats(), pair.nodes[RECEIVER].stats())
}

/// Runs to rest and checks what must hold after every transfer: all bytes arrived once, both ends closed, nobody claims anything, and the completion
/// was reported once. Returns the flow completion time.
#[track_caller]
fn finish(pair: &mut Pair<Connection>, flow: u64) -> Duration {
    assert!(pair.run(Time::ZERO + Duration::from_secs(1000)), "{}", pair.nodes[SENDER].waiting_for());
    let events = |node: usize| pair.events[node].iter().map(|(_, e)| *e).collect::<Vec<_>>();
    assert_eq!(events(SENDER), [Event::Closed], "{}", pair.nodes[RECEIVER].waiting_for());
    let at = pair.completed_at(RECEIVER).expect("completed");
    assert_eq!(events(RECEIVER), [Event::Completed { at }, Event::Closed]);
    assert_eq!(stats(pair).1.bytes_delivered, flow);
    assert_eq!([SENDER, RECEIVER].map(|end| pair.nodes[end].claim()), [None, None]);
    at - Time::ZERO
}

/// Packets of one kind in the order in which they left: when, and what they say.
fn sent(pair: &Pair<Connection>, kind: fn(&Header) -> bool) -> Vec<(Time, Header)> {
    pair.log.iter().filter(|(.., t, _)| kind(&t.header)).map(|(at, _, _, t, _)| (*at, t.header)).collect()
}

fn tokens(pair: &Pair<Connection>) -> Vec<(Time, Header)> {
    sent(pair, |header| matches!(header, Header::Token { .. }))
}

fn is_data(t: &Transmit<Header>, number: u64) -> bool {
    matches!(t.header, Header::Data { seq, .. } if seq == number)
}
