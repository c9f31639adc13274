//! Packet captures in a result folder.

use anabranch_results::lab::{LabError, Request, run};
use anabranch_results::{Draft, Manifest, StoreError};
use anabranch_sim::experiment::Progress;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Conservation, Ending};
use anabranch_sim::scenario::{Plan, parse};
use std::fs;
use std::path::{Path, PathBuf};

/// Three senders, one receiver, short queues.
const TEXT: &str = r#"
    name = "incast"
    fabric = { topology = "star", hosts = 4 }
    transport = { name = "dctcp" }
    switch = { buffer = "20 packets" }
    measure = { packets = ["h0", "edge0-h0"] }
    [[workload]]
    sizes = { law = "fixed", size = "100KB" }
    placement = { pattern = "incast", senders = 3, receiver = 0 }
"#;

fn plan(overrides: &[&str]) -> Plan {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    parse("test.toml", TEXT, &overrides).expect("the scenario is right")
}

fn try_run(plan: &Plan, out: &Path, threads: usize, resume: bool) -> Result<(Manifest, usize), LabError> {
    let progress = Progress::new(plan.runs.len());
    let request = Request { out, threads, command: Vec::new(), resume, force: true };
    let manifest = run(plan, &request, &progress)?;
    Ok((manifest, progress.runs_kept()))
}

fn complete(plan: &Plan, out: &Path) -> Manifest {
    try_run(plan, out, 1, false).expect("nothing fails").0
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// All files of a folder and those below it, by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "pcapng") {
            found.push((path.to_string_lossy().into_owned(), fs::read(&path).expect("readable")));
        }
    }
    found.sort();
    found
}

#[test]
fn threads_and_the_time_of_day_make_no_difference() {
    let plan = plan(&["repeat=4"]);
    let out = folder("threads");
    let mut made = Vec::new();
    for threads in [1, 3] {
        try_run(&plan, &out, threads, false).expect("nothing fails");
        made.push(files(&out.join("runs")));
    }
    assert_eq!(made[0].len(), 4 * 4, "two ports, and what was dropped there");
    assert!(made[0] == made[1], "the same bytes");
}

#[test]
fn the_manifest_lists_captures() {
    let out = folder("listed");
    let manifest = complete(&plan(&[]), &out);
    let captures = &manifest.runs[0].captures;
    let told: Vec<_> = captures.iter().map(|capture| (capture.file.as_str(), capture.links.join(" "))).collect();
    let wanted = [
        ("packets/h0-edge0.pcapng", "h0-edge0 edge0-h0".to_owned()),
        ("packets/edge0-h0.pcapng", "edge0-h0 h0-edge0".to_owned()),
    ];
    assert_eq!(told, wanted);
    for capture in captures {
        assert_eq!((capture.packets > 200, capture.dropped > 0, capture.full_at_ns), (true, true, None));
        let run = out.join("runs/p000-s1");
        for file in [&capture.file, capture.dropped_file.as_ref().expect("something was dropped")] {
            assert!(run.join(file).is_file(), "{file}");
        }
    }
    let manifest = fs::read_to_string(out.join("manifest.json")).expect("a manifest");
    assert!(manifest.contains("packets/edge0-h0.dropped.pcapng"));
}

#[test]
fn a_limit_ends_a_capture_and_not_the_run() {
    let out = folder("limit");
    let whole = complete(&plan(&[]), &out);
    for (limit, packets, bytes) in [("10 packets", 10, 100_000), ("5KB", 1000, 5_800)] {
        let manifest = complete(&plan(&[&format!("measure.packets_limit={limit}")]), &out);
        assert_eq!(manifest.runs[0].fingerprint, whole.runs[0].fingerprint);
        let capture = &manifest.runs[0].captures[0];
        assert!(capture.packets <= packets && capture.packets >= 10, "{limit}: {capture:?}");
        assert!(capture.full_at_ns.is_some_and(|ns| ns > 20_640), "{limit}: {capture:?}");
        let length = fs::metadata(out.join("runs/p000-s1").join(&capture.file)).expect("it is there").len();
        assert!(length <= bytes, "{limit}: {length}");
        assert_eq!(capture.dropped, whole.runs[0].captures[0].dropped, "what is counted goes on");
    }
}

#[test]
fn runs_that_have_lost_a_capture_are_made_again() {
    let out = folder("lost");
    let plan = plan(&["repeat=2"]);
    complete(&plan, &out);
    let before = files(&out);
    assert_eq!(try_run(&plan, &out, 1, true).expect("nothing fails").1, 2);
    fs::remove_file(out.join("runs/p000-s2/packets/h0-edge0.pcapng")).expect("it is there");
    assert_eq!(try_run(&plan, &out, 1, true).expect("nothing fails").1, 1);
    assert!(files(&out) == before, "the same bytes again");
    // What a killed program leaves.
    fs::create_dir_all(out.join("runs/.p000-s1.part/packets")).expect("it can be made");
    fs::write(out.join("runs/.p000-s1.part/packets/h0-edge0.pcapng"), b"half").expect("it can be written");
    complete(&plan, &out);
    assert!(files(&out) == before && !out.join("runs/.p000-s1.part").exists());
    // Without captures nothing of them is left.
    complete(&self::plan(&["measure.packets=[]"]), &out);
    assert_eq!(files(&out), []);
}

#[test]
#[expect(clippy::default_trait_access, reason = "the crate that names the type is no dependency")]
fn a_run_whose_captures_were_removed_is_not_written() {
    let out = folder("captures-removed");
    let entry = complete(&plan(&[]), &out).runs.remove(0);
    assert!(!entry.captures.is_empty());
    let record = RunRecord {
        ending: Ending::Complete,
        flows: Vec::new(),
        links: Vec::new(),
        blocks: Vec::new(),
        ranks: Vec::new(),
        operations: Vec::new(),
        series: Vec::new(),
        captures: Ok(Vec::new()),
        conservation: Conservation::default(),
        fingerprint: 0,
        events: 0,
        simulated: Default::default(),
        window: None,
    };
    let draft = out.join("draft");
    assert!(matches!(Draft::at(draft.clone()).write(&entry, &record), Err(StoreError::Io { .. })));
    assert!(!draft.exists());
}

#[test]
fn files_that_are_not_ours_stay() {
    let out = folder("foreign");
    complete(&plan(&[]), &out);
    let notes = out.join("runs/p000-s1/packets/notes.txt");
    fs::write(&notes, b"look at frame 7").expect("it can be written");
    match try_run(&plan(&[]), &out, 1, false) {
        Err(LabError::Store(StoreError::NotOurs { found, .. })) => assert_eq!(out.join(found), notes),
        other => panic!("{other:?}"),
    }
    assert!(notes.is_file());
}

#[test]
fn a_run_that_needs_too_much_memory_leaves_no_captures() {
    let out = folder("too-large");
    let small = ["run.memory_limit=40KB", "measure.interval=1us", "measure.queues=true", "workload.0.sessions=9"];
    let error = try_run(&plan(&small), &out, 1, false).expect_err("it does not fit");
    assert!(matches!(error, LabError::Scenario(_)), "{error}");
    assert!(!out.join("runs").exists() || fs::read_dir(out.join("runs")).expect("readable").next().is_none());
}
