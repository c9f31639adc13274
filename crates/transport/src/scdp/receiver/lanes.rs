//! All senders of a session: the pulls that they may be sent, and which of them answer.

use super::session::Session;
use crate::random::mix;
use crate::scdp::config::ScdpConfig;
use crate::{Duration, Peer, Time};
use credits::Credits;
use std::slice::Iter;
use std::sync::Arc;
use window::Window;

mod arrived;
mod credits;
mod lane;
mod pace;
mod pull_pace;
mod retransmission;
mod timer;
mod window;

pub(super) use arrived::Arrived;
pub(super) use lane::{Lane, Message};

/// A sender is slow if it takes this many times as long to answer as the fastest, and the timeout for pulls more; or this many times as long for each
/// symbol, because of the pace of pulls.
const SLOW: u64 = 2;

/// What a timeout of a sender means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// A pull is repeated.
    Repeat,
    /// The other senders do its share. If it sends again, it gets its window back.
    LeaveOut,
    GiveUp,
}

/// The senders of one session.
#[derive(Debug)]
pub(super) struct Lanes {
    all: Vec<Lane>,
    /// Credits of all.
    credits: u32,
    /// The one whose turn is next.
    next: usize,
    /// Symbols that may be in flight from each sender, however much is lost, where the window is not fixed; above 0 in a group.
    least_window: u32,
    seed: u64,
    config: Arc<ScdpConfig>,
}

impl Lanes {
    /// Up to `senders`. `seed`: for what windows draw.
    pub(super) fn new(config: Arc<ScdpConfig>, senders: u16, seed: u64) -> Self {
        let all = vec![Lane::new(config.pull_pacing); usize::from(senders.max(1))];
        Self { all, credits: 0, next: 0, least_window: 0, seed, config }
    }

    /// The receiver is one of several, and this many symbols may be in flight however much is lost.
    pub(super) fn set_least_window(&mut self, window: u32) {
        self.least_window = window;
    }

    /// The first symbol has arrived.
    pub(super) fn establish(&mut self, session: &Session) {
        if session.takes_over {
            self.all.iter_mut().for_each(|lane| lane.credits.time_answers());
        }
    }

    /// The session begins at a sender: `pushed` symbols of its window are on their way.
    pub(super) fn begin(&mut self, now: Time, lane: u32, session: &Session, pushed: u32) {
        let seed = mix(self.seed ^ u64::from(lane));
        let window = Window::new(session.window, self.least_window, &self.config, session.lanes, seed);
        let l = &mut self.all[lane as usize];
        l.begin(now, window, pushed);
        self.credits += l.credits.left();
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    #[inline]
    pub(super) fn is_single(&self) -> bool {
        self.all.len() == 1
    }

    /// Whether other receivers get the same symbols.
    #[inline]
    pub(super) fn is_in_group(&self) -> bool {
        self.least_window > 0
    }

    #[inline]
    pub(super) fn iter(&self) -> Iter<'_, Lane> {
        self.all.iter()
    }

    #[inline]
    pub(super) fn at(&self, lane: usize) -> &Lane {
        &self.all[lane]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, lane: u32) -> &mut Lane {
        &mut self.all[lane as usize]
    }

    pub(super) fn get(&self, sender: Peer) -> Option<&Lane> {
        self.all.get(usize::from(sender))
    }

    /// Credits of all senders.
    #[inline]
    pub(super) fn credits(&self) -> u32 {
        self.credits
    }

    /// Credits of those in use.
    #[inline]
    pub(super) fn usable_credits(&self) -> u32 {
        self.all.iter().filter(|lane| self.in_use(lane)).map(|lane| lane.credits.left()).sum()
    }

    /// Whether a sender answers, as far as is known.
    #[inline]
    pub(super) fn in_touch(&self, lane: &Lane) -> bool {
        self.is_single() || lane.is_in_touch()
    }

    /// Whether a pull may go to a sender.
    #[inline]
    pub(super) fn in_use(&self, lane: &Lane) -> bool {
        lane.credits.left() > 0 && lane.paced_until().is_none() && self.in_touch(lane)
    }

    /// Finds out to which senders pulls may go now, where they are paced.
    pub(super) fn ask_paces(&mut self, now: Time) {
        self.all.iter_mut().for_each(|lane| lane.ask_pace(now));
    }

    /// Time has passed: pulls that are due by now do not wait.
    pub(super) fn on_time(&mut self, now: Time) {
        self.all.iter_mut().for_each(|lane| lane.on_time(now));
    }

    /// When the first pull that waits for its pace may leave.
    pub(super) fn paced_until(&self) -> Option<Time> {
        self.all.iter().filter_map(Lane::paced_until).min()
    }

    /// All senders, from the one whose turn is next.
    #[inline]
    pub(super) fn in_turn(&self) -> impl Iterator<Item = usize> {
        let n = self.all.len();
        let start = if self.next < n { self.next } else { 0 };
        (start..n).chain(0..start)
    }

    /// The sender to ask next: among those that answer and have withheld the fewest blocks, the next in turn after `last`.
    pub(super) fn another(&self, last: Peer) -> Option<Peer> {
        let (count, last) = (self.all.len(), usize::from(last));
        let in_turn = (last + 1..count).chain(0..count.min(last + 1));
        let answering = in_turn.filter(|&lane| self.in_touch(&self.all[lane]));
        answering.min_by_key(|&lane| self.all[lane].withheld()).map(|lane| lane as Peer)
    }

    /// The longest that a sender may take to answer that is not slow, compared with the fastest of these.
    pub(super) fn bar(&self, of: impl Fn(&Lane) -> bool) -> Option<Duration> {
        let fastest = self.all.iter().filter(|lane| of(lane)).filter_map(|lane| lane.credits.response()).min()?;
        Some(fastest * SLOW + self.config.pull_timeout)
    }

    /// Whether a sender takes much longer to answer than another, or has not answered in time.
    pub(super) fn is_slow(&self, sender: Peer) -> bool {
        let Some((lane, late)) = self.get(sender).and_then(|lane| Some((lane, lane.is_late()?))) else { return false };
        late || self.bar(|lane| self.in_touch(lane)).is_some_and(|bar| lane.credits.is_slower_than(bar))
            || self.is_held_up(lane)
    }

    /// Whether pulls to a sender leave at a pace at which its share would take much longer than another's.
    fn is_held_up(&self, lane: &Lane) -> bool {
        let Some(interval) = lane.pull_interval() else { return false };
        let answering = self.all.iter().filter(|lane| self.in_touch(lane));
        answering.filter_map(Lane::time_per_symbol).min().is_some_and(|least| interval > least * SLOW)
    }

    /// How long the fastest sender that answers may take to answer.
    pub(super) fn least_timeout(&self) -> Option<Duration> {
        let answering = self.all.iter().filter(|lane| self.in_touch(lane));
        answering.map(|lane| lane.retransmission.answer_timeout(self.config.pull_timeout)).min()
    }

    /// When a pull to a sender is repeated, if nothing arrives.
    #[inline]
    pub(super) fn timeout(&self, lane: &Lane) -> Option<Time> {
        lane.timeout(self.config.pull_timeout)
    }

    /// Since when all have been silent, if something was asked for.
    pub(super) fn silent_since(&self) -> Option<Time> {
        let asked = self.all.iter().any(|lane| lane.credits.outstanding() > 0);
        if asked { self.all.iter().map(|lane| lane.retransmission.silent_since()).max() } else { None }
    }

    /// One pull is to be sent to a sender, and then it is the next one's turn. Returns the symbols that were in flight before.
    #[inline]
    pub(super) fn spend(&mut self, now: Time, lane: u32) -> u32 {
        self.next = lane as usize + 1;
        self.credits -= 1;
        self.all[lane as usize].spend(now)
    }

    /// A symbol of a sender has arrived, whole or trimmed.
    #[inline]
    pub(super) fn on_symbol(&mut self, now: Time, lane: u32, symbol: &Arrived) {
        let in_group = self.is_in_group();
        self.all[lane as usize].on_symbol(now, symbol, in_group, self.config.pull_timeout);
    }

    /// Changes the credits of a sender and updates their sum; `change` returns those that it has then.
    #[inline]
    fn change(&mut self, lane: u32, change: impl FnOnce(&mut Credits) -> u32) {
        let credits = &mut self.all[lane as usize].credits;
        let before = credits.left();
        self.credits = self.credits - before + change(credits);
    }

    /// `count` symbols of a sender are no longer in flight.
    #[inline]
    pub(super) fn no_longer_waits(&mut self, lane: u32, count: u32) {
        self.change(lane, |credits| credits.no_longer_waits(count));
    }

    /// `count` symbols of a sender are lost.
    #[inline]
    pub(super) fn on_lost(&mut self, lane: u32, count: u32) {
        if count > 0 {
            self.change(lane, |credits| credits.on_lost(count));
        }
    }

    /// The window of a sender may have changed.
    #[inline]
    pub(super) fn refresh(&mut self, lane: u32) {
        self.change(lane, Credits::refresh);
    }

    /// Nothing has arrived from a sender for too long.
    pub(super) fn on_timeout(&mut self, now: Time, lane: u32) -> Silence {
        let others = (0..).zip(&self.all).any(|(i, l)| i != lane && l.is_in_touch());
        let l = &mut self.all[lane as usize];
        let given_up = l.on_timeout(now, self.config.retries);
        if others && l.retransmission.is_left_out() {
            l.retransmission.cancel();
            Silence::LeaveOut
        } else if given_up {
            Silence::GiveUp
        } else {
            Silence::Repeat
        }
    }

    /// None of a sender's symbols are accepted any more. False if there is none, or it is no news.
    pub(super) fn exclude(&mut self, sender: Peer) -> bool {
        let Some(lane) = self.all.get_mut(usize::from(sender)).filter(|lane| !lane.is_excluded()) else {
            return false;
        };
        lane.exclude();
        if !self.all.iter().any(|lane| self.in_touch(lane)) {
            // Only senders that were left out for being silent remain.
            self.all.iter_mut().for_each(|lane| lane.retransmission.reset());
        }
        true
    }

    /// A useless symbol of a sender has arrived. If nothing is requested from it now, the symbol may be a probe. Where silence is only counted
    /// in timeouts, of which very many are allowed, no answer is needed, unless the application may be slow to take blocks (`may_stall`).
    /// `outright`: the symbol carries the options, as probes do. Then the receiver answers even while it waits for symbols that it
    /// has requested: other receivers of its group may have to catch up first.
    pub(super) fn on_useless(&mut self, lane: u32, outright: bool, may_stall: bool) {
        let lane = &mut self.all[lane as usize];
        let is_asked = self.config.give_up_after.is_some() || may_stall;
        if is_asked && (outright || lane.credits.outstanding() == 0) {
            lane.owe(Message::Keepalive);
        }
    }

    /// All are told that the receiver has the whole object.
    pub(super) fn owe_done(&mut self) {
        self.all.iter_mut().for_each(|lane| lane.owe(Message::Done));
    }

    /// Checks the bookkeeping, and returns the sum of the credits.
    #[cfg(test)]
    pub(super) fn check(&self) -> u32 {
        assert_eq!(self.credits, self.all.iter().map(|lane| lane.credits.left()).sum::<u32>());
        assert!(self.all.iter().all(|lane| lane.credits.left() == lane.credits.room()));
        self.credits
    }
}

#[cfg(test)]
mod tests;
