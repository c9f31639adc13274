//! One `[[workload]]` of a scenario.

use super::Mode;
use super::arrivals::ArrivalsConfig;
use super::error::Fault;
use super::fallback::Fallback;
use super::placement::PlacementConfig;
use super::sizes::SizesConfig;
use super::trace::TraceConfig;
use anabranch_transport::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A group of sessions made by one law: arrivals x sizes x placement, or a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadConfig {
    /// Name in result tables; `workload0` and so on by default. Unique in the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When requests arrive. Default: all at time zero.
    pub arrivals: ArrivalsConfig,
    /// How large the objects are. Required, unless there is a `trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizesConfig>,
    /// Who sends to whom. Required, unless there is a `trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementConfig>,
    /// Read the sessions from a file instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceConfig>,
    /// Number of sessions, at least 1. Default: explicit start times tell it, or the placement, where it repeats itself (each host
    /// of a permutation once, one request of an incast).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub sessions: Option<u64>,
    /// No request arrives after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
    /// Relation of the ends. Default: unicast, or what `placement.access` asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// How a transport without group sessions (all but SCDP and Polyraptor) carries one-to-many and many-to-one sessions.
    /// Default: `multi-unicast`, `nearest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// The transport of these sessions. Default: that of `[transport]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<crate::scenario::TransportName>,
    /// Time from its start within which each session is to be complete: above 0. D2TCP acts on it, and results say it
    /// (`deadline_ns`). Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// Destination port of the connections, 1 to 65535: FA-DCTCP knows long flows by it. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub port: Option<u16>,
    /// Keeps the hosts of these sessions for them: the placements of all other workloads choose among the rest, which counts
    /// as the fabric for them (loads are of the rest's links). Hosts on which only long flows run are an example.
    pub exclusive: bool,
    /// Background traffic: `run.stop = "foreground"` does not wait for it. Default: true for endless sizes and volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
}

/// Sessions of one workload are limited to this many: more do not fit in memory.
pub const SESSIONS_MAX: u64 = 100_000_000;

impl WorkloadConfig {
    /// The name in result tables of the `index`-th workload.
    pub fn name(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("workload{index}"))
    }

    /// Whether the sessions have no end.
    pub fn is_endless(&self) -> bool {
        matches!(self.sizes, Some(SizesConfig::Endless(_))) && self.duration().is_none()
    }

    /// Whether the objects become available along a volume series.
    pub fn has_volumes(&self) -> bool {
        matches!(self.sizes, Some(SizesConfig::Volumes(_)))
    }

    /// How long each session lasts, if that is what ends it.
    pub fn duration(&self) -> Option<Duration> {
        match &self.sizes {
            Some(SizesConfig::Endless(endless)) => endless.duration,
            _ => None,
        }
    }

    /// Whether the run may stop before these sessions are done.
    pub fn is_background(&self) -> bool {
        self.background.unwrap_or_else(|| self.is_endless() || self.has_volumes())
    }

    /// What is wrong, whatever the fabric.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut under = |key: &str, found: Vec<Fault>| faults.extend(found.into_iter().map(|f| f.under(key)));
        under("arrivals", self.arrivals.law().check());
        if let Some(sizes) = &self.sizes {
            under("sizes", sizes.law().check());
        }
        if let Some(placement) = &self.placement {
            under("placement", placement.law().check());
            let mode = placement.law().mode(self.mode);
            let unfit = |mode: &Mode| self.fallback.and_then(|fallback| fallback.check(*mode));
            under("", mode.as_ref().ok().and_then(unfit).into_iter().collect());
            if self.has_volumes() && mode.as_ref().is_ok_and(|&mode| mode != Mode::Unicast) {
                let fault = Fault::new("sizes.law", "volumes are for sessions with one sender and one receiver");
                under("", vec![fault.hint("placement = { pattern = \"random\" }")]);
            }
            under("", mode.err().into_iter().collect());
        }
        if let Some(trace) = &self.trace {
            under("trace", trace.check());
        }
        let missing = |key: &str| Fault::new("", format!("a workload needs `{key}`, or a `trace`"));
        match (&self.trace, &self.sizes, &self.placement) {
            (Some(_), None, None) => {
                let keys = [
                    ("sessions", self.sessions.is_some()),
                    ("mode", self.mode.is_some()),
                    ("fallback", self.fallback.is_some()),
                    ("exclusive", self.exclusive),
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
        if self.deadline == Some(Duration::ZERO) {
            faults.push(Fault::new("deadline", "must be above 0"));
        }
        if self.deadline.is_some() && self.is_endless() {
            faults.push(Fault::new("deadline", "sessions without end have none"));
        }
        if self.port == Some(0) {
            faults.push(Fault::new("port", "must be 1 to 65535"));
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
