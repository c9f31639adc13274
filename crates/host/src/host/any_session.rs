//! One session of any kind: its datagrams, timers and events.

use std::net::SocketAddr;

use anabranch_transport::{Stats, Time};

use super::opener::Pending;
use crate::event::HostEvent;
use crate::marking::Class;
use crate::session::{Ending, Incoming, News, Outgoing};
use crate::wire::{HandshakePacket, Kind, RetryPacket, RetryRepr};
use crate::{Protection, Received, Sealer, Unsealer};

/// A session of one of the three kinds.
#[derive(Debug)]
pub(super) enum AnySession {
    Pending(Box<Pending>),
    Outgoing(Box<Outgoing>),
    Incoming(Box<Incoming>),
}

impl AnySession {
    /// Handles a datagram from the remote end with this index. `None` if it is not accepted.
    pub(super) fn handle_datagram(
        &mut self,
        now: Time,
        index: usize,
        kind: Kind,
        arrival: Received,
        protection: &Protection,
        bytes: &mut [u8],
    ) -> Option<()> {
        match (self, kind) {
            (Self::Incoming(incoming), Kind::Symbol) => {
                let (symbol, payload) = incoming.lane(index).unsealer()?.symbol(bytes).ok()?;
                incoming.on_symbol(now, index, &symbol, payload, arrival);
            }
            (Self::Incoming(incoming), Kind::Control) => {
                let control = incoming.lane(index).open_control(bytes)?;
                incoming.on_control(now, index, control);
            }
            (Self::Incoming(incoming), Kind::Hashes) => {
                let hashes = incoming.lane(index).open_hashes(bytes)?;
                incoming.on_hashes(now, index, hashes);
            }
            (Self::Incoming(incoming), Kind::Open) => {
                incoming.lane(index).unsealer()?.open(bytes).ok()?;
                incoming.on_repeated_offer(now);
            }
            (Self::Incoming(incoming), Kind::Answer) => {
                let packet = HandshakePacket::new(bytes).ok().filter(|packet| packet.index() == 0)?;
                let (opener, salt) = (incoming.lane(index).opened_with()?, packet.salt());
                let mut unsealer = Unsealer::new(protection.responder(opener, salt, 0));
                let answer = unsealer.answer(bytes).ok()?;
                let sealer = Sealer::new(protection.confirmed(opener, salt, 0));
                incoming.on_answer(now, index, answer, unsealer, sealer);
            }
            (Self::Incoming(incoming), Kind::Retry) => {
                let retry = RetryRepr::parse(&RetryPacket::new(bytes).ok()?);
                incoming.lane(index).on_retry(now, retry.salt, retry.cookie);
            }
            (Self::Outgoing(outgoing), Kind::Pull) => {
                let pulls = outgoing.remote(index).unsealer()?.pull(bytes).ok()?;
                outgoing.on_pulls(now, index, pulls.pulls());
            }
            (Self::Outgoing(outgoing), Kind::Control) => {
                let control = outgoing.remote(index).unsealer()?.control(bytes).ok()?;
                outgoing.on_control(now, index, control);
            }
            (Self::Outgoing(outgoing), Kind::Answer) => {
                let packet = HandshakePacket::new(bytes).ok()?;
                if outgoing.is_kept_waiting_by(index) {
                    let answer = outgoing.remote(index).unsealer()?.answer(bytes).ok()?;
                    outgoing.on_later_answer(now, index, answer);
                    return Some(());
                }
                let own = usize::from(packet.index()) == index && outgoing.remote(index).unsealer().is_none();
                let (opener, salt, place) = (outgoing.opened_with()?, packet.salt(), packet.index());
                let mut unsealer = own.then(|| Unsealer::new(protection.responder(opener, salt, place)))?;
                let answer = unsealer.answer(bytes).ok()?;
                let sealer = Sealer::new(protection.confirmed(opener, salt, place));
                outgoing.on_answer(now, index, answer, unsealer, sealer);
            }
            (Self::Outgoing(outgoing), Kind::Open) => {
                outgoing.remote(index).opening()?.open(bytes).ok()?;
                outgoing.on_repeated_request(bytes.len());
            }
            _ => return None,
        }
        Some(())
    }

    /// Appends the next datagram to `out`, and its destination addresses to `to`. Returns its class; `None` if there is no datagram now.
    pub(super) fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>, to: &mut Vec<SocketAddr>) -> Option<Class> {
        match self {
            Self::Outgoing(outgoing) => {
                let sent = outgoing.poll_transmit(now, out, to);
                sent.unwrap_or_else(|failure| {
                    outgoing.cancel(&failure);
                    outgoing.poll_transmit(now, out, to).unwrap_or(None)
                })
            }
            Self::Incoming(incoming) => {
                // The session has used up its datagram numbers, after millions of gigabytes.
                let peer = incoming.poll_transmit(now, out).unwrap_or_else(|_| {
                    incoming.close(now, Ending::Cancelled);
                    None
                });
                to.extend(peer);
                peer.map(|_| Class::Control)
            }
            Self::Pending(_) => None,
        }
    }

    /// When something is due.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Pending(pending) => Some(pending.until),
            Self::Outgoing(outgoing) => outgoing.poll_timeout(),
            Self::Incoming(incoming) => incoming.poll_timeout(),
        }
    }

    /// Reports the events since the last call.
    pub(super) fn take_events(&mut self, mut tell: impl FnMut(HostEvent)) {
        match self {
            Self::Pending(_) => {}
            Self::Outgoing(outgoing) => {
                if let Some(bytes) = outgoing.take_full() {
                    tell(HostEvent::Full { bytes });
                }
                for (index, delivery) in outgoing.take_deliveries() {
                    let peer = outgoing.peer(index);
                    tell(HostEvent::Delivery { index, peer, delivery });
                }
                for (index, outcome) in outgoing.take_outcomes() {
                    let peer = outgoing.peer(index);
                    tell(HostEvent::Receiver { index, peer, outcome });
                }
            }
            Self::Incoming(incoming) => {
                for news in incoming.take_news() {
                    tell(match news {
                        News::Found => match (incoming.manifest(), incoming.peers().next()) {
                            (Some(manifest), Some((peer, _))) => {
                                HostEvent::Offered { peer, manifest: manifest.clone() }
                            }
                            _ => continue,
                        },
                        News::Confirmed => match incoming.peers().next() {
                            Some((peer, _)) => HostEvent::Confirmed { peer },
                            None => continue,
                        },
                        News::Block { offset, bytes } => HostEvent::Block { offset, bytes },
                        News::Complete => HostEvent::Complete,
                        News::Detached => HostEvent::Detached,
                        News::Excluded { peer, why } => HostEvent::Excluded { peer, why },
                        News::Withheld { peer } => HostEvent::Withheld { peer },
                        News::Narrow(narrow) => HostEvent::Narrow(narrow),
                        News::Failed(failure) => HostEvent::Failed(failure),
                    });
                }
            }
        }
    }

    /// Whether the remote end has shown that it is there now, at its address.
    pub(super) fn is_proven(&self) -> bool {
        match self {
            Self::Pending(_) => false,
            Self::Outgoing(outgoing) => !outgoing.is_unvalidated(),
            Self::Incoming(incoming) => incoming.is_proven(),
        }
    }

    /// The sender that offered the object, if one did.
    pub(super) fn offered_by(&self) -> Option<SocketAddr> {
        match self {
            Self::Incoming(incoming) => incoming.offered_by(),
            Self::Pending(_) | Self::Outgoing(_) => None,
        }
    }

    /// Whether the session is over except for a close that may have to be repeated.
    pub(super) fn is_ending(&self) -> bool {
        matches!(self, Self::Incoming(incoming) if incoming.is_closed())
    }

    /// Whether nothing more will happen.
    pub(super) fn is_over(&self, now: Time) -> bool {
        match self {
            Self::Pending(_) => false,
            Self::Outgoing(outgoing) => outgoing.is_over(),
            Self::Incoming(incoming) => incoming.is_over(now),
        }
    }

    /// The addresses of its remote ends, and the numbers by which they know it.
    pub(super) fn ends(&self) -> Vec<(SocketAddr, u32)> {
        match self {
            Self::Pending(pending) => vec![(pending.opener.peer, pending.opener.session)],
            Self::Outgoing(outgoing) => outgoing.peers().map(|peer| (peer, outgoing.session())).collect(),
            Self::Incoming(incoming) => incoming.peers().collect(),
        }
    }

    /// Its counters.
    pub(super) fn stats(&self) -> Stats {
        match self {
            Self::Pending(_) => Stats::default(),
            Self::Outgoing(outgoing) => outgoing.stats(),
            Self::Incoming(incoming) => incoming.stats(),
        }
    }

    /// Bytes of all datagrams, once for each address.
    pub(super) fn sent_bytes(&self) -> u64 {
        match self {
            Self::Pending(_) => 0,
            Self::Outgoing(outgoing) => outgoing.sent_bytes(),
            Self::Incoming(incoming) => incoming.sent_bytes(),
        }
    }

    /// Description of what it waits for, for people.
    pub(super) fn waiting_for(&self) -> String {
        match self {
            Self::Pending(pending) => format!("{} asks for an object, and is not answered", pending.opener.peer),
            Self::Outgoing(outgoing) => outgoing.waiting_for(),
            Self::Incoming(incoming) => incoming.waiting_for(),
        }
    }
}
