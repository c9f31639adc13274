//! RoCE's selective repeat beside go-back-N, in a fabric that loses packets.

use crate::common::{complete, drop_tail, setup, star, unicast};
use anabranch_sim::fabric::routing::RoutingMode::PerFlow;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::network::Setup;
use anabranch_transport::roce::{Repeat, RoceConfig};

/// Four senders without congestion control send 1 MB each through a queue of 64 packets: what go-back-N sends again is mostly what had arrived.
#[test]
fn it_sends_less_again_and_completes_sooner() {
    let outcome = |repeat| {
        let sessions = (1..5).map(|host| unicast(host, 0, 1_000_000)).collect();
        let config = RoceConfig { repeat, retries: 1000, ..RoceConfig::default() };
        let record: anabranch_sim::measure::RunRecord =
            complete(Setup { ..setup(star(5), drop_tail(64), Protocol::Roce(config), PerFlow, sessions) });
        let repeated: u64 = record.flows.iter().map(|flow| flow.packets_retransmitted).sum();
        let end = record.flows.iter().filter_map(|flow| flow.end).max().expect("all end");
        (repeated, record.conservation.dropped, end)
    };
    let (go_back, selective) = (outcome(Repeat::GoBackN), outcome(Repeat::Selective));
    println!("sent again, dropped, end: {go_back:?}, selectively {selective:?}");
    // What is sent again was lost, or its acknowledgement; go-back-N sends more.
    assert!(selective.0 <= selective.1 && go_back.0 > go_back.1, "{go_back:?} {selective:?}");
    assert!(selective.0 < go_back.0 && selective.2 < go_back.2, "{go_back:?} {selective:?}");
}
