//! When runs end that cannot come to a good end.

use crate::common::*;
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::{Protocol, Transport};
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Fallback;
use anabranch_sim::network::{Change, Ending, Network, SessionGroup, Setup, Stop, Target};
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::ndp::NdpConfig;
use anabranch_transport::scdp::ScdpConfig;
use anabranch_transport::tcp::TcpConfig;
use anabranch_transport::{Rate, Time};

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
    setup.groups.push(SessionGroup {
        background: true,
        awaited: false,
        ..SessionGroup::new("long", transport, Single)
    });
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
        let session = Session { mode: Mode::OneToMany, sinks: vec![1, 2, 3].into(), ..unicast(0, 1, 500_000) };
        beside_a_long_flow(protocol, Some(Fallback::DaisyChain), vec![session], cut)
    };
    let parts = |cut: &[u32], protocol| {
        let session = Session { mode: Mode::ManyToOne, sources: vec![1, 2, 3].into(), ..unicast(1, 0, 500_000) };
        beside_a_long_flow(protocol, Some(Fallback::Partition), vec![session], cut)
    };
    let tcp = || impatient()[0].1.clone();
    // Host 2 passes on to host 3.
    stalls("a chain", chain(&[2], tcp()), 2);
    stalls("a part", parts(&[2], tcp()), 1);
}

/// Two sources of a read in parts. One has sent its part, and its link is cut before the last ACK comes back: that sender
/// gives up, but its part has arrived, and the other one still comes.
#[test]
fn a_part_that_has_arrived_is_not_lost_with_its_sender() {
    let tcp = || impatient()[0].1.clone();
    let (alone, _) = run_for(beside_a_long_flow(tcp(), None, vec![unicast(1, 0, 50_000)], &[]), 20_000_000);
    let arrived = Time(alone.flows[0].end.expect("complete").ps());
    let ending = |cut: Time| {
        let session = Session { mode: Mode::ManyToOne, sources: vec![1, 2].into(), ..unicast(1, 0, 100_000) };
        let mut setup = beside_a_long_flow(tcp(), Some(Fallback::Partition), vec![session], &[]);
        // The other source is slower, and hardly in the way.
        let slow = Change::Rate(Target::Link(2), Rate::from_mbps(20));
        setup.changes = vec![(at(0), slow), (cut, Change::Cut(Target::Link(1)))];
        run_for(setup, 20_000_000).1
    };
    assert_eq!(ending(arrived + us(5)), Ending::Complete);
    assert!(matches!(ending(Time(arrived.ps() - us(50).ps())), Ending::Stalled(_)));
}

#[test]
fn a_read_goes_on_without_a_source_that_has_given_up() {
    let [.., (_, scdp)] = impatient();
    let session = Session { mode: Mode::ManyToOne, sources: vec![1, 2, 3].into(), ..unicast(1, 0, 5_000_000) };
    let (record, ending) = run_for(beside_a_long_flow(scdp, None, vec![session], &[2]), 20_000_000);
    assert_eq!(ending, Ending::Complete);
    assert!(record.flows[0].end.is_some());
}

/// The ideal completion time of a flow from host 0 to host 1 that starts at 1 ms and of which everything is over at 2 ms.
fn ideal_with(changes: Vec<(Time, Change)>) -> u64 {
    let [_, (_, ndp), _] = impatient();
    let sessions = vec![Session { start: at(1000), ..unicast(0, 1, 30_000) }];
    let mut setup = setup(star(3), trim(20), ndp, Single, sessions);
    setup.changes = changes;
    let (record, ending) = run_for(setup, 1_000_000);
    assert_eq!(ending, Ending::Complete);
    record.flows[0].ideal_ps
}

#[test]
fn the_ideal_time_is_that_of_the_fabric_at_the_start() {
    let slow = |time, mbps| (at(time), Change::Rate(Target::Link(0), Rate::from_mbps(mbps)));
    let cut = |time| (at(time), Change::Cut(Target::Link(1)));
    let restore = |time| (at(time), Change::Restore(Target::Link(1)));
    let undisturbed = ideal_with(Vec::new());
    assert!(undisturbed > 0);
    // What happens to the fabric after the flow is over does not matter.
    assert_eq!(ideal_with(vec![cut(2000)]), undisturbed);
    assert_eq!(ideal_with(vec![slow(2000, 100)]), undisturbed);
    // What happened before does.
    let slowed = ideal_with(vec![slow(500, 100)]);
    assert!(slowed > 8 * undisturbed, "{slowed} ps against {undisturbed}");
    assert_eq!(ideal_with(vec![slow(500, 100), slow(100_000, 1000)]), slowed);
    assert_eq!(ideal_with(vec![slow(100, 100), slow(500, 1000)]), undisturbed);
    // Nothing leads to the receiver at the start, and the fabric changes before the flow is over: the bound for the fabric at its best, which is less
    // than the time on one path by up to a packet a link (12 us at 1 Gbps).
    let restored = ideal_with(vec![cut(500), restore(1100)]);
    assert!(restored <= undisturbed && undisturbed - restored < 12_000_000, "{restored} ps against {undisturbed}");
}
