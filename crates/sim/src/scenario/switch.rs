//! `[switch]`: queues and their buffers, and what each `auto` stands for.

use super::TransportName;
use super::linux_red::LinuxRedConfig;
use super::pfc::PfcConfig;
use super::phantom::PhantomConfig;
use super::queue::{Marking, QueueKind, Switch, Victim};
use super::red::RedConfig;
use super::trim_ecn::TrimEcnConfig;
use crate::fabric::buffer::BufferSize;
use crate::workload::Fault;
use anabranch_transport::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The packets in which papers tell their thresholds have so many bytes (Ethernet).
const PAPER_PACKET: u64 = 1500;

/// Every output port of every switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchConfig {
    /// Queue discipline.
    pub queue: QueueKind,
    /// Buffer for data. `auto`: 8 packets with `trim` (NDP §3.1), 20 packets with `mlfq` and `mlfq-trim` (SCDP §V), 24 with `pfabric`, 50 with `trim-ecn`, 100
    /// packets with `drop-tail`, `ecn`, `red`, `linux-red`, `phantom` and `priority`. Packets count whatever their size: with jumbograms these are six times as many
    /// bytes. The SCDP paper gives 20 packets to every protocol. With `fair` each transport's queue has a buffer of its own.
    pub buffer: BufferSize,
    /// Queue length from which packets are marked: by `ecn`, by `linux-red` (the average length), and by `mlfq` and `mlfq-trim` if given or with DCTCP or PIAS.
    /// `auto`: 20 packets of 1500 B up to 3 Gbps, then 65 for each 10 Gbps (the K of the DCTCP paper, SIGCOMM 2010 §3.4, for 1
    /// and 10 Gbps), fewer of larger packets, more of smaller ones; or half of a `buffer` that is not longer than that: marks must come
    /// before losses.
    pub ecn_threshold: BufferSize,
    /// Buffer for trimmed headers and control packets of trimming disciplines. `auto`: as many bytes as `buffer` has (NDP §3.1);
    /// one of packets has those of full ones, the largest where transports differ.
    pub header_buffer: BufferSize,
    /// Trimming disciplines send at most this many headers for each data packet while both wait. At least 1. NDP §3.1: 10.
    #[schemars(range(min = 1))]
    pub weight: u32,
    /// Number of priorities of `mlfq` and `mlfq-trim`, 1 to 8. SCDP §V: 5.
    #[schemars(range(min = 1, max = 8))]
    pub priorities: u8,
    /// Which packet `mlfq` drops, and `trim`, `trim-ecn` and `mlfq-trim` trim, when the buffer is full.
    pub victim: Victim,
    /// Memory that all ports of a switch share, with any discipline: what finds none is dropped. `buffer` stays the limit of each
    /// port; `auto` then is none, but where a full buffer does more than drop what arrives: `trim`, `trim-ecn`, `mlfq`, `mlfq-trim` and `pfabric`
    /// keep theirs. Default: none is shared. With `pfc`, of the port by which packets come: see there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_buffer: Option<Bytes>,
    /// Of `shared_buffer`: what a port may hold, as a multiple of what is free (dynamic thresholds; Choudhury and Hahne 1998). Above 0.
    /// Default 1.
    pub shared_alpha: f64,
    /// Random early detection, with `queue = "red"`.
    pub red: RedConfig,
    /// Random early detection as in Linux, with `queue = "linux-red"`.
    #[serde(skip_serializing_if = "LinuxRedConfig::is_default")]
    pub linux_red: LinuxRedConfig,
    /// The phantom queue, with `queue = "phantom"`.
    pub phantom: PhantomConfig,
    /// Marks of a trimming queue, with `queue = "trim-ecn"`.
    #[serde(skip_serializing_if = "TrimEcnConfig::is_default")]
    pub trim_ecn: TrimEcnConfig,
    /// Priority flow control: switches pause who sends to them, and lose nothing. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<PfcConfig>,
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
            linux_red: LinuxRedConfig::default(),
            phantom: PhantomConfig::default(),
            trim_ecn: TrimEcnConfig::default(),
            pfc: None,
            trim_multicast: true,
            pushed_first: false,
        }
    }
}

impl SwitchConfig {
    /// Decides every `auto` for a transport, the bit rate of the links, and full packets of `packet` bytes.
    pub fn resolve(&self, transport: TransportName, rate: Rate, packet: u64) -> Switch {
        let queue = if self.queue == QueueKind::Auto { transport.queue() } else { self.queue };
        let or = |given: BufferSize, auto: BufferSize| if given == BufferSize::Auto { auto } else { given };
        let keys = queue.keys();
        let shared_only = self.pfc.is_some() || (self.shared_buffer.is_some() && !keys.selects);
        let own = if shared_only { BufferSize::Unlimited } else { BufferSize::Packets(keys.buffer) };
        let buffer = or(self.buffer, own);
        let header_buffer = match buffer {
            BufferSize::Packets(n) => BufferSize::Bytes(Bytes(u64::from(n).saturating_mul(packet))),
            other => other,
        };
        let marking = marking_packets(rate, packet);
        let marking = match buffer {
            BufferSize::Packets(n) if n <= marking => BufferSize::Packets((n / 2).max(1)),
            BufferSize::Bytes(n) if n.0 <= u64::from(marking) * packet => BufferSize::Bytes(Bytes((n.0 / 2).max(1))),
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
            linux_red: self.linux_red.clone(),
            phantom: self.phantom.clone(),
            trim_ecn: self.trim_ecn.clone(),
            pushed_first: self.pushed_first,
            lossless: self.pfc.is_some(),
            packet,
        }
    }

    /// What is wrong, where full packets have `packet` bytes.
    pub fn check(&self, packet: u64) -> Vec<Fault> {
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
            BufferSize::Packets(n) => Some(u64::from(n).saturating_mul(packet)),
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
        faults.extend(self.linux_red.check().into_iter().map(|fault| fault.under("linux_red")));
        if self.queue.keys().linux_red {
            faults.extend(self.linux_red.check_threshold(self.ecn_threshold, packet));
        }
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
        faults.extend(self.trim_ecn.check().map(|fault| fault.under("trim_ecn")));
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
    /// What is wrong with what `ecn_threshold = "auto"` stands for at one of these bit rates.
    pub(super) fn check_auto(
        &self,
        transport: TransportName,
        rates: impl Iterator<Item = Rate>,
        packet: u64,
    ) -> Option<Fault> {
        if self.ecn_threshold != BufferSize::Auto || !self.queue.keys().linux_red {
            return None;
        }
        let rates: BTreeSet<Rate> = rates.collect();
        let thresholds = rates.into_iter().map(|rate| self.resolve(transport, rate, packet).ecn_threshold);
        thresholds.flatten().find_map(|threshold| self.linux_red.check_threshold(threshold, packet))
    }
}

/// `ecn_threshold = "auto"` in packets of `packet` bytes: those of the papers, to the nearest whole number of these.
fn marking_packets(rate: Rate, packet: u64) -> u32 {
    let papers = u128::from(rate.bps()).saturating_mul(65).div_ceil(10_000_000_000).max(20);
    let packet = u128::from(packet.max(1));
    let own = (papers * u128::from(PAPER_PACKET) + packet / 2) / packet;
    u32::try_from(own).unwrap_or(u32::MAX).max(1)
}

impl SwitchConfig {
    /// Keys that say something other than the default, which the queue discipline does not look at. Where the discipline is
    /// chosen by the transport nobody can tell: a sweep over transports may need them for one of these.
    fn without_effect(&self) -> Vec<Fault> {
        let (keys, default) = (self.queue.keys(), Self::default());
        if matches!(self.queue, QueueKind::Auto | QueueKind::Fair) {
            let given = [
                ("red", self.red != default.red, "has no effect without queue = \"red\""),
                ("linux_red", self.linux_red != default.linux_red, "has no effect without queue = \"linux-red\""),
            ];
            return given
                .into_iter()
                .filter(|given| given.1)
                .map(|(key, _, why)| Fault::new(key, why).warn())
                .collect();
        }
        let bands = match self.queue {
            QueueKind::Priority => "always has eight",
            _ => "has no number of them to choose",
        };
        let all = [
            (
                "ecn_threshold",
                self.ecn_threshold != default.ecn_threshold,
                keys.marking != Marking::Never,
                "marks at no threshold",
            ),
            ("header_buffer", self.header_buffer != default.header_buffer, keys.trims, "trims nothing"),
            ("weight", self.weight != default.weight, keys.trims, "trims nothing"),
            ("priorities", self.priorities != default.priorities, keys.priorities, bands),
            ("victim", self.victim != default.victim, keys.victim.is_some(), "drops what arrives"),
            ("trim_multicast", !self.trim_multicast, keys.trims, "trims nothing"),
            ("red", self.red != default.red, keys.red, "is not \"red\""),
            ("linux_red", self.linux_red != default.linux_red, keys.linux_red, "is not \"linux-red\""),
            ("phantom", self.phantom != default.phantom, keys.phantom, "is not \"phantom\""),
            ("trim_ecn", self.trim_ecn != default.trim_ecn, keys.trim_ecn, "is not \"trim-ecn\""),
        ];
        let idle = all.into_iter().filter(|(_, given, heeded, _)| *given && !heeded);
        idle.map(|(key, _, _, why)| Fault::new(key, format!("has no effect: this queue discipline {why}")).warn())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_shared_memory_ports_keep_the_buffers_by_which_they_trim_or_choose() {
        use TransportName::{Cubic, Dctcp, Hull, Ndp, Pfabric, Pias, Scdp};
        let shared = SwitchConfig { shared_buffer: Some(Bytes(1_000_000)), ..SwitchConfig::default() };
        let buffer = |transport| shared.resolve(transport, Rate::from_gbps(1), 1500).buffer;
        assert_eq!([Cubic, Dctcp, Hull].map(buffer), [BufferSize::Unlimited; 3]);
        assert_eq!([Ndp, Scdp, Pias, Pfabric].map(buffer), [8, 20, 20, 24].map(BufferSize::Packets));
    }

    #[test]
    fn auto_follows_the_transport() {
        let auto = |transport| SwitchConfig::default().resolve(transport, Rate::from_gbps(1), 1500);
        let ndp = auto(TransportName::Ndp);
        assert_eq!((ndp.queue, ndp.buffer), (QueueKind::Trim, BufferSize::Packets(8)));
        assert_eq!(ndp.header_buffer, BufferSize::Bytes(Bytes(12_000)));
        let scdp = auto(TransportName::Scdp);
        assert_eq!((scdp.queue, scdp.buffer), (QueueKind::MlfqTrim, BufferSize::Packets(20)));
        let dctcp = auto(TransportName::Dctcp);
        assert_eq!((dctcp.queue, dctcp.ecn_threshold), (QueueKind::Ecn, Some(BufferSize::Packets(20))));
        let fast = SwitchConfig::default().resolve(TransportName::Dctcp, Rate::from_gbps(10), 1500);
        assert_eq!(fast.ecn_threshold, Some(BufferSize::Packets(65)));
        assert_eq!((ndp.ecn_threshold, scdp.ecn_threshold), (None, None));
        let (pias, plus) = (auto(TransportName::Pias), auto(TransportName::NdpPlus));
        assert_eq!((pias.queue, pias.buffer, pias.victim), (QueueKind::Mlfq, scdp.buffer, Victim::Arriving));
        assert_eq!((plus.queue, plus.buffer, plus.victim), (QueueKind::MlfqTrim, scdp.buffer, Victim::Lowest));
        // The marks come before the buffer's 20 packets are full.
        assert_eq!((pias.ecn_threshold, plus.ecn_threshold), (Some(BufferSize::Packets(10)), None));
        let small = SwitchConfig { buffer: BufferSize::Bytes(Bytes(15_000)), ..SwitchConfig::default() };
        let small = small.resolve(TransportName::Dctcp, Rate::from_gbps(1), 1500);
        assert_eq!(small.ecn_threshold, Some(BufferSize::Bytes(Bytes(7500))));
        let bands = SwitchConfig { queue: QueueKind::Mlfq, ..SwitchConfig::default() };
        assert!(bands.resolve(TransportName::Dctcp, Rate::from_gbps(1), 1500).ecn_threshold.is_some());
        assert_eq!(auto(TransportName::Cubic).queue, QueueKind::DropTail);
        let given = SwitchConfig { queue: QueueKind::Mlfq, buffer: BufferSize::Unlimited, ..SwitchConfig::default() };
        let given = given.resolve(TransportName::Ndp, Rate::from_gbps(1), 1500);
        assert_eq!((given.queue, given.buffer), (QueueKind::Mlfq, BufferSize::Unlimited));
    }

    /// NDP §3.1: the header queue has the memory of the data queue, whatever a packet is.
    #[test]
    fn headers_have_as_many_bytes_as_data() {
        let room = |buffer: BufferSize, packet| {
            let config = SwitchConfig { buffer, ..SwitchConfig::default() };
            [TransportName::Ndp, TransportName::Scdp]
                .map(|name| config.resolve(name, Rate::from_gbps(100), packet).header_buffer)
        };
        let bytes = |n| BufferSize::Bytes(Bytes(n));
        for (packet, ndp, scdp) in [(1500, 12_000, 30_000), (9000, 72_000, 180_000), (512, 4096, 10_240)] {
            assert_eq!(room(BufferSize::Auto, packet), [bytes(ndp), bytes(scdp)], "{packet} B");
            assert_eq!(room(BufferSize::Packets(5), packet), [bytes(5 * packet); 2], "{packet} B");
            assert_eq!(room(bytes(100_000), packet), [bytes(100_000); 2], "{packet} B");
            assert_eq!(room(BufferSize::Unlimited, packet), [BufferSize::Unlimited; 2], "{packet} B");
        }
        let given = SwitchConfig { header_buffer: bytes(3000), ..SwitchConfig::default() };
        assert_eq!(given.resolve(TransportName::Ndp, Rate::from_gbps(1), 9000).header_buffer, bytes(3000));
    }

    /// K is told in packets of 1500 B: 97.5 KB at 10 Gbps.
    #[test]
    fn marks_begin_at_as_many_bytes_whatever_a_packet_is() {
        let config = SwitchConfig::default();
        let threshold =
            |gbps, packet| config.resolve(TransportName::Dctcp, Rate::from_gbps(gbps), packet).ecn_threshold;
        for (gbps, packet, packets) in
            [(1, 1500, 20), (10, 1500, 65), (10, 9000, 11), (1, 9000, 3), (10, 512, 50), (1, 512, 59)]
        {
            // 190 packets of 512 B are more than the buffer: half of it.
            assert_eq!(threshold(gbps, packet), Some(BufferSize::Packets(packets)), "{gbps} Gbps, {packet} B");
        }
        let long = SwitchConfig { buffer: BufferSize::Packets(1000), ..SwitchConfig::default() };
        let marks = long.resolve(TransportName::Dctcp, Rate::from_gbps(10), 512).ecn_threshold;
        assert_eq!(marks, Some(BufferSize::Packets(190)));
        // Half of a buffer in bytes that is not longer than the threshold.
        let short = SwitchConfig { buffer: BufferSize::Bytes(Bytes(90_000)), ..SwitchConfig::default() };
        let marks = |packet| short.resolve(TransportName::Dctcp, Rate::from_gbps(10), packet).ecn_threshold;
        assert_eq!([1500, 9000, 512].map(marks), [Some(BufferSize::Bytes(Bytes(45_000))); 3]);
    }

    #[test]
    fn a_number_of_priorities_that_nothing_reads_is_told() {
        let why = |queue| {
            let config = SwitchConfig { queue, priorities: 3, ..SwitchConfig::default() };
            config.check(1500).into_iter().map(|fault| fault.message).collect::<String>()
        };
        assert_eq!(why(QueueKind::Priority), "has no effect: this queue discipline always has eight");
        assert_eq!(why(QueueKind::Ecn), "has no effect: this queue discipline has no number of them to choose");
        assert_eq!([QueueKind::Mlfq, QueueKind::MlfqTrim, QueueKind::Auto].map(why), [""; 3]);
    }

    #[test]
    fn a_threshold_beyond_the_buffer_is_told_in_packets_of_the_scenario() {
        let of = |packet| {
            let (ecn_threshold, buffer) = (BufferSize::Packets(20), BufferSize::Bytes(Bytes(100_000)));
            let config = SwitchConfig { queue: QueueKind::Ecn, ecn_threshold, buffer, ..SwitchConfig::default() };
            config.check(packet).len()
        };
        assert_eq!([512, 1500, 9000].map(of), [0, 0, 1], "20 packets of 9000 B never fill 100 KB");
    }
}
