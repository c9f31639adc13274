//! TIMELY: flows that share a link of 10 Gbps fill it with round trips below the upper threshold. With the patch they share it evenly, and their round
//! trip is that of the fluid model (Zhu et al., "ECN or Delay", `CoNEXT` 2016).

use crate::common::{at, complete, drop_tail, run, setup, star, unicast, us};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::pfc::{Pfc, Threshold};
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::network::{Sampling, Setup, Stop};
use anabranch_sim::workload::Session;
use anabranch_transport::roce::{Congestion, RoceConfig, TimelyConfig, Variant};
use anabranch_transport::{Bytes, Rate};

const LINE: Rate = Rate::from_gbps(10);
/// Of a packet of 1068 B 1024 are the application's.
const PAYLOAD_GBPS: f64 = 10.0 * 1024.0 / 1068.0;
/// The round trip of a packet without queues, beside its own time on the host's link: four links of 1 us, the packet on the second one, and 44 B of
/// acknowledgement on two.
const BASE_US: f64 = 4.0 + 0.8544 + 2.0 * 0.0352;

/// Hosts at 10 Gbps over links of 1 us.
fn fabric(hosts: u32) -> Graph {
    let mut graph = star(hosts);
    graph.links.iter_mut().for_each(|link| (link.rate, link.delay) = (LINE, us(1)));
    graph
}

fn roce(rate: Option<Rate>, config: TimelyConfig) -> Protocol {
    Protocol::Roce(RoceConfig { rate, ..RoceConfig::default() }.with(Congestion::Timely(config)))
}

/// Flows without end that share a link, in the second half of a run.
struct Shared {
    /// What the application gets, Gbps: of each flow, the least first.
    rates: Vec<f64>,
    /// Mean and longest queue, us.
    queue: f64,
    longest: f64,
}

impl Shared {
    fn total(&self) -> f64 {
        self.rates.iter().sum()
    }
    /// The largest over the least.
    fn spread(&self) -> f64 {
        self.rates[self.rates.len() - 1] / self.rates[0]
    }
}

/// So many of them begin 100 us after each other at `rate`, for `ms`.
fn share(flows: u32, rate: Rate, ms: u64, config: TimelyConfig) -> Shared {
    let endless = |n: u32| Session { size: None, start: at(u64::from(n - 1) * 100), ..unicast(n, 0, 0) };
    let sessions = (1..=flows).map(endless).collect();
    let interval = us(20);
    let record = run(Setup {
        stop: Stop::Limit,
        time_limit: at(1000 * ms),
        sampling: Sampling { interval, queues: true, goodput: true, ..Sampling::default() },
        ..setup(fabric(flows + 1), drop_tail(u32::MAX), roce(Some(rate), config), Single, sessions)
    });
    let (half, samples) = (us(500 * ms).ps(), (500 * ms / 20) as f64);
    let port = record.links.iter().find(|link| link.dst == "h0").expect("a downlink").link;
    let late = |metric| record.series.iter().filter(move |s| s.metric == metric && s.time > half);
    let mut rates = vec![0.0; flows as usize];
    late("goodput_bps").for_each(|s| rates[s.id as usize] += s.value / samples / 1e9);
    rates.sort_by(f64::total_cmp);
    // Bytes at 10 Gbps; what has no sample had an empty queue.
    let queues: Vec<f64> = late("queue_bytes").filter(|s| s.id == port).map(|s| s.value * 8.0 / 1e4).collect();
    Shared { rates, queue: queues.iter().sum::<f64>() / samples, longest: queues.into_iter().fold(0.0, f64::max) }
}

#[test]
fn flows_fill_the_link_and_round_trips_stay_below_the_upper_threshold() {
    for flows in [2, 8] {
        let shared = share(flows, Rate::from_gbps(1), 200, TimelyConfig::default());
        let (used, rtt) = (shared.total() / PAYLOAD_GBPS, shared.longest + BASE_US);
        println!("{flows} flows: {used:.3} of the link, a queue of {:.1} us, at most {rtt:.1} us", shared.queue);
        assert!(used > 0.94, "{flows} flows: {used}");
        // Only above T_low = 50 us does a rate fall: round trips get there, and not to T_high = 500 us.
        assert!((50.0..250.0).contains(&rtt), "{flows} flows: {rtt}");
        assert!(shared.spread() < 1.25, "{flows} flows: {}", shared.spread());
    }
}

#[test]
fn a_gradient_that_is_hardly_smoothed_wastes_the_link() {
    let config = TimelyConfig { weight: Some(0.875), ..TimelyConfig::default() };
    let used = share(8, Rate::from_gbps(1), 200, config).total() / PAYLOAD_GBPS;
    println!("{used:.3} of the link");
    assert!((0.7..0.9).contains(&used), "{used}");
}

/// Theorem 5: in the fixed point the round trip is `T_low` (1 + N delta / (beta C)), and rates are equal.
#[test]
fn patched_the_round_trip_is_that_of_the_fluid_model() {
    for (flows, segment) in [(2, 16_000), (8, 16_000), (8, 1), (32, 1)] {
        let config = TimelyConfig { variant: Variant::Patched, segment: Bytes(segment), ..TimelyConfig::default() };
        let shared = share(flows, Rate::from_mbps(300), 400, config);
        let expected = 50.0 * (1.0 + f64::from(flows) * 10e6 / (0.008 * 10e9));
        let found = shared.queue + BASE_US;
        println!("{flows} flows, {segment} B: {found:.1} us, expected {expected:.1}; spread {}", shared.spread());
        assert!((found / expected - 1.0).abs() < 0.08, "{flows} flows, {segment} B: {found}, not {expected}");
        assert!(shared.total() > 0.99 * PAYLOAD_GBPS && shared.spread() < 1.05, "{flows}: {:?}", shared.rates);
    }
}

/// Theorem 4: the gradient alone has no fixed point; any division of the link will do.
#[test]
fn without_the_patch_unequal_rates_stay() {
    let each = |variant| TimelyConfig { variant, segment: Bytes(1), weight: Some(0.875), ..TimelyConfig::default() };
    let [gradient, patched] =
        [Variant::Gradient, Variant::Patched].map(|variant| share(8, Rate::from_gbps(1), 200, each(variant)).spread());
    println!("the largest rate over the least: {gradient:.2} without the patch, {patched:.3} with it");
    assert!(gradient > 1.2 && patched < 1.02, "{gradient} {patched}");
}

/// Sixteen senders begin at once with 4 MB each: nothing is lost or sent twice, and TIMELY leaves little to pauses.
#[test]
fn an_incast_loses_nothing_and_pauses_less_than_without_it() {
    let pauses = |protocol| {
        let sessions = (1..17).map(|host| unicast(host, 0, 4_000_000)).collect();
        let pfc = Pfc { priorities: 1, threshold: Threshold::Fixed { xoff: 100_000, xon: 90_000 }, headroom: None };
        let record =
            complete(Setup { pfc: Some(pfc), ..setup(fabric(17), drop_tail(u32::MAX), protocol, Single, sessions) });
        let repeated: u64 = record.flows.iter().map(|flow| flow.packets_retransmitted + flow.timeouts).sum();
        assert_eq!((record.conservation.dropped, repeated), (0, 0));
        record.links.iter().map(|link| link.pause_frames).sum::<u64>()
    };
    let plain = pauses(Protocol::Roce(RoceConfig::default()));
    let timely = pauses(roce(None, TimelyConfig::default()));
    println!("{plain} pause frames, with TIMELY {timely}");
    assert!(timely > 0 && 4 * timely < plain, "{plain} {timely}");
}
