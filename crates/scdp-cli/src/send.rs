//! `scdp send`: files to many hosts at once.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

use anabranch_net::{Endpoint, Failure, HostConfig, Input, NetError, Outcome, Report, send_file};
use anabranch_transport::Duration;

use crate::addresses::{self, Peer};
use crate::arguments::{Send, Stragglers};
use crate::events::{Event, Verdict};
use crate::failure::CliError;
use crate::output::Output;
use crate::session::{self, Watch};
use crate::signals::Signals;
use crate::{key, table};

/// How long a receiver of a real network may be half a window behind before it is served separately: disks and schedulers pause.
const DETACH_AFTER: Duration = Duration::from_ms(100);
/// How long those that are not of the quorum may go on.
const GRACE: Duration = Duration::from_secs(1);

/// What became of a file at a receiver.
struct Row {
    name: String,
    host: String,
    verdict: Verdict,
    reason: Option<String>,
}

pub(crate) fn run(arguments: &Send, output: &Output) -> Result<ExitCode, CliError> {
    let mut output = Output::new(!output.is_text());
    let protection = key::protection(&arguments.secret, &output)?;
    let quorum = quorum(arguments)?;
    let peers = addresses::resolve(&arguments.to, arguments.bind)?;
    let signals = Signals::catch()?;
    let files = open(arguments, &mut output)?;
    let bind = arguments.bind.unwrap_or_else(|| addresses::any(&peers));
    let group = arguments.group.map(|group| group.0);
    if group.is_some_and(|group| group.is_ipv4() != bind.is_ipv4()) {
        return Err(
            CliError::usage("--group and --to are not both IPv4, nor both IPv6").hint("one socket sends to both")
        );
    }
    let config = session::config(protection, &arguments.timeout, &arguments.mtu, arguments.rate, bind);
    let mut endpoint = Endpoint::bind(bind, HostConfig { stragglers: stragglers(arguments, quorum), ..config })?;
    match arguments.interface {
        Some(IpAddr::V4(interface)) => endpoint.set_multicast_interface(interface)?,
        Some(IpAddr::V6(_)) => return Err(CliError::usage("--interface: expected an IPv4 address")),
        None => {}
    }

    signals.busy();
    let (mut rows, mut silent) = (Vec::new(), BTreeSet::new());
    for file in &files {
        let sent = send(&mut endpoint, file, &peers, group, &mut silent, &signals, &mut output);
        rows.extend(match sent {
            Err(NetError::Stopped) => return Err(signals.stopped().unwrap_or_else(|| CliError::failed("stopped"))),
            sent => sent?,
        });
    }
    verdict(&files, &rows, quorum, &endpoint, &output)
}

/// How many receivers must have every file.
fn quorum(arguments: &Send) -> Result<usize, CliError> {
    let all = arguments.to.len();
    match arguments.quorum.map(usize::from) {
        Some(quorum) if !(1..=all).contains(&quorum) => {
            let most = if all == 1 { "there is 1 receiver".to_owned() } else { format!("there are {all} receivers") };
            Err(CliError::usage(format!("--quorum {quorum}: {most}")).hint(format!("expected 1 to {all}")))
        }
        None if arguments.stragglers == Stragglers::Drop => {
            Err(CliError::usage("--stragglers drop needs --quorum N: how many receivers must have every file")
                .hint("for example the majority of them"))
        }
        quorum => Ok(quorum.unwrap_or(all)),
    }
}

fn stragglers(arguments: &Send, quorum: usize) -> anabranch_net::Stragglers {
    match arguments.stragglers {
        Stragglers::Wait => anabranch_net::Stragglers::Wait,
        Stragglers::Detach => anabranch_net::Stragglers::Detach { after: DETACH_AFTER },
        Stragglers::Drop => {
            anabranch_net::Stragglers::Drop { quorum: u16::try_from(quorum).unwrap_or(u16::MAX), grace: GRACE }
        }
    }
}

/// All files, hashed, before anything is sent: what is wrong is said early.
fn open(arguments: &Send, output: &mut Output) -> Result<Vec<Input>, CliError> {
    let mut files: Vec<Input> = Vec::new();
    for path in &arguments.files {
        output.waiting(format!("hashing {}", path.display()));
        let file = Input::open(path, None).map_err(|error| CliError::of_path(path, error))?;
        let name = &file.manifest().name;
        if files.iter().any(|other| other.manifest().name == *name) {
            return Err(CliError::of_path(path, format!("a second file with the name {name}"))
                .hint("receivers put all files into one folder: rename it, or send it separately"));
        }
        files.push(file);
    }
    output.end();
    Ok(files)
}

/// Sends one file to those that answer.
fn send(
    endpoint: &mut Endpoint,
    file: &Input,
    peers: &[Peer],
    group: Option<SocketAddr>,
    silent: &mut BTreeSet<usize>,
    signals: &Signals,
    output: &mut Output,
) -> Result<Vec<Row>, NetError> {
    let manifest = file.manifest();
    let (name, hash, size_bytes) = (manifest.name.to_string(), session::hash(manifest), manifest.size);
    // Who did not answer in time would cost that time again for each file.
    let asked: Vec<usize> = (0..peers.len()).filter(|index| !silent.contains(index)).collect();
    let to: Vec<_> = asked.iter().map(|&index| peers[index].address).collect();
    let (watch, sent_before) = (Watch::start(), endpoint.sent_bytes());
    output.tell(&Event::Sending { name: name.clone(), hash: hash.clone(), size_bytes, receivers: peers.len() });
    output.begin(&name, size_bytes);
    let skipped = || (Verdict::Skipped, Some("not tried: it did not answer before".to_owned()));
    let mut verdicts: Vec<(Verdict, Option<String>)> = peers.iter().map(|_| skipped()).collect();
    let tell = |output: &Output, index: usize, (outcome, reason): (Verdict, Option<String>)| {
        let (host, address) = (peers[index].host.clone(), peers[index].address.to_string());
        output.tell(&Event::Receiver { name: name.clone(), host, address, outcome, reason });
    };
    for &index in silent.iter() {
        tell(output, index, skipped());
    }
    if !to.is_empty() {
        let shown: &Output = output;
        let outcomes = send_file(endpoint, file, &to, group, |report| {
            match report {
                Report::Progress { bytes, size } => shown.progress(bytes, size),
                Report::Receiver { index, outcome } => tell(shown, asked[index], judge(&outcome)),
                _ => {}
            }
            signals.flow()
        })?;
        for (&index, outcome) in asked.iter().zip(&outcomes) {
            verdicts[index] = judge(outcome);
            if *outcome == Outcome::Failed(Failure::TimedOut) {
                silent.insert(index);
            }
        }
    }
    output.end();
    let row =
        |(peer, (verdict, reason)): (&Peer, _)| Row { name: name.clone(), host: peer.host.clone(), verdict, reason };
    let rows: Vec<Row> = peers.iter().zip(verdicts).map(row).collect();
    let verified = rows.iter().filter(|row| row.has_it()).count();
    let (seconds, sent_bytes) = (watch.elapsed().as_secs_f64(), endpoint.sent_bytes() - sent_before);
    output.tell(&Event::Sent { name, hash, size_bytes, receivers: peers.len(), verified, seconds, sent_bytes });
    Ok(rows)
}

impl Row {
    fn has_it(&self) -> bool {
        matches!(self.verdict, Verdict::Verified | Verdict::AlreadyThere)
    }

    fn cells(&self) -> Vec<String> {
        let said = match (&self.verdict, &self.reason) {
            (Verdict::Verified, _) => "verified".to_owned(),
            (Verdict::AlreadyThere, _) => "had it already".to_owned(),
            (Verdict::Refused, Some(reason)) => format!("refused: {reason}"),
            (_, reason) => reason.clone().unwrap_or_default(),
        };
        vec![self.name.clone(), self.host.clone(), said]
    }
}

fn judge(outcome: &Outcome) -> (Verdict, Option<String>) {
    match outcome {
        Outcome::Verified => (Verdict::Verified, None),
        Outcome::AlreadyThere => (Verdict::AlreadyThere, None),
        Outcome::Refused(refusal) => (Verdict::Refused, Some(refusal.text().to_owned())),
        other => (Verdict::Failed, Some(other.to_string())),
    }
}

/// Who has what, if not all have all, and whether it is enough.
fn verdict(
    files: &[Input],
    rows: &[Row],
    quorum: usize,
    endpoint: &Endpoint,
    output: &Output,
) -> Result<ExitCode, CliError> {
    let lacking: Vec<&Row> = rows.iter().filter(|row| !row.has_it()).collect();
    let Some(first) = lacking.first() else { return Ok(ExitCode::SUCCESS) };
    if rows.len() > 1 {
        let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
        output.text(&table::render(&["file", "receiver", "outcome"], &cells));
    }
    let names = files.iter().map(|file| file.manifest().name.as_str());
    let have = |name: &str| rows.iter().filter(|row| row.name == name && row.has_it()).count();
    if names.clone().all(|name| have(name) >= quorum) {
        return Ok(ExitCode::SUCCESS);
    }
    let mut hosts: Vec<&str> = lacking.iter().map(|row| row.host.as_str()).collect();
    hosts.dedup();
    hosts.sort_unstable();
    hosts.dedup();
    let what = if files.len() == 1 { first.name.as_str() } else { "every file" };
    let wanted = if quorum * files.len() < rows.len() { format!(" ({quorum} receivers must)") } else { String::new() };
    let verb = if hosts.len() == 1 { "does" } else { "do" };
    let error = CliError::failed(format!("{} {verb} not have {what}{wanted}", hosts.join(", ")));
    let silent = |row: &&Row| row.reason == Some(Failure::TimedOut.to_string());
    let says = |text: &str| lacking.iter().any(|row| row.reason.as_ref().is_some_and(|reason| reason.contains(text)));
    Err(if lacking.iter().any(silent) {
        error.hint(session::silence(endpoint, "receive"))
    } else if says("exists") {
        error.hint("`scdp receive --force` replaces files; or rename this one")
    } else if says("packets larger") {
        error.hint("give `scdp receive` the same --mtu, or less here")
    } else {
        error
    })
}
