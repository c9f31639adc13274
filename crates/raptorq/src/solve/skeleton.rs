//! The sparse rows of the constraint matrix that every block of a K' has: those of its K' systematic symbols and the
//! S LDPC rows (RFC 6330 §5.3.3.3), by row and by column.

use alloc::vec::Vec;

use crate::kernels::program::{GatherList, Hdpc, Pair, Source};
use crate::memory::allocated;
use crate::rfc::Parameters;
use crate::rfc::tuple::{Tuple, rand};

/// Calls `each` with the columns of the symbol with the internal id `isi`, those below W first.
#[inline]
pub(crate) fn row_columns(parameters: &Parameters, isi: u32, each: impl FnMut(u32)) {
    Tuple::new(parameters, isi).columns(parameters, each);
}

/// Adds a line that makes the symbol with the internal id `isi` of intermediate symbols, and adds `source` to it.
pub(crate) fn push_symbol(list: &mut GatherList, parameters: &Parameters, isi: u32, source: Source, target: u32) {
    let before = list.terms.len();
    row_columns(parameters, isi, |column| list.terms.push(column as u16));
    list.push_line(source, target, before);
}

/// Rows as lists of columns, columns below W as lists of rows, and where peeling starts.
#[derive(Clone, Debug)]
pub(crate) struct Skeleton {
    pub(crate) parameters: Parameters,
    pub(crate) hdpc: Hdpc,
    /// Rows: K' systematic ones, then S LDPC rows.
    row_starts: Vec<u32>,
    row_columns: Vec<u16>,
    /// Columns below W only: the others are never peeled.
    column_starts: Vec<u32>,
    column_rows: Vec<u16>,
    /// For each row, how many of its columns are below W.
    pub(super) degrees: Vec<u16>,
    /// For each row, the exclusive or of those columns' numbers.
    pub(super) sums: Vec<u16>,
}

impl Skeleton {
    pub(crate) fn new(parameters: Parameters) -> Self {
        let Parameters { k_prime, s, h, w, l, p, .. } = parameters;
        let rows = (k_prime + s) as usize;
        let mut skeleton = Self {
            parameters,
            hdpc: Hdpc { pairs: hdpc_pairs(&parameters), rows: h as usize },
            row_starts: Vec::with_capacity(rows + 1),
            row_columns: Vec::with_capacity(rows * 10),
            column_starts: Vec::new(),
            column_rows: Vec::new(),
            degrees: Vec::with_capacity(rows),
            sums: Vec::with_capacity(rows),
        };
        skeleton.row_starts.push(0);
        for isi in 0..k_prime {
            let columns = &mut skeleton.row_columns;
            row_columns(&parameters, isi, |column| columns.push(column as u16));
            skeleton.end_row(w);
        }
        // §5.3.3.3: column i of the first B goes to three LDPC rows, in a stride that grows with i.
        let b = parameters.b();
        let mut ldpc: Vec<Vec<u16>> = (0..s).map(|_| Vec::with_capacity((3 * b / s) as usize + 8)).collect();
        for i in 0..b {
            let stride = 1 + i / s;
            for step in 0..3 {
                ldpc[((i + step * stride) % s) as usize].push(i as u16);
            }
        }
        for (i, columns) in (0..s).zip(ldpc) {
            skeleton.row_columns.extend(columns);
            skeleton.row_columns.extend([b + i, w + i % p, w + (i + 1) % p].map(|column| column as u16));
            skeleton.end_row(w);
        }
        debug_assert!(l >= w + p);
        skeleton.index_columns();
        skeleton
    }

    fn end_row(&mut self, w: u32) {
        let start = *self.row_starts.last().expect("starts with a 0") as usize;
        let peelable = self.row_columns[start..].iter().filter(|&&column| u32::from(column) < w);
        self.degrees.push(peelable.clone().count() as u16);
        self.sums.push(peelable.fold(0, |sum, column| sum ^ column));
        self.row_starts.push(self.row_columns.len() as u32);
    }

    fn index_columns(&mut self) {
        let w = self.parameters.w as usize;
        let mut starts = alloc::vec![0u32; w + 1];
        for &column in self.row_columns.iter().filter(|&&column| usize::from(column) < w) {
            starts[column as usize + 1] += 1;
        }
        for column in 0..w {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut column_rows = alloc::vec![0u16; starts[w] as usize];
        for row in 0..self.rows() {
            for &column in self.row(row) {
                if let Some(next) = next[..w].get_mut(usize::from(column)) {
                    column_rows[*next as usize] = row as u16;
                    *next += 1;
                }
            }
        }
        self.column_starts = starts;
        self.column_rows = column_rows;
    }

    /// Bytes that its lists take.
    pub(crate) fn bytes(&self) -> usize {
        let Self { hdpc, row_starts, row_columns, column_starts, column_rows, degrees, sums, .. } = self;
        let words: usize = [row_columns, column_rows, degrees, sums].map(allocated).iter().sum();
        words + allocated(row_starts) + allocated(column_starts) + allocated(&hdpc.pairs)
    }

    /// Work to make a program of all source symbols, and octets added to run it over symbols of one octet: an estimate, fitted
    /// to the 477 programs.
    pub(crate) fn ordinary(&self) -> (u64, u64) {
        let entries = self.entries() as u64;
        (entries * (100 + u64::from(self.parameters.k_prime).isqrt()), entries * 5 / 2)
    }

    /// K' + S.
    pub(crate) fn rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Entries of all rows.
    pub(super) fn entries(&self) -> usize {
        self.row_columns.len()
    }

    /// The columns of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[u16] {
        &self.row_columns[self.row_starts[row] as usize..self.row_starts[row + 1] as usize]
    }

    /// The rows of a column below W.
    #[inline]
    pub(super) fn column(&self, column: usize) -> &[u16] {
        &self.column_rows[self.column_starts[column] as usize..self.column_starts[column + 1] as usize]
    }
}

/// §5.3.3.3: the two rows of `MT` that have a 1 in each column but the last.
fn hdpc_pairs(parameters: &Parameters) -> Vec<Pair> {
    let Parameters { k_prime, s, h, .. } = *parameters;
    (0..k_prime + s - 1)
        .map(|j| {
            let first = rand(j + 1, 6, h);
            let second = (first + rand(j + 1, 7, h - 1) + 1) % h;
            [first as u8, second as u8]
        })
        .collect()
}
