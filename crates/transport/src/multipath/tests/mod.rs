//! The session layer and the connections made of it.

mod findings;
mod handed_out;
mod paths;
mod together;
mod transfer;
