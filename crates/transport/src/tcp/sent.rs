//! The segments that are outstanding, in the order of their offsets and in that of their transmissions (RFC 8985 §5.2).
//!
//! A segment keeps its limits for as long as it is outstanding: it is repeated as a whole, and receivers tell of whole segments.

use crate::units::Time;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    /// Told of by SACK.
    Arrived,
    /// It waits to be repeated.
    Lost,
}

/// A segment that is outstanding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// One past its last offset, FIN included.
    pub(super) end: u64,
    /// When it was last handed over to the network (`Segment.xmit_ts`).
    pub(super) at: Time,
    /// Which transmission of the connection that was, from 1 on. It tells which of two that left at once was the later; the RFC compares
    /// their offsets.
    pub(super) transmission: u64,
    /// Whether it was sent more than once.
    pub(super) repeated: bool,
    state: State,
}

/// What was found to be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    pub(super) bytes: u64,
    /// Whether a repetition is among it.
    pub(super) repeated: bool,
    /// When the last of those was sent that are not lost yet, but would be with more time.
    pub(super) waiting: Option<Time>,
}

/// All of one sender.
#[derive(Clone, Debug, Default)]
pub(super) struct SentSegments {
    /// Where the first of them begins.
    start: u64,
    segments: VecDeque<Sent>,
    /// How many have left at the front.
    gone: u64,
    /// Transmission and segment, counted from the first of the connection, the oldest transmission first. Of a segment that arrived or
    /// was sent again an old entry may be left.
    order: VecDeque<(u64, u64)>,
    transmissions: u64,
    in_flight: u64,
    lost: u64,
    /// No segment before this one is lost; counted from the first of the connection.
    lost_from: u64,
    arrived: usize,
}

impl SentSegments {
    /// Bytes, FIN included, that are neither lost nor known to have arrived.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Bytes that wait to be repeated.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Segments that SACK has told of (`RACK.segs_sacked`).
    pub(super) fn arrived(&self) -> usize {
        self.arrived
    }

    pub(super) fn count(&self) -> usize {
        self.segments.len()
    }

    /// The first offset that is outstanding.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The last of them, from its first offset to its end.
    pub(super) fn last(&self) -> Option<(u64, u64)> {
        self.segments.len().checked_sub(1).map(|index| self.limits(index))
    }

    /// The first that is lost.
    pub(super) fn first_lost(&mut self) -> Option<(u64, u64)> {
        if self.lost == 0 {
            return None;
        }
        let from = self.lost_from.saturating_sub(self.gone) as usize;
        let index = from + self.segments.range(from..).position(|sent| sent.state == State::Lost)?;
        self.lost_from = self.gone + index as u64;
        Some(self.limits(index))
    }

    fn limits(&self, index: usize) -> (u64, u64) {
        let start = if index == 0 { self.start } else { self.segments[index - 1].end };
        (start, self.segments[index].end)
    }

    /// The segment from `seq` to `end` leaves, new or again (§6.1).
    pub(super) fn on_sent(&mut self, seq: u64, end: u64, now: Time) {
        self.transmissions += 1;
        let transmission = self.transmissions;
        let index = self.segments.partition_point(|sent| sent.end <= seq);
        if let Some(sent) = self.segments.get_mut(index) {
            debug_assert_eq!(sent.end, end, "segments keep their limits");
            debug_assert_ne!(sent.state, State::Arrived);
            if sent.state == State::Lost {
                self.lost -= end - seq;
                self.in_flight += end - seq;
            }
            *sent = Sent { at: now, transmission, repeated: true, state: State::InFlight, ..*sent };
        } else {
            self.segments.push_back(Sent { end, at: now, transmission, repeated: false, state: State::InFlight });
            self.in_flight += end - seq;
        }
        self.order.push_back((transmission, self.gone + index as u64));
    }

    /// Everything before `una` is acknowledged: tells of each segment whose arrival that is news of.
    pub(super) fn acknowledge(&mut self, una: u64, mut arrives: impl FnMut(&Sent)) {
        while let Some(sent) = self.segments.front().copied().filter(|sent| sent.end <= una) {
            self.leave(&sent, sent.end - self.start, &mut arrives);
            self.arrived -= usize::from(sent.state == State::Arrived);
            self.start = sent.end;
            self.segments.pop_front();
            self.gone += 1;
        }
    }

    /// SACK tells of `from..to`.
    pub(super) fn sack(&mut self, from: u64, to: u64, mut arrives: impl FnMut(&Sent)) {
        let first = self.segments.partition_point(|sent| sent.end <= from);
        for index in first..self.segments.len() {
            let (start, end) = self.limits(index);
            if end > to {
                return;
            }
            let sent = self.segments[index];
            if start >= from && sent.state != State::Arrived {
                self.leave(&sent, end - start, &mut arrives);
                self.segments[index].state = State::Arrived;
                self.arrived += 1;
            }
        }
    }

    /// A segment of so many bytes turns out to have arrived.
    fn leave(&mut self, sent: &Sent, bytes: u64, arrives: &mut impl FnMut(&Sent)) {
        match sent.state {
            State::InFlight => self.in_flight -= bytes,
            State::Lost => self.lost -= bytes,
            State::Arrived => return,
        }
        arrives(sent);
    }

    /// What was sent before a transmission is lost if `is_late` says so of its time (§6.2 step 5).
    pub(super) fn lose_before(&mut self, transmission: u64, is_late: impl Fn(Time) -> bool) -> Losses {
        let mut losses = Losses::default();
        while let Some(&(number, ordinal)) = self.order.front() {
            if let Some(index) = self.index_of(number, ordinal) {
                if number >= transmission || !is_late(self.segments[index].at) {
                    break;
                }
                self.lose(index, &mut losses);
            }
            self.order.pop_front();
        }
        let before = self.order.iter().take_while(|(number, _)| *number < transmission);
        let waiting = before.filter_map(|&(number, ordinal)| self.index_of(number, ordinal));
        losses.waiting = waiting.last().map(|index| self.segments[index].at);
        losses
    }

    /// The first is lost, and all others for whose time `is_late` says so (§6.3).
    pub(super) fn lose_on_timeout(&mut self, is_late: impl Fn(Time) -> bool) {
        for index in 0..self.segments.len() {
            let sent = self.segments[index];
            if sent.state == State::InFlight && (index == 0 || is_late(sent.at)) {
                self.lose(index, &mut Losses::default());
            }
        }
    }

    /// Where the segment is of which an entry of `order` tells, if it is in flight and was not sent again.
    fn index_of(&self, transmission: u64, ordinal: u64) -> Option<usize> {
        let index = ordinal.checked_sub(self.gone)? as usize;
        let sent = self.segments.get(index)?;
        (sent.transmission == transmission && sent.state == State::InFlight).then_some(index)
    }

    fn lose(&mut self, index: usize, losses: &mut Losses) {
        let (start, end) = self.limits(index);
        let sent = &mut self.segments[index];
        sent.state = State::Lost;
        losses.bytes += end - start;
        losses.repeated |= sent.repeated;
        self.in_flight -= end - start;
        self.lost += end - start;
        self.lost_from = self.lost_from.min(self.gone + index as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Four segments of ten bytes, one each picosecond.
    fn four() -> SentSegments {
        let mut segments = SentSegments::default();
        for n in 0..4 {
            segments.on_sent(10 * n, 10 * n + 10, Time(n));
        }
        segments
    }

    #[test]
    fn a_segment_is_in_flight_until_it_arrives_or_is_lost_and_again_when_it_is_repeated() {
        let mut segments = four();
        let mut told = Vec::new();
        segments.sack(20, 30, |sent| told.push(sent.transmission));
        assert_eq!((segments.in_flight(), segments.arrived()), (30, 1));
        // The third transmission has arrived: the two before it are lost, if their time has come.
        let losses = segments.lose_before(3, |at| at == Time(0));
        assert_eq!(losses, Losses { bytes: 10, repeated: false, waiting: Some(Time(1)) });
        assert_eq!((segments.first_lost(), segments.in_flight(), segments.lost()), (Some((0, 10)), 20, 10));
        segments.on_sent(0, 10, Time(9));
        assert_eq!((segments.first_lost(), segments.in_flight()), (None, 30));
        assert_eq!(segments.lose_before(5, |_| true).bytes, 20, "but not the fifth, which repeats the first");
        segments.acknowledge(40, |sent| told.push(sent.transmission));
        assert_eq!(told, [3, 5, 2, 4]);
        assert_eq!((segments.in_flight(), segments.lost(), segments.arrived(), segments.count()), (0, 0, 0, 0));
    }

    #[test]
    fn after_a_timeout_the_first_is_lost_and_what_is_late() {
        let mut segments = four();
        segments.lose_on_timeout(|at| at < Time(2));
        assert_eq!((segments.lost(), segments.in_flight()), (20, 20));
        segments.lose_on_timeout(|_| false);
        assert_eq!(segments.lost(), 20);
        assert_eq!(segments.last(), Some((30, 40)));
    }

    proptest! {
        /// Against a list that is searched from end to end.
        #[test]
        fn counts_are_those_of_a_plain_list(steps in prop::collection::vec((0_u8..6, 0_usize..12), 1..120)) {
            let mut segments = SentSegments::default();
            // End, transmission, state: 0 in flight, 1 arrived, 2 lost.
            let mut list: Vec<(u64, u64, u8)> = Vec::new();
            let (mut gone, mut count) = (0, 0);
            for (step, which) in steps {
                let index = gone + which;
                match step {
                    0 | 1 => {
                        count += 1;
                        let end = list.len() as u64 + 1;
                        segments.on_sent(end - 1, end, Time(count));
                        list.push((end, count, 0));
                    }
                    2 if index < list.len() => {
                        segments.sack(index as u64, index as u64 + 1, |_| {});
                        list[index].2 = 1;
                    }
                    3 if index < list.len() && which < 3 => {
                        segments.acknowledge(index as u64 + 1, |_| {});
                        gone = index + 1;
                    }
                    4 => {
                        let until = count.saturating_sub(which as u64);
                        segments.lose_before(until, |_| true);
                        list[gone..].iter_mut().filter(|s| s.2 == 0 && s.1 < until).for_each(|s| s.2 = 2);
                    }
                    5 => {
                        let lost = list[gone..].iter_mut().find(|s| s.2 == 2);
                        prop_assert_eq!(segments.first_lost(), lost.as_ref().map(|s| (s.0 - 1, s.0)));
                        if let Some(sent) = lost {
                            count += 1;
                            segments.on_sent(sent.0 - 1, sent.0, Time(count));
                            (sent.1, sent.2) = (count, 0);
                        }
                    }
                    _ => {}
                }
                let many = |state| list[gone..].iter().filter(|s| s.2 == state).count();
                prop_assert_eq!(segments.in_flight(), many(0) as u64);
                prop_assert_eq!(segments.arrived(), many(1));
                prop_assert_eq!(segments.lost(), many(2) as u64);
            }
        }
    }
}
