//! Context switches: how often a path's pointer into the reassembly buffer jumps (Song 2017, §4.1).
//!
//! "We measure disorder ... by counting the number of times the reassembly buffer's N-path pointers must 'jump' from one position in
//! the buffer to another." A path that continues where it was, upwards or downwards, does not jump; nor does its first piece count. If
//! every path sends something and none reverses direction, that is Lemma 4.1's `|P| - N`.

use std::ops::Range;

/// Where a path's pointer is: after the last piece upwards, before it downwards.
#[derive(Clone, Copy, Debug)]
struct Pointer {
    start: u64,
    end: u64,
    /// Upwards, downwards; `None` after a single piece.
    upwards: Option<bool>,
}

/// Counts the jumps of each path.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pointers: Vec<Option<Pointer>>,
    jumps: u64,
}

impl Tally {
    pub(super) fn new(paths: usize) -> Self {
        Self { pointers: vec![None; paths], jumps: 0 }
    }

    /// A path writes a piece of the buffer.
    pub(super) fn write(&mut self, path: usize, piece: &Range<u64>) {
        let pointer = &mut self.pointers[path];
        let upwards = match *pointer {
            Some(p) if piece.start == p.end && p.upwards != Some(false) => Some(true),
            Some(p) if piece.end == p.start && p.upwards != Some(true) => Some(false),
            Some(_) => {
                self.jumps += 1;
                None
            }
            None => None,
        };
        *pointer = Some(Pointer { start: piece.start, end: piece.end, upwards });
    }

    pub(super) fn jumps(&self) -> u64 {
        self.jumps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jumps(pieces: &[(usize, u64, u64)]) -> u64 {
        let mut tally = Tally::new(2);
        for &(path, start, end) in pieces {
            tally.write(path, &(start..end));
        }
        tally.jumps()
    }

    #[test]
    fn a_pointer_that_goes_on_does_not_jump() {
        assert_eq!(jumps(&[(0, 0, 1), (0, 1, 2), (0, 2, 4)]), 0, "upwards");
        assert_eq!(jumps(&[(1, 9, 10), (1, 8, 9), (1, 5, 8)]), 0, "downwards");
        assert_eq!(jumps(&[(0, 0, 1), (1, 9, 10), (0, 1, 2), (1, 8, 9)]), 0, "two paths, each its own pointer");
    }

    #[test]
    fn gaps_and_turns_are_jumps() {
        assert_eq!(jumps(&[(0, 0, 1), (0, 2, 3), (0, 4, 5)]), 2, "every other segment");
        assert_eq!(jumps(&[(0, 5, 6), (0, 6, 7), (0, 4, 5)]), 1, "upwards, then what lies before all that");
        assert_eq!(jumps(&[(0, 0, 1), (0, 0, 1)]), 1, "back to the start");
    }
}
