//! A table for people.

use std::borrow::Cow;

use crate::text::printable;

/// Rows below a heading, in columns as wide as they need.
pub(crate) fn render(heading: &[&str], rows: &[Vec<String>]) -> String {
    let lines: Vec<Vec<Cow<'_, str>>> = std::iter::once(heading.iter().map(|&cell| Cow::Borrowed(cell)).collect())
        .chain(rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()))
        .collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            row.push_str(cell);
            row.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_as_wide_as_they_need() {
        let rows = [vec!["ä.bin".to_owned(), "b".to_owned()], vec!["c".to_owned(), "verified".to_owned()]];
        assert_eq!(super::render(&["file", "outcome"], &rows), "file   outcome\nä.bin  b\nc      verified\n");
        let rows = [vec!["\u{202e}c".to_owned(), "b\n".to_owned()]];
        assert_eq!(super::render(&["file", "outcome"], &rows), "file       outcome\n\\u{202e}c  b\\u{a}\n");
    }
}
