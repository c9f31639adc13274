//! Stride traffic.

use super::{Ends, PlacementPattern, Plan, need_hosts};
use crate::random::Stream;
use crate::workload::Mode;
use crate::workload::context::Context;
use crate::workload::error::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Host `i` sends to host `(i + by) mod hosts`, the senders in order, over and over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stride {
    /// Distance between sender and receiver; not a multiple of the number of hosts.
    pub by: u32,
}

impl PlacementPattern for Stride {
    fn check(&self) -> Vec<Fault> {
        if self.by == 0 { vec![Fault::new("by", "must be above 0: no host sends to itself")] } else { Vec::new() }
    }

    fn plan(&self, fabric: &Context, _: Mode, _: &mut Stream) -> Result<Plan, Fault> {
        need_hosts(fabric, "", 2, "a stride")?;
        let hosts = u64::from(fabric.hosts());
        let by = u64::from(self.by);
        if by.is_multiple_of(hosts) {
            return Err(Fault::new(
                "by",
                format!("{by} is a multiple of the {hosts} hosts: each would send to itself"),
            ));
        }
        let mut source = 0;
        let place = move |_: &mut Stream, ends: &mut Vec<Ends>| {
            ends.push(Ends::pair(source as u32, ((source + by) % hosts) as u32));
            source = (source + 1) % hosts;
        };
        Ok(Plan { place: Box::new(place), sessions_per_request: 1, round: Some(hosts) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::context::tests::racks;
    use crate::workload::placement::tests::{pairs, refused};

    #[test]
    fn wraps_around() {
        assert_eq!(pairs(&Stride { by: 3 }, &racks(2, 2), 5), [(0, 3), (1, 0), (2, 1), (3, 2), (0, 3)]);
        assert_eq!(refused(&Stride { by: 8 }, &racks(2, 2)).key, "by");
        assert_eq!(Stride { by: 0 }.check()[0].key, "by");
    }
}
