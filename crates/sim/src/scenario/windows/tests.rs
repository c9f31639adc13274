use super::*;
use crate::scenario::{Plan, parse};

const SCENARIO: &str = r#"
    [fabric]
    topology = "leaf-spine"
    leaves = 2
    spines = 2
    hosts_per_leaf = 4
    rate = "100Gbps"
    delay = "1us"
    [transport]
    name = "ndp"
    window = "bdp"
    [[workload]]
    name = "w"
    sizes = { law = "fixed", size = "10MB" }
    placement = { pattern = "pairs", pairs = [[0, 4]] }
"#;

fn plan(overrides: &[&str]) -> Plan {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    parse("test.toml", SCENARIO, &overrides).unwrap_or_else(|e| panic!("{overrides:?}: {e}"))
}

fn carrier(name: TransportName, overrides: &[&str]) -> Protocol {
    let plan = plan(overrides);
    let scenario = &plan.runs[0].scenario;
    let paths = plan.fabrics.paths(&scenario.fabric, &plan.base).expect("a fabric");
    scenario.carrier(name, Some(&paths)).protocol
}

/// 8.5 us at 100 Gbps are 106 KB: 71 packets of 1500 B.
#[test]
fn each_transport_s_window_is_the_bandwidth_delay_product() {
    use TransportName::{Cubic, Dctcp, Homa, Mptcp, Ndp, NdpPlus, Pfabric, Polyraptor, Scdp};
    for name in [Ndp, NdpPlus] {
        let Protocol::Ndp(ndp) = carrier(name, &[]) else { panic!("{name:?}") };
        assert_eq!(ndp.initial_window, 71);
    }
    for name in [Scdp, Polyraptor] {
        let Protocol::Scdp(scdp) = carrier(name, &[]) else { panic!("{name:?}") };
        assert_eq!((scdp.initial_window, scdp.initial_window_many_to_one, scdp.reorder_tolerance), (71, 71, 142));
    }
    // An ACK has 40 B, so the round trip is a little shorter: 71 segments of 1460 B.
    for name in [Dctcp, Cubic] {
        let Protocol::Tcp(tcp) = carrier(name, &[]) else { panic!("{name:?}") };
        assert_eq!((tcp.receive_window, tcp.initial_window), (Bytes(71 * 1460), 10));
    }
    let Protocol::Tcp(pfabric) = carrier(Pfabric, &[]) else { panic!("pFabric is TCP") };
    assert_eq!((pfabric.initial_window, pfabric.receive_window), (71, Bytes(71 * 1460)));
    let Protocol::Homa(homa) = carrier(Homa, &[]) else { panic!("it is Homa") };
    assert_eq!(homa.rtt_bytes, Bytes(71 * 1442));
    let Protocol::Multipath(mptcp) = carrier(Mptcp, &["transport.window=2 bdp"]) else { panic!("it has subflows") };
    assert_eq!(mptcp.receive_window(), Bytes(142 * 1432));
}

#[test]
fn windows_follow_packets_rates_and_delays() {
    let ndp = |overrides: &[&str]| match carrier(TransportName::Ndp, overrides) {
        Protocol::Ndp(ndp) => ndp.initial_window,
        other => panic!("{other:?}"),
    };
    // Four links, both ways: 4 x (2 us + 720 ns + 5 ns) = 10.9 us, 136 KB.
    assert_eq!(ndp(&["transport.ndp.packet=9000B"]), 16);
    assert_eq!(ndp(&["transport.ndp.packet=512B"]), 200);
    assert_eq!(ndp(&["fabric.rate=1Gbps"]), 5, "58 us at 1 Gbps");
    assert_eq!(ndp(&["fabric.delay=10us"]), 671);
    assert_eq!(ndp(&["transport.window=0.5 bdp"]), 36);
    assert_eq!(ndp(&["transport.window=given"]), 12);
    assert_eq!(ndp(&["fabric.delay=1s"]), 16_384, "as many as there can be");
}

#[test]
fn all_senders_of_a_session_but_one_have_the_window_together() {
    let many =
        ["workload.w.placement={ pattern = \"replicas\", replicas = 3, access = \"read\" }", "workload.w.sessions=1"];
    let Protocol::Scdp(scdp) = carrier(TransportName::Scdp, &many) else { panic!("it is SCDP") };
    assert_eq!((scdp.initial_window, scdp.initial_window_many_to_one), (71, 36));
    let Protocol::Scdp(scdp) = carrier(TransportName::Scdp, &[many[0].replace('3', "1").as_str(), many[1]]) else {
        panic!("it is SCDP")
    };
    assert_eq!(scdp.initial_window_many_to_one, 71, "of one sender");
    let given = [&many[..], &["transport.scdp.reorder_tolerance=30"]].concat();
    let Protocol::Scdp(scdp) = carrier(TransportName::Scdp, &given) else { panic!("it is SCDP") };
    assert_eq!(scdp.reorder_tolerance, 30, "what is given stays");
}

/// 40 receivers have 2560 B of pulls for each symbol of 1500 B: with four symbols to a pull, 640 B, less than half.
#[test]
fn receivers_of_large_groups_ask_for_several_symbols_at_once() {
    let group = |receivers: u32, overrides: &[&str]| {
        let hosts = "fabric.hosts_per_leaf=64";
        let placement = format!(
            "workload.w.placement={{ pattern = \"replicas\", replicas = {receivers}, policy = \"random\", access = \"write\" }}"
        );
        let all = [&[hosts, placement.as_str(), "workload.w.sessions=1"], overrides].concat();
        let Protocol::Scdp(scdp) = carrier(TransportName::Scdp, &all) else { panic!("it is SCDP") };
        (scdp.symbols_per_pull, scdp.initial_window)
    };
    assert_eq!(group(3, &[]), (None, 71));
    assert_eq!(group(40, &[]), (Some(4), 74), "what gathers is not on its way");
    assert_eq!(group(40, &["transport.scdp.packet=9000B"]), (None, 16));
    assert_eq!(group(40, &["transport.scdp.symbols_per_pull=2"]), (Some(2), 72), "what is given stays");
    assert_eq!(group(40, &["transport.window=given"]), (None, 12));
    let job = |algorithm: &str| {
        let job = format!(
            "workload=[{{ job = {{ collective = {{ kind = \"broadcast\", algorithm = \"{algorithm}\", ranks = 41, size = \"1MB\" }} }} }}]"
        );
        let Protocol::Scdp(scdp) = carrier(TransportName::Scdp, &["fabric.hosts_per_leaf=64", job.as_str()]) else {
            panic!("it is SCDP")
        };
        (scdp.symbols_per_pull, scdp.initial_window)
    };
    assert_eq!((job("one-to-many"), job("chain")), ((Some(4), 74), (None, 71)), "messages of jobs are sessions, too");
}
