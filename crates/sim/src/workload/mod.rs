//! Who sends what to whom, and when.
//!
//! A [`Workload`] is arrivals x sizes x placement, a trace, or the messages of a job. Each law is one file; [`generate`] turns the workloads of a
//! scenario into the [`Session`]s of a run. Nothing here knows a transport.

use anabranch_transport::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::path::Path;

pub mod arrivals;
mod barrier;
mod config;
pub(crate) mod context;
mod error;
mod generate;
pub mod job;
pub mod offered;
pub mod placement;
mod registry;
mod server;
pub mod sizes;
pub mod supply;
pub mod trace;

pub use arrivals::ArrivalsConfig;
pub use barrier::{Barrier, Connections};
pub use config::Workload;
pub use context::{Context, SESSIONS_MAX};
pub use error::{Fault, WorkloadError};
pub use generate::generate;
pub use job::{JobConfig, JobSummary, PlacedJob};
pub use placement::{Access, PlacementConfig, Policy};
pub(crate) use registry::registry;
pub use server::ServerConfig;
pub use sizes::SizesConfig;
pub(crate) use sizes::built_in_table;
pub use supply::Supply;
pub use trace::TraceConfig;

/// How the ends of a session relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One sender, one receiver.
    Unicast,
    /// One sender, several receivers of the same object.
    OneToMany,
    /// Several senders, each holding the whole object, one receiver.
    ManyToOne,
}

impl Mode {
    /// Snake-case name, as in scenario files and result tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unicast => "unicast",
            Self::OneToMany => "one_to_many",
            Self::ManyToOne => "many_to_one",
        }
    }
}

/// Hosts at an end of a session: nearly always one, which needs no memory of its own.
pub type HostList = SmallVec<[u32; 4]>;

/// One transfer of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// When the application asks for it.
    pub start: Time,
    /// Object size, at least one byte. `None`: a long flow without end (background), which lasts until the run ends.
    pub size: Option<Bytes>,
    /// How the object becomes available to its sender; `None`: all of it at the start.
    pub supply: Option<Supply>,
    /// Relation of the ends.
    pub mode: Mode,
    /// Sending hosts: one, or several for many-to-one.
    pub sources: HostList,
    /// Receiving hosts: one, or several for one-to-many.
    pub sinks: HostList,
    /// Which `[[workload]]` of the scenario made it.
    pub group: u16,
    /// The request that it belongs to, in order of arrival; several sessions may answer one request.
    pub request: u32,
    /// Which block of a barrier-synchronised request it carries, from 0; 0 where it carries all, and without barriers.
    pub block: u32,
}

/// The text of a data file named in a scenario, relative to `base`.
pub(crate) fn read_file(base: &Path, name: &str) -> Result<String, Fault> {
    let path = base.join(name);
    crate::input::read(&path).map_err(|e| Fault::new("", format!("cannot read {}: {e}", path.display())))
}

/// The bytes of a data file named in a scenario, relative to `base`.
pub(crate) fn read_bytes(base: &Path, name: &str) -> Result<Vec<u8>, Fault> {
    let path = base.join(name);
    crate::input::read_bytes(&path).map_err(|e| Fault::new("", format!("cannot read {}: {e}", path.display())))
}
