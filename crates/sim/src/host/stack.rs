//! The transports that hosts can run.
//!
//! One line in the registry per protocol; dispatch is static. What a scenario calls a transport (`dctcp`, `newreno` ...)
//! is a protocol and its settings: [`Transport`](super::protocol::Transport).

use anabranch_transport::{Arrival, Endpoint, Stats, Time, multipath, ndp, scdp, tcp, udp};

macro_rules! protocols {
    ($($(#[doc = $doc:literal])* $name:ident($endpoint:ty, $header:ty) $(by $($part:path),+)?;)+) => {
        /// An endpoint of any protocol.
        // Not boxed: what holds a stack is, and one cache miss is enough.
        #[allow(clippy::large_enum_variant, reason = "all variants are of much the same size")]
        pub enum Stack { $($(#[doc = $doc])* $name($endpoint),)+ }

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
        })+

        impl Stack {
            /// Does something with the endpoint: one dispatch for many calls.
            #[inline]
            pub fn visit<V: Visit>(&mut self, visit: V) -> V::Output {
                match self { $(Self::$name(e) => protocols!(@visit visit, e $(by $($part),+)?),)+ }
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
    (@visit $visit:ident, $end:ident) => { $visit.visit($end) };
    (@visit $visit:ident, $end:ident by $($part:path),+) => { match $end { $($part(end) => $visit.visit(end),)+ } };
}

// The registry: one line per protocol, with its header. Where its two ends are types of their own, the dispatch goes down to the end.
protocols! {
    /// TCP with any of its congestion controls.
    Tcp(tcp::Connection, tcp::Segment);
    /// NDP.
    Ndp(ndp::Connection, ndp::Header) by ndp::Connection::Sender, ndp::Connection::Receiver;
    /// SCDP.
    Scdp(scdp::Connection, scdp::Header) by scdp::Connection::Sender, scdp::Connection::Receiver;
    /// UDP.
    Udp(udp::Connection, udp::Header);
    /// Several TCP connections for one transfer: Front-Back, MPTCP.
    Multipath(multipath::Connection, multipath::Header);
}

/// A header of a protocol that hosts can run.
pub trait HostedHeader: Copy {
    /// Wraps it in the enum of all headers.
    fn into_any(self) -> Header;
    /// One of this protocol; `None` if it is another protocol's.
    fn from_any(header: &Header) -> Option<&Self>;
}

/// What is done with an endpoint, whichever protocol it is of.
pub trait Visit {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<E: Endpoint<Header: HostedHeader>>(self, endpoint: &mut E) -> Self::Output;
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
