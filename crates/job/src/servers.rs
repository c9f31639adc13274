//! Servers: ranks with links of their own to one another, such as `NVLink`. A message that stays inside a server needs no network.
//!
//! A switch that never blocks joins the ranks of a server. A rank sends one message at a time there, and receives one: what comes later
//! waits. The first byte takes the latency, all bytes the rate of the slower of the two links, which are alike.

use crate::job::{Job, Op};
use anabranch_transport::{Bytes, Duration, Rate, Time};

/// Which ranks share a server, and the links that join them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The server of each rank.
    pub of: Vec<u32>,
    /// Rate of the link of each rank in either direction, above zero.
    pub rate: Rate,
    /// From the first byte's start to its arrival.
    pub latency: Duration,
}

impl Servers {
    /// Whether what an operation sends is for ranks of the sender's server alone.
    pub fn hold(&self, job: &Job, op: Op) -> bool {
        let of = |rank: u32| self.of[rank as usize];
        let own = of(job.operations()[op as usize].rank);
        job.receivers(op).iter().all(|&to| of(to) == own)
    }
}

/// The links of all ranks, as they are taken.
#[derive(Clone, Debug)]
pub(crate) struct ServerLinks {
    rate: Rate,
    latency: Duration,
    /// When each is free again, for sending and for receiving.
    sends: Vec<Time>,
    receives: Vec<Time>,
}

impl ServerLinks {
    pub(crate) fn new(servers: &Servers) -> Self {
        let free = vec![Time::ZERO; servers.of.len()];
        Self { rate: servers.rate, latency: servers.latency, sends: free.clone(), receives: free }
    }

    /// When all of a message, sent now, has left its sender: at once or behind what it sends already.
    pub(crate) fn leaves(&mut self, from: u32, bytes: Bytes, now: Time) -> Time {
        let free = &mut self.sends[from as usize];
        *free = now.max(*free) + self.rate.transmit_time(bytes.0);
        *free
    }

    /// When one of its receivers has all of it. The switch copies messages for several.
    pub(crate) fn arrives(&mut self, to: u32, bytes: Bytes, left: Time) -> Time {
        let takes = self.rate.transmit_time(bytes.0);
        let first = Time(left.ps() - takes.ps()) + self.latency;
        let free = &mut self.receives[to as usize];
        *free = first.max(*free) + takes;
        *free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Builder;
    use crate::collective::{Algorithm, Collective, add};
    use crate::job::{Action, Peers};
    use crate::progress::driving::drive;
    use crate::settings::Settings;
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
        let ends: Vec<_> = progress.times().iter().map(|times| times.ended.unwrap().ps() / 1000).collect();
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
            let mut calc = |b: &mut Builder, rank: u32, time: Duration, after: Option<Op>| {
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
        add(&mut b, what, &members, Bytes(8 << 20), 1, &vec![Vec::new(); 8]).unwrap();
        // A MiB at 3.6 Tbps, and 1 us: 14 steps.
        let step = Rate::from_gbps(3600).transmit_time(1 << 20) + Duration::from_us(1);
        let ends = takes(b.build().unwrap(), settings(vec![0; 8], 3600, Duration::from_us(1)));
        assert_eq!(ends, (step * 14).ps());
    }
}
