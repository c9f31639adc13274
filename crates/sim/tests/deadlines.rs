//! Transports that know their flows: who gets more of a bottleneck.

use crate::common::control::at_times;
use crate::common::{at, complete, ecn, fct, ms, run, setup, star, tcp, unicast};
use anabranch_sim::control::{Action, Rule, Verdict};
use anabranch_sim::fabric::routing::RoutingMode;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{SessionGroup, Setup, Stop};
use anabranch_sim::workload::Session;
use anabranch_transport::Duration;
use anabranch_transport::tcp::{Algorithm, LongFlowBy, TcpConfig};

/// Sessions to host 0 of a star at 1 Gbps, over a queue that marks beyond 65 packets; one group for each deadline.
fn contend(protocol: Protocol, sessions: Vec<Session>, deadlines: [Option<Duration>; 2]) -> Setup {
    let mut setup = setup(star(5), ecn(250, 65), protocol, RoutingMode::Single, sessions);
    let group = setup.groups[0].clone();
    setup.groups = deadlines.into_iter().map(|deadline| SessionGroup { deadline, ..group.clone() }).collect();
    setup
}

/// Four flows of 10 MB, two of each group.
fn four(congestion: Algorithm, deadlines: [Option<Duration>; 2]) -> RunRecord {
    let flow = |source: u32| Session { group: u16::from(source > 2), ..unicast(source, 0, 10_000_000) };
    complete(contend(tcp(congestion), (1..5).map(flow).collect(), deadlines))
}

#[test]
fn d2tcp_gives_more_to_flows_with_near_deadlines() {
    let deadlines = [Some(ms(260)), Some(ms(1000))];
    let (fair, aware) = (four(Algorithm::Dctcp, deadlines), four(Algorithm::D2tcp, deadlines));
    let met = |record: &RunRecord| -> Vec<bool> {
        (0..4).map(|n| record.flows[n].deadline.is_some_and(|deadline| fct(record, n) <= deadline)).collect()
    };
    // A fair share is 250 Mbps, at which 10 MB take more than 320 ms.
    assert_eq!(met(&fair), [false, false, true, true]);
    assert_eq!(met(&aware), [true; 4]);
    let (near, far) = (fct(&aware, 0).max(fct(&aware, 1)), fct(&aware, 2).min(fct(&aware, 3)));
    assert!(near + ms(50) < far, "{near} and {far}");
    // Nothing is lost by it: the last flow ends no later than it would.
    let last = |record: &RunRecord| (0..4).map(|n| fct(record, n)).max();
    assert!(last(&aware) < last(&fair).map(|t| t + ms(5)));
}

#[test]
fn the_deadline_of_a_held_flow_counts_from_when_it_arrived() {
    // All wait for half a second. Counted from their beginning, all deadlines would be so far that d is 1/2 for all.
    let flow = |source: u32| Session { group: u16::from(source > 2), ..unicast(source, 0, 10_000_000) };
    let sessions = (1..5).map(|source| Session { start: at(1000), ..flow(source) }).collect();
    let deadlines = [Some(ms(500 + 260)), Some(ms(500 + 1000))];
    let mut setup = contend(tcp(Algorithm::D2tcp), sessions, deadlines);
    let all = |verdict| Action::Admission(Rule::default(), verdict);
    setup.controllers = vec![at_times(vec![(ms(0), all(Verdict::Hold)), (ms(501), all(Verdict::Admit))])];
    let held = complete(setup);
    let late: Vec<usize> = (0..4).filter(|&n| held.flows[n].deadline.is_none_or(|d| fct(&held, n) > d)).collect();
    assert_eq!(late, [0; 0]);
}

#[test]
fn d2tcp_without_deadlines_is_dctcp() {
    let fingerprint = |congestion| four(congestion, [None, None]).fingerprint;
    assert_eq!(fingerprint(Algorithm::D2tcp), fingerprint(Algorithm::Dctcp));
}

#[test]
fn fa_dctcp_serves_short_flows_sooner_and_knows_long_ones_by_size_or_port() {
    // 900 KB beside three flows without end, which are of the second group.
    let short = |congestion, port| {
        let long = |source| Session { size: None, group: 1, ..unicast(source, 0, 0) };
        let mut sessions: Vec<_> = (1..4).map(long).collect();
        sessions.push(Session { start: at(50_000), ..unicast(4, 0, 900_000) });
        let (long_flow_by, long_flow_ports) = (LongFlowBy::Either, vec![873]);
        let config = TcpConfig { congestion, long_flow_by, long_flow_ports, ..TcpConfig::default() };
        let mut setup = contend(Protocol::Tcp(config), sessions, [None, None]);
        setup.groups[0].port = port;
        (setup.stop, setup.time_limit) = (Stop::Limit, at(200_000));
        fct(&run(setup), 3)
    };
    let [fair, aware, long] =
        [(Algorithm::Dctcp, 80), (Algorithm::FaDctcp, 80), (Algorithm::FaDctcp, 873)].map(|(c, port)| short(c, port));
    assert!(aware.ps() * 10 < fair.ps() * 9, "{aware} and {fair}");
    assert_eq!(long, fair, "all are long: DCTCP");
}

#[test]
fn l2dct_serves_short_flows_sooner_without_being_told_which_they_are() {
    // 150 KB beside three flows without end, which have sent megabytes by then.
    let short = |congestion| {
        let long = |source| Session { size: None, group: 1, ..unicast(source, 0, 0) };
        let mut sessions: Vec<_> = (1..4).map(long).collect();
        sessions.push(Session { start: at(100_000), ..unicast(4, 0, 150_000) });
        let mut setup = contend(tcp(congestion), sessions, [None, None]);
        (setup.stop, setup.time_limit) = (Stop::Limit, at(200_000));
        let record = run(setup);
        let long: u64 = record.flows[..3].iter().map(|f| f.size_bytes).sum();
        (fct(&record, 3), long)
    };
    let [(fair, fair_long), (aware, aware_long)] = [Algorithm::Dctcp, Algorithm::L2dct].map(short);
    assert!(aware.ps() * 10 < fair.ps() * 9, "{aware} and {fair}");
    // What the long flows pay for it (Joy 2015 §2.3.1.4 tells of 7 % at low loads).
    assert!(aware_long * 100 > fair_long * 90, "{aware_long} and {fair_long} bytes");
}
