//! Whole objects: from bytes to packets and back (RFC 6330 §3 and §4).
//!
//! - [`ObjectTransmissionInformation`]: what sender and receiver agree on; [`BlockLayout`]: the blocks it implies.
//! - [`PayloadId`], [`EncodingPacket`], [`PacketRef`]: what goes over the wire.
//!
//! It knows no sockets, threads of its own, or clock, and does not check that what arrives is what was sent: a caller
//! that needs this adds a hash or a signature.

mod layout;
mod oti;
mod packet;
mod partition;

pub use layout::{BlockLayout, Blocks, LayoutError};
pub use oti::{MAX_TRANSFER_LENGTH, ObjectTransmissionInformation, OtiError};
pub use packet::{EncodingPacket, MAX_ENCODING_SYMBOL_ID, PacketError, PacketRef, PayloadId};
pub use partition::{Partition, partition};
