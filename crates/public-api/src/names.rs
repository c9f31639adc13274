//! Which items are public, by which path, and what a name in a module stands for.

use std::collections::BTreeMap;

use syn::{GenericArgument, Item, ItemImpl, PathArguments, Type, UseTree, Visibility};

use crate::print::attribute;
use crate::source::{Crate, Module, attributes_of, conditions};

/// Where an item is defined: the module's path, and its name there.
type Definition = (Vec<String>, String);

/// What an `impl` is for.
pub(crate) enum Subject<'a> {
    /// An item that users can name by this path.
    Public(&'a str),
    /// Something of another crate; what is implemented has to do with a public item.
    Foreign,
    /// Something that users cannot name, or a trait that they cannot.
    Private,
}

/// The public items of a crate.
pub(crate) struct Names<'a> {
    source: &'a Crate,
    /// The first path found to each, and the conditions of the `pub use` that it is by.
    paths: BTreeMap<Definition, (String, Vec<String>)>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(source: &'a Crate) -> Result<Self, String> {
        let mut names = Self { source, paths: BTreeMap::new() };
        names.walk(&[], "")?;
        Ok(names)
    }

    /// Public items with their paths, and what must hold for them to be there.
    pub(crate) fn public(&self) -> impl Iterator<Item = (&str, String, &Item)> {
        self.paths.iter().filter_map(|((module, name), (path, conditions))| {
            let module = self.source.module(module)?;
            let item = module.items.iter().find(|item| name_of(item).as_ref() == Some(name))?;
            Some((path.as_str(), module.cfg(conditions), item))
        })
    }

    /// What `found`, in `module`, is for.
    pub(crate) fn subject(&self, module: &Module, found: &ItemImpl) -> Subject<'_> {
        let own = |path: &syn::Path| self.resolve(&module.path, &segments(path), 0);
        let is_public = |path| own(path).is_some_and(|definition| self.paths.contains_key(&definition));
        if let Some((path, _)) = &found.trait_
            && let Some(definition) = own(path)
            && !self.paths.contains_key(&definition)
        {
            return Subject::Private;
        }
        let definition = named(&found.self_ty).and_then(own);
        match (definition, &found.trait_) {
            (Some(definition), _) => {
                self.paths.get(&definition).map_or(Subject::Private, |(path, _)| Subject::Public(path))
            }
            (None, Some((path, _))) if is_public(path) || type_arguments(path).any(is_public) => Subject::Foreign,
            (None, _) => Subject::Private,
        }
    }

    /// Adds what `module` exports, below the path `prefix`.
    fn walk(&mut self, module: &[String], prefix: &str) -> Result<(), String> {
        let source = self.source;
        let items = source.module(module).map_or(&[][..], |module| &module.items);
        for item in items {
            match item {
                Item::Use(import) if is_public(&import.vis) => {
                    for (path, name) in imports(&import.tree) {
                        let Some(name) = name else {
                            return Err(format!("pub use {}::*: names what it exports nowhere", path.join("::")));
                        };
                        if let Some(definition) = self.resolve(module, &path, 0) {
                            let conditions = conditions(&import.attrs).map(attribute).collect();
                            self.paths.entry(definition).or_insert_with(|| (format!("{prefix}{name}"), conditions));
                        }
                    }
                }
                Item::Mod(inner) if is_public(&inner.vis) => {
                    let name = inner.ident.to_string();
                    self.walk(&[module, std::slice::from_ref(&name)].concat(), &format!("{prefix}{name}::"))?;
                }
                Item::Macro(_) if attributes_of(item).iter().any(|a| a.path().is_ident("macro_export")) => {
                    return Err("exported macros cannot be listed".to_owned());
                }
                item => {
                    if let Some(name) = name_of(item).filter(|_| visibility(item).is_some_and(is_public)) {
                        let path = format!("{prefix}{name}");
                        self.paths.entry((module.to_vec(), name)).or_insert_with(|| (path, Vec::new()));
                    }
                }
            }
        }
        Ok(())
    }

    /// The definition that `path` means in `module`; `None` if it is of another crate.
    fn resolve(&self, module: &[String], path: &[String], depth: usize) -> Option<Definition> {
        let (first, rest) = path.split_first()?;
        // Imports that go round in a circle would not compile.
        if depth > 16 {
            return None;
        }
        let below = |name: &String| [module, std::slice::from_ref(name)].concat();
        match first.as_str() {
            "crate" => self.resolve(&[], rest, depth + 1),
            "self" => self.resolve(module, rest, depth + 1),
            "super" => self.resolve(module.split_last()?.1, rest, depth + 1),
            _ if !rest.is_empty() && self.source.module(&below(first)).is_some() => {
                self.resolve(&below(first), rest, depth + 1)
            }
            _ => {
                let items = &self.source.module(module)?.items;
                if rest.is_empty() && items.iter().any(|item| name_of(item).as_ref() == Some(first)) {
                    return Some((module.to_vec(), first.clone()));
                }
                let uses = items.iter().filter_map(|item| if let Item::Use(item) = item { Some(item) } else { None });
                let mut imported = uses.flat_map(|item| imports(&item.tree));
                let (path, _) = imported.find(|(_, name)| name.as_ref() == Some(first))?;
                // `use thing::Thing` in the module `thing` itself would be a circle; another crate's name is the end.
                let path = [&path[..], rest].concat();
                self.resolve(module, &path, depth + 1)
            }
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// The types among the generic arguments of a path, as far as they are named.
fn type_arguments(path: &syn::Path) -> impl Iterator<Item = &syn::Path> {
    let lists = path.segments.iter().filter_map(|segment| match &segment.arguments {
        PathArguments::AngleBracketed(list) => Some(&list.args),
        _ => None,
    });
    lists.flatten().filter_map(|argument| if let GenericArgument::Type(found) = argument { named(found) } else { None })
}

/// The path of a type, or of what it refers to, if it has one.
fn named(found: &Type) -> Option<&syn::Path> {
    match found {
        Type::Path(path) => Some(&path.path),
        Type::Reference(reference) => named(&reference.elem),
        _ => None,
    }
}

/// The paths that a `use` names, with the name of each in its module; none for a glob.
fn imports(tree: &UseTree) -> Vec<(Vec<String>, Option<String>)> {
    match tree {
        UseTree::Path(path) => {
            let before = |(mut inner, name): (Vec<String>, _)| {
                inner.insert(0, path.ident.to_string());
                (inner, name)
            };
            imports(&path.tree).into_iter().map(before).collect()
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], Some(name.ident.to_string()))],
        UseTree::Rename(name) => vec![(vec![name.ident.to_string()], Some(name.rename.to_string()))],
        UseTree::Glob(_) => vec![(Vec::new(), None)],
        UseTree::Group(group) => group.items.iter().flat_map(imports).collect(),
    }
}

/// The name that an item defines.
fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn visibility(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        Item::Union(item) => &item.vis,
        _ => return None,
    })
}
