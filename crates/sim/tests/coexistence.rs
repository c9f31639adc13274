//! SCDP and TCP on the same links: in one queue, and in fair queues of their own.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Network};
use anabranch_sim::scenario::parse;

/// Long flows of both transports over one bottleneck, from hosts of their own or from the same.
fn share(queue: &str, tcp: &str, pairs: [&str; 2]) -> [f64; 2] {
    let text = format!(
        r#"
        [fabric]
        topology = "dumbbell"
        left = 2
        right = 2
        [transport]
        name = "scdp"
        [switch]
        queue = "{queue}"
        [run]
        time_limit = "100ms"
        [[workload]]
        name = "scdp"
        sizes = {{ law = "endless" }}
        placement = {{ pattern = "pairs", pairs = {} }}
        [[workload]]
        name = "tcp"
        transport = "{tcp}"
        sizes = {{ law = "endless" }}
        placement = {{ pattern = "pairs", pairs = {} }}
        "#,
        pairs[0], pairs[1],
    );
    let plan = parse("test.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut network: Network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete);
    assert!(record.conservation.holds());
    let gbps = |name: &str| {
        let flows = record.flows.iter().filter(|f| &*f.workload == name);
        flows.map(|f| f.size_bytes as f64 * 8e3 / f.measured_ps as f64).sum::<f64>()
    };
    let rates = ["scdp", "tcp"].map(gbps);
    println!("{queue} {tcp} {pairs:?}: {rates:?} Gbps");
    rates
}

const APART: [&str; 2] = ["[[0, 2]]", "[[1, 3]]"];
const TOGETHER: [&str; 2] = ["[[0, 2]]", "[[0, 2]]"];

#[test]
fn fair_queues_halve_the_link_whoever_shares_it() {
    for tcp in ["dctcp", "cubic", "newreno"] {
        for pairs in [APART, TOGETHER] {
            let [scdp, tcp_rate] = share("fair", tcp, pairs);
            assert!((0.42..0.52).contains(&scdp), "{tcp} {pairs:?}: SCDP {scdp} Gbps beside {tcp_rate}");
            assert!((0.42..0.52).contains(&tcp_rate), "{tcp} {pairs:?}: {tcp_rate} Gbps beside SCDP's {scdp}");
        }
    }
}

#[test]
fn in_one_queue_one_of_them_starves() {
    // SCDP's switch sees TCP's packets as those of a flow that has just begun: they go before a long SCDP flow.
    let [scdp, dctcp] = share("mlfq-trim", "dctcp", APART);
    assert!(scdp < 0.2 * dctcp, "SCDP {scdp}, DCTCP {dctcp}");
    // A queue without priorities: SCDP keeps its windows in it, whatever is marked, and DCTCP goes out of the way.
    let [scdp, dctcp] = share("ecn", "dctcp", ["[[0, 2], [0, 3], [1, 2], [1, 3]]", "[[1, 3]]"]);
    assert!(dctcp < 0.1, "one of five flows would be 0.2 Gbps: SCDP {scdp}, DCTCP {dctcp}");
}

#[test]
fn flows_of_one_transport_are_not_kept_apart() {
    // Three to one, and still half for each transport.
    let [scdp, tcp] = share("fair", "dctcp", ["[[0, 2], [0, 3], [1, 2]]", "[[1, 3]]"]);
    assert!((0.42..0.52).contains(&scdp) && (0.42..0.52).contains(&tcp), "SCDP {scdp}, DCTCP {tcp}");
}
