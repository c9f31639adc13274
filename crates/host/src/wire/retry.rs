//! Retry: a responder that does not know whether a request's address is genuine asks for it again, with a cookie, and
//! keeps no state (as RFC 9147 §5.1 and RFC 9000 §8.1.2 do).
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | [prefix](super::Prefix) |
//! | 8..24 | salt of the request that it answers |
//! | 24.. | cookie, 1 to 64 bytes |
//!
//! It is not authenticated, but only a host that sees the request knows its salt.

use std::net::{IpAddr, SocketAddr};

use super::prefix::{Kind, Prefix, expect};
use super::{Salt, VERSION, WireError, field};

/// Bytes of the header of a retry.
pub const RETRY_HEADER: usize = Kind::Retry.header_bytes();

/// Maximum size of a cookie in bytes.
pub const MAX_COOKIE_BYTES: usize = 64;

/// The bytes that a responder wants returned: 1 to 64, meaningful to it alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie(Vec<u8>);

impl Cookie {
    /// A cookie of these bytes; `None` unless there are 1 to 64.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (1..=MAX_COOKIE_BYTES).contains(&bytes.len()).then(|| Self(bytes.to_vec()))
    }

    /// The cookie for a request from `address` with `salt`, in the given minute of the responder's clock: 16 bytes.
    /// `secret` is random and known to the responder alone.
    pub fn make(secret: &[u8; 32], address: SocketAddr, salt: Salt, minute: u64) -> Self {
        Self(cookie_bytes(secret, address, salt, minute).to_vec())
    }

    /// Whether this responder made the cookie for such a request in this minute or the one before.
    pub fn check(&self, secret: &[u8; 32], address: SocketAddr, salt: Salt, minute: u64) -> bool {
        let Ok(bytes) = <[u8; 16]>::try_from(self.as_bytes()) else { return false };
        // A single integer comparison takes the same time wherever the bytes differ.
        let matches =
            |minute| u128::from_be_bytes(bytes) == u128::from_be_bytes(cookie_bytes(secret, address, salt, minute));
        matches(minute) | minute.checked_sub(1).is_some_and(matches)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn cookie_bytes(secret: &[u8; 32], address: SocketAddr, salt: Salt, minute: u64) -> [u8; 16] {
    // A dual-stack socket shows IPv4 addresses in mapped form.
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut input = [0; 16 + 2 + 16 + 8];
    input[..16].copy_from_slice(&ip.octets());
    input[16..18].copy_from_slice(&address.port().to_be_bytes());
    input[18..34].copy_from_slice(&salt.0);
    input[34..].copy_from_slice(&minute.to_be_bytes());
    field(blake3::keyed_hash(secret, &input).as_bytes(), 0)
}

/// A retry whose lengths have been checked.
#[derive(Clone, Copy, Debug)]
pub struct RetryPacket<'a> {
    prefix: Prefix,
    bytes: &'a [u8],
}

impl<'a> RetryPacket<'a> {
    /// The retry in `bytes`.
    ///
    /// # Errors
    /// As of [`Prefix::parse`]; [`WireError::Kind`] for other kinds; [`WireError::Field`] unless the cookie has 1 to 64
    /// bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        let prefix = expect(bytes, &[Kind::Retry])?;
        if !(1..=MAX_COOKIE_BYTES).contains(&usize::from(prefix.length)) {
            return Err(WireError::Field("cookie"));
        }
        Ok(Self { prefix, bytes })
    }

    /// The prefix of every datagram.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }
}

/// The content of a retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryRepr {
    /// The session that the request is to open.
    pub session: u32,
    /// The request's salt. A retry with another salt is not for that request.
    pub salt: Salt,
    /// The cookie that the repeated request must carry.
    pub cookie: Cookie,
}

impl RetryRepr {
    /// The content of `packet`.
    pub fn parse(packet: &RetryPacket<'_>) -> Self {
        let cookie = Cookie(packet.bytes[RETRY_HEADER..].to_vec());
        Self { session: packet.prefix.session, salt: Salt(field(packet.bytes, 8)), cookie }
    }

    /// Appends the datagram to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let length = self.cookie.0.len() as u16;
        out.extend_from_slice(
            &Prefix { version: VERSION, kind: Kind::Retry, flags: 0, length, session: self.session }.emit(),
        );
        out.extend_from_slice(&self.salt.0);
        out.extend_from_slice(&self.cookie.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_for_one_address_and_salt_and_two_minutes() {
        let (secret, salt) = ([1; 32], Salt([2; 16]));
        let address: SocketAddr = "192.0.2.1:4000".parse().expect("an address");
        let cookie = Cookie::make(&secret, address, salt, 100);
        let check =
            |address: &str, salt, minute| cookie.check(&secret, address.parse().expect("an address"), salt, minute);
        assert!(check("192.0.2.1:4000", salt, 100) && check("192.0.2.1:4000", salt, 101));
        assert!(check("[::ffff:192.0.2.1]:4000", salt, 100));
        for minute in [0, 98, 99, 102] {
            assert!(!check("192.0.2.1:4000", salt, minute));
        }
        assert!(!check("192.0.2.2:4000", salt, 100) && !check("192.0.2.1:4001", salt, 100));
        assert!(!check("192.0.2.1:4000", Salt([3; 16]), 100));
        assert!(!cookie.check(&[9; 32], address, salt, 100));
        let shorter = Cookie::new(&cookie.as_bytes()[..15]).expect("15 bytes");
        assert!(!shorter.check(&secret, address, salt, 100));
        assert!(Cookie::make(&secret, address, salt, 0).check(&secret, address, salt, 0));
        assert!(Cookie::new(&[]).is_none() && Cookie::new(&[0; 65]).is_none());
    }
}
