//! Counters, under the names that switches have for them: those of the Switch Abstraction Interface (opencomputeproject/SAI,
//! `inc/saiport.h` and `inc/saiqueue.h`). Octets and bytes are of Ethernet frames without their checksum.

use serde::Serialize;

use crate::frame;

/// All counters of one port, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// The port.
    pub port: PortCounters,
    /// The data queue, of untrimmed packets.
    pub data_queue: DataQueueCounters,
    /// The queue of trimmed and of small packets, which exists if the port trims.
    pub header_queue: QueueCounters,
    /// The impairments of the link; no switch counts these.
    pub link: LinkCounters,
}

/// Frames received and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PortCounters {
    /// Bytes received.
    #[serde(rename = "SAI_PORT_STAT_IF_IN_OCTETS")]
    pub in_octets: u64,
    /// Unicast frames received.
    #[serde(rename = "SAI_PORT_STAT_IF_IN_UCAST_PKTS")]
    pub in_unicast: u64,
    /// Multicast frames received, without broadcast.
    #[serde(rename = "SAI_PORT_STAT_IF_IN_MULTICAST_PKTS")]
    pub in_multicast: u64,
    /// Broadcast frames received.
    #[serde(rename = "SAI_PORT_STAT_IF_IN_BROADCAST_PKTS")]
    pub in_broadcast: u64,
    /// Frames received and not forwarded: they have no egress port, or the queue of the uplink or the kernel's buffer was full.
    #[serde(rename = "SAI_PORT_STAT_IF_IN_DISCARDS")]
    pub in_discards: u64,
    /// Frames received that are too short or too long, or whose offloads do not fit them.
    #[serde(rename = "SAI_PORT_STAT_IF_IN_ERRORS")]
    pub in_errors: u64,
    /// Bytes sent.
    #[serde(rename = "SAI_PORT_STAT_IF_OUT_OCTETS")]
    pub out_octets: u64,
    /// Unicast frames sent.
    #[serde(rename = "SAI_PORT_STAT_IF_OUT_UCAST_PKTS")]
    pub out_unicast: u64,
    /// Multicast frames sent, without broadcast.
    #[serde(rename = "SAI_PORT_STAT_IF_OUT_MULTICAST_PKTS")]
    pub out_multicast: u64,
    /// Broadcast frames sent.
    #[serde(rename = "SAI_PORT_STAT_IF_OUT_BROADCAST_PKTS")]
    pub out_broadcast: u64,
    /// Frames dropped at a full queue.
    #[serde(rename = "SAI_PORT_STAT_IF_OUT_DISCARDS")]
    pub out_discards: u64,
    /// Frames that the interface did not take: it is down, or they are larger than its MTU.
    #[serde(rename = "SAI_PORT_STAT_IF_OUT_ERRORS")]
    pub out_errors: u64,
}

impl PortCounters {
    pub(crate) fn count_in(&mut self, bytes: &[u8]) {
        self.in_octets += bytes.len() as u64;
        *Self::kind(bytes, [&mut self.in_unicast, &mut self.in_multicast, &mut self.in_broadcast]) += 1;
    }

    pub(crate) fn count_out(&mut self, bytes: &[u8]) {
        self.out_octets += bytes.len() as u64;
        *Self::kind(bytes, [&mut self.out_unicast, &mut self.out_multicast, &mut self.out_broadcast]) += 1;
    }

    fn kind<'a>(bytes: &[u8], [unicast, multicast, broadcast]: [&'a mut u64; 3]) -> &'a mut u64 {
        match frame::addresses(bytes) {
            Some(([0xff, 0xff, 0xff, 0xff, 0xff, 0xff], _)) => broadcast,
            Some((to, _)) if frame::is_group(to) => multicast,
            _ => unicast,
        }
    }
}

/// One queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueCounters {
    /// Packets transmitted.
    #[serde(rename = "SAI_QUEUE_STAT_PACKETS")]
    pub packets: u64,
    /// Their bytes.
    #[serde(rename = "SAI_QUEUE_STAT_BYTES")]
    pub bytes: u64,
    /// Packets dropped because it was full.
    #[serde(rename = "SAI_QUEUE_STAT_DROPPED_PACKETS")]
    pub dropped_packets: u64,
    /// Their bytes.
    #[serde(rename = "SAI_QUEUE_STAT_DROPPED_BYTES")]
    pub dropped_bytes: u64,
    /// Bytes queued now.
    #[serde(rename = "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES")]
    pub occupancy_bytes: u64,
    /// The most bytes that were ever queued.
    #[serde(rename = "SAI_QUEUE_STAT_WATERMARK_BYTES")]
    pub watermark_bytes: u64,
}

/// The data queue. What is trimmed is counted here, as in SAI, though it leaves by the other queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataQueueCounters {
    /// The counters that every queue has.
    #[serde(flatten)]
    pub queue: QueueCounters,
    /// Packets that got a congestion mark.
    #[serde(rename = "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS")]
    pub marked_packets: u64,
    /// Packets that were trimmed.
    #[serde(rename = "SAI_QUEUE_STAT_TRIM_PACKETS")]
    pub trimmed_packets: u64,
    /// Packets that were trimmed and then found the header queue full.
    #[serde(rename = "SAI_QUEUE_STAT_DROPPED_TRIM_PACKETS")]
    pub dropped_trimmed_packets: u64,
    /// Packets that were trimmed and transmitted.
    #[serde(rename = "SAI_QUEUE_STAT_TX_TRIM_PACKETS")]
    pub sent_trimmed_packets: u64,
    /// Bytes that were cut off.
    pub trimmed_bytes: u64,
}

/// The impairments of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkCounters {
    /// Frames that were lost.
    pub lost_packets: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Frames that were duplicated.
    pub duplicated_packets: u64,
    /// Bytes of the second copies.
    pub duplicated_bytes: u64,
    /// Frames that were delayed behind others.
    pub reordered_packets: u64,
    /// Frames of which one bit was changed.
    pub corrupted_packets: u64,
}
