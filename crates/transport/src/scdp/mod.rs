//! SCDP: rateless, receiver-driven transport for one-to-one, one-to-many and many-to-one (Alasmar, Parisis, Crowcroft).
//!
//! A sender pushes an initial window of source symbols; from then on receivers pull. There are no retransmissions: a
//! symbol that was trimmed or lost is replaced by the next one of its block's endless stream of source and repair symbols.
//!
//! # How a session works here
//!
//! *Streams.* An object is cut into source blocks of about 100 symbols (RFC 6330 §4.4.1). For each block, a sender emits the
//! symbols of its *lane* in order: with `n` senders, sender `s` emits the ESIs `s, s + n, s + 2n ...`, first source symbols and
//! then repair symbols. Lanes are disjoint (SCDP §IV-E); a unicast or one-to-many session has one. With
//! [`Repair::Random`], senders draw their repair symbols independently instead, as in Polyraptor: nearly disjoint.
//!
//! *Pulls* name a block and the total number of symbols of its lane that the sender is to have emitted. They are therefore
//! idempotent: a pull that is lost, repeated or overtaken by another pull for its block does no harm. That is the purpose of the
//! sequence numbers of SCDP §IV-A. A pull also says which blocks are complete, and whether the whole object is.
//!
//! *The window* (§IV-G). The initial window is a number of credits. Each pull spends one, and each symbol or trimmed header that
//! arrives returns one. A pull is only sent while some block needs more symbols than are in flight, so a session without loss
//! sends exactly one pull for each symbol beyond the window. The block of a pull is chosen when the pull leaves: the lowest block
//! that needs more symbols, or the next new block. The pipe thus never drains between blocks, and a repair symbol for an early
//! block travels between source symbols of a later one.
//!
//! Where switches drop instead of trimming, a receiver may find the window itself: [`WindowControl`].
//!
//! *Loss.* A trimmed header asks for a replacement, and its block then needs `o` more symbols, the overhead (§IV-C). Without
//! trimming, loss shows as a gap in a lane, or as silence: then the receiver repeats its pull, marked *retry*, and a sender
//! that has already emitted all that the pull asks for emits one more symbol. Senders probe silent receivers with a repeated
//! symbol. So drops cost time and nothing else.
//!
//! *Dead peers.* A sender gives up a receiver after [`ScdpConfig::retries`] probes, or after [`ScdpConfig::give_up_after`] without
//! a pull; the rest of a group continues. A receiver fails when all its senders have been silent for that long.
//!
//! *One-to-many.* A symbol of a block is sent when every receiver that still needs the block has asked for it; receivers
//! that have the block, or everything, no longer count (§IV-D). A receiver that has completed a block and has no pull to send says so with one that
//! asks for nothing. What happens to a receiver that holds the others back is a
//! [`StragglerPolicy`]: wait, detach it from the group, or give it up.
//!
//! *Bytes.* Blocks are decoded by a [`BlockDecoder`]. [`RaptorQDecoder`] is the real one, for sessions that carry bytes; the simulator, whose symbols carry
//! none, has a model of one. Without any, K symbols suffice and decoding takes no time. Complete blocks are reported one by one, and an application that does
//! not take them can stop the pulls: [`Receiver::with_untaken_limit`]. An application that can verify blocks can have wrong ones
//! fetched again, from one sender alone: [`Receiver::with_checks`].
//!
//! The two most important types are [`Sender`] and [`Receiver`]; [`Connection`] is either.

mod block;
mod codec;
mod config;
mod header;
pub mod hosts;
mod layout;
mod receiver;
mod sender;
mod straggler;

#[cfg(test)]
mod tests;

pub use block::{BlockDecoder, Collected, Decode, Evidence};
pub use codec::RaptorQDecoder;
pub use config::{MAX_BLOCK_SYMBOLS, PullPacing, Repair, ScdpConfig, WindowControl};
pub use header::{Header, Mode, Options, Pull, Symbol};
pub use layout::{LIVE_BLOCKS, Layout};

pub use crate::random::mix;
pub use receiver::Receiver;
pub use sender::{Excuse, Sender};
pub use straggler::{Straggler, StragglerPolicy, StragglerRule};

use crate::Endpoint;
use crate::ends::hand_on;

/// Either end of an SCDP session.
#[derive(Debug)]
pub enum Connection {
    /// An end that has the object.
    Sender(Sender),
    /// An end that wants the object.
    Receiver(Receiver),
}

impl Endpoint for Connection {
    type Header = Header;

    hand_on!(basic);
    hand_on!(pulls);
}
