//! The wire format and its protection, from outside: what is sealed is taken once and unchanged, and nothing else is.

mod examples;
mod hostile;
mod message;
pub(crate) mod page;
mod round_trip;
mod strategies;
