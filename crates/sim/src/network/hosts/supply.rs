//! Objects that become available little by little. The application's next chunk shares the wake-up of the sender that it
//! is for: at most one event of both is pending.

use super::Hosts;
use crate::host::EndpointId;
use crate::host::supply::Supplied;
use crate::network::engine::Engine;
use anabranch_transport::Time;

impl Hosts {
    /// Gives the sender of a unicast session an application that provides its object little by little.
    pub(in crate::network) fn set_supply(&mut self, sender: EndpointId, supplied: Supplied, now: Time) {
        if let Some(hosted) = &mut self.endpoints[sender as usize] {
            hosted.stack.set_available(now, 0);
            hosted.supply = Some(Box::new(supplied));
        }
    }

    /// What the application of a sender has provided by now, if it is more than before.
    pub(super) fn take_supply(&mut self, sender: EndpointId, now: Time) -> Option<u64> {
        self.endpoints[sender as usize].as_mut()?.supply.as_mut()?.take(now)
    }

    /// Sees to it that a sender wakes up for its application's next chunk, if it has one.
    pub(in crate::network) fn await_supply(&self, engine: &mut Engine, sender: EndpointId) {
        let supply = self.endpoints[sender as usize].as_ref().and_then(|hosted| hosted.supply.as_ref());
        let Some(next) = supply.and_then(|supply| supply.due()) else { return };
        engine.wake(engine.entities.timer(sender), next);
    }
}
