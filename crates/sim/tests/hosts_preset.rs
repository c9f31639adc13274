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

/// What becomes of a transfer: how much of what the bottleneck carries it has, headers included, and symbols trimmed per source symbol.
struct Outcome {
    utilization: f64,
    trimmed: f64,
}

fn transfer(bottleneck: &Bottleneck) -> Outcome {
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
        placement = {{ pattern = "pairs", pairs = [[0, 3]] }}
        "#
    );
    let plan = parse("test.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete, "{queue}");
    assert!(record.conservation.holds());
    let flow = &record.flows[0];
    Outcome {
        utilization: size * 8e12 / flow.measured_ps as f64 / (mbps * 1e6),
        trimmed: flow.packets_trimmed as f64 / (size / 1420.0),
    }
}

/// Pulls at the rate of the receiver's link would ask for ten times what the bottleneck carries: almost all would be trimmed.
#[test]
fn transfers_take_what_the_bottleneck_carries_whether_it_trims_or_drops() {
    for queue in ["trim", "drop-tail"] {
        let used = transfer(&Bottleneck { queue, rate: "100Mbps", delay: "100us", buffer: "30KB" }).utilization;
        assert!(used > 0.8, "{queue}: {used}");
    }
}

/// Pulls leave 5 % faster than whole symbols arrive, so that about one of twenty is trimmed once the rate is known. A burst into an idle bottleneck
/// must not be taken for its rate, and a bottleneck that trims nothing for a while is not sent a whole window.
#[test]
fn hardly_more_is_trimmed_than_pulls_are_faster_than_the_bottleneck() {
    for rate in ["20Mbps", "50Mbps", "100Mbps", "500Mbps"] {
        for delay in ["100us", "1ms", "5ms"] {
            for buffer in ["15KB", "60KB"] {
                let trimmed = transfer(&Bottleneck { queue: "trim", rate, delay, buffer }).trimmed;
                assert!(trimmed < 0.12, "{rate} {delay} {buffer}: {trimmed:.3} trimmed per source symbol");
            }
        }
    }
}
