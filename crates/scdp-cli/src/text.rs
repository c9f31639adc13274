//! Text that others have chosen, on a terminal and in JSON: names of files, reasons of peers, paths.
//!
//! A terminal obeys control characters, and draws text in the order that its bidirectional controls ask for: a name could clear the screen, forge a
//! line, or show `exe.png` for `gnp.exe`. So nothing is printed but through [`printable`] or [`json`].

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character may change how text around it is shown, or hides: controls (C0, C1, DEL), line and paragraph separators, and what Unicode calls
/// format characters, above all the bidirectional controls. The two joiners (U+200C, U+200D) are left, since scripts and emoji need them, and
/// change nothing but their neighbours' form.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
            | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text in one line as a terminal may get it: unsafe characters as `\u{202e}`.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            write!(shown, "\\u{{{:x}}}", u32::from(c)).expect("a string");
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// As [`printable`], for text of the program's own that has several lines.
pub(crate) fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// A JSON text with unsafe characters as `\u202e`: they can only stand in strings.
pub(crate) fn json(text: String) -> String {
    if !text.contains(is_unsafe) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(shown, "\\u{unit:04x}").expect("a string");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What may do harm, as ranges.
    const UNSAFE: [(u32, u32); 11] = [
        (0, 0x1f),
        (0x7f, 0x9f),
        (0x61c, 0x61c),
        (0x200b, 0x200b),
        (0x200e, 0x200f),
        (0x2028, 0x2029),
        (0x202a, 0x202e),
        (0x2060, 0x206f),
        (0xfeff, 0xfeff),
        (0xfff9, 0xfffb),
        (0xe0001, 0xe007f),
    ];

    #[test]
    fn nothing_that_moves_or_hides_text_is_printed() {
        for c in UNSAFE.iter().flat_map(|&(first, last)| (first..=last).filter_map(char::from_u32)) {
            let name = format!("a{c}b");
            assert_eq!(printable(&name), format!("a\\u{{{:x}}}b", u32::from(c)));
            let shown = json(serde_json::to_string(&name).expect("JSON"));
            assert!(shown.is_ascii() && !shown.chars().any(char::is_control), "{shown:?}");
            assert_eq!(serde_json::from_str::<String>(&shown).expect("JSON"), name);
        }
        assert_eq!(json("\"\u{202e}\"".to_owned()), "\"\\u202e\"");
        assert_eq!(printable("rtl\u{202e}gnp.exe"), "rtl\\u{202e}gnp.exe");
    }

    #[test]
    fn other_text_is_left_as_it_is() {
        for text in ["", "a b", "наука 模型 🚀.bin", "ä\\n", "می\u{200c}خواهم", "👩\u{200d}🔬", "עברית.txt", "a\u{300}"]
        {
            assert_eq!(printable(text), text);
            let quoted = serde_json::to_string(text).expect("JSON");
            assert_eq!(json(quoted.clone()), quoted);
        }
        assert_eq!(printable("two\nlines"), "two\\u{a}lines");
        assert_eq!(printable_lines("two\nlines\x1b[2J"), "two\nlines\\u{1b}[2J");
    }
}
