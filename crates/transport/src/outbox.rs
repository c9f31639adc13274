//! What an endpoint has to send or to report and has not been asked for yet.

use smallvec::SmallVec;
use std::collections::VecDeque;

/// A queue in which nearly always up to `FEW` items wait: these need no memory of their own.
#[derive(Clone, Debug)]
pub(crate) struct Outbox<T, const FEW: usize> {
    first: SmallVec<[T; FEW]>,
    others: VecDeque<T>,
}

impl<T, const FEW: usize> Default for Outbox<T, FEW> {
    fn default() -> Self {
        Self { first: SmallVec::new(), others: VecDeque::new() }
    }
}

impl<T, const FEW: usize> Outbox<T, FEW> {
    /// Puts an item behind all others.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if self.first.len() < FEW && self.others.is_empty() {
            self.first.push(item);
        } else {
            self.others.push_back(item);
        }
    }

    /// Whether such an item waits.
    pub(crate) fn contains(&self, item: &T) -> bool
    where
        T: PartialEq,
    {
        self.first.contains(item) || self.others.contains(item)
    }

    /// Takes the oldest.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        match self.first.len() {
            0 => self.others.pop_front(),
            1 => self.first.pop(),
            _ => Some(self.first.remove(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As a queue does.
        #[test]
        fn the_oldest_comes_first(steps in prop::collection::vec(prop::option::of(any::<u8>()), 0..60)) {
            let (mut outbox, mut queue) = (Outbox::<_, 3>::default(), VecDeque::new());
            for step in steps {
                if let Some(item) = step {
                    outbox.push(item);
                    queue.push_back(item);
                } else {
                    prop_assert_eq!(outbox.pop(), queue.pop_front());
                }
                prop_assert!((0..=u8::MAX).all(|item| outbox.contains(&item) == queue.contains(&item)));
            }
        }
    }
}
