//! The transports that hosts can run.
//!
//! One line in the registry per protocol; dispatch is static. What a scenario calls a transport (`dctcp`, `newreno` ...)
//! is a protocol and its settings: [`Transport`](super::protocol::Transport).

use super::Place;
use crate::engine::prefetch::prefetch;
use anabranch_transport::telemetry::Telemetry;
use anabranch_transport::{Arrival, Endpoint, Stats, Time, homa, multipath, ndp, phost, roce, scdp, tcp, udp, uec};
use std::ops::Range;

macro_rules! protocols {
    ($($(#[doc = $doc:literal])* $name:ident($endpoint:ty, $header:ty) $(with $telemetry:ident)? $(sprayed by $entropy:ident)? $(by $($part:path),+)?;)+) => {
        /// An endpoint of any protocol, before it has a place.
        #[allow(clippy::large_enum_variant, reason = "it lives briefly")]
        pub enum Stack { $($(#[doc = $doc])* $name($endpoint),)+ }

        /// An endpoint of any protocol in its place.
        // Boxed together: one cache miss is enough. Each takes the memory that its protocol needs.
        pub enum Hosted { $($(#[doc = $doc])* $name(Box<InPlace<$endpoint>>),)+ }

        /// A header of any protocol.
        #[derive(Clone, Copy, Debug)]
        pub enum Header { $($(#[doc = $doc])* $name($header),)+ }

        $(impl HostedHeader for $header {
            #[inline]
            fn into_any(self) -> Header {
                Header::$name(self)
            }
            #[inline]
            fn from_any(header: &Header) -> Option<&Self> {
                if let Header::$name(header) = header { Some(header) } else { None }
            }
            $(
                const IS_WRITTEN_INTO: bool = true;
                fn append(&mut self, telemetry: &Telemetry) {
                    self.$telemetry.append(telemetry);
                }
            )?
            $(
                const HAS_ENTROPY: bool = true;
                #[inline]
                fn entropy(&self) -> u16 {
                    self.$entropy()
                }
            )?
        })+

        impl Header {
            /// See [`HostedHeader::append`].
            pub fn append(&mut self, telemetry: &Telemetry) {
                match self { $(Self::$name(header) => header.append(telemetry),)+ }
            }
        }

        /// Of each protocol, [`Endpoint::TAKES_TURNS`].
        #[allow(non_upper_case_globals, reason = "named as the protocols are")]
        pub(super) mod takes_turns {
            use super::*;
            $(pub(in crate::host) const $name: bool = <$endpoint as Endpoint>::TAKES_TURNS;)+
        }

        impl Stack {
            /// See [`Endpoint::subflows`].
            pub fn subflows(&self) -> u8 {
                match self { $(Self::$name(e) => e.subflows(),)+ }
            }
        }

        impl Hosted {
            /// Gives an endpoint its place.
            pub fn new(stack: Stack, place: Place) -> Self {
                match stack { $(Stack::$name(endpoint) => Self::$name(Box::new(InPlace { place, endpoint })),)+ }
            }
            /// Where it is, and how it is wired.
            #[inline]
            pub fn place(&self) -> &Place {
                match self { $(Self::$name(hosted) => &hosted.place,)+ }
            }
            /// The same, to be changed.
            #[inline]
            pub fn place_mut(&mut self) -> &mut Place {
                match self { $(Self::$name(hosted) => &mut hosted.place,)+ }
            }
            /// Does something with the endpoint in its place: one dispatch for many calls.
            #[inline]
            pub fn visit<V: Visit>(&mut self, visit: V) -> V::Output {
                match self {
                    $(Self::$name(hosted) => {
                        let InPlace { place, endpoint } = &mut **hosted;
                        protocols!(@visit visit, place, endpoint $(by $($part),+)?)
                    })+
                }
            }
            /// Prefetches it, with its place.
            #[inline]
            pub fn prefetch(&self) {
                match self { $(Self::$name(hosted) => prefetch(&**hosted),)+ }
            }
            /// See [`Endpoint::set_available`].
            pub fn set_available(&mut self, now: Time, bytes: u64) {
                match self { $(Self::$name(hosted) => hosted.endpoint.set_available(now, bytes),)+ }
            }
            /// See [`Endpoint::stats`].
            pub fn stats(&self) -> Stats {
                match self { $(Self::$name(hosted) => hosted.endpoint.stats(),)+ }
            }
            /// See [`Endpoint::claim`].
            pub fn claim(&self) -> Option<u64> {
                match self { $(Self::$name(hosted) => hosted.endpoint.claim(),)+ }
            }
            /// See [`Endpoint::subflows`].
            pub fn subflows(&self) -> u8 {
                match self { $(Self::$name(hosted) => hosted.endpoint.subflows(),)+ }
            }
            /// See [`Endpoint::congestion_window`].
            pub fn congestion_window(&self) -> Option<u64> {
                match self { $(Self::$name(hosted) => hosted.endpoint.congestion_window(),)+ }
            }
            /// See [`Endpoint::waiting_for`].
            pub fn waiting_for(&self) -> String {
                match self { $(Self::$name(hosted) => hosted.endpoint.waiting_for(),)+ }
            }
        }
    };
    (@visit $visit:ident, $place:ident, $end:ident) => { $visit.visit($place, $end) };
    (@visit $visit:ident, $place:ident, $end:ident by $($part:path),+) => {
        match $end { $($part(end) => $visit.visit($place, end),)+ }
    };
}

// The registry: one line per protocol, with its header. Where its two ends are types of their own, the dispatch goes down to the end.
// `with` names the field of a header that switches write into, `sprayed by` its method that says which of its flow's paths a packet takes.
protocols! {
    /// TCP with any of its congestion controls.
    Tcp(tcp::Connection, tcp::Segment);
    /// NDP.
    Ndp(ndp::Connection, ndp::Header) by ndp::Connection::Sender, ndp::Connection::GroupSender, ndp::Connection::Receiver;
    /// SCDP.
    Scdp(scdp::Connection, scdp::Header) by scdp::Connection::Sender, scdp::Connection::Receiver;
    /// Homa.
    Homa(homa::Connection, homa::Header) by homa::Connection::Sender, homa::Connection::Receiver;
    /// pHost.
    Phost(phost::Connection, phost::Header) by phost::Connection::Sender, phost::Connection::Receiver;
    /// UDP.
    Udp(udp::Connection, udp::Header);
    /// RoCEv2.
    Roce(roce::Connection, roce::Header) with telemetry;
    /// Several TCP connections for one transfer: Front-Back, MPTCP.
    Multipath(multipath::Connection, multipath::Header);
    /// Ultra Ethernet's transport, and EQDS.
    Uec(uec::Connection, uec::Header) sprayed by entropy by uec::Connection::Sender, uec::Connection::Receiver;
}

impl Header {
    /// Where the data of a packet belongs in its flow, where hosts can [put packets in order](super::resequencer); `None` of packets
    /// without data.
    pub fn span(&self) -> Option<Range<u64>> {
        match self {
            Self::Tcp(segment) => segment.span(),
            _ => None,
        }
    }
}

/// A header of a protocol that hosts can run.
pub trait HostedHeader: Copy {
    /// Wraps it in the enum of all headers.
    fn into_any(self) -> Header;
    /// One of this protocol; `None` if it is another protocol's.
    fn from_any(header: &Header) -> Option<&Self>;
    /// Whether switches may write into it.
    const IS_WRITTEN_INTO: bool = false;
    /// Adds what they have written.
    fn append(&mut self, _telemetry: &Telemetry) {}
    /// Whether it says which of its flow's paths a packet takes.
    const HAS_ENTROPY: bool = false;
    /// That; 0: the flow's own.
    fn entropy(&self) -> u16 {
        0
    }
}

/// An endpoint of one protocol in its place.
// The place comes first whatever the protocol is, so that `place` needs no dispatch.
#[repr(C)]
pub struct InPlace<E> {
    place: Place,
    endpoint: E,
}

/// What is done with an endpoint in its place, whichever protocol it is of.
pub trait Visit {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<E: Endpoint<Header: HostedHeader>>(self, place: &mut Place, endpoint: &mut E) -> Self::Output;
}

/// How a packet arrived, without its header.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The sender's index among the endpoint's peers.
    pub from: u16,
    /// The payload was cut.
    pub trimmed: bool,
    /// Congestion was marked.
    pub ce: bool,
    /// It came back to its sender.
    pub returned: bool,
}

impl Seen {
    /// The arrival of a packet with this header.
    #[inline]
    pub fn arrival<H>(self, header: H) -> Arrival<H> {
        Arrival { header, from: self.from, trimmed: self.trimmed, ce: self.ce, returned: self.returned }
    }
}
