//! Topologies: what a scenario's `[fabric]` says, made into a [`Graph`].
//!
//! One file per topology; each is a plain configuration struct that implements [`Topology`], and one line in the
//! registry below, which also publishes the struct. [`TopologyConfig`] is any of them, chosen by the key `topology`. Nothing here knows queues, routes
//! or packets.

mod bcube;
mod dcell;
mod dragonfly;
mod dumbbell;
mod error;
mod fat_tree;
mod file;
mod jellyfish;
mod leaf_spine;
mod links;
mod mport_ntree;
mod rail;
mod star;
#[cfg(test)]
pub(crate) mod tests;
mod vl2;

pub use error::{Hint, TopologyError};
pub use file::HostLinks;
pub use links::{LayerLinks, Layers, LinkSpec, MAX_DELAY, MAX_HOSTS, MAX_LINKS, MAX_RATE, MAX_ROUTES};

use super::graph::Graph;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A family of fabrics.
pub trait Topology {
    /// Lays out nodes and links. Relative file names start at `base_dir`, the folder of the scenario.
    ///
    /// Hosts that share a switch have consecutive numbers, and links are added layer by layer from the hosts up, so
    /// that switches of the same level list their ports alike (multicast trees merge on that).
    ///
    /// # Errors
    ///
    /// A field outside its range, or a fabric beyond the limits: checked before anything large is allocated.
    fn graph(&self, base_dir: &Path) -> Result<Graph, TopologyError>;

    /// Whether hosts may have several links.
    fn may_be_multi_homed(&self) -> bool {
        false
    }

    /// The data file that it reads, if any: its content is part of a run's hash.
    fn data_file(&self) -> Option<&Path> {
        None
    }
}

/// Writes the enum of all topologies from the registry, one line each.
macro_rules! registry {
    ($($name:literal => $module:ident::$variant:ident,)+) => {
        $(pub use $module::$variant;)+

        /// The fabric of a scenario: which topology, how large, and how fast its links are.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "topology")]
        #[allow(missing_docs, reason = "each variant is documented at its struct")]
        pub enum TopologyConfig {
            $(#[serde(rename = $name)] $variant($variant),)+
        }

        impl TopologyConfig {
            /// Values of the key `topology`.
            pub const NAMES: &[&str] = &[$($name),+];

            /// The value of the key `topology`.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }

            fn topology(&self) -> &dyn Topology {
                match self { $(Self::$variant(config) => config,)+ }
            }
        }
    };
}

registry! {
    "fat-tree" => fat_tree::FatTree,
    "m-port-n-tree" => mport_ntree::MPortNTree,
    "leaf-spine" => leaf_spine::LeafSpine,
    "rail" => rail::Rail,
    "dragonfly" => dragonfly::Dragonfly,
    "jellyfish" => jellyfish::Jellyfish,
    "vl2" => vl2::Vl2,
    "bcube" => bcube::BCube,
    "dcell" => dcell::DCell,
    "star" => star::Star,
    "dumbbell" => dumbbell::Dumbbell,
    "file" => file::FileTopology,
}

impl TopologyConfig {
    /// See [`Topology::may_be_multi_homed`].
    pub fn may_be_multi_homed(&self) -> bool {
        self.topology().may_be_multi_homed()
    }

    /// See [`Topology::data_file`].
    pub fn data_file(&self) -> Option<&Path> {
        self.topology().data_file()
    }

    /// The fabric. Relative file names start at `base_dir`, the folder of the scenario.
    ///
    /// # Errors
    ///
    /// The field or line at fault, what it says and what was expected.
    pub fn build(&self, base_dir: &Path) -> Result<Graph, TopologyError> {
        let graph = self.topology().graph(base_dir)?;
        graph.validate()?;
        Ok(graph)
    }
}
