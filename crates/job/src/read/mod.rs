//! Files that describe jobs. To add a format: a file beside this one and one line in [`Format`].

use crate::error::JobError;
use crate::job::Job;

pub mod connection_matrix;
mod goal;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GOAL, as text: what `Schedgen` and ATLAHS write, and `LogGOPSim` reads once it is converted.
    Goal,
    /// A connection matrix of htsim, with triggers. `us`: its start times are in microseconds, not picoseconds.
    ConnectionMatrix {
        /// Whether start times are in microseconds.
        us: bool,
    },
}

/// The job that a text describes.
///
/// # Errors
/// If the text is not of this format, or describes no job that can end.
pub fn read(text: &str, format: Format) -> Result<Job, JobError> {
    match format {
        Format::Goal => goal::read(text),
        Format::ConnectionMatrix { us } => connection_matrix::job(text, us),
    }
}

#[cfg(test)]
mod tests;
