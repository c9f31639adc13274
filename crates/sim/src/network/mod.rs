//! A run: its parts, and the event loop that joins them.
//!
//! [`Network`] is made of parts that own their state, each in its file:
//!
//! | part | what it owns | what it uses |
//! |---|---|---|
//! | `engine` | time, events, packets, fingerprint | - |
//! | `ledger` | which sessions there are, what became of them and of every packet | - |
//! | `fabric` | ports, routes, multicast groups, captures: what happens to a packet between hosts | engine, ledger |
//! | `hosts` | interfaces and endpoints: what happens at hosts | engine, ledger, fabric |
//! | `monitor` | time series, and what links carried in the measured `window` | looks at all of these |
//! | `controllers` | controllers, and what they have decided | all of these |
//! | `barrier` | which clients wait for which blocks (in `hosts`) | tells the ledger |
//! | `admission` | which sessions may begin, and which wait | looks at ledger |
//! | `prefetcher` | nothing: asks for the memory that the next events will need | looks at engine, fabric, hosts |
//! | `events` | nothing: what happens at nodes, whichever of their entities is due | engine, ledger, fabric, hosts |
//! | `arrivals` | packets that reach hosts in a window, in their order | engine; looks at fabric, hosts |
//! | `windows` | how far a run in windows has come: hosts and switches take turns | all of these |
//! | `parallel` | nothing: divides the run among threads | all of these |
//! | `schedule` | failures, repairs and other changes to come | - |
//!
//! `sessions` opens a session: it adds endpoints to the hosts, groups to the fabric and a row to the ledger. `setup` is what a
//! run is made of, `fallback` how sessions go without group sessions of the transport.

mod admission;
mod arrivals;
mod barrier;
mod controllers;
mod engine;
mod events;
mod fabric;
mod fallback;
mod hosts;
mod job;
mod ledger;
mod monitor;
mod parallel;
mod prefetcher;
mod schedule;
mod session_group;
mod sessions;
mod setup;
mod window;
mod windows;

use crate::capture::{CapturePlan, CaptureRow, Files};
use crate::control::Verdict;
use crate::engine::periodic::Periodic;
use crate::fabric::graph::Graph;
use crate::fabric::ideal::Packets;
use crate::fabric::port::Port;
use crate::fabric::routing::Routes;
use crate::random;
use crate::workload::Session;
use anabranch_transport::{Duration, Time};
pub use barrier::BlockRow;
use barrier::{Ask, REQUEST};
use controllers::Controllers;
use engine::{Engine, Entities};
use events::at_node;
use fabric::Fabric;
pub use fallback::Fallback;
use hosts::Hosts;
pub use job::JobRow;
use ledger::Ledger;
pub use ledger::{Conservation, ReceiverRow, SessionRow, Straggler};
use monitor::Monitor;
pub use monitor::{SAMPLE_BYTES, Sample};
pub use parallel::{Division, Undone};
use prefetcher::Prefetcher;
use rand::Rng as _;
use schedule::Schedule;
pub use schedule::{Change, Target};
pub use session_group::SessionGroup;
use sessions::note_ideal_paths;
pub(crate) use sessions::sizes;
pub use setup::{Sampling, Setup, Stop};
use std::io;
use std::ops::Add;
pub use windows::Scheduling;
use windows::{Look, Windows};

/// How often switches that pause each other are looked at for deadlocks. One lasts for ever, so that nothing is missed in between.
const DEADLOCKS: Duration = Duration::from_ms(10);

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As asked by [`Stop`].
    Complete,
    /// Sessions were not finished, but nothing was scheduled any more, or all of them had given up.
    Stalled(String),
    /// The time limit came first.
    TimeLimit(String),
    /// The caller asked for it.
    Interrupted,
    /// It needs more memory than it may take; the message says for what.
    TooLarge(Needs, String),
    /// A controller decided something that is impossible in this fabric; the message says what.
    Refused(String),
}

/// What a run needs more memory for than it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Packets on their way.
    Packets,
    /// Rows of the time series.
    Samples,
}

/// A run in progress.
pub struct Network {
    engine: Engine,
    fabric: Fabric,
    hosts: Hosts,
    ledger: Ledger,
    monitor: Monitor,
    schedule: Schedule,
    controllers: Controllers,
    seed: u64,
    stop: Stop,
    time_limit: u64,
    /// In large fabrics.
    prefetcher: Option<Prefetcher>,
    scheduling: Scheduling,
    /// Whether it has been decided if the run goes in windows from here on.
    begun: bool,
    /// While the run goes in windows.
    windows: Option<Windows>,
    /// While it may go the other way.
    look: Option<Look>,
}

impl Network {
    /// A network at time zero, nothing sent yet.
    pub fn new(setup: Setup) -> Self {
        let largest = setup.groups.iter().map(|g| g.transport.packet_bytes()).max().unwrap_or(1500);
        let links = setup.graph.links.iter();
        let horizon = links.map(|l| l.rate.transmit_time(largest).ps() + l.delay.ps()).max().unwrap_or(1);
        let ties = random::stream(setup.seed, "ties").next_u64();
        let (fabric, hosts) = (Fabric::new(&setup, largest), Hosts::new(&setup, largest));
        let ports = setup.graph.ports();
        let controllers = Controllers::entities(setup.controllers.len());
        // Each switch that loses nothing, and the look for deadlocks.
        let lossless = setup.pfc.map_or(0, |_| setup.graph.nodes.len() as u32 - setup.graph.hosts + 1);
        let requests = u32::from(hosts.barriers.exist() || hosts.jobs.exist());
        let entities =
            Entities::new(ports, [hosts.interfaces(), hosts.interfaces_with_turns()], lossless, controllers, requests);
        let engine = Engine::new(entities, horizon, ties, setup.memory_limit);
        let controllers = Controllers::new(&setup.controllers, &setup.graph, setup.seed, &engine);
        let mut network = Self {
            controllers,
            fabric,
            hosts,
            monitor: Monitor::new(setup.sampling, &engine, ports, setup.memory_limit),
            schedule: Schedule::new(setup.changes, &setup.sessions, &setup.groups),
            ledger: Ledger::new(setup.sessions, setup.groups),
            engine,
            seed: setup.seed,
            stop: setup.stop,
            time_limit: setup.time_limit.min(Time::LATEST).ps(),
            prefetcher: Prefetcher::new(ports),
            scheduling: Scheduling::default(),
            begun: false,
            windows: None,
            look: None,
        };
        network.schedule_next_session();
        network.schedule_next_change();
        network.monitor.start(&mut network.engine);
        network.controllers.start(&mut network.engine);
        network.fabric.wake_switches(&mut network.engine);
        network.look_for_deadlocks_later();
        network
    }

    /// Captures packets into `files`, which opens one by its name. Call before the run begins.
    ///
    /// # Errors
    /// If a file cannot be opened or written. What goes wrong later, [`finish_captures`](Self::finish_captures) says.
    pub fn capture(&mut self, plans: Vec<CapturePlan>, files: Box<Files>) -> io::Result<()> {
        self.fabric.capture(plans, files)
    }

    /// Ends the captures, if there are any: what each has come to.
    ///
    /// # Errors
    /// The first thing that went wrong with a file since the run began.
    pub fn finish_captures(&mut self) -> io::Result<Vec<CaptureRow>> {
        self.fabric.finish_captures(&self.engine)
    }

    /// Runs until the run ends, or until `keep_going`, asked every few thousand events, or after a window that has more, says no.
    pub fn run(&mut self, mut keep_going: impl FnMut(&Self) -> bool) -> Ending {
        loop {
            if let Some(ending) = self.advance(16_384) {
                return ending;
            }
            if !keep_going(self) {
                return Ending::Interrupted;
            }
        }
    }

    /// Handles so many events, in windows somewhat more; says how the run ended if it did before.
    pub fn advance(&mut self, events: u32) -> Option<Ending> {
        let ending = self.handle(events);
        self.fabric.write_captures(&self.engine);
        // Whatever else: what did not fit was not sent.
        self.too_large().or(ending)
    }

    fn handle(&mut self, events: u32) -> Option<Ending> {
        if !self.begun {
            self.begin();
        }
        let ending = self.handle_events(events);
        if ending.is_none() {
            self.adapt();
        }
        ending
    }

    fn handle_events(&mut self, events: u32) -> Option<Ending> {
        if let Some(mut windows) = self.windows.take() {
            let ending = self.handle_in_windows(&mut windows, events);
            self.windows = Some(windows);
            return ending;
        }
        for _ in 0..events {
            if self.is_over() {
                return Some(self.ending());
            }
            if let Some(prefetcher) = &mut self.prefetcher {
                prefetcher.step(&mut self.engine, &self.fabric, &self.hosts, u64::MAX);
            }
            let Some((now, entity)) = self.engine.pending.wheel.pop() else {
                return Some(self.ending());
            };
            if now > self.time_limit {
                self.engine.pending.wheel.schedule(entity, now);
                return Some(self.at_time_limit());
            }
            let ending = self.handle_one(now, entity);
            if ending.is_some() {
                return ending;
            }
        }
        None
    }

    /// Handles the event of an entity; says how the run ended if it did.
    #[inline]
    fn handle_one(&mut self, now: u64, entity: u32) -> Option<Ending> {
        let Self { engine, fabric, hosts, ledger, .. } = self;
        engine.begin_event(now);
        if !engine.entities.leaves_no_trace(entity) {
            engine.trace_event(entity);
        }
        if at_node(engine, fabric, hosts, ledger, entity) { None } else { self.handle_rare(entity) }
    }

    /// Handles an event that is not at a node.
    #[inline(never)]
    fn handle_rare(&mut self, entity: u32) -> Option<Ending> {
        if entity == self.engine.entities.sampler {
            self.monitor.sample(&mut self.engine, &mut self.fabric, &self.hosts, &self.ledger);
            if self.too_many_samples().is_some() {
                return self.too_large();
            }
            return None;
        }
        if self.engine.entities.is_switch(entity) {
            self.engine.uncount_event();
            self.fabric.switch_sends(&mut self.engine, entity);
            return None;
        }
        if self.engine.entities.deadlocks() == Some(entity) {
            return self.look_for_deadlocks();
        }
        self.dispatch(entity);
        if self.engine.entities.is_controller(entity) {
            if let Some(why) = self.controllers.refused() {
                return Some(Ending::Refused(why.to_owned()));
            }
            if self.too_many_samples().is_some() {
                return self.too_large();
            }
        }
        None
    }

    /// Looks whether switches wait for each other, from time to time while anything else happens.
    fn look_for_deadlocks(&mut self) -> Option<Ending> {
        let ending = self.deadlock_now();
        if ending.is_none() {
            self.look_for_deadlocks_later();
        }
        ending
    }

    /// The ending of a run whose switches wait for each other.
    fn deadlock_now(&mut self) -> Option<Ending> {
        if !self.fabric.is_lossless() {
            return None;
        }
        self.fabric.catch_up(&mut self.engine);
        self.fabric.deadlock().map(Ending::Stalled)
    }

    fn look_for_deadlocks_later(&mut self) {
        if let Some(entity) = self.engine.entities.deadlocks() {
            let next = self.engine.now.saturating_add(DEADLOCKS.ps());
            let entities = &self.engine.entities;
            Periodic::new(entities.sampler..entities.requests).again(&mut self.engine.pending, entity, next);
        }
    }

    /// If what is recorded, or sure to be, needs more memory than it may take: a message.
    fn too_many_samples(&self) -> Option<String> {
        self.monitor.too_large(self.now(), self.controllers.decided())
    }

    /// The ending of a run that needs more memory than it may take.
    fn too_large(&self) -> Option<Ending> {
        if let Some(why) = self.too_many_samples() {
            return Some(Ending::TooLarge(Needs::Samples, why));
        }
        self.engine.too_large().map(|why| Ending::TooLarge(Needs::Packets, why))
    }

    /// How a run ends in which nothing can be waited for any more.
    fn ending(&self) -> Ending {
        match self.ledger.unfinished() {
            0 => Ending::Complete,
            _ => Ending::Stalled(self.fabric.deadlock().unwrap_or_else(|| self.who_waits())),
        }
    }

    /// What waits at the time limit, and which limit that is if none was asked for.
    fn why_late(&self) -> String {
        let waits = self.who_waits();
        if self.time_limit < Time::LATEST.ps() {
            return waits;
        }
        format!("{waits}; the clock ends after 213 days")
    }

    fn who_waits(&self) -> String {
        self.ledger.who_waits(|session| {
            if self.controllers.admission.is_held(session) {
                return "held by a controller".to_owned();
            }
            if let Some(what) = self.hosts.barriers.waits_for(session).or_else(|| self.hosts.jobs.waits_for(session)) {
                return what;
            }
            self.hosts.states(self.ledger.endpoints_of(session))
        })
    }

    /// Handles an event that concerns the whole run.
    #[inline(never)]
    fn dispatch(&mut self, entity: u32) {
        let Self { engine, fabric, hosts, ledger, monitor, controllers, .. } = self;
        let e = &engine.entities;
        if entity >= e.requests {
            self.on_requests();
        } else if entity >= e.controllers {
            controllers.handle(engine, fabric, hosts, ledger, monitor, entity);
            self.open_released();
        } else if entity == e.next_session {
            self.open_sessions();
        } else {
            debug_assert_eq!(entity, e.next_change);
            self.apply_changes();
        }
    }

    /// Opens every session whose time has come, and schedules the next.
    fn open_sessions(&mut self) {
        if self.ledger.specs().last().is_some_and(|last| last.start <= self.now()) {
            self.monitor.last_request(&mut self.engine, &mut self.fabric);
        }
        while let Some(spec) = self.ledger.next().filter(|spec| spec.start <= self.now()) {
            if self.ledger.group_of(spec).job.is_some() {
                let session = self.ledger.open_later();
                self.hosts.jobs.begin(session, self.engine.now());
                continue;
            }
            let verdict = self.controllers.admission.verdict(spec, self.ledger.group_of(spec));
            let session = self.ledger.open();
            if self.hosts.barriers.has(session) {
                self.await_request(session);
            } else {
                self.decide(session, verdict);
            }
        }
        if self.hosts.jobs.exist() {
            self.go_on_with_jobs();
        }
        self.schedule_next_session();
    }

    /// What becomes of a session that wants to begin.
    fn decide(&mut self, session: u32, verdict: Verdict) {
        match verdict {
            Verdict::Admit => self.open(session),
            Verdict::Hold => {
                note_ideal_paths(&self.fabric, &mut self.ledger, session);
                self.controllers.admission.hold(session);
            }
            Verdict::Refuse => {
                note_ideal_paths(&self.fabric, &mut self.ledger, session);
                self.refuse(session);
            }
        }
    }

    /// A controller has refused a session.
    fn refuse(&mut self, session: u32) {
        const WHY: &str = "refused by a controller";
        self.ledger.refused(session, WHY);
        self.hosts.barriers.stop(session, self.engine.now(), WHY);
        self.hosts.jobs.stop(session, WHY);
        self.hosts.await_requests(&mut self.engine);
    }

    /// A session that its client has to ask for: of the first block it does so now.
    fn await_request(&mut self, session: u32) {
        note_ideal_paths(&self.fabric, &mut self.ledger, session);
        let spec = &self.ledger.specs()[session as usize];
        let (client, server, now) = (spec.sinks[0], spec.sources[0], self.engine.now());
        let way = self.fabric.first_path(client, server);
        let delay =
            way.iter().map(|(rate, delay)| rate.transmit_time(REQUEST.0) + *delay).fold(Duration::ZERO, Add::add);
        if let Err(why) = self.hosts.barriers.ask_first(now, session, delay) {
            self.ledger.given_up(session, &why);
        }
        self.hosts.await_requests(&mut self.engine);
    }

    /// Requests for blocks reach their servers.
    fn on_requests(&mut self) {
        while let Some(ask) = self.hosts.barriers.take(self.engine.now()) {
            match ask {
                Ask::Open(session) if self.ledger.failure(session).is_none() => {
                    let spec = &self.ledger.specs()[session as usize];
                    let verdict = self.controllers.admission.verdict(spec, self.ledger.group_of(spec));
                    self.decide(session, verdict);
                }
                Ask::Open(_) => {}
                Ask::Provide(session, bytes) => {
                    self.hosts.provide(&mut self.engine, &mut self.fabric, &mut self.ledger, session, bytes);
                }
                Ask::Stop(session) => {
                    let Some((why, sessions)) = self.hosts.barriers.stopped(session) else { continue };
                    for session in sessions {
                        self.controllers.admission.remove(session);
                        self.hosts.give_up(&mut self.engine, &mut self.fabric, &mut self.ledger, session, &why);
                    }
                }
            }
        }
        self.go_on_with_jobs();
    }

    /// What is due in jobs happens: messages leave, and jobs that have stopped give theirs up.
    fn go_on_with_jobs(&mut self) {
        let mut begin = Vec::new();
        self.hosts.jobs.advance(self.engine.now(), &mut begin);
        for session in begin {
            self.ledger.set_start(session, self.engine.now());
            let spec = &self.ledger.specs()[session as usize];
            let verdict = self.controllers.admission.verdict(spec, self.ledger.group_of(spec));
            self.decide(session, verdict);
        }
        while let Some((why, sessions)) = self.hosts.jobs.take_stopped() {
            for session in sessions {
                self.controllers.admission.remove(session);
                self.hosts.give_up(&mut self.engine, &mut self.fabric, &mut self.ledger, session, &why);
            }
        }
        self.hosts.await_requests(&mut self.engine);
    }

    /// Opens a session that has come and may begin.
    fn open(&mut self, session: u32) {
        let Self { engine, fabric, hosts, ledger, seed, .. } = self;
        sessions::open(engine, fabric, hosts, ledger, *seed, session);
    }

    /// Opens the sessions that controllers hold no longer.
    fn open_released(&mut self) {
        let released = self.controllers.admission.take_released(&self.ledger);
        if released.is_empty() {
            return;
        }
        for (session, verdict) in released {
            match verdict {
                Verdict::Refuse => self.refuse(session),
                Verdict::Admit | Verdict::Hold => self.open(session),
            }
        }
        self.controllers.wake(&mut self.engine);
        self.monitor.wake(&mut self.engine);
    }

    fn schedule_next_session(&mut self) {
        if let Some(next) = self.ledger.next() {
            self.engine.pending.wheel.schedule(self.engine.entities.next_session, next.start.ps());
        }
    }

    /// Does every change whose time has come, and schedules the next.
    fn apply_changes(&mut self) {
        while let Some(change) = self.schedule.take(self.now()) {
            let Self { engine, fabric, hosts, ledger, controllers, .. } = self;
            match change {
                Change::Cut(target) => fabric.cut(engine, ledger, target),
                Change::Restore(target) => fabric.restore(engine, target),
                Change::Rate(target, rate) => fabric.set_rate(engine, target, rate),
                Change::End(session) if controllers.admission.remove(session) => {
                    ledger.refused(session, "held by a controller until its end");
                }
                Change::End(session) => hosts.end(engine, fabric, ledger, session),
            }
            if matches!(change, Change::Cut(_) | Change::Restore(_)) && fabric.schemes().renewed() {
                hosts.renew_paths(fabric, ledger);
            }
        }
        self.schedule_next_change();
    }

    fn schedule_next_change(&mut self) {
        if let Some(next) = self.schedule.next_time() {
            self.engine.pending.wheel.schedule(self.engine.entities.next_change, next.ps());
        }
    }

    /// Collects the counters of the endpoints that are still open, and those of all transmissions that have begun, whoever has
    /// looked at their ports. Call once, at the end.
    pub fn finish(&mut self) {
        self.hosts.jobs.finish(self.engine.now());
        self.fabric.catch_up(&mut self.engine);
        self.monitor.finish(&mut self.engine, &mut self.fabric, &self.hosts, &self.ledger);
        self.hosts.finish(&mut self.ledger);
        for session in 0..self.ledger.sessions() as u32 {
            // A message that has never left, on the fabric as it is now.
            if self.hosts.jobs.has(session) && self.ledger.endpoints_of(session).is_empty() {
                note_ideal_paths(&self.fabric, &mut self.ledger, session);
            }
        }
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.engine.events()
    }

    /// A number that two runs share only if they went through the same events.
    pub fn fingerprint(&self) -> u64 {
        self.engine.fingerprint()
    }

    /// Where every packet has gone.
    pub fn conservation(&self) -> Conservation {
        let alive = u64::from(self.engine.packets_alive()).wrapping_sub(self.fabric.pause_frames_alive());
        Conservation { in_flight: alive, ..self.ledger.counts() }
    }

    /// Receivers of awaited sessions that still wait for their object.
    pub fn unfinished(&self) -> u64 {
        self.ledger.unfinished()
    }

    /// Sessions opened so far, in order of start.
    pub fn sessions(&self) -> Vec<SessionRow> {
        (0..self.ledger.sessions()).map(|session| self.session(session)).collect()
    }

    /// One of them.
    ///
    /// # Panics
    /// If it has not been opened.
    pub fn session(&self, number: usize) -> SessionRow {
        self.ledger.row(number as u32).into_owned()
    }

    /// How many there are so far.
    pub fn opened(&self) -> usize {
        self.ledger.sessions()
    }

    /// What the sessions are, in order of start.
    pub fn specs(&self) -> &[Session] {
        self.ledger.specs()
    }

    /// The groups that sessions belong to.
    pub fn groups(&self) -> &[SessionGroup] {
        self.ledger.groups()
    }

    /// The blocks that clients at barriers have asked for so far, by client.
    pub fn blocks(&self) -> Vec<BlockRow> {
        // A client that thinks has not asked yet.
        self.hosts.barriers.rows().into_iter().filter(|block| block.asked <= self.now()).collect()
    }

    /// Takes what has become of the jobs. Call once, at the end: they are forgotten.
    pub fn take_jobs(&mut self) -> Vec<JobRow> {
        self.ledger.forget_jobs();
        std::mem::take(&mut self.hosts.jobs).rows(self.monitor.wants_operations())
    }

    /// The fabric.
    pub fn graph(&self) -> &Graph {
        self.fabric.graph()
    }

    /// The routing tables in force.
    pub fn routes(&self) -> &Routes {
        self.fabric.routes()
    }

    /// The time below which no object of these packets can reach a receiver, and the links of a shortest path to it: on the
    /// fabric as it was when the session began, and, if that has changed until the object was complete, as it was at its best.
    pub fn ideal(&self, session: usize, row: &SessionRow, receiver: usize, packets: &Packets) -> (Duration, u8) {
        let spec = &self.ledger.specs()[session];
        let seen = &row.receivers[receiver];
        let noted = self.ledger.ideal_path(seen);
        let until = seen.completed.unwrap_or(self.measured_until());
        let changes = self.fabric.changes_until(seen.changes_before(), until.ps());
        if changes == 0 {
            return (noted.completion_time(packets), noted.hops);
        }
        let group = self.ledger.group_of(spec);
        let sources = sessions::sources(group, spec, &row.senders[receiver]);
        let manner = sessions::manner(&self.fabric, group, spec);
        let best = self.fabric.ideal_path_through(changes, sources, spec.sinks[receiver], manner);
        (best.completion_time(packets), noted.hops)
    }

    /// The ports, by index.
    pub fn ports(&self) -> &[Port] {
        self.fabric.ports()
    }

    /// Whether a flow that was requested at this time counts: in the measured window.
    pub fn counts(&self, start: Time) -> bool {
        self.monitor.window().holds(start.ps())
    }

    /// The ends of the measured window, once the run is over; nothing if it had no length.
    pub fn window(&self) -> Option<(Time, Time)> {
        let at = |ps| Time::ZERO + Duration::from_ps(ps);
        self.monitor.window().ends().map(|(begin, end)| (at(begin), at(end)))
    }

    /// The share of the measured window during which a port was sending, if the window had a length.
    pub fn utilisation_in_window(&self, port: u32) -> Option<f64> {
        self.monitor.window().utilisation(port as usize)
    }

    /// Takes the time series recorded so far.
    pub fn take_samples(&mut self) -> Vec<Sample> {
        self.monitor.take_samples()
    }

    /// The time at which the last object was complete; now if none was, or if the run waited for none.
    pub fn measured_until(&self) -> Time {
        let all_complete = self.stop != Stop::Limit && self.ledger.unfinished() == 0;
        self.ledger.last_completion().filter(|_| all_complete).unwrap_or(self.now())
    }
}
