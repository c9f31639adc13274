//! What a packet carries between leaves (CONGA §3.1), in its path bits.

/// The most links to spines that a leaf may have: tags have 4 bits.
pub(super) const UPLINKS: usize = 1 << 4;
/// The most leaves that there is room for.
pub(super) const LEAVES: usize = 1 << 17;
const METRIC: u32 = (1 << 3) - 1;
/// Packets that have a header have this bit.
const ENCAPSULATED: u32 = 1 << 31;

/// The overlay header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The number of the leaf that the packet comes from.
    pub(super) leaf: u32,
    /// The uplink that it took there: `LBTag`.
    pub(super) tag: u8,
    /// The worst metric of the links since: `CE`.
    pub(super) congestion: u8,
    /// An uplink of the leaf that it goes to, and what was last heard of packets that took it: `FB_LBTag` and `FB_Metric`.
    pub(super) feedback_tag: u8,
    pub(super) feedback: u8,
}

impl Header {
    /// Path bits of a packet without a header: what is left of a flow's hash.
    pub(super) fn none(hash: u32) -> u32 {
        hash & !ENCAPSULATED
    }

    /// That of these path bits, if it is one.
    pub(super) fn of(bits: u32) -> Option<Self> {
        let field = |shift: u32, most: u32| ((bits >> shift) & most) as u8;
        (bits & ENCAPSULATED != 0).then(|| Self {
            leaf: (bits >> 14) & (LEAVES as u32 - 1),
            tag: field(10, UPLINKS as u32 - 1),
            congestion: field(7, METRIC),
            feedback_tag: field(3, UPLINKS as u32 - 1),
            feedback: field(0, METRIC),
        })
    }

    /// As path bits.
    pub(super) fn bits(self) -> u32 {
        let field = |value: u8, shift: u32| u32::from(value) << shift;
        ENCAPSULATED
            | self.leaf << 14
            | field(self.tag, 10)
            | field(self.congestion, 7)
            | field(self.feedback_tag, 3)
            | field(self.feedback, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_written() {
        for leaf in [0, 1, LEAVES as u32 - 1] {
            for (tag, congestion, feedback_tag, feedback) in [(0, 0, 0, 0), (15, 0, 0, 7), (0, 7, 15, 0), (9, 5, 6, 3)]
            {
                let header = Header { leaf, tag, congestion, feedback_tag, feedback };
                assert_eq!(Header::of(header.bits()), Some(header));
            }
        }
        assert_eq!(Header::of(Header::none(u32::MAX)), None);
    }
}
