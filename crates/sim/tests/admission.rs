//! Flows that controllers hold back or refuse.

use crate::common::control::{at_times, custom};
use crate::common::*;
use anabranch_sim::control::{Action, Rule, Verdict, Watch};
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Network, Sampling, Setup, Stop};
use anabranch_transport::tcp::Algorithm;
use anabranch_transport::{Bytes, Duration};

/// Two flows to host 0 that arrive after 1 ms: a short one of host 1, and one of 1 MB of host 2.
fn two_flows(actions: Vec<(Duration, Action)>) -> Setup {
    let mut sessions = vec![unicast(1, 0, 20_000), unicast(2, 0, 1_000_000)];
    for session in &mut sessions {
        session.start = at(1000);
    }
    let mut setup = setup(star(3), drop_tail(100), tcp(Algorithm::NewReno), Single, sessions);
    setup.stop = Stop::Foreground;
    setup.controllers = vec![at_times(actions)];
    setup
}

/// Runs to an end that some flow may not have reached.
fn run_some(setup: Setup) -> RunRecord {
    let mut network = Network::new(setup);
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!((&record.ending, record.conservation.holds()), (&Ending::Complete, true));
    record
}

fn rows(record: &RunRecord) -> Vec<(u64, &'static str, u32, f64)> {
    let rows = record.series.iter().filter(|row| row.metric.starts_with("set_"));
    rows.map(|row| (row.time / 1_000_000, row.metric, row.id, row.value)).collect()
}

const LARGE: Rule = Rule { larger_than: Some(Bytes(100_000)), source: None, destination: None, port: None };

#[test]
fn a_held_flow_begins_when_the_rule_is_lifted_and_its_time_counts_from_its_arrival() {
    let free = complete(two_flows(Vec::new()));
    let held = complete(two_flows(vec![
        (us(500), Action::Admission(LARGE, Verdict::Hold)),
        (us(9000), Action::Admission(LARGE, Verdict::Admit)),
    ]));
    assert!(fct(&held, 0) < fct(&free, 0), "alone");
    assert_eq!(held.flows[1].start, at(1000));
    let (held_for, alone) = (fct(&held, 1), fct(&free, 1));
    assert!(held_for > ms(8) + ms(8) && held_for < ms(8) + alone, "8 ms of waiting, then some 8 ms: {held_for}");
    assert_eq!(
        rows(&held),
        [
            (500, "set_admission_larger_than_bytes", 0, 100_000.0),
            (500, "set_admission", 0, 1.0),
            (9000, "set_admission", 0, 0.0)
        ]
    );
}

#[test]
fn a_refused_flow_never_begins_and_nothing_waits_for_it() {
    let source = Rule { source: Some(2), ..Rule::default() };
    let record = run_some(two_flows(vec![(us(500), Action::Admission(source, Verdict::Refuse))]));
    assert_eq!((record.flows.len(), record.flows[1].end, record.flows[1].packets_sent), (2, None, 0));
    assert!(record.flows[0].end.is_some());
    assert_eq!(rows(&record).last(), Some(&(500, "set_admission", 0, 2.0)));
}

/// A rule that comes after a flow has begun leaves it alone, and one about held flows may refuse them after all.
#[test]
fn rules_are_about_flows_that_have_not_begun() {
    let all = Rule::default();
    let late = complete(two_flows(vec![(us(1100), Action::Admission(all, Verdict::Hold))]));
    assert_eq!(
        late.fingerprint,
        complete(two_flows(vec![(us(1100), Action::Admission(all, Verdict::Admit))])).fingerprint
    );
    let refused = run_some(two_flows(vec![
        (us(500), Action::Admission(all, Verdict::Hold)),
        (us(3000), Action::Admission(LARGE, Verdict::Refuse)),
        (us(4000), Action::Admission(all, Verdict::Admit)),
    ]));
    assert_eq!(refused.flows[1].end, None);
    let end = refused.flows[0].end.expect("it was admitted");
    assert!(end > at(4000) && end < at(5000), "{end}");
}

#[test]
fn a_flow_that_is_held_for_ever_is_what_a_stalled_run_waits_for() {
    let hold = |waits| {
        let mut done = false;
        let decide = move |_: &anabranch_sim::control::View<'_>| {
            let first = !std::mem::replace(&mut done, true);
            first.then_some(Action::Admission(LARGE, Verdict::Hold)).into_iter().collect()
        };
        Setup { controllers: vec![custom(us(100), us(0), Watch::NOTHING, waits, decide)], ..two_flows(Vec::new()) }
    };
    let Ending::Stalled(why) = run(hold(false)).ending else { panic!("it ends") };
    assert!(
        why.contains("1 of 2 sessions are not finished") && why.contains("session 1 (h2 -> h0): held by a controller"),
        "{why}"
    );
    let mut network = Network::new(Setup { time_limit: at(50_000), ..hold(true) });
    let Ending::TimeLimit(why) = network.run(|_| true) else { panic!("it ends") };
    assert!(why.contains("held by a controller"), "{why}");
}

/// A flow without end that is held until its time is over never begins.
#[test]
fn the_end_of_a_held_flow_is_its_end() {
    let mut setup = two_flows(vec![
        (us(500), Action::Admission(LARGE, Verdict::Hold)),
        (us(9000), Action::Admission(LARGE, Verdict::Admit)),
    ]);
    setup.sessions[1].size = None;
    setup.groups[0].duration = Some(ms(3));
    let record = run(setup);
    assert_eq!((record.flows[1].packets_sent, &record.ending), (0, &Ending::Complete));
}

#[test]
fn others_go_on_while_flows_are_held_and_after() {
    let sampled = Setup {
        sampling: Sampling { interval: us(500), links: true, ..Sampling::default() },
        ..two_flows(vec![
            (us(500), Action::Admission(Rule::default(), Verdict::Hold)),
            (us(9000), Action::Admission(Rule::default(), Verdict::Admit)),
        ])
    };
    let record = complete(sampled);
    let last = record.series.iter().filter(|row| row.metric == "utilisation").map(|row| row.time).max();
    assert!(last > Some(at(12_000).0), "samples of what is sent at last: {last:?}");
}

#[test]
fn hosts_that_are_not_there_have_no_rules() {
    let rule = Rule { destination: Some(3), ..Rule::default() };
    let mut network = Network::new(two_flows(vec![(us(500), Action::Admission(rule, Verdict::Hold))]));
    let why = "controller 0, at 500us: there is no host 3, only 3".to_owned();
    assert_eq!(network.run(|_| true), Ending::Refused(why));
}
