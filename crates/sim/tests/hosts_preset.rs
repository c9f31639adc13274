//! SCDP with the parameters of real hosts, behind a bottleneck that is slower than the receiver's link.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Ending;
use anabranch_sim::scenario::parse;

/// A bottleneck behind links of 1 Gbps.
struct Bottleneck {
    queue: &'static str,
    rate: &'static str,
    delay: &'static str,
    /// Bytes of its queue.
    buffer: &'static str,
}

/// What becomes of transfers that share a bottleneck: how much of what it carries they have, headers included, how much longer the last takes than
/// the first, and symbols trimmed per source symbol.
struct Ended {
    utilization: f64,
    spread: f64,
    trimmed: f64,
}

fn mbps(rate: &str) -> f64 {
    rate.strip_suffix("Mbps").expect("in Mbps").parse().expect("a number")
}

/// Bytes of an object that takes 0.4 s at a rate.
fn size(rate: &str) -> f64 {
    mbps(rate) * 50_000.0
}

/// Transfers of objects of this size over a bottleneck of this rate.
fn run(rate: &str, size: f64, fabric: &str, queue: &str, buffer: &str, workload: &str) -> Ended {
    let text = format!(
        r#"
        [fabric]
        {fabric}
        [transport]
        name = "scdp"
        [transport.scdp]
        preset = "hosts"
        [switch]
        queue = "{queue}"
        buffer = "{buffer}"
        [run]
        time_limit = "20s"
        [[workload]]
        sizes = {{ law = "fixed", size = "{size}B" }}
        {workload}
        "#
    );
    let plan = parse("test.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete, "{text}");
    assert!(record.conservation.holds());
    let times = || record.flows.iter().map(|flow| flow.measured_ps as f64);
    let (first, last) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let bytes = record.flows.len() as f64 * size;
    let trimmed = record.flows.iter().map(|flow| flow.packets_trimmed).sum::<u64>();
    Ended {
        utilization: bytes * 8e12 / last / (mbps(rate) * 1e6),
        spread: last / first,
        trimmed: trimmed as f64 / (bytes / 1420.0),
    }
}

/// One to one, between these pairs of hosts at either side.
fn transfer(bottleneck: &Bottleneck, pairs: &str) -> Ended {
    let Bottleneck { queue, rate, delay, buffer } = bottleneck;
    let fabric = format!(
        "topology = \"dumbbell\"\nleft = 3\nright = 3\nrate = \"1Gbps\"\ndelay = \"10us\"\n\
         bottleneck_rate = \"{rate}\"\nbottleneck_delay = \"{delay}\""
    );
    let workload = format!("placement = {{ pattern = \"pairs\", pairs = [{pairs}] }}");
    run(rate, size(rate), &fabric, queue, buffer, &workload)
}

/// From so many servers to one host, whose link is the bottleneck.
fn fetch(rate: &str, delay: &str, servers: u32) -> Ended {
    let fabric = format!("topology = \"star\"\nhosts = {}\nrate = \"{rate}\"\ndelay = \"{delay}\"", servers + 1);
    let workload = format!(
        "mode = \"many_to_one\"\nsessions = 1\n\
         placement = {{ pattern = \"replicas\", replicas = {servers}, policy = \"random\" }}"
    );
    run(rate, size(rate), &fabric, "trim", "15KB", &workload)
}

/// Pulls at the rate of the receiver's link would ask for ten times what the bottleneck carries: almost all would be trimmed.
#[test]
fn transfers_take_what_the_bottleneck_carries_whether_it_trims_or_drops() {
    for queue in ["trim", "drop-tail"] {
        let used =
            transfer(&Bottleneck { queue, rate: "100Mbps", delay: "100us", buffer: "30KB" }, "[0, 3]").utilization;
        assert!(used > 0.8, "{queue}: {used}");
    }
}

#[test]
fn a_transfer_fills_a_bottleneck_that_trims_and_little_is_trimmed() {
    for rate in ["20Mbps", "50Mbps", "100Mbps", "500Mbps"] {
        for delay in ["100us", "1ms", "5ms"] {
            for buffer in ["15KB", "60KB"] {
                let found = transfer(&Bottleneck { queue: "trim", rate, delay, buffer }, "[0, 3]");
                let which = format!("{rate} {delay} {buffer}");
                assert!(found.trimmed < 0.2, "{which}: {:.3} trimmed per source symbol", found.trimmed);
                // Beyond, the windows of these short transfers are still growing.
                assert!(found.utilization > 0.7 || delay == "5ms", "{which}: {:.3} used", found.utilization);
            }
        }
    }
}

#[test]
fn transfers_share_a_bottleneck_that_trims() {
    for rate in ["20Mbps", "100Mbps", "500Mbps"] {
        for delay in ["100us", "1ms"] {
            let found = transfer(&Bottleneck { queue: "trim", rate, delay, buffer: "15KB" }, "[0, 3], [1, 4], [2, 5]");
            let which = format!("{rate} {delay}");
            assert!(found.utilization > 0.8, "{which}: {:.3} used", found.utilization);
            assert!(found.spread < 1.6, "{which}: the last takes {:.3} times as long as the first", found.spread);
            assert!(found.trimmed < 0.35, "{which}: {:.3} trimmed per source symbol", found.trimmed);
        }
    }
}

#[test]
fn servers_share_the_link_of_who_fetches() {
    for rate in ["20Mbps", "100Mbps", "1000Mbps"] {
        for servers in [1, 2, 3, 8] {
            let found = fetch(rate, "50us", servers);
            assert!(found.utilization > 0.85, "{rate}, {servers} servers: {:.3} used", found.utilization);
            assert!(found.trimmed < 0.6, "{rate}, {servers} servers: {:.3} trimmed per source symbol", found.trimmed);
        }
    }
}
