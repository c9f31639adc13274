//! Counts, degrees and names of every topology; what bad configurations say.

use super::*;
use crate::fabric::graph::Level;
use anabranch_transport::{Duration, Rate};
use proptest::prelude::*;

/// The topology of a scenario's `[fabric]` table.
pub(crate) fn config(toml: &str) -> TopologyConfig {
    toml::from_str(toml).unwrap_or_else(|e| panic!("{toml}: {e}"))
}

/// The fabric of a scenario's `[fabric]` table.
pub(crate) fn fabric(toml: &str) -> Graph {
    config(toml).build(Path::new(".")).unwrap_or_else(|e| panic!("{toml}: {e}"))
}

/// The fabric that the text of a topology file describes.
pub(crate) fn parse(text: &str) -> Result<Graph, TopologyError> {
    let file = FileTopology {
        path: "net.topo".into(),
        rate: Rate::from_gbps(1),
        delay: Duration::from_us(10),
        parallel_links: true,
        host_links: HostLinks::One,
    };
    let graph = file.parse(text, Path::new("net.topo"))?;
    graph.validate()?;
    Ok(graph)
}

/// Random connected fabrics of up to 12 switches and 15 hosts, with parallel links.
pub(crate) fn random_fabric() -> impl Strategy<Value = Graph> {
    (2..=12_usize).prop_flat_map(|switches| {
        // Each switch hangs off an earlier one, which makes a tree; the extra links make cycles.
        let tree = (1..switches).map(|s| 0..s).collect::<Vec<_>>();
        let extra = prop::collection::vec((0..switches, 0..switches), 0..20);
        let hosts = prop::collection::vec(0..switches, 2..15);
        (tree, extra, hosts).prop_map(move |(tree, extra, hosts)| {
            let mut text = String::from("[hosts]\n");
            text.extend((0..hosts.len()).map(|h| format!("h{h}\n")));
            text += "[switches]\n";
            text.extend((0..switches).map(|s| format!("s{s}\n")));
            text += "[links]\n";
            text.extend(extra.iter().filter(|(a, b)| a != b).map(|(a, b)| format!("s{a}, s{b}\n")));
            text.extend(hosts.iter().enumerate().map(|(h, s)| format!("h{h}, s{s}\n")));
            text.extend(tree.iter().enumerate().map(|(i, parent)| format!("s{}, s{parent}\n", i + 1)));
            parse(&text).unwrap()
        })
    })
}

/// [`random_fabric`] and further links of its hosts; half of them have hosts that relay and are linked to one another.
pub(crate) fn random_multi_homed() -> impl Strategy<Value = Graph> {
    let ends = || prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..12);
    (random_fabric(), ends(), prop::option::of(ends())).prop_map(|(mut g, to_switches, to_hosts)| {
        g.hosts_relay = to_hosts.is_some();
        let (hosts, switches) = (g.hosts as usize, g.nodes.len() - g.hosts as usize);
        let to_switches = to_switches.iter().map(|(h, s)| (h.index(hosts), hosts + s.index(switches)));
        let to_hosts = to_hosts.iter().flatten().map(|(a, b)| (a.index(hosts), b.index(hosts)));
        for (a, b) in to_switches.chain(to_hosts).filter(|(a, b)| a != b).collect::<Vec<_>>() {
            g.connect(a as u32, b as u32, Rate::from_gbps(1), Duration::from_us(10));
        }
        assert_eq!(g.validate(), Ok(()));
        g
    })
}

/// Either kind of random fabric.
pub(crate) fn any_fabric() -> impl Strategy<Value = Graph> {
    prop_oneof![random_fabric(), random_multi_homed()]
}

/// Number of nodes at each level: host, edge, aggregation, core.
fn census(g: &Graph) -> [usize; 4] {
    [Level::Host, Level::Edge, Level::Aggregation, Level::Core]
        .map(|level| g.nodes.iter().filter(|n| n.level == level).count())
}

/// Every switch has `ports` links.
fn assert_switch_degrees(g: &Graph, ports: usize) {
    for (n, list) in g.ports_by_node().iter().enumerate().skip(g.hosts as usize) {
        assert_eq!(list.len(), ports, "{}", g.nodes[n].name);
    }
}

fn error(toml: &str) -> String {
    config(toml).build(Path::new(".")).unwrap_err().to_string()
}

fn parse_error(toml: &str) -> String {
    toml::from_str::<TopologyConfig>(toml).unwrap_err().to_string()
}

#[test]
fn fat_trees_have_the_published_counts() {
    for k in (2..=24_usize).step_by(2) {
        let g = fabric(&format!("topology = 'fat-tree'\nk = {k}"));
        let half = k / 2;
        assert_eq!(census(&g), [k * half * half, k * half, k * half, half * half]);
        assert_eq!(g.links.len(), 3 * k * half * half);
        assert_switch_degrees(&g, k);
    }
    // SCDP §V: 250 servers, 25 core switches, 5 aggregation switches in each pod, 5 servers under each ToR switch.
    let g = fabric("topology = 'fat-tree'\nk = 10");
    assert_eq!(census(&g), [250, 50, 50, 25]);
    assert!(g.links.iter().all(|l| l.rate == Rate::from_gbps(1) && l.delay == Duration::from_us(10)));
}

#[test]
fn fat_tree_hosts_are_numbered_pod_by_pod_and_edge_by_edge() {
    let g = fabric("topology = 'fat-tree'\nk = 6");
    let racks = g.racks();
    for h in 0..g.hosts {
        let edge = &g.nodes[racks[h as usize] as usize];
        assert_eq!(edge.name, format!("edge{}.{}", h / 9, h % 9 / 3));
        assert_eq!((edge.pod, g.nodes[h as usize].pod), (Some(h / 9), Some(h / 9)));
    }
    // Each core switch has one link to each pod.
    let cores = g.nodes.iter().enumerate().filter(|(_, n)| n.level == Level::Core);
    for (core, _) in cores {
        let ports = &g.ports_by_node()[core];
        let pods: Vec<_> = ports.iter().map(|&p| g.nodes[g.port_peer(p) as usize].pod.unwrap()).collect();
        assert_eq!(pods, (0..6).collect::<Vec<_>>());
    }
}

#[test]
fn mport_ntrees_have_the_closed_form_counts() {
    for (m, n) in [(2, 1), (2, 2), (2, 5), (4, 1), (4, 2), (4, 3), (4, 4), (4, 6), (6, 3), (8, 2), (8, 4), (10, 3)] {
        let g = fabric(&format!("topology = 'm-port-n-tree'\nm = {m}\nn = {n}"));
        let half: usize = m / 2;
        let (hosts, switches) = (2 * half.pow(n), (2 * n as usize - 1) * half.pow(n - 1));
        assert_eq!((g.hosts as usize, g.nodes.len()), (hosts, hosts + switches), "FT({m}, {n})");
        assert_eq!(g.links.len(), hosts * n as usize);
        assert_switch_degrees(&g, m);
    }
}

#[test]
fn mport_ntrees_match_the_figures_of_song() {
    let tree = |m, n| fabric(&format!("topology = 'm-port-n-tree'\nm = {m}\nn = {n}"));
    assert_eq!(census(&tree(2, 2)), [2, 2, 0, 1]); // Song Figure 3.2: 2 nodes, 3 switches
    assert_eq!(census(&tree(4, 2)), [8, 4, 0, 2]); // Song Figure 3.3: 8 nodes, 6 switches
    assert_eq!(census(&tree(4, 3)), [16, 8, 8, 4]); // Song Figure 3.4: 16 nodes, 20 switches
    let last_pod = tree(4, 3).nodes.iter().filter_map(|n| n.pod).max();
    assert_eq!(last_pod, Some(3)); // Song Figure 1.4: 4 pods
    assert_eq!(tree(32, 3).hosts, 8192); // Song §3.3.3
}

#[test]
fn mport_ntree_labels_differ_in_one_digit_across_a_link() {
    let g = fabric("topology = 'm-port-n-tree'\nm = 6\nn = 4");
    let parts = |n: u32| {
        let name = g.nodes[n as usize].name.trim_start_matches(char::is_alphabetic);
        let (label, tier) = name.split_once('@').unwrap();
        (label.split('.').map(|d| d.parse().unwrap()).collect::<Vec<u32>>(), tier.parse::<usize>().unwrap())
    };
    let between_switches: Vec<_> = g.links.iter().filter(|l| !g.is_host(l.a)).collect();
    assert_eq!(between_switches.len(), 3 * 54 * 3);
    for link in between_switches {
        let ((lower, low), (upper, up)) = (parts(link.a), parts(link.b));
        assert_eq!(low, up + 1);
        assert!((0..3).all(|i| i == up || lower[i] == upper[i]), "{lower:?} {upper:?}");
        assert!(upper[0] < 3 || up > 0);
    }
}

#[test]
fn three_tiers_are_the_fat_tree() {
    // The same after renumbering the cores: FT(m, 3) joins core (i, j) to aggregation switch j of every pod, the
    // fat-tree joins core c to aggregation switch c / (k/2).
    let (tree, fat) = (fabric("topology = 'm-port-n-tree'\nm = 8\nn = 3"), fabric("topology = 'fat-tree'\nk = 8"));
    let cores = (fat.nodes.len() - 16) as u32;
    let renumber = |n: u32| if n < cores { n } else { cores + (n - cores) % 4 * 4 + (n - cores) / 4 };
    let ends = |g: &Graph, f: &dyn Fn(u32) -> u32| {
        let mut ends: Vec<_> = g.links.iter().map(|l| (f(l.a), f(l.b))).collect();
        ends.sort_unstable();
        ends
    };
    assert_eq!(ends(&tree, &renumber), ends(&fat, &|n| n));
}

#[test]
fn leaf_spine_takes_a_ratio_or_rates() {
    let shape = "topology = 'leaf-spine'\nleaves = 4\nspines = 2\nhosts_per_leaf = 6\nrate = '10Gbps'\n";
    let (given, derived) =
        (format!("{shape}oversubscription = 3"), format!("{shape}layers.core = {{ rate = '10Gbps' }}"));
    for toml in [&given, &derived] {
        let g = fabric(toml);
        assert_eq!(census(&g), [24, 4, 0, 2]);
        assert_eq!(g.links.len(), 24 + 8);
        assert!(g.links.iter().all(|l| l.rate == Rate::from_gbps(10)));
        let TopologyConfig::LeafSpine(config) = config(toml) else { panic!("not a leaf-spine") };
        assert!((config.oversubscription().unwrap() - 3.0).abs() < 1e-12);
    }
    let full = fabric(&format!("{shape}oversubscription = 1"));
    assert_eq!(full.links.last().unwrap().rate, Rate::from_gbps(30));
    let both = error(&format!("{shape}oversubscription = 3\nlayers.core.rate = '1Gbps'"));
    assert!(
        both.starts_with("`oversubscription` is 3: expected only one of it and `layers.core.rate`\nhint: "),
        "{both}"
    );
    assert!(error(&format!("{shape}oversubscription = 0")).contains("above zero"));
    assert!(error(&format!("{shape}oversubscription = nan")).contains("above zero"));
}

#[test]
fn star_and_dumbbell() {
    let g = fabric("topology = 'star'\nhosts = 5\nrate = '25Gbps'\ndelay = '1us'");
    assert_eq!((census(&g), g.links.len()), ([5, 1, 0, 0], 5));
    let toml = "topology = 'dumbbell'\nleft = 3\nright = 2\nbottleneck_rate = '100Mbps'\nbottleneck_delay = '1ms'";
    let g = fabric(toml);
    assert_eq!((census(&g), g.links.len()), ([5, 2, 0, 0], 6));
    assert_eq!(g.racks(), [5, 5, 5, 6, 6]);
    let middle = g.links.last().unwrap();
    assert_eq!((middle.rate, middle.delay), (Rate::from_mbps(100), Duration::from_ms(1)));
}

#[test]
fn layers_override_what_they_name() {
    let toml = "topology = 'fat-tree'\nk = 4\nrate = '10Gbps'\ndelay = '1us'
        layers = { host = { delay = '500ns' }, core = { rate = '40Gbps', delay = '5us' } }";
    let g = fabric(toml);
    let of = |level| {
        let l = g.links.iter().find(|l| g.nodes[l.b as usize].level == level).unwrap();
        (l.rate, l.delay)
    };
    assert_eq!(of(Level::Edge), (Rate::from_gbps(10), Duration::from_ns(500)));
    assert_eq!(of(Level::Aggregation), (Rate::from_gbps(10), Duration::from_us(1)));
    assert_eq!(of(Level::Core), (Rate::from_gbps(40), Duration::from_us(5)));
}

#[test]
fn impossible_values_are_named() {
    assert_eq!(
        error("topology = 'fat-tree'\nk = 7"),
        "`k` is 7: expected an even number from 2\nhint: k ports give k^3/4 hosts"
    );
    assert!(error("topology = 'fat-tree'\nk = 0").starts_with("`k` is 0: "));
    assert!(error("topology = 'fat-tree'\nk = 4294967295").contains("hint"));
    assert!(error("topology = 'fat-tree'\nk = 4294967294").contains("at most 1048576 hosts"));
    assert!(error("topology = 'fat-tree'\nk = 144").contains("routes"));
    assert_eq!(
        error("topology = 'fat-tree'\nk = 4\nrate = '0bps'"),
        "`rate` is 0bps: expected a bit rate above zero, up to 100Tbps"
    );
    assert!(error("topology = 'fat-tree'\nk = 4\ndelay = '1001s'").starts_with("`delay` is 1001s: "));
    assert!(error("topology = 'fat-tree'\nk = 4\nlayers.core.rate = '0'").starts_with("`layers.core.rate` is 0bps"));
    assert!(error("topology = 'm-port-n-tree'\nm = 5\nn = 2").starts_with("`m` is 5: expected an even number"));
    assert!(error("topology = 'm-port-n-tree'\nm = 4\nn = 0").starts_with("`n` is 0: expected 1 to 16"));
    assert!(error("topology = 'm-port-n-tree'\nm = 4000000000\nn = 16").contains("at most 1048576 hosts"));
    assert!(error("topology = 'm-port-n-tree'\nm = 4\nn = 2\nlayers.aggregation = {}").contains("host, core"));
    assert!(error("topology = 'star'\nhosts = 1").starts_with("`hosts` is 1: expected at least 2"));
    assert!(error("topology = 'dumbbell'\nleft = 1\nright = 0").starts_with("`right` is 0: "));
    assert!(error("topology = 'dumbbell'\nleft = 4294967295\nright = 4294967295").contains("1048576 hosts"));
    let zero = error("topology = 'dumbbell'\nleft = 1\nright = 1\nbottleneck_rate = '0bps'");
    assert!(zero.starts_with("`bottleneck_rate` is 0bps"), "{zero}");
    let leaf = |l, s, h| error(&format!("topology = 'leaf-spine'\nleaves = {l}\nspines = {s}\nhosts_per_leaf = {h}"));
    assert!(leaf(0, 1, 1).starts_with("`leaves` is 0"));
    assert!(leaf(1, 1, 1).contains("at least 2 hosts"));
    assert!(leaf(100, 1_000_000, 1).contains("at most 16777216 links"));
    assert!(leaf(u32::MAX, u32::MAX, u32::MAX).contains("at most 1048576 hosts"));
}

#[test]
fn impossible_values_of_random_and_server_centric_fabrics_are_named() {
    let cube = |topology, n, k| error(&format!("topology = '{topology}'\nn = {n}\nk = {k}"));
    assert_eq!(cube("bcube", 1, 1), "`n` is 1: expected at least 2 ports");
    assert_eq!(cube("bcube", 4, 16), "`k` is 16: expected 0 to 15\nhint: BCube_k has n^(k+1) hosts");
    assert!(
        cube("bcube", u32::MAX, 15).starts_with("`n, k` is 4294967295, 15: expected a fabric of at most 1048576 hosts")
    );
    assert!(cube("bcube", 30, 2).contains("at most 268435456 routes"));
    assert!(cube("dcell", 1, 1).starts_with("`n` is 1: expected at least 2 hosts"));
    assert!(cube("dcell", 4, 5).starts_with("`k` is 5: expected 0 to 4\nhint: "));
    // The paper's example: 3.26 million servers with n = 6, k = 3.
    assert!(cube("dcell", 6, 3).contains("(this one would have 3263442)"));
    assert!(cube("dcell", u32::MAX, 4).contains("at most 1048576 hosts"));
    let jellyfish = |switches, ports, hosts| {
        error(&format!("topology = 'jellyfish'\nswitches = {switches}\nports = {ports}\nhosts_per_switch = {hosts}"))
    };
    assert_eq!(jellyfish(10, 4, 0), "`hosts_per_switch` is 0: expected at least 1 host");
    assert!(jellyfish(10, 4, 2).starts_with("`ports` is 4: expected at least 3 more than `hosts_per_switch`\nhint: "));
    assert!(jellyfish(10, 2, 4).starts_with("`ports` is 2: "));
    assert!(jellyfish(5, 7, 2).starts_with("`switches` is 5: expected more than the 5 neighbours of each switch"));
    assert!(jellyfish(7, 7, 2).starts_with("`switches` is 7: expected an even number, since each switch has an odd"));
    assert!(jellyfish(u32::MAX - 1, u32::MAX, 1 << 30).contains("at most 1048576 hosts"));
    assert!(jellyfish(20_000, 4, 1).contains("at most 268435456 routes"));
    let vl2 = |d_a, d_i, hosts| error(&format!("topology = 'vl2'\nd_a = {d_a}\nd_i = {d_i}\nhosts_per_tor = {hosts}"));
    assert_eq!(vl2(3, 4, 20), "`d_a` is 3: expected an even number from 2");
    assert_eq!(vl2(4, 0, 20), "`d_i` is 0: expected an even number from 2");
    assert_eq!(vl2(4, 4, 0), "`hosts_per_tor` is 0: expected at least 1 host");
    assert!(vl2(2, 2, 1).contains("at least 2 hosts"));
    assert!(vl2(u32::MAX - 1, u32::MAX - 1, u32::MAX).contains("at most 1048576 hosts"));
    let fast = error("topology = 'vl2'\nd_a = 4\nd_i = 4\nrate = '40Tbps'");
    assert!(fast.starts_with("`switch_rate` is 400Tbps: expected a bit rate above zero"), "{fast}");
}

#[test]
fn unknown_keys_are_rejected() {
    assert!(parse_error("topology = 'fat-tree'\nk = 4\nhosts = 3").contains("unknown field `hosts`"));
    assert!(parse_error("topology = 'fat-tree'\nk = 4\nlayers.edge.rate = '1Gbps'").contains("unknown field `edge`"));
    assert!(parse_error("topology = 'fat-tree'\nk = 4\nlayers.core.speed = 1").contains("unknown field `speed`"));
    assert!(parse_error("topology = 'fattree'\nk = 4").contains("`fat-tree`, `m-port-n-tree`"));
    assert!(parse_error("k = 4").contains("missing field `topology`"));
}

#[test]
fn a_configuration_is_written_as_it_is_read() {
    for toml in [
        "topology = 'fat-tree'\nk = 4\nlayers.core.rate = '40Gbps'",
        "topology = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\noversubscription = 2.5",
        "topology = 'dumbbell'\nleft = 1\nright = 1",
        "topology = 'file'\npath = 'net.topo'",
        "topology = 'file'\npath = 'net.topo'\nhost_links = 'relay'",
        "topology = 'vl2'\nd_a = 4\nd_i = 6\nswitch_rate = '40Gbps'",
        "topology = 'jellyfish'\nswitches = 10\nports = 5\nhosts_per_switch = 2\nseed = 3",
        "topology = 'bcube'\nn = 4\nk = 1",
        "topology = 'dcell'\nn = 4\nk = 1",
    ] {
        let read = config(toml);
        assert!(TopologyConfig::NAMES.contains(&read.name()));
        let written = toml::to_string(&read).unwrap();
        assert_eq!(config(&written), read, "{written}");
    }
}

#[test]
fn the_schema_rejects_unknown_keys_and_knows_the_tag() {
    let schema = serde_json::to_value(schemars::schema_for!(TopologyConfig)).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    assert_eq!(variants.len(), TopologyConfig::NAMES.len());
    for (variant, name) in variants.iter().zip(TopologyConfig::NAMES) {
        assert_eq!(variant["properties"]["topology"]["const"], *name, "{variant}");
        assert_eq!(variant["additionalProperties"], false, "{variant}");
        assert!(variant["properties"]["rate"].is_object(), "{variant}");
        assert!(variant["description"].is_string(), "{variant}");
    }
}

const RING: &str = "[hosts]\na, 1\nb # no pod\n[switches]\nx\ny, core\nz, aggregation, 3\n
[links]\na, x\nb, y, 10Gbps\nx, y, 2.5Gbps, 1ms\ny, z\nz, x, , 3us\n";

#[test]
fn a_file_says_what_is_there() {
    let g = parse(RING).unwrap();
    assert_eq!(census(&g), [2, 1, 1, 1]);
    assert_eq!((g.nodes[0].pod, g.nodes[1].pod, g.nodes[4].pod), (Some(1), None, Some(3)));
    let links: Vec<_> = g.links.iter().map(|l| (l.a, l.b, l.rate.bps() / 1_000_000, l.delay)).collect();
    let us = Duration::from_us;
    assert_eq!(
        links,
        [
            (0, 2, 1000, us(10)),
            (1, 3, 10_000, us(10)),
            (2, 3, 2500, us(1000)),
            (3, 4, 1000, us(10)),
            (4, 2, 1000, us(3))
        ]
    );
}

#[test]
fn a_file_is_found_from_the_scenario_folder() {
    let folder = std::env::temp_dir().join(format!("anabranch-topology-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ring.topo"), RING).unwrap();
    let g = config("topology = 'file'\npath = 'ring.topo'").build(&folder);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(g.unwrap(), parse(RING).unwrap());
    let missing = config("topology = 'file'\npath = 'ring.topo'").build(&folder).unwrap_err().to_string();
    assert!(missing.contains("ring.topo") && missing.contains("hint: relative paths"), "{missing}");
}

#[test]
fn a_bad_file_gets_its_line() {
    let message = |from: &str, to: &str| {
        assert!(RING.contains(from));
        parse(&RING.replacen(from, to, 1)).unwrap_err().to_string()
    };
    let expect = |from, to, start: &str| {
        let message = message(from, to);
        assert!(message.starts_with(start), "{message}");
    };
    expect("[switches]", "[switch]", "net.topo:4: section [switch]: expected [hosts], [switches] or [links]");
    expect("[hosts]\n", "", "net.topo:1: \"a, 1\": expected a section first");
    expect("a, 1", "a, one", "net.topo:2: pod \"one\": expected a whole number");
    expect("a, 1", "a, 1, 2", "net.topo:2: \"a, 1, 2\": expected name [, pod]");
    expect("a, 1", ", 1", "net.topo:2: an empty name");
    expect("b #", "a #", "net.topo:3: a a second time");
    expect("core", "spine", "net.topo:6: level \"spine\": expected edge, aggregation or core");
    expect("a, x", "a", "net.topo:10: \"a\": expected node, node [, rate [, delay]]");
    expect("a, x", "a, w", "net.topo:10: node \"w\": expected a name listed above");
    expect("a, x", "a, a", "net.topo:10: a link from a to itself");
    expect("a, x", "a, b", "net.topo:10: a link between the hosts a and b");
    expect(
        "a, x",
        "a, x\na, y",
        "net.topo:11: a second link of host a: expected exactly one link for each host\nhint: ",
    );
    expect("a, x\n", "", "net.topo:2: host a without a link");
    expect("2.5Gbps", "2.5", "net.topo:12: \"2.5\" is not a bit rate: the unit is missing");
    expect("2.5Gbps", "0bps", "net.topo:12: rate 0bps: expected a bit rate above zero");
    expect("1ms", "1h", "net.topo:12: \"1h\" is not a time: unknown unit");
    let parts = "net.topo:3: b, which no path joins to a: expected a connected fabric";
    expect("x, y, 2.5Gbps, 1ms\ny, z\nz, x, , 3us", "z, x", parts);
    expect("a, x", "a, x\na, x", "net.topo:11: a second link of host a");
    assert!(parse("").unwrap_err().to_string().starts_with("net.topo:1: 0 hosts by the end"));
    let typo = parse("[hosts]\nhost1\nhost2\n[switches]\nedge1\n[links]\nhost1, egde1").unwrap_err().to_string();
    assert!(typo.ends_with("hint: did you mean edge1?"), "{typo}");
}

#[test]
fn parallel_links_must_be_meant() {
    let twice = RING.replace("y, z\n", "y, z\nz, y\n");
    assert_eq!(parse(&twice).unwrap().links.len(), 6);
    let strict = FileTopology {
        path: "net.topo".into(),
        rate: Rate::from_gbps(1),
        delay: Duration::ZERO,
        parallel_links: false,
        host_links: HostLinks::One,
    };
    let message = strict.parse(&twice, Path::new("net.topo")).unwrap_err().to_string();
    assert!(
        message.starts_with("net.topo:14: a second link between z and y: expected each link once\nhint: "),
        "{message}"
    );
}

#[test]
fn a_file_may_have_hosts_with_several_links() {
    let file = |host_links| FileTopology {
        path: "net.topo".into(),
        rate: Rate::from_gbps(1),
        delay: Duration::ZERO,
        parallel_links: false,
        host_links,
    };
    let read = |host_links, text: &str| file(host_links).parse(text, Path::new("net.topo")).map_err(|e| e.to_string());
    let dual = RING.replace("a, x", "a, x\na, y");
    let g = read(HostLinks::Several, &dual).unwrap();
    assert!(g.multi_homed() && !g.hosts_relay && g.validate().is_ok());
    assert_eq!(g.racks(), [2, 3]);
    let ring = RING.replace("a, x", "a, x\na, b");
    assert!(read(HostLinks::Several, &ring).unwrap_err().contains("a link between the hosts a and b"));
    let g = read(HostLinks::Relay, &ring).unwrap();
    assert!(g.multi_homed() && g.hosts_relay && g.validate().is_ok());
    let behind = RING.replace("a, x", "a, b");
    let g = read(HostLinks::Relay, &behind).unwrap();
    assert_eq!((g.validate(), g.racks()[0]), (Ok(()), 0));
    let none = read(HostLinks::Relay, &RING.replace("a, x\n", "")).unwrap_err();
    assert!(none.ends_with("host a without a link: expected at least one link"), "{none}");
}

proptest! {
    #[test]
    fn any_text_gives_a_fabric_or_an_error(text in "(\\[hosts\\]|\\[switches\\]|\\[links\\]|[a-c]|,|1Gbps|\\n|#|.){0,60}") {
        if let Ok(g) = parse(&text) {
            prop_assert!(g.hosts >= 2);
        }
    }
}
