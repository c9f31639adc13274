//! A folder with some runs of an experiment in it is completed, not written anew.

use anabranch_results::lab::{Book, LabError, Request, run, run_one};
use anabranch_results::{Directory, Manifest, Opening, Place, RunEntry, StoreError};
use anabranch_sim::experiment::Progress;
use anabranch_sim::scenario::{Plan, parse};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Tokens of sweeps.
pub(crate) const FIRST: &str = ".sweep-00000000000000000000000000000001";
pub(crate) const SECOND: &str = ".sweep-00000000000000000000000000000002";

pub(crate) fn plan(overrides: &[&str]) -> Plan {
    let text = r#"
        repeat = 3
        [fabric]
        topology = "star"
        hosts = 4
        [transport]
        name = "scdp"
        [[workload]]
        sizes = { law = "fixed", size = "20KB" }
        placement = { pattern = "permutation" }
    "#;
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    parse("test.toml", text, &overrides).expect("the scenario is right")
}

pub(crate) fn complete(plan: &Plan, out: &Path, resume: bool) -> (Manifest, usize) {
    let progress = Progress::new(plan.runs.len());
    let request = Request { out, threads: 1, command: Vec::new(), resume, force: true };
    let manifest = run(plan, &request, &progress).expect("nothing fails");
    assert_eq!(progress.runs_done(), plan.runs.len());
    (manifest, progress.runs_kept())
}

pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn tables(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(out.join("runs")).expect("there are runs") {
        let run = entry.expect("readable").path();
        let name = run.file_name().expect("named").to_string_lossy().into_owned();
        found.push((name, fs::read(run.join("flows.parquet")).expect("every run has flows")));
    }
    found.sort();
    found
}

#[test]
fn only_what_is_missing_is_run() {
    let out = folder("missing");
    let (whole, kept) = complete(&plan(&[]), &out, false);
    assert_eq!(kept, 0);
    let before = tables(&out);
    // Interrupted, as it were: no manifest, a run missing, a run half-written.
    fs::remove_file(out.join("manifest.json")).expect("it is there");
    fs::remove_dir_all(out.join("runs/p000-s2")).expect("it is there");
    fs::create_dir(out.join("runs/.p000-s2.part")).expect("it is not there");
    let (again, kept) = complete(&plan(&[]), &out, true);
    assert_eq!(kept, 2);
    assert_eq!(tables(&out), before);
    let fingerprints = |m: &Manifest| m.runs.iter().map(|r| r.fingerprint.clone()).collect::<Vec<_>>();
    assert_eq!(fingerprints(&again), fingerprints(&whole));
}

#[test]
fn runs_of_another_scenario_are_not_kept() {
    let out = folder("other");
    complete(&plan(&[]), &out, false);
    let before = tables(&out);
    let (_, kept) = complete(&plan(&["transport.scdp.initial_window=4"]), &out, true);
    assert_eq!(kept, 0);
    assert_ne!(tables(&out), before);
    // More seeds of the same: the first ones are there.
    let (manifest, kept) = complete(&plan(&["transport.scdp.initial_window=4", "repeat=5"]), &out, true);
    assert_eq!((kept, manifest.runs.len()), (3, 5));
    // Fewer: the others wait for another plan.
    let (_, kept) = complete(&plan(&["transport.scdp.initial_window=4", "repeat=1"]), &out, true);
    assert_eq!((kept, tables(&out).len()), (1, 5));
}

#[test]
fn runs_that_ended_at_their_time_limit_are_kept() {
    let out = folder("limited");
    let limited = plan(&["run.time_limit=1us"]);
    let (first, _) = complete(&limited, &out, false);
    assert!(first.runs.iter().all(|r| r.status == "time_limit"));
    assert_eq!(complete(&limited, &out, true).1, first.runs.len());
}

#[test]
fn runs_are_known_by_their_hash_whatever_their_name() {
    let out = folder("renamed");
    let sweep = |values: &str| plan(&[&format!("sweep.\"transport.scdp.initial_window\"={values}")]);
    let (first, _) = complete(&sweep("[4, 8, 12]"), &out, false);
    let (second, kept) = complete(&sweep("[12, 6, 4]"), &out, true);
    assert_eq!(kept, 6);
    let entry = |m: &Manifest, window: u32| {
        let has = |r: &&RunEntry| r.point["transport.scdp.initial_window"] == window && r.seed == 1;
        m.runs.iter().find(has).cloned().expect("the run is there")
    };
    for window in [4, 12] {
        let (old, new) = (entry(&first, window), entry(&second, window));
        assert_eq!((old.fingerprint, old.scenario_hash), (new.fingerprint, new.scenario_hash));
        let text = fs::read_to_string(out.join("runs").join(&new.run).join("run.json")).expect("it is there");
        assert!(text.contains(&format!("\"run\": \"{}\"", new.run)));
    }
    assert_eq!(complete(&sweep("[12, 6, 4]"), &out, true).1, 9);
}

#[test]
fn points_that_are_the_same_are_kept_one_by_one() {
    let out = folder("twins");
    let sweep = |values: &str| plan(&["repeat=1", &format!("sweep.\"run.time_limit\"={values}")]);
    let (first, _) = complete(&sweep(r#"["1s", "1000ms"]"#), &out, false);
    assert_eq!(first.runs[0].scenario_hash, first.runs[1].scenario_hash);
    assert_eq!(complete(&sweep(r#"["1s", "1000ms"]"#), &out, true).1, 2);
    // Both move on, one to the place of the other.
    assert_eq!(complete(&sweep(r#"["5s", "1s", "1000ms"]"#), &out, true).1, 2);
    assert_eq!(complete(&sweep(r#"["5s", "1s", "1000ms"]"#), &out, true).1, 3);
}

#[test]
fn kept_runs_tell_of_their_decoder_even_if_an_older_version_did_not() {
    let out = folder("older");
    let (first, _) = complete(&plan(&[]), &out, false);
    let file = out.join("runs/p000-s1/run.json");
    let text = fs::read_to_string(&file).expect("it is there");
    let mut entry: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(entry.as_object_mut().expect("an object").remove("decode_latency").is_some());
    fs::write(&file, entry.to_string()).expect("writable");
    let (again, kept) = complete(&plan(&[]), &out, true);
    assert_eq!(kept, 3);
    assert!(first.runs[0].decode_latency.is_some());
    assert_eq!(again.runs[0].decode_latency, first.runs[0].decode_latency);
}

fn book(plan: &Plan, out: &Path, resume: bool) -> Result<Book, LabError> {
    let how = Opening { resume, force: true, token: None };
    Book::open(plan, Arc::new(Directory::new(out)), &how, &[])
}

#[test]
fn two_do_not_write_to_one_folder() {
    let out = folder("busy");
    let first = book(&plan(&[]), &out, false).expect("the folder is new");
    assert!(matches!(book(&plan(&[]), &out, false), Err(LabError::Store(StoreError::Busy(_)))));
    drop(first);
    assert!(book(&plan(&[]), &out, true).is_ok());
}

#[test]
fn without_resume_everything_is_run() {
    let out = folder("anew");
    complete(&plan(&[]), &out, false);
    assert_eq!(complete(&plan(&[]), &out, false).1, 0);
    assert_eq!(names(&out.join("runs")), ["p000-s1", "p000-s2", "p000-s3"]);
}

/// Names below a folder, with drafts, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut found: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    found.sort();
    found
}

#[test]
fn the_manifest_is_there_from_the_first_run_to_the_last() {
    let out = folder("during");
    let plan = plan(&["repeat=40"]);
    let progress = Progress::new(plan.runs.len());
    let request = Request { out: &out, threads: 1, command: Vec::new(), resume: false, force: true };
    let seen = std::thread::scope(|scope| {
        let worker = scope.spawn(|| run(&plan, &request, &progress).expect("nothing fails"));
        let mut seen = Vec::new();
        while !worker.is_finished() {
            if let Ok(text) = fs::read_to_string(out.join("manifest.json")) {
                let manifest: serde_json::Value = serde_json::from_str(&text).expect("never half of it");
                let runs = manifest["runs"].as_array().expect("a list");
                assert_eq!(runs.len(), 40);
                let complete = runs.iter().filter(|run| run["status"] == "complete");
                for run in complete.clone() {
                    let name = run["run"].as_str().expect("a name");
                    assert!(out.join("runs").join(name).join("flows.parquet").is_file(), "{name}");
                }
                seen.push(complete.count());
            }
        }
        seen
    });
    assert!(seen.iter().any(|&n| n > 0 && n < 40), "{seen:?}");
    assert!(seen.is_sorted());
    assert!(names(&out).iter().all(|name| !name.contains("part")), "{:?}", names(&out));
}

/// Writes a file that is no result, making its folder.
fn put(path: &Path) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("may be made");
    fs::write(path, "years of work").expect("may be written");
}

#[test]
fn other_files_in_a_result_folder_stay_and_are_in_nobodys_way() {
    for resume in [false, true] {
        for file in ["fig.pdf", "figures/fig.pdf", "runs/model.bin", "runs/2024-01-01/weights", "runs/p1-sx/run.json"] {
            let out = folder(if resume { "beside-resume" } else { "beside" });
            complete(&plan(&[]), &out, false);
            put(&out.join(file));
            assert_eq!(complete(&plan(&[]), &out, resume).1, if resume { 3 } else { 0 });
            complete(&plan(&["transport.scdp.initial_window=9"]), &out, resume);
            assert_eq!(fs::read_to_string(out.join(file)).expect("it is there"), "years of work");
        }
    }
}

#[test]
fn a_run_that_would_go_with_other_files_stays() {
    for resume in [false, true] {
        for file in ["runs/p000-s3/thesis.tex", "runs/p000-s3/.DS_Store", "runs/p000-s3/plots/a.svg"] {
            let out = folder(if resume { "foreign-resume" } else { "foreign" });
            complete(&plan(&[]), &out, false);
            let path = out.join(file);
            put(&path);
            let before = tables_of(&out);
            let other = plan(&["transport.scdp.initial_window=9"]);
            let request = Request { out: &out, threads: 1, command: Vec::new(), resume, force: true };
            let error = run(&other, &request, &Progress::new(3)).expect_err("it holds something else").to_string();
            assert!(error.contains("runs/p000-s3/") && error.contains("nothing was written"), "{error}");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), "years of work");
            assert_eq!(tables_of(&out), before);
            // Runs that are kept may have company.
            assert_eq!(complete(&plan(&[]), &out, true).1, 3);
        }
    }
}

#[test]
fn a_folder_that_is_none_of_results_is_not_written() {
    for file in ["manifest.json", "report.html", "runs/2024-01-01/model.bin", "src/main.c"] {
        for resume in [false, true] {
            let out = folder("no-results");
            put(&out.join(file));
            let request = Request { out: &out, threads: 1, command: Vec::new(), resume, force: true };
            let error = run(&plan(&[]), &request, &Progress::new(3)).expect_err("it is not ours").to_string();
            assert!(error.contains("it is no result folder"), "{error}");
            assert_eq!(names(&out).len(), 1);
        }
    }
}

#[test]
fn runs_that_a_killed_program_left_under_other_names_are_kept() {
    let sweep = |values: &str| plan(&[&format!("sweep.\"transport.scdp.initial_window\"={values}")]);
    for aside in [".p000-s1", "..p000-s1", ".p000-s1.part", "...p001-s1"] {
        let out = folder("aside");
        complete(&sweep("[4, 8, 12]"), &out, false);
        let before = {
            let mut found: Vec<Vec<u8>> = tables(&out).into_iter().map(|(_, table)| table).collect();
            found.sort();
            found
        };
        let runs = out.join("runs");
        fs::rename(runs.join("p000-s1"), runs.join(aside)).expect("it is there");
        // The others change places, round about, with the one that is aside; twice.
        for order in ["[8, 12, 4]", "[12, 4, 8]", "[12, 4, 8]"] {
            assert_eq!(complete(&sweep(order), &out, true).1, 9, "{aside}");
            let mut found: Vec<Vec<u8>> = tables(&out).into_iter().map(|(_, table)| table).collect();
            found.sort();
            assert_eq!(found, before, "{aside}");
            assert!(names(&runs).iter().all(|name| !name.starts_with('.')), "{:?}", names(&runs));
        }
    }
}

/// As `tables`, of the runs that are there whatever else is.
fn tables_of(out: &Path) -> Vec<Vec<u8>> {
    (1..=3).map(|seed| fs::read(out.join(format!("runs/p000-s{seed}/flows.parquet"))).expect("it is there")).collect()
}

#[test]
fn one_run_alone_has_the_bytes_that_it_has_among_others() {
    let (out, alone) = (folder("among"), folder("alone"));
    let plan = plan(&[]);
    complete(&plan, &out, false);
    for (i, run) in plan.runs.iter().enumerate() {
        let home = alone.join(run.name());
        let entry = run_one(&plan, i, &home, &Progress::new(plan.runs.len())).expect("nothing fails");
        assert_eq!((entry.run, entry.status.as_str()), (run.name(), "complete"));
        for file in ["flows.parquet", "links.parquet"] {
            let among = fs::read(out.join("runs").join(run.name()).join(file)).expect("it is there");
            assert_eq!(fs::read(home.join(file)).expect("it is there"), among, "{file}");
        }
        assert!(home.join("run.json").is_file());
    }
}

#[test]
fn a_run_at_its_wall_clock_limit_is_marked_and_made_again() {
    let out = folder("limit");
    let plan = plan(&["repeat=1", "workload.0.sizes.size=500MB"]);
    let request = Request { out: &out, threads: 1, command: Vec::new(), resume: false, force: true };
    let progress = Progress::new(1).with_limit(Some(Duration::from_millis(1)));
    let manifest = run(&plan, &request, &progress).expect("nothing fails");
    assert_eq!(manifest.runs[0].status, "wall_limit");
    assert!(manifest.runs[0].message.as_ref().is_some_and(|m| m.starts_with("stopped after 0.")), "{manifest:?}");
    assert!(out.join("runs/p000-s1/flows.parquet").is_file(), "what had happened is kept");
    // It does not count as done.
    let again = book(&plan, &out, true).expect("it is a result folder");
    assert_eq!(again.missing(&plan).expect("it can be run"), [0]);
}

#[test]
fn runs_that_fail_elsewhere_are_told_in_the_manifest() {
    let out = folder("elsewhere");
    let plan = plan(&[]);
    let (manifest, _) = complete(&plan, &out, false);
    fs::remove_file(out.join("runs/p000-s2/links.parquet")).expect("it is there");
    fs::remove_dir_all(out.join("runs/p000-s3")).expect("it is there");
    let book = book(&plan, &out, true).expect("nothing fails");
    let mut missing = book.missing(&plan).expect("all can be run");
    missing.sort_unstable();
    assert_eq!(missing, [1, 2]);
    book.fail(&plan, 1, "it broke".to_owned()).expect("nobody interrupts it");
    let told = book.close().expect("the manifest can be written");
    let statuses: Vec<&str> = told.runs.iter().map(|run| run.status.as_str()).collect();
    assert_eq!(statuses, ["complete", "failed", "interrupted"]);
    assert_eq!(told.runs[1].message.as_deref(), Some("it broke"));
    assert_eq!(told.runs[0].fingerprint, manifest.runs[0].fingerprint);
}

/// Makes a folder one of an earlier version, whose runs had no entries of their own.
fn without_entries(out: &Path) {
    for run in names(&out.join("runs")) {
        fs::remove_file(out.join("runs").join(run).join("run.json")).expect("it is there");
    }
}

#[test]
fn runs_of_versions_that_wrote_no_entries_are_known_by_the_manifest() {
    let out = folder("no-entries");
    complete(&plan(&[]), &out, false);
    without_entries(&out);
    assert_eq!(complete(&plan(&[]), &out, true).1, 3, "they are kept");
    for overrides in [&["transport.scdp.initial_window=9"][..], &[]] {
        without_entries(&out);
        assert_eq!(complete(&plan(overrides), &out, false).1, 0, "or replaced");
    }
    without_entries(&out);
    // Another plan does not need the names of two of them: they wait, and are known still.
    let how = Opening { resume: true, force: false, token: None };
    let other = self::plan(&["transport.scdp.initial_window=9", "repeat=1"]);
    let open = || Book::open(&other, Arc::new(Directory::new(&out)), &how, &[]);
    let refused = open().err().expect("a run would be lost").to_string();
    assert!(refused.contains("1 of them (p000-s1) would be deleted"), "{refused}");
    fs::rename(out.join("runs/p000-s1"), out.join("runs/p007-s1")).expect("it is there");
    open().expect("nobody needs their names").close().expect("it can be written");
    let found = Place(Arc::new(Directory::new(&out))).finished().expect("it can be read");
    let hash = |seed: usize| plan(&[]).runs[seed - 1].hash.clone();
    let known = [("p000-s2", hash(2)), ("p000-s3", hash(3)), ("p007-s1", String::new())];
    assert!(found.iter().map(|(name, hash)| (name.as_str(), hash.clone())).eq(known), "{found:?}");
}

#[test]
fn a_worker_that_is_late_stores_nothing() {
    let out = folder("late");
    let plan = plan(&["repeat=1"]);
    let open = |token: &str| {
        let how = Opening { resume: true, force: false, token: Some(token.to_owned()) };
        Book::open(&plan, Arc::new(Directory::new(&out)), &how, &[]).expect("nothing is in the way")
    };
    let place = Place(Arc::new(Directory::new(&out)));
    let draft = out.join("runs/.p000-s1.0a1b2c3d.part");
    let first = open(FIRST);
    run_one(&plan, 0, &draft, &Progress::new(1)).expect("nothing fails");
    drop(first); // it is killed, and another one comes, which finds the run
    let second = open(SECOND);
    assert!(second.missing(&plan).expect("it can be run").is_empty());
    run_one(&plan, 0, &draft, &Progress::new(1)).expect("nothing fails");
    let hash = &plan.runs[0].hash;
    let late = place.publish(&draft, "p000-s1", hash, Some(FIRST));
    assert!(matches!(late, Err(StoreError::Superseded(_))), "{late:?}");
    // One of this sweep finds it there.
    let stored = place.stored("p000-s1", hash).expect("it can be read").expect("it is there");
    assert_eq!(place.publish(&draft, "p000-s1", hash, Some(SECOND)).expect("it is the same"), stored);
    second.close().expect("it can be written");
    // The draft is a second copy of it.
    assert!(!draft.exists());
    assert_eq!(complete(&plan, &out, true).1, 1);
    assert_eq!(names(&out.join("runs")), ["p000-s1"]);
}

#[test]
fn a_run_that_is_interrupted_alone_leaves_nothing() {
    let out = folder("interrupted");
    let plan = plan(&["workload.0.sizes.size=2GB", "measure.packets=[\"h0\"]", "measure.packets_limit=5KB"]);
    let progress = Progress::new(plan.runs.len());
    let entry = std::thread::scope(|scope| {
        let made = scope.spawn(|| run_one(&plan, 0, &out.join("alone"), &progress));
        while progress.events() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        progress.interrupt();
        made.join().expect("it does not panic").expect("nothing fails")
    });
    assert_eq!((entry.status.as_str(), entry.events > 0), ("interrupted", true));
    assert!(!out.join("alone").exists());
    // At its limit on the wall it has results.
    let progress = Progress::new(plan.runs.len()).with_limit(Some(Duration::ZERO));
    let entry = run_one(&plan, 0, &out.join("alone"), &progress).expect("nothing fails");
    assert_eq!((entry.status.as_str(), out.join("alone/run.json").is_file()), ("wall_limit", true));
}

#[test]
fn a_draft_that_cannot_be_removed_keeps_no_other() {
    let out = folder("stuck");
    let how = Opening { resume: true, force: false, token: Some(FIRST.to_owned()) };
    let plan = plan(&[]);
    let book = Book::open(&plan, Arc::new(Directory::new(&out)), &how, &[]).expect("nothing is in the way");
    for seed in 1..4 {
        fs::create_dir(out.join(format!("runs/.p000-s{seed}.0a1b2c3d.part"))).expect("it is not there");
    }
    fs::write(out.join("runs/.p000-s2.0a1b2c3d.part/notes.txt"), "mine").expect("it can be written");
    book.close().expect("it can be written");
    assert_eq!(names(&out.join("runs")), [".p000-s2.0a1b2c3d.part"]);
}

#[test]
fn a_complete_run_that_cannot_get_its_name_is_left_to_the_next_command() {
    // A longer run, if this one was done before something was in its way.
    for size in ["2MB", "40MB", "800MB"] {
        let out = folder("in-the-way");
        let plan = plan(&["repeat=1", &format!("workload.0.sizes.size={size}")]);
        let progress = Progress::new(1);
        let request = Request { out: &out, threads: 1, command: Vec::new(), resume: true, force: false };
        let place = out.join("runs/p000-s1");
        let made = std::thread::scope(|scope| {
            let made = scope.spawn(|| run(&plan, &request, &progress));
            while progress.events() == 0 && !made.is_finished() {
                std::thread::yield_now();
            }
            let _ = fs::create_dir_all(place.join("theirs"));
            made.join().expect("it does not panic")
        });
        if made.is_err() {
            assert_eq!(names(&out.join("runs")), [".p000-s1.part", "p000-s1"]);
            fs::remove_dir_all(&place).expect("it is there");
            assert_eq!(complete(&plan, &out, true).1, 1);
            assert_eq!(names(&out.join("runs")), ["p000-s1"]);
            return;
        }
    }
    panic!("all runs were done before anything was in their way");
}

#[test]
fn old_runs_go_only_for_runs_that_are_as_finished() {
    let out = folder("final");
    let plan = plan(&["workload.0.sizes.size=2MB"]);
    complete(&plan, &out, false);
    let before = tables(&out);
    let progress = Progress::new(3).with_limit(Some(Duration::ZERO));
    let request = Request { out: &out, threads: 1, command: Vec::new(), resume: false, force: false };
    let limited = run(&plan, &request, &progress).expect("nothing fails");
    assert!(limited.runs.iter().all(|run| run.status == "wall_limit"), "{limited:?}");
    assert_eq!(complete(&plan, &out, true).1, 3);
    assert_eq!(tables(&out), before);
    let again = book(&plan, &out, false).expect("it is a result folder");
    for i in 0..3 {
        again.fail(&plan, i, "it broke".to_owned()).expect("nobody interrupts it");
    }
    again.close().expect("it can be written");
    assert_eq!(complete(&plan, &out, true).1, 3);
    assert_eq!(tables(&out), before);
}

#[test]
fn a_second_copy_of_a_run_is_no_run_that_is_lost() {
    let out = folder("copies");
    complete(&plan(&["repeat=1"]), &out, false);
    let runs = out.join("runs");
    fs::rename(runs.join("p000-s1"), runs.join("p005-s1")).expect("it is there");
    fs::create_dir(runs.join(".p000-s1")).expect("it is not there");
    for file in names(&runs.join("p005-s1")) {
        fs::copy(runs.join("p005-s1").join(&file), runs.join(".p000-s1").join(&file)).expect("it is there");
    }
    let other = plan(&["repeat=1", "transport.scdp.initial_window=9"]);
    let open = |resume| {
        let how = Opening { resume, force: false, token: None };
        Book::open(&other, Arc::new(Directory::new(&out)), &how, &[])
    };
    let refused = open(false).err().expect("the run would be lost").to_string();
    assert!(refused.contains("holds 1 finished run") && refused.contains("1 of them (p005-s1)"), "{refused}");
    open(true).expect("one of them stays").close().expect("it can be written");
    assert_eq!(names(&runs), ["p005-s1"]);
}
