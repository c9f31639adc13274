//! Packets on their way, by window of time and by the switch at which they arrive, or for all hosts together.
//!
//! A window is no longer than the least delay of a link, so that whatever is sent in one arrives in a later one: when a window
//! begins, all that will arrive at a switch in it lies in the switch's box of that window, in any order, and what will arrive at
//! hosts in the box that they share. So the scheduler need not keep these arrivals in order, one by one (conservative lookahead:
//! Chandy and Misra 1979; in synchronous windows: Lubachevsky 1989). The ports that still have packets to send are listed by the
//! window in which they send the next.
//!
//! Boxes are chains of small chunks from a pool whose last returned chunk is the first to be used again: it is still in the
//! processor's cache.

use super::arena::PacketId;
use super::wheel::Entity;

/// Packets of a chunk: four cache lines.
const CHUNK: u32 = 16;
/// The most windows at a time for which there are boxes.
const MOST_SLOTS: u64 = 32;
/// Picoseconds since a window began have so many bits. With a few more, times the length of a window, they fit into 64.
pub const LONGEST_BITS: u32 = 26;
/// The longest window, in picoseconds.
pub const LONGEST: u64 = 1 << LONGEST_BITS;
/// The shortest window, in picoseconds: so much must pass between what is sent and its arrival.
pub const SHORTEST: u64 = 2;
const NONE: u32 = u32::MAX;
/// Numbers of windows begin anew after this one, so that ports can have numbers that no window has.
const LAST: u32 = u32::MAX >> 1;

/// The arrival of a packet at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Picoseconds.
    pub time: u64,
    /// The entity of the link.
    pub link: Entity,
    /// The packet.
    pub packet: PacketId,
}

/// Head of an empty box.
const EMPTY: u32 = 0;

/// What there is to do in a window.
#[derive(Clone, Default)]
struct Slot {
    /// Packets arrive at hosts.
    hosts: bool,
    /// The switches at which packets arrive.
    nodes: Vec<u32>,
    /// The ports that send something that waits.
    ports: Vec<Entity>,
}

impl Slot {
    fn is_empty(&self) -> bool {
        !self.hosts && self.nodes.is_empty() && self.ports.is_empty()
    }
}

/// The boxes of all nodes. See the module's text.
#[derive(Default)]
pub struct Boxes {
    /// Picoseconds of a window, and 2^64 divided by it; 0: boxes are not used.
    length: u64,
    reciprocal: u64,
    /// When the current window began, and its number, of which the last bits say where its boxes are.
    from: u64,
    window: u32,
    mask: u32,
    /// The first node that is a switch.
    first: u32,
    /// `mask + 1` for all hosts, and as many for each switch: the place after that of the last packet in the box, or [`EMPTY`].
    heads: Vec<u32>,
    slots: Vec<Slot>,
    /// Chunks, one after the other.
    places: Vec<Arrival>,
    /// Of each chunk, the one that was filled before it.
    before: Vec<u32>,
    free: Vec<u32>,
}

impl Boxes {
    /// For hosts, which are the nodes before `first`, and so many switches. What is sent arrives after `least` picoseconds or more,
    /// mostly before `most`; `least` is at least [`SHORTEST`]. At time 0.
    pub fn new(first: u32, switches: usize, least: u64, most: u64) -> Self {
        debug_assert!(least >= SHORTEST, "{least} ps is too short for a window");
        let length = least.clamp(SHORTEST, LONGEST);
        let slots = (most / length + 2).next_power_of_two().min(MOST_SLOTS);
        Self {
            length,
            reciprocal: u64::MAX / length + 1,
            mask: slots as u32 - 1,
            first,
            heads: vec![EMPTY; (1 + switches) * slots as usize],
            slots: vec![Slot::default(); slots as usize],
            ..Self::default()
        }
    }

    /// Whether they are used.
    #[inline]
    pub fn in_use(&self) -> bool {
        self.length != 0
    }

    /// Whether no packet is in any box. Between windows only: lists that were taken do not count.
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| !slot.hosts && slot.nodes.is_empty())
    }

    /// How long a window is; all begin at multiples of it.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// When the current window began.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// The number of the window of a time, and whether it has boxes already. The time is not before the current window.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each transmission of each packet")]
    fn window_of(&self, time: u64) -> (u32, bool) {
        debug_assert!(time >= self.from, "{time} is before the window that begins at {}", self.from);
        let windows = ((u128::from(time - self.from) * u128::from(self.reciprocal)) >> 64) as u64;
        (self.window.wrapping_add(windows as u32) & LAST, windows <= u64::from(self.mask))
    }

    /// Where the box of a node is, of the window in a slot.
    #[inline]
    fn index(&self, node: u32, slot: u32) -> usize {
        ((node + 1).saturating_sub(self.first) * (self.mask + 1) + slot) as usize
    }

    /// A packet arrives at a node. False if that is too far ahead for a box.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each transmission of each packet")]
    pub fn put(&mut self, node: u32, arrival: Arrival) -> bool {
        let (window, near) = self.window_of(arrival.time);
        if !near {
            return false;
        }
        let slot = window & self.mask;
        let index = self.index(node, slot);
        let mut place = self.heads[index];
        if place.is_multiple_of(CHUNK) {
            place = self.add_chunk(place, node, slot);
        }
        self.heads[index] = place + 1;
        self.places[place as usize] = arrival;
        true
    }

    /// Where the first packet of a new chunk goes, in a box of which the last chunk ends before `end`.
    #[inline(never)]
    fn add_chunk(&mut self, end: u32, node: u32, slot: u32) -> u32 {
        let chunk = self.free.pop().unwrap_or_else(|| {
            self.places.resize(self.places.len() + CHUNK as usize, Arrival::default());
            self.before.push(NONE);
            self.before.len() as u32 - 1
        });
        if end == EMPTY {
            let to_do = &mut self.slots[slot as usize];
            if node < self.first {
                to_do.hosts = true;
            } else {
                to_do.nodes.push(node);
            }
        }
        debug_assert!(chunk < u32::MAX / CHUNK, "places have numbers");
        // Of an empty box, none.
        self.before[chunk as usize] = (end / CHUNK).wrapping_sub(1);
        chunk * CHUNK
    }

    /// Empties the box of a switch of the current window into `to`, in any order. Calls `show` with each packet.
    #[inline]
    pub fn take(&mut self, node: u32, to: &mut Vec<Arrival>, show: impl Fn(PacketId)) {
        self.take_box(self.index(node, self.window & self.mask), to, show);
    }

    /// The same with the box of all hosts.
    #[inline]
    pub fn take_hosts(&mut self, to: &mut Vec<Arrival>) {
        let slot = self.window & self.mask;
        if std::mem::take(&mut self.slots[slot as usize].hosts) {
            self.take_box(slot as usize, to, |_| ());
        }
    }

    #[inline]
    fn take_box(&mut self, index: usize, to: &mut Vec<Arrival>, show: impl Fn(PacketId)) {
        let end = std::mem::replace(&mut self.heads[index], EMPTY);
        let mut chunk = end.div_ceil(CHUNK).wrapping_sub(1);
        let mut len = end.wrapping_sub(1) % CHUNK + 1;
        while chunk != NONE {
            let first = (chunk * CHUNK) as usize;
            to.extend(self.places[first..first + len as usize].iter().inspect(|arrival| show(arrival.packet)));
            len = CHUNK;
            self.free.push(chunk);
            chunk = self.before[chunk as usize];
        }
    }

    /// Takes the list of switches at which packets arrive in the current window. The list that is given in its place must be empty.
    pub fn take_nodes(&mut self, empty: &mut Vec<u32>) {
        debug_assert!(empty.is_empty(), "a list of switches is used up");
        std::mem::swap(&mut self.slots[(self.window & self.mask) as usize].nodes, empty);
    }

    /// A port sends something at this time, unless it is touched before: the window of that, if it was not `listed` for it.
    #[inline]
    pub fn list(&mut self, port: Entity, time: u64, listed: u32) -> u32 {
        let (window, near) = self.window_of(time);
        // What is too far ahead is looked at again and again.
        let window = if near { window } else { self.window.wrapping_add(self.mask) & LAST };
        if window != listed {
            self.slots[(window & self.mask) as usize].ports.push(port);
        }
        window
    }

    /// The number of the current window.
    #[inline]
    pub fn window(&self) -> u32 {
        self.window
    }

    /// Takes the list of ports that send something in the current window. The list that is given in its place must be empty.
    pub fn take_ports(&mut self, empty: &mut Vec<Entity>) {
        debug_assert!(empty.is_empty(), "a list of ports is used up");
        std::mem::swap(&mut self.slots[(self.window & self.mask) as usize].ports, empty);
    }

    /// The first window from the current one on in which there is something to do begins not before this time; the end of time if
    /// there is nothing.
    pub fn next_bound(&self) -> u64 {
        (0..self.slots.len() as u32)
            .find(|ahead| !self.slots[(self.window.wrapping_add(*ahead) & self.mask) as usize].is_empty())
            .map_or(u64::MAX, |ahead| self.from + u64::from(ahead) * self.length)
    }

    /// Whether there is something left to do in the current window.
    pub fn has_more(&self) -> bool {
        !self.slots[(self.window & self.mask) as usize].is_empty()
    }

    /// The current window becomes that of a time. There is nothing left to do before it.
    pub fn go_to(&mut self, time: u64) {
        debug_assert!(self.next_bound().saturating_add(self.length) > time, "there is something to do before");
        let windows = (time - self.from) / self.length;
        self.window = self.window.wrapping_add(windows as u32) & LAST;
        self.from += windows * self.length;
    }

    /// When the current window ends.
    pub fn end(&self) -> u64 {
        self.from.saturating_add(self.length)
    }

    /// Takes the packets that arrive at a time in the current window.
    pub fn take_at(&mut self, time: u64) -> Vec<Arrival> {
        let mut nodes = Vec::new();
        self.take_nodes(&mut nodes);
        let (mut taken, mut arrivals) = (Vec::new(), Vec::new());
        self.take_hosts(&mut arrivals);
        let mut node = 0;
        loop {
            for arrival in arrivals.drain(..) {
                if arrival.time == time {
                    taken.push(arrival);
                } else {
                    self.put(node, arrival);
                }
            }
            let Some(next) = nodes.pop() else { return taken };
            node = next;
            self.take(node, &mut arrivals, |_| ());
        }
    }

    /// Takes all packets out of all boxes.
    pub fn drain(&mut self) -> Vec<Arrival> {
        let mut all = Vec::new();
        for index in 0..self.heads.len() {
            self.take_box(index, &mut all, |_| ());
        }
        for slot in &mut self.slots {
            slot.hosts = false;
            slot.nodes.clear();
            slot.ports.clear();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FIRST: u32 = 3;
    const NODES: u32 = 4;

    proptest! {
        /// Window by window, everything comes out of the boxes that was put there, in its window and at its switch, and every
        /// port in the window for which it was listed last.
        #[test]
        fn all_comes_out_in_its_window(
            length in SHORTEST..1_000_000,
            most in 0..40_u64,
            puts in prop::collection::vec((0..FIRST + NODES, 0..60_000_000_u64, 0..40_u64, any::<bool>()), 1..300),
            drains: bool,
        ) {
            let mut boxes = Boxes::new(FIRST, NODES as usize, length, most * length);
            // Numbers begin anew soon.
            boxes.window = LAST - 3;
            let (mut inside, mut listed) = (Vec::new(), std::collections::BTreeMap::new());
            let (mut nodes, mut ports, mut arrivals) = (Vec::new(), Vec::new(), Vec::new());
            let mut empty = |boxes: &mut Boxes, inside: &mut Vec<(u32, Arrival)>, listed: &mut std::collections::BTreeMap<u32, u32>| {
                let window = boxes.from()..boxes.end();
                boxes.take_nodes(&mut nodes);
                boxes.take_hosts(&mut arrivals);
                let mut found: Vec<_> = arrivals.drain(..).map(|arrival| (0, arrival)).collect();
                for node in nodes.drain(..) {
                    boxes.take(node, &mut arrivals, |_| ());
                    found.extend(arrivals.drain(..).map(|arrival| (node, arrival)));
                }
                let mut expected: Vec<_> = inside.extract_if(.., |(_, arrival)| window.contains(&arrival.time)).collect();
                found.sort_unstable_by_key(|(_, arrival)| arrival.packet);
                expected.sort_unstable_by_key(|(_, arrival)| arrival.packet);
                assert_eq!(found, expected);
                boxes.take_ports(&mut ports);
                for port in ports.drain(..) {
                    if listed.get(&port) == Some(&boxes.window()) {
                        listed.remove(&port);
                    }
                }
                assert!(!listed.values().any(|&window| window == boxes.window()), "each is on its list");
            };
            for (packet, (node, ahead, jump, lists)) in puts.into_iter().enumerate() {
                let time = boxes.from() + ahead % (length * (most + 4));
                let arrival = Arrival { time, link: 7, packet: packet as u32 };
                let near = time < boxes.from() + length * (most + 1);
                let put = boxes.put(node, arrival);
                prop_assert!(put || !near || most >= MOST_SLOTS - 2, "there are boxes for {most} windows");
                if put {
                    // All hosts share a box.
                    inside.push((if node < FIRST { 0 } else { node }, arrival));
                }
                if lists {
                    let before = listed.get(&node).copied().unwrap_or(u32::MAX);
                    listed.insert(node, boxes.list(node, time, before));
                }
                prop_assert_eq!(boxes.is_empty(), inside.is_empty());
                let until = boxes.from() + jump / 8 * length;
                while boxes.next_bound() < until {
                    let next = boxes.next_bound();
                    boxes.go_to(next);
                    empty(&mut boxes, &mut inside, &mut listed);
                }
                boxes.go_to(until.max(boxes.from()));
                // What arrives at one time in the current window.
                let mut taken = boxes.take_at(time);
                let mut expected: Vec<_> = inside
                    .extract_if(.., |(_, arrival)| arrival.time == time && time < boxes.end())
                    .map(|(_, arrival)| arrival)
                    .collect();
                taken.sort_unstable_by_key(|arrival| arrival.packet);
                expected.sort_unstable_by_key(|arrival| arrival.packet);
                prop_assert_eq!(taken, expected);
            }
            if drains {
                let mut drained = boxes.drain();
                let mut all: Vec<_> = inside.drain(..).map(|(_, arrival)| arrival).collect();
                drained.sort_unstable_by_key(|arrival| arrival.packet);
                all.sort_unstable_by_key(|arrival| arrival.packet);
                prop_assert_eq!(drained, all);
                prop_assert_eq!(boxes.next_bound(), u64::MAX);
                listed.clear();
            }
            while boxes.next_bound() < u64::MAX {
                let next = boxes.next_bound();
                boxes.go_to(next);
                empty(&mut boxes, &mut inside, &mut listed);
            }
            prop_assert!(inside.is_empty() && listed.is_empty() && boxes.is_empty());
        }
    }
}
