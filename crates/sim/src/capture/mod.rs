//! Packet captures: what goes over chosen links, as files that Wireshark reads.
//!
//! [`Captures`] reads the [taps](crate::fabric::tap) of ports, keeps the headers of packets that wait there, and hands packets with their
//! times to the captures that want them, which write them in order. Nothing here is done, or asked, where nobody captures.
//!
//! A capture is of a port: it sees a packet that the port's node sends when its transmission starts, and one that reaches the node by
//! this link when its last bit is there. A file of several ports would have most packets twice, which Wireshark takes for
//! retransmissions. The two most important types are [`CapturePlan`] and [`Captures`].

mod encapsulation;
mod file;
mod flows;
mod headers;
mod pcapng;
mod plan;
mod segment;
#[cfg(test)]
mod tests;

use crate::engine::arena::{Arena, PacketId};
use crate::fabric::graph::{Graph, PortId};
use crate::fabric::tap::{Noted, Tap};
use crate::host::stack::Header;
use anabranch_transport::Time;
pub use file::CaptureRow;
use file::{CaptureFile, Fate, Record};
use flows::Flows;
pub use flows::Party;
use pcapng::{Direction, Interface};
pub use plan::{CapturePlan, Files};
use std::collections::BTreeMap;
use std::io;

/// A packet that came to a port and has not left it.
#[derive(Clone, Copy)]
struct Waiting {
    header: Header,
    flags: u8,
}

/// A port with a tap.
#[derive(Default)]
struct Tapped {
    waiting: BTreeMap<PacketId, Waiting>,
    /// Whose business it is: which capture, by which interface, in which direction.
    readers: Vec<(usize, u32, Direction)>,
}

/// The captures of a run.
pub struct Captures {
    ports: BTreeMap<PortId, Tapped>,
    files: Vec<CaptureFile>,
    flows: Flows,
    open: Box<Files>,
    /// The first that went wrong with a file. Then no more is written.
    failed: Option<io::Error>,
}

impl Captures {
    /// Begins captures.
    ///
    /// # Errors
    /// If a file cannot be opened or written.
    pub fn new(plans: Vec<CapturePlan>, graph: &Graph, mut open: Box<Files>) -> io::Result<Self> {
        let mut ports: BTreeMap<PortId, Tapped> = BTreeMap::new();
        let mut files = Vec::new();
        for plan in plans {
            let (mut interfaces, mut queues) = (Vec::new(), Vec::new());
            for (port, direction) in [(plan.port, Direction::Outbound), (plan.port ^ 1, Direction::Inbound)] {
                let number = interfaces.len() as u32;
                ports.entry(port).or_default().readers.push((files.len(), number, direction));
                interfaces.push(interface(graph, port, direction));
                queues.push(port);
            }
            files.push(CaptureFile::new(plan, interfaces, queues, &mut *open)?);
        }
        Ok(Self { ports, files, flows: Flows::default(), open, failed: None })
    }

    /// The ports that need a tap.
    pub fn ports(&self) -> impl Iterator<Item = PortId> + '_ {
        self.ports.keys().copied()
    }

    /// An endpoint is opened, in the order of their numbers.
    pub fn open(&mut self, party: &Party<'_>) {
        self.flows.add(party);
    }

    /// Reads the tap of a port: after each packet that came there.
    pub fn read(&mut self, port: PortId, tap: &mut Tap, packets: &Arena<Header>) {
        let Some(tapped) = self.ports.get_mut(&port) else { return };
        for noted in tap.read() {
            match noted {
                Noted::Came { id, flags } => {
                    tapped.waiting.insert(id, Waiting { header: *packets.header(id), flags });
                }
                Noted::Started { id, hot, at, arrival } => {
                    let Some(waiting) = tapped.waiting.remove(&id) else { continue };
                    for &(capture, interface, direction) in &tapped.readers {
                        let time = if direction == Direction::Inbound { arrival } else { at };
                        let Waiting { header, flags: came_with } = waiting;
                        let fate = Fate::Carried;
                        self.files[capture].take(Record { time, interface, direction, fate, hot, header, came_with });
                    }
                }
            }
        }
    }

    /// A packet that came to a port is not sent: the queue dropped it, or the link does `down`.
    pub fn dropped(&mut self, port: PortId, id: PacketId, packets: &Arena<Header>, now: u64, down: bool) {
        let fate = if down { Fate::Down } else { Fate::Dropped };
        self.lost(port, id, packets, now, fate);
    }

    /// A packet that came to a port goes another way.
    pub fn turned(&mut self, port: PortId, id: PacketId) {
        if let Some(tapped) = self.ports.get_mut(&port) {
            tapped.waiting.remove(&id);
        }
    }

    /// A link was cut, and these packets are lost, of which some were on the link. Its tap has been read.
    pub fn cut(&mut self, port: PortId, lost: &[PacketId], packets: &Arena<Header>, now: u64) {
        let Some(tapped) = self.ports.get_mut(&port) else { return };
        for &(capture, interface, _) in &tapped.readers {
            self.files[capture].cut(interface, now);
        }
        for &id in lost {
            self.lost(port, id, packets, now, Fate::Cut);
        }
    }

    fn lost(&mut self, port: PortId, id: PacketId, packets: &Arena<Header>, now: u64, fate: Fate) {
        let Some(tapped) = self.ports.get_mut(&port) else { return };
        let on_link = tapped.waiting.remove(&id).is_none();
        let (hot, header) = (*packets.hot(id), *packets.header(id));
        for &(capture, interface, direction) in &tapped.readers {
            // One that was on the link is known at the far end, where it does not arrive.
            if !(on_link && direction == Direction::Inbound) {
                let came_with = hot.flags;
                self.files[capture].take(Record { time: now, interface, direction, fate, hot, header, came_with });
            }
        }
    }

    /// Writes what nothing earlier can come before any more. `next_start` says of a port before when no more transmissions start.
    pub fn write(&mut self, next_start: impl Fn(PortId) -> u64) {
        for capture in &mut self.files {
            let before = capture.ports.iter().map(|&port| next_start(port)).min().unwrap_or(u64::MAX);
            if self.failed.is_none() {
                self.failed = capture.write_before(before, &self.flows, &mut *self.open).err();
            }
        }
    }

    /// Ends all captures.
    ///
    /// # Errors
    /// The first that went wrong with a file since the beginning.
    pub fn finish(mut self, names: &dyn Fn(u32) -> String, end: Time) -> io::Result<Vec<CaptureRow>> {
        self.write(|_| u64::MAX);
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.files.into_iter().map(|capture| capture.finish(names, end)).collect()
    }
}

fn interface(graph: &Graph, port: PortId, direction: Direction) -> Interface {
    let name = |node: u32| graph.nodes[node as usize].name.as_str();
    let (owner, peer) = (name(graph.port_owner(port)), name(graph.port_peer(port)));
    let description = match direction {
        Direction::Outbound => format!("what {owner} sends to {peer}, when it begins to leave"),
        Direction::Inbound => format!("what {peer} gets from {owner}, when it has arrived"),
    };
    let rate_bps = graph.links[(port / 2) as usize].rate.bps();
    Interface { name: format!("{owner}-{peer}"), description, rate_bps }
}
