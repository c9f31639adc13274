//! What became of the last packets: what a sender goes by when one is returned to it.

/// Replies of the receiver, and fates of packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Fates {
    /// ACKs and NACKs that came.
    replies: u64,
    /// The fate of the last packets, the latest in the lowest bit: 1 ACK, 0 NACK or returned.
    last: u32,
    known: u32,
}

impl Fates {
    /// An ACK came, or a NACK.
    pub(super) fn on_reply(&mut self, received: bool) {
        self.replies += 1;
        self.note(received);
    }

    /// A packet was returned.
    pub(super) fn on_returned(&mut self) {
        self.note(false);
    }

    /// Pulls that replies have promised: each promises one.
    pub(super) fn promised(&self) -> u64 {
        self.replies
    }

    /// Whether most of the last packets were received whole.
    pub(super) fn mostly_received(&self) -> bool {
        self.last.count_ones() * 2 > self.known
    }

    fn note(&mut self, received: bool) {
        self.last = self.last << 1 | u32::from(received);
        self.known = (self.known + 1).min(u32::BITS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thirty_two_packets_count() {
        let mut fates = Fates::default();
        assert!(!fates.mostly_received(), "nothing is known");
        fates.on_reply(true);
        assert!(fates.mostly_received());
        fates.on_returned();
        assert!(!fates.mostly_received(), "half is not most");
        (0..100).for_each(|_| fates.on_reply(true));
        (0..15).for_each(|_| fates.on_returned());
        assert!(fates.mostly_received());
        fates.on_reply(false);
        assert!(!fates.mostly_received());
        assert_eq!(fates.promised(), 102, "returned packets promise nothing");
    }
}
