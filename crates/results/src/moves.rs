//! The order in which runs change their names.

use std::collections::{BTreeMap, BTreeSet};

/// A change of a folder's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// Orders moves, from source to target, so that each target is free. Of runs that change places, one steps aside: to a name
/// with dots in front which nothing has, where the next command finds it if this one is killed.
pub(crate) fn order(mut moves: BTreeMap<String, String>, taken: &BTreeSet<String>) -> Vec<Move> {
    moves.retain(|from, to| from != to);
    let mut ordered = Vec::new();
    while let Some(first) = moves.keys().next().cloned() {
        let mut chain = vec![first.clone()];
        while let Some(next) = moves.get(&chain[chain.len() - 1]).filter(|to| moves.contains_key(*to) && **to != first)
        {
            chain.push(next.clone());
        }
        let is_circle = moves.get(&chain[chain.len() - 1]) == Some(&first);
        if is_circle {
            let mut aside = format!(".{first}");
            while taken.contains(&aside) {
                aside.insert(0, '.');
            }
            ordered.push(Move { from: first.clone(), to: aside.clone() });
            if let Some(to) = moves.remove(&first) {
                moves.insert(aside.clone(), to);
            }
            chain[0] = aside;
        }
        for from in chain.into_iter().rev() {
            if let Some(to) = moves.remove(&from) {
                ordered.push(Move { from, to });
            }
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_free_when_its_run_comes() {
        // All ways of five runs to five of seven places.
        let names: Vec<String> = (0..7).map(|i| format!("p{i}-s1")).collect();
        let mut cases = 0;
        for n in 0..7_usize.pow(5) {
            let targets: Vec<usize> = (0..5).map(|i| n / 7_usize.pow(i) % 7).collect();
            if targets.iter().collect::<BTreeSet<_>>().len() < 5 {
                continue;
            }
            let moves: BTreeMap<_, _> = (0..5).map(|i| (names[i].clone(), names[targets[i]].clone())).collect();
            let mut folders: BTreeMap<String, usize> = (0..5).map(|i| (names[i].clone(), i)).collect();
            let taken = names.iter().cloned().chain([".p0-s1".to_owned()]).collect();
            for Move { from, to } in order(moves, &taken) {
                let run = folders.remove(&from).expect("it is there");
                assert!(to == "..p0-s1" || !taken.contains(&to) || names.contains(&to), "{to}");
                assert_eq!(folders.insert(to.clone(), run), None, "{to} is taken");
            }
            let wanted: BTreeMap<String, usize> = (0..5).map(|i| (names[targets[i]].clone(), i)).collect();
            assert_eq!(folders, wanted);
            cases += 1;
        }
        assert_eq!(cases, 7 * 6 * 5 * 4 * 3);
    }
}
