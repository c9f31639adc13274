//! Ends that a host ranks: it tells the first few their standing, each time that it changes.

use super::Hosts;
use super::attending::Rarely;
use crate::host::{EndpointId, Place};
use crate::network::engine::Engine;
use crate::network::fabric::Fabric;
use crate::network::ledger::Ledger;
use anabranch_transport::standings::{ClaimChange, Standing, Standings};

/// The rankings of all hosts: receivers and senders apart.
#[derive(Clone, Default)]
pub(super) struct Ranking {
    /// Those up to the last host on which an end has had a claim: few transports have any.
    hosts: Vec<[Standings<EndpointId>; 2]>,
    /// The ranking in which standings may have changed. There is never another one: all of them are told before the next event.
    changed: Option<(u32, bool)>,
}

impl Ranking {
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
        self.reach(host as usize);
        &mut self.hosts[host as usize][usize::from(receivers)]
    }

    fn reach(&mut self, host: usize) {
        if self.hosts.len() <= host {
            self.hosts.resize_with(host + 1, Default::default);
        }
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
        if self.hosts.len().max(other.hosts.len()) <= host {
            return;
        }
        self.reach(host);
        other.reach(host);
        std::mem::swap(&mut self.hosts[host], &mut other.hosts[host]);
    }
}

impl Hosts {
    /// Tells all whose standing has changed. What they do then may change others'.
    #[inline(never)]
    pub(super) fn tell_standings(&mut self, engine: &mut Engine, fabric: &mut Fabric, ledger: &mut Ledger) {
        while let Some((id, standing)) = self.ranking.next_change() {
            if let Some(hosted) = self.endpoints[id as usize].take() {
                let interface = hosted.place().interface;
                self.attend(engine, fabric, ledger, id, hosted, Rarely::Stand(standing));
                // It may pull now, through an interface whose queue nobody else looks at.
                self.wake_pacer(engine, interface);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_a_claim_take_no_memory() {
        let (mut whole, mut part) = (Ranking::default(), Ranking::default());
        (0..1000).for_each(|host| whole.swap(host, &mut part));
        assert_eq!((whole.hosts.capacity(), part.hosts.capacity()), (0, 0));
    }

    #[test]
    fn claims_move_to_the_part_of_their_host_and_back() {
        let (mut whole, mut part) = (Ranking::default(), Ranking::default());
        let claim = ClaimChange { was: None, remaining: Some(5), places: 1 };
        let stands = Some((7, Some(Standing { place: 0, of: 1 })));
        whole.of((2, true)).update(7, 0, claim);
        (0..4).for_each(|host| whole.swap(host, &mut part));
        assert_eq!(whole.of((2, true)).next_change(), None);
        assert_eq!(part.of((2, true)).next_change(), stands);
        part.of((3, false)).update(7, 0, claim);
        (0..4).for_each(|host| whole.swap(host, &mut part));
        assert_eq!(whole.of((3, false)).next_change(), stands);
        assert_eq!(whole.of((2, true)).next_change(), None, "it knows");
    }
}
