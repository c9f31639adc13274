//! What a question names: a fabric, traffic, schemes.

use crate::error::{RoutingError, RoutingResult};
use crate::fabric::Fabric;
use crate::number::{Exact, Scalar};
use crate::schemes::{PathList, Scheme, Weighted, make};
use crate::traffic::{Pattern, TrafficMatrix};
use anabranch_sim::fabric::topology::TopologyConfig;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Larger files are refused.
const FILE_MAX: u64 = 256 << 20;

/// A fabric: an inline table, a scenario file or a topology file, and the links that have failed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FabricSpec {
    /// `topology="m-port-n-tree", m=4, n=3`, or the name of a file.
    text: String,
    #[serde(default)]
    failed: Vec<String>,
}

/// A scheme by name, or given paths.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum SchemeSpec {
    Named(String),
    Weighted { weighted: Vec<WeightedPair> },
}

/// Paths of a pair of racks, and their shares as fractions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WeightedPair {
    from: u32,
    to: u32,
    paths: Vec<(Vec<u32>, String)>,
}

#[derive(Deserialize)]
struct Holder {
    fabric: TopologyConfig,
}

impl FabricSpec {
    pub(super) fn build(&self) -> RoutingResult<Fabric> {
        let text = self.text.trim();
        let path = Path::new(text);
        if text.contains('=') && !path.exists() {
            return self.inline(text);
        }
        let base = path.parent().unwrap_or(Path::new(""));
        if path.extension().is_some_and(|e| e == "toml") {
            let content = read(path)?;
            let table: toml::Table = content.parse().map_err(|e: toml::de::Error| toml_error(text, &e))?;
            let Some(fabric) = table.get("fabric") else {
                return Err(RoutingError::new(format!("{text}: no [fabric]: expected a scenario file"))
                    .hint("[fabric]\ntopology = \"leaf-spine\" ..."));
            };
            let config: TopologyConfig =
                fabric.clone().try_into().map_err(|e: toml::de::Error| toml_error(&format!("{text}: fabric"), &e))?;
            return Fabric::build(&config, base, &self.failed);
        }
        if !path.exists() {
            return Err(RoutingError::new(format!(
                "{text}: no such file, and no table such as topology=\"star\", hosts=8"
            ))
            .hint("topology=\"m-port-n-tree\", m=4, n=3   or a scenario.toml, or a topology file"));
        }
        self.topology_file(text)
    }

    /// A topology file alone does not say what its hosts do with several links: no more than they have to, so that they
    /// relay only where the fabric would not hold together otherwise.
    fn topology_file(&self, name: &str) -> RoutingResult<Fabric> {
        let escaped = toml::Value::String(name.to_owned());
        let with =
            |host_links: &str| parsed(&format!("topology = \"file\", path = {escaped}, host_links = \"{host_links}\""));
        // Before any link fails: failures don't make hosts relay.
        let fits = |host_links: &&str| with(host_links).is_ok_and(|config| config.build(Path::new("")).is_ok());
        let host_links = ["one", "several"].into_iter().find(fits).unwrap_or("relay");
        Fabric::build(&with(host_links)?, Path::new(""), &self.failed)
    }

    fn inline(&self, text: &str) -> RoutingResult<Fabric> {
        let table = text.trim_start_matches('{').trim_end_matches('}');
        Fabric::build(&parsed(table)?, Path::new(""), &self.failed)
    }
}

/// The topology that an inline table means.
fn parsed(table: &str) -> RoutingResult<TopologyConfig> {
    let holder: Holder =
        toml::from_str(&format!("fabric = {{ {table} }}")).map_err(|e| toml_error(&format!("fabric {table:?}"), &e))?;
    Ok(holder.fabric)
}

fn toml_error(place: &str, error: &toml::de::Error) -> RoutingError {
    let error = RoutingError::new(format!("{place}: {}", error.message()));
    error.hint(format!(
        "a fabric is a topology ({}) with its sizes: topology=\"m-port-n-tree\", m=4, n=3",
        TopologyConfig::NAMES.join(", ")
    ))
}

fn read(path: &Path) -> RoutingResult<String> {
    let fail = |e: std::io::Error| RoutingError::new(format!("cannot read {}: {e}", path.display()));
    let about = std::fs::metadata(path).map_err(fail)?;
    if !about.is_file() || about.len() > FILE_MAX {
        return Err(RoutingError::new(format!(
            "{}: expected a regular file of at most {FILE_MAX} bytes",
            path.display()
        )));
    }
    std::fs::read_to_string(path).map_err(fail)
}

/// The matrix that `text` names: a pattern, or a CSV file.
pub(super) fn traffic(text: &str, fabric: &Fabric, seed: u64) -> RoutingResult<TrafficMatrix> {
    if let Some(pattern) = Pattern::parse(text) {
        return pattern?.matrix(fabric.hosts(), seed);
    }
    let path = Path::new(text);
    if !path.exists() {
        let error = RoutingError::new(format!(
            "traffic {text:?}: no such file, and no pattern: expected stride:N, random, uniform, senders:N, incast:N, all-to-all or a CSV file"
        ));
        return Err(match Pattern::meant(text) {
            Some(name) => error.hint(format!("did you mean {name}?")),
            None => error.hint("lines of a CSV file: source,destination,amount"),
        });
    }
    TrafficMatrix::from_csv(&read(path)?, text, &fabric.graph)
}

impl SchemeSpec {
    pub(super) fn label(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Weighted { .. } => "weighted",
        }
    }

    pub(super) fn make<S: Scalar>(&self, fabric: &Fabric, seed: u64) -> RoutingResult<Box<dyn Scheme<S>>> {
        match self {
            Self::Named(name) => make(name, fabric, seed),
            Self::Weighted { weighted } => {
                let mut paths: BTreeMap<(u32, u32), PathList> = BTreeMap::new();
                for pair in weighted {
                    let read = |(ports, share): &(Vec<u32>, String)| {
                        Ok((ports.clone(), share.parse::<Exact>().map_err(RoutingError::new)?))
                    };
                    paths.insert((pair.from, pair.to), pair.paths.iter().map(read).collect::<RoutingResult<_>>()?);
                }
                Ok(Box::new(Weighted::new(fabric, paths)?))
            }
        }
    }
}
