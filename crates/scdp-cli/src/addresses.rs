//! Hosts and groups as users write them, and the addresses that they resolve to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use anabranch_net::{Interface, InterfaceError};

use crate::failure::CliError;

/// The UDP port of receivers and servers.
pub(crate) const PORT: u16 = 7217;
/// The UDP port of multicast groups.
pub(crate) const GROUP_PORT: u16 = 7218;

/// `HOST[:PORT]`: a name, an IPv4 address, or an IPv6 address, in brackets if a port follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPort {
    pub(crate) name: String,
    pub(crate) port: Option<u16>,
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || "expected HOST or HOST:PORT, such as b.example, 10.0.0.2:7217 or [2001:db8::2]:7217".to_owned();
        let number = |port: &str| port.parse().map_err(|_| format!("{port:?} is not a port: expected 0 to 65535"));
        let (name, port) = if let Some(rest) = text.strip_prefix('[') {
            let (name, rest) = rest.split_once(']').ok_or_else(bad)?;
            name.parse::<Ipv6Addr>().map_err(|_| bad())?;
            match rest.strip_prefix(':') {
                Some(port) => (name, Some(number(port)?)),
                None if rest.is_empty() => (name, None),
                None => return Err(bad()),
            }
        } else if text.parse::<Ipv6Addr>().is_ok() {
            (text, None)
        } else {
            match text.split_once(':') {
                Some((name, port)) => (name, Some(number(port)?)),
                None => (text, None),
            }
        };
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '/' || c == '@') {
            return Err(bad());
        }
        Ok(Self { name: name.to_owned(), port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) if self.name.contains(':') => write!(f, "[{}]:{port}", self.name),
            Some(port) => write!(f, "{}:{port}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// `ADDRESS[:PORT]` of a multicast group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group(pub(crate) SocketAddr);

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let host: HostPort = text.parse()?;
        let address = host.name.parse().ok().filter(IpAddr::is_multicast);
        let address =
            address.ok_or("expected a multicast address, such as 239.1.2.3 (239.0.0.0/8 is for use within a site)")?;
        Ok(Self(SocketAddr::new(address, host.port.unwrap_or(GROUP_PORT))))
    }
}

/// The interface that `--interface` names, if it is given.
pub(crate) fn interface(named: Option<&str>) -> Result<Option<Interface>, CliError> {
    let Some(text) = named else { return Ok(None) };
    let found = Interface::find(text).map_err(|error| {
        let failed = CliError::usage(format!("--interface {text}: {error}"));
        match error {
            InterfaceError::None { found } => failed.hint(format!("it has {}", found.join(", "))),
            _ => failed,
        }
    });
    found.map(Some)
}

/// A host and the address that is used for it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// As it was written.
    pub(crate) host: String,
    pub(crate) address: SocketAddr,
}

/// Resolves all hosts to addresses of one family, so that one socket reaches them all: IPv4 if all have IPv4 addresses and `bind` does not require
/// otherwise.
pub(crate) fn resolve(hosts: &[HostPort], bind: Option<SocketAddr>) -> Result<Vec<Peer>, CliError> {
    let mut found = Vec::new();
    for host in hosts {
        let port = host.port.unwrap_or(PORT);
        let addresses: Vec<SocketAddr> = (host.name.as_str(), port)
            .to_socket_addrs()
            .map_err(|error| CliError::usage(format!("{host}: {error}")).hint("give its address instead of its name"))?
            .collect();
        found.push((host, addresses));
    }
    let families = match bind {
        Some(address) => vec![address.is_ipv4()],
        None => vec![true, false],
    };
    let pick = |ipv4: bool| -> Option<Vec<Peer>> {
        found
            .iter()
            .map(|(host, addresses)| {
                let address = *addresses.iter().find(|address| address.is_ipv4() == ipv4)?;
                Some(Peer { host: host.to_string(), address })
            })
            .collect()
    };
    let peers = families.into_iter().find_map(pick).ok_or_else(|| {
        CliError::usage("the hosts have no family of addresses in common: IPv4 for all, or IPv6 for all")
            .hint("give the addresses themselves, and --bind with one of that family if you give --bind")
    })?;
    for (i, peer) in peers.iter().enumerate() {
        if let Some(other) = peers[..i].iter().find(|other| other.address == peer.address) {
            return Err(CliError::usage(format!("{} and {} are both {}", other.host, peer.host, peer.address))
                .hint("name each host once"));
        }
    }
    Ok(peers)
}

/// The unspecified address of the peers' family, with any port.
pub(crate) fn any(peers: &[Peer]) -> SocketAddr {
    match peers.first() {
        Some(peer) if peer.address.is_ipv6() => (Ipv6Addr::UNSPECIFIED, 0).into(),
        _ => (Ipv4Addr::UNSPECIFIED, 0).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses_with_or_without_a_port() {
        for (text, name, port) in [
            ("b", "b", None),
            ("b.example:80", "b.example", Some(80)),
            ("10.0.0.2", "10.0.0.2", None),
            ("10.0.0.2:1", "10.0.0.2", Some(1)),
            ("::1", "::1", None),
            ("[::1]", "::1", None),
            ("[2001:db8::2]:7217", "2001:db8::2", Some(7217)),
        ] {
            assert_eq!(text.parse(), Ok(HostPort { name: name.to_owned(), port }), "{text}");
        }
        for bad in ["", ":7217", "b:", "b:x", "b:65536", "[b]:1", "[::1", "[::1]x", "user@b", "a/b", "a b"] {
            assert!(bad.parse::<HostPort>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn groups_are_multicast_addresses() {
        assert_eq!("239.1.2.3".parse(), Ok(Group("239.1.2.3:7218".parse().expect("an address"))));
        assert_eq!("[ff15::1]:9".parse(), Ok(Group("[ff15::1]:9".parse().expect("an address"))));
        assert!("10.0.0.1".parse::<Group>().is_err() && "b".parse::<Group>().is_err());
    }

    #[test]
    fn one_socket_reaches_all_hosts_and_each_once() {
        let hosts = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("a host")).collect::<Vec<HostPort>>();
        let both = resolve(&hosts(&["127.0.0.1", "127.0.0.2:9"]), None).expect("addresses");
        assert_eq!(
            both.iter().map(|peer| peer.address.to_string()).collect::<Vec<_>>(),
            ["127.0.0.1:7217", "127.0.0.2:9"]
        );
        assert!(any(&both).is_ipv4() && any(&resolve(&hosts(&["::1"]), None).expect("one")).is_ipv6());
        for bad in [&["127.0.0.1", "::1"][..], &["127.0.0.1", "127.0.0.1:7217"]] {
            assert!(resolve(&hosts(bad), None).is_err(), "{bad:?}");
        }
        assert!(resolve(&hosts(&["127.0.0.1"]), Some("[::]:0".parse().expect("an address"))).is_err());
    }
}
