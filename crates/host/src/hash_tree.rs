//! The hashes of an object's parts, and how they form its hash: BLAKE3 is a tree (its paper, §2.1), of which this is the upper part.
//!
//! The object is cut into *spans* of [`SPAN`] bytes, whatever its blocks and symbols are. A *page* has the hashes of up to 32 spans, or of up to 32
//! pages below it, and these form the hash of the page; the hash of the top page is the hash of the object. So a receiver that knows an object's hash
//! can check the pages from the top down, and then the spans, one by one, in whatever order they arrive, and nothing else needs to be agreed or
//! signed.

use std::io;

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

/// Bytes of a span. A power of two: only such ranges are nodes of BLAKE3's tree. As large as a block of the default size, so that one wrong symbol
/// costs two or three blocks; the hashes of all spans are 1/4096 of the object.
pub const SPAN: u64 = 128 << 10;

/// Maximum number of hashes in a page: a page fits into any datagram.
pub const PAGE_HASHES: usize = 32;

/// A hash within the tree, or at its top.
pub type TreeHash = [u8; 32];

/// Identifies a page: pages on level 1 have hashes of spans, those on the next level hashes of these pages, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page {
    /// The level, from 1.
    pub level: u8,
    /// Its place on the level, from 0.
    pub index: u64,
}

impl Page {
    /// The page that has the hash of this one, and its index there.
    pub(crate) fn parent(self) -> (Self, usize) {
        let parent = Self { level: self.level + 1, index: self.index / PAGE_HASHES as u64 };
        (parent, (self.index % PAGE_HASHES as u64) as usize)
    }

    /// The page that has the hash of a span, and its index there.
    pub(crate) fn of_span(span: u64) -> (Self, usize) {
        Self { level: 0, index: span }.parent()
    }
}

/// The shape of the tree for an object of some size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    spans: u64,
}

impl Shape {
    pub(crate) fn new(size: u64) -> Self {
        Self { spans: size.div_ceil(SPAN).max(1) }
    }

    pub(crate) fn spans(self) -> u64 {
        self.spans
    }

    /// Number of levels of pages: 0 if the object is a single span.
    pub(crate) fn levels(self) -> u8 {
        let (mut level, mut nodes) = (0, self.spans);
        while nodes > 1 {
            (level, nodes) = (level + 1, nodes.div_ceil(PAGE_HASHES as u64));
        }
        level
    }

    /// Number of hashes in a page; `None` if there is no such page.
    pub(crate) fn hashes(self, page: Page) -> Option<usize> {
        let below =
            (1..page.level).try_fold(self.spans, |nodes, _| (nodes > 1).then(|| nodes.div_ceil(PAGE_HASHES as u64)));
        let below = below.filter(|&nodes| page.level > 0 && nodes > 1)?;
        let left = below.checked_sub(page.index.checked_mul(PAGE_HASHES as u64)?).filter(|&left| left > 0)?;
        Some(left.min(PAGE_HASHES as u64) as usize)
    }
}

/// The hash of a span that begins at `offset`: of a part of the object, or of the whole object if `all`. Its bytes come in pieces.
pub(crate) fn span_hash<'a>(offset: u64, all: bool, pieces: impl Iterator<Item = &'a [u8]>) -> TreeHash {
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(offset);
    pieces.for_each(|piece| _ = hasher.update(piece));
    if all { *hasher.finalize().as_bytes() } else { hasher.finalize_non_root() }
}

/// The hash of a page; for the page at the top, the hash of the object.
pub(crate) fn page_hash(hashes: &[TreeHash], top: bool) -> TreeHash {
    let [only] = hashes else {
        // The left subtree is the largest complete one.
        let (left, right) = hashes.split_at(hashes.len().div_ceil(2).next_power_of_two());
        let (left, right) = (page_hash(left, false), page_hash(right, false));
        return if top {
            *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
        } else {
            merge_subtrees_non_root(&left, &right, Mode::Hash)
        };
    };
    *only
}

/// All hashes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashTree {
    /// The hashes of the spans, and of the pages of each level except the top.
    levels: Vec<Vec<TreeHash>>,
    root: TreeHash,
}

impl HashTree {
    /// The hash of a span of an object of `size` bytes, for [`from_spans`](Self::from_spans): its bytes run from `offset`, a multiple of [`SPAN`], to
    /// the end of the span or of the object.
    pub fn span(size: u64, offset: u64, bytes: &[u8]) -> TreeHash {
        span_hash(offset, size <= SPAN, std::iter::once(bytes))
    }

    /// The tree of an object whose [spans](Self::span) have these hashes, at least one.
    ///
    /// # Panics
    ///
    /// If `spans` is empty.
    pub fn from_spans(spans: Vec<TreeHash>) -> Self {
        assert!(!spans.is_empty(), "an object has a span");
        let mut levels = vec![spans];
        while levels[levels.len() - 1].len() > PAGE_HASHES {
            let pages = levels[levels.len() - 1].chunks(PAGE_HASHES);
            levels.push(pages.map(|page| page_hash(page, false)).collect());
        }
        let root = page_hash(&levels[levels.len() - 1], true);
        Self { levels, root }
    }

    /// The tree of an object of `size` bytes, which is read by `read_at`: it fills the buffer from the given offset.
    ///
    /// # Errors
    ///
    /// Any error of `read_at`.
    pub fn read(size: u64, mut read_at: impl FnMut(u64, &mut [u8]) -> io::Result<()>) -> io::Result<Self> {
        let mut bytes = vec![0; size.min(SPAN) as usize];
        let spans = (0..Shape::new(size).spans()).map(|span| {
            let offset = span * SPAN;
            let bytes = &mut bytes[..(size - offset).min(SPAN) as usize];
            read_at(offset, bytes)?;
            Ok(Self::span(size, offset, bytes))
        });
        Ok(Self::from_spans(spans.collect::<io::Result<_>>()?))
    }

    /// The object's hash.
    pub fn root(&self) -> TreeHash {
        self.root
    }

    /// The hashes of a page; `None` if there is no such page.
    pub fn page(&self, page: Page) -> Option<&[TreeHash]> {
        let below = self.levels.get(usize::from(page.level).checked_sub(1)?).filter(|level| level.len() > 1)?;
        below.chunks(PAGE_HASHES).nth(usize::try_from(page.index).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(size: u64) -> Vec<u8> {
        (0..size).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
    }

    #[test]
    fn the_tree_ends_in_the_hash_of_the_object() {
        let page = SPAN * PAGE_HASHES as u64;
        for size in [
            0,
            1,
            1025,
            SPAN,
            SPAN + 1,
            2 * SPAN,
            3 * SPAN + 5,
            31 * SPAN,
            page,
            page + 1,
            2 * page + 7 * SPAN,
            5 * page + 1,
        ] {
            let object = object(size);
            let tree = HashTree::read(size, |offset, bytes| {
                bytes.copy_from_slice(&object[offset as usize..][..bytes.len()]);
                Ok(())
            });
            assert_eq!(tree.expect("read").root(), *blake3::hash(&object).as_bytes(), "{size}");
        }
    }

    #[test]
    fn every_page_has_the_hash_that_its_parent_says_and_as_many_as_its_shape() {
        // Arbitrary hashes: no object of that size is read.
        for spans in [1, 2, 31, 32, 33, 1024, 1025, 32 * 32 * 32, 40_000] {
            let hashes: Vec<TreeHash> = (0..spans).map(|n: u64| *blake3::hash(&n.to_be_bytes()).as_bytes()).collect();
            let (tree, shape) = (HashTree::from_spans(hashes), Shape::new(spans * SPAN));
            for level in 1..=shape.levels() {
                for index in 0.. {
                    let page = Page { level, index };
                    let Some(hashes) = tree.page(page) else {
                        assert_eq!(shape.hashes(page), None, "{spans} {page:?}");
                        break;
                    };
                    assert_eq!(shape.hashes(page), Some(hashes.len()), "{spans} {page:?}");
                    let top = level == shape.levels();
                    let (parent, at) = page.parent();
                    let expected = if top { tree.root() } else { tree.page(parent).expect("it has one")[at] };
                    assert_eq!(page_hash(hashes, top), expected, "{spans} {page:?}");
                }
            }
            for page in [
                Page { level: shape.levels() + 1, index: 0 },
                Page { level: 0, index: 0 },
                Page { level: 255, index: u64::MAX },
            ] {
                assert_eq!((shape.hashes(page), tree.page(page)), (None, None), "{spans} {page:?}");
            }
        }
        assert_eq!(Shape::new(u64::MAX).levels(), 10);
    }
}
