//! Sums per bin on one grid: dense between the first and the last bin touched, and fast for neighbours in time.

use crate::error::Refused;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What fell into a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) bytes: i64,
    pub(crate) packets: i64,
}

impl Cell {
    fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.packets = self.packets.saturating_add(other.packets);
    }
}

/// Cells that all bins of a request together may still have: memory has a bound however many series there are.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    left: Arc<AtomicUsize>,
    cells: usize,
}

impl Budget {
    pub(crate) fn new(cells: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(cells)), cells }
    }

    fn take(&self, cells: usize) -> Result<(), Refused> {
        let enough = |left: usize| left.checked_sub(cells);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enough);
        taken.map(drop).map_err(|_| Refused::TooManyInAll { max: self.cells })
    }

    fn give(&self, cells: usize) {
        self.left.fetch_add(cells, Ordering::Relaxed);
    }
}

/// Bin k covers `[origin + k * width, origin + (k + 1) * width)`; k may be negative.
#[derive(Debug)]
pub(crate) struct Bins {
    width: i64,
    origin: i64,
    max: usize,
    /// Start of the bin being filled, and what it has so far: most records fall where the one before did.
    open: i64,
    filling: Cell,
    /// Index of the first cell.
    first: i64,
    cells: Vec<Cell>,
    budget: Budget,
}

impl Drop for Bins {
    fn drop(&mut self) {
        self.budget.give(self.cells.len());
    }
}

/// No stamp is within a bin of this: the first record goes the long way.
const NOWHERE: i64 = i64::MIN;

impl Bins {
    /// No bins yet. The width is above 0.
    pub(crate) fn new(width: i64, origin: i64, max: usize, budget: &Budget) -> Self {
        let budget = budget.clone();
        Self { width, origin, max, open: NOWHERE, filling: Cell::default(), first: 0, cells: Vec::new(), budget }
    }

    pub(crate) fn width(&self) -> i64 {
        self.width
    }

    pub(crate) fn origin(&self) -> i64 {
        self.origin
    }

    /// The bin of a stamp.
    pub(crate) fn index(&self, at: i64) -> i64 {
        at.saturating_sub(self.origin).div_euclid(self.width)
    }

    /// Where a bin starts.
    pub(crate) fn start(&self, index: i64) -> i64 {
        self.origin.saturating_add(index.saturating_mul(self.width))
    }

    /// Counts a packet.
    #[inline]
    pub(crate) fn count(&mut self, at: i64, bytes: i64) -> Result<(), Refused> {
        // Stamps and `open` are below 2^62 in size, except for NOWHERE: the difference cannot wrap into the bin.
        if (at.wrapping_sub(self.open) as u64) >= self.width as u64 {
            self.turn(at)?;
        }
        self.filling.bytes += bytes;
        self.filling.packets += 1;
        Ok(())
    }

    /// Closes the bin being filled and opens that of a stamp.
    #[cold]
    #[inline(never)]
    fn turn(&mut self, at: i64) -> Result<(), Refused> {
        self.close();
        let index = self.index(at);
        self.reach(index)?;
        self.open = self.start(index);
        Ok(())
    }

    /// Puts what the open bin has so far into its cell.
    pub(crate) fn close(&mut self) {
        let cell = std::mem::take(&mut self.filling);
        if self.open != NOWHERE {
            let slot = (self.index(self.open) - self.first) as usize;
            if let Some(there) = self.cells.get_mut(slot) {
                there.add(cell);
            }
        }
        self.open = NOWHERE;
    }

    /// Adds to a bin.
    pub(crate) fn add(&mut self, index: i64, cell: Cell) -> Result<(), Refused> {
        self.reach(index)?;
        if let Some(there) = self.cells.get_mut((index - self.first) as usize) {
            there.add(cell);
        }
        Ok(())
    }

    /// Whether there may be a bin for a stamp.
    pub(crate) fn fits(&self, at: i64) -> Result<(), Refused> {
        let index = self.index(at);
        let (first, last) = match self.cells.len() {
            0 => (index, index),
            count => (self.first, self.first + count as i64 - 1),
        };
        if index.max(last).abs_diff(index.min(first)) < self.max as u64 {
            return Ok(());
        }
        Err(Refused::TooManyBins { stamp: at, origin: self.origin, width: self.width, max: self.max })
    }

    /// Makes a cell for a bin.
    fn reach(&mut self, index: i64) -> Result<(), Refused> {
        if self.cells.is_empty() {
            self.first = index;
        }
        let last = self.first + self.cells.len() as i64 - 1;
        let span = index.max(last).abs_diff(index.min(self.first)).saturating_add(1);
        if span > self.max as u64 {
            let stamp = self.start(index);
            return Err(Refused::TooManyBins { stamp, origin: self.origin, width: self.width, max: self.max });
        }
        if index < self.first {
            // As many again in front, so that a file in reverse order costs no more than one in order.
            let wanted = (self.first - index) as usize;
            let mut extra = wanted.max(self.cells.len()).min(self.max - self.cells.len());
            if self.budget.take(extra).is_err() {
                extra = wanted;
                self.budget.take(extra)?;
            }
            self.cells.splice(0..0, std::iter::repeat_n(Cell::default(), extra));
            self.first -= extra as i64;
        } else if index > last {
            let count = (index - self.first + 1) as usize;
            self.budget.take(count - self.cells.len())?;
            self.cells.resize(count, Cell::default());
        }
        Ok(())
    }

    /// What fell into a bin.
    pub(crate) fn get(&self, index: i64) -> Cell {
        usize::try_from(index - self.first).ok().and_then(|slot| self.cells.get(slot)).copied().unwrap_or_default()
    }

    /// What fell into `count` bins from `index` on.
    pub(crate) fn range(&self, index: i64, count: i64) -> Cell {
        let (from, to) = (index.max(self.first), index.saturating_add(count));
        let mut sum = Cell::default();
        for k in from..to.min(self.first + self.cells.len() as i64) {
            sum.add(self.get(k));
        }
        sum
    }

    /// The first and the last bin in which something fell.
    pub(crate) fn extent(&self) -> Option<(i64, i64)> {
        let some = |cell: &Cell| *cell != Cell::default();
        let first = self.cells.iter().position(some)?;
        let last = self.cells.iter().rposition(some)?;
        Some((self.first + first as i64, self.first + last as i64))
    }

    /// Everything.
    #[cfg(test)]
    pub(crate) fn total(&self) -> Cell {
        let mut sum = self.filling;
        for cell in &self.cells {
            sum.add(*cell);
        }
        sum
    }

    /// Adds the bins of another file. The grids have the same width, and origins a multiple of it apart.
    pub(crate) fn absorb(&mut self, mut other: Self) -> Result<(), Refused> {
        self.close();
        other.close();
        let shift = (other.origin - self.origin).div_euclid(self.width);
        if self.cells.is_empty() {
            (self.first, self.cells) = (other.first + shift, std::mem::take(&mut other.cells));
            return Ok(());
        }
        let Some((first, last)) = other.extent() else { return Ok(()) };
        for index in first..=last {
            let cell = other.get(index);
            if cell != Cell::default() {
                self.add(index + shift, cell)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_in_any_order_fall_into_the_right_bins() {
        let stamps = [5, 7, 19, 3, -11, 1000, 6, -1, 0, 9, 10, 400];
        let mut bins = Bins::new(10, 0, 1000, &Budget::new(10_000));
        for at in stamps {
            bins.count(at, 100 + at).expect("few bins");
        }
        bins.close();
        for index in -5..120 {
            let inside: Vec<i64> = stamps.into_iter().filter(|at| at.div_euclid(10) == index).collect();
            let expected = Cell { bytes: inside.iter().map(|at| 100 + at).sum(), packets: inside.len() as i64 };
            assert_eq!(bins.get(index), expected, "bin {index}");
        }
        assert_eq!(bins.extent(), Some((-2, 100)));
        assert_eq!(bins.total().packets, stamps.len() as i64);
        assert_eq!(bins.range(-2, 103), bins.total());
    }

    #[test]
    fn too_many_bins_are_refused_and_leave_the_rest_as_it_was() {
        let mut bins = Bins::new(10, 0, 100, &Budget::new(10_000));
        bins.count(0, 1).expect("first");
        bins.count(999, 1).expect("the hundredth");
        for far in [1000, -1, i64::MAX / 2, -(i64::MAX / 2)] {
            assert!(bins.count(far, 1).is_err(), "{far}");
        }
        bins.count(5, 1).expect("still there");
        bins.close();
        assert_eq!((bins.get(0).packets, bins.get(99).packets, bins.total().packets), (2, 1, 3));
    }

    #[test]
    fn a_file_in_reverse_order_stays_within_the_limit() {
        let mut bins = Bins::new(1, 0, 1000, &Budget::new(10_000));
        for at in (-999..=0).rev() {
            bins.count(at, 1).expect("a thousand bins");
        }
        assert!(bins.count(-1000, 1).is_err());
        bins.close();
        assert_eq!(bins.extent(), Some((-999, 0)));
    }

    #[test]
    fn all_bins_together_have_a_bound_and_give_back_what_they_leave() {
        let budget = Budget::new(100);
        let mut a = Bins::new(1, 0, 1000, &budget);
        a.count(0, 1).expect("first");
        a.count(59, 1).expect("sixty");
        let mut b = Bins::new(1, 0, 1000, &budget);
        b.count(0, 1).expect("first");
        assert!(b.count(40, 1).is_err(), "101 in all");
        drop(b);
        let mut c = Bins::new(1, 0, 1000, &budget);
        c.count(0, 1).expect("first");
        c.count(39, 1).expect("a hundred in all");
        a.absorb(c).expect("added up, and the rest is given back");
        drop(a);
        assert_eq!(budget.left.load(Ordering::Relaxed), 100);
    }

    #[test]
    fn absorbing_adds_on_a_shifted_grid() {
        let (mut a, mut b) =
            (Bins::new(10, 0, 100, &Budget::new(10_000)), Bins::new(10, 50, 100, &Budget::new(10_000)));
        a.count(12, 1).expect("few");
        b.count(51, 2).expect("few");
        b.count(12, 4).expect("few");
        a.absorb(b).expect("few");
        assert_eq!((a.get(1).bytes, a.get(5).bytes, a.total().packets), (5, 2, 3));
    }
}
