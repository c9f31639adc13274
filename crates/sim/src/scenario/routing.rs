//! Which routing scheme a scenario asks for.

use super::TransportName;
use crate::fabric::routing::{RoutingConfig, RoutingMode};
use crate::workload::Fault;
use anabranch_transport::Duration;

/// More trees than there are ways in any fabric; each group keeps all of its own.
const MULTICAST_TREES_MAX: u32 = 1 << 16;

impl RoutingConfig {
    /// What is wrong.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if !(1..=MULTICAST_TREES_MAX).contains(&self.multicast_trees) {
            let message = format!("must be from 1 to {MULTICAST_TREES_MAX}, not {}", self.multicast_trees);
            faults.push(Fault::new("multicast_trees", message));
        }
        if self.flowlet.gap == Duration::ZERO {
            let fault = Fault::new("flowlet.gap", "must be above 0");
            faults.push(fault.hint("mode = \"per-packet\" is flowlets of one packet"));
        }
        faults.extend(
            self.unused()
                .into_iter()
                .map(|key| Fault::new(key, format!("has no effect with another mode than {key}")).warn()),
        );
        faults
    }

    /// The mode, with `auto` decided for a transport.
    pub fn resolve(&self, transport: TransportName) -> RoutingMode {
        if self.mode == RoutingMode::Auto { transport.routing() } else { self.mode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_follows_the_transport() {
        assert_eq!(RoutingConfig::default().resolve(TransportName::Ndp), RoutingMode::PerPacket);
        assert_eq!(RoutingConfig::default().resolve(TransportName::Reno), RoutingMode::PerFlow);
    }
}
