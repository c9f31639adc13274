//! When runs end that cannot come to a good end.

mod common;

use anabranch_sim::host::path::PathMode::Single;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Change, Ending, Group, Network, Setup, Stop, Target};
use anabranch_sim::transport::{Protocol, Transport};
use anabranch_sim::workload::{Fallback, Mode, Session};
use anabranch_transport::ndp::NdpConfig;
use anabranch_transport::scdp::ScdpConfig;
use anabranch_transport::Time;
use anabranch_transport::tcp::TcpConfig;
use common::*;

/// Transports that give up soon.
fn impatient() -> [(&'static str, Protocol); 3] {
    let tcp = TcpConfig { rto_min: us(1000), rto_initial: us(1000), retries: 2, ..TcpConfig::default() };
    let ndp = NdpConfig { retries: 2, ..NdpConfig::default() };
    let scdp = ScdpConfig { retries: 2, ..ScdpConfig::default() };
    [("tcp", Protocol::Tcp(tcp)), ("ndp", Protocol::Ndp(ndp)), ("scdp", Protocol::Scdp(scdp.into()))]
}

/// The sessions beside a flow without end from host 6 to host 7, on a star whose links to these hosts are cut early.
fn beside_a_long_flow(protocol: Protocol, fallback: Option<Fallback>, sessions: Vec<Session>, cut: &[u32]) -> Setup {
    let mut setup = setup(star(8), mlfq_trim(20), protocol, Single, sessions);
    setup.groups[0].fallback = fallback;
    let transport = Transport { name: "newreno".to_owned(), protocol: Protocol::Tcp(TcpConfig::default()) };
    setup.groups.push(Group { background: true, awaited: false, ..Group::new("long", transport, Single) });
    setup.sessions.push(Session { group: 1, size: None, ..unicast(6, 7, 1) });
    (setup.stop, setup.time_limit) = (Stop::Foreground, Time::MAX);
    setup.changes = cut.iter().map(|&link| (at(100), Change::Cut(Target::Link(link)))).collect();
    setup
}

/// Runs for so many events at most.
fn run_for(setup: Setup, events: u64) -> (RunRecord, Ending) {
    let mut network = Network::new(setup);
    let ending = network.run(|n| n.events() < events);
    (RunRecord::take(&mut network, ending.clone()), ending)
}

fn stalls(what: &str, setup: Setup, unfinished: usize) {
    let (record, ending) = run_for(setup, 20_000_000);
    let Ending::Stalled(why) = &ending else { panic!("{what}: {ending:?} at {}", record.simulated) };
    assert!(why.contains("gave up"), "{what}: {why}");
    assert_eq!(record.flows.iter().filter(|f| !f.background && f.end.is_none()).count(), unfinished, "{what}");
}

#[test]
fn a_run_does_not_wait_for_a_session_that_has_given_up() {
    for (name, protocol) in impatient() {
        let sessions = vec![unicast(0, 1, 500_000), unicast(2, 3, 500_000)];
        stalls(name, beside_a_long_flow(protocol, None, sessions, &[1]), 1);
    }
}

#[test]
fn the_sessions_that_can_finish_still_do() {
    let [(_, tcp), ..] = impatient();
    // Gives up long before the other is done.
    let sessions = vec![unicast(0, 1, 500_000), unicast(2, 3, 20_000_000)];
    let (record, ending) = run_for(beside_a_long_flow(tcp, None, sessions, &[1]), 20_000_000);
    assert!(matches!(ending, Ending::Stalled(_)));
    assert!(record.flows[1].end.is_some());
}

#[test]
fn what_hangs_on_a_session_that_has_given_up_is_lost_with_it() {
    let chain = |cut: &[u32], protocol| {
        let session = Session { mode: Mode::OneToMany, sinks: vec![1, 2, 3], ..unicast(0, 1, 500_000) };
        beside_a_long_flow(protocol, Some(Fallback::DaisyChain), vec![session], cut)
    };
    let parts = |cut: &[u32], protocol| {
        let session = Session { mode: Mode::ManyToOne, sources: vec![1, 2, 3], ..unicast(1, 0, 500_000) };
        beside_a_long_flow(protocol, Some(Fallback::Partition), vec![session], cut)
    };
    let tcp = || impatient()[0].1.clone();
    // Host 2 passes on to host 3.
    stalls("a chain", chain(&[2], tcp()), 2);
    stalls("a part", parts(&[2], tcp()), 1);
}

#[test]
fn a_read_goes_on_without_a_source_that_has_given_up() {
    let [.., (_, scdp)] = impatient();
    let session = Session { mode: Mode::ManyToOne, sources: vec![1, 2, 3], ..unicast(1, 0, 5_000_000) };
    let (record, ending) = run_for(beside_a_long_flow(scdp, None, vec![session], &[2]), 20_000_000);
    assert_eq!(ending, Ending::Complete);
    assert!(record.flows[0].end.is_some());
}
