//! What most programs want: send a file, receive into a directory, serve a directory, fetch an object.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use anabranch_host::wire::{Reason, Refusal};
use anabranch_host::{Failure, HostEvent, Manifest, Outcome};

pub use anabranch_host::wire::Object as Wanted;

use crate::clock::Clock;
use crate::directory::{Directory, ReceiveOptions, decline, open};
use crate::files::Input;
use crate::report::Report;
use crate::shelf::Shelf;
use crate::{Endpoint, NetError};

/// How often a caller is told how far it is.
const TICK: Duration = Duration::from_millis(100);

/// For how long the last word is repeated to who asks for it.
const LINGER: Duration = Duration::from_millis(50);

/// Sends a file to receivers, all at once: by way of a multicast group, or to each its own copy. What became of each is returned in their
/// order.
///
/// # Errors
///
/// [`NetError::Stopped`] if `report` stops it, [`NetError::Session`] if the session cannot begin, and [`NetError::Socket`]. That
/// receivers fail is no error.
pub fn send_file(
    endpoint: &mut Endpoint,
    file: &Input,
    to: &[SocketAddr],
    group: Option<SocketAddr>,
    mut report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<Vec<Outcome>, NetError> {
    let now = endpoint.now();
    let id = endpoint.host().send(now, Box::new(file.clone()), file.manifest().clone(), to, group)?;
    let mut outcomes: Vec<Option<Outcome>> = vec![None; to.len()];
    let (mut over, mut ticker, mut stopped) = (false, Ticker::new(), false);
    while !over {
        let mut flow = ControlFlow::Continue(());
        endpoint.turn(TICK, |host, now, of, event| match event {
            HostEvent::Receiver { index, outcome, .. } if of == id => {
                outcomes[index] = Some(outcome.clone());
                if flow.is_continue() {
                    flow = report(Report::Receiver { index, outcome });
                }
            }
            HostEvent::Closed(_) if of == id => over = true,
            other => decline(host, now, of, &other),
        })?;
        if flow.is_continue() && ticker.is_due() {
            let size = file.manifest().size;
            let bytes = endpoint.host().acknowledged(id).unwrap_or(size);
            flow = report(Report::Progress { bytes, size });
        }
        if flow.is_break() && !stopped {
            stopped = true;
            let now = endpoint.now();
            endpoint.host().cancel(now, id);
        }
    }
    if stopped {
        return Err(NetError::Stopped);
    }
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Failed(Failure::TimedOut))).collect())
}

/// Receives what is offered into a directory, until `report` stops it.
///
/// # Errors
///
/// [`NetError::Open`] and [`NetError::Socket`]. That objects cannot be received is reported, and no error.
pub fn receive_dir(
    endpoint: &mut Endpoint,
    directory: &Path,
    options: &ReceiveOptions,
    mut report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<(), NetError> {
    let mut directory = Directory::new(open(directory)?, options.clone());
    let mut ticker = Ticker::new();
    let mut flow = ControlFlow::Continue(());
    while flow.is_continue() {
        endpoint.turn(TICK, |host, now, id, event| {
            if let HostEvent::Requested { .. } = event {
                return host.refuse(now, id, Refusal::new(Reason::NotFound, "this host serves nothing"));
            }
            if let Some(news) = directory.handle(host, now, id, event)
                && flow.is_continue()
            {
                flow = report(news);
            }
        })?;
        let (bytes, size) = directory.progress();
        if flow.is_continue() && ticker.is_due() {
            flow = report(Report::Progress { bytes, size });
        }
    }
    let now = endpoint.now();
    directory.cancel(endpoint.host(), now);
    linger(endpoint)
}

/// Fetches an object from servers that have it, of each a share, into a directory.
///
/// # Errors
///
/// [`NetError::Session`] says why it could not be had; [`NetError::Stopped`], [`NetError::Open`] and [`NetError::Socket`].
pub fn fetch(
    endpoint: &mut Endpoint,
    object: &Wanted,
    from: &[SocketAddr],
    directory: &Path,
    options: &ReceiveOptions,
    mut report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<Manifest, NetError> {
    let mut directory = Directory::new(open(directory)?, options.clone());
    let now = endpoint.now();
    let id = endpoint.host().fetch(now, object.clone(), from)?;
    let mut ticker = Ticker::new();
    let mut result = None;
    while result.is_none() {
        let mut flow = ControlFlow::Continue(());
        endpoint.turn(TICK, |host, now, of, event| {
            if of != id {
                return decline(host, now, of, &event);
            }
            let failed = if let HostEvent::Failed(failure) = &event { Some(failure.clone()) } else { None };
            let news = directory.handle(host, now, of, event);
            match &news {
                Some(Report::Received { manifest } | Report::AlreadyThere { manifest }) => {
                    result = Some(Ok(manifest.clone()));
                }
                Some(Report::NotReceived { why, .. }) => result = Some(Err(NetError::Session(why.clone()))),
                _ => {
                    if let Some(failure) = failed {
                        result = Some(Err(NetError::Session(failure)));
                    }
                }
            }
            if let Some(news) = news
                && flow.is_continue()
            {
                flow = report(news);
            }
        })?;
        let (bytes, size) = directory.progress();
        if flow.is_continue() && result.is_none() && ticker.is_due() {
            flow = report(Report::Progress { bytes, size });
        }
        if flow.is_break() && result.is_none() {
            let now = endpoint.now();
            endpoint.host().cancel(now, id);
            result = Some(Err(NetError::Stopped));
        }
    }
    linger(endpoint)?;
    result.expect("the loop ends with one")
}

/// Serves the files of a directory, until `report` stops it. [`Shelf`] can hash them before.
///
/// # Errors
///
/// [`NetError::Open`] and [`NetError::Socket`].
pub fn serve(
    endpoint: &mut Endpoint,
    directory: &Path,
    report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<(), NetError> {
    serve_shelf(endpoint, &mut Shelf::open(directory)?, report)
}

/// As [`serve`], of a shelf that is open.
///
/// # Errors
///
/// [`NetError::Socket`].
pub fn serve_shelf(
    endpoint: &mut Endpoint,
    shelf: &mut Shelf,
    mut report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<(), NetError> {
    let mut flow = ControlFlow::Continue(());
    let mut ticker = Ticker::new();
    while flow.is_continue() {
        endpoint.turn(TICK, |host, now, id, event| {
            if let Some(news) = shelf.handle(host, now, id, event)
                && flow.is_continue()
            {
                flow = report(news);
            }
        })?;
        if flow.is_continue() && ticker.is_due() {
            flow = report(Report::Progress { bytes: 0, size: 0 });
        }
    }
    let now = endpoint.now();
    shelf.cancel(endpoint.host(), now);
    linger(endpoint)
}

/// Senders that have not seen the last word ask for it: it is repeated for a little while.
fn linger(endpoint: &mut Endpoint) -> Result<(), NetError> {
    let clock = Clock::start();
    while clock.elapsed() < LINGER && endpoint.host().sessions() > 0 {
        endpoint.turn(Duration::from_millis(10), |host, now, id, event| decline(host, now, id, &event))?;
    }
    Ok(())
}

/// Tells when to report.
struct Ticker(Clock);

impl Ticker {
    fn new() -> Self {
        Self(Clock::start())
    }

    fn is_due(&mut self) -> bool {
        let due = self.0.elapsed() >= TICK;
        if due {
            self.0 = Clock::start();
        }
        due
    }
}
