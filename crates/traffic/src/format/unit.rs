//! Units of volumes in tables: bytes or bits, with a prefix, in a bin or per second.

/// Bytes in a unit, and whether it is a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) bytes: f64,
    pub(super) per_second: bool,
}

pub(super) const BYTES: Unit = Unit { bytes: 1.0, per_second: false };

impl Unit {
    /// Reads a unit: `B`, `kbit`, `MB/s`, `Gbps`, `KiB`, ... A single `b` is a bit and a single `B` a byte.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (text, per_second) = match text.strip_suffix("/s").or_else(|| text.strip_suffix("ps")) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let lower = text.to_ascii_lowercase();
        let (prefix, bytes) = if let Some(prefix) = ["bytes", "byte"].iter().find_map(|unit| lower.strip_suffix(unit)) {
            (prefix, 1.0)
        } else if let Some(prefix) = ["bits", "bit"].iter().find_map(|unit| lower.strip_suffix(unit)) {
            (prefix, 0.125)
        } else if text.ends_with('B') {
            (lower.strip_suffix('b')?, 1.0)
        } else {
            (lower.strip_suffix('b')?, 0.125)
        };
        let scale = match prefix {
            "" => 1.0,
            "k" => 1e3,
            "m" => 1e6,
            "g" => 1e9,
            "t" => 1e12,
            "ki" => 1024.0,
            "mi" => 1024.0 * 1024.0,
            "gi" => 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        };
        Some(Self { bytes: bytes * scale, per_second })
    }

    /// The unit that the name of a column ends with, such as `rx_KBps` or `gbit`.
    pub(super) fn of_column(name: &str) -> Option<Self> {
        let suffix = name.rsplit('_').next().unwrap_or(name);
        if suffix.len() > 1 { Self::parse(suffix) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        for (text, bytes, per_second) in [
            ("B", 1.0, false),
            ("bytes", 1.0, false),
            ("b", 0.125, false),
            ("kbit", 125.0, false),
            ("Gbit", 0.125e9, false),
            ("MB/s", 1e6, true),
            ("Mbps", 0.125e6, true),
            ("KBps", 1e3, true),
            ("bps", 0.125, true),
            ("KiB", 1024.0, false),
        ] {
            assert_eq!(Unit::parse(text), Some(Unit { bytes, per_second }), "{text}");
        }
        for bad in ["", "x", "packets", "zB", "s", "ps", "/s"] {
            assert_eq!(Unit::parse(bad), None, "{bad}");
        }
        assert_eq!(Unit::of_column("rx_KBps"), Unit::parse("KBps"));
        assert_eq!(Unit::of_column("gbit"), Unit::parse("Gbit"));
        assert_eq!(Unit::of_column("src_b"), None);
        assert_eq!(Unit::of_column("od_WASHng"), None);
    }
}
