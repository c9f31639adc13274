//! Whether symbols reach this host (RFC 8899: datagram packetization layer path MTU discovery).
//!
//! Most paths carry what hosts send, so a session begins with packets of the configured size, at no cost. A smaller path is a black hole: messages
//! pass, and no symbol arrives, from the beginning or from a change of route on (§4.3). So a receiver that no symbol reaches for some time asks
//! the sender for *probes*: datagrams of the session's size, of the smallest that a session can have, and as small as can be. If the first arrives, the
//! reason is another one. If [`ENOUGH`] smaller ones have arrived and none of the session's size, probes of all common sizes follow, and the largest
//! that arrives is what the path carries.
//!
//! Loss alone does not look like this. If all probes are equally likely to be lost, the first `n` to arrive are all of one kind of two with a
//! probability of at most 2^-n, whatever the loss; and a look begins only where no symbol arrives.
//!
//! The next question follows the answer to the last one, so a slow link has one round of probes in its queue at most.

use std::net::SocketAddr;

use anabranch_transport::{Duration, Time, back_off};

use super::lifetime::{Ending, Phase};
use super::{Incoming, News};
use crate::SealError;
use crate::session::{Failure, Narrow};
use crate::wire::{Control, MIN_OPEN_BYTES, PROBE, SYMBOL_HEADER};

/// Silence before the first look, and at most before the next ones: it doubles where a look finds nothing.
const SILENCE: [Duration; 2] = [Duration::from_ms(250), Duration::from_ms(1000)];
/// The same, where symbols come seldom: some times the mean between two of them.
const GAPS: u64 = 4;
const LONGEST_SILENCE: Duration = Duration::from_ms(2000);
/// After so long without a look, symbols have been coming.
const RECOVERED_AFTER: Duration = Duration::from_secs(5);

/// Smaller probes that must have arrived, and none of the session's size.
const ENOUGH: u32 = 8;
/// Rounds of probes of all sizes, and how long they may take.
const ROUNDS: u32 = 3;
const SEARCH: Duration = Duration::from_ms(1000);
/// How long an answer may take before the question is repeated; it doubles with every second one that fails.
const AGAIN: [Duration; 2] = [Duration::from_ms(100), Duration::from_ms(1000)];
/// Questions of one look.
const QUESTIONS: u32 = 100;

/// What a look finds out.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Which of three sizes arrive: how many of the smallest that a session can have, and of the smallest.
    Compare { least: u32, small: u32 },
    /// Which is the largest size that arrives, as far as is known.
    Search { rounds: u32, found: u16, until: Time },
}

/// A look at a path.
#[derive(Clone, Copy, Debug)]
struct Look {
    stage: Stage,
    /// The next question is due.
    asks: bool,
    asked_at: Time,
    asked: u32,
    /// Questions since a probe last arrived.
    unanswered: u32,
}

/// The path from one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// When a symbol last arrived, or could first have.
    last: Time,
    /// Mean time between symbols.
    gap: Duration,
    pause: Duration,
    /// When the last look ended.
    looked: Time,
    look: Option<Look>,
}

impl Path {
    fn new(now: Time) -> Self {
        Self { last: now, gap: Duration::ZERO, pause: SILENCE[0], looked: now, look: None }
    }

    /// A symbol of the session's size has arrived.
    fn on_symbol(&mut self, now: Time) {
        self.gap = (self.gap * 7 + now.since(self.last)) / 8;
        self.last = now;
        if self.look.is_some() {
            self.rest(now);
        } else if now.since(self.looked) > RECOVERED_AFTER {
            self.pause = SILENCE[0];
        }
    }

    /// The look has found nothing.
    fn rest(&mut self, now: Time) {
        self.pause = (self.pause * 2).min(SILENCE[1]);
        (self.last, self.looked, self.look) = (now, now, None);
    }

    /// A probe of `bytes` bytes has arrived; symbols have `needed`. Returns the largest datagram that the path carries if it is found to be too small.
    fn on_probe(&mut self, now: Time, bytes: u16, needed: u16) -> Option<u16> {
        let look = self.look.as_mut()?;
        look.unanswered = 0;
        if bytes >= needed {
            self.rest(now);
            return None;
        }
        let is_usable = usize::from(bytes) >= MIN_OPEN_BYTES;
        // The smallest is the last of a round.
        look.asks |= !is_usable;
        match &mut look.stage {
            Stage::Compare { least, .. } if is_usable => {
                *least += 1;
                if *least == ENOUGH {
                    look.stage = Stage::Search { rounds: 0, found: bytes, until: now + SEARCH };
                }
                None
            }
            Stage::Compare { least, small } => {
                *small += 1;
                (*small >= ENOUGH && *least == 0).then_some(0)
            }
            Stage::Search { found, .. } if is_usable => {
                *found = bytes.max(*found);
                None
            }
            Stage::Search { rounds, found, .. } => {
                // One round had begun before.
                *rounds += 1;
                (*rounds > ROUNDS).then_some(*found)
            }
        }
    }

    /// When [`on_time`](Self::on_time) is to be called.
    fn due(&self) -> Time {
        let Some(look) = &self.look else {
            return self.last + self.pause.max(self.gap * GAPS).min(LONGEST_SILENCE);
        };
        let again = look.asked_at + back_off(AGAIN[0], AGAIN[1], look.unanswered / 2);
        match look.stage {
            Stage::Compare { .. } => again,
            Stage::Search { until, .. } => again.min(until),
        }
    }

    /// Nothing has arrived for some time. Returns as [`on_probe`](Self::on_probe).
    fn on_time(&mut self, now: Time) -> Option<u16> {
        if now < self.due() {
            return None;
        }
        match &mut self.look {
            None => {
                let stage = Stage::Compare { least: 0, small: 0 };
                self.look = Some(Look { stage, asks: true, asked_at: now, asked: 0, unanswered: 0 });
            }
            Some(Look { stage: Stage::Search { found, until, .. }, .. }) if *until <= now => return Some(*found),
            Some(look) if look.asked >= QUESTIONS => self.rest(now),
            Some(look) => {
                (look.asks, look.asked_at) = (true, now);
                look.unanswered += 1;
            }
        }
        None
    }

    /// If a question is due: whether it is for all sizes.
    fn take_question(&mut self, now: Time) -> Option<bool> {
        let look = self.look.as_mut().filter(|look| look.asks)?;
        (look.asks, look.asked_at) = (false, now);
        look.asked += 1;
        Some(matches!(look.stage, Stage::Search { .. }))
    }
}

/// The paths from all senders.
#[derive(Debug)]
pub(super) struct Paths(Vec<Path>);

impl Paths {
    pub(super) fn new(now: Time, senders: usize) -> Self {
        Self(vec![Path::new(now); senders])
    }

    /// Symbols may arrive from now on.
    pub(super) fn start(&mut self, now: Time) {
        self.0.fill(Path::new(now));
    }

    /// Symbols of one sender may arrive from now on.
    pub(super) fn start_one(&mut self, now: Time, index: usize) {
        self.0[index] = Path::new(now);
    }

    /// A whole symbol has arrived, or one that a switch has trimmed.
    pub(super) fn on_symbol(&mut self, now: Time, index: usize) {
        self.0[index].on_symbol(now);
    }
}

impl Incoming {
    /// Whether symbols should come from a sender, which has shown that it is there: more than three times as much as it has sent must not go to an
    /// address that may be forged.
    fn is_watched(&self, index: usize) -> bool {
        let is_there = self.lanes.wanted().is_some() || self.is_proven();
        is_there && *self.lifetime.phase() == Phase::Receiving && !self.has_all && self.lanes[index].can_be_asked()
    }

    /// Bytes of a sender's datagrams with whole symbols.
    fn datagram_bytes(&self, index: usize) -> u16 {
        let symbol = self.found.as_ref().map_or(0, |found| found.options.symbol_bytes);
        symbol + self.lanes[index].symbol_overhead() as u16
    }

    /// When paths are to be looked at.
    pub(super) fn paths_due(&self) -> Option<Time> {
        (0..self.lanes.len()).filter(|&index| self.is_watched(index)).map(|index| self.paths.0[index].due()).min()
    }

    pub(super) fn watch_paths(&mut self, now: Time) {
        for index in 0..self.lanes.len() {
            if self.is_watched(index)
                && let Some(carried) = self.paths.0[index].on_time(now)
            {
                self.on_narrow(now, index, carried);
            }
        }
    }

    /// A probe has arrived.
    pub(super) fn on_probe(&mut self, now: Time, index: usize, padding: u16) {
        let tag = self.lanes[index].symbol_overhead() - SYMBOL_HEADER;
        let bytes = (PROBE + tag) as u16 + padding;
        let needed = self.datagram_bytes(index);
        if self.is_watched(index)
            && let Some(carried) = self.paths.0[index].on_probe(now, bytes, needed)
        {
            self.on_narrow(now, index, carried);
        }
    }

    /// Asks a sender for probes if that is due. Returns its address.
    pub(super) fn poll_path(&mut self, now: Time, out: &mut Vec<u8>) -> Result<Option<SocketAddr>, SealError> {
        for index in 0..self.lanes.len() {
            if self.is_watched(index)
                && let Some(all) = self.paths.0[index].take_question(now)
            {
                self.lanes[index].control(Control::AskProbes { all }, out)?;
                return Ok(Some(self.lanes[index].peer()));
            }
        }
        Ok(None)
    }

    /// The path from a sender carries datagrams of at most `carried` bytes. A session's packets keep their size, so nothing more comes from there.
    fn on_narrow(&mut self, now: Time, index: usize, carried: u16) {
        let narrow = Narrow::new(self.lanes[index].peer(), false, self.datagram_bytes(index), carried);
        if self.lanes.wanted().is_none() {
            // The sender is told until it answers: it may offer the object again at once, with smaller packets.
            self.backlog.push(News::Failed(Failure::Narrow(narrow)));
            return self.close(now, Ending::Narrow(carried));
        }
        self.leave_out(now, index, narrow, carried);
    }

    /// A server that has not answered yet says that it opens nothing for small packets: these arrive.
    pub(super) fn on_unpadded_answered(&mut self, now: Time, index: usize) {
        if !self.lanes[index].is_ended() && self.lanes[index].on_unpadded_answered(now) {
            let narrow = Narrow::new(self.lanes[index].peer(), true, MIN_OPEN_BYTES as u16, 0);
            self.leave_out(now, index, narrow, 0);
        }
    }

    /// Nothing more comes from a server.
    fn leave_out(&mut self, now: Time, index: usize, narrow: Narrow, carried: u16) {
        if self.lanes.len() > 1 {
            self.backlog.push(News::Narrow(narrow));
        }
        self.lanes[index].on_narrow(narrow, carried);
        self.end_lane(now, index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// When a path of `delay` ms that carries datagrams of up to `mtu` bytes is found to be too small, which size it carries, and the bytes of all
    /// probes. `lost` tells which datagrams are lost in either direction.
    fn look(mtu: u16, delay: u64, mut lost: impl FnMut() -> bool) -> (Option<(u64, u16)>, u64) {
        let mut path = Path::new(at(0));
        let (mut arrivals, mut bytes) = (BTreeMap::new(), 0);
        for ms in 0..20_000 {
            let mut found = path.on_time(at(ms));
            while let Some(((when, n), probe)) = arrivals.pop_first() {
                if when > ms {
                    arrivals.insert((when, n), probe);
                    break;
                }
                found = found.or(path.on_probe(at(ms), probe, 1472));
            }
            if let Some(carried) = found {
                return (Some((ms, carried)), bytes);
            }
            let Some(all) = path.take_question(at(ms)) else { continue };
            if lost() {
                continue;
            }
            for (n, probe) in
                [1472].into_iter().chain((1201..1472).rev().step_by(10).filter(|_| all)).chain([1200, 43]).enumerate()
            {
                bytes += u64::from(probe);
                if probe <= mtu && !lost() {
                    arrivals.insert((ms + 2 * delay, n), probe);
                }
            }
        }
        (None, bytes)
    }

    #[test]
    fn a_small_path_is_found_soon_wherever_it_ends() {
        for (mtu, carried) in [(1471, 1471), (1400, 1391), (1211, 1211), (1200, 1200), (1199, 0), (43, 0)] {
            let (found, bytes) = look(mtu, 1, || false);
            assert!(found.is_some_and(|(ms, size)| ms < 400 && size == carried), "{mtu}: {found:?}");
            assert!(bytes < 160_000, "{bytes}");
        }
        let (found, _) = look(1400, 50, || false);
        assert!(found.is_some_and(|(ms, size)| ms < 1600 && size == 1391), "{found:?}");
        let mut n = 0_u64;
        let (found, _) = look(1400, 5, || {
            n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            n >> 33 & 1023 < 307
        });
        assert!(found.is_some_and(|(ms, size)| ms < 3000 && (1200..=1400).contains(&size)), "{found:?}");
    }

    #[test]
    fn where_everything_arrives_or_nothing_looks_are_seldom_and_cheap() {
        let (found, bytes) = look(1472, 1, || false);
        assert!(found.is_none() && bytes < 20 * 3000, "{bytes}");
        assert_eq!(look(0, 1, || false).0, None);
        // One in ten survives, of any size.
        let mut n = 0_u64;
        for _ in 0..100 {
            let (found, _) = look(1472, 1, || {
                n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                n >> 33 & 1023 < 922
            });
            assert_eq!(found, None);
        }
    }

    #[test]
    fn symbols_that_come_seldom_are_waited_for() {
        let mut path = Path::new(at(0));
        for ms in (0..9000).step_by(300) {
            path.on_symbol(at(ms));
        }
        let silence = path.due().since(path.last);
        assert!(silence > Duration::from_ms(1000) && silence <= LONGEST_SILENCE, "{silence}");
    }
}
