//! What a receiver asks for: as many packets as are missing, a window of them at a time.

use crate::ndp::header::Header;
use crate::ndp::pulls::Pulls;
use crate::units::{Duration, Time};

/// The pull whose round trip is being measured.
#[derive(Clone, Copy, Debug)]
struct Timed {
    number: u64,
    sent_at: Time,
    /// It has left again since.
    repeated: bool,
}

/// A round trip, from a pull to the packet that it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) round_trip: Duration,
    /// The pull was repeated: the round trip may be shorter.
    pub(super) at_most: bool,
}

/// The pulls of one receiver.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pulls: Pulls,
    /// Packets to keep asked for.
    window: u32,
    timed: Option<Timed>,
    /// The last pull is to be sent once more: it may be lost.
    repeat_due: bool,
}

impl Asking {
    pub(super) fn new(window: u32) -> Self {
        Self { pulls: Pulls::default(), window, timed: None, repeat_due: false }
    }

    /// The connection opens: a burst of so many packets is on its way.
    pub(super) fn open(&mut self, burst: u16) {
        self.pulls = Pulls::open(u32::from(burst));
    }

    /// Packets that are asked for, or were pushed, and should still come.
    pub(super) fn outstanding(&self) -> u32 {
        self.pulls.outstanding()
    }

    /// The pull that a packet answers which goes to several receivers.
    pub(super) fn oldest(&self) -> u64 {
        self.pulls.oldest()
    }

    /// A packet came that answers pull `pull`. `repetition`: the sender has repeated it unasked, which shows that another is lost.
    /// Returns the round trip if that pull was timed.
    pub(super) fn on_answer(&mut self, now: Time, pull: u64, repetition: bool) -> Option<Measured> {
        if repetition {
            self.pulls.answer_by_repetition();
        } else {
            self.pulls.answer(pull);
        }
        // Each pull has a number of its own, so an answer is ambiguous only if that pull was repeated. If only the answer to
        // a later pull comes, there is no sample this time.
        let timed = self.timed.filter(|timed| (timed.number..=self.pulls.sent()).contains(&pull))?;
        self.timed = None;
        let measured = Measured { round_trip: now.since(timed.sent_at), at_most: timed.repeated };
        (pull == timed.number).then_some(measured)
    }

    /// New pulls, as many as packets are `missing` that are not asked for.
    fn wanted(&self, missing: u64) -> u32 {
        let wanted = u64::from(self.window).min(missing) as u32;
        wanted.saturating_sub(self.pulls.outstanding())
    }

    /// Pulls that could be sent now.
    pub(super) fn pending(&self, missing: u64) -> u32 {
        self.wanted(missing).max(u32::from(self.repeat_due))
    }

    /// One of these is sent, while all packets below `below` are here. And whether it is a new one.
    pub(super) fn send(&mut self, now: Time, missing: u64, below: u64) -> (Header, bool) {
        self.repeat_due = false;
        let is_new = self.wanted(missing) > 0;
        if is_new {
            let number = self.pulls.send();
            self.timed.get_or_insert(Timed { number, sent_at: now, repeated: false });
        } else if let Some(timed) = &mut self.timed {
            // The last pull again. It asks for what the timed one asked for, too.
            timed.repeated = true;
        }
        let (number, void, pushed) = (self.pulls.sent(), self.pulls.void(), self.pulls.expects_pushed());
        (Header::Pull { number, void, pushed, below }, is_new)
    }

    /// Pull numbers are cumulative (NDP §3.2): the last one asks for all, and a sender that has it for nothing more.
    pub(super) fn repeat_last(&mut self, repeat: bool) {
        self.repeat_due = repeat && self.pulls.sent() > self.pulls.void();
    }

    /// Nothing has come for a timeout: everything is written off. Returns how many packets.
    pub(super) fn write_off(&mut self) -> u32 {
        self.pulls.write_off()
    }

    /// A timeout has passed: what was old then is written off. Returns how many packets.
    pub(super) fn age(&mut self) -> u32 {
        self.pulls.age()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(sent: (Header, bool)) -> (u64, bool) {
        let Header::Pull { number, .. } = sent.0 else { panic!("{sent:?}") };
        (number, sent.1)
    }

    #[test]
    fn no_more_is_asked_for_than_a_window_or_what_is_missing() {
        let mut asking = Asking::new(12);
        asking.open(10);
        assert_eq!([100, 11, 10, 3].map(|missing| asking.pending(missing)), [2, 1, 0, 0]);
        assert_eq!(number(asking.send(Time(0), 100, 0)), (1, true));
        assert_eq!((asking.pending(100), asking.outstanding()), (1, 11));
        asking.on_answer(Time(1), 0, false);
        assert_eq!(asking.pending(100), 2);
    }

    #[test]
    fn the_round_trip_is_that_of_one_pull_at_a_time() {
        let mut asking = Asking::new(12);
        asking.open(0);
        asking.send(Time(5), 100, 0);
        asking.send(Time(9), 100, 0);
        assert_eq!(asking.on_answer(Time(10), 0, false), None, "unasked");
        assert_eq!(asking.on_answer(Time(10), 99, false), None, "never sent");
        assert_eq!(asking.on_answer(Time(25), 1, false), Some(Measured { round_trip: Duration(20), at_most: false }));
        assert_eq!(asking.on_answer(Time(30), 2, false), None, "not timed");
        asking.send(Time(40), 100, 0);
        asking.send(Time(41), 100, 0);
        assert_eq!(asking.on_answer(Time(50), 4, false), None, "a later one: the timed one may be lost");
        asking.send(Time(60), 100, 0);
        assert!(asking.on_answer(Time(70), 5, false).is_some(), "another is timed");
    }

    #[test]
    fn a_repeated_pull_asks_for_nothing_new_and_makes_the_round_trip_doubtful() {
        let mut asking = Asking::new(2);
        asking.open(0);
        asking.repeat_last(true);
        assert_eq!(asking.pending(0), 0, "there is none to repeat");
        asking.send(Time(0), 1, 0);
        asking.repeat_last(true);
        assert_eq!((asking.pending(1), number(asking.send(Time(50), 1, 0))), (1, (1, false)));
        assert_eq!((asking.pending(1), asking.outstanding()), (0, 1));
        assert_eq!(asking.on_answer(Time(60), 1, false), Some(Measured { round_trip: Duration(60), at_most: true }));
    }
}
