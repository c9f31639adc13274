//! Traffic matrices: how much each host sends to each other (Song Definition 3.1), sparse and exact.

mod csv;
mod patterns;

pub use patterns::Pattern;

use crate::error::{RoutingError, RoutingResult};
use crate::number::{Exact, Scalar};
use std::collections::BTreeMap;

/// How much each host sends to each other. What a host would send to itself is left out: it crosses no link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficMatrix {
    /// Number of hosts.
    pub hosts: u32,
    /// Amounts above zero, by source and destination.
    entries: BTreeMap<(u32, u32), Exact>,
}

impl TrafficMatrix {
    /// No traffic among `hosts` hosts.
    pub fn empty(hosts: u32) -> Self {
        Self { hosts, entries: BTreeMap::new() }
    }

    /// Adds traffic.
    ///
    /// # Errors
    ///
    /// A host that does not exist; a sum that does not fit.
    pub fn add(&mut self, source: u32, destination: u32, amount: Exact) -> RoutingResult<()> {
        if let Some(bad) = [source, destination].into_iter().find(|&h| h >= self.hosts) {
            return Err(RoutingError::new(format!("host {bad}: expected 0 to {}", self.hosts - 1)));
        }
        if source != destination && !amount.is_zero() {
            let entry = self.entries.entry((source, destination)).or_insert(Exact::ZERO);
            *entry = entry.plus(amount).ok_or_else(RoutingError::overflow)?.reduced();
        }
        Ok(())
    }

    /// A permutation: each host sends one unit to one other; `None` sends nothing.
    pub fn permutation(to: &[Option<u32>]) -> Self {
        let pairs = to.iter().enumerate().filter_map(|(s, d)| d.map(|d| (s as u32, d)));
        let entries = pairs.filter(|(s, d)| s != d).map(|pair| (pair, Exact::ONE)).collect();
        Self { hosts: to.len() as u32, entries }
    }

    /// Source, destination and amount of all that send something, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, Exact)> + '_ {
        self.entries.iter().map(|(&(s, d), &amount)| (s, d, amount))
    }

    /// What `source` sends to `destination`.
    pub fn get(&self, source: u32, destination: u32) -> Exact {
        self.entries.get(&(source, destination)).copied().unwrap_or(Exact::ZERO)
    }

    /// Number of pairs that send something.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nobody sends.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What each host sends, and what it receives.
    ///
    /// # Errors
    ///
    /// A sum that does not fit.
    pub fn sums<S: Scalar>(&self) -> RoutingResult<(Vec<S>, Vec<S>)> {
        let (mut sent, mut received) = (vec![S::zero(); self.hosts as usize], vec![S::zero(); self.hosts as usize]);
        for (s, d, amount) in self.iter() {
            for (sums, host) in [(&mut sent, s), (&mut received, d)] {
                let sum = &mut sums[host as usize];
                *sum = sum.plus(S::of(amount)).ok_or_else(RoutingError::overflow)?;
            }
        }
        Ok((sent, received))
    }

    /// The base load (Song Definition 3.2): the most that any host sends or receives.
    ///
    /// # Errors
    ///
    /// A sum that does not fit.
    pub fn baseload<S: Scalar>(&self) -> RoutingResult<S> {
        let (sent, received) = self.sums::<S>()?;
        Ok(sent.into_iter().chain(received).fold(S::zero(), S::larger))
    }

    /// Everything that is sent.
    ///
    /// # Errors
    ///
    /// A sum that does not fit.
    pub fn total<S: Scalar>(&self) -> RoutingResult<S> {
        self.iter().try_fold(S::zero(), |sum, (_, _, a)| sum.plus(S::of(a))).ok_or_else(RoutingError::overflow)
    }
}
