//! The application of a sender, where it provides an object little by little.

use super::protocol::Transport;
use crate::random::Stream;
use crate::workload::supply::{Supply, Writing};
use anabranch_transport::{Bytes, Time};

/// An application that is writing an object.
pub struct Application {
    writing: Writing,
    start: Time,
    /// Bytes of the object.
    object: u64,
    /// A full packet on the wire, and what it carries.
    packet: u64,
    payload: u64,
    /// The next chunk: when, and the bytes of the object up to its end.
    next: Option<(Time, u64)>,
    /// Bytes of the object that have been taken.
    written: u64,
}

impl Application {
    /// Writes an object from `start` on for a sender of `transport`.
    pub fn new(supply: Supply, object: Option<Bytes>, transport: &Transport, start: Time, random: Stream) -> Self {
        let packet = transport.packet_bytes();
        let mut application = Self {
            writing: Writing::new(supply, random),
            start,
            object: object.map_or(u64::MAX, |size| size.0),
            packet,
            payload: transport.object(packet),
            next: None,
            written: 0,
        };
        application.advance();
        application
    }

    fn advance(&mut self) {
        self.next = self.writing.next_chunk().map(|(after, wire)| {
            let bytes = (u128::from(wire) * u128::from(self.payload) / u128::from(self.packet)) as u64;
            (self.start + after, bytes)
        });
        // The headers of a shorter last packet are no share of it.
        if self.writing.is_done() {
            self.next = self.next.map(|(when, _)| (when, self.object));
        }
    }

    /// When it writes next.
    pub fn due(&self) -> Option<Time> {
        self.next.map(|next| next.0)
    }

    /// The bytes of the object that have been taken so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The bytes of the object that are there by `now`, if they are more than when this was asked before.
    pub fn take(&mut self, now: Time) -> Option<u64> {
        let mut there = None;
        while let Some((_, bytes)) = self.next.filter(|next| next.0 <= now) {
            (there, self.written) = (Some(bytes), bytes);
            self.advance();
        }
        there
    }
}
