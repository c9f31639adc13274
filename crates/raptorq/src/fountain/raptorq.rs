//! RaptorQ behind the trait.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::{
    Decodability, FountainCode, FountainDecoder, FountainEncoder, FountainError, Limits, check_length, check_loaded,
};
use crate::rfc::parameters::MAX_SOURCE_SYMBOLS;
use crate::{Added, ENCODING_SYMBOL_IDS, EncodingPlan, SourceBlockDecoder, SourceBlockEncoder};

/// The code of RFC 6330.
///
/// Each encoder and decoder that the trait makes has an encoding plan of its own. [`SourceBlockEncoder`] and
/// [`SourceBlockDecoder`] share one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RaptorQ;

impl FountainCode for RaptorQ {
    fn name(&self) -> &'static str {
        "raptorq"
    }

    fn limits(&self) -> Limits {
        Limits {
            source_symbols: 1..=MAX_SOURCE_SYMBOLS,
            encoding_symbols: u64::from(ENCODING_SYMBOL_IDS),
            systematic: true,
        }
    }

    fn encoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainEncoder>, FountainError> {
        self.limits().check_shape(source_symbols, symbol_size)?;
        let plan = Arc::new(EncodingPlan::generate(source_symbols)?);
        let encoder = SourceBlockEncoder::new(plan, source_symbols, symbol_size)?;
        Ok(Box::new(RaptorQEncoder { limits: self.limits(), encoder, loaded: false }))
    }

    fn decoder(&self, source_symbols: u32, symbol_size: usize) -> Result<Box<dyn FountainDecoder>, FountainError> {
        self.limits().check_shape(source_symbols, symbol_size)?;
        Ok(Box::new(RaptorQDecoder { limits: self.limits(), decoder: decoder(source_symbols, symbol_size)? }))
    }

    /// The decoder itself, on symbols of one byte.
    fn decodability(&self, source_symbols: u32) -> Result<Box<dyn Decodability>, FountainError> {
        self.limits().check_source_symbols(source_symbols)?;
        Ok(Box::new(RaptorQDecodability { limits: self.limits(), decoder: decoder(source_symbols, 1)? }))
    }
}

fn decoder(source_symbols: u32, symbol_size: usize) -> Result<SourceBlockDecoder, FountainError> {
    let plan = Arc::new(EncodingPlan::generate(source_symbols)?);
    Ok(SourceBlockDecoder::new(plan, source_symbols, symbol_size)?)
}

struct RaptorQEncoder {
    limits: Limits,
    encoder: SourceBlockEncoder,
    loaded: bool,
}

impl FountainEncoder for RaptorQEncoder {
    fn load(&mut self, block: &[u8]) -> Result<(), FountainError> {
        let expected = self.encoder.source_symbols() as usize * self.encoder.symbol_size();
        check_length("source block", expected, block.len())?;
        self.encoder.load(block)?;
        self.loaded = true;
        Ok(())
    }

    fn encode_into(&self, id: u32, out: &mut [u8]) -> Result<(), FountainError> {
        self.limits.check_id(id)?;
        check_length("symbol", self.encoder.symbol_size(), out.len())?;
        check_loaded(self.loaded)?;
        Ok(self.encoder.encode_into(id, out)?)
    }
}

struct RaptorQDecoder {
    limits: Limits,
    decoder: SourceBlockDecoder,
}

impl FountainDecoder for RaptorQDecoder {
    fn add_symbol(&mut self, id: u32, symbol: &[u8]) -> Result<bool, FountainError> {
        self.limits.check_id(id)?;
        check_length("symbol", self.decoder.symbol_size(), symbol.len())?;
        Ok(self.decoder.add_symbol(id, symbol)? == Added::New)
    }

    fn try_decode(&mut self) -> Option<&[u8]> {
        self.decoder.try_decode().ok()
    }

    fn clear(&mut self) {
        self.decoder.clear();
    }
}

struct RaptorQDecodability {
    limits: Limits,
    decoder: SourceBlockDecoder,
}

impl Decodability for RaptorQDecodability {
    fn decodes(&mut self, ids: &[u32]) -> Result<bool, FountainError> {
        ids.iter().try_for_each(|&id| self.limits.check_id(id))?;
        self.decoder.clear();
        loop {
            let mut taken = false;
            for &id in ids {
                taken |= self.decoder.add_symbol(id, &[0])? == Added::New;
            }
            if self.decoder.try_decode().is_ok() {
                return Ok(true);
            }
            // The decoder takes some symbols more than K, and again some more when those were not enough.
            if !taken {
                return Ok(false);
            }
        }
    }
}
