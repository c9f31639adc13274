//! The monitor: looks at a run at intervals and keeps the time series. Looking changes nothing but that ports catch up.

use super::engine::Engine;
use super::fabric::Fabric;
use super::hosts::Hosts;
use super::ledger::Ledger;
use super::setup::Sampling;
use super::window::Window;
use crate::engine::periodic::Periodic;
use crate::fabric::queue::Discipline;
use anabranch_transport::units::PS_PER_S;
use anabranch_transport::{Bytes, Time};

/// Bytes of a sample, from when it is taken until it is written: here, in a list that doubles when it is full, and in the
/// columns of its table.
pub const SAMPLE_BYTES: u64 = 3 * size_of::<Sample>() as u64;

/// One recorded value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When, in picoseconds.
    pub time: u64,
    /// What, as in the result tables.
    pub metric: &'static str,
    /// Which port or session.
    pub id: u32,
    /// How much.
    pub value: f64,
}

/// What it is to record, what it has recorded, and what it saw last.
pub(super) struct Monitor {
    sampling: Sampling,
    window: Window,
    periodic: Periodic,
    memory_limit: u64,
    samples: Vec<Sample>,
    /// When it looked last, in picoseconds.
    looked_at: u64,
    /// Time that each port had been busy then.
    busy: Vec<u64>,
    /// Bytes that each port had sent.
    sent: Vec<u64>,
    /// Bytes that each session had delivered; [`OVER`]: it will deliver no more.
    delivered: Vec<u64>,
}

impl Monitor {
    /// Looks at so many ports. Its samples have `memory_limit` bytes.
    pub(super) fn new(sampling: Sampling, engine: &Engine, ports: u32, memory_limit: u64) -> Self {
        Self {
            window: Window::new(&sampling),
            sampling,
            periodic: Periodic::new(engine.entities.sampler..engine.entities.requests),
            memory_limit,
            samples: Vec::new(),
            looked_at: 0,
            busy: vec![0; ports as usize],
            sent: vec![0; ports as usize],
            delivered: Vec::new(),
        }
    }

    /// Whether the times of all operations of jobs are wanted.
    pub(super) fn wants_operations(&self) -> bool {
        self.sampling.operations
    }

    /// Schedules the first look, if it is to look at anything.
    pub(super) fn start(&self, engine: &mut Engine) {
        if let Some(next) = self.next(0) {
            engine.pending.wheel.schedule(engine.entities.sampler, next);
        }
    }

    /// The next whole interval, or end of the measured window, after a time.
    fn next(&self, now: u64) -> Option<u64> {
        let interval = self.sampling.interval.ps();
        let sample = (interval > 0).then(|| (now / interval + 1) * interval);
        sample.into_iter().chain(self.window.next(now)).min()
    }

    /// The same, from now on. While no packet is anywhere and nothing is due there is nothing to see, but windows, which are
    /// recorded at every look: idle time is passed over.
    fn next_of(&self, engine: &Engine) -> Option<u64> {
        let idle = self.sampling.windows.is_empty() && engine.packets_alive() == 0;
        let until = if idle { engine.pending.wheel.earliest().min(Time::LATEST.ps()) } else { 0 };
        let interval = self.sampling.interval.ps();
        let sample = (interval > 0).then(|| (engine.now.max(until.saturating_sub(1)) / interval + 1) * interval);
        sample.into_iter().chain(self.window.next(engine.now)).min()
    }

    pub(super) fn window(&self) -> &Window {
        &self.window
    }

    /// The last request has come.
    pub(super) fn last_request(&mut self, engine: &mut Engine, fabric: &mut Fabric) {
        self.window.last_request(engine, fabric);
    }

    /// Goes on looking, at whole intervals, after a time in which nothing could happen.
    pub(super) fn wake(&self, engine: &mut Engine) {
        if let Some(next) = self.next(engine.now)
            && engine.pending.wheel.due(engine.entities.sampler).is_none()
        {
            engine.pending.wheel.schedule(engine.entities.sampler, next);
        }
    }

    pub(super) fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    /// If the samples need more memory than they may take: a message.
    /// `awaited`: rows that are sure to come.
    pub(super) fn too_large(&self, now: Time, awaited: usize) -> Option<String> {
        let (count, limit) = (self.samples.len() + awaited, Bytes(self.memory_limit));
        (count as u64 * SAMPLE_BYTES > limit.0).then(|| format!("{count} samples at {now} need more than {limit}"))
    }

    /// Records what the scenario asked for, and schedules the next look while anything else is going on.
    pub(super) fn sample(&mut self, engine: &mut Engine, fabric: &mut Fabric, hosts: &Hosts, ledger: &Ledger) {
        self.window.look(engine, fabric);
        let interval = self.sampling.interval.ps();
        if interval > 0 && engine.now.is_multiple_of(interval) {
            self.look(engine, fabric, hosts, ledger);
        }
        if let Some(next) = self.next_of(engine) {
            self.periodic.again(&mut engine.pending, engine.entities.sampler, next);
        }
    }

    /// The last look, if the run ends when one is due.
    pub(super) fn finish(&mut self, engine: &mut Engine, fabric: &mut Fabric, hosts: &Hosts, ledger: &Ledger) {
        let interval = self.sampling.interval.ps();
        if interval > 0 && engine.now.is_multiple_of(interval) && self.looked_at < engine.now {
            self.look(engine, fabric, hosts, ledger);
        }
        self.window.finish(engine, fabric);
    }

    fn look(&mut self, engine: &mut Engine, fabric: &mut Fabric, hosts: &Hosts, ledger: &Ledger) {
        self.looked_at = engine.now;
        for port in 0..fabric.ports().len() as u32 {
            self.look_at_port(engine, fabric, port);
        }
        for session in self.sampling.windows.clone() {
            if let Some(window) = hosts.congestion_window(ledger.endpoints_of(session)) {
                self.push("cwnd_bytes", session, window as f64);
            }
        }
        if self.sampling.goodput {
            self.look_at_sessions(hosts, ledger);
        }
    }

    fn look_at_port(&mut self, engine: &mut Engine, fabric: &mut Fabric, port: u32) {
        let p = fabric.port(engine, port);
        let queue = p.queue();
        if self.sampling.queues && queue.packets() > 0 {
            self.push("queue_packets", port, f64::from(queue.packets()));
            self.push("queue_bytes", port, queue.bytes() as f64);
        }
        if self.sampling.links {
            let busy = growth(&mut self.busy[port as usize], p.counters().busy_ps);
            if busy > 0 {
                self.push("utilisation", port, busy as f64 / self.sampling.interval.ps() as f64);
            }
        }
        if self.sampling.volumes {
            let bytes = growth(&mut self.sent[port as usize], p.counters().bytes);
            if bytes > 0 {
                self.push("bytes", port, bytes as f64);
            }
        }
    }

    fn look_at_sessions(&mut self, hosts: &Hosts, ledger: &Ledger) {
        let sessions = ledger.sessions() as u32;
        self.delivered.resize(sessions as usize, 0);
        for session in 0..sessions {
            if self.delivered[session as usize] == OVER {
                continue;
            }
            let total = ledger.delivered(session) + hosts.delivered(ledger.endpoints_of(session));
            let bytes = growth(&mut self.delivered[session as usize], total);
            if ledger.is_over(session) {
                self.delivered[session as usize] = OVER;
            }
            if bytes > 0 {
                let interval = self.sampling.interval.ps();
                self.push("goodput_bps", session, bytes as f64 * 8.0 * PS_PER_S as f64 / interval as f64);
            }
        }
    }

    /// Records something that happened now.
    pub(super) fn record(&mut self, now: u64, metric: &'static str, id: u32, value: f64) {
        self.samples.push(Sample { time: now, metric, id, value });
    }

    fn push(&mut self, metric: &'static str, id: u32, value: f64) {
        self.samples.push(Sample { time: self.looked_at, metric, id, value });
    }
}

/// What no session delivers.
const OVER: u64 = u64::MAX;

/// What a total has grown by since the last look.
fn growth(before: &mut u64, total: u64) -> u64 {
    let growth = total.saturating_sub(*before);
    *before += growth;
    growth
}
