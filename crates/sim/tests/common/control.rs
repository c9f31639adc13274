//! Controllers that a test writes as a function.

use anabranch_sim::control::{Action, Controller, ControllerConfig, SharedController, View, Watch};
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::workload::Fault;
use anabranch_transport::Duration;
use std::fmt;
use std::sync::{Arc, Mutex};

type Decide = dyn FnMut(&View<'_>) -> Vec<Action> + Send;

/// Decides as a function says.
#[derive(Clone)]
struct Custom {
    period: Duration,
    delay: Duration,
    watch: Watch,
    waits: bool,
    decide: Arc<Mutex<Decide>>,
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Custom")
    }
}

impl Controller for Custom {
    fn decide(&mut self, view: &View<'_>) -> Vec<Action> {
        (self.decide.lock().expect("one run at a time"))(view)
    }

    fn waits(&self) -> bool {
        self.waits
    }
}

impl ControllerConfig for Custom {
    fn period(&self) -> Duration {
        self.period
    }

    fn delay(&self) -> Duration {
        self.delay
    }

    fn check(&self) -> Vec<Fault> {
        Vec::new()
    }

    fn watches(&self) -> Watch {
        self.watch
    }

    fn start(&self, _graph: &Graph, _seed: u64) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// A controller that is asked once a `period`, whose decisions take effect `delay` later.
pub(crate) fn custom(
    period: Duration,
    delay: Duration,
    watch: Watch,
    waits: bool,
    decide: impl FnMut(&View<'_>) -> Vec<Action> + Send + 'static,
) -> SharedController {
    Arc::new(Custom { period, delay, watch, waits, decide: Arc::new(Mutex::new(decide)) })
}

/// A controller that decides `actions` at the time of each, at whole multiples of 100 us, without delay.
pub(crate) fn at_times(mut actions: Vec<(Duration, Action)>) -> SharedController {
    custom(Duration::from_us(100), Duration::ZERO, Watch::NOTHING, true, move |view| {
        let due = actions.partition_point(|(when, _)| when.ps() <= view.now().ps());
        actions.drain(..due).map(|(_, action)| action).collect()
    })
}
