//! The hashes of the object's parts that a session that receives knows, and those that it asks for.
//!
//! Pages are requested from the top of the tree down to the spans that come next, all at once, and each is checked once the page above it is known.
//! Pages that are not needed any more are dropped, so that few are kept however large the object is.

use std::collections::BTreeMap;
use std::ops::Range;

use anabranch_transport::{Duration, Time};

use crate::hash_tree::{Page, Shape, TreeHash, page_hash};
use crate::session::repeat::Repeat;

/// The first pause before a page is requested again. A lost page must not hold up symbols, which arrive far ahead of their hashes.
const FIRST: Duration = Duration::from_ms(5);
/// A page that is needed.
#[derive(Clone, Debug)]
struct Wanted {
    /// When it is to be requested.
    request: Repeat,
    /// Its hashes and their sender, if they have arrived before the page above.
    unproven: Option<(usize, Vec<TreeHash>)>,
}

impl Wanted {
    fn new(now: Time) -> Self {
        let mut request = Repeat::with_first(FIRST);
        request.start(now);
        Self { request, unproven: None }
    }

    /// When it is to be requested, if it has not arrived.
    fn due(&self) -> Option<Time> {
        self.request.due().filter(|_| self.unproven.is_none())
    }
}

/// The result of an arriving page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// More hashes of spans are known.
    pub(super) more: bool,
    /// A sender that has sent a wrong page.
    pub(super) wrong: Option<usize>,
}

/// Hashes of an object.
#[derive(Debug)]
pub(super) struct Hashes {
    shape: Shape,
    root: TreeHash,
    known: BTreeMap<Page, Vec<TreeHash>>,
    wanted: BTreeMap<Page, Wanted>,
    /// When the first wanted page became wanted, or the last one arrived.
    waits_since: Time,
}

impl Hashes {
    /// For an object of that size and hash.
    pub(super) fn new(size: u64, root: TreeHash) -> Self {
        Self { shape: Shape::new(size), root, known: BTreeMap::new(), wanted: BTreeMap::new(), waits_since: Time::ZERO }
    }

    /// Since when no wanted page has arrived, if any is wanted.
    pub(super) fn waits_since(&self) -> Option<Time> {
        (!self.wanted.is_empty()).then_some(self.waits_since)
    }

    /// The hash of the object.
    pub(super) fn root(&self) -> TreeHash {
        self.root
    }

    /// The hash of a span, if it is known.
    pub(super) fn span(&self, span: u64) -> Option<TreeHash> {
        if self.shape.spans() == 1 {
            return Some(self.root);
        }
        let (page, at) = Page::of_span(span);
        self.known.get(&page)?.get(at).copied()
    }

    /// These spans come next: their pages and the pages above those are needed, and no others.
    pub(super) fn need(&mut self, now: Time, spans: &[Range<u64>]) {
        let mut needed = Vec::new();
        for spans in spans {
            let (mut first, mut last) = (spans.start, spans.end.min(self.shape.spans()).saturating_sub(1));
            for level in 1..=self.shape.levels() {
                (first, last) = (Page::of_span(first).0.index, Page::of_span(last).0.index);
                needed.push((level, first..=last));
            }
        }
        let is_needed =
            |page: &Page| needed.iter().any(|(level, range)| page.level == *level && range.contains(&page.index));
        self.known.retain(|page, _| is_needed(page));
        self.wanted.retain(|page, _| is_needed(page));
        if self.wanted.is_empty() {
            self.waits_since = now;
        }
        for (level, range) in needed.iter().rev() {
            for index in range.clone() {
                let page = Page { level: *level, index };
                if !self.known.contains_key(&page) {
                    self.wanted.entry(page).or_insert_with(|| Wanted::new(now));
                }
            }
        }
    }

    /// A page to request now; it is due again after a pause.
    pub(super) fn ask(&mut self, now: Time) -> Option<Page> {
        // From the top down.
        let is_due = |wanted: &Wanted| wanted.due().is_some_and(|due| due <= now);
        let (page, wanted) = self.wanted.iter_mut().rev().find(|(_, wanted)| is_due(wanted))?;
        wanted.request.take(now);
        Some(*page)
    }

    /// When the next page is to be requested.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.wanted.values().filter_map(Wanted::due).min()
    }

    /// A page has arrived from a sender, requested or not.
    pub(super) fn on_page(&mut self, now: Time, sender: usize, page: Page, hashes: Vec<TreeHash>) -> News {
        let Some(wanted) = self.wanted.get_mut(&page).filter(|wanted| wanted.unproven.is_none()) else {
            return News::default();
        };
        if self.shape.hashes(page) != Some(hashes.len()) {
            return News { more: false, wrong: Some(sender) };
        }
        wanted.unproven = Some((sender, hashes));
        self.waits_since = now;
        let mut news = News::default();
        // A page may prove pages below it that arrived before.
        while let Some((page, right)) = self.next_provable() {
            let (sender, hashes) = self.wanted.get_mut(&page).and_then(|wanted| wanted.unproven.take()).expect("found");
            if right {
                self.wanted.remove(&page);
                self.known.insert(page, hashes);
                news.more |= page.level == 1;
            } else {
                news.wrong = Some(sender);
            }
        }
        news
    }

    /// A page that can be checked, and whether it is right.
    fn next_provable(&self) -> Option<(Page, bool)> {
        self.wanted.iter().find_map(|(&page, wanted)| {
            let (_, hashes) = wanted.unproven.as_ref()?;
            let top = page.level == self.shape.levels();
            let (parent, at) = page.parent();
            let expected = if top { self.root } else { *self.known.get(&parent)?.get(at)? };
            Some((page, page_hash(hashes, top) == expected))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HashTree;
    use crate::hash_tree::SPAN;

    const SPANS: u64 = 40_000;

    fn tree() -> HashTree {
        HashTree::from_spans((0..SPANS).map(|n: u64| *blake3::hash(&n.to_be_bytes()).as_bytes()).collect())
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// Requests all pages that are due.
    fn asked(hashes: &mut Hashes, now: Time) -> Vec<Page> {
        std::iter::from_fn(|| hashes.ask(now)).collect()
    }

    #[test]
    fn pages_are_known_in_whatever_order_they_come_and_few_are_kept() {
        let tree = tree();
        let mut hashes = Hashes::new(SPANS * SPAN, tree.root());
        for (round, first) in (0..SPANS).step_by(17).enumerate() {
            hashes.need(Time::ZERO, std::slice::from_ref(&(first..first + 100)));
            let mut pages = asked(&mut hashes, Time::ZERO);
            if round % 2 == 1 {
                pages.reverse();
            }
            for page in pages {
                assert_eq!(hashes.on_page(at(0), 0, page, tree.page(page).expect("there").to_vec()).wrong, None);
            }
            assert!(hashes.known.len() <= 4 + 3 + 3 && hashes.wanted.is_empty());
            for span in first..(first + 100).min(SPANS) {
                let (page, at) = Page::of_span(span);
                assert_eq!(hashes.span(span), Some(tree.page(page).expect("there")[at]));
            }
        }
    }

    #[test]
    fn a_page_is_asked_for_again_and_a_wrong_one_is_seen() {
        let tree = tree();
        let mut hashes = Hashes::new(SPANS * SPAN, tree.root());
        hashes.need(at(0), std::slice::from_ref(&(0..1)));
        let pages = asked(&mut hashes, at(0));
        assert_eq!(pages.iter().map(|page| page.level).collect::<Vec<_>>(), [4, 3, 2, 1]);
        assert_eq!((hashes.ask(at(4)), hashes.poll_timeout()), (None, Some(at(5))));
        assert_eq!((asked(&mut hashes, at(5)).len(), hashes.poll_timeout()), (4, Some(at(15))));
        let page = |n: usize| tree.page(pages[n]).expect("there").to_vec();
        let forged = |n: usize| page(n).into_iter().map(|hash| hash.map(|byte| !byte)).collect::<Vec<_>>();
        // The forgery is detected once the page above is known.
        assert_eq!(hashes.on_page(at(0), 1, pages[3], forged(3)), News::default());
        assert_eq!(hashes.on_page(at(0), 2, pages[0], forged(0)).wrong, Some(2));
        assert_eq!(
            hashes.on_page(at(0), 2, pages[1], page(1)[1..].to_vec()).wrong,
            Some(2),
            "not as many as there are"
        );
        assert_eq!(hashes.on_page(at(0), 0, pages[1], page(1)), News::default());
        assert_eq!(hashes.on_page(at(0), 0, pages[0], page(0)), News::default());
        assert_eq!(hashes.on_page(at(0), 0, pages[2], page(2)), News { more: false, wrong: Some(1) });
        assert_eq!(hashes.span(0), None);
        assert_eq!(hashes.on_page(at(0), 0, pages[3], page(3)), News { more: true, wrong: None });
        assert_eq!(hashes.span(0), Some(page(3)[0]));
        assert_eq!(hashes.on_page(at(0), 0, pages[3], forged(3)), News::default(), "nobody has asked");
        assert_eq!((hashes.poll_timeout(), hashes.waits_since()), (None, None));
    }

    #[test]
    fn of_one_span_nothing_needs_to_be_asked() {
        let mut hashes = Hashes::new(SPAN, [1; 32]);
        hashes.need(at(0), std::slice::from_ref(&(0..1)));
        assert_eq!((hashes.ask(at(0)), hashes.span(0), hashes.poll_timeout()), (None, Some([1; 32]), None));
    }
}
