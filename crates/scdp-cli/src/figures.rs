//! Sizes, rates and times in readable form.

use std::time::Duration;

/// `64.0 MiB`: three significant digits, powers of 1024.
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1000 {
        return if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
    }
    let (value, unit) = scaled(bytes as f64 / 1024.0, 1024.0, &["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]);
    format!("{} {unit}", significant(value))
}

/// `866 Mbit/s`: three significant digits, powers of 1000. Zero bytes in zero time have no rate.
pub(crate) fn rate(bytes: u64, time: Duration) -> String {
    if time.is_zero() {
        return "no time".to_owned();
    }
    let bits = bytes as f64 * 8.0 / time.as_secs_f64();
    let (value, unit) = scaled(bits, 1000.0, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
    format!("{} {unit}", significant(value))
}

/// `0.62 s`, `75.3 s`, `12 min 05 s`.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 99.5 {
        format!("{seconds:.*} s", if seconds < 9.95 { 2 } else { 1 })
    } else if seconds < 3600.0 {
        format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60)
    } else {
        format!("{} h {:02} min", time.as_secs() / 3600, time.as_secs() / 60 % 60)
    }
}

/// `64.0 MiB in 0.62 s, 866 Mbit/s`.
pub(crate) fn transfer(bytes: u64, seconds: f64) -> String {
    let elapsed = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    format!("{} in {}, {}", size(bytes), time(elapsed), rate(bytes, elapsed))
}

fn scaled<'a>(mut value: f64, step: f64, units: &[&'a str]) -> (f64, &'a str) {
    let mut unit = 0;
    // 999.5 would be rounded to four digits.
    while value >= 999.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    (value, units[unit])
}

fn significant(value: f64) -> String {
    let digits = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_whatever_the_size() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1000, "0.98 KiB"),
            (1024, "1.00 KiB"),
            (10_240, "10.0 KiB"),
            (1_048_575, "1.00 MiB"),
            (64 << 20, "64.0 MiB"),
            (999 << 20, "999 MiB"),
            (1 << 40, "1.00 TiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn rates_and_times() {
        assert_eq!(transfer(64 << 20, 0.62), "64.0 MiB in 0.62 s, 866 Mbit/s");
        assert_eq!(rate(125, Duration::from_secs(1)), "1.00 kbit/s");
        assert_eq!(rate(0, Duration::from_secs(1)), "0.00 bit/s");
        assert_eq!(rate(1, Duration::ZERO), "no time");
        assert_eq!(time(Duration::from_millis(9949)), "9.95 s");
        assert_eq!(time(Duration::from_millis(9951)), "10.0 s");
        assert_eq!(time(Duration::from_secs(725)), "12 min 05 s");
        assert_eq!(time(Duration::from_secs(7380)), "2 h 03 min");
    }
}
