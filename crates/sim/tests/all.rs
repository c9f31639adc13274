//! All tests of the crate from outside, in one program: it is linked once, and its tests share the cores.
//!
//! A test file is a module here: `cargo test -p anabranch-sim --test all determinism::` runs one of them.

mod admission;
mod barrier;
mod behaviour;
mod bounds;
mod buffers;
mod captures;
mod closed_form;
mod coexistence;
mod common;
mod controllers;
mod deadlines;
mod determinism;
mod direct_links;
mod ecn_adaptation;
mod endings;
mod fallbacks;
mod hull;
mod ideal;
mod invariants;
mod keys;
mod large_counts;
mod multicast_loss;
mod multipath;
mod options;
mod parallel;
mod path_weights;
mod pfabric;
mod properties;
mod remarks;
mod scenes;
mod seeds;
mod slow_links;
mod source_routes;
mod stragglers;
mod timeouts;
mod timetable;
mod views;
mod volumes;
mod window;
mod window_control;

/// A file that nobody names here would not be run.
#[test]
fn every_file_is_a_module() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let text = std::fs::read_to_string(format!("{folder}/all.rs")).expect("this file");
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let is_test = path.extension().is_some_and(|ending| ending == "rs") && name != "all";
        assert!(!is_test || text.contains(&format!("\nmod {name};\n")), "add `mod {name};` to tests/all.rs");
    }
}
