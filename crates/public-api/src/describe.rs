//! Lines for an item, and for an `impl`.

use quote::ToTokens;
use syn::{Attribute, Fields, FnArg, ImplItem, Item, ItemImpl, Pat, Signature, TraitItem, Visibility};

use crate::print::{attribute, text};
use crate::source::attributes_of;

/// The declaration of a public item, its fields or variants or items below it.
pub(crate) fn item(path: &str, cfg: String, item: &Item) -> Result<Vec<String>, String> {
    let before = cfg + &attributes(attributes_of(item));
    let mut lines = match item {
        Item::Const(item) => vec![format!("{before}pub const {path}: {}", text(&item.ty))],
        Item::Static(item) => vec![format!("{before}pub static {path}: {}", text(&item.ty))],
        Item::Fn(item) => vec![format!("{before}pub {}", signature(&item.sig, path))],
        Item::Type(item) => vec![format!("{before}pub type {path}{} = {}", text(&item.generics), text(&item.ty))],
        Item::Struct(item) => {
            let (parameters, condition) = (text(&item.generics), text(&item.generics.where_clause));
            let mut lines = vec![format!("{before}pub struct {path}{parameters} {condition}").trim_end().to_owned()];
            lines.extend(fields(&item.fields, false));
            lines
        }
        Item::Enum(item) => {
            let mut lines = vec![format!("{before}pub enum {path}{}", text(&item.generics))];
            for variant in &item.variants {
                lines.push(format!("    {}{}", attributes(&variant.attrs), variant.ident));
                lines.extend(fields(&variant.fields, true).into_iter().map(|line| format!("    {line}")));
            }
            lines
        }
        Item::Trait(item) => {
            let mut lines = vec![format!("{before}pub trait {path}{}", text(&item.generics))];
            if !item.supertraits.is_empty() {
                lines[0].push_str(": ");
                lines[0].push_str(&text(&item.supertraits));
            }
            lines.extend(item.items.iter().map(|item| format!("    {}", of_trait(item))));
            lines
        }
        _ => return Err(format!("{path} is of a kind that cannot be listed")),
    };
    let derived = derives(attributes_of(item));
    if !derived.is_empty() {
        lines.push(format!("    derive {}", derived.join(", ")));
    }
    Ok(lines)
}

/// The first line of an `impl`, and its public items.
pub(crate) fn implementation(cfg: String, found: &ItemImpl) -> (String, Vec<String>) {
    let mut empty = found.clone();
    let of_trait = found.trait_.is_some();
    empty.attrs.clear();
    empty.items.clear();
    let heading = text(&empty).trim_end_matches("{}").trim_end_matches([',', ' ']).to_owned();
    let heading = cfg + &attributes(&found.attrs) + &heading;
    let items = found.items.iter().filter_map(|item| {
        let (attrs, vis, line) = match item {
            ImplItem::Const(item) => (&item.attrs, &item.vis, format!("const {}: {}", item.ident, text(&item.ty))),
            ImplItem::Fn(item) => (&item.attrs, &item.vis, signature(&item.sig, &item.sig.ident.to_string())),
            ImplItem::Type(item) => (&item.attrs, &item.vis, format!("type {} = {}", item.ident, text(&item.ty))),
            _ => return None,
        };
        // Functions of a trait are as the trait says; its types and constants are this implementation's.
        if of_trait {
            return (!matches!(item, ImplItem::Fn(_))).then(|| attributes(attrs) + &line);
        }
        matches!(vis, Visibility::Public(_)).then(|| format!("{}pub {line}", attributes(attrs)))
    });
    (heading, items.collect())
}

fn of_trait(item: &TraitItem) -> String {
    match item {
        TraitItem::Fn(item) => {
            let provided = if item.default.is_some() { " { .. }" } else { "" };
            format!("{}{}{provided}", attributes(&item.attrs), signature(&item.sig, &item.sig.ident.to_string()))
        }
        other => text(other),
    }
}

/// Public fields, a line each; all fields are public in a variant. Others are told by "..".
fn fields(fields: &Fields, all_public: bool) -> Vec<String> {
    let is_public = |field: &&syn::Field| all_public || matches!(field.vis, Visibility::Public(_));
    let shown = fields.iter().enumerate().filter(|(_, field)| is_public(field)).map(|(place, field)| {
        let name = field.ident.as_ref().map_or_else(|| place.to_string(), ToString::to_string);
        format!("    {}{name}: {}", attributes(&field.attrs), text(&field.ty))
    });
    let mut lines: Vec<String> = shown.collect();
    if lines.len() < fields.len() {
        lines.push("    ..".to_owned());
    }
    lines
}

/// A function's signature under the name `path`. Whether an argument is `mut` is nothing to callers.
fn signature(signature: &Signature, path: &str) -> String {
    let mut signature = signature.clone();
    for argument in &mut signature.inputs {
        match argument {
            FnArg::Receiver(receiver) => receiver.mutability = None,
            FnArg::Typed(argument) => {
                if let Pat::Ident(name) = &mut *argument.pat {
                    name.mutability = None;
                }
            }
        }
    }
    let name = signature.ident.to_string();
    text(&signature).replacen(&format!("fn {name}"), &format!("fn {path}"), 1)
}

/// Attributes that users can notice, each followed by a space.
fn attributes(attributes: &[Attribute]) -> String {
    let noticed = |attribute: &&Attribute| {
        const NOTICED: [&str; 8] =
            ["cfg", "cfg_attr", "deprecated", "from", "must_use", "non_exhaustive", "repr", "default"];
        NOTICED.iter().any(|name| attribute.path().is_ident(name))
    };
    attributes.iter().filter(noticed).map(|noticed| attribute(noticed) + " ").collect()
}

/// Names of derived traits, in order.
fn derives(attributes: &[Attribute]) -> Vec<String> {
    let mut names = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let list = attribute.meta.require_list().map(|list| list.tokens.to_token_stream().to_string());
        let list = list.unwrap_or_default();
        let last = |path: &str| path.rsplit("::").next().unwrap_or(path).trim().to_owned();
        names.extend(list.split(',').map(str::trim).filter(|path| !path.is_empty()).map(last));
    }
    names.sort();
    names
}
