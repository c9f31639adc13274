//! `scdp fetch`: one file from all hosts that serve it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anabranch_net::{Endpoint, Failure, HostConfig, NetError, ObjectName, ReceiveOptions, Report, Wanted, fetch};
use clap::Args;

use crate::addresses::{self, HostPort};
use crate::arguments::{Sending, Session, SignedBy};
use crate::events::{Event, Unfinished};
use crate::failure::CliError;
use crate::output::Output;
use crate::receive::can_write;
use crate::session::{self, Watches};
use crate::signals::{Signals, Stop};
use crate::{key, signing};

#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// File to fetch: its name, or `blake3:` and the 64 hexadecimal digits of its hash
    #[arg(value_name = "NAME|blake3:HEX")]
    pub(crate) object: String,
    /// Servers, separated by commas: names or addresses; IPv6 addresses go in brackets before a port [default port: 7217]
    #[arg(long, required = true, value_delimiter = ',', value_name = "HOST[:PORT],...")]
    pub(crate) from: Vec<HostPort>,
    /// Where to put it: a file, or an existing folder [default: this folder, under the name that the servers have for it]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// With blake3:HEX and without -o FILE: take it even if the servers' name for it begins with a dot
    #[arg(long)]
    pub(crate) allow_hidden: bool,
    #[command(flatten)]
    pub(crate) session: Session<SignedBy, Sending>,
}

pub(crate) fn run(arguments: &Fetch, output: &Output) -> Result<ExitCode, CliError> {
    let mut output = Output::like(output);
    let protection = key::protection(&arguments.session.secret, &output)?;
    let signers = signing::signers(&arguments.session.signature)?;
    let wanted = wanted(&arguments.object)?;
    let (directory, name) = target(arguments.output.as_deref())?;
    can_write(&directory)?;
    let peers = addresses::resolve(&arguments.from, arguments.session.socket.bind)?;
    let bind = arguments.session.socket.bind.unwrap_or_else(|| addresses::any(&peers));
    let config = session::config(protection, &arguments.session, None, bind);
    let mut endpoint = Endpoint::bind(bind, HostConfig { signers, ..config })?;
    let from: Vec<_> = peers.iter().map(|peer| peer.address).collect();
    let signals = Signals::catch()?;
    signals.busy();
    let (overwrite, allow_hidden) = (arguments.force, arguments.allow_hidden);
    let options = ReceiveOptions { overwrite, allow_hidden, name, ..ReceiveOptions::default() };
    let (mut watches, mut stop) = (Watches::default(), Stop::default());
    let fetched = fetch(&mut endpoint, &wanted, &from, &directory, &options, |report| {
        match report {
            Report::Progress { bytes, size } if size > 0 => output.progress(bytes, size),
            Report::Began { peer, manifest, from, signer } => {
                watches.start(&manifest);
                output.begin(manifest.name.as_str(), manifest.size);
                output.tell(&session::began(&manifest, peer, from, signer));
            }
            Report::Excluded { peer, why } => output.tell(&Event::Excluded { peer: peer.to_string(), reason: why }),
            Report::Withheld { peer } => {
                let reason = "did not send in time a block that it alone was asked for".to_owned();
                output.tell(&Event::Withheld { peer: peer.to_string(), reason });
            }
            Report::Narrow { narrow, again: true } => {
                output.end();
                output.tell(&session::again_smaller(&narrow, "scdp fetch"));
            }
            Report::Narrow { narrow, again: false } => {
                let reason = format!("{narrow}; {}", session::smaller_packets(&narrow, "scdp fetch"));
                output.tell(&Event::Excluded { peer: narrow.peer.to_string(), reason });
            }
            Report::Received { manifest } => {
                output.end();
                output.tell(&session::received(&manifest, watches.stop(&manifest)));
            }
            Report::AlreadyThere { manifest } => output.tell(&session::already_there(&manifest)),
            Report::Interrupted { name, peer, kept } => {
                output.end();
                output.tell(&session::interrupted(&name, kept));
                stop.hint = (kept > 0).then(|| session::RESUMED.to_owned());
                stop.unfinished.push(Unfinished { name: name.to_string(), peer: peer.to_string() });
            }
            // Otherwise the error reports it.
            Report::NotReceived { name, why, kept } if kept > 0 => {
                output.end();
                let (name, reason) = (name.to_string(), why.to_string());
                output.tell(&Event::NotReceived { name, reason, kept_bytes: kept });
            }
            _ => {}
        }
        signals.flow()
    });
    output.end();
    match fetched {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(NetError::Stopped) => signals.stopped(&output, stop).ok_or_else(|| NetError::Stopped.into()),
        Err(NetError::Session(failure)) => Err(explain(&failure, arguments, &endpoint)),
        Err(error) => Err(error.into()),
    }
}

fn explain(failure: &Failure, arguments: &Fetch, endpoint: &Endpoint) -> CliError {
    let error = CliError::failed(format!("{}: {failure}", arguments.object));
    match failure {
        Failure::TimedOut => error.hint(session::silence(endpoint, "serve")),
        Failure::NoHashes { .. } => {
            error.hint("does `scdp --version` say the same there? Symbols came from there, and hashes did not")
        }
        Failure::Narrow(narrow) => error.hint(session::smaller_packets(narrow, "scdp fetch")),
        Failure::ReplicasDiffer => error.hint("fetch it by its hash, blake3:HEX: `scdp serve --json` tells it"),
        Failure::Refused(reason) if reason.contains("exists") => {
            error.hint("--force replaces it; -o FILE puts it elsewhere")
        }
        Failure::Refused(reason) if reason.contains("begins with a dot") => {
            error.hint("-o FILE gives it another name; --allow-hidden takes it under that one")
        }
        Failure::Refused(reason) if reason.contains("no such") => {
            error.hint("names are those of files in the folder that is served, without subfolders")
        }
        Failure::Refused(reason) if reason.contains("signed") => {
            error.hint("--signed-by names whose files are taken; servers sign with `scdp serve --sign FILE`")
        }
        _ => error,
    }
}

/// The object to fetch.
fn wanted(object: &str) -> Result<Wanted, CliError> {
    let Some(digits) = object.strip_prefix("blake3:") else {
        let name = ObjectName::new(object).map_err(|error| CliError::usage(format!("{object:?}: {error}")))?;
        return Ok(Wanted::Name(name));
    };
    let hash = blake3::Hash::from_hex(digits).map_err(|_| {
        CliError::usage(format!("{object}: expected 64 hexadecimal digits after `blake3:`, found {}", digits.len()))
            .hint("`b3sum FILE` and `scdp serve --json` tell a file's hash")
    })?;
    Ok(Wanted::Hash(*hash.as_bytes()))
}

/// The folder to store the object in, and its name there unless it keeps the servers' name.
fn target(output: Option<&Path>) -> Result<(PathBuf, Option<ObjectName>), CliError> {
    let Some(path) = output else { return Ok((PathBuf::from("."), None)) };
    if path.is_dir() {
        return Ok((path.to_owned(), None));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name =
        path.file_name().and_then(|name| name.to_str()).ok_or("expected the name of a file, in UTF-8".to_owned());
    let name = name.and_then(|name| ObjectName::new(name).map_err(|error| error.to_string()));
    Ok((parent.to_owned(), Some(name.map_err(|error| CliError::of_path(path, error))?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_a_name_or_a_hash() {
        let digits = "ab".repeat(32);
        assert_eq!(wanted(&format!("blake3:{digits}")).expect("a hash"), Wanted::Hash([0xab; 32]));
        assert!(matches!(wanted("a b.bin").expect("a name"), Wanted::Name(name) if name.as_str() == "a b.bin"));
        for bad in ["blake3:", "blake3:xy", &format!("blake3:{digits}0"), "", "a/b", "..", "a\nb"] {
            assert!(wanted(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn where_it_goes() {
        let name = |text: &str| Some(ObjectName::new(text).expect("a name"));
        assert_eq!(target(None).expect("here"), (".".into(), None));
        assert_eq!(target(Some(Path::new("x.bin"))).expect("a file"), (".".into(), name("x.bin")));
        assert_eq!(target(Some(Path::new("/tmp/x.bin"))).expect("a file"), ("/tmp".into(), name("x.bin")));
        assert_eq!(target(Some(Path::new("/tmp"))).expect("a folder"), ("/tmp".into(), None));
        assert!(target(Some(Path::new("no/.."))).is_err());
    }
}
