//! Text tables: lines and fields.
//!
//! Fields are separated by commas, semicolons, tabs or spaces; lines that begin with `#` are comments; the first other
//! line names the columns, unless it begins with a number or a date. A field may be quoted.

use super::clock::Clock;
use crate::error::{Place, ReadError};
use crate::input::{CAPACITY, Input, More};
use crate::stamp;

/// Bytes of a line at most.
const LINE_MAX: usize = CAPACITY - 1;

/// A line of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) place: Place,
    pub(super) text: &'a [u8],
}

/// The lines of a file that are not empty and no comments.
pub(super) struct Lines<'i, 'a> {
    input: &'i mut Input<'a>,
    number: u64,
    pending: usize,
    /// A line that begins so ends the table.
    until: Option<&'static [u8]>,
}

impl<'i, 'a> Lines<'i, 'a> {
    pub(super) fn new(input: &'i mut Input<'a>) -> Result<Self, ReadError> {
        input.fill(16)?;
        if input.window().starts_with(&[0xef, 0xbb, 0xbf]) {
            input.consume(3);
        }
        if is_utf16(input.window()) {
            return Err(utf16());
        }
        Ok(Self { input, number: 0, pending: 0, until: None })
    }

    /// Ends the table at a line that begins with some text.
    pub(super) fn until(&mut self, text: &'static [u8]) {
        self.until = Some(text);
    }

    /// The next line; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, ReadError> {
        let (place, from, to) = loop {
            self.input.consume(std::mem::take(&mut self.pending));
            let mut searched = 0;
            let end = loop {
                let window = self.input.window();
                if let Some(at) = memchr::memchr(b'\n', window.get(searched..).unwrap_or_default()) {
                    self.pending = searched + at + 1;
                    break searched + at;
                }
                searched = window.len();
                match self.input.more()? {
                    More::Some => {}
                    More::End if searched == 0 => return Ok(None),
                    More::End => {
                        self.pending = searched;
                        break searched;
                    }
                    More::Full => {
                        let place = Place::Line { line: self.number + 1, offset: self.input.offset() };
                        return Err(ReadError::data(place, format!("a line of more than {LINE_MAX} bytes")));
                    }
                }
            };
            self.number += 1;
            let text = self.input.window().get(..end).unwrap_or_default();
            let trimmed = text.trim_ascii();
            if self.until.is_some_and(|until| trimmed.starts_with(until)) {
                return Ok(None);
            }
            if !is_comment(trimmed) {
                let place = Place::Line { line: self.number, offset: self.input.offset() };
                let from = text.len() - text.trim_ascii_start().len();
                break (place, from, from + trimmed.len());
            }
        };
        Ok(Some(Line { place, text: self.input.window().get(from..to).unwrap_or_default() }))
    }
}

/// Whether a line holds nothing: empty, a comment, or the separator for spreadsheets (`sep=;`).
pub(super) fn is_comment(line: &[u8]) -> bool {
    line.is_empty() || line[0] == b'#' || (line.starts_with(b"sep=") && line.len() <= 5)
}

/// The layout of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) delimiter: u8,
    /// The names of the columns, if the first line has them.
    pub(super) names: Option<Vec<String>>,
}

impl Layout {
    /// From the first line that is no comment.
    pub(super) fn of(line: &[u8], clock: &Clock) -> Self {
        let mut layout = Self { delimiter: delimiter(line), names: None };
        let mut fields = Vec::new();
        layout.split(line, &mut fields);
        if fields.first().is_some_and(|first| !is_stamp(first) && clock.parse(first).is_none()) {
            layout.names = Some(fields.iter().map(|field| String::from_utf8_lossy(field).trim().to_owned()).collect());
        }
        layout
    }

    /// Splits a line into fields, without quotes and spaces around them. The vector is reused.
    pub(super) fn split<'l>(&self, line: &'l [u8], fields: &mut Vec<&'l [u8]>) {
        fields.clear();
        if self.delimiter == b' ' {
            fields.extend(line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()));
            return;
        }
        let mut rest = line;
        loop {
            let start = rest.trim_ascii_start();
            let (field, behind) = if let Some(quoted) = start.strip_prefix(b"\"") {
                let end = memchr::memchr(b'"', quoted).unwrap_or(quoted.len());
                let (field, behind) = quoted.split_at(end);
                let next = memchr::memchr(self.delimiter, behind);
                (field, next.map(|at| &behind[at + 1..]))
            } else {
                match memchr::memchr(self.delimiter, rest) {
                    Some(at) => (rest[..at].trim_ascii(), Some(&rest[at + 1..])),
                    None => (rest.trim_ascii(), None),
                }
            };
            fields.push(field);
            let Some(behind) = behind else { return };
            rest = behind;
        }
    }
}

/// The delimiter of a line. Commas between digits may be decimal marks if the line has another delimiter.
fn delimiter(line: &[u8]) -> u8 {
    let (mut quoted, mut comma, mut decimal) = (false, false, true);
    let mut others = [false; 2];
    for (place, byte) in line.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b';' if !quoted => others[0] = true,
            b'\t' if !quoted => others[1] = true,
            b',' if !quoted => {
                let digit = |place: Option<usize>| place.and_then(|at| line.get(at)).is_some_and(u8::is_ascii_digit);
                comma = true;
                decimal &= digit(place.checked_sub(1)) && digit(place.checked_add(1));
            }
            _ => {}
        }
    }
    match (comma && !(decimal && (others[0] || others[1])), others) {
        (true, _) => b',',
        (false, [true, _]) => b';',
        (false, [_, true]) => b'\t',
        _ => b' ',
    }
}

/// Whether a field can be a time stamp: the first line of a table has names if its first field cannot.
fn is_stamp(field: &[u8]) -> bool {
    stamp::decimal(field, 1).is_some() || stamp::calendar(field).is_some() || is_ambiguous_date(field)
}

/// A date with day and month in an order that is not known, such as `05/01/2024 12:00`: no time, and no name either.
pub(super) fn is_ambiguous_date(field: &[u8]) -> bool {
    let date = field.split(|byte| *byte == b' ').next().unwrap_or_default();
    let mut parts = date.split(|byte| matches!(byte, b'/' | b'.')).map(|part| {
        let digits = !part.is_empty() && part.len() <= 4 && part.iter().all(u8::is_ascii_digit);
        digits.then_some(part.len())
    });
    matches!(
        (parts.next(), parts.next(), parts.next(), parts.next()),
        (Some(Some(_)), Some(Some(_)), Some(Some(_)), None)
    )
}

/// Whether text has two bytes a character: a mark at its start, or a zero in every other byte.
pub(super) fn is_utf16(bytes: &[u8]) -> bool {
    let start = bytes.get(..16).unwrap_or_default();
    let alternate = |odd: usize| {
        !start.is_empty() && start.chunks(2).all(|pair| pair[odd] == 0 && (0x20..0x7f).contains(&pair[1 - odd]))
    };
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) || alternate(0) || alternate(1)
}

fn utf16() -> ReadError {
    ReadError::hinted(
        Place::Line { line: 1, offset: 0 },
        "the text is UTF-16, two bytes a character: expected ASCII or UTF-8",
        "iconv -f UTF-16 -t UTF-8 FILE > NEW",
    )
}

/// Why bytes that begin like a table are none: the place of the first byte that no text has.
pub(super) fn not_text(bytes: &[u8]) -> Option<ReadError> {
    if is_utf16(bytes) {
        return Some(utf16());
    }
    let at = bytes.iter().position(|byte| !is_text(*byte))?;
    let before = bytes.get(..at)?;
    let line = memchr::memchr_iter(b'\n', before).count() as u64;
    // Binary files have such bytes early; a table has a line of some letters before them.
    let letters = before.iter().filter(|byte| byte.is_ascii_graphic()).count();
    (line > 0 && letters >= 8).then(|| {
        let message = format!("byte {:02x} is no text, in what begins like a table", bytes[at]);
        ReadError::hinted(
            Place::Line { line: line + 1, offset: at as u64 },
            message,
            "the file is damaged here: remove the line, or --format NAME and --keep-partial keep what comes before it",
        )
    })
}

pub(super) fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(line: &[u8]) -> Layout {
        Layout::of(line, &Clock::new(None, None))
    }

    fn split(line: &str) -> Vec<String> {
        let mut fields = Vec::new();
        layout(line.as_bytes()).split(line.as_bytes(), &mut fields);
        fields.into_iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect()
    }

    #[test]
    fn lines_are_split_at_what_they_use() {
        assert_eq!(split("1.5, 20 ,x"), ["1.5", "20", "x"]);
        assert_eq!(split("1.5;20"), ["1.5", "20"]);
        assert_eq!(split("0.001340   1090"), ["0.001340", "1090"]);
        assert_eq!(split("a\t\tb"), ["a", "", "b"]);
        assert_eq!(split("\"2014-04-10 00:04:00\",\"a,b\",7"), ["2014-04-10 00:04:00", "a,b", "7"]);
        assert_eq!(split("1,2,"), ["1", "2", ""]);
        assert_eq!(split("1,\"open"), ["1", "open"]);
        assert_eq!(split("01.05.2024 00:00;12,5;3"), ["01.05.2024 00:00", "12,5", "3"]);
        assert_eq!(split("time,a;b"), ["time", "a;b"]);
    }

    #[test]
    fn a_first_line_of_words_names_the_columns() {
        assert_eq!(layout(b"time,bytes").names, Some(vec!["time".to_owned(), "bytes".to_owned()]));
        assert_eq!(layout(b"0.5,60").names, None);
        assert_eq!(layout(b"2014-04-10 00:04:00,60").names, None);
    }
}
