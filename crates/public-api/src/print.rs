//! Rust as one line of text, with spaces where people put them.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Attribute;

/// An attribute on one line.
pub(crate) fn attribute(attribute: &Attribute) -> String {
    text(attribute)
}

/// Any piece of source on one line.
pub(crate) fn text(piece: &impl ToTokens) -> String {
    let mut line = Line::default();
    line.write(piece.to_token_stream());
    line.out
}

/// What was written last, as far as the space before the next token depends on it.
#[derive(Clone, Copy, Default, PartialEq)]
enum Last {
    /// Nothing, an opening bracket, or a sign that nothing is put after.
    #[default]
    Open,
    /// A word, a number or a lifetime.
    Word,
    /// A closing bracket, `>` among them.
    Close,
    /// A sign that has a space after it.
    Sign,
}

#[derive(Default)]
struct Line {
    out: String,
    last: Last,
}

impl Line {
    fn push(&mut self, text: &str, space: bool, last: Last) {
        if space {
            self.out.push(' ');
        }
        self.out += text;
        self.last = last;
    }

    fn write(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut signs = String::new();
        for (i, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Punct(sign) => {
                    if sign.as_char() == '\'' && !signs.is_empty() {
                        self.sign(&std::mem::take(&mut signs), false);
                    }
                    signs.push(sign.as_char());
                    let joined =
                        matches!(tokens.get(i + 1), Some(TokenTree::Punct(_))) && sign.spacing() == Spacing::Joint;
                    let lifetime = signs == "'";
                    // `>>` closes two lists of parameters, and `<<` opens two.
                    if lifetime || !joined || matches!(sign.as_char(), '<' | '>') && signs.len() == 1 {
                        let last = i + 1 == tokens.len();
                        self.sign(&std::mem::take(&mut signs), last);
                    }
                }
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::None => ("", ""),
                    };
                    let after_word = self.last == Last::Word && open != "(" || self.last == Last::Close && open == "{";
                    self.push(open, after_word || self.last == Last::Sign, Last::Open);
                    self.write(group.stream());
                    self.push(close, false, Last::Close);
                }
                word => {
                    let space = matches!(self.last, Last::Word | Last::Close | Last::Sign);
                    self.push(&word.to_string(), space, Last::Word);
                }
            }
        }
    }

    fn sign(&mut self, sign: &str, is_last: bool) {
        let after_sign = self.last == Last::Sign;
        match sign {
            // A comma before a closing bracket is there on several lines only.
            "," if is_last => {}
            "," | ":" | ";" => self.push(sign, false, Last::Sign),
            "::" => self.push(sign, false, Last::Open),
            "<" => self.push(sign, after_sign, Last::Open),
            ">" => self.push(sign, false, Last::Close),
            "&" | "'" | "*" | "#" | "?" | "!" => {
                self.push(sign, matches!(self.last, Last::Word | Last::Close | Last::Sign), Last::Open);
            }
            _ => self.push(sign, true, Last::Sign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_written_as_people_write_it() {
        for source in [
            "fn new(plan: Arc<EncodingPlan>, symbols: &[u8]) -> Result<Self, BlockError>",
            "impl<'a, D: AsRef<[u8]> + Sync> Encoder<'a, D>",
            "impl<E, D> LoadedBlocks<E> where E: Deref<Target = Encoder<D>>, D: AsRef<[u8]>",
            "fn packets(&self, first: u32) -> Option<Vec<Vec<(u8, &'static str)>>>",
            "fn visit(&self, visit: impl Fn(&BlockEncoder) -> Result<(), E> + Sync)",
            "#[cfg(all(doc, feature = \"std\"))]",
            "const ALL: &'static [Self]",
            "fn f(a: [u8; Self::SIZE], b: &mut dyn Any)",
        ] {
            let tokens: TokenStream = source.parse().unwrap();
            assert_eq!(text(&tokens), source);
        }
        let tokens: TokenStream = "fn f(\n    a: u8,\n    b: u8,\n) -> u8".parse().unwrap();
        assert_eq!(text(&tokens), "fn f(a: u8, b: u8) -> u8");
    }
}
