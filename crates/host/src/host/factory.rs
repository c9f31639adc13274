//! Creates sessions with the settings of the host, and with salts and keys of their own.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_transport::scdp::{Layout, Mode, ScdpConfig, Sender, hosts};
use anabranch_transport::{Duration, Time};

use super::opener::{Opener, Pending};
use crate::acquaintances::Acquaintances;
use crate::config::{HostConfig, symbol_bytes};
use crate::event::HostEvent;
use crate::random::Random;
use crate::session::{Beginning, Bounds, Failure, Incoming, Lane, Origin, Outgoing, Pace, PathSizes, Remote, Terms};
use crate::wire::{Answer, Object as Wanted, Offer, Reason, Refusal, Salt};
use crate::{Manifest, Object, Sealer, Unsealer, trust};

/// Creates sessions.
#[derive(Debug)]
pub(super) struct Factory {
    config: HostConfig,
    random: Random,
    /// The rate of all objects together that this host offers.
    pace: Option<Pace>,
    /// Hosts that know that this host is at its address: offers to them need no padding.
    pub(super) known_to: Acquaintances,
    /// Paths to other hosts, and from them, that carry smaller packets than this host's.
    paths_to: PathSizes,
    paths_from: PathSizes,
}

/// How long those hosts are assumed to remember it: less than they do.
const KNOWN_FOR: Duration = Duration::from_secs(30);

impl Factory {
    pub(super) fn new(config: HostConfig, random: Random) -> Self {
        let pace = config.rate.map(Pace::new);
        let (paths_to, paths_from) = (PathSizes::default(), PathSizes::default());
        Self { config, random, pace, known_to: Acquaintances::new(KNOWN_FOR), paths_to, paths_from }
    }

    pub(super) fn config(&self) -> &HostConfig {
        &self.config
    }

    /// Remembers what a session has found out about paths.
    pub(super) fn learn(&mut self, now: Time, event: &HostEvent) {
        if let Some(found) = event.narrow() {
            let paths = if found.outward { &mut self.paths_to } else { &mut self.paths_from };
            paths.learn(now, &found);
        }
    }

    /// A salt for a packet of this host.
    pub(super) fn salt(&mut self) -> Salt {
        Salt(self.random.array())
    }

    /// An unused number for a session: one that `is_free`.
    pub(super) fn session_number(&mut self, is_free: impl Fn(u32) -> bool) -> u32 {
        loop {
            let session = u32::from_be_bytes(self.random.array());
            if is_free(session) {
                return session;
            }
        }
    }

    /// A session that offers an object to receivers, by multicast or as a copy to each.
    ///
    /// # Errors
    ///
    /// [`Failure::Unacceptable`]: an object too large to be numbered, or receivers too few, too many or named twice.
    pub(super) fn offer(
        &mut self,
        now: Time,
        object: Box<dyn Object>,
        manifest: Manifest,
        receivers: &[SocketAddr],
        group: Option<SocketAddr>,
        is_free: impl Fn(u32) -> bool,
    ) -> Result<Outgoing, Failure> {
        let count = u16::try_from(receivers.len()).ok().filter(|&count| (1..=1000).contains(&count));
        let count = count.ok_or_else(|| Failure::Unacceptable("an object has 1 to 1000 receivers".to_owned()))?;
        if receivers.iter().collect::<HashSet<_>>().len() < receivers.len() {
            return Err(Failure::Unacceptable("a receiver is named twice".to_owned()));
        }
        let to_many = count > 1 || group.is_some();
        let largest = self.paths_to.largest(now, receivers, self.config.largest_packet);
        let config = self.transport(symbol_bytes(largest), self.config.initial_window, manifest.size);
        let bytes = check_size(manifest.size, &config)?;
        let sender = if to_many {
            Sender::one_to_many(Arc::clone(&config), Some(bytes), count).with_repairs_for_any().with_offers()
        } else {
            Sender::unicast(Arc::clone(&config), Some(bytes))
        };
        let salt = self.salt();
        let beginning = Beginning {
            session: self.session_number(is_free),
            origin: Origin::Offered { salt, group },
            manifest,
            object,
            sender,
            lane: 0,
            sealer: Sealer::new(self.config.protection.opener(salt)),
            pace: self.pace.clone(),
            remotes: receivers.iter().map(|&peer| Remote::offered(now, peer, self.known_to.knows(now, peer))).collect(),
        };
        Ok(Outgoing::new(now, beginning, &self.config))
    }

    /// A session that sends what was requested.
    ///
    /// # Errors
    ///
    /// [`Failure::Unacceptable`]: an object too large to be numbered.
    pub(super) fn serve(
        &mut self,
        now: Time,
        pending: Pending,
        object: Box<dyn Object>,
        manifest: Manifest,
    ) -> Result<Outgoing, Failure> {
        let Pending { opener, unsealer, request, bytes, validated, .. } = pending;
        // Packets that fit the path at both ends.
        let largest = self.config.largest_packet.min(request.largest_packet);
        let symbol_bytes = symbol_bytes(largest);
        let window = u32::from(request.window).min(self.config.initial_window);
        let config = self.transport(symbol_bytes, window.min(hosts::PUSHED_BY_SERVERS), manifest.size);
        let size = check_size(manifest.size, &config)?;
        let sender = Sender::many_to_one(Arc::clone(&config), Some(size), request.lane, request.lanes);
        let salt = self.salt();
        let protection = &self.config.protection;
        let confirmed = Unsealer::new(protection.confirmed(opener.salt, salt, 0));
        let beginning = Beginning {
            session: opener.session,
            origin: Origin::requested(bytes, validated),
            manifest,
            object,
            sender,
            lane: request.lane as u8,
            sealer: Sealer::new(protection.responder(opener.salt, salt, 0)),
            pace: self.config.rate.map(Pace::new),
            remotes: vec![Remote::asking(opener.peer, unsealer, confirmed)],
        };
        Ok(Outgoing::new(now, beginning, &self.config))
    }

    /// One of several servers that are asked for an object.
    pub(super) fn lane(&self, server: SocketAddr, session: u32, salt: Salt) -> Lane {
        Lane::asked(server, session, salt, Sealer::new(self.config.protection.opener(salt)))
    }

    /// A session that asks servers for an object.
    pub(super) fn fetch(&self, now: Time, lanes: Vec<Lane>, object: Wanted) -> Incoming {
        let config = self.transport(self.config.symbol_bytes(), self.config.initial_window, 0);
        // All servers are asked for packets of one size: they must cut the object alike.
        let servers: Vec<SocketAddr> = lanes.iter().map(Lane::peer).collect();
        let largest_packet = self.paths_from.largest(now, &servers, self.config.largest_packet);
        Incoming::asking(now, lanes, object, &Terms { largest_packet, ..self.terms() }, config)
    }

    /// A session that receives what is offered.
    ///
    /// # Errors
    ///
    /// The refusal, if this host cannot accept the object.
    pub(super) fn receive(
        &mut self,
        now: Time,
        opener: Opener,
        offer: &Offer,
        bytes: usize,
        unsealer: Unsealer,
    ) -> Result<Incoming, Refusal> {
        let options = self.config.limits().check(&offer.manifest, &offer.parameters)?;
        trust::check(&offer.manifest, &self.config.signers)?;
        if options.lanes != 1 {
            return Err(Refusal::new(Reason::Unsupported, "parameters that this host cannot use"));
        }
        let Opener { peer, session, salt: theirs, index, .. } = opener;
        let salt = self.salt();
        let protection = &self.config.protection;
        let sealer = Sealer::new(protection.responder(theirs, salt, index));
        let confirmed = Unsealer::new(protection.confirmed(theirs, salt, index));
        let lane = Lane::offering(peer, session, salt, sealer, unsealer, confirmed);
        let (window, k) = (u32::from(options.window), u32::from(options.block_symbols));
        let mut config = self.config.transport(options.symbol_bytes, window, k);
        if offer.group.is_none() {
            // Hosts handle the copies of all receivers in one batch.
            config.host_batch = (config.host_batch / u32::from(offer.receivers).max(1)).max(1);
        }
        let config = Arc::new(config);
        let grouped = offer.group.is_some() && options.mode == Mode::OneToMany;
        Ok(Incoming::offered(now, bytes, lane, offer.manifest.clone(), options, grouped, &self.terms(), config))
    }

    /// A sealed answer to a packet that opens nothing: `None` if it is too long.
    pub(super) fn answer(&mut self, opener: Opener, answer: &Answer) -> Option<Vec<u8>> {
        let salt = self.salt();
        let mut datagram = Vec::new();
        let responder = self.config.protection.responder(opener.salt, salt, opener.index);
        let mut sealer = Sealer::new(responder).with_version(opener.version);
        sealer.answer(opener.session, answer, &mut datagram).ok().map(|()| datagram)
    }

    /// The transport's settings for an object of that size.
    fn transport(&self, symbol_bytes: u16, window: u32, object_bytes: u64) -> Arc<ScdpConfig> {
        let k = self.config.limits().block_symbols(self.config.block_symbols, object_bytes, symbol_bytes);
        Arc::new(self.config.transport(symbol_bytes, window, k))
    }

    /// Limits and requirements for sessions that receive.
    fn terms(&self) -> Terms {
        Terms {
            largest_packet: self.config.largest_packet,
            limits: self.config.limits(),
            signers: self.config.signers.clone(),
            bounds: Bounds::of(&self.config),
        }
    }
}

/// How many bytes of an object to send: an empty one is sent as one byte that is ignored.
fn check_size(size: u64, config: &ScdpConfig) -> Result<u64, Failure> {
    // The transport would make its blocks larger, and with them the memory that they take.
    if Layout::new(size, config.symbol_bytes(), config.block_symbols).is_none_or(|layout| layout.endless()) {
        return Err(Failure::Unacceptable(format!("an object of {size} bytes is too large")));
    }
    Ok(size.max(1))
}
