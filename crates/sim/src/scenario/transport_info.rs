//! What there is to know of each transport before it is chosen: `anabranch transports`.

use super::presets::{TransportPreset, presets_of};
use super::{TransportConfig, TransportName};
use crate::workload::Mode;
use schemars::JsonSchema;
use serde::Serialize;

/// A value that scenarios may name, and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// As in scenarios.
    pub name: String,
    /// From its documentation.
    pub summary: String,
}

/// A transport.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransportInfo {
    /// `transport.name`: what it is, with its paper.
    pub transport: Named,
    /// What decides when packets leave.
    pub driven_by: &'static str,
    /// Whether it has one-to-many and many-to-one sessions of its own.
    pub groups: bool,
    /// Whether it is made for switches that pause who sends to them, so that none loses a packet: `[switch.pfc]`.
    pub lossless: bool,
    /// Whether switches write the state of their ports into its packets.
    pub telemetry: bool,
    /// What switches do for it: `switch.queue = "auto"`.
    pub queue: Named,
    /// How its packets choose among paths: `routing.mode = "auto"`.
    pub routing: Named,
    /// Parameters of papers and their authors' programs: `transport.preset`.
    pub presets: Vec<TransportPreset>,
    /// What of it is implemented, and what differs: the page in `docs/fidelity/`.
    pub page: String,
}

/// All transports, in the order of the registry.
pub fn transports() -> Vec<TransportInfo> {
    let info = |&name: &TransportName| {
        let transport = TransportConfig::by_default(name).transport(name);
        TransportInfo {
            transport: named(&name),
            driven_by: transport.driven_by(),
            groups: transport.has_group_sessions(Mode::OneToMany),
            lossless: transport.goes_back(),
            telemetry: transport.reads_telemetry(),
            queue: named(&name.queue()),
            routing: named(&name.routing()),
            presets: presets_of(name),
            page: format!("{}.md", name.page()),
        }
    };
    TransportName::ALL.iter().map(info).collect()
}

/// A variant with its documentation, both as in the schema of scenarios.
fn named<T: JsonSchema + Serialize>(value: &T) -> Named {
    let name = serde_json::to_value(value).unwrap_or_default();
    let schema = schemars::schema_for!(T).to_value();
    let variants = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = variants.iter().find(|variant| variant["const"] == name);
    let summary = own.and_then(|variant| variant["description"].as_str()).unwrap_or_default();
    Named { name: name.as_str().map(str::to_owned).unwrap_or_default(), summary: summary.replace('\n', " ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_told_of_a_transport_is_known() {
        let every = transports();
        assert_eq!(every.len(), TransportName::ALL.len());
        for one in &every {
            for Named { name, summary } in [&one.transport, &one.queue, &one.routing] {
                assert!(!name.is_empty() && summary.len() > 10, "{one:?}");
            }
            let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fidelity/").to_owned() + &one.page;
            assert!(std::path::Path::new(&page).is_file(), "no {page}");
        }
    }

    #[test]
    fn homa_and_dcqcn_by_hand() {
        let card = |name: &str| transports().into_iter().find(|card| card.transport.name == name).expect("it exists");
        let homa = card("homa");
        assert_eq!(
            (homa.driven_by, homa.groups, homa.queue.name.as_str()),
            ("the receiver's grants", false, "priority")
        );
        let dcqcn = card("dcqcn");
        assert_eq!((dcqcn.driven_by, dcqcn.routing.name.as_str()), ("the sender's rate", "per-flow"));
        assert_eq!((dcqcn.page.as_str(), dcqcn.lossless, homa.lossless), ("roce.md", true, false));
        assert_eq!(
            (card("hpcc").telemetry, card("hpcc").driven_by, dcqcn.telemetry),
            (true, "the sender's window", false)
        );
        assert_eq!((card("roce").driven_by, card("scdp").groups), ("pauses of switches", true));
    }
}
