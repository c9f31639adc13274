//! The seed decides what nothing else does: runs whose senders all start at once differ between seeds, and only there.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Ending;
use anabranch_sim::scenario::parse;
use anabranch_transport::Time;

/// Ten answers to one receiver, all at time zero; nothing jitters and nothing is drawn in the workload.
const INCAST: &str = r#"
    repeat = 6
    host = { jitter = "0us" }
    [fabric]
    topology = "star"
    hosts = 11
    [transport]
    name = "newreno"
    [switch]
    buffer = "20 packets"
    [[workload]]
    sizes = { law = "fixed", size = "70KB" }
    placement = { pattern = "pairs", pairs = [[1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0], [7, 0], [8, 0], [9, 0], [10, 0]] }
    [run]
    time_limit = "20s"
"#;

fn records(overrides: &[String]) -> Vec<RunRecord> {
    let plan = parse("incast.toml", INCAST, overrides).unwrap_or_else(|e| panic!("{e}"));
    let run = |run| {
        let mut network = plan.network(run).unwrap_or_else(|e| panic!("{e}"));
        assert!(network.specs().iter().all(|session| session.start == Time::ZERO));
        let ending = network.run(|n| n.events() < 10_000_000);
        assert_eq!(ending, Ending::Complete);
        RunRecord::take(&mut network, ending)
    };
    plan.runs.iter().map(run).collect()
}

/// When each flow ended.
fn ends(record: &RunRecord) -> Vec<Option<Time>> {
    record.flows.iter().map(|flow| flow.end).collect()
}

#[test]
fn synchronised_senders_fare_otherwise_under_another_seed() {
    for transport in ["newreno", "cubic", "dctcp", "ndp", "scdp"] {
        let overrides = [format!("transport.name={transport}")];
        let (first, again) = (records(&overrides), records(&overrides));
        for (a, b) in first.iter().zip(&again) {
            assert_eq!(
                (a.fingerprint, a.events),
                (b.fingerprint, b.events),
                "{transport}: the same seed, the same run"
            );
            assert_eq!(a.flows, b.flows, "{transport}");
        }
        for (i, a) in first.iter().enumerate() {
            for b in &first[..i] {
                assert_ne!(a.fingerprint, b.fingerprint, "{transport}: another seed, another run");
                assert_ne!(ends(a), ends(b), "{transport}: and other results");
            }
        }
    }
}
