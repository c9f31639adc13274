//! `switch.queue`: the queue disciplines by name, with what each makes of the other keys of `[switch]`.
//!
//! To add one: a line in the registry below, once `fabric::queue` has it.

use super::linux_red::LinuxRedConfig;
use super::phantom::PhantomConfig;
use super::red::RedConfig;
use super::trim_ecn::TrimEcnConfig;
use crate::fabric::buffer::BufferSize;
use crate::fabric::queue::mlfq::MAX_PRIORITIES;
use crate::fabric::queue::{self, Limit, Queue};
use anabranch_transport::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who loses when a queue of priorities is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// `lowest` where packets are trimmed, `arriving` with `mlfq`: the switches that PIAS was made for drop what does not fit.
    #[default]
    Auto,
    /// The newest packet of the lowest priority that waits, if that is lower than the arrival's. With `trim`, which has no
    /// priorities, it is the newest packet or the arrival with probability 1/2 each (NDP §3.1).
    Lowest,
    /// The packet that arrives.
    Arriving,
}

/// Which keys of `[switch]` a discipline reads, besides `buffer`, and what their `auto` stands for.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one for each key of the scenario file")]
pub(super) struct Keys {
    /// `buffer = "auto"`, in packets.
    pub(super) buffer: u32,
    /// Whether a full buffer does more than drop what arrives: `buffer = "auto"` stays beside memory that is shared.
    pub(super) selects: bool,
    /// Whether it reads `ecn_threshold`.
    pub(super) marking: Marking,
    /// Whether it trims: reads `header_buffer`, `weight` and `trim_multicast`.
    pub(super) trims: bool,
    /// Whether it reads `priorities`.
    pub(super) priorities: bool,
    /// `victim = "auto"`, if it reads `victim`.
    pub(super) victim: Option<Victim>,
    /// Whether it reads `red`.
    pub(super) red: bool,
    /// Whether it reads `linux_red`.
    pub(super) linux_red: bool,
    /// Whether it reads `phantom`.
    pub(super) phantom: bool,
    /// Whether it reads `trim_ecn`.
    pub(super) trim_ecn: bool,
}

/// Whether a discipline marks packets at `ecn_threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marking {
    /// It has no threshold.
    Never,
    /// If the threshold is given, or the transport answers marks.
    IfAsked,
    /// Always.
    Always,
}

impl Keys {
    /// 100 packets, and no other key.
    const PLAIN: Self = Self {
        buffer: 100,
        selects: false,
        marking: Marking::Never,
        trims: false,
        priorities: false,
        victim: None,
        red: false,
        linux_red: false,
        phantom: false,
        trim_ecn: false,
    };
}

macro_rules! queues {
    ($($(#[doc = $doc:literal])* $variant:ident: $keys:expr, $make:expr;)+) => {
        /// A queue discipline.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum QueueKind {
            /// By the transport: `mlfq-trim` for SCDP and NDP+, `trim` for NDP and EQDS, `trim-ecn` for Ultra Ethernet, `priority` for Homa and pHost, `mlfq` for PIAS, `ecn` for DCTCP and its kin, `phantom` for HULL, `pfabric` for pFabric, else `drop-tail`.
            #[default]
            Auto,
            $($(#[doc = $doc])* $variant,)+
            /// A queue for each transport of the scenario, with the discipline that `auto` would choose for it; those that wait
            /// share the link by bytes (deficit round robin). Hosts' own ports have such queues, too.
            Fair,
        }

        impl QueueKind {
            pub(super) fn keys(self) -> Keys {
                match self {
                    Self::Auto | Self::Fair => Keys::PLAIN,
                    $(Self::$variant => $keys,)+
                }
            }

            /// The queue of one port. Neither `Auto`, which is decided by then, nor `Fair`, which is made of others.
            fn make(self, switch: &Switch, seed: u64) -> Queue {
                let make: fn(&Switch, u64) -> Queue = match self {
                    Self::Auto | Self::Fair => |s, _| Queue::DropTail(queue::drop_tail::DropTail::new(limit(s.buffer))),
                    $(Self::$variant => $make,)+
                };
                make(switch, seed)
            }
        }
    };
}

// The registry: one line per discipline. Its keys, and how it is made from them and the seed of its port.
queues! {
    /// First in, first out; what does not fit is dropped.
    DropTail: Keys::PLAIN, |s, _| Queue::DropTail(queue::drop_tail::DropTail::new(limit(s.buffer)));
    /// Drop-tail that marks packets which arrive to a queue of at least `ecn_threshold`.
    Ecn: Keys { marking: Marking::Always, ..Keys::PLAIN }, |s, _| Queue::Ecn(queue::ecn::Ecn::new(limit(s.buffer), threshold(s).unwrap_or(Limit::NONE)));
    /// Random early detection: drops or marks by chance, as `switch.red` says.
    Red: Keys { red: true, ..Keys::PLAIN }, red;
    /// Random early detection as Linux and `tc` have it, from `ecn_threshold` on and as `switch.linux_red` says: what marks in Mininet.
    LinuxRed: Keys { marking: Marking::Always, linux_red: true, ..Keys::PLAIN }, linux_red;
    /// The flow with the least left goes first, the packet with the most left is dropped (pFabric).
    Pfabric: Keys { buffer: 24, selects: true, ..Keys::PLAIN }, |s, _| Queue::Pfabric(Box::new(queue::pfabric::Pfabric::new(limit(s.buffer))));
    /// Drop-tail that marks as a slower link would, as `switch.phantom` says, before packets wait (HULL).
    Phantom: Keys { phantom: true, ..Keys::PLAIN }, |s, _| Queue::Phantom(Box::new(queue::phantom::Phantom::new(limit(s.buffer), s.phantom.drain, s.phantom.threshold.0)));
    /// Packets that do not fit lose their payload; headers go first (NDP).
    Trim: Keys { buffer: 8, selects: true, trims: true, victim: Some(Victim::Lowest), ..Keys::PLAIN }, trim;
    /// The same, marking packets by chance as the data queue grows, as `switch.trim_ecn` says (Ultra Ethernet).
    TrimEcn: Keys { buffer: 50, selects: true, trims: true, victim: Some(Victim::Lowest), trim_ecn: true, ..Keys::PLAIN }, trim_ecn;
    /// Eight strict priorities that share a buffer; what does not fit is dropped (Homa, pHost).
    Priority: Keys::PLAIN, |s, _| mlfq(&Switch { priorities: MAX_PRIORITIES, victim: Victim::Arriving, ecn_threshold: None, ..s.clone() }, false);
    /// Strict priorities that share a buffer (PIAS).
    Mlfq: Keys { victim: Some(Victim::Arriving), ..BANDS }, |s, _| mlfq(s, false);
    /// Strict priorities that share a buffer, and trimming (SCDP).
    MlfqTrim: Keys { trims: true, ..BANDS }, |s, _| mlfq(s, true);
}

impl QueueKind {
    /// Whether a default of it depends on how many bytes a packet has.
    pub(super) fn counts_bytes_of_packets(self) -> bool {
        let keys = self.keys();
        keys.trims || keys.red || keys.marking != Marking::Never
    }
}

/// Of the disciplines with priorities.
const BANDS: Keys = Keys {
    buffer: 20,
    selects: true,
    marking: Marking::IfAsked,
    priorities: true,
    victim: Some(Victim::Lowest),
    ..Keys::PLAIN
};

/// [`SwitchConfig`](super::SwitchConfig) with every `auto` decided.
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
    /// Random early detection as in Linux.
    pub linux_red: LinuxRedConfig,
    /// Phantom queue.
    pub phantom: PhantomConfig,
    /// Marking of trimming queues.
    pub trim_ecn: TrimEcnConfig,
    /// Whether pushed packets go before all others.
    pub pushed_first: bool,
    /// Whether nothing may be lost: RED marks only.
    pub lossless: bool,
    /// Bytes of a full packet: RED counts idle times in them.
    pub packet: u64,
}

impl Switch {
    /// The queue of a port, which draws from its own `seed`.
    pub(super) fn queue(&self, seed: u64) -> Queue {
        let own = self.queue.make(self, seed);
        if self.pushed_first { Queue::Express(Box::new(queue::express::Express::new(own))) } else { own }
    }
}

fn red(switch: &Switch, seed: u64) -> Queue {
    let (min, max, in_bytes) = switch.red.thresholds().unwrap_or_default();
    let parameters = queue::red::RedParameters {
        buffer: limit(switch.buffer),
        min,
        max,
        in_bytes,
        max_probability: switch.red.max_probability,
        weight: switch.red.weight,
        gentle: switch.red.gentle,
        spread: switch.red.spread,
        mark: switch.red.mark,
        keeps: switch.lossless,
        packet: switch.packet,
    };
    Queue::Red(Box::new(queue::red::Red::new(parameters, seed)))
}

fn linux_red(switch: &Switch, seed: u64) -> Queue {
    let own = &switch.linux_red;
    let parameters = queue::linux_red::LinuxRedParameters {
        buffer: limit(switch.buffer),
        min: threshold(switch).unwrap_or(Limit::NONE),
        width: own.width.0,
        burst: own.burst,
        packet: own.average_packet.map_or(switch.packet, |bytes| bytes.0),
        probability: own.max_probability,
        harddrop: own.harddrop,
        ages: own.ages,
    };
    Queue::LinuxRed(Box::new(queue::linux_red::LinuxRed::new(parameters, seed)))
}

fn trim(switch: &Switch, seed: u64) -> Queue {
    Queue::Trim(trimming(switch, seed))
}

fn trimming(switch: &Switch, seed: u64) -> queue::trim::Trim {
    let trim = queue::trim::Trim::new(limit(switch.buffer), limit(switch.header_buffer), switch.weight, seed);
    if switch.victim == Victim::Arriving { trim.of_arrivals() } else { trim }
}

fn trim_ecn(switch: &Switch, seed: u64) -> Queue {
    let TrimEcnConfig { low, high } = switch.trim_ecn;
    let marking = queue::trim_ecn::Marking::new(limit(switch.buffer), low, high);
    Queue::TrimEcn(Box::new(queue::trim_ecn::TrimEcn::new(trimming(switch, seed), marking, seed)))
}

fn mlfq(switch: &Switch, trim: bool) -> Queue {
    Queue::Mlfq(queue::mlfq::Mlfq::new(queue::mlfq::MlfqParameters {
        priorities: switch.priorities,
        buffer: limit(switch.buffer),
        trim,
        header_buffer: limit(switch.header_buffer),
        weight: switch.weight,
        victim: match switch.victim {
            Victim::Auto | Victim::Lowest => queue::mlfq::Victim::Lowest,
            Victim::Arriving => queue::mlfq::Victim::Arriving,
        },
        mark: threshold(switch),
    }))
}

fn threshold(switch: &Switch) -> Option<Limit> {
    switch.ecn_threshold.map(limit)
}

fn limit(size: BufferSize) -> Limit {
    match size {
        BufferSize::Auto | BufferSize::Unlimited => Limit::NONE,
        BufferSize::Packets(n) => Limit::Packets(n),
        BufferSize::Bytes(Bytes(n)) => Limit::Bytes(n),
    }
}
