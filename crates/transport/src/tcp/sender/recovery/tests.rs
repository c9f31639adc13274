use super::super::window::CongestionWindow;
use super::*;
use crate::tcp::flow::Flow;
use crate::tcp::{Algorithm, Flags};

const MSS: u64 = 1000;

/// A sender's recovery, with the space and the window that it works on.
struct Bench {
    recovery: Recovery,
    space: SendSpace,
    window: CongestionWindow,
}

impl Bench {
    /// `sent` segments are outstanding, with a window of ten.
    fn new(config: TcpConfig, sent: u64) -> Self {
        let config = TcpConfig { packet: crate::Bytes(MSS + 40), initial_window: 10, ..config };
        let mut space = SendSpace::new(1 << 30);
        space.on_sent(sent * MSS);
        let window = CongestionWindow::new(&config);
        Self { recovery: Recovery::new(&config, window.control()), space, window }
    }

    /// Duplicate ACKs, each with these SACK blocks; returns whether the last began a recovery.
    fn duplicates(&mut self, count: u64, sacked: &[(u64, u64)]) -> bool {
        let mut segment = Segment { ack: self.space.una(), flags: Flags::ACK, ..Segment::default() };
        for &(start, end) in sacked {
            segment.push_sack(start * MSS, end * MSS);
        }
        (0..count).fold(false, |_, _| {
            let (change, is_loss) = match self.recovery.on_duplicate_ack(&segment, &self.space) {
                Meaning::NoLoss(change) => (change, false),
                Meaning::Loss { newly_sacked } => {
                    self.window.on_loss(self.recovery.take_flight(&self.space), &Flow::NEW);
                    let first_end = self.space.una() + MSS;
                    (self.recovery.begin(newly_sacked, first_end, &self.space, self.window.ssthresh(), None), true)
                }
            };
            self.window.apply(change);
            is_loss
        })
    }

    /// An ACK of everything before a segment. Whether the timer is to be restarted.
    fn ack(&mut self, segment: u64) -> bool {
        let bytes = self.space.acknowledge(segment * MSS);
        let segment = Segment { ack: segment * MSS, flags: Flags::ACK, ..Segment::default() };
        let (change, restart) = self.recovery.on_ack(&segment, bytes, &self.space);
        self.window.apply(change);
        restart
    }

    /// The first of the segment that the scoreboard sends next.
    fn next_by_sack(&mut self) -> Option<u64> {
        let (max, cwnd) = (self.space.max(), self.window.size());
        let (seq, end) = self.recovery.take_by_sack(&self.space, cwnd, Some(max + MSS), max)?;
        self.space.on_sent(end);
        Some(seq / MSS)
    }

    fn window(&self) -> u64 {
        self.window.size() / MSS
    }
}

fn newreno() -> TcpConfig {
    TcpConfig::default()
}

fn with_sack() -> TcpConfig {
    TcpConfig { sack: true, ..TcpConfig::default() }
}

#[test]
fn the_third_duplicate_begins_fast_recovery_which_repairs_a_hole_per_partial_ack() {
    let mut bench = Bench::new(newreno(), 10);
    assert!(!bench.duplicates(2, &[]) && bench.recovery.is_open());
    assert!(bench.duplicates(1, &[]) && bench.recovery.take_first() && !bench.recovery.take_first());
    assert_eq!((bench.window(), bench.window.ssthresh() / MSS), (5 + 3, 5), "three segments have left");
    bench.duplicates(4, &[]);
    assert_eq!(bench.window(), 12, "and four more");
    assert!(bench.ack(4), "the first partial ACK restarts the timer");
    assert!(bench.recovery.take_first());
    assert_eq!(bench.window(), 12 - 4 + 1);
    assert!(!bench.ack(7), "no other does (the impatient variant)");
    bench.ack(10);
    assert_eq!((bench.window(), bench.recovery.is_open()), (2, true), "nothing is in flight: no burst (option 1)");
}

#[test]
fn reno_ends_with_the_first_new_ack() {
    let mut bench = Bench::new(TcpConfig { congestion: Algorithm::Reno, ..newreno() }, 10);
    assert!(bench.duplicates(3, &[]));
    assert!(bench.ack(4));
    assert_eq!((bench.window(), bench.recovery.is_open()), (5, true));
}

#[test]
fn the_scoreboard_repairs_holes_first_and_keeps_the_pipe_at_the_threshold() {
    let mut bench = Bench::new(with_sack(), 10);
    // 0 and 2 are lost; four segments have arrived.
    assert!(bench.duplicates(1, &[(1, 2), (3, 6)]), "more than two segments above 0");
    assert!(bench.recovery.take_first() && bench.recovery.goes_by_sack());
    // In the network: 0 again, 6 to 9. ssthresh is five segments: there is no room.
    assert_eq!((bench.window(), bench.next_by_sack()), (5, None));
    bench.duplicates(1, &[(1, 2), (3, 8)]);
    assert_eq!([bench.next_by_sack(), bench.next_by_sack(), bench.next_by_sack()], [Some(2), Some(10), None]);
    bench.ack(11);
    assert!(bench.recovery.is_open());
}

#[test]
fn duplicates_that_answer_repetitions_begin_no_recovery() {
    for (config, all) in [(newreno(), 11), (with_sack(), 10)] {
        let mut bench = Bench::new(config, 10);
        bench.recovery.on_timeout(&bench.space);
        bench.space.go_back();
        bench.space.on_sent(20 * MSS);
        let blocks = |una| if all == 10 { vec![(una + 1, una + 5)] } else { Vec::new() };
        bench.ack(5);
        assert!(!bench.duplicates(3, &blocks(5)));
        bench.ack(all);
        assert!(bench.duplicates(if all == 10 { 1 } else { 3 }, &blocks(all)));
    }
}

#[test]
fn two_duplicates_let_two_new_segments_leave_beyond_the_window() {
    let mut bench = Bench::new(newreno(), 10);
    let may = |bench: &Bench, over| bench.recovery.is_limited_transmit(MSS, over * MSS);
    let lets_more = |bench: &Bench| bench.recovery.lets_new_data_leave(&bench.space, bench.window.size());
    assert!(!may(&bench, 1) && !lets_more(&bench));
    bench.duplicates(1, &[]);
    assert!(may(&bench, 1) && !may(&bench, 2) && lets_more(&bench));
    bench.recovery.on_sent_beyond_window(MSS);
    bench.space.on_sent(11 * MSS);
    assert!(!may(&bench, 1), "one for each");
    bench.duplicates(1, &[]);
    assert!(may(&bench, 2));
    bench.recovery.on_sent_beyond_window(MSS);
    bench.space.on_sent(12 * MSS);
    bench.duplicates(1, &[]);
    assert_eq!(bench.window.ssthresh(), 5 * MSS, "they do not count (RFC 5681 §3.2 step 2)");
}

#[test]
fn after_a_timeout_what_was_sacked_is_skipped() {
    let mut bench = Bench::new(with_sack(), 10);
    bench.duplicates(1, &[(2, 4)]);
    bench.recovery.on_timeout(&bench.space);
    bench.space.go_back();
    let position = |bench: &Bench| bench.recovery.position(&bench.space);
    assert_eq!(position(&bench), Position { seq: 0, until: 2 * MSS, in_flight: 0 });
    bench.space.on_sent(2 * MSS);
    assert_eq!(position(&bench), Position { seq: 4 * MSS, until: u64::MAX, in_flight: 2 * MSS });
}

#[test]
fn a_lost_retransmission_never_raises_the_threshold() {
    let mut bench = Bench::new(newreno(), 10);
    bench.duplicates(3, &[]);
    bench.space.on_sent(60 * MSS);
    let in_network = bench.recovery.in_network(&bench.space, bench.window.ssthresh());
    assert_eq!(in_network, 5 * MSS, "fifty segments sent on duplicate ACKs have left");
}

#[test]
fn proportional_reduction_sends_a_segment_for_every_two_that_arrive() {
    let mut bench = Bench::new(TcpConfig { prr: true, ..with_sack() }, 10);
    assert!(bench.duplicates(1, &[(1, 4)]) && bench.recovery.take_first());
    bench.recovery.on_sent(0, MSS);
    let mut sent = 1;
    for arrived in 5..=10 {
        bench.duplicates(1, &[(1, arrived)]);
        while bench.next_by_sack().is_some() {
            bench.recovery.on_sent(0, MSS);
            sent += 1;
        }
        let due = (arrived - 1_u64).div_ceil(2);
        assert!((due - 1..=due).contains(&sent), "{sent} sent, {} arrived, the first repeated", arrived - 1);
    }
    assert_eq!(sent, 5);
}
