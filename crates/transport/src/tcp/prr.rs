//! Proportional Rate Reduction (RFC 9937, which obsoletes RFC 6937): how much may be sent in recovery.
//!
//! Over a recovery the bytes sent are to the bytes delivered as `ssthresh` is to what was in flight, so that the window comes
//! down evenly, whichever control has chosen `ssthresh`. What was lost beyond that is made up for by conservative reduction
//! (CRB: no more is sent than was delivered), or, while recovery makes progress, by slow start (SSRB: a segment more for
//! each ACK).
//!
//! It counts bytes; which segments leave is the sender's business, as everywhere. Linux counts segments, and reduces in proportion for
//! congestion echoes, too (`tcp_cwnd_reduction` of 6.1).

/// State of §6.
#[derive(Clone, Debug)]
pub(super) struct ProportionalRateReduction {
    /// `prr_delivered`, `prr_out` and `RecoverFS`.
    delivered: u64,
    out: u64,
    recover_flight: u64,
    ssthresh: u64,
    mss: u64,
    /// Bytes that it counts at once.
    unit: u64,
    /// Without SACK: bytes beyond the cumulative ACK of whose arrival duplicate ACKs have told.
    duplicated: u64,
}

/// What an ACK in recovery says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    /// `DeliveredData`: bytes newly acknowledged, cumulatively or selectively.
    pub(super) delivered: u64,
    /// Bytes estimated to be in the network.
    pub(super) in_flight: u64,
    /// `SafeACK`: everything up to a higher offset has arrived, and no further loss was found.
    pub(super) safe: bool,
}

impl ProportionalRateReduction {
    /// At the start of a recovery that is to end with `ssthresh` in flight. `recover_flight`: bytes in flight before the ACK
    /// that began it, without those whose arrival was known (§6.1).
    pub(super) fn new(recover_flight: u64, ssthresh: u64, mss: u64) -> Self {
        let recover_flight = recover_flight.max(mss);
        Self { delivered: 0, out: 0, recover_flight, ssthresh, mss, unit: 1, duplicated: 0 }
    }

    /// The same as Linux counts, whose share of a segment is a whole one.
    pub(super) fn in_segments(self) -> Self {
        Self { unit: self.mss, ..self }
    }

    /// It is to end with so many bytes in flight instead.
    pub(super) fn aim_at(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh;
    }

    /// The same for a connection without SACK, where recovery began after duplicate ACKs that stand for this many bytes.
    pub(super) fn without_sack(self, duplicated: u64) -> Self {
        Self { duplicated, ..self }
    }

    /// Without SACK, a duplicate ACK: the bytes that it delivers. A receiver that sends more of them than there were segments
    /// would otherwise set the rate (§6.2).
    pub(super) fn on_duplicate(&mut self) -> u64 {
        if self.delivered >= self.recover_flight {
            return 0;
        }
        self.duplicated += self.mss;
        self.mss
    }

    /// Without SACK, an ACK of `bytes` bytes that leaves others unacknowledged: those that it delivers. What duplicate ACKs have
    /// told of is not delivered again (§6.2); the repeated segment is.
    pub(super) fn on_partial_ack(&mut self, bytes: u64) -> u64 {
        let known = self.duplicated.min(bytes.saturating_sub(self.mss));
        self.duplicated -= known;
        bytes - known
    }

    /// Without SACK: bytes that are unacknowledged but have left the network.
    pub(super) fn duplicated(&self) -> u64 {
        self.duplicated
    }

    /// `SndCnt`: bytes that may be sent now. For every ACK of the recovery, that which began it included.
    pub(super) fn on_ack(&mut self, ack: &Feedback) -> u64 {
        self.delivered += ack.delivered;
        let may_send = if ack.in_flight > self.ssthresh {
            // In 128 bits: both factors may be a window of many GB.
            let product = u128::from(self.delivered) * u128::from(self.ssthresh);
            let share = product.div_ceil(u128::from(self.recover_flight)) as u64;
            share.next_multiple_of(self.unit).saturating_sub(self.out)
        } else {
            let conservative = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let bound = conservative + if ack.safe { self.mss } else { 0 };
            bound.min(self.ssthresh - ack.in_flight)
        };
        // The fast retransmission itself always leaves.
        if self.out == 0 { may_send.max(self.mss) } else { may_send }
    }

    /// Bytes leave, new or repeated.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 1000;

    /// ACK by ACK until everything outstanding at the start is delivered or lost: bytes sent after each. Every ACK delivers
    /// a segment, and what may be sent is sent in whole segments.
    fn recover(flight: u64, lost: u64, ssthresh: u64) -> (Vec<u64>, u64) {
        let mut prr = ProportionalRateReduction::new(flight * MSS, ssthresh * MSS, MSS);
        let mut in_flight = (flight - lost) * MSS;
        let (mut sent, mut total) = (Vec::new(), 0);
        for _ in 0..flight - lost {
            in_flight -= MSS;
            let mut may_send = prr.on_ack(&Feedback { delivered: MSS, in_flight, safe: false });
            let mut now = 0;
            while may_send >= MSS {
                may_send -= MSS;
                now += MSS;
                prr.on_sent(MSS);
            }
            in_flight += now;
            total += now;
            sent.push(now / MSS);
        }
        (sent, total)
    }

    /// RFC 9937 §5 (figure of a single loss): 20 in flight, one lost, the window is halved: one segment for every two
    /// that are delivered, from the first ACK on, and never a burst.
    #[test]
    fn a_halved_window_sends_on_every_other_ack() {
        let (sent, total) = recover(20, 1, 10);
        assert!(sent.iter().all(|&n| n <= 1), "{sent:?}");
        // At the end less than ssthresh would be left: the forced first segment counted against the proportion.
        assert!(sent[..17].windows(3).all(|w| (1..=2).contains(&w.iter().sum::<u64>())), "{sent:?}");
        assert_eq!(total, 10 * MSS, "ssthresh is in flight at the end");
    }

    /// CUBIC's 0.7: seven segments for every ten.
    #[test]
    fn the_share_is_that_of_the_control() {
        let (sent, total) = recover(100, 1, 70);
        assert!(sent.iter().all(|&n| n <= 1));
        assert!(total.abs_diff(99 * 70 * MSS / 100) <= MSS, "{total}");
    }

    /// RFC 9937 §5, burst loss: most of the window is lost, so that less is in flight than `ssthresh`: what is delivered is
    /// replaced one to one (packet conservation), not more.
    #[test]
    fn many_losses_are_replaced_one_to_one() {
        let (sent, _) = recover(20, 15, 10);
        assert_eq!(sent, [1; 5]);
    }

    /// With SSRB each safe ACK lets a segment more go, up to `ssthresh`.
    #[test]
    fn progress_fills_the_window_as_slow_start_does() {
        let mut prr = ProportionalRateReduction::new(20 * MSS, 10 * MSS, MSS);
        prr.on_sent(MSS);
        let safe = |in_flight| Feedback { delivered: MSS, in_flight, safe: true };
        assert_eq!(prr.on_ack(&safe(3 * MSS)), 2 * MSS);
        prr.on_sent(2 * MSS);
        assert_eq!(prr.on_ack(&safe(9 * MSS)), MSS, "not beyond ssthresh");
    }

    /// Without SACK: twenty in flight, two lost. What the duplicate ACKs told of counts once.
    #[test]
    fn duplicates_count_once_and_no_more_than_there_were_segments() {
        let mut prr = ProportionalRateReduction::new(18 * MSS, 10 * MSS, MSS).without_sack(3 * MSS);
        let ack = |prr: &mut ProportionalRateReduction, delivered| {
            prr.on_ack(&Feedback { delivered, in_flight: 0, safe: false })
        };
        ack(&mut prr, MSS);
        for _ in 0..15 {
            let delivered = prr.on_duplicate();
            assert_eq!(delivered, MSS);
            ack(&mut prr, delivered);
        }
        assert_eq!(prr.duplicated(), 18 * MSS);
        let delivered = prr.on_partial_ack(10 * MSS);
        assert_eq!((delivered, prr.duplicated()), (MSS, 9 * MSS), "nine were known, the repeated one was not");
        ack(&mut prr, delivered);
        let more: u64 = (0..100)
            .map(|_| {
                let d = prr.on_duplicate();
                ack(&mut prr, d);
                d
            })
            .sum();
        assert_eq!(more, MSS, "a receiver cannot make up deliveries");
    }

    proptest! {
        /// §7: over a recovery at most as much is sent as was delivered, and a segment for each safe ACK and the fast
        /// retransmission; while more than ssthresh is in flight, what was sent is in proportion to what was delivered, to
        /// within a segment; and once no more than ssthresh is, there never is again.
        #[test]
        fn what_is_sent_is_bounded_by_what_was_delivered(
            flight in 4..500_u64, share in 0.1..1.0_f64, acks in prop::collection::vec((0..4_u64, any::<bool>()), 1..600),
        ) {
            let ssthresh = ((flight as f64 * share) as u64).max(2);
            let mut prr = ProportionalRateReduction::new(flight * MSS, ssthresh * MSS, MSS);
            let (mut in_flight, mut delivered, mut sent, mut safe_acks) = (flight * MSS, 0, 0, 0);
            for (segments, safe) in acks {
                let data = (segments * MSS).min(in_flight);
                if data == 0 {
                    continue;
                }
                (in_flight, delivered) = (in_flight - data, delivered + data);
                let was = in_flight;
                let may_send = prr.on_ack(&Feedback { delivered: data, in_flight, safe }) / MSS * MSS;
                safe_acks += u64::from(safe && was <= ssthresh * MSS);
                let first = sent == 0;
                prr.on_sent(may_send);
                (in_flight, sent) = (in_flight + may_send, sent + may_send);
                prop_assert!(sent <= delivered + (safe_acks + 1) * MSS, "{sent} {delivered}");
                if was > ssthresh * MSS {
                    let due = delivered * ssthresh / flight;
                    prop_assert!(sent <= due + MSS && sent + 2 * MSS > due, "{sent} of {due}");
                } else if !first {
                    prop_assert!(in_flight <= ssthresh * MSS);
                }
            }
        }
    }
}
