//! Encoding plans, which take time to make and are the same for all blocks of a K'.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::oti::ObjectTransmissionInformation;
use crate::rfc::Parameters;
use crate::{BlockError, EncodingPlan};

/// The plans that one object needs: one, or two if its blocks are of two sizes whose K' differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plans {
    plans: Vec<Arc<EncodingPlan>>,
    #[cfg(feature = "std")]
    cache: Option<PlanCache>,
}

impl Plans {
    /// The plan for blocks of `source_symbols`, from wherever it can be had at the least expense.
    pub(crate) fn get(&mut self, source_symbols: u32) -> Result<Arc<EncodingPlan>, BlockError> {
        if let Some(plan) = self.find(source_symbols) {
            return Ok(Arc::clone(plan));
        }
        #[cfg(feature = "std")]
        let plan = match &self.cache {
            Some(cache) => cache.plan(source_symbols)?,
            None => Arc::new(EncodingPlan::generate(source_symbols)?),
        };
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

    /// Makes all plans that `oti` needs.
    pub(crate) fn complete(&mut self, oti: &ObjectTransmissionInformation) -> Result<(), BlockError> {
        block_sizes(oti).try_for_each(|symbols| self.get(symbols).map(drop))
    }

    /// The plans that are here.
    pub(crate) fn as_slice(&self) -> &[Arc<EncodingPlan>] {
        &self.plans
    }

    #[cfg(feature = "std")]
    pub(crate) fn set_cache(&mut self, cache: &PlanCache) {
        self.cache = Some(cache.clone());
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

#[cfg(feature = "std")]
pub use cache::PlanCache;

#[cfg(feature = "std")]
mod cache {
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use core::fmt;
    use core::num::NonZeroUsize;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::extended_symbols;
    use crate::{BlockError, EncodingPlan};

    /// Plans that several objects and threads share.
    ///
    /// A clone is another handle to the same plans. The cache holds a limited number of plans, each for one K', and drops
    /// those not asked for the longest; a plan in use elsewhere lives on there. While one thread makes a plan, others
    /// that want the same one wait for it, and those that want another do not.
    ///
    /// Without `std`, plans are passed on by hand: see [`Encoder::with_plans`](crate::Encoder::with_plans) and
    /// [`Decoder::add_plan`](crate::Decoder::add_plan).
    #[derive(Clone)]
    pub struct PlanCache {
        shelf: Arc<Mutex<Shelf>>,
    }

    struct Shelf {
        capacity: NonZeroUsize,
        /// In the order of their last use, the latest last.
        slots: Vec<Slot>,
    }

    #[derive(Clone)]
    struct Slot {
        extended_symbols: u32,
        plan: Arc<Mutex<Option<Arc<EncodingPlan>>>>,
    }

    impl PlanCache {
        /// How many plans a cache holds unless told otherwise.
        pub const DEFAULT_CAPACITY: NonZeroUsize = NonZeroUsize::new(16).unwrap();

        /// An empty cache for [`DEFAULT_CAPACITY`](Self::DEFAULT_CAPACITY) plans.
        pub fn new() -> Self {
            Self::with_capacity(Self::DEFAULT_CAPACITY)
        }

        /// An empty cache for so many plans.
        ///
        /// A plan takes some hundred bytes for each source symbol: for the largest blocks, of 56 403 symbols, several
        /// megabytes.
        pub fn with_capacity(plans: NonZeroUsize) -> Self {
            Self { shelf: Arc::new(Mutex::new(Shelf { capacity: plans, slots: Vec::new() })) }
        }

        /// The plan for blocks of `source_symbols` (K), made now if it is not here.
        ///
        /// # Errors
        ///
        /// If there are no blocks of so many symbols.
        pub fn plan(&self, source_symbols: u32) -> Result<Arc<EncodingPlan>, BlockError> {
            let extended_symbols =
                extended_symbols(source_symbols).ok_or(BlockError::SourceSymbols { found: source_symbols })?;
            let slot = lock(&self.shelf).slot(extended_symbols);
            let mut plan = lock(&slot.plan);
            if let Some(plan) = &*plan {
                return Ok(Arc::clone(plan));
            }
            let made = Arc::new(EncodingPlan::generate(source_symbols)?);
            *plan = Some(Arc::clone(&made));
            Ok(made)
        }

        /// How many plans are here.
        pub fn len(&self) -> usize {
            lock(&self.shelf).slots.len()
        }

        /// Whether there are none.
        pub fn is_empty(&self) -> bool {
            self.len() == 0
        }

        /// Drops all plans.
        pub fn clear(&self) {
            lock(&self.shelf).slots.clear();
        }
    }

    impl Shelf {
        fn slot(&mut self, extended_symbols: u32) -> Slot {
            let slot = match self.slots.iter().position(|slot| slot.extended_symbols == extended_symbols) {
                Some(place) => self.slots.remove(place),
                None => Slot { extended_symbols, plan: Arc::default() },
            };
            if self.slots.len() == self.capacity.get() {
                self.slots.remove(0);
            }
            self.slots.push(slot.clone());
            slot
        }
    }

    impl Default for PlanCache {
        fn default() -> Self {
            Self::new()
        }
    }

    impl fmt::Debug for PlanCache {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.debug_struct("PlanCache").field("plans", &self.len()).finish()
        }
    }

    /// What a thread that panicked leaves behind is a plan or none, so it can be used.
    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        assert!(!Arc::ptr_eq(&plans.get(11).unwrap(), &twelve));
        assert!(Arc::ptr_eq(&plans.get(11).unwrap(), &plans.get(12).unwrap()));
        assert_eq!(plans.get(0).unwrap_err(), BlockError::SourceSymbols { found: 0 });
    }

    #[cfg(feature = "std")]
    #[test]
    fn a_cache_shares_plans_of_a_class_and_forgets_the_oldest() {
        use core::num::NonZeroUsize;

        let cache = PlanCache::with_capacity(NonZeroUsize::new(2).unwrap());
        assert!(cache.is_empty());
        let ten = cache.plan(10).unwrap();
        assert!(Arc::ptr_eq(&ten, &cache.clone().plan(3).unwrap()), "3 symbols are extended to 10");
        cache.plan(12).unwrap();
        assert!(Arc::ptr_eq(&ten, &cache.plan(10).unwrap()));
        cache.plan(18).unwrap(); // the oldest is 12 now
        assert_eq!(cache.len(), 2);
        assert!(Arc::ptr_eq(&ten, &cache.plan(10).unwrap()));
        cache.clear();
        assert!(cache.is_empty());
        assert!(!Arc::ptr_eq(&ten, &cache.plan(10).unwrap()));
        assert!(cache.plan(0).is_err() && cache.plan(56_404).is_err());
        assert_eq!(cache.len(), 1, "a plan that cannot be takes no room");
    }

    #[cfg(feature = "std")]
    #[test]
    fn threads_that_want_the_same_plan_get_the_same() {
        let cache = PlanCache::new();
        let plans: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| cache.plan(100).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(plans.iter().all(|plan| Arc::ptr_eq(plan, &plans[0])));
    }
}
