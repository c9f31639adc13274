//! `scdp serve`: serves the files of a folder to hosts that fetch them.

use std::ops::ControlFlow;
use std::process::ExitCode;

use anabranch_net::{Endpoint, NetError, Protection, Report, Shelf, serve_shelf};

use crate::arguments::Serve;
use crate::events::Event;
use crate::failure::CliError;
use crate::output::Output;
use crate::signals::Signals;
use crate::{figures, key, session, signing};

pub(crate) fn run(arguments: &Serve, output: &Output) -> Result<ExitCode, CliError> {
    let mut output = Output::new(!output.is_text());
    let protection = key::protection(&arguments.secret, &output)?;
    let protected = matches!(protection, Protection::Psk(_));
    let key = signing::key(&arguments.sign, &output)?;
    let directory = &arguments.directory;
    if !directory.is_dir() {
        return Err(CliError::of_path(directory, "no such folder"));
    }
    let signals = Signals::catch()?;
    let mut shelf = Shelf::open(directory)?;
    if let Some(key) = key {
        shelf.sign(key);
    }
    let (files, bytes) = index(&mut shelf, &mut output).map_err(|error| CliError::of_path(directory, error))?;
    let config = session::config(protection, &arguments.timeout, &arguments.packets, arguments.rate, arguments.bind);
    let mut endpoint = Endpoint::bind(arguments.bind, config)?;
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
    serve_shelf(&mut endpoint, &mut shelf, |report| {
        match report {
            Report::Serving { peer, manifest } => output.tell(&Event::Serving {
                peer: peer.to_string(),
                name: manifest.name.to_string(),
                size_bytes: manifest.size,
            }),
            Report::NotServed { peer, why } => {
                output.tell(&Event::NotServed { peer: Some(peer.to_string()), reason: why });
            }
            Report::Served { peer, manifest, outcome, sent_bytes, symbols } => output.tell(&Event::Served {
                peer: peer.to_string(),
                name: manifest.name.to_string(),
                complete: outcome.is_success(),
                sent_bytes,
                symbols,
                reason: (!outcome.is_success()).then(|| outcome.to_string()),
            }),
            _ => {}
        }
        signals.flow()
    })?;
    Err(signals.stopped().unwrap_or_else(|| NetError::Stopped.into()))
}

/// Hashes all files. Returns their number and their bytes.
fn index(shelf: &mut Shelf, output: &mut Output) -> std::io::Result<(usize, u64)> {
    let (mut files, mut total) = (0, 0);
    output.waiting("hashing the files".to_owned());
    let shown: &Output = output;
    let _ = shelf.index(|name, found| {
        match found {
            Ok(manifest) => {
                files += 1;
                total += manifest.size;
                let (hash, size_bytes) = (session::hash(manifest), manifest.size);
                shown.tell(&Event::Indexed { name: name.to_owned(), hash, size_bytes });
            }
            Err(error) => shown.tell(&Event::NotServed { peer: None, reason: format!("{name}: {error}") }),
        }
        ControlFlow::Continue(())
    })?;
    output.end();
    Ok((files, total))
}
