//! Packet-level simulator of data-centre fabrics.
//!
//! A run is a pure function of (scenario, seed). The crate is laid out by idea: `engine` (time and events), `fabric`
//! (topologies, switches, queues, links, routing), `host` (transports on hosts), `workload` (who sends what when),
//! `measure` (what is recorded), `scenario` (the file format).

pub mod fabric;
pub mod random;
pub mod scenario;
pub mod workload;
