//! The threads of a run: each simulates its part, window after window, and all wait for each other in between.
//!
//! What a part sends to another in a window arrives after it, because the window is no longer than the least delay of the links
//! between parts (Chandy and Misra 1979; the synchronous form is that of Lubachevsky 1989). So within a window nobody needs to
//! know anything of the others, and at its end the packets on those links change hands.

use super::super::fabric::Crossing;
use super::gate::Gate;
use super::part::Part;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// What a part says of itself after each window.
#[derive(Default)]
struct Said {
    /// Nothing new will come from it before this time.
    bound: AtomicU64,
    /// Events since its beginning.
    events: AtomicU64,
    /// Events until the window before.
    events_before: AtomicU64,
    /// Places for packets that it has needed.
    places: AtomicUsize,
    /// What is in its ledger since the run was divided.
    noted: AtomicUsize,
}

/// What the threads share.
pub(super) struct Windows {
    gate: Gate,
    said: Vec<Said>,
    /// Packets from part to part (from the one that sends to each of the others), of every other window.
    mail: [Vec<Mutex<Vec<Crossing>>>; 2],
    /// End of the current window.
    end: AtomicU64,
    over: AtomicBool,
    /// Somebody wants all to come to an end: after this window.
    stop: AtomicBool,
    /// Longest window, and when the last one ends.
    longest: u64,
    until: u64,
    /// Places for packets that there are for all.
    places: usize,
    /// Windows so far.
    pub(super) count: AtomicU64,
    /// Events of the part that had most, added up over the windows: what the others wait for.
    pub(super) critical: AtomicU64,
    all_events: AtomicU64,
}

/// Sessions opened, and what became of them, in the ledgers of all parts before they are made one: each part notes every session
/// that is opened, and the memory for that is to be bounded.
const NOTED: usize = 1 << 18;

impl Windows {
    /// For these parts, which have handed over nothing since time `now`. Windows last `longest` at most.
    pub(super) fn new(parts: &mut [Part], now: u64, longest: u64, until: u64, places: usize) -> Self {
        let n = parts.len();
        let mail = || (0..n * n).map(|_| Mutex::default()).collect();
        let windows = Self {
            gate: Gate::new(n),
            said: (0..n).map(|_| Said::default()).collect(),
            mail: [mail(), mail()],
            end: AtomicU64::new(now),
            over: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            longest,
            until,
            places,
            count: AtomicU64::new(0),
            critical: AtomicU64::new(0),
            all_events: AtomicU64::new(0),
        };
        // What waits at ports that lead to other parts.
        for part in &mut *parts {
            windows.hand_over(part, 0, now + 1);
        }
        windows.decide();
        windows
    }

    /// Whether there is no window left.
    pub(super) fn over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// All parts end with this window.
    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// When the current window ends, and the events of all parts so far.
    pub(super) fn progress(&self) -> (u64, u64) {
        (self.end.load(Relaxed), self.all_events.load(Relaxed))
    }

    /// Simulates a part; calls `each` after each window.
    pub(super) fn work(&self, part: &mut Part, mut each: impl FnMut()) {
        let _guard = self.gate.guard();
        let mut turn = 0;
        while !self.over() {
            let end = self.end.load(Relaxed);
            self.take_over(part, turn);
            part.run_before(end);
            turn ^= 1;
            self.hand_over(part, turn, end);
            each();
            if !self.gate.pass(|| self.decide()) {
                return;
            }
        }
        self.take_over(part, turn);
    }

    fn mail(&self, turn: usize, from: usize, to: usize) -> &Mutex<Vec<Crossing>> {
        &self.mail[turn][from * self.said.len() + to]
    }

    fn take_over(&self, part: &mut Part, turn: usize) {
        let to = usize::from(part.number);
        for from in 0..self.said.len() {
            let mut mail = self.mail(turn, from, to).lock().unwrap_or_else(PoisonError::into_inner);
            for crossing in mail.drain(..) {
                part.fabric.take_over(&mut part.engine, &crossing);
            }
        }
    }

    /// A part has come to the end of a window: its packets for others are theirs now.
    fn hand_over(&self, part: &mut Part, turn: usize, end: u64) {
        let from = usize::from(part.number);
        let mut first = u64::MAX;
        let mut boxes: Vec<_> = (0..self.said.len())
            .map(|to| self.mail(turn, from, to).lock().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let next = part.hand_over(end, |to, crossing| {
            debug_assert!(crossing.arrival >= end, "windows are no longer than what it takes to another part");
            first = first.min(crossing.arrival);
            boxes[usize::from(to)].push(crossing);
        });
        drop(boxes);
        let said = &self.said[from];
        said.bound.store(next.min(first), Relaxed);
        said.events.store(part.engine.events(), Relaxed);
        said.places.store(part.engine.packets.places(), Relaxed);
        said.noted.store(part.ledger.noted(), Relaxed);
        if part.hosts.stuck().is_some() {
            self.stop();
        }
    }

    /// When the next window ends, and whether there is one.
    fn decide(&self) {
        let bound = self.said.iter().map(|said| said.bound.load(Relaxed)).min().unwrap_or(u64::MAX);
        let places: usize = self.said.iter().map(|said| said.places.load(Relaxed)).sum();
        let noted: usize = self.said.iter().map(|said| said.noted.load(Relaxed)).sum();
        let full = places >= self.places || noted >= NOTED;
        let over = bound >= self.until || self.stop.load(Relaxed) || full;
        self.over.store(over, Relaxed);
        let end = self.end.load(Relaxed);
        let (mut all, mut most) = (0, 0);
        for said in &self.said {
            let events = said.events.load(Relaxed);
            all += events;
            most = most.max(events - said.events_before.swap(events, Relaxed));
        }
        self.all_events.store(all, Relaxed);
        self.critical.fetch_add(most, Relaxed);
        if !over {
            self.end.store(bound.max(end).saturating_add(self.longest).min(self.until), Relaxed);
            self.count.fetch_add(1, Relaxed);
        }
    }
}
