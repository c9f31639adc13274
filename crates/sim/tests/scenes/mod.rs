//! Random small scenarios, as a person would write them: every transport and fabric that the file format knows.

use anabranch_sim::network::{Ending, Network};
use anabranch_sim::scenario::{Plan, TransportName, parse};
use proptest::prelude::*;
use proptest::sample::select;

/// All transports that a scenario can name.
pub(crate) fn transports() -> impl Iterator<Item = &'static str> {
    TransportName::ALL.iter().map(|transport| transport.name())
}

/// One of them.
pub(crate) fn transport() -> impl Strategy<Value = &'static str> {
    select(transports().collect::<Vec<_>>())
}

/// Fabrics of eight to sixteen hosts. In the last one, links between switches have half the rate of the others.
const FABRICS: [&str; 7] = [
    r#"topology = "star", hosts = 8"#,
    r#"topology = "dumbbell", left = 3, right = 5"#,
    r#"topology = "leaf-spine", leaves = 4, spines = 3, hosts_per_leaf = 3"#,
    r#"topology = "leaf-spine", leaves = 3, spines = 2, hosts_per_leaf = 4"#,
    r#"topology = "fat-tree", k = 4"#,
    r#"topology = "m-port-n-tree", m = 4, n = 2"#,
    r#"topology = "leaf-spine", leaves = 3, spines = 1, hosts_per_leaf = 4, oversubscription = 8"#,
];

/// Who sends to whom, and in which mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    workload: &'static str,
    sessions_per_request: u32,
}

const fn traffic(workload: &'static str, sessions_per_request: u32) -> Traffic {
    Traffic { workload, sessions_per_request }
}

const UNICAST: [Traffic; 3] = [
    traffic(r#"placement = { pattern = "random" }"#, 1),
    traffic(r#"placement = { pattern = "permutation", share = 0.6 }"#, 1),
    traffic(r#"placement = { pattern = "incast", senders = 5 }"#, 5),
];
const ONE_TO_MANY: Traffic =
    traffic(r#"placement = { pattern = "replicas", replicas = 3, policy = "random" }, mode = "one_to_many""#, 1);
const MANY_TO_ONE: Traffic =
    traffic(r#"placement = { pattern = "replicas", replicas = 3, policy = "random" }, mode = "many_to_one""#, 1);

/// Parameters of transports that say after how long something is taken for lost, and short ones.
const TIMEOUTS: &[(&str, &str)] = &[
    ("scdp.pull_timeout", "2ms"),
    ("scdp.probe_timeout", "8ms"),
    ("ndp.rto", "1ms"),
    ("ndp.pull_timeout", "1ms"),
    ("homa.resend_timeout", "1ms"),
    ("phost.token_lifetime", "100us"),
    ("phost.reissue_timeout", "1ms"),
    ("phost.resend_timeout", "1ms"),
    ("tcp.rto_min", "10ms"),
    ("pfabric.rto", "10ms"),
    ("roce.timeout", "10ms"),
    ("uec.rto", "1ms"),
];

/// Transports that are made for fabrics that lose nothing.
const GO_BACK: &[&str] = &["roce", "dcqcn", "timely", "hpcc"];

/// A scenario.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) fabric: &'static str,
    pub(crate) rate_mbps: u64,
    pub(crate) delay_ns: u64,
    pub(crate) traffic: Traffic,
    pub(crate) requests: u32,
    pub(crate) size_bytes: u64,
    /// Offered load; `None`: all at once.
    pub(crate) load: Option<f64>,
    pub(crate) window: u32,
    pub(crate) block_symbols: u32,
    /// Of switches, for data; `None`: unlimited.
    pub(crate) buffer_packets: Option<u32>,
    /// Nothing is taken for lost however long it takes.
    pub(crate) patient: bool,
    pub(crate) multicast_trees: u32,
    pub(crate) seed: u32,
}

impl Scene {
    pub(crate) fn toml(&self) -> String {
        let Self { fabric, rate_mbps, delay_ns, size_bytes, window, block_symbols, seed, .. } = self;
        let Traffic { workload, sessions_per_request } = self.traffic;
        let sessions = self.requests * sessions_per_request;
        let all_at_once = || r#"law = "synchronised""#.to_owned();
        let arrivals = self.load.map_or_else(all_at_once, |load| format!(r#"law = "poisson", load = {load}"#));
        let buffer = self.buffer_packets.map_or_else(|| "unlimited".to_owned(), |n| format!("{n} packets"));
        let timeout = |(key, short): &(&str, &str)| format!("{key} = {:?}\n", if self.patient { "40s" } else { short });
        let timeouts: String = TIMEOUTS.iter().map(timeout).collect();
        format!(
            r#"
seed = {seed}
fabric = {{ {fabric}, rate = "{rate_mbps}Mbps", delay = "{delay_ns}ns" }}
switch = {{ buffer = "{buffer}", header_buffer = "unlimited" }}
routing = {{ multicast_trees = {trees} }}
run = {{ stop = "all" }}
workload = [{{ {workload}, sessions = {sessions}, sizes = {{ law = "fixed", size = "{size_bytes}B" }}, arrivals = {{ {arrivals} }} }}]
[transport]
name = "scdp"
scdp.initial_window = {window}
scdp.initial_window_many_to_one = {window}
scdp.block_symbols = {block_symbols}
# No packet is thought lost for being overtaken: paths differ in length by what waits on them.
scdp.reorder_tolerance = 0
ndp.initial_window = {window}
tcp.initial_window = {window}
# Switches lose packets here: it goes back again and again.
roce.packet = "1500B"
roce.retries = 1000
homa.linger = "100s"
uec.initial_window = {window}
uec.linger = "100s"
phost.linger = "100s"
{timeouts}"#,
            trees = self.multicast_trees,
        )
    }

    /// With these settings instead: `key=value`.
    pub(crate) fn plan(&self, overrides: &[&str]) -> Plan {
        read(&self.toml(), overrides)
    }

    /// All transports under `seeds` seeds.
    pub(crate) fn sweep(&self, seeds: u32) -> Plan {
        let names: Vec<_> = transports().collect();
        read(&format!("repeat = {seeds}\n{}[sweep]\n\"transport.name\" = {names:?}\n", self.toml()), &[])
    }

    pub(crate) fn network(&self, transport: &str) -> Network {
        self.network_with(transport, &[])
    }

    pub(crate) fn network_with(&self, transport: &str, overrides: &[&str]) -> Network {
        let name = format!("transport.name={transport}");
        // Senders that go back keep step, and lose the same packets again and again, or fill long queues with repetitions: in random worlds they may
        // fail (`properties`).
        let room = ["switch.buffer=unlimited", "transport.roce.timeout=40s"];
        let needs = if GO_BACK.contains(&transport) { room.as_slice() } else { &[] };
        let plan = self.plan(&[&[name.as_str()], needs, overrides].concat());
        plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}\n{}", self.toml()))
    }

    /// K: packets of an object of SCDP's.
    pub(crate) fn symbols(&self) -> u64 {
        self.size_bytes.div_ceil(1436)
    }
}

fn read(text: &str, overrides: &[&str]) -> Plan {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    parse("scene.toml", text, &overrides).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs to the end, which must be a good one; scenes this small need less than a million events.
pub(crate) fn complete(network: &mut Network) {
    let ending = network.run(|n| n.events() < 4_000_000);
    assert_eq!(ending, Ending::Complete, "{} wait after {} events", network.unfinished(), network.events());
    network.finish();
}

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![select(vec![1, 1436, 1437, 100_000]), 1..5_000_u64, 1..200_000_u64]
}

/// Scenes with this kind of traffic.
fn scenes_of(traffic: Vec<Traffic>, buffer: impl Strategy<Value = Option<u32>>) -> impl Strategy<Value = Scene> {
    let network = (select(FABRICS.to_vec()), select(vec![100, 1_000, 10_000]), select(vec![0, 500, 10_000]));
    let load = prop_oneof![Just(None), (0.05..1.5_f64).prop_map(Some)];
    let traffic = (select(traffic), 1..12_u32, sizes(), load);
    let parameters = (1..40_u32, select(vec![3_u32, 20, 100]), buffer, 1..4_u32, any::<u32>());
    (network, traffic, parameters).prop_map(
        |(
            (fabric, rate_mbps, delay_ns),
            (traffic, requests, size_bytes, load),
            (window, block_symbols, buffer_packets, multicast_trees, seed),
        )| Scene {
            fabric,
            rate_mbps,
            delay_ns,
            traffic,
            requests,
            size_bytes,
            load,
            window,
            block_symbols,
            buffer_packets,
            patient: buffer_packets.is_none(),
            multicast_trees,
            seed,
        },
    )
}

/// Any traffic, on switches with small buffers.
pub(crate) fn scenes() -> impl Strategy<Value = Scene> {
    let all = UNICAST.into_iter().chain([ONE_TO_MANY, MANY_TO_ONE]).collect();
    scenes_of(all, (1..30_u32).prop_map(Some))
}

/// Without loss.
pub(crate) fn lossless(traffic: &[Traffic]) -> impl Strategy<Value = Scene> + use<> {
    scenes_of(traffic.to_vec(), Just(None))
}

/// Without loss, one sender to each receiver.
pub(crate) fn lossless_unicast() -> impl Strategy<Value = Scene> {
    lossless(&UNICAST)
}

/// Without loss, one sender to several receivers.
pub(crate) fn lossless_one_to_many() -> impl Strategy<Value = Scene> {
    lossless(&[ONE_TO_MANY])
}

/// A single group with one tree. Where links between switches are slower, its symbols are trimmed; none is dropped.
pub(crate) fn one_group() -> impl Strategy<Value = Scene> {
    let buffer = prop_oneof![Just(None), (1..30_u32).prop_map(Some)];
    scenes_of(vec![ONE_TO_MANY], buffer).prop_map(|scene| Scene {
        requests: 1,
        multicast_trees: 1,
        patient: true,
        ..scene
    })
}

/// How many random cases: `PROPTEST_CASES`, or `usual`.
pub(crate) fn settings(usual: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    ProptestConfig { cases, ..ProptestConfig::default() }
}
