//! Encoding plans, which take time to make and are the same for all blocks of a K'.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::oti::ObjectTransmissionInformation;
#[cfg(feature = "std")]
use super::plan_cache::PlanCache;
use crate::rfc::Parameters;
use crate::{BlockError, EncodingPlan};

/// The plans that one object needs: one, or two if its blocks are of two sizes whose K' differ.
#[derive(Clone, Debug)]
pub(crate) struct Plans {
    plans: Vec<Arc<EncodingPlan>>,
    /// Where plans are looked for, and made, that are not here.
    #[cfg(feature = "std")]
    cache: PlanCache,
}

impl Default for Plans {
    /// None; those of the whole process are at hand.
    fn default() -> Self {
        Self {
            plans: Vec::new(),
            #[cfg(feature = "std")]
            cache: PlanCache::global().clone(),
        }
    }
}

impl Plans {
    /// The plan for blocks of `source_symbols`, from wherever it can be had at the least expense. Its program may be missing.
    pub(crate) fn get(&mut self, source_symbols: u32) -> Result<Arc<EncodingPlan>, BlockError> {
        if let Some(plan) = self.find(source_symbols) {
            return Ok(Arc::clone(plan));
        }
        #[cfg(feature = "std")]
        let plan = self.cache.outline(source_symbols)?;
        #[cfg(not(feature = "std"))]
        let plan = Arc::new(EncodingPlan::generate(source_symbols)?);
        self.plans.push(Arc::clone(&plan));
        Ok(plan)
    }

    /// The plan for blocks of `source_symbols`, if it is here.
    pub(crate) fn find(&self, source_symbols: u32) -> Option<&Arc<EncodingPlan>> {
        let extended = extended_symbols(source_symbols)?;
        self.plans.iter().find(|plan| plan.extended_symbols() == extended)
    }

    /// Keeps `plan` if `oti` has blocks for it.
    pub(crate) fn offer(&mut self, oti: &ObjectTransmissionInformation, plan: &Arc<EncodingPlan>) {
        let wanted = block_sizes(oti).any(|symbols| extended_symbols(symbols) == Some(plan.extended_symbols()));
        if wanted && self.find(plan.extended_symbols()).is_none() {
            self.plans.push(Arc::clone(plan));
        }
    }

    /// Makes all plans that `oti` needs, and their programs.
    pub(crate) fn complete(&mut self, oti: &ObjectTransmissionInformation) -> Result<(), BlockError> {
        block_sizes(oti).try_for_each(|symbols| {
            self.get(symbols)?.program();
            Ok(())
        })
    }

    /// The plans that are here.
    pub(crate) fn as_slice(&self) -> &[Arc<EncodingPlan>] {
        &self.plans
    }

    #[cfg(feature = "std")]
    pub(crate) fn set_cache(&mut self, cache: &PlanCache) {
        self.cache = cache.clone();
    }
}

/// K' for K source symbols.
fn extended_symbols(source_symbols: u32) -> Option<u32> {
    Parameters::of(source_symbols).map(|parameters| parameters.k_prime)
}

/// The source symbol counts of the blocks of an object: one or two, and none of them 0.
fn block_sizes(oti: &ObjectTransmissionInformation) -> impl Iterator<Item = u32> + use<> {
    let cut = oti.block_partition();
    let sizes = [(cut.large, cut.large_count), (cut.small, cut.small_count)];
    sizes.into_iter().filter(|&(symbols, count)| symbols > 0 && count > 0).map(|(symbols, _)| symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oti(symbols: u64, blocks: u8) -> ObjectTransmissionInformation {
        ObjectTransmissionInformation::new(symbols, 1, blocks, 1, 1).unwrap()
    }

    #[test]
    fn an_object_needs_at_most_two_plans() {
        // (symbols, blocks, K' of its blocks)
        let cases: [(u64, u8, &[u32]); 5] =
            [(0, 1, &[]), (20, 2, &[10]), (19, 2, &[10]), (21, 2, &[12, 10]), (3, 8, &[10])];
        for (symbols, blocks, expected) in cases {
            let mut plans = Plans::default();
            plans.complete(&oti(symbols, blocks)).unwrap();
            let found: Vec<u32> = plans.as_slice().iter().map(|plan| plan.extended_symbols()).collect();
            assert_eq!(found, expected, "{symbols} symbols in {blocks} blocks");
        }
    }

    #[test]
    fn plans_that_fit_are_kept_and_used() {
        let object = oti(21, 2);
        let [ten, twelve, eighteen] = [10, 12, 18].map(|k| Arc::new(EncodingPlan::generate(k).unwrap()));
        let mut plans = Plans::default();
        for plan in [&eighteen, &ten, &ten] {
            plans.offer(&object, plan);
        }
        assert_eq!(plans.as_slice().len(), 1);
        assert!(Arc::ptr_eq(&plans.get(7).unwrap(), &ten));
        assert!(!Arc::ptr_eq(&plans.get(11).unwrap(), &twelve), "it was not offered");
        assert!(Arc::ptr_eq(&plans.get(11).unwrap(), &plans.get(12).unwrap()));
        assert_eq!(plans.get(0).unwrap_err(), BlockError::SourceSymbols { found: 0 });
    }
}
