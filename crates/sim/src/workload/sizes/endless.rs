//! Objects without end.

use super::{SizeLaw, Sizes};
use crate::random::Stream;
use crate::workload::error::Fault;
use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Long flows that last until the run ends; such a workload is background traffic unless it says otherwise. Or, with a
/// `duration`, until the application stops them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endless {
    /// How long each flow lasts; it then counts as complete with what it has delivered. Default: until the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

impl SizeLaw for Endless {
    fn check(&self) -> Vec<Fault> {
        match self.duration {
            Some(Duration::ZERO) => vec![Fault::new("duration", "must be above 0")],
            _ => Vec::new(),
        }
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Sizes>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

impl Sizes for Endless {
    fn mean(&self) -> Option<f64> {
        None
    }

    fn draw(&self, _: &mut Stream) -> Option<Bytes> {
        None
    }
}
