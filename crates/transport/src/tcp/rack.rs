//! RACK (RFC 8985 §6): a segment is lost if one that was sent later has arrived, and enough time for reordering has passed. So it finds
//! lost repetitions, too, and losses that too few duplicate ACKs tell of. Its other half, the tail loss probe, is [`Probe`].
//!
//! Left out: receivers here send no DSACK, so that the reordering window never widens (§6.2 step 4: `RACK.reo_wnd_mult` stays 1), and no
//! time stamps, so that §6.2 step 2 knows by `RACK.min_RTT` alone whether a repetition has arrived. `RACK.min_RTT` is the least of the
//! connection, where the RFC recommends that of some minutes. A repetition that is lost does not reduce the window again (RFC 5681 §4.3
//! would have it), as in Linux: proportional rate reduction lets no more leave than arrives.

use super::config::{DUP_THRESHOLD, TcpConfig};
use super::probe::Probe;
use super::segment::Segment;
use super::sent::{Losses, Sent, SentSegments};
use crate::ranges::RangeSet;
use crate::units::{Duration, Time};

/// Loss detection by time, of one sender.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    segments: SentSegments,
    recent: Recent,
    /// What happens, happens now.
    now: Time,
    /// When losses are to be looked for again (the reordering timer); [`Time::MAX`] if nothing waits.
    look_at: Time,
    /// How much later timers fire than they should.
    granularity: Duration,
    /// A timeout is being repaired until everything before this is acknowledged.
    timeout_until: u64,
    /// What was found last.
    found: Losses,
    pub(super) probe: Probe,
}

/// What is known of the segments that have arrived (§5.3).
#[derive(Clone, Debug)]
struct Recent {
    /// The latest transmission that has arrived (`RACK.segment`); 0 before the first.
    transmission: u64,
    /// `RACK.rtt`: of the latest transmission that the last ACK told of.
    round_trip: Duration,
    /// `RACK.min_RTT`.
    least: Duration,
    /// `RACK.fack`: one past the highest offset that has arrived.
    highest: u64,
    reordering_seen: bool,
}

/// The same of one ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    transmission: u64,
    at: Time,
    highest: u64,
}

impl Recent {
    /// A segment has arrived, of which an ACK tells now (§6.2 steps 1 to 3).
    fn on_arrival(&mut self, sent: &Sent, now: Time, told: &mut Told) -> bool {
        let round_trip = now.since(sent.at);
        told.highest = told.highest.max(sent.end);
        if sent.repeated {
            // So soon after the repetition it is an earlier copy that has arrived.
            // Before any round trip was measured nothing tells them apart.
            if self.least != Duration(u64::MAX) && round_trip < self.least {
                return false;
            }
        } else {
            self.least = self.least.min(round_trip);
            self.reordering_seen |= sent.end < self.highest;
        }
        if sent.transmission > told.transmission {
            (told.transmission, told.at) = (sent.transmission, sent.at);
        }
        !sent.repeated
    }

    fn on_told(&mut self, told: &Told, now: Time) {
        if told.transmission > 0 {
            self.round_trip = now.since(told.at);
            self.transmission = self.transmission.max(told.transmission);
        }
        self.highest = self.highest.max(told.highest);
    }
}

impl Rack {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            segments: SentSegments::default(),
            recent: Recent {
                transmission: 0,
                round_trip: Duration::ZERO,
                least: Duration(u64::MAX),
                highest: 0,
                reordering_seen: false,
            },
            now: Time::ZERO,
            look_at: Time::MAX,
            granularity: config.clock_granularity,
            timeout_until: 0,
            found: Losses::default(),
            probe: Probe::new(config),
        }
    }

    pub(super) fn set_time(&mut self, now: Time) {
        self.now = now;
    }

    /// The handshake's round trip counts before there is another (§6.2 step 1 takes all samples of RFC 6298).
    pub(super) fn know_round_trip(&mut self, smoothed: Duration) {
        if self.recent.least == Duration(u64::MAX) && smoothed > Duration::ZERO {
            self.recent.least = smoothed;
        }
    }

    pub(super) fn segments(&self) -> &SentSegments {
        &self.segments
    }

    pub(super) fn first_lost(&mut self) -> Option<(u64, u64)> {
        self.segments.first_lost()
    }

    /// When something is to be done without an ACK; [`Time::MAX`]: never.
    pub(super) fn wake(&self) -> Time {
        self.look_at.min(self.probe.due_at())
    }

    /// Whether losses are to be looked for now although no ACK came. Asked once.
    pub(super) fn takes_a_look(&mut self) -> bool {
        let looks = self.now >= self.look_at;
        if looks {
            self.look_at = Time::MAX;
        }
        looks
    }

    /// Whether what a timeout has declared lost is being repaired.
    pub(super) fn repairs_a_timeout(&self) -> bool {
        self.segments.start() < self.timeout_until
    }

    /// Whether something has arrived before what was sent earlier, so that reordering or a loss will be told without a probe (§7.2).
    pub(super) fn waits_for_order(&self) -> bool {
        self.segments.arrived() > 0 || self.look_at != Time::MAX
    }

    /// Bytes that were in the network before losses were found last.
    pub(super) fn flight_before_loss(&self) -> u64 {
        self.segments.in_flight() + self.found.bytes
    }

    /// A segment leaves, new or again (§6.1).
    pub(super) fn on_sent(&mut self, seq: u64, end: u64) {
        self.segments.on_sent(seq, end, self.now);
    }

    /// An ACK of everything before `una`, and of what it has in its blocks beyond what is `known` (§6.2 steps 1 to 3).
    pub(super) fn on_ack(&mut self, segment: &Segment, una: u64, known: &RangeSet) {
        let (recent, now, mut told, mut is_sample) = (&mut self.recent, self.now, Told::default(), false);
        let mut arrives = |sent: &Sent| is_sample |= recent.on_arrival(sent, now, &mut told);
        self.segments.acknowledge(una, &mut arrives);
        for (start, end) in segment.sack_blocks() {
            let mut at = start.max(una);
            while at < end {
                let (from, until) = known.gap_from(at);
                at = until.unwrap_or(end).min(end);
                if from < at {
                    self.segments.sack(from, at, &mut arrives);
                }
            }
        }
        recent.on_told(&told, now);
        if is_sample {
            self.probe.on_sample();
        }
    }

    /// `RACK_detect_loss()` (§6.2 steps 4 and 5), and when to look again.
    pub(super) fn find_losses(&mut self, recovers: bool) -> Losses {
        let patience = self.recent.round_trip + self.reordering_window(recovers);
        let now = self.now;
        self.found = self.segments.lose_before(self.recent.transmission, |at| at + patience <= now);
        self.look_at = self.found.waiting.map_or(Time::MAX, |at| at + patience + self.granularity);
        if recovers || self.waits_for_order() {
            // One timer runs at a time (§8).
            self.probe.cancel();
        }
        self.found
    }

    /// The same outside recovery: whether something is lost for which it has to begin.
    pub(super) fn finds_reason_to_recover(&mut self) -> bool {
        let losses = self.find_losses(false);
        if self.repairs_a_timeout() { losses.repeated } else { self.segments.lost() > 0 }
    }

    /// `RACK_update_reo_wnd()`, without DSACK.
    fn reordering_window(&self, recovers: bool) -> Duration {
        let certain = recovers || self.repairs_a_timeout() || self.segments.arrived() >= DUP_THRESHOLD as usize;
        if certain && !self.recent.reordering_seen || self.recent.least == Duration(u64::MAX) {
            return Duration::ZERO;
        }
        self.recent.least / 4
    }

    /// `RACK_mark_losses_on_RTO()` (§6.3), when everything before `max` was sent.
    pub(super) fn on_timeout(&mut self, max: u64) {
        let patience = self.recent.round_trip + self.reordering_window(false);
        let now = self.now;
        self.segments.lose_on_timeout(|at| at + patience <= now);
        self.timeout_until = max;
        self.look_at = Time::MAX;
        self.probe.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::Flags;

    const RTT: u64 = 100;

    /// Segments of one byte that leave one each picosecond; what has arrived is told a round trip later.
    struct Bench {
        rack: Rack,
        known: RangeSet,
    }

    impl Bench {
        fn new(sent: u64) -> Self {
            let config = TcpConfig { clock_granularity: Duration(3), ..TcpConfig::default() };
            let mut bench = Self { rack: Rack::new(&config), known: RangeSet::default() };
            (0..sent).for_each(|n| bench.send(n, n));
            bench
        }

        fn send(&mut self, at: u64, n: u64) {
            self.rack.set_time(Time(at));
            self.rack.on_sent(n, n + 1);
        }

        /// An ACK of everything before `una` and of a block: bytes that are lost by it.
        fn ack(&mut self, at: u64, una: u64, block: Option<(u64, u64)>, recovers: bool) -> u64 {
            let mut segment = Segment { ack: una, flags: Flags::ACK, ..Segment::default() };
            if let Some((start, end)) = block {
                segment.push_sack(start, end);
            }
            self.rack.set_time(Time(at));
            self.rack.on_ack(&segment, una, &self.known);
            self.known.remove_below(una);
            if let Some((start, end)) = block {
                self.known.insert(start, end);
            }
            self.rack.find_losses(recovers).bytes
        }
    }

    /// The second of four arrives first: a quarter of the least round trip has to pass, and the timer of a tick more.
    #[test]
    fn a_segment_that_is_overtaken_has_a_quarter_of_a_round_trip() {
        let mut bench = Bench::new(4);
        assert_eq!(bench.ack(RTT + 1, 0, Some((1, 2)), false), 0);
        // It left at 0, and the round trip of the other was 100.
        assert_eq!(bench.rack.wake(), Time(RTT + RTT / 4 + 3));
        assert!(!bench.rack.takes_a_look());
        bench.rack.set_time(Time(RTT + RTT / 4 + 3));
        assert!(bench.rack.takes_a_look());
        assert_eq!((bench.rack.find_losses(false).bytes, bench.rack.first_lost()), (1, Some((0, 1))));
        assert_eq!(bench.rack.wake(), Time::MAX);
    }

    /// While nothing was reordered, three that have arrived are proof enough, and so is one in a recovery.
    #[test]
    fn three_that_overtake_it_or_one_in_a_recovery_prove_a_loss() {
        let mut bench = Bench::new(6);
        assert_eq!(bench.ack(RTT + 2, 0, Some((1, 3)), false), 0);
        assert_eq!(bench.ack(RTT + 3, 0, Some((1, 4)), false), 1);
        assert_eq!(bench.ack(RTT + 5, 0, Some((1, 6)), true), 0, "it is known");
        let mut bench = Bench::new(6);
        assert_eq!(bench.ack(RTT + 1, 0, Some((1, 2)), true), 1);
    }

    /// The first arrives after the others and was not repeated: from then on none is lost at once.
    #[test]
    fn reordering_that_was_seen_asks_for_patience() {
        let mut bench = Bench::new(8);
        assert_eq!(bench.ack(RTT + 2, 0, Some((1, 3)), false), 0);
        assert_eq!(bench.ack(RTT + 5, 3, None, false), 0);
        assert!(bench.rack.recent.reordering_seen);
        assert_eq!(bench.ack(RTT + 7, 3, Some((4, 8)), false), 0);
        // The fourth left at 3; the newest that arrived took a round trip from 7 on.
        assert_eq!(bench.rack.wake(), Time(3 + RTT + RTT / 4 + 3));
    }

    /// §6.2: a repetition that was sent before something that has arrived is lost, too; one whose ACK comes too soon proves nothing.
    #[test]
    fn a_lost_repetition_is_found_a_round_trip_after_it_left() {
        let mut bench = Bench::new(6);
        assert_eq!(bench.ack(RTT + 3, 0, Some((1, 4)), false), 1);
        bench.send(RTT + 3, 0);
        bench.send(RTT + 4, 6);
        assert_eq!(bench.ack(RTT + 5, 0, Some((1, 6)), true), 0, "these left before the repetition");
        assert_eq!(bench.ack(2 * RTT + 4, 0, Some((1, 7)), true), 1, "this one after it");
        bench.send(2 * RTT + 4, 0);
        let before = bench.rack.recent.transmission;
        bench.ack(2 * RTT + 9, 7, None, true);
        assert_eq!(bench.rack.recent.transmission, before, "an earlier copy has arrived");
    }

    #[test]
    fn a_timeout_loses_all_that_is_late() {
        let mut bench = Bench::new(4);
        bench.ack(RTT, 1, None, false);
        bench.rack.set_time(Time(RTT + 2 + RTT / 4));
        bench.rack.on_timeout(4);
        // 1 is the first, 2 left a round trip and a quarter ago, 3 later.
        assert_eq!((bench.rack.segments().lost(), bench.rack.repairs_a_timeout()), (2, true));
        bench.ack(2 * RTT, 4, None, false);
        assert!(!bench.rack.repairs_a_timeout());
    }
}
