//! The origin of a packet that opens a session.

use std::net::SocketAddr;

use anabranch_transport::Time;

use crate::Unsealer;
use crate::config::HostConfig;
use crate::wire::{Answer, Request, Salt};

/// Where an opening packet comes from, and what its answer refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opener {
    pub(super) peer: SocketAddr,
    pub(super) session: u32,
    /// The version of the wire format that it has.
    pub(super) version: u8,
    pub(super) salt: Salt,
    /// For an offer: the index of this host among its receivers.
    pub(super) index: u16,
}

/// A request that the application has not answered yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) opener: Opener,
    pub(super) unsealer: Unsealer,
    pub(super) request: Request,
    /// Size of the datagram that carried it.
    pub(super) bytes: usize,
    /// The address is validated.
    pub(super) validated: bool,
    /// When it is refused for lack of an answer.
    pub(super) until: Time,
    /// What the application has read in order to answer, if it has asked the peer to wait.
    pub(super) read: Option<u64>,
    /// When it is refused however often the peer asks: the application reads nothing more.
    pub(super) stalled: Time,
}

impl Pending {
    /// The peer is asked to wait.
    pub(super) fn defer(&mut self, now: Time, config: &HostConfig) {
        (self.read, self.stalled) = (Some(0), now + config.stall_after);
    }

    /// The application has read more in order to answer.
    pub(super) fn on_work(&mut self, now: Time, read: u64, config: &HostConfig) {
        if self.read.is_some_and(|before| read > before) {
            (self.read, self.stalled) = (Some(read), now + config.stall_after);
        }
    }

    /// The request has arrived again, authentic. Returns the answer if the peer was asked to wait.
    pub(super) fn on_repeated(&mut self, now: Time, bytes: &mut [u8], config: &HostConfig) -> Option<Answer> {
        let read = self.read?;
        self.unsealer.open(bytes).ok()?;
        self.until = (now + config.give_up_after).min(self.stalled);
        Some(Answer::Wait { read })
    }
}
