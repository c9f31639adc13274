//! What controllers see of ports, classes and flows.

use crate::common::control::custom;
use crate::common::*;
use anabranch_sim::control::{Action, ClassCounters, PortFlow, Watch};
use anabranch_sim::fabric::queue::{Limit, Queue, drop_tail::DropTail, ecn::Ecn, fair::Fair};
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::network::{Change, SessionGroup, Setup, Target};
use anabranch_transport::Bytes;
use anabranch_transport::tcp::Algorithm;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The switch's port to host 0 of a star.
const TO_H0: u32 = 1;

/// Two classes to host 0: a DCTCP flow of 300 KB with marks, a Reno flow of 200 KB that loses packets.
fn two_classes() -> Setup {
    let mut sessions = vec![unicast(1, 0, 300_000), unicast(2, 0, 200_000)];
    sessions[1].group = 1;
    let queue = |_| {
        let marking = Queue::Ecn(Ecn::new(Limit::Packets(100), Limit::Packets(5)));
        Queue::Fair(Fair::new([marking, Queue::DropTail(DropTail::new(Limit::Packets(8)))], 1500))
    };
    let mut setup = setup(star(3), queue, tcp(Algorithm::Dctcp), Single, sessions);
    let transport =
        anabranch_sim::host::protocol::Transport { name: "reno".to_owned(), protocol: tcp(Algorithm::NewReno) };
    setup.groups.push(SessionGroup { class: 1, port: 5001, ..SessionGroup::new("other", transport, Single) });
    setup.host_classes = 2;
    setup
}

/// A run's last view of a port: counters by class, and each of its flows when it was last there.
fn watched(mut setup: Setup, port: u32) -> (anabranch_sim::measure::RunRecord, Vec<ClassCounters>, Vec<PortFlow>) {
    let seen = Arc::new(Mutex::new((Vec::new(), BTreeMap::new())));
    let kept = Arc::clone(&seen);
    setup.controllers = vec![custom(us(100), us(0), Watch::ALL, false, move |view| {
        let mut kept = kept.lock().expect("one thread");
        kept.0 = view.classes(port).to_vec();
        kept.1.extend(view.flows_at(port).into_iter().map(|seen| (seen.flow.session, seen)));
        Vec::new()
    })];
    let record = complete(setup);
    let (classes, flows) = seen.lock().expect("one thread").clone();
    (record, classes, flows.into_values().collect())
}

#[test]
fn the_classes_of_a_port_add_up_to_its_counters() {
    let (record, classes, _) = watched(two_classes(), TO_H0);
    let link = record.links.iter().find(|row| row.dst == "h0").expect("a link to host 0");
    let sum = |of: fn(&ClassCounters) -> u64| classes.iter().map(of).sum::<u64>();
    assert_eq!(classes.len(), 2);
    assert_eq!((sum(|c| c.packets), sum(|c| c.bytes)), (link.packets, link.bytes));
    assert_eq!((sum(|c| c.dropped), sum(|c| c.marked)), (link.dropped, link.marked));
    assert!(classes[0].marked > 0 && classes[0].dropped == 0, "{classes:?}");
    assert!(classes[1].marked == 0 && classes[1].dropped > 0, "{classes:?}");
}

#[test]
fn a_port_tells_its_flows_and_what_each_has_sent() {
    let (record, _, flows) = watched(two_classes(), TO_H0);
    let [dctcp, reno] = flows[..] else { panic!("{flows:?}") };
    assert_eq!((dctcp.flow.session, dctcp.flow.source, dctcp.flow.destination, dctcp.flow.port), (0, 1, 0, 0));
    assert_eq!((reno.flow.session, reno.flow.source, reno.flow.class, reno.flow.port), (1, 2, 1, 5001));
    assert_eq!((dctcp.flow.size, reno.flow.size), (Some(Bytes(300_000)), Some(Bytes(200_000))));
    // By this port goes everything, with headers and what is sent again.
    assert!(dctcp.counters.bytes >= 300_000 && dctcp.counters.bytes < 330_000, "{dctcp:?}");
    assert!(dctcp.is_long(Bytes(250_000)) && !reno.is_long(Bytes(250_000)), "by bytes so far");
    assert!(dctcp.flow.is_long(Bytes(300_000)) && !dctcp.flow.is_long(Bytes(300_001)), "by size");
    assert!(dctcp.counters.last <= record.flows[0].end.expect("an end"));
    let (_, _, elsewhere) = watched(two_classes(), 3);
    assert_eq!(elsewhere, [], "only acknowledgements go to host 1");
}

#[test]
fn what_a_cut_link_loses_is_told_by_class() {
    let mut setup = two_classes();
    setup.changes = vec![(at(500), Change::Cut(Target::Link(0))), (at(1500), Change::Restore(Target::Link(0)))];
    let (record, classes, _) = watched(setup, TO_H0);
    let link = record.links.iter().find(|row| row.dst == "h0").expect("a link to host 0");
    assert_eq!(classes.iter().map(|c| c.dropped).sum::<u64>(), link.dropped);
    assert!(link.dropped > 5);
}

#[test]
fn being_watched_changes_nothing() {
    let run = |watch| {
        let look = custom(us(100), us(0), watch, false, |_| Vec::new());
        complete(Setup { controllers: vec![look], ..two_classes() }).fingerprint
    };
    assert_eq!(run(Watch::NOTHING), run(Watch::ALL));
}

#[test]
fn whether_a_link_works_is_seen_and_notes_are_rows() {
    let mut setup = two_classes();
    setup.changes = vec![(at(450), Change::Cut(Target::Link(2))), (at(1050), Change::Restore(Target::Link(2)))];
    setup.controllers = vec![custom(us(100), us(70), Watch::NOTHING, false, |view| {
        vec![Action::Note("up", 5, f64::from(u8::from(view.port(5).up)))]
    })];
    let record = complete(setup);
    let down: Vec<u64> = record.series.iter().filter(|row| row.value == 0.0).map(|row| row.time / 1_000_000).collect();
    assert_eq!(down, [500, 600, 700, 800, 900, 1000], "seen at once, not after the delay");
}

#[test]
#[should_panic(expected = "says so in `watches`")]
fn nothing_is_counted_for_nobody() {
    let look = custom(us(100), us(0), Watch { classes: true, flows: false }, false, |view| {
        view.flows_at(TO_H0);
        Vec::new()
    });
    complete(Setup { controllers: vec![look], ..two_classes() });
}
