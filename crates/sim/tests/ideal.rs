//! The ideal completion time where paths differ: no flow beats it, and it is that of the best path that its transport may take.

use anabranch_sim::measure::{FlowRow, RunRecord};
use anabranch_sim::network::Ending;
use anabranch_sim::scenario::parse;
use std::fs;
use std::path::Path;

/// The flows of a scenario's only run, all of which are complete. `fabric` is the text of a topology file that it may name.
fn flows(name: &str, fabric: &str, text: &str, overrides: &[&str]) -> Vec<FlowRow> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder for the fabric");
    fs::write(folder.join("net.fabric"), fabric).expect("the fabric can be written");
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    let file = folder.join("s.toml").display().to_string();
    let plan = parse(&file, text, &overrides).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|n| n.events() < 10_000_000);
    assert_eq!(ending, Ending::Complete, "{name} {overrides:?}");
    RunRecord::take(&mut network, ending).flows
}

/// Completion time over ideal time.
fn slowdown(flow: &FlowRow) -> f64 {
    let took = flow.end.expect("complete").since(flow.start).ps();
    assert!(took >= flow.ideal_ps, "{took} ps is less than the ideal: {flow:?}");
    took as f64 / flow.ideal_ps as f64
}

const TRANSPORTS: [&str; 6] = ["udp", "newreno", "dctcp", "ndp", "scdp", "mptcp"];

const SLOWED: &str = r#"
[fabric]
topology = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
rate = "100Gbps"
delay = "1us"
[switch]
buffer = "unlimited"
[transport]
name = "udp"
[[workload]]
arrivals = { law = "explicit", times = ["1ms", "2ms", "3ms", "4ms", "5ms", "6ms", "7ms", "8ms"] }
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "pairs", pairs = [[0,4],[1,5],[2,6],[3,7],[0,5],[1,6],[2,7],[3,4]] }
[[failure]]
at = "0s"
link = "leaf0-spine0"
action = "slow"
rate = "1Gbps"
"#;

#[test]
fn one_of_two_uplinks_is_slow() {
    for transport in TRANSPORTS {
        for link in ["leaf0-spine0", "leaf0-spine1", "leaf1-spine0"] {
            let over = [format!("transport.name={transport}"), format!("failure.0.link={link}")];
            let flows = flows("slowed", "", SLOWED, &over.each_ref().map(String::as_str));
            assert_eq!(flows.len(), 8);
            for flow in &flows {
                assert!(slowdown(flow) >= 1.0);
                // 680 packets of 120 ns each, of which the last has 540 bytes, over four links of 1 us.
                assert!(transport != "udp" || flow.ideal_ps == 85_883_200, "{flow:?}");
                assert!((82_000_000..100_000_000).contains(&flow.ideal_ps), "{transport}: {flow:?}");
            }
        }
    }
}

#[test]
fn the_fabric_as_it_is_at_the_request_counts_while_it_stays_so() {
    // Both uplinks are slow: now the slow rate is the best. Then both are fast again, in the middle of the last flow.
    let both = format!(
        "{SLOWED}{}{}",
        "[[failure]]\nat = '0s'\nlink = 'leaf0-spine1'\naction = 'slow'\nrate = '1Gbps'\n",
        "[[failure]]\nat = '62ms'\nswitch = 'leaf0'\naction = 'restore'\n"
    );
    let times = r#"workload.0.arrivals={ law = "explicit", times = ["1ms", "20ms", "40ms", "60ms"] }"#;
    for transport in ["udp", "newreno", "ndp"] {
        let name = format!("transport.name={transport}");
        let flows = flows("restored", "", &both, &[&name, times]);
        let slowdowns: Vec<f64> = flows.iter().map(slowdown).collect();
        // A flow on one path has a gigabit a second, and one that is sprayed two.
        let least = if transport == "ndp" { 4_000_000_000 } else { 8_000_000_000 };
        for flow in &flows[..3] {
            assert!((least..least + 600_000_000).contains(&flow.ideal_ps), "{transport}: {flow:?}");
        }
        assert!(flows[3].ideal_ps < 100_000_000 && slowdowns[3] > 2.0, "{transport}: {:?}", flows[3]);
    }
}

const HOMES: &str = "[hosts]\nh0, 0\nh1, 0\n[switches]\ns, edge\nf, edge\n[links]\n\
    h0, s, 1Gbps\ns, h1, 1Gbps\nh0, f, 100Gbps\nf, h1, 100Gbps\n";

const HOMED: &str = r#"
[fabric]
topology = "file"
path = "net.fabric"
host_links = "several"
delay = "1us"
[transport]
name = "udp"
[[workload]]
arrivals = { law = "interval", every = "20ms" }
sessions = 6
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "pairs", pairs = [[0, 1]] }
"#;

#[test]
fn hosts_have_a_slow_and_a_fast_link() {
    for transport in TRANSPORTS {
        for host_links in ["several", "relay"] {
            for order in
                [HOMES.to_owned(), HOMES.replace("1Gbps", "x").replace("100Gbps", "1Gbps").replace('x', "100Gbps")]
            {
                let over = [format!("transport.name={transport}"), format!("fabric.host_links={host_links}")];
                for flow in flows("homes", &order, HOMED, &over.each_ref().map(String::as_str)) {
                    assert!(slowdown(&flow) >= 1.0);
                    // One path of 100 Gbps, or both, of 101 Gbps.
                    let one = 80_000_000..90_000_000_u64;
                    assert!(one.contains(&flow.ideal_ps), "{transport}: {flow:?}");
                    assert!(transport != "udp" || flow.ideal_ps == 83_643_200, "{flow:?}");
                }
            }
        }
    }
}

#[test]
fn the_nearest_of_several_senders_counts() {
    // Senders in the receiver's rack, and others behind a millisecond.
    let text = r#"
        [fabric]
        topology = "leaf-spine"
        leaves = 2
        spines = 2
        hosts_per_leaf = 4
        layers = { core = { delay = "1ms" } }
        [transport]
        name = "scdp"
        [[workload]]
        sessions = 20
        arrivals = { law = "interval", every = "50ms" }
        sizes = { law = "fixed", size = "20KB" }
        placement = { pattern = "replicas", replicas = 3, policy = "hdfs", access = "read" }
    "#;
    for fallback in ["", "workload.0.fallback=nearest", "workload.0.fallback=partition"] {
        let over: Vec<&str> = if fallback.is_empty() { vec![] } else { vec!["transport.name=newreno", fallback] };
        for size in ["1B", "1436B", "3KB", "20KB", "300KB"] {
            let size = format!("workload.0.sizes.size={size}");
            let over: Vec<&str> = over.iter().copied().chain([size.as_str()]).collect();
            for flow in flows("nearest", "", text, &over) {
                assert!(slowdown(&flow) >= 1.0);
            }
        }
    }
}
