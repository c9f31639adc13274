//! Which segment leaves next: what the stream has, as far as window and recovery let it go.

use super::recovery::Recovery;
use super::stream::Stream;
use super::window::CongestionWindow;
use crate::units::Time;

/// The offsets of the segment that leaves now, if any may.
#[inline]
pub(super) fn take_next(
    stream: &mut Stream,
    recovery: &mut Recovery,
    window: &mut CongestionWindow,
    now: Time,
) -> Option<(u64, u64)> {
    if recovery.goes_by_time() {
        recovery.take_by_time(stream, window, now)
    } else if recovery.take_first() {
        Some(stream.first_segment(window.segment_bytes()))
    } else if recovery.goes_by_sack() {
        take_by_sack(stream, recovery, window)
    } else {
        take_in_window(stream, recovery, window, now)
    }
}

/// The segment that the scoreboard chooses.
fn take_by_sack(stream: &mut Stream, recovery: &mut Recovery, window: &CongestionWindow) -> Option<(u64, u64)> {
    let new_end = stream.new_segment(window.segment_bytes());
    let next = recovery.take_by_sack(stream.space(), window.size(), new_end, stream.sent())?;
    // After a timeout SND.NXT may lie behind: recovery sends from the top.
    stream.go_on_at_top();
    Some(next)
}

/// The segment at SND.NXT, if the congestion window and the receive window have room for it.
#[inline]
fn take_in_window(
    stream: &mut Stream,
    recovery: &mut Recovery,
    window: &mut CongestionWindow,
    now: Time,
) -> Option<(u64, u64)> {
    let at = recovery.position(stream.space());
    if !stream.go_on_at(at.seq) {
        return None;
    }
    let next = stream.segment(at.seq, at.until, window.segment_bytes());
    let (cwnd, len) = (window.size(), next.data_end - at.seq);
    let over = (at.in_flight + len).saturating_sub(cwnd);
    let may_exceed = || at.seq >= stream.space().max() && recovery.is_limited_transmit(len, over);
    if !window.admits(now, over, next.is_offered, may_exceed) {
        return None;
    }
    if next.data_end > stream.space().una().saturating_add(cwnd) {
        recovery.on_sent_beyond_window(len);
    }
    Some((at.seq, next.end))
}

/// Whether all that was handed out has been sent and a full segment more could leave now.
pub(super) fn wants_data(stream: &Stream, recovery: &Recovery, window: &CongestionWindow) -> bool {
    stream.wants_data(window.mss()) && recovery.lets_new_data_leave(stream.space(), window.size())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;
    use crate::tcp::TcpConfig;
    use crate::tcp::segment::{Flags, Segment};

    const MSS: u64 = 1000;

    /// With a window of four segments, and room for six at the receiver.
    struct Bench {
        stream: Stream,
        recovery: Recovery,
        window: CongestionWindow,
    }

    impl Bench {
        fn new(size: Option<u64>, sack: bool) -> Self {
            let config = TcpConfig { packet: Bytes(MSS + 40), initial_window: 4, sack, ..TcpConfig::default() };
            let window = CongestionWindow::new(&config);
            let recovery = Recovery::new(&config, window.control());
            Self { stream: Stream::new(size, MSS, 6 * MSS), recovery, window }
        }

        fn next(&mut self) -> Option<(u64, u64)> {
            let next = take_next(&mut self.stream, &mut self.recovery, &mut self.window, Time::ZERO);
            next.inspect(|&(seq, end)| {
                self.stream.on_sent(seq, end);
            })
        }

        /// First offsets of all segments that may leave now, in segments.
        fn sent(&mut self) -> Vec<u64> {
            std::iter::from_fn(|| self.next()).map(|(seq, _)| seq / MSS).collect()
        }

        fn duplicate(&mut self) {
            let ack = Segment { window: 6000, flags: Flags::ACK, ..Segment::default() };
            self.recovery.on_duplicate_ack(&ack, self.stream.space());
        }
    }

    #[test]
    fn the_window_is_filled_and_two_duplicates_let_two_more_leave() {
        let mut bench = Bench::new(None, false);
        assert_eq!(bench.sent(), [0, 1, 2, 3]);
        bench.duplicate();
        assert_eq!(bench.sent(), [4]);
        bench.duplicate();
        assert_eq!(bench.sent(), [5]);
    }

    #[test]
    fn the_receive_window_holds_limited_transmit_too() {
        let mut bench = Bench::new(None, false);
        bench.stream.set_window(4 * MSS as u32);
        bench.sent();
        bench.duplicate();
        assert_eq!(bench.next(), None);
    }

    #[test]
    fn the_fin_takes_no_room_in_the_window() {
        let mut bench = Bench::new(Some(4 * MSS), false);
        assert_eq!([(); 5].map(|()| bench.next()).last(), Some(&None));
        assert_eq!(bench.stream.space().max(), 4 * MSS + 1);
    }

    #[test]
    fn after_a_timeout_everything_is_sent_again_in_order() {
        for sack in [false, true] {
            let mut bench = Bench::new(None, sack);
            bench.sent();
            bench.recovery.on_timeout(bench.stream.space());
            bench.stream.go_back();
            assert!(!wants_data(&bench.stream, &bench.recovery, &bench.window));
            assert_eq!(bench.sent(), [0, 1, 2, 3]);
        }
    }

    #[test]
    fn a_segment_is_wanted_while_one_could_leave() {
        let mut bench = Bench::new(None, false);
        bench.stream.wait_for_data();
        for _ in 0..4 {
            assert!(wants_data(&bench.stream, &bench.recovery, &bench.window));
            bench.stream.hand_out(MSS);
            assert!(bench.next().is_some());
        }
        assert!(!wants_data(&bench.stream, &bench.recovery, &bench.window), "the window is full");
    }
}
