//! The transports that hosts can run.
//!
//! One line in the registry per protocol; dispatch is static. What a scenario calls a transport (`dctcp`, `newreno` ...)
//! is a protocol and its settings: [`Transport`](super::protocol::Transport).

use anabranch_transport::{Arrival, Endpoint, Stats, Time, multipath, ndp, scdp, tcp, udp};

macro_rules! protocols {
    ($($(#[doc = $doc:literal])* $name:ident($endpoint:ty),)+) => {
        /// An endpoint of any protocol.
        // Not boxed: what holds a stack is, and one cache miss is enough.
        #[allow(clippy::large_enum_variant, reason = "all variants are of much the same size")]
        pub enum Stack { $($(#[doc = $doc])* $name($endpoint),)+ }

        /// A header of any protocol.
        #[derive(Clone, Copy, Debug)]
        pub enum Header { $($(#[doc = $doc])* $name(<$endpoint as Endpoint>::Header),)+ }

        $(impl HostedEndpoint for $endpoint {
            #[inline]
            fn into_any(header: Self::Header) -> Header {
                Header::$name(header)
            }
            #[inline]
            fn from_any(header: &Header) -> Option<&Self::Header> {
                if let Header::$name(header) = header { Some(header) } else { None }
            }
        })+

        impl Stack {
            /// Does something with the endpoint: one dispatch for many calls.
            #[inline]
            pub fn visit<V: Visit>(&mut self, visit: V) -> V::Output {
                match self { $(Self::$name(e) => visit.visit(e),)+ }
            }
            /// See [`Endpoint::set_available`].
            pub fn set_available(&mut self, now: Time, bytes: u64) {
                match self { $(Self::$name(e) => e.set_available(now, bytes),)+ }
            }
            /// See [`Endpoint::stats`].
            pub fn stats(&self) -> Stats {
                match self { $(Self::$name(e) => e.stats(),)+ }
            }
            /// See [`Endpoint::subflows`].
            pub fn subflows(&self) -> u8 {
                match self { $(Self::$name(e) => e.subflows(),)+ }
            }
            /// See [`Endpoint::congestion_window`].
            pub fn congestion_window(&self) -> Option<u64> {
                match self { $(Self::$name(e) => e.congestion_window(),)+ }
            }
            /// See [`Endpoint::waiting_for`].
            pub fn waiting_for(&self) -> String {
                match self { $(Self::$name(e) => e.waiting_for(),)+ }
            }
        }
    };
}

// The registry: one line per protocol.
protocols! {
    /// TCP with any of its congestion controls.
    Tcp(tcp::Connection),
    /// NDP.
    Ndp(ndp::Connection),
    /// SCDP.
    Scdp(scdp::Connection),
    /// UDP.
    Udp(udp::Connection),
    /// Several TCP connections for one transfer: Front-Back, MPTCP.
    Multipath(multipath::Connection),
}

/// An endpoint that hosts can run.
pub trait HostedEndpoint: Endpoint {
    /// Its header, among those of all protocols.
    fn into_any(header: Self::Header) -> Header;
    /// A header of its own; `None` if it is another protocol's.
    fn from_any(header: &Header) -> Option<&Self::Header>;
}

/// What is done with an endpoint, whichever protocol it is of.
pub trait Visit {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<P: HostedEndpoint>(self, endpoint: &mut P) -> Self::Output;
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
