//! The program's output while it works: JSON objects, one per line, or lines for people.
//!
//! The descriptions of the fields appear in docs/reference/scdp.md.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::figures;
use crate::text::{printable, printable_lines};

/// An event. `--json` prints one per line, each with its `time` besides: UTC, as in `2026-11-25T22:42:38.017Z` (RFC 3339). Durations are seconds, sizes
/// bytes, hashes 64 hexadecimal digits of BLAKE3. Characters of names and reasons that could change how a line is shown are written as `\u202e`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// `receive` and `serve`: ready for other hosts.
    Listening {
        /// Address and port.
        address: String,
        /// The multicast group, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// The folder to receive into, or to serve.
        directory: String,
        /// False with `--insecure`.
        protected: bool,
    },
    /// `switch`: frames are forwarded from now on.
    #[serde(rename = "listening")]
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no switch elsewhere"))]
    Forwarding {
        /// The interfaces that are its ports.
        ports: Vec<String>,
    },
    /// `switch`: a port's counters, at the end.
    Counters {
        /// Its interface.
        port: String,
        /// Counters of `port`, `data_queue`, `header_queue` and `link`, under their names in the Switch Abstraction Interface.
        #[cfg_attr(test, schemars(with = "serde_json::Value"))]
        counters: Box<anabranch_switch::Counters>,
    },
    /// `serve`: a file has been hashed. Files are hashed when the server starts, also while it serves, when they are requested, and again when they
    /// have changed.
    Indexed {
        /// Its name.
        name: String,
        /// Its hash.
        hash: String,
        /// Its size.
        size_bytes: u64,
    },
    /// `send`: a file is offered to the receivers.
    Sending {
        /// Its name.
        name: String,
        /// Its hash.
        hash: String,
        /// Its size.
        size_bytes: u64,
        /// Number of receivers.
        receivers: usize,
    },
    /// `receive` and `fetch`: a transfer has begun.
    Began {
        /// Its name.
        name: String,
        /// Its hash.
        hash: String,
        /// Its size.
        size_bytes: u64,
        /// The sender; with `fetch`, the first server that answered.
        peer: String,
        /// Bytes that are here already, from an earlier transfer.
        #[serde(skip_serializing_if = "is_none")]
        resumed_bytes: u64,
        /// The key that signed it, if it is signed and the signature is valid; with `fetch`, as that server says. `--signed-by` decides whether
        /// the key is trusted.
        #[serde(skip_serializing_if = "Option::is_none")]
        signer: Option<String>,
    },
    /// `receive`: an offered file was refused because of `--signed-by`, `--max-size` or `--mtu`, because its name begins with a dot, or because another
    /// file is being received under its name; or nothing has shown in time that its sender is there. It does not count for `--count`.
    Declined {
        /// The sender.
        peer: String,
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// `fetch`: one of several servers refused, its file is not trusted, or it sent bytes that are not of the file. It is ignored from
    /// then on; the others continue.
    Excluded {
        /// The server.
        peer: String,
        /// Why.
        reason: String,
    },
    /// `fetch`: one of several servers did not send in time a block that it alone was asked for: it is slow, or withholds the block. Another
    /// server is asked, and this one is asked last from then on. Nothing that it has sent is known to be wrong.
    Withheld {
        /// The server.
        peer: String,
        /// What it did.
        reason: String,
    },
    /// Ten times a second while files are in transfer.
    Progress {
        /// Bytes received (`receive`, `fetch`: of all files in transfer), or received by the slowest receiver (`send`).
        bytes: u64,
        /// Total size.
        size_bytes: u64,
    },
    /// `send`: as many bytes are in flight as may be, so that the rate is what they make in a round trip, whatever the links carry.
    Full {
        /// The file's name.
        name: String,
        /// Bytes in flight.
        bytes: u64,
    },
    /// `send` to several receivers: what is sent reaches one of them in another way from now on.
    Delivery {
        /// The file's name.
        name: String,
        /// The receiver as it was named in `--to`.
        host: String,
        /// Its address and port.
        address: String,
        /// `copies`: nothing that is sent to the group arrives there, and it is sent copies by unicast; `group`: it gets what is sent to the group
        /// again; `detached`: it held the others back, and is sent the rest by unicast at its own pace; `late`: it came when the others had part of
        /// the file, takes the rest together with them, and is then sent that part by unicast.
        delivery: Way,
        /// With `late`: bytes of that part.
        #[serde(skip_serializing_if = "Option::is_none")]
        missed_bytes: Option<u64>,
    },
    /// `send`: the outcome of one file at one receiver.
    Receiver {
        /// The file's name.
        name: String,
        /// The receiver as it was named in `--to`.
        host: String,
        /// Its address and port.
        address: String,
        /// `verified`: it has the file, and the hash matches; `already_there`: it had the file; `refused`; `failed`; `skipped`: it did not
        /// answer for an earlier file.
        outcome: DeliveryStatus,
        /// Why it does not have the file.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `send`: a file is done.
    Sent {
        /// Its name.
        name: String,
        /// Its hash.
        hash: String,
        /// Its size.
        size_bytes: u64,
        /// Number of receivers.
        receivers: usize,
        /// Number of receivers that have it.
        verified: usize,
        /// Number of those that had it before.
        already_there: usize,
        /// Time from the offer to the last receiver's answer.
        seconds: f64,
        /// Bytes of all datagrams sent for it, without headers of UDP and IP.
        sent_bytes: u64,
        /// Encoding symbols sent for it; one that went to several receivers, each its copy, counts once.
        symbols: u64,
    },
    /// `receive` and `fetch`: a file is complete, its hash verified, and on the disk.
    Received {
        /// Its name.
        name: String,
        /// Its hash.
        hash: String,
        /// Its size.
        size_bytes: u64,
        /// Time since it began.
        seconds: f64,
    },
    /// `receive` and `fetch`: the same file was there already.
    AlreadyThere {
        /// Its name.
        name: String,
        /// Its hash.
        hash: String,
        /// Its size.
        size_bytes: u64,
    },
    /// `receive` and `fetch`: a transfer failed.
    NotReceived {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
        /// Bytes kept for the next transfer to resume from, 16 MiB or more; absent if nothing is kept.
        #[serde(skip_serializing_if = "is_none")]
        kept_bytes: u64,
    },
    /// `serve`: a file is being sent.
    Serving {
        /// The receiver.
        peer: String,
        /// Its name.
        name: String,
        /// Its size.
        size_bytes: u64,
    },
    /// `serve`: sending a file to a receiver has ended.
    Served {
        /// The receiver.
        peer: String,
        /// The file's name.
        name: String,
        /// Whether that host has the whole file now, from here or from others, too.
        complete: bool,
        /// Bytes of all datagrams sent for it, without headers of UDP and IP.
        sent_bytes: u64,
        /// Encoding symbols sent for it from here.
        symbols: u64,
        /// Why the receiver does not have it.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `serve`: a request was declined, or a file in the folder cannot be served.
    NotServed {
        /// The host that asked, if one did.
        #[serde(skip_serializing_if = "Option::is_none")]
        peer: Option<String>,
        /// Why.
        reason: String,
    },
    /// `lab --dry-run`: a planned run.
    Planned {
        /// Its number, from 1.
        run: usize,
        /// The varied keys and their values.
        values: Map<String, Value>,
        /// Its seed.
        seed: u64,
    },
    /// `lab`: a run is done.
    Run {
        /// Its number, from 1.
        run: usize,
        /// The varied keys and their values.
        values: Map<String, Value>,
        /// Its seed.
        seed: u64,
        /// Whether all steps and checks succeeded.
        ok: bool,
        /// Wall-clock time of the measured steps.
        #[serde(skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
        /// Wall-clock time of each step.
        steps: Vec<f64>,
        /// Bytes that each host sent while the steps ran, including Ethernet headers.
        sent_bytes: Map<String, Value>,
        /// The switch's own counters.
        #[serde(skip_serializing_if = "Option::is_none")]
        switch: Option<Value>,
        /// What failed, and the last lines of its output.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// `lab`: all runs with the same values are done.
    Combination {
        /// The varied keys and their values.
        values: Map<String, Value>,
        /// Number of runs.
        runs: usize,
        /// Number of runs that succeeded; the following fields cover only these.
        ok: usize,
        /// Median time.
        #[serde(skip_serializing_if = "Option::is_none")]
        median_seconds: Option<f64>,
        /// Shortest time.
        #[serde(skip_serializing_if = "Option::is_none")]
        least_seconds: Option<f64>,
        /// Longest time.
        #[serde(skip_serializing_if = "Option::is_none")]
        most_seconds: Option<f64>,
        /// Median of the bytes that each host sent.
        sent_bytes: Map<String, Value>,
        /// Median number of packets trimmed at all ports of the switch; absent for the kernel's bridge.
        #[serde(skip_serializing_if = "Option::is_none")]
        trimmed_packets: Option<u64>,
        /// Median number of packets that overflowed a queue of the switch or were lost on a link.
        #[serde(skip_serializing_if = "Option::is_none")]
        dropped_packets: Option<u64>,
    },
    /// `lab --hold` and `--shell`: a host is up.
    Host {
        /// Its name.
        host: String,
        /// Its address.
        address: String,
        /// Prefix that runs a command in it.
        enter: String,
    },
    /// `lab --clean`: something that a lab left behind was removed.
    Removed {
        /// The network namespace, or the folder.
        name: String,
    },
    /// `doctor`: the result of a check; `lab --check`: the file is valid.
    Check {
        /// What was checked.
        check: &'static str,
        /// False: a warning.
        ok: bool,
        /// What was found, with figures.
        found: String,
        /// What to change.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// Something is wrong, but the program continues.
    Warning {
        /// What is wrong, and where.
        message: String,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// A signal has ended the program. Always the last line.
    Stopped {
        /// The signal.
        signal: &'static str,
        /// What was not done: files that were on the way, or were to be sent.
        unfinished: Vec<Unfinished>,
        /// What becomes of that.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// The program failed. Always the last line.
    Error {
        /// What is wrong, and where.
        message: String,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

/// A file that was on its way from or to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Unfinished {
    pub(crate) name: String,
    pub(crate) peer: String,
}

/// How symbols reach a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Copies,
    Group,
    Detached,
    Late,
}

impl Way {
    /// The words for people; a late receiver has missed so many bytes.
    fn told_of(self, host: &str, missed: u64) -> String {
        match self {
            Self::Copies => format!("nothing sent to the group arrives at {host}: it is sent copies by unicast"),
            Self::Group => format!("what is sent to the group arrives at {host} again"),
            Self::Detached => {
                format!("{host} goes on alone, as it is slow or late: it is sent the rest by unicast, at its own pace")
            }
            Self::Late => {
                format!(
                    "{host} comes late: it takes the rest with the others, and {} afterwards",
                    figures::size(missed)
                )
            }
        }
    }
}

/// Outcome at a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeliveryStatus {
    Verified,
    AlreadyThere,
    Refused,
    Failed,
    Skipped,
}

impl Event {
    /// Whether it is a result that the user asked for, rather than progress: results belong on stdout.
    pub(crate) fn is_result(&self) -> bool {
        matches!(
            self,
            Self::Sent { .. }
                | Self::Received { .. }
                | Self::AlreadyThere { .. }
                | Self::Check { .. }
                | Self::Host { .. }
                | Self::Removed { .. }
        )
    }

    /// Whether it is shown to people as a line: the rest is in tables and bars.
    pub(crate) fn is_line(&self) -> bool {
        match self {
            Self::Progress { .. }
            | Self::Sending { .. }
            | Self::Began { .. }
            | Self::Indexed { .. }
            | Self::Planned { .. }
            | Self::Combination { .. }
            | Self::Counters { .. } => false,
            Self::Receiver { outcome, .. } => *outcome != DeliveryStatus::Verified,
            _ => true,
        }
    }
}

impl Event {
    /// The event in lines that a terminal may get, whatever names and reasons others have chosen.
    pub(crate) fn lines(&self) -> String {
        let said = self.to_string();
        let mut lines = match self {
            // The last lines of a command's output, and the line of a file that is wrong.
            Self::Run { .. } | Self::Warning { .. } | Self::Error { .. } => printable_lines(&said),
            _ => printable(&said).into_owned(),
        };
        if let Some(hint) = self.hint() {
            let indent = if let Self::Check { .. } = self { "         " } else { "" };
            lines.extend(["\n", indent, "hint: ", &*printable(hint)]);
        }
        lines
    }

    fn hint(&self) -> Option<&str> {
        match self {
            Self::Check { hint, .. }
            | Self::Warning { hint, .. }
            | Self::Stopped { hint, .. }
            | Self::Error { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening { address, group, directory, protected } => {
                write!(f, "listening on {address}")?;
                if let Some(group) = group {
                    write!(f, " and {group}")?;
                }
                write!(f, ", folder {directory}")?;
                if *protected { Ok(()) } else { f.write_str(", without a key") }
            }
            Self::Forwarding { ports } => write!(f, "forwarding between {}", ports.join(", ")),
            Self::Counters { port, .. } => write!(f, "{port}: see the table"),
            Self::Indexed { name, size_bytes, .. } | Self::Sending { name, size_bytes, .. } => {
                write!(f, "{name}: {}", figures::size(*size_bytes))
            }
            Self::Began { name, size_bytes, resumed_bytes, .. } => {
                write!(f, "{name}: {}", figures::size(*size_bytes))?;
                match resumed_bytes {
                    0 => Ok(()),
                    bytes => write!(f, ", of which {} are here from an earlier time", figures::size(*bytes)),
                }
            }
            Self::Declined { peer, name, reason } => write!(f, "{name}: {peer} offers it in vain: {reason}"),
            Self::Excluded { peer, reason } => write!(f, "{peer} is left out: {reason}"),
            Self::Withheld { peer, reason } => write!(f, "{peer} is asked last: {reason}"),
            Self::Progress { bytes, size_bytes } => {
                write!(f, "{} of {}", figures::size(*bytes), figures::size(*size_bytes))
            }
            Self::Full { name, bytes } => {
                let most = figures::size(*bytes);
                write!(f, "{name}: {most} are in flight, which is the most: the rate is what they make in a round trip")
            }
            Self::Delivery { name, host, delivery, missed_bytes, .. } => {
                write!(f, "{name}: {}", delivery.told_of(host, missed_bytes.unwrap_or(0)))
            }
            Self::Receiver { name, host, outcome, reason, .. } => {
                let reason = reason.as_deref().unwrap_or("has it");
                match outcome {
                    DeliveryStatus::AlreadyThere => write!(f, "{name}: {host} had it already"),
                    DeliveryStatus::Refused => write!(f, "{name}: {host} refuses it: {reason}"),
                    _ => write!(f, "{name}: {host}: {reason}"),
                }
            }
            Self::Sent { name, size_bytes, receivers, verified, already_there, seconds, sent_bytes, .. } => {
                // Where no receiver was sent the file, there is no rate.
                let now = verified - already_there;
                let transfer =
                    if now == 0 { figures::size(*size_bytes) } else { figures::transfer(*size_bytes, *seconds) };
                let sent = figures::size(*sent_bytes);
                write!(f, "{name}: {transfer}; ")?;
                match (now, already_there) {
                    (_, 0) => write!(f, "verified by {now} of {receivers} receivers")?,
                    (0, had) => write!(f, "{had} of {receivers} receivers had it already")?,
                    (_, had) => write!(f, "verified by {now} of {receivers} receivers, {had} had it already")?,
                }
                write!(f, "; {sent} sent")
            }
            Self::Received { name, size_bytes, seconds, .. } => {
                write!(f, "{name}: {}", figures::transfer(*size_bytes, *seconds))
            }
            Self::AlreadyThere { name, .. } => write!(f, "{name}: was here already"),
            Self::NotReceived { name, reason, kept_bytes } => {
                write!(f, "{name}: not received: {reason}")?;
                match kept_bytes {
                    0 => Ok(()),
                    bytes => write!(f, "; {} are kept for the next time", figures::size(*bytes)),
                }
            }
            Self::Serving { peer, name, size_bytes } => {
                write!(f, "{name}: sending {} to {peer}", figures::size(*size_bytes))
            }
            Self::Served { peer, name, complete: true, .. } => write!(f, "{name}: {peer} has it"),
            Self::Served { peer, name, reason, .. } => {
                write!(f, "{name}: {peer}: {}", reason.as_deref().unwrap_or("does not have it"))
            }
            Self::NotServed { peer: Some(peer), reason } => write!(f, "{peer} asks in vain: {reason}"),
            Self::NotServed { peer: None, reason } => write!(f, "not served: {reason}"),
            Self::Planned { run, values, .. } => write!(f, "run {run}{}", shown(values)),
            Self::Run { run, values, seconds, failure, .. } => {
                write!(f, "run {run}{}: ", shown(values))?;
                match (failure, seconds) {
                    (Some(failure), _) => f.write_str(failure),
                    (None, Some(seconds)) => write!(f, "{seconds:.2} s"),
                    (None, None) => f.write_str("done"),
                }
            }
            Self::Combination { values, runs, ok, .. } => write!(f, "{ok} of {runs} runs{}", shown(values)),
            Self::Host { host, address, enter } => write!(f, "{host}  {address}  {enter}"),
            Self::Removed { name } => write!(f, "removed {name}"),
            Self::Check { check, ok, found, .. } => {
                write!(f, "{:7}  {check}: {found}", if *ok { "ok" } else { "warning" })
            }
            Self::Warning { message, .. } => write!(f, "warning: {message}"),
            Self::Stopped { signal, unfinished, .. } => {
                write!(f, "stopped by {signal}")?;
                if unfinished.is_empty() { Ok(()) } else { write!(f, "; {}", not_complete(unfinished)) }
            }
            Self::Error { message, .. } => write!(f, "error: {message}"),
        }
    }
}

/// Files that a line names, at most.
const NAMED: usize = 8;

/// What a stop has left.
fn not_complete(unfinished: &[Unfinished]) -> String {
    let named = unfinished.iter().take(NAMED).map(|one| format!("{} ({})", one.name, one.peer));
    let more = match unfinished.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("the other hosts were told; not complete: {}{more}", named.collect::<Vec<_>>().join(", "))
}

/// The varying parameters, appended to other text: `, loss 1%, trim 128B`.
fn shown(values: &Map<String, Value>) -> String {
    let each = values.iter().map(|(key, value)| format!(", {key} {}", value.as_str().unwrap_or_default()));
    each.collect::<Vec<_>>().concat()
}
