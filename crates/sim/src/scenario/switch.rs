//! `[switch]`, `[host]` and `[routing]`: queues, buffers, choice among equal paths.

use super::TransportName;
use super::queue::{Marking, QueueKind};
use crate::fabric::jitter::Jitter;
use crate::workload::Fault;
use anabranch_transport::{Bytes, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Full packets are this long when packets are turned into bytes (Ethernet).
const PACKET: u64 = 1500;

/// A limit of a queue: `"100 packets"`, `"150KB"`, `"unlimited"`, or `"auto"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BufferSize {
    /// By the queue discipline.
    #[default]
    Auto,
    /// No limit.
    Unlimited,
    /// Whole packets, of whatever size.
    Packets(u32),
    /// Bytes.
    Bytes(Bytes),
}

impl FromStr for BufferSize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        match trimmed {
            "auto" => return Ok(Self::Auto),
            "unlimited" => return Ok(Self::Unlimited),
            _ => {}
        }
        for word in ["packets", "packet"] {
            if let Some(number) = trimmed.strip_suffix(word) {
                let number = number.trim();
                return number.parse().map(Self::Packets).map_err(|_| {
                    format!("{text:?} is not a buffer size: {number:?} is not a whole number of packets")
                });
            }
        }
        trimmed.parse().map(Self::Bytes).map_err(|_| {
            format!(
                "{text:?} is not a buffer size: write it like \"100 packets\", \"150KB\", \"unlimited\" or \"auto\""
            )
        })
    }
}

impl fmt::Display for BufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Unlimited => f.write_str("unlimited"),
            Self::Packets(1) => f.write_str("1 packet"),
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Bytes(n) => write!(f, "{n}"),
        }
    }
}

impl Serialize for BufferSize {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BufferSize {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for BufferSize {
    fn schema_name() -> Cow<'static, str> {
        "BufferSize".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["100 packets", "150KB"],
            "pattern": r"^(auto|unlimited|[0-9]+ *packets?|[0-9][0-9_]*(\.[0-9]+)? *(B|[kKMGT]B|[KMG]iB))$",
            "description": "a limit of a queue, for example 100 packets or 150KB" })
    }
}

/// Who loses when a queue of priorities is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// `lowest` where packets are trimmed, `arriving` with `mlfq`: the switches that PIAS was made for drop what does not fit.
    #[default]
    Auto,
    /// The newest packet of the lowest priority that waits, if that is lower than the arrival's. With `trim`, which has no
    /// priorities, a coin decides between the newest packet and the arrival (NDP §3.1).
    Lowest,
    /// The packet that arrives.
    Arriving,
}

/// Every output port of every switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchConfig {
    /// Queue discipline.
    pub queue: QueueKind,
    /// Buffer for data. `auto`: 8 packets with `trim` (NDP §3.1), 20 packets with `mlfq` and `mlfq-trim` (SCDP §V), 100
    /// packets with `drop-tail`, `ecn` and `red`. The SCDP paper gives 20 packets to every protocol. With `fair` each transport's
    /// queue has a buffer of its own.
    pub buffer: BufferSize,
    /// Queue length from which packets are marked: by `ecn`, and by `mlfq` and `mlfq-trim` if given or with DCTCP or PIAS.
    /// `auto`: 20 packets up to 3 Gbps, then 65 packets for each 10 Gbps (the K of the DCTCP paper, SIGCOMM 2010 §3.4, for 1
    /// and 10 Gbps), or half of a `buffer` that is not longer than that: marks must come before losses.
    pub ecn_threshold: BufferSize,
    /// Buffer for trimmed headers and control packets of trimming disciplines. `auto`: as many bytes as `buffer` holds in
    /// packets of 1500 bytes (NDP §3.1).
    pub header_buffer: BufferSize,
    /// Trimming disciplines send at most this many headers for each data packet while both wait. At least 1. NDP §3.1: 10.
    #[schemars(range(min = 1))]
    pub weight: u32,
    /// Number of priorities of `mlfq` and `mlfq-trim`, 1 to 8. SCDP §V: 5.
    #[schemars(range(min = 1, max = 8))]
    pub priorities: u8,
    /// Which packet `mlfq` drops, and `trim` and `mlfq-trim` trim, when the buffer is full.
    pub victim: Victim,
    /// Memory that all ports of a switch share, with any discipline: what finds none is dropped. `buffer` stays the limit of each
    /// port; `auto` then is none. Default: none is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_buffer: Option<Bytes>,
    /// Of `shared_buffer`: what a port may hold, as a multiple of what is free (dynamic thresholds; Choudhury and Hahne 1998). Above 0.
    /// Default 1.
    pub shared_alpha: f64,
    /// Random early detection, with `queue = "red"`.
    pub red: RedConfig,
    /// The phantom queue, with `queue = "phantom"`.
    pub phantom: PhantomConfig,
    /// Whether trimming disciplines cut multicast packets, too. `false`: a multicast packet that would be trimmed is
    /// dropped, as by the switches of today that can trim.
    pub trim_multicast: bool,
    /// Whether the packets of initial windows (SCDP, NDP) go before all others, in a queue of their own without limit, and so
    /// are never trimmed. In no paper; the simulators that SCDP's authors published do so. Other transports push nothing; with
    /// `fair` a transport's pushed packets go first in its own queue.
    pub pushed_first: bool,
}

impl Default for SwitchConfig {
    fn default() -> Self {
        Self {
            queue: QueueKind::Auto,
            buffer: BufferSize::Auto,
            ecn_threshold: BufferSize::Auto,
            header_buffer: BufferSize::Auto,
            weight: 10,
            priorities: 5,
            victim: Victim::Auto,
            shared_buffer: None,
            shared_alpha: 1.0,
            red: RedConfig::default(),
            phantom: PhantomConfig::default(),
            trim_multicast: true,
            pushed_first: false,
        }
    }
}

/// [`SwitchConfig`] with every `auto` decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Queue discipline; never `Auto`.
    pub queue: QueueKind,
    /// Buffer for data; never `Auto`.
    pub buffer: BufferSize,
    /// Queue length from which packets are marked, in packets or bytes; `None`: the discipline does not mark.
    pub ecn_threshold: Option<BufferSize>,
    /// Buffer for headers; never `Auto`.
    pub header_buffer: BufferSize,
    /// Headers for each data packet.
    pub weight: u32,
    /// Number of priorities.
    pub priorities: u8,
    /// Which packet is dropped or trimmed; never `Auto`.
    pub victim: Victim,
    /// Random early detection.
    pub red: RedConfig,
    /// Phantom queue.
    pub phantom: PhantomConfig,
    /// Whether pushed packets go before all others.
    pub pushed_first: bool,
}

impl SwitchConfig {
    /// Decides every `auto` for a transport and the bit rate of the links.
    pub fn resolve(&self, transport: TransportName, rate: Rate) -> Switch {
        let queue = if self.queue == QueueKind::Auto { transport.queue() } else { self.queue };
        let or = |given: BufferSize, auto: BufferSize| if given == BufferSize::Auto { auto } else { given };
        let keys = queue.keys();
        let own = if self.shared_buffer.is_some() { BufferSize::Unlimited } else { BufferSize::Packets(keys.buffer) };
        let buffer = or(self.buffer, own);
        let header_buffer = match buffer {
            BufferSize::Packets(n) => BufferSize::Bytes(Bytes(u64::from(n) * PACKET)),
            other => other,
        };
        let marking = rate.bps().saturating_mul(65).div_ceil(10_000_000_000).clamp(20, u64::from(u32::MAX)) as u32;
        let marking = match buffer {
            BufferSize::Packets(n) if n <= marking => BufferSize::Packets((n / 2).max(1)),
            BufferSize::Bytes(n) if n.0 <= u64::from(marking) * PACKET => BufferSize::Bytes(Bytes((n.0 / 2).max(1))),
            _ => BufferSize::Packets(marking),
        };
        let marks = match keys.marking {
            Marking::Never => false,
            Marking::IfAsked => {
                let own = transport.queue();
                self.ecn_threshold != BufferSize::Auto || matches!(own, QueueKind::Ecn | QueueKind::Mlfq)
            }
            Marking::Always => true,
        };
        Switch {
            queue,
            buffer,
            ecn_threshold: marks.then(|| or(self.ecn_threshold, marking)),
            header_buffer: or(self.header_buffer, header_buffer),
            weight: self.weight,
            priorities: self.priorities,
            victim: match self.victim {
                Victim::Auto => keys.victim.unwrap_or(Victim::Lowest),
                given => given,
            },
            red: self.red.clone(),
            phantom: self.phantom.clone(),
            pushed_first: self.pushed_first,
        }
    }

    /// What is wrong.
    pub fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let empty = |size| matches!(size, BufferSize::Packets(0) | BufferSize::Bytes(Bytes(0)));
        let limits =
            [("buffer", self.buffer), ("ecn_threshold", self.ecn_threshold), ("header_buffer", self.header_buffer)];
        for (key, size) in limits {
            if empty(size) {
                faults.push(Fault::new(key, "must be above 0"));
            }
        }
        if self.ecn_threshold == BufferSize::Unlimited {
            faults.push(
                Fault::new("ecn_threshold", "a threshold cannot be unlimited")
                    .hint("without marking: queue = \"drop-tail\""),
            );
        }
        let bytes = |size| match size {
            BufferSize::Packets(n) => Some(u64::from(n) * PACKET),
            BufferSize::Bytes(n) => Some(n.0),
            BufferSize::Auto | BufferSize::Unlimited => None,
        };
        if let (Some(threshold), Some(buffer)) = (bytes(self.ecn_threshold), bytes(self.buffer))
            && threshold >= buffer
        {
            let (threshold, buffer) = (self.ecn_threshold, self.buffer);
            faults.push(
                Fault::new("ecn_threshold", format!("{threshold} never fill a buffer of {buffer}: nothing is marked"))
                    .warn(),
            );
        }
        faults.extend(self.without_effect());
        faults.extend(self.red.check().into_iter().map(|fault| fault.under("red")));
        if self.shared_buffer == Some(Bytes(0)) {
            faults.push(Fault::new("shared_buffer", "must be above 0"));
        }
        let alpha = self.shared_alpha;
        if !(alpha > 0.0 && alpha.is_finite()) {
            faults.push(Fault::new("shared_alpha", format!("must be above 0, not {alpha}")));
        } else if self.shared_buffer.is_none() && (alpha - Self::default().shared_alpha).abs() > 0.0 {
            faults.push(Fault::new("shared_alpha", "has no effect without shared_buffer").warn());
        }
        let drain = self.phantom.drain;
        if !(drain > 0.0 && drain <= 1.0) {
            faults.push(Fault::new("phantom.drain", format!("must be above 0 and at most 1, not {drain}")));
        }
        if self.weight == 0 {
            faults.push(Fault::new("weight", "must be at least 1"));
        }
        if !(1..=8).contains(&self.priorities) {
            faults.push(Fault::new("priorities", format!("must be from 1 to 8, not {}", self.priorities)));
        }
        faults
    }
}

impl SwitchConfig {
    /// Keys that say something other than the default, which the queue discipline does not look at. Where the discipline is
    /// chosen by the transport nobody can tell: a sweep over transports may need them for one of these.
    fn without_effect(&self) -> Vec<Fault> {
        let (keys, default) = (self.queue.keys(), Self::default());
        if matches!(self.queue, QueueKind::Auto | QueueKind::Fair) {
            let red =
                (self.red != default.red).then(|| Fault::new("red", "has no effect without queue = \"red\"").warn());
            return red.into_iter().collect();
        }
        let all = [
            (
                "ecn_threshold",
                self.ecn_threshold != default.ecn_threshold,
                keys.marking != Marking::Never,
                "marks at no threshold",
            ),
            ("header_buffer", self.header_buffer != default.header_buffer, keys.trims, "trims nothing"),
            ("weight", self.weight != default.weight, keys.trims, "trims nothing"),
            ("priorities", self.priorities != default.priorities, keys.priorities, "has no priorities"),
            ("victim", self.victim != default.victim, keys.victim.is_some(), "drops what arrives"),
            ("trim_multicast", !self.trim_multicast, keys.trims, "trims nothing"),
            ("red", self.red != default.red, keys.red, "is not \"red\""),
            ("phantom", self.phantom != default.phantom, keys.phantom, "is not \"phantom\""),
        ];
        let idle = all.into_iter().filter(|(_, given, heeded, _)| *given && !heeded);
        idle.map(|(key, _, _, why)| Fault::new(key, format!("has no effect: this queue discipline {why}")).warn())
            .collect()
    }
}

/// Phantom queue (Alizadeh et al., NSDI 2012).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PhantomConfig {
    /// Rate of its virtual link over that of the port: above 0, at most 1. Default 0.95 (HULL's 950 Mbps on links of 1 Gbps).
    pub drain: f64,
    /// What has to wait at the virtual link for a packet to be marked: more than this. Default 1 KB (HULL).
    pub threshold: Bytes,
}

impl Default for PhantomConfig {
    fn default() -> Self {
        Self { drain: 0.95, threshold: Bytes(1000) }
    }
}

/// Random early detection (Floyd and Jacobson 1993).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedConfig {
    /// Average queue from which packets are dropped or marked by chance, in packets or bytes. Default 5 packets (Floyd 1997).
    pub min_threshold: BufferSize,
    /// Average queue at which `max_probability` is reached, in the unit of `min_threshold` and above it. Default 15 packets (Floyd
    /// 1997: three times the lower one).
    pub max_threshold: BufferSize,
    /// Share of packets that are dropped or marked at `max_threshold`: above 0, at most 1. Default 0.1 (Floyd 1997).
    pub max_probability: f64,
    /// Weight of each arrival in the moving average of the queue: above 0, at most 1; 1 is the queue as it is. Default 0.002
    /// (Floyd and Jacobson 1993 §V).
    pub weight: f64,
    /// Whether the share rises from `max_probability` to 1 between `max_threshold` and twice that (Floyd 2000), instead of at
    /// once. Default true.
    pub gentle: bool,
    /// Whether packets that may be marked are marked instead of dropped, up to where all are dropped (RFC 3168 §7). Default true;
    /// transports ask for it with `ecn`.
    pub mark: bool,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            min_threshold: BufferSize::Packets(5),
            max_threshold: BufferSize::Packets(15),
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            mark: true,
        }
    }
}

impl RedConfig {
    /// Lower and upper threshold, and whether they are in bytes; `None` if they are not two of a kind.
    pub(super) fn thresholds(&self) -> Option<(f64, f64, bool)> {
        match (self.min_threshold, self.max_threshold) {
            (BufferSize::Packets(min), BufferSize::Packets(max)) => Some((f64::from(min), f64::from(max), false)),
            (BufferSize::Bytes(min), BufferSize::Bytes(max)) => Some((min.0 as f64, max.0 as f64, true)),
            _ => None,
        }
    }

    fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let (min, max) = (self.min_threshold, self.max_threshold);
        match self.thresholds() {
            None => {
                let message = format!("{max} and min_threshold = {min} must both be packets or both be bytes");
                faults.push(Fault::new("max_threshold", message).hint("min_threshold = \"5 packets\""));
            }
            Some((low, high, _)) if low >= high => {
                faults.push(Fault::new("max_threshold", format!("{max} is not above min_threshold = {min}")));
            }
            Some(_) => {}
        }
        for (key, value) in [("max_probability", self.max_probability), ("weight", self.weight)] {
            if !(value > 0.0 && value <= 1.0) {
                faults.push(Fault::new(key, format!("must be above 0 and at most 1, not {value}")));
            }
        }
        faults
    }
}

/// Hosts. Their own queues are unlimited: transports limit what they send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// Longest random pause of a host before each packet: a time, or so many times what a full packet takes on its link. A host
    /// with enough to send loses half of it for each packet. Without it (`"0us"`) synchronised senders stay in lockstep.
    pub jitter: Jitter,
    /// Pace of a receiver's pulls: full packets that they ask for, over those that its link carries. Above 0, at most 10. 1 fills
    /// the link; less leaves room for traffic that is not pulled, more makes a queue in front of the host grow until it trims.
    pub pull_pace: f64,
    /// Which of a receiver's sessions may pull next.
    pub pull_order: PullOrder,
}

/// Which of the sessions of a host may pull next (SCDP, NDP).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PullOrder {
    /// They take turns (NDP §3.2, SCDP §IV-C).
    #[default]
    Turns,
    /// The one whose packets have the highest priority, by the thresholds of its transport; those that have the same take
    /// turns. SCDP §V-I: it "would be straightforward". Where a transport has no thresholds (NDP) all have the same.
    Priority,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self { jitter: Jitter::NONE, pull_pace: 1.0, pull_order: PullOrder::Turns }
    }
}

impl HostConfig {
    /// What is wrong with the values.
    pub(super) fn check(&self) -> Vec<Fault> {
        if self.pull_pace > 0.0 && self.pull_pace <= 10.0 {
            return Vec::new();
        }
        let fault = Fault::new("pull_pace", format!("must be above 0 and at most 10, not {}", self.pull_pace));
        vec![fault.hint("1 asks for as much as the link carries")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_sizes_read_back() {
        for text in ["auto", "unlimited", "1 packet", "100 packets", "150KB", "1B"] {
            assert_eq!(text.parse::<BufferSize>().unwrap().to_string(), text);
        }
        assert_eq!("8packets".parse(), Ok(BufferSize::Packets(8)));
        assert!("many packets".parse::<BufferSize>().unwrap_err().contains("not a whole number of packets"));
        assert!("100".parse::<BufferSize>().unwrap_err().contains("write it like"));
    }

    #[test]
    fn auto_follows_the_transport() {
        let auto = |transport| SwitchConfig::default().resolve(transport, Rate::from_gbps(1));
        let ndp = auto(TransportName::Ndp);
        assert_eq!((ndp.queue, ndp.buffer), (QueueKind::Trim, BufferSize::Packets(8)));
        assert_eq!(ndp.header_buffer, BufferSize::Bytes(Bytes(12_000)));
        let scdp = auto(TransportName::Scdp);
        assert_eq!((scdp.queue, scdp.buffer), (QueueKind::MlfqTrim, BufferSize::Packets(20)));
        let dctcp = auto(TransportName::Dctcp);
        assert_eq!((dctcp.queue, dctcp.ecn_threshold), (QueueKind::Ecn, Some(BufferSize::Packets(20))));
        let fast = SwitchConfig::default().resolve(TransportName::Dctcp, Rate::from_gbps(10));
        assert_eq!(fast.ecn_threshold, Some(BufferSize::Packets(65)));
        assert_eq!((ndp.ecn_threshold, scdp.ecn_threshold), (None, None));
        let (pias, plus) = (auto(TransportName::Pias), auto(TransportName::NdpPlus));
        assert_eq!((pias.queue, pias.buffer, pias.victim), (QueueKind::Mlfq, scdp.buffer, Victim::Arriving));
        assert_eq!((plus.queue, plus.buffer, plus.victim), (QueueKind::MlfqTrim, scdp.buffer, Victim::Lowest));
        // The marks come before the buffer's 20 packets are full.
        assert_eq!((pias.ecn_threshold, plus.ecn_threshold), (Some(BufferSize::Packets(10)), None));
        let small = SwitchConfig { buffer: BufferSize::Bytes(Bytes(15_000)), ..SwitchConfig::default() };
        let small = small.resolve(TransportName::Dctcp, Rate::from_gbps(1));
        assert_eq!(small.ecn_threshold, Some(BufferSize::Bytes(Bytes(7500))));
        let bands = SwitchConfig { queue: QueueKind::Mlfq, ..SwitchConfig::default() };
        assert!(bands.resolve(TransportName::Dctcp, Rate::from_gbps(1)).ecn_threshold.is_some());
        assert_eq!(auto(TransportName::Cubic).queue, QueueKind::DropTail);
        let given = SwitchConfig { queue: QueueKind::Mlfq, buffer: BufferSize::Unlimited, ..SwitchConfig::default() };
        let given = given.resolve(TransportName::Ndp, Rate::from_gbps(1));
        assert_eq!((given.queue, given.buffer), (QueueKind::Mlfq, BufferSize::Unlimited));
    }
}
