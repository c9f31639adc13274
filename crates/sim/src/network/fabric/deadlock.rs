//! Deadlocks of switches that pause each other: each waits until the next lets packets come, round a circle (Hu et al., "Deadlocks in
//! Datacenter Networks: Why Do They Form, and How to Avoid Them", ACM Workshop on Hot Topics in Networks 2016). Routes that only go up and
//! then down form none.
//!
//! A pause lasts for ever if packets enough to keep it wait at ports that are themselves paused for ever. So from all paused ports those are
//! taken out, again and again, whose pause may end when the rest has been sent. What is left, if anything, is the deadlock and
//! all that waits for it. It is sure; what may still end, because a pause frame is on its way or memory may become free, is not named.

use super::Fabric;
use crate::fabric::graph::PortId;
use crate::fabric::queue::Discipline as _;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A port, and a priority for which it is paused.
type Paused = (PortId, u8);

impl Fabric {
    /// If switches wait for each other for good: which.
    pub(in crate::network) fn deadlock(&self) -> Option<String> {
        let stuck = self.stuck();
        let &(mut port, priority) = stuck.first()?;
        // Each waits for another, so that the way comes back to where it has been.
        let (mut way, mut seen) = (Vec::new(), BTreeSet::new());
        while seen.insert(port) {
            way.push(port);
            port = self.blockers(&stuck, (port, priority)).next()?;
        }
        let circle = way.iter().skip_while(|&&first| first != port);
        let name = |port: PortId| &self.graph.nodes[self.graph.port_owner(port) as usize].name;
        let mut told = String::new();
        for &port in circle {
            _ = write!(told, "{} waits for ", name(port));
        }
        Some(format!("a deadlock of pauses of priority {priority}: {told}{}", name(port)))
    }

    /// The ports that will stay paused.
    fn stuck(&self) -> BTreeSet<Paused> {
        let ports = (0..).zip(&self.ports).filter_map(|(number, port)| Some((number, port.lossless()?)));
        let mut stuck: BTreeSet<Paused> =
            ports.flat_map(|(number, port)| port.paused().map(move |priority| (number, priority))).collect();
        loop {
            let before = stuck.len();
            let stay: BTreeSet<Paused> = stuck.iter().copied().filter(|&paused| self.stays(&stuck, paused)).collect();
            stuck = stay;
            if stuck.len() == before {
                return stuck;
            }
        }
    }

    /// Whether a port stays paused, if `stuck` do.
    fn stays(&self, stuck: &BTreeSet<Paused>, (port, priority): Paused) -> bool {
        let [here, far] = [port, port ^ 1].map(|port| self.ports[port as usize].lossless());
        let (Some(here), Some(far)) = (here, far) else { return false };
        let under_way = far.pauses().frames != here.pauses().came;
        if under_way || !far.ingress.pauses(priority) {
            return false;
        }
        // Headroom is free first, so that some stays in use for good if more is held for good than what shares memory now.
        let held = self.held(stuck, (port, priority));
        held > far.ingress.shared_of(priority) || held > self.resumes_at(stuck, port)
    }

    /// The stuck ports at which packets of a priority wait that came by a link.
    fn blockers<'a>(
        &'a self,
        stuck: &'a BTreeSet<Paused>,
        (link, priority): Paused,
    ) -> impl Iterator<Item = PortId> + 'a {
        let ports = self.switch_ports(self.ports[link as usize].peer()).iter().copied();
        let waits = move |port: PortId| self.ports[port as usize].lossless()?.waiting_from(link, priority).next();
        ports.filter(move |&port| stuck.contains(&(port, priority)) && waits(port).is_some())
    }

    /// Bytes of a priority that came by a link and wait at stuck ports; those of a packet with copies once.
    fn held(&self, stuck: &BTreeSet<Paused>, (link, priority): Paused) -> u64 {
        let mut copied = BTreeSet::new();
        let ports = self.blockers(stuck, (link, priority)).filter_map(|port| self.ports[port as usize].lossless());
        let waiting = ports.flat_map(|port| port.waiting_from(link, priority));
        waiting.filter(|(came, _)| came.copies.is_none_or(|place| copied.insert(place))).map(|(_, bytes)| bytes).sum()
    }

    /// The most that the switch at the end of a link may ever hold of its packets when it lets more come, if only stuck ports hold any.
    fn resumes_at(&self, stuck: &BTreeSet<Paused>, link: PortId) -> u64 {
        let node = self.ports[link as usize].peer();
        let mut used = 0;
        for &port in self.switch_ports(node) {
            let Some(account) = self.ports[port as usize].lossless() else { continue };
            for priority in 0..account.priorities() {
                // Of what shares memory never less is left than this, since headroom is free first.
                used += self.held(stuck, (port ^ 1, priority)).min(account.ingress.shared_of(priority));
            }
        }
        self.resume_threshold(node, used)
    }
}
