//! A table for people.

/// Rows below a heading, in columns as wide as they need.
pub(crate) fn render(heading: &[&str], rows: &[Vec<String>]) -> String {
    let lines: Vec<Vec<&str>> = std::iter::once(heading.to_vec())
        .chain(rows.iter().map(|row| row.iter().map(String::as_str).collect()))
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
    }
}
