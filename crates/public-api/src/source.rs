//! The files of a crate, parsed: its modules and their items.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, Item};

/// A module, by its path from the crate's root: empty for the root itself.
pub(crate) struct Module {
    pub(crate) path: Vec<String>,
    pub(crate) items: Vec<Item>,
    /// Conditions of the module and of those that it is in, as they are written.
    conditions: Vec<String>,
}

impl Module {
    /// What must hold for its items, and `more`, to be put before them; empty if nothing.
    pub(crate) fn cfg(&self, more: &[String]) -> String {
        let all: BTreeSet<&str> = self.conditions.iter().chain(more).map(String::as_str).collect();
        all.into_iter().flat_map(|condition| [condition, " "]).collect()
    }
}

/// A crate without its tests.
pub(crate) struct Crate {
    pub(crate) modules: Vec<Module>,
}

impl Crate {
    /// Reads `src/lib.rs` below `folder`, and the files of its modules.
    pub(crate) fn load(folder: &Path) -> Result<Self, String> {
        let root = folder.join("src");
        let mut source = Self { modules: Vec::new() };
        source.file(&root.join("lib.rs"), &root, &[], &[])?;
        Ok(source)
    }

    /// All items but modules, with the module that each is in.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&Module, &Item)> {
        self.modules.iter().flat_map(|module| module.items.iter().map(move |item| (module, item)))
    }

    pub(crate) fn module(&self, path: &[String]) -> Option<&Module> {
        self.modules.iter().find(|module| module.path == path)
    }

    fn file(&mut self, file: &Path, inner: &Path, path: &[String], cfg: &[String]) -> Result<(), String> {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let parsed = syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        self.add(parsed.items, inner, path, cfg)
    }

    /// A module whose inner modules have their files in the folder `inner`.
    fn add(&mut self, items: Vec<Item>, inner: &Path, path: &[String], cfg: &[String]) -> Result<(), String> {
        let place = self.modules.len();
        self.modules.push(Module { path: path.to_vec(), items: Vec::new(), conditions: cfg.to_vec() });
        let mut kept = Vec::new();
        for item in items {
            if of_tests_or_pages(attributes_of(&item)) {
                continue;
            }
            let Item::Mod(mut module) = item else {
                kept.push(item);
                continue;
            };
            let name = module.ident.to_string();
            let (mut path, mut cfg) = (path.to_vec(), cfg.to_vec());
            path.push(name.clone());
            cfg.extend(conditions(&module.attrs).map(crate::print::attribute));
            let inner = inner.join(&name);
            match module.content.take() {
                Some((_, items)) => self.add(items, &inner, &path, &cfg)?,
                None => self.file(&file_of(&inner)?, &inner, &path, &cfg)?,
            }
            kept.push(Item::Mod(module));
        }
        self.modules[place].items = kept;
        Ok(())
    }
}

/// The file of a module whose own modules would be in `folder`.
fn file_of(folder: &Path) -> Result<PathBuf, String> {
    let files = [folder.with_extension("rs"), folder.join("mod.rs")];
    let found = files.into_iter().find(|file| file.exists());
    found.ok_or_else(|| format!("{}: there is no file of this module", folder.display()))
}

/// The `cfg` attributes among `attributes`.
pub(crate) fn conditions(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"))
}

/// Whether an item is there in tests, or for the documentation, alone.
fn of_tests_or_pages(attributes: &[Attribute]) -> bool {
    let words = |attribute: &Attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| ["test", "doc", "doctest"].contains(&word))
    };
    conditions(attributes).any(words)
}

/// The attributes of an item.
pub(crate) fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
