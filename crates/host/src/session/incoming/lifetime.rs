//! The phase of a session that receives, and when the session ends without progress.

use anabranch_transport::{Duration, Time};

use crate::session::Bounds;
use crate::wire::{Answer, Held, Refusal};

/// Phase of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Servers are asked.
    Asking,
    /// The application has to decide.
    Offered,
    /// The application reads a file in order to decide.
    Deferred,
    /// Symbols are received.
    Receiving,
    /// All bytes have been handed over, but nothing shows yet that their sender is there now.
    Confirming,
    /// All bytes have been handed over, and the application compares their hash.
    Checking,
    /// The application has decided; senders that ask are told.
    Closed(Ending),
    /// The session has failed.
    Failed,
}

/// The application's decision, which senders are told at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has compared the hash: whether it is right.
    Verified(bool),
    /// It has the object already.
    Had,
    /// It does not want it.
    Refused(Refusal),
    /// It ends the session.
    Cancelled,
    /// The path carries datagrams of at most so many bytes, and the session has larger ones.
    Narrow(u16),
}

/// The phase, and the times that end it.
#[derive(Debug)]
pub(super) struct Lifetime {
    phase: Phase,
    bounds: Bounds,
    /// How long senders are answered that ask how the session ended, since the last one asked.
    linger: Duration,
    /// When it last made progress.
    progress: Time,
    /// When the offer, or a question about it, last arrived; `None` if the object was asked for.
    offered_at: Option<Time>,
    /// What the application says that it has read in order to decide.
    read: u64,
    /// After the end: when the session is forgotten, and the latest time for that however often senders ask.
    forget_at: Option<Time>,
    forget_by: Time,
}

impl Lifetime {
    /// For an object that is offered.
    pub(super) fn offered(now: Time, bounds: Bounds, linger: Duration) -> Self {
        Self { offered_at: Some(now), ..Self::new(now, Phase::Offered, bounds, linger) }
    }

    /// For an object that is asked for.
    pub(super) fn asking(now: Time, bounds: Bounds, linger: Duration) -> Self {
        Self::new(now, Phase::Asking, bounds, linger)
    }

    fn new(now: Time, phase: Phase, bounds: Bounds, linger: Duration) -> Self {
        Self { phase, bounds, linger, progress: now, offered_at: None, read: 0, forget_at: None, forget_by: now }
    }

    pub(super) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether the application has decided.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    /// The answer to an offer.
    pub(super) fn answer(&self, largest_packet: u16) -> Answer {
        match &self.phase {
            Phase::Closed(Ending::Refused(refusal)) => Answer::Refuse(refusal.clone()),
            Phase::Closed(Ending::Had) => Answer::AcceptOffer { largest_packet, held: Held::All },
            Phase::Deferred => Answer::Wait { read: self.read },
            _ => Answer::AcceptOffer { largest_packet, held: Held::None },
        }
    }

    /// How long the session lasts while nothing shows that a sender is there.
    pub(super) fn give_up_after(&self) -> Duration {
        self.bounds.give_up_after
    }

    /// The next phase begins.
    pub(super) fn enter(&mut self, now: Time, phase: Phase) {
        (self.phase, self.progress) = (phase, now);
    }

    /// The session has made progress.
    pub(super) fn on_progress(&mut self, now: Time) {
        self.progress = now;
    }

    /// The application has read more in order to decide.
    pub(super) fn on_work(&mut self, now: Time, read: u64) {
        if self.phase == Phase::Deferred && read > self.read {
            (self.read, self.progress) = (read, now);
        }
    }

    /// The offer has arrived again, or its sender asks what has become of it.
    pub(super) fn on_repeated_offer(&mut self, now: Time) {
        self.offered_at = self.offered_at.map(|_| now);
    }

    /// The application has decided. From now on the session only repeats how it ended, for as long as that may be lost and asked for again.
    pub(super) fn close(&mut self, now: Time, ending: Ending) {
        self.phase = Phase::Closed(ending);
        self.forget_at = Some(now + self.linger);
        self.forget_by = now + self.linger + self.bounds.give_up_after;
    }

    /// A sender asks how the session ended. A sender that asks forever does not keep the session forever.
    pub(super) fn on_question(&mut self, now: Time) {
        self.forget_at = Some((now + self.linger).min(self.forget_by));
    }

    /// The session has failed.
    pub(super) fn fail(&mut self, now: Time) {
        self.phase = Phase::Failed;
        self.forget(now);
    }

    /// No sender will ask how the session ended.
    pub(super) fn forget(&mut self, now: Time) {
        self.forget_at = Some(now);
    }

    /// Whether the session is forgotten.
    pub(super) fn is_forgotten(&self, now: Time) -> bool {
        self.forget_at.is_some_and(|at| at <= now)
    }

    /// Whether the session is to fail for lack of progress.
    pub(super) fn is_stalled(&self, now: Time) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }

    /// When something is due.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.forget_at.into_iter().chain(self.deadline()).min()
    }

    /// When the session ends without progress.
    fn deadline(&self) -> Option<Time> {
        let unproven = match &self.phase {
            Phase::Closed(_) | Phase::Failed => return None,
            Phase::Offered | Phase::Deferred => self.offered_at,
            Phase::Confirming => Some(self.progress),
            Phase::Asking | Phase::Receiving | Phase::Checking => None,
        };
        Some(self.bounds.deadline(self.progress, unproven))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { give_up_after: Duration::from_secs(10), stall_after: Duration::from_secs(300) };
    const LINGER: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn an_offer_is_kept_while_it_comes_again_and_not_for_ever() {
        let mut offered = Lifetime::offered(at(0), BOUNDS, LINGER);
        assert_eq!(offered.poll_timeout(), Some(at(10)));
        for second in 1..400 {
            offered.on_repeated_offer(at(second));
            assert_eq!(offered.is_stalled(at(second + 9)), second >= 291, "{second}");
        }
        let mut asking = Lifetime::asking(at(0), BOUNDS, LINGER);
        asking.on_repeated_offer(at(1));
        assert_eq!(asking.poll_timeout(), Some(at(300)), "nobody offers it");
    }

    #[test]
    fn each_step_gives_more_time_and_a_sender_that_is_gone_little() {
        let mut lifetime = Lifetime::asking(at(0), BOUNDS, LINGER);
        lifetime.enter(at(7), Phase::Receiving);
        assert_eq!(lifetime.poll_timeout(), Some(at(307)));
        lifetime.on_progress(at(8));
        assert_eq!(lifetime.poll_timeout(), Some(at(308)));
        lifetime.enter(at(9), Phase::Confirming);
        assert_eq!(lifetime.poll_timeout(), Some(at(19)));
        assert!(lifetime.is_stalled(at(19)) && !lifetime.is_forgotten(at(19)));
        lifetime.fail(at(19));
        assert!(lifetime.is_forgotten(at(19)) && !lifetime.is_stalled(at(1000)));
    }

    #[test]
    fn who_reads_in_order_to_decide_has_time_while_it_reads_more_and_is_asked() {
        let mut lifetime = Lifetime::offered(at(0), BOUNDS, LINGER);
        lifetime.enter(at(1), Phase::Deferred);
        for second in 2..1000 {
            lifetime.on_repeated_offer(at(second));
            lifetime.on_work(at(second), second);
            assert_eq!(lifetime.answer(1472), Answer::Wait { read: second });
            assert_eq!(lifetime.poll_timeout(), Some(at(second + 10)), "nobody asks any more");
        }
        for second in 1000..2000 {
            lifetime.on_repeated_offer(at(second));
            lifetime.on_work(at(second), 999);
            assert_eq!(lifetime.is_stalled(at(second)), second >= 999 + 300, "{second}");
        }
    }

    #[test]
    fn questions_about_the_end_are_answered_for_some_time() {
        let mut lifetime = Lifetime::asking(at(0), BOUNDS, LINGER);
        lifetime.close(at(5), Ending::Verified(true));
        assert!(lifetime.is_closed() && !lifetime.is_stalled(at(1000)));
        let answered = (5..100).take_while(|&second| {
            lifetime.on_question(at(second));
            !lifetime.is_forgotten(at(second))
        });
        assert_eq!(answered.count(), 11, "one second, and ten more");
    }
}
