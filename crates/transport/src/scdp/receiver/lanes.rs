//! All senders of a session: the pulls that they may be sent, and which of them answer.

use super::lane::{Arrived, Lane, Message};
use super::session::Session;
use super::timer::MOST_MINIMA;
use super::window::Window;
use crate::scdp::config::ScdpConfig;
use crate::scdp::layout::mix;
use crate::{Duration, Peer, Time};
use std::slice::Iter;
use std::sync::Arc;

/// A sender is slow if it takes this many times as long to answer as the fastest, and the timeout for pulls more; or this many times as long for each
/// symbol, because of the pace of pulls.
const SLOW: u64 = 2;

/// In a group a round trip may be this many times the least one: the rest of the time, symbols wait for other receivers.
const ROUND_TRIP_WITHIN: u64 = 4;

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
            self.all.iter_mut().for_each(Lane::time_answers);
        }
    }

    /// The session begins at a sender: `pushed` symbols of its window are on their way.
    pub(super) fn begin(&mut self, now: Time, lane: u32, session: &Session, pushed: u32) {
        let seed = mix(self.seed ^ u64::from(lane));
        let window = Window::new(session.window, self.least_window, &self.config, session.lanes, seed);
        let l = &mut self.all[lane as usize];
        l.begin(now, window, pushed);
        self.credits += l.credits();
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
        self.all.iter().filter(|lane| self.in_use(lane)).map(Lane::credits).sum()
    }

    /// Whether a sender answers, as far as is known.
    #[inline]
    pub(super) fn in_touch(&self, lane: &Lane) -> bool {
        self.is_single() || lane.is_in_touch()
    }

    /// Whether a pull may go to a sender.
    #[inline]
    pub(super) fn in_use(&self, lane: &Lane) -> bool {
        lane.credits() > 0 && lane.paced_until().is_none() && self.in_touch(lane)
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
        let fastest = self.all.iter().filter(|lane| of(lane)).filter_map(Lane::response).min()?;
        Some(fastest * SLOW + self.config.pull_timeout)
    }

    /// Whether a sender takes much longer to answer than another, or has not answered in time.
    pub(super) fn is_slow(&self, sender: Peer) -> bool {
        let Some((lane, late)) = self.get(sender).and_then(|lane| Some((lane, lane.is_late()?))) else { return false };
        late || self.bar(|lane| self.in_touch(lane)).is_some_and(|bar| lane.is_slower_than(bar))
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
        answering.map(|lane| lane.answer_timeout(self.config.pull_timeout)).min()
    }

    /// When a pull to a sender is repeated, if nothing arrives.
    #[inline]
    pub(super) fn timeout(&self, lane: &Lane) -> Option<Time> {
        lane.timeout(self.config.pull_timeout)
    }

    /// Since when all have been silent, if something was asked for.
    pub(super) fn silent_since(&self) -> Option<Time> {
        let asked = self.all.iter().any(|lane| lane.outstanding() > 0);
        if asked { self.all.iter().map(Lane::silent_since).max() } else { None }
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
        let lane = &mut self.all[lane as usize];
        let least = if in_group { lane.window().round_trip() } else { None };
        let longest = least.map_or(self.config.pull_timeout * MOST_MINIMA, |least| least * ROUND_TRIP_WITHIN);
        lane.on_symbol(now, symbol, in_group, longest);
    }

    /// Changes a sender and updates the sum of credits; `change` returns those that it has then.
    #[inline]
    fn change(&mut self, lane: u32, change: impl FnOnce(&mut Lane) -> u32) {
        let lane = &mut self.all[lane as usize];
        let before = lane.credits();
        self.credits = self.credits - before + change(lane);
    }

    /// `count` symbols of a sender are no longer in flight.
    #[inline]
    pub(super) fn no_longer_waits(&mut self, lane: u32, count: u32) {
        self.change(lane, |lane| lane.no_longer_waits(count));
    }

    /// `count` symbols of a sender are lost.
    #[inline]
    pub(super) fn on_lost(&mut self, lane: u32, count: u32) {
        if count > 0 {
            self.change(lane, |lane| lane.on_lost(count));
        }
    }

    /// The window of a sender may have changed.
    #[inline]
    pub(super) fn refresh(&mut self, lane: u32) {
        self.change(lane, Lane::refresh);
    }

    /// Nothing has arrived from a sender for too long.
    pub(super) fn on_timeout(&mut self, now: Time, lane: u32) -> Silence {
        let others = (0..).zip(&self.all).any(|(i, l)| i != lane && l.is_in_touch());
        let l = &mut self.all[lane as usize];
        let given_up = l.on_timeout(now, self.config.retries);
        if others && l.is_left_out() {
            l.stop_retrying();
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
            self.all.iter_mut().for_each(Lane::reset_timeouts);
        }
        true
    }

    /// All are told that the receiver has the whole object.
    pub(super) fn owe_done(&mut self) {
        self.all.iter_mut().for_each(|lane| lane.owe(Message::Done));
    }

    /// Checks the bookkeeping, and returns the sum of the credits.
    #[cfg(test)]
    pub(super) fn check(&self) -> u32 {
        assert_eq!(self.credits, self.all.iter().map(Lane::credits).sum::<u32>());
        for lane in &self.all {
            assert_eq!(lane.credits(), lane.room());
        }
        self.credits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;
    use crate::scdp::header::{Mode, Options};

    /// `senders` senders with a window of twelve each, of which four are on their way.
    fn lanes(senders: u16) -> Lanes {
        let config = ScdpConfig { retries: 3, ..ScdpConfig::default() };
        let options = Options {
            object_bytes: 1000,
            symbol_bytes: 1,
            block_symbols: 10,
            window: 12,
            lanes: senders,
            mode: Mode::ManyToOne,
        };
        let session = Session::new(&options, &config).unwrap();
        let mut lanes = Lanes::new(Arc::new(config), senders, 1);
        lanes.establish(&session);
        (0..u32::from(senders)).for_each(|lane| lanes.begin(Time::ZERO, lane, &session, 4));
        lanes
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn credits_are_the_sum_of_all_whatever_happens() {
        let mut lanes = lanes(3);
        assert_eq!(lanes.check(), 3 * 8);
        assert_eq!((lanes.spend(at(1), 1), lanes.check()), (4, 23));
        lanes.no_longer_waits(1, 2);
        lanes.on_lost(2, 3);
        assert_eq!((lanes.check(), lanes.usable_credits()), (28, 28));
        lanes.exclude(2);
        assert_eq!((lanes.check(), lanes.usable_credits()), (28, 17));
    }

    #[test]
    fn senders_take_turns_from_the_last_that_was_asked() {
        let mut lanes = lanes(3);
        lanes.spend(at(0), 1);
        assert_eq!(lanes.in_turn().collect::<Vec<_>>(), [2, 0, 1]);
        lanes.spend(at(0), 2);
        assert_eq!(lanes.in_turn().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn one_of_several_is_left_out_when_it_is_silent_and_the_last_one_only_when_retries_are_exhausted() {
        let mut lanes = lanes(2);
        let mut silence = |lane, times: u64| (0..times).map(|n| lanes.on_timeout(at(n), lane)).collect::<Vec<_>>();
        assert_eq!(silence(0, 2), [Silence::Repeat, Silence::LeaveOut]);
        assert_eq!(silence(1, 4), [Silence::Repeat, Silence::Repeat, Silence::Repeat, Silence::GiveUp]);
    }

    #[test]
    fn who_has_withheld_fewer_blocks_is_asked_first_and_then_the_next_in_turn() {
        let mut lanes = lanes(3);
        assert_eq!([0, 1, 2].map(|last| lanes.another(last)), [Some(1), Some(2), Some(0)]);
        assert!(lanes.at_mut(1).withholds() && !lanes.at_mut(1).withholds());
        assert_eq!([0, 1, 2].map(|last| lanes.another(last)), [Some(2), Some(2), Some(0)]);
    }

    #[test]
    fn once_only_silent_senders_remain_they_are_asked_again() {
        let mut lanes = lanes(3);
        (0..2).for_each(|n| _ = lanes.on_timeout(at(n), 1));
        assert!(lanes.exclude(0) && !lanes.exclude(0) && !lanes.exclude(7));
        assert_eq!(lanes.another(0), Some(2));
        lanes.exclude(2);
        assert_eq!(lanes.another(2), Some(1), "it was left out");
        assert_eq!((lanes.usable_credits() > 0, lanes.silent_since()), (true, Some(at(0))));
    }

    /// Two senders as on hosts, each of which was asked for a symbol at time zero.
    fn two_on_hosts() -> Lanes {
        let pull_timeout = ScdpConfig::default().pull_timeout;
        let config = ScdpConfig { pull_timeout, ..ScdpConfig::on_hosts(Bytes(1514), Bytes(94)) };
        let options = Options {
            object_bytes: 1000,
            symbol_bytes: 1,
            block_symbols: 10,
            window: 12,
            lanes: 2,
            mode: Mode::ManyToOne,
        };
        let session = Session::new(&options, &config).unwrap();
        let mut lanes = Lanes::new(Arc::new(config), 2, 1);
        lanes.establish(&session);
        for lane in 0..2 {
            lanes.at_mut(lane).ask(1);
            lanes.at_mut(lane).on_asked(Time::ZERO, 0, 1);
            lanes.begin(Time::ZERO, lane, &session, 1);
        }
        lanes
    }

    /// Its symbol arrives.
    fn answers(lanes: &mut Lanes, lane: u32, taken: Duration) {
        let seen = super::super::window::Seen::Whole;
        let symbol = Arrived { block: 0, index: 0, asked_as: 0, seen, is_repeated: false, is_of_others: false };
        lanes.on_symbol(Time::ZERO + taken, lane, &symbol);
    }

    #[test]
    fn a_sender_from_which_only_headers_come_waits_and_is_slow_and_no_other() {
        let mut lanes = two_on_hosts();
        (0..2).for_each(|lane| answers(&mut lanes, lane, Duration::from_ms(10)));
        for n in 0..1_000 {
            let now = at(10) + Duration::from_us(100) * n;
            lanes.at_mut(0).pace_pulls(now, true);
            lanes.at_mut(1).pace_pulls(now, false);
        }
        assert!(lanes.is_slow(0) && !lanes.is_slow(1));
        lanes.spend(at(200), 0);
        lanes.spend(at(200), 1);
        lanes.ask_paces(at(200));
        let until = lanes.paced_until().expect("the first waits");
        assert_eq!([0, 1].map(|lane| lanes.in_use(lanes.at(lane))), [false, true]);
        lanes.on_time(until);
        assert_eq!((lanes.paced_until(), lanes.in_use(lanes.at(0))), (None, true));
    }

    #[test]
    fn a_sender_that_takes_twice_as_long_as_the_fastest_and_the_timeout_is_slow() {
        let mut lanes = two_on_hosts();
        let pull_timeout = lanes.config.pull_timeout;
        answers(&mut lanes, 0, Duration::from_ms(10));
        assert!(!lanes.is_slow(0) && !lanes.is_slow(1) && !lanes.is_slow(9), "nothing is known");
        answers(&mut lanes, 1, Duration::from_ms(20) + pull_timeout + Duration(1));
        assert!(!lanes.is_slow(0) && lanes.is_slow(1));
        lanes.on_timeout(at(500), 0);
        assert!(lanes.is_slow(0), "it does not answer at all");
    }
}
