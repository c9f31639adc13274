//! Socket buffers, offloads, timers, the processor.

use std::net::Ipv4Addr;

use anabranch_net::Socket;
use rustix::event::{Timespec, poll};

use super::Finding;
use crate::figures;
use crate::session::Watch;

/// Number of waits that are measured, and the duration of each.
const WAITS: usize = 200;
const WAIT_NANOSECONDS: i64 = 100_000;
/// Lateness of the 99th percentile above which paced senders send bursts. Pulls are paced by windows of some hundred microseconds.
const LATE_MICROSECONDS: u128 = 1000;

pub(super) fn findings() -> Vec<Finding> {
    let mut found = Vec::new();
    match Socket::bind((Ipv4Addr::LOCALHOST, 0).into()) {
        Ok(socket) => {
            found.push(buffer("receive buffer", socket.receive_buffer(), "net.core.rmem_max"));
            found.push(buffer("send buffer", socket.send_buffer(), "net.core.wmem_max"));
            found.push(offload("UDP segmentation", socket.segments(), "datagrams leave"));
            found.push(offload("UDP receive offload", socket.received_segments(), "datagrams arrive"));
        }
        Err(error) => found.push(Finding::warning(
            "UDP socket",
            format!("cannot be had: {error}"),
            "sandboxes and containers may forbid it",
        )),
    }
    found.push(lateness());
    found.push(aes());
    found
}

fn buffer(check: &'static str, granted: std::io::Result<usize>, setting: &str) -> Finding {
    let wanted = Socket::BUFFER;
    let granted = match granted {
        Ok(granted) => granted,
        Err(error) => return Finding::ok(check, format!("not known: {error}")),
    };
    // Linux includes its own bookkeeping, and so reports twice the requested size (socket(7), SO_RCVBUF).
    let granted = if cfg!(target_os = "linux") { granted / 2 } else { granted };
    let found = format!("{} of {}", figures::size(granted as u64), figures::size(wanted as u64));
    if granted >= wanted {
        return Finding::ok(check, found);
    }
    let hint = if cfg!(target_os = "linux") {
        format!("sudo sysctl -w {setting}={wanted}, and in /etc/sysctl.d/ to keep it: bursts are lost otherwise")
    } else {
        "allow larger socket buffers: bursts are lost otherwise".to_owned()
    };
    Finding::warning(check, found, hint)
}

fn offload(check: &'static str, segments: usize, what: &str) -> Finding {
    if segments > 1 {
        Finding::ok(check, format!("up to {segments} {what} at once"))
    } else {
        Finding::warning(
            check,
            format!("none: {what} one by one"),
            "Linux 5.0 and later has it; the rate is lower without",
        )
    }
}

fn lateness() -> Finding {
    let wait = Timespec { tv_sec: 0, tv_nsec: WAIT_NANOSECONDS };
    let mut late: Vec<u128> = (0..WAITS)
        .map(|_| {
            let watch = Watch::start();
            // Polls no descriptors: a mere wait.
            let _ = poll(&mut [], Some(&wait));
            watch.elapsed().as_nanos().saturating_sub(WAIT_NANOSECONDS as u128) / 1000
        })
        .collect();
    late.sort_unstable();
    let (median, p99) = (late[WAITS / 2], late[WAITS * 99 / 100]);
    let found = format!("waits of 100 us are {median} us late in the median, {p99} us in the 99th percentile");
    if p99 <= LATE_MICROSECONDS {
        Finding::ok("timers", found)
    } else {
        Finding::warning(
            "timers",
            found,
            "other programs keep the processors busy, or a virtual machine waits for its turn",
        )
    }
}

fn aes() -> Finding {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    let has = Some(std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq"));
    #[cfg(target_arch = "aarch64")]
    let has = Some(std::arch::is_aarch64_feature_detected!("aes"));
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    let has = None;
    match has {
        Some(true) => Finding::ok("AES", "instructions of the processor"),
        Some(false) => Finding::warning("AES", "in software", "encryption limits the rate on this processor"),
        None => Finding::ok("AES", "not known for this processor"),
    }
}
