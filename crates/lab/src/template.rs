//! Placeholders in commands: `{name}`. A brace that is meant is written twice.

use crate::file::Words;

/// Part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t str),
    /// `{{` or `}}`.
    Brace(char),
    Name(&'t str),
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        if !before.is_empty() {
            found.push(Piece::Text(before));
        }
        if from.starts_with("{{") || from.starts_with("}}") {
            found.push(Piece::Brace(if from.starts_with('{') { '{' } else { '}' }));
            rest = &from[2..];
        } else if let Some((name, after)) = from.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            found.push(Piece::Name(name));
            rest = after;
        } else {
            let what = if from.starts_with('{') { "a brace is open" } else { "a brace closes nothing" };
            return Err(format!("{what} in {text:?}; a brace that is meant is written twice"));
        }
    }
    if !rest.is_empty() {
        found.push(Piece::Text(rest));
    }
    Ok(found)
}

/// The text with every placeholder replaced. `Err` names the first that `value` does not know.
pub(crate) fn expand(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut made = String::new();
    for piece in pieces(text)? {
        match piece {
            Piece::Text(text) => made.push_str(text),
            Piece::Brace(brace) => made.push(brace),
            Piece::Name(name) => {
                made.push_str(&value(name).ok_or_else(|| format!("nothing is called {{{name}}}"))?);
            }
        }
    }
    Ok(made)
}

/// The text with the variables replaced, and all else as it was.
fn with_variables(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut made = String::new();
    for piece in pieces(text)? {
        match piece {
            Piece::Text(text) => made.push_str(text),
            Piece::Brace(brace) => made.extend([brace, brace]),
            Piece::Name(name) => made.push_str(&variable(name).unwrap_or_else(|| format!("{{{name}}}"))),
        }
    }
    Ok(made)
}

/// The words of a command. Variables are replaced before it is split, so that one can be several words or none; all else after that, so
/// that a path with a space in it stays one word.
pub(crate) fn words(
    command: &Words,
    variable: &dyn Fn(&str) -> Option<String>,
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, String> {
    let split = match command {
        Words::Text(text) => shell_words::split(&with_variables(text, variable)?)
            .map_err(|_| format!("a quotation mark is open in {text:?}"))?,
        Words::List(list) => list.iter().map(|word| with_variables(word, variable)).collect::<Result<_, _>>()?,
    };
    let words: Vec<String> = split.iter().map(|word| expand(word, value)).collect::<Result<_, _>>()?;
    if words.first().is_none_or(String::is_empty) {
        return Err("the command has no words".to_owned());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str) -> Option<String> {
        match name {
            "how" => Some("--group {b} --fast".to_owned()),
            "nothing" => Some(String::new()),
            _ => None,
        }
    }

    fn value(name: &str) -> Option<String> {
        match name {
            "b" => Some("10.0.0.2".to_owned()),
            "dir" => Some("/tmp/with space".to_owned()),
            _ => None,
        }
    }

    fn of(text: &str) -> Result<Vec<String>, String> {
        words(&Words::Text(text.to_owned()), &variable, &value)
    }

    #[test]
    fn variables_are_split_and_paths_are_not() {
        assert_eq!(
            of("run {how} {nothing} {dir}/x").unwrap(),
            ["run", "--group", "10.0.0.2", "--fast", "/tmp/with space/x"]
        );
        assert_eq!(of("run 'a  b' \"{b}\"").unwrap(), ["run", "a  b", "10.0.0.2"]);
        let list = Words::List(vec!["run".to_owned(), "{how}".to_owned()]);
        assert_eq!(words(&list, &variable, &value).unwrap(), ["run", "--group 10.0.0.2 --fast"]);
    }

    #[test]
    fn braces_are_written_twice() {
        assert_eq!(of(r#"echo '{{"a": {b}}}'"#).unwrap(), ["echo", r#"{"a": 10.0.0.2}"#]);
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(of("run {c}").unwrap_err(), "nothing is called {c}");
        assert!(of("run {b").unwrap_err().starts_with("a brace is open"));
        assert!(of("run b}").unwrap_err().starts_with("a brace closes nothing"));
        assert!(of("run 'b").unwrap_err().starts_with("a quotation mark is open"));
        assert_eq!(of(" {nothing} ").unwrap_err(), "the command has no words");
    }
}
