//! Packet-level simulator of data-centre fabrics.
//!
//! A run is a pure function of (scenario, seed). The crate is laid out by idea: `engine` (time and events), `fabric`
//! (topologies, switches, queues, links, routing), `host` (protocols on hosts), `workload` (who sends what
//! when), `capture` (packets as files), `network` (a run), `measure` (what is recorded), `scenario` (the file format), `experiment` (many runs).
//!
//! The two most important types are [`network::Network`], a run in progress, and [`scenario::Scenario`], the file that
//! describes one.

/// Version of the model: another number, other results for the same scenario and seed. Part of every run's hash, so that
/// stored results of an older model are not taken for those of this one. `tests/determinism.rs` says when to raise it.
pub const MODEL: u32 = 6;

/// Whether a part of the model matters to a scenario.
pub type Concerns = fn(&scenario::Scenario) -> bool;

/// Parts of the model that only some scenarios concern, with a version of their own each, so that a change of one of them
/// leaves the results of all other scenarios as they are.
pub const MODEL_PARTS: [(&str, u32, Concerns); 18] = [
    ("many-to-one sessions", 2, scenario::Scenario::has_coded_reads),
    ("hosts with several links", 2, scenario::Scenario::may_be_multi_homed),
    ("CUBIC", 2, scenario::Scenario::has_cubic),
    ("long queues of hosts", 2, scenario::Scenario::has_udp),
    ("timeouts after a lost SYN", 2, scenario::Scenario::has_long_initial_timeout),
    ("FA-DCTCP", 2, scenario::Scenario::has_fa_dctcp),
    ("transports with subflows", 2, scenario::Scenario::has_subflows),
    ("queues of packets of other sizes", 2, scenario::Scenario::has_queues_of_other_packets),
    ("probes of SCDP's senders", 2, scenario::Scenario::has_scdp),
    ("windows that SCDP's receivers find", 2, scenario::Scenario::has_found_windows),
    ("SCDP's groups", 2, scenario::Scenario::has_groups),
    ("windows of groups that follow the fabric", 2, scenario::Scenario::has_groups_with_fitted_windows),
    ("Homa", 2, scenario::Scenario::has_homa),
    ("RACK", 2, scenario::Scenario::has_rack),
    ("switches that pause senders", 3, scenario::Scenario::is_lossless),
    ("where pauses begin", 2, scenario::Scenario::has_pauses_by_links),
    ("order of messages in jobs", 2, scenario::Scenario::has_queued_messages),
    ("turns at a host's link", 2, scenario::Scenario::has_turns),
];

pub mod capture;
pub mod control;
pub mod engine;
pub mod experiment;
pub mod fabric;
pub mod host;
mod input;
pub mod measure;
pub mod network;
pub mod random;
pub mod scenario;
mod stopwatch;
mod text;
pub mod workload;
