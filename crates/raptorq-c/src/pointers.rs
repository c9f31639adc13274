//! From pointers to references, and handles.
#![allow(unsafe_code, reason = "pointers from C; every block says why it is sound")]

use std::ffi::c_char;
use std::ptr::NonNull;
use std::slice;

use crate::failure::Failure;

/// What a handle holds; `None` once a panic has left it half-changed.
#[derive(Debug)]
pub(crate) struct Handle<T>(Option<Box<T>>);

impl<T> Handle<T> {
    pub(crate) fn new(content: T) -> Self {
        Self(Some(Box::new(content)))
    }

    pub(crate) fn look(&self) -> Result<&T, Failure> {
        self.0.as_deref().ok_or_else(Failure::broken)
    }

    /// Changes the content. If `change` panics, the handle stays empty.
    pub(crate) fn change<R>(&mut self, change: impl FnOnce(&mut T) -> Result<R, Failure>) -> Result<R, Failure> {
        let mut content = self.0.take().ok_or_else(Failure::broken)?;
        let result = change(&mut content);
        self.0 = Some(content);
        result
    }
}

/// What a pointer refers to.
///
/// # Safety
///
/// The pointer is null, or valid for reading a `T` for as long as `'a`, and nobody writes to it meanwhile.
pub(crate) unsafe fn read<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: as this function's.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(what))
}

/// What a pointer refers to, to be changed.
///
/// # Safety
///
/// The pointer is null, or valid for reading and writing a `T` for as long as `'a`, and nobody else does meanwhile.
pub(crate) unsafe fn change<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: as this function's.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::null(what))
}

/// A place for a result, in which there may be anything yet.
///
/// # Safety
///
/// The pointer is null, or valid for writing a `T`, aligned, and nobody else uses it meanwhile.
pub(crate) unsafe fn place<T>(pointer: *mut T, what: &str) -> Result<Place<T>, Failure> {
    NonNull::new(pointer).map(Place).ok_or_else(|| Failure::null(what))
}

/// Where a result goes.
pub(crate) struct Place<T>(NonNull<T>);

impl<T> Place<T> {
    pub(crate) fn put(self, value: T) {
        // SAFETY: who made the place by `place` answers for the pointer. What is there has no destructor: it is C's.
        unsafe { self.0.write(value) }
    }
}

/// Bytes of the caller. None at all may be at a null pointer.
///
/// # Safety
///
/// The pointer is null, or valid for reading `length` bytes for as long as `'a`, and nobody writes to them meanwhile.
pub(crate) unsafe fn bytes<'a>(pointer: *const u8, length: usize, what: &str) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    check(pointer, length, what)?;
    // SAFETY: not null and not longer than an allocation can be; the rest is as this function's.
    Ok(unsafe { slice::from_raw_parts(pointer, length) })
}

/// Room of the caller.
///
/// # Safety
///
/// The pointer is null, or valid for reading and writing `length` bytes for as long as `'a`, and nobody else does
/// meanwhile.
pub(crate) unsafe fn room<'a>(pointer: *mut u8, length: usize, what: &str) -> Result<&'a mut [u8], Failure> {
    if length == 0 {
        return Ok(&mut []);
    }
    check(pointer, length, what)?;
    // SAFETY: as in `bytes`. That it was not initialised does not matter to C, but to Rust: hence these zeros.
    unsafe {
        pointer.write_bytes(0, length);
        Ok(slice::from_raw_parts_mut(pointer, length))
    }
}

fn check(pointer: *const u8, length: usize, what: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    // More than any allocation has: a negative number was converted.
    if isize::try_from(length).is_err() {
        return Err(Failure::new(crate::Status::ErrorBufferSize, format_args!("{what} cannot have {length} bytes")));
    }
    Ok(())
}

/// Writes a text and a zero to a buffer, as much as there is room for.
///
/// # Safety
///
/// `buffer` is null, or valid for writing `size` bytes.
pub(crate) unsafe fn write_text(text: &str, buffer: *mut c_char, size: usize) {
    if buffer.is_null() || size == 0 {
        return;
    }
    let length = text.len().min(size - 1);
    // SAFETY: `length` is less than `size`; the text is ours, so it does not overlap with the caller's buffer.
    unsafe {
        text.as_ptr().copy_to_nonoverlapping(buffer.cast(), length);
        buffer.add(length).write(0);
    }
}
