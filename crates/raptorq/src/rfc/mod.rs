//! What RFC 6330 fixes, as it is written there: the field, the tables, the parameters of a block, the tuples.
//!
//! Nothing here is clever. Everything else in the crate is free to compute differently, and is tested against this.

#![allow(clippy::many_single_char_names, reason = "they are the RFC's names")]

pub(crate) mod octet;
pub(crate) mod parameters;
pub(crate) mod tables;
pub(crate) mod tuple;

pub(crate) use parameters::Parameters;
