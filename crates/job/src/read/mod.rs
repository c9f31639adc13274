//! Files that describe jobs. To add a format of one file: a file beside this one and one line in [`Format`]. [`chakra`] has a file for each rank.

use crate::collective::Choice;
use crate::error::JobError;
use crate::job::Job;

pub mod chakra;
pub mod connection_matrix;
mod goal;
mod goal_binary;
mod simai;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GOAL: the text that `Schedgen` and ATLAHS write, or the binary that `LogGOPSim` and htsim read.
    Goal,
    /// A connection matrix of htsim, with triggers. `us`: its start times are in microseconds, not picoseconds.
    ConnectionMatrix {
        /// Whether start times are in microseconds.
        us: bool,
    },
    /// A workload of `SimAI`, as AICB writes it.
    SimAi {
        /// How many ranks there are, if the file does not say it.
        ranks: Option<u32>,
        /// Which algorithm does each collective.
        choice: Choice,
    },
}

/// The job that the bytes of a file describe.
///
/// # Errors
/// If the file is not of this format, or describes no job that can end.
pub fn read(bytes: &[u8], format: Format) -> Result<Job, JobError> {
    if format == Format::Goal && bytes.starts_with(&goal_binary::MAGIC) {
        return goal_binary::read(bytes);
    }
    let text = std::str::from_utf8(bytes).map_err(|e| JobError::at(0, format!("is no text: {e}")))?;
    match format {
        Format::Goal => goal::read(text),
        Format::ConnectionMatrix { us } => connection_matrix::job(text, us),
        Format::SimAi { ranks, choice } => simai::read(text, ranks, &choice),
    }
}

#[cfg(test)]
mod tests;
