//! What a receiver sends: pulls, pulls repeated after silence, and the message that it has the whole object.

use super::{LEFT_OUT_AFTER, LIVE_BLOCKS, Lane, Receiver, Word};
use crate::scdp::block::Block;
use crate::scdp::header::{Header, Pull};
use crate::{FailureReason, Peer, Time, Transmit};

impl Receiver {
    fn pull(&self, lane: usize, pull: Pull) -> Transmit<Header> {
        let size = self.config.header.0 as u32;
        Transmit {
            header: Header::Pull(pull),
            to: lane as Peer,
            size,
            trimmed_size: size,
            priority: 0,
            control: true,
            ect: false,
            pushed: false,
            rank: 0,
            subflow: 0,
        }
    }

    /// Whether the session waits for just one more symbol: the pull for it has the flag *fin* (Algorithm 2,
    /// line 29).
    fn lacks_one(&self, index: usize) -> bool {
        self.future == 0
            && self.blocks[index].missing() == 1
            && self.blocks.iter().map(|b| u64::from(b.missing())).sum::<u64>() == 1
    }

    /// Whether the next block may be begun.
    #[inline]
    pub(super) fn may_open(&self) -> bool {
        self.future > 0 && self.blocks.len() < LIVE_BLOCKS && !self.is_full()
    }

    /// How many pulls could be sent, starting now; 0 if none can.
    #[inline]
    pub(super) fn pulls_wanted(&self) -> u32 {
        if self.credits == 0 || self.over() {
            return 0;
        }
        let future = if self.may_open() { self.future } else { 0 };
        let wanted = self.need.saturating_add(future).min(u64::from(u32::MAX)) as u32;
        if self.lanes.len() == 1 {
            return self.credits.min(wanted);
        }
        if wanted == 0 || self.session.is_none_or(|session| self.choose(session).is_none()) {
            return 0;
        }
        self.lanes.iter().filter(|l| self.in_use(l)).map(|l| l.credits).sum::<u32>().min(wanted)
    }

    /// The next pull.
    pub(super) fn next_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        let session = self.session?;
        if self.over() {
            return None;
        }
        let (lane, index) = self.choose(session)?;
        if index == self.blocks.len() {
            self.open_block(session);
        }
        self.next_lane = lane + 1;
        let fin = self.lacks_one(index);
        let l = &mut self.lanes[lane];
        let coming = l.in_flight();
        if coming == 0 {
            (l.last_arrival, l.silent_since) = (now, now);
        }
        l.outstanding += 1;
        l.credits -= 1;
        self.credits -= 1;
        let upto = self.request(now, index, lane as u32, 1);
        let block = self.base + index as u32;
        // In a group a repair symbol may be on its way already, since another has asked for it: that is no round trip.
        let is_round_trip = self.least_window == 0 || upto <= self.blocks[index].source_symbols();
        let l = &mut self.lanes[lane];
        if is_round_trip {
            l.timer.on_pull(now, block, upto - 1);
        }
        l.window.on_pull(now, block, upto - 1, is_round_trip, coming);
        Some(self.pull(lane, Pull { block, upto, base: self.base, fin, retry: false, done: false }))
    }

    /// The next pull, where pulls leave at this receiver's own pace.
    pub(super) fn next_paced(&mut self, now: Time) -> Option<Transmit<Header>> {
        if !self.pull_pace.as_mut()?.may_leave(now) {
            return None;
        }
        let pull = self.next_pull(now)?;
        self.pull_pace.as_mut()?.spend(now);
        Some(pull)
    }

    /// The next packet that does not wait for the host's pull queue.
    pub(super) fn next_at_once(&mut self) -> Option<Transmit<Header>> {
        for lane in 0..self.lanes.len() {
            if let Some(word) = self.lanes[lane].word_due.take() {
                let done = word == Word::Done;
                let asked = self.blocks.front().map_or(0, |b| b.lane(lane as u32).requested);
                let (block, base, upto) = (self.base, self.base, if done { 0 } else { asked });
                return Some(self.pull(lane, Pull { block, upto, base, fin: done, retry: false, done }));
            }
            if std::mem::take(&mut self.lanes[lane].retry_due) {
                let waits = |b: &Block| b.lane(lane as u32).outstanding > 0;
                if let Some(index) = self.blocks.iter().position(waits) {
                    self.lanes[lane].retried = true;
                    self.blocks.iter_mut().for_each(|b| b.suspect_loss(lane as u32));
                    let upto = self.blocks[index].lane(lane as u32).requested;
                    let (block, fin) = (self.base + index as u32, self.lacks_one(index));
                    return Some(self.pull(lane, Pull { block, upto, base: self.base, fin, retry: true, done: false }));
                }
            }
        }
        None
    }

    pub(super) fn timeout_of(&self, lane: &Lane) -> Option<Time> {
        let waits = lane.in_flight() > 0 && !lane.retry_due;
        waits.then(|| lane.last_arrival + lane.timer.timeout(self.config.pull_timeout))
    }

    /// A useless symbol arrived. If nothing is requested from its sender now, the symbol may be a probe. Where silence is only counted
    /// in timeouts, of which very many are allowed, no answer is needed, unless the application may be slow to take blocks. `outright`:
    /// the symbol carries the options, as probes do. Then the receiver answers even while it waits for symbols that it
    /// has requested: other receivers of its group may have to catch up first.
    pub(super) fn answer_probe(&mut self, lane: u32, outright: bool) {
        let l = &mut self.lanes[lane as usize];
        let asked = self.config.give_up_after.is_some() || self.untaken.is_some();
        if (l.outstanding == 0 || outright) && !self.completed && asked {
            l.word_due = Some(Word::Sign);
        }
    }

    /// When the session fails if nothing arrives: with several senders, each may be silent for that long.
    pub(super) fn give_up_at(&self) -> Option<Time> {
        let bound = self.config.give_up_after.filter(|_| !self.over())?;
        let since = if self.session.is_none() {
            self.started_at
        } else if self.lanes.iter().any(|l| l.outstanding > 0) {
            self.lanes.iter().map(|l| l.silent_since).max()
        } else {
            None
        };
        since.map(|since| since + bound)
    }

    pub(super) fn on_timeout(&mut self, now: Time, lane: usize) {
        self.stats.timeouts += 1;
        let in_touch = |(i, l): (usize, &Lane)| i != lane && l.timeouts <= LEFT_OUT_AFTER && !l.excluded;
        let others = self.lanes.iter().enumerate().any(in_touch);
        let l = &mut self.lanes[lane];
        l.timeouts += 1;
        l.timer.on_timeout();
        l.window.on_timeout(l.timeouts);
        if let Some(pace) = &mut l.pace {
            pace.forget(l.asked);
        }
        (l.last_arrival, l.retry_due) = (now, true);
        if others && l.timeouts > LEFT_OUT_AFTER {
            // The other senders do its share. If it sends again, it gets its window back.
            l.retry_due = false;
            for index in 0..self.blocks.len() {
                self.write_off(index, lane as u32);
            }
            self.pass_on_blocks_of(now, lane as u32);
        } else if l.timeouts > self.config.retries {
            self.fail(FailureReason::TimedOut);
        }
        self.refresh_credits(lane as u32);
        self.make_room(lane as u32);
    }

    /// After a window has shrunk, symbols of later blocks may fill it, and in a group those may wait for receivers that wait for
    /// this receiver's first block: some of these symbols are written off to make room for it. In a group they have not been sent, and so
    /// say nothing about the path.
    pub(super) fn make_room(&mut self, lane: u32) {
        let waits = self
            .blocks
            .front()
            .is_some_and(|first| first.need() > 0 && first.takes(lane) && first.lane(lane).outstanding == 0);
        if !waits || self.over() || self.lanes[lane as usize].window.is_fixed() {
            return;
        }
        for index in (1..self.blocks.len()).rev() {
            if self.lanes[lane as usize].credits > 0 {
                return;
            }
            if self.least_window > 0 {
                let coming = self.change(index, |b| b.write_off(lane));
                self.credit(lane, coming);
            } else {
                self.write_off(index, lane);
            }
        }
    }
}
