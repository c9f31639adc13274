//! What the operating system says of this process (Linux).

use std::fs;

/// User CPU time so far, in seconds, to 10 ms.
pub(crate) fn user_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the command's name, which is in parentheses, field 14 of proc(5) is `utime` in ticks of 1/100 s.
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().nth(11).and_then(|t| t.parse::<f64>().ok()).map_or(f64::NAN, |ticks| ticks / 100.0)
}

/// Peak resident memory, in megabytes.
pub(crate) fn peak_megabytes() -> f64 {
    status_megabytes("VmHWM:")
}

/// Resident memory now, in megabytes.
pub(crate) fn resident_megabytes() -> f64 {
    status_megabytes("VmRSS:")
}

fn status_megabytes(what: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix(what));
    let kib = line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib * 1024.0 / 1e6)
}

/// Time of the clock, in seconds, to 10 ms.
pub(crate) fn wall_seconds() -> f64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    uptime.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(f64::NAN)
}
