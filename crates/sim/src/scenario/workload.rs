//! `[[workload]]`: the sessions of a [`Workload`], and what carries them.

use super::TransportName;
use crate::network::Fallback;
use crate::workload::{
    ArrivalsConfig, Barrier, Fault, JobConfig, Mode, PlacementConfig, SizesConfig, TraceConfig, Workload,
};
use anabranch_transport::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A group of sessions made by one law: arrivals x sizes x placement, a trace, or a job.
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
    /// The messages of a job instead: operations of many ranks, each of which waits for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobConfig>,
    /// Number of sessions, at least 1; with a barrier of new connections there are as many for each block. Default: explicit start times tell it, or the placement, where it repeats itself (each host
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
    pub transport: Option<TransportName>,
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
    /// The sessions of each request answer a client that asks for block after block, each when all fragments of the last one have
    /// arrived. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barrier: Option<Barrier>,
    /// Background traffic: `run.stop = "foreground"` does not wait for it. Default: true for endless sizes and volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
}

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

    /// What its sessions are made from; of a job, whose file has to be [opened](JobConfig::open), all but that.
    pub fn workload(&self) -> Workload {
        Workload {
            arrivals: self.arrivals.clone(),
            sizes: self.sizes.clone(),
            placement: self.placement.clone(),
            trace: self.trace.clone(),
            job: None,
            sessions: self.sessions,
            until: self.until,
            mode: self.mode,
            exclusive: self.exclusive,
            barrier: self.barrier.clone(),
        }
    }

    /// What is wrong, whatever the fabric.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = match &self.job {
            Some(job) => self.check_job(job),
            None => self.workload().check(),
        };
        if let Some(fallback) = self.fallback {
            match (&self.trace, &self.placement) {
                (Some(_), None) if self.sizes.is_none() => {
                    faults.push(Fault::new("fallback", "the trace says it: not with `trace`"));
                }
                (_, Some(placement)) => {
                    faults.extend(placement.law().mode(self.mode).ok().and_then(|mode| unfit(fallback, mode)));
                }
                _ => {}
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
        faults
    }
}

impl WorkloadConfig {
    /// What is wrong with a job, and what it leaves no room for.
    fn check_job(&self, job: &JobConfig) -> Vec<Fault> {
        let mut faults: Vec<Fault> = job.check().into_iter().map(|f| f.under("job")).collect();
        let given = [
            ("arrivals", self.arrivals != ArrivalsConfig::default()),
            ("sizes", self.sizes.is_some()),
            ("placement", self.placement.is_some()),
            ("trace", self.trace.is_some()),
            ("sessions", self.sessions.is_some()),
            ("until", self.until.is_some()),
            ("mode", self.mode.is_some()),
            ("barrier", self.barrier.is_some()),
            ("deadline", self.deadline.is_some()),
        ];
        for (key, given) in given {
            if given {
                faults.push(Fault::new(key, "not with `job`, whose operations say what is sent and when"));
            }
        }
        if let Some(fallback) = self.fallback {
            faults.extend(unfit(fallback, Mode::OneToMany));
        }
        faults
    }
}

/// What is wrong with a fallback for sessions of this mode.
fn unfit(fallback: Fallback, mode: Mode) -> Option<Fault> {
    if mode == fallback.mode() {
        return None;
    }
    let message = format!("is for {} sessions; these are {}", fallback.mode().name(), mode.name());
    let hint = match mode {
        Mode::Unicast => "leave it out: every transport has unicast sessions",
        Mode::OneToMany => "`fallback = \"multi-unicast\"` or `fallback = \"daisy-chain\"`",
        Mode::ManyToOne => "`fallback = \"nearest\"` or `fallback = \"partition\"`",
    };
    Some(Fault::new("fallback", message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fallback_fits_one_mode() {
        assert!(unfit(Fallback::DaisyChain, Mode::OneToMany).is_none());
        assert!(unfit(Fallback::Partition, Mode::ManyToOne).is_none());
        let fault = unfit(Fallback::Nearest, Mode::OneToMany).unwrap();
        assert_eq!(fault.key, "fallback");
        assert!(fault.to_string().contains("is for many_to_one sessions; these are one_to_many"), "{fault}");
        assert!(unfit(Fallback::MultiUnicast, Mode::Unicast).is_some());
    }

    #[test]
    fn what_has_no_end_is_background_unless_it_says_otherwise() {
        let of = |sizes: &str| toml::from_str::<WorkloadConfig>(&format!("sizes = {{ {sizes} }}")).unwrap();
        assert!(of("law = 'endless'").is_background());
        assert!(!of("law = 'fixed', size = '1kB'").is_background());
        assert!(!WorkloadConfig { background: Some(false), ..of("law = 'endless'") }.is_background());
    }
}
