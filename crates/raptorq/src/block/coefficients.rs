//! How much each source symbol counts in given repair symbols.

use alloc::vec::Vec;

use super::plan::EncodingPlan;
use crate::kernels::execute::{Chunk, lanes};
use crate::kernels::product::Coefficients;
use crate::kernels::program::{GatherList, Source};
use crate::kernels::transpose::Wanted;
use crate::kernels::{Kernels, LANE};
use crate::memory::reserve_double;
use crate::solve::push_symbol;

/// A matrix with a line for each source symbol and a byte for each repair symbol.
#[derive(Clone, Debug, Default)]
pub(super) struct RepairCoefficients {
    repairs: usize,
    lines: Vec<Chunk>,
    /// The columns of each repair symbol's row.
    wanted: GatherList,
    area: Vec<Chunk>,
}

impl RepairCoefficients {
    /// Those of `source_symbols` in the repair symbols with the internal ids `isis`.
    pub(super) fn find(
        &mut self,
        kernels: Kernels,
        plan: &EncodingPlan,
        source_symbols: u32,
        isis: impl ExactSizeIterator<Item = u32>,
    ) {
        self.repairs = isis.len();
        self.wanted.clear();
        for isi in isis {
            push_symbol(&mut self.wanted, &plan.skeleton.parameters, isi, Source::NONE, 0);
        }
        let stride = self.lanes();
        self.lines.resize(source_symbols as usize * stride, Chunk::ZERO);
        self.area.resize(plan.program().slots(), Chunk::ZERO);
        let mut terms = 0;
        for lane in 0..stride {
            let (first, end) = (lane * LANE, self.repairs.min((lane + 1) * LANE));
            let wanted = Wanted { list: &self.wanted, first, end, terms };
            let out = &mut self.lines[lane..];
            kernels.coefficients(plan.program(), &plan.skeleton.hdpc, wanted, &mut self.area, out, stride);
            terms += self.wanted.lines[first..end].iter().map(|line| line.total as usize).sum::<usize>();
        }
    }

    /// The coefficients of a source symbol.
    pub(super) fn line(&self, row: u32) -> &[Chunk] {
        let stride = self.lanes();
        &self.lines[row as usize * stride..][..stride]
    }

    /// Chunks of a line.
    pub(super) fn lanes(&self) -> usize {
        lanes(self.repairs)
    }

    /// All of them, to multiply symbols with.
    pub(super) fn all(&self) -> Coefficients<'_> {
        Coefficients { by_input: &self.lines, lanes: self.lanes() }
    }

    /// Makes room for as much again.
    pub(super) fn reserve_double(&mut self) {
        self.wanted.reserve_double();
        reserve_double(&mut self.lines);
    }

    /// Drops what was only needed to find them.
    pub(super) fn shrink(&mut self) {
        self.area = Vec::new();
        self.wanted = GatherList::default();
    }
}
