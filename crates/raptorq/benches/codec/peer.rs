//! The contenders of the crates.io `raptorq` codec.
//!
//! It is used the way that suits it best: plans are made beforehand where the task allows it, packets to be decoded are
//! owned already, and what it has allocated is freed after the clock was read.

use crate::measure::{Contender, batch_for};
use crate::workload::Workload;
use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder, SourceBlockEncoder,
    SourceBlockEncodingPlan,
};
use std::hint::black_box;

/// The plan for blocks of `source_symbols`.
pub(crate) fn plan(source_symbols: u32) -> SourceBlockEncodingPlan {
    SourceBlockEncodingPlan::generate(source_symbols.try_into().expect("K is 1 to 56403"))
}

/// One block of symbols of `symbol_size` bytes.
fn configuration(symbol_size: usize) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new(0, symbol_size.try_into().expect("T is at most 65535"), 0, 1, 1)
}

fn check(packets: &[EncodingPacket], expected: &[u8], symbol_size: usize) {
    assert!(
        packets.iter().map(EncodingPacket::data).eq(expected.chunks(symbol_size)),
        "the codecs make different repair symbols"
    );
}

/// Encodes a block and makes its first repair symbols.
pub(crate) struct Encode<'a> {
    /// A plan made beforehand; without one, it is made each time.
    plan: Option<&'a SourceBlockEncodingPlan>,
    source_symbols: u32,
    symbol_size: usize,
    block: &'a [u8],
    expected: &'a [u8],
}

impl<'a> Encode<'a> {
    /// As many repair symbols as `expected` has.
    pub(crate) fn new(
        plan: Option<&'a SourceBlockEncodingPlan>,
        source_symbols: u32,
        block: &'a [u8],
        expected: &'a [u8],
    ) -> Self {
        Self { plan, source_symbols, symbol_size: block.len() / source_symbols as usize, block, expected }
    }
}

impl Contender for Encode<'_> {
    type Input = ();
    type Output = (SourceBlockEncoder, Vec<EncodingPacket>, Option<SourceBlockEncodingPlan>);

    fn batch(&self) -> usize {
        batch_for(self.block.len())
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) -> Self::Output {
        // `SourceBlockEncoder::new` would find the plan in a cache that the process keeps.
        let made = if self.plan.is_none() { Some(plan(black_box(self.source_symbols))) } else { None };
        let plan = self.plan.or(made.as_ref()).expect("it was made");
        let configuration = configuration(self.symbol_size);
        let encoder = SourceBlockEncoder::with_encoding_plan(0, &configuration, black_box(self.block), plan);
        let repairs = encoder.repair_packets(0, (self.expected.len() / self.symbol_size) as u32);
        (encoder, repairs, made)
    }

    fn check(&mut self, (_, repairs, _): Self::Output) {
        check(&repairs, self.expected, self.symbol_size);
    }
}

/// Makes a plan.
pub(crate) struct Generate(pub(crate) u32);

impl Contender for Generate {
    type Input = ();
    type Output = SourceBlockEncodingPlan;

    fn batch(&self) -> usize {
        1
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) -> SourceBlockEncodingPlan {
        plan(black_box(self.0))
    }

    fn check(&mut self, _: SourceBlockEncodingPlan) {}
}

/// Makes repair symbols of a block that is encoded already.
pub(crate) struct Repairs<'a> {
    encoder: SourceBlockEncoder,
    symbol_size: usize,
    expected: &'a [u8],
}

impl<'a> Repairs<'a> {
    /// As many as `expected` has.
    pub(crate) fn new(source_symbols: u32, block: &[u8], expected: &'a [u8]) -> Self {
        let symbol_size = block.len() / source_symbols as usize;
        let configuration = configuration(symbol_size);
        let encoder = SourceBlockEncoder::with_encoding_plan(0, &configuration, block, &plan(source_symbols));
        Self { encoder, symbol_size, expected }
    }
}

impl Contender for Repairs<'_> {
    type Input = ();
    type Output = Vec<EncodingPacket>;

    fn batch(&self) -> usize {
        batch_for(self.expected.len())
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) -> Vec<EncodingPacket> {
        self.encoder.repair_packets(0, black_box((self.expected.len() / self.symbol_size) as u32))
    }

    fn check(&mut self, repairs: Vec<EncodingPacket>) {
        check(&repairs, self.expected, self.symbol_size);
    }
}

/// Takes the packets of a block and recovers it.
pub(crate) struct Decode<'a> {
    workload: &'a Workload,
    next: usize,
}

impl<'a> Decode<'a> {
    pub(crate) fn new(workload: &'a Workload) -> Self {
        Self { workload, next: 0 }
    }
}

impl Contender for Decode<'_> {
    type Input = Vec<EncodingPacket>;
    type Output = (SourceBlockDecoder, Option<Vec<u8>>);

    fn batch(&self) -> usize {
        batch_for(self.workload.block.len())
    }

    fn prepare(&mut self) -> Vec<EncodingPacket> {
        self.next += 1;
        let arrivals = self.workload.arrivals(self.next - 1);
        arrivals.map(|(esi, symbol)| EncodingPacket::new(PayloadId::new(0, esi), symbol.to_vec())).collect()
    }

    fn run(&mut self, packets: Vec<EncodingPacket>) -> Self::Output {
        let configuration = configuration(self.workload.symbol_size);
        let mut decoder = SourceBlockDecoder::new(0, &configuration, self.workload.block.len() as u64);
        let block = decoder.decode(packets);
        (decoder, block)
    }

    fn check(&mut self, (_, block): Self::Output) {
        let block = block.expect("two symbols more than needed");
        assert!(block == self.workload.block, "the peer decodes other bytes");
    }
}
