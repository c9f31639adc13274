//! Bytes of Python objects: read in place where nobody can write to them, copied elsewhere.
//!
//! The codec works while the interpreter is released, and then any thread may write to a `bytearray` or an array. So what
//! is read in place is memory that a `bytes` object owns, directly or below memory views and arrays. Everything else is
//! copied with the interpreter held, a part at a time.

use std::ops::Range;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView};

/// A memory view of an array of a memory view of `bytes` is three; who builds more pays for a copy.
const DEEPEST: usize = 8;

/// Part of a `bytes` object, which it keeps alive.
#[derive(Debug)]
pub(super) struct InPlace {
    owner: PyBackedBytes,
    range: Range<usize>,
}

impl AsRef<[u8]> for InPlace {
    fn as_ref(&self) -> &[u8] {
        &self.owner[self.range.clone()]
    }
}

/// A buffer of single bytes, C-contiguous.
pub(super) enum Bytes {
    InPlace(InPlace),
    /// The export is held, so the memory stays where it is and as long as it is.
    Exported(PyBuffer<u8>),
}

impl Bytes {
    pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err("the bytes are not contiguous"));
        }
        Ok(in_place(object, &buffer).map_or(Self::Exported(buffer), Self::InPlace))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::InPlace(part) => part.range.len(),
            Self::Exported(buffer) => buffer.item_count(),
        }
    }

    /// The bytes at `range`, if there are so many; those that are not in place are copied to `room`.
    ///
    /// Called with the interpreter released: it is held as long as the copy takes.
    pub(super) fn part<'a>(&'a self, range: Range<usize>, room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        match self {
            Self::InPlace(part) => part.as_ref().get(range),
            Self::Exported(buffer) => Python::attach(|py| {
                let cells = buffer.as_slice(py)?.get(range)?;
                room.clear();
                room.extend(cells.iter().map(pyo3::buffer::ReadOnlyCell::get));
                Some(room.as_slice())
            }),
        }
    }

    /// Bytes to keep, which nobody can change: a copy unless they are in place.
    pub(super) fn keep(self, py: Python<'_>) -> PyResult<Object> {
        match self {
            Self::InPlace(part) => Ok(Object::InPlace(part)),
            Self::Exported(buffer) => buffer.to_vec(py).map(Object::Copied),
        }
    }
}

/// An object to encode, for as long as its encoder.
#[derive(Debug)]
pub(super) enum Object {
    InPlace(InPlace),
    Copied(Vec<u8>),
}

impl AsRef<[u8]> for Object {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::InPlace(part) => part.as_ref(),
            Self::Copied(bytes) => bytes,
        }
    }
}

/// Finds the `bytes` object whose memory a buffer shows. Whatever the attributes say, only an address within it counts.
fn in_place(object: &Bound<'_, PyAny>, buffer: &PyBuffer<u8>) -> Option<InPlace> {
    let mut object = object.clone();
    for _ in 0..DEEPEST {
        if let Ok(owner) = object.cast::<PyBytes>() {
            let start = (buffer.buf_ptr() as usize).checked_sub(owner.as_bytes().as_ptr() as usize)?;
            let range = start..start.checked_add(buffer.len_bytes())?;
            let owner = PyBackedBytes::from(owner.clone());
            return (range.end <= owner.len()).then_some(InPlace { owner, range });
        }
        // `ndarray.base` is what the array shows memory of, if that is not its own.
        let below = if object.is_instance_of::<PyMemoryView>() { "obj" } else { "base" };
        object = object.getattr(below).ok()?;
    }
    None
}
