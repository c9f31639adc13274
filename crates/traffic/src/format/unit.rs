//! Units of volumes in tables: bytes or bits, with a prefix, in a bin or per second.

/// Bytes in a unit, and whether it is a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    pub(super) bytes: f64,
    pub(super) per_second: bool,
}

pub(super) const BYTES: Unit = Unit { bytes: 1.0, per_second: false };

/// Bytes per second.
pub(super) const BYTES_PER_SECOND: Unit = Unit { bytes: 1.0, per_second: true };

/// How units say "per second".
const PER_SECOND: [&str; 8] = ["/s", "/sec", "/second", " per second", " per sec", "_per_second", "_per_sec", "ps"];

impl Unit {
    /// Reads a unit: `B`, `kbit`, `MB/s`, `Gbps`, `KiB`, `bits/sec`, ... A single `b` is a bit and a single `B` a byte.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (text, per_second) = match PER_SECOND.iter().find_map(|ending| text.strip_suffix(ending)) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let lower = text.to_ascii_lowercase();
        let ending = |known: &[&str]| known.iter().find_map(|unit| lower.strip_suffix(unit));
        let (prefix, bytes) = if let Some(prefix) = ending(&["bytes", "byte", "octets", "octet"]) {
            (prefix, 1.0)
        } else if let Some(prefix) = ending(&["bits", "bit"]) {
            (prefix, 0.125)
        } else if text.ends_with('B') {
            (lower.strip_suffix('b')?, 1.0)
        } else {
            (lower.strip_suffix('b')?, 0.125)
        };
        // `MIB` is a word for something else.
        let binary = prefix.ends_with('i');
        if binary && text.as_bytes().get(1) != Some(&b'i') {
            return None;
        }
        let scale = match prefix {
            "" => 1.0,
            "k" | "kilo" => 1e3,
            "m" | "mega" => 1e6,
            "g" | "giga" => 1e9,
            "t" | "tera" => 1e12,
            "ki" => 1024.0,
            "mi" => 1024.0 * 1024.0,
            "gi" => 1024.0 * 1024.0 * 1024.0,
            "ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
            _ => return None,
        };
        Some(Self { bytes: bytes * scale, per_second })
    }

    /// Whether a word could mean bits or bytes: `MBPS` in capitals.
    pub(super) fn is_ambiguous(word: &str) -> bool {
        word.ends_with("BPS") && matches!(word.len(), 3 | 4)
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
            ("bits/sec", 0.125, true),
            ("bits per second", 0.125, true),
            ("Mbit/s", 0.125e6, true),
            ("octets/s", 1.0, true),
            ("kilobits/second", 125.0, true),
        ] {
            assert_eq!(Unit::parse(text), Some(Unit { bytes, per_second }), "{text}");
        }
        for bad in ["", "x", "packets", "MIB", "zB", "s", "ps", "/s"] {
            assert_eq!(Unit::parse(bad), None, "{bad}");
        }
        assert!(Unit::is_ambiguous("MBPS") && Unit::is_ambiguous("BPS") && !Unit::is_ambiguous("Mbps"));
    }
}
