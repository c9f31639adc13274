//! How datagrams are marked for switches: the traffic class in the IP header.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The ECN codepoint of an outgoing datagram (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// A congested switch drops the datagram.
    #[default]
    NotEct,
    /// A congested switch may mark the datagram instead: the receiver finds its window by itself and reacts to marks.
    Ect0,
}

/// A differentiated services codepoint (RFC 2474 §3), which selects a packet's queue in a switch and whether it may be trimmed there.
///
/// Parsed from text, it is a number from 0 to 63 or the name of a class: `CS0` to `CS7` (RFC 2474), `AF11` to `AF43` (RFC 2597), `EF` (RFC 3246),
/// `VA` (RFC 5865) or `LE` (RFC 8622).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort: the codepoint of unmarked packets.
    pub const BEST_EFFORT: Self = Self(0);

    /// A codepoint: `None` above 63.
    pub const fn new(codepoint: u8) -> Option<Self> {
        if codepoint < 64 { Some(Self(codepoint)) } else { None }
    }

    /// Its number, 0 to 63.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text is not a codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected 0 to 63, or a class such as CS1, AF11, EF or LE")]
pub struct DscpError;

impl FromStr for Dscp {
    type Err = DscpError;

    fn from_str(text: &str) -> Result<Self, DscpError> {
        if let Ok(codepoint) = text.parse() {
            return Self::new(codepoint).ok_or(DscpError);
        }
        match *text.to_ascii_lowercase().as_bytes() {
            [b'c', b's', class @ b'0'..=b'7'] => Ok(Self((class - b'0') << 3)),
            // Class and drop precedence, RFC 2597 §6.
            [b'a', b'f', class @ b'1'..=b'4', drop @ b'1'..=b'3'] => Ok(Self((class - b'0') << 3 | (drop - b'0') << 1)),
            [b'e', b'f'] => Ok(Self(46)),
            [b'v', b'a'] => Ok(Self(44)),
            [b'l', b'e'] => Ok(Self(1)),
            _ => Err(DscpError),
        }
    }
}

/// The marking of an outgoing datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// Its class.
    pub dscp: Dscp,
    /// Whether switches may mark it.
    pub ecn: Ecn,
}

impl Marking {
    /// The octet in the IP header: type of service of IPv4, traffic class of IPv6 (RFC 2474 §3, RFC 3168 §5).
    pub fn octet(self) -> u8 {
        let ecn = match self.ecn {
            Ecn::NotEct => 0b00,
            Ecn::Ect0 => 0b10,
        };
        self.dscp.get() << 2 | ecn
    }
}

/// The purpose of a datagram, as far as switches are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Everything but symbols.
    Control,
    /// A symbol.
    Symbol(Ecn),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_the_codepoints_of_their_documents() {
        // RFC 4594 §2.3, figure 3; RFC 5865 §1; RFC 8622 §4.
        for (name, codepoint) in [
            ("CS0", 0b00_0000),
            ("CS1", 0b00_1000),
            ("cs6", 0b11_0000),
            ("CS7", 0b11_1000),
            ("AF11", 0b00_1010),
            ("AF13", 0b00_1110),
            ("AF22", 0b01_0100),
            ("AF31", 0b01_1010),
            ("af43", 0b10_0110),
            ("EF", 0b10_1110),
            ("VA", 0b10_1100),
            ("LE", 0b00_0001),
            ("63", 63),
            ("0", 0),
        ] {
            assert_eq!(name.parse(), Ok(Dscp(codepoint)), "{name}");
        }
        for text in ["64", "-1", "256", "", "CS8", "AF14", "AF51", "AF1", "best effort"] {
            assert_eq!(text.parse::<Dscp>(), Err(DscpError), "{text}");
        }
    }

    #[test]
    fn the_octet_has_the_class_before_the_ecn_codepoint() {
        let dscp = "EF".parse().expect("a class");
        assert_eq!(Marking { dscp, ecn: Ecn::Ect0 }.octet(), 0xba);
        assert_eq!(Marking { dscp, ecn: Ecn::NotEct }.octet(), 0xb8);
        assert_eq!(Marking::default().octet(), 0);
    }
}
