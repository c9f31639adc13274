//! The threads of a run: each simulates its part, window after window, and all synchronise in between.
//!
//! What a part sends to another in a window arrives after it, because the window is no longer than the least delay of the links
//! between parts (Chandy and Misra 1979; the synchronous form is that of Lubachevsky 1989). So within a window no part needs to
//! know anything about the others, and at its end the packets on those links change hands.

use super::super::fabric::Message;
use super::barrier::{Barrier, Spins};
use super::part::Part;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// What a part reports after each window.
#[derive(Default)]
struct Report {
    /// The part sends nothing new before this time.
    lower_bound: AtomicU64,
    /// Events since the part began.
    events: AtomicU64,
    /// Events until the window before.
    events_before: AtomicU64,
    /// Slots that the part's packets have needed.
    slots: AtomicUsize,
    /// Entries in the part's journal since the run was divided.
    journal_len: AtomicUsize,
}

/// What the threads share.
pub(super) struct Windows {
    barrier: Barrier,
    reports: Vec<Report>,
    /// Packets from part to part (from the sending part to each of the others), for even and odd windows.
    mailboxes: [Vec<Mutex<Vec<Message>>>; 2],
    /// End of the current window.
    end: AtomicU64,
    over: AtomicBool,
    /// All parts are to stop after this window.
    stop: AtomicBool,
    limits: Limits,
    /// Windows so far.
    pub(super) count: AtomicU64,
    /// Events of the part with the most events, summed over the windows: what the others wait for.
    pub(super) critical: AtomicU64,
    all_events: AtomicU64,
}

/// Limits of a phase.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// When its last window ends, and the longest window, in picoseconds.
    pub(super) until: u64,
    pub(super) longest: u64,
    /// Windows end at multiples of this where they can: parts that go in windows of their own then go in whole ones.
    pub(super) grid: u64,
    /// Slots available for the packets of all parts.
    pub(super) slots: usize,
    /// Maximum number of entries in the journals of all parts.
    pub(super) journal: usize,
}

impl Windows {
    /// For these parts, which have sent nothing to each other since time `now`.
    pub(super) fn new(parts: &mut [Part], now: u64, limits: Limits) -> Self {
        let n = parts.len();
        let mailboxes = || (0..n * n).map(|_| Mutex::default()).collect();
        let windows = Self {
            barrier: Barrier::new(n),
            reports: (0..n).map(|_| Report::default()).collect(),
            mailboxes: [mailboxes(), mailboxes()],
            end: AtomicU64::new(now),
            over: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            limits,
            count: AtomicU64::new(0),
            critical: AtomicU64::new(0),
            all_events: AtomicU64::new(0),
        };
        // Packets that wait at ports that lead to other parts.
        for part in &mut *parts {
            windows.send(part, 0, now + 1);
        }
        windows.decide();
        windows
    }

    /// Whether there is no window left.
    pub(super) fn over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Stops all parts after this window.
    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// When the current window ends, and the events of all parts so far.
    pub(super) fn progress(&self) -> (u64, u64) {
        (self.end.load(Relaxed), self.all_events.load(Relaxed))
    }

    /// Simulates a part; calls `each` after each window.
    pub(super) fn work(&self, part: &mut Part, mut each: impl FnMut()) {
        let _guard = self.barrier.guard();
        let (mut spins, mut parity) = (Spins::new(), 0);
        while !self.over() {
            let end = self.end.load(Relaxed);
            self.receive(part, parity);
            part.run_before(end);
            parity ^= 1;
            self.send(part, parity, end);
            each();
            if !self.barrier.wait(&mut spins, || self.decide()) {
                return;
            }
        }
        self.receive(part, parity);
    }

    fn mailbox(&self, parity: usize, from: usize, to: usize) -> &Mutex<Vec<Message>> {
        &self.mailboxes[parity][from * self.reports.len() + to]
    }

    fn receive(&self, part: &mut Part, parity: usize) {
        let to = usize::from(part.number);
        for from in 0..self.reports.len() {
            let mut mailbox = self.mailbox(parity, from, to).lock().unwrap_or_else(PoisonError::into_inner);
            for message in mailbox.drain(..) {
                part.fabric.receive(&mut part.engine, &message);
            }
        }
    }

    /// A part has reached the end of a window: moves its packets for other parts to those.
    fn send(&self, part: &mut Part, parity: usize, end: u64) {
        let from = usize::from(part.number);
        let mut first = u64::MAX;
        let mut boxes: Vec<_> = (0..self.reports.len())
            .map(|to| self.mailbox(parity, from, to).lock().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let next = part.send(end, |to, message| {
            debug_assert!(message.arrival >= end, "windows are no longer than what it takes to another part");
            first = first.min(message.arrival);
            boxes[usize::from(to)].push(message);
        });
        drop(boxes);
        let report = &self.reports[from];
        report.lower_bound.store(next.min(first), Relaxed);
        report.events.store(part.engine.events(), Relaxed);
        report.slots.store(part.engine.packets.slots(), Relaxed);
        report.journal_len.store(part.ledger.journal_len(), Relaxed);
        if part.hosts.undone().is_some() {
            self.stop();
        }
    }

    /// When the next window ends, and whether there is one.
    fn decide(&self) {
        let lower_bound = self.reports.iter().map(|report| report.lower_bound.load(Relaxed)).min().unwrap_or(u64::MAX);
        let slots: usize = self.reports.iter().map(|report| report.slots.load(Relaxed)).sum();
        let journal_len: usize = self.reports.iter().map(|report| report.journal_len.load(Relaxed)).sum();
        let Limits { until, longest, grid, slots: most, journal } = self.limits;
        let full = slots >= most || journal_len >= journal;
        let over = lower_bound >= until || self.stop.load(Relaxed) || full;
        self.over.store(over, Relaxed);
        let end = self.end.load(Relaxed);
        let (mut all, mut largest) = (0, 0);
        for report in &self.reports {
            let events = report.events.load(Relaxed);
            all += events;
            largest = largest.max(events - report.events_before.swap(events, Relaxed));
        }
        self.all_events.store(all, Relaxed);
        self.critical.fetch_add(largest, Relaxed);
        if !over {
            let latest = lower_bound.max(end).saturating_add(longest);
            let whole = latest - latest % grid;
            self.end.store(if whole > end { whole } else { latest }.min(until), Relaxed);
            self.count.fetch_add(1, Relaxed);
        }
    }
}
