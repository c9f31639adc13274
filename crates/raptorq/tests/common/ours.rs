//! Short ways to the codec under test. What a test is not about must succeed, and is unwrapped here.

use anabranch_raptorq::{EncodingPlan, SourceBlockDecoder, SourceBlockEncoder};
use std::sync::Arc;

/// The plan for blocks of `source_symbols`.
pub(crate) fn plan(source_symbols: u32) -> Arc<EncodingPlan> {
    Arc::new(EncodingPlan::generate(source_symbols).expect("K is 1 to 56403"))
}

/// An encoder that has `block` loaded.
pub(crate) fn encoder(plan: &Arc<EncodingPlan>, block: &[u8], symbol_size: usize) -> SourceBlockEncoder {
    let source_symbols = (block.len() / symbol_size) as u32;
    let mut encoder =
        SourceBlockEncoder::new(Arc::clone(plan), source_symbols, symbol_size).expect("plan and K belong together");
    encoder.load(block).expect("the block has K symbols");
    encoder
}

/// An empty decoder.
pub(crate) fn decoder(plan: &Arc<EncodingPlan>, source_symbols: u32, symbol_size: usize) -> SourceBlockDecoder {
    SourceBlockDecoder::new(Arc::clone(plan), source_symbols, symbol_size).expect("plan and K belong together")
}

/// The symbol `esi`, source or repair.
pub(crate) fn symbol(encoder: &SourceBlockEncoder, symbol_size: usize, esi: u32) -> Vec<u8> {
    let mut symbol = vec![0xa5; symbol_size];
    encoder.encode_into(esi, &mut symbol).expect("the ESI has 24 bits");
    symbol
}
