//! Who holds a group back.

use super::members::Members;
use super::stream::Stream;
use crate::scdp::header::Options;
use crate::scdp::layout::Layout;
use crate::scdp::straggler::{Behind, Demand, Grace, Holding, Lag, Patience, Place, StragglerPolicy, StragglerRule};
use crate::scdp::{ScdpConfig, Straggler};
use crate::{Duration, Peer, Time};

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

/// What its sender has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// This receiver is to leave the group.
    Detach(Peer),
    /// The others are to go on without this one, which has not come.
    GoOnWithout(Peer),
    /// All are to be given up, now, that are not complete.
    GiveUpRest(Time),
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

    /// When to [judge](Self::judge).
    pub(super) fn due(&self) -> Option<Time> {
        match self {
            Self::Behind(behind) => behind.due(),
            Self::Grace(grace) => grace.due(),
            Self::Late(_) => None,
        }
    }

    /// After a pull, or a loss: where the receivers stand. To be [judged](Self::judge) now. Who is late is only considered once the driver has handed
    /// over all that has arrived together, and asks for events.
    pub(super) fn observe(&mut self, now: Time, members: &Members, layout: &Layout) {
        match self {
            Self::Behind(behind) => behind.observe(
                now,
                members.iter().map(|m| (!m.is_done()).then(|| layout.symbols_before(m.base()) + m.under_way())),
            ),
            Self::Grace(grace) => grace.observe(now, members.iter().filter(|m| m.is_complete()).count() as u32),
            Self::Late(_) => {}
        }
    }

    /// What follows now, if anything. To be asked again until nothing does.
    pub(super) fn judge(&mut self, now: Time) -> Option<Finding> {
        match self {
            Self::Behind(behind) => behind.straggler(now).map(|peer| Finding::Detach(peer as Peer)),
            Self::Grace(grace) => grace.is_over(now).then_some(Finding::GiveUpRest(now)),
            Self::Late(_) => None,
        }
    }

    /// Where receivers are judged by when they complete blocks.
    #[inline]
    pub(super) fn late(&mut self) -> Option<&mut Late> {
        match self {
            Self::Late(late) => Some(late),
            Self::Behind(_) | Self::Grace(_) => None,
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
    pub(super) offered: bool,
    /// When pulls arrived that have not been considered.
    pulled: Option<Time>,
    /// How far each receiver is; kept to reuse its memory.
    demands: Vec<Option<Demand>>,
}

impl Late {
    fn new(lag: Option<Lag>, holding: Holding, receivers: usize) -> Self {
        let known = vec![Known::default(); receivers];
        Self { lag, holding, known, offered: false, pulled: None, demands: Vec::new() }
    }

    /// Whether a receiver is judged from now on.
    pub(super) fn excuse(&mut self, receiver: Peer, excuse: Excuse) {
        self.known[usize::from(receiver)].excuse = excuse;
    }

    /// A pull has arrived, of a member or of one that left: that others are late shows in it, too.
    #[inline]
    pub(super) fn on_pull(&mut self, now: Time) {
        self.pulled = Some(now);
    }

    /// A member has sent a pull, so long after the session began: it has come.
    #[inline]
    pub(super) fn on_member(&mut self, from: Peer, since: Option<Duration>) {
        if usize::from(from) < self.known.len() {
            self.on_answer(from, since.filter(|_| !self.offered));
        }
    }

    /// A receiver has come, so long after it could first have known of the session; `None` if that says nothing about its path.
    pub(super) fn on_answer(&mut self, receiver: Peer, after: Option<Duration>) {
        let receiver = usize::from(receiver);
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

    /// Who is late, after pulls.
    pub(super) fn consider(&mut self, members: &Members, stream: &Stream) -> Option<Finding> {
        let now = self.pulled.take()?;
        let straggler = self.observe(now, members, stream)?;
        let waits = self.offered && !self.known[straggler].came;
        let peer = straggler as Peer;
        Some(if waits { Finding::GoOnWithout(peer) } else { Finding::Detach(peer) })
    }

    /// The receiver that holds the others of a group back, if there is one.
    fn observe(&mut self, now: Time, members: &Members, stream: &Stream) -> Option<usize> {
        self.demands.clear();
        self.demands.extend(members.demands(stream.numbering.layout()));
        let demands = self.demands.iter().copied();
        let places = demands.clone().zip(&self.known).map(|(demand, known)| {
            let demand = demand.filter(|_| known.excuse != Excuse::CatchesUp)?;
            let excused = known.excuse == Excuse::Unreached;
            Some(Place { asked: demand.in_order, base: demand.base, excused })
        });
        let is_waited_for = |peer: usize| members.is_waited_for(peer, stream);
        let slow = self.lag.as_mut().and_then(|lag| lag.observe(now, places, stream.reached(), is_waited_for));
        let holds = self.holding.observe(now, demands);
        slow.or(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::config::Repair;
    use crate::scdp::header::Mode;
    use crate::scdp::sender::member::Member;
    use crate::scdp::sender::numbering::Numbering;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn watch(straggler: Straggler, receivers: usize) -> Option<Watch> {
        let options = Options {
            object_bytes: 100_000,
            symbol_bytes: 10,
            block_symbols: 100,
            window: 12,
            lanes: 1,
            mode: Mode::OneToMany,
        };
        let config = ScdpConfig { straggler, give_up_after: Some(Duration::from_secs(10)), ..ScdpConfig::default() };
        Watch::new(&config, &options, receivers)
    }

    #[test]
    fn one_receiver_alone_is_never_a_straggler() {
        for policy in StragglerPolicy::ALL {
            let of =
                |rule| [1, 2].map(|count| watch(Straggler { policy, rule, ..Straggler::default() }, count).is_some());
            let judges = policy != StragglerPolicy::Wait;
            assert_eq!([StragglerRule::Symbols, StragglerRule::Lateness].map(of), [[false, judges], [false, true]]);
        }
    }

    #[test]
    fn who_was_offered_the_object_and_has_not_come_is_left_behind_not_detached() {
        let (waits, rule) = (Duration::from_ms(100), StragglerRule::Lateness);
        let layout = Layout::new(100_000, 10, 100).expect("fits");
        let stream = Stream::from(0, Numbering::new(layout, 0, 1, Repair::Partitioned));
        for (offered, comes, expected) in [
            (true, false, Finding::GoOnWithout(1)),
            (true, true, Finding::Detach(1)),
            (false, false, Finding::Detach(1)),
        ] {
            let straggler = Straggler { policy: StragglerPolicy::Detach, rule, time: waits, ..Straggler::default() };
            let mut watch = watch(straggler, 3).expect("it judges");
            let late = watch.late().expect("by lateness");
            late.offered = offered;
            if comes {
                late.on_member(1, Some(Duration::from_ms(1)));
            }
            let mut members = Members::new(Member::default(), 3, None);
            for peer in [0, 2] {
                members.get_mut(peer).expect("three").ask(0, 24);
            }
            let found: Vec<_> = (0..150)
                .filter_map(|ms| {
                    late.on_pull(at(ms));
                    late.consider(&members, &stream)
                })
                .collect();
            assert_eq!(found, [expected], "offered: {offered}, comes: {comes}");
            assert_eq!(late.consider(&members, &stream), None, "no pull has arrived since");
        }
    }
}
