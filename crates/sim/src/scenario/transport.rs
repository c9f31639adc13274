//! Which transport a scenario runs.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
/// Name
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransportName {
    /// SCDP
    Scdp,
}
