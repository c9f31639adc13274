//! Ends an endpoint's wait for datagrams, from another thread.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the wait of an [`Endpoint`](crate::Endpoint) in another thread.
#[derive(Clone, Debug)]
pub struct Waker {
    pipe: Arc<PipeWriter>,
    /// There is a byte in the pipe, or will be at once: the pipe never holds more than one.
    pending: Arc<AtomicBool>,
    /// Another thread wants the caller of the program that runs the endpoint to be asked at once whether to continue.
    interrupt: Arc<AtomicBool>,
}

impl Waker {
    /// Ends the endpoint's current wait, or else its next one.
    pub fn wake(&self) {
        if !self.pending.swap(true, Ordering::AcqRel) {
            // This fails only if the endpoint is gone.
            let _ = (&*self.pipe).write(&[0]);
        }
    }

    /// As [`wake`](Self::wake). In addition, [`send_files`](crate::send_files) and the like report their progress at once, so that their caller can
    /// stop them.
    pub fn interrupt(&self) {
        self.interrupt.store(true, Ordering::Release);
        self.wake();
    }
}

/// The endpoint's end.
#[derive(Debug)]
pub(crate) struct Wakes {
    pipe: PipeReader,
    waker: Waker,
}

impl Wakes {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let waker = Waker { pipe: Arc::new(writer), pending: Arc::default(), interrupt: Arc::default() };
        Ok(Self { pipe: reader, waker })
    }

    pub(crate) fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Whether there was an interrupt since the last call.
    pub(crate) fn take_interrupt(&self) -> bool {
        self.waker.interrupt.swap(false, Ordering::AcqRel)
    }

    /// The pipe is readable: a later wake ends a later wait.
    pub(crate) fn take(&self) -> io::Result<()> {
        (&self.pipe).read_exact(&mut [0])?;
        self.waker.pending.swap(false, Ordering::AcqRel);
        Ok(())
    }
}

impl AsFd for Wakes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
