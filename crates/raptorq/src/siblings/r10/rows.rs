//! The sparse equations of a decoder: which intermediate symbols each LDPC symbol and each received symbol is made of.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::parameters::Parameters;

/// Sparse rows over the L columns, and the same matrix by columns.
///
/// Rows 0 to S - 1 are the LDPC rows, whose sums are zero; row S + n belongs to the n-th received symbol. The half rows
/// are not here: they are dense.
#[derive(Clone, Debug)]
#[allow(clippy::struct_field_names, reason = "they are the rows of the columns")]
pub(super) struct Rows {
    ldpc: usize,
    /// Row r has the columns from `row_ends[r - 1]` to `row_ends[r]`.
    row_ends: Vec<u32>,
    columns: Vec<u16>,
    /// Column c has the rows from `column_starts[c]` to `column_starts[c + 1]`.
    column_starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Rows {
    /// The LDPC rows alone.
    pub(super) fn new(parameters: &Parameters) -> Self {
        let mut by_row = vec![Vec::new(); parameters.s as usize];
        for i in 0..parameters.k {
            parameters.ldpc(i, |row| by_row[row as usize].push(i as u16));
        }
        let (mut row_ends, mut columns) = (Vec::new(), Vec::new());
        for (row, sources) in by_row.iter().enumerate() {
            columns.extend_from_slice(sources);
            columns.push((parameters.k as usize + row) as u16);
            row_ends.push(columns.len() as u32);
        }
        let ldpc = row_ends.len();
        Self { ldpc, row_ends, columns, column_starts: vec![0; parameters.l as usize + 1], rows: Vec::new() }
    }

    /// Replaces the received symbols by `ids`.
    pub(super) fn receive(&mut self, parameters: &Parameters, ids: &[u32]) {
        self.row_ends.truncate(self.ldpc);
        self.columns.truncate(self.row_ends.last().map_or(0, |&end| end as usize));
        for &id in ids {
            parameters.columns(id, |column| self.columns.push(column as u16));
            self.row_ends.push(self.columns.len() as u32);
        }
        // By columns: count, sum up, and fill from behind, so that each start ends where it belongs.
        self.column_starts.fill(0);
        for &column in &self.columns {
            self.column_starts[usize::from(column)] += 1;
        }
        let mut end = 0;
        for start in &mut self.column_starts {
            end += *start;
            *start = end;
        }
        self.rows.resize(self.columns.len(), 0);
        for row in (0..self.row_ends.len()).rev() {
            for at in self.range(row) {
                let start = &mut self.column_starts[usize::from(self.columns[at])];
                *start -= 1;
                self.rows[*start as usize] = row as u32;
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.row_ends.len()
    }

    /// Which received symbol a row is the equation of, if it is not an LDPC row.
    pub(super) fn received(&self, row: usize) -> Option<usize> {
        row.checked_sub(self.ldpc)
    }

    fn range(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.row_ends[row - 1] };
        start as usize..self.row_ends[row] as usize
    }

    /// The columns of a row.
    pub(super) fn row(&self, row: usize) -> &[u16] {
        &self.columns[self.range(row)]
    }

    /// The rows of a column.
    pub(super) fn column(&self, column: usize) -> &[u32] {
        &self.rows[self.column_starts[column] as usize..self.column_starts[column + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_transposed_rows() {
        let parameters = Parameters::new(40);
        let mut rows = Rows::new(&parameters);
        for ids in [&[0, 1, 2, 500, 7][..], &[65_535], &[], &[3; 3]] {
            rows.receive(&parameters, ids);
            assert_eq!(rows.len(), parameters.s as usize + ids.len());
            let mut entries = 0;
            for column in 0..parameters.l as usize {
                for &row in rows.column(column) {
                    assert!(rows.row(row as usize).contains(&(column as u16)));
                    entries += 1;
                }
            }
            assert_eq!(entries, (0..rows.len()).map(|row| rows.row(row).len()).sum::<usize>());
        }
    }
}
