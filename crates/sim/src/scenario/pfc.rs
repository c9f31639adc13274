//! `[switch.pfc]`: priority flow control.

use super::remarks::{Remark, percent};
use crate::fabric::buffer::BufferSize;
use crate::fabric::graph::{Graph, Link};
use crate::fabric::pfc::{Pfc, Threshold, headroom, idle_share, reaction};
use crate::workload::Fault;
use anabranch_transport::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The least `xoff = "auto"` without shared memory, in packets, and how far `xon = "auto"` is below: csg-htsim's `queue_lossless_input` pauses above 15 packets and
/// goes on below 12; the switch of the HPCC simulator goes on 3 kB, three of its packets, below a dynamic threshold.
const XOFF: u64 = 15;
const BELOW: u64 = 3;

/// Priority flow control (IEEE 802.1Qbb): a switch pauses who sends to it before its memory is full, and loses nothing. Memory counts by
/// the port by which packets come, and by priority. Of the queue disciplines `drop-tail`, `ecn` and `red` can be paused; hosts' ports are, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PfcConfig {
    /// What a switch holds of the packets of a link and priority at most before it asks for a pause. At least a full packet. `auto`: 15 packets,
    /// or three more than the most headroom that a link of the fabric needs, if that is more: a link that may send again is then not idle until
    /// packets come. With `switch.shared_buffer`: `switch.shared_alpha` times what is free of it beside all headroom.
    pub xoff: BufferSize,
    /// When it holds no more than this, packets may come again. Below `xoff`. `auto`: three full packets less than `xoff`.
    pub xon: BufferSize,
    /// What it holds besides, of each link and priority, of packets that come until a pause has taken effect. What finds no headroom is lost,
    /// and counted as `headroom_drops`. `auto`: two link delays at the link's rate, three full packets, and a pause frame of each
    /// priority: then nothing is lost.
    pub headroom: BufferSize,
    /// Priorities that are told apart and paused one by one, 1 to 8. Packets beyond the last belong to the last. Control packets are never
    /// paused. Default 1.
    #[schemars(range(min = 1, max = 8))]
    pub priorities: u8,
}

impl Default for PfcConfig {
    fn default() -> Self {
        Self { xoff: BufferSize::Auto, xon: BufferSize::Auto, headroom: BufferSize::Auto, priorities: 1 }
    }
}

/// A size in bytes, where full packets have `packet` bytes; `None` if it is `auto` or has no limit.
fn bytes(size: BufferSize, packet: u64) -> Option<u64> {
    match size {
        BufferSize::Packets(n) => Some(u64::from(n).saturating_mul(packet)),
        BufferSize::Bytes(Bytes(n)) => Some(n),
        BufferSize::Auto | BufferSize::Unlimited => None,
    }
}

impl PfcConfig {
    /// With every `auto` decided, for full packets of `packet` bytes on these links, and for the memory of a switch, if its ports share one, and
    /// its `shared_alpha`.
    pub fn resolve(&self, memory: Option<Bytes>, alpha: f64, graph: &Graph, packet: u64) -> Pfc {
        let priorities = self.priorities.clamp(1, 8);
        let threshold = match (bytes(self.xoff, packet), memory) {
            (None, Some(memory)) => Threshold::Dynamic { memory: memory.0, alpha, below: BELOW * packet },
            (xoff, _) => {
                let carried = graph.links.iter().map(|link| headroom(link.rate, link.delay, packet, priorities)).max();
                let least = XOFF * packet;
                let xoff = xoff.unwrap_or(carried.map_or(least, |most| least.max(most.saturating_add(BELOW * packet))));
                Threshold::Fixed { xoff, xon: bytes(self.xon, packet).unwrap_or(xoff.saturating_sub(BELOW * packet)) }
            }
        };
        Pfc { priorities, threshold, headroom: bytes(self.headroom, packet) }
    }

    /// What is wrong with the keys, relative to this table; see [`resolve`](Self::resolve).
    pub(super) fn check(&self, memory: Option<Bytes>, alpha: f64, graph: &Graph, packet: u64) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (key, size) in [("xoff", self.xoff), ("xon", self.xon), ("headroom", self.headroom)] {
            if size == BufferSize::Unlimited {
                faults.push(
                    Fault::new(key, "cannot be unlimited").hint("without priority flow control: leave out switch.pfc"),
                );
            }
        }
        if !(1..=8).contains(&self.priorities) {
            faults.push(Fault::new("priorities", format!("must be from 1 to 8, not {}", self.priorities)));
        }
        let resolved = self.resolve(memory, alpha, graph, packet);
        if resolved.headroom.is_some_and(|headroom| headroom < packet) {
            // A packet that finds no room would pause who sent it, of whom nothing waits whose leaving could end that.
            let message = format!("{} is less than a full packet of {packet} B", self.headroom);
            faults.push(Fault::new("headroom", message).hint("headroom = \"auto\""));
        }
        match resolved.threshold {
            Threshold::Fixed { xoff, .. } if xoff < packet => {
                faults.push(Fault::new("xoff", format!("{} is less than a full packet of {packet} B", self.xoff)));
            }
            Threshold::Fixed { xoff, xon } if xon >= xoff => {
                faults.push(Fault::new("xon", format!("{} is not below xoff, which is {}", self.xon, Bytes(xoff))));
            }
            Threshold::Dynamic { .. } if self.xon != BufferSize::Auto => {
                let message = "with a threshold that follows what is free, xon is three packets below it";
                faults.push(Fault::new("xon", message).hint("give xoff, too"));
            }
            _ => {}
        }
        faults
    }

    /// Pauses that begin, or end, while too little waits for a link of the fabric to go on until packets come again.
    pub(super) fn remark(&self, memory: Option<Bytes>, alpha: f64, graph: &Graph, packet: u64) -> Option<Remark> {
        let pfc = self.resolve(memory, alpha, graph, packet);
        let (key, given, xoff, xon) = match pfc.threshold {
            Threshold::Fixed { xoff, xon } => {
                let is_given = |size| bytes(size, packet).is_some();
                let keys = [("switch.pfc.xon", self.xon), ("switch.pfc.xoff", self.xoff)];
                let (key, size) = keys.into_iter().find(|(_, size)| is_given(*size))?;
                (key, size.to_string(), xoff, xon)
            }
            Threshold::Dynamic { memory, alpha, below } => {
                // Of two senders each may have x = alpha (F - 2 x) of what headroom leaves.
                let least = memory.saturating_sub(pfc.taken(graph, packet).into_iter().max().unwrap_or(0));
                let xoff = (alpha * least as f64 / (1.0 + 2.0 * alpha)) as u64;
                ("switch.shared_buffer", Bytes(memory).to_string(), xoff, xoff.saturating_sub(below))
            }
        };
        let needed = |link: &Link| reaction(link.rate, link.delay, packet, pfc.priorities);
        let link = graph.links.iter().max_by_key(|link| needed(link)).filter(|link| needed(link) > xon)?;
        let lost = idle_share(xoff, xon, needed(link));
        let part = format!(", and two senders to a host lose about {} % of its link", percent(lost));
        let text = format!(
            "with {given} switches hold {} of a link's packets when a pause ends, less than {} over {} carries until more come ({}): it idles after each pause{}",
            Bytes(xon),
            link.rate,
            link.delay,
            Bytes(needed(link)),
            if lost < 0.01 { "" } else { &part }
        );
        let hint = match key {
            "switch.shared_buffer" => "a larger shared_buffer, or shared_alpha",
            "switch.pfc.xon" => "xon = \"auto\" follows xoff, and xoff = \"auto\" the links",
            _ => "xoff = \"auto\" follows the links",
        };
        Some(Remark::new(key, text, hint, lost >= 0.1))
    }

    /// What is wrong with it on the links of a fabric.
    pub(super) fn check_memory(&self, memory: Option<Bytes>, alpha: f64, graph: &Graph, packet: u64) -> Vec<Fault> {
        let mut faults = Vec::new();
        let pfc = self.resolve(memory, alpha, graph, packet);
        let needed = |link: &Link| headroom(link.rate, link.delay, packet, pfc.priorities);
        let most = graph.links.iter().max_by_key(|link| needed(link));
        if let (Some(given), Some(link)) = (pfc.headroom, most)
            && given < needed(link)
        {
            let [a, b] = [link.a, link.b].map(|node| &graph.nodes[node as usize].name);
            let (given, needed) = (Bytes(given), Bytes(needed(link)));
            let message = format!("{given} may be too small between {a} and {b}, where nothing is lost with {needed}");
            faults.push(Fault::new("headroom", message).hint("headroom = \"auto\"").warn());
        }
        let Some(memory) = memory else { return faults };
        let takes = pfc.taken(graph, packet);
        let largest = (graph.hosts as usize..graph.nodes.len()).max_by_key(|&node| takes[node]);
        if let Some(node) = largest.filter(|&node| takes[node] >= memory.0) {
            let (name, takes) = (&graph.nodes[node].name, Bytes(takes[node]));
            let what = if matches!(pfc.threshold, Threshold::Fixed { .. }) { "xoff and headroom" } else { "headroom" };
            let message = format!("{what} of all ports of {name} take {takes}, and switch.shared_buffer is {memory}");
            faults.push(
                Fault::new("headroom", message).hint("give switches a larger shared_buffer, or fewer priorities"),
            );
        } else if let (Some(node), Threshold::Dynamic { .. }) = (largest, pfc.threshold) {
            // Every packet would take headroom, and ask for a pause.
            let most = (alpha * memory.0.saturating_sub(takes[node]) as f64) as u64;
            if most < packet {
                let (name, free) = (&graph.nodes[node].name, Bytes(memory.0 - takes[node]));
                let message = format!(
                    "switch.shared_alpha = {alpha} of the {free} that headroom leaves at {name} is less than a full packet of {packet} B"
                );
                faults.push(Fault::new("xoff", message).hint("give switches a larger shared_buffer or shared_alpha"));
            }
        }
        faults
    }
}
