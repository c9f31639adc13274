//! Interfaces, multicast, IPv6.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use anabranch_net::{Arrivals, Marking, Socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Finding;

/// Where Linux describes its interfaces.
const INTERFACES: &str = "/sys/class/net";
/// Flags of an interface (`linux/if.h`): it is up, it is the loopback, it carries multicast.
const UP: u32 = 0x1;
const LOOPBACK: u32 = 0x8;
const MULTICAST: u32 = 0x1000;
/// A group for use within an organisation (RFC 2365 §6.2).
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 72, 17);

/// An interface that is up and is not the loopback.
struct Interface {
    name: String,
    mtu: u32,
    multicast: bool,
}

pub(super) fn findings() -> Vec<Finding> {
    let interfaces = interfaces(Path::new(INTERFACES));
    let mut found = match &interfaces {
        Ok(interfaces) => described(interfaces),
        Err(error) => vec![Finding::ok("interfaces", format!("not known: {INTERFACES}: {error}"))],
    };
    found.push(loopback());
    found.push(match Socket::bind((Ipv6Addr::LOCALHOST, 0).into()) {
        Ok(_) => Finding::ok("IPv6", "there"),
        Err(error) => Finding::ok("IPv6", format!("not there ({error}): IPv4 does as well")),
    });
    found
}

fn interfaces(root: &Path) -> io::Result<Vec<Interface>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root)?.filter_map(Result::ok) {
        let read = |file: &str| std::fs::read_to_string(entry.path().join(file)).unwrap_or_default().trim().to_owned();
        let flags = u32::from_str_radix(read("flags").trim_start_matches("0x"), 16).unwrap_or(0);
        if flags & UP == 0 || flags & LOOPBACK != 0 {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        found.push(Interface { name, mtu: read("mtu").parse().unwrap_or(0), multicast: flags & MULTICAST != 0 });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn described(interfaces: &[Interface]) -> Vec<Finding> {
    if interfaces.is_empty() {
        let hint = "only programs on this host can be reached";
        return vec![Finding::warning("interfaces", "none is up but the loopback", hint)];
    }
    let sizes = interfaces.iter().map(|i| format!("{} {}", i.name, i.mtu)).collect::<Vec<_>>().join(", ");
    let smallest = interfaces.iter().map(|i| i.mtu).min().unwrap_or(0);
    let found = format!("{sizes} bytes");
    let mut findings = vec![if smallest < 1500 {
        Finding::warning(
            "MTU",
            found,
            format!("--mtu {} for paths over the smallest: larger packets are lost", smallest.max(1280)),
        )
    } else if smallest >= 9000 {
        Finding::ok("MTU", found + "; with --mtu 9000 fewer packets do, if the whole path carries them")
    } else {
        Finding::ok("MTU", found)
    }];
    let carrying: Vec<&str> = interfaces.iter().filter(|i| i.multicast).map(|i| i.name.as_str()).collect();
    findings.push(if carrying.is_empty() {
        let hint = "sudo ip link set dev NAME multicast on, or send without --group";
        Finding::warning("multicast interfaces", "none", hint)
    } else {
        Finding::ok("multicast interfaces", carrying.join(", "))
    });
    findings
}

/// Joins a group on the loopback, and sends a datagram to it.
fn loopback() -> Finding {
    match echo() {
        Ok(true) => Finding::ok(
            "multicast",
            format!("a datagram to {GROUP} came back over the loopback; the network may differ"),
        ),
        Ok(false) => Finding::warning(
            "multicast",
            format!("a datagram to {GROUP} did not come back over the loopback"),
            "a firewall of this host may drop it: allow UDP to 239.0.0.0/8",
        ),
        Err(error) => Finding::warning("multicast", format!("no group can be joined: {error}"), "send without --group"),
    }
}

fn echo() -> io::Result<bool> {
    let receiver = Socket::join(SocketAddr::from((GROUP, 0)), IpAddr::V4(Ipv4Addr::LOCALHOST))?;
    let sender = Socket::bind((Ipv4Addr::UNSPECIFIED, 0).into())?;
    sender.set_multicast_interface(Ipv4Addr::LOCALHOST)?;
    let mut word = [0; 16];
    getrandom::fill(&mut word).map_err(io::Error::from)?;
    sender.send(receiver.local_address()?, Marking::default(), word.len(), &word)?;
    let (mut arrivals, mut came) = (Arrivals::default(), false);
    // Others may use the group: a few foreign datagrams are skipped.
    for _ in 0..8 {
        let limit = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        if poll(&mut [PollFd::new(&receiver, PollFlags::IN)], Some(&limit))? == 0 {
            break;
        }
        receiver.receive(&mut arrivals)?;
        arrivals.take(|_, _, bytes| came |= *bytes == word);
        if came {
            break;
        }
    }
    Ok(came)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_read_from_their_files() {
        let root = tempfile::tempdir().expect("a directory");
        for (name, flags, mtu) in
            [("lo", "0x9", "65536"), ("eth1", "0x1003", "1400"), ("eth0", "0x3", "9000"), ("down", "0x1002", "1")]
        {
            let folder = root.path().join(name);
            std::fs::create_dir(&folder).expect("made");
            std::fs::write(folder.join("flags"), format!("{flags}\n")).expect("written");
            std::fs::write(folder.join("mtu"), format!("{mtu}\n")).expect("written");
        }
        let found = interfaces(root.path()).expect("read");
        let seen: Vec<_> = found.iter().map(|i| (i.name.as_str(), i.mtu, i.multicast)).collect();
        assert_eq!(seen, [("eth0", 9000, false), ("eth1", 1400, true)]);
        let findings = described(&found);
        assert!(findings[0].hint.as_ref().is_some_and(|hint| hint.contains("--mtu 1400")));
        assert_eq!((findings[1].found.as_str(), &findings[1].hint), ("eth1", &None));
        assert!(described(&found[..1])[1].hint.is_some(), "no interface carries multicast");
        assert!(described(&[])[0].hint.is_some());
    }
}
