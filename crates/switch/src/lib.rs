//! An Ethernet switch in user space, for labs of network namespaces on one machine.
//!
//! [`Switch`] is the switch proper. It has no sockets and no clock: the caller passes received frames with their port and time, and polls for
//! frames to send and for the next timeout. [`Config`] has the settings of each port. On Linux, [`Driver`] runs
//! it between network interfaces.
//!
//! It has no spanning tree, no VLANs, no routing, and no shared buffer: docs/fidelity/software-switch.md says what differs from hardware.
//!
//! ```
//! use anabranch_switch::{Config, Switch};
//! use anabranch_transport::Time;
//!
//! let config = Config::parse("rate = '100Mbps'\n[port.b]\ndelay = '50us'")?;
//! let mut switch = Switch::new(&config, &["a", "b"])?;
//! // To all, from 02:00:00:00:00:01: 100 bytes, which take 8 us at 100 Mbit/s.
//! let mut frame = vec![0xff; 100];
//! frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
//! switch.receive(0, frame.clone(), Time::ZERO);
//! assert_eq!(switch.poll_transmit(Time::ZERO), None);
//! let wake = switch.poll_timeout().expect("a frame is in flight");
//! assert_eq!(wake.ps(), 58_000_000);
//! assert_eq!(switch.poll_transmit(wake), Some((1, frame)));
//! # Ok::<(), anabranch_switch::ConfigError>(())
//! ```

mod checksum;
mod config;
mod counters;
#[cfg(target_os = "linux")]
mod driver;
mod error;
mod forwarding;
mod frame;
mod igmp;
mod impair;
#[cfg(target_os = "linux")]
mod interface;
mod mark;
mod membership;
mod offload;
mod port;
mod probability;
mod queue;
mod switch;
#[cfg(test)]
mod testing;
mod trim;

pub use config::{Config, ConfigError, Multicast, PortConfig, Settings};
pub use counters::{Counters, DataQueueCounters, LinkCounters, PortCounters, QueueCounters};
#[cfg(target_os = "linux")]
pub use driver::Driver;
pub use error::SwitchError;
pub use impair::BurstLoss;
pub use offload::{Offload, OffloadError};
pub use probability::{Probability, ProbabilityError};
pub use switch::Switch;
