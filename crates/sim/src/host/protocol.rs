//! A protocol with its settings: what a scenario's name of a transport stands for, and what makes its endpoints.
//!
//! A new congestion control of TCP needs nothing here. A new protocol needs a line in the registry of
//! [`stack`](super::stack), which dispatches, and one in the registry below.

use super::scdp::ScdpSettings;
use super::stack::{Stack, takes_turns};
use crate::fabric::ideal::Packets;
use crate::workload::Mode;
use anabranch_transport::{Bytes, Time, homa, multipath, ndp, phost, roce, tcp, udp, uec};

/// What the ends of a unicast session are made for.
struct Unicast {
    /// What is known of it beforehand.
    flow: tcp::FlowSpec,
    now: Time,
    /// For what an end draws.
    seed: u64,
}

/// Makes the ends of a group session: from a protocol's settings, the object's bytes, how many ends there are on the side with
/// several, and a seed for what they draw.
type MakeEnds<C, Ends> = fn(&C, Option<u64>, u16, u64) -> Ends;

/// What a protocol is capable of besides unicast sessions, by its settings `C`.
#[expect(clippy::struct_excessive_bools, reason = "one for each question")]
struct Capabilities<C> {
    /// A sender and its receivers.
    one_to_many: Option<MakeEnds<C, (Stack, Vec<Stack>)>>,
    /// Senders, each of which has the whole object, and their receiver.
    many_to_one: Option<MakeEnds<C, (Vec<Stack>, Stack)>>,
    /// Whether it is to use its sessions with several receivers.
    multicasts: fn(&C) -> bool,
    /// Whether its senders wait for an application that provides an object little by little.
    waits: bool,
    /// Whether lost packets are sent again, so that every object arrives.
    retransmits: bool,
    /// Whether several connections, which may take different paths, carry an object between them.
    divides: bool,
    /// Whether its senders say which of a flow's paths each packet takes.
    sprays: bool,
    /// Whether its packets say where their data belongs in the flow, so that hosts can put them [in order](super::resequencer).
    ordered: bool,
    /// Whether its senders want the headers back that a full header queue would drop (NDP §3.2.4).
    returned_headers: fn(&C) -> bool,
    /// What decides when packets leave, in words.
    driven_by: fn(&C) -> &'static str,
    /// Decides what follows the sizes of the objects that it will carry.
    for_sizes: Option<ForSizes<C>>,
}

/// From the sizes of all objects, `u64::MAX` of those without end.
type ForSizes<C> = fn(&mut C, &mut dyn Iterator<Item = u64>);

impl<C> Capabilities<C> {
    /// Of a reliable protocol with unicast sessions only.
    const UNICAST: Self = Self {
        one_to_many: None,
        many_to_one: None,
        multicasts: |_| true,
        waits: true,
        retransmits: true,
        divides: false,
        sprays: false,
        ordered: false,
        returned_headers: |_| false,
        driven_by: |_| "the sender's window",
        for_sizes: None,
    };
}

macro_rules! protocols {
    ($($(#[doc = $doc:literal])* $name:ident($config:ty): $unicast:expr $(, $capability:ident: $value:expr)*;)+) => {
        /// A protocol with its settings.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Protocol { $($(#[doc = $doc])* $name($config),)+ }

        impl Transport {
            /// Bytes on the wire of a full packet.
            pub fn packet_bytes(&self) -> u64 {
                match &self.protocol { $(Protocol::$name(c) => c.packet.0,)+ }
            }

            /// Bytes of headers of a packet with data.
            pub fn header_bytes(&self) -> u64 {
                match &self.protocol { $(Protocol::$name(c) => c.header.0,)+ }
            }

            /// The two ends of a unicast session: sender, receiver.
            pub fn unicast(&self, flow: tcp::FlowSpec, now: Time, seed: u64) -> (Stack, Stack) {
                let session = Unicast { flow, now, seed };
                match &self.protocol {
                    $(Protocol::$name(c) => {
                        let ends: fn(&$config, &Unicast) -> (_, _) = $unicast;
                        let (sender, receiver) = ends(c, &session);
                        (Stack::$name(sender), Stack::$name(receiver))
                    })+
                }
            }

            /// The ends of a session with one sender and `receivers` receivers, for transports that
            /// [have such](Self::has_group_sessions).
            pub fn one_to_many(&self, size: Option<Bytes>, receivers: u16, seed: u64) -> Option<(Stack, Vec<Stack>)> {
                match &self.protocol {
                    $(Protocol::$name(c) => {
                        let own = capabilities::$name();
                        let ends = own.one_to_many.filter(|_| (own.multicasts)(c));
                        ends.map(|ends| ends(c, size.map(|s| s.0), receivers, seed))
                    })+
                }
            }

            /// The ends of a session with `senders` senders that all have the object, and one receiver.
            pub fn many_to_one(&self, size: Option<Bytes>, senders: u16, seed: u64) -> Option<(Vec<Stack>, Stack)> {
                match &self.protocol {
                    $(Protocol::$name(c) => {
                        capabilities::$name().many_to_one.map(|ends| ends(c, size.map(|s| s.0), senders, seed))
                    })+
                }
            }

            /// Whether it has sessions of its own with several receivers or several senders.
            pub fn has_group_sessions(&self, mode: Mode) -> bool {
                match &self.protocol {
                    $(Protocol::$name(c) => {
                        let own = capabilities::$name();
                        match mode {
                            Mode::Unicast => false,
                            Mode::OneToMany => own.one_to_many.is_some() && (own.multicasts)(c),
                            Mode::ManyToOne => own.many_to_one.is_some(),
                        }
                    })+
                }
            }

            /// Whether its senders wait for an application that provides an object little by little.
            pub fn waits(&self) -> bool {
                match &self.protocol { $(Protocol::$name(_) => capabilities::$name().waits,)+ }
            }

            /// Whether lost packets are sent again, so that every object arrives.
            pub fn retransmits(&self) -> bool {
                match &self.protocol { $(Protocol::$name(_) => capabilities::$name().retransmits,)+ }
            }

            /// Whether several connections, which may take different paths, carry an object between them.
            pub fn divides(&self) -> bool {
                match &self.protocol { $(Protocol::$name(_) => capabilities::$name().divides,)+ }
            }

            /// Whether its senders want the headers back that a full header queue would drop (NDP §3.2.4).
            pub fn returned_headers(&self) -> bool {
                match &self.protocol { $(Protocol::$name(c) => (capabilities::$name().returned_headers)(c),)+ }
            }

            /// Whether a sender goes back to the first packet that is lost, so that it is made for fabrics that lose none.
            pub fn goes_back(&self) -> bool {
                matches!(&self.protocol, Protocol::Roce(config) if config.repeat == roce::Repeat::GoBackN)
            }

            /// Whether its senders say which of a flow's paths each packet takes.
            pub fn sprays(&self) -> bool {
                match &self.protocol { $(Protocol::$name(_) => capabilities::$name().sprays,)+ }
            }

            /// Whether flows of a host take turns at its link: [`Endpoint::TAKES_TURNS`](anabranch_transport::Endpoint::TAKES_TURNS).
            pub fn takes_turns(&self) -> bool {
                match &self.protocol { $(Protocol::$name(_) => takes_turns::$name,)+ }
            }

            /// Whether its packets say where their data belongs in the flow, so that hosts can put them [in order](super::resequencer).
            pub fn ordered(&self) -> bool {
                match &self.protocol { $(Protocol::$name(_) => capabilities::$name().ordered,)+ }
            }

            /// Whether its senders go by what switches write into its packets.
            pub fn reads_telemetry(&self) -> bool {
                matches!(&self.protocol, Protocol::Roce(config) if config.hpcc().is_some())
            }

            /// What decides when packets leave, in words.
            pub fn driven_by(&self) -> &'static str {
                match &self.protocol { $(Protocol::$name(c) => (capabilities::$name().driven_by)(c),)+ }
            }

            /// Decides what follows the sizes of the objects that it will carry: `sizes` are asked for only if something does.
            #[must_use]
            pub fn for_sizes<S: Iterator<Item = u64>>(mut self, sizes: impl FnOnce() -> S) -> Self {
                match &mut self.protocol {
                    $(Protocol::$name(c) => if let Some(decide) = capabilities::$name().for_sizes {
                        decide(c, &mut sizes());
                    })+
                }
                self
            }
        }

        /// What each protocol says of itself.
        #[allow(non_snake_case, reason = "named as the protocols are")]
        mod capabilities {
            use super::*;
            $(pub(super) fn $name() -> Capabilities<$config> {
                Capabilities { $($capability: $value,)* ..Capabilities::UNICAST }
            })+
        }
    };
}

// The registry: one line per protocol. Its settings, which have the fields `packet` and `header`; the sender and the receiver
// of a unicast session; and what else it is capable of.
protocols! {
    /// TCP with a congestion control.
    Tcp(tcp::TcpConfig): |c, s| (tcp::Connection::connect_with(c, s.flow, s.now), tcp::Connection::listen(c)),
        ordered: true;
    /// NDP, or NDP+ with priority thresholds.
    Ndp(ndp::NdpConfig): |c, s| {
        (ndp::Connection::Sender(ndp::Sender::new(c, s.flow.bytes)), ndp::Connection::Receiver(ndp::Receiver::new(c)))
    }, one_to_many: Some(ndp_multicast), multicasts: |c| c.multicast.is_some(),
        returned_headers: |c| c.return_to_sender, driven_by: |_| "the receiver's pulls";
    /// SCDP, or Polyraptor.
    Scdp(ScdpSettings): |c, s| c.unicast(s.flow.bytes, s.seed),
        one_to_many: Some(ScdpSettings::one_to_many), many_to_one: Some(ScdpSettings::many_to_one), waits: false,
        driven_by: |_| "the receivers' pulls";
    /// Homa.
    Homa(homa::HomaConfig): |c, s| {
        (homa::Connection::Sender(homa::Sender::new(c, s.flow.bytes)), homa::Connection::Receiver(homa::Receiver::new(c)))
    }, waits: false, driven_by: |_| "the receiver's grants", for_sizes: Some(homa::HomaConfig::for_sizes);
    /// pHost.
    Phost(phost::PhostConfig): |c, s| {
        let sender = phost::Sender::new(c, s.flow.bytes);
        (phost::Connection::Sender(sender), phost::Connection::Receiver(phost::Receiver::new(c)))
    }, waits: false, driven_by: |_| "the receiver's tokens";
    /// UDP.
    Udp(udp::UdpConfig): |c, s| {
        (udp::Connection::Sender(udp::Sender::new(c, s.flow.bytes)), udp::Connection::Receiver(udp::Receiver::new(c)))
    }, retransmits: false, driven_by: |_| "the application";
    /// RoCEv2.
    Roce(roce::RoceConfig): |c, s| {
        let sender = roce::Sender::new(c, s.flow.bytes);
        (roce::Connection::Sender(sender), roce::Connection::Receiver(roce::Receiver::new(c)))
    }, driven_by: roce::RoceConfig::driven_by;
    /// Several TCP connections for one transfer: Front-Back, MPTCP.
    Multipath(multipath::MultipathConfig): |c, s| {
        (multipath::Connection::connect(c, s.flow, s.now), multipath::Connection::listen(c, s.flow))
    }, divides: true, driven_by: |_| "a window for each path";
    /// Ultra Ethernet's transport, and EQDS.
    Uec(uec::UecConfig): |c, s| {
        let sender = uec::Sender::new(c, s.flow.bytes, s.seed);
        (uec::Connection::Sender(sender), uec::Connection::Receiver(uec::Receiver::new(c)))
    }, sprays: true, driven_by: uec::UecConfig::driven_by;
}

/// NDP's ends of a session with several receivers.
fn ndp_multicast(config: &ndp::NdpConfig, bytes: Option<u64>, receivers: u16, _seed: u64) -> (Stack, Vec<Stack>) {
    let sender = ndp::Connection::GroupSender(ndp::GroupSender::new(config, bytes, receivers));
    let receiver = || Stack::Ndp(ndp::Connection::Receiver(ndp::Receiver::new(config)));
    (Stack::Ndp(sender), (0..receivers).map(|_| receiver()).collect())
}

/// A transport: what a scenario's name for it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// As in the scenario and in result tables.
    pub name: String,
    /// What it is.
    pub protocol: Protocol,
}

impl Transport {
    /// The packets of an object of `size` bytes on the wire.
    pub fn packets(&self, size: u64) -> Packets {
        let (full, header) = (self.packet_bytes(), self.header_bytes());
        let payload = full - header;
        let count = size.div_ceil(payload).max(1);
        Packets { count, full, last: header + size - (count - 1) * payload, least: header + size.min(1) }
    }

    /// Bytes of the object whose packets have `wire` bytes, headers included: what full packets carry, and a shorter one
    /// at the end.
    pub fn object(&self, wire: u64) -> u64 {
        let (full, header) = (self.packet_bytes(), self.header_bytes());
        wire / full * (full - header) + (wire % full).saturating_sub(header)
    }
}
