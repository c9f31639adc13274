//! Packets in any order, with a bounded number of blocks in memory.

use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroUsize;
use core::ops::Deref;

use super::block_encoder::{BlockEncoder, start_packet};
use super::encoder::Encoder;
use super::error::EncoderError;
use super::packet::{EncodingPacket, PayloadId};

/// Serves any packet of an object, keeping the blocks that were asked for last.
///
/// `E` refers to the [`Encoder`]: `&Encoder<_>`, `Arc<Encoder<_>>`, `Box<Encoder<_>>`. A packet of a block that is not in
/// memory costs encoding that block, in the place of the one that was not used for the longest. So a sender that goes
/// round over all blocks needs a capacity of all of them, or should send block by block. Source packets come from the
/// object and need no block in memory. A clone copies the blocks in memory; where they are many, make a new one instead.
#[derive(Clone, Debug)]
pub struct LoadedBlocks<E> {
    encoder: E,
    capacity: NonZeroUsize,
    /// In the order of their last use, the latest last.
    blocks: Vec<BlockEncoder>,
}

impl<E, D> LoadedBlocks<E>
where
    E: Deref<Target = Encoder<D>>,
    D: AsRef<[u8]>,
{
    /// Room for `capacity` blocks of what `encoder` encodes, none of them loaded yet.
    pub fn new(encoder: E, capacity: NonZeroUsize) -> Self {
        Self { encoder, capacity, blocks: Vec::new() }
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder<D> {
        &self.encoder
    }

    /// The numbers of the blocks in memory, those used last at the end.
    pub fn loaded(&self) -> impl Iterator<Item = u8> {
        self.blocks.iter().map(|block| block.layout().number())
    }

    /// Writes the symbol of `id` to `symbol`, of T bytes.
    ///
    /// # Errors
    ///
    /// If there is no such block, it has no symbols, or `symbol` does not have T bytes.
    pub fn encode_into(&mut self, id: PayloadId, symbol: &mut [u8]) -> Result<(), EncoderError> {
        let layout = self.encoder.layout(id.source_block_number())?;
        if id.encoding_symbol_id() < layout.source_symbols() {
            return self.encoder.source_symbol_into(id, symbol);
        }
        self.block(id.source_block_number())?.encode_into(id.encoding_symbol_id(), symbol)
    }

    /// Writes the packet of `id` as it is sent, 4 + T bytes, to `packet`.
    ///
    /// # Errors
    ///
    /// If there is no such block, it has no symbols, or `packet` does not have 4 + T bytes.
    pub fn packet_into(&mut self, id: PayloadId, packet: &mut [u8]) -> Result<(), EncoderError> {
        let layout = self.encoder.layout(id.source_block_number())?;
        let symbol = start_packet(&layout, id, packet)?;
        self.encode_into(id, symbol)
    }

    /// The packet of `id`.
    ///
    /// # Errors
    ///
    /// If there is no such block, or it has no symbols.
    pub fn packet(&mut self, id: PayloadId) -> Result<EncodingPacket, EncoderError> {
        let mut symbol = vec![0; usize::from(self.encoder.config().symbol_size())];
        self.encode_into(id, &mut symbol)?;
        Ok(EncodingPacket::new(id, symbol))
    }

    /// Block `number`, which is now the one used last.
    fn block(&mut self, number: u8) -> Result<&BlockEncoder, EncoderError> {
        let block = match self.blocks.iter().position(|block| block.layout().number() == number) {
            Some(place) => self.blocks.remove(place),
            None if self.blocks.len() < self.capacity.get() => self.encoder.block_encoder(number)?,
            None => {
                let mut oldest = self.blocks.remove(0);
                let loaded = self.encoder.load_block(number, &mut oldest);
                if let Err(error) = loaded {
                    self.blocks.insert(0, oldest);
                    return Err(error);
                }
                oldest
            }
        };
        self.blocks.push(block);
        Ok(&self.blocks[self.blocks.len() - 1])
    }
}
