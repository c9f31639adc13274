//! One source block: its plan, its encoder, its decoder.

mod encoder;
mod error;
mod plan;

pub use encoder::SourceBlockEncoder;
pub use error::BlockError;
pub use plan::EncodingPlan;
