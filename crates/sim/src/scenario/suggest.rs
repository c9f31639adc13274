//! "Did you mean ...?"

/// The candidate that `found` is most likely a slip of the pen for.
pub(super) fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // `fat_tree` for `fat-tree` and `FatTree` for `fat-tree` cost nothing.
    let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let allowed = (found.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&plain(found), &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_slips_only() {
        let names = ["fat-tree", "leaf-spine", "star", "k"];
        assert_eq!(nearest("fattree", names), Some("fat-tree"));
        assert_eq!(nearest("fat_tre", names), Some("fat-tree"));
        assert_eq!(nearest("leafspine", names), Some("leaf-spine"));
        assert_eq!(nearest("stra", names), Some("star"));
        assert_eq!(nearest("torus", names), None);
        assert_eq!(nearest("j", names), None);
    }
}
