//! The codec in the tasks that are measured.

use crate::measure::{Contender, batch_for};
use crate::workload::Workload;
use anabranch_raptorq::{EncodingPlan, Level, RepairMatrix, SourceBlockDecoder, SourceBlockEncoder};
use std::hint::black_box;
use std::sync::Arc;

/// The plan for blocks of `source_symbols`.
pub fn plan(source_symbols: u32) -> Arc<EncodingPlan> {
    Arc::new(EncodingPlan::generate(source_symbols).expect("K is 1 to 56403"))
}

/// Writes the repair symbols of `block` from ESI K on.
pub fn repairs(plan: &Arc<EncodingPlan>, source_symbols: u32, block: &[u8], repairs: &mut [u8]) {
    let symbol_size = block.len() / source_symbols as usize;
    let mut encoder = SourceBlockEncoder::new(Arc::clone(plan), source_symbols, symbol_size).expect("a plan for K");
    encoder.load(block).expect("K symbols");
    encoder.symbols_into(source_symbols, repairs).expect("whole symbols");
}

/// Encodes a block and makes its first repair symbols.
pub struct Encode<'a> {
    encoder: SourceBlockEncoder,
    block: &'a [u8],
    repairs: Vec<u8>,
    expected: &'a [u8],
}

impl<'a> Encode<'a> {
    /// With `plan`, as many repair symbols as `expected` has, with `level`'s instructions.
    pub fn new(
        plan: &Arc<EncodingPlan>,
        level: Level,
        source_symbols: u32,
        block: &'a [u8],
        expected: &'a [u8],
    ) -> Self {
        let symbol_size = block.len() / source_symbols as usize;
        let encoder = SourceBlockEncoder::new(Arc::clone(plan), source_symbols, symbol_size).expect("a plan for K");
        Self::of(encoder.with_level(level).expect("an available level"), block, expected)
    }

    /// By `encoder`, as many repair symbols as `expected` has.
    pub fn of(encoder: SourceBlockEncoder, block: &'a [u8], expected: &'a [u8]) -> Self {
        Self { encoder, block, repairs: vec![0; expected.len()], expected }
    }
}

impl Contender for Encode<'_> {
    type Input = ();
    type Output = ();

    fn batch(&self) -> usize {
        batch_for(self.block.len())
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) {
        self.encoder.load(black_box(self.block)).expect("K symbols");
        self.encoder.symbols_into(self.encoder.source_symbols(), &mut self.repairs).expect("whole symbols");
    }

    fn check(&mut self, (): ()) {
        assert!(self.repairs == self.expected, "other repair symbols");
    }
}

/// As [`Encode`], with a plan that is made each time.
pub struct EncodeFromScratch<'a>(pub Encode<'a>);

impl Contender for EncodeFromScratch<'_> {
    type Input = ();
    type Output = ();

    fn batch(&self) -> usize {
        self.0.batch()
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) {
        let encoder = &mut self.0.encoder;
        let (source_symbols, symbol_size) = (encoder.source_symbols(), encoder.symbol_size());
        encoder.reset(plan(black_box(source_symbols)), source_symbols, symbol_size).expect("a plan for K");
        self.0.run(());
    }

    fn check(&mut self, (): ()) {
        self.0.check(());
    }
}

/// Makes a plan.
pub struct Generate(pub u32);

impl Contender for Generate {
    type Input = ();
    type Output = EncodingPlan;

    fn batch(&self) -> usize {
        1
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) -> EncodingPlan {
        EncodingPlan::generate(black_box(self.0)).expect("K is 1 to 56403")
    }

    fn check(&mut self, plan: EncodingPlan) {
        assert!(plan.extended_symbols() >= self.0);
    }
}

/// Makes repair symbols of a block that is encoded already.
pub struct Repairs<'a> {
    encoder: SourceBlockEncoder,
    made: Vec<u8>,
    expected: &'a [u8],
}

impl<'a> Repairs<'a> {
    /// As many as `expected` has.
    pub fn new(plan: &Arc<EncodingPlan>, source_symbols: u32, block: &[u8], expected: &'a [u8]) -> Self {
        let symbol_size = block.len() / source_symbols as usize;
        let mut encoder = SourceBlockEncoder::new(Arc::clone(plan), source_symbols, symbol_size).expect("a plan for K");
        encoder.load(block).expect("K symbols");
        Self { encoder, made: vec![0; expected.len()], expected }
    }
}

impl Contender for Repairs<'_> {
    type Input = ();
    type Output = ();

    fn batch(&self) -> usize {
        batch_for(self.made.len())
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) {
        self.encoder.symbols_into(black_box(self.encoder.source_symbols()), &mut self.made).expect("whole symbols");
    }

    fn check(&mut self, (): ()) {
        assert!(self.made == self.expected, "other repair symbols");
    }
}

/// Where the decoded block is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// In the decoder's memory, where it can be read.
    InPlace,
    /// Copied to a buffer of the caller.
    Copied,
}

/// Takes the symbols of a block and recovers it.
pub struct Decode<'a> {
    decoder: SourceBlockDecoder,
    workload: &'a Workload,
    next: usize,
    copy: Option<Vec<u8>>,
}

impl<'a> Decode<'a> {
    /// Of this workload, with `level`'s instructions.
    pub fn new(plan: &Arc<EncodingPlan>, level: Level, workload: &'a Workload, target: Target) -> Self {
        let &Workload { source_symbols, symbol_size, .. } = workload;
        let decoder = SourceBlockDecoder::new(Arc::clone(plan), source_symbols, symbol_size).expect("a plan for K");
        Self::of(decoder.with_level(level).expect("an available level"), workload, target)
    }

    /// Of this workload, by `decoder`.
    pub fn of(decoder: SourceBlockDecoder, workload: &'a Workload, target: Target) -> Self {
        let copy = (target == Target::Copied).then(|| vec![0; workload.block.len()]);
        Self { decoder, workload, next: 0, copy }
    }

    /// The first half of a run: everything arrives, for another block than before.
    pub fn receive(&mut self) {
        self.decoder.clear();
        for (esi, symbol) in self.workload.arrivals(self.next) {
            self.decoder.add_symbol(esi, black_box(symbol)).expect("a symbol of T bytes");
        }
        self.next += 1;
    }

    /// Panics unless the block was recovered.
    pub fn verify(&mut self) {
        self.check(());
    }

    /// The second half.
    pub fn recover(&mut self) {
        match &mut self.copy {
            None => drop(black_box(self.decoder.try_decode().expect("two symbols more than needed"))),
            Some(copy) => self.decoder.try_decode_into(copy).expect("two symbols more than needed"),
        }
    }
}

impl Contender for Decode<'_> {
    type Input = ();
    type Output = ();

    fn batch(&self) -> usize {
        batch_for(self.workload.block.len())
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) {
        self.receive();
        self.recover();
    }

    /// Of a batch, only the last block is still there.
    fn check(&mut self, (): ()) {
        let decoded = self.decoder.try_decode().expect("it is decoded");
        assert!(decoded == self.workload.block, "other bytes are decoded");
        assert!(self.copy.as_ref().is_none_or(|copy| copy == &self.workload.block), "other bytes are copied");
    }
}

/// Makes few repair symbols straight from the block.
pub struct Matrix<'a> {
    coefficients: RepairMatrix,
    block: &'a [u8],
    repairs: Vec<u8>,
    expected: &'a [u8],
}

impl<'a> Matrix<'a> {
    /// The first `count` ones.
    pub fn new(plan: &EncodingPlan, source_symbols: u32, count: u32, block: &'a [u8], expected: &'a [u8]) -> Self {
        let coefficients =
            RepairMatrix::new(plan, source_symbols, source_symbols, count).expect("repair symbols of a plan for K");
        Self { coefficients, block, repairs: vec![0; expected.len()], expected }
    }
}

impl Contender for Matrix<'_> {
    type Input = ();
    type Output = ();

    fn batch(&self) -> usize {
        batch_for(self.block.len())
    }

    fn prepare(&mut self) {}

    fn run(&mut self, (): ()) {
        let symbol_size = self.repairs.len() / self.coefficients.count();
        self.coefficients.encode_into(black_box(self.block), symbol_size, &mut self.repairs).expect("K symbols");
    }

    fn check(&mut self, (): ()) {
        assert!(self.repairs == self.expected, "other repair symbols");
    }
}
