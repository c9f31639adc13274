//! Hashes of the files of a folder that are known, by name and by hash.
//!
//! A hash is that of a file in one state. It is found again as long as the file is in the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use anabranch_host::{HashTree, TreeHash};

use super::regular::FileState;

/// The hash of a file's content.
#[derive(Clone, Debug)]
pub(crate) struct FileHash {
    pub(crate) root: TreeHash,
    /// The hashes of its parts, for a file that is to be sent. They take 1/4096 of the file's size.
    pub(crate) parts: Option<Arc<HashTree>>,
}

/// A file whose hash is known.
#[derive(Debug)]
struct Entry {
    state: FileState,
    hash: FileHash,
    /// Entries that are older have smaller numbers.
    number: u64,
}

/// Known hashes, no more than a fixed number.
#[derive(Debug)]
pub(crate) struct HashCache {
    most: usize,
    entries: BTreeMap<Arc<str>, Entry>,
    by_hash: BTreeSet<(TreeHash, Arc<str>)>,
    by_age: BTreeMap<u64, Arc<str>>,
    next: u64,
}

impl HashCache {
    /// A cache of up to `most` hashes: above that, the oldest ones are forgotten.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, entries: BTreeMap::new(), by_hash: BTreeSet::new(), by_age: BTreeMap::new(), next: 0 }
    }

    /// The hash of a file that is in this state.
    pub(crate) fn get(&self, name: &str, state: &FileState) -> Option<&FileHash> {
        self.entries.get(name).filter(|entry| entry.state == *state).map(|entry| &entry.hash)
    }

    /// Names of files that had this content when they were read.
    pub(crate) fn names(&self, hash: &TreeHash) -> impl Iterator<Item = &Arc<str>> + '_ {
        let hash = *hash;
        let first = (hash, Arc::from(""));
        self.by_hash.range(first..).take_while(move |(other, _)| *other == hash).map(|(_, name)| name)
    }

    /// The hash of a file in this state has been computed, and the state was settled before.
    pub(crate) fn insert(&mut self, name: &str, state: FileState, hash: FileHash) {
        self.remove(name);
        let name: Arc<str> = Arc::from(name);
        self.by_hash.insert((hash.root, Arc::clone(&name)));
        self.by_age.insert(self.next, Arc::clone(&name));
        self.entries.insert(name, Entry { state, hash, number: self.next });
        self.next += 1;
        while self.entries.len() > self.most
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.remove(&oldest);
        }
    }

    /// Forgets a file.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Some((name, entry)) = self.entries.remove_entry(name) {
            self.by_age.remove(&entry.number);
            self.by_hash.remove(&(entry.hash.root, name));
        }
    }

    /// The next name after `last`, in turn, and the state that its hash is for.
    pub(crate) fn after(&self, last: &str) -> Option<(&Arc<str>, &FileState)> {
        let rest = self.entries.range::<str, _>((Bound::Excluded(last), Bound::Unbounded));
        rest.chain(self.entries.iter()).next().map(|(name, entry)| (name, &entry.state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(size: u64) -> FileState {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(size).expect("made");
        FileState::of(&file).expect("a file")
    }

    fn hash(n: u8) -> FileHash {
        FileHash { root: [n; 32], parts: None }
    }

    fn names(cache: &HashCache, n: u8) -> Vec<String> {
        cache.names(&[n; 32]).map(ToString::to_string).collect()
    }

    #[test]
    fn a_hash_is_found_by_name_and_state_and_names_by_hash() {
        let (mut cache, states) = (HashCache::new(100), [state(1), state(2)]);
        cache.insert("b", states[0], hash(7));
        cache.insert("a", states[0], hash(7));
        cache.insert("c", states[0], hash(8));
        assert_eq!(cache.get("a", &states[0]).expect("known").root, [7; 32]);
        assert!(cache.get("a", &states[1]).is_none() && cache.get("d", &states[0]).is_none());
        assert_eq!((names(&cache, 7), names(&cache, 8)), (vec!["a".into(), "b".into()], vec!["c".into()]));
        cache.insert("a", states[1], hash(8));
        assert_eq!((names(&cache, 7), names(&cache, 8)), (vec!["b".into()], vec!["a".into(), "c".into()]));
        assert!(cache.get("a", &states[0]).is_none() && cache.get("a", &states[1]).is_some());
        cache.remove("b");
        cache.remove("b");
        assert_eq!((names(&cache, 7), cache.by_age.len()), (vec![], 2));
    }

    #[test]
    fn the_oldest_are_forgotten_and_all_have_their_turn() {
        let (mut cache, state) = (HashCache::new(3), state(1));
        for n in 0..50 {
            cache.insert(&format!("{n:02}"), state, hash(n));
            assert_eq!((cache.entries.len(), cache.by_hash.len()), (usize::from(n).min(2) + 1, cache.by_age.len()));
        }
        let mut last = Arc::from("");
        let turns: Vec<String> = (0..7)
            .map(|_| {
                last = Arc::clone(cache.after(&last).expect("one").0);
                last.to_string()
            })
            .collect();
        assert_eq!(turns, ["47", "48", "49", "47", "48", "49", "47"]);
        assert!(HashCache::new(3).after("").is_none());
    }
}
