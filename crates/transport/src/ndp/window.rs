//! The packets that a sender has sent and may have to send again: a ring over a sliding range of sequence numbers.

use super::header::Stamp;
use crate::units::{Duration, Time};
use smallvec::{SmallVec, smallvec};
use std::collections::VecDeque;

/// Most packets between the oldest unacknowledged one and the next new one. Bounds the memory of both ends; at 100
/// Gbit/s and 1500 B it is the traffic of 4 ms, four times the default timeout.
pub(crate) const MAX_SPAN: u64 = 1 << 15;

/// Slots to begin with, if there are so many packets: enough for the usual initial windows.
const FIRST_SLOTS: u64 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On its way, or lost without a trace.
    InFlight,
    /// Known to be lost (trimmed or returned): to be sent again.
    Lost,
    /// Taken for lost after a timeout: to be sent again, unless an ACK shows that the timeout was too short.
    Overdue,
    Acknowledged,
}

/// Sequence numbers `base .. next`, each with what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Every packet below is acknowledged.
    base: u64,
    /// The first packet never sent.
    next: u64,
    in_flight: u32,
    overdue: u32,
    /// Packet `s` is at `s % states.len()`; the length is a power of two.
    states: SmallVec<[State; FIRST_SLOTS as usize]>,
    /// When each of them left, at the same places. Apart, because replies do not need it: those of a window lie in few cache lines.
    sent_at: Vec<Time>,
    /// Packets to be sent again, in order. May hold some that have arrived since.
    lost: VecDeque<u64>,
}

impl Window {
    /// For an object of so many packets.
    pub(crate) fn new(packets: u64) -> Self {
        let slots = packets.clamp(1, FIRST_SLOTS).next_power_of_two() as usize;
        Self {
            base: 0,
            next: 0,
            in_flight: 0,
            overdue: 0,
            states: smallvec![State::Acknowledged; slots],
            sent_at: vec![Time::ZERO; slots],
            lost: VecDeque::new(),
        }
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Packets sent of which nothing is known.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Packets taken for lost after a timeout and not sent again yet.
    pub(crate) fn overdue(&self) -> u32 {
        self.overdue
    }

    /// Packets to be sent again, some of which may have arrived since.
    pub(crate) fn lost(&self) -> usize {
        self.lost.len()
    }

    /// Whether one more new packet may be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.next - self.base < MAX_SPAN
    }

    /// A new packet leaves at `departure`; returns its number. The caller has asked [`Self::has_room`].
    #[inline]
    pub(crate) fn send_new(&mut self, departure: Time) -> u64 {
        if self.next - self.base == self.states.len() as u64 {
            self.grow();
        }
        let seq = self.next;
        self.next += 1;
        self.in_flight += 1;
        self.leaves(seq, departure);
        seq
    }

    /// The first of the lost packets, which leaves again at `departure`.
    #[inline]
    pub(crate) fn send_lost(&mut self, departure: Time) -> Option<u64> {
        loop {
            let seq = self.lost.pop_front()?;
            if self.send_again(seq, departure) {
                return Some(seq);
            }
        }
    }

    /// The first of the lost packets that has not arrived or left again since.
    pub(super) fn first_lost(&mut self) -> Option<u64> {
        while let Some(&seq) = self.lost.front() {
            if self.holds(seq) && matches!(*self.state(seq), State::Lost | State::Overdue) {
                return Some(seq);
            }
            self.lost.pop_front();
        }
        None
    }

    /// What was lost last is sent again first.
    pub(crate) fn urge(&mut self) {
        if let Some(last) = self.lost.pop_back() {
            self.lost.push_front(last);
        }
    }

    /// Packet `seq` leaves again at `departure`, if it still has to.
    #[inline]
    pub(super) fn send_again(&mut self, seq: u64, departure: Time) -> bool {
        if !self.holds(seq) {
            return false;
        }
        match *self.state(seq) {
            State::Lost => {}
            State::Overdue => self.overdue -= 1,
            State::InFlight | State::Acknowledged => return false,
        }
        self.leaves(seq, departure);
        self.in_flight += 1;
        true
    }

    /// Packet `seq` is known to be lost, and is sent again after the others. False if that is no news, or no longer true. If it
    /// was only taken for lost, its timeout was too short, as in [`Self::acknowledge`].
    pub(crate) fn lose(&mut self, seq: u64) -> bool {
        if !self.holds(seq) {
            return false;
        }
        match *self.state(seq) {
            State::InFlight => {
                *self.state(seq) = State::Lost;
                self.in_flight -= 1;
                self.lost.push_back(seq);
                true
            }
            State::Overdue => {
                *self.state(seq) = State::Lost;
                self.overdue -= 1;
                self.revive();
                false
            }
            State::Lost | State::Acknowledged => false,
        }
    }

    /// Packet `seq` has arrived. If it was overdue and had not been sent again, the timeout was too short, and the
    /// other overdue packets may well be on their way, too.
    #[inline]
    pub(crate) fn acknowledge(&mut self, seq: u64) {
        if !self.holds(seq) {
            return;
        }
        let was = std::mem::replace(self.state(seq), State::Acknowledged);
        self.in_flight -= u32::from(was == State::InFlight);
        if was == State::Overdue {
            self.overdue -= 1;
            self.revive();
        }
        while self.base < self.next && *self.state(self.base) == State::Acknowledged {
            self.base += 1;
        }
    }

    /// Every packet below `seq` has arrived.
    pub(crate) fn acknowledge_below(&mut self, seq: u64) {
        while self.base < seq.min(self.next) {
            self.acknowledge(self.base);
        }
    }

    /// Takes for lost every packet that has been in flight for `age`; returns how many. Linear in the span, so for use in
    /// timers only.
    pub(crate) fn expire(&mut self, now: Time, age: Duration) -> u32 {
        let before = self.overdue;
        for seq in self.base..self.next {
            if *self.state(seq) == State::InFlight && now.since(self.sent_at(seq)) >= age {
                *self.state(seq) = State::Overdue;
                self.in_flight -= 1;
                self.overdue += 1;
                self.lost.push_back(seq);
            }
        }
        self.overdue - before
    }

    /// The connection is over.
    pub(crate) fn forget_lost(&mut self) {
        self.lost = VecDeque::new();
    }

    /// Whether packet `seq` has left again since it left at `sent`.
    pub(crate) fn sent_again_since(&mut self, seq: u64, sent: Stamp) -> bool {
        self.holds(seq) && *self.state(seq) == State::InFlight && sent.elapsed(self.sent_at(seq)) > Duration::ZERO
    }

    /// Overdue packets are in flight after all, since when they left.
    pub(crate) fn revive(&mut self) {
        if self.overdue == 0 {
            return;
        }
        for seq in self.base..self.next {
            if *self.state(seq) == State::Overdue {
                *self.state(seq) = State::InFlight;
                self.in_flight += 1;
                self.overdue -= 1;
            }
        }
    }

    /// When the packet left that has been in flight longest. Linear in the span, so for use in timers only.
    pub(crate) fn oldest(&self) -> Option<Time> {
        let in_flight = |&seq: &u64| self.states[self.place(seq)] == State::InFlight;
        (self.base..self.next).filter(in_flight).map(|seq| self.sent_at(seq)).min()
    }

    fn holds(&self, seq: u64) -> bool {
        (self.base..self.next).contains(&seq)
    }

    #[inline]
    fn place(&self, seq: u64) -> usize {
        seq as usize & (self.states.len() - 1)
    }

    #[inline]
    fn state(&mut self, seq: u64) -> &mut State {
        let place = self.place(seq);
        &mut self.states[place]
    }

    fn sent_at(&self, seq: u64) -> Time {
        self.sent_at[self.place(seq)]
    }

    #[inline]
    fn leaves(&mut self, seq: u64, departure: Time) {
        let place = self.place(seq);
        self.states[place] = State::InFlight;
        self.sent_at[place] = departure;
    }

    fn grow(&mut self) {
        let old = self.states.len();
        let (mut states, mut sent_at) = (smallvec![State::Acknowledged; old * 2], vec![Time::ZERO; old * 2]);
        for seq in self.base..self.next {
            let (from, to) = (seq as usize & (old - 1), seq as usize & (old * 2 - 1));
            (states[to], sent_at[to]) = (self.states[from], self.sent_at[from]);
        }
        (self.states, self.sent_at) = (states, sent_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_the_span_and_no_further_while_the_oldest_packet_is_missing() {
        let mut w = Window::new(1);
        for i in 0..MAX_SPAN {
            assert!(w.has_room());
            assert_eq!(w.send_new(Time(i)), i);
            if i > 0 {
                w.acknowledge(i);
            }
        }
        assert!(!w.has_room());
        assert_eq!((w.in_flight(), w.oldest()), (1, Some(Time(0))));
        w.acknowledge(0);
        assert_eq!((w.base(), w.in_flight()), (MAX_SPAN, 0));
        for _ in 0..MAX_SPAN {
            let seq = w.send_new(Time(0));
            w.acknowledge(seq);
        }
        assert_eq!(w.states.len() as u64, MAX_SPAN);
    }

    #[test]
    fn a_packet_is_lost_once_and_sent_again_once() {
        let mut w = Window::new(MAX_SPAN);
        w.send_new(Time(5));
        assert!(!w.send_again(0, Time(6)));
        assert!(w.lose(0));
        assert!(!w.lose(0));
        assert_eq!(w.in_flight(), 0);
        assert!(w.send_again(0, Time(7)));
        assert!(!w.send_again(0, Time(8)));
        w.acknowledge(0);
        w.acknowledge(0);
        assert!(!w.lose(0));
        assert_eq!((w.base(), w.in_flight()), (1, 0));
    }

    #[test]
    fn expires_only_what_is_old_enough() {
        let mut w = Window::new(MAX_SPAN);
        for t in [0, 10, 20] {
            w.send_new(Time(t));
        }
        assert_eq!((w.expire(Time(30), Duration(20)), w.in_flight(), w.oldest()), (2, 1, Some(Time(20))));
        assert_eq!([w.send_lost(Time(31)), w.send_lost(Time(32)), w.send_lost(Time(33))], [Some(0), Some(1), None]);
    }

    #[test]
    fn lost_packets_leave_in_the_order_of_their_loss_unless_one_is_urgent() {
        let mut w = Window::new(MAX_SPAN);
        for _ in 0..5 {
            w.send_new(Time(0));
        }
        for seq in [3, 1, 4] {
            assert!(w.lose(seq));
        }
        w.urge();
        w.acknowledge(3);
        assert_eq!((w.lost(), w.send_lost(Time(1))), (3, Some(4)));
        assert_eq!([w.send_lost(Time(1)), w.send_lost(Time(1))], [Some(1), None], "3 has arrived");
    }

    #[test]
    fn an_ack_for_an_overdue_packet_revives_the_others() {
        let mut w = Window::new(MAX_SPAN);
        for _ in 0..4 {
            w.send_new(Time(0));
        }
        w.lose(3);
        w.expire(Time(9), Duration(9));
        assert!(w.send_again(0, Time(9)));
        assert_eq!(w.in_flight(), 1);
        w.acknowledge(0);
        assert_eq!(w.in_flight(), 0, "that ACK may be for the second copy");
        w.acknowledge(1);
        assert_eq!((w.in_flight(), w.oldest()), (1, Some(Time(0))));
        assert!(!w.send_again(2, Time(10)));
        assert!(w.send_again(3, Time(10)), "a trimmed packet stays lost");
        w.expire(Time(20), Duration(9));
        assert_eq!(w.in_flight(), 0);
        assert!(!w.lose(2), "already to be sent again");
        assert_eq!((w.in_flight(), w.oldest()), (1, Some(Time(10))), "a NACK is as good as an ACK");
        assert!(w.send_again(2, Time(21)));
    }

    #[test]
    fn a_cumulative_acknowledgement_frees_everything_below_and_stops_at_what_was_sent() {
        let mut w = Window::new(MAX_SPAN);
        for _ in 0..5 {
            w.send_new(Time(0));
        }
        w.lose(2);
        w.acknowledge_below(4);
        assert_eq!((w.base(), w.in_flight()), (4, 1));
        w.acknowledge_below(u64::MAX);
        assert_eq!((w.base(), w.in_flight()), (5, 0));
    }
}
