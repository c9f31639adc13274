//! The host layer of SCDP on real networks, without sockets, clock, threads or randomness of its own.
//!
//! The transport ([`anabranch_transport::scdp`]) decides which symbols and pulls are sent. This crate encodes them as UDP datagrams ([`wire`]),
//! protects them with a shared key ([`Protection`]), and describes objects by their hash ([`Manifest`]). Random bytes and the time are arguments. It
//! does *not* open sockets: `anabranch-net` does.
//!
//! Each direction of a session has keys of its own, derived from the shared key and the salts of both ends. The two most important types are
//! [`Sealer`], which makes the datagrams of a direction, and [`Unsealer`], which accepts them: whatever arrives is an error, a symbol that was
//! trimmed, or exactly what was sent, once. A session without a key works the same way, with checksums in place of MACs and no encryption.
//!
//! ```
//! use anabranch_host::wire::{Answer, Datagram, Object, Open, Reason, Refusal, Request, Salt};
//! use anabranch_host::{ObjectName, Protection, Psk, Sealer, Unsealer};
//!
//! let key = Psk::parse("scdp-key-1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")?;
//! let protection = Protection::Psk(key);
//! let random = |byte| Salt([byte; 16]); // of the operating system, really
//!
//! // The opener of a session seals under keys that the other end derives from the salt in the packet.
//! let (session, opener_salt) = (7, random(1));
//! let mut opener = Sealer::new(protection.opener(opener_salt));
//! let object = Object::Name(ObjectName::new("model.bin")?);
//! let request = Request { object, lane: 0, lanes: 1, window: 12, largest_packet: 1472, cookie: None };
//! let mut packet = Vec::new();
//! opener.open(session, 0, &Open::Request(request.clone()), &mut packet)?;
//!
//! let Datagram::Open(header) = Datagram::parse(&packet)? else { panic!("another kind") };
//! let mut from_opener = Unsealer::new(protection.opener(header.salt()));
//! let mut responder = Sealer::new(protection.responder(header.salt(), random(2), header.index()));
//! assert_eq!(from_opener.open(&mut packet)?, Open::Request(request));
//!
//! // The answer brings the responder's salt.
//! let answer = Answer::Refuse(Refusal::new(Reason::NotFound, "no such object"));
//! let mut packet = Vec::new();
//! responder.answer(session, &answer, &mut packet)?;
//! let Datagram::Answer(header) = Datagram::parse(&packet)? else { panic!("another kind") };
//! let mut from_responder = Unsealer::new(protection.responder(opener_salt, header.salt(), header.index()));
//! assert_eq!(from_responder.answer(&mut packet)?, answer);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod acquaintances;
mod admission;
mod config;
mod event;
mod hash_tree;
mod host;
mod key_file;
mod keys;
mod limits;
mod marking;
mod object;
mod random;
mod received;
mod replay;
mod schedule;
mod seal;
mod session;
mod signature;
mod trust;
mod unseal;
pub mod wire;

pub use anabranch_transport::ConfigError;
pub use anabranch_transport::scdp::{Straggler, StragglerPolicy};
pub use config::HostConfig;
pub use event::{HostEvent, SessionId};
pub use hash_tree::{HashTree, PAGE_HASHES, Page, SPAN, TreeHash};
pub use host::Host;
pub use key_file::KeyFileError;
pub use keys::{DirectionKeys, Protection, Psk};
pub use marking::{Dscp, DscpError, Ecn, Marking};
pub use object::Object;
pub use received::Received;
pub use seal::{MAX_DATAGRAMS, SealError, Sealer};
pub use session::{Delivery, Failure, Narrow, Outcome};
pub use signature::{BadSignature, PublicKey, SigningKey};
pub use unseal::{Payload, Unsealer};
pub use wire::{Manifest, NameError, ObjectName, Signature};
