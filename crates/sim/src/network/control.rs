//! What happens to the network from outside: failures and repairs, and looking at it at intervals.

use super::Network;
use crate::fabric::graph::NodeId;
use crate::fabric::queue::Discipline;
use crate::fabric::routing::Routes;
use anabranch_transport::units::PS_PER_S;
use anabranch_transport::{Duration, Rate};

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One link, both directions.
    Link(u32),
    /// All links of a switch.
    Switch(NodeId),
}

/// How it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Packets waiting and in flight are lost; routing avoids it from then on.
    Cut(Target),
    /// Back in service.
    Restore(Target),
    /// A new bit rate; routing does not react.
    Rate(Target, Rate),
    /// The application of a session stops it.
    End(u32),
}

/// What to record over time. Recording never changes behaviour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each series")]
pub struct Sampling {
    /// Time between samples; zero records nothing.
    pub interval: Duration,
    /// Queue length of every port that is not empty.
    pub queues: bool,
    /// Utilisation of every link that was used.
    pub links: bool,
    /// Congestion window of these sessions.
    pub windows: Vec<u32>,
    /// Bytes delivered by every session.
    pub goodput: bool,
    /// Bytes sent by every link that was used.
    pub volumes: bool,
}

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

impl Network {
    fn links_of(&self, target: Target) -> Vec<u32> {
        match target {
            Target::Link(link) => vec![link],
            Target::Switch(node) => {
                let touches = |l: &u32| {
                    let link = &self.graph.links[*l as usize];
                    link.a == node || link.b == node
                };
                (0..self.graph.links.len() as u32).filter(touches).collect()
            }
        }
    }

    pub(super) fn apply_changes(&mut self) {
        while let Some(&(time, change)) = self.changes.get(self.changes_done) {
            if time.ps() > self.engine.now {
                self.engine.wheel.schedule(self.engine.entities.next_change, time.ps());
                return;
            }
            self.changes_done += 1;
            self.apply(change);
        }
    }

    fn apply(&mut self, change: Change) {
        let target = match change {
            Change::Cut(target) | Change::Restore(target) | Change::Rate(target, _) => target,
            Change::End(session) => return self.end(session),
        };
        for link in self.links_of(target) {
            let was_up = self.links_up[link as usize];
            for port in [2 * link, 2 * link + 1] {
                let (p, hots) = (&mut self.ports[port as usize], self.engine.packets.hots());
                match change {
                    Change::Rate(_, rate) => {
                        p.catch_up(port, hots, &mut self.engine.wheel, self.engine.now);
                        p.set_rate(rate);
                    }
                    Change::Restore(_) if !was_up => p.restore(self.engine.now),
                    Change::Cut(_) if was_up => {
                        for id in p.cut(port, hots, &mut self.engine.wheel, self.engine.now) {
                            self.drop_packet(id);
                        }
                    }
                    // Cut twice, or restored without having been cut.
                    Change::Cut(_) | Change::Restore(_) | Change::End(_) => {}
                }
            }
            match change {
                Change::Cut(_) => self.links_up[link as usize] = false,
                Change::Restore(_) => self.links_up[link as usize] = true,
                Change::Rate(..) | Change::End(_) => {}
            }
        }
        if !matches!(change, Change::Rate(..)) {
            self.routes = Routes::build(&self.graph, |link| self.links_up[link as usize]);
            self.reinstall_trees();
        }
    }

    /// The last look, if the run ends when one is due.
    pub(super) fn sample_at_the_end(&mut self) {
        let interval = self.sampling.interval.ps();
        if interval > 0 && self.engine.now.is_multiple_of(interval) && self.sampled_at < self.engine.now {
            self.look();
        }
    }

    /// Records what the scenario asked for, and schedules the next look while anything else is going on.
    pub(super) fn sample(&mut self) {
        self.look();
        let next = self.engine.now + self.sampling.interval.ps();
        self.periodic.again(&mut self.engine.wheel, self.engine.entities.sampler, next);
    }

    fn look(&mut self) {
        let interval = self.sampling.interval.ps();
        self.sampled_at = self.engine.now;
        for port in 0..self.ports.len() as u32 {
            let p = &mut self.ports[port as usize];
            p.catch_up(port, self.engine.packets.hots(), &mut self.engine.wheel, self.engine.now);
            let queue = p.queue();
            if self.sampling.queues && queue.packets() > 0 {
                for (metric, value) in [("queue_packets", u64::from(queue.packets())), ("queue_bytes", queue.bytes())] {
                    let value = value as f64;
                    self.samples.push(Sample { time: self.engine.now, metric, id: port, value });
                }
            }
            if self.sampling.links {
                let total = p.counters().busy_ps;
                let before = self.sampled_busy[port as usize];
                if total > before {
                    self.sampled_busy[port as usize] = total;
                    let value = (total - before) as f64 / interval as f64;
                    self.samples.push(Sample { time: self.engine.now, metric: "utilisation", id: port, value });
                }
            }
            if self.sampling.volumes {
                let total = p.counters().bytes;
                let news = total - std::mem::replace(&mut self.sampled_sent[port as usize], total);
                if news > 0 {
                    let value = news as f64;
                    self.samples.push(Sample { time: self.engine.now, metric: "bytes", id: port, value });
                }
            }
        }
        for session in self.sampling.windows.clone() {
            if let Some(window) = self.congestion_window(session) {
                let value = window as f64;
                self.samples.push(Sample { time: self.engine.now, metric: "cwnd_bytes", id: session, value });
            }
        }
        if self.sampling.goodput {
            self.sampled_bytes.resize(self.sessions.len(), 0);
            for session in 0..self.sessions.len() {
                let total = self.delivered(session);
                let news = total - std::mem::replace(&mut self.sampled_bytes[session], total);
                if news > 0 {
                    let value = news as f64 * 8.0 * PS_PER_S as f64 / interval as f64;
                    self.samples.push(Sample {
                        time: self.engine.now,
                        metric: "goodput_bps",
                        id: session as u32,
                        value,
                    });
                }
            }
        }
    }
}
