//! C interface of the RaptorQ codec `anabranch-raptorq` (RFC 6330).
//!
//! `include/anabranch_raptorq.h` is made of this crate; programs in C include that. Encoders and decoders are opaque
//! handles ([`Encoder`], [`Decoder`]); all buffers belong to the caller; every function that can fail returns a [`Status`].
//! Not here: input and output, threads, anything that the Rust crate does not do itself.
//!
//! What holds for all functions:
//!
//! - A null pointer, a wrong length or a handle that has done its work is an error, not undefined behaviour. A pointer that
//!   is neither null nor valid is undefined behaviour, as everywhere in C, and so is a handle that was freed.
//! - No panic crosses the border. One would be a fault of this library; it is caught and returned as
//!   [`Status::ErrorInternal`], and every further call with that handle returns the same, but for freeing it. In a build
//!   with `panic = "abort"` it ends the process instead.
//! - After an error, what the function would have written is unchanged, and the handle is as it was before.
//! - Different handles can be used by different threads at the same time. One handle can be used by one thread at a time,
//!   whichever that is; where a function allows more, it says so.

mod config;
mod decoder;
mod encoder;
mod failure;
mod messages;
mod pointers;

#[cfg(test)]
mod tests;

pub use config::{
    CONFIG_SIZE, Config, anb_raptorq_config_default, anb_raptorq_config_read, anb_raptorq_config_source_symbols,
    anb_raptorq_config_write,
};
pub use decoder::{
    Decoder, Limits, Progress, anb_raptorq_decoder_add, anb_raptorq_decoder_free, anb_raptorq_decoder_missing,
    anb_raptorq_decoder_new, anb_raptorq_decoder_result, anb_raptorq_limits_default,
};
pub use encoder::{Encoder, anb_raptorq_encoder_free, anb_raptorq_encoder_new, anb_raptorq_encoder_packet};
pub use failure::Status;
pub use messages::{anb_raptorq_last_error, anb_raptorq_message, anb_raptorq_version};
