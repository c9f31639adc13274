//! The measured window: which flows count, and what links carried in it.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Ending;
use anabranch_sim::scenario::parse;
use anabranch_transport::{Duration, Time};

/// Host 1 sends 2 MB to host 0 from the start, which takes 16 ms; at 10 ms comes one small request more.
const SCENARIO: &str = r#"
    fabric = { topology = "star", hosts = 4, rate = "1Gbps", delay = "10us" }
    transport = { name = "ndp" }
    [[workload]]
    sizes = { law = "fixed", size = "2MB" }
    placement = { pattern = "pairs", pairs = [[1, 0]] }
    [[workload]]
    sizes = { law = "fixed", size = "1KB" }
    arrivals = { law = "synchronised", at = "10ms" }
    placement = { pattern = "pairs", pairs = [[2, 3]] }
"#;

fn run(overrides: &[&str]) -> RunRecord {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    let plan = parse("test.toml", SCENARIO, &overrides).unwrap();
    let mut network = plan.network(&plan.runs[0]).unwrap();
    let ending = network.run(|n| n.events() < 20_000_000);
    RunRecord::take(&mut network, ending)
}

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_ms(n)
}

/// Of the link from a host: over the whole run, and in the window.
fn uplink(record: &RunRecord, host: &str) -> (f64, Option<f64>) {
    let link = record.links.iter().find(|link| link.src == host).unwrap();
    (link.utilisation, link.utilisation_window)
}

#[test]
fn by_default_the_window_ends_with_the_last_request() {
    let record = run(&[]);
    assert_eq!((record.ending.clone(), record.window), (Ending::Complete, Some((ms(0), ms(10)))));
    assert!(record.flows.iter().all(|flow| flow.measured));
    let (whole, window) = uplink(&record, "h1");
    // Pulled at the rate of the link, from the first window on.
    assert!(window > Some(0.98), "{window:?}");
    assert!(whole < 1.0);
    assert_eq!(uplink(&record, "h2").1, Some(0.0), "its packet leaves after the window");
    assert!(uplink(&record, "h2").0 > 0.0);
}

#[test]
fn a_warmup_and_a_length_move_its_ends() {
    let record = run(&["measure.warmup=12ms", "measure.window=2ms"]);
    assert_eq!(record.window, Some((ms(12), ms(14))));
    assert!(record.flows.iter().all(|flow| !flow.measured), "both came before");
    assert!(uplink(&record, "h1").1 > Some(0.98));
    let after = run(&["measure.warmup=9ms"]);
    assert_eq!(after.flows.iter().map(|flow| flow.measured).collect::<Vec<_>>(), [false, true]);
    assert_eq!(after.window, Some((ms(9), ms(10))));
    let before = run(&["measure.window=10ms"]);
    assert_eq!(before.flows.iter().map(|flow| flow.measured).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_window_ends_with_the_run_at_the_latest_and_may_have_no_length() {
    let record = run(&["measure.warmup=1ms", "measure.window=1s"]);
    let (begin, end) = record.window.unwrap();
    assert!(begin == ms(1) && end == record.simulated && end < ms(20));
    let never = run(&["measure.warmup=1s"]);
    assert_eq!((never.window, uplink(&never, "h1").1), (None, None));
    let at_once = run(&["workload.1.arrivals.at=0s"]);
    assert_eq!((at_once.window, uplink(&at_once, "h1").1), (None, None));
}

/// The window changes nothing of the run, and time series beside it stay where they are.
#[test]
fn a_window_changes_nothing_else() {
    let series = ["measure.interval=3ms", "measure.links=true"];
    let plain = run(&series);
    let windowed = run(&[&series[..], &["measure.warmup=4ms", "measure.window=5ms"]].concat());
    assert_eq!(plain.fingerprint, windowed.fingerprint);
    assert_eq!(plain.series, windowed.series);
}

#[test]
fn a_window_without_length_is_refused() {
    let error = parse("test.toml", SCENARIO, &["measure.window=0s".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("measure.window: must be above 0"), "{error}");
}
