//! Which tokens a receiver gives out for one flow, and when it gives none.

use super::PhostConfig;
use crate::arrived::Arrived;
use crate::units::{Duration, Time};

/// A token to be given: its number, and the packet that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) number: u64,
    pub(super) seq: u64,
}

/// The tokens of one flow.
#[derive(Clone, Debug)]
pub(super) struct Issue {
    /// Tokens that were given, free ones included, and how many of them before it waits for what is missing.
    given: u64,
    goal: u64,
    /// Tokens below this one were answered, or are given up.
    answered: u64,
    /// As many may be unanswered.
    window: u64,
    /// The packet that the next token is for, if it is missing.
    next: u64,
    /// When the last token was given.
    last: Time,
    /// Until then it waits for packets, as there is a token for each that is missing; then it gives others for them.
    waits_until: Option<Time>,
    reissues: bool,
    reissue_timeout: Duration,
}

impl Issue {
    /// Of a flow of which nothing is known yet.
    pub(super) fn new(config: &PhostConfig) -> Self {
        Self {
            given: 0,
            goal: 0,
            answered: 0,
            window: u64::from(config.window),
            next: 0,
            last: Time::ZERO,
            waits_until: None,
            reissues: false,
            reissue_timeout: config.reissue_timeout(0),
        }
    }

    /// The flow has so many packets and its sender `free` tokens; if these are all, their packets are there after `all_free`.
    pub(super) fn open(&mut self, now: Time, packets: u64, free: u64, all_free: Duration) {
        (self.given, self.next, self.goal, self.last) = (free, free, packets, now);
        self.waits_until = (free == packets).then_some(now + all_free);
    }

    /// A packet has come for this token.
    pub(super) fn on_answer(&mut self, number: u64) {
        self.answered = self.answered.max(number.saturating_add(1).min(self.given));
    }

    /// Whether a whole window of tokens is not answered: the gap rule.
    fn is_downgraded(&self) -> bool {
        self.given - self.answered >= self.window
    }

    /// Whether it may give a token.
    pub(super) fn is_open(&self) -> bool {
        self.waits_until.is_none() && !self.is_downgraded()
    }

    /// When it may give one again, if nothing arrives; a downgrade lasts for `downgrade`.
    pub(super) fn deadline(&self, downgrade: Duration) -> Option<Time> {
        let downgraded = self.is_downgraded().then(|| self.last + downgrade);
        self.waits_until.into_iter().chain(downgraded).max()
    }

    /// That time has come. Returns whether packets are taken for lost.
    pub(super) fn on_deadline(&mut self) -> bool {
        let lost = self.waits_until.take().is_some();
        self.reissues |= lost;
        if self.is_downgraded() {
            // All but one place of the window remain taken: one token to find out whether its sender answers.
            self.answered = self.given + 1 - self.window;
        }
        lost
    }

    /// The next token: for the next packet that is missing, round and round.
    pub(super) fn give(&mut self, now: Time, arrived: &Arrived, packets: u64) -> Given {
        if std::mem::take(&mut self.reissues) {
            self.goal = self.given + (packets - arrived.count());
        }
        let from_next = arrived.gap(self.next, packets).map(|(start, _)| start);
        let given = Given { number: self.given, seq: from_next.unwrap_or_else(|| arrived.base()) };
        (self.given, self.last) = (self.given + 1, now);
        self.next = if given.seq + 1 == packets { 0 } else { given.seq + 1 };
        self.waits_until = (self.given == self.goal).then_some(now + self.reissue_timeout);
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Duration = Duration::from_ns(1200);
    /// Three windows of eight packets, and one.
    const DOWNGRADE: Duration = Duration::from_us(30);

    fn issue(packets: u64, free: u64) -> Issue {
        let mut issue = Issue::new(&PhostConfig::default());
        issue.open(Time::ZERO, packets, free, PACKET * 2 * free);
        issue
    }

    /// Gives tokens, one for each packet time, until it may give no more: for which packets.
    fn give(issue: &mut Issue, from: Time, arrived: &Arrived, packets: u64) -> Vec<u64> {
        let mut now = from;
        let mut seqs = Vec::new();
        while issue.is_open() {
            seqs.push(issue.give(now, arrived, packets).seq);
            now += PACKET;
        }
        seqs
    }

    #[test]
    fn a_silent_source_gets_a_window_of_tokens_and_then_one_for_each_downgrade() {
        let (mut issue, arrived) = (issue(100, 0), Arrived::default());
        assert_eq!(give(&mut issue, Time::ZERO, &arrived, 100), [0, 1, 2, 3, 4, 5, 6, 7]);
        let mut last = Time::ZERO + PACKET * 7;
        for n in 8..11 {
            assert_eq!(issue.deadline(DOWNGRADE), Some(last + DOWNGRADE));
            last += DOWNGRADE;
            assert!(!issue.on_deadline());
            assert_eq!(give(&mut issue, last, &arrived, 100), [n]);
        }
        // An answer to any of them, though to an old one, moves the window.
        issue.on_answer(9);
        assert_eq!(give(&mut issue, last, &arrived, 100), [11, 12, 13, 14, 15, 16, 17]);
    }

    #[test]
    fn what_is_missing_gets_other_tokens_after_a_window() {
        let (mut issue, mut arrived) = (issue(4, 0), Arrived::default());
        assert_eq!(give(&mut issue, Time::ZERO, &arrived, 4), [0, 1, 2, 3]);
        for seq in [0, 2] {
            arrived.insert(seq);
            issue.on_answer(seq);
        }
        assert_eq!((issue.is_open(), issue.deadline(DOWNGRADE)), (false, Some(Time::ZERO + PACKET * (3 + 9))));
        assert!(issue.on_deadline());
        assert_eq!(give(&mut issue, Time::ZERO + PACKET * 12, &arrived, 4), [1, 3]);
        assert_eq!(issue.deadline(DOWNGRADE), Some(Time::ZERO + PACKET * (13 + 9)), "and so on");
    }

    #[test]
    fn free_tokens_count_as_given_and_their_packets_are_waited_for() {
        let (mut issue, mut arrived) = (issue(3, 3), Arrived::default());
        assert_eq!((issue.is_open(), issue.deadline(DOWNGRADE)), (false, Some(Time::ZERO + PACKET * 6)));
        arrived.insert(1);
        issue.on_answer(1);
        assert!(issue.on_deadline());
        assert_eq!(give(&mut issue, Time::ZERO + PACKET * 6, &arrived, 3), [0, 2]);
    }

    #[test]
    fn a_token_that_was_never_given_answers_nothing_more() {
        let (mut issue, arrived) = (issue(100, 0), Arrived::default());
        issue.on_answer(u64::MAX);
        assert_eq!(give(&mut issue, Time::ZERO, &arrived, 100).len(), 8);
    }
}
