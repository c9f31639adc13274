//! Pairs one by one.

use super::{Ends, PlacementPattern, Plan, known_host};
use crate::random::Stream;
use crate::workload::Mode;
use crate::workload::context::Context;
use crate::workload::error::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Senders and receivers as listed, in order, over and over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    /// `[sender, receiver]` of each session.
    pub pairs: Vec<[u32; 2]>,
}

impl PlacementPattern for Pairs {
    fn check(&self) -> Vec<Fault> {
        if self.pairs.is_empty() {
            return vec![Fault::new("pairs", "at least one pair is needed")];
        }
        let own = self.pairs.iter().enumerate().filter(|(_, [source, sink])| source == sink);
        own.map(|(i, [host, _])| Fault::new(format!("pairs.{i}"), format!("host {host} cannot send to itself")))
            .collect()
    }

    fn plan(&self, fabric: &Context, _: Mode, _: &mut Stream) -> Result<Plan, Fault> {
        let mut pairs = Vec::with_capacity(self.pairs.len());
        for (i, [source, sink]) in self.pairs.iter().enumerate() {
            let host = |number| known_host(fabric, format!("pairs.{i}"), number);
            pairs.push([host(*source)?, host(*sink)?]);
        }
        let (round, mut next) = (pairs.len(), 0);
        let place = move |_: &mut Stream, ends: &mut Vec<Ends>| {
            let [source, sink] = pairs[next];
            ends.push(Ends::pair(source, sink));
            next = (next + 1) % round;
        };
        Ok(Plan { place: Box::new(place), sessions_per_request: 1, round: Some(round as u64) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::context::tests::racks;
    use crate::workload::placement::tests::{pairs, refused};

    #[test]
    fn repeats_the_list_and_names_bad_pairs() {
        let list = Pairs { pairs: vec![[0, 1], [3, 1]] };
        assert_eq!(pairs(&list, &racks(2, 2), 3), [(0, 1), (3, 1), (0, 1)]);
        assert_eq!(refused(&Pairs { pairs: vec![[0, 1], [1, 4]] }, &racks(2, 2)).key, "pairs.1");
        assert_eq!(Pairs { pairs: vec![[0, 1], [1, 1]] }.check()[0].key, "pairs.1");
        assert_eq!(Pairs { pairs: vec![] }.check()[0].key, "pairs");
    }
}
