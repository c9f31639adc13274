//! `scdp send`: files to many hosts at once.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anabranch_net::{
    Delivery, Endpoint, Failure, HostConfig, Input, Narrow, NetError, Outcome, Report, Straggler, StragglerPolicy,
    send_files,
};
use anabranch_transport::Rate;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::addresses::{self, Group, HostPort, Peer};
use crate::arguments::{Sending, Session, Sign};
use crate::events::{DeliveryStatus, Event, Unfinished, Way};
use crate::failure::CliError;
use crate::output::Output;
use crate::session::{self, Watches};
use crate::signals::{Signals, Stop};
use crate::{key, signing, table};

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Files; of a folder, make an archive first
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Receivers, separated by commas: names or addresses; IPv6 addresses go in brackets before a port [default port: 7217]
    #[arg(long, required = true, value_delimiter = ',', value_name = "HOST[:PORT],...")]
    pub(crate) to: Vec<HostPort>,
    /// Send through this multicast group [default port: 7218]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) group: Option<Group>,
    /// Send multicast on this interface: its name, or one of its addresses [default: the system chooses]
    #[arg(long, value_name = "INTERFACE", requires = "group")]
    pub(crate) interface: Option<String>,
    /// Highest rate of all files together, such as 900Mbps or 9.5Gbps [default: as fast as receivers ask]
    #[arg(long)]
    pub(crate) rate: Option<Rate>,
    /// What to do about receivers that hold the others back
    #[arg(long, value_parser = straggler_policy(), default_value = StragglerPolicy::Detach.name(), value_name = "WHAT")]
    pub(crate) stragglers: StragglerPolicy,
    /// How many receivers must have every file for this to be a success [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) quorum: Option<u16>,
    #[command(flatten)]
    pub(crate) session: Session<Sign, Sending>,
}

/// The names of the policies, and what each does in this program.
fn straggler_policy() -> impl TypedValueParser<Value = StragglerPolicy> {
    let values = StragglerPolicy::ALL.map(|policy| {
        PossibleValue::new(policy.name()).help(match policy {
            StragglerPolicy::Wait => "Keep the pace of the slowest receiver",
            StragglerPolicy::Detach => "Send separately to receivers that fall behind",
            StragglerPolicy::Drop => {
                "Keep the pace of the --quorum fastest receivers, and give the others up a second after these have the file"
            }
        })
    });
    PossibleValuesParser::new(values).map(|name| {
        StragglerPolicy::ALL.into_iter().find(|policy| policy.name() == name).expect("one of the possible values")
    })
}

/// The outcome of a file at a receiver.
struct Row {
    name: String,
    host: String,
    verdict: DeliveryStatus,
    reason: Option<String>,
    /// Packets do not arrive there.
    narrow: Option<Narrow>,
}

pub(crate) fn run(arguments: &Send, output: &Output) -> Result<ExitCode, CliError> {
    let mut output = Output::like(output);
    let protection = key::protection(&arguments.session.secret, &output)?;
    let key = signing::key(&arguments.session.signature, &output)?;
    let quorum = quorum(arguments)?;
    let peers = addresses::resolve(&arguments.to, arguments.session.socket.bind)?;
    let interface = addresses::interface(arguments.interface.as_deref())?;
    let signals = Signals::catch()?;
    let mut files = open(arguments, &mut output)?;
    if let Some(key) = key {
        for file in &mut files {
            file.sign(&key);
        }
    }
    let bind = arguments.session.socket.bind.unwrap_or_else(|| addresses::any(&peers));
    let group = arguments.group.map(|group| group.0);
    if group.is_some_and(|group| group.is_ipv4() != bind.is_ipv4()) {
        return Err(
            CliError::usage("--group and --to are not both IPv4, nor both IPv6").hint("one socket sends to both")
        );
    }
    let config = session::config(protection, &arguments.session, arguments.rate, bind);
    let mut endpoint = Endpoint::bind(bind, HostConfig { stragglers: stragglers(arguments, quorum), ..config })?;
    if let (Some(group), Some(interface)) = (group, &interface) {
        endpoint.set_multicast_interface(group, interface)?;
    }

    signals.busy();
    let to: Vec<SocketAddr> = peers.iter().map(|peer| peer.address).collect();
    output.begin(&title(&files), files.iter().map(|file| file.manifest().size).sum());
    let (done, watches, narrow) = (HashSet::new(), Watches::default(), Vec::new());
    let mut telling = Telling { files: &files, peers: &peers, done, watches, narrow, output: &output };
    let sent = send_files(&mut endpoint, &files, &to, group, |report| {
        telling.tell(report);
        signals.flow()
    });
    let unfinished = telling.unfinished();
    output.end();
    let outcomes = match sent {
        Err(NetError::Stopped) => {
            let hint = "send it again: receivers go on with files of which they have 16 MiB or more";
            let stop = Stop { unfinished, hint: Some(hint.to_owned()), ends_by_signal: false };
            return signals.stopped(&output, stop).ok_or_else(|| NetError::Stopped.into());
        }
        sent => sent?,
    };
    let rows: Vec<Row> =
        files.iter().zip(&outcomes).flat_map(|(file, outcomes)| rows(file, &peers, outcomes)).collect();
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
        None if arguments.stragglers == StragglerPolicy::Drop => {
            Err(CliError::usage("--stragglers drop needs --quorum N: how many receivers must have every file")
                .hint("for example the majority of them"))
        }
        quorum => Ok(quorum.unwrap_or(all)),
    }
}

fn stragglers(arguments: &Send, quorum: usize) -> Straggler {
    let quorum = u16::try_from(quorum).unwrap_or(u16::MAX);
    Straggler { quorum, ..Straggler::on_hosts(arguments.stragglers) }
}

/// Hashes all files before anything is sent, so that errors are reported early.
fn open(arguments: &Send, output: &mut Output) -> Result<Vec<Input>, CliError> {
    let (mut files, mut names) = (Vec::new(), HashSet::new());
    for path in &arguments.files {
        output.waiting(&format!("hashing {}", path.display()));
        let file = Input::open(path, None).map_err(|error| CliError::of_path(path, error))?;
        let name = &file.manifest().name;
        if !names.insert(name.clone()) {
            return Err(CliError::of_path(path, format!("a second file with the name {name}"))
                .hint("receivers put all files into one folder: rename it, or send it separately"));
        }
        files.push(file);
    }
    output.end();
    Ok(files)
}

/// The files in progress, for people.
fn title(files: &[Input]) -> String {
    match files {
        [file] => file.manifest().name.to_string(),
        files => format!("{} files", files.len()),
    }
}

/// Reports events of files.
struct Telling<'a> {
    files: &'a [Input],
    peers: &'a [Peer],
    /// Files and receivers whose outcome is known, unless that is that this end was stopped.
    done: HashSet<(usize, usize)>,
    watches: Watches,
    /// Paths that have been told of.
    narrow: Vec<Narrow>,
    output: &'a Output,
}

impl Telling<'_> {
    fn tell(&mut self, report: Report) {
        let output = self.output;
        match report {
            Report::Progress { bytes, size } => output.progress(bytes, size),
            Report::Sending { file } => {
                let (manifest, receivers) = (self.files[file].manifest(), self.peers.len());
                self.watches.start(manifest);
                let (name, hash) = (manifest.name.to_string(), session::hash(manifest));
                output.tell(&Event::Sending { name, hash, size_bytes: manifest.size, receivers });
            }
            // All files that are under way are sent again.
            Report::Narrow { narrow, .. } if self.narrow.contains(&narrow) => {}
            Report::Narrow { narrow, .. } => {
                self.narrow.push(narrow);
                output.tell(&session::again_smaller(&narrow, "scdp send"));
            }
            Report::Receiver { file, index, outcome } => {
                if outcome != Outcome::Failed(Failure::Stopped) {
                    self.done.insert((file, index));
                }
                self.receiver(file, index, Some(&outcome));
            }
            Report::Full { file, bytes } => {
                let name = self.files[file].manifest().name.to_string();
                self.output.tell(&Event::Full { name, bytes });
            }
            Report::Delivery { file, index, delivery } => self.delivery(file, index, delivery),
            Report::Sent { file, outcomes, sent_bytes, symbols } => {
                for index in (0..outcomes.len()).filter(|&index| outcomes[index].is_none()) {
                    self.receiver(file, index, None);
                }
                let (manifest, receivers) = (self.files[file].manifest(), self.peers.len());
                let (name, hash, size_bytes) = (manifest.name.to_string(), session::hash(manifest), manifest.size);
                let verified = outcomes.iter().flatten().filter(|outcome| outcome.is_success()).count();
                let already_there =
                    outcomes.iter().flatten().filter(|outcome| **outcome == Outcome::AlreadyThere).count();
                let seconds = self.watches.stop(manifest);
                output.tell(&Event::Sent {
                    name,
                    hash,
                    size_bytes,
                    receivers,
                    verified,
                    already_there,
                    seconds,
                    sent_bytes,
                    symbols,
                });
            }
            _ => {}
        }
    }

    /// Files and receivers whose outcome is not known.
    fn unfinished(&self) -> Vec<Unfinished> {
        let all = (0..self.files.len()).flat_map(|file| (0..self.peers.len()).map(move |index| (file, index)));
        all.filter(|one| !self.done.contains(one))
            .map(|(file, index)| Unfinished {
                name: self.files[file].manifest().name.to_string(),
                peer: self.peers[index].host.clone(),
            })
            .collect()
    }

    /// How one receiver gets the file from now on.
    fn delivery(&self, file: usize, index: usize, delivery: Delivery) {
        let (peer, name) = (&self.peers[index], self.files[file].manifest().name.to_string());
        let (host, address) = (peer.host.clone(), peer.address.to_string());
        let (delivery, missed_bytes) = match delivery {
            Delivery::Copies => (Way::Copies, None),
            Delivery::Group => (Way::Group, None),
            Delivery::Alone => (Way::Detached, None),
            Delivery::Late { missed } => (Way::Late, Some(missed)),
            _ => return,
        };
        self.output.tell(&Event::Delivery { name, host, address, delivery, missed_bytes });
    }

    /// The outcome for one receiver.
    fn receiver(&self, file: usize, index: usize, outcome: Option<&Outcome>) {
        let (peer, name) = (&self.peers[index], self.files[file].manifest().name.to_string());
        let (outcome, reason) = judge(outcome);
        let (host, address) = (peer.host.clone(), peer.address.to_string());
        self.output.tell(&Event::Receiver { name, host, address, outcome, reason });
    }
}

/// The outcomes of a file at each receiver.
fn rows<'a>(file: &Input, peers: &'a [Peer], outcomes: &'a [Option<Outcome>]) -> impl Iterator<Item = Row> + 'a {
    let name = file.manifest().name.to_string();
    peers.iter().zip(outcomes).map(move |(peer, outcome)| {
        let (verdict, reason) = judge(outcome.as_ref());
        let narrow = if let Some(Outcome::Failed(Failure::Narrow(narrow))) = outcome { Some(*narrow) } else { None };
        Row { name: name.clone(), host: peer.host.clone(), verdict, reason, narrow }
    })
}

impl Row {
    fn has_it(&self) -> bool {
        matches!(self.verdict, DeliveryStatus::Verified | DeliveryStatus::AlreadyThere)
    }

    fn cells(&self) -> Vec<String> {
        let said = match (&self.verdict, &self.reason) {
            (DeliveryStatus::Verified, _) => "verified".to_owned(),
            (DeliveryStatus::AlreadyThere, _) => "had it already".to_owned(),
            (DeliveryStatus::Refused, Some(reason)) => format!("refused: {reason}"),
            (_, reason) => reason.clone().unwrap_or_default(),
        };
        vec![self.name.clone(), self.host.clone(), said]
    }
}

fn judge(outcome: Option<&Outcome>) -> (DeliveryStatus, Option<String>) {
    match outcome {
        None => (DeliveryStatus::Skipped, Some("not tried: it did not answer before".to_owned())),
        Some(Outcome::Verified) => (DeliveryStatus::Verified, None),
        Some(Outcome::AlreadyThere) => (DeliveryStatus::AlreadyThere, None),
        Some(Outcome::Refused(refusal)) => (DeliveryStatus::Refused, Some(refusal.text().to_owned())),
        Some(other) => (DeliveryStatus::Failed, Some(other.to_string())),
    }
}

/// Which receivers have which files, if not all have all, and whether that suffices.
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
    Err(if let Some(narrow) = lacking.iter().find_map(|row| row.narrow) {
        error.hint(session::smaller_packets(&narrow, "scdp send"))
    } else if lacking.iter().any(silent) {
        error.hint(session::silence(endpoint, "receive"))
    } else if says("exists") {
        error.hint("`scdp receive --force` replaces files; or rename this one")
    } else if says("begins with a dot") {
        error.hint("`scdp receive --allow-hidden` takes hidden files; or send it under another name")
    } else if says("being received") {
        error.hint("try again when that has ended; or rename this one")
    } else if says("packets larger") {
        error.hint("give `scdp receive` the same --mtu, or less here")
    } else if says("signed") {
        error.hint("--sign FILE signs, with the key of which `scdp receive --signed-by` has the public half")
    } else {
        error
    })
}
