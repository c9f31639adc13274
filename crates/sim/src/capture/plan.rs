//! What is to be captured, and where to.

use crate::fabric::graph::PortId;
use std::io::{self, Write};

/// Opens a file by its name.
pub type Files = dyn FnMut(&str) -> io::Result<Box<dyn Write + Send>> + Send;

/// A capture that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePlan {
    /// Name of its file, without the ending.
    pub name: String,
    /// The port that it is of: both directions are captured.
    pub port: PortId,
    /// Bytes of each packet that are stored at most.
    pub snap: u16,
    /// Packets that it holds at most.
    pub packets: Option<u64>,
    /// Bytes that its file has at most, apart from how it ends.
    pub bytes: Option<u64>,
    /// What it says of itself.
    pub comment: String,
}
