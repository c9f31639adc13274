//! SCDP over UDP: files to many hosts for the price of one uplink, and from many replicas at once.
//!
//! A thin driver of [`anabranch_host`], which implements the protocol: this crate only adds sockets, files and a clock. [`Endpoint`] is one UDP
//! socket with its sessions; [`send_files`], [`receive_dir`], [`serve`] and [`fetch`] are what most programs need. They run in the calling thread
//! until they are done; their last argument is a callback that is told what happens and can stop them. The feature `tokio` adds a module of that name
//! with the same functions as futures.
//!
//! ```
//! use anabranch_net::{Endpoint, HostConfig, Input, Protection, ReceiveOptions, Report, receive_dir, send_file};
//! use std::ops::ControlFlow;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Both ends need the same key: `Protection::Psk`. Without one, anybody can send anything.
//! let config = || HostConfig::new(Protection::None);
//! let (source, target) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! std::fs::write(source.path().join("rivers.txt"), "where they meet")?;
//!
//! let mut receiver = Endpoint::bind("127.0.0.1:0".parse()?, config())?;
//! let address = receiver.local_address()?;
//! let into = target.path().to_owned();
//! let receiving = std::thread::spawn(move || {
//!     receive_dir(&mut receiver, &into, &ReceiveOptions::default(), |report| match report {
//!         Report::Received { .. } => ControlFlow::Break(()),
//!         _ => ControlFlow::Continue(()),
//!     })
//! });
//!
//! let mut sender = Endpoint::bind("127.0.0.1:0".parse()?, config())?;
//! let file = Input::open(&source.path().join("rivers.txt"), None)?;
//! let outcomes = send_file(&mut sender, &file, &[address], None, |_| ControlFlow::Continue(()))?;
//! assert!(outcomes[0].is_success());
//! receiving.join().expect("no panic")?;
//! assert_eq!(std::fs::read_to_string(target.path().join("rivers.txt"))?, "where they meet");
//! # Ok(())
//! # }
//! ```

mod busy_poll;
mod clock;
mod directory;
mod endpoint;
mod error;
mod files;
mod interface;
mod programs;
mod report;
mod send;
mod shelf;
mod socket;
#[cfg(feature = "tokio")]
pub mod tokio;
mod waker;

pub use anabranch_host::{
    Delivery, Dscp, DscpError, Failure, HostConfig, KeyFileError, Manifest, Marking, NameError, Narrow, ObjectName,
    Outcome, Protection, Psk, PublicKey, SigningKey, Straggler, StragglerPolicy,
};
pub use directory::ReceiveOptions;
pub use endpoint::Endpoint;
pub use error::NetError;
pub use files::{Input, Output, OutputError};
pub use interface::{Interface, InterfaceError};
pub use programs::{Wanted, fetch, receive_dir, serve, serve_shelf};
pub use report::{Outcomes, Report};
pub use send::{send_file, send_files};
pub use shelf::Shelf;
pub use socket::{Arrivals, Socket};
pub use waker::Waker;
