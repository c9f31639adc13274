//! What transports need that go by what switches write into their packets: room for all switches of a path.

use super::fabric::Fabrics;
use super::{QueueKind, RoutingMode, Scenario, TransportName};
use crate::workload::Fault;
use anabranch_transport::telemetry::MAX_HOPS;
use std::path::Path;

impl Scenario {
    /// The transports of the workloads that read what switches write.
    fn readers(&self) -> impl Iterator<Item = TransportName> + '_ {
        let used = self.workload.iter().map(|workload| self.transport_of(workload));
        used.filter(|&name| self.transport.transport(name).reads_telemetry())
    }

    /// What is wrong with a fabric for these transports; keys relative to the document.
    pub(super) fn check_telemetry(&self, fabrics: &Fabrics, base: &Path) -> Vec<Fault> {
        let (Some(name), Ok(paths)) = (self.readers().next(), fabrics.paths(&self.fabric, base)) else {
            return Vec::new();
        };
        let shortest = usize::from(paths.routes.most_hops()).saturating_sub(1);
        let switches = match self.routing.resolve(name) {
            // By way of a switch that is drawn, to it and from it on shortest paths.
            RoutingMode::Valiant => (2 * shortest).saturating_sub(1),
            // Pairs of hosts that its file leaves out have shortest paths.
            RoutingMode::Weighted => shortest.max(self.routing.weighted.most_switches()),
            // Where these take minutes to find, it is refused.
            RoutingMode::Spain if self.routing.spain.takes_minutes(&paths.graph).is_none() => {
                shortest.max(self.routing.spain.most_switches(&paths.graph))
            }
            _ => shortest,
        };
        let message = || {
            format!(
                "{}: a packet has room for what {MAX_HOPS} switches write into it, and some come by {switches}",
                name.name()
            )
        };
        let fault =
            |message| Fault::new("transport.name", message).hint("a fabric with shorter paths: leaf-spine, fat-tree");
        let fair = "fair queues hide what a class has of its link: telemetry tells of the whole port";
        let fair = Fault::new("switch.queue", format!("{}: {fair}", name.name()));
        let mut faults: Vec<Fault> = (switches > MAX_HOPS).then(|| fault(message())).into_iter().collect();
        faults.extend((self.switch.queue == QueueKind::Fair).then_some(fair));
        faults
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Plan, tests};

    const TEXT: &str = r#"
fabric = { topology = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, rate = "100Gbps", delay = "1us" }
transport = { name = "hpcc" }
[switch.pfc]
[[workload]]
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "random" }
"#;

    fn plan(overrides: &[&str]) -> Result<Plan, String> {
        tests::plan(TEXT, overrides)
    }

    /// The scenario with four leaves and three spines, where the flows of the first host to the last have this path alone.
    fn weighted(path: &str) -> Result<Plan, String> {
        let folder = std::env::temp_dir().join(format!("anabranch-telemetry-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let rows = format!("source,destination,path,weight\nh0,h7,{path},1\n");
        std::fs::write(folder.join("paths.csv"), rows).expect("a file");
        let file = folder.join("hpcc.toml").display().to_string();
        let text = TEXT.replace("leaves = 2, spines = 2", "leaves = 4, spines = 3");
        let routing = ["routing.mode=weighted".to_owned(), "routing.weighted.file=paths.csv".to_owned()];
        let plan = crate::scenario::parse(&file, &text, &routing).map_err(|error| error.to_string());
        std::fs::remove_dir_all(&folder).expect("it is there");
        plan
    }

    #[test]
    fn what_cannot_work_is_refused_and_says_why() {
        assert!(plan(&[]).is_ok_and(|plan| plan.warnings.is_empty()));
        let seven = [r#"fabric={ topology = "m-port-n-tree", m = 4, n = 4 }"#];
        let small = ["transport.roce.packet=86B", "transport.roce.header=44B"];
        for (overrides, expected) in [
            (&seven[..], "hpcc: a packet has room for what 5 switches write into it, and some come by 7"),
            (&small, "transport.roce.packet: "),
            (
                &["routing.mode=valiant", r#"fabric={ topology = "fat-tree", k = 4 }"#],
                "hpcc: a packet has room for what 5 switches",
            ),
            (&["switch={ queue = \"fair\" }"], "hpcc: fair queues hide"),
            (&["transport.roce.ack_every=4"], "transport.roce.ack_every: must be 1 with HPCC"),
            (&["transport.hpcc.target=1.0"], "transport.hpcc.target: 1 leaves no increase"),
        ] {
            let found = plan(overrides).err().unwrap_or_else(|| panic!("{overrides:?} is refused"));
            assert!(found.contains(expected), "{overrides:?}: {found}");
        }
        let large = [r#"fabric={ topology = "fat-tree", k = 32 }"#, "routing.mode=spain"];
        let found = plan(&large).expect_err("it is refused");
        assert!(found.contains("spain looks for") && !found.contains("hpcc: "), "at once: {found}");
        for (path, possible) in
            [("leaf0 spine0 leaf1 spine1 leaf3", true), ("leaf0 spine0 leaf1 spine1 leaf2 spine2 leaf3", false)]
        {
            let found = weighted(path).err();
            let expected = "hpcc: a packet has room for what 5 switches write into it, and some come by 7";
            assert!(
                if possible { found.is_none() } else { found.as_ref().is_some_and(|found| found.contains(expected)) },
                "{path}: {found:?}"
            );
        }
        // Of no consequence for others.
        for overrides in [&seven[..], &small, &["transport.roce.ack_every=4"]] {
            assert!(plan(&[overrides, &["transport.name=roce"]].concat()).is_ok(), "{overrides:?}");
        }
    }
}
