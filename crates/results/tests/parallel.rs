//! The files of a run are the same on any number of threads.

use anabranch_results::lab::{Request, run};
use anabranch_sim::experiment::{Parallelism, Progress};
use anabranch_sim::scenario::{Plan, parse};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Large enough to be divided: `anabranch_sim::network::Division` says so below.
fn plan() -> Plan {
    let text = r#"
        [fabric]
        topology = "fat-tree"
        k = 8
        [transport]
        name = "ndp"
        [[workload]]
        sizes = { law = "fixed", size = "150KB" }
        placement = { pattern = "permutation" }
        [measure]
        interval = "400us"
        queues = true
        links = true
        goodput = true
    "#;
    parse("test.toml", text, &[]).expect("the scenario is right")
}

fn files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("there is a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            // Beside the tables is how long the run took.
            found.insert(path.clone(), fs::read(&path).expect("readable"));
        }
    }
}

#[test]
fn tables_are_the_same_on_several_threads() {
    let plan = plan();
    let tables = |threads: usize| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("parallel-{threads}"));
        let _ = fs::remove_dir_all(&out);
        let progress = Progress::new(1);
        run(&plan, &Request { out: &out, threads, command: Vec::new(), resume: false, force: true }, &progress)
            .expect("nothing fails");
        let divided = usize::from(threads > 1);
        assert_eq!(progress.shared(), Parallelism { divided, ..Parallelism::default() });
        let mut found = BTreeMap::new();
        files(&out.join("runs"), &mut found);
        let relative = |(path, bytes): (PathBuf, Vec<u8>)| {
            (path.strip_prefix(&out).expect("it is in the folder").to_owned(), bytes)
        };
        found.into_iter().map(relative).collect::<BTreeMap<_, _>>()
    };
    let serial = tables(1);
    assert!(serial.len() >= 3, "flows, links, series: {:?}", serial.keys());
    for threads in [2, 3] {
        let divided = tables(threads);
        assert_eq!(serial.keys().collect::<Vec<_>>(), divided.keys().collect::<Vec<_>>());
        for (file, bytes) in &serial {
            assert!(divided[file] == *bytes, "{} on {threads} threads", file.display());
        }
    }
    let mut network = plan.network(&plan.runs[0]).expect("it can be built");
    let (_, division) = network.run_on(2, |_| true).expect("it can be divided");
    assert!(division.phases > 1, "{division:?}");
}
