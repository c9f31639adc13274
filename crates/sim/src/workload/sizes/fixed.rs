//! Every object has the same size.

use super::{SizeLaw, Sizes};
use crate::random::Stream;
use crate::workload::error::Fault;
use anabranch_transport::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Size of every object, at least one byte.
    pub size: Bytes,
}

impl SizeLaw for Fixed {
    fn check(&self) -> Vec<Fault> {
        if self.size.0 == 0 {
            return vec![
                Fault::new("size", "an object has at least one byte")
                    .hint("for flows without end: `law = \"endless\"`"),
            ];
        }
        Vec::new()
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Sizes>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

impl Sizes for Fixed {
    fn mean(&self) -> Option<f64> {
        Some(self.size.0 as f64)
    }

    fn draw(&self, _: &mut Stream) -> Option<Bytes> {
        Some(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::sizes::tests::sample;

    #[test]
    fn draws_the_size_and_rejects_nothing_at_all() {
        let law = Fixed { size: Bytes(70_000) };
        assert!(sample(&law, 10).iter().all(|s| (s - 70_000.0).abs() < 0.5));
        assert_eq!(Fixed { size: Bytes(0) }.check()[0].key, "size");
    }
}
