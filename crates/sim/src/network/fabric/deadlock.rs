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

#[cfg(test)]
mod tests {
    use super::super::tests::Bench;
    use super::*;
    use crate::engine::arena::Hot;
    use crate::fabric::pfc::{Pfc, Room, Threshold};
    use crate::fabric::queue::lossless::{Came, Lossless};
    use crate::fabric::queue::testing::data;

    /// The ports of the link between the two switches.
    const MIDDLE: [PortId; 2] = [8, 9];

    /// Packets of 1500 B that have come by a link and wait at a port: so many of what ports share, the others in headroom.
    fn wait(fabric: &mut Fabric, (link, port): (PortId, PortId), packets: u32, shared: u64) {
        let mut hots: Vec<Hot> = (0..packets).map(|_| data(0)).collect();
        for id in 0..packets {
            let room = Room { threshold: 1500 * shared, resume: 0, free: u64::MAX };
            lossless(fabric, link ^ 1).ingress.take(0, 1500, room);
            let queue = lossless(fabric, port);
            queue.arrives_by(Came { link, copies: None });
            queue.enqueue(&mut hots, id);
        }
    }

    /// A packet in headroom that will leave, for nothing pauses the port it waits at.
    fn for_a_host(fabric: &mut Fabric, port: PortId) {
        lossless(fabric, port).ingress.take(0, 1500, Room { threshold: 0, resume: 0, free: 0 });
    }

    /// A frame comes to the end of a link.
    fn pause(fabric: &mut Fabric, port: PortId) {
        let account = lossless(fabric, port ^ 1);
        assert!(account.ingress.begins_pause(0), "what waits in headroom asks for it");
        account.count_frame();
        lossless(fabric, port).pause(0, true, 0);
    }

    fn lossless(fabric: &mut Fabric, port: PortId) -> &mut Lossless {
        fabric.ports[port as usize].lossless_mut().expect("all can be paused")
    }

    /// What comes by either direction of a link waits for the other one: five packets, of which `shared` are not in headroom. One more of each is in
    /// headroom, and goes to a host.
    fn circle(threshold: Threshold, shared: u64) -> Fabric {
        let mut fabric = Bench::lossless(Pfc { priorities: 1, threshold, headroom: Some(15_000) });
        for port in MIDDLE {
            wait(&mut fabric, (port ^ 1, port), 5, shared);
            for_a_host(&mut fabric, port);
            pause(&mut fabric, port ^ 1);
        }
        fabric
    }

    #[test]
    fn a_circle_is_a_deadlock_but_while_a_frame_is_on_its_way() {
        let mut fabric = circle(Threshold::Fixed { xoff: 6000, xon: 3000 }, 4);
        assert_eq!(
            fabric.deadlock().as_deref(),
            Some("a deadlock of pauses of priority 0: s0 waits for s1 waits for s0")
        );
        // The far end has paused, ended that, and paused again, of which nothing has arrived.
        lossless(&mut fabric, MIDDLE[0]).count_frame();
        lossless(&mut fabric, MIDDLE[0]).count_frame();
        assert_eq!(fabric.deadlock(), None);
    }

    #[test]
    fn what_resumes_when_the_rest_has_left_is_no_deadlock() {
        // 7500 B stay of each.
        let resumes = |xon| circle(Threshold::Fixed { xoff: 9000, xon }, 5).deadlock().is_none();
        assert!(resumes(7500) && !resumes(7499));
    }

    #[test]
    fn headroom_does_not_take_memory_that_thresholds_follow() {
        // Three packets share the memory and one takes headroom, until that one leaves. Five of a host's wait behind them, one of them in what is shared.
        let resumes = |memory| {
            let mut fabric = Bench::lossless(Pfc {
                priorities: 1,
                threshold: Threshold::Dynamic { memory, alpha: 1.0, below: 0 },
                headroom: Some(15_000),
            });
            for (port, from_host) in MIDDLE.into_iter().zip([0, 4]) {
                wait(&mut fabric, (port ^ 1, port), 3, 3);
                wait(&mut fabric, (from_host, port), 5, 1);
                for_a_host(&mut fabric, port);
                pause(&mut fabric, port ^ 1);
            }
            fabric.deadlock().is_none()
        };
        // They share 6000 B, so that 4500 B may come again where 10 500 B are.
        assert!(resumes(10_500) && !resumes(10_499));
    }
}
