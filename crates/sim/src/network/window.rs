//! The measured window: which flows count, and what the links carried in it.
//!
//! A run has a beginning, when the fabric is empty, and an end, when no flow comes any more and the last ones drain. What
//! links carry in the mean over all of it says little of the load. By default the window lasts from the start to the last
//! request; `warmup` and `window` of a scenario change its ends.

use super::engine::Engine;
use super::fabric::Fabric;
use super::setup::Sampling;

/// The window of a run, in picoseconds, and how long each port had been busy at its ends.
#[derive(Clone, Debug)]
pub(super) struct Window {
    begin: u64,
    /// `None`: at the last request.
    end: Option<u64>,
    at_begin: Edge,
    at_end: Edge,
}

/// When an end of the window was, and for how long each port had been busy until then; nothing before it is reached.
#[derive(Clone, Debug, Default)]
struct Edge {
    at: Option<u64>,
    busy: Vec<u64>,
}

impl Edge {
    fn take(&mut self, engine: &mut Engine, fabric: &mut Fabric) {
        fabric.catch_up(engine);
        self.at = Some(engine.now);
        self.busy = fabric.ports().iter().map(|port| port.counters().busy_ps).collect();
    }
}

impl Window {
    pub(super) fn new(sampling: &Sampling) -> Self {
        let begin = sampling.warmup.ps();
        Self {
            begin,
            end: sampling.window.map(|length| begin + length.ps()),
            at_begin: Edge { at: (begin == 0).then_some(0), busy: Vec::new() },
            at_end: Edge::default(),
        }
    }

    /// Its next end that is known beforehand, after `now`.
    pub(super) fn next(&self, now: u64) -> Option<u64> {
        [Some(self.begin), self.end].into_iter().flatten().find(|&edge| edge > now)
    }

    /// Looks at the ports, if an end of the window is now.
    pub(super) fn look(&mut self, engine: &mut Engine, fabric: &mut Fabric) {
        if self.begin == engine.now && self.at_begin.at.is_none() {
            self.at_begin.take(engine, fabric);
        }
        if self.end == Some(engine.now) && self.at_end.at.is_none() {
            self.at_end.take(engine, fabric);
        }
    }

    /// The last request has come.
    pub(super) fn last_request(&mut self, engine: &mut Engine, fabric: &mut Fabric) {
        if self.end.is_none() && self.at_begin.at.is_some() {
            self.at_end.take(engine, fabric);
        }
    }

    /// The run is over: a window that has not ended ends now.
    pub(super) fn finish(&mut self, engine: &mut Engine, fabric: &mut Fabric) {
        if self.at_begin.at.is_some() && self.at_end.at.is_none() {
            self.at_end.take(engine, fabric);
        }
    }

    /// Whether a flow that was requested at this time counts.
    pub(super) fn holds(&self, start: u64) -> bool {
        start >= self.begin && self.end.is_none_or(|end| start < end)
    }

    /// Its ends, once it has ended; nothing if it had no length.
    pub(super) fn ends(&self) -> Option<(u64, u64)> {
        self.at_begin.at.zip(self.at_end.at).filter(|(begin, end)| begin < end)
    }

    /// The share of it during which a port was sending.
    pub(super) fn utilisation(&self, port: usize) -> Option<f64> {
        let (begin, end) = self.ends()?;
        let before = self.at_begin.busy.get(port).copied().unwrap_or(0);
        // A packet counts from the start of its transmission on, also for what is still to come of it.
        Some(((self.at_end.busy[port] - before) as f64 / (end - begin) as f64).min(1.0))
    }
}
