//! Inactivation: belief propagation that sets columns aside whenever it would stop.
//!
//! It ends with an order of pairs (row, column). Each row contains its column, columns of earlier pairs and inactive
//! columns. So all columns follow, one by one, from the inactive ones, and those from the rows that have no pair.

use alloc::vec;
use alloc::vec::Vec;

use super::rows::Rows;

/// Rows of at most this many active columns wait in stacks; the others are searched for, which is rare.
const STACKS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// Not decided.
    Active,
    /// The column of a pair.
    Paired,
    /// Set aside.
    Inactive,
}

/// The sparse part of a solution.
#[derive(Clone, Debug)]
pub(super) struct Peeling {
    /// (row, column), in the order in which columns follow.
    pub(super) pairs: Vec<(u32, u16)>,
    /// The columns that were set aside.
    pub(super) inactive: Vec<u16>,
    /// The rows without a pair.
    pub(super) left: Vec<u32>,
    columns: Vec<Column>,
    /// How many active columns each row has.
    degrees: Vec<u16>,
    paired: Vec<bool>,
    /// Rows that had 1, 2, .. active columns when they were put here.
    stacks: [Vec<u32>; STACKS],
}

impl Peeling {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            pairs: Vec::new(),
            inactive: Vec::new(),
            left: Vec::new(),
            columns: vec![Column::Active; columns],
            degrees: Vec::new(),
            paired: Vec::new(),
            stacks: Default::default(),
        }
    }

    pub(super) fn is_inactive(&self, column: u16) -> bool {
        self.columns[usize::from(column)] == Column::Inactive
    }

    /// Peels `rows`.
    pub(super) fn run(&mut self, rows: &Rows) {
        self.pairs.clear();
        self.inactive.clear();
        self.columns.fill(Column::Active);
        self.paired.clear();
        self.paired.resize(rows.len(), false);
        self.degrees.clear();
        self.stacks.iter_mut().for_each(Vec::clear);
        for row in 0..rows.len() {
            let degree = rows.row(row).len();
            self.degrees.push(degree as u16);
            if (1..=STACKS).contains(&degree) {
                self.stacks[degree - 1].push(row as u32);
            }
        }
        while let Some(row) = self.next_row() {
            self.inactivate_all_but_one(rows, row);
            self.pair(rows, row);
        }
        for (column, state) in self.columns.iter_mut().enumerate() {
            if *state == Column::Active {
                *state = Column::Inactive;
                self.inactive.push(column as u16);
            }
        }
        self.left.clear();
        self.left.extend((0..rows.len() as u32).filter(|&row| !self.paired[row as usize]));
    }

    /// A row with as few active columns as any, but at least one.
    fn next_row(&mut self) -> Option<usize> {
        for (degree, stack) in (1..).zip(&mut self.stacks) {
            while let Some(row) = stack.pop() {
                let row = row as usize;
                if !self.paired[row] && self.degrees[row] == degree {
                    return Some(row);
                }
            }
        }
        (0..self.degrees.len())
            .filter(|&row| !self.paired[row] && self.degrees[row] > 0)
            .min_by_key(|&row| self.degrees[row])
    }

    /// Leaves the row its active column in the fewest rows: the others, set aside, then lighten more rows.
    fn inactivate_all_but_one(&mut self, rows: &Rows, row: usize) {
        if self.degrees[row] == 1 {
            return;
        }
        let active = || rows.row(row).iter().copied().filter(|&c| self.columns[usize::from(c)] == Column::Active);
        let kept = active().min_by_key(|&c| rows.column(usize::from(c)).len());
        let others: Vec<u16> = active().filter(|&c| Some(c) != kept).collect();
        for column in others {
            self.inactive.push(column);
            self.decide(rows, column, Column::Inactive);
        }
    }

    /// Makes a pair of the row and its one active column.
    fn pair(&mut self, rows: &Rows, row: usize) {
        let active = rows.row(row).iter().find(|&&c| self.columns[usize::from(c)] == Column::Active);
        let &column = active.expect("a row of degree 1 has an active column");
        self.pairs.push((row as u32, column));
        self.paired[row] = true;
        self.decide(rows, column, Column::Paired);
    }

    fn decide(&mut self, rows: &Rows, column: u16, state: Column) {
        self.columns[usize::from(column)] = state;
        for &row in rows.column(usize::from(column)) {
            let degree = &mut self.degrees[row as usize];
            *degree -= 1;
            if let Some(stack) = usize::from(*degree).checked_sub(1).and_then(|at| self.stacks.get_mut(at)) {
                stack.push(row);
            }
        }
    }
}
