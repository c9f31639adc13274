//! "Did you mean ...?"

/// The candidate that `found` is most likely a slip of the pen for.
pub(crate) fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let allowed = (found.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(found, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| format!("did you mean {candidate:?}?"))
}

/// Serde's message in this project's quotation marks, with a suggestion where it lists what it expected.
pub(crate) fn explained(message: &str) -> (String, Option<String>) {
    let message = message.trim_end();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let hint = match quoted.split_first() {
        Some((found, expected)) if message.starts_with("unknown") => nearest(found, expected.iter().copied()),
        _ => None,
    };
    (message.replace('`', "\""), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_slips_only() {
        assert_eq!(nearest("comand", ["command", "on"]).as_deref(), Some("did you mean \"command\"?"));
        assert_eq!(nearest("x", ["a", "b"]), None);
        assert_eq!(nearest("bandwidth", ["command", "on"]), None);
    }

    #[test]
    fn takes_the_candidates_from_the_message() {
        let (message, hint) = explained("unknown field `redy`, expected one of `on`, `ready`\n");
        assert_eq!(message, "unknown field \"redy\", expected one of \"on\", \"ready\"");
        assert_eq!(hint.as_deref(), Some("did you mean \"ready\"?"));
        assert_eq!(explained("missing field `on`").1, None);
    }
}
