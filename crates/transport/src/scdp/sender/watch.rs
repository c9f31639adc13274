//! Who holds a group back, and what follows from that.

use super::{Member, Sender};
use crate::scdp::header::Options;
use crate::scdp::straggler::{Behind, Grace, Holding, Lag, Patience, Place, StragglerPolicy, StragglerRule};
use crate::scdp::{ScdpConfig, Straggler};
use crate::{Duration, Event, Peer, Time};

/// What a group is watched by.
#[derive(Debug)]
pub(super) enum Watch {
    /// [`StragglerRule::Symbols`].
    Behind(Behind),
    /// [`StragglerPolicy::Drop`].
    Grace(Grace),
    /// [`StragglerRule::Lateness`].
    Late(Late),
}

impl Watch {
    /// `None` if nobody is ever a straggler.
    pub(super) fn new(config: &ScdpConfig, options: &Options, receivers: usize) -> Option<Self> {
        let Straggler { policy, rule, time, .. } = config.straggler;
        if receivers < 2 {
            return None;
        }
        let late = |lag, patience| Self::Late(Late::new(lag, Holding::new(patience, options, receivers), receivers));
        let window = u32::from(options.window);
        match (policy, rule) {
            (StragglerPolicy::Wait, StragglerRule::Symbols) => None,
            (StragglerPolicy::Wait, StragglerRule::Lateness) => {
                config.give_up_after.map(|bound| late(None, Patience::with_silent_for(bound)))
            }
            (StragglerPolicy::Detach, StragglerRule::Symbols) => {
                Some(Self::Behind(Behind::new(&config.straggler, window, receivers)))
            }
            (StragglerPolicy::Detach, StragglerRule::Lateness) => {
                Some(late(Some(Lag::new(window, time, receivers)), Patience::with_slow_for(time)))
            }
            (StragglerPolicy::Drop, _) => Some(Self::Grace(Grace::new(&config.straggler))),
        }
    }

    /// When to [judge](Sender::judge).
    pub(super) fn due(&self) -> Option<Time> {
        match self {
            Self::Behind(behind) => behind.due(),
            Self::Grace(grace) => grace.due(),
            Self::Late(_) => None,
        }
    }
}

/// Why a receiver is not judged now, although the others may wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Excuse {
    /// It is judged.
    #[default]
    None,
    /// What is sent to the group may not reach it, which is being found out. A slow receiver gets little, and thinks so as well.
    Unreached,
    /// It catches up on what has not reached it.
    CatchesUp,
}

/// What is known of one receiver besides its pulls.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// It has answered the offer, or sent a pull.
    came: bool,
    excuse: Excuse,
}

/// Which receivers are late, and which complete nothing.
#[derive(Debug)]
pub(super) struct Late {
    /// Where slow receivers are not waited for.
    lag: Option<Lag>,
    holding: Holding,
    known: Vec<Known>,
    /// Receivers are offered the object first, and are asked for nothing before they answer.
    offered: bool,
    /// When pulls arrived that have not been considered.
    pulled: Option<Time>,
}

impl Late {
    fn new(lag: Option<Lag>, holding: Holding, receivers: usize) -> Self {
        Self { lag, holding, known: vec![Known::default(); receivers], offered: false, pulled: None }
    }

    /// A receiver has come, `after` the time when it could first have known of the session.
    fn on_answer(&mut self, receiver: usize, after: Option<Duration>) {
        if std::mem::replace(&mut self.known[receiver].came, true) {
            return;
        }
        if let Some(after) = after {
            if let Some(lag) = &mut self.lag {
                lag.on_answer(receiver, after);
            }
            self.holding.on_answer(receiver, after);
        }
    }

    /// The receiver that holds the others of a group back, if there is one.
    fn observe(&mut self, now: Time, group: &Sender) -> Option<usize> {
        let (reached, peers) = (group.reached(), 0..group.members.len());
        let demands = peers.clone().map(|peer| group.demand(peer as Peer));
        let known = &self.known;
        let places = demands.clone().zip(known).map(|(demand, known)| {
            let demand = demand.filter(|_| known.excuse != Excuse::CatchesUp)?;
            let excused = known.excuse == Excuse::Unreached;
            Some(Place { asked: demand.in_order, base: demand.base, excused })
        });
        let is_waited_for = |peer: usize| group.is_waited_for(peer as Peer);
        let slow = self.lag.as_mut().and_then(|lag| lag.observe(now, places, reached, is_waited_for));
        let holds = self.holding.observe(now, demands);
        slow.or(holds)
    }
}

impl Sender {
    /// The same where the driver offers the object first: it says when each receiver [comes](Self::has_come), and until then the others
    /// [may go on](crate::Event::PeerAbsent) without it.
    #[must_use]
    pub fn with_offers(mut self) -> Self {
        if let Some(late) = self.late() {
            late.offered = true;
        }
        self
    }

    /// A receiver has answered the offer, so long after it; `None` if that says nothing about its path.
    pub fn has_come(&mut self, receiver: Peer, after: Option<Duration>) {
        if let Some(late) = self.late() {
            late.on_answer(usize::from(receiver), after);
        }
    }

    /// Whether a receiver is judged from now on.
    pub fn excuse(&mut self, receiver: Peer, excuse: Excuse) {
        if let Some(late) = self.late() {
            late.known[usize::from(receiver)].excuse = excuse;
        }
    }

    fn late(&mut self) -> Option<&mut Late> {
        match self.apart.as_mut()?.watch.as_mut()? {
            Watch::Late(late) => Some(late),
            Watch::Behind(_) | Watch::Grace(_) => None,
        }
    }

    /// After a pull, or a loss: where the receivers stand. Who is late is only considered once the driver has handed over all that has
    /// arrived together, and asks for events.
    pub(super) fn watch(&mut self, now: Time) {
        let Some(apart) = &mut self.apart else { return };
        let (members, layout) = (&self.members, &self.layout);
        match &mut apart.watch {
            Some(Watch::Behind(behind)) => behind.observe(
                now,
                members.iter().map(|m| {
                    let under_way = || m.upto.iter().map(|&u| u64::from(u)).sum::<u64>();
                    (!m.done).then(|| layout.symbols_before(m.base) + under_way())
                }),
            ),
            Some(Watch::Grace(grace)) => {
                let gone = |peer: usize| apart.dropped.iter().any(|d| usize::from(d.0) == peer);
                let complete = |(peer, m): &(usize, &Member)| m.done && !m.left && !gone(*peer);
                grace.observe(now, members.iter().enumerate().filter(complete).count() as u32);
            }
            Some(Watch::Late(_)) | None => return,
        }
        self.judge(now);
    }

    /// A pull has arrived, of a member or of one that left: that others are late shows in it, too.
    #[inline]
    pub(super) fn note_pull(&mut self, now: Time) {
        if let Some(late) = self.late() {
            late.pulled = Some(now);
        }
    }

    /// A member has sent a pull: it has come.
    #[inline]
    pub(super) fn note_receiver(&mut self, now: Time, from: Peer) {
        let since = self.started_at.map(|started| now - started);
        if let Some(late) = self.late().filter(|late| usize::from(from) < late.known.len()) {
            let since = since.filter(|_| !late.offered);
            late.on_answer(usize::from(from), since);
        }
    }

    /// Considers who is late after pulls.
    pub(super) fn consider(&mut self) {
        let Some(now) = self.late().and_then(|late| late.pulled.take()) else { return };
        let mut watch = self.apart.as_mut().and_then(|apart| apart.watch.take());
        let Some(Watch::Late(late)) = &mut watch else { return };
        let straggler = late.observe(now, self);
        let waits = straggler.is_some_and(|peer| late.offered && !late.known[peer].came);
        if let Some(apart) = &mut self.apart {
            apart.watch = watch;
        }
        match straggler {
            Some(peer) if waits => self.go_on_without(peer as Peer),
            Some(peer) => self.detach_receiver(peer as Peer),
            None => {}
        }
    }

    pub(super) fn judge(&mut self, now: Time) {
        while let Some(watch) = self.apart.as_mut().and_then(|apart| apart.watch.as_mut()) {
            match watch {
                // Takes effect when the driver polls the event: from then on a packet to the group does not go to this receiver.
                Watch::Behind(behind) => {
                    let Some(peer) = behind.straggler(now) else { return };
                    let event = Event::PeerDetached(peer as Peer);
                    if !self.events.contains(&event) {
                        self.events.push_back(event);
                    }
                }
                Watch::Grace(grace) => {
                    if !grace.is_over(now) {
                        return;
                    }
                    self.give_up(now);
                }
                Watch::Late(_) => return,
            }
        }
    }
}
