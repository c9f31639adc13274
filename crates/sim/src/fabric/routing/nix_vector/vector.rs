//! The encoding of a path as a vector of neighbour indices (Riley, Ammar, Fujimoto 2001; Song §2.2.1).

use std::fmt;

/// Bits of an index into so many neighbours: ceil(log2 C), but at least one (Song Table 2.1, hop 9).
pub fn index_bits(neighbours: u32) -> u32 {
    (u32::BITS - neighbours.saturating_sub(1).leading_zeros()).max(1)
}

/// A path as the index of the chosen neighbour at each hop, the first hop first, each in as many bits as the node there needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NixVector {
    /// The last `used` of them.
    bits: u64,
    used: u32,
}

impl NixVector {
    /// Adds a hop at a node with so many neighbours.
    ///
    /// # Panics
    /// If there is no such neighbour, or if the vector would be longer than 64 bits.
    pub fn push(&mut self, index: u32, neighbours: u32) {
        assert!(index < neighbours, "neighbour {index} of {neighbours}");
        let width = index_bits(neighbours);
        self.used += width;
        assert!(self.used <= u64::BITS, "the path is too long");
        self.bits = self.bits << width | u64::from(index);
    }

    /// Takes the first hop off, which is at a node with so many neighbours. `None` if nothing is left, or no such neighbour.
    pub fn extract(&mut self, neighbours: u32) -> Option<u32> {
        let rest = self.used.checked_sub(index_bits(neighbours))?;
        let index = (self.bits >> rest) as u32;
        (self.bits, self.used) = (self.bits & ((1 << rest) - 1), rest);
        (index < neighbours).then_some(index)
    }

    /// Bits of all hops that are left.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// In the upper bits of a word of `room` bits and one more.
    pub(super) fn aligned(&self, room: u32) -> Option<u32> {
        let shift = room.checked_sub(self.used)?;
        Some((self.bits << shift << 1) as u32)
    }
}

impl fmt::Display for NixVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:01$b}", self.bits, self.used as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Song Table 2.1: C, B, Nix, NVU and what the hop adds to the vector. At hop 7 the table prints 101 for neighbour 1 of 5: that
    /// would be neighbour 5, which a node with 5 neighbours has not, where all other rows count from 0. 1 in 3 bits is 001.
    const TABLE: [(u32, u32, u32, u32, &str); 10] = [
        (2, 1, 1, 1, "1"),
        (3, 2, 2, 3, "10"),
        (6, 3, 5, 6, "101"),
        (13, 4, 4, 10, "0100"),
        (27, 5, 20, 15, "10100"),
        (5, 3, 3, 18, "011"),
        (14, 4, 7, 22, "0111"),
        (5, 3, 1, 25, "001"),
        (2, 1, 0, 26, "0"),
        (1, 1, 0, 27, "0"),
    ];

    #[test]
    fn the_example_of_song_table_2_1() {
        let (mut vector, mut text) = (NixVector::default(), String::new());
        for (neighbours, bits, index, used, added) in TABLE {
            assert_eq!(index_bits(neighbours), bits);
            vector.push(index, neighbours);
            text += added;
            assert_eq!((vector.used(), vector.to_string()), (used, text.clone()));
        }
        assert_eq!(vector.used(), 27);
        let mut rest = vector;
        for (neighbours, _, index, _, _) in TABLE {
            assert_eq!(rest.extract(neighbours), Some(index));
        }
        assert_eq!((rest.used(), rest.extract(1)), (0, None), "used up");
        // As printed, hop 7 names no neighbour.
        let mut printed = NixVector { bits: 0b101, used: 3 };
        assert_eq!(printed.extract(5), None);
    }

    #[test]
    fn a_vector_is_as_wide_as_its_nodes_need() {
        assert_eq!([1, 2, 3, 4, 5, 8, 9, 256].map(index_bits), [1, 1, 2, 2, 3, 3, 4, 8]);
        let mut vector = NixVector::default();
        vector.push(3, 4);
        vector.push(0, 9);
        assert_eq!((vector.aligned(31), vector.aligned(5)), (Some(0b11_0000 << 26), None));
    }
}
