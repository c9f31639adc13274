//! A segment that leaves, and how it travels.

use super::config::TcpConfig;
use super::segment::Segment;
use crate::endpoint::Transmit;

/// A segment of one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) segment: Segment,
    /// Whether it may be marked.
    pub(super) ect: bool,
    pub(super) priority: u8,
    /// What remains of its flow, if it says so.
    pub(super) rank: u16,
}

/// What all packets of one end have in common.
#[derive(Clone, Debug)]
pub(super) struct Framing {
    /// Bytes of headers, without options.
    header: u32,
    /// The receive window that is advertised.
    window: u32,
}

impl Framing {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self { header: config.header.0 as u32, window: config.receive_window.0 as u32 }
    }

    /// The packet of a segment without data, of the highest priority.
    #[inline]
    pub(super) fn bare(&self, segment: Segment) -> Transmit<Segment> {
        self.packet(Outgoing { segment, ect: false, priority: 0, rank: 0 })
    }

    #[inline]
    pub(super) fn packet(&self, out: Outgoing) -> Transmit<Segment> {
        let Outgoing { mut segment, ect, priority, rank } = out;
        segment.window = self.window;
        let bare = self.header + segment.option_bytes();
        Transmit { priority, ect, rank, ..Transmit::data(segment, 0, bare + u32::from(segment.len), bare) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;

    #[test]
    fn headers_and_options_remain_of_a_trimmed_packet() {
        let config = TcpConfig { header: Bytes(40), receive_window: Bytes(5000), ..TcpConfig::default() };
        let mut segment = Segment { len: 1000, ..Segment::default() };
        let framing = Framing::new(&config);
        let plain = framing.packet(Outgoing { segment, ect: true, priority: 3, rank: 9 });
        assert_eq!((plain.size, plain.trimmed_size, plain.header.window), (1040, 40, 5000));
        assert_eq!((plain.ect, plain.priority, plain.rank), (true, 3, 9));
        segment.push_sack(10, 20);
        let with_block = framing.bare(segment);
        assert_eq!((with_block.size, with_block.trimmed_size), (1052, 52));
    }
}
