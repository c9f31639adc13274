//! How descriptions and payload IDs are written with `serde`: as their fields, by name where the format has names.
//!
//! What is read goes through the same checks as numbers from anywhere else.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::oti::ObjectTransmissionInformation;
use super::packet::PayloadId;

/// [`ObjectTransmissionInformation`], unchecked.
#[derive(Serialize, Deserialize)]
#[serde(rename = "ObjectTransmissionInformation", deny_unknown_fields)]
struct Description {
    transfer_length: u64,
    symbol_size: u16,
    source_blocks: u8,
    sub_blocks: u16,
    symbol_alignment: u8,
}

impl Serialize for ObjectTransmissionInformation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let description = Description {
            transfer_length: self.transfer_length(),
            symbol_size: self.symbol_size(),
            source_blocks: self.source_blocks(),
            sub_blocks: self.sub_blocks(),
            symbol_alignment: self.symbol_alignment(),
        };
        description.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ObjectTransmissionInformation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let it = Description::deserialize(deserializer)?;
        Self::new(it.transfer_length, it.symbol_size, it.source_blocks, it.sub_blocks, it.symbol_alignment)
            .map_err(D::Error::custom)
    }
}

/// [`PayloadId`], unchecked.
#[derive(Serialize, Deserialize)]
#[serde(rename = "PayloadId", deny_unknown_fields)]
struct Id {
    source_block_number: u8,
    encoding_symbol_id: u32,
}

impl Serialize for PayloadId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (source_block_number, encoding_symbol_id) = (self.source_block_number(), self.encoding_symbol_id());
        Id { source_block_number, encoding_symbol_id }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PayloadId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = Id::deserialize(deserializer)?;
        Self::new(id.source_block_number, id.encoding_symbol_id).map_err(D::Error::custom)
    }
}
