//! A simulated pair: two (or more) endpoints joined by a channel with delay, loss, reordering, trimming and marking.
//!
//! Deterministic: what happens to the n-th packet is a function of the channel's policy alone.

pub(crate) mod poor;

use crate::pull::PullQueue;
use crate::standings::{ClaimChange, Standing, Standings};
use crate::{Arrival, Duration, Endpoint, Event, GROUP, Peer, Rate, Stats, Time, Transmit};
use std::collections::VecDeque;

/// What the channel does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Deliver,
    Drop,
    Trim,
    Mark,
    /// Deliver after this much extra delay (reordering).
    Late(Duration),
    Duplicate,
    /// Back to whoever sent it, after a round trip, without its payload (NDP return-to-sender).
    Return,
}

/// The sender's and the receiver's places in a [`Pair`] of two.
pub(crate) const SENDER: usize = 0;
pub(crate) const RECEIVER: usize = 1;

/// A policy that delivers all packets.
pub(crate) fn deliver<H>(_: u64, _: usize, _: &Transmit<H>) -> Fate {
    Fate::Deliver
}

/// A policy that treats the first packet for which `which` holds as `fate` says, and delivers the others.
pub(crate) fn once<H>(
    fate: Fate,
    which: impl Fn(&Transmit<H>) -> bool,
) -> impl FnMut(u64, usize, &Transmit<H>) -> Fate {
    first(1, fate, which)
}

/// The same for the first `count` such packets.
pub(crate) fn first<H>(
    mut count: u32,
    fate: Fate,
    which: impl Fn(&Transmit<H>) -> bool,
) -> impl FnMut(u64, usize, &Transmit<H>) -> Fate {
    move |_, _, t| {
        if count > 0 && which(t) {
            count -= 1;
            return fate;
        }
        Fate::Deliver
    }
}

struct InFlight<H> {
    at: Time,
    order: u64,
    to: usize,
    arrival: Arrival<H>,
}

/// (time, from node, to node, packet, fate)
pub(crate) type Sent<H> = (Time, usize, usize, Transmit<H>, Fate);
type Policy<H> = Box<dyn FnMut(u64, usize, &Transmit<H>) -> Fate>;

/// A network of endpoints. Node 0 is the hub: its peer `i` is node `i + 1`, whose only peer is the hub.
/// Use two nodes for unicast; hub = sender for one-to-many; hub = receiver for many-to-one.
pub(crate) struct Pair<E: Endpoint> {
    pub(crate) now: Time,
    pub(crate) nodes: Vec<E>,
    pub(crate) events: Vec<Vec<(Time, Event)>>,
    /// Every packet sent: (time, from node, to node, packet, fate).
    pub(crate) log: Vec<Sent<E::Header>>,
    /// Nodes that packets to [`GROUP`] reach.
    group: Vec<usize>,
    delay: Duration,
    /// Serialisation time of one byte at each node's uplink.
    ps_per_byte: u64,
    busy_until: Vec<Time>,
    /// A node's own link, if it is slower: of one byte, and until when it is busy.
    last_links: Vec<Option<(u64, Time)>>,
    /// A node's link, and when it is cut.
    cut: Option<(usize, Time)>,
    pulls: Vec<PullQueue<()>>,
    /// Each node is a host of its own: whoever has a claim stands.
    standings: Vec<Standings<usize>>,
    wire: Vec<InFlight<E::Header>>,
    sent: u64,
    policy: Policy<E::Header>,
}

impl<E: Endpoint> Pair<E> {
    /// `delay` one way; each node's uplink at `gbps`; pulls paced at `pull_interval`; `policy(n, from_node, packet)`
    /// tells the fate of the n-th packet.
    pub(crate) fn new(
        nodes: Vec<E>,
        delay: Duration,
        gbps: u64,
        pull_interval: Duration,
        policy: impl FnMut(u64, usize, &Transmit<E::Header>) -> Fate + 'static,
    ) -> Self {
        let n = nodes.len();
        Self {
            now: Time::ZERO,
            events: vec![Vec::new(); n],
            log: Vec::new(),
            group: (1..n).collect(),
            delay,
            ps_per_byte: 8_000 / gbps,
            busy_until: vec![Time::ZERO; n],
            last_links: vec![None; n],
            cut: None,
            pulls: vec![PullQueue::new(pull_interval); n],
            standings: vec![Standings::default(); n],
            wire: Vec::new(),
            sent: 0,
            policy: Box::new(policy),
            nodes,
        }
    }

    /// The same with slower uplinks.
    pub(crate) fn at_mbps(mut self, mbps: u64) -> Self {
        self.ps_per_byte = 8_000_000 / mbps;
        self
    }

    /// The same with a slower link to one node, in front of which packets wait.
    pub(crate) fn with_last_link(mut self, node: usize, mbps: u64) -> Self {
        self.last_links[node] = Some((8_000_000 / mbps, Time::ZERO));
        self
    }

    /// The same with the link of a node cut from a certain time on: what is sent to it or by it then is lost.
    pub(crate) fn with_cut(mut self, node: usize, at: Time) -> Self {
        self.cut = Some((node, at));
        self
    }

    fn put_on_wire(&mut self, from: usize, t: Transmit<E::Header>) {
        let targets: Vec<usize> = match (from, t.to) {
            (0, GROUP) => self.group.clone(),
            (0, peer) => vec![usize::from(peer) + 1],
            (_, peer) => {
                assert_eq!(peer, 0, "a spoke's only peer is the hub");
                vec![0]
            }
        };
        let start = self.busy_until[from].max(self.now);
        self.busy_until[from] = start + Duration(u64::from(t.size) * self.ps_per_byte);
        for to in targets {
            let is_cut = self.cut.is_some_and(|(node, at)| self.now >= at && (node == from || node == to));
            let fate = if is_cut { Fate::Drop } else { (self.policy)(self.sent, from, &t) };
            self.sent += 1;
            self.log.push((self.now, from, to, t, fate));
            let peer: Peer = if from == 0 { 0 } else { (from - 1) as Peer };
            let mut arrival = Arrival { header: t.header, from: peer, trimmed: false, ce: false, returned: false };
            let mut at = self.busy_until[from] + self.delay;
            match fate {
                Fate::Drop => continue,
                Fate::Trim => arrival.trimmed = t.trimmed_size < t.size,
                Fate::Mark => arrival.ce = t.ect,
                Fate::Late(extra) => at += extra,
                Fate::Deliver => {}
                Fate::Return => {
                    arrival.returned = true;
                    self.wire.push(InFlight { at: at + self.delay, order: self.sent, to: from, arrival });
                    continue;
                }
                Fate::Duplicate => {
                    self.wire.push(InFlight { at: at + Duration(1), order: self.sent + (1 << 40), to, arrival });
                }
            }
            if let Some((ps_per_byte, free)) = &mut self.last_links[to] {
                *free = at.max(*free) + Duration(u64::from(t.size) * *ps_per_byte);
                at = *free;
            }
            self.wire.push(InFlight { at, order: self.sent, to, arrival });
        }
    }

    fn drain(&mut self, node: usize) {
        loop {
            let mut progress = false;
            loop {
                if self.busy_until[node] > self.now {
                    self.nodes[node].set_departure(self.busy_until[node]);
                }
                let Some(t) = self.nodes[node].poll_transmit(self.now) else { break };
                self.put_on_wire(node, t);
                progress = true;
            }
            while let Some(e) = self.nodes[node].poll_event() {
                self.events[node].push((self.now, e));
                if let Event::PeerDetached(peer) = e {
                    self.group.retain(|&member| member != usize::from(peer) + 1);
                }
                progress = true;
            }
            let hold = self.nodes[node].poll_hold();
            if hold > 0 {
                self.pulls[node].hold(self.now, hold);
            }
            if self.busy_until[node] <= self.now
                && self.nodes[node].wants_turn()
                && let Some(t) = self.nodes[node].take_turn(self.now)
            {
                self.put_on_wire(node, t);
                self.nodes[node].set_line(Rate(8_000_000_000_000 / self.ps_per_byte));
                progress = true;
            }
            if self.nodes[node].pending_pulls() > 0 && self.pulls[node].is_empty() {
                self.pulls[node].push((), 0);
            }
            if self.pulls[node].poll(self.now).is_some() {
                if let Some(t) = self.nodes[node].poll_pull(self.now) {
                    self.put_on_wire(node, t);
                } else {
                    self.pulls[node].refund(self.now);
                }
                progress = true;
            }
            if let Some(change) = self.nodes[node].poll_claim() {
                self.standings[node].update(node, 0, change);
                while let Some((_, standing)) = self.standings[node].next_change() {
                    self.nodes[node].set_standing(self.now, standing);
                    progress = true;
                }
            }
            if !progress {
                break;
            }
        }
    }

    /// Runs until nothing is scheduled or `end` has passed. Returns whether everything came to rest before `end`.
    pub(crate) fn run(&mut self, end: Time) -> bool {
        for n in 0..self.nodes.len() {
            self.drain(n);
        }
        loop {
            let wire = self.wire.iter().map(|p| p.at).min();
            let timer = self.nodes.iter().filter_map(Endpoint::poll_timeout).min();
            let pull = self.pulls.iter().filter_map(PullQueue::poll_timeout).min();
            let waits = self.nodes.iter().zip(&self.busy_until).filter(|(node, _)| node.wants_turn());
            let turn = waits.map(|(_, &free)| free.max(self.now)).min();
            let Some(next) = [wire, timer, pull, turn].into_iter().flatten().min() else { return true };
            if next > end {
                return false;
            }
            assert!(next >= self.now || timer == Some(next) || pull == Some(next));
            self.now = self.now.max(next);
            let mut due: Vec<usize> = (0..self.wire.len()).filter(|&i| self.wire[i].at <= self.now).collect();
            due.sort_by_key(|&i| (self.wire[i].at, self.wire[i].order));
            let mut arrived: Vec<(usize, Arrival<E::Header>)> =
                due.iter().map(|&i| (self.wire[i].to, self.wire[i].arrival)).collect();
            let now = self.now;
            self.wire.retain(|p| p.at > now);
            for (to, arrival) in arrived.drain(..) {
                self.nodes[to].handle_packet(self.now, &arrival);
                self.drain(to);
            }
            for n in 0..self.nodes.len() {
                if self.nodes[n].poll_timeout().is_some_and(|t| t <= self.now) {
                    self.nodes[n].handle_timeout(self.now);
                }
                self.drain(n);
            }
        }
    }

    /// When node `n` reported completion, if it did.
    pub(crate) fn completed_at(&self, n: usize) -> Option<Time> {
        self.events[n].iter().find_map(|(_, e)| match e {
            Event::Completed { at } => Some(*at),
            _ => None,
        })
    }
}

/// A sender whose application provides its object little by little.
#[derive(Debug)]
pub(crate) struct Slow<E> {
    pub(crate) end: E,
    /// When there is how much, in order of time.
    provides: VecDeque<(Time, u64)>,
}

impl<E: Endpoint> Slow<E> {
    /// Nothing is there before the first of `provides`. An end without any is not slow.
    pub(crate) fn new(mut end: E, provides: impl IntoIterator<Item = (Time, u64)>) -> Self {
        let provides: VecDeque<_> = provides.into_iter().collect();
        if !provides.is_empty() {
            end.set_available(Time::ZERO, 0);
        }
        Self { end, provides }
    }
}

impl<E: Endpoint> Endpoint for Slow<E> {
    type Header = E::Header;

    fn handle_packet(&mut self, now: Time, arrival: &Arrival<E::Header>) {
        self.end.handle_packet(now, arrival);
    }
    fn handle_timeout(&mut self, now: Time) {
        while let Some(&(_, bytes)) = self.provides.front().filter(|p| p.0 <= now) {
            self.end.set_available(now, bytes);
            self.provides.pop_front();
        }
        if self.end.poll_timeout().is_some_and(|at| at <= now) {
            self.end.handle_timeout(now);
        }
    }
    fn set_departure(&mut self, at: Time) {
        self.end.set_departure(at);
    }
    fn uses_departure(&self) -> bool {
        self.end.uses_departure()
    }
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<E::Header>> {
        self.end.poll_transmit(now)
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.end.poll_timeout().into_iter().chain(self.provides.front().map(|p| p.0)).min()
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.end.poll_event()
    }
    fn pending_pulls(&self) -> u32 {
        self.end.pending_pulls()
    }
    fn poll_pull(&mut self, now: Time) -> Option<Transmit<E::Header>> {
        self.end.poll_pull(now)
    }
    fn poll_hold(&mut self) -> u32 {
        self.end.poll_hold()
    }
    fn wants_turn(&self) -> bool {
        self.end.wants_turn()
    }
    fn take_turn(&mut self, now: Time) -> Option<Transmit<E::Header>> {
        self.end.take_turn(now)
    }
    fn set_line(&mut self, rate: Rate) {
        self.end.set_line(rate);
    }
    fn poll_claim(&mut self) -> Option<ClaimChange> {
        self.end.poll_claim()
    }
    fn claim(&self) -> Option<u64> {
        self.end.claim()
    }
    fn set_standing(&mut self, now: Time, standing: Option<Standing>) {
        self.end.set_standing(now, standing);
    }
    fn stats(&self) -> Stats {
        self.end.stats()
    }
    fn waiting_for(&self) -> String {
        self.end.waiting_for()
    }
}
