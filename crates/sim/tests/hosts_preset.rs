//! SCDP with the parameters of real hosts, behind a bottleneck that is slower than the receiver's link.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Ending;
use anabranch_sim::scenario::parse;

/// How much of what its bottleneck of 100 Mbps carries, headers included, a transfer of 5 MB has; the queue holds 20 packets.
fn utilization(queue: &str) -> f64 {
    let text = format!(
        r#"
        [fabric]
        topology = "dumbbell"
        left = 3
        right = 3
        rate = "1Gbps"
        delay = "10us"
        bottleneck_rate = "100Mbps"
        bottleneck_delay = "100us"
        [transport]
        name = "scdp"
        [transport.scdp]
        preset = "hosts"
        [switch]
        queue = "{queue}"
        buffer = "30KB"
        [run]
        time_limit = "20s"
        [[workload]]
        sizes = {{ law = "fixed", size = "5MB" }}
        placement = {{ pattern = "pairs", pairs = [[0, 3]] }}
        "#
    );
    let plan = parse("test.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete, "{queue}");
    assert!(record.conservation.holds());
    let slowest = record.flows.iter().map(|flow| flow.measured_ps).max().expect("there are flows");
    5e6 * 8e12 / slowest as f64 / 100e6
}

/// Pulls at the rate of the receiver's link would ask for ten times what the bottleneck carries: almost all would be trimmed.
#[test]
fn transfers_take_what_the_bottleneck_carries_whether_it_trims_or_drops() {
    for queue in ["trim", "drop-tail"] {
        let used = utilization(queue);
        assert!(used > 0.8, "{queue}: {used}");
    }
}
