//! The time of day, for whoever reads a log.

use jiff::Timestamp;

/// The time now, in UTC, as RFC 3339 writes it, with milliseconds: `2026-11-25T22:42:38.017Z`.
pub(crate) fn now() -> String {
    rfc3339(Timestamp::now())
}

fn rfc3339(at: Timestamp) -> String {
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_milliseconds_rounded_down() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_868_799, "2000-02-29T23:59:59.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            assert_eq!(rfc3339(Timestamp::new(seconds, 7_999_999).expect("a time")), text);
        }
    }
}
