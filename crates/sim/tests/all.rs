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
mod homa;
mod hosts_preset;
mod hull;
mod ideal;
mod invariants;
mod keys;
mod large_counts;
mod lossless;
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
mod worlds;
