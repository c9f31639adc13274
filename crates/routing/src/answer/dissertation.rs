//! Questions about Song's dissertation that are not about one fabric and its traffic: Nix-vectors, Front-Back without a network,
//! and where its claims do not hold.

use crate::error::{RoutingError, RoutingResult};
use crate::findings::{self, Finding};
use crate::number::Scalar;
use anabranch_sim::fabric::routing::{NixVector, index_bits};
use anabranch_transport::multipath::Scheduler;
use anabranch_transport::multipath::pair::{self, Estimates, Path, Transfer};
use serde::Deserialize;
use serde_json::{Value, json};

/// A transfer over paths whose rates are given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransferSpec {
    scheduler: Scheduler,
    segments: u64,
    /// Whether repartitions go by what paths have carried, not by the first estimates.
    measured: bool,
    /// Estimate and rate of each, in segments per unit of time.
    paths: Vec<(u64, u64)>,
}

/// Segments of a transfer that take a second or so.
const SEGMENTS_MAX: u64 = 10_000_000;

/// How a transfer goes.
pub(super) fn front_back(spec: &TransferSpec) -> RoutingResult<Value> {
    let rates = spec.paths.iter().flat_map(|&(estimate, rate)| [estimate, rate]);
    if spec.paths.is_empty() || spec.segments > SEGMENTS_MAX || rates.clone().any(|rate| rate == 0 || rate > 1 << 20) {
        return Err(RoutingError::new(format!(
            "expected at least one path, rates from 1 to {}, and {SEGMENTS_MAX} segments at most",
            1 << 20
        )));
    }
    let estimates = if spec.measured { Estimates::Measured } else { Estimates::Fixed };
    let paths = spec.paths.iter().map(|&(estimate, rate)| Path::new(estimate, rate)).collect();
    let outcome = pair::run(&Transfer { scheduler: spec.scheduler, segments: spec.segments, estimates, paths });
    Ok(json!({
        "finish": outcome.finish_time(), "best_finish": outcome.best_finish_time(),
        "context_switches": outcome.context_switches, "sent": outcome.sent,
    }))
}

/// A Nix-vector by hops, each the index of a neighbour and the number of neighbours.
pub(super) fn nix_vector(hops: &[(u32, u32)]) -> RoutingResult<Value> {
    let mut vector = NixVector::default();
    let mut rows = Vec::new();
    for &(index, neighbours) in hops {
        let bits = index_bits(neighbours);
        if index >= neighbours || vector.used() + bits > u64::BITS {
            return Err(RoutingError::new(format!(
                "there is no neighbour {index} of {neighbours}, or the path is too long"
            )));
        }
        vector.push(index, neighbours);
        rows.push(json!({"neighbours": neighbours, "bits": bits, "index": index, "used": vector.used(), "vector": vector.to_string()}));
    }
    Ok(json!(rows))
}

fn told(finding: &Finding) -> Value {
    json!({"claim": finding.claim, "claimed": super::number(finding.claimed), "found": super::number(finding.found)})
}

/// Fat-trees on which claims are tried.
const TREES: [(u32, u32); 4] = [(4, 2), (4, 3), (8, 2), (8, 3)];
/// Draws of random paths.
const DRAWS: u64 = 20;

/// Where claims do not hold.
pub(super) fn found() -> RoutingResult<Value> {
    let lower: Vec<Value> = findings::lower_bound_below_the_edge()?.iter().map(told).collect();
    let mut random = Vec::new();
    let mut subsets = Vec::new();
    let mut pairs = Vec::new();
    for (m, n) in TREES {
        let draws = findings::random_paths(m, n, DRAWS)?;
        let least = draws.iter().map(|f| f.found).reduce(|a, b| if b < a { b } else { a });
        let claimed = draws.first().map(|f| f.claimed);
        let (Some(least), Some(claimed)) = (least, claimed) else { continue };
        random.push(
            json!({"m": m, "n": n, "draws": DRAWS, "claimed": super::number(claimed), "least": super::number(least)}),
        );
        let (drawn, assigned) = findings::better_than_mdnvr_k(m, n)?;
        subsets.push(json!({"m": m, "n": n, "drawn": super::number(drawn), "assigned": super::number(assigned)}));
        let pair = findings::one_pair_on_one_path(m, n, 0)?;
        pairs.push(json!({"m": m, "n": n, "claimed": super::number(pair.claimed), "found": super::number(pair.found)}));
    }
    let draws: Vec<f64> = findings::draws_of_one_path(16, 4).iter().map(Scalar::float).collect();
    Ok(json!({"lower_bounds": lower, "random_paths": random, "subsets": subsets, "one_pair": pairs, "draws": draws}))
}
