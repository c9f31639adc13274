//! TIMELY: flows that share a link of 10 Gbps fill it with round trips below the upper threshold. With the patch they share it evenly, and their round
//! trip is that of the fluid model (Zhu et al., "ECN or Delay", `CoNEXT` 2016).

use crate::common::sharing::{self, Shared, pauses_from, pauses_of_incast, star_of};
use crate::common::{ms, us};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::host::protocol::Protocol;
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
    star_of(hosts, LINE, us(1))
}

fn roce(rate: Option<Rate>, config: TimelyConfig) -> Protocol {
    Protocol::Roce(RoceConfig { rate, ..RoceConfig::default() }.with(Congestion::Timely(config)))
}

/// So many of them begin 100 us after each other at `rate`, for so many ms.
fn share(flows: u32, rate: Rate, time_ms: u64, config: TimelyConfig) -> Shared {
    sharing::share(fabric(flows + 1), roce(Some(rate), config), None, us(100), ms(time_ms))
}

/// A queue of so many bytes, us.
fn on_the_link(bytes: f64) -> f64 {
    bytes * 8.0 / 1e4
}

#[test]
fn flows_fill_the_link_and_round_trips_stay_below_the_upper_threshold() {
    for flows in [2, 8] {
        let shared = share(flows, Rate::from_gbps(1), 200, TimelyConfig::default());
        let (used, rtt) = (shared.total() / PAYLOAD_GBPS, on_the_link(shared.longest) + BASE_US);
        println!(
            "{flows} flows: {used:.3} of the link, a queue of {:.1} us, at most {rtt:.1} us",
            on_the_link(shared.queue)
        );
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
        let found = on_the_link(shared.queue) + BASE_US;
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

/// From 1 to 10 Gbps it takes 5 steps of 10 Mbps and 179 of 50 Mbps. Each takes a round trip, and at most the time between two packets at 1 Gbps more.
#[test]
fn once_in_a_round_trip_a_lone_flow_soon_has_the_link() {
    let config = |variant| TimelyConfig { variant, segment: Bytes(1), ..TimelyConfig::default() };
    let later = |variant, time_us| {
        let time = us(2 * time_us);
        sharing::share(fabric(2), roce(Some(Rate::from_gbps(1)), config(variant)), None, us(1), time).total()
    };
    let (packet, steps) = (8.544, 184.0);
    let round_trip = BASE_US + packet / 10.0;
    let (soonest, latest) = (steps * round_trip, steps * (round_trip + packet));
    // The second half of a run that ends then, and the one after the latest time.
    let [before, after] = [soonest / 2.0, latest].map(|time| later(Variant::PerRtt, time as u64));
    println!("{soonest:.0} to {latest:.0} us: {before:.2} Gbps before, {after:.2} after");
    assert!(before < 0.9 * PAYLOAD_GBPS && after > 0.99 * PAYLOAD_GBPS, "{before} {after}");
    // In steps that take 20 us, of 10 Mbps each, it has had a few by then.
    let slow = later(Variant::Gradient, latest as u64);
    assert!(slow < 0.4 * PAYLOAD_GBPS, "{slow}");
}

/// Sixteen senders begin at once with 4 MB each: nothing is lost or sent twice, and TIMELY leaves little to pauses.
#[test]
fn an_incast_loses_nothing_and_pauses_less_than_without_it() {
    let pauses = |protocol| pauses_of_incast(fabric(17), protocol, pauses_from(100_000, 10_000), 4_000_000).0;
    let plain = pauses(Protocol::Roce(RoceConfig::default()));
    let timely = pauses(roce(None, TimelyConfig::default()));
    println!("{plain} pause frames, with TIMELY {timely}");
    assert!(timely > 0 && 4 * timely < plain, "{plain} {timely}");
}
