//! A run in windows: hosts and switches take turns, window by window, instead of event by event.
//!
//! In a window that is no longer than the least delay of a link, nothing that hosts do concerns a switch, nor the other way round.
//! So first what happens at hosts is handled, in its order; then all that arrives at switches, switch by switch and port by port, from
//! [boxes](crate::engine::boxes). Nothing that depends on the order of events changes: every host, every port
//! and every random stream sees what it would see.
//!
//! What concerns the whole run (samples, controllers, failures, the last request, the time limit) cuts windows short: at such a time
//! hosts and switches are at the same time, and what happens then is handled event by event. If hosts find that the run is over,
//! switches go as far as that event and no further.

use super::arrivals::{Arrivals, Next};
use super::engine::Moment;
use super::events::reaches_host;
use super::fabric::{Bench, MOST_PORTS};
use super::{Ending, Network, Stop};
use crate::engine::boxes::{LONGEST, SHORTEST};
use crate::fabric::graph::Link;
use anabranch_transport::Time;

/// How the events of a run are scheduled. The outcome is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// In windows where these are possible and hold enough packets.
    #[default]
    Auto,
    /// One by one.
    Events,
    /// In windows where these are possible.
    Windows,
}

/// Windows pay if a link carries at least so many full packets in one.
const PAYS: f64 = 0.3;

/// With fewer events in a window than this on average, event by event is faster: incasts to one host with 18 in each (NDP) and 11 (SCDP)
/// took 0.96 and 0.88 of the time. A fat-tree of k = 4, with 46 (TCP), 70 (NDP) and 97 (SCDP), took 1.05, 1.15 and 1.05 times as long.
/// Windows begin again with twice as many.
const SPARSE: f64 = 32.0;

/// So many events are looked at before the run goes on the other way: that costs as much as some events of each port.
const EVENTS_PER_LOOK: u64 = 16_384;
const EVENTS_PER_PORT: u64 = 8;

/// Windows are not possible if a packet is on its way for more than so many.
const LONG: u64 = 1024;

/// What a run in windows needs besides.
pub(super) struct Windows {
    bench: Bench,
    arrivals: Arrivals,
    /// All events before this time have been handled.
    at: u64,
}

/// How far the run had come when it was last asked whether windows pay.
pub(super) struct Look {
    events: u64,
    time: u64,
}

impl Network {
    /// How events are scheduled; before the run begins. [`Scheduling::Auto`], if nobody says so.
    pub fn schedule_in(&mut self, scheduling: Scheduling) {
        self.scheduling = scheduling;
    }

    /// Whether the run goes in windows at present.
    pub fn goes_in_windows(&self) -> bool {
        self.windows.is_some()
    }

    /// Whether the run can go in windows.
    ///
    /// # Errors
    /// If it cannot: why.
    pub fn windows_possible(&self) -> Result<(), &'static str> {
        let graph = self.fabric.graph();
        let (least, most) = self.fabric.spans();
        let to_hosts = |link: &Link| link.a < graph.hosts && link.b < graph.hosts;
        let obstacles = [
            (self.fabric.is_captured(), "packets are captured"),
            (self.fabric.returns_to_sender(), "switches send headers back"),
            (graph.multi_homed(), "hosts have several links"),
            (graph.links.iter().any(to_hosts), "hosts are linked with each other"),
            (self.fabric.shares_any_memory(), "ports share a memory"),
            (least < SHORTEST, "a link has no delay"),
            (most / least.max(1) > LONG, "a link is much shorter than others, or than packets"),
            (graph.ports() >= MOST_PORTS || !self.fabric.has_room_for_copies(), "there are too many ports"),
        ];
        obstacles.into_iter().find(|(there, _)| *there).map_or(Ok(()), |(_, why)| Err(why))
    }

    /// Whether the run is to go in windows.
    pub(super) fn wants_windows(&self) -> bool {
        if self.scheduling == Scheduling::Events || self.windows_possible().is_err() {
            return false;
        }
        let graph = self.fabric.graph();
        let least = graph.links.iter().map(|link| link.delay.ps()).min().unwrap_or(0);
        let packets = |link: &Link| least as f64 / link.rate.transmit_time(self.fabric.packet_bytes()).ps() as f64;
        let mean = graph.links.iter().map(packets).sum::<f64>() / graph.links.len().max(1) as f64;
        self.scheduling == Scheduling::Windows || mean >= PAYS
    }

    /// Begins to go in windows if that is possible and pays.
    pub(super) fn begin(&mut self) {
        self.begun = true;
        self.look = None;
        if self.wants_windows() {
            self.look_again();
            self.enter_windows();
        }
    }

    fn look_again(&mut self) {
        if self.scheduling == Scheduling::Auto {
            self.look = Some(Look { events: self.events(), time: self.engine.now });
        }
    }

    /// Goes on event by event where little happens in a window, and in windows again where more does.
    pub(super) fn adapt(&mut self) {
        let Some(Look { events, time }) = self.look else { return };
        let (events, time) = (self.events() - events, self.engine.now - time);
        if events < EVENTS_PER_LOOK.max(EVENTS_PER_PORT * u64::from(self.fabric.graph().ports())) {
            return;
        }
        self.look_again();
        let length = self.fabric.spans().0.min(LONGEST);
        let in_a_window = events as f64 * length as f64 / time.max(1) as f64;
        if self.goes_in_windows() && in_a_window < SPARSE {
            self.leave_windows();
            self.begun = true;
        } else if !self.goes_in_windows() && in_a_window > 2.0 * SPARSE {
            self.enter_windows();
        }
    }

    fn enter_windows(&mut self) {
        self.fabric.use_boxes(&mut self.engine, |_| true);
        let (bench, arrivals) = <(Bench, Arrivals)>::default();
        self.windows = Some(Windows { bench, arrivals, at: self.engine.now });
    }

    /// Everything that is on its way is on wires until events are handled again.
    pub(super) fn leave_windows(&mut self) {
        if self.windows.take().is_some() {
            self.fabric.empty_boxes(&mut self.engine);
        }
        self.begun = false;
    }

    /// Handles so many events, or somewhat more, in windows; says how the run ended if it did before.
    pub(super) fn handle_in_windows(&mut self, windows: &mut Windows, events: u32) -> Option<Ending> {
        let goal = self.events() + u64::from(events);
        while self.events() < goal {
            if self.is_over() {
                return Some(self.ending());
            }
            if self.engine.pending.is_empty() {
                return Some(self.ending());
            }
            let next = self.engine.pending.next_bound().max(windows.at);
            let cut = self.concerns_all().min(self.time_limit.saturating_add(1));
            if next > self.time_limit {
                return Some(self.at_time_limit());
            }
            self.engine.pending.boxes.go_to(next.min(cut));
            if cut <= next {
                windows.at = cut.saturating_add(1);
                if let Some(ending) = self.instant(cut) {
                    return Some(ending);
                }
                // An instant that is the last of its window ends it.
                let Self { engine, fabric, hosts, ledger, .. } = self;
                if windows.at == engine.pending.boxes.end() && engine.pending.boxes.has_more() {
                    fabric.run_window(engine, ledger, hosts, &mut windows.bench, Moment::of(windows.at));
                }
                continue;
            }
            let end = self.engine.pending.boxes.end().min(cut);
            let last = self.hosts_before(&mut windows.arrivals, end);
            windows.at = last.map_or(end, |moment| moment.time);
            let Self { engine, fabric, hosts, ledger, .. } = self;
            fabric.run_window(engine, ledger, hosts, &mut windows.bench, last.unwrap_or(Moment::of(end)));
        }
        None
    }

    /// Whether nothing is waited for any more.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.stop == Stop::Foreground && self.ledger.waits_for_nothing()
    }

    /// When something is due next that concerns the whole run.
    fn concerns_all(&self) -> u64 {
        let (e, wheel) = (&self.engine.entities, &self.engine.pending.wheel);
        let due = |entity| wheel.due(entity).unwrap_or(u64::MAX);
        let controllers = (e.controllers..e.requests).map(due).min().unwrap_or(u64::MAX);
        let to_come = self.ledger.to_come();
        let last = to_come.last().map_or(u64::MAX, |last| last.start.ps());
        let deadlocks = e.deadlocks().map_or(u64::MAX, due);
        due(e.sampler).min(deadlocks).min(due(e.next_change)).min(controllers).min(last)
    }

    /// Handles what happens at hosts before a time. The moment of what the run was over by, if it was.
    fn hosts_before(&mut self, arrivals: &mut Arrivals, end: u64) -> Option<Moment> {
        arrivals.take(&mut self.engine);
        while let Some(next) = arrivals.next(&mut self.engine, &self.fabric, &self.hosts, end) {
            match next {
                Next::Packet(arrival) => {
                    let Self { engine, fabric, hosts, ledger, .. } = self;
                    engine.go_ahead(arrival.time, arrival.link);
                    reaches_host(engine, fabric, hosts, ledger, arrival);
                }
                Next::Event(now, entity) => {
                    if entity < self.engine.entities.pacers && self.fabric.puts_in_box(&mut self.engine, entity, now) {
                        continue;
                    }
                    self.engine.go_ahead(now, entity);
                    let ending = self.handle_one(now, entity);
                    debug_assert!(ending.is_none(), "what can end a run otherwise concerns the whole run");
                }
            }
            if self.is_over() {
                break;
            }
        }
        arrivals.put_back(&mut self.engine);
        let last = self.engine.ahead_of_switches().filter(|_| self.is_over());
        self.engine.wait_for_switches();
        last
    }

    /// Handles all that happens at a time, in its order; all before has been handled.
    fn instant(&mut self, time: u64) -> Option<Ending> {
        let Self { engine, fabric, .. } = self;
        engine.now = time;
        if self.schedule.cuts_at(Time(time)) {
            // It concerns what is on its way: that is on wires until it is over.
            fabric.empty_boxes(engine);
            let ending = self.events_at(time);
            self.fabric.use_boxes(&mut self.engine, |_| true);
            return ending;
        }
        let now = engine.pending.boxes.take_at(time);
        fabric.onto_wires(engine, now);
        self.events_at(time)
    }

    fn events_at(&mut self, time: u64) -> Option<Ending> {
        while let Some((now, entity)) = self.engine.pending.wheel.pop_before(time.saturating_add(1)) {
            if let Some(ending) = self.handle_one(now, entity) {
                return Some(ending);
            }
            if self.is_over() {
                return Some(self.ending());
            }
        }
        None
    }

    /// The run has come to its time limit.
    pub(super) fn at_time_limit(&mut self) -> Ending {
        self.engine.now = self.time_limit;
        match self.ledger.unfinished() {
            0 => Ending::Complete,
            _ => self.deadlock_now().unwrap_or_else(|| Ending::TimeLimit(self.why_late())),
        }
    }
}
