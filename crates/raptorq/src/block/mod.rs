//! One source block: its plan, its encoder, its decoder.

mod attempts;
mod coefficients;
mod decoder;
mod encoder;
mod error;
mod matrix;
mod plan;
mod received;
mod recover;
mod shape;
mod sources;
#[cfg(test)]
mod tests;

pub use decoder::{DecodeError, NotYet, SourceBlockDecoder};
pub use encoder::SourceBlockEncoder;
pub use error::{BlockError, ENCODING_SYMBOL_IDS};
pub use matrix::RepairMatrix;
pub use plan::EncodingPlan;
pub use received::Added;
