//! `[[failure]]`: what breaks, and when.

use crate::workload::Fault;
use anabranch_transport::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One change of a link, or of all links of a switch, during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// When.
    pub at: Duration,
    /// The link, by the names of its ends: `edge0.0-agg0.1`. Give `link` or `switch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The switch, by its name: `core3`. Give `link` or `switch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// What happens.
    pub action: Action,
    /// The new bit rate, with `action = "slow"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// What happens to a link or a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It carries nothing any more.
    Cut,
    /// It is as at the start again.
    Restore,
    /// Its bit rate changes to `rate`.
    Slow,
}

impl Failure {
    /// What is wrong, whatever the fabric.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        match (&self.link, &self.switch) {
            (None, None) => {
                faults.push(Fault::new("", "a failure needs `link` or `switch`").hint("link = \"edge0.0-agg0.1\""));
            }
            (Some(_), Some(_)) => faults.push(Fault::new("switch", "give either `link` or `switch`, not both")),
            (Some(link), None) if !link.contains('-') => {
                let message = format!("{link:?} is not a link: expected the names of its ends with a hyphen between");
                faults.push(Fault::new("link", message).hint("like \"edge0.0-agg0.1\""));
            }
            _ => {}
        }
        match (self.action, self.rate) {
            (Action::Slow, None) => {
                faults.push(Fault::new("action", "\"slow\" needs a `rate`").hint("rate = \"100Mbps\""));
            }
            (Action::Slow, Some(rate)) if rate.bps() == 0 => {
                faults.push(Fault::new("rate", "must be above 0").hint("for no rate at all: action = \"cut\""));
            }
            (Action::Cut | Action::Restore, Some(_)) => {
                faults.push(Fault::new("rate", "only with action = \"slow\""));
            }
            _ => {}
        }
        faults
    }
}
