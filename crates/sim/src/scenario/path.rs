//! Dotted keys: `workload.0.sizes.law`, `workload[0].sizes.law`, `sweep."transport.name"`.

use std::fmt;

/// A key, outermost part first. Parts that are numbers index lists; no table of a scenario has a numeric key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path(pub(super) Vec<String>);

impl Path {
    /// Reads a key as people write it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("{text:?} is not a key: {why}");
        let mut parts = Vec::new();
        let mut rest = text.trim();
        loop {
            if let Some(quoted) = rest.strip_prefix('"') {
                let (part, after) = quoted.split_once('"').ok_or_else(|| bad("a quotation mark is open"))?;
                parts.push(part.to_owned());
                rest = after;
            } else {
                let (part, after) = rest.split_at(rest.find(['.', '[', ']', '"']).unwrap_or(rest.len()));
                if part.is_empty() {
                    return Err(bad("a part is empty"));
                }
                parts.push(part.to_owned());
                rest = after;
            }
            while let Some(bracket) = rest.strip_prefix('[') {
                let (index, after) = bracket.split_once(']').ok_or_else(|| bad("a bracket is open"))?;
                index.parse::<usize>().map_err(|_| bad(&format!("{index:?} is not an index")))?;
                parts.push(index.to_owned());
                rest = after;
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() => return Ok(Self(parts)),
                None => return Err(bad(&format!("{rest:?} is in the way"))),
            }
        }
    }

    /// The key of something inside.
    #[must_use]
    pub(super) fn join(&self, part: impl Into<String>) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.into());
        Self(parts)
    }

    /// The key of something inside, itself dotted; empty for this itself.
    #[must_use]
    pub(super) fn join_dotted(&self, dotted: &str) -> Self {
        let mut parts = self.0.clone();
        parts.extend(dotted.split('.').filter(|p| !p.is_empty()).map(str::to_owned));
        Self(parts)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
                write!(f, "[{part}]")?;
            } else {
                let dot = if i > 0 { "." } else { "" };
                if part.is_empty() || part.contains(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')) {
                    write!(f, "{dot}\"{part}\"")?;
                } else {
                    write!(f, "{dot}{part}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        let parts = |text: &str| Path::parse(text).map(|p| p.0);
        assert_eq!(parts("fabric.k").unwrap(), ["fabric", "k"]);
        assert_eq!(parts("workload[0].sizes.law").unwrap(), ["workload", "0", "sizes", "law"]);
        assert_eq!(parts("workload.0").unwrap(), ["workload", "0"]);
        assert_eq!(parts("a[1][2]").unwrap(), ["a", "1", "2"]);
        assert_eq!(parts("sweep.\"transport.name\"").unwrap(), ["sweep", "transport.name"]);
        for bad in ["", ".", "a.", ".a", "a..b", "a[x]", "a[", "\"a", "[0]"] {
            assert!(parts(bad).is_err(), "{bad:?} gives {:?}", parts(bad));
        }
    }

    #[test]
    fn shows_indices_in_brackets() {
        assert_eq!(Path::parse("workload.1.sizes").unwrap().to_string(), "workload[1].sizes");
        assert_eq!(Path::parse("sweep.\"a.b\"").unwrap().to_string(), "sweep.\"a.b\"");
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(parts in prop::collection::vec("[a-z_-]{1,5}|[0-9]{1,3}|[a-z]\\.[a-z]", 1..6)) {
            prop_assume!(!parts[0].bytes().all(|b| b.is_ascii_digit()));
            let path = Path(parts);
            prop_assert_eq!(Path::parse(&path.to_string()), Ok(path));
        }

        #[test]
        fn hostile_keys_never_panic(text in "\\PC{0,40}") {
            let _ = Path::parse(&text);
        }
    }
}
