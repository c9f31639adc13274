//! Jobs: operations of many ranks that send, receive and compute, each when those before it are done.
//!
//! | module | idea |
//! |---|---|
//! | [`job`] | operations and what each waits for; what is wrong with a job is said before it runs |
//! | [`collective`] | all-reduce and others as messages, one file an algorithm |
//! | [`model`] | a training step of a transformer, from its shape |
//! | [`read`] | files that describe jobs, one file each |
//! | [`progress`] | what a job does when: no network, no clock; a driver asks and tells |
//! | [`servers`] | links inside a server: what takes them needs no network |
//! | [`idle`] | what a job would take on an idle fabric |
//! | [`loggops`] | the `LogGOPS` cost model as a driver: an estimate without packets |
//!
//! The two most important types are [`Job`] and [`Progress`]. A simulator of packets is another driver, elsewhere.

pub mod builder;
mod check;
pub mod collective;
mod division;
pub mod error;
pub mod idle;
pub mod job;
mod links;
pub mod loggops;
mod matching;
pub mod model;
mod order;
pub mod progress;
pub mod read;
pub mod servers;
pub mod settings;

pub use builder::Builder;
pub use error::JobError;
pub use job::{Action, Job, Op, Operation, Peers};
pub use model::Model;
pub use progress::Progress;
pub use servers::Servers;
pub use settings::Settings;
