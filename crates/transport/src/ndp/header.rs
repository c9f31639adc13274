//! What NDP's packets say.

use crate::units::{Duration, Time};
use std::num::NonZeroU16;

/// Of a packet that goes to several receivers: it answers the oldest pull of each.
pub(super) const ANY_PULL: u64 = u64::MAX;

/// Header of an NDP packet. Numbers count packets, from 0, except where they count pulls or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Payload, or what a switch left of it.
    Data {
        /// Which packet of the object: it starts `seq` full payloads after the object's first byte.
        seq: u64,
        /// The pull that it answers; 0 if nobody asked: the initial window, or a timeout; `u64::MAX`: the oldest of each
        /// receiver, where there are several.
        pull: u64,
        /// Bytes of the whole object; [`ENDLESS`](super::ENDLESS) if the sender knows no end.
        object: u64,
        /// When it left the host, by the sender's clock.
        sent: Stamp,
        /// Set until a reply of the receiver has come: in the first round trip every packet has it, because any of them may
        /// be the first to arrive (NDP §3.2). The number of packets in the unasked burst that this one belongs to.
        syn: Option<NonZeroU16>,
        /// The last packet of the object.
        last: bool,
    },
    /// Packet `seq` arrived whole.
    Ack {
        /// Which.
        seq: u64,
        /// Every packet below this one has arrived.
        below: u64,
        /// The answered packet's own.
        sent: Stamp,
    },
    /// Packet `seq` arrived without its payload.
    Nack {
        /// Which.
        seq: u64,
        /// Every packet below this one has arrived.
        below: u64,
    },
    /// Please send a packet.
    Pull {
        /// Pulls sent so far, this one included: a later pull makes up for a lost one (NDP §3.2).
        number: u64,
        /// Pulls up to this one need no answer any more: the receiver has taken them for lost and asked again.
        void: u64,
        /// Packets of the initial window are still expected: the receiver has neither got nor given up all of them.
        pushed: bool,
        /// Every packet below this one has arrived.
        below: u64,
    },
}

/// A time of the sender's clock that the receiver echoes (as in RFC 7323 §3), so that round trips of packets that were
/// sent twice can be measured too. Counts 65.5 ns; wraps after 281 s, and so measures up to 140 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub u32);

impl Stamp {
    const SHIFT: u32 = 16;

    /// The stamp of a time.
    pub const fn of(time: Time) -> Self {
        Self((time.0 >> Self::SHIFT) as u32)
    }

    /// Time passed since, up to a stamp's length too long or short. None has since a time to come: a departure that was
    /// expected later than it was.
    #[must_use]
    pub const fn elapsed(self, now: Time) -> Duration {
        let stamps = Self::of(now).0.wrapping_sub(self.0);
        if stamps > u32::MAX / 2 { Duration::ZERO } else { Duration((stamps as u64) << Self::SHIFT) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_the_simulators_packet() {
        assert_eq!(size_of::<Header>(), 32);
    }

    #[test]
    fn stamps_measure_across_their_wrap() {
        let sent = Time(u64::from(u32::MAX) << 16);
        assert_eq!(Stamp::of(sent).elapsed(sent + Duration::from_us(655_360)), Duration::from_us(655_360));
        assert_eq!(Stamp::of(sent + Duration::from_ms(1)).elapsed(sent), Duration::ZERO);
    }
}
