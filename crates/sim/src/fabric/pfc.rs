//! Priority flow control (IEEE 802.1Qbb): what a switch holds of the packets that came by each of its ports, and when it asks the node
//! at the far end to pause.
//!
//! Memory counts by *ingress* port and priority: only the sender at the other end of that link can be paused. Up to a threshold packets
//! take what they share; a packet that does not fit below it takes *headroom* and asks for a pause. Headroom is for what is still to
//! come then: it must last until the pause has taken effect. So far as in the switch of the HPCC simulator (`switch-mmu.cc`).

use super::graph::Graph;
use anabranch_transport::{Duration, Rate};

/// Priorities that can be paused one by one, at most: as many as 802.1Qbb has.
pub const MAX_PRIORITIES: usize = 8;

/// Bytes of a pause frame on the wire: the least frame of Ethernet.
pub const FRAME: u16 = 64;

/// From what on a port asks for a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Bytes of a port and priority, and how many are left when it lets packets come again.
    Fixed {
        /// XOFF.
        xoff: u64,
        /// XON.
        xon: u64,
    },
    /// `alpha` times what is free of the memory that ports share, which is what headroom leaves (Choudhury and Hahne 1998; HPCC's
    /// switch). Packets may come again when a port holds `below` bytes less than that.
    Dynamic {
        /// Bytes of the whole memory, with headroom.
        memory: u64,
        /// A port's share.
        alpha: f64,
        /// Bytes.
        below: u64,
    },
}

/// Parameters of priority flow control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pfc {
    /// Priorities that are told apart, 1 to [`MAX_PRIORITIES`]; a packet beyond the last belongs to the last.
    pub priorities: u8,
    /// When a port asks for a pause.
    pub threshold: Threshold,
    /// Bytes of each port and priority beyond that. `None`: what [`headroom`] says.
    pub headroom: Option<u64>,
}

impl Pfc {
    /// Bytes of each node's memory that are set aside for its links and priorities: headroom, and what is below a fixed threshold.
    pub fn taken(&self, graph: &Graph, packet: u64) -> Vec<u64> {
        let mut taken = vec![0_u64; graph.nodes.len()];
        for link in &graph.links {
            let own = self.headroom.unwrap_or_else(|| headroom(link.rate, link.delay, packet, self.priorities));
            let shared = if let Threshold::Fixed { xoff, .. } = self.threshold { xoff } else { 0 };
            for node in [link.a, link.b] {
                taken[node as usize] += own.saturating_add(shared).saturating_mul(u64::from(self.priorities));
            }
        }
        taken
    }
}

/// The headroom with which nothing is lost on a link, in bytes, where full packets have `packet` bytes.
///
/// From when a pause is due: the pause frame waits for a full packet that is being sent, and for the frames of the other priorities; it
/// takes its own time, and the delay. Meanwhile, and for the delay after it, packets arrive; and the one that has just begun when the frame
/// comes is finished (IEEE 802.1Qbb-2011 Annex O; 2 delays and 2 packets are the usual rule). A third packet is the one that the
/// threshold divides, since it takes headroom as a whole.
pub fn headroom(rate: Rate, delay: Duration, packet: u64, priorities: u8) -> u64 {
    rate.bytes_in(delay + delay) + 1 + 3 * packet + u64::from(FRAME) * u64::from(priorities)
}

/// What a link carries from when packets may come again until the first of them is there, in bytes: the frame that says so and the packet, and
/// both of its delays. So much a switch must hold of a port's packets then, if it is to have some to send meanwhile.
pub fn reaction(rate: Rate, delay: Duration, packet: u64, priorities: u8) -> u64 {
    rate.bytes_in(delay + delay) + 1 + packet + u64::from(FRAME) * u64::from(priorities)
}

/// The share of its time that the link to a host idles while two others send to it at the rate of theirs, which is the same, and pauses go from
/// `xoff` to `xon`: 0 to 1.
///
/// Of each sender come packets at the rate C, and leave at C / 2. They come until a [`reaction`] R after XOFF, so that XOFF + R / 2
/// wait at most. When they have fallen to XON, packets may come again, but the first ones do so after R, and 2 XON last for less.
pub fn idle_share(xoff: u64, xon: u64, reaction: u64) -> f64 {
    let [xoff, xon, reaction] = [xoff, xon, reaction].map(|bytes| bytes as f64);
    let idle = (reaction - 2.0 * xon).max(0.0);
    // It fills for 2 XOFF / C and R / C, and empties in twice the time that C needs for what waits.
    let busy = 2.0 * xoff + reaction + 2.0 * (xoff + reaction / 2.0);
    idle / (idle + busy)
}

/// What a switch has for the packets of a port and priority now.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Up to so many bytes they may share.
    pub threshold: u64,
    /// Packets may come again when they hold no more than this.
    pub resume: u64,
    /// Bytes that are free of what ports share.
    pub free: u64,
}

impl Threshold {
    /// Where ports hold `used` bytes of the memory that they share, and `headroom` bytes of it are set aside.
    pub fn room(&self, used: u64, headroom: u64) -> Room {
        match *self {
            Self::Fixed { xoff, xon } => Room { threshold: xoff, resume: xon, free: u64::MAX },
            Self::Dynamic { memory, alpha, below } => {
                let free = memory.saturating_sub(headroom).saturating_sub(used);
                let threshold = (alpha * free as f64) as u64;
                Room { threshold, resume: threshold.saturating_sub(below), free }
            }
        }
    }
}

/// What a switch holds of the packets of one link and priority.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    shared: u64,
    over: u64,
}

/// Where a packet was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// In what ports share.
    Shared,
    /// In the port's headroom.
    Headroom,
    /// Nowhere: even the headroom is full.
    Nowhere,
}

/// How many copies of each multicast packet wait, at places that are used again.
#[derive(Clone, Debug, Default)]
struct Copies {
    waiting: Vec<u32>,
    free: Vec<u32>,
}

impl Copies {
    /// The first copy of a packet waits: its place.
    fn first(&mut self) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.waiting.push(0);
            self.waiting.len() as u32 - 1
        });
        self.waiting[place as usize] = 1;
        place
    }

    /// A copy has left. Whether that was the last.
    fn leaves(&mut self, place: u32) -> bool {
        let waiting = &mut self.waiting[place as usize];
        *waiting -= 1;
        let last = *waiting == 0;
        self.free.extend(last.then_some(place));
        last
    }
}

/// The memory of the packets that came by a port. A multicast packet takes it once, from the first copy that waits until the last has left.
#[derive(Clone, Debug, Default)]
pub struct Ingress {
    held: [Held; MAX_PRIORITIES],
    copies: Copies,
    /// Bytes for each priority.
    headroom: u64,
    /// The priorities whose pause is due, and those whose pause was asked for, one bit each.
    due: u8,
    pausing: u8,
    /// Packets that found no headroom.
    pub lost: u64,
}

impl Ingress {
    /// Empty.
    pub fn new(headroom: u64) -> Self {
        Self { headroom, ..Self::default() }
    }

    /// Takes a packet in.
    pub fn take(&mut self, priority: u8, size: u16, room: Room) -> Taken {
        let (held, size) = (&mut self.held[usize::from(priority)], u64::from(size));
        if held.over == 0 && held.shared + size <= room.threshold && size <= room.free {
            held.shared += size;
            return Taken::Shared;
        }
        if held.over + size > self.headroom {
            self.lost += 1;
            // The pause ends when something leaves: where nothing is held, nothing could end it.
            self.due |= u8::from(held.over + held.shared > 0) << priority;
            return Taken::Nowhere;
        }
        self.due |= 1 << priority;
        held.over += size;
        Taken::Headroom
    }

    /// The packet that was taken in last is the first copy that waits of several: the place by which the others are known.
    pub fn first_copy(&mut self) -> u32 {
        self.copies.first()
    }

    /// Another copy waits. False if no other waits any more: then it is to be taken in.
    pub fn another_copy(&mut self, place: u32) -> bool {
        let waiting = &mut self.copies.waiting[place as usize];
        *waiting += u32::from(*waiting > 0);
        *waiting > 0
    }

    /// A packet has left, or one of the `copies` of one: how many bytes that frees of what ports share. Headroom is free first.
    pub fn give(&mut self, priority: u8, size: u16, copies: Option<u32>) -> u64 {
        if copies.is_some_and(|place| !self.copies.leaves(place)) {
            return 0;
        }
        let (held, size) = (&mut self.held[usize::from(priority)], u64::from(size));
        let over = held.over.min(size);
        held.over -= over;
        held.shared -= size - over;
        size - over
    }

    /// Whether the far end is to be paused that is not: then it is from now on.
    pub fn begins_pause(&mut self, priority: u8) -> bool {
        let begins = self.due & !self.pausing & 1 << priority;
        self.pausing |= begins;
        begins != 0
    }

    /// Whether the far end is paused that need not be: then it is no longer.
    pub fn ends_pause(&mut self, priority: u8, room: Room) -> bool {
        let Held { shared, over } = self.held[usize::from(priority)];
        let ends = self.pauses(priority) && over == 0 && (shared <= room.resume || shared == 0);
        if ends {
            (self.due, self.pausing) = (self.due & !(1 << priority), self.pausing & !(1 << priority));
        }
        ends
    }

    /// Whether it has asked the far end to pause.
    pub fn pauses(&self, priority: u8) -> bool {
        self.pausing >> priority & 1 == 1
    }

    /// The priorities for which it has.
    pub fn pausing(&self) -> impl Iterator<Item = u8> {
        (0..MAX_PRIORITIES as u8).filter(|&priority| self.pauses(priority))
    }

    /// Bytes that it holds of what ports share.
    pub fn shared(&self) -> u64 {
        self.held.iter().map(|held| held.shared).sum()
    }

    /// Those of a priority.
    pub fn shared_of(&self, priority: u8) -> u64 {
        self.held[usize::from(priority)].shared
    }

    /// Bytes of headroom of all priorities.
    pub fn headroom(&self) -> u64 {
        self.headroom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXED: Threshold = Threshold::Fixed { xoff: 6000, xon: 3000 };

    #[test]
    fn a_packet_that_does_not_fit_takes_headroom_and_asks_for_a_pause() {
        let mut ingress = Ingress::new(4000);
        let room = FIXED.room(0, 0);
        let take = |ingress: &mut Ingress| (ingress.take(2, 1500, room), ingress.begins_pause(2));
        for _ in 0..4 {
            assert_eq!(take(&mut ingress), (Taken::Shared, false), "6000 B fit");
        }
        assert_eq!(take(&mut ingress), (Taken::Headroom, true));
        assert_eq!(take(&mut ingress), (Taken::Headroom, false), "once");
        assert_eq!((take(&mut ingress), ingress.lost), ((Taken::Nowhere, false), 1), "4500 B do not");
        assert_eq!(ingress.shared(), 6000);
        // Headroom is free first; 6000, 4500 and at last 3000 bytes are left.
        let give = |ingress: &mut Ingress| (ingress.give(2, 1500, None), ingress.ends_pause(2, room));
        assert_eq!(
            [(); 5].map(|()| give(&mut ingress)),
            [(0, false), (0, false), (1500, false), (1500, true), (1500, false)]
        );
    }

    #[test]
    fn priorities_do_not_share_a_threshold() {
        let (mut ingress, room) = (Ingress::new(1500), FIXED.room(0, 0));
        for _ in 0..5 {
            ingress.take(0, 1500, room);
        }
        assert_eq!(ingress.take(1, 1500, room), Taken::Shared);
        assert!(ingress.begins_pause(0) && !ingress.begins_pause(1));
    }

    #[test]
    fn a_dynamic_threshold_follows_what_is_free() {
        let dynamic = Threshold::Dynamic { memory: 100_000, alpha: 0.5, below: 3000 };
        let Room { threshold, resume, free } = dynamic.room(20_000, 30_000);
        assert_eq!((threshold, resume, free), (25_000, 22_000, 50_000));
        let full = dynamic.room(70_000, 30_000);
        assert_eq!((full.threshold, full.resume, full.free), (0, 0, 0));
        // What holds nothing may send again, however little is free.
        let mut ingress = Ingress::new(1500);
        assert_eq!((ingress.take(0, 1500, full), ingress.begins_pause(0)), (Taken::Headroom, true));
        assert_eq!((ingress.give(0, 1500, None), ingress.ends_pause(0, full)), (0, true));
    }

    #[test]
    fn what_holds_nothing_asks_for_no_pause_that_nothing_would_end() {
        let (mut ingress, full) = (Ingress::new(1000), Room { threshold: 0, resume: 0, free: 0 });
        assert_eq!((ingress.take(0, 1500, full), ingress.begins_pause(0)), (Taken::Nowhere, false));
        assert_eq!((ingress.take(0, 600, full), ingress.begins_pause(0)), (Taken::Headroom, true));
    }

    #[test]
    fn a_packet_takes_memory_once_until_its_last_copy_has_left() {
        let (mut ingress, room) = (Ingress::new(0), FIXED.room(0, 0));
        ingress.take(0, 1500, room);
        let place = ingress.first_copy();
        assert!(ingress.another_copy(place) && ingress.another_copy(place));
        // Another packet has another place.
        ingress.take(0, 1500, room);
        assert_ne!(ingress.first_copy(), place);
        assert_eq!(ingress.shared(), 3000);
        assert_eq!([(); 3].map(|()| ingress.give(0, 1500, Some(place))), [0, 0, 1500]);
        assert!(!ingress.another_copy(place), "none waits");
        assert_eq!(ingress.first_copy(), place, "places are used again");
    }

    #[test]
    fn headroom_lasts_until_the_pause_has_taken_effect() {
        // 100 Gbps and 1 us: 12.5 kB each way.
        let bytes = headroom(Rate::from_gbps(100), Duration::from_us(1), 1500, 1);
        assert_eq!(bytes, 2 * 12_500 + 1 + 3 * 1500 + 64);
    }
}
