//! Traffic volumes: captures, flow records, interface counters and tables become volume series.
//!
//! A *volume series* is bytes and packets per bin of a fixed width T. [`ingest`] reads any number of files once, in
//! memory that depends on the number of bins and not on the size of the files, and returns one [`Series`] for each
//! width asked for, together with what the reader should know before trusting it: [`FileReport`] counts records out of
//! order, undecidable packets and damage; a series says which of its bins are unknown rather than zero, and whether its
//! last bin is complete.
//!
//! Not here: statistics of the series, and anything that looks into a packet beyond what the filter asks for.
//!
//! The two most important types are [`Request`] and [`Ingested`].

mod bins;
mod collect;
mod compress;
mod error;
mod filter;
mod format;
mod ingest;
mod input;
mod order;
mod report;
mod request;
mod series;
mod stamp;
mod track;
mod watch;

pub use error::{IngestError, Place};
pub use filter::Filter;
pub use format::names as formats;
pub use ingest::{ingest, ingest_bytes};
pub use report::{FileReport, Ingested};
pub use request::{Align, DecimalMark, Request, Want};
pub use series::Series;
pub use track::{Gap, Least};
pub use watch::Watch;
