//! The course of one counter: what it counted between its polls, and where nobody knows.
//!
//! A counter only grows (RFC 2578 section 7.1.6), wraps at 2^32 or 2^64, and is reset when its device starts. Whether a
//! decrease is the one or the other shows later: a counter that once needs more than 32 bits has never wrapped at 2^32, a
//! poll below both of its neighbours was read wrongly, and a wrap has the size of other increases. So an interval is
//! told one poll late, and a wrap when the counter has shown its size.

/// What a poll read: bytes, and packets or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) bytes: u64,
    pub(super) packets: u64,
}

#[derive(Clone, Copy, Debug)]
struct Poll {
    at: i64,
    reading: Reading,
    /// Polls between this one and the one before failed.
    hole: bool,
}

/// What is known of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// So much was carried; long: nobody knows where in it.
    Carried {
        from: i64,
        to: i64,
        bytes: u64,
        packets: u64,
        long: bool,
    },
    Unknown {
        from: i64,
        to: i64,
        why: &'static str,
    },
}

/// What an interval may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Longer ones have lost polls, ns.
    pub(super) gap: i64,
    /// What the line carries, bits per second.
    pub(super) line: Option<f64>,
}

/// How a counter moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    By(u64),
    Wrapped(u64),
    Reset,
}

/// The increase of a counter of 32 or 64 bits.
fn step(before: u64, now: u64, wide: bool) -> Move {
    if now >= before {
        return Move::By(now - before);
    }
    let increase = if wide { now.wrapping_sub(before) } else { (1 << 32) - before.min(1 << 32) + now };
    let half = if wide { 1 << 63 } else { 1 << 31 };
    if increase <= half { Move::Wrapped(increase) } else { Move::Reset }
}

/// Events of a course, for the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) steps: u64,
    pub(super) resets: u64,
    pub(super) wraps: u64,
    /// Intervals with lost polls.
    pub(super) lost: u64,
    /// Polls without a value.
    pub(super) failed: u64,
    /// Polls that were read wrongly.
    pub(super) wrong: u64,
    /// Increases beyond what the line carries.
    pub(super) impossible: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.steps += other.steps;
        self.resets += other.resets;
        self.wraps += other.wraps;
        self.lost += other.lost;
        self.failed += other.failed;
        self.wrong += other.wrong;
        self.impossible += other.impossible;
    }
}

/// Wraps that wait for the counter to show its size: after so many it has.
const WAITING: usize = 16;

/// Polls without a change, after a decrease, that may all be wrong.
const FROZEN: usize = 1000;

/// A wrap is at most so many times as large as the largest other increase.
const WRAP: u64 = 4;

/// Increases that tell how large they get.
const ENOUGH: u64 = 4;

/// The first increase from zero is at most so many times as large as the largest other one: else that poll failed.
const LEAP: u64 = 100;

/// Why an increase may be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// A wrap at 2^32, or a reset.
    Narrow,
    /// A wrap at 2^64, or a reset.
    Wide,
    /// The first poll read 0: a new counter, or a poll that failed.
    FromZero,
}

#[derive(Debug, Default)]
pub(super) struct Course {
    bits: Option<u8>,
    /// Whether a value of bytes, and of packets, was 2^32 or more.
    wide: [bool; 2],
    /// The last poll whose interval is told.
    before: Option<Poll>,
    /// Polls after it: one, or several without a change after a decrease.
    pending: Vec<Poll>,
    hole: bool,
    waiting: Vec<(Fact, Doubt)>,
    largest: u64,
    increases: u64,
    pub(super) tally: Tally,
}

impl Course {
    /// Of a counter whose size is known, or not.
    pub(super) fn new(bits: Option<u8>) -> Self {
        Self { bits, ..Self::default() }
    }

    /// Takes a poll; later than the one before. None: it failed.
    pub(super) fn poll(&mut self, at: i64, reading: Option<Reading>, limits: &Limits, facts: &mut Vec<Fact>) {
        let Some(reading) = reading else {
            self.tally.failed += 1;
            self.hole = true;
            return;
        };
        let poll = Poll { at, reading, hole: std::mem::take(&mut self.hole) };
        let wider = |value: u64| value > u64::from(u32::MAX);
        for (wide, value) in self.wide.iter_mut().zip([reading.bytes, reading.packets]) {
            *wide |= wider(value);
        }
        let (Some(before), Some(first)) = (self.before, self.pending.first().copied()) else {
            if self.before.is_some() {
                self.pending.push(poll);
            } else {
                self.before = Some(poll);
            }
            return;
        };
        let [old, middle, new] = [before, first, poll].map(|poll| poll.reading.bytes);
        if new >= old && !(old..=new).contains(&middle) {
            // Back on the old course: what was read between was no value of this counter.
            self.tally.wrong += self.pending.len() as u64;
            self.pending.clear();
            self.pending.push(Poll { hole: true, ..poll });
        } else if middle < old && new == middle && self.pending.len() < FROZEN {
            self.pending.push(poll);
        } else {
            self.tell(limits, facts);
            self.pending.push(poll);
        }
    }

    /// Says that nobody knows where in the time up to the next poll its volume was.
    pub(super) fn lose(&mut self) {
        self.hole = true;
    }

    /// Tells what is left.
    pub(super) fn finish(&mut self, limits: &Limits, facts: &mut Vec<Fact>) {
        match (self.before, self.pending.first(), self.pending.last()) {
            // Zeros at the end: nobody will know whether the device started or its polls failed.
            (Some(before), Some(first), Some(last)) if first.reading.bytes == 0 && before.reading.bytes > 0 => {
                self.tally.steps += 1;
                self.tally.resets += 1;
                facts.push(Fact::Unknown { from: before.at, to: last.at, why: "counter reset" });
            }
            _ => self.tell(limits, facts),
        }
        self.settle(facts);
    }

    /// Tells the intervals up to the last pending poll.
    fn tell(&mut self, limits: &Limits, facts: &mut Vec<Fact>) {
        let mut pending = std::mem::take(&mut self.pending);
        for poll in pending.drain(..) {
            if let Some(before) = self.before.replace(poll) {
                self.interval(before, poll, limits, facts);
            }
        }
        self.pending = pending;
    }

    fn interval(&mut self, before: Poll, poll: Poll, limits: &Limits, facts: &mut Vec<Fact>) {
        self.tally.steps += 1;
        let (from, to) = (before.at, poll.at);
        let (old, new) = (before.reading, poll.reading);
        let [bytes_wide, packets_wide] = self.bits.map_or(self.wide, |bits| [bits == 64; 2]);
        let moved = step(old.bytes, new.bytes, bytes_wide);
        let packets = step(old.packets, new.packets, packets_wide);
        let (Move::By(bytes) | Move::Wrapped(bytes), Move::By(packets) | Move::Wrapped(packets)) = (moved, packets)
        else {
            self.tally.resets += 1;
            facts.push(Fact::Unknown { from, to, why: "counter reset" });
            return;
        };
        if limits.line.is_some_and(|line| exceeds(bytes, to - from, line)) {
            self.tally.impossible += 1;
            facts.push(Fact::Unknown { from, to, why: "more than the line carries" });
            return;
        }
        let long = poll.hole || to - from > limits.gap;
        let fact = Fact::Carried { from, to, bytes, packets, long };
        let doubt = match moved {
            Move::Wrapped(_) if self.bits == Some(32) => None,
            Move::Wrapped(_) if bytes_wide => Some(Doubt::Wide),
            Move::Wrapped(_) => Some(Doubt::Narrow),
            _ if old.bytes == 0 && self.largest == 0 && bytes > 0 => Some(Doubt::FromZero),
            _ => None,
        };
        if let Some(doubt) = doubt {
            self.waiting.push((fact, doubt));
            if self.waiting.len() >= WAITING {
                self.settle(facts);
            }
            return;
        }
        self.tally.wraps += u64::from(matches!(moved, Move::Wrapped(_)));
        self.largest = self.largest.max(bytes);
        self.increases += 1;
        self.accept(fact, facts);
    }

    fn accept(&mut self, fact: Fact, facts: &mut Vec<Fact>) {
        if let Fact::Carried { from, to, long: true, .. } = fact {
            self.tally.lost += 1;
            facts.push(Fact::Unknown { from, to, why: "missing poll" });
        }
        facts.push(fact);
    }

    /// Decides what the increases in doubt were.
    fn settle(&mut self, facts: &mut Vec<Fact>) {
        let wide = self.bits.map_or(self.wide[0], |bits| bits == 64);
        for (fact, doubt) in std::mem::take(&mut self.waiting) {
            let Fact::Carried { from, to, bytes, .. } = fact else { continue };
            let beyond = |times| self.increases >= ENOUGH && bytes > self.largest.saturating_mul(times);
            let refuted = match doubt {
                Doubt::Narrow => wide || beyond(WRAP),
                Doubt::Wide => beyond(WRAP),
                Doubt::FromZero => beyond(LEAP),
            };
            if refuted {
                self.tally.resets += 1;
                facts.push(Fact::Unknown { from, to, why: "counter reset" });
            } else {
                self.tally.wraps += u64::from(doubt != Doubt::FromZero);
                self.accept(fact, facts);
            }
        }
    }
}

/// Whether so many bytes are more than a line carries in so many nanoseconds: a tenth is allowed for polls that come a
/// little late, and a second for stamps of whole ones.
fn exceeds(bytes: u64, ns: i64, line: f64) -> bool {
    bytes as f64 * 8e9 > line * (ns as f64 * 1.1 + 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { gap: 30, line: None };

    /// The bytes of each interval of 10 ns; `None` where unknown.
    fn told(bits: Option<u8>, values: &[Option<u64>]) -> Vec<Option<u64>> {
        limited(bits, values, &LIMITS).0
    }

    fn limited(bits: Option<u8>, values: &[Option<u64>], limits: &Limits) -> (Vec<Option<u64>>, Tally) {
        let (mut course, mut facts) = (Course::new(bits), Vec::new());
        for (at, value) in (0_i64..).step_by(10).zip(values) {
            course.poll(at, value.map(|bytes| Reading { bytes, packets: 0 }), limits, &mut facts);
        }
        course.finish(limits, &mut facts);
        let mut bins = vec![None; values.len() - 1];
        for fact in facts {
            if let Fact::Carried { from, bytes, long: false, .. } = fact {
                assert_eq!(bins[(from / 10) as usize].replace(bytes), None, "told twice");
            }
        }
        (bins, course.tally)
    }

    fn all(values: &[u64]) -> Vec<Option<u64>> {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn wraps_and_resets_are_told_apart() {
        assert_eq!(step(5, 9, false), Move::By(4));
        assert_eq!(step(u64::from(u32::MAX), 0, false), Move::Wrapped(1));
        assert_eq!(step(3_000_000_000, 100_000_000, false), Move::Wrapped(1_394_967_296));
        assert_eq!(step(1_000_000, 500, false), Move::Reset);
        assert_eq!(step(u64::MAX - 1, 3, true), Move::Wrapped(5));
        assert_eq!(step(1 << 40, 3, true), Move::Reset);
        assert_eq!(step(1 << 40, 3, false), Move::Wrapped(3));
    }

    #[test]
    fn a_counter_that_needs_64_bits_later_never_wrapped_at_32() {
        let values = [2_900_000_000, 3_000_000_000, 50_000_000, 150_000_000, 4_000_000_000, 5_000_000_000];
        let known = told(None, &all(&values));
        assert_eq!(known[1], None);
        // The same counter, if it stays below: the increase of a wrap is as large as others.
        assert_eq!(told(None, &all(&values[..5]))[1], Some((1 << 32) - 2_950_000_000));
        assert_eq!(told(Some(64), &all(&values[..5]))[1], None);
    }

    #[test]
    fn a_wrap_has_the_size_of_other_increases() {
        let reset: Vec<u64> = (0..20).map(|i| 2_999_900_000 + i * 10_000).chain((0..20).map(|i| i * 10_000)).collect();
        assert_eq!(told(None, &all(&reset))[19], None);
        let wrap: Vec<u64> = (0..40_u64).map(|i| (4_294_000_000 + i * 100_000) % (1 << 32)).collect();
        assert_eq!(told(None, &all(&wrap)), vec![Some(100_000); 39]);
        assert_eq!(told(Some(32), &all(&reset))[19], Some((1 << 32) - 3_000_090_000));
    }

    #[test]
    fn a_poll_off_the_course_is_unknown() {
        let course = |wrong: &[(usize, u64)]| {
            let mut values: Vec<u64> = (0..12).map(|i| 7_000_000_000_000 + i * 100).collect();
            for (place, value) in wrong {
                values[*place] = *value;
            }
            told(None, &all(&values))
        };
        let holes = |places: &[usize]| (0..11).map(|i| (!places.contains(&i)).then_some(100)).collect::<Vec<_>>();
        assert_eq!(course(&[(5, 0)]), holes(&[4, 5]));
        assert_eq!(course(&[(5, 17)]), holes(&[4, 5]));
        assert_eq!(course(&[(5, u64::MAX / 3)]), holes(&[4, 5]));
        assert_eq!(course(&[(5, 0), (6, 0)]), holes(&[4, 5, 6]));
        assert_eq!(course(&[(0, 0)]), holes(&[0]));
        assert_eq!(course(&[(11, 0)]), holes(&[10]));
        assert_eq!(course(&[(10, 0), (11, 0)]), holes(&[9, 10]));
        // A device that starts counts from zero on, and nothing is nothing.
        let values = [900, 1000, 0, 0, 0, 50, 150];
        assert_eq!(told(None, &all(&values)), [Some(100), None, Some(0), Some(0), Some(50), Some(100)]);
    }

    #[test]
    fn failed_polls_are_unknown_and_keep_the_volume_around_them() {
        let (known, tally) = limited(None, &[Some(0), Some(10), None, Some(30), Some(40)], &LIMITS);
        assert_eq!((known, tally.failed, tally.lost), (vec![Some(10), None, None, Some(10)], 1, 1));
    }

    #[test]
    fn what_the_line_cannot_carry_is_unknown() {
        // 10 ns and the second that is allowed: 125 bytes at 1 kb/s.
        let limits = Limits { gap: 30, line: Some(1000.0) };
        let (known, tally) = limited(None, &all(&[0, 100, 200, 400, 500]), &limits);
        assert_eq!((known, tally.impossible), (vec![Some(100), Some(100), None, Some(100)], 1));
    }
}
