//! What C is told of errors, and of the library.
#![allow(unsafe_code, reason = "functions for C; every block says why it is sound")]

use std::ffi::c_char;

use crate::failure::{Status, last_detail};
use crate::pointers::write_text;

/// What a status means: a text that is always there, and must not be freed. Numbers that are no status have one, too.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn anb_raptorq_message(status: i32) -> *const c_char {
    let known = Status::ALL.into_iter().find(|&known| known as i32 == status);
    known.map_or(c"not a status of this library", Status::message).as_ptr()
}

/// What the last failed call of this thread was about, with its numbers: "the object has 900 bytes; the limit is 100".
/// Empty if none failed. Calls that succeed leave it as it is.
///
/// Writes at most `size` bytes to `buffer`, the last of them 0. Returns how long the text is without the 0, which may be
/// more than there was room for; with a `size` of 0 nothing is written, and `buffer` may be null.
///
/// Threads: any, at any time; each has its own text.
///
/// # Safety
///
/// `buffer` is null, or `size` bytes can be written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anb_raptorq_last_error(buffer: *mut c_char, size: usize) -> usize {
    let detail = last_detail();
    // SAFETY: the caller answers for `buffer`.
    unsafe { write_text(&detail, buffer, size) };
    detail.len()
}

/// The version of the library, such as "0.1.0": a text that is always there, and must not be freed.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn anb_raptorq_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
