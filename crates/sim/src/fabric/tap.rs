//! What a port tells of its packets where somebody captures them. Only such ports have a tap.
//!
//! A port starts transmissions late: when it is next touched. So a tap writes down what happened and when, and whoever captures
//! reads that after each packet that came to the port, while the packets that it tells of still have the headers that they had.

use crate::engine::arena::{Hot, PacketId};

/// What happened to a packet at a port.
#[derive(Clone, Copy, Debug)]
pub enum Noted {
    /// It came to the port, as it was then.
    Came {
        /// Which.
        id: PacketId,
        /// Its flags, before the port's queue has seen it.
        flags: u8,
    },
    /// Its transmission started.
    Started {
        /// Which.
        id: PacketId,
        /// What switches see of it.
        hot: Hot,
        /// When, in picoseconds.
        at: u64,
        /// When its last bit reaches the far end.
        arrival: u64,
    },
}

/// What happened at a port since it was last read, in order.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    noted: Vec<Noted>,
}

impl Tap {
    pub(super) fn note(&mut self, noted: Noted) {
        self.noted.push(noted);
    }

    /// Takes what happened since the last time.
    pub fn read(&mut self) -> impl Iterator<Item = Noted> + '_ {
        self.noted.drain(..)
    }
}
