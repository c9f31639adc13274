//! Packets that open sessions: which are accepted, and how the others are answered.

use std::collections::VecDeque;
use std::net::SocketAddr;

use anabranch_transport::{Duration, Time};

use super::factory::Factory;
use super::opener::{Opener, Pending};
use crate::acquaintances::Acquaintances;
use crate::admission::{Admission, Known};
use crate::session::Incoming;
use crate::wire::{
    Answer, Cookie, HandshakePacket, MIN_OPEN_BYTES, Open, Reason, Refusal, Request, RetryRepr, VERSION,
};
use crate::{Manifest, Unsealer};

/// Answers to packets that open nothing, at most; further ones are dropped.
const ANSWERS: usize = 64;

/// How long a host that has shown that it is at its address is assumed to be there.
const PROVEN_FOR: Duration = Duration::from_secs(60);

/// What to do with an opening packet.
#[derive(Debug)]
pub(super) enum Opened {
    /// It opens nothing, and is answered.
    TurnedAway,
    /// The offer is refused, and the application is informed.
    Declined(Box<(Manifest, Refusal)>),
    /// A session that may receive what is offered.
    Offered(Box<Incoming>),
    /// The application must decide on a request.
    Requested(Box<Pending>),
}

/// Handles sessions that peers open.
#[derive(Debug)]
pub(super) struct Reception {
    pub(super) admission: Admission,
    /// Hosts that have shown that they are at their addresses: their offers need no padding.
    pub(super) proven: Acquaintances,
    cookie_secret: [u8; 32],
    /// Answers to packets that open nothing, to be sent.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
}

impl Reception {
    /// `cookie_secret` is the key for cookies.
    pub(super) fn new(cookie_secret: [u8; 32]) -> Self {
        Self {
            admission: Admission::default(),
            proven: Acquaintances::new(PROVEN_FOR),
            cookie_secret,
            answers: VecDeque::new(),
        }
    }

    /// An opening packet has arrived. `has_room` if another session is allowed. `None` if the packet is rejected.
    pub(super) fn receive(
        &mut self,
        now: Time,
        factory: &mut Factory,
        has_room: bool,
        (peer, session): (SocketAddr, u32),
        bytes: &mut [u8],
    ) -> Option<Opened> {
        let is_padded = bytes.len() >= MIN_OPEN_BYTES;
        let packet = HandshakePacket::new(bytes).ok()?;
        let version = packet.prefix().version;
        let opener = Opener { peer, session, version, salt: packet.salt(), index: packet.index() };
        let refused = match self.admission.known(opener.salt) {
            Some(Known::Used) => return None,
            Some(Known::Refused(refusal)) => Some(refusal.clone()),
            None => None,
        };
        let mut unsealer = Unsealer::new(factory.config().protection.opener(opener.salt));
        let message = unsealer.open(bytes).ok()?;
        if !is_padded && (matches!(message, Open::Request(_)) || !self.proven.knows(now, peer)) {
            // Any other answer might exceed the amplification limit for an address that may be forged. This one is shorter than what it answers, and
            // shows that small packets arrive.
            self.answer(factory, opener, &Answer::Refuse(Refusal::new(Reason::Unpadded, "")));
            return Some(Opened::TurnedAway);
        }
        if let Some(refusal) = refused {
            self.answer(factory, opener, &Answer::Refuse(refusal));
            return Some(Opened::TurnedAway);
        }
        if !has_room || self.admission.from(peer.ip()) >= factory.config().max_sessions_per_address {
            // The packet may be repeated when there is room.
            let refusal = Refusal::new(Reason::Busy, "too many sessions at once");
            self.answer(factory, opener, &Answer::Refuse(refusal));
            return Some(Opened::TurnedAway);
        }
        if version != VERSION {
            let why =
                format!("one host has version {version} of the wire format, the other {VERSION}: update the older one");
            let refusal = Refusal::new(Reason::Unsupported, &why);
            self.refuse(factory, opener, refusal.clone());
            return Some(match message {
                Open::Offer(offer) => Opened::Declined(Box::new((offer.manifest, refusal))),
                Open::Request(_) => Opened::TurnedAway,
            });
        }
        match message {
            Open::Offer(offer) => match factory.receive(now, opener, &offer, bytes.len(), unsealer) {
                Ok(incoming) => {
                    self.admission.remember(opener.salt);
                    return Some(Opened::Offered(Box::new(incoming)));
                }
                Err(refusal) => {
                    self.refuse(factory, opener, refusal.clone());
                    return Some(Opened::Declined(Box::new((offer.manifest, refusal))));
                }
            },
            Open::Request(request) => {
                let validated = self.is_validated(now, opener, &request);
                if validated || self.admission.half_open_requests() < factory.config().max_unvalidated {
                    self.admission.remember(opener.salt);
                    let until = now + factory.config().give_up_after;
                    let (bytes, read) = (bytes.len(), None);
                    let pending = Pending { opener, unsealer, request, bytes, validated, until, read, stalled: until };
                    return Some(Opened::Requested(Box::new(pending)));
                }
                // The same request may be repeated, with the cookie.
                self.retry(now, opener);
            }
        }
        Some(Opened::TurnedAway)
    }

    /// Refuses a packet for good: a copy of it is refused again, in case the answer was lost.
    pub(super) fn refuse(&mut self, factory: &mut Factory, opener: Opener, refusal: Refusal) {
        self.admission.refuse(opener.salt, refusal.clone());
        self.answer(factory, opener, &Answer::Refuse(refusal));
    }

    /// The next answer to a packet that opened nothing, and where it goes.
    pub(super) fn next_answer(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.answers.pop_front()
    }

    /// Whether a request carries the cookie that was sent to its address.
    fn is_validated(&self, now: Time, opener: Opener, request: &Request) -> bool {
        let Opener { peer, salt, .. } = opener;
        request.cookie.as_ref().is_some_and(|cookie| cookie.check(&self.cookie_secret, peer, salt, minute(now)))
    }

    /// Asks the peer at a request's address to repeat it with a cookie.
    pub(super) fn retry(&mut self, now: Time, opener: Opener) {
        let Opener { peer, session, salt, .. } = opener;
        let cookie = Cookie::make(&self.cookie_secret, peer, salt, minute(now));
        let mut datagram = Vec::new();
        RetryRepr { session, salt, cookie }.emit(&mut datagram);
        self.push(peer, datagram);
    }

    /// Answers a packet that opens nothing, or nothing yet.
    pub(super) fn answer(&mut self, factory: &mut Factory, opener: Opener, answer: &Answer) {
        if let Some(datagram) = factory.answer(opener, answer) {
            self.push(opener.peer, datagram);
        }
    }

    fn push(&mut self, to: SocketAddr, datagram: Vec<u8>) {
        if self.answers.len() < ANSWERS {
            self.answers.push_back((to, datagram));
        }
    }
}

/// The minute of this host's clock, which is part of cookies.
fn minute(now: Time) -> u64 {
    now.ps() / 60_000_000_000_000
}
