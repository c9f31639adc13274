//! Flows that share the link of one host.

use super::{complete, drop_tail, run, setup, star, unicast, us};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::pfc::{Pfc, Threshold};
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::network::{Sampling, Setup, Stop};
use anabranch_sim::workload::Session;
use anabranch_transport::{Duration, Rate, Time};

/// Hosts on one switch, by links of a rate and a delay.
pub(crate) fn star_of(hosts: u32, rate: Rate, delay: Duration) -> Graph {
    let mut graph = star(hosts);
    graph.links.iter_mut().for_each(|link| (link.rate, link.delay) = (rate, delay));
    graph
}

/// Pauses of one priority, from so many bytes on.
pub(crate) fn pauses_from(xoff: u64, below: u64) -> Pfc {
    Pfc { priorities: 1, threshold: Threshold::Fixed { xoff, xon: xoff - below }, headroom: None }
}

/// Flows without end, in the second half of a run.
pub(crate) struct Shared {
    /// What the application gets, Gbps: of each flow, the least first.
    pub(crate) rates: Vec<f64>,
    /// Mean and longest queue, bytes.
    pub(crate) queue: f64,
    pub(crate) longest: f64,
}

impl Shared {
    pub(crate) fn total(&self) -> f64 {
        self.rates.iter().sum()
    }
    /// The largest over the least.
    pub(crate) fn spread(&self) -> f64 {
        self.rates[self.rates.len() - 1] / self.rates[0]
    }
}

/// All hosts but the first send to that one, and begin `apart` after each other, for `time`.
pub(crate) fn share(fabric: Graph, protocol: Protocol, pfc: Option<Pfc>, apart: Duration, time: Duration) -> Shared {
    let flows = fabric.hosts - 1;
    let start = |n: u32| Time::ZERO + apart * u64::from(n - 1);
    let endless = |n: u32| Session { size: None, start: start(n), ..unicast(n, 0, 0) };
    let sessions = (1..=flows).map(endless).collect();
    let interval = us(20);
    let record = run(Setup {
        pfc,
        stop: Stop::Limit,
        time_limit: Time::ZERO + time,
        sampling: Sampling { interval, queues: true, goodput: true, ..Sampling::default() },
        ..setup(fabric, drop_tail(u32::MAX), protocol, Single, sessions)
    });
    let (half, samples) = (time.ps() / 2, (time.ps() / 2 / interval.ps()) as f64);
    let port = record.links.iter().find(|link| link.dst == "h0").expect("a downlink").link;
    let late = |metric| record.series.iter().filter(move |s| s.metric == metric && s.time > half);
    let mut rates = vec![0.0; flows as usize];
    late("goodput_bps").for_each(|s| rates[s.id as usize] += s.value / samples / 1e9);
    rates.sort_by(f64::total_cmp);
    // What has no sample had an empty queue.
    let queues: Vec<f64> = late("queue_bytes").filter(|s| s.id == port).map(|s| s.value).collect();
    Shared { rates, queue: queues.iter().sum::<f64>() / samples, longest: queues.into_iter().fold(0.0, f64::max) }
}

/// The pause frames of an incast to host 0 of so many bytes from each, of which none is lost or sent twice, and when the last one ends.
pub(crate) fn pauses_of_incast(fabric: Graph, protocol: Protocol, pfc: Pfc, bytes: u64) -> (u64, Time) {
    let sessions = (1..fabric.hosts).map(|host| unicast(host, 0, bytes)).collect();
    let record = complete(Setup { pfc: Some(pfc), ..setup(fabric, drop_tail(u32::MAX), protocol, Single, sessions) });
    let repeated: u64 = record.flows.iter().map(|flow| flow.packets_retransmitted + flow.timeouts).sum();
    assert_eq!((record.conservation.dropped, repeated), (0, 0));
    let last = record.flows.iter().filter_map(|flow| flow.end).max().expect("all end");
    (record.links.iter().map(|link| link.pause_frames).sum(), last)
}
