//! Objects without end.

use super::{SizeLaw, Sizes};
use crate::random::Stream;
use crate::workload::error::Fault;
use anabranch_transport::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Long flows that last until the run ends. Such a workload is background traffic unless it says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endless {}

impl SizeLaw for Endless {
    fn check(&self) -> Vec<Fault> {
        Vec::new()
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Sizes>, Fault> {
        Ok(Box::new(Self {}))
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
