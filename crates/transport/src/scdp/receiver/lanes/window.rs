//! How many symbols of a lane may be in flight.
//!
//! By default as many as the sender pushed at first, forever: SCDP is made for switches that trim. Where switches drop, a receiver
//! may find the window from what it observes ([`bbr`]). The window is told what is requested, what arrives and what counts as lost,
//! and returns its current size. When it shrinks, fewer symbols are requested than arrive until it holds.

use super::arrived::Seen;
use crate::scdp::config::{ScdpConfig, WindowControl};
use crate::{Duration, Time};
use bbr::Bbr;

mod bbr;

/// The window of a lane.
#[derive(Clone, Debug, Default)]
pub(in crate::scdp::receiver) struct Window {
    symbols: u32,
    bbr: Option<Box<Bbr>>,
}

impl Window {
    /// `initial`: symbols that the sender pushes unasked. `least`: symbols that may be in flight whatever is lost. `seed`: for random draws.
    ///
    /// With several senders, the window of each also limits how far the others may get ahead of it, so batches are ignored: they would make the
    /// others wait for a slow sender.
    pub(super) fn new(initial: u32, least: u32, config: &ScdpConfig, lanes: u32, seed: u64) -> Self {
        let batch = if lanes == 1 { config.host_batch } else { 1 };
        let bbr = match config.window_control {
            WindowControl::Fixed => None,
            WindowControl::Bbr => {
                let least = least.min(config.window_limit);
                Some(Box::new(Bbr::new(initial, config.window_limit, batch, seed).with_least(least)))
            }
        };
        Self { symbols: initial, bbr }
    }

    /// Symbols that may be in flight.
    #[inline]
    pub(in crate::scdp::receiver) fn symbols(&self) -> u32 {
        self.symbols
    }

    /// The least round trip, if windows follow it and it is known.
    #[inline]
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.bbr.as_ref().and_then(|bbr| bbr.round_trip())
    }

    /// Whether it never changes.
    #[inline]
    pub(in crate::scdp::receiver) fn is_fixed(&self) -> bool {
        self.bbr.is_none()
    }

    #[inline]
    fn tell(&mut self, what: impl FnOnce(&mut Bbr)) {
        if let Some(bbr) = &mut self.bbr {
            what(bbr);
            self.symbols = bbr.window();
        }
    }

    /// The `index`-th symbol of the lane in a block is requested, with `on_their_way` symbols in flight. `is_round_trip`: it was not sent before.
    #[inline]
    pub(super) fn on_pull(&mut self, now: Time, block: u32, index: u32, is_round_trip: bool, on_their_way: u32) {
        self.tell(|bbr| bbr.on_pull(now, block, index, is_round_trip, on_their_way));
    }

    /// The `index`-th symbol of the lane in a block has arrived, with `on_their_way` symbols in flight.
    #[inline]
    pub(super) fn on_symbol(&mut self, now: Time, block: u32, index: u32, seen: Seen, on_their_way: u32) {
        self.tell(|bbr| bbr.on_symbol(now, block, index, seen, on_their_way));
    }

    /// `count` symbols are counted as lost.
    #[inline]
    pub(super) fn on_lost(&mut self, count: u32) {
        self.tell(|bbr| bbr.on_lost(count));
    }

    /// The window allows more requests than there are symbols to request.
    #[inline]
    pub(super) fn on_limited(&mut self) {
        self.tell(Bbr::on_limited);
    }

    /// Nothing arrived for too long, for the `timeouts`-th time in a row.
    pub(super) fn on_timeout(&mut self, timeouts: u32) {
        self.tell(|bbr| bbr.on_timeout(timeouts));
    }
}
