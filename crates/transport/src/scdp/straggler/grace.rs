//! The time that receivers have once a quorum has the whole object.

use super::Straggler;
use crate::{Duration, Time};

/// When the receivers that are not complete are given up.
#[derive(Debug)]
pub(in crate::scdp) struct Grace {
    quorum: u32,
    lasts: Duration,
    ends: Option<Time>,
}

impl Grace {
    pub(in crate::scdp) fn new(straggler: &Straggler) -> Self {
        Self { quorum: u32::from(straggler.quorum), lasts: straggler.grace, ends: None }
    }

    /// So many receivers have the whole object, and are with the group or were.
    pub(in crate::scdp) fn observe(&mut self, now: Time, complete: u32) {
        if complete >= self.quorum {
            self.ends.get_or_insert(now + self.lasts);
        }
    }

    /// When the others are given up.
    pub(in crate::scdp) fn due(&self) -> Option<Time> {
        self.ends
    }

    /// Whether they are given up now; once.
    pub(in crate::scdp) fn is_over(&mut self, now: Time) -> bool {
        self.ends.take_if(|at| *at <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_given_up_after_the_quorum_and_the_grace() {
        let at = |us| Time::ZERO + Duration::from_us(us);
        let mut grace = Grace::new(&Straggler { grace: Duration::from_us(100), ..Straggler::default() });
        grace.observe(at(0), 1);
        assert_eq!(grace.due(), None);
        grace.observe(at(10), 2);
        grace.observe(at(50), 2);
        assert_eq!((grace.due(), grace.is_over(at(109))), (Some(at(110)), false));
        assert_eq!((grace.is_over(at(110)), grace.is_over(at(110))), (true, false));
    }
}
