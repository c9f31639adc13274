//! Jobs: sessions that are the messages of operations which wait for each other.
//!
//! A session begins when its operation starts: one entity of the scheduler stands for all that is due. That a receiver has
//! all of a message, and that its senders have closed, are what operations wait for. Messages inside a server have no sessions.

use super::session_group::SessionGroup;
use crate::workload::{PlacedJob, Session};
use anabranch_job::progress::{Matched, RankTimes, Times};
use anabranch_job::{Op, Progress};
use anabranch_transport::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// In [`Jobs::place`]: no part of a job.
const NONE: u32 = u32::MAX;

/// A job of a run.
struct Running {
    group: u16,
    placed: Arc<PlacedJob>,
    /// The session of the first message that needs the network; the others follow.
    first: u32,
    /// Once it has begun.
    progress: Option<Progress>,
    /// Endpoints of each session that have to close until the sender knows that all of its message has arrived.
    senders: Vec<u16>,
    /// Receivers that lack a message.
    undelivered: u64,
    /// Why it will never be complete.
    stopped: Option<String>,
}

impl Running {
    /// The operation that sends what one of its sessions carries.
    fn op(&self, own: usize) -> Op {
        self.placed.job.sends()[self.placed.network[own] as usize]
    }
}

/// The fate of a job.
#[derive(Clone, Debug)]
pub struct JobRow {
    /// The group whose sessions are its messages.
    pub group: u16,
    /// The first of them; the others follow, in the order of [`PlacedJob::network`].
    pub first: u32,
    /// How its ranks have spent their time; empty: it has not begun.
    pub ranks: Vec<RankTimes>,
    /// When each of its operations began and ended, and which message it receives; empty: it has not begun, or nobody asked.
    pub operations: Vec<(Times, Option<Matched>)>,
    /// Its ranks and their hosts.
    pub placed: Arc<PlacedJob>,
}

/// All jobs of a run.
#[derive(Default)]
pub(super) struct Jobs {
    running: Vec<Running>,
    /// The job of each session. Empty without jobs.
    place: Vec<u32>,
    /// Jobs that have stopped, until their sessions are given up.
    to_stop: VecDeque<usize>,
}

impl Jobs {
    /// Those of these sessions.
    pub(super) fn new(sessions: &[Session], groups: &[SessionGroup]) -> Self {
        let mut jobs = Self::default();
        if groups.iter().all(|group| group.job.is_none()) {
            return jobs;
        }
        let mut number_of: Vec<Option<u32>> = vec![None; groups.len()];
        for (number, session) in (0..).zip(sessions) {
            let group = &groups[usize::from(session.group)];
            let Some(placed) = &group.job else {
                jobs.place.push(NONE);
                continue;
            };
            let job = *number_of[usize::from(session.group)].get_or_insert_with(|| {
                jobs.running.push(Running {
                    group: session.group,
                    placed: Arc::clone(placed),
                    first: number,
                    progress: None,
                    senders: Vec::new(),
                    undelivered: 0,
                    stopped: None,
                });
                jobs.running.len() as u32 - 1
            });
            jobs.place.push(job);
            let running = &mut jobs.running[job as usize];
            debug_assert_eq!(running.first + running.senders.len() as u32, number, "they begin together");
            running.senders.push(0);
            running.undelivered += session.sinks.len() as u64;
        }
        jobs
    }

    /// Whether there are any.
    pub(super) fn exist(&self) -> bool {
        !self.running.is_empty()
    }

    /// The job of a session, and which of the job's sessions it is.
    fn of(&mut self, session: u32) -> Option<(usize, &mut Running, usize)> {
        let job = *self.place.get(session as usize).filter(|&&job| job != NONE)? as usize;
        let running = &mut self.running[job];
        let own = (session - running.first) as usize;
        Some((job, running, own))
    }

    /// Whether a session is a message of a job.
    pub(super) fn has(&self, session: u32) -> bool {
        self.place.get(session as usize).is_some_and(|&job| job != NONE)
    }

    /// The time has come at which the job of a session begins.
    pub(super) fn begin(&mut self, session: u32, now: Time) {
        let Some((_, running, _)) = self.of(session) else { return };
        if running.progress.is_none() {
            let (job, settings) = (Arc::clone(&running.placed.job), running.placed.settings.clone());
            running.progress = Some(Progress::new(job, settings, now));
        }
    }

    /// A receiver of a session has all of it at a time.
    pub(super) fn delivered(&mut self, session: u32, receiver: u16, at: Time) {
        if let Some((_, Running { progress: Some(progress), undelivered, placed, stopped: None, .. }, own)) =
            self.of(session)
        {
            *undelivered -= 1;
            progress.delivered(placed.network[own], receiver, at);
        }
    }

    /// A session has been opened: so many of its endpoints send.
    pub(super) fn opened(&mut self, session: u32, senders: u16) {
        if let Some((_, running, own)) = self.of(session) {
            running.senders[own] = senders;
        }
    }

    /// An endpoint of a session that sends has closed.
    pub(super) fn sender_closed(&mut self, session: u32, now: Time) {
        let Some((_, Running { progress: Some(progress), senders, placed, stopped: None, .. }, own)) = self.of(session)
        else {
            return;
        };
        let left = &mut senders[own];
        *left = left.saturating_sub(1);
        if *left == 0 {
            progress.acknowledged(placed.network[own], now);
        }
    }

    /// A session will never be complete: its job stops.
    pub(super) fn stop(&mut self, session: u32, why: &str) {
        let Some((job, running, own)) = self.of(session) else { return };
        if running.stopped.is_none() {
            let op = running.op(own);
            let operation = running.placed.job.operations()[op as usize];
            running.stopped = Some(format!("the job has stopped: {operation}: {why}"));
            self.to_stop.push_back(job);
        }
    }

    /// When something happens next.
    pub(super) fn due(&self) -> Option<Time> {
        let stops = (!self.to_stop.is_empty()).then_some(Time::ZERO);
        let goes_on = self.running.iter().filter(|job| job.stopped.is_none());
        goes_on.filter_map(|job| job.progress.as_ref()?.due()).chain(stops).min()
    }

    /// What is due by now happens: takes the sessions that begin.
    pub(super) fn advance(&mut self, now: Time, begin: &mut Vec<u32>) {
        for (number, job) in self.running.iter_mut().enumerate() {
            let Running { progress: Some(progress), stopped: None, .. } = job else { continue };
            progress.advance(now);
            let messages = std::iter::from_fn(|| progress.take_message());
            begin.extend(messages.filter_map(|message| Some(job.first + job.placed.place_of(message.number)?)));
            if let Some(why) = progress.stuck() {
                job.stopped = Some(format!("the job is in a deadlock: {why}"));
                self.to_stop.push_back(number);
            }
        }
    }

    /// Takes the sessions of a job that has stopped, and why it has.
    pub(super) fn take_stopped(&mut self) -> Option<(String, std::ops::Range<u32>)> {
        let job = &self.running[self.to_stop.pop_front()?];
        Some((job.stopped.clone().unwrap_or_default(), job.first..job.first + job.senders.len() as u32))
    }

    /// The run is over. Of jobs whose messages have all arrived, what is left needs no network and happens. A sender that has heard
    /// nothing by now, after the last message, waits no longer.
    pub(super) fn finish(&mut self, now: Time) {
        for job in &mut self.running {
            let Running { progress: Some(progress), stopped: None, undelivered: 0, senders, placed, .. } = job else {
                continue;
            };
            for (&message, left) in placed.network.iter().zip(senders) {
                if std::mem::take(left) > 0 {
                    progress.acknowledged(message, now);
                }
            }
            while let Some(due) = progress.due() {
                progress.advance(due);
            }
        }
    }

    /// What a session that has not begun waits for, for a person.
    pub(super) fn waits_for(&self, session: u32) -> Option<String> {
        let job = *self.place.get(session as usize).filter(|&&job| job != NONE)?;
        let running = &self.running[job as usize];
        let op = running.op((session - running.first) as usize);
        let times = running.progress.as_ref().map(|progress| progress.times(op)).unwrap_or_default();
        times.started.is_none().then(|| format!("waits, {}", running.placed.job.operations()[op as usize]))
    }

    /// What has become of each, with or without its operations.
    pub(super) fn rows(&self, operations: bool) -> Vec<JobRow> {
        let times = |progress: &Progress| {
            let matched = progress.matched().into_iter();
            (0..).zip(matched).map(|(op, matched): (Op, _)| (progress.times(op), matched)).collect()
        };
        let row = |job: &Running| JobRow {
            group: job.group,
            first: job.first,
            ranks: job.progress.as_ref().map(Progress::ranks).unwrap_or_default(),
            operations: job.progress.as_ref().filter(|_| operations).map(times).unwrap_or_default(),
            placed: Arc::clone(&job.placed),
        };
        self.running.iter().map(row).collect()
    }
}
