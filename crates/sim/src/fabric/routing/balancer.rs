//! Switches that balance load themselves: by what they see of their ports at the instant at which they forward a packet, and by what
//! they remember.
//!
//! Other schemes choose by routes and path bits alone, so that it does not matter which of a switch's packets is routed first. Here it does: a switch
//! takes its packets in the order in which they arrive, event by event as in windows. All that it knows lies in its [`Balancer`], and a
//! switch is in one part of a run, so that runs in parts are the same, too.

use super::Hop;
use crate::fabric::graph::PortId;
use anabranch_transport::Rate;
use std::fmt::Debug;

/// The ports of a fabric as they are now.
pub trait Ports {
    /// Bytes that a port has yet to send: those that wait, and what is left of the packet that it is sending.
    fn backlog(&mut self, port: PortId) -> u64;
    /// Those of them that a packet of a priority would wait for, were it the next to come: of its own and of more urgent ones, and what is left
    /// of the packet that is being sent. `None`: a control packet. Of a port that knows no priorities, all.
    fn drain(&mut self, port: PortId, priority: Option<u8>) -> u64;
    /// The rate at which it sends.
    fn rate(&self, port: PortId) -> Rate;
}

/// A unicast packet at a switch, now.
#[derive(Debug)]
pub struct Arrived<'a> {
    /// In picoseconds.
    pub now: u64,
    /// Bytes on the wire.
    pub size: u16,
    /// Its priority, 0 the most urgent; `None` of a control packet, which goes before all others.
    pub priority: Option<u8>,
    /// Path bits, which the switch may change.
    pub bits: &'a mut u32,
}

/// How one switch balances load, with all that it remembers.
pub trait Balancer: Debug + Send {
    /// The port by which a packet goes on; `None` if there is no way.
    fn egress(&mut self, hop: &Hop<'_>, packet: Arrived<'_>, ports: &mut dyn Ports) -> Option<PortId>;

    /// Routes are others from now on.
    fn rerouted(&mut self) {}
}
