//! The time of day, for whoever reads a log.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time now, in UTC, as RFC 3339 writes it, with milliseconds: `2026-11-25T22:42:38.017Z`.
#[allow(clippy::disallowed_methods, reason = "a program, whose log people read")]
pub(crate) fn now() -> String {
    rfc3339(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn rfc3339(since_1970: Duration) -> String {
    let (days, seconds) = (since_1970.as_secs() / 86_400, since_1970.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let millis = since_1970.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date so many days after 1 January 1970.
fn date(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that leap days are the last ones, and the count in the year 0 (H. Hinnant, "chrono-Compatible Low-Level Date
    // Algorithms", civil_from_days).
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (951_868_799, "2000-02-29T23:59:59.007Z"),
            (951_868_800, "2000-03-01T00:00:00.007Z"),
            (1_767_225_599, "2025-12-31T23:59:59.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            assert_eq!(rfc3339(Duration::new(seconds, 7_999_999)), text);
        }
    }

    #[test]
    fn days_follow_each_other() {
        let mut last = date(0);
        for days in 1..100_000 {
            let (year, month, day) = date(days);
            assert!((year, month, day) > last && (1..=12).contains(&month) && (1..=31).contains(&day));
            let begins = day == 1;
            assert_eq!(begins, (year, month) != (last.0, last.1), "{days}");
            last = (year, month, day);
        }
        assert_eq!(last, (2243, 10, 16));
    }
}
