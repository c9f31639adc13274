//! What a driver sees of a receiver: pulls, timers and events.

use super::Receiver;
use super::lanes::{Message, Silence};
use super::requests::Asked;
use super::session::Session;
use crate::demotion::Demotion;
use crate::scdp::block::Block;
use crate::scdp::config::PullPacing;
use crate::scdp::header::{Header, Pull};
use crate::units::earliest;
use crate::{Arrival, Endpoint, Event, FailureReason, Peer, Stats, Time, Transmit};

impl Receiver {
    fn pull(&mut self, lane: u32, asked: Asked, retry: bool, done: bool) -> Transmit<Header> {
        let size = self.config.header.0 as u32;
        let Asked { index, upto, fin, more: _ } = asked;
        let (block, base) = (self.blocks().live.number(index), self.blocks().live.base());
        self.lane_mut(lane).tell(base);
        Transmit::control(Header::Pull(Pull { block, upto, base, fin, retry, done }), lane as Peer, size)
    }

    /// How many symbols could be asked for, starting now; 0 if none can.
    #[inline]
    pub(super) fn pulls_wanted(&self) -> u32 {
        if self.state.is_over() { 0 } else { self.requests.wanted(self.session.as_ref(), self.decoding.is_full()) }
    }

    /// Whether the next pull waits until it can ask for more symbols.
    #[inline]
    fn is_gathering(&self) -> bool {
        let of_group = self.session.as_ref().is_some_and(Session::is_of_group);
        self.requests.is_gathering(self.decoding.is_full(), of_group)
    }

    /// The next pull.
    fn next_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        let session = self.session.as_ref().filter(|_| !self.state.is_over() && !self.is_gathering())?;
        let (lane, asked) = self.requests.next(now, session, self.decoding.is_full())?;
        if asked.more > 1 && !self.paces_itself() {
            // The host's link carries so many before the next one is asked for.
            self.turns = asked.more;
        }
        Some(self.pull(lane, asked, false, false))
    }

    /// Whether pulls leave at this receiver's own pace, and not in the turns of its host's queue.
    #[inline]
    fn paces_itself(&self) -> bool {
        self.config.pull_pacing == PullPacing::Arrivals
    }

    /// The next pull, where it leaves at this receiver's own pace.
    fn next_paced(&mut self, now: Time) -> Option<Transmit<Header>> {
        if !self.paces_itself() {
            return None;
        }
        self.requests.lanes_mut().ask_paces(now);
        self.next_pull(now)
    }

    /// The next packet to a sender that does not wait for the host's pull queue: a control message, a pull repeated after silence, or news of
    /// complete blocks.
    fn next_at_once(&mut self, lane: u32) -> Option<Transmit<Header>> {
        if let Some(message) = self.lane_mut(lane).take_message() {
            return Some(self.message(lane, message == Message::Done));
        }
        if let Some(asked) = self.requests.retry(lane) {
            return Some(self.pull(lane, asked, true, false));
        }
        self.owes_news(lane).then(|| self.message(lane, false))
    }

    /// A pull that asks for nothing more.
    fn message(&mut self, lane: u32, done: bool) -> Transmit<Header> {
        let asked = self.blocks().live.get(0).map_or(0, |b| b.lane(lane).requested);
        self.pull(lane, Asked { index: 0, upto: if done { 0 } else { asked }, fin: done, more: 0 }, false, done)
    }

    /// Whether the sender of a group has not been told which blocks are complete, and no pull that asks for more can tell it now. It
    /// sends what others need of a block only when all receivers have asked for that, as far as it knows that they still need the block
    /// (SCDP §IV-D). This one asks for no more of a complete block; so others would wait for it, and perhaps it for them.
    #[inline]
    fn owes_news(&self, lane: u32) -> bool {
        !self.lanes().at(lane as usize).is_told(self.blocks().live.base())
            && self.session.is_some_and(|session| session.is_of_group())
            && !self.state.is_over()
            && self.pulls_wanted() == 0
    }

    /// When the session fails if nothing arrives: with several senders, each may be silent for that long.
    fn give_up_at(&self) -> Option<Time> {
        let bound = self.config.give_up_after.filter(|_| !self.state.is_over())?;
        let since = if self.session.is_none() { self.started_at } else { self.lanes().silent_since() };
        since.map(|since| since + bound)
    }

    fn on_timeout(&mut self, now: Time, lane: u32) {
        self.stats.timeouts += 1;
        match self.requests.on_timeout(now, lane) {
            Silence::Repeat => {}
            Silence::LeaveOut => self.pass_on_blocks_of(now, lane as Peer),
            Silence::GiveUp => self.fail(FailureReason::TimedOut),
        }
        self.requests.lanes_mut().refresh(lane);
        if !self.state.is_over() {
            self.requests.make_room(lane);
        }
    }
}

impl Endpoint for Receiver {
    type Header = Header;

    /// For sessions whose symbols carry no bytes. A receiver with a decoder fails at the first whole symbol that arrives without
    /// its bytes; use [`handle_payload`](Receiver::handle_payload) there.
    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Header>) {
        let whole = !arrival.trimmed && matches!(arrival.header, Header::Symbol(_));
        if whole && self.decoding.carries_bytes() && !self.state.is_over() {
            return self.fail(FailureReason::SymbolSize);
        }
        self.handle_payload(now, arrival, &[]);
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.paces_itself() {
            self.requests.lanes_mut().on_time(now);
        }
        if self.state.is_completed() {
            if self.state.close(now) {
                self.events.push(Event::Closed);
            }
            return;
        }
        if self.give_up_at().is_some_and(|at| at <= now) {
            return self.fail(FailureReason::TimedOut);
        }
        if !self.state.is_over() {
            self.pass_on_what_is_withheld(now);
        }
        for lane in 0..self.lanes().len() {
            if !self.state.is_over() && self.lanes().timeout(self.lanes().at(lane)).is_some_and(|at| at <= now) {
                self.on_timeout(now, lane as u32);
            }
        }
        self.take_over(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
        let at_once = (0..self.lanes().len() as u32).find_map(|lane| self.next_at_once(lane));
        at_once.or_else(|| self.next_paced(now))
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.state.is_over() {
            return self.state.closes_at();
        }
        let pulls = self.lanes().iter().fold(None, |first, lane| earliest(first, self.lanes().timeout(lane)));
        let withheld = self.checks.deadline(&self.requests.blocks().live, self.requests.lanes()).map(|(_, at)| at);
        let session = self.session.as_ref().filter(|session| session.takes_over);
        let full = self.decoding.is_full();
        let taken_over = session.and_then(|session| self.requests.next_take_over(session, full));
        let paced = if self.paces_itself() { self.lanes().paced_until() } else { None };
        let pulls = earliest(earliest(pulls, paced), self.give_up_at());
        earliest(pulls, earliest(withheld, taken_over))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    #[inline]
    fn pending_pulls(&self) -> u32 {
        if self.paces_itself() || self.is_gathering() { 0 } else { self.pulls_wanted() }
    }

    /// With several senders, each tags packets by its own share of the bytes, which is less: to switches those packets are more
    /// urgent than their pulls are here.
    fn pull_priority(&self) -> u8 {
        let Some(session) = self.session else { return 0 };
        let received = self.stats.data_received.saturating_mul(session.symbol_bytes);
        let config = &self.config;
        Demotion::new(&config.priority_thresholds, config.priority_by, session.object_bytes).priority(received)
    }

    fn poll_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
        self.next_pull(now)
    }

    fn poll_hold(&mut self) -> u32 {
        std::mem::take(&mut self.turns)
    }

    fn stats(&self) -> Stats {
        let bytes = self.session.as_ref().map_or(0, |session| {
            self.blocks().symbols(session).saturating_mul(session.symbol_bytes).min(session.object_bytes)
        });
        Stats { bytes_delivered: bytes, ..self.stats }
    }

    fn waiting_for(&self) -> String {
        let Some(session) = self.session else { return "waits for the first symbol".to_owned() };
        let outstanding: u32 = self.lanes().iter().map(|lane| lane.credits.outstanding()).sum();
        format!(
            "waits for block {} of {}: {} symbols missing, {outstanding} asked for, {} timeouts",
            self.blocks().live.base(),
            session.layout.blocks,
            self.blocks().live.get(0).map_or(0, Block::missing),
            self.stats.timeouts,
        )
    }
}
