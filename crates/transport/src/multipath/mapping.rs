//! Where the bytes of a subflow's stream belong in the object (data sequence mapping, RFC 8684 §3.3.1).

use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of the stream from `stream` on, which belong at `data`.
#[derive(Clone, Copy, Debug)]
struct Piece {
    stream: u64,
    data: u64,
    len: u64,
}

impl Piece {
    fn end(&self) -> u64 {
        self.stream + self.len
    }
}

/// The mappings of one subflow that are not acknowledged yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Mappings {
    /// In the order of the stream, without gaps.
    pieces: VecDeque<Piece>,
    /// Bytes mapped so far.
    end: u64,
}

impl Mappings {
    /// The stream continues with these bytes of the object.
    pub(super) fn push(&mut self, data: &Range<u64>) {
        let len = data.end - data.start;
        match self.pieces.back_mut() {
            Some(last) if last.data + last.len == data.start => last.len += len,
            _ => self.pieces.push_back(Piece { stream: self.end, data: data.start, len }),
        }
        self.end += len;
    }

    /// Everything before this offset of the stream has been acknowledged.
    pub(super) fn forget_below(&mut self, stream: u64) {
        while self.pieces.front().is_some_and(|piece| piece.end() <= stream) {
            self.pieces.pop_front();
        }
    }

    /// Where the byte at this offset of the stream belongs, and how many bytes from there on are contiguous in the object.
    pub(super) fn at(&self, stream: u64) -> Option<(u64, u64)> {
        let piece = self.pieces.get(self.pieces.partition_point(|piece| piece.end() <= stream))?;
        let inside = stream.checked_sub(piece.stream)?;
        Some((piece.data + inside, piece.len - inside))
    }

    /// Whether this part of the stream carries this byte of the object.
    pub(super) fn carries(&self, stream: Range<u64>, byte: u64) -> bool {
        self.data_of(stream).any(|piece| piece.contains(&byte))
    }

    /// The bytes of the object that this part of the stream carries.
    pub(super) fn data_of(&self, stream: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        self.pieces.iter().filter_map(move |piece| {
            let (start, end) = (piece.stream.max(stream.start), piece.end().min(stream.end));
            (start < end).then(|| piece.data + start - piece.stream..piece.data + end - piece.stream)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_made_of_pieces_of_the_object() {
        let mut map = Mappings::default();
        for piece in [90..100, 100..110, 80..90, 40..45] {
            map.push(&piece);
        }
        assert_eq!([map.at(0), map.at(15)], [Some((90, 20)), Some((105, 5))], "what belongs together is one");
        assert_eq!([map.at(20), map.at(34), map.at(35)], [Some((80, 10)), Some((44, 1)), None]);
        assert_eq!(map.data_of(15..32).collect::<Vec<_>>(), [105..110, 80..90, 40..42]);
        map.forget_below(20);
        assert_eq!([map.at(10), map.at(20)], [None, Some((80, 10))]);
        map.forget_below(35);
        map.push(&(0..1));
        assert_eq!(map.at(35), Some((0, 1)));
    }
}
