//! A panic takes the network down, too. Where namespaces are not permitted, this test says so and does nothing.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use anabranch_lab::{Executor, LabError, Plan};

const LAB: &str = "[switch]\nkind = \"bridge\"\n[hosts.a]\n[hosts.b]\n\
    [[program]]\non = \"a\"\ncommand = [\"sh\", \"-c\", \"echo $$ > {dir}/pid; echo up; exec sleep 600\"]\nready = \"up\"\n";

/// Namespaces of this process.
fn namespaces() -> Vec<PathBuf> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let own = format!("scdplab-{}-", std::process::id());
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains(&own)).collect()
}

#[test]
fn a_panic_leaves_nothing() {
    let plan = Plan::parse("lab.toml", LAB, "lab", Path::new("/")).expect("it is right");
    let executor = match Executor::new(Path::new("scdp"), None) {
        Ok(executor) => executor,
        Err(error @ (LabError::NotPermitted { .. } | LabError::Missing { .. })) => {
            println!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let mut held = None;
    let result = catch_unwind(AssertUnwindSafe(|| {
        executor.hold(&plan.runs[0], &|| false, |standing| {
            let folder = standing.folder().to_owned();
            let pid = fs::read_to_string(folder.join("a/pid")).expect("the program has said that it is up");
            held = Some((namespaces().len(), folder, pid.trim().to_owned()));
            panic!("on purpose");
        })
    }));
    assert!(result.is_err());
    let (standing, folder, pid) = held.expect("the network stood");
    assert_eq!(standing, 3, "two hosts and the switch");
    assert!(namespaces().is_empty());
    let gone = fs::read_to_string(format!("/proc/{pid}/cmdline")).map_or(true, |text| !text.contains("sleep"));
    assert!(gone, "process {pid} goes on");
    drop(executor);
    assert!(!folder.exists());
}
