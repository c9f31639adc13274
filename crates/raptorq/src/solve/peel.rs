//! Phase one: an order in which most columns follow from others, and a small set of columns that are set aside.
//!
//! RFC 6330 §5.4.2.2 picks, again and again, a row with the fewest open columns, solves it for one of them, and
//! inactivates the others; among rows with two open columns it picks from the largest component of the graph whose
//! edges those rows are. The same choices are made here, but one column at a time: while some row has a single open
//! column, solve for it; else set one column aside, which opens a whole component. Rows are known by the number of
//! their open columns and by those columns' exclusive or, which is the last column's number when one is left.

use alloc::vec::Vec;

use super::skeleton::Skeleton;
use super::work::{VISIT, WORD, Work, words_of};
use crate::memory::reserve_double;

/// More than any row has columns: the degree of a row that was not received. No sequence of removals leads from here
/// to 1 or 2.
const ABSENT: u16 = 1 << 15;

/// What became of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Peeled,
    /// Set aside, or one of the permanently inactive ones.
    Inactive,
}

/// A column and the row that it was solved with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pivot {
    pub(super) row: u32,
    pub(super) column: u16,
}

/// Rows that are not of the skeleton: those of received repair symbols.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtraRows {
    starts: Vec<u32>,
    columns: Vec<u16>,
    column_starts: Vec<u32>,
    column_rows: Vec<u32>,
}

impl ExtraRows {
    fn clear(&mut self) {
        self.starts.clear();
        self.columns.clear();
        self.starts.push(0);
    }

    fn reserve_double(&mut self) {
        reserve_double(&mut self.starts);
        reserve_double(&mut self.columns);
        reserve_double(&mut self.column_rows);
    }

    fn row(&self, row: usize) -> &[u16] {
        &self.columns[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn index_columns(&mut self, w: usize, first_row: u32) {
        let starts = &mut self.column_starts;
        starts.clear();
        starts.resize(w + 2, 0);
        // Counted two places up: filling in below leaves every start where it belongs.
        for &column in &self.columns {
            if usize::from(column) < w {
                starts[usize::from(column) + 2] += 1;
            }
        }
        for column in 2..w + 2 {
            starts[column] += starts[column - 1];
        }
        self.column_rows.clear();
        self.column_rows.resize(starts[w + 1] as usize, 0);
        for row in 0..self.starts.len() - 1 {
            for &column in &self.columns[self.starts[row] as usize..self.starts[row + 1] as usize] {
                if usize::from(column) < w {
                    let next = &mut starts[usize::from(column) + 1];
                    self.column_rows[*next as usize] = first_row + row as u32;
                    *next += 1;
                }
            }
        }
    }
}

/// The state of phase one, and its outcome. Its memory is used again by the next block.
#[derive(Clone, Debug, Default)]
pub(super) struct Peeling {
    pub(super) extra: ExtraRows,
    degrees: Vec<u16>,
    sums: Vec<u16>,
    used: Vec<bool>,
    pub(super) states: Vec<State>,
    ready: Vec<u32>,
    components: Components,
    /// Peeled columns, in order.
    pub(super) pivots: Vec<Pivot>,
    /// Columns set aside: first those below W in the order of choice, then all others.
    pub(super) inactive: Vec<u16>,
}

impl Peeling {
    /// Forgets the rows of the block before and takes the skeleton's, but for the source symbols in `lost`.
    pub(super) fn start(&mut self, skeleton: &Skeleton, lost: impl Iterator<Item = u32>) {
        self.degrees.clone_from(&skeleton.degrees);
        self.sums.clone_from(&skeleton.sums);
        for row in lost {
            self.degrees[row as usize] |= ABSENT;
        }
        self.extra.clear();
    }

    /// Adds a row with the columns that `columns` pushes.
    pub(super) fn add_row(&mut self, w: u16, columns: impl FnOnce(&mut Vec<u16>)) {
        let start = self.extra.columns.len();
        columns(&mut self.extra.columns);
        let peelable = self.extra.columns[start..].iter().filter(|&&column| column < w);
        let (degree, sum) = peelable.fold((0, 0), |(degree, sum), column| (degree + 1, sum ^ column));
        self.degrees.push(degree);
        self.sums.push(sum);
        self.extra.starts.push(self.extra.columns.len() as u32);
    }

    /// The columns of a row, received ones only.
    #[inline]
    pub(super) fn row<'a>(&'a self, skeleton: &'a Skeleton, row: u32) -> &'a [u16] {
        match (row as usize).checked_sub(skeleton.rows()) {
            None => skeleton.row(row as usize),
            Some(extra) => self.extra.row(extra),
        }
    }

    /// Whether a column is one of those peeled.
    pub(super) fn is_peeled(&self, column: u16) -> bool {
        self.states[column as usize] == State::Peeled
    }

    /// Rows that were received and solved for nothing: they hold only inactive columns, once the peeled ones are
    /// taken out.
    pub(super) fn residual_rows(&self) -> impl Iterator<Item = u32> {
        let rows = self.degrees.iter().zip(&self.used).enumerate();
        rows.filter(|(_, (degree, used))| **degree & ABSENT == 0 && !**used).map(|(row, _)| row as u32)
    }

    /// Peels. Says whether no more than `most` columns had to be set aside, and what is left to do for them is within the
    /// limit of `work`; it stops when that is not so.
    pub(super) fn run(&mut self, skeleton: &Skeleton, most: usize, work: &mut Work) -> bool {
        let w = skeleton.parameters.w as usize;
        let l = skeleton.parameters.l as usize;
        let permanent = l - w;
        self.extra.index_columns(w, skeleton.rows() as u32);
        self.used.clear();
        self.used.resize(skeleton.rows() + self.extra.len(), false);
        self.states.clear();
        self.states.resize(w, State::Open);
        self.states.resize(l, State::Inactive);
        self.pivots.clear();
        self.pivots.reserve_exact(w);
        self.inactive.clear();
        self.ready.clear();
        // A row gets ready once.
        self.ready.reserve_exact(self.degrees.len());
        self.components.clear(w);
        let rows = self.degrees.iter().filter(|&&degree| degree & ABSENT == 0).count();
        let entries = skeleton.entries() + self.extra.columns.len();
        // All arrays are filled once, and every entry is taken out once; those of extra rows are made before.
        work.add((self.degrees.len() + l + entries + 2 * self.extra.columns.len()) as u64 * VISIT);
        for row in 0..self.degrees.len() {
            match self.degrees[row] {
                1 => self.ready.push(row as u32),
                2 => self.join(skeleton, row as u32),
                _ => {}
            }
        }
        while self.pivots.len() + self.inactive.len() < w {
            if let Some(row) = self.ready.pop() {
                if self.degrees[row as usize] == 1 {
                    let column = self.sums[row as usize];
                    self.pivots.push(Pivot { row, column });
                    self.used[row as usize] = true;
                    self.close(skeleton, column, State::Peeled);
                }
            } else {
                let column = self.components.largest(&self.states).unwrap_or_else(|| {
                    work.add((self.degrees.len() + self.states.len()) as u64);
                    self.any_column(skeleton)
                });
                self.inactive.push(column);
                let aside = self.inactive.len();
                // Rows that are not solved for a column remain to be eliminated.
                let residual = (rows + aside).saturating_sub(w);
                if aside + permanent > most || !work.allows(elimination(l + entries, aside + permanent, residual)) {
                    return false;
                }
                self.close(skeleton, column, State::Inactive);
            }
        }
        self.inactive.extend(w as u16..l as u16);
        true
    }

    /// Makes room for as much again.
    pub(super) fn reserve_double(&mut self) {
        self.extra.reserve_double();
        reserve_double(&mut self.degrees);
        reserve_double(&mut self.sums);
        reserve_double(&mut self.used);
        reserve_double(&mut self.inactive);
        self.components.reserve_double();
    }

    /// Takes a column out of all its rows.
    #[inline]
    fn close(&mut self, skeleton: &Skeleton, column: u16, state: State) {
        self.states[column as usize] = state;
        for &row in skeleton.column(column as usize) {
            self.remove(skeleton, u32::from(row), column);
        }
        for i in self.extra.column_starts[column as usize]..self.extra.column_starts[column as usize + 1] {
            self.remove(skeleton, self.extra.column_rows[i as usize], column);
        }
    }

    #[inline]
    fn remove(&mut self, skeleton: &Skeleton, row: u32, column: u16) {
        let degree = &mut self.degrees[row as usize];
        *degree -= 1;
        self.sums[row as usize] ^= column;
        match *degree {
            1 => self.ready.push(row),
            2 => self.join(skeleton, row),
            _ => {}
        }
    }

    /// A row with two open columns joins their components.
    #[inline]
    fn join(&mut self, skeleton: &Skeleton, row: u32) {
        let first = self.row(skeleton, row).iter().copied().find(|&column| self.states[column as usize] == State::Open);
        let first = first.expect("a row of degree 2 has open columns");
        self.components.join(first, self.sums[row as usize] ^ first);
    }

    /// A column to set aside when no row has one or two open columns: one of a row with the fewest, or, when no row
    /// has any, one that no row will ever determine.
    #[cold]
    fn any_column(&self, skeleton: &Skeleton) -> u16 {
        let rows = self.degrees.iter().enumerate().filter(|(_, degree)| **degree & ABSENT == 0 && **degree > 0);
        let open = |&&column: &&u16| self.states[column as usize] == State::Open;
        match rows.min_by_key(|(_, degree)| **degree) {
            Some((row, _)) => *self.row(skeleton, row as u32).iter().find(open).expect("it has open columns"),
            None => self.states.iter().position(|state| *state == State::Open).expect("one is open") as u16,
        }
    }
}

/// About what is left to do after peeling: `vectors` bit vectors over the inactive columns are added, and the residual rows
/// eliminated, of which half have a 1 in a column.
fn elimination(vectors: usize, inactive: usize, residual: usize) -> u64 {
    let (words, residual) = (words_of(inactive) as u64, residual as u64);
    let row = words + residual.div_ceil(64);
    (vectors as u64 * words + inactive as u64 * residual * (1 + row / 2)) * WORD
}

/// Components of the graph of rows with two open columns: union-find, and the larger roots at hand.
///
/// A component never loses an edge without vanishing: as soon as one of its columns is closed, its rows have one open
/// column left, and peeling closes all of it. So joining is all that is needed.
#[derive(Clone, Debug, Default)]
struct Components {
    parents: Vec<u16>,
    sizes: Vec<u16>,
    /// Roots by the binary logarithm of their size; entries that are no longer true are skipped when met.
    classes: [Vec<u16>; 16],
}

impl Components {
    fn clear(&mut self, columns: usize) {
        self.parents.clear();
        self.parents.extend(0..columns as u16);
        self.sizes.clear();
        self.sizes.resize(columns, 1);
        self.classes.iter_mut().for_each(Vec::clear);
    }

    fn reserve_double(&mut self) {
        // No more columns than there are can be roots that reached a class; most have far fewer.
        self.classes.iter_mut().for_each(reserve_double);
    }

    fn root(&mut self, mut column: u16) -> u16 {
        loop {
            let parent = self.parents[column as usize];
            if parent == column {
                return column;
            }
            let above = self.parents[parent as usize];
            self.parents[column as usize] = above;
            column = above;
        }
    }

    fn join(&mut self, a: u16, b: u16) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let (small, large) = if self.sizes[a as usize] < self.sizes[b as usize] { (a, b) } else { (b, a) };
        self.parents[small as usize] = large;
        let before = self.sizes[large as usize];
        let after = before + self.sizes[small as usize];
        self.sizes[large as usize] = after;
        if before.ilog2() != after.ilog2() {
            self.classes[after.ilog2() as usize].push(large);
        }
    }

    /// A column of a component that has at least half as many columns as the largest; `None` when no two columns are
    /// joined.
    fn largest(&mut self, states: &[State]) -> Option<u16> {
        for class in self.classes.iter_mut().rev() {
            while let Some(root) = class.pop() {
                if states[root as usize] == State::Open && self.parents[root as usize] == root {
                    return Some(root);
                }
            }
        }
        None
    }
}
