//! A lab for transports: hosts in network namespaces around one switch, and what runs in them, from one file.
//!
//! [`Plan`] is a lab file, checked, as the runs it stands for; [`Executor`] runs them, each in a network of its own, and takes all of
//! it down again, whatever happens. It does not know what people see: `scdp lab` prints. It knows one switch in the middle and no
//! topology of several: Mininet and Containerlab do that.

mod clock;
mod discipline;
mod error;
mod execute;
mod file;
mod files;
mod names;
mod network;
mod plan;
mod process;
mod reference;
mod source;
mod suggest;
mod sweep;
mod template;
mod tools;
mod unprivileged;

pub use error::{Failure, FileError, LabError, Place};
pub use execute::{Executor, RunResult, Standing};
pub use file::{
    CheckConfig, FileConfig, HostConfig, Hosts, LabFile, ProgramConfig, Setting, StepConfig, SweepValues, Words,
};
pub use names::{Cleaned, clean};
pub use plan::{Plan, Run};
pub use reference::{reference, schema};
pub use tools::permitted;
pub use unprivileged::{can_unshare, hidden, unshare};
