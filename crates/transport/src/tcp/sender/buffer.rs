//! What the application has handed over, and where it is cut into segments.

use super::space::SendSpace;

/// The socket's send buffer. It holds offsets, not bytes.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    /// Offset of the FIN: the object's size. `u64::MAX` for a stream without end.
    end: u64,
    /// The application has provided everything before this offset; `u64::MAX`: the whole object.
    available: u64,
    /// What has been provided is sent at once, whether or not it fills a segment.
    pushed: bool,
    /// The most that has been provided and not acknowledged.
    most_queued: u64,
    /// Payload of a full segment.
    mss: u64,
}

impl SendBuffer {
    /// With a whole object of `size` bytes; `None`: a stream without end.
    pub(super) fn new(size: Option<u64>, mss: u64) -> Self {
        let end = size.unwrap_or(u64::MAX);
        Self { end, available: u64::MAX, pushed: false, most_queued: end, mss }
    }

    /// The application has provided the first `bytes` bytes, of which `acknowledged` are acknowledged.
    pub(super) fn provide(&mut self, bytes: u64, acknowledged: u64) {
        let before = if self.available == u64::MAX { 0 } else { self.most_queued };
        self.available = bytes;
        self.most_queued = before.max(bytes.min(self.end).saturating_sub(acknowledged));
    }

    /// Nothing has been handed over yet, and nobody knows how much will be: it is [handed out](Self::hand_out) bit by bit.
    pub(super) fn wait_for_data(&mut self) {
        (self.available, self.pushed) = (0, true);
    }

    /// The next bytes of a stream that is handed out bit by bit.
    pub(super) fn hand_out(&mut self, bytes: u64, acknowledged: u64) {
        self.provide(self.available + bytes, acknowledged);
    }

    /// Nothing more will be handed out: the FIN follows.
    pub(super) fn finish(&mut self) {
        self.end = self.end.min(self.available);
    }

    /// Whether data is handed out to it, and none has been so far.
    pub(super) fn waits_for_data(&self) -> bool {
        self.pushed && self.available == 0
    }

    /// Whether the application has provided nothing yet.
    pub(super) fn has_nothing(&self) -> bool {
        !self.pushed && self.available < self.end.min(1)
    }

    /// Whether data that is handed out now could be sent after `max`: the stream goes on, and all of it so far was sent.
    pub(super) fn wants_data(&self, max: u64) -> bool {
        self.end == u64::MAX && max >= self.available
    }

    /// Bytes that the application will provide; `None`: a stream without end.
    #[inline]
    pub(super) fn size(&self) -> Option<u64> {
        (self.end != u64::MAX).then_some(self.end)
    }

    /// The most that has been provided and not acknowledged.
    #[inline]
    pub(super) fn most_queued(&self) -> u64 {
        self.most_queued
    }

    /// What has been provided so far, if that is not everything.
    pub(super) fn provided(&self) -> Option<u64> {
        (self.available < self.end).then_some(self.available)
    }

    /// Bytes of data before an offset: the FIN is none.
    #[inline]
    pub(super) fn data_before(&self, offset: u64) -> u64 {
        offset.min(self.end)
    }

    /// Whether the FIN is before this offset.
    #[inline]
    pub(super) fn has_fin_before(&self, offset: u64) -> bool {
        offset > self.end
    }

    /// Whether a new segment that ends at this offset (FIN included) may be made up: full, or the last (RFC 9293 §3.8.6.2.1).
    #[inline]
    pub(super) fn is_available(&self, seq_end: u64) -> bool {
        self.data_before(seq_end) <= self.available
    }

    /// One past the last offset (FIN included) of a segment at `seq` of at most `most` bytes.
    #[inline]
    pub(super) fn segment_end(&self, seq: u64, most: u64, space: &SendSpace) -> u64 {
        let last = seq.saturating_add(most);
        if last >= self.end {
            self.end + 1
        } else if self.pushed && seq < self.available {
            last.min(self.available)
        } else if last > self.available && seq < self.available && self.is_cut_elsewhere(seq, space) {
            self.available
        } else {
            last
        }
    }

    /// A probe of one byte has shifted where segments are cut: what the application has provided in full ones no longer is. It
    /// goes when it was sent before, or when nothing is outstanding (RFC 896).
    fn is_cut_elsewhere(&self, seq: u64, space: &SendSpace) -> bool {
        seq < space.max() || seq == space.una() && !seq.is_multiple_of(self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything before `max` was sent, and before `una` is acknowledged.
    fn space(una: u64, max: u64) -> SendSpace {
        let mut space = SendSpace::new(1 << 30);
        space.on_sent(max);
        space.acknowledge(una);
        space
    }

    #[test]
    fn segments_are_full_but_for_the_last_which_has_the_fin() {
        let buffer = SendBuffer::new(Some(250), 100);
        let fresh = space(0, 0);
        assert_eq!([0, 100, 200].map(|seq| buffer.segment_end(seq, 100, &fresh)), [100, 200, 251]);
        assert_eq!(
            (buffer.data_before(251), buffer.has_fin_before(250), buffer.has_fin_before(251)),
            (250, false, true)
        );
        assert_eq!(SendBuffer::new(Some(200), 100).segment_end(100, 100, &fresh), 201, "FIN and data together");
    }

    #[test]
    fn what_an_application_provides_waits_until_it_fills_a_segment() {
        let mut buffer = SendBuffer::new(Some(250), 100);
        buffer.provide(0, 0);
        assert!(buffer.has_nothing() && !buffer.waits_for_data());
        buffer.provide(150, 0);
        let end = |seq| buffer.segment_end(seq, 100, &space(0, 0));
        assert_eq!((buffer.is_available(end(0)), buffer.is_available(end(100))), (true, false));
        assert_eq!(buffer.provided(), Some(150));
        buffer.provide(250, 100);
        assert!(buffer.is_available(buffer.segment_end(200, 100, &space(0, 0))), "the last");
        assert_eq!((buffer.provided(), buffer.most_queued()), (None, 150));
    }

    #[test]
    fn what_is_handed_out_goes_at_once() {
        let mut buffer = SendBuffer::new(None, 100);
        buffer.wait_for_data();
        assert!(buffer.waits_for_data() && !buffer.has_nothing() && buffer.wants_data(0));
        buffer.hand_out(130, 0);
        assert_eq!(buffer.segment_end(100, 100, &space(0, 100)), 130);
        assert!(!buffer.wants_data(100) && buffer.wants_data(130));
        buffer.finish();
        assert_eq!((buffer.size(), buffer.wants_data(130)), (Some(130), false));
        assert_eq!(buffer.segment_end(100, 100, &space(0, 100)), 131, "the FIN follows");
    }

    #[test]
    fn after_a_probe_of_one_byte_the_rest_of_a_segment_does_not_wait() {
        let mut buffer = SendBuffer::new(Some(1000), 100);
        buffer.provide(200, 0);
        assert_eq!(buffer.segment_end(0, 1, &space(0, 0)), 1);
        assert_eq!(buffer.segment_end(101, 100, &space(101, 101)), 200, "nothing is outstanding");
        assert_eq!(buffer.segment_end(101, 100, &space(100, 101)), 201, "something is: wait for a full one");
        assert_eq!(buffer.segment_end(101, 100, &space(0, 200)), 200, "it was sent before");
    }
}
