//! Address prefixes.

use crate::error::IngestError;
use std::net::IpAddr;

/// `10.0.0.0/8`, `2001:db8::/32`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    version: u8,
    /// The address in the high bits.
    bits: u128,
    mask: u128,
}

fn bits(address: IpAddr) -> (u8, u128) {
    match address {
        IpAddr::V4(address) => (4, u128::from(address.to_bits()) << 96),
        IpAddr::V6(address) => (6, address.to_bits()),
    }
}

impl Prefix {
    /// Reads a prefix; bits behind its length must be 0, since the length may be the slip.
    pub(crate) fn parse(text: &str) -> Result<Self, IngestError> {
        let wrong = |what: &str| {
            IngestError::request(
                format!("prefix {text:?}: {what}"),
                "for example 10.0.0.0/8, 192.0.2.1 or 2001:db8::/32",
            )
        };
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong("the address cannot be read"))?;
        let most: u32 = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(length) => length
                .parse()
                .ok()
                .filter(|length| *length <= most)
                .ok_or_else(|| wrong(&format!("expected a length of 0 to {most}")))?,
        };
        let (version, bits) = bits(address);
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        if bits & !mask != 0 {
            return Err(wrong("the address has bits behind the prefix"));
        }
        Ok(Self { version, bits, mask })
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let (version, bits) = bits(address);
        version == self.version && bits & self.mask == self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_contain_what_they_should() {
        let inside = |prefix: &str, address: &str| {
            Prefix::parse(prefix).expect("good").contains(address.parse().expect("an address"))
        };
        assert!(inside("10.0.0.0/8", "10.255.0.1"));
        assert!(!inside("10.0.0.0/8", "11.0.0.1"));
        assert!(inside("0.0.0.0/0", "11.0.0.1"));
        assert!(!inside("0.0.0.0/0", "::1"));
        assert!(inside("::/0", "::1"));
        assert!(inside("192.0.2.1", "192.0.2.1"));
        assert!(inside("2001:db8::/33", "2001:db8:7fff::1"));
        assert!(!inside("2001:db8::/33", "2001:db8:8000::1"));
        for bad in ["10.0.0.0/33", "10.0.0.1/8", "10.0.0", "::/129", "", "/8", "10.0.0.0/-1", "10.0.0.0/"] {
            assert!(Prefix::parse(bad).is_err(), "{bad}");
        }
    }
}
