//! Code shared by the commands that run sessions.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anabranch_net::{Endpoint, HostConfig, Manifest, Narrow, ObjectName, Protection, PublicKey};
use anabranch_transport::Rate;
use clap::Args;

use crate::arguments::{LEAST_MTU, Session};
use crate::events::Event;

/// The host layer's settings. `address` determines the size of the IP header.
pub(crate) fn config<S: Args, B: Args>(
    protection: Protection,
    options: &Session<S, B>,
    rate: Option<Rate>,
    address: SocketAddr,
) -> HostConfig {
    // RFC 791 §3.1, RFC 8200 §3: headers without options. RFC 768: 8 bytes.
    let headers = if address.is_ipv4() { 20 } else { 40 } + 8;
    let packets = &options.packets;
    let dscp = packets.dscp.unwrap_or_default();
    HostConfig {
        give_up_after: options.timeout.timeout,
        largest_packet: packets.mtu - headers,
        dscp,
        control_dscp: packets.control_dscp.unwrap_or(dscp),
        rate,
        ..HostConfig::new(protection)
    }
}

/// Hint for a path that drops large packets. `command` sets their size, perhaps on another host.
pub(crate) fn smaller_packets(narrow: &Narrow, command: &str) -> String {
    match narrow.carried {
        Some(carried) if carried >= LEAST_MTU => {
            format!("`{command} --mtu {carried}` has packets that arrive from the beginning")
        }
        _ => format!(
            "paths must carry packets of {LEAST_MTU} B, and this one is smaller: look for a tunnel on the way, and for its MTU"
        ),
    }
}

/// Packets do not arrive, and the transfer begins again with smaller ones.
pub(crate) fn again_smaller(narrow: &Narrow, command: &str) -> Event {
    let message = format!("{narrow}: the transfer begins again with smaller ones");
    Event::Warning { message, hint: Some(smaller_packets(narrow, command)) }
}

/// The hash of an object as text.
pub(crate) fn hash(manifest: &Manifest) -> String {
    blake3::Hash::from_bytes(manifest.hash).to_hex().to_string()
}

pub(crate) fn received(manifest: &Manifest, seconds: f64) -> Event {
    Event::Received { name: manifest.name.to_string(), hash: hash(manifest), size_bytes: manifest.size, seconds }
}

/// Hint about a partial file that is kept.
pub(crate) const RESUMED: &str = "the next transfer of the same file goes on with what is kept";

/// A file that was on its way when this program was stopped.
pub(crate) fn interrupted(name: &ObjectName, kept_bytes: u64) -> Event {
    Event::NotReceived { name: name.to_string(), reason: "stopped here".to_owned(), kept_bytes }
}

pub(crate) fn already_there(manifest: &Manifest) -> Event {
    Event::AlreadyThere { name: manifest.name.to_string(), hash: hash(manifest), size_bytes: manifest.size }
}

pub(crate) fn began(manifest: &Manifest, peer: SocketAddr, resumed_bytes: u64, signer: Option<PublicKey>) -> Event {
    let (name, hash, size_bytes) = (manifest.name.to_string(), hash(manifest), manifest.size);
    let signer = signer.map(|key| key.emit());
    Event::Began { name, hash, size_bytes, peer: peer.to_string(), resumed_bytes, signer }
}

/// Hint for peers that do not answer. The system's last error for sending often explains it.
pub(crate) fn silence(endpoint: &Endpoint, command: &str) -> String {
    match endpoint.send_error() {
        Some(error) => format!("the system says: {error}"),
        None => {
            format!("is `scdp {command}` running there with the same key, and does its UDP port pass the firewalls?")
        }
    }
}

/// A stopwatch for display.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch(Instant);

impl Watch {
    #[allow(clippy::disallowed_methods, reason = "a program, which people look at")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// When each object in progress began.
#[derive(Debug, Default)]
pub(crate) struct Watches(HashMap<String, Watch>);

impl Watches {
    pub(crate) fn start(&mut self, manifest: &Manifest) {
        self.0.insert(manifest.name.to_string(), Watch::start());
    }

    /// An object is not in progress any more. Returns whether it was.
    pub(crate) fn forget(&mut self, name: &str) -> bool {
        self.0.remove(name).is_some()
    }

    /// Seconds since the object began.
    pub(crate) fn stop(&mut self, manifest: &Manifest) -> f64 {
        self.0.remove(manifest.name.as_str()).map_or(0.0, |watch| watch.elapsed().as_secs_f64())
    }
}
