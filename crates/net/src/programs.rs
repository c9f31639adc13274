//! What most programs need, besides [sending](crate::send_file): receive into a directory, serve a directory, fetch an object.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use anabranch_host::wire::{Reason, Refusal};
use anabranch_host::{Failure, HostEvent, Manifest};

pub use anabranch_host::wire::Object as Wanted;

use crate::clock::Clock;
use crate::directory::{Directory, ReceiveOptions, Role, decline, open};
use crate::report::Report;
use crate::shelf::Shelf;
use crate::{Endpoint, NetError};

/// How often progress is reported.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// How often an object is sent again with smaller packets: a path that becomes smaller and smaller is no path.
pub(crate) const SMALLER: u32 = 3;

/// How long the final message is repeated to senders that ask for it.
pub(crate) const LINGER: Duration = Duration::from_millis(50);

/// Receives offered objects into a directory, until `report` stops it.
///
/// # Errors
///
/// [`NetError::Open`] and [`NetError::Socket`]. An object that cannot be received is reported, and is not an error.
pub fn receive_dir(
    endpoint: &mut Endpoint,
    directory: &Path,
    options: &ReceiveOptions,
    mut report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<(), NetError> {
    let mut directory = Directory::new(open(directory)?, options.clone(), Role::Receives, endpoint.waker());
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
        let now = endpoint.now();
        while flow.is_continue()
            && let Some(news) = directory.finished(endpoint.host(), now)
        {
            flow = report(news);
        }
        for news in directory.compared(endpoint.host(), now) {
            if flow.is_continue() {
                flow = report(news);
            }
        }
        let (bytes, size) = directory.progress();
        if flow.is_continue() && ticker.is_due(endpoint) {
            directory.tend(endpoint.host(), now);
            flow = report(Report::Progress { bytes, size });
        }
    }
    let now = endpoint.now();
    for news in directory.cancel(endpoint.host(), now) {
        let _ = report(news);
    }
    // What is being written to the disk is kept, and all peers are notified.
    while directory.is_finishing() {
        endpoint.turn(TICK, |host, now, id, event| decline(host, now, id, &event))?;
        let now = endpoint.now();
        while let Some(news) = directory.finished(endpoint.host(), now) {
            let _ = report(news);
        }
    }
    linger(endpoint)
}

/// Fetches an object into a directory, a share of it from each of several servers that have it.
///
/// # Errors
///
/// [`NetError::Session`] says why it could not be fetched; [`NetError::Stopped`], [`NetError::Open`] and [`NetError::Socket`].
pub fn fetch(
    endpoint: &mut Endpoint,
    object: &Wanted,
    from: &[SocketAddr],
    directory: &Path,
    options: &ReceiveOptions,
    mut report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<Manifest, NetError> {
    let mut options = options.clone();
    options.allow_hidden |= matches!(object, Wanted::Name(_));
    let mut directory = Directory::new(open(directory)?, options, Role::Fetches, endpoint.waker());
    let now = endpoint.now();
    let mut id = endpoint.host().fetch(now, object.clone(), from)?;
    let (mut ticker, mut said) = (Ticker::new(), Vec::new());
    let (mut is_smaller, mut times) = (false, 0);
    let mut result = None;
    while result.is_none() {
        let mut flow = ControlFlow::Continue(());
        endpoint.turn(TICK, |host, now, of, event| {
            if of != id {
                return decline(host, now, of, &event);
            }
            match &event {
                HostEvent::Failed(Failure::Narrow(narrow)) if times < SMALLER && narrow.is_worth_another_session() => {
                    is_smaller = true;
                }
                HostEvent::Failed(failure) if !directory.is_finishing() => {
                    result = Some(Err(NetError::Session(failure.clone())));
                }
                _ => {}
            }
            said.extend(directory.handle(host, now, of, event));
        })?;
        let now = endpoint.now();
        if std::mem::take(&mut is_smaller) {
            // The host remembers which packets arrive.
            times += 1;
            id = endpoint.host().fetch(now, object.clone(), from)?;
        }
        said.extend(directory.finished(endpoint.host(), now));
        said.extend(directory.compared(endpoint.host(), now));
        for news in said.drain(..) {
            match &news {
                Report::Received { manifest } | Report::AlreadyThere { manifest } => {
                    result = Some(Ok(manifest.clone()));
                }
                Report::Narrow { again: true, .. } if result.is_some() => continue,
                Report::NotReceived { why, .. } => result = Some(Err(NetError::Session(why.clone()))),
                _ => {}
            }
            if flow.is_continue() {
                flow = report(news);
            }
        }
        let (bytes, size) = directory.progress();
        if flow.is_continue() && result.is_none() && ticker.is_due(endpoint) {
            directory.tend(endpoint.host(), now);
            flow = report(Report::Progress { bytes, size });
        }
        // What is being written to the disk will be complete.
        if flow.is_break() && result.is_none() && !directory.is_finishing() {
            let now = endpoint.now();
            for news in directory.cancel(endpoint.host(), now) {
                let _ = report(news);
            }
            endpoint.host().cancel(now, id);
            result = Some(Err(NetError::Stopped));
        }
    }
    linger(endpoint)?;
    result.expect("the loop ends with one")
}

/// Serves the files of a directory, until `report` stops it. They are hashed meanwhile; [`Shelf::hash_for`] can do that beforehand.
///
/// # Errors
///
/// [`NetError::Open`] and [`NetError::Socket`].
pub fn serve(
    endpoint: &mut Endpoint,
    directory: &Path,
    report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<(), NetError> {
    let mut shelf = Shelf::open(directory)?;
    let listed = shelf.list(|_| {});
    listed.map_err(|error| NetError::Open { path: directory.to_owned(), error })?;
    serve_shelf(endpoint, &mut shelf, report)
}

/// As [`serve`], for a shelf that is already open.
///
/// # Errors
///
/// [`NetError::Socket`].
pub fn serve_shelf(
    endpoint: &mut Endpoint,
    shelf: &mut Shelf,
    mut report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<(), NetError> {
    shelf.set_waker(endpoint.waker());
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
        let now = endpoint.now();
        let mut said = shelf.ready(endpoint.host(), now);
        if ticker.is_due(endpoint) {
            said.extend(shelf.tend(endpoint.host(), now));
            said.push(Report::Progress { bytes: 0, size: 0 });
        }
        for news in said {
            if flow.is_continue() {
                flow = report(news);
            }
        }
    }
    let now = endpoint.now();
    shelf.cancel(endpoint.host(), now);
    linger(endpoint)
}

/// Senders that missed the final message ask for it: it is repeated for a short time.
fn linger(endpoint: &mut Endpoint) -> Result<(), NetError> {
    let clock = Clock::start();
    while clock.elapsed() < LINGER && endpoint.host().sessions() > 0 {
        endpoint.turn(Duration::from_millis(10), |host, now, id, event| decline(host, now, id, &event))?;
    }
    Ok(())
}

/// Decides when to report progress.
pub(crate) struct Ticker(Clock);

impl Ticker {
    pub(crate) fn new() -> Self {
        Self(Clock::start())
    }

    /// Whether it is time to report, or another thread [asks](crate::Waker::interrupt) for it.
    pub(crate) fn is_due(&mut self, endpoint: &Endpoint) -> bool {
        let due = endpoint.take_interrupt() || self.0.elapsed() >= TICK;
        if due {
            self.0 = Clock::start();
        }
        due
    }
}
