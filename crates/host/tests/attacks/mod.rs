//! Attacks: by somebody who sees and sends anything and has no key, by an end that has the key and keeps to no rule, by one that is not who
//! signs, by one that sends wrong bytes, and by the application of a host itself.
//!
//! Whatever they do, no wrong byte is taken for right, nothing panics or lasts for ever, memory and answers stay bounded, and sessions of
//! others beside them complete. `docs/concepts/security.md` names these tests.

mod applications;
mod holding_back;
mod members;
mod signers;
mod strangers;
mod wrong_bytes;

use std::net::SocketAddr;

use anabranch_host::{Host, Received};
use anabranch_transport::{Duration, Time};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Somebody who is no host of the network.
fn stranger(n: u32) -> SocketAddr {
    SocketAddr::from((std::net::Ipv4Addr::from(0xc000_0200 + n), 9000))
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn received(from: SocketAddr) -> Received {
    Received { from, ce: false, by_group: false }
}

/// Takes all that a host has to send; how many bytes.
fn sent(host: &mut Host, now: Time, keep: &mut Vec<Vec<u8>>) -> usize {
    let (mut out, mut to, mut bytes) = (Vec::new(), Vec::new(), 0);
    while host.poll_transmit(now, &mut out, &mut to).is_some() {
        bytes += out.len() * to.len();
        keep.push(std::mem::take(&mut out));
    }
    bytes
}

#[test]
fn the_page_on_security_names_tests_that_there_are() {
    let page = include_str!("../../../../docs/concepts/security.md");
    let tests = [
        include_str!("strangers.rs"),
        include_str!("members.rs"),
        include_str!("holding_back.rs"),
        include_str!("signers.rs"),
        include_str!("applications.rs"),
        include_str!("wrong_bytes.rs"),
        include_str!("../deferring.rs"),
        include_str!("../path_size.rs"),
        include_str!("../../../net/tests/loopback.rs"),
        include_str!("../../../net/tests/waiting.rs"),
        include_str!("../../../net/src/files/output.rs"),
        include_str!("../../../scdp-cli/tests/processes/modes.rs"),
        include_str!("../../../scdp-cli/tests/processes/names.rs"),
    ]
    .concat();
    let is_name = |text: &&str| text.len() > 20 && text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let names: Vec<&str> = page.split('`').skip(1).step_by(2).filter(is_name).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(tests.contains(&format!("fn {name}()")), "{name}");
    }
}
