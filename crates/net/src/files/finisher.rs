//! Finishes files on threads of its own: until a disk has what was written, seconds may pass, in which sessions must go on.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anabranch_host::SessionId;

use super::output::{Output, OutputError};
use crate::waker::Waker;

/// Threads, at most. They wait for the disk, which takes what several of them have for it in one go.
const THREADS: usize = 4;

type Finished = (SessionId, Result<(), OutputError>);

/// Finishes files. Dropped, it waits for those that it has begun with, and drops the others.
#[derive(Debug)]
pub(crate) struct Finisher {
    /// None while it is dropped.
    jobs: Option<Sender<(SessionId, Output)>>,
    waiting: Arc<Mutex<Receiver<(SessionId, Output)>>>,
    results: (Sender<Finished>, Receiver<Finished>),
    threads: Vec<JoinHandle<()>>,
    /// Files of which the results were not taken.
    unfinished: usize,
    waker: Waker,
}

impl Finisher {
    /// One that wakes whoever takes the results.
    pub(crate) fn new(waker: Waker) -> Self {
        let (jobs, waiting) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        Self { jobs: Some(jobs), waiting, results: mpsc::channel(), threads: Vec::new(), unfinished: 0, waker }
    }

    /// Finishes a file: its hash is compared, it is written to the disk and takes its name.
    pub(crate) fn start(&mut self, id: SessionId, output: Output) {
        self.unfinished += 1;
        if self.threads.len() < THREADS.min(self.unfinished) {
            self.add_thread();
        }
        if self.threads.is_empty() {
            // The system has no thread for it.
            let _ = self.results.0.send((id, output.finish()));
        } else if let Some(jobs) = &self.jobs {
            jobs.send((id, output)).expect("the other end is here, too");
        }
    }

    fn add_thread(&mut self) {
        let (waiting, results, waker) = (Arc::clone(&self.waiting), self.results.0.clone(), self.waker.clone());
        let work = move || {
            loop {
                // The lock is held while it waits, and the others wait for the lock.
                let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((id, output)) = job else { return };
                if results.send((id, output.finish())).is_err() {
                    return;
                }
                waker.wake();
            }
        };
        self.threads.extend(thread::Builder::new().name("finish".to_owned()).spawn(work));
    }

    /// A file that is finished.
    pub(crate) fn take(&mut self) -> Option<Finished> {
        let finished = self.results.1.try_recv().ok()?;
        self.unfinished -= 1;
        Some(finished)
    }
}

impl Drop for Finisher {
    fn drop(&mut self) {
        // What no thread has begun with leaves the channel here, and its part with it.
        while let Ok(waiting) = self.waiting.try_lock()
            && waiting.try_recv().is_ok()
        {}
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
