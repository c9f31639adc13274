//! The scenario file format.
mod transport;
pub use transport::TransportName;
