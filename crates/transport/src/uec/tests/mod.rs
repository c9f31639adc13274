//! Two ends on the simulated pair: 1 Gbit/s, 1500 B packets (12 us each), 64 B control packets (512 ns), 10 us of delay, credit paced at
//! 12 us, and windows of 12 packets.

mod hostile;
mod idle;
mod loss;
mod property;

use super::{Connection, Control, Header, Receiver, Sender, UecConfig};
use crate::testing::{Fate, Pair, RECEIVER, SENDER, deliver, first, once};
use crate::{Bytes, Duration, Endpoint, Event, Rate, Stats, Time, Transmit};

/// Application bytes of a full packet.
const PAYLOAD: u64 = 1436;

/// A full packet's time on the wire.
const PACKET: Duration = Duration::from_us(12);
/// A control packet's time on the wire.
const CONTROL: Duration = Duration::from_ns(512);
const DELAY: Duration = Duration::from_us(10);

const ALL: [Control; 4] = [Control::Nscc, Control::Rccc, Control::Both, Control::Eqds];
const WITH_CREDIT: [Control; 3] = [Control::Rccc, Control::Both, Control::Eqds];

fn config(control: Control) -> UecConfig {
    let cfg = UecConfig {
        control,
        initial_window: Some(12),
        rate: Some(Rate(1_000_000_000)),
        // For which 12 packets are NSCC's largest window; its own measurements tell it a third of that.
        round_trip: Some(Duration::from_us(96)),
        ack_bytes: Some(Bytes(1500)),
        ..UecConfig::default()
    };
    assert_eq!(cfg.validate(), Ok(()));
    cfg
}

fn pair_with(
    cfg: &UecConfig,
    object: Option<u64>,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let nodes = vec![Connection::Sender(Sender::new(cfg, object, 7)), Connection::Receiver(Receiver::new(cfg))];
    Pair::new(nodes, DELAY, 1, PACKET, policy)
}

/// A pair that moves `packets` full packets.
fn pair(
    control: Control,
    packets: u64,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    pair_with(&config(control), Some(packets * PAYLOAD), policy)
}

fn stats(pair: &Pair<Connection>) -> (Stats, Stats) {
    (pair.nodes[SENDER].stats(), pair.nodes[RECEIVER].stats())
}

/// Runs to rest and checks what must hold after every transfer: all bytes arrived once, both ends closed, and the completion was
/// reported once. Returns the flow completion time.
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

/// How many packets of a kind left.
fn count(pair: &Pair<Connection>, kind: fn(&Header) -> bool) -> usize {
    pair.log.iter().filter(|(_, _, _, t, _)| kind(&t.header)).count()
}

fn acks(pair: &Pair<Connection>) -> usize {
    count(pair, |h| matches!(h, Header::Ack { .. }))
}

fn pulls(pair: &Pair<Connection>) -> usize {
    count(pair, |h| matches!(h, Header::Pull { .. }))
}

fn requests(pair: &Pair<Connection>) -> usize {
    count(pair, |h| matches!(h, Header::Request { .. }))
}

fn is_data(t: &Transmit<Header>, number: u64) -> bool {
    matches!(t.header, Header::Data { seq, .. } if seq == number)
}
