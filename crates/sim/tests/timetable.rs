//! Controllers' decisions from a scenario: a timetable of thresholds, buffers, path weights and admission.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::scenario::parse;

/// Four flows of 500 KB from leaf0 to leaf1, one each millisecond.
const SCENARIO: &str = r#"
    transport = { name = "dctcp" }
    routing = { mode = "per-packet" }
    fabric = { topology = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 4 }
    [[workload]]
    port = 5001
    sizes = { law = "fixed", size = "500KB" }
    arrivals = { law = "interval", every = "1ms" }
    placement = { pattern = "pairs", pairs = [[0, 4], [1, 5], [2, 6], [3, 7]] }
    sessions = 4
    [[controller]]
    law = "timetable"
"#;

fn run(keys: &str) -> RunRecord {
    let plan = parse("test.toml", &format!("{SCENARIO}{keys}\n"), &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|error| panic!("{error}"));
    let ending = network.run(|_| true);
    RunRecord::take(&mut network, ending)
}

fn refused(keys: &str) -> String {
    parse("test.toml", &format!("{SCENARIO}{keys}\n"), &[]).expect_err("it is refused").to_string()
}

fn port(record: &RunRecord, src: &str, dst: &str) -> u32 {
    record.links.iter().position(|row| row.src == src && row.dst == dst).expect("a link") as u32
}

/// Rows as microsecond, metric, number and value.
fn rows(record: &RunRecord) -> Vec<(u64, &'static str, u32, f64)> {
    record.series.iter().map(|row| (row.time / 1_000_000, row.metric, row.id, row.value)).collect()
}

#[test]
fn changes_come_in_order_of_time_at_the_next_look_at_the_clock() {
    let record = run(r#"
        period = "50us"
        delay = "5us"
        thresholds = [{ at = "120us", port = "leaf1-h4", length = "9 packets" }]
        buffers = [{ at = "0s", port = "leaf1-h4", length = "30KB" }]
        weights = [{ at = "100us", port = "leaf0-spine1", to = "h5", weight = 0 }]
        admission = [{ at = "1ms", verdict = "refuse", source = "h3", destination = "h7", port = 5001, larger_than = "1KB" }]
    "#);
    let (down, up) = (port(&record, "leaf1", "h4"), port(&record, "leaf0", "spine1"));
    let expected = [
        (55, "set_buffer_bytes", down, 30_000.0),
        (105, "set_path_weight_to", up, 5.0),
        (105, "set_path_weight", up, 0.0),
        (155, "set_marking_threshold_packets", down, 9.0),
        (1005, "set_admission_source", 0, 3.0),
        (1005, "set_admission_destination", 0, 7.0),
        (1005, "set_admission_port", 0, 5001.0),
        (1005, "set_admission_larger_than_bytes", 0, 1000.0),
        (1005, "set_admission", 0, 2.0),
    ];
    assert_eq!(rows(&record), expected);
    assert_eq!(record.flows.iter().map(|flow| flow.end.is_some()).collect::<Vec<_>>(), [true, true, true, false]);
}

/// A link is drained before it is cut: nothing is lost.
#[test]
fn maintenance_of_a_drained_link_loses_nothing() {
    let cut = r#"
        [[failure]]
        at = "1500us"
        link = "leaf0-spine1"
        action = "cut"
    "#;
    let drain = r#"weights = [
        { at = "1ms", port = "leaf0-spine1", weight = 0 },
        { at = "1ms", port = "leaf1-spine1", weight = 0 },
    ]"#;
    let elsewhere = r#"buffers = [{ at = "1ms", port = "leaf1-h4", length = "100 packets" }]"#;
    let lost = |keys: &str| run(&format!("{keys}{cut}")).flows.iter().map(|flow| flow.packets_dropped).sum::<u64>();
    assert!(lost(elsewhere) > 0);
    assert_eq!(lost(drain), 0);
}

#[test]
fn held_flows_begin_when_they_are_admitted() {
    let record = run(r#"admission = [
        { at = "0s", verdict = "hold", destination = "h6" },
        { at = "30ms", verdict = "admit", destination = "h6" },
    ]"#);
    let ends: Vec<u64> = record.flows.iter().map(|flow| flow.end.expect("an end").0 / 1_000_000_000).collect();
    assert!(ends[2] >= 34 && ends[0] < 10 && ends[1] < 10 && ends[3] < 12, "{ends:?}");
}

#[test]
fn what_is_not_there_is_told_before_the_run() {
    let told = |keys: &str, words: &[&str]| {
        let text = refused(keys);
        assert!(words.iter().all(|word| text.contains(word)), "{words:?} in {text}");
    };
    told("", &["a timetable needs `thresholds`", "hint: "]);
    let weight = |port: &str, to: &str, weight: &str| {
        format!(r#"weights = [{{ at = "1ms", port = "{port}", to = "{to}", weight = {weight} }}]"#)
    };
    told(
        &weight("leaf0-spine9", "h5", "1"),
        &["weights[0].port", "no switch with a port \"leaf0-spine9\"", "leaf0-h0"],
    );
    told(&weight("h0-leaf0", "h5", "1"), &["no switch with a port \"h0-leaf0\""]);
    told(&weight("leaf0-spine0", "h9", "1"), &["weights[0].to", "no host \"h9\""]);
    told(&weight("leaf0-spine0", "h5", "65536"), &["65536"]);
    told(&weight("leaf0-spine0", "h5", "-1"), &["-1"]);
    told(r#"admission = [{ at = "1ms", verdict = "wait" }]"#, &["wait", "hold"]);
    told(
        r#"admission = [{ at = "1ms", verdict = "hold", source = "leaf0" }]"#,
        &["admission[0].source", "no host \"leaf0\""],
    );
    told(r#"buffers = [{ at = "1ms", port = "leaf0-h0", length = "auto" }]"#, &["buffers[0].length"]);
    for (list, length, why) in [
        ("buffers", "0 packets", "must be above 0"),
        ("thresholds", "0B", "must be above 0"),
        ("thresholds", "unlimited", "a threshold cannot be unlimited"),
    ] {
        let key = format!("{list}[0].length");
        told(&format!(r#"{list} = [{{ at = "1ms", port = "leaf0-h0", length = "{length}" }}]"#), &[&key, why]);
    }
    let with = |change: (&str, &str), keys: &str| {
        let text = format!("{}{keys}\n", SCENARIO.replace(change.0, change.1));
        parse("test.toml", &text, &[]).expect_err("it is refused").to_string()
    };
    let text = with(("per-packet", "d-mod-k"), &weight("leaf0-spine0", "h5", "1"));
    assert!(text.contains("the routing scheme has no path weights"), "{text}");
    let threshold = r#"thresholds = [{ at = "1ms", port = "leaf0-h0", length = "9 packets" }]"#;
    let text = with(("dctcp", "newreno"), threshold);
    assert!(text.contains("no switch marks packets"), "{text}");
}

/// Only the run itself can tell that no way is left.
#[test]
fn a_switch_is_not_left_without_a_way() {
    let keys = r#"weights = [
        { at = "1ms", port = "leaf0-spine0", weight = 0 },
        { at = "1ms", port = "leaf0-spine1", weight = 0 },
    ]"#;
    let record = run(keys);
    let anabranch_sim::network::Ending::Refused(why) = record.ending else { panic!("{:?}", record.ending) };
    assert_eq!(why, "controller 0, at 1ms: weight 0 would leave leaf0 no way to h4");
}
