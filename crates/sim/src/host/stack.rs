//! The transports that hosts can run.
//!
//! One line in the registry per protocol; dispatch is static. What a scenario calls a transport (`dctcp`, `newreno` ...)
//! is a protocol and its settings: [`Transport`](super::protocol::Transport).

use anabranch_transport::{Arrival, Endpoint, Event, Stats, Time, Transmit, multipath, ndp, scdp, tcp, udp};

macro_rules! protocols {
    ($($(#[doc = $doc:literal])* $name:ident($endpoint:ty),)+) => {
        /// An endpoint of any protocol.
        // Not boxed: what holds a stack is, and one cache miss is enough.
        #[allow(clippy::large_enum_variant, reason = "all variants are of much the same size")]
        pub enum Stack { $($(#[doc = $doc])* $name($endpoint),)+ }

        /// A header of any protocol.
        #[derive(Clone, Copy, Debug)]
        pub enum Header { $($(#[doc = $doc])* $name(<$endpoint as Endpoint>::Header),)+ }

        impl Stack {
            /// See [`Endpoint::handle_packet`]. A packet of another protocol is ignored.
            #[inline]
            pub fn handle_packet(&mut self, now: Time, header: &Header, seen: Seen) {
                match (self, header) {
                    $((Self::$name(e), Header::$name(h)) => e.handle_packet(now, &seen.arrival(*h)),)+
                    _ => debug_assert!(false, "a packet reached an endpoint of another protocol"),
                }
            }
            /// See [`Endpoint::handle_timeout`].
            pub fn handle_timeout(&mut self, now: Time) {
                match self { $(Self::$name(e) => e.handle_timeout(now),)+ }
            }
            /// See [`Endpoint::set_departure`].
            #[inline]
            pub fn set_departure(&mut self, at: Time) {
                match self { $(Self::$name(e) => e.set_departure(at),)+ }
            }
            /// See [`Endpoint::uses_departure`].
            #[inline]
            pub fn uses_departure(&self) -> bool {
                match self { $(Self::$name(e) => e.uses_departure(),)+ }
            }
            /// See [`Endpoint::poll_transmit`].
            #[inline]
            pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Header>> {
                match self { $(Self::$name(e) => e.poll_transmit(now).map(|t| wrap(t, Header::$name)),)+ }
            }
            /// See [`Endpoint::poll_timeout`].
            #[inline]
            pub fn poll_timeout(&self) -> Option<Time> {
                match self { $(Self::$name(e) => e.poll_timeout(),)+ }
            }
            /// See [`Endpoint::poll_event`].
            #[inline]
            pub fn poll_event(&mut self) -> Option<Event> {
                match self { $(Self::$name(e) => e.poll_event(),)+ }
            }
            /// See [`Endpoint::set_available`].
            pub fn set_available(&mut self, now: Time, bytes: u64) {
                match self { $(Self::$name(e) => e.set_available(now, bytes),)+ }
            }
            /// See [`Endpoint::pending_pulls`].
            #[inline]
            pub fn pending_pulls(&self) -> u32 {
                match self { $(Self::$name(e) => e.pending_pulls(),)+ }
            }
            /// See [`Endpoint::pull_priority`].
            pub fn pull_priority(&self) -> u8 {
                match self { $(Self::$name(e) => e.pull_priority(),)+ }
            }
            /// See [`Endpoint::poll_pull`].
            #[inline]
            pub fn poll_pull(&mut self, now: Time) -> Option<Transmit<Header>> {
                match self { $(Self::$name(e) => e.poll_pull(now).map(|t| wrap(t, Header::$name)),)+ }
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

#[inline]
fn wrap<H>(t: Transmit<H>, header: impl Fn(H) -> Header) -> Transmit<Header> {
    Transmit {
        header: header(t.header),
        to: t.to,
        size: t.size,
        trimmed_size: t.trimmed_size,
        priority: t.priority,
        control: t.control,
        ect: t.ect,
        pushed: t.pushed,
        rank: t.rank,
        subflow: t.subflow,
    }
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
    #[inline]
    fn arrival<H>(self, header: H) -> Arrival<H> {
        Arrival { header, from: self.from, trimmed: self.trimmed, ce: self.ce, returned: self.returned }
    }
}
