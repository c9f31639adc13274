//! A stable hash of what a run depends on.

use super::{BufferSize, PfcConfig, QueueKind, Scenario, TransportName, WindowRule, decoding};
use crate::workload::{JobConfig, Mode, PlacementConfig};
use anabranch_transport::Duration;
use anabranch_transport::scdp::WindowControl;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Bytes of a full packet on Ethernet, and of the papers.
const ETHERNET: u64 = 1500;

/// A scenario as canonical JSON: what comes before its seed, and what comes after.
struct Canonical {
    before: String,
    after: String,
}

impl Canonical {
    fn with_seed(&self, seed: u64) -> String {
        let inner = |text: &str| text[1..text.len() - 1].to_owned();
        let parts = [inner(&self.before), format!("\"seed\":{seed}"), inner(&self.after)];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{{{}}}", parts.join(","))
    }
}

/// FNV-1a, 128 bits (draft-eastlake-fnv §5): stable over versions of the language and its libraries, and simple enough
/// to be computed elsewhere.
#[derive(Clone)]
pub(super) struct Fnv(u128);

impl Fnv {
    pub(super) fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    pub(super) fn hex(&self) -> String {
        format!("{:032x}", self.0)
    }
}

/// JSON with the keys of every object in order of the alphabet and no spaces.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                let _ = write!(out, "{}:", Value::from(key.as_str()));
                canonical(&map[key], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                canonical(item, out);
            }
            out.push(']');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

impl Scenario {
    /// Everything that a run with this seed depends on, as JSON with sorted keys: without name, description, number of
    /// repetitions and sweep, and with every default filled in, those that follow from the transport, too. So a default that
    /// is changed changes the hashes of all scenarios that leave it out; a key that is added changes all of them, as does a
    /// change of the [model](crate::MODEL).
    pub fn canonical_json(&self, seed: u64) -> String {
        self.canonical().with_seed(seed)
    }

    /// [`Self::canonical_json`] of any seed.
    fn canonical(&self) -> Canonical {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(map) = value.as_object_mut() {
            for key in ["name", "description", "repeat", "sweep", "seed"] {
                map.remove(key);
            }
            map.insert("auto".to_owned(), self.workload.iter().map(|workload| self.decided(workload)).collect());
        }
        // How much a run may use of the machine does not change what it does.
        if let Some(run) = value["run"].as_object_mut() {
            run.remove("memory_limit");
        }
        let (mut before, mut after) = (Map::new(), Map::new());
        for (key, part) in value.as_object_mut().map(std::mem::take).unwrap_or_default() {
            let place = if key.as_str() < "seed" { &mut before } else { &mut after };
            place.insert(key, part);
        }
        let text = |part: Map<String, Value>| {
            let mut out = String::new();
            canonical(&part.into(), &mut out);
            out
        };
        Canonical { before: text(before), after: text(after) }
    }

    /// What follows from a workload and its transport where nothing is said.
    fn decided(&self, workload: &super::WorkloadConfig) -> Value {
        let transport = self.transport_of(workload);
        let queue = if self.switch.queue == QueueKind::Auto { transport.queue() } else { self.switch.queue };
        json!({
            "background": workload.is_background(),
            "buffer_packets": queue.keys().buffer,
            "queue": queue,
            "routing": self.routing.resolve(transport),
            "transport": transport,
        })
    }

    /// Whether a transport with group sessions reads objects from several senders.
    pub(crate) fn has_coded_reads(&self) -> bool {
        self.has_group_sessions(Mode::ManyToOne)
    }

    /// Whether a transport with group sessions writes objects to several receivers.
    pub(crate) fn has_groups(&self) -> bool {
        self.has_group_sessions(Mode::OneToMany)
    }

    /// Whether such sessions have windows that follow the fabric.
    pub(crate) fn has_groups_with_fitted_windows(&self) -> bool {
        self.transport.window != WindowRule::Given && (self.has_coded_reads() || self.has_groups())
    }

    /// Whether a transport with group sessions has some in this mode.
    fn has_group_sessions(&self, mode: Mode) -> bool {
        self.workload.iter().any(|workload| {
            let groups = self.transport.transport(self.transport_of(workload)).has_group_sessions(mode);
            let given = |placement: &PlacementConfig| placement.law().mode(workload.mode).ok();
            let of_job = mode == Mode::OneToMany && workload.job.as_ref().is_some_and(JobConfig::may_copy);
            groups && (of_job || workload.placement.as_ref().and_then(given) == Some(mode))
        })
    }

    /// Whether a member of a collective may have several messages to send at once.
    pub(crate) fn has_queued_messages(&self) -> bool {
        self.workload.iter().any(|workload| workload.job.as_ref().is_some_and(JobConfig::may_queue))
    }

    /// Whether any workload is carried by this transport.
    pub(super) fn uses(&self, transport: TransportName) -> bool {
        self.workload.iter().any(|workload| self.transport_of(workload) == transport)
    }

    /// Whether CUBIC carries anything.
    pub(crate) fn has_cubic(&self) -> bool {
        self.uses(TransportName::Cubic)
    }

    /// Whether SCDP carries anything.
    pub(crate) fn has_scdp(&self) -> bool {
        self.uses(TransportName::Scdp)
    }

    /// Whether receivers of SCDP find their windows.
    pub(crate) fn has_found_windows(&self) -> bool {
        self.has_scdp() && self.transport.scdp.protocol.window_control == WindowControl::Bbr
    }

    /// Whether UDP carries anything.
    pub(crate) fn has_udp(&self) -> bool {
        self.uses(TransportName::Udp)
    }

    /// Whether Homa carries anything.
    pub(crate) fn has_homa(&self) -> bool {
        self.uses(TransportName::Homa)
    }

    /// Whether flows of a host take turns at its link.
    pub(crate) fn has_turns(&self) -> bool {
        self.workload.iter().any(|workload| self.transport.transport(self.transport_of(workload)).takes_turns())
    }

    /// Whether TCP, if it carries anything, finds losses by time.
    pub(crate) fn has_rack(&self) -> bool {
        self.transport.tcp.rack
    }

    /// Whether switches lose nothing.
    pub(crate) fn is_lossless(&self) -> bool {
        self.switch.pfc.is_some()
    }

    /// Whether pauses begin where the links of the fabric say so.
    pub(crate) fn has_pauses_by_links(&self) -> bool {
        let by_links = |pfc: &PfcConfig| pfc.xoff == BufferSize::Auto;
        self.switch.pfc.as_ref().is_some_and(by_links) && self.switch.shared_buffer.is_none()
    }

    /// Whether FA-DCTCP carries anything.
    pub(crate) fn has_fa_dctcp(&self) -> bool {
        self.uses(TransportName::FaDctcp)
    }

    /// Whether MPTCP or Front-Back carries anything.
    pub(crate) fn has_subflows(&self) -> bool {
        self.uses(TransportName::Mptcp) || self.uses(TransportName::FrontBack)
    }

    /// Whether switches trim or mark, or count idle times, and packets are not those of Ethernet.
    pub(crate) fn has_queues_of_other_packets(&self) -> bool {
        let counts = |workload| {
            let queue = match self.switch.queue {
                QueueKind::Auto | QueueKind::Fair => self.transport_of(workload).queue(),
                given => given,
            };
            queue.counts_bytes_of_packets()
        };
        let full = |workload| self.transport.transport(self.transport_of(workload)).packet_bytes();
        self.workload.iter().any(|workload| full(workload) != ETHERNET) && self.workload.iter().any(counts)
    }

    /// Whether TCP's timeout before the first sample is longer than RFC 6298's.
    pub(crate) fn has_long_initial_timeout(&self) -> bool {
        self.transport.tcp.rto_initial > Duration::from_secs(1)
    }

    /// Whether hosts may have several links.
    pub(crate) fn may_be_multi_homed(&self) -> bool {
        self.fabric.may_be_multi_homed()
    }

    /// The [parts of the model](crate::MODEL_PARTS) that concern it, with their versions.
    pub fn model_parts(&self) -> impl Iterator<Item = (&'static str, u32)> {
        crate::MODEL_PARTS
            .into_iter()
            .filter(|(_, _, concerns)| concerns(self))
            .map(|(part, version, _)| (part, version))
    }

    /// Hash of the [model's version](crate::MODEL), [`Self::canonical_json`] and of the data files (see [`Self::hash_inputs`]), 32 hex digits.
    pub fn hash(&self, seed: u64, inputs: &str) -> String {
        self.hashes(inputs)(seed)
    }

    /// [`Self::hash`] for any seed.
    pub(super) fn hashes(&self, inputs: &str) -> impl Fn(u64) -> String + use<> {
        let inputs = inputs.to_owned();
        let canonical = self.canonical();
        let mut fnv = Fnv::new();
        fnv.write(&crate::MODEL.to_le_bytes());
        for (part, version) in self.model_parts() {
            fnv.write(part.as_bytes());
            fnv.write(&version.to_le_bytes());
        }
        move |seed| {
            let mut fnv = fnv.clone();
            fnv.write(canonical.with_seed(seed).as_bytes());
            fnv.write(inputs.as_bytes());
            fnv.hex()
        }
    }

    /// Hash of the data files that the scenario names, relative to `base`, and of the decode latencies that it has from the
    /// program; the hash of nothing where there are none. A file that cannot be read counts as empty.
    pub fn hash_inputs(&self, base: &Path) -> String {
        let mut fnv = Fnv::new();
        let files = self
            .data_files()
            .into_iter()
            .map(|file| crate::input::read(&base.join(file)).unwrap_or_default().into_bytes());
        // Another version of the program may have measured others.
        let built_in = self.decode_table().and_then(decoding::built_in).map(|text| text.as_bytes().to_vec());
        for content in files.chain(built_in) {
            // The length keeps the end of one file apart from the start of the next.
            fnv.write(&(content.len() as u64).to_le_bytes());
            fnv.write(&content);
        }
        fnv.hex()
    }

    /// The data files that the scenario names.
    pub fn data_files(&self) -> Vec<&str> {
        let mut files = Vec::new();
        for workload in &self.workload {
            files.extend(workload.sizes.as_ref().and_then(|sizes| sizes.law().data_file()));
            files.extend(workload.trace.as_ref().map(|t| t.file.as_str()));
        }
        if self.routing.mode == super::RoutingMode::Weighted {
            files.push(&self.routing.weighted.file);
        }
        files.extend(self.fabric.data_file().and_then(Path::to_str));
        files.extend(self.decode_table().filter(|name| decoding::built_in(name).is_none()));
        files
    }

    /// The name of the table of decode latencies, if it has one.
    fn decode_table(&self) -> Option<&str> {
        self.transport.scdp.decoding.decode_table.name.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_agrees_with_the_published_vectors() {
        let hash = |text: &str| {
            let mut fnv = Fnv::new();
            fnv.write(text.as_bytes());
            fnv.hex()
        };
        // draft-eastlake-fnv, appendix C: the empty string and "foobar".
        assert_eq!(hash(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(hash("foobar"), "343e1662793c64bf6f0d3597ba446f18");
    }

    #[test]
    fn canonical_json_sorts_keys_at_every_level() {
        let mut out = String::new();
        canonical(&serde_json::json!({"b": [1, {"z": 1.5, "a": null}], "a": "x\"y"}), &mut out);
        assert_eq!(out, r#"{"a":"x\"y","b":[1,{"a":null,"z":1.5}]}"#);
    }
}
