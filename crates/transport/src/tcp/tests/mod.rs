//! Two connections on a simulated path. Node 0 sends, node 1 receives.

mod delivery;
mod ecn;
mod handshake;
mod hystart;
mod idle;
mod limited;
mod linux;
mod linux_6_1;
mod pacing;
mod pfabric;
mod prr;
mod rack;
mod receiving;
mod recovery;
mod sack;
mod samples;
mod tagging;

use super::{Algorithm, Connection, Flags, Segment, TcpConfig};
use crate::testing::poor::Poor;
use crate::testing::{Fate, Pair, RECEIVER, SENDER};
use crate::{Duration, Endpoint, Event, Time, Transmit};

const MSS: u64 = 1460;
const GBPS: u64 = 1;
const DELAY: Duration = Duration::from_us(100);
/// A full packet and an ACK at 1 Gbit/s.
const DATA_TIME: Duration = Duration::from_us(12);
const ACK_TIME: Duration = Duration::from_ns(320);
const END: Time = Time(1_000_000_000_000_000_000);

type Packet = Transmit<Segment>;

/// A transfer of `bytes` whose n-th packet meets the fate that `policy` tells, run to the end.
fn transfer(
    config: &TcpConfig,
    bytes: u64,
    policy: impl FnMut(u64, usize, &Packet) -> Fate + 'static,
) -> Pair<Connection> {
    config.validate().unwrap();
    let ends = vec![Connection::connect(config, Some(bytes), Time::ZERO), Connection::listen(config)];
    let mut pair = Pair::new(ends, DELAY, GBPS, Duration::ZERO, policy);
    assert!(pair.run(END), "sender waits for {}, receiver for {}", waits(&pair, SENDER), waits(&pair, RECEIVER));
    pair
}

fn waits(pair: &Pair<Connection>, node: usize) -> String {
    pair.nodes[node].waiting_for()
}

/// A channel that loses so many of 256 packets, and of as many delays, doubles and marks four each.
fn unkind(lose: u8, seed: u64) -> impl FnMut(u64, usize, &Packet) -> Fate + 'static {
    let latest = Duration::from_us(100);
    Poor { seed, lose, lose_back: lose, late: 4, twice: 4, mark: 4, latest, ..Poor::GOOD }.policy()
}

/// Loses the data segment at each offset the first `times` times that it is sent.
fn lose(losses: &[(u64, u32)]) -> impl FnMut(u64, usize, &Packet) -> Fate + 'static {
    let mut left = losses.to_vec();
    move |_, from, packet| {
        let data = from == SENDER && (packet.header.len > 0 || packet.header.flags.has(Flags::FIN));
        match left.iter_mut().find(|(seq, times)| data && *seq == packet.header.seq && *times > 0) {
            Some((_, times)) => {
                *times -= 1;
                Fate::Drop
            }
            None => Fate::Deliver,
        }
    }
}

/// All controls that send as fast as their window allows, which is a segment at least.
fn unpaced() -> impl Iterator<Item = Algorithm> {
    Algorithm::ALL.iter().copied().filter(|&a| !matches!(a, Algorithm::Paced | Algorithm::Swift))
}

/// Of these, all that take duplicate ACKs for a sign of loss.
fn repairing() -> impl Iterator<Item = Algorithm> {
    unpaced().filter(|&a| a != Algorithm::Pfabric)
}

/// When each data segment at `seq` was sent.
fn sent_at(pair: &Pair<Connection>, seq: u64) -> Vec<Time> {
    let data = pair.log.iter().filter(|(_, from, _, p, _)| *from == SENDER && p.header.len > 0);
    data.filter(|(_, _, _, p, _)| p.header.seq == seq).map(|(at, ..)| *at).collect()
}

/// What must hold of every finished transfer.
fn assert_delivered(pair: &Pair<Connection>, bytes: u64) {
    let events = |node: usize| pair.events[node].iter().map(|(_, e)| *e).collect::<Vec<_>>();
    assert_eq!(events(SENDER), [Event::Connected, Event::Closed]);
    let received = events(RECEIVER);
    assert!(matches!(received[..], [Event::Connected, Event::Completed { .. }, Event::Closed]), "{received:?}");
    assert_eq!(pair.nodes[RECEIVER].stats().bytes_delivered, bytes);
}
