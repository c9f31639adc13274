//! Several first-in first-out bands with a shared count: the store of every discipline.

use crate::engine::arena::{Fifo, Hot, Movers, NO_PACKET, PacketId};

/// Up to 32 bands, 0 the most urgent.
#[derive(Clone, Debug)]
pub(super) struct Bands<const N: usize> {
    fifos: [Fifo; N],
    /// Bit `b` is set when band `b` is not empty.
    occupied: u32,
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

impl<const N: usize> Bands<N> {
    pub(super) const EMPTY: Self = Self { fifos: [Fifo::EMPTY; N], occupied: 0, packets: 0, bytes: 0 };

    pub(super) fn move_packets(&mut self, movers: &mut dyn Movers) {
        self.fifos.iter_mut().for_each(|fifo| movers.fifo(fifo));
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// The most urgent band that is not empty; 32 if all are.
    pub(super) fn most_urgent(&self) -> u8 {
        self.occupied.trailing_zeros() as u8
    }

    /// What [`pop`](Self::pop) would take.
    #[inline]
    pub(super) fn head(&self) -> PacketId {
        if self.occupied == 0 { NO_PACKET } else { self.fifos[self.occupied.trailing_zeros() as usize].head() }
    }

    #[inline]
    pub(super) fn push(&mut self, hots: &mut [Hot], band: usize, id: PacketId) {
        self.packets += 1;
        self.bytes += u64::from(hots[id as usize].size);
        self.occupied |= 1 << band;
        self.fifos[band].push(hots, id);
    }

    /// The oldest packet of the most urgent band.
    #[inline]
    pub(super) fn pop(&mut self, hots: &[Hot]) -> PacketId {
        if self.occupied == 0 {
            return NO_PACKET;
        }
        let band = self.occupied.trailing_zeros() as usize;
        let id = self.fifos[band].pop(hots);
        self.removed(hots, band, id);
        id
    }

    /// The newest packet of the least urgent band, if that band is less urgent than `than`.
    pub(super) fn pop_least_urgent(&mut self, hots: &mut [Hot], than: usize) -> PacketId {
        if self.occupied == 0 {
            return NO_PACKET;
        }
        let band = 31 - self.occupied.leading_zeros() as usize;
        if band <= than {
            return NO_PACKET;
        }
        let id = self.fifos[band].pop_newest(hots);
        self.removed(hots, band, id);
        id
    }

    /// The newest packet of a band that is not empty.
    pub(super) fn pop_newest(&mut self, hots: &mut [Hot], band: usize) -> PacketId {
        let id = self.fifos[band].pop_newest(hots);
        self.removed(hots, band, id);
        id
    }

    #[inline]
    fn removed(&mut self, hots: &[Hot], band: usize, id: PacketId) {
        self.packets -= 1;
        self.bytes -= u64::from(hots[id as usize].size);
        self.occupied &= !(u32::from(self.fifos[band].is_empty()) << band);
    }
}
