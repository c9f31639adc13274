//! The crates.io `raptorq` codec, one source block at a time, by ESI.

use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder, SourceBlockEncoder,
    SourceBlockEncodingPlan,
};

/// Its description of a single block of symbols of `symbol_size` bytes. It reads nothing else of it here.
fn configuration(symbol_size: usize) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new(0, symbol_size.try_into().expect("a symbol has at most 65535 bytes"), 0, 1, 1)
}

/// A block that it has encoded.
pub(crate) struct Peer {
    source_symbols: u32,
    encoder: SourceBlockEncoder,
}

impl Peer {
    /// Encodes `block`. Its plan is made anew: its cache keeps up to 64 of them for ever.
    pub(crate) fn encode(block: &[u8], symbol_size: usize) -> Self {
        let source_symbols = block.len() / symbol_size;
        let plan = SourceBlockEncodingPlan::generate(source_symbols.try_into().expect("K is at most 56403"));
        let encoder = SourceBlockEncoder::with_encoding_plan(0, &configuration(symbol_size), block, &plan);
        Self { source_symbols: source_symbols as u32, encoder }
    }

    /// The repair symbol `esi`, which is at least K.
    pub(crate) fn repair(&self, esi: u32) -> Vec<u8> {
        let mut packets = self.encoder.repair_packets(esi - self.source_symbols, 1);
        let packet = packets.pop().expect("one was asked for");
        assert_eq!(packet.payload_id().encoding_symbol_id(), esi);
        packet.data().to_vec()
    }

    /// The block that it makes of `symbols`, if it can.
    pub(crate) fn decode(
        source_symbols: u32,
        symbol_size: usize,
        symbols: impl IntoIterator<Item = (u32, Vec<u8>)>,
    ) -> Option<Vec<u8>> {
        let length = u64::from(source_symbols) * symbol_size as u64;
        let mut decoder = SourceBlockDecoder::new(0, &configuration(symbol_size), length);
        decoder.decode(symbols.into_iter().map(|(esi, symbol)| EncodingPacket::new(PayloadId::new(0, esi), symbol)))
    }
}
