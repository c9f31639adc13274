//! Who sends to whom. To add a pattern: a file beside this one, and one line in the registry below.
//!
//! A pattern answers each request (one arrival) with the ends of one session, or of several that start together.

use super::context::Context;
use super::error::Fault;
use super::{HostList, Mode};
use crate::random::Stream;
use smallvec::smallvec;

mod choose;
mod incast;
mod outcast;
mod pairs;
mod permutation;
mod rack_aware;
mod random;
mod replicas;
mod stride;

pub use incast::{Receivers, Senders};
pub use replicas::{Access, Policy};

/// The ends of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Sending hosts.
    pub sources: HostList,
    /// Receiving hosts.
    pub sinks: HostList,
}

impl Ends {
    /// One sender, one receiver.
    pub fn pair(source: u32, sink: u32) -> Self {
        Self { sources: smallvec![source], sinks: smallvec![sink] }
    }
}

/// A share of the sessions: from each of some hosts to each of others, but not to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// Sending hosts.
    pub from: Vec<u32>,
    /// Receiving hosts.
    pub to: Vec<u32>,
    /// The share, of 1.
    pub share: f64,
}

/// Appends the ends of the sessions of the next request.
pub type Placer = Box<dyn FnMut(&mut Stream, &mut Vec<Ends>)>;

/// A pattern made ready for a fabric.
pub struct Plan {
    /// Places request after request.
    pub place: Placer,
    /// Sessions of each request.
    pub sessions_per_request: u32,
    /// Sessions after which the pattern repeats itself: the number of sessions where the workload does not say.
    pub round: Option<u64>,
}

/// The configuration of a pattern.
pub trait PlacementPattern {
    /// What is wrong with the parameters, whatever the fabric.
    fn check(&self) -> Vec<Fault> {
        Vec::new()
    }

    /// The mode of its sessions, given the one that the workload asks for.
    ///
    /// # Errors
    /// If the pattern cannot make such sessions.
    fn mode(&self, asked: Option<Mode>) -> Result<Mode, Fault> {
        match asked {
            None | Some(Mode::Unicast) => Ok(Mode::Unicast),
            Some(mode) => {
                Err(Fault::new("mode", format!("this placement makes unicast sessions, not {}", mode.name()))
                    .hint("for several senders or receivers of one object: `placement.pattern = \"replicas\"`"))
            }
        }
    }

    /// Whether all sessions of a request are of one size.
    fn one_size(&self) -> bool {
        false
    }

    /// Who sends to whom on average, where hosts are drawn so that this can be told. `None`: it takes sessions to tell.
    fn groups(&self, _fabric: &Context) -> Option<Vec<Between>> {
        None
    }

    /// Makes the pattern ready; what is drawn once (a permutation) is drawn here.
    ///
    /// # Errors
    /// If the fabric has not the hosts that the pattern needs.
    fn plan(&self, fabric: &Context, mode: Mode, rng: &mut Stream) -> Result<Plan, Fault>;
}

super::registry! {
    /// Who sends to whom.
    pub enum PlacementConfig as dyn PlacementPattern, tag "pattern" {
        /// Each session between two hosts drawn uniformly.
        Random(random::Random),
        /// Each host sends to one other host and receives from one other host.
        Permutation(permutation::Permutation),
        /// Host `i` sends to host `i + by`.
        Stride(stride::Stride),
        /// Many senders, one receiver, at the same time.
        Incast(incast::Incast),
        /// One receiver, senders near and far: TCP Outcast.
        Outcast(outcast::Outcast),
        /// A given share of sessions stays within the rack.
        RackAware(rack_aware::RackAware),
        /// Replicas of stored blocks, written (one-to-many) or read (many-to-one).
        Replicas(replicas::Replicas),
        /// Pairs one by one.
        Pairs(pairs::Pairs),
    }
}

/// Fails unless the fabric has at least `needed` hosts.
fn need_hosts(fabric: &Context, key: &str, needed: u64, what: &str) -> Result<(), Fault> {
    if u64::from(fabric.hosts()) < needed {
        let found = fabric.hosts();
        return Err(Fault::new(key, format!("{what} needs at least {needed} hosts; the fabric has {found}")));
    }
    Ok(())
}

/// The host that a scenario calls `number`.
///
/// # Errors
/// If the fabric has no such host, or an exclusive workload has taken it.
pub(super) fn known_host(fabric: &Context, key: impl Into<String>, number: u32) -> Result<u32, Fault> {
    fabric.find(number).ok_or_else(|| {
        let last = fabric.fabric_hosts().saturating_sub(1);
        if number > last {
            return Fault::new(key, format!("there is no host {number}: hosts are numbered 0 to {last}"));
        }
        Fault::new(key, format!("host {number} belongs to an exclusive workload"))
            .hint("leave `exclusive` out there, or choose another host")
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::random::stream;

    /// The ends of `requests` requests.
    pub(crate) fn place(
        pattern: &dyn PlacementPattern,
        fabric: &Context,
        mode: Mode,
        requests: usize,
    ) -> Vec<Vec<Ends>> {
        let mut rng = stream(5, "placement");
        let mut plan = pattern.plan(fabric, mode, &mut rng).unwrap();
        let place = |_| {
            let mut ends = Vec::new();
            (plan.place)(&mut rng, &mut ends);
            assert_eq!(ends.len(), plan.sessions_per_request as usize);
            ends
        };
        (0..requests).map(place).collect()
    }

    /// The pairs of `requests` requests of one unicast session each.
    pub(crate) fn pairs(pattern: &dyn PlacementPattern, fabric: &Context, requests: usize) -> Vec<(u32, u32)> {
        let one = |ends: Vec<Ends>| (ends[0].sources[0], ends[0].sinks[0]);
        place(pattern, fabric, Mode::Unicast, requests).into_iter().map(one).collect()
    }

    /// The fault of a pattern that the fabric does not allow.
    pub(crate) fn refused(pattern: &dyn PlacementPattern, fabric: &Context) -> Fault {
        pattern.plan(fabric, Mode::Unicast, &mut stream(5, "placement")).err().unwrap()
    }
}
