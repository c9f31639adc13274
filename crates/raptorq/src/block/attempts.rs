//! When the next attempt to decode a block is made, and how much work it may take.
//!
//! Symbols that are lost by chance need one attempt, one time in a hundred two, and hardly ever three. Whoever picks the ids
//! that arrive can make any number of attempts fail, and each take long. So a block has a budget: the work of a few ordinary
//! decodes to begin with, and more for further symbols, of which no more than about 2 K are taken beyond K.

use super::shape::Shape;
use crate::kernels::LANE;
use crate::solve::Deficit;

/// The ordinary decodes whose work a block may take to begin with.
const FIRST: u64 = 4;
/// Those that further K symbols allow.
const FURTHER: u64 = 2;
/// Small blocks have more symbols to spare for their size: they count as if they had so many more.
const SMALL: u64 = 16;
/// Attempts after which the next one waits for one symbol more. Then it waits for 2, 4, 8, and so on: the chance that
/// symbols lost by chance come to that is below 10^-6.
const AT_ONCE: u32 = 3;

/// What the attempts to decode a block have taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempts {
    /// How many failed; fewer once the waiting has started anew.
    pub(super) failed: u32,
    /// The work of all of them.
    pub(super) work: u64,
}

/// What an ordinary decode takes: as much as the block's encoding plan, whose program is as long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordinary {
    source_symbols: u64,
    /// To make a program.
    search: u64,
    /// To run it over the symbols.
    run: u64,
}

impl Ordinary {
    pub(super) fn of(shape: &Shape) -> Self {
        let (search, run) = shape.plan.ordinary();
        // Symbols of one lane count as if they had two: with them most of the work is the search, which depends on the ids.
        let run = run.saturating_mul(shape.strips().max(2 * LANE) as u64);
        Self { source_symbols: shape.source_symbols.into(), search, run }
    }

    /// All of it.
    pub(super) fn decode(self) -> u64 {
        self.search.saturating_add(self.run)
    }

    /// How much work may be done in all when there are so many symbols.
    pub(super) fn limit(self, symbols: usize) -> u64 {
        let further = (symbols as u64).saturating_sub(self.source_symbols);
        let decode = u128::from(self.decode());
        let further = decode * u128::from(FURTHER * further) / u128::from(self.source_symbols + SMALL);
        u64::try_from(decode * u128::from(FIRST) + further).unwrap_or(u64::MAX)
    }

    /// How many symbols allow `work`.
    fn symbols_for(self, work: u64) -> u32 {
        let symbols = u128::from(work) * u128::from(self.source_symbols + SMALL);
        let symbols = symbols.div_ceil(u128::from(self.decode()) * u128::from(FURTHER));
        u32::try_from(symbols).unwrap_or(u32::MAX)
    }
}

impl Attempts {
    /// Notes an attempt with so many symbols that failed when `work` had been done in all, and says how many more symbols
    /// the next one must wait for. `most` is how many symbols there can be if no further source symbol comes.
    pub(super) fn fail(&mut self, ordinary: Ordinary, symbols: usize, most: usize, work: u64, deficit: Deficit) -> u32 {
        let taken = work - self.work;
        self.failed += 1;
        self.work = work;
        let left = ordinary.limit(symbols).saturating_sub(work);
        let missing = if deficit == Deficit::UNKNOWN {
            // All that is left was not enough.
            ordinary.decode() / 2
        } else {
            taken.min(ordinary.decode()).saturating_add(ordinary.run).saturating_sub(left)
        };
        // There are no more symbols than ids, which are 24 bits long.
        let mut doubled = 1 << self.failed.saturating_sub(AT_ONCE).min(24);
        let room = most.saturating_sub(symbols) as u32;
        if room > 0 && doubled > room {
            // From then on only source symbols come. Each of them makes the rest easier: the doubling starts anew.
            doubled = room;
            self.failed = AT_ONCE - 1;
        }
        deficit.symbols.max(ordinary.symbols_for(missing)).max(doubled)
    }
}
