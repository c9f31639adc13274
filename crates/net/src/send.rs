//! Sends files: large ones one after the other, small ones several at once.
//!
//! A small file takes a round trip or two, whatever the rate. So the next ones begin before it is done; their number depends on the bytes that
//! receivers still need, since each session sends its first window at once.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::ops::ControlFlow;

use anabranch_host::wire::Reason;
use anabranch_host::{Failure, HostEvent, Outcome, SessionId};
use anabranch_transport::{Duration, Time};

use crate::directory::decline;
use crate::files::Input;
use crate::programs::{LINGER, SMALLER, TICK, Ticker};
use crate::report::{Outcomes, Report};
use crate::{Endpoint, NetError};

/// Maximum number of files in flight: a quarter of the sessions that a receiver allows one address by default. If several hosts send at once, a
/// receiver may have no room for all of them: then fewer.
const FILES: usize = 16;

/// Pause before a receiver that has no room is asked again.
const AGAIN_AFTER: Duration = Duration::from_ms(50);
/// Pause before one is asked again that receives the same object from another sender: half as long as it has been doing so, within these bounds.
const LATER: [Duration; 2] = [Duration::from_ms(500), Duration::from_ms(4000)];
const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Pause before a file is offered again with smaller packets, unless nobody else is sent it: the paths to several receivers are mostly found to be too
/// small within this time, and these are then sent it together.
const TOGETHER: Duration = Duration::from_ms(200);

/// How long a stopped sender tries to notify its peers.
const FAREWELL: Duration = Duration::from_ms(2000);

/// The next file begins when receivers still need fewer bytes than this of those in flight: as many as three first windows have.
const AHEAD: u64 = 128 << 10;

/// Sends a file to all receivers at once, by multicast or as a copy to each. Returns the outcome for each, in their order.
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

/// Sends files to receivers, as [`send_file`] does one; small ones several at once. Returns the outcomes of each file, in their order. A receiver
/// that does not answer is skipped for later files; one that packets do not reach is sent smaller ones; one that has no room is asked again for as long as a silent host is waited for, and one that
/// receives the same file from another sender for [`HostConfig::stall_after`](anabranch_host::HostConfig::stall_after).
///
/// # Errors
///
/// [`NetError::Stopped`] if `report` stops it, [`NetError::Session`] if a session cannot begin, and [`NetError::Socket`]. Files in flight are then
/// cancelled. The failure of receivers is not an error.
pub fn send_files(
    endpoint: &mut Endpoint,
    files: &[Input],
    to: &[SocketAddr],
    group: Option<SocketAddr>,
    mut report: impl FnMut(Report) -> ControlFlow<()>,
) -> Result<Vec<Outcomes>, NetError> {
    let mut sending = Sending::new(files, to, group);
    let mut ticker = Ticker::new();
    let mut stopping: Option<(NetError, Time)> = None;
    loop {
        let mut flow = ControlFlow::Continue(());
        let mut tell = |said: Report| {
            if flow.is_continue() {
                flow = report(said);
            }
        };
        let mut failed = None;
        if stopping.is_none() {
            failed = sending.begin(endpoint, &mut tell).err();
        }
        let over =
            if stopping.is_some() { sending.in_flight.is_empty() } else { failed.is_none() && sending.is_done() };
        if over {
            break;
        }
        endpoint.turn(sending.pause(TICK), |host, now, id, event| {
            let config = host.config();
            let limits = [config.give_up_after, config.stall_after];
            if let Some(other) = sending.handle(now, limits, id, event, &mut tell) {
                decline(host, now, id, &other);
            }
        })?;
        if stopping.is_none() && ticker.is_due(endpoint) {
            tell(sending.progress(endpoint));
        }
        let now = endpoint.now();
        if flow.is_break() && stopping.is_none() {
            failed.get_or_insert(NetError::Stopped);
        }
        if let Some(error) = failed {
            stopping = Some((error, now));
            sending.cancel(endpoint);
        }
        if stopping.as_ref().is_some_and(|(_, since)| now.since(*since) > FAREWELL) {
            break;
        }
    }
    // The last messages may still wait for the socket.
    let since = endpoint.now();
    while endpoint.is_blocked() && endpoint.now().since(since) < FAREWELL {
        endpoint.turn(LINGER, |host, now, id, event| decline(host, now, id, &event))?;
    }
    stopping.map_or(Ok(sending.outcomes), |(error, _)| Err(error))
}

/// A file that is offered or sent.
#[derive(Debug)]
struct InFlight {
    file: usize,
    /// Indices of its receivers in the list of all.
    receivers: Vec<usize>,
    /// Those of them that have no room for it now.
    busy: Vec<usize>,
    /// Those that receive it from another sender.
    taken: Vec<usize>,
}

/// A file to be offered again to some receivers.
#[derive(Debug)]
struct Again {
    file: usize,
    receivers: Vec<usize>,
    at: Time,
}

/// Files to be offered again to receivers that need smaller packets: their host remembers which arrive.
#[derive(Debug, Default)]
struct Smaller {
    waiting: VecDeque<Again>,
    /// How often, by file and receiver.
    times: BTreeMap<(usize, usize), u32>,
}

impl Smaller {
    /// A receiver needs smaller packets. False if that has been tried often enough.
    fn add(&mut self, now: Time, file: usize, receiver: usize) -> bool {
        let times = self.times.entry((file, receiver)).or_insert(0);
        *times += 1;
        if *times > SMALLER {
            return false;
        }
        match self.waiting.iter_mut().find(|again| again.file == file) {
            Some(again) => again.receivers.push(receiver),
            None => self.waiting.push_back(Again { file, receivers: vec![receiver], at: now + TOGETHER }),
        }
        true
    }

    /// A file is sent to nobody now.
    fn hurry(&mut self, now: Time, file: usize) {
        self.waiting.iter_mut().filter(|again| again.file == file).for_each(|again| again.at = now);
    }

    fn is_due(&self, now: Time) -> bool {
        self.waiting.iter().any(|again| again.at <= now)
    }

    fn next(&mut self, now: Time) -> Option<Again> {
        let place = self.waiting.iter().position(|again| again.at <= now)?;
        self.waiting.remove(place)
    }
}

/// Progress of the files.
#[derive(Debug)]
struct Sending<'a> {
    files: &'a [Input],
    to: &'a [SocketAddr],
    group: Option<SocketAddr>,
    /// The next file to begin.
    next: usize,
    /// Maximum number of files at once: lowered when receivers had no room.
    most: usize,
    in_flight: BTreeMap<SessionId, InFlight>,
    /// Files that some receivers had no room for, to be offered to these receivers again: until then no other file begins.
    again: VecDeque<Again>,
    /// Files that some receivers receive from another sender, to be offered to them later.
    later: VecDeque<Again>,
    /// Files to be offered again with smaller packets.
    smaller: Smaller,
    /// Since when each receiver has had no room for anything.
    busy_since: Vec<Option<Time>>,
    /// Since when each receiver receives a file from another sender, by file and receiver.
    taken_since: BTreeMap<(usize, usize), Time>,
    /// Receivers that did not answer: otherwise each file would wait for them again.
    silent: Vec<bool>,
    outcomes: Vec<Outcomes>,
    /// Bytes and symbols that were sent for each file.
    sent: Vec<(u64, u64)>,
    /// Bytes of the files that are finished.
    done_bytes: u64,
}

impl<'a> Sending<'a> {
    fn new(files: &'a [Input], to: &'a [SocketAddr], group: Option<SocketAddr>) -> Self {
        Self {
            files,
            to,
            group,
            next: 0,
            most: FILES,
            in_flight: BTreeMap::new(),
            again: VecDeque::new(),
            later: VecDeque::new(),
            smaller: Smaller::default(),
            busy_since: vec![None; to.len()],
            taken_since: BTreeMap::new(),
            silent: vec![false; to.len()],
            outcomes: vec![vec![None; to.len()]; files.len()],
            sent: vec![(0, 0); files.len()],
            done_bytes: 0,
        }
    }

    fn is_done(&self) -> bool {
        let waits = self.to_repeat().next().is_some();
        self.next == self.files.len() && !waits && self.in_flight.is_empty()
    }

    /// How long to wait for something to happen.
    fn pause(&self, most: std::time::Duration) -> std::time::Duration {
        if self.to_repeat().next().is_none() { most } else { most.min(PAUSE) }
    }

    /// Files that are to be offered again.
    fn to_repeat(&self) -> impl Iterator<Item = &Again> {
        self.again.iter().chain(&self.later).chain(&self.smaller.waiting)
    }

    /// The next file to begin, if there is one and room for one more.
    fn next(&mut self, now: Time, tell: &mut impl FnMut(Report)) -> Option<(usize, Vec<usize>)> {
        if let Some(again) = self.smaller.next(now) {
            return Some((again.file, again.receivers));
        }
        if self.in_flight.len() >= self.most {
            return None;
        }
        for queue in [&mut self.again, &mut self.later] {
            if queue.front().is_some_and(|again| now >= again.at) {
                return queue.pop_front().map(|again| (again.file, again.receivers));
            }
        }
        if !self.again.is_empty() || self.next == self.files.len() {
            return None;
        }
        self.next += 1;
        tell(Report::Sending { file: self.next - 1 });
        Some((self.next - 1, (0..self.to.len()).collect()))
    }

    /// Begins the files whose turn it is.
    fn begin(&mut self, endpoint: &mut Endpoint, tell: &mut impl FnMut(Report)) -> Result<(), NetError> {
        // What a receiver has lost its session for does not wait for others.
        while self.smaller.is_due(endpoint.now()) || self.needed(endpoint) < AHEAD {
            let now = endpoint.now();
            let Some((file, receivers)) = self.next(now, tell) else { break };
            let receivers: Vec<usize> = receivers.into_iter().filter(|&index| !self.silent[index]).collect();
            if receivers.is_empty() {
                self.end_if_done(file, tell);
                continue;
            }
            let reader = match self.files[file].reader() {
                Ok(reader) => reader,
                Err(error) => {
                    let failed = Outcome::Failed(Failure::Read(error.to_string()));
                    for index in receivers {
                        self.outcomes[file][index] = Some(failed.clone());
                        tell(Report::Receiver { file, index, outcome: failed.clone() });
                    }
                    self.end_if_done(file, tell);
                    continue;
                }
            };
            let addresses: Vec<SocketAddr> = receivers.iter().map(|&index| self.to[index]).collect();
            let manifest = self.files[file].manifest().clone();
            let id = endpoint.host().send(now, Box::new(reader), manifest, &addresses, self.group)?;
            self.in_flight.insert(id, InFlight { file, receivers, busy: Vec::new(), taken: Vec::new() });
        }
        Ok(())
    }

    /// Bytes of the files in flight that some receiver needs.
    fn needed(&self, endpoint: &mut Endpoint) -> u64 {
        let of = |(id, one): (&SessionId, &InFlight)| {
            let size = self.files[one.file].manifest().size;
            size - endpoint.host().acknowledged(*id).unwrap_or(size)
        };
        self.in_flight.iter().map(of).sum()
    }

    fn progress(&self, endpoint: &mut Endpoint) -> Report {
        let size = self.files.iter().map(|file| file.manifest().size).sum();
        // A file may be under way twice, in packets of two sizes: what its slowest receiver has counts.
        let mut have: BTreeMap<usize, u64> = BTreeMap::new();
        for (&id, one) in &self.in_flight {
            let bytes = endpoint.host().acknowledged(id).unwrap_or(self.files[one.file].manifest().size);
            have.entry(one.file).and_modify(|least| *least = bytes.min(*least)).or_insert(bytes);
        }
        Report::Progress { bytes: self.done_bytes + have.values().sum::<u64>(), size }
    }

    /// Handles an event of a session; returns the event if the session is none of these. A receiver that has had no room for anything for the first
    /// of the two limits counts as having refused, and one that receives the file from another sender for the second.
    fn handle(
        &mut self,
        now: Time,
        limits: [Duration; 2],
        id: SessionId,
        event: HostEvent,
        tell: &mut impl FnMut(Report),
    ) -> Option<HostEvent> {
        let Some(one) = self.in_flight.get_mut(&id) else { return Some(event) };
        let file = one.file;
        match event {
            HostEvent::Receiver { index, outcome, .. } => {
                let index = one.receivers[index];
                let reason = if let Outcome::Refused(refusal) = &outcome { Some(refusal.reason) } else { None };
                if let Outcome::Failed(Failure::Narrow(narrow)) = &outcome
                    && narrow.is_worth_another_session()
                    && self.smaller.add(now, file, index)
                {
                    tell(Report::Narrow { narrow: *narrow, again: true });
                    return None;
                }
                if reason == Some(Reason::UnderWay) {
                    let since = *self.taken_since.entry((file, index)).or_insert(now);
                    if now.since(since) < limits[1] {
                        one.taken.push(index);
                        return None;
                    }
                }
                if reason == Some(Reason::Busy) {
                    let since = *self.busy_since[index].get_or_insert(now);
                    if now.since(since) < limits[0] {
                        one.busy.push(index);
                        return None;
                    }
                } else {
                    self.busy_since[index] = None;
                }
                self.silent[index] |= outcome == Outcome::Failed(Failure::TimedOut);
                self.outcomes[file][index] = Some(outcome.clone());
                tell(Report::Receiver { file, index, outcome });
            }
            HostEvent::Full { bytes } => tell(Report::Full { file, bytes }),
            HostEvent::Delivery { index, delivery, .. } => {
                let index = one.receivers[index];
                tell(Report::Delivery { file, index, delivery });
            }
            HostEvent::Closed { stats, sent_bytes } => {
                self.sent[file].0 += sent_bytes;
                self.sent[file].1 += stats.data_sent;
                let (busy, taken) = (std::mem::take(&mut one.busy), std::mem::take(&mut one.taken));
                self.in_flight.remove(&id);
                if !self.in_flight.values().any(|one| one.file == file) {
                    self.smaller.hurry(now, file);
                }
                if !busy.is_empty() {
                    self.again.push_back(Again { file, receivers: busy, at: now + AGAIN_AFTER });
                    self.most = (self.most / 2).max(1);
                }
                if !taken.is_empty() {
                    let since = taken.iter().filter_map(|&index| self.taken_since.get(&(file, index))).max();
                    let pause = since.map_or(Duration::ZERO, |&since| now.since(since) / 2).clamp(LATER[0], LATER[1]);
                    self.later.push_back(Again { file, receivers: taken, at: now + pause });
                }
                self.end_if_done(file, tell);
            }
            _ => {}
        }
        None
    }

    /// A file is finished, unless some receivers are still sent it, or are to be offered it again.
    fn end_if_done(&mut self, file: usize, tell: &mut impl FnMut(Report)) {
        let in_flight = self.in_flight.values().map(|one| one.file);
        if in_flight.chain(self.to_repeat().map(|again| again.file)).any(|other| other == file) {
            return;
        }
        self.done_bytes += self.files[file].manifest().size;
        let (outcomes, (sent_bytes, symbols)) = (self.outcomes[file].clone(), self.sent[file]);
        tell(Report::Sent { file, outcomes, sent_bytes, symbols });
    }

    fn cancel(&mut self, endpoint: &mut Endpoint) {
        let now = endpoint.now();
        self.again.clear();
        self.later.clear();
        self.smaller.waiting.clear();
        for &id in self.in_flight.keys() {
            endpoint.host().cancel(now, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn receivers_that_need_smaller_packets_get_them_together_and_not_for_ever() {
        let mut smaller = Smaller::default();
        assert!(smaller.add(at(0), 7, 1) && smaller.add(at(150), 7, 3) && smaller.add(at(160), 8, 1));
        assert!(!smaller.is_due(at(199)) && smaller.is_due(at(200)) && smaller.next(at(199)).is_none());
        let again = smaller.next(at(200)).expect("it is due");
        assert_eq!((again.file, again.receivers), (7, vec![1, 3]));
        assert!(smaller.next(at(300)).is_none());
        smaller.hurry(at(301), 8);
        assert_eq!(smaller.next(at(301)).map(|again| again.file), Some(8));
        assert!((1..SMALLER).all(|_| smaller.add(at(400), 7, 1)), "three times");
        assert!(!smaller.add(at(400), 7, 1) && smaller.add(at(400), 7, 2));
    }
}
