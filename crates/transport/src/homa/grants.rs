//! What a receiver grants of a message: `RTTbytes` more than has arrived, while it stands among the first (Homa §3.3, §3.5).

use super::HomaConfig;
use super::priorities::Priorities;
use crate::standings::Standing;

/// The grants of one message.
#[derive(Clone, Debug)]
pub(super) struct Grants {
    /// The first packet that its sender may not send.
    granted: u64,
    /// Packets that are granted and have not arrived, if it stands among the first.
    window: u64,
    priorities: Priorities,
    standing: Option<Standing>,
}

impl Grants {
    pub(super) fn new(config: &HomaConfig) -> Self {
        Self { granted: config.unscheduled(), window: config.window(), priorities: config.priorities(), standing: None }
    }

    /// The message has so many packets.
    pub(super) fn open(&mut self, packets: u64) {
        self.granted = self.granted.min(packets);
    }

    /// The first packet that is not granted.
    pub(super) fn granted(&self) -> u64 {
        self.granted
    }

    /// Its place at its host has changed.
    pub(super) fn set_standing(&mut self, standing: Option<Standing>) {
        self.standing = standing;
    }

    /// The next grant of a message of which `arrived` of `packets` packets are there, if there is more to grant: the first packet that its sender may
    /// still not send, and the priority of those before it that are granted now.
    pub(super) fn next(&mut self, arrived: u64, packets: u64) -> Option<(u64, u8)> {
        let standing = self.standing?;
        let below = arrived.saturating_add(self.window).min(packets);
        if below <= self.granted {
            return None;
        }
        self.granted = below;
        Some((below, self.priorities.scheduled(standing)))
    }
}
