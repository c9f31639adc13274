//! Two ends on the simulated pair: 1 Gbit/s, 1500 B packets (12 us each), 64 B control packets (512 ns), pulls paced at
//! 12 us.

mod hostile;
mod idle;
mod incast;
mod limited;
mod loss;
mod multicast;
mod property;
mod returned;

use super::{Connection, Header, NdpConfig, Receiver, Sender};
use crate::testing::{Fate, Pair, RECEIVER, SENDER, deliver, once};
use crate::{Bytes, Duration, Endpoint, Event, PriorityBy, Stats, Time, Transmit};

/// Application bytes of a full packet.
const PAYLOAD: u64 = 1436;

/// A full packet's time on the wire.
const PACKET: Duration = Duration::from_us(12);
/// A control packet's time on the wire.
const CONTROL: Duration = Duration::from_ns(512);
const DELAY: Duration = Duration::from_us(10);
/// The first timeout.
const FIRST: Duration = Duration::from_ms(50);

fn pair_with(
    cfg: &NdpConfig,
    object: Option<u64>,
    delay: Duration,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let nodes = vec![Connection::Sender(Sender::new(cfg, object)), Connection::Receiver(Receiver::new(cfg))];
    Pair::new(nodes, delay, 1, PACKET, policy)
}

/// A pair with the default configuration that moves `packets` full packets.
fn pair(packets: u64, policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static) -> Pair<Connection> {
    pair_with(&NdpConfig::default(), Some(packets * PAYLOAD), DELAY, policy)
}

fn stats(pair: &Pair<Connection>) -> (Stats, Stats) {
    (pair.nodes[SENDER].stats(), pair.nodes[RECEIVER].stats())
}

/// Runs to rest and checks what must hold after every transfer: all bytes arrived once, both ends closed, and the
/// completion was reported once. Returns the flow completion time.
#[track_caller]
fn finish(pair: &mut Pair<Connection>, object: u64) -> Duration {
    assert!(pair.run(Time::ZERO + Duration::from_secs(100_000)), "{}", pair.nodes[SENDER].waiting_for());
    let events = |node: usize| pair.events[node].iter().map(|(_, e)| *e).collect::<Vec<_>>();
    assert_eq!(events(SENDER), [Event::Closed], "{}", pair.nodes[RECEIVER].waiting_for());
    let at = pair.completed_at(RECEIVER).expect("completed");
    assert_eq!(events(RECEIVER), [Event::Completed { at }, Event::Closed]);
    assert_eq!(stats(pair).1.bytes_delivered, object);
    assert_eq!(pair.nodes[RECEIVER].pending_pulls(), 0);
    at - Time::ZERO
}

/// Data packets in the order in which they left: (when, number, pull answered).
fn data(pair: &Pair<Connection>) -> Vec<(Time, u64, u64)> {
    pair.log
        .iter()
        .filter_map(|(at, _, _, t, _)| match t.header {
            Header::Data { seq, pull, .. } => Some((*at, seq, pull)),
            _ => None,
        })
        .collect()
}

/// How many ACKs, NACKs and pulls left.
fn control(pair: &Pair<Connection>) -> (usize, usize, usize) {
    let count = |kind: fn(&Header) -> bool| pair.log.iter().filter(|(_, _, _, t, _)| kind(&t.header)).count();
    (
        count(|h| matches!(h, Header::Ack { .. })),
        count(|h| matches!(h, Header::Nack { .. })),
        count(|h| matches!(h, Header::Pull { .. })),
    )
}

fn is_data(t: &Transmit<Header>, number: u64) -> bool {
    matches!(t.header, Header::Data { seq, .. } if seq == number)
}

fn config(change: impl FnOnce(&mut NdpConfig)) -> NdpConfig {
    let mut cfg = NdpConfig::default();
    change(&mut cfg);
    assert_eq!(cfg.validate(), Ok(()));
    cfg
}

fn kilobytes(n: u64) -> Bytes {
    Bytes(n * 1000)
}
