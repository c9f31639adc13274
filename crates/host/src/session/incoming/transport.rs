//! The transport's receiver, which a session has from when the application accepts the object until the session is closed.

use std::sync::Arc;

use anabranch_raptorq::PlanCache;
use anabranch_transport::scdp::{Header, Mode, Options, RaptorQDecoder, Receiver, ScdpConfig};
use anabranch_transport::{Arrival, Endpoint, Peer, Stats, Time};

/// A receiver, and its final counters.
#[derive(Debug)]
pub(super) struct Transport {
    config: Arc<ScdpConfig>,
    receiver: Option<Receiver>,
    /// In a group: the first block that this receiver needs, and the last block before it that was sent to others.
    first: u32,
    others_at: u32,
    /// The final counters.
    last_stats: Stats,
}

impl Transport {
    pub(super) fn new(config: Arc<ScdpConfig>) -> Self {
        Self { config, receiver: None, first: 0, others_at: 0, last_stats: Stats::default() }
    }

    /// The largest window that a server may push, in symbols.
    pub(super) fn window(&self) -> u32 {
        self.config.initial_window_many_to_one
    }

    /// Symbols may arrive, from block `first` on; by a group, of which one sets the pace, or for this receiver alone.
    pub(super) fn start(&mut self, now: Time, options: Options, first: u32, grouped: bool) {
        let mut decoder = RaptorQDecoder::new(usize::from(options.symbol_bytes), PlanCache::global().clone());
        if options.lanes > 1 {
            decoder = decoder.keeping_evidence();
        }
        let receiver = Receiver::new(Arc::clone(&self.config), options.lanes, 0);
        let mut receiver = receiver.with_decoder(Box::new(decoder)).with_first(first).with_checks();
        if options.mode == Mode::OneToMany {
            // Copies share the sender's link: together they have as many.
            receiver = receiver.with_least_window(if grouped { u32::from(options.window) } else { 1 });
        }
        receiver.start(now);
        self.receiver = Some(receiver);
        self.first = if options.mode == Mode::OneToMany { first } else { 0 };
    }

    /// A symbol of a block has arrived. Returns whether it is progress towards the first block needed here: other receivers of the group have less,
    /// and are sent first what they lack.
    pub(super) fn is_step_of_others(&mut self, block: u32) -> bool {
        let is_step = (self.others_at + 1..self.first).contains(&block);
        if is_step {
            self.others_at = block;
        }
        is_step
    }

    /// The others of a group have part of the object: blocks from `first` on are received with them, and the earlier ones afterwards. Returns whether
    /// they are.
    pub(super) fn join_at(&mut self, first: u32) -> bool {
        self.receiver.as_mut().is_some_and(|receiver| receiver.join_at(first))
    }

    /// Nothing is received any more.
    pub(super) fn stop(&mut self) {
        self.last_stats = self.stats();
        self.receiver = None;
    }

    /// Present while the object is received.
    pub(super) fn receiver(&mut self) -> Option<&mut Receiver> {
        self.receiver.as_mut()
    }

    /// Whether a sender takes much longer to answer than another.
    pub(super) fn is_slow(&self, lane: usize) -> bool {
        self.receiver.as_ref().is_some_and(|receiver| receiver.is_slow(lane as Peer))
    }

    /// A sender has given up this receiver.
    pub(super) fn on_given_up(&mut self, now: Time, lane: usize) {
        if let Some(receiver) = &mut self.receiver {
            let (header, from) = (Header::GivenUp, lane as Peer);
            let arrival = Arrival { header, from, trimmed: false, ce: false, returned: false };
            receiver.handle_payload(now, &arrival, &[]);
        }
    }

    pub(super) fn stats(&self) -> Stats {
        self.receiver.as_ref().map_or(self.last_stats, Endpoint::stats)
    }

    pub(super) fn waiting_for(&self) -> String {
        self.receiver.as_ref().map_or_else(String::new, Endpoint::waiting_for)
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.receiver.as_ref().and_then(Endpoint::poll_timeout)
    }
}
