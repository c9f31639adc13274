//! What workloads ask of a fabric on average: how many bits each second, from whom to whom.

use super::arrivals::Demand;
use super::barrier::Barrier;
use super::config::Workload;
use super::context::Context;
use super::generate::one;
use super::placement::{Between, Ends};
use crate::random::substream;
use std::collections::BTreeSet;

/// Sessions that are drawn where a pattern is not known otherwise.
const SESSIONS: usize = 20_000;

/// A pattern that is the same for so many sessions after its first round repeats itself.
const ALIKE: usize = 200;

/// Rounds of a pattern with more sessions are not looked at whole, nor are workloads that keep hosts for themselves with more.
const WHOLE_MAX: usize = 200_000;

/// The average traffic of a workload.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Which one.
    pub workload: usize,
    /// Bits of its objects each second while requests arrive; what several senders or receivers have in common counts once.
    pub bps: f64,
    /// Who sends to whom.
    pub who: Who,
}

/// Who sends to whom; hosts are numbered as in the whole fabric.
#[derive(Clone, Debug)]
pub enum Who {
    /// Groups of hosts.
    Groups(Vec<Between>),
    /// Sessions that stand for all.
    Sessions {
        /// Their ends.
        ends: Vec<Ends>,
        /// `None`: the workload repeats just these. Else they are a sample, drawn so many at a time.
        drawn: Option<u32>,
    },
}

/// The average traffic of the workloads that have one. Sessions that all begin at once have none, nor have traces, sizes without
/// a mean, and what is wrong, of which others tell.
pub fn offered(workloads: &[Workload], fabric: &Context, seed: u64) -> Vec<Offered> {
    let (first, then): (Vec<_>, Vec<_>) = workloads.iter().enumerate().partition(|(_, config)| config.exclusive);
    let mut taken = BTreeSet::new();
    let mut found = Vec::new();
    for (workload, config) in first.into_iter().chain(then) {
        let rest = fabric.without(&taken);
        found.extend(of_one(workload, config, &rest, seed));
        if config.exclusive {
            let few = rest.with_sessions_max(WHOLE_MAX as u64);
            let Ok(own) = one(config, &few, seed, workload as u16) else { return Vec::new() };
            taken.extend(own.iter().flat_map(|s| s.sources.iter().chain(&s.sinks)));
        }
    }
    found
}

fn of_one(workload: usize, config: &Workload, fabric: &Context, seed: u64) -> Option<Offered> {
    let (sizes, placement) = (config.sizes.as_ref()?, config.placement.as_ref()?.law());
    let mode = placement.mode(config.mode).ok()?;
    let mut draws = substream(seed, "placement", workload as u64);
    let mut plan = placement.plan(fabric, mode, &mut draws).ok()?;
    let blocks = config.barrier.as_ref().map_or(1.0, Barrier::blocks_of_a_request);
    let bytes = sizes.law().open(&fabric.base).ok()?.mean()? * f64::from(plan.sessions_per_request) * blocks;
    let demand = Demand { bytes_per_request: Some(bytes), capacity_bps: fabric.access_capacity_bps() };
    let bps = config.arrivals.law().rate(&demand)? * bytes * 8.0;
    let numbers = |hosts: Vec<u32>| hosts.into_iter().map(|host| fabric.number(host)).collect();
    let who = if let Some(groups) = placement.groups(fabric) {
        let number = |group: Between| Between { from: numbers(group.from), to: numbers(group.to), ..group };
        Who::Groups(groups.into_iter().map(number).collect())
    } else {
        let round = plan.round.and_then(|sessions| usize::try_from(sessions).ok()).filter(|round| *round <= WHOLE_MAX);
        let mut draw = |sessions: usize| {
            let mut ends = Vec::new();
            while ends.len() < sessions {
                (plan.place)(&mut draws, &mut ends);
            }
            ends
        };
        let repeated = round.filter(|round| *round > 0).and_then(|round| {
            let first = draw(round);
            // Among few hosts what is drawn may be the same by chance, but not often.
            let again = ALIKE.div_ceil(round);
            (0..again).all(|_| draw(round) == first).then_some(first)
        });
        let all = repeated.is_some();
        let ends = repeated.unwrap_or_else(|| draw(SESSIONS));
        let number = |mut ends: Ends| {
            ends.sources.iter_mut().chain(&mut ends.sinks).for_each(|host| *host = fabric.number(*host));
            ends
        };
        let drawn = (!all).then_some(plan.sessions_per_request);
        Who::Sessions { ends: ends.into_iter().map(number).collect(), drawn }
    };
    Some(Offered { workload, bps, who })
}
