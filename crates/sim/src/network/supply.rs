//! Sessions whose objects become available little by little. The application's next chunk shares the wake-up of the sender
//! that it is for: at most one event of both is pending.

use super::Network;
use crate::host::EndpointId;
use crate::host::supply::Supplied;
use crate::random;
use crate::transport::Transport;
use crate::workload::Supply;
use anabranch_transport::{Bytes, Time};

impl Network {
    /// Gives the sender of a unicast session an application that provides its object little by little.
    pub(super) fn supply(&mut self, sender: EndpointId, supply: Supply, object: Option<Bytes>, transport: &Transport) {
        let (now, random) = (Time(self.engine.now), random::stream(supply.seed, "volumes"));
        if let Some(hosted) = &mut self.endpoints[sender as usize] {
            hosted.stack.set_available(now, 0);
            hosted.supply = Some(Box::new(Supplied::new(supply, object, transport, now, random)));
        }
    }

    /// What the application of a sender has provided by now, if it is more than before.
    pub(super) fn take_supply(&mut self, sender: EndpointId) -> Option<u64> {
        let now = Time(self.engine.now);
        self.endpoints[sender as usize].as_mut()?.supply.as_mut()?.take(now)
    }

    /// Sees to it that a sender wakes up for its application's next chunk, if it has one.
    pub(super) fn await_supply(&mut self, sender: EndpointId) {
        let supply = self.endpoints[sender as usize].as_ref().and_then(|hosted| hosted.supply.as_ref());
        let Some(next) = supply.and_then(|supply| supply.due()) else { return };
        self.engine.wake(self.engine.entities.timer(sender), next);
    }
}
