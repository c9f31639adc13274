//! Says of each packet where its data belongs in the object. A segment whose bytes belong in several places is several packets.

use super::config::MultipathConfig;
use super::header::Header;
use super::mapping::Mappings;
use super::packet::wrap;
use crate::endpoint::Transmit;
use crate::tcp::{Flags, Segment};
use std::ops::Range;

/// What the subflows of one sender carry.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    maps: Vec<Mappings>,
    /// The rest of a segment whose bytes belong in several places.
    rest: Option<(usize, Transmit<Segment>)>,
    /// Packets with such rests.
    further_packets: u64,
    /// Packets that only end a subflow: not data packets, except for an object without data.
    bare_fins: u64,
}

impl Placing {
    pub(super) fn new(subflows: usize) -> Self {
        Self { maps: vec![Mappings::default(); subflows], rest: None, further_packets: 0, bare_fins: 0 }
    }

    /// What subflow `i` carries.
    pub(super) fn map(&self, i: usize) -> &Mappings {
        &self.maps[i]
    }

    /// The stream of subflow `i` continues with these bytes of the object.
    pub(super) fn push(&mut self, i: usize, data: &Range<u64>) {
        self.maps[i].push(data);
    }

    /// Everything before this offset of the stream of subflow `i` has been acknowledged.
    pub(super) fn forget_below(&mut self, i: usize, stream: u64) {
        self.maps[i].forget_below(stream);
    }

    /// The packet with what is left of the last segment, unless that has arrived meanwhile. `acknowledged`: of a subflow's stream.
    pub(super) fn take_rest(
        &mut self,
        acknowledged: impl Fn(usize) -> u64,
        size: u64,
        config: &MultipathConfig,
    ) -> Option<Transmit<Header>> {
        let (i, rest) = self.rest.take().filter(|(i, rest)| rest.header.seq >= acknowledged(*i))?;
        self.further_packets += 1;
        Some(self.place(i, rest, size, config))
    }

    /// The packet of a segment of subflow `i`. Data that belongs elsewhere is left for [another](Self::take_rest). `size`: of the object;
    /// `u64::MAX`: without end.
    pub(super) fn place(
        &mut self,
        i: usize,
        mut out: Transmit<Segment>,
        size: u64,
        config: &MultipathConfig,
    ) -> Transmit<Header> {
        let mut segment = out.header;
        let mut data = size;
        if segment.len > 0 {
            let (at, together) = self.maps[i].at(segment.seq).expect("what is sent has been handed out");
            data = at;
            if together < u64::from(segment.len) {
                self.rest = Some((i, split(&mut out, together as u16)));
                segment = out.header;
            }
        } else if !segment.flags.has(Flags::FIN) {
            let is_syn = segment.flags.has(Flags::SYN);
            let option = if is_syn { config.syn_option(i, 0) } else { config.options.ack };
            out.size = out.size - config.options.data + option;
            out.trimmed_size = out.size;
            data = 0;
        } else {
            self.bare_fins += 1;
        }
        let carries = segment.len > 0 || segment.flags.has(Flags::FIN);
        let last = carries && size != u64::MAX && data + u64::from(segment.len) == size;
        segment.flags = segment.flags | Flags::DATA_FIN.when(last);
        out.header = segment;
        wrap(i, &out, data)
    }

    /// Data packets, when the subflows have sent `segments` segments.
    pub(super) fn data_packets(&self, segments: u64) -> u64 {
        (segments + self.further_packets).saturating_sub(self.bare_fins)
    }
}

/// Leaves the first `len` bytes in a segment, and returns the rest.
fn split(out: &mut Transmit<Segment>, len: u16) -> Transmit<Segment> {
    let mut rest = *out;
    rest.header.seq += u64::from(len);
    rest.header.len -= len;
    rest.header.flags = out.header.flags.without(Flags::CWR);
    rest.size = out.size - u32::from(len);
    out.header.len = len;
    out.header.flags = out.header.flags.without(Flags::FIN);
    out.size = out.trimmed_size + u32::from(len);
    rest
}

#[cfg(test)]
mod tests {
    use super::super::config::MptcpConfig;
    use super::*;
    use crate::tcp::TcpConfig;

    const HEADER: u32 = 68;

    fn config() -> MultipathConfig {
        MptcpConfig::default().over(&TcpConfig::default())
    }

    fn segment(seq: u64, len: u16, flags: Flags) -> Transmit<Segment> {
        let header = Segment { seq, len, flags: flags | Flags::ACK, ..Segment::default() };
        Transmit::data(header, 0, HEADER + u32::from(len), HEADER)
    }

    #[test]
    fn a_segment_whose_bytes_belong_in_two_places_is_two_packets() {
        let config = config();
        let mut placing = Placing::new(2);
        placing.push(1, &(900..1000));
        placing.push(1, &(300..500));
        let first = placing.place(1, segment(40, 260, Flags::FIN | Flags::CWR), 1000, &config);
        let rest = placing.take_rest(|_| 40, 1000, &config).unwrap();
        let what = |packet: &Transmit<Header>| (packet.header.data, packet.header.segment().len, packet.size);
        assert_eq!([what(&first), what(&rest)], [(940, 60, HEADER + 60), (300, 200, HEADER + 200)]);
        let flags = [first, rest].map(|packet| packet.header.segment().flags);
        assert!(flags[0].has(Flags::CWR | Flags::DATA_FIN) && !flags[0].has(Flags::FIN));
        assert!(flags[1].has(Flags::FIN) && !flags[1].has(Flags::CWR) && !flags[1].has(Flags::DATA_FIN));
        assert_eq!((placing.data_packets(1), placing.take_rest(|_| 0, 1000, &config)), (2, None));
    }

    #[test]
    fn a_rest_that_has_arrived_meanwhile_is_not_sent() {
        let config = config();
        let mut placing = Placing::new(1);
        placing.push(0, &(900..1000));
        placing.push(0, &(300..500));
        placing.place(0, segment(0, 300, Flags::NONE), 1000, &config);
        assert_eq!((placing.take_rest(|_| 300, 1000, &config), placing.data_packets(1)), (None, 1));
    }

    #[test]
    fn packets_without_data_have_options_of_their_own() {
        let config = config();
        let mut placing = Placing::new(2);
        let sizes = [(0, Flags::SYN), (1, Flags::SYN), (0, Flags::NONE), (0, Flags::FIN)]
            .map(|(i, flags)| placing.place(i, segment(0, 0, flags), 1000, &config).size);
        assert_eq!(sizes, [44, 52, 52, HEADER]);
        assert_eq!(placing.data_packets(1), 0, "the FIN counts as none");
    }
}
