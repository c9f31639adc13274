//! Objects that become available gradually. The application's next chunk shares the wake-up of its sender: at most one event of
//! both is pending.

use super::Hosts;
use crate::host::EndpointId;
use crate::host::application::Application;
use crate::network::engine::Engine;
use anabranch_transport::{Bytes, Time};

impl Hosts {
    /// Gives the sender of a unicast session an application that provides its object gradually.
    pub(in crate::network) fn set_application(&mut self, sender: EndpointId, application: Application, now: Time) {
        if let Some(hosted) = &mut self.endpoints[sender as usize] {
            hosted.set_available(now, 0);
            hosted.place_mut().application = Some(Box::new(application));
        }
    }

    /// What the application of a sender has provided by now, if it is more than before.
    pub(super) fn take_written(&mut self, sender: EndpointId, now: Time) -> Option<u64> {
        self.endpoints[sender as usize].as_mut()?.place_mut().application.as_mut()?.take(now)
    }

    /// Bytes of a session of this size that its application has handed over and that have not been delivered.
    pub(in crate::network) fn waiting(
        &self,
        sender: EndpointId,
        session: u32,
        size: Option<Bytes>,
        delivered: u64,
    ) -> u64 {
        let Some(Bytes(size)) = size else { return u64::MAX };
        let hosted = self.endpoints.get(sender as usize).and_then(Option::as_ref);
        let written = hosted.and_then(|hosted| hosted.place().application.as_ref()).map(|own| own.written());
        // Of a session that carries block after block, the one that has not arrived.
        let block = self.barriers.fragment(session).map(|bytes| (delivered / bytes.max(1) + 1) * bytes);
        written.or(block).unwrap_or(size).min(size).saturating_sub(delivered)
    }

    /// Schedules a sender's wake-up for its application's next chunk, if it has one.
    pub(in crate::network) fn await_chunk(&self, engine: &mut Engine, sender: EndpointId) {
        let application =
            self.endpoints[sender as usize].as_ref().and_then(|hosted| hosted.place().application.as_ref());
        let Some(next) = application.and_then(|application| application.due()) else { return };
        engine.wake(engine.entities.timer(sender), next);
    }
}
