//! A responder's answers to the packet that opens a session.

use super::manifest::Manifest;
use super::open::check_largest_packet;
use super::{Parameters, Reader, WireError, put_string};

/// The answer to an [`Open`](super::Open). Its packet carries the responder's salt: until it has arrived, the opener can
/// read nothing else from that responder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An offer is accepted.
    AcceptOffer {
        /// Maximum size of a datagram, at least [`MIN_OPEN_BYTES`](super::MIN_OPEN_BYTES).
        largest_packet: u16,
        /// What the receiver already has.
        held: Held,
    },
    /// A request is accepted.
    AcceptRequest {
        /// The object.
        manifest: Manifest,
        /// How it is cut and sent.
        parameters: Parameters,
    },
    /// The session is refused.
    Refuse(Refusal),
    /// The responder reads a file before it can decide. This answer comes again while it does, and another one follows.
    Wait {
        /// Bytes that it has read, for this session or for one before it in the queue: they grow as long as there is progress.
        read: u64,
    },
}

/// Which blocks a receiver has before anything is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// None.
    None,
    /// All: nothing needs to be sent.
    All,
}

/// Why a session is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// None of the others; also read for numbers that later versions may add.
    Other = 0,
    /// Too many sessions; worth trying again later.
    Busy = 1,
    /// There is no such object.
    NotFound = 2,
    /// The receiver does not take objects, or not this one.
    NotWanted = 3,
    /// The object is larger than the receiver takes.
    TooLarge = 4,
    /// There is no room for the object.
    NoSpace = 5,
    /// The parameters, or the way of sending, are not supported.
    Unsupported = 6,
    /// The signature is missing, wrong, or not from a key that this end trusts.
    Untrusted = 7,
    /// The same object is arriving from another sender; worth trying again when that has ended.
    UnderWay = 8,
    /// Nothing is decided: the opening packet is not padded, and nothing shows that its author is at its address.
    Unpadded = 9,
}

impl Reason {
    /// All reasons, by their number.
    pub const ALL: [Self; 10] = [
        Self::Other,
        Self::Busy,
        Self::NotFound,
        Self::NotWanted,
        Self::TooLarge,
        Self::NoSpace,
        Self::Unsupported,
        Self::Untrusted,
        Self::UnderWay,
        Self::Unpadded,
    ];
}

/// A reason, and a text for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// For programs.
    pub reason: Reason,
    text: String,
}

impl Refusal {
    /// A refusal. `text` is truncated to 255 bytes; control characters become spaces.
    pub fn new(reason: Reason, text: &str) -> Self {
        let mut kept = String::new();
        for c in text.chars().map(|c| if c.is_control() { ' ' } else { c }) {
            if kept.len() + c.len_utf8() > 255 {
                break;
            }
            kept.push(c);
        }
        Self { reason, text: kept }
    }

    /// For people: up to 255 bytes without control characters. Its author may have put others into it that move or hide text, such as bidirectional
    /// controls: escape them before a terminal gets it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Answer {
    /// Parses the message in the body of an answer, after decryption.
    ///
    /// # Errors
    /// [`WireError::Field`] or [`WireError::Length`].
    pub fn parse(body: &[u8]) -> Result<Self, WireError> {
        let mut body = Reader::new(body);
        let message = match body.u8()? {
            1 => {
                let largest_packet = body.u16()?;
                check_largest_packet(largest_packet)?;
                let held = if body.bool()? { Held::All } else { Held::None };
                Self::AcceptOffer { largest_packet, held }
            }
            2 => {
                let manifest = Manifest::parse(&mut body)?;
                let parameters = Parameters::parse(&mut body, manifest.size)?;
                Self::AcceptRequest { manifest, parameters }
            }
            3 => {
                let code = body.u8()?;
                let reason = Reason::ALL.get(usize::from(code)).copied().unwrap_or(Reason::Other);
                let text = body.string()?;
                if text.chars().any(char::is_control) {
                    return Err(WireError::Field("text"));
                }
                Self::Refuse(Refusal { reason, text: text.to_owned() })
            }
            4 => Self::Wait { read: body.u64()? },
            _ => return Err(WireError::Field("answer")),
        };
        body.end()?;
        Ok(message)
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        match self {
            &Self::AcceptOffer { largest_packet, held } => {
                out.push(1);
                out.extend_from_slice(&largest_packet.to_be_bytes());
                out.push(u8::from(held == Held::All));
            }
            Self::AcceptRequest { manifest, parameters } => {
                out.push(2);
                manifest.emit(out);
                parameters.emit(out);
            }
            Self::Refuse(refusal) => {
                out.extend_from_slice(&[3, refusal.reason as u8]);
                put_string(out, &refusal.text);
            }
            Self::Wait { read } => {
                out.push(4);
                out.extend_from_slice(&read.to_be_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_short_and_printable_whoever_makes_them() {
        let refusal = Refusal::new(Reason::Busy, &format!("{}\x1b\n", "ä".repeat(127)));
        assert_eq!(refusal.text(), format!("{} ", "ä".repeat(127)));
        assert_eq!(Refusal::new(Reason::Busy, &"ä".repeat(200)).text().len(), 254);
        assert_eq!(Answer::parse(b"\x03\x01\x02\x1b["), Err(WireError::Field("text")));
        assert_eq!(Answer::parse(b"\x03\xc8\x02no"), Ok(Answer::Refuse(Refusal::new(Reason::Other, "no"))));
        for (code, reason) in (0..).zip(Reason::ALL) {
            assert_eq!(reason as u8, code);
        }
    }
}
