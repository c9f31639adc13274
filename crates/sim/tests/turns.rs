//! Flows of one host that take turns at its link.

use crate::common::sharing::star_of;
use crate::common::{DELAY, GBPS, at, complete, drop_tail, setup, trim, unicast, us};
use anabranch_sim::fabric::graph::{Graph, Level, Link, Node};
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Change, Network, Setup, Stop, Target};
use anabranch_sim::workload::Session;
use anabranch_transport::roce::{Congestion, DcqcnConfig, HpccConfig, RoceConfig, Rules, TimelyConfig};
use anabranch_transport::uec::{Control, UecConfig};
use anabranch_transport::{Bytes, Duration, Rate, Time};

const LINE: Rate = Rate::from_gbps(100);

fn roce() -> Protocol {
    Protocol::Roce(RoceConfig::default())
}

/// All kinds of senders that take turns.
fn protocols() -> Vec<(String, Protocol)> {
    let hpcc = HpccConfig { base_rtt: Some(us(5)), ..HpccConfig::default() };
    let hpcc = RoceConfig { header: Bytes(44 + 42), ..RoceConfig::default() }.with(Congestion::Hpcc(hpcc));
    let dcqcn = RoceConfig::default().with(Congestion::Dcqcn(DcqcnConfig::default()));
    let uec = [Control::Nscc, Control::Rccc, Control::Both, Control::Eqds].map(|control| {
        let config = UecConfig { control, rate: Some(LINE), round_trip: Some(us(5)), ..UecConfig::default() };
        (format!("{control:?}"), Protocol::Uec(config))
    });
    let connectx = DcqcnConfig { rules: Rules::Connectx, ..DcqcnConfig::default() };
    let connectx = RoceConfig::default().with(Congestion::Dcqcn(connectx));
    let timely = RoceConfig::default().with(Congestion::Timely(TimelyConfig::default()));
    let roce = [
        ("RoCE", roce()),
        ("DCQCN", Protocol::Roce(dcqcn)),
        ("DCQCN, ConnectX", Protocol::Roce(connectx)),
        ("TIMELY", Protocol::Roce(timely)),
        ("HPCC", Protocol::Roce(hpcc)),
    ];
    roce.into_iter().map(|(name, protocol)| (name.to_owned(), protocol)).chain(uec).collect()
}

fn ends(record: &RunRecord) -> Vec<f64> {
    record.flows.iter().map(|flow| flow.end.expect("complete").since(Time::ZERO).as_secs_f64()).collect()
}

/// One host sends to many: its own link is the bottleneck. Whatever decides when packets may leave, all get the same share, and the link
/// is full.
#[test]
fn flows_of_one_host_share_its_link_evenly() {
    const SIZE: u64 = 2_000_000;
    for (name, protocol) in protocols() {
        for flows in [3, 8] {
            let sessions = (1..=flows).map(|sink| unicast(0, sink, SIZE)).collect();
            let fabric = star_of(flows + 1, LINE, us(1));
            let record = complete(setup(fabric, trim(200), protocol.clone(), Single, sessions));
            let ends = ends(&record);
            let (first, last) =
                (ends.iter().copied().fold(f64::MAX, f64::min), ends.iter().copied().fold(0.0, f64::max));
            // Headers, and the windows' first round trips.
            let least = f64::from(flows) * SIZE as f64 * 8.0 / LINE.bps() as f64;
            println!(
                "{name}, {flows} flows: {:.1} to {:.1} us, payload alone {:.1}",
                first * 1e6,
                last * 1e6,
                least * 1e6
            );
            assert!(last - first < 0.02 * last, "{name}: {ends:?}");
            assert!(last > least && last < 1.15 * least, "{name}: {last} for {least}");
        }
    }
}

/// A link that is cut loses what is sent, but no more than it had carried: a flow without end does not send it all at one instant.
#[test]
fn a_link_that_is_cut_takes_no_more_than_its_rate() {
    let sessions = (1..4).map(|sink| Session { size: None, ..unicast(0, sink, 1) }).collect();
    let (cut, limit) = (at(100), at(20_100));
    let changes = vec![(cut, Change::Cut(Target::Link(0)))];
    let fabric = star_of(4, GBPS, DELAY);
    let setup =
        Setup { stop: Stop::Limit, time_limit: limit, changes, ..setup(fabric, trim(200), roce(), Single, sessions) };
    let mut network = Network::new(setup);
    let ending = network.run(|network| network.events() < 1_000_000);
    let record = RunRecord::take(&mut network, ending);
    let carried = |until: Time| GBPS.bytes_in(until.since(Time::ZERO)) / RoceConfig::default().packet.0;
    // What came before the cut was acknowledged.
    let most = carried(limit) + 1 + carried(cut);
    let sent = record.conservation.sent;
    assert!(record.simulated == limit && sent <= most, "{sent} of {most}");
    assert!(sent > most / 2, "it goes on: {sent} of {most}");
}

/// Two hosts, each with a link of its own to the other and one to a switch.
fn two_links(direct: Rate) -> Graph {
    let host = |h| Node { name: format!("h{h}"), level: Level::Host, pod: None };
    let switch = Node { name: "s0".to_owned(), level: Level::Edge, pod: None };
    let slow = |a| Link { a, b: 3, rate: GBPS, delay: DELAY };
    let links = vec![slow(0), slow(2), Link { a: 0, b: 1, rate: direct, delay: DELAY }];
    Graph { hosts: 3, nodes: vec![host(0), host(1), host(2), switch], links, ..Graph::default() }
}

/// Flows wait for the link that they use, not for others of their host, and go by its rate.
#[test]
fn a_flow_does_not_wait_for_another_link_of_its_host() {
    let dcqcn = Protocol::Roce(RoceConfig::default().with(Congestion::Dcqcn(DcqcnConfig::default())));
    for protocol in [roce(), dcqcn] {
        let end = |others: usize| {
            let mut sessions = vec![unicast(0, 1, 1_000_000)];
            sessions.extend(std::iter::repeat_n(unicast(0, 2, 1_000_000), others));
            let record = complete(setup(two_links(LINE), drop_tail(u32::MAX), protocol.clone(), Single, sessions));
            ends(&record)[0]
        };
        let (alone, beside) = (end(0), end(8));
        assert!(alone < 120e-6, "at 100 Gbps: {alone}");
        // Until its first packet has left, it may wait at the wrong one.
        let packet = Duration(GBPS.transmit_time(RoceConfig::default().packet.0).ps() * 9).as_secs_f64();
        assert!(beside - alone < packet, "{alone} alone, {beside} beside others");
    }
}

/// What leads nowhere is lost at once, and does not hold the run up. When the link is back, all goes on.
#[test]
fn a_host_that_nobody_can_reach_any_more_holds_nothing_up() {
    // The only way to host 2 is cut beyond the link of the sender, which has another one.
    let endless = Session { size: None, ..unicast(0, 2, 1) };
    let cut = |back: Option<Time>| {
        let mut changes = vec![(at(100), Change::Cut(Target::Link(1)))];
        changes.extend(back.map(|back| (back, Change::Restore(Target::Link(1)))));
        let setup = setup(two_links(LINE), drop_tail(u32::MAX), roce(), Single, vec![endless.clone(); 3]);
        let mut network = Network::new(Setup { stop: Stop::Limit, time_limit: at(10_000), changes, ..setup });
        let ending = network.run(|network| network.events() < 1_000_000);
        RunRecord::take(&mut network, ending)
    };
    let most = GBPS.bytes_in(us(10_000)) / RoceConfig::default().packet.0;
    let (gone, back) = (cut(None), cut(Some(at(1_000))));
    for record in [&gone, &back] {
        assert!(record.simulated == at(10_000) && record.conservation.dropped <= most, "{:?}", record.conservation);
    }
    assert!(back.conservation.delivered > 10 * gone.conservation.delivered, "{:?}", back.conservation);
}
