//! Plans that a process makes once.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::rfc::Parameters;
use crate::{BlockError, EncodingPlan};

/// Plans that several objects and threads share.
///
/// Every [`Encoder`](crate::Encoder) and [`Decoder`](crate::Decoder) uses the [global](Self::global) cache unless told
/// otherwise, so that a process makes a plan once for each K' and not once for each object.
///
/// A clone is another handle to the same plans. The cache holds a limited number of bytes: whenever a plan is asked for, it drops
/// those not asked for the longest until the rest has room. A plan in use elsewhere lives on there. While one thread makes a plan, others that want the same one wait
/// for it, and those that want another do not.
///
/// Without `std`, plans are passed on by hand: see [`Encoder::with_plans`](crate::Encoder::with_plans) and
/// [`Decoder::add_plan`](crate::Decoder::add_plan).
#[derive(Clone)]
pub struct PlanCache {
    shelf: Arc<Mutex<Shelf>>,
}

struct Shelf {
    max_bytes: usize,
    /// In the order of their last use, the latest last.
    slots: Vec<Slot>,
}

#[derive(Clone)]
struct Slot {
    extended_symbols: u32,
    plan: Arc<Mutex<Option<Arc<EncodingPlan>>>>,
}

impl PlanCache {
    /// How many bytes of plans a cache holds unless told otherwise: 64 MiB, a few of the largest plans or some hundred
    /// smaller ones.
    pub const DEFAULT_MAX_BYTES: usize = 64 << 20;

    /// An empty cache of its own, for [`DEFAULT_MAX_BYTES`](Self::DEFAULT_MAX_BYTES).
    pub fn new() -> Self {
        Self::with_max_bytes(Self::DEFAULT_MAX_BYTES)
    }

    /// An empty cache of its own for so many bytes of plans, or for the one plan last asked for if that takes more. See
    /// [`EncodingPlan::bytes`].
    pub fn with_max_bytes(max_bytes: usize) -> Self {
        Self { shelf: Arc::new(Mutex::new(Shelf { max_bytes, slots: Vec::new() })) }
    }

    /// The cache of the process, for [`DEFAULT_MAX_BYTES`](Self::DEFAULT_MAX_BYTES). [`clear`](Self::clear) frees its memory.
    pub fn global() -> &'static Self {
        static GLOBAL: LazyLock<PlanCache> = LazyLock::new(PlanCache::new);
        &GLOBAL
    }

    /// The plan for blocks of `source_symbols` (K), made now if it is not here.
    ///
    /// # Errors
    ///
    /// If there are no blocks of so many symbols.
    pub fn plan(&self, source_symbols: u32) -> Result<Arc<EncodingPlan>, BlockError> {
        let plan = self.outline(source_symbols)?;
        plan.program();
        lock(&self.shelf).bound();
        Ok(plan)
    }

    /// As [`plan`](Self::plan), but the plan's program may be missing.
    pub(super) fn outline(&self, source_symbols: u32) -> Result<Arc<EncodingPlan>, BlockError> {
        let parameters = Parameters::of(source_symbols).ok_or(BlockError::SourceSymbols { found: source_symbols })?;
        let slot = lock(&self.shelf).slot(parameters.k_prime);
        let plan = match &mut *lock(&slot.plan) {
            Some(plan) => Arc::clone(plan),
            none => Arc::clone(none.insert(Arc::new(EncodingPlan::outline(source_symbols)?))),
        };
        // Also where it was here: plans have grown since if their programs were made.
        lock(&self.shelf).bound();
        Ok(plan)
    }

    /// How many plans are here.
    pub fn len(&self) -> usize {
        lock(&self.shelf).slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes the plans take.
    pub fn bytes(&self) -> usize {
        lock(&self.shelf).bytes()
    }

    /// Drops all plans.
    pub fn clear(&self) {
        lock(&self.shelf).slots.clear();
    }
}

impl Shelf {
    /// The place of a plan, which is used now.
    fn slot(&mut self, extended_symbols: u32) -> Slot {
        let slot = match self.slots.iter().position(|slot| slot.extended_symbols == extended_symbols) {
            Some(place) => self.slots.remove(place),
            None => Slot { extended_symbols, plan: Arc::default() },
        };
        self.slots.push(slot.clone());
        slot
    }

    /// Drops plans until those left have room, or one is left.
    fn bound(&mut self) {
        while self.bytes() > self.max_bytes && self.slots.len() > 1 {
            self.slots.remove(0);
        }
    }

    fn bytes(&self) -> usize {
        self.slots.iter().map(Slot::bytes).sum()
    }
}

impl Slot {
    /// What the plan takes; 0 while it is being made.
    fn bytes(&self) -> usize {
        let plan = match self.plan.try_lock() {
            Ok(plan) => plan,
            Err(TryLockError::Poisoned(plan)) => plan.into_inner(),
            Err(TryLockError::WouldBlock) => return 0,
        };
        plan.as_ref().map_or(0, |plan| plan.bytes())
    }
}

impl Default for PlanCache {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PlanCache {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PlanCache").field("plans", &self.len()).field("bytes", &self.bytes()).finish()
    }
}

/// What a thread that panicked leaves behind is a plan or none, so it can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
