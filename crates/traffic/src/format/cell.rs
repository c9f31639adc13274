//! Fields of a table: a number, a number with its unit, or a word for "not known".

use super::unit::Unit;
use crate::request::DecimalMark;
use std::borrow::Cow;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Unknown,
    Number(f64),
    /// As Grafana writes it: `12.3 Mb/s`.
    With(f64, Unit),
}

/// Words of tools for a value that they do not have: databases, `RRDtool`, spreadsheets, C, Python, R, Go.
const UNKNOWN: [&str; 27] = [
    "",
    "-",
    "--",
    "u",
    "nan",
    "-nan",
    "+nan",
    "null",
    "nil",
    "none",
    "na",
    "n/a",
    "n.a.",
    "#n/a",
    "#na",
    "\\n",
    "unknown",
    "undef",
    "undefined",
    "missing",
    "?",
    "(null)",
    "<null>",
    "nan(ind)",
    "-nan(ind)",
    "1.#qnan",
    "-1.#ind",
];

/// Whether a field says that its value is not known.
pub(super) fn is_unknown(text: &[u8]) -> bool {
    // Most fields are numbers.
    if text.first().is_some_and(u8::is_ascii_digit) && text.get(1) != Some(&b'.') {
        return false;
    }
    let text = text.trim_ascii();
    UNKNOWN.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

/// Reads a field; none if it holds anything else.
pub(super) fn value(text: &[u8], mark: DecimalMark) -> Option<Value> {
    if is_unknown(text) {
        return Some(Value::Unknown);
    }
    if let Some(number) = number(text, mark) {
        return Some(Value::Number(number));
    }
    let end = text.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b',' | b'-' | b'+'))?;
    let (number, unit) = text.split_at(end);
    let number = self::number(number, mark)?;
    // Grafana writes `1.2e-3` nowhere, and a no-break space before some units.
    let unit = std::str::from_utf8(unit).ok()?.trim();
    Some(Value::With(number, Unit::parse(unit)?))
}

/// A number that is finite.
pub(super) fn number(text: &[u8], mark: DecimalMark) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let number: f64 = match mark {
        DecimalMark::Point => text.parse().ok()?,
        DecimalMark::Comma => grouped(text)?.parse().ok()?,
    };
    number.is_finite().then_some(number)
}

/// A number with a decimal comma as one with a point; points are between thousands: `1.234,5`.
fn grouped(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once(',').unwrap_or((text, ""));
    let digits = whole.trim_start_matches(['-', '+']);
    let mut groups = digits.split('.');
    let first = groups.next()?;
    let grouped = digits.contains('.');
    if grouped && (first.len() > 3 || first.is_empty() || groups.any(|group| group.len() != 3)) {
        return None;
    }
    Some(format!("{}.{fraction}", whole.replace('.', "")))
}

/// How the fields of a table that uses no comma to separate them write fractions: with a comma, with a point, or, as far
/// as these fields tell, either. `1,234` may be a thousand.
pub(super) fn mark_of<'f>(fields: impl Iterator<Item = &'f [u8]>) -> Option<DecimalMark> {
    let mut unclear = false;
    for field in fields {
        let Some(at) = field.iter().position(|byte| *byte == b',') else { continue };
        let (whole, fraction) = field.split_at(at);
        let fraction = fraction.get(1..).unwrap_or_default();
        let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        if !digits(fraction) || number(whole, DecimalMark::Comma).is_none() {
            continue;
        }
        let whole = whole.strip_prefix(b"-").unwrap_or(whole);
        if fraction.len() != 3 || whole.len() > 3 || whole.starts_with(b"0") {
            return Some(DecimalMark::Comma);
        }
        unclear = true;
    }
    (!unclear).then_some(DecimalMark::Point)
}

/// A field for a message, shortened.
pub(super) fn show(field: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(field);
    if text.chars().count() > 40 {
        Cow::Owned(format!("{}...", text.chars().take(40).collect::<String>()))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_unknown_are_known_in_any_case() {
        for word in ["", "NULL", "null", "NaN", "-nan", "U", "N/A", "\\N", "None", "-", "#N/A", "1.#QNAN"] {
            assert_eq!(value(word.as_bytes(), DecimalMark::Point), Some(Value::Unknown), "{word}");
        }
        for word in ["x", "12x", "inf", "1,5", "1 2"] {
            assert_eq!(value(word.as_bytes(), DecimalMark::Point), None, "{word}");
        }
        assert_eq!(value(b"1.#5", DecimalMark::Point), None);
    }

    #[test]
    fn numbers_with_units_and_commas_are_read() {
        let unit = |bytes| Unit { bytes, per_second: true };
        for (text, expected) in [
            ("12.5", Value::Number(12.5)),
            ("12.5 Mb/s", Value::With(12.5, unit(0.125e6))),
            ("3 kB/s", Value::With(3.0, unit(1e3))),
            ("0 b/s", Value::With(0.0, unit(0.125))),
            ("850Mbps", Value::With(850.0, unit(0.125e6))),
        ] {
            assert_eq!(value(text.as_bytes(), DecimalMark::Point), Some(expected), "{text}");
        }
        for (text, expected) in [("12,5", 12.5), ("1.234,5", 1234.5), ("1.234.567", 1_234_567.0), ("7", 7.0)] {
            assert_eq!(number(text.as_bytes(), DecimalMark::Comma), Some(expected), "{text}");
        }
        for text in ["1.5", "12.34,5", "1,2,3", "1234.567,0"] {
            assert_eq!(number(text.as_bytes(), DecimalMark::Comma), None, "{text}");
        }
    }

    #[test]
    fn a_decimal_comma_is_told_from_thousands() {
        let of = |fields: &[&str]| mark_of(fields.iter().map(|field| field.as_bytes()));
        assert_eq!(of(&["1,234", "12,5"]), Some(DecimalMark::Comma));
        assert_eq!(of(&["1.5", "x,y", "7"]), Some(DecimalMark::Point));
        assert_eq!(of(&["1,234", "2,345"]), None);
        assert_eq!(of(&["0,123"]), Some(DecimalMark::Comma));
    }
}
