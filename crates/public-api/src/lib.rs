//! What a crate exports, as text to be kept and compared: [`listing`].
//!
//! The list is made from the source alone, so that it is the same with every compiler and every choice of features: what depends on
//! a feature is listed with its `cfg`. It has public items by the paths that users write, with their fields, variants, methods,
//! derived and implemented traits.
//!
//! It does not expand macros, so it lists no item that one makes; `thiserror`'s derived `Error` stands for `Display`, `Error` and, at
//! fields with `#[from]`, `From`. Nor does it know auto traits: tests say which types are `Send` and `Sync`. A glob in a `pub use` is
//! an error, and so is an exported macro.

mod describe;
mod names;
mod print;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use names::{Names, Subject};
use source::Crate;
use syn::Item;

/// A public item, and what is implemented for it, with the items of each `impl`.
#[derive(Default)]
struct Listed {
    declaration: Vec<String>,
    implemented: BTreeMap<String, BTreeSet<String>>,
}

/// The public items of the crate in `folder`, ordered by path: each with its fields or variants in their order, and with what is
/// implemented, ordered by name. Implementations for types of other crates come last.
///
/// # Errors
///
/// What cannot be read, parsed or listed, as text.
pub fn listing(folder: &Path) -> Result<String, String> {
    let source = Crate::load(folder)?;
    let names = Names::of(&source)?;
    let mut listed: BTreeMap<&str, Listed> = BTreeMap::new();
    for (path, cfg, item) in names.public() {
        listed.entry(path).or_default().declaration = describe::item(path, cfg, item)?;
    }
    let mut foreign: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, item) in source.items() {
        let Item::Impl(found) = item else { continue };
        let place = match names.subject(module, found) {
            Subject::Public(path) => &mut listed.entry(path).or_default().implemented,
            Subject::Foreign => &mut foreign,
            Subject::Private => continue,
        };
        let (heading, items) = describe::implementation(module.cfg(&[]), found);
        // Blocks of inherent methods that are all private say nothing.
        if found.trait_.is_some() || !items.is_empty() {
            place.entry(heading).or_default().extend(items);
        }
    }
    let mut out = Vec::new();
    for Listed { declaration, implemented } in listed.into_values() {
        out.extend(declaration);
        for (heading, items) in implemented {
            out.push(format!("    {heading}"));
            out.extend(items.iter().map(|line| format!("        {line}")));
        }
    }
    for (heading, items) in foreign {
        out.push(heading);
        out.extend(items.iter().map(|line| format!("    {line}")));
    }
    Ok(out.join("\n") + "\n")
}
