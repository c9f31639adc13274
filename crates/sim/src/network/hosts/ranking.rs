//! Ends that a host ranks: it tells the first few their standing, each time that it changes.

use super::Hosts;
use super::attending::Rarely;
use crate::host::{EndpointId, Place};
use crate::network::engine::Engine;
use crate::network::fabric::Fabric;
use crate::network::ledger::Ledger;
use anabranch_transport::standings::{ClaimChange, Standing, Standings};

/// The rankings of all hosts: receivers and senders apart.
#[derive(Clone)]
pub(super) struct Ranking {
    hosts: Vec<[Standings<EndpointId>; 2]>,
    /// The ranking in which standings may have changed. There is never another one: all of them are told before the next event.
    changed: Option<(u32, bool)>,
}

impl Ranking {
    pub(super) fn new(hosts: u32) -> Self {
        Self { hosts: vec![Default::default(); hosts as usize], changed: None }
    }

    /// Whether somebody may have to be told.
    #[inline]
    pub(super) fn has_changed(&self) -> bool {
        self.changed.is_some()
    }

    /// The claim of an end changes.
    pub(super) fn update(&mut self, id: EndpointId, place: &Place, change: ClaimChange) {
        let key = (place.host, place.receiver.is_some());
        debug_assert!(self.changed.is_none_or(|changed| changed == key), "the others were told");
        self.of(key).update(id, place.remotes.get(0).host, change);
        self.changed = Some(key);
    }

    fn of(&mut self, (host, receivers): (u32, bool)) -> &mut Standings<EndpointId> {
        &mut self.hosts[host as usize][usize::from(receivers)]
    }

    fn next_change(&mut self) -> Option<(EndpointId, Option<Standing>)> {
        let key = self.changed?;
        let next = self.of(key).next_change();
        if next.is_none() {
            self.changed = None;
        }
        next
    }

    /// Exchanges the rankings of one host with another part of the run.
    pub(super) fn swap(&mut self, host: usize, other: &mut Self) {
        std::mem::swap(&mut self.hosts[host], &mut other.hosts[host]);
    }
}

impl Hosts {
    /// Tells all whose standing has changed. What they do then may change others'.
    #[inline(never)]
    pub(super) fn tell_standings(&mut self, engine: &mut Engine, fabric: &mut Fabric, ledger: &mut Ledger) {
        while let Some((id, standing)) = self.ranking.next_change() {
            if let Some(hosted) = self.endpoints[id as usize].take() {
                self.attend(engine, fabric, ledger, id, hosted, Rarely::Stand(standing));
            }
        }
    }
}
