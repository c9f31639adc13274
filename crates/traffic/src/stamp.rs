//! Time stamps: nanoseconds since 1970 (UTC) as `i64`, or since whatever the file counts from. Read from text exactly,
//! and written for messages.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};

/// Stamps beyond this are refused: 146 years before and after 1970, so that differences of two stay in `i64`.
pub(crate) const MAX: i64 = i64::MAX / 2;

pub(crate) const SECOND: i64 = 1_000_000_000;

/// The zone of a name in the IANA time zone database.
pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok()
}

/// Accepts a stamp that is within [`MAX`].
pub(crate) fn checked(ns: i128) -> Option<i64> {
    i64::try_from(ns).ok().filter(|ns| (-MAX..=MAX).contains(ns))
}

/// A decimal number times `scale`, exact and rounded down; an exponent is allowed and makes it a floating-point number.
pub(crate) fn decimal(text: &[u8], scale: i64) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (mut whole, mut seen) = (0_i128, 0);
    let (mut fraction, mut unit) = (0_i128, i128::from(scale) * 1_000_000_000);
    let mut behind = false;
    for &byte in digits {
        match byte {
            b'0'..=b'9' if seen < 30 => {
                seen += 1;
                let digit = i128::from(byte - b'0');
                if behind {
                    unit /= 10;
                    fraction += digit * unit;
                } else {
                    whole = whole * 10 + digit;
                }
            }
            b'.' if !behind => behind = true,
            b'e' | b'E' if seen > 0 => {
                let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
                let value = value * scale as f64;
                return (value.abs() < 1e30).then_some(value.round() as i128);
            }
            _ => return None,
        }
    }
    let value = whole.checked_mul(i128::from(scale))?.checked_add(fraction / 1_000_000_000)?;
    (seen > 0).then_some(if negative { -value } else { value })
}

/// `YYYY-MM-DD[ T]hh:mm[:ss[.fff]][Z|+hh:mm|-hh:mm]` or `YYYY-MM-DD`; without a zone it is UTC.
pub(crate) fn calendar(text: &[u8]) -> Option<i64> {
    zoned(text).map(|(at, _)| at)
}

/// The same, and whether the text has a zone.
pub(crate) fn zoned(text: &[u8]) -> Option<(i64, bool)> {
    fn two(text: &[u8]) -> Option<i64> {
        match text {
            [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some(i64::from(a - b'0') * 10 + i64::from(b - b'0')),
            _ => None,
        }
    }
    let (date, rest) = text.split_at_checked(10)?;
    let [y @ .., b'-', m1, m2, b'-', d1, d2] = date else { return None };
    let year = two(y.get(..2)?)? * 100 + two(y.get(2..)?)?;
    let (month, day) = (two(&[*m1, *m2])?, two(&[*d1, *d2])?);
    let day = Date::new(year as i16, month as i8, day as i8).ok()?;
    let midnight = Offset::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()?.as_nanosecond();
    let time = match rest {
        [] => return Some((checked(midnight)?, false)),
        [b' ' | b'T' | b't', time @ ..] => time,
        _ => return None,
    };
    let zone = time.iter().position(|b| matches!(b, b'Z' | b'z' | b'+' | b'-' | b'U' | b'G'));
    let (clock, zone) = time.split_at(zone.unwrap_or(time.len()));
    let clock = clock.strip_suffix(b" ").unwrap_or(clock);
    let (hour, minute, second) = match clock {
        [h1, h2, b':', m1, m2] => (two(&[*h1, *h2])?, two(&[*m1, *m2])?, 0),
        [h1, h2, b':', m1, m2, b':', second @ ..] => (two(&[*h1, *h2])?, two(&[*m1, *m2])?, decimal(second, SECOND)?),
        _ => return None,
    };
    let ahead = match zone {
        [] | [b'Z' | b'z'] | [b'U', b'T', b'C'] | [b'G', b'M', b'T'] => 0,
        [sign @ (b'+' | b'-'), h1, h2] => {
            let minutes = two(&[*h1, *h2])? * 60;
            if *sign == b'-' { -minutes } else { minutes }
        }
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] | [sign @ (b'+' | b'-'), h1, h2, m1, m2] => {
            let minutes = two(&[*h1, *h2])? * 60 + two(&[*m1, *m2])?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    // 60 is a leap second.
    if hour > 24 || minute > 59 || !(0..61 * i128::from(SECOND)).contains(&second) {
        return None;
    }
    let at = checked(midnight + i128::from((hour * 60 + minute - ahead) * 60) * i128::from(SECOND) + second)?;
    Some((at, !zone.is_empty()))
}

/// `hh:mm:ss[.fff]` or seconds as a decimal number, in nanoseconds.
pub(crate) fn span(text: &[u8]) -> Option<i64> {
    let mut parts = text.rsplit(|&b| b == b':');
    let seconds = decimal(parts.next()?, SECOND)?;
    let minutes = parts.next().map_or(Some(0), |text| decimal(text, 1))?;
    let hours = parts.next().map_or(Some(0), |text| decimal(text, 1))?;
    if parts.next().is_some() || hours > 1_000_000 || minutes > 1_000_000 {
        return None;
    }
    checked(seconds + (hours * 3600 + minutes * 60) * i128::from(SECOND))
}

/// A stamp for a message: a date if it can be one, else seconds.
pub(crate) fn show(ns: i64) -> String {
    if ns.div_euclid(SECOND).abs() >= 100_000_000
        && let Ok(at) = Timestamp::from_nanosecond(i128::from(ns))
    {
        return at.strftime("%Y-%m-%d %H:%M:%S%.9fZ").to_string();
    }
    format!(
        "{}{}.{:09} s",
        if ns < 0 { "-" } else { "" },
        ns.unsigned_abs() / 1_000_000_000,
        ns.unsigned_abs() % 1_000_000_000
    )
}

/// A time span for a message.
pub(crate) fn duration(ns: u64) -> String {
    const UNITS: [(u64, &str); 7] = [
        (365 * 86_400 * 1_000_000_000, "years"),
        (86_400 * 1_000_000_000, "days"),
        (3_600 * 1_000_000_000, "h"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| ns >= *unit).unwrap_or((1, "ns"));
    if ns.is_multiple_of(unit) {
        return format!("{} {name}", ns / unit);
    }
    format!("{:.3} {name}", ns as f64 / unit as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal(b"0.001340", SECOND), Some(1_340_000));
        assert_eq!(decimal(b"1375308176", SECOND), Some(1_375_308_176_000_000_000));
        assert_eq!(decimal(b"1700000000.123456789", SECOND), Some(1_700_000_000_123_456_789));
        assert_eq!(decimal(b"-1.5", 1_000_000), Some(-1_500_000));
        assert_eq!(decimal(b"33.333", 1_000_000), Some(33_333_000));
        assert_eq!(decimal(b"1.7e3", SECOND), Some(1_700_000_000_000));
        for bad in [&b""[..], b".", b"-", b"1.2.3", b"0x10", b"nan", b"1e99", b"99999999999999999999999999999999999"] {
            assert_eq!(decimal(bad, SECOND), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn dates_are_read_and_written() {
        assert_eq!(calendar(b"1970-01-01"), Some(0));
        assert_eq!(calendar(b"2014-04-10 00:04:00"), Some(1_397_088_240 * SECOND));
        assert_eq!(calendar(b"2019-05-19T07:03:12.402"), Some(1_558_249_392_402_000_000));
        assert_eq!(calendar(b"2019-05-19T09:03:12.402+02:00"), Some(1_558_249_392_402_000_000));
        assert_eq!(calendar(b"2004-03-01 00:00"), Some(1_078_099_200 * SECOND));
        for zone in ["02:00+02", "02:00:00 +0200", "01:00 +01:00", "00:00 UTC", "00:00:00 GMT", "1:00-01"] {
            let text = format!("2004-03-01 {zone}");
            let expected = (!zone.starts_with("1:")).then_some((1_078_099_200 * SECOND, true));
            assert_eq!(zoned(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(calendar(b"2000-02-29 12:00:00Z"), Some(951_825_600 * SECOND));
        for bad in [
            &b"2014-13-10"[..],
            b"2014-04-10 25:00",
            b"2014/04/10",
            b"9999-01-01",
            b"2014-04-10 00:04:61.5",
            b"20140410",
        ] {
            assert_eq!(calendar(bad), None, "{}", String::from_utf8_lossy(bad));
        }
        assert_eq!(show(1_558_249_392_402_000_000), "2019-05-19 07:03:12.402000000Z");
        assert_eq!(show(1_340_000), "0.001340000 s");
        assert_eq!(span(b"00:00:13.871"), Some(13_871_000_000));
        assert_eq!(span(b"3.000"), Some(3_000_000_000));
        assert_eq!(duration(5_000_000), "5 ms");
    }

    #[test]
    fn a_day_that_no_month_has_is_none() {
        for text in ["2024-02-30", "2023-02-29", "2024-04-31T00:00:00Z", "2024-01-00"] {
            assert_eq!(calendar(text.as_bytes()), None, "{text}");
        }
        assert!(calendar(b"2024-02-29").is_some());
    }
}
