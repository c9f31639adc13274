//! The encoding symbols of an object that is sent: blocks are read on demand, and encoded only after a loss.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use anabranch_raptorq::{PlanCache, SourceBlockEncoder};
use anabranch_transport::scdp::Layout;

use crate::{HashTree, Object};

/// Blocks in memory at most: the blocks in flight at once, and the one that the pushed window begins with.
const LOADED: usize = 65;

/// A block in memory.
#[derive(Debug, Default)]
struct Loaded {
    block: u32,
    /// Its source symbols one after the other, including the padding of the object's last one.
    bytes: Vec<u8>,
    /// Created with the first repair symbol. Its memory is reused for other blocks.
    encoder: Option<SourceBlockEncoder>,
    encoded: bool,
}

/// Symbols of an object.
pub(super) struct Blocks {
    object: Box<dyn Object>,
    layout: Layout,
    symbol_bytes: usize,
    /// The size that the layout is for: at least 1.
    object_bytes: u64,
    /// The most recently used block is last.
    loaded: VecDeque<Loaded>,
    hash_tree: Option<Arc<HashTree>>,
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocks")
            .field("layout", &self.layout)
            .field("loaded", &self.loaded.len())
            .finish_non_exhaustive()
    }
}

impl Blocks {
    pub(super) fn new(object: Box<dyn Object>, layout: Layout, object_bytes: u64, symbol_bytes: usize) -> Self {
        Self { object, layout, symbol_bytes, object_bytes, loaded: VecDeque::new(), hash_tree: None }
    }

    /// From now on the object is cut in another way.
    pub(super) fn recut(&mut self, layout: Layout, symbol_bytes: usize) {
        (self.layout, self.symbol_bytes) = (layout, symbol_bytes);
        self.loaded.clear();
    }

    /// Writes a symbol of a block of the layout: the object's last source symbol without its padding. Clears `out` first.
    ///
    /// # Errors
    ///
    /// Any error of reading the object, and [`io::ErrorKind::OutOfMemory`].
    pub(super) fn symbol(&mut self, block: u32, esi: u32, out: &mut Vec<u8>) -> io::Result<()> {
        let (k, size) = (self.layout.source_symbols(block), self.symbol_bytes);
        let last = self.layout.is_last(block, esi);
        let object_bytes = self.object_bytes;
        let loaded = self.load(block)?;
        out.clear();
        if esi < k {
            let length = if last { self.layout.last_symbol_bytes(object_bytes, size as u64) as usize } else { size };
            let loaded = &self.loaded[loaded];
            out.extend_from_slice(&loaded.bytes[esi as usize * size..][..length]);
            return Ok(());
        }
        let loaded = &mut self.loaded[loaded];
        let encoder = loaded.encode(k, size).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
        out.resize(size, 0);
        encoder.encode_into(esi, out).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
    }

    /// The hashes of the object's parts: if they are not known, the object is read once more.
    ///
    /// # Errors
    ///
    /// Any error of reading the object.
    pub(super) fn hash_tree(&mut self) -> io::Result<Arc<HashTree>> {
        let tree = match self.hash_tree.take().or_else(|| self.object.hash_tree()) {
            Some(tree) => tree,
            None => Arc::new(HashTree::read(self.object.size(), |offset, bytes| self.object.read_at(offset, bytes))?),
        };
        Ok(Arc::clone(self.hash_tree.insert(tree)))
    }

    /// The place of a block in `loaded`; reads it first if it is not there.
    fn load(&mut self, block: u32) -> io::Result<usize> {
        let last = self.loaded.len().wrapping_sub(1);
        match self.loaded.iter().rposition(|loaded| loaded.block == block) {
            Some(at) if at == last => return Ok(at),
            Some(at) => {
                let found = self.loaded.remove(at).expect("it is there");
                self.loaded.push_back(found);
                return Ok(last);
            }
            None => {}
        }
        let mut place =
            if self.loaded.len() < LOADED { Loaded::default() } else { self.loaded.pop_front().unwrap_or_default() };
        let size = self.symbol_bytes;
        let start = self.layout.symbols_before(block) * size as u64;
        let bytes = self.layout.source_symbols(block) as usize * size;
        let there = (self.object.size() - start).min(bytes as u64) as usize;
        place.bytes.clear();
        place.bytes.resize(bytes, 0);
        (place.block, place.encoded) = (block, false);
        self.object.read_at(start, &mut place.bytes[..there])?;
        self.loaded.push_back(place);
        Ok(self.loaded.len() - 1)
    }
}

impl Loaded {
    fn encode(&mut self, k: u32, symbol_bytes: usize) -> Result<&SourceBlockEncoder, anabranch_raptorq::BlockError> {
        if !self.encoded {
            let plan = PlanCache::global().plan(k)?;
            match &mut self.encoder {
                Some(encoder) => encoder.reset(plan, k, symbol_bytes)?,
                none => *none = Some(SourceBlockEncoder::new(plan, k, symbol_bytes)?),
            }
            if let Some(encoder) = &mut self.encoder {
                encoder.load(&self.bytes)?;
            }
            self.encoded = true;
        }
        Ok(self.encoder.as_ref().expect("made above"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_raptorq::SourceBlockDecoder;

    const T: usize = 32;

    fn object(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect()
    }

    fn blocks(bytes: usize, block_symbols: u32) -> (Vec<u8>, Layout, Blocks) {
        let object = object(bytes);
        let layout = Layout::new(bytes as u64, T as u64, block_symbols).expect("fits");
        (object.clone(), layout, Blocks::new(Box::new(object), layout, bytes as u64, T))
    }

    #[test]
    fn source_symbols_are_the_object() {
        let (object, layout, mut blocks) = blocks(3001, 10);
        let (mut all, mut symbol) = (Vec::new(), Vec::new());
        for block in 0..layout.blocks {
            for esi in 0..layout.source_symbols(block) {
                blocks.symbol(block, esi, &mut symbol).expect("read");
                all.extend_from_slice(&symbol);
            }
        }
        assert_eq!(all, object, "the padding is not sent");
    }

    #[test]
    fn any_k_symbols_and_two_give_a_block_however_many_are_used_in_turns() {
        let (object, layout, mut blocks) = blocks(T * 10 * 200 - 5, 10);
        let mut symbol = Vec::new();
        for round in 0..2 {
            for block in (0..layout.blocks).rev() {
                let k = layout.source_symbols(block);
                let plan = PlanCache::global().plan(k).expect("a plan");
                let mut decoder = SourceBlockDecoder::new(plan, k, T).expect("a decoder");
                let first = k - 5 + round * 100;
                for esi in first..first + k + 2 {
                    blocks.symbol(block, esi, &mut symbol).expect("made");
                    symbol.resize(T, 0);
                    decoder.add_symbol(esi, &symbol).expect("a symbol");
                }
                let start = layout.symbols_before(block) as usize * T;
                let mut expected = object[start..(start + k as usize * T).min(object.len())].to_vec();
                expected.resize(k as usize * T, 0);
                assert_eq!(decoder.try_decode().expect("decoded"), expected, "block {block}");
            }
            assert_eq!(blocks.loaded.len(), LOADED);
        }
    }

    #[test]
    fn an_object_that_became_shorter_is_an_error() {
        struct Shrunk;
        impl Object for Shrunk {
            fn size(&self) -> u64 {
                100
            }
            fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        }
        let layout = Layout::new(100, T as u64, 10).expect("fits");
        let error =
            Blocks::new(Box::new(Shrunk), layout, 100, T).symbol(0, 0, &mut Vec::new()).expect_err("nothing there");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
