//! Sends files: large ones one after the other, small ones several at once.
//!
//! A small file takes a round trip or two, whatever the rate. So the next ones begin before it is done; how many is decided by the bytes that
//! receivers still need, since each session sends its first window at once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use anabranch_host::{Failure, HostEvent, Outcome, SessionId};

use crate::directory::decline;
use crate::files::Input;
use crate::programs::{TICK, Ticker};
use crate::report::{Outcomes, Report};
use crate::{Endpoint, NetError};

/// Files under way at once, at most: a quarter of the sessions that a receiver allows one address by default.
const FILES: usize = 16;

/// The next file begins when receivers need fewer bytes than this of those under way: as many as three first windows have.
const AHEAD: u64 = 128 << 10;

/// Sends a file to receivers, all at once: by way of a multicast group, or to each its own copy. What became of each is returned in their
/// order.
///
/// # Errors
///
/// As of [`send_files`].
pub fn send_file(
    endpoint: &mut Endpoint,
    file: &Input,
    to: &[SocketAddr],
    group: Option<SocketAddr>,
    report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<Vec<Outcome>, NetError> {
    let outcomes = send_files(endpoint, std::slice::from_ref(file), to, group, report)?;
    Ok(outcomes.into_iter().flatten().map(|outcome| outcome.unwrap_or(Outcome::Failed(Failure::TimedOut))).collect())
}

/// Sends files to receivers, as [`send_file`] does one; small ones several at once. What became of each file is returned in their order. Who does
/// not answer is not tried again with the files that come after it.
///
/// # Errors
///
/// [`NetError::Stopped`] if `report` stops it, [`NetError::Session`] if a session cannot begin, and [`NetError::Socket`]. What is under way
/// is then cancelled. That receivers fail is no error.
pub fn send_files(
    endpoint: &mut Endpoint,
    files: &[Input],
    to: &[SocketAddr],
    group: Option<SocketAddr>,
    mut report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<Vec<Outcomes>, NetError> {
    let mut sending = Sending::new(files, to, group);
    let mut ticker = Ticker::new();
    let mut ended = None;
    loop {
        let mut flow = ControlFlow::Continue(());
        let mut tell = |said: Report| {
            if flow.is_continue() {
                flow = report(said);
            }
        };
        if ended.is_none() {
            ended = sending.begin(endpoint, &mut tell).err();
        }
        if sending.under_way.is_empty() && (ended.is_some() || sending.next == files.len()) {
            break;
        }
        endpoint.turn(TICK, |host, now, id, event| {
            if let Some(other) = sending.handle(id, event, &mut tell) {
                decline(host, now, id, &other);
            }
        })?;
        if ended.is_none() && ticker.is_due() {
            tell(sending.progress(endpoint));
        }
        if flow.is_break() && ended.is_none() {
            ended = Some(NetError::Stopped);
        }
        if ended.is_some() {
            sending.cancel(endpoint);
        }
    }
    ended.map_or(Ok(sending.outcomes), Err)
}

/// A file under way.
#[derive(Debug)]
struct UnderWay {
    file: usize,
    /// Places of its receivers in the list of all.
    receivers: Vec<usize>,
}

/// How far the files are.
#[derive(Debug)]
struct Sending<'a> {
    files: &'a [Input],
    to: &'a [SocketAddr],
    group: Option<SocketAddr>,
    /// The file that comes next.
    next: usize,
    under_way: BTreeMap<SessionId, UnderWay>,
    /// Receivers that did not answer: each file would have to wait for them again.
    silent: Vec<bool>,
    outcomes: Vec<Outcomes>,
    /// Bytes of the files that are done.
    done_bytes: u64,
}

impl<'a> Sending<'a> {
    fn new(files: &'a [Input], to: &'a [SocketAddr], group: Option<SocketAddr>) -> Self {
        Self {
            files,
            to,
            group,
            next: 0,
            under_way: BTreeMap::new(),
            silent: vec![false; to.len()],
            outcomes: vec![vec![None; to.len()]; files.len()],
            done_bytes: 0,
        }
    }

    /// Begins the files whose turn it is.
    fn begin(&mut self, endpoint: &mut Endpoint, tell: &mut impl FnMut(Report)) -> Result<(), NetError> {
        while self.next < self.files.len() && self.under_way.len() < FILES && self.needed(endpoint) < AHEAD {
            let file = self.next;
            self.next += 1;
            tell(Report::Sending { file });
            let receivers: Vec<usize> = (0..self.to.len()).filter(|&index| !self.silent[index]).collect();
            if receivers.is_empty() {
                tell(Report::Sent { file, outcomes: self.outcomes[file].clone(), sent_bytes: 0, symbols: 0 });
                continue;
            }
            let addresses: Vec<SocketAddr> = receivers.iter().map(|&index| self.to[index]).collect();
            let (now, input) = (endpoint.now(), &self.files[file]);
            let manifest = input.manifest().clone();
            let id = endpoint.host().send(now, Box::new(input.clone()), manifest, &addresses, self.group)?;
            self.under_way.insert(id, UnderWay { file, receivers });
        }
        Ok(())
    }

    /// Bytes of the files under way that some receiver needs.
    fn needed(&self, endpoint: &mut Endpoint) -> u64 {
        let of = |(id, one): (&SessionId, &UnderWay)| {
            let size = self.files[one.file].manifest().size;
            size - endpoint.host().acknowledged(*id).unwrap_or(size)
        };
        self.under_way.iter().map(of).sum()
    }

    fn progress(&self, endpoint: &mut Endpoint) -> Report {
        let size = self.files.iter().map(|file| file.manifest().size).sum();
        let under_way = self.under_way.values().map(|one| self.files[one.file].manifest().size).sum::<u64>();
        Report::Progress { bytes: self.done_bytes + under_way - self.needed(endpoint), size }
    }

    /// Something has happened to a session; given back if it is none of these.
    fn handle(&mut self, id: SessionId, event: HostEvent, tell: &mut impl FnMut(Report)) -> Option<HostEvent> {
        let Some(one) = self.under_way.get(&id) else { return Some(event) };
        match event {
            HostEvent::Receiver { index, outcome, .. } => {
                let (file, index) = (one.file, one.receivers[index]);
                self.silent[index] |= outcome == Outcome::Failed(Failure::TimedOut);
                self.outcomes[file][index] = Some(outcome.clone());
                tell(Report::Receiver { file, index, outcome });
            }
            HostEvent::Closed { stats, sent_bytes } => {
                let file = one.file;
                self.under_way.remove(&id);
                self.done_bytes += self.files[file].manifest().size;
                let (outcomes, symbols) = (self.outcomes[file].clone(), stats.data_sent);
                tell(Report::Sent { file, outcomes, sent_bytes, symbols });
            }
            _ => {}
        }
        None
    }

    fn cancel(&self, endpoint: &mut Endpoint) {
        let now = endpoint.now();
        for &id in self.under_way.keys() {
            endpoint.host().cancel(now, id);
        }
    }
}
