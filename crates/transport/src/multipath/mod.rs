//! Several TCP connections for one transfer, each on a path of its own: Front-Back (Song 2017, chapter 4) and MPTCP (RFC 8684).
//!
//! An end holds N [TCP connections](crate::tcp::Connection), which know nothing of each other. Data is assigned to them by the segment,
//! just when a connection can send one: by Front-Back's [`Session`], which contains no transport, or by MPTCP's data level. Each packet
//! says where its data belongs, and the receiver reassembles the object.
//!
//! [`pair`] runs a session layer over paths whose rates are given.

mod bundle;
mod config;
mod connection;
mod coupling;
mod data;
mod divide;
mod events;
mod front_back;
mod front_back_data;
mod header;
mod mapping;
mod mptcp;
mod packet;
pub mod pair;
mod parts;
mod placing;
mod receiver;
mod resets;
mod sender;
mod session;
mod subflows;
mod tally;

#[cfg(test)]
mod tests;

pub use config::{FrontBackConfig, MptcpConfig, MptcpScheduler, MultipathConfig, SubflowControl};
pub use connection::Connection;
pub use header::{Header, MAX_SUBFLOWS};
pub use session::{Scheduler, Session};
pub use subflows::Subflows;
