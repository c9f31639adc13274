//! Joy's ECN adaptation on a dumbbell, from scenarios. The bottleneck has C = 100 Mbps and T = 900 us: C T is 11250 bytes, 7.5
//! packets; by eqs. 4 to 6 the thresholds are 2 packets (1607 bytes) and 7 packets.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::scenario::parse;

const LOWER: f64 = 2.0;
const UPPER: f64 = 7.0;

/// Two long flows throughout.
const LONG: &str = r#"
    transport = { name = "dctcp" }
    fabric = { topology = "dumbbell", left = 4, right = 4, rate = "100Mbps", delay = "150us" }
    switch = { buffer = "25 packets", ecn_threshold = "5 packets" }
    run = { time_limit = "100ms" }
    [[workload]]
    name = "long"
    port = 5001
    sizes = { law = "endless" }
    placement = { pattern = "pairs", pairs = [[0, 4], [1, 5]] }
    sessions = 2
"#;

/// A short flow each 500 us, from 20 ms until 40 ms.
const SHORT: &str = r#"
    [[workload]]
    name = "short"
    port = 80
    background = true
    sizes = { law = "fixed", size = "3KB" }
    arrivals = { law = "interval", every = "500us", at = "20ms" }
    placement = { pattern = "pairs", pairs = [[2, 6], [3, 7], [2, 7], [3, 6]] }
    sessions = 40
"#;

const CONTROLLER: &str = r#"
    [[controller]]
    law = "ecn-adaptation"
    period = "10ms"
    delay = "1ms"
    flows = { by = "counters", long = "30KB" }
    only = ["left-right"]
"#;

fn run(parts: &[&str]) -> RunRecord {
    let plan = parse("test.toml", &parts.concat(), &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|error| panic!("{error}"));
    let ending = network.run(|_| true);
    RunRecord::take(&mut network, ending)
}

/// Decisions about the port from the left to the right: when, in milliseconds, and which threshold.
fn decisions(record: &RunRecord) -> Vec<(u64, f64)> {
    let port = port(record, "left", "right");
    assert!(record.series.iter().filter(|row| row.metric.starts_with("set_")).all(|row| row.id == port));
    of(record, "set_marking_threshold_packets", port)
}

fn of(record: &RunRecord, metric: &str, port: u32) -> Vec<(u64, f64)> {
    let rows = record.series.iter().filter(|row| row.metric == metric && row.id == port);
    rows.map(|row| (row.time / 1_000_000_000, row.value)).collect()
}

fn port(record: &RunRecord, src: &str, dst: &str) -> u32 {
    record.links.iter().position(|row| row.src == src && row.dst == dst).expect("a link") as u32
}

/// The controller with these keys, too.
fn with(keys: &str) -> String {
    format!("{CONTROLLER}{keys}\n")
}

#[test]
fn long_flows_alone_have_the_upper_threshold() {
    let record = run(&[LONG, CONTROLLER]);
    assert_eq!(decisions(&record), [(11, UPPER)]);
    assert_eq!(of(&record, "seen_long_flows", port(&record, "left", "right")), [(10, 2.0)]);
}

#[test]
fn when_short_flows_appear_the_next_poll_sets_the_lower_threshold() {
    let record = run(&[LONG, SHORT, CONTROLLER]);
    // They are there from 20 ms to 40 ms, the last ones a little longer: the polls at 30, 40 and 50 ms have seen them.
    assert_eq!(decisions(&record), [(11, UPPER), (31, LOWER), (61, UPPER)]);
    let short = of(&record, "seen_short_flows", port(&record, "left", "right"));
    assert!(short.iter().any(|seen| seen.0 == 30 && seen.1 > 10.0) && short.last() == Some(&(60, 0.0)), "{short:?}");
    // With 20 short flows for each long one allowed, they change nothing.
    assert_eq!(decisions(&run(&[LONG, SHORT, &with("delta = 20.0")])), [(11, UPPER)]);
}

#[test]
fn long_may_be_what_the_size_or_the_port_says() {
    for flows in [r#"{ by = "port", long = [5001] }"#, r#"{ by = "size", long = "1MB" }"#] {
        let keys = CONTROLLER.replace(r#"{ by = "counters", long = "30KB" }"#, flows);
        assert_eq!(decisions(&run(&[LONG, SHORT, &keys])), [(11, UPPER), (31, LOWER), (61, UPPER)], "{flows}");
    }
    // By counters nothing is long until it has sent 1 MB, which takes two flows 160 ms here.
    let keys = CONTROLLER.replace("30KB", "1MB");
    assert_eq!(decisions(&run(&[LONG, &keys])), [(11, LOWER)]);
}

#[test]
fn a_schedule_says_when_the_upper_threshold_may_be_used() {
    // A day of 50 ms; in its hours from 5 to 40 ms the upper threshold, but for short flows.
    let schedule = r#"
        day = "50ms"
        schedule = [{ from = "5ms", to = "40ms", threshold = "upper" }]
    "#;
    assert_eq!(decisions(&run(&[LONG, &with(schedule)])), [(11, UPPER), (41, LOWER), (61, UPPER), (91, LOWER)]);
    let safe = decisions(&run(&[LONG, SHORT, &with(schedule)]));
    assert_eq!(safe, [(11, UPPER), (31, LOWER), (61, UPPER), (91, LOWER)]);
    let blind = decisions(&run(&[LONG, SHORT, &with(schedule), "fallback = false"]));
    assert_eq!(blind, [(11, UPPER), (41, LOWER), (61, UPPER), (91, LOWER)]);
}

#[test]
fn a_controller_of_another_pod_knows_late() {
    let both = CONTROLLER.replace(r#"["left-right"]"#, r#"["left-right", "right-h6"]"#);
    let distributed = format!("{both}controllers = \"per-pod\"\nstaleness = \"20ms\"\n");
    let record = run(&[LONG, SHORT, &distributed]);
    let (near, far) = (port(&record, "left", "right"), port(&record, "right", "h6"));
    let set = |port| of(&record, "set_marking_threshold_packets", port);
    assert_eq!(set(near), [(11, UPPER), (31, LOWER), (61, UPPER)], "its own flows it sees at once");
    // Only short flows go to h6, and the controller on the right hears of them 20 ms after the poll that saw them.
    // T is the mean over three hosts two links away and four that are three away: 771 us, and C T / 7 is 1377 bytes.
    assert_eq!(set(far), [(51, 1.0)]);
    // One controller that sees everything late is late with everything.
    let late = run(&[LONG, SHORT, &with("staleness = \"20ms\"")]);
    assert_eq!(decisions(&late), [(31, UPPER), (51, LOWER), (81, UPPER)]);
}

/// C T / sqrt(N) for two flows: 7.5 / sqrt(2) = 5.3 packets.
#[test]
fn the_lower_threshold_of_ecn_star_follows_the_number_of_long_flows() {
    let keys = with("lower_law = \"ecn-star\"");
    assert_eq!(decisions(&run(&[LONG, SHORT, &keys])), [(11, UPPER), (31, 6.0), (61, UPPER)]);
    let given = with("lower = \"3 packets\"\nupper = \"10 packets\"");
    assert_eq!(decisions(&run(&[LONG, SHORT, &given])), [(11, 10.0), (31, 3.0), (61, 10.0)]);
    let buffer = with("buffer = \"25 packets\"\nrtt = \"600us\"");
    assert_eq!(decisions(&run(&[LONG, SHORT, &buffer])), [(11, 10.0), (31, 1.0), (61, 10.0)], "as in table 2");
}

#[test]
fn a_fabric_without_marks_or_ports_is_refused() {
    let refused = |parts: &[&str]| parse("test.toml", &parts.concat(), &[]).expect_err("it is refused").to_string();
    let deaf = LONG.replace("ecn_threshold = \"5 packets\"", "queue = \"drop-tail\"");
    let told = refused(&[&deaf, CONTROLLER]);
    assert!(
        told.contains("no switch marks packets at one") && told.contains("hint: in [switch]: queue = \"ecn\""),
        "{told}"
    );
    let told = refused(&[LONG, &CONTROLLER.replace("left-right", "left-middle")]);
    assert!(told.contains("\"left-middle\" is none of the ports of `links`") && told.contains("left-"), "{told}");
    let told = refused(&[LONG, &with("schedule = [{ from = \"3600s\", to = \"90000s\", threshold = \"upper\" }]")]);
    assert!(told.contains("after the end of a day"), "{told}");
}
