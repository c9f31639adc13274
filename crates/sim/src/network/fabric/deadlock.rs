//! Deadlocks of switches that pause each other: each waits until the next lets packets come, round a circle (Hu et al., "Deadlocks in
//! Datacenter Networks: Why Do They Form, and How to Avoid Them", ACM Workshop on Hot Topics in Networks 2016). Routes that only go up and
//! then down form none.
//!
//! A pause lasts for ever if packets enough to keep it wait at ports that are themselves paused for ever. So from all paused ports those are
//! taken out, again and again, whose pause will end as soon as the rest has been sent. What is left, if anything, is the deadlock and
//! all that waits for it.

use super::Fabric;
use crate::fabric::graph::PortId;
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
            port = self.blockers(&stuck, (port, priority)).next().map(|(blocker, _)| blocker)?;
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
        let Some(account) = self.ports[(port ^ 1) as usize].lossless() else { return false };
        // If not, the frame that ends the pause is on its way.
        if !account.ingress.pauses(priority) {
            return false;
        }
        let held: u64 = self.blockers(stuck, (port, priority)).map(|(_, bytes)| bytes).sum();
        held > self.resumes_at(stuck, port)
    }

    /// What is held of a priority that came by a link and waits at stuck ports: these ports, and bytes.
    fn blockers<'a>(
        &'a self,
        stuck: &'a BTreeSet<Paused>,
        (link, priority): Paused,
    ) -> impl Iterator<Item = (PortId, u64)> + 'a {
        let at = self.ports[link as usize].peer();
        let stuck_here = self.switch_ports(at).iter().filter(move |&&port| stuck.contains(&(port, priority)));
        let waiting = move |&port: &PortId| {
            let bytes = self.ports[port as usize].lossless()?.waiting_from(link, priority);
            (bytes > 0).then_some((port, bytes))
        };
        stuck_here.filter_map(waiting)
    }

    /// What the switch at the end of a link may hold of its packets when it lets more come, if only stuck ports hold any.
    fn resumes_at(&self, stuck: &BTreeSet<Paused>, link: PortId) -> u64 {
        let node = self.ports[link as usize].peer();
        let came = self.switch_ports(node).iter().map(|&port| port ^ 1);
        let left = came.flat_map(|link| (0..8).map(move |priority| (link, priority)));
        let used = left.flat_map(|paused| self.blockers(stuck, paused)).map(|(_, bytes)| bytes).sum();
        self.resume_threshold(node, used)
    }
}
