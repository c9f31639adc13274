//! The first rows of a table, by which formats are told apart.

use super::cell;
use super::clock::Clock;
use super::roles::{self, Roles};
use super::table::{Layout, is_comment, is_text, is_utf16};
use crate::error::{Place, ReadError};
use crate::request::{DecimalMark, Request};

/// Rows of a preview.
const ROWS: usize = 64;

/// Bytes of a preview.
pub(super) const PREVIEW: usize = 64 << 10;

/// The first lines of a text file.
pub(crate) struct Preview {
    pub(super) layout: Layout,
    /// Which column is what, by the request and by names.
    pub(super) roles: Roles,
    /// Fields of the first rows.
    pub(super) rows: Vec<Vec<Vec<u8>>>,
}

impl Preview {
    /// Looks at the start of a file; none if it is not a table.
    pub(super) fn of(bytes: &[u8], whole: bool, request: &Request) -> Option<Self> {
        let bytes = bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(bytes);
        if !bytes.iter().take(4096).all(|byte| is_text(*byte)) || is_utf16(bytes) {
            return None;
        }
        let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).collect();
        if !whole && lines.len() > 1 {
            lines.pop();
        }
        let mut lines = lines.into_iter().filter(|line| !is_comment(line)).peekable();
        let layout = Layout::of(lines.peek()?, &Clock::new(None, request.time_format.as_deref()));
        if layout.names.is_some() {
            lines.next();
        }
        let split = |line| {
            let mut fields = Vec::new();
            layout.split(line, &mut fields);
            fields.into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        let roles = Roles::of(&layout, request);
        let rows = lines.map(split).filter(|row: &Vec<Vec<u8>>| roles.wants(row)).take(ROWS).collect();
        Some(Self { layout, roles, rows })
    }

    /// The rows that belong to the same series as the first.
    pub(super) fn of_one_series(&self) -> Vec<&Vec<Vec<u8>>> {
        let key = self.roles.key;
        let of = |row: &Vec<Vec<u8>>| key.and_then(|key| row.get(key).cloned());
        let first = self.rows.first().and_then(of);
        self.rows.iter().filter(|row| of(row) == first).collect()
    }

    /// The columns, for a message.
    pub(super) fn describe(&self) -> String {
        match &self.layout.names {
            Some(names) => roles::listed(names),
            None => "without names".to_owned(),
        }
    }
}

/// The decimal mark of a table: the request's, or that of its first rows.
pub(super) fn decimal_mark(bytes: &[u8], whole: bool, request: &Request) -> Result<DecimalMark, ReadError> {
    if let Some(mark) = request.decimal {
        return Ok(mark);
    }
    let Some(preview) = Preview::of(bytes, whole, request) else { return Ok(DecimalMark::Point) };
    if preview.layout.delimiter == b',' {
        return Ok(DecimalMark::Point);
    }
    let values = preview.rows.iter().flat_map(|row| {
        let columns = preview.roles.values(&preview.layout, row.len());
        columns.into_iter().filter_map(|column| row.get(column).map(Vec::as_slice))
    });
    cell::mark_of(values).ok_or_else(|| {
        ReadError::hinted(
            Place::Line { line: 1, offset: 0 },
            "the values have a comma before three digits: of a fraction, or of thousands?",
            "--decimal comma if 1,234 is less than 2, or --decimal point and numbers without commas",
        )
    })
}
