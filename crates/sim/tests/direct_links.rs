//! Hosts that are linked to one another, with switches or without any.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Ending;
use anabranch_sim::scenario::parse;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// `[hosts]` of so many, then `links` between them and further lines.
fn fabric(hosts: u32, links: &[(&str, &str)], switches: &str) -> String {
    let mut text = "[hosts]\n".to_owned();
    for host in 0..hosts {
        let _ = writeln!(text, "h{host}, {}", host / 4);
    }
    let _ = writeln!(text, "[switches]\n{switches}\n[links]");
    for (a, b) in links {
        let _ = writeln!(text, "{a}, {b}, 200Gbps, 5us");
    }
    text
}

/// Runs all pairs of hosts, one session each at the same time, and gives the links of each flow by sender and receiver.
fn all_pairs(name: &str, fabric: &str, hosts: u32, transport: &str, more: &[&str]) -> Vec<((u32, u32), u8)> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("direct-{name}"));
    fs::create_dir_all(&folder).expect("a folder for the fabric");
    fs::write(folder.join("net.fabric"), fabric).expect("the fabric can be written");
    let pairs: Vec<String> =
        (0..hosts).flat_map(|a| (0..hosts).filter(move |&b| b != a).map(move |b| format!("[{a}, {b}]"))).collect();
    let text = format!(
        "[fabric]\ntopology = 'file'\npath = 'net.fabric'\nhost_links = 'relay'\n[transport]\nname = '{transport}'\n\
         [[workload]]\nsizes = {{ law = 'fixed', size = '20KB' }}\nsessions = {}\n\
         placement = {{ pattern = 'pairs', pairs = [{}] }}\n",
        pairs.len(),
        pairs.join(", ")
    );
    let more: Vec<String> = more.iter().map(|&o| o.to_owned()).collect();
    let plan = parse(&folder.join("s.toml").display().to_string(), &text, &more).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{name}: {e}"));
    let ending = network.run(|n| n.events() < 10_000_000);
    assert_eq!(ending, Ending::Complete, "{name} {transport}");
    let record = RunRecord::take(&mut network, ending);
    let hops = |flow: &anabranch_sim::measure::FlowRow| {
        assert!(flow.end.expect("complete").since(flow.start).ps() >= flow.ideal_ps, "{flow:?}");
        ((flow.src_host, flow.dst_host), flow.hops)
    };
    record.flows.iter().map(hops).collect()
}

const TRANSPORTS: [&str; 5] = ["udp", "ndp", "scdp", "dctcp", "mptcp"];

#[test]
fn two_hosts_back_to_back() {
    let text = fabric(2, &[("h0", "h1")], "");
    for transport in TRANSPORTS {
        assert_eq!(all_pairs("pair", &text, 2, transport, &[]), [((0, 1), 1), ((1, 0), 1)], "{transport}");
    }
}

#[test]
fn a_ring_of_hosts_relays_the_short_way_round() {
    let names: Vec<String> = (0..6).map(|h| format!("h{h}")).collect();
    let links: Vec<(&str, &str)> = (0..6).map(|h| (names[h].as_str(), names[(h + 1) % 6].as_str())).collect();
    let text = fabric(6, &links, "");
    for transport in TRANSPORTS {
        for ((a, b), hops) in all_pairs("ring", &text, 6, transport, &[]) {
            let apart = a.abs_diff(b);
            assert_eq!(u32::from(hops), apart.min(6 - apart), "{transport}: {a} to {b}");
        }
    }
    // Schemes that go by switches, of which there are none.
    for mode in ["valiant", "d-mod-k", "nix-vector", "virtual-tables", "single", "flowlet"] {
        assert_eq!(all_pairs("ring", &text, 6, "ndp", &[&format!("routing.mode={mode}")]).len(), 30, "{mode}");
    }
}

#[test]
fn a_mesh_within_each_of_two_boxes_and_links_between_them() {
    let mut links = Vec::new();
    let names: Vec<String> = (0..8).map(|h| format!("h{h}")).collect();
    for (a, b) in (0..4).flat_map(|a| (a + 1..4).map(move |b| (a, b))) {
        links.extend([(names[a].as_str(), names[b].as_str()), (names[a + 4].as_str(), names[b + 4].as_str())]);
    }
    links.extend((0..4).map(|h| (names[h].as_str(), names[h + 4].as_str())));
    let text = fabric(8, &links, "");
    for transport in TRANSPORTS {
        for ((a, b), hops) in all_pairs("mesh", &text, 8, transport, &[]) {
            let expected = u8::from(a % 4 != b % 4) + u8::from(a / 4 != b / 4);
            assert_eq!(hops, expected, "{transport}: {a} to {b}");
        }
    }
    // To several at once, by trees whose branches are hosts.
    let groups = r#"workload.0.placement={ pattern = "replicas", replicas = 3, policy = "random", access = "write" }"#;
    assert_eq!(all_pairs("mesh", &text, 8, "scdp", &[groups, "workload.0.sessions=9"]).len(), 27);
}

#[test]
fn some_hosts_have_a_switch_and_others_only_a_neighbour() {
    let links = [("h0", "s"), ("h1", "s"), ("h2", "h1"), ("h3", "h2"), ("h3", "h0")];
    let text = fabric(4, &links, "s, edge");
    for transport in TRANSPORTS {
        let flows = all_pairs("mixed", &text, 4, transport, &[]);
        let hops = |a, b| flows.iter().find(|(ends, _)| *ends == (a, b)).map(|(_, hops)| *hops);
        assert_eq!((hops(0, 1), hops(1, 2), hops(0, 2), hops(3, 1)), (Some(2), Some(1), Some(2), Some(2)));
    }
}
