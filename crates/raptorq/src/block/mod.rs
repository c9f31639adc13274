//! One source block: its plan, its encoder, its decoder.

mod decoder;
mod encoder;
mod error;
mod plan;
mod received;
mod recover;
mod shape;

pub use decoder::{DecodeError, NotYet, SourceBlockDecoder};
pub use encoder::SourceBlockEncoder;
pub use error::{BlockError, ENCODING_SYMBOL_IDS};
pub use plan::EncodingPlan;
pub use received::Added;
