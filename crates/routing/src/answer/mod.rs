//! Questions as JSON in, answers as JSON out: what the Python package asks. `python/anabranch/_core.pyi` describes them.
//!
//! A load is `{"text": "16/3", "value": 5.333}`: exact as text, and rounded.

mod dissertation;
mod input;

use crate::decomposition::{self, Decomposition};
use crate::error::{RoutingError, RoutingResult};
use crate::fabric::{Fabric, Tree};
use crate::loads::{Loads, Most};
use crate::number::{Exact, Scalar};
use crate::optimum::{self, Optimum};
use crate::schemes::{Shares, balanced_promise, paths_of, registry};
use crate::theorems::{self, Policy};
use crate::traffic::TrafficMatrix;
use crate::worst::{Place, Worst, WorstCase};
use input::{FabricSpec, SchemeSpec};
use serde::Deserialize;
use serde_json::{Value, json};

/// What can be asked.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
enum Question {
    /// Names of the schemes.
    Schemes,
    /// Nodes, links, levels, racks.
    Fabric { fabric: FabricSpec },
    /// Entries of a traffic matrix.
    Traffic {
        fabric: FabricSpec,
        traffic: String,
        #[serde(default)]
        seed: u64,
    },
    /// Loads of schemes under a traffic matrix.
    Loads {
        fabric: FabricSpec,
        traffic: String,
        schemes: Vec<SchemeSpec>,
        #[serde(default)]
        seed: u64,
        exact: bool,
    },
    /// The worst permutation for a scheme: of all links, and of the switches of each level.
    Worst {
        fabric: FabricSpec,
        scheme: SchemeSpec,
        #[serde(default)]
        seed: u64,
        exact: bool,
        switches: bool,
    },
    /// A traffic matrix by levels.
    Decompose {
        fabric: FabricSpec,
        traffic: String,
        #[serde(default)]
        seed: u64,
    },
    /// The shortest paths between pairs of racks that send something.
    Paths {
        fabric: FabricSpec,
        traffic: Vec<String>,
        most: u64,
        #[serde(default)]
        seed: u64,
    },
    /// What each pair of hosts puts on each switch, as floats.
    Shares {
        fabric: FabricSpec,
        scheme: SchemeSpec,
        #[serde(default)]
        seed: u64,
    },
    /// The dissertation's bounds for FT(m, n).
    Bounds { m: u32, n: u32, k: Vec<String> },
    /// A transfer by Front-Back, or by what it is compared with, over paths whose rates are given.
    FrontBack(dissertation::TransferSpec),
    /// A path as a vector of neighbour indices, hop by hop: index and number of neighbours.
    NixVector { hops: Vec<(u32, u32)> },
    /// Where claims of the dissertation do not hold.
    Findings,
}

/// Answers one question.
///
/// # Errors
///
/// What cannot be read or computed; with a hint where there is one.
pub fn answer(question: &str) -> RoutingResult<String> {
    let question: Question = serde_json::from_str(question).map_err(|e| RoutingError::new(e.to_string()))?;
    let found = match question {
        Question::Schemes => schemes(),
        Question::Fabric { fabric } => describe(&fabric.build()?),
        Question::Traffic { fabric, traffic, seed } => {
            let fabric = fabric.build()?;
            entries(&input::traffic(&traffic, &fabric, seed)?)?
        }
        Question::Loads { fabric, traffic, schemes, seed, exact } => {
            let fabric = fabric.build()?;
            let tm = input::traffic(&traffic, &fabric, seed)?;
            if exact {
                loads::<Exact>(&fabric, &tm, &schemes, seed)?
            } else {
                loads::<f64>(&fabric, &tm, &schemes, seed)?
            }
        }
        Question::Worst { fabric, scheme, seed, exact, switches } => {
            let fabric = fabric.build()?;
            if exact {
                worst::<Exact>(&fabric, &scheme, seed, switches)?
            } else {
                worst::<f64>(&fabric, &scheme, seed, switches)?
            }
        }
        Question::Decompose { fabric, traffic, seed } => {
            let fabric = fabric.build()?;
            decompose(&fabric, &input::traffic(&traffic, &fabric, seed)?)?
        }
        Question::Paths { fabric, traffic, most, seed } => {
            let fabric = fabric.build()?;
            let matrices =
                traffic.iter().map(|t| input::traffic(t, &fabric, seed)).collect::<RoutingResult<Vec<_>>>()?;
            paths(&fabric, &matrices, most)?
        }
        Question::Shares { fabric, scheme, seed } => shares(&fabric.build()?, &scheme, seed)?,
        Question::Bounds { m, n, k } => bounds(m, n, &k)?,
        Question::FrontBack(transfer) => dissertation::front_back(&transfer)?,
        Question::NixVector { hops } => dissertation::nix_vector(&hops)?,
        Question::Findings => dissertation::found()?,
    };
    Ok(found.to_string())
}

fn number<S: Scalar>(value: S) -> Value {
    json!({"text": value.text(), "value": value.float()})
}

fn ratio<S: Scalar>(a: S, b: S) -> Value {
    a.over(b).map_or(Value::Null, number)
}

fn schemes() -> Value {
    let one = |e: crate::schemes::Entry<Exact>| json!({"name": e.name, "about": e.about, "parameter": e.takes, "random": e.random});
    json!(registry::<Exact>().into_iter().map(one).collect::<Vec<_>>())
}

fn describe(fabric: &Fabric) -> Value {
    let graph = &fabric.graph;
    let nodes = graph.nodes.iter().map(|n| json!({"name": n.name, "level": n.level.name(), "pod": n.pod}));
    let links = graph
        .links
        .iter()
        .map(|l| json!({"a": l.a, "b": l.b, "rate_bps": l.rate.bps(), "delay_ns": l.delay.ps() as f64 / 1e3}));
    json!({
        "fabric": {"nodes": nodes.collect::<Vec<_>>(), "links": links.collect::<Vec<_>>()},
        "hosts": fabric.hosts(), "relay": graph.hosts_relay, "alive": fabric.alive,
        "levels": fabric.level_names, "level_of": fabric.level,
        "racks": {"of": fabric.racks.of, "node": fabric.racks.node},
        "tree": fabric.tree.map(|t| json!({"m": t.m, "n": t.n})), "reference_bps": fabric.reference_rate(),
    })
}

fn entries(tm: &TrafficMatrix) -> RoutingResult<Value> {
    let list: Vec<Value> = tm.iter().map(|(s, d, a)| json!([s, d, a.to_string(), a.float()])).collect();
    Ok(
        json!({"hosts": tm.hosts, "entries": list, "baseload": number(tm.baseload::<Exact>()?), "total": number(tm.total::<Exact>()?)}),
    )
}

fn loads<S: Scalar>(fabric: &Fabric, tm: &TrafficMatrix, schemes: &[SchemeSpec], seed: u64) -> RoutingResult<Value> {
    let healthy = fabric.tree.is_some() && !fabric.alive.contains(&false);
    let best = if healthy { Some(optimum::on_tree::<S>(fabric, tm)?) } else { None };
    let rows = schemes.iter().map(|scheme| row(fabric, tm, scheme, seed, best.as_ref()));
    let optimum = best.as_ref().map(|b| {
        json!({"optu": number(b.optu), "optusw": number(b.optusw_most()), "levels": b.optusw.iter().map(|&v| number(v)).collect::<Vec<_>>()})
    });
    Ok(json!({
        "baseload": number(tm.baseload::<S>()?), "total": number(tm.total::<S>()?), "pairs": tm.len(), "levels": fabric.level_names,
        "optimum": optimum, "schemes": rows.collect::<RoutingResult<Vec<_>>>()?,
    }))
}

fn row<S: Scalar>(
    fabric: &Fabric,
    tm: &TrafficMatrix,
    spec: &SchemeSpec,
    seed: u64,
    best: Option<&Optimum<S>>,
) -> RoutingResult<Value> {
    let scheme = spec.make::<S>(fabric, seed)?;
    let loads = Loads::of(fabric, scheme.as_ref(), tm)?;
    let port = |most: Option<Most<S, u32>>| {
        most.map_or(Value::Null, |m| json!({"load": number(m.value), "at": fabric.port_name(m.at), "port": m.at}))
    };
    let switch = |most: Option<Most<S, u32>>| {
        let name = |n: u32| fabric.graph.nodes[n as usize].name.clone();
        most.map_or(Value::Null, |m| json!({"load": number(m.value), "at": name(m.at), "node": m.at}))
    };
    let utilised = loads.most_utilised(fabric)?;
    let levels = 0..fabric.level_names.len() as u32;
    let mloadsw = loads.most_switch(fabric, None);
    let level = |t: u32| {
        json!({
            "level": t, "name": fabric.level_names[t as usize],
            "up": port(loads.most_port(|p| fabric.link_level(p) == t && fabric.is_up(p))),
            "down": port(loads.most_port(|p| fabric.link_level(p) == t && !fabric.is_up(p))),
            "switch": switch(loads.most_switch(fabric, Some(t))),
            "perfsw": best.map_or(Value::Null, |b| ratio(loads.mloadsw(fabric, Some(t)), b.optusw[t as usize])),
        })
    };
    Ok(json!({
        "scheme": spec.label(),
        "mload": port(loads.most_port(|_| true)), "utilisation": port(utilised), "mloadsw": switch(mloadsw),
        "perf": best.map_or(Value::Null, |b| utilised.map_or(Value::Null, |u| ratio(u.value, b.optu))),
        "perfsw": best.map_or(Value::Null, |b| mloadsw.map_or(Value::Null, |m| ratio(m.value, b.optusw_most()))),
        "levels": levels.map(level).collect::<Vec<_>>(),
        "ports": loads.ports.iter().map(Scalar::float).collect::<Vec<_>>(),
        "nodes": loads.nodes.iter().map(Scalar::float).collect::<Vec<_>>(),
    }))
}

fn worst<S: Scalar>(fabric: &Fabric, spec: &SchemeSpec, seed: u64, switches: bool) -> RoutingResult<Value> {
    let scheme = spec.make::<S>(fabric, seed)?;
    let cases = WorstCase::new(fabric, scheme.as_ref())?;
    let show = |w: &Worst<S>| {
        let place = match w.place {
            Place::Port(p) => json!({"port": p}),
            Place::Switch(n) => json!({"node": n}),
        };
        json!({
            "load": number(w.value), "at": cases.name(w.place), "place": place,
            "examined": w.examined.0, "of": w.examined.1, "permutation": w.permutation,
        })
    };
    let mut by_level = Vec::new();
    if switches {
        for t in 0..fabric.level_names.len() as u32 {
            by_level.push(
                json!({"level": t, "name": fabric.level_names[t as usize], "worst": show(&cases.switches_at(t)?)}),
            );
        }
    }
    Ok(json!({"scheme": spec.label(), "link": show(&cases.links()?), "switches": by_level}))
}

fn decompose(fabric: &Fabric, tm: &TrafficMatrix) -> RoutingResult<Value> {
    let parts = Decomposition::of(fabric, tm)?;
    let totals = parts.totals()?;
    let levels = parts.levels.len() as u32;
    let one = |t: u32| {
        let part = &parts.parts[t as usize];
        json!({
            "level": t, "name": parts.levels[t as usize], "letter": decomposition::letter(t, levels), "pairs": part.len(),
            "amount": number(totals[t as usize]),
            "entries": part.iter().map(|(s, d, a)| json!([s, d, a.to_string()])).collect::<Vec<_>>(),
        })
    };
    let drawn = fabric.hosts() <= 128;
    Ok(json!({
        "parts": (0..levels).map(one).collect::<Vec<_>>(),
        "text": if drawn { json!(parts.text()) } else { Value::Null },
        "map": if drawn { json!(decomposition::map(fabric)) } else { Value::Null },
    }))
}

fn paths(fabric: &Fabric, matrices: &[TrafficMatrix], most: u64) -> RoutingResult<Value> {
    let mut pairs = std::collections::BTreeMap::new();
    for (index, tm) in matrices.iter().enumerate() {
        for (s, d, amount) in tm.iter() {
            let (from, to) = (fabric.rack(s), fabric.rack(d));
            if from != to {
                let sums = pairs.entry((from, to)).or_insert_with(|| vec![0.0; matrices.len()]);
                sums[index] += amount.float();
            }
        }
    }
    let mut found = Vec::with_capacity(pairs.len());
    for ((from, to), amounts) in pairs {
        found.push(json!({"from": from, "to": to, "amounts": amounts, "paths": paths_of(fabric, from, to, most)?}));
    }
    Ok(json!(found))
}

fn shares(fabric: &Fabric, spec: &SchemeSpec, seed: u64) -> RoutingResult<Value> {
    let hosts = fabric.hosts();
    if hosts > 128 {
        return Err(RoutingError::new(format!("{hosts} hosts: expected 128 at most for loads of every pair")));
    }
    let scheme = spec.make::<Exact>(fabric, seed)?;
    let mut shares = Shares::new(fabric);
    let mut found = Vec::new();
    for (s, d) in (0..hosts).flat_map(|s| (0..hosts).map(move |d| (s, d))).filter(|(s, d)| s != d) {
        shares.fill(scheme.as_ref(), fabric, s, d)?;
        let mut nodes = std::collections::BTreeMap::new();
        for &(port, share) in &shares.ports {
            let peer = fabric.graph.port_peer(port);
            if !fabric.graph.is_host(peer) {
                *nodes.entry(peer).or_insert(0.0) += share.float();
            }
        }
        found.push(json!([s, d, nodes.into_iter().collect::<Vec<_>>()]));
    }
    Ok(json!(found))
}

fn bounds(m: u32, n: u32, ks: &[String]) -> RoutingResult<Value> {
    if m < 2 || !m.is_multiple_of(2) || !(1..=16).contains(&n) || f64::from(m / 2).powi(n as i32) > 1e12 {
        return Err(RoutingError::new(format!("FT({m}, {n}): expected an even m from 2 and n from 1 to 16")));
    }
    let tree = Tree { m, n };
    let mut policies = vec![("nr".to_owned(), Policy::Nr), ("dnvr".to_owned(), Policy::Dnvr)];
    for k in ks {
        let value: Exact = k.parse().map_err(RoutingError::new)?;
        if value < Exact::ONE {
            return Err(RoutingError::new(format!("k = {k}: expected a number from 1")));
        }
        policies.push((format!("mdnvr-k:{value}"), Policy::MdnvrK(value)));
    }
    policies.push(("mdnvr".to_owned(), Policy::Mdnvr));
    let maybe = |value: Option<Exact>| value.map_or(Value::Null, number);
    let one = |(name, policy): (String, Policy)| {
        let level = |t: u32| {
            json!({
                "level": t, "mload": maybe(theorems::mload_at(tree, policy, t)), "mloadsw": maybe(theorems::mloadsw_at(tree, policy, t)),
                "perfsw": maybe(theorems::perfsw_at(tree, policy, t)),
            })
        };
        json!({
            "scheme": name, "mload": maybe(theorems::mload_at(tree, policy, 0)), "mloadsw": maybe(theorems::mloadsw(tree, policy)),
            "levels": (0..n).map(level).collect::<Vec<_>>(),
        })
    };
    Ok(json!({
        "m": m, "n": n, "hosts": tree.hosts(), "switches": (2 * u64::from(n) - 1) * theorems::paths(tree), "paths": theorems::paths(tree),
        "mloadsw_any": (0..n).map(|t| number(theorems::mloadsw_any(tree, t))).collect::<Vec<_>>(),
        "balanced": balanced_promise(m, n), "schemes": policies.into_iter().map(one).collect::<Vec<_>>(),
    }))
}
