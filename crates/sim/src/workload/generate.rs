//! From workloads to sessions.

use super::arrivals::Demand;
use super::barrier::Barrier;
use super::config::Workload;
use super::context::Context;
use super::error::{Fault, WorkloadError};
use super::job::PlacedJob;
use super::{HostList, Session};
use crate::random::substream;
use anabranch_transport::{Duration, Time};
use rand::RngExt as _;
use std::collections::BTreeSet;

/// All sessions of a run, sorted by start, then workload, then order of generation.
///
/// A pure function of its arguments. Each workload draws from streams of its own (arrivals, sizes, placement), so the
/// same seed gives the same sessions for every transport, and a workload that is added at the end leaves those before it
/// as they are, but for the numbers of their requests.
///
/// # Errors
/// If a workload is wrong in itself, names hosts that the fabric does not have, or a file that cannot be read.
pub fn generate(workloads: &[Workload], fabric: &Context, seed: u64) -> Result<Vec<Session>, WorkloadError> {
    let mut sessions = Vec::new();
    // Exclusive workloads choose their hosts first.
    let (first, then): (Vec<_>, Vec<_>) = workloads.iter().enumerate().partition(|(_, config)| config.exclusive);
    let mut taken = BTreeSet::new();
    for (workload, config) in first.into_iter().chain(then) {
        let error = |fault| WorkloadError { workload, fault };
        let group = u16::try_from(workload).map_err(|_| error(Fault::new("", "more than 65536 workloads")))?;
        if let Some(fault) = config.check().into_iter().find(|f| !f.warning) {
            return Err(error(fault));
        }
        let mut own = one(config, &fabric.without(&taken), seed, group).map_err(error)?;
        if config.exclusive {
            taken.extend(own.iter().flat_map(|s| s.sources.iter().chain(&s.sinks)));
        }
        sessions.append(&mut own);
    }
    // Stable: equal starts stay in order of generation.
    sessions.sort_by_key(|s| (s.start, s.group));
    number_requests(&mut sessions, workloads.len());
    Ok(sessions)
}

/// Numbers the requests of all workloads, until now numbered within each, in order of their first session.
fn number_requests(sessions: &mut [Session], workloads: usize) {
    let mut numbers: Vec<Vec<Option<u32>>> = vec![Vec::new(); workloads];
    let mut next = 0;
    for session in sessions {
        let (known, local) = (&mut numbers[usize::from(session.group)], session.request as usize);
        if known.len() <= local {
            known.resize(local + 1, None);
        }
        session.request = *known[local].get_or_insert_with(|| {
            next += 1;
            next - 1
        });
    }
}

pub(super) fn one(config: &Workload, fabric: &Context, seed: u64, group: u16) -> Result<Vec<Session>, Fault> {
    let until = config.until.map_or(Time::MAX, |d| Time(d.ps()));
    if let Some(job) = &config.job {
        return of_job(job, fabric, group);
    }
    if let Some(trace) = &config.trace {
        let mut sessions = trace.sessions(fabric, group).map_err(|f| f.under("trace"))?;
        if sessions.len() as u64 > fabric.sessions_max {
            let message = format!(
                "{} requests are more than the {} sessions for which there is memory",
                sessions.len(),
                fabric.sessions_max
            );
            return Err(too_many("trace.file", &message));
        }
        sessions.retain(|s| s.start <= until);
        return match sessions.iter().find(|s| s.start > Time::LATEST) {
            Some(late) => Err(too_late("trace.file", late.request, late.start)),
            None => Ok(sessions),
        };
    }
    let (Some(sizes), Some(placement)) = (&config.sizes, &config.placement) else {
        return Err(Fault::new("", "a workload needs `sizes` and `placement`, or a `trace`"));
    };
    let stream = |purpose: &str| substream(seed, purpose, u64::from(group));
    let (mut when, mut size_draws, mut place_draws) = (stream("arrivals"), stream("sizes"), stream("placement"));
    let mut jitter_draws = stream("jitter");

    let mode = placement.law().mode(config.mode)?;
    let sizes = sizes.law().open(&fabric.base).map_err(|f| f.under("sizes"))?;
    let mut plan = placement.law().plan(fabric, mode, &mut place_draws).map_err(|f| f.under("placement"))?;
    let one_size = placement.law().one_size();
    let per_request = u64::from(plan.sessions_per_request);
    let copies = config.barrier.as_ref().map_or(1, Barrier::copies);
    let wanted = count(config, per_request, plan.round)?.saturating_mul(u64::from(copies));
    if (config.sessions.is_some() || copies > 1) && wanted != u64::MAX && wanted > fabric.sessions_max {
        let message = format!("{wanted} sessions are more than the {} for which there is memory", fabric.sessions_max);
        return Err(too_many(if copies > 1 { "barrier.blocks" } else { "sessions" }, &message));
    }

    let arrivals = config.arrivals.law();
    let demand = Demand {
        bytes_per_request: sizes.mean().map(|mean| {
            mean * per_request as f64 * config.barrier.as_ref().map_or(1.0, |barrier| f64::from(barrier.blocks))
        }),
        capacity_bps: fabric.access_capacity_bps(),
    };
    let mut starts = arrivals.starts(&demand).map_err(|f| f.under("arrivals"))?;
    let jitter = arrivals.jitter().ps();

    let numbers = |hosts: HostList| hosts.into_iter().map(|host| fabric.number(host)).collect();
    let mut sessions = Vec::new();
    let (mut ends, mut requests) = (Vec::new(), 0..);
    while (sessions.len() as u64) < wanted {
        let Some(start) = starts(&mut when).filter(|s| *s <= until) else { break };
        let request = requests.next().unwrap_or(u32::MAX);
        if start > Time::LATEST {
            return Err(too_late(arrivals.decisive(), request, start).under("arrivals"));
        }
        ends.clear();
        (plan.place)(&mut place_draws, &mut ends);
        let (mut size, first) = (None, sessions.len());
        for session in ends.drain(..) {
            if size.is_none() || !one_size {
                size = Some(sizes.draw(&mut size_draws));
            }
            let later = if jitter == 0 { 0 } else { jitter_draws.random_range(0..=jitter) };
            let start = start + Duration(later);
            if start > Time::LATEST {
                return Err(too_late("arrivals.jitter", request, start));
            }
            sessions.push(Session {
                start,
                size: size.flatten().map(|size| config.barrier.as_ref().map_or(size, |b| b.session_size(size))),
                supply: sizes.supply(&mut size_draws),
                mode,
                sources: numbers(session.sources),
                sinks: numbers(session.sinks),
                group,
                request,
                block: 0,
            });
        }
        let last = sessions.len();
        for block in 1..copies {
            for own in first..last {
                sessions.push(Session { block, ..sessions[own].clone() });
            }
        }
        if sessions.len() as u64 > fabric.sessions_max {
            return Err(too_many("until", &format!("more than {} sessions arrive by then", fabric.sessions_max)));
        }
    }
    Ok(sessions)
}

/// The messages of a job.
fn of_job(job: &PlacedJob, fabric: &Context, group: u16) -> Result<Vec<Session>, Fault> {
    let messages = job.network.len() as u64;
    if messages > fabric.sessions_max {
        let message =
            format!("{messages} messages are more than the {} for which there is memory", fabric.sessions_max);
        return Err(too_many("job", &message));
    }
    match job.hosts.iter().find(|&&host| fabric.find(host).is_none()) {
        Some(host) => Err(Fault::new("job.hosts", format!("host {host} is kept for another workload"))),
        None => Ok(job.sessions(group)),
    }
}

/// A request begins when no run lasts any more.
fn too_late(key: &str, request: u32, start: Time) -> Fault {
    let after = if start == Time::MAX { "still later".to_owned() } else { format!("at {} s", start.as_secs_f64()) };
    let message = format!(
        "request {} would arrive {after}: a run lasts 213 days, {} s, at most",
        u64::from(request) + 1,
        Time::LATEST.as_secs_f64()
    );
    Fault::new(key, message).hint("fewer `sessions`, less time between them, or `until`")
}

fn too_many(key: &str, message: &str) -> Fault {
    Fault::new(key, message).hint("fewer sessions, or in [run] a higher memory_limit")
}

/// How many sessions to make.
fn count(config: &Workload, per_request: u64, round: Option<u64>) -> Result<u64, Fault> {
    if let Some(sessions) = config.sessions {
        if !sessions.is_multiple_of(per_request) {
            let near = sessions.next_multiple_of(per_request);
            return Err(Fault::new(
                "sessions",
                format!("each request makes {per_request} sessions; {sessions} is not a multiple"),
            )
            .hint(format!("sessions = {near}")));
        }
        return Ok(sessions);
    }
    // Explicit starts end by themselves, and `until` ends the laws that go on; a law without gaps ends with the round.
    if config.arrivals.law().requests().is_some() {
        return Ok(u64::MAX);
    }
    let advances = !matches!(config.arrivals, super::ArrivalsConfig::Synchronised(_));
    if config.until.is_some() && advances {
        return Ok(u64::MAX);
    }
    round.ok_or_else(|| {
        let keys = if advances { "`sessions` or `until`" } else { "`sessions`" };
        Fault::new("", format!("nothing says how many sessions there are: give {keys}")).hint("sessions = 1000")
    })
}

#[cfg(test)]
mod tests;
