//! Measures the RaptorQ codec of this project: how fast it is, and how long a receiver waits for a block.
//!
//! [`latency`] makes the table that simulations look decode latencies up in; `anabranch codec bench` writes it. The other
//! modules are what it shares with the codec's benchmark (`crates/raptorq/benches/codec`), which adds another codec to
//! compare with. Only this crate and that benchmark read clocks; the codec itself has none.
//!
//! The two most important types are [`latency::Decode`], one measurement, and [`workload::Workload`], what it decodes.

pub mod clock;
pub mod contenders;
pub mod latency;
pub mod measure;
pub mod provenance;
pub mod workload;
