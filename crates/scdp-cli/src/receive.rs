//! `scdp receive`: receives files that others send into a folder.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anabranch_net::{Endpoint, HostConfig, NetError, Protection, ReceiveOptions, Report, receive_dir};
use anabranch_transport::Bytes;
use clap::Args;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::addresses::{self, Group};
use crate::arguments::{Listening, Session, SignedBy};
use crate::events::{Event, Unfinished};
use crate::failure::CliError;
use crate::output::Output;
use crate::session::{self, Watches};
use crate::signals::{Signals, Stop};
use crate::{key, signing};

#[derive(Debug, Args)]
pub(crate) struct Receive {
    /// The folder to put files into
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Receive from this multicast group, too [default port: 7218]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) group: Option<Group>,
    /// Join the group on this interface: its name, or one of its addresses [default: the system chooses]
    #[arg(long, value_name = "INTERFACE", requires = "group")]
    pub(crate) interface: Option<String>,
    /// Replace existing files; by default an existing file is kept, and the sender is told so
    #[arg(long)]
    pub(crate) force: bool,
    /// Take files whose names begin with a dot, too: programs may obey them, as shells do `.bashrc`
    #[arg(long)]
    pub(crate) allow_hidden: bool,
    /// Refuse larger files; the room for a file is reserved when its sender has shown that it is there
    #[arg(long, value_name = "SIZE", default_value = "1TB")]
    pub(crate) max_size: Bytes,
    /// Remove partial files to which nothing was written for so many days: at the start, and once an hour
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub(crate) keep_parts: u32,
    /// Receive one file and stop: --count 1
    #[arg(long, conflicts_with = "count")]
    pub(crate) once: bool,
    /// Receive N files, refuse more, and stop when all are received or failed; exit code 1 if one failed [default: never stop]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) session: Session<SignedBy, Listening>,
}

pub(crate) fn run(arguments: &Receive, output: &Output) -> Result<ExitCode, CliError> {
    let mut output = Output::like(output);
    let protection = key::protection(&arguments.session.secret, &output)?;
    let protected = matches!(protection, Protection::Psk(_));
    let signers = signing::signers(&arguments.session.signature)?;
    can_write(&arguments.dir)?;
    let interface = addresses::interface(arguments.interface.as_deref())?;
    let bind = arguments.session.socket.bind;
    // `[::]` is also reached by IPv4, whose packets have more room.
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let headers_of = if bind.ip() == Ipv6Addr::UNSPECIFIED { any } else { bind };
    let config = session::config(protection, &arguments.session, None, headers_of);
    let max_object_bytes = arguments.max_size.0;
    let mut endpoint = Endpoint::bind(bind, HostConfig { max_object_bytes, signers, ..config })?;
    let group = arguments.group.map(|group| group.0);
    if let Some(group) = group {
        match &interface {
            Some(interface) => endpoint.join_on(group, interface)?,
            None => endpoint.join(group, IpAddr::V4(Ipv4Addr::UNSPECIFIED))?,
        }
    }
    let signals = Signals::catch()?;
    signals.busy();
    output.tell(&Event::Listening {
        address: endpoint.local_address()?.to_string(),
        group: group.map(|group| group.to_string()),
        directory: arguments.dir.display().to_string(),
        protected,
    });
    let most = if arguments.once { Some(1) } else { arguments.count };
    let (mut watches, mut ended, mut failed, mut last_narrow) = (Watches::default(), 0, 0, None);
    let (mut unfinished, mut kept_any) = (Vec::new(), false);
    let keep_parts = Duration::from_secs(u64::from(arguments.keep_parts) * 24 * 3600);
    let (overwrite, allow_hidden) = (arguments.force, arguments.allow_hidden);
    let options = ReceiveOptions { overwrite, allow_hidden, limit: most, keep_parts, ..ReceiveOptions::default() };
    receive_dir(&mut endpoint, &arguments.dir, &options, |report| {
        let event = match report {
            Report::Progress { bytes, size } => {
                if size > 0 {
                    output.progress(bytes, size);
                }
                return signals.flow();
            }
            Report::Began { peer, manifest, from, signer } => {
                watches.start(&manifest);
                output.begin(manifest.name.as_str(), manifest.size);
                output.tell(&session::began(&manifest, peer, from, signer));
                return signals.flow();
            }
            // It is not one of the files that were to be received.
            Report::Declined { peer, name, why } => {
                if watches.forget(name.as_str()) {
                    output.end();
                }
                output.tell(&Event::Declined { peer: peer.to_string(), name: name.to_string(), reason: why });
                return signals.flow();
            }
            // It comes again, with all other files that are under way.
            Report::Narrow { narrow, .. } => {
                output.end();
                if last_narrow.replace(narrow) != Some(narrow) {
                    output.tell(&session::again_smaller(&narrow, "scdp send"));
                }
                return signals.flow();
            }
            Report::Interrupted { name, peer, kept } => {
                output.end();
                output.tell(&session::interrupted(&name, kept));
                kept_any |= kept > 0;
                unfinished.push(Unfinished { name: name.to_string(), peer: peer.to_string() });
                return signals.flow();
            }
            Report::Received { manifest } => session::received(&manifest, watches.stop(&manifest)),
            Report::AlreadyThere { manifest } => session::already_there(&manifest),
            Report::NotReceived { name, why, kept } => {
                failed += 1;
                Event::NotReceived { name: name.to_string(), reason: why.to_string(), kept_bytes: kept }
            }
            _ => return signals.flow(),
        };
        output.end();
        output.tell(&event);
        ended += 1;
        if most.is_some_and(|most| ended >= most) { ControlFlow::Break(()) } else { signals.flow() }
    })?;
    output.end();
    if most.is_some_and(|most| ended >= most) {
        return match failed {
            0 => Ok(ExitCode::SUCCESS),
            _ => Err(CliError::failed(format!("{failed} of {ended} files were not received"))),
        };
    }
    let hint = kept_any.then(|| session::RESUMED.to_owned());
    let stop = Stop { unfinished, hint, ends_by_signal: most.is_none() };
    signals.stopped(&output, stop).ok_or_else(|| NetError::Stopped.into())
}

/// Checks that files can be created in a folder, before the first one arrives.
pub(crate) fn can_write(directory: &Path) -> Result<(), CliError> {
    if !directory.is_dir() {
        return Err(CliError::of_path(directory, "no such folder").hint(format!("mkdir -p {}", directory.display())));
    }
    let access = accessat(CWD, directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS);
    access.map_err(|error| {
        CliError::of_path(directory, format!("files cannot be put there: {error}"))
            .hint("give another folder, or its owner's rights")
    })
}
