//! The one trait family that drivers and transports share.

use crate::standings::{ClaimChange, Standing};
use crate::units::{Rate, Time};
use std::fmt;
use std::ops::AddAssign;

/// Index of a remote end within a session: 0 for unicast; the receiver's index for a one-to-many sender; the sender's
/// index for a many-to-one receiver.
pub type Peer = u16;

/// Every receiver of a one-to-many session at once (a multicast group).
pub const GROUP: Peer = u16::MAX;

/// One packet that an endpoint wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<H> {
    /// What the packet says.
    pub header: H,
    /// To whom: a peer, or [`GROUP`].
    pub to: Peer,
    /// Bytes on the wire, all headers included.
    pub size: u32,
    /// Bytes that remain when a switch trims the payload; equal to `size` for a packet that has no payload.
    pub trimmed_size: u32,
    /// Priority of the data bands, 0 highest (multi-level feedback queueing). Meaningless for control packets.
    pub priority: u8,
    /// Control packets (pulls, ACKs of receiver-driven transports) travel in the header band of trimming switches.
    pub control: bool,
    /// ECN-capable transport (RFC 3168): a switch may mark instead of dropping.
    pub ect: bool,
    /// Belongs to an initial window that was pushed before anything arrived from the receiver (*syn*; NDP §3.2, SCDP §IV-C).
    pub pushed: bool,
    /// For switches that serve flows by what remains of them: that, as [`rank`](crate::rank) writes it. 0: before all flows.
    pub rank: u16,
    /// Of a transport that opens several connections between the same two ends, which of them: each has a path of its own.
    /// Below [`Endpoint::subflows`]; 0 everywhere else.
    pub subflow: u8,
}

impl<H> Transmit<H> {
    /// A packet of `size` bytes, of which `headers` remain without its payload: of the highest priority, and without options.
    #[inline]
    pub(crate) fn data(header: H, to: Peer, size: u32, headers: u32) -> Self {
        Self {
            header,
            to,
            size,
            trimmed_size: headers,
            priority: 0,
            control: false,
            ect: false,
            pushed: false,
            rank: 0,
            subflow: 0,
        }
    }

    /// A control packet, which has no payload.
    #[inline]
    pub(crate) fn control(header: H, to: Peer, size: u32) -> Self {
        Self { control: true, ..Self::data(header, to, size, size) }
    }
}

/// One packet that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<H> {
    /// What the packet says.
    pub header: H,
    /// From whom.
    pub from: Peer,
    /// A switch cut the payload off.
    pub trimmed: bool,
    /// A switch marked congestion experienced (RFC 3168).
    pub ce: bool,
    /// The packet was returned to its sender by a switch that could not forward it (NDP return-to-sender).
    pub returned: bool,
}

/// What happened, for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The transport's handshake is over, where it has one.
    Connected,
    /// Receiver: every byte of the object is available to the application at this time, which may lie in the future
    /// when a decoder still has to run.
    Completed {
        /// When the last byte is available.
        at: Time,
    },
    /// Receiver of symbols that carry bytes: this block of the object is complete, and can be taken.
    BlockReady(u32),
    /// Sender of a one-to-many session: this receiver has everything.
    PeerCompleted(Peer),
    /// Sender of a one-to-many session: from now on packets to [`GROUP`] are not for this receiver, which the driver takes
    /// out of the group before it asks for the next packet. It is sent packets of its own.
    PeerDetached(Peer),
    /// Sender of a one-to-many session: the others go on without this receiver, which has not come, until it does.
    PeerAbsent(Peer),
    /// Sender of a one-to-many session: this receiver will not get everything, and the session goes on or ends without it.
    PeerDropped(Peer),
    /// Receiver of several senders: this one did not send in time what was requested from it alone, and so it was requested from another. Told
    /// once of each.
    PeerWithholds(Peer),
    /// The endpoint has nothing more to say and may be dropped.
    Closed,
    /// The endpoint gave up.
    Failed(FailureReason),
}

/// Why an endpoint gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// Nothing arrived for too long (retries exhausted).
    TimedOut,
    /// The sender of a one-to-many session went on without this receiver.
    GivenUp,
    /// Symbols are not of the size that this end's decoder was made for, or came without their bytes.
    SymbolSize,
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("the peer did not answer (retries exhausted)"),
            Self::SymbolSize => f.write_str("the sender's symbols are not of the size that this receiver decodes"),
            Self::GivenUp => f.write_str("the sender went on without this receiver"),
        }
    }
}

/// Counters that every transport keeps. An endpoint fills those that it can know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Data packets sent, retransmissions included.
    pub data_sent: u64,
    /// Data packets sent again (never for rateless transports).
    pub retransmitted: u64,
    /// Retransmission or pull timeouts that fired.
    pub timeouts: u64,
    /// Data packets received whole, duplicates included.
    pub data_received: u64,
    /// Trimmed headers received.
    pub trimmed_received: u64,
    /// Packets received with the congestion-experienced mark.
    pub marked_received: u64,
    /// Application bytes available in order at the receiver.
    pub bytes_delivered: u64,
    /// Encoding symbols received beyond the number of source symbols (rateless transports).
    pub overhead_symbols: u64,
    /// Source blocks that needed decoding (rateless transports).
    pub decoded_blocks: u64,
}

impl AddAssign for Stats {
    /// The counters of several endpoints together.
    fn add_assign(&mut self, more: Self) {
        self.data_sent += more.data_sent;
        self.retransmitted += more.retransmitted;
        self.timeouts += more.timeouts;
        self.data_received += more.data_received;
        self.trimmed_received += more.trimmed_received;
        self.marked_received += more.marked_received;
        self.bytes_delivered += more.bytes_delivered;
        self.overhead_symbols += more.overhead_symbols;
        self.decoded_blocks += more.decoded_blocks;
    }
}

/// A sans-IO endpoint of one session: the sending or the receiving side.
///
/// A driver calls, in any order allowed by what it learns:
/// [`handle_packet`](Self::handle_packet) for each arrival, [`handle_timeout`](Self::handle_timeout) at or after the
/// time that [`poll_timeout`](Self::poll_timeout) told, and after each of those drains
/// [`poll_transmit`](Self::poll_transmit) and [`poll_event`](Self::poll_event) until they return `None`.
/// An endpoint must tolerate a `handle_timeout` that is early or spurious.
///
/// Receiver-driven transports additionally count the pulls they want; the host's shared [`crate::pull::PullQueue`]
/// decides when the next one may leave and the driver then calls [`poll_pull`](Self::poll_pull).
pub trait Endpoint {
    /// The transport's header, as carried by every packet.
    type Header: Copy + fmt::Debug;

    /// A packet arrived.
    fn handle_packet(&mut self, now: Time, arrival: &Arrival<Self::Header>);
    /// The time told by `poll_timeout` has come (or the wake-up was spurious).
    fn handle_timeout(&mut self, now: Time);
    /// Packets handed over from now on may wait in the host's queue until this time. A driver that knows tells so before it
    /// asks for packets; one that never does hands over only what can leave at once. Timers run from here: what has not left
    /// is not lost.
    fn set_departure(&mut self, _at: Time) {}
    /// Whether [`set_departure`](Self::set_departure) changes anything now: a driver for which that time is dear need not tell
    /// it otherwise. It may change with all that the endpoint learns, but not by an event that is polled.
    fn uses_departure(&self) -> bool {
        false
    }
    /// The next packet to put on the wire now.
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Self::Header>>;
    /// When to call `handle_timeout`; `None` when no timer runs. Cheap: called after every packet.
    fn poll_timeout(&self) -> Option<Time>;
    /// What happened since the last call.
    fn poll_event(&mut self) -> Option<Event>;

    /// The application has the first `bytes` bytes of the object, and will have the others later: a sender sends no more
    /// than these, and waits for more without timeouts. Never called: it has the whole object. Only for unicast senders;
    /// transports with group sessions have no use for it.
    fn set_available(&mut self, _now: Time, _bytes: u64) {}

    /// Pulls that this endpoint wants to send and has not yet been allowed to.
    fn pending_pulls(&self) -> u32 {
        0
    }
    /// How urgent its next pull is, where a host grants pulls by priority, 0 the most: the priority that senders give to
    /// packets after as many bytes as have arrived. Those that it asks for are further by what is on its way.
    fn pull_priority(&self) -> u8 {
        0
    }
    /// Whether hosts grant its pulls by priority whatever they do with others, and sooner when it becomes more urgent while it waits.
    const RANKS_PULLS: bool = false;
    /// The next pull; called when the host's pull queue grants this endpoint a turn. `None` if it wants none any more.
    fn poll_pull(&mut self, _now: Time) -> Option<Transmit<Self::Header>> {
        None
    }
    /// Turns that the host's pull queue now lets pass, of all its endpoints: as many packets come that nobody pulls. Asked after each call.
    fn poll_hold(&mut self) -> u32 {
        0
    }

    /// Whether its packets wait until the host's link is free and it is their flow's turn, so that flows of one host share the link packet by
    /// packet and none of their packets waits behind others that could have been held back. Most protocols queue what they may send.
    const TAKES_TURNS: bool = false;
    /// Whether it has a packet that could leave now, if it were its turn. Asked after each call.
    fn wants_turn(&self) -> bool {
        false
    }
    /// The host's link is free, and it is this end's turn: the packet that leaves now. `None` if it has none any more.
    fn take_turn(&mut self, _now: Time) -> Option<Transmit<Self::Header>> {
        None
    }
    /// What it handed over at its turn leaves by a link of this rate.
    fn set_line(&mut self, _rate: Rate) {}

    /// The change of its claim on a place among the ends of its host, where its scheme ranks them: see [`Standings`](crate::standings::Standings).
    /// The driver asks after all else, and sets the standings that change.
    fn poll_claim(&mut self) -> Option<ClaimChange> {
        None
    }
    /// The bytes that remain by the claim that the driver was told last.
    fn claim(&self) -> Option<u64> {
        None
    }
    /// Its place among those that stand; `None`: it stands no more.
    fn set_standing(&mut self, _now: Time, _standing: Option<Standing>) {}

    /// Counters so far.
    fn stats(&self) -> Stats;
    /// Connections that it opens between its two ends, from 1: each gets a path of its own. Asked once, before anything happens.
    fn subflows(&self) -> u8 {
        1
    }
    /// The congestion window of a sender that has one, in bytes; of several connections, their sum.
    fn congestion_window(&self) -> Option<u64> {
        None
    }
    /// One line for a person: what this endpoint waits for. Used when a run cannot finish.
    fn waiting_for(&self) -> String;
}
