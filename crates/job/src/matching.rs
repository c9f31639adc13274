//! Which receive gets which message.
//!
//! As in MPI: messages do not overtake each other. A receive gets the first message sent to its rank that it may take and no earlier
//! receive has got; the order of messages is that in which they were sent, whatever the order in which they arrive. Where ranks differ,
//! the order is that of the simulated clock.

use crate::job::{Job, Op};
use std::collections::{BTreeMap, VecDeque};

/// One message at one of its receivers.
pub(crate) type Delivery = u32;

/// Deliveries and receives that wait for each other.
#[derive(Clone, Debug, Default)]
struct Waiting {
    deliveries: VecDeque<(u32, u32, Delivery)>,
    receives: VecDeque<(Option<u32>, Option<u32>, Op)>,
}

/// All that wait, by receiving rank, and by sender and tag where all receives of the rank name both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matcher {
    /// Of each rank: whether one of its receives takes messages of any rank, or with any tag.
    any: Vec<bool>,
    waiting: BTreeMap<(u32, u32, u32), Waiting>,
}

impl Matcher {
    pub(crate) fn new(job: &Job) -> Self {
        Self { any: job.wildcards(), waiting: BTreeMap::new() }
    }

    fn key(&self, to: u32, from: Option<u32>, tag: Option<u32>) -> (u32, u32, u32) {
        if self.any[to as usize] { (to, 0, 0) } else { (to, from.unwrap_or(0), tag.unwrap_or(0)) }
    }

    /// A message has been sent. The receive that gets it, if there is one by now.
    pub(crate) fn sent(&mut self, to: u32, from: u32, tag: u32, delivery: Delivery) -> Option<Op> {
        let key = self.key(to, Some(from), Some(tag));
        let waiting = self.waiting.entry(key).or_default();
        let takes =
            |(f, t, _): &(Option<u32>, Option<u32>, Op)| f.is_none_or(|f| f == from) && t.is_none_or(|t| t == tag);
        let found = waiting.receives.iter().position(takes);
        if found.is_none() {
            waiting.deliveries.push_back((from, tag, delivery));
        }
        let receive = found.and_then(|place| waiting.receives.remove(place)).map(|(_, _, op)| op);
        self.forget_if_empty(key);
        receive
    }

    /// A receive has started. The message that it gets, if one has been sent by now.
    pub(crate) fn posted(&mut self, to: u32, from: Option<u32>, tag: Option<u32>, receive: Op) -> Option<Delivery> {
        let key = self.key(to, from, tag);
        let waiting = self.waiting.entry(key).or_default();
        let fits =
            |&(f, t, _): &(u32, u32, Delivery)| from.is_none_or(|from| from == f) && tag.is_none_or(|tag| tag == t);
        let found = waiting.deliveries.iter().position(fits);
        if found.is_none() {
            waiting.receives.push_back((from, tag, receive));
        }
        let delivery = found.and_then(|place| waiting.deliveries.remove(place)).map(|(_, _, delivery)| delivery);
        self.forget_if_empty(key);
        delivery
    }

    fn forget_if_empty(&mut self, key: (u32, u32, u32)) {
        if self.waiting.get(&key).is_some_and(|w| w.deliveries.is_empty() && w.receives.is_empty()) {
            self.waiting.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(any: bool) -> Matcher {
        Matcher { any: vec![any; 4], waiting: BTreeMap::new() }
    }

    #[test]
    fn messages_do_not_overtake() {
        for any in [false, true] {
            let mut m = matcher(any);
            assert_eq!(m.sent(1, 0, 7, 10), None);
            assert_eq!(m.sent(1, 0, 7, 11), None);
            assert_eq!(m.posted(1, Some(0), Some(8), 3), None, "another tag");
            assert_eq!(m.posted(1, Some(2), Some(7), 4), None, "another sender");
            assert_eq!(m.posted(1, Some(0), Some(7), 5), Some(10));
            assert_eq!(m.posted(1, Some(0), Some(7), 6), Some(11));
            assert_eq!(m.posted(1, Some(0), Some(7), 7), None);
            assert_eq!(m.sent(1, 0, 7, 12), Some(7));
            assert_eq!(m.sent(1, 2, 7, 13), Some(4));
            assert_eq!(m.sent(1, 0, 8, 14), Some(3));
            assert!(m.waiting.is_empty());
        }
    }

    #[test]
    fn a_receive_from_anybody_takes_what_was_sent_first() {
        let mut m = matcher(true);
        assert_eq!(m.sent(1, 3, 5, 10), None);
        assert_eq!(m.sent(1, 0, 7, 11), None);
        assert_eq!(m.posted(1, None, Some(7), 1), Some(11));
        assert_eq!(m.posted(1, None, None, 2), Some(10));
        assert_eq!(m.posted(1, Some(2), None, 3), None);
        assert_eq!(m.posted(1, None, None, 4), None);
        assert_eq!(m.sent(1, 2, 1, 12), Some(3), "the earlier receive");
        assert_eq!(m.sent(1, 2, 1, 13), Some(4));
    }
}
