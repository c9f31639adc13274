//! The packet that opens a session: an offer from the end that has the object, or a request from the end that wants it.

use std::net::{IpAddr, SocketAddr};

use super::manifest::{Manifest, ObjectName};
use super::{Cookie, Parameters, Reader, WireError, put_string};

/// Minimum size of an opening packet, padding included, except for offers from hosts that have recently shown that they are at their address. No
/// answer that is sent before the opener's address is validated may be longer, so that nobody can make a responder flood a third party (RFC 9000 §8.1
/// has the same bound).
pub const MIN_OPEN_BYTES: usize = 1200;

/// The first message of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    /// The opener offers to send.
    Offer(Offer),
    /// The opener asks to receive.
    Request(Request),
}

/// An offer to send an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The object.
    pub manifest: Manifest,
    /// How it is cut and sent.
    pub parameters: Parameters,
    /// Where the symbols of a one-to-many session are sent, if not to each receiver. IPv6 scope and flow label are not sent: they have no meaning
    /// elsewhere.
    pub group: Option<SocketAddr>,
    /// Number of receivers, at least 1; the index in the packet's header is below it.
    pub receivers: u16,
}

/// A request for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The requested object.
    pub object: Object,
    /// The lane that this sender is asked to send, below `lanes`.
    pub lane: u16,
    /// Number of senders that are asked, 1 to 256.
    pub lanes: u16,
    /// Initial window in symbols, at least 1.
    pub window: u16,
    /// Maximum size of a datagram, at least [`MIN_OPEN_BYTES`].
    pub largest_packet: u16,
    /// The cookie from a [retry](super::RetryRepr).
    pub cookie: Option<Cookie>,
}

/// How a request names an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// By the sender's name for it.
    Name(ObjectName),
    /// By the BLAKE3 hash of its content.
    Hash([u8; 32]),
}

impl Open {
    /// Parses the message in the body of an opening packet, after decryption.
    ///
    /// # Errors
    /// [`WireError::Field`] or [`WireError::Length`].
    pub fn parse(body: &[u8]) -> Result<Self, WireError> {
        let mut body = Reader::new(body);
        let message = match body.u8()? {
            1 => Self::Offer(Offer::parse(&mut body)?),
            2 => Self::Request(Request::parse(&mut body)?),
            _ => return Err(WireError::Field("opening message")),
        };
        body.end_padded()?;
        Ok(message)
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Offer(offer) => {
                out.push(1);
                offer.emit(out);
            }
            Self::Request(request) => {
                out.push(2);
                request.emit(out);
            }
        }
    }
}

impl Offer {
    fn parse(body: &mut Reader<'_>) -> Result<Self, WireError> {
        let manifest = Manifest::parse(body)?;
        let parameters = Parameters::parse(body, manifest.size)?;
        let group = match body.u8()? {
            0 => None,
            4 => Some(SocketAddr::new(IpAddr::from(body.array::<4>()?), body.u16()?)),
            6 => Some(SocketAddr::new(IpAddr::from(body.array::<16>()?), body.u16()?)),
            _ => return Err(WireError::Field("group")),
        };
        let receivers = body.u16()?;
        if receivers == 0 {
            return Err(WireError::Field("receivers"));
        }
        Ok(Self { manifest, parameters, group, receivers })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        self.manifest.emit(out);
        self.parameters.emit(out);
        match self.group.map(|group| group.ip()) {
            None => out.push(0),
            Some(IpAddr::V4(ip)) => {
                out.push(4);
                out.extend_from_slice(&ip.octets());
            }
            Some(IpAddr::V6(ip)) => {
                out.push(6);
                out.extend_from_slice(&ip.octets());
            }
        }
        if let Some(group) = self.group {
            out.extend_from_slice(&group.port().to_be_bytes());
        }
        out.extend_from_slice(&self.receivers.to_be_bytes());
    }
}

impl Request {
    fn parse(body: &mut Reader<'_>) -> Result<Self, WireError> {
        let object = match body.u8()? {
            1 => Object::Name(ObjectName::new(body.string()?).map_err(|_| WireError::Field("name"))?),
            2 => Object::Hash(body.array()?),
            _ => return Err(WireError::Field("object")),
        };
        let (lane, lanes, window, largest_packet) = (body.u16()?, body.u16()?, body.u16()?, body.u16()?);
        if lane >= lanes || lanes > 256 {
            return Err(WireError::Field("lane"));
        }
        if window == 0 {
            return Err(WireError::Field("window"));
        }
        check_largest_packet(largest_packet)?;
        let cookie = match body.u8()? {
            0 => None,
            length => Some(Cookie::new(body.bytes(usize::from(length))?).ok_or(WireError::Field("cookie"))?),
        };
        Ok(Self { object, lane, lanes, window, largest_packet, cookie })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        match &self.object {
            Object::Name(name) => {
                out.push(1);
                put_string(out, name.as_str());
            }
            Object::Hash(hash) => {
                out.push(2);
                out.extend_from_slice(hash);
            }
        }
        for field in [self.lane, self.lanes, self.window, self.largest_packet] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        let cookie = self.cookie.as_ref().map_or(&[][..], Cookie::as_bytes);
        out.push(cookie.len() as u8);
        out.extend_from_slice(cookie);
    }
}

/// The path has carried an opening packet, so it carries at least that size.
pub(super) fn check_largest_packet(bytes: u16) -> Result<(), WireError> {
    if usize::from(bytes) < MIN_OPEN_BYTES { Err(WireError::Field("largest packet")) } else { Ok(()) }
}
