//! The program's output while it works: JSON objects, one per line, or lines for people.
//!
//! The descriptions of the fields appear in docs/reference/scdp.md.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::figures;

/// Something that happened. `--json` prints one a line; times are seconds, sizes bytes, hashes 64 hexadecimal digits of BLAKE3.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event {
    /// `receive` and `serve`: ready for others.
    Listening {
        /// Address and port.
        address: String,
        /// The multicast group, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// The folder that is received into, or served.
        directory: String,
        /// False with `--insecure`.
        protected: bool,
    },
    /// `switch`: frames pass from now on.
    #[serde(rename = "listening")]
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no switch elsewhere"))]
    Forwarding {
        /// The interfaces that are its ports.
        ports: Vec<String>,
    },
    /// `switch`: what was counted at a port, at the end.
    Counters {
        /// Its interface.
        port: String,
        /// Numbers in `port`, `data_queue`, `header_queue` and `link`, by the names that the Switch Abstraction Interface has for them.
        #[cfg_attr(test, schemars(with = "serde_json::Value"))]
        counters: Box<anabranch_switch::Counters>,
    },
    /// `serve`: a file is ready to be fetched.
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
        /// How many receivers.
        receivers: usize,
    },
    /// `receive` and `fetch`: a file is coming.
    Began {
        /// Its name.
        name: String,
        /// Its hash.
        hash: String,
        /// Its size.
        size_bytes: u64,
        /// From whom; with `fetch`, the first server that answered.
        peer: String,
        /// What is here already, from an earlier time.
        #[serde(skip_serializing_if = "is_none")]
        resumed_bytes: u64,
        /// The key that it is signed with, if it is and the signature fits; with `fetch`, by that server. Whether that key is to be trusted
        /// is what `--signed-by` says.
        #[serde(skip_serializing_if = "Option::is_none")]
        signer: Option<String>,
    },
    /// `receive`: a file was offered that `--signed-by`, `--max-size` or `--mtu` does not allow, and refused. It does not count.
    Declined {
        /// Who offered it.
        peer: String,
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// `fetch`: one of several servers has refused, its file was not to be trusted, or it has sent bytes that are not of the file. Nothing of it is taken any more; the
    /// others go on.
    Excluded {
        /// Which server.
        peer: String,
        /// Why.
        reason: String,
    },
    /// `fetch`: one of several servers did not send in time what it alone was asked for: it is slow, or withholds it. Another is asked for that, and it last from
    /// then on; nothing that it has sent is known to be wrong.
    Withheld {
        /// Which server.
        peer: String,
        /// What it did.
        reason: String,
    },
    /// Ten times a second while files are under way.
    Progress {
        /// What is here (`receive`, `fetch`, of all files under way), or with the slowest receiver (`send`).
        bytes: u64,
        /// Of how much.
        size_bytes: u64,
    },
    /// `send`: what became of one receiver of one file.
    Receiver {
        /// The file's name.
        name: String,
        /// The receiver as it was named in `--to`.
        host: String,
        /// Its address and port.
        address: String,
        /// `verified`: it has compared the hash; `already_there`: it had the file; `refused`; `failed`; `skipped`: it had not
        /// answered before.
        outcome: Verdict,
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
        /// How many receivers were to have it.
        receivers: usize,
        /// How many have it.
        verified: usize,
        /// From the offer to the last receiver's answer.
        seconds: f64,
        /// Bytes of all datagrams sent for it, without headers of UDP and IP.
        sent_bytes: u64,
        /// Encoding symbols sent for it; one that went to several receivers, each its copy, counts once.
        symbols: u64,
    },
    /// `receive` and `fetch`: a file is here: whole, its hash compared, on the disk.
    Received {
        /// Its name.
        name: String,
        /// Its hash.
        hash: String,
        /// Its size.
        size_bytes: u64,
        /// From its beginning on.
        seconds: f64,
    },
    /// `receive` and `fetch`: the same file was here before.
    AlreadyThere {
        /// Its name.
        name: String,
        /// Its hash.
        hash: String,
        /// Its size.
        size_bytes: u64,
    },
    /// `receive` and `fetch`: a file did not come.
    NotReceived {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
        /// What is kept of it for the next time, 16 MiB or more. Nothing else is left.
        #[serde(skip_serializing_if = "is_none")]
        kept_bytes: u64,
    },
    /// `serve`: a file is sent to somebody.
    Serving {
        /// To whom.
        peer: String,
        /// Its name.
        name: String,
        /// Its size.
        size_bytes: u64,
    },
    /// `serve`: somebody has got what was sent.
    Served {
        /// Who.
        peer: String,
        /// The file's name.
        name: String,
        /// Whether that host has the whole file now, from here or from others, too.
        complete: bool,
        /// Bytes of all datagrams sent for it, without headers of UDP and IP.
        sent_bytes: u64,
        /// Encoding symbols sent for it from here.
        symbols: u64,
        /// Why not.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `serve`: a request was declined, or a file in the folder cannot be served.
    NotServed {
        /// Who asked, if anybody did.
        #[serde(skip_serializing_if = "Option::is_none")]
        peer: Option<String>,
        /// Why.
        reason: String,
    },
    /// `lab --dry-run`: a run that would be.
    Planned {
        /// Its number, from 1.
        run: usize,
        /// What varies, and its values.
        values: Map<String, Value>,
        /// Its seed.
        seed: u64,
    },
    /// `lab`: a run is done.
    Run {
        /// Its number, from 1.
        run: usize,
        /// What varies, and its values.
        values: Map<String, Value>,
        /// Its seed.
        seed: u64,
        /// Whether all steps and checks succeeded.
        ok: bool,
        /// Wall time of the steps that are measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
        /// Wall time of each step.
        steps: Vec<f64>,
        /// Bytes that each host has sent while the steps ran, headers of Ethernet included.
        sent_bytes: Map<String, Value>,
        /// What the switch has counted, in its own words.
        #[serde(skip_serializing_if = "Option::is_none")]
        switch: Option<Value>,
        /// What failed, and the last lines of its output.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// `lab`: all runs with the same values are done.
    Combination {
        /// What varies, and its values.
        values: Map<String, Value>,
        /// How many runs.
        runs: usize,
        /// How many of them succeeded: what follows is of these.
        ok: usize,
        /// Median of their times.
        #[serde(skip_serializing_if = "Option::is_none")]
        median_seconds: Option<f64>,
        /// The shortest.
        #[serde(skip_serializing_if = "Option::is_none")]
        least_seconds: Option<f64>,
        /// The longest.
        #[serde(skip_serializing_if = "Option::is_none")]
        most_seconds: Option<f64>,
        /// Median of the bytes that each host has sent.
        sent_bytes: Map<String, Value>,
        /// Median of the packets that the switch has trimmed, at all ports. Not known of the kernel's bridge.
        #[serde(skip_serializing_if = "Option::is_none")]
        trimmed_packets: Option<u64>,
        /// Median of the packets that found no room in the switch, or that a link has lost.
        #[serde(skip_serializing_if = "Option::is_none")]
        dropped_packets: Option<u64>,
    },
    /// `lab --hold` and `--shell`: a host is there.
    Host {
        /// Its name.
        host: String,
        /// Its address.
        address: String,
        /// What runs a command in it.
        enter: String,
    },
    /// `lab --clean`: something that a lab had left is gone.
    Removed {
        /// The network namespace, or the folder.
        name: String,
    },
    /// `doctor`: something was looked at; `lab --check`: the file is right.
    Check {
        /// What.
        check: &'static str,
        /// False: a warning.
        ok: bool,
        /// What was found, with its figure.
        found: String,
        /// What to change.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// Something is wrong, and the program goes on.
    Warning {
        /// What, and where.
        message: String,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// The program ends without having done what it should. The last line.
    Error {
        /// What, and where.
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

/// What became of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
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
            Self::Receiver { outcome, .. } => !matches!(outcome, Verdict::Verified | Verdict::AlreadyThere),
            _ => true,
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
            Self::Receiver { name, host, outcome, reason, .. } => {
                let reason = reason.as_deref().unwrap_or("has it");
                match outcome {
                    Verdict::Refused => write!(f, "{name}: {host} refuses it: {reason}"),
                    _ => write!(f, "{name}: {host}: {reason}"),
                }
            }
            Self::Sent { name, size_bytes, receivers, verified, seconds, sent_bytes, .. } => {
                // No receiver has the file, so there is no rate.
                let transfer = match verified {
                    0 => figures::size(*size_bytes),
                    _ => figures::transfer(*size_bytes, *seconds),
                };
                let sent = figures::size(*sent_bytes);
                write!(f, "{name}: {transfer}; verified by {verified} of {receivers} receivers; {sent} sent")
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
            Self::Check { check, ok, found, hint } => {
                write!(f, "{:7}  {check}: {found}", if *ok { "ok" } else { "warning" })?;
                hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n         hint: {hint}"))
            }
            Self::Warning { message, hint } => said(f, "warning", message, hint.as_deref()),
            Self::Error { message, hint } => said(f, "error", message, hint.as_deref()),
        }
    }
}

fn said(f: &mut fmt::Formatter<'_>, kind: &str, message: &str, hint: Option<&str>) -> fmt::Result {
    write!(f, "{kind}: {message}")?;
    hint.map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
}

/// The varying parameters, appended to other text: `, loss 1%, trim 128B`.
fn shown(values: &Map<String, Value>) -> String {
    let each = values.iter().map(|(key, value)| format!(", {key} {}", value.as_str().unwrap_or_default()));
    each.collect::<Vec<_>>().concat()
}
