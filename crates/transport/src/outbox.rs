//! What an endpoint has to send or to report and has not been asked for yet.

use std::collections::VecDeque;

/// A queue in which nearly always one item waits at most: the first needs no memory of its own.
#[derive(Clone, Debug)]
pub(crate) struct Outbox<T> {
    first: Option<T>,
    others: VecDeque<T>,
}

impl<T> Default for Outbox<T> {
    fn default() -> Self {
        Self { first: None, others: VecDeque::new() }
    }
}

impl<T> Outbox<T> {
    /// Puts an item behind all others.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        match self.first {
            None => self.first = Some(item),
            Some(_) => self.others.push_back(item),
        }
    }

    /// Takes the oldest.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let oldest = self.first.take();
        if !self.others.is_empty() {
            self.first = self.others.pop_front();
        }
        oldest
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
            let (mut outbox, mut queue) = (Outbox::default(), VecDeque::new());
            for step in steps {
                match step {
                    Some(item) => {
                        outbox.push(item);
                        queue.push_back(item);
                    }
                    None => prop_assert_eq!(outbox.pop(), queue.pop_front()),
                }
            }
        }
    }
}
