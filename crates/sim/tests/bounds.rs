//! What would take more memory than a run may have is refused, with the key that asks for it.

use anabranch_sim::network::{Ending, Needs};
use anabranch_sim::scenario::{Plan, load, parse};
use std::path::Path;

const SCENARIO: &str = r#"
    [fabric]
    topology = "star"
    hosts = 8
    [transport]
    name = "ndp"
    [[workload]]
    arrivals = { law = "poisson", load = 0.5 }
    sizes = { law = "fixed", size = "1MB" }
    placement = { pattern = "random" }
    sessions = 100
"#;

fn plan(overrides: &[&str]) -> Result<Plan, String> {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    parse("bounds.toml", SCENARIO, &overrides).map_err(|e| e.to_string())
}

/// Why the runs are impossible.
fn refused(overrides: &[&str]) -> String {
    match plan(overrides) {
        Err(why) => why,
        Ok(plan) => plan.estimates().err().unwrap_or_else(|| panic!("{overrides:?} is possible")).to_string(),
    }
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_made() {
    for (overrides, key, what) in [
        (&["workload.0.sessions=100000000"][..], "sessions", "100000000 sessions are more than the 2500000"),
        (&["workload.0.sessions=1000", "run.memory_limit=1MB"], "sessions", "more than the 625"),
        (&["workload.0.sizes.size=1GB", "measure.interval=1us", "measure.links=true"], "measure.interval", "samples"),
        (&["workload.0.sizes.size=1GB", "measure.interval=1ns", "measure.goodput=true"], "measure.interval", "samples"),
        (&["fabric.hosts=1000000", "run.memory_limit=500MB"], "run.memory_limit", "1000000 hosts"),
        (&["fabric={ topology = \"fat-tree\", k = 10000 }"], "fabric.k", "at most 1048576 hosts"),
        (&["routing.multicast_trees=4000000000"], "routing.multicast_trees", "must be from 1 to 65536"),
        (&["repeat=1000000000"], "repeat", "more than 1000000 runs"),
    ] {
        let why = refused(overrides);
        assert!(why.contains(&format!("{key}:")) && why.contains(what), "{overrides:?}: {why}");
    }
    // A higher limit admits it.
    let more = ["workload.0.sessions=3000000", "run.memory_limit=1TB"];
    assert!(plan(&more).is_ok());
}

#[test]
fn a_run_that_needs_more_than_was_foreseen_ends() {
    // One session that the run does not wait for: nobody foresees how long the other takes.
    let overrides = ["workload.0.sessions=2", "run.memory_limit=20KB", "measure.interval=100us", "measure.links=true"];
    let plan = plan(&overrides).unwrap_or_else(|e| panic!("{e}"));
    let Err(why) = plan.estimates() else { panic!("it is foreseen") };
    assert!(why.to_string().contains("a run needs about"), "{why}");
    let text = SCENARIO.replace("sessions = 100", "sessions = 1");
    let plan = parse("bounds.toml", &text, &["run.memory_limit=20KB".to_owned()]).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|n| n.events() < 1_000_000);
    assert_eq!(ending, Ending::Complete, "an initial window fits");
    let udp = ["transport.name=udp".to_owned(), "run.memory_limit=20KB".to_owned()];
    let plan = parse("bounds.toml", &text, &udp).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let Ending::TooLarge(Needs::Packets, why) = network.run(|_| true) else { panic!("1 MB at once does not fit") };
    assert!(why.contains("packets on their way"), "{why}");
    assert!(plan.too_large(&plan.runs[0], Needs::Packets, &why).to_string().contains("run.memory_limit"));
}

/// The estimate is of undisturbed flows: with a buffer of one packet they last far longer, and are looked at far more often.
#[test]
fn a_run_with_more_samples_than_were_foreseen_ends() {
    let overrides = [
        "switch.buffer=1 packet",
        "transport.name=newreno",
        "transport.tcp.rto_min=10s",
        "workload.0.placement={ pattern = \"incast\", senders = 7, receiver = 0 }",
        "workload.0.arrivals={ law = \"synchronised\" }",
        "workload.0.sessions=7",
        "run.memory_limit=20MB",
        "measure.interval=50us",
        "measure.cwnd=true",
    ];
    let plan = plan(&overrides).unwrap_or_else(|e| panic!("{e}"));
    plan.estimates().unwrap_or_else(|e| panic!("not foreseen: {e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|n| n.events() < 100_000_000);
    let Ending::TooLarge(Needs::Samples, why) = ending else { panic!("{ending:?}") };
    assert!(plan.too_large(&plan.runs[0], Needs::Samples, &why).to_string().contains("measure.interval"), "{why}");
}

#[test]
fn devices_and_pipes_are_no_data_files() {
    if !Path::new("/dev/zero").exists() {
        return;
    }
    let file = "/dev/zero";
    for (what, overrides) in [
        ("cdf", vec![format!("workload.0.sizes={{ law = \"cdf\", file = \"{file}\" }}")]),
        ("volumes", vec![format!("workload.0.sizes={{ law = \"volumes\", file = \"{file}\" }}")]),
        ("fabric", vec![format!("fabric={{ topology = \"file\", path = \"{file}\" }}")]),
        ("decoding", vec!["transport.name=scdp".to_owned(), format!("transport.scdp.decode_table={file}")]),
    ] {
        let why =
            parse("bounds.toml", SCENARIO, &overrides).err().unwrap_or_else(|| panic!("{what} is read")).to_string();
        assert!(why.contains(file) && why.contains("not a regular file"), "{what}: {why}");
    }
    let trace = SCENARIO.split("    arrivals").next().expect("there is one").to_owned()
        + "    trace = { file = \"/dev/zero\", format = \"csv\" }\n";
    let why = parse("bounds.toml", &trace, &[]).expect_err("it is a device").to_string();
    assert!(why.contains(file) && why.contains("not a regular file"), "{why}");
    let why = load(Path::new(file), &[]).expect_err("it is a device").to_string();
    assert!(why.contains("not a regular file"), "{why}");
}
