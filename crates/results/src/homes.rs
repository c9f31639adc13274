//! Which folder has which run of a plan.

use crate::Planned;
use crate::contents::Contents;
use crate::layout::{is_hidden, run_of};
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of the folders of runs that are there.
#[derive(Debug)]
pub(crate) struct Homes {
    /// The folder of every run of the plan that is kept.
    pub(crate) kept: Vec<Option<String>>,
    /// The finished runs that the plan makes again, by their names in it: the folder, and its name until then.
    pub(crate) again: BTreeMap<String, (String, String)>,
    /// The folders that go.
    pub(crate) useless: Vec<String>,
}

impl Homes {
    /// Finds the finished runs of a plan. With `resume`, they are kept if this version can read them.
    pub(crate) fn find(plan: &[Planned], there: &Contents, resume: bool) -> Self {
        let mut kept = found(plan, there);
        let useless = useless(plan, there, &kept, resume);
        let (mut again, mut taken) = (BTreeMap::new(), there.runs.keys().cloned().collect());
        for (run, home) in plan.iter().zip(&mut kept) {
            if let Some(home) = home.take_if(|home| !resume || there.runs[home].entry().is_none()) {
                let aside = aside(&home, &mut taken);
                again.insert(run.run.clone(), (home, aside));
            }
        }
        Self { kept, again, useless }
    }

    /// The folders that are removed, sooner or later.
    pub(crate) fn removed(&self) -> impl Iterator<Item = &String> {
        self.useless.iter().chain(self.again.values().map(|(home, _)| home))
    }
}

/// A name for a folder where it is in nobody's way: with dots in front, and none of a draft.
fn aside(home: &str, taken: &mut BTreeSet<String>) -> String {
    let run = run_of(home).unwrap_or(home);
    if is_hidden(home) && home.trim_start_matches('.') == run {
        return home.to_owned();
    }
    let mut name = format!(".{run}");
    while !taken.insert(name.clone()) {
        name.insert(0, '.');
    }
    name
}

/// The folder of every run of a plan that has finished: that of its name if possible.
fn found(plan: &[Planned], there: &Contents) -> Vec<Option<String>> {
    // Points that differ in name only have one hash.
    let mut by_hash: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, hash) in there.finished() {
        by_hash.entry(hash).or_default().push(name);
    }
    // Those with visible names first.
    for names in by_hash.values_mut() {
        names.sort_by_key(|name| is_hidden(name));
    }
    let mut take = |run: &Planned, right: &dyn Fn(&str) -> bool| {
        let names = by_hash.get_mut(run.hash.as_str())?;
        let at = names.iter().position(|name| right(name))?;
        Some(names.remove(at).to_owned())
    };
    let mut found: Vec<Option<String>> = plan.iter().map(|run| take(run, &|name| name == run.run)).collect();
    for (run, home) in plan.iter().zip(&mut found) {
        if home.is_none() {
            *home = take(run, &|_| true);
        }
    }
    found
}

/// The folders of runs that are to go: what has not finished, and what the plan does not make. With `resume`, of the latter
/// only what has a name of the plan, hidden or not, and second copies, which a move leaves that was cut short.
fn useless(plan: &[Planned], there: &Contents, found: &[Option<String>], resume: bool) -> Vec<String> {
    let names: BTreeSet<&str> = plan.iter().map(|run| run.run.as_str()).collect();
    let hashes: BTreeSet<&str> = plan.iter().map(|run| run.hash.as_str()).collect();
    let found: BTreeSet<&str> = found.iter().flatten().map(String::as_str).collect();
    let goes = |name: &str, finished: Option<&str>| {
        let Some(hash) = finished else { return true };
        let needed = || run_of(name).is_some_and(|run| names.contains(run));
        !found.contains(name) && (!resume || needed() || (is_hidden(name) && hashes.contains(hash)))
    };
    let folders = there.runs.iter().filter(|(name, run)| goes(name, run.finished.as_deref()));
    folders.map(|(name, _)| name.clone()).collect()
}
