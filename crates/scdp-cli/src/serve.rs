//! `scdp serve`: serves the files of a folder to hosts that fetch them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anabranch_net::{Endpoint, Manifest, NetError, Protection, Report, Shelf, serve_shelf};
use anabranch_transport::Rate;
use clap::Args;

use crate::arguments::{Listening, Session, Sign};
use crate::events::{Event, Unfinished};
use crate::failure::CliError;
use crate::output::Output;
use crate::signals::{Signals, Stop};
use crate::{figures, key, session, signing};

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The folder to serve
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Highest rate for each request, such as 900Mbps [default: as fast as receivers ask]
    #[arg(long)]
    pub(crate) rate: Option<Rate>,
    #[command(flatten)]
    pub(crate) session: Session<Sign, Listening>,
}

/// Time to hash files before serving: enough for all files of a small folder.
const BEFORE: Duration = Duration::from_secs(1);

pub(crate) fn run(arguments: &Serve, output: &Output) -> Result<ExitCode, CliError> {
    let mut output = Output::like(output);
    let protection = key::protection(&arguments.session.secret, &output)?;
    let protected = matches!(protection, Protection::Psk(_));
    let key = signing::key(&arguments.session.signature, &output)?;
    let directory = &arguments.directory;
    if !directory.is_dir() {
        return Err(CliError::of_path(directory, "no such folder"));
    }
    let signals = Signals::catch()?;
    let mut shelf = Shelf::open(directory)?;
    if let Some(key) = key {
        shelf.sign(key);
    }
    output.waiting("hashing the files");
    let listed = shelf.list(|report| tell(&output, report));
    let (files, bytes) = listed.map_err(|error| CliError::of_path(directory, error))?;
    shelf.hash_for(BEFORE, |report| tell(&output, report));
    output.end();
    let bind = arguments.session.socket.bind;
    let config = session::config(protection, &arguments.session, arguments.rate, bind);
    let mut endpoint = Endpoint::bind(bind, config)?;
    signals.busy();
    let directory = directory.display();
    output.tell(&Event::Listening {
        address: endpoint.local_address()?.to_string(),
        group: None,
        directory: match (output.is_text(), files) {
            (false, _) => directory.to_string(),
            (true, 1) => format!("{directory} (1 file, {})", figures::size(bytes)),
            (true, _) => format!("{directory} ({files} files, {})", figures::size(bytes)),
        },
        protected,
    });
    let mut under_way: Vec<Unfinished> = Vec::new();
    serve_shelf(&mut endpoint, &mut shelf, |report| {
        match &report {
            Report::Serving { peer, manifest } => under_way.push(unfinished(*peer, manifest)),
            Report::Served { peer, manifest, .. } => {
                let ended = unfinished(*peer, manifest);
                under_way.iter().position(|one| *one == ended).map(|place| under_way.swap_remove(place));
            }
            _ => {}
        }
        tell(&output, report);
        signals.flow()
    })?;
    let hint = (!under_way.is_empty())
        .then(|| "`scdp fetch` goes on with 16 MiB or more of a file, from any server".to_owned());
    let stop = Stop { unfinished: under_way, hint, ends_by_signal: true };
    signals.stopped(&output, stop).ok_or_else(|| NetError::Stopped.into())
}

fn unfinished(peer: SocketAddr, manifest: &Manifest) -> Unfinished {
    Unfinished { name: manifest.name.to_string(), peer: peer.to_string() }
}

fn tell(output: &Output, report: Report) {
    output.tell(&match report {
        Report::Indexed { manifest } => {
            let (name, hash) = (manifest.name.to_string(), session::hash(&manifest));
            Event::Indexed { name, hash, size_bytes: manifest.size }
        }
        Report::NotIndexed { name, why } => Event::NotServed { peer: None, reason: format!("{name}: {why}") },
        Report::Serving { peer, manifest } => {
            let (peer, name) = (peer.to_string(), manifest.name.to_string());
            Event::Serving { peer, name, size_bytes: manifest.size }
        }
        Report::NotServed { peer, why } => Event::NotServed { peer: Some(peer.to_string()), reason: why },
        Report::Served { peer, manifest, outcome, sent_bytes, symbols } => Event::Served {
            peer: peer.to_string(),
            name: manifest.name.to_string(),
            complete: outcome.is_success(),
            sent_bytes,
            symbols,
            reason: (!outcome.is_success()).then(|| outcome.to_string()),
        },
        _ => return,
    });
}
