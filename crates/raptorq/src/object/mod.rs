//! Whole objects: from bytes to packets and back (RFC 6330 §3 and §4).
//!
//! - [`ObjectTransmissionInformation`]: what sender and receiver agree on; [`BlockLayout`]: the blocks it implies.
//! - [`PayloadId`], [`EncodingPacket`], [`PacketRef`]: what goes over the wire.
//! - [`Encoder`], [`BlockEncoder`], [`LoadedBlocks`]: the sender; [`Decoder`]: the receiver.
//!
//! It knows no sockets and no clock, starts threads only where a function says so, and does not check that what arrives
//! is what was sent: a caller that needs this adds a hash or a signature.

mod block_encoder;
mod decoder;
mod encoder;
mod error;
mod layout;
mod limits;
mod loaded_blocks;
mod oti;
mod packet;
mod partition;
#[cfg(feature = "std")]
mod plan_cache;
mod plans;
#[cfg(feature = "serde")]
mod serialized;
mod symbols;
#[cfg(feature = "std")]
mod threads;

pub use block_encoder::BlockEncoder;
pub use decoder::{BlockStatus, Decoder, Progress};
pub use encoder::{Encoder, Packets};
pub use error::{DecoderError, EncoderError};
pub use layout::{BlockLayout, Blocks, LayoutError};
pub use limits::DecoderLimits;
pub use loaded_blocks::LoadedBlocks;
pub use oti::{MAX_TRANSFER_LENGTH, ObjectTransmissionInformation, OtiError};
pub use packet::{EncodingPacket, PacketError, PacketRef, PayloadId};
pub use partition::{Partition, partition};
#[cfg(feature = "std")]
pub use plan_cache::PlanCache;
