//! The file of `routing.weighted`: paths and their weights.

use super::failure::link_of;
use super::suggest::nearest;
use crate::fabric::graph::{Graph, NodeId};
use crate::fabric::routing::{PathRoom, WeightedPath, WeightedPaths};
use crate::workload::Fault;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Columns of the file, in this order.
const COLUMNS: [&str; 4] = ["source", "destination", "path", "weight"];

/// Reads the file that `weighted` names, relative to `base`, for a fabric.
pub(super) fn read(weighted: &mut WeightedPaths, base: &Path, graph: &Graph) -> Result<(), Fault> {
    if weighted.file.is_empty() {
        let fault = Fault::new("file", "is missing: the paths and their weights");
        return Err(fault.hint("file = \"paths.csv\", with the header source,destination,path,weight"));
    }
    let text = crate::workload::read_file(base, &weighted.file).map_err(|fault| fault.under("file"))?;
    weighted.paths = Arc::new(parse(&text, Path::new(&weighted.file), graph).map_err(|fault| fault.under("file"))?);
    Ok(())
}

/// The nodes of a fabric by name.
struct Names<'a> {
    graph: &'a Graph,
    nodes: BTreeMap<&'a str, NodeId>,
    room: PathRoom<'a>,
}

impl Names<'_> {
    fn of(&self, node: NodeId) -> &str {
        &self.graph.nodes[node as usize].name
    }

    /// A host by its name or number.
    fn host(&self, text: &str) -> Option<u32> {
        let number = text.parse::<u32>().ok().filter(|&n| n < self.graph.hosts);
        number.or_else(|| self.nodes.get(text).copied().filter(|&n| self.graph.is_host(n)))
    }

    /// The nodes that a text names, with spaces or hyphens between: names may contain hyphens themselves. An error is what is no
    /// name.
    fn path(&self, text: &str) -> Result<Vec<NodeId>, String> {
        let mut found = Vec::new();
        for word in text.split_whitespace() {
            let mut rest = word;
            loop {
                // The longest name that begins here and ends with the word or at a hyphen.
                let ends = rest.match_indices('-').map(|(hyphen, _)| hyphen).chain([rest.len()]);
                let longest = ends.filter(|&end| self.nodes.contains_key(&rest[..end])).max();
                let Some(end) = longest else {
                    return Err(rest.split('-').next().unwrap_or(rest).to_owned());
                };
                found.push(self.nodes[&rest[..end]]);
                if end == rest.len() {
                    break;
                }
                rest = &rest[end + 1..];
            }
        }
        Ok(found)
    }
}

/// All paths of a file; `file` is its name for error messages.
fn parse(text: &str, file: &Path, graph: &Graph) -> Result<Vec<WeightedPath>, Fault> {
    let nodes = (0..).zip(&graph.nodes).map(|(n, node)| (node.name.as_str(), n)).collect();
    let names = Names { graph, nodes, room: PathRoom::new(graph) };
    let (mut paths, mut known, mut headed) = (Vec::new(), BTreeSet::new(), false);
    // Of each pair: the line of its first path, and the sum of weights.
    let mut pairs: BTreeMap<(NodeId, NodeId), (usize, f64)> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fault = |message: String| Fault::in_file(file, number, message);
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if !headed {
            if fields != COLUMNS {
                return Err(fault(format!("expected the header, found {line:?}")).hint(COLUMNS.join(",")));
            }
            headed = true;
            continue;
        }
        let [source, destination, path, weight] = fields[..] else {
            let fault = fault(format!("expected {} fields, found {}", COLUMNS.len(), fields.len()));
            return Err(fault.hint("like h0,h5,edge0.0 agg0.1 core2 agg1.1 edge1.0,0.25"));
        };
        let nodes = nodes_of([source, destination, path], &names)
            .map_err(|Wrong { column, message, hint }| fault(format!("column `{column}`: {message}")).hint(hint))?;
        let weight = weight.parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0).ok_or_else(|| {
            fault(format!("column `weight`: {weight:?} is no number from 0")).hint("a share, like 0.25")
        })?;
        if !known.insert(nodes.clone()) {
            return Err(fault("column `path`: these two hosts have this path already".to_owned()));
        }
        let pair = (nodes[0], nodes[nodes.len() - 1]);
        pairs.entry(pair).or_insert((number, 0.0)).1 += weight;
        paths.push(WeightedPath { nodes, weight });
    }
    if paths.is_empty() {
        return Err(Fault::in_file(file, 0, "there is no path in it").hint(COLUMNS.join(",")));
    }
    if let Some(((from, to), (line, _))) = pairs.iter().find(|(_, (_, sum))| *sum <= 0.0) {
        let message = format!("the weights of {} to {} are all 0", names.of(*from), names.of(*to));
        return Err(Fault::in_file(file, *line, message).hint("leave the pair out, and it uses ECMP"));
    }
    Ok(paths)
}

/// What is wrong in which column.
struct Wrong {
    column: &'static str,
    message: String,
    hint: String,
}

/// The nodes of a path from source to destination, each linked to the next.
fn nodes_of(fields: [&str; 3], names: &Names<'_>) -> Result<Vec<NodeId>, Wrong> {
    let host = |column, text: &str| {
        let hint = format!("hosts are {} to {}", names.of(0), names.of(names.graph.hosts - 1));
        names.host(text).ok_or(Wrong { column, message: format!("there is no host {text:?}"), hint })
    };
    let (source, destination) = (host("source", fields[0])?, host("destination", fields[1])?);
    let wrong = |message: String, hint: &str| Wrong { column: "path", message, hint: hint.to_owned() };
    if source == destination {
        let message = format!("{} cannot send to itself", names.of(source));
        return Err(Wrong { column: "destination", message, hint: "another host".to_owned() });
    }
    let between = names.path(fields[2]).map_err(|name| {
        let near = nearest(&name, names.nodes.keys().copied()).map(|near| format!("did you mean {near:?}?"));
        let hint = near.unwrap_or_else(|| "names of switches with spaces or hyphens between".to_owned());
        wrong(format!("there is no switch {name:?}"), &hint)
    })?;
    // The ends may be named, too.
    let between = between.strip_prefix(&[source][..]).unwrap_or(&between);
    let between = between.strip_suffix(&[destination][..]).unwrap_or(between);
    let nodes: Vec<NodeId> = [source].iter().chain(between).chain(&[destination]).copied().collect();
    if let Some(twice) = (1..nodes.len()).find(|&i| nodes[..i].contains(&nodes[i])) {
        return Err(wrong(format!("passes {} twice", names.of(nodes[twice])), "each switch once"));
    }
    let fits = names.room.fits(&nodes);
    if let Some(pair) = nodes.windows(2).find(|pair| fits.is_none() && names.room.fits(pair).is_none()) {
        let message = format!("no link joins {} and {}", names.of(pair[0]), names.of(pair[1]));
        let every = "name every switch, from that of the source to that of the destination";
        let like = link_of(pair[0], names.graph).map(|link| format!("; {link} is a link"));
        return Err(wrong(message, &format!("{every}{}", like.unwrap_or_default())));
    }
    if between.iter().any(|&node| names.graph.is_host(node)) && !names.graph.hosts_relay {
        return Err(wrong("passes a host, and hosts of this fabric do not relay".to_owned(), "switches only"));
    }
    if fits == Some(false) {
        return Err(wrong(format!("{} links are more than a packet has room for", nodes.len() - 1), "a shorter path"));
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse as parse_scenario;

    fn read_text(text: &str) -> Result<Vec<WeightedPath>, String> {
        let graph = crate::fabric::topology::tests::fabric("topology = 'fat-tree'\nk = 4");
        parse(text, Path::new("paths.csv"), &graph).map_err(|fault| fault.to_string())
    }

    #[test]
    fn names_and_numbers_spaces_and_hyphens() {
        let text = "source,destination,path,weight\n# three ways\n\
                    h0,h15,edge0.0 agg0.0 core0 agg3.0 edge3.1,3\n\
                    0,15,edge0.0-agg0.0-core1-agg3.0-edge3.1,1\n\
                    h0,h15,h0-edge0.0 agg0.1-core2 agg3.1 edge3.1 h15,0\n\
                    h1,h0,edge0.0,2.5\n";
        let paths = read_text(text).unwrap();
        assert_eq!(
            paths.iter().map(|p| (p.nodes.len(), p.weight)).collect::<Vec<_>>(),
            [(7, 3.0), (7, 1.0), (7, 0.0), (3, 2.5)]
        );
        assert_eq!(paths[3].nodes, [1, 16, 0]);
    }

    #[test]
    fn a_wrong_file_is_told_by_line_and_column() {
        let error = |line: &str| read_text(&format!("source,destination,path,weight\n\n{line}\n")).unwrap_err();
        for (line, expected) in [
            (
                "h0,h99,edge0.0,1",
                "paths.csv:3: column `destination`: there is no host \"h99\"\nhint: hosts are h0 to h15",
            ),
            ("h0,h1,edge0.0,x", "paths.csv:3: column `weight`: \"x\" is no number from 0\nhint:"),
            ("h0,h1,edge0.0,-1", "is no number from 0"),
            ("h0,h1,edge0.0,inf", "is no number from 0"),
            ("h0,h1,edge0.0", "paths.csv:3: expected 4 fields, found 3\nhint:"),
            (
                "h0,h15,edge0.0 agg0.0 cor0 agg3.0 edge3.1,1",
                "column `path`: there is no switch \"cor0\"\nhint: did you mean \"core0\"?",
            ),
            (
                "h0,h15,edge0.0 agg0.0 core3 agg3.0 edge3.1,1",
                "agg0.0 and core3\nhint: name every switch, from that of the source to that of the destination; agg0.0-",
            ),
            ("h0,h15,,1", "no link joins h0 and h15"),
            ("h0,h0,edge0.0,1", "h0 cannot send to itself"),
            ("h0,h1,edge0.0,0", "paths.csv:3: the weights of h0 to h1 are all 0\nhint: leave the pair out"),
            ("h0,h1,edge0.0,1\nh0,h1,edge0.0,2", "paths.csv:4: column `path`: these two hosts have this path already"),
            ("h0,h2,edge0.0 agg0.0 core0 agg0.0 edge0.1,1", "passes agg0.0 twice"),
            ("h0,h2,edge0.0 h1 edge0.0 agg0.0 edge0.1,1", "passes edge0.0 twice"),
        ] {
            assert!(error(line).contains(expected), "{line}: {}", error(line));
        }
        let bare = |text: &str| read_text(text).unwrap_err();
        assert!(
            bare("a,b\n")
                .contains("paths.csv:1: expected the header, found \"a,b\"\nhint: source,destination,path,weight")
        );
        assert!(bare("source,destination,path,weight\n").contains("there is no path in it"));
    }

    #[test]
    fn a_scenario_names_its_file() {
        let text = "fabric = { topology = \"fat-tree\", k = 4 }\ntransport = { name = \"newreno\" }\n\
                    routing = { mode = \"weighted\" }\n[[workload]]\nsizes = { law = \"fixed\", size = \"1MB\" }\n\
                    placement = { pattern = \"random\" }\nsessions = 1\n";
        let error = parse_scenario("test.toml", text, &[]).unwrap_err().to_string();
        assert!(error.contains("routing.weighted.file: is missing"), "{error}");
        let none = ["routing.weighted.file=none.csv".to_owned()];
        let error = parse_scenario("test.toml", text, &none).unwrap_err().to_string();
        assert!(error.contains("cannot read none.csv"), "{error}");
    }
}
