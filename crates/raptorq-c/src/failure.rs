//! Error codes, what they mean, and what catches panics.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::CStr;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anabranch_raptorq::{BlockError, DecoderError, EncoderError, LayoutError, OtiError, PacketError};

/// What a function returns: 0, or what was wrong.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It worked.
    Ok = 0,
    /// A pointer that must not be null is null.
    ErrorNull = 1,
    /// The numbers of a description break a rule of RFC 6330.
    ErrorConfig = 2,
    /// The object is not as long as its description says.
    ErrorObjectSize = 3,
    /// A buffer does not have the size of what is to be written to it or read from it.
    ErrorBufferSize = 4,
    /// The object has no such block, or the block no such symbol.
    ErrorNoSuchSymbol = 5,
    /// The object, or what arrived of it, is beyond the decoder's limits.
    ErrorLimit = 6,
    /// The bytes are no packet of the object. The decoder is as it was before them.
    ErrorPacket = 7,
    /// The object is not complete yet.
    ErrorIncomplete = 8,
    /// The object is complete already, so the packet was not looked at. The result can still be read.
    ErrorComplete = 9,
    /// There is no memory for it. The call can be repeated.
    ErrorMemory = 10,
    /// A fault in this library. The handle can only be freed.
    ErrorInternal = 11,
}

impl Status {
    pub(crate) const ALL: [Self; 12] = [
        Self::Ok,
        Self::ErrorNull,
        Self::ErrorConfig,
        Self::ErrorObjectSize,
        Self::ErrorBufferSize,
        Self::ErrorNoSuchSymbol,
        Self::ErrorLimit,
        Self::ErrorPacket,
        Self::ErrorIncomplete,
        Self::ErrorComplete,
        Self::ErrorMemory,
        Self::ErrorInternal,
    ];

    pub(crate) const fn message(self) -> &'static CStr {
        match self {
            Self::Ok => c"no error",
            Self::ErrorNull => c"a pointer is null; expected a valid one",
            Self::ErrorConfig => c"the description of the object breaks a rule of RFC 6330",
            Self::ErrorObjectSize => c"the object is not as long as its description says",
            Self::ErrorBufferSize => c"a buffer has the wrong size",
            Self::ErrorNoSuchSymbol => c"the object has no such block, or the block no such symbol",
            Self::ErrorLimit => c"beyond the limits of the decoder",
            Self::ErrorPacket => c"not a packet of this object",
            Self::ErrorIncomplete => c"the object is not complete: more packets are needed",
            Self::ErrorComplete => c"the object is complete: no packet is needed any more",
            Self::ErrorMemory => c"out of memory",
            Self::ErrorInternal => c"a fault in the codec; free the handle",
        }
    }
}

/// A status with its numbers.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    detail: String,
}

impl Failure {
    pub(crate) fn new(status: Status, detail: impl Display) -> Self {
        Self { status, detail: detail.to_string() }
    }

    pub(crate) fn null(what: &str) -> Self {
        Self::new(Status::ErrorNull, format_args!("{what} is null; expected a valid pointer"))
    }

    /// Of a handle that a panic left behind.
    pub(crate) fn broken() -> Self {
        Self::new(Status::ErrorInternal, "an earlier call with this handle failed inside the codec; free it")
    }

    fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::new(Status::ErrorInternal, text.unwrap_or("a panic without a message"))
    }
}

impl From<OtiError> for Failure {
    fn from(error: OtiError) -> Self {
        Self::new(Status::ErrorConfig, error)
    }
}

impl From<EncoderError> for Failure {
    fn from(error: EncoderError) -> Self {
        let status = match error {
            EncoderError::Oti(_) => Status::ErrorConfig,
            EncoderError::ObjectSize { .. } => Status::ErrorObjectSize,
            EncoderError::Packet(PacketError::BufferSize { .. }) | EncoderError::Layout(LayoutError::Size { .. }) => {
                Status::ErrorBufferSize
            }
            EncoderError::NoSuchBlock { .. }
            | EncoderError::EmptyBlock { .. }
            | EncoderError::Packet(_)
            | EncoderError::Layout(_) => Status::ErrorNoSuchSymbol,
            EncoderError::Block(error) => block_status(&error),
            _ => Status::ErrorInternal,
        };
        Self::new(status, error)
    }
}

impl From<DecoderError> for Failure {
    fn from(error: DecoderError) -> Self {
        let status = match error {
            DecoderError::ObjectTooLarge { .. }
            | DecoderError::BlockTooLarge { .. }
            | DecoderError::TooManySymbols { .. }
            | DecoderError::TooManyBlocks { .. }
            | DecoderError::TooManyExtraSymbols { .. } => Status::ErrorLimit,
            DecoderError::Memory { .. } => Status::ErrorMemory,
            DecoderError::Packet(_)
            | DecoderError::NoSuchBlock { .. }
            | DecoderError::PacketSize { .. }
            | DecoderError::MixedPacket { .. }
            | DecoderError::Padding { .. } => Status::ErrorPacket,
            DecoderError::Incomplete { .. } => Status::ErrorIncomplete,
            DecoderError::BufferSize { .. } => Status::ErrorBufferSize,
            DecoderError::Block(error) => block_status(&error),
            _ => Status::ErrorInternal,
        };
        Self::new(status, error)
    }
}

fn block_status(error: &BlockError) -> Status {
    if let BlockError::Memory { .. } = error { Status::ErrorMemory } else { Status::ErrorInternal }
}

thread_local! {
    /// What the last failure of this thread was about.
    static DETAIL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Does the work of a function for C: keeps what a failure says for `anb_raptorq_last_error`, and catches panics.
///
/// What `work` changes and can leave half-done is in a handle, which is then [broken](Failure::broken).
pub(crate) fn call(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    let done = catch_unwind(AssertUnwindSafe(work));
    let Err(failure) = done.unwrap_or_else(|payload| Err(Failure::panicked(&*payload))) else { return Status::Ok };
    // A thread that is ending has no place for it any more.
    let _ = DETAIL.try_with(|detail| *detail.borrow_mut() = failure.detail);
    failure.status
}

/// What the last failure of this thread was about.
pub(crate) fn last_detail() -> String {
    DETAIL.try_with(|detail| detail.borrow().clone()).unwrap_or_default()
}
