//! Controllers in a run: what they see, when what they decide takes effect, and what of it the results tell.

use crate::common::*;
use anabranch_sim::control::{AnyController, QueueOccupancy};
use anabranch_sim::fabric::queue::Limit;
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Needs, Network, Sampling, Setup};
use anabranch_transport::tcp::Algorithm;

/// Long DCTCP flows of eight hosts to one; marking from `k` packets on.
fn incast(k: u32, controller: Option<QueueOccupancy>) -> Setup {
    let sessions = (1..9).map(|host| unicast(host, 0, 2_000_000)).collect();
    let mut setup = setup(star(9), ecn(200, k), tcp(Algorithm::Dctcp), Single, sessions);
    setup.controllers = controller.map(|c| AnyController::QueueOccupancy(c).shared()).into_iter().collect();
    setup
}

fn decisions(record: &RunRecord) -> Vec<(u64, u32, f64)> {
    let rows = record.series.iter().filter(|row| row.metric == "set_marking_threshold_packets");
    rows.map(|row| (row.time, row.id, row.value)).collect()
}

fn controller() -> QueueOccupancy {
    QueueOccupancy { period: us(500), delay: us(70), min: 5, max: 100, step: 3 }
}

#[test]
fn decisions_are_rows_and_take_effect_after_the_delay() {
    let record = complete(incast(60, Some(controller())));
    let rows = decisions(&record);
    assert!(rows.len() > 20, "{rows:?}");
    for &(time, _, value) in &rows {
        assert_eq!(time % us(500).ps(), us(70).ps(), "decided at whole periods, in effect 70 us later");
        assert!((5.0..=100.0).contains(&value));
    }
    // All eight are slowed by the port to host 0 alone; the other ports are idle, and their thresholds rise to the top.
    let first_port = rows.iter().map(|row| row.1).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(first_port.len(), 9);
    let last = |port: u32| rows.iter().rev().find(|row| row.1 == port).map(|row| row.2);
    assert_eq!(first_port.iter().filter(|&&port| last(port) == Some(100.0)).count(), 8);
}

#[test]
fn a_lower_threshold_keeps_the_queue_shorter() {
    let longest = |controller| {
        let record = complete(incast(60, controller));
        let waited = |row: &anabranch_sim::measure::LinkRow| row.dst == "h0";
        record.links.iter().find(|row| waited(row)).map(|row| row.queue_mean_bytes).expect("a link to host 0")
    };
    let (without, with) = (longest(None), longest(Some(QueueOccupancy { max: 6, ..controller() })));
    assert!(with < 0.7 * without, "{with} bytes on average, {without} without");
}

#[test]
fn queues_without_the_setting_are_left_alone() {
    let mut setup = incast(60, Some(controller()));
    setup.queue = Box::new(drop_tail(200));
    assert_eq!(decisions(&complete(setup)), []);
    let by_bytes = Limit::Bytes(90_000);
    let mut setup = incast(60, Some(controller()));
    setup.queue = Box::new(move |_| {
        let queue = anabranch_sim::fabric::queue::ecn::Ecn::new(Limit::Packets(200), by_bytes);
        anabranch_sim::fabric::queue::Queue::Ecn(queue)
    });
    assert_eq!(decisions(&complete(setup)), []);
}

/// A delay of hours at a period of microseconds: what waits to take effect is bounded as samples are.
#[test]
fn what_is_decided_has_a_bound() {
    let slow = QueueOccupancy { period: us(1), delay: us(3_600_000_000), ..controller() };
    let mut network = Network::new(Setup { memory_limit: 2_000_000, ..incast(60, Some(slow)) });
    let ending = network.run(|n| n.events() < 10_000_000);
    let Ending::TooLarge(Needs::Samples, why) = ending else { panic!("{ending:?}") };
    assert!(why.contains("samples"), "{why}");
    let none = AnyController::QueueOccupancy(QueueOccupancy { period: us(0), ..controller() });
    assert_eq!(none.check(None)[0].to_string(), "period: must be at least 1us, not 0s");
}

#[test]
fn controllers_keep_no_run_alive_and_repeat_exactly() {
    let run = || complete(Setup { stop: anabranch_sim::network::Stop::Idle, ..incast(60, Some(controller())) });
    let (one, other) = (run(), run());
    assert_eq!((one.fingerprint, decisions(&one)), (other.fingerprint, decisions(&other)));
    let sampled = Setup {
        sampling: Sampling { interval: us(300), queues: true, ..Sampling::default() },
        stop: anabranch_sim::network::Stop::Idle,
        ..incast(60, Some(controller()))
    };
    assert_eq!(complete(sampled).fingerprint, one.fingerprint, "looking changes nothing");
}
