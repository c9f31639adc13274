//! A workload: arrivals x sizes x placement, a trace, or a job.

use super::Mode;
use super::arrivals::ArrivalsConfig;
use super::barrier::Barrier;
use super::context::SESSIONS_MAX;
use super::error::Fault;
use super::job::PlacedJob;
use super::placement::PlacementConfig;
use super::sizes::SizesConfig;
use super::trace::TraceConfig;
use anabranch_transport::Duration;
use std::sync::Arc;

/// What sessions are made from: arrivals x sizes x placement, a trace, or a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// When requests arrive.
    pub arrivals: ArrivalsConfig,
    /// How large the objects are. Required, unless there is a `trace`.
    pub sizes: Option<SizesConfig>,
    /// Who sends to whom. Required, unless there is a `trace`.
    pub placement: Option<PlacementConfig>,
    /// Read the sessions from a file instead.
    pub trace: Option<TraceConfig>,
    /// The messages of a job instead.
    pub job: Option<Arc<PlacedJob>>,
    /// Number of sessions; `None`: as the arrivals or the placement tell.
    pub sessions: Option<u64>,
    /// No request arrives after this time.
    pub until: Option<Duration>,
    /// Relation of the ends; `None`: as the placement tells.
    pub mode: Option<Mode>,
    /// Keeps the hosts of these sessions for them.
    pub exclusive: bool,
    /// The sessions of a request answer a client that waits for all of them.
    pub barrier: Option<Barrier>,
}

impl Workload {
    /// What is wrong, whatever the fabric.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.job.is_some() {
            return faults;
        }
        let mut under = |key: &str, found: Vec<Fault>| faults.extend(found.into_iter().map(|f| f.under(key)));
        under("arrivals", self.arrivals.law().check());
        if let Some(sizes) = &self.sizes {
            under("sizes", sizes.law().check());
        }
        if let Some(placement) = &self.placement {
            under("placement", placement.law().check());
            let mode = placement.law().mode(self.mode);
            if matches!(self.sizes, Some(SizesConfig::Volumes(_)))
                && mode.as_ref().is_ok_and(|&mode| mode != Mode::Unicast)
            {
                let fault = Fault::new("sizes.law", "volumes are for sessions with one sender and one receiver");
                under("", vec![fault.hint("placement = { pattern = \"random\" }")]);
            }
            under("", mode.err().into_iter().collect());
        }
        if let Some(trace) = &self.trace {
            under("trace", trace.check());
        }
        if let Some(barrier) = &self.barrier {
            let mode = self.placement.as_ref().and_then(|placement| placement.law().mode(self.mode).ok());
            under("barrier", barrier.check(self.sizes.as_ref(), mode));
        }
        let missing = |key: &str| Fault::new("", format!("a workload needs `{key}`, or a `trace`"));
        match (&self.trace, &self.sizes, &self.placement) {
            (Some(_), None, None) => {
                let keys = [
                    ("sessions", self.sessions.is_some()),
                    ("mode", self.mode.is_some()),
                    ("exclusive", self.exclusive),
                    ("barrier", self.barrier.is_some()),
                ];
                for (key, given) in keys {
                    if given {
                        faults.push(Fault::new(key, "the trace says it: not with `trace`"));
                    }
                }
                if self.arrivals != ArrivalsConfig::default() {
                    faults.push(Fault::new("arrivals", "the trace says it: not with `trace`"));
                }
            }
            (Some(_), sizes, _) => {
                let key = if sizes.is_some() { "sizes" } else { "placement" };
                faults.push(Fault::new(key, "the trace says it: not with `trace`"));
            }
            (None, sizes, placement) => {
                if sizes.is_none() {
                    faults.push(missing("sizes").hint("sizes = { law = \"fixed\", size = \"1MB\" }"));
                }
                if placement.is_none() {
                    faults.push(missing("placement").hint("placement = { pattern = \"random\" }"));
                }
            }
        }
        match self.sessions {
            Some(0) => faults.push(Fault::new("sessions", "must be at least 1")),
            Some(n) if n > SESSIONS_MAX => {
                faults.push(Fault::new("sessions", format!("must be at most {SESSIONS_MAX}, not {n}")));
            }
            _ => {}
        }
        faults
    }
}
