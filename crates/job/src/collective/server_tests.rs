//! Messages inside servers, alone and in collectives.

use super::{Algorithm, Collective, Shape, add};
use crate::builder::Builder;
use crate::job::{Action, Job, Op, Peers};
use crate::progress::driving::drive;
use crate::servers::Servers;
use crate::settings::Settings;
use anabranch_transport::{Bytes, Duration, Rate, Time};
use std::cell::RefCell;
use std::sync::Arc;

fn settings(of: Vec<u32>, gbps: u64, latency: Duration) -> Settings {
    let servers = Servers { of, rate: Rate::from_gbps(gbps), latency };
    Settings { servers: Some(Arc::new(servers)), ..Settings::default() }
}

fn no_network(bytes: Bytes) -> Duration {
    panic!("{bytes} need a network")
}

/// When the last operation of a job ends whose messages all stay inside a server.
fn takes(job: Job, settings: Settings) -> u64 {
    let progress = drive(job, settings, no_network, Duration::ZERO);
    assert!(progress.is_complete());
    progress.ranks().iter().filter_map(|rank| rank.ended).max().unwrap_or(Time::ZERO).ps()
}

#[test]
fn a_link_takes_one_message_at_a_time_either_way() {
    let mut b = Builder::new(4);
    // 0 and 1 both send to 2: their 1000 B arrive one after the other; 3 hears of 0 when 0 has sent to 2.
    for (from, to, tag) in [(0, 2, 0), (1, 2, 1), (0, 3, 2)] {
        let bytes = Bytes(1000);
        b.add(from, Action::Send { to: Peers::One(to), bytes, tag });
        b.add(to, Action::Receive { from: Some(from), bytes, tag: Some(tag) });
    }
    let job = b.build().unwrap();
    // 80 ns at 100 Gbps.
    let progress = drive(job, settings(vec![0; 4], 100, Duration::from_ns(500)), no_network, Duration::ZERO);
    let ops = 0..progress.job().operations().len() as Op;
    let ends: Vec<_> = ops.map(|op| progress.times(op).ended.unwrap().ps() / 1000).collect();
    assert_eq!(ends, [580, 580, 660, 660, 660, 660]);
}

#[test]
fn messages_to_other_servers_are_the_networks() {
    let mut b = Builder::new(4);
    let several = b.list(vec![1, 2]);
    for (tag, to) in [(1, Peers::One(1)), (2, Peers::One(2)), (3, several)] {
        b.add(0, Action::Send { to, bytes: Bytes(1000 * u64::from(tag)), tag });
    }
    for (to, tag) in [(1, 1), (2, 2), (1, 3), (2, 3)] {
        b.add(to, Action::Receive { from: Some(0), bytes: Bytes(1000 * u64::from(tag)), tag: Some(tag) });
    }
    let job = b.build().unwrap();
    let sent = RefCell::new(Vec::new());
    let settings = settings(vec![0, 0, 1, 1], 100, Duration::from_ns(500));
    let record = |bytes: Bytes| {
        sent.borrow_mut().push(bytes.0);
        Duration::from_us(9)
    };
    assert!(drive(job, settings, record, Duration::ZERO).is_complete());
    assert_eq!(sent.into_inner(), [2000, 3000]);
}

/// Two numbers of ASTRA-sim's analytical back end (`tests/rt_template`, and its documentation): an all-reduce of 1 MiB on a ring of 8 at 50
/// GB/s (2^30 B) and 500 ns, in 4 parts one after the other. Each message costs its receiver 10 ns, and 10 once; each step moves its chunk
/// through memory of 50 or 1600 GB/s (10^9 B), two chunks more in each step that adds. It cuts each of these times to whole nanoseconds.
#[test]
fn the_published_times_of_astra_sim() {
    const N: u32 = 8;
    let chunk = (1 << 20) / 4 / u64::from(N);
    for (memory, published) in [(50_u64, 117_780_u64), (1600, 64_440)] {
        let copy = Duration::from_ns(chunk / memory);
        let mut b = Builder::new(N);
        let mut last: Vec<Option<Op>> = vec![None; N as usize];
        let mut tag = 0;
        let calc = |b: &mut Builder, rank: u32, time: Duration, after: Option<Op>| {
            let op = b.add(rank, Action::Calc(time));
            if let Some(after) = after {
                b.after(op, after);
            }
            Some(op)
        };
        for _part in 0..4 {
            for rank in 0..N {
                last[rank as usize] = calc(&mut b, rank, Duration::from_ns(10), last[rank as usize]);
            }
            for step in 0..2 * (N - 1) {
                let mut next = last.clone();
                for rank in 0..N {
                    let (to, bytes) = ((rank + 1) % N, Bytes(chunk));
                    let send = b.add(rank, Action::Send { to: Peers::One(to), bytes, tag });
                    let receive = b.add(to, Action::Receive { from: Some(rank), bytes, tag: Some(tag) });
                    tag += 1;
                    if let Some(before) = last[rank as usize] {
                        b.after(send, before);
                    }
                    // Sums take two accesses, copies one.
                    let accesses = if step < N - 1 { 2 } else { 1 };
                    let cost = Duration::from_ns(10) + copy * accesses;
                    next[to as usize] = calc(&mut b, to, cost, Some(receive));
                }
                last = next;
            }
        }
        // The rate at which a chunk takes 610 ns: 610.35 ns at 50 x 2^30 B/s, cut to whole nanoseconds.
        let rate = Rate((f64::from(chunk as u32) * 8.0 / 610e-9).ceil() as u64);
        let servers = Servers { of: vec![0; N as usize], rate, latency: Duration::from_ns(500) };
        let settings = Settings { servers: Some(Arc::new(servers)), ..Settings::default() };
        assert_eq!(takes(b.build().unwrap(), settings) / 1000, published, "{memory} GB/s");
    }
}

#[test]
fn a_ring_takes_its_closed_form() {
    let mut b = Builder::new(8);
    let members: Vec<u32> = (0..8).collect();
    let what = (Collective::AllReduce, Algorithm::Ring);
    add(&mut b, what, &members, Bytes(8 << 20), Shape::default(), &vec![Vec::new(); 8]).unwrap();
    // A MiB at 3.6 Tbps, and 1 us: 14 steps.
    let step = Rate::from_gbps(3600).transmit_time(1 << 20) + Duration::from_us(1);
    let ends = takes(b.build().unwrap(), settings(vec![0; 8], 3600, Duration::from_us(1)));
    assert_eq!(ends, (step * 14).ps());
}
/// On rails with another rate than inside servers: the closed form of both.
#[test]
fn rings_inside_servers_and_between_them() {
    let (g, m, size) = (4_u32, 4_u32, 16_u64 << 20);
    let members: Vec<u32> = (0..g * m).collect();
    let mut b = Builder::new(g * m);
    let shape = Shape { per_server: g, ..Shape::default() };
    let what = (Collective::AllReduce, Algorithm::Hierarchical);
    add(&mut b, what, &members, Bytes(size), shape, &vec![Vec::new(); members.len()]).unwrap();
    let (inside, between) = (Rate::from_gbps(3600), Rate::from_gbps(400));
    let settings = settings(members.iter().map(|rank| rank / g).collect(), 3600, Duration::from_us(1));
    let network = |bytes: Bytes| Duration::from_us(5) + between.transmit_time(bytes.0);
    let progress = drive(b.build().unwrap(), settings, network, Duration::ZERO);
    let ends = progress.ranks().iter().filter_map(|rank| rank.ended).max().unwrap();
    let step = |latency, rate: Rate, bytes| Duration::from_us(latency) + rate.transmit_time(bytes);
    let local = step(1, inside, size / u64::from(g)) * u64::from(2 * (g - 1));
    let rails = step(5, between, size / u64::from(g * m)) * u64::from(2 * (m - 1));
    assert_eq!(ends, Time::ZERO + local + rails);
}
