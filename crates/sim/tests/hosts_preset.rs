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

/// What becomes of transfers that share it: how much of what the bottleneck carries they have, headers included, how much longer the
/// last takes than the first, and symbols trimmed per source symbol.
struct Outcome {
    utilization: f64,
    spread: f64,
    trimmed: f64,
}

fn transfer(bottleneck: &Bottleneck, pairs: &str) -> Outcome {
    let Bottleneck { queue, rate, delay, buffer } = bottleneck;
    let mbps: f64 = rate.strip_suffix("Mbps").expect("in Mbps").parse().expect("a number");
    // As long at every rate.
    let size = mbps * 50_000.0;
    let text = format!(
        r#"
        [fabric]
        topology = "dumbbell"
        left = 3
        right = 3
        rate = "1Gbps"
        delay = "10us"
        bottleneck_rate = "{rate}"
        bottleneck_delay = "{delay}"
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
        placement = {{ pattern = "pairs", pairs = [{pairs}] }}
        "#
    );
    let plan = parse("test.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete, "{queue}");
    assert!(record.conservation.holds());
    let times = || record.flows.iter().map(|flow| flow.measured_ps as f64);
    let (first, last) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let (flows, trimmed) =
        (record.flows.len() as f64, record.flows.iter().map(|flow| flow.packets_trimmed).sum::<u64>());
    Outcome {
        utilization: flows * size * 8e12 / last / (mbps * 1e6),
        spread: last / first,
        trimmed: trimmed as f64 / (flows * size / 1420.0),
    }
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
