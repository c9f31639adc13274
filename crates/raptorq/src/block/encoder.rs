//! Encoding.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{BlockError, EncodingPlan};
use crate::kernels::Kernels;
use crate::kernels::execute::{Block, Chunk, Layout, Symbols, chunks};

/// Encodes one source block after another.
#[derive(Debug)]
pub struct SourceBlockEncoder {
    plan: Arc<EncodingPlan>,
    source_symbols: u32,
    symbol_size: usize,
    kernels: Kernels,
    width: usize,
    area: Vec<Chunk>,
}

impl SourceBlockEncoder {
    pub fn new(plan: Arc<EncodingPlan>, source_symbols: u32, symbol_size: usize) -> Result<Self, BlockError> {
        let width = 2;
        let area = alloc::vec![Chunk::ZERO; chunks(&plan.program, symbol_size, width, Layout::Keep)];
        Ok(Self { plan, source_symbols, symbol_size, kernels: Kernels::best(), width, area })
    }

    pub fn load(&mut self, block: &[u8]) -> Result<(), BlockError> {
        self.kernels.execute(
            &self.plan.program,
            &self.plan.skeleton.hdpc,
            Block::Read(block),
            Symbols { symbol_size: self.symbol_size, repairs: &[] },
            &mut self.area,
            self.width,
            Layout::Keep,
        );
        Ok(())
    }

    pub fn encode_into(&self, esi: u32, out: &mut [u8]) -> Result<(), BlockError> {
        let p = &self.plan.skeleton.parameters;
        let isi = if esi < self.source_symbols { esi } else { esi + p.k_prime - self.source_symbols };
        out.fill(0);
        let l = p.l as usize;
        crate::solve::row_columns(p, isi, |c| {
            for (i, b) in out.iter_mut().enumerate() {
                let lane = i / 64;
                let strip = lane / self.width;
                let chunk = (strip * l + c as usize) * self.width + lane % self.width;
                *b ^= self.area[chunk].0[i % 64];
            }
        });
        Ok(())
    }
}
