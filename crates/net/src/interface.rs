//! Interfaces of this host, by name or by any of their addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use thiserror::Error;

/// An interface: where multicast leaves, or arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number, which names it with IPv6.
    pub index: u32,
    /// Its address, which names it with IPv4: the one that was given, or its first. `None` if it has none.
    pub ipv4: Option<Ipv4Addr>,
}

/// Why there is no such interface.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InterfaceError {
    /// This host has none.
    #[error("no interface of this host has that name or address")]
    None {
        /// Those that it has, with their addresses.
        found: Vec<String>,
    },
    /// The system does not tell.
    #[error("the interfaces of this host are not known: {0}")]
    System(#[from] std::io::Error),
}

impl Interface {
    /// The interface of this name, or with this address.
    ///
    /// # Errors
    ///
    /// [`InterfaceError`].
    pub fn find(text: &str) -> Result<Self, InterfaceError> {
        let mut interfaces: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
        for entry in getifaddrs().map_err(std::io::Error::from)? {
            let addresses = interfaces.entry(entry.interface_name).or_default();
            let Some(address) = entry.address else { continue };
            let ipv4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
            addresses.extend(ipv4.or(address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()))));
        }
        // A link-local address may name its interface: fe80::1%eth0.
        let (address, scope) = text.split_once('%').map_or((text, None), |(address, scope)| (address, Some(scope)));
        let address: Option<IpAddr> = address.parse().ok().filter(|address: &IpAddr| !address.is_unspecified());
        let is_it = |(name, addresses): &(&String, &Vec<IpAddr>)| match address {
            Some(address) => addresses.contains(&address) && scope.is_none_or(|scope| scope == *name),
            None => *name == text,
        };
        let Some((name, addresses)) = interfaces.iter().find(is_it) else {
            let of = |(name, addresses): (&String, &Vec<IpAddr>)| {
                let addresses: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
                if addresses.is_empty() { name.clone() } else { format!("{name} ({})", addresses.join(", ")) }
            };
            return Err(InterfaceError::None { found: interfaces.iter().map(of).collect() });
        };
        let ipv4 = |address: &IpAddr| if let IpAddr::V4(address) = address { Some(*address) } else { None };
        Ok(Self {
            index: if_nametoindex(name.as_str()).map_err(std::io::Error::from)?,
            name: name.clone(),
            ipv4: address.as_ref().and_then(ipv4).or_else(|| addresses.iter().find_map(ipv4)),
        })
    }

    /// What names the interface to a group: for IPv4 its address, for IPv6 nothing but its number.
    pub(crate) fn address_for(&self, group: IpAddr) -> Option<IpAddr> {
        match group {
            IpAddr::V4(_) => self.ipv4.map(IpAddr::V4),
            IpAddr::V6(_) => Some(Ipv6Addr::UNSPECIFIED.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_found_by_its_name_and_by_each_of_its_addresses() {
        let by_address = Interface::find("127.0.0.1").expect("the loopback");
        assert_eq!(Interface::find(&by_address.name).expect("by its name"), by_address);
        assert!(by_address.index > 0 && by_address.ipv4 == Some(Ipv4Addr::LOCALHOST));
        if let Ok(found) = Interface::find("::1") {
            assert_eq!(found, by_address);
        }
        for none in ["192.0.2.77", "2001:db8::77", "fe80::1%none", "none", "", "0.0.0.0", "::", "127.0.0.1%none"] {
            let error = Interface::find(none).expect_err("there is none");
            let InterfaceError::None { found } = error else { panic!("{error}") };
            assert!(found.iter().any(|one| one.contains("127.0.0.1")), "{found:?}");
        }
    }
}
