use super::*;
use crate::fabric::routing::RoutingMode;
use crate::host::protocol::{Protocol, Transport};
use crate::workload::Mode;
use anabranch_transport::{Bytes, udp};

/// One session from host 0 to hosts 1 and 2, opened, with an endpoint for each; `awaited` or not.
fn ledger(awaited: bool) -> Ledger {
    let transport = Transport { name: "udp".to_owned(), protocol: Protocol::Udp(udp::UdpConfig::default()) };
    let group = SessionGroup { awaited, ..SessionGroup::new("test", transport, RoutingMode::PerPacket) };
    let session = Session {
        start: Time::ZERO,
        size: Some(Bytes(1)),
        supply: None,
        mode: Mode::OneToMany,
        sources: vec![0].into(),
        sinks: vec![1, 2].into(),
        group: 0,
        request: 0,
        block: 0,
    };
    let mut ledger = Ledger::new(vec![session], vec![group]);
    let session = ledger.open();
    (0..3).for_each(|_| ledger.add_endpoint(session));
    ledger
}

#[test]
fn a_run_waits_for_receivers_until_they_are_complete_or_given_up() {
    let mut ledger = ledger(true);
    assert_eq!((ledger.unfinished(), ledger.waits_for_nothing()), (2, false));
    ledger.completed(0, 0, Time(5));
    ledger.completed(0, 0, Time(7));
    assert_eq!((ledger.unfinished(), ledger.last_completion()), (1, Some(Time(5))), "the first time counts");
    ledger.dropped(0, 1);
    assert_eq!((ledger.unfinished(), ledger.row(0).receivers[1].straggler), (0, Some(Straggler::Dropped)));
    // A receiver counted as lost was only late.
    ledger.completed(0, 1, Time(9));
    assert_eq!((ledger.unfinished(), ledger.row(0).receivers[1].straggler), (0, None));
    assert_eq!(ledger.last_completion(), Some(Time(9)));
}

#[test]
fn what_nobody_can_complete_is_unfinished_and_not_waited_for() {
    let mut ledger = ledger(true);
    ledger.completed(0, 0, Time(5));
    ledger.lost(0, 1);
    ledger.lost(0, 1);
    assert_eq!((ledger.unfinished(), ledger.waits_for_nothing()), (1, true));
    // A packet was still in flight.
    ledger.completed(0, 1, Time(6));
    assert_eq!((ledger.unfinished(), ledger.waits_for_nothing()), (0, true));
}

#[test]
fn nobody_waits_for_background() {
    let mut ledger = ledger(false);
    assert_eq!((ledger.unfinished(), ledger.waits_for_nothing()), (0, true));
    ledger.lost(0, 0);
    ledger.completed(0, 0, Time(5));
    ledger.dropped(0, 1);
    assert_eq!((ledger.unfinished(), ledger.waits_for_nothing()), (0, true));
}

#[test]
fn an_object_in_parts_is_complete_with_the_last() {
    let mut ledger = ledger(true);
    ledger.set_parts(0, 3);
    for at in 1..=2 {
        ledger.completed(0, 0, Time(at));
        assert_eq!(ledger.row(0).receivers[0].completed, None);
    }
    ledger.completed(0, 0, Time(3));
    assert_eq!(ledger.row(0).receivers[0].completed, Some(Time(3)));
}

#[test]
fn groups_go_with_the_last_endpoint() {
    let mut ledger = ledger(true);
    ledger.add_group(0, 4);
    ledger.add_group(0, 6);
    assert_eq!(ledger.endpoints_of(0), 0..3);
    assert!(ledger.endpoint_closed(0, 0).is_empty());
    assert!(ledger.endpoint_closed(0, 0).is_empty());
    assert_eq!(ledger.endpoint_closed(0, 0), [4, 6]);
    assert_eq!(ledger.endpoints_of(1), 0..0, "there is no such session yet");
}
