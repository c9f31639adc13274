//! The stream of one sender: what the application has handed over of it, what was sent, and what is acknowledged.

use super::buffer::SendBuffer;
use super::space::{News, SendSpace};
use crate::tcp::segment::Segment;
use crate::units::Duration;
use std::ops::Range;

/// A stream, which is cut into segments as it is sent.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Stream {
    space: SendSpace,
    buffer: SendBuffer,
    /// Segments that left, and those of them that had left before.
    sent_segments: u64,
    repeated_segments: u64,
}

/// A segment that might leave next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// One past its last offset, FIN included.
    pub(super) end: u64,
    /// One past its last byte of data.
    pub(super) data_end: u64,
    /// Whether the application has handed it over, and the receiver has room for it.
    pub(super) is_offered: bool,
}

/// What a segment is that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    /// Bytes of data.
    pub(super) len: u16,
    pub(super) fin: bool,
    /// Whether nothing of it was sent before.
    pub(super) is_new: bool,
}

impl Stream {
    /// Of `size` bytes (`None`: without end), in segments of `mss` bytes; the receiver has room for `window` bytes at first.
    pub(super) fn new(size: Option<u64>, mss: u64, window: u64) -> Self {
        Self {
            space: SendSpace::new(window),
            buffer: SendBuffer::new(size, mss),
            sent_segments: 0,
            repeated_segments: 0,
        }
    }

    /// What is outstanding of it.
    #[inline]
    pub(super) fn space(&self) -> &SendSpace {
        &self.space
    }

    /// The receiver has room for so many bytes beyond what it acknowledges.
    pub(super) fn set_window(&mut self, window: u32) {
        self.space.set_window(window);
    }

    /// An acknowledgement arrived: what it tells.
    #[inline]
    pub(super) fn on_ack(&mut self, segment: &Segment) -> News {
        self.space.on_ack(segment)
    }

    /// Everything that is outstanding is sent again (go-back-N).
    pub(super) fn go_back(&mut self) {
        self.space.go_back();
    }

    /// Whether something was sent, and all of it is acknowledged.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.space.is_idle()
    }

    /// Bytes that were sent at least once.
    #[inline]
    pub(in crate::tcp) fn sent(&self) -> u64 {
        self.buffer.data_before(self.space.max())
    }

    #[inline]
    pub(in crate::tcp) fn acknowledged(&self) -> u64 {
        self.buffer.data_before(self.space.una())
    }

    /// Sent at least once and not acknowledged.
    pub(in crate::tcp) fn unacknowledged(&self) -> Range<u64> {
        self.acknowledged()..self.sent()
    }

    /// Whether the FIN is acknowledged.
    #[inline]
    pub(in crate::tcp) fn is_finished(&self) -> bool {
        self.buffer.has_fin_before(self.space.una())
    }

    /// Bytes that the application will hand over; `None`: a stream without end.
    #[inline]
    pub(super) fn size(&self) -> Option<u64> {
        self.buffer.size()
    }

    /// The most bytes that have waited at once, unsent or unacknowledged.
    #[inline]
    pub(in crate::tcp) fn most_queued(&self) -> u64 {
        self.buffer.most_queued()
    }

    /// Segments that left, and those of them that had left before.
    pub(super) fn segments(&self) -> (u64, u64) {
        (self.sent_segments, self.repeated_segments)
    }

    /// For a person, with a congestion window of `window` bytes.
    pub(super) fn waiting_for(&self, window: u64, timeout: Duration) -> String {
        let outstanding = self.space.outstanding();
        if let Some(provided) = self.buffer.provided().filter(|_| outstanding == 0) {
            return format!("the application, which has {provided} B so far, all of them sent and acknowledged");
        }
        let size = self.size().map_or_else(|| "an endless stream".into(), |size| size.to_string());
        let acknowledged = self.acknowledged();
        format!(
            "an ACK beyond byte {acknowledged} of {size}; {outstanding} outstanding, window {window} B, timeout {timeout}"
        )
    }
}

/// What the application hands over.
impl Stream {
    /// It has provided the first `bytes` bytes.
    pub(in crate::tcp) fn provide(&mut self, bytes: u64) {
        self.buffer.provide(bytes, self.acknowledged());
    }

    /// Whether it has provided nothing yet.
    pub(in crate::tcp) fn has_nothing(&self) -> bool {
        self.buffer.has_nothing()
    }

    /// It hands data out [bit by bit](Self::hand_out), and nothing so far.
    pub(super) fn wait_for_data(&mut self) {
        self.buffer.wait_for_data();
    }

    /// Whether it does so, and has handed nothing out so far.
    pub(in crate::tcp) fn waits_for_data(&self) -> bool {
        self.buffer.waits_for_data()
    }

    /// Whether all that was handed out has been sent, and the receiver has room for `more` bytes.
    pub(super) fn wants_data(&self, more: u64) -> bool {
        let max = self.space.max();
        self.buffer.wants_data(max) && self.space.has_room(max + more)
    }

    /// The next bytes may be sent.
    pub(in crate::tcp) fn hand_out(&mut self, bytes: u64) {
        self.buffer.hand_out(bytes, self.acknowledged());
    }

    /// Nothing more will be handed out: the FIN follows.
    pub(in crate::tcp) fn finish(&mut self) {
        self.buffer.finish();
    }
}

/// Segments. `most`: the bytes that one may carry.
impl Stream {
    #[inline]
    fn segment_end(&self, seq: u64, most: u64) -> u64 {
        self.buffer.segment_end(seq, most, &self.space)
    }

    /// Offsets of the segment at SND.UNA, which was sent before.
    pub(super) fn first_segment(&self, most: u64) -> (u64, u64) {
        let una = self.space.una();
        (una, self.segment_end(una, most).min(self.space.max()))
    }

    /// Where a segment ends that continues what was sent, if there is one and the receiver has room for it.
    pub(super) fn new_segment(&self, most: u64) -> Option<u64> {
        let max = self.space.max();
        if self.buffer.has_fin_before(max) {
            return None;
        }
        let end = self.segment_end(max, most);
        self.is_offered(end).then_some(end)
    }

    /// Sending goes on from the top of what was sent.
    pub(super) fn go_on_at_top(&mut self) {
        self.space.skip_to(self.space.max());
    }

    /// Sending goes on at `seq`. Whether there is a segment: not behind the FIN.
    #[inline]
    pub(super) fn go_on_at(&mut self, seq: u64) -> bool {
        self.space.skip_to(seq);
        !self.buffer.has_fin_before(seq)
    }

    /// The segment at `seq`, which ends at `until` if not before.
    #[inline]
    pub(super) fn segment(&self, seq: u64, until: u64, most: u64) -> Candidate {
        let end = self.segment_end(seq, most).min(until);
        Candidate { end, data_end: self.buffer.data_before(end), is_offered: self.is_offered(end) }
    }

    #[inline]
    fn is_offered(&self, end: u64) -> bool {
        self.space.has_room(self.buffer.data_before(end)) && self.buffer.is_available(end)
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, seq: u64, end: u64) -> Departure {
        let is_new = seq >= self.space.max();
        let fin = self.buffer.has_fin_before(end);
        self.sent_segments += 1;
        if !is_new {
            self.repeated_segments += 1;
        }
        self.space.on_sent(end);
        Departure { len: (end - seq - u64::from(fin)) as u16, fin, is_new }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::Flags;

    const MSS: u64 = 100;

    fn ack(stream: &mut Stream, ack: u64) -> News {
        stream.on_ack(&Segment { ack, window: 1000, flags: Flags::ACK, ..Segment::default() })
    }

    #[test]
    fn the_fin_leaves_with_the_last_segment_and_counts_as_no_byte() {
        let mut stream = Stream::new(Some(150), MSS, 1000);
        assert_eq!(stream.on_sent(0, 100), Departure { len: 100, fin: false, is_new: true });
        assert_eq!(stream.new_segment(MSS), Some(151));
        assert_eq!(stream.on_sent(100, 151), Departure { len: 50, fin: true, is_new: true });
        assert_eq!((stream.new_segment(MSS), stream.unacknowledged()), (None, 0..150));
        ack(&mut stream, 150);
        assert!(stream.acknowledged() == 150 && !stream.is_finished());
        ack(&mut stream, 151);
        assert!(stream.acknowledged() == 150 && stream.is_finished() && stream.is_idle());
    }

    #[test]
    fn what_is_sent_again_is_counted_apart() {
        let mut stream = Stream::new(Some(1000), MSS, 1000);
        stream.on_sent(0, 100);
        stream.on_sent(100, 200);
        stream.go_back();
        assert_eq!(stream.first_segment(MSS), (0, 100));
        assert!(!stream.on_sent(0, 100).is_new);
        assert_eq!((stream.segments(), stream.sent()), ((3, 1), 200));
        assert!(stream.go_on_at(100));
        let candidate = stream.segment(100, u64::MAX, MSS);
        assert!(candidate.is_offered && candidate.data_end == 200);
        stream.go_on_at_top();
        assert_eq!(stream.space().nxt(), 200);
    }

    #[test]
    fn application_and_receiver_offer_a_segment_together() {
        let mut stream = Stream::new(Some(1000), MSS, 250);
        stream.provide(350);
        let offered = |stream: &Stream, seq| stream.segment(seq, u64::MAX, MSS).is_offered;
        assert_eq!([0, 100, 200].map(|seq| offered(&stream, seq)), [true, true, false]);
        stream.set_window(1000);
        assert_eq!([200, 300].map(|seq| offered(&stream, seq)), [true, false]);
        let hole = stream.segment(100, 140, MSS);
        assert_eq!((hole.end, hole.data_end), (140, 140));
        assert!(stream.go_on_at(1000) && !stream.go_on_at(1001), "behind the FIN");
    }

    #[test]
    fn data_is_wanted_once_all_that_was_handed_out_has_left() {
        let mut stream = Stream::new(None, MSS, 250);
        stream.wait_for_data();
        assert!(stream.waits_for_data() && stream.wants_data(MSS) && !stream.wants_data(251));
        stream.hand_out(100);
        assert!(!stream.waits_for_data() && !stream.wants_data(MSS));
        stream.on_sent(0, 100);
        assert!(stream.wants_data(MSS));
        stream.finish();
        assert!(!stream.wants_data(MSS) && stream.new_segment(MSS) == Some(101));
    }
}
