//! Controllers: a control plane that looks at the fabric at intervals and changes settings of it.
//!
//! A controller is asked once a period. It gets a read-only [`View`] and answers with [`Action`]s, which take effect a
//! control-plane delay later. Decisions are rows of the time series (`measure::Sample`, metrics `set_...`).
//!
//! A controller is one file with a configuration that implements [`ControllerConfig`], and one line in the registry below
//! (`docs/how-to/add-a-controller.md`).

mod admission;
mod ecn_adaptation;
mod elephants;
mod hedera;
mod mahout;
mod occupancy;
mod rtt;
mod timetable;
mod view;

pub use crate::fabric::queue::watched::{ClassCounters, FlowCounters, Watch};
pub use crate::fabric::routing::PathWeight;
pub use admission::{Request, Rule, Verdict};
pub use ecn_adaptation::{Bound, Classify, EcnAdaptation, Links, LowerLaw, Scope, Window};
pub use hedera::{Hedera, Placing};
pub use mahout::Mahout;
pub use occupancy::QueueOccupancy;
pub use timetable::Timetable;
pub use view::{FlowView, MOST_PATHS, PortFlow, PortView, Sessions, View};

use crate::fabric::graph::{Graph, PortId};
use crate::fabric::queue::Setting;
use crate::workload::Fault;
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What a controller changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A setting of a port's queue.
    Queue(PortId, Setting),
    /// The rate of a link, both directions; above zero.
    Rate(u32, Rate),
    /// How much of what a switch sends to a host, or to all, goes by a port. Packets of multicast groups take no notice.
    Path(PathWeight),
    /// The path that all packets of a session take from now on, as egress ports from its source on: one of the shortest, of a session that
    /// [can be placed](FlowView::placeable). Nothing happens if the session is over, or if a link of the path no longer works.
    Place(u32, Vec<PortId>),
    /// What becomes of new flows that a rule is about.
    Admission(Rule, Verdict),
    /// Nothing is changed: what the controller has seen is a row of the time series, at once. Metric, port and value.
    Note(&'static str, PortId, f64),
}

/// A controller at work.
pub trait Controller: fmt::Debug + Send {
    /// What is to be changed now.
    fn decide(&mut self, view: &View<'_>) -> Vec<Action>;
    /// Whether it may yet lift a rule by which it holds flows, although nothing else goes on. If no controller does, a run
    /// that waits for such flows has stalled.
    fn waits(&self) -> bool {
        false
    }
}

/// No control plane decides more often, and a run in which one did would do little else.
const SHORTEST_PERIOD: Duration = Duration::from_us(1);

/// The fabric that a controller is given.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Nodes and links.
    pub graph: &'a Graph,
    /// Whether the routing scheme has path weights.
    pub weighted: bool,
    /// Whether a workload has flows whose path a controller may choose.
    pub placeable: bool,
    /// Whether a switch's queue marks packets at a threshold.
    pub marks: bool,
}

/// The configuration of a controller.
pub trait ControllerConfig {
    /// Time from one decision to the next, at least 1 us.
    fn period(&self) -> Duration;
    /// Time from what is seen until what was decided takes effect.
    fn delay(&self) -> Duration;
    /// What is wrong with the other settings.
    fn check(&self) -> Vec<Fault>;
    /// What is wrong with them in a fabric.
    fn check_in(&self, _fabric: &Given<'_>) -> Vec<Fault> {
        Vec::new()
    }
    /// What switches are to count for it. What no controller of a run watches is not counted and takes no time.
    fn watches(&self) -> Watch {
        Watch::NOTHING
    }
    /// Begins to control a fabric. What it draws, it draws from streams of this seed, the run's.
    fn start(&self, graph: &Graph, seed: u64) -> Box<dyn Controller>;
}

/// A controller of a run.
pub type SharedController = Arc<dyn ControllerConfig + Send + Sync>;

macro_rules! controllers {
    ($($(#[doc = $doc:literal])+ $name:ident($type:ty),)+) => {
        /// A controller of a scenario.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "law", rename_all = "kebab-case")]
        pub enum AnyController { $($(#[doc = $doc])+ $name($type),)+ }

        impl AnyController {
            /// Its configuration.
            pub fn config(&self) -> &dyn ControllerConfig {
                match self { $(Self::$name(config) => config,)+ }
            }

            /// The same, for a run.
            pub fn shared(&self) -> SharedController {
                match self { $(Self::$name(config) => Arc::new(config.clone()),)+ }
            }
        }
    };
}

// The registry: one line per controller.
controllers! {
    /// Moves marking thresholds by the occupancy of queues.
    QueueOccupancy(QueueOccupancy),
    /// Sets marking thresholds by the ratio of short to long flows on each link (Joy, chapter 4).
    EcnAdaptation(EcnAdaptation),
    /// Places large flows on paths by their estimated demands (Hedera, NSDI 2010).
    Hedera(Hedera),
    /// Places flows that wait in their hosts on the least congested path (Mahout, INFOCOM 2011).
    Mahout(Mahout),
    /// Changes settings at given times.
    Timetable(Timetable),
}

/// What switches are to count for these controllers.
pub fn watched_by(controllers: &[SharedController]) -> Watch {
    controllers.iter().fold(Watch::NOTHING, |watch, config| watch.or(config.watches()))
}

impl AnyController {
    /// What is wrong; where the fabric is known, also with it in that fabric.
    pub fn check(&self, fabric: Option<&Given<'_>>) -> Vec<Fault> {
        let config = self.config();
        let mut faults = config.check();
        if let Some(fabric) = fabric.filter(|_| faults.is_empty()) {
            faults.extend(config.check_in(fabric));
        }
        if config.period() < SHORTEST_PERIOD {
            faults.push(Fault::new("period", format!("must be at least {SHORTEST_PERIOD}, not {}", config.period())));
        }
        faults
    }
}
