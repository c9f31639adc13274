//! What the name of a column says of its values: a counter, a volume or rate of some unit, no volume at all, or nothing.

use super::unit::{BYTES, BYTES_PER_SECOND, Unit};

/// What a name says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Quantity {
    /// Octets since the device started (RFC 2863, RFC 1213): `ifHCInOctets`, `node_network_receive_bytes_total`. The
    /// number of bits, where the name tells.
    Counter(Option<u8>),
    /// Volumes or mean rates of a unit, and how the name writes it.
    Volume(Unit, String),
    /// Bytes, since the row before or since ever: `rx_bytes`.
    Bytes,
    /// No volume, and the word that says so.
    Other(String),
    /// A unit that can be read in two ways, or a rate without one.
    Unclear(String),
    /// Nothing.
    Silent,
}

/// Words of what is no volume, whatever else the name says.
const OTHER: &[&str] = &[
    "util",
    "utilization",
    "utilisation",
    "percent",
    "percentage",
    "pct",
    "perc",
    "errors",
    "error",
    "errs",
    "err",
    "discards",
    "discard",
    "discarded",
    "drops",
    "drop",
    "dropped",
    "crc",
    "collisions",
    "packets",
    "packet",
    "pkts",
    "pkt",
    "pps",
    "ucastpkts",
    "nucastpkts",
    "frames",
    "frame",
    "status",
    "state",
    "oper",
    "admin",
    "mtu",
    "index",
    "vlan",
    "asn",
    "latency",
    "rtt",
    "jitter",
    "loss",
    "temperature",
    "temp",
    "cpu",
    "memory",
    "duration",
    "uptime",
    "ticks",
    "age",
    "prev",
    "previous",
    "capacity",
    "limit",
    "quality",
    "queries",
    "overruns",
    "fifo",
    "queue",
    "qlen",
    "threshold",
    "fps",
];

/// Words of what is no volume unless the name has a unit, too.
const WEAK: &[&str] = &[
    "flows",
    "flow",
    "usage",
    "speed",
    "count",
    "number",
    "users",
    "hosts",
    "requests",
    "sessions",
    "connections",
    "conns",
    "clients",
    "hits",
    "peers",
];

/// Words that make a speed the line's and no traffic's.
const LINE: [&str; 7] = ["if", "high", "line", "link", "port", "interface", "nominal"];

/// Words of differences: what was carried since the row before.
const DIFFERENCE: [&str; 6] = ["delta", "diff", "difference", "increment", "increase", "interval"];

/// Words of rates: what was carried in each second.
const RATE: [&str; 7] = ["rate", "rates", "bitrate", "throughput", "goodput", "persec", "persecond"];

/// Words of directions.
const WAYS: [[&str; 9]; 2] = [
    ["in", "rx", "received", "receive", "recv", "inbound", "ingress", "input", "download"],
    ["out", "tx", "sent", "transmit", "transmitted", "outbound", "egress", "output", "upload"],
];

impl Quantity {
    /// Reads a name.
    pub(super) fn of(name: &str) -> Self {
        if name.contains('%') {
            return Self::Other("%".to_owned());
        }
        let parts: Vec<&str> = parts(name).collect();
        let words: Vec<String> = parts.iter().flat_map(|part| words(part)).collect();
        let has = |known: &[&str]| words.iter().find(|word| known.contains(&word.as_str()));
        let unit = unit(name, &parts, &words);
        if let Some(word) = has(OTHER) {
            return Self::Other(word.clone());
        }
        if let Some(word) = has(WEAK) {
            let line = word == "speed" && has(&LINE).is_some();
            if line || (unit.is_none() && has(&["bytes", "octets"]).is_none()) {
                return Self::Other(word.clone());
            }
        }
        let rate = has(&RATE).is_some() || per_second(&words);
        if let Some((unit, text)) = unit {
            if rate && !unit.per_second {
                // `bits_per_second`, `mbit_rate`: name and unit say it together.
                return Self::Volume(Unit { per_second: true, ..unit }, format!("{text}/s"));
            }
            return Self::Volume(unit, text);
        }
        if let Some(word) = parts.iter().find(|part| Unit::is_ambiguous(part)) {
            return Self::Unclear((*word).to_owned());
        }
        let difference = has(&DIFFERENCE).is_some();
        let octets = has(&["octets", "octet", "counter", "counter32", "counter64"]).is_some();
        let bytes = has(&["bytes", "byte"]).is_some();
        if rate {
            return match (octets || bytes, has(&["bits", "bit"])) {
                (true, _) => Self::Volume(BYTES_PER_SECOND, "bytes/s".to_owned()),
                (false, Some(_)) => Self::Volume(Unit { bytes: 0.125, per_second: true }, "bit/s".to_owned()),
                (false, None) => Self::Unclear("rate".to_owned()),
            };
        }
        if difference && (octets || bytes) {
            return Self::Volume(BYTES, "bytes".to_owned());
        }
        if octets || (bytes && has(&["total", "cumulative"]).is_some()) {
            let wide = has(&["hc", "counter64"]).is_some();
            return Self::Counter(wide.then_some(64));
        }
        if bytes { Self::Bytes } else { Self::Silent }
    }

    /// Whether the name is that of bytes, and nothing else: `bytes`, `volume`.
    pub(super) fn is_plain(name: &str) -> bool {
        ["bytes", "volume"].iter().any(|plain| name.eq_ignore_ascii_case(plain))
    }
}

/// Whether a name tells a direction.
pub(super) fn has_way(name: &str) -> bool {
    parts(name).flat_map(words).any(|word| WAYS.iter().any(|way| way.contains(&word.as_str())))
}

/// The speed of the line in a column of this name: bits per second in its unit (RFC 2863 `ifSpeed`, `ifHighSpeed`).
pub(super) fn line_speed(name: &str) -> Option<f64> {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match name.to_ascii_lowercase().as_str() {
        "ifspeed" => Some(1.0),
        "ifhighspeed" => Some(1e6),
        _ => None,
    }
}

/// The parts of a name between what is neither letter nor digit; a slash stays, as in `MB/s`.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric() && c != '/').filter(|part| !part.is_empty())
}

/// The words of a part, in lower case: `ifHCInOctets` has four.
fn words(part: &str) -> Vec<String> {
    let letters: Vec<char> = part.chars().collect();
    let mut found: Vec<String> = Vec::new();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| letters.get(place));
        let next = letters.get(place + 1);
        let begins = match before {
            None | Some('/') => true,
            Some(before) => {
                letter.is_uppercase() && (!before.is_uppercase() || next.is_some_and(|next| next.is_lowercase()))
            }
        };
        if begins {
            found.push(String::new());
        }
        if let Some(word) = found.last_mut().filter(|_| *letter != '/') {
            word.extend(letter.to_lowercase());
        }
    }
    found.retain(|word| !word.is_empty());
    // `INOCTETS` and `rxbytes` have no border between their words.
    let split = |word: String| {
        let tail = ["octets", "bytes"].into_iter().find(|tail| word.len() > tail.len() && word.ends_with(tail));
        let head = tail.map(|tail| word[..word.len() - tail.len()].to_owned());
        head.into_iter().chain([tail.map_or(word, str::to_owned)])
    };
    found.into_iter().flat_map(split).collect()
}

/// Whether words say `per second`.
fn per_second(words: &[String]) -> bool {
    words.windows(2).any(|pair| pair[0] == "per" && ["s", "sec", "second"].contains(&pair[1].as_str()))
}

/// The unit that a name has, with how it writes it. Plain bytes and octets are none: they may be counted since ever.
fn unit(name: &str, parts: &[&str], words: &[String]) -> Option<(Unit, String)> {
    let plain = |text: &str| ["bytes", "byte", "octets", "octet"].iter().any(|plain| text.eq_ignore_ascii_case(plain));
    let parse = |text: &str| {
        let unit = if text.len() > 1 && !plain(text) { Unit::parse(text) } else { None };
        unit.map(|unit| (unit, text.to_owned()))
    };
    let lower = name.to_ascii_lowercase();
    if lower.contains("per sec") {
        let long = ["bits", "bytes"].into_iter().find_map(|unit| {
            let at = lower.find(&format!("{unit} per sec"))?;
            let from = name.get(..at)?.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |space| space + 1);
            parse(&format!("{} per second", name.get(from..at + unit.len())?))
        });
        if long.is_some() {
            return long;
        }
    }
    let whole = parts.iter().rev().find_map(|part| parse(part));
    // A word of capitals and small letters loses them: only what is written out has one meaning.
    let written_out = |word: &String| {
        let long = ["bits", "bit", "bytes"].iter().any(|ending| word.ends_with(ending));
        if long { parse(word) } else { None }
    };
    whole
        .or_else(|| parts.iter().rev().find_map(|part| glued(part).and_then(parse)))
        .or_else(|| words.iter().rev().find_map(written_out))
}

/// A unit at the end of a part, without anything between: `inMbps`, `rxKBps`, `inbps`.
fn glued(part: &str) -> Option<&str> {
    let camel = part.char_indices().zip(part.chars().skip(1)).find_map(|((at, before), letter)| {
        let behind = part.get(at + before.len_utf8()..)?;
        (before.is_lowercase() && letter.is_uppercase() && Unit::parse(behind).is_some()).then_some(behind)
    });
    let small = || {
        let known = ["kbps", "mbps", "gbps", "bps"].into_iter().find(|unit| part.ends_with(unit))?;
        part.get(part.len() - known.len()..)
    };
    camel.or_else(small)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(name: &str) -> Option<(f64, bool)> {
        match Quantity::of(name) {
            Quantity::Volume(unit, _) => Some((unit.bytes, unit.per_second)),
            _ => None,
        }
    }

    #[test]
    fn counters_are_known_by_name() {
        for (name, bits) in [
            ("ifHCInOctets", Some(64)),
            ("ifHCOutOctets.3", Some(64)),
            ("ifInOctets", None),
            ("in_octets", None),
            ("IF-MIB::ifOutOctets", None),
            ("INOCTETS", None),
            ("node_network_receive_bytes_total", None),
            ("rx_bytes_total", None),
            ("counter", None),
        ] {
            assert_eq!(Quantity::of(name), Quantity::Counter(bits), "{name}");
        }
        for name in ["rx_bytes", "bytes_in", "bytesReceived", "n_bytes", "bytes"] {
            assert_eq!(Quantity::of(name), Quantity::Bytes, "{name}");
        }
    }

    #[test]
    fn units_are_found_wherever_they_stand() {
        for (name, bytes, per_second) in [
            ("traffic_Mbps_in", 0.125e6, true),
            ("rx_KBps", 1e3, true),
            ("gbit", 0.125e9, false),
            ("ifInOctets_rate", 1.0, true),
            ("In (Mbit/s)", 0.125e6, true),
            ("MB/s", 1e6, true),
            ("Inbound bits/sec", 0.125, true),
            ("out bits per second", 0.125, true),
            ("Mbits per second out", 0.125e6, true),
            ("in_kbps", 125.0, true),
            ("inMbps", 0.125e6, true),
            ("inbps", 0.125, true),
            ("bytes_per_sec", 1.0, true),
            ("ifInOctets_delta", 1.0, false),
            ("download_speed_mbps", 0.125e6, true),
            ("bits_per_second", 0.125, true),
            ("in_kbit_per_sec", 125.0, true),
            ("MbitsPerSecond", 0.125e6, true),
            ("megabits per s", 0.125e6, true),
            ("GB_per_s", 1e9, true),
            ("mbit_rate_in", 0.125e6, true),
            ("throughput_mbit", 0.125e6, true),
            ("Throughput (kB)", 1e3, true),
            ("octets_per_second", 1.0, true),
            ("total_gbit", 0.125e9, false),
        ] {
            assert_eq!(volume(name), Some((bytes, per_second)), "{name}");
        }
        for name in ["src_b", "od_WASHng", "in", "WAN1", "x", "value", "received"] {
            assert_eq!(Quantity::of(name), Quantity::Silent, "{name}");
        }
        for name in ["IN_MBPS", "in_rate", "throughput", "bitrate"] {
            assert!(matches!(Quantity::of(name), Quantity::Unclear(_)), "{name}");
        }
    }

    #[test]
    fn what_is_no_volume_is_known_by_name() {
        for name in [
            "n_flows",
            "ifSpeed",
            "ifHighSpeed",
            "util_percent",
            "errors",
            "ifInErrors",
            "discards",
            "in_pkts",
            "packets",
            "ifOperStatus",
            "ifInUcastPkts",
            "load %",
            "port_speed_mbps",
            "ifInOctets_prev",
            "rtt_ms",
        ] {
            assert!(matches!(Quantity::of(name), Quantity::Other(_)), "{name}: {:?}", Quantity::of(name));
        }
    }

    #[test]
    fn directions_and_speeds_of_lines() {
        assert!(has_way("ifHCInOctets") && has_way("bytes_sent") && has_way("OUT") && !has_way("line"));
        assert_eq!(
            (line_speed("ifSpeed"), line_speed("if_high_speed"), line_speed("speed")),
            (Some(1.0), Some(1e6), None)
        );
    }
}
