//! Which receive gets which message.
//!
//! As in MPI: messages do not overtake each other. A receive gets the first message sent to its rank that it may take and no earlier
//! receive has got; the order of messages is that in which they were sent, whatever the order in which they arrive. Where ranks differ,
//! the order is that of the simulated clock.

use crate::job::{Job, Op};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One message at one of its receivers.
pub(crate) type Delivery = u32;

/// Receiver, sender and tag; only the receiver, where one of its receives takes messages of any rank, or with any tag.
type Key = (u32, u32, u32);

/// A receive that waits for its message. A collective may start millions of them at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Posted {
    key: Key,
    /// Receives that started before it.
    order: u32,
    op: Op,
}

/// All that wait for each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matcher {
    /// Of each rank: whether one of its receives takes messages of any rank, or with any tag.
    any: Vec<bool>,
    /// Messages, with sender and tag, in the order in which they were sent.
    deliveries: BTreeMap<Key, VecDeque<(u32, u32, Delivery)>>,
    receives: BTreeSet<Posted>,
    /// How many receives have started.
    posted: u32,
    /// The sender and the tag that receives ask for, where the key does not tell.
    asked: BTreeMap<Op, (Option<u32>, Option<u32>)>,
}

impl Matcher {
    pub(crate) fn new(job: &Job) -> Self {
        Self { any: job.wildcards(), ..Self::default() }
    }

    fn key(&self, to: u32, from: Option<u32>, tag: Option<u32>) -> Key {
        if self.any[to as usize] { (to, 0, 0) } else { (to, from.unwrap_or(0), tag.unwrap_or(0)) }
    }

    /// A message has been sent. The receive that gets it, if there is one by now.
    pub(crate) fn sent(&mut self, to: u32, from: u32, tag: u32, delivery: Delivery) -> Option<Op> {
        let key = self.key(to, Some(from), Some(tag));
        let takes = |posted: &&Posted| {
            let (f, t) = self.asked.get(&posted.op).copied().unwrap_or_default();
            f.is_none_or(|f| f == from) && t.is_none_or(|t| t == tag)
        };
        let first = Posted { key, order: 0, op: 0 };
        let found = self.receives.range(first..).take_while(|posted| posted.key == key).find(takes).copied();
        let Some(posted) = found else {
            self.deliveries.entry(key).or_default().push_back((from, tag, delivery));
            return None;
        };
        self.receives.remove(&posted);
        self.asked.remove(&posted.op);
        Some(posted.op)
    }

    /// A receive has started. The message that it gets, if one has been sent by now.
    pub(crate) fn posted(&mut self, to: u32, from: Option<u32>, tag: Option<u32>, receive: Op) -> Option<Delivery> {
        let key = self.key(to, from, tag);
        let fits =
            |&(f, t, _): &(u32, u32, Delivery)| from.is_none_or(|from| from == f) && tag.is_none_or(|tag| tag == t);
        let waiting = self.deliveries.get_mut(&key);
        let found = waiting.and_then(|waiting| waiting.remove(waiting.iter().position(fits)?));
        let Some((_, _, delivery)) = found else {
            self.posted += 1;
            self.receives.insert(Posted { key, order: self.posted, op: receive });
            if self.any[to as usize] {
                self.asked.insert(receive, (from, tag));
            }
            return None;
        };
        if self.deliveries.get(&key).is_some_and(VecDeque::is_empty) {
            self.deliveries.remove(&key);
        }
        Some(delivery)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(any: bool) -> Matcher {
        Matcher { any: vec![any; 4], ..Matcher::default() }
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
            assert!(m.deliveries.is_empty() && m.receives.is_empty() && m.asked.is_empty());
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
