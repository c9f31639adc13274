//! Finishes files on threads of its own: writing a file to the disk may take seconds, during which sessions must continue.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anabranch_host::SessionId;

use super::output::{Output, OutputError};
use crate::waker::Waker;

/// Maximum number of threads. They wait for the disk, which handles their concurrent writes together.
const THREADS: usize = 4;

type Finished = (SessionId, Result<(), OutputError>);

/// Files that no thread has started yet.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(SessionId, Output)>,
    /// There will be no more files.
    closed: bool,
}

/// The queue, and a signal for the threads that wait for it.
#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next file; `None` when there will be no more.
    fn next(&self) -> Option<(SessionId, Output)> {
        let idle = |queue: &mut Queue| queue.waiting.is_empty() && !queue.closed;
        let queue = self.more.wait_while(self.lock(), idle);
        queue.unwrap_or_else(PoisonError::into_inner).waiting.pop_front()
    }
}

/// Finishes files. On drop, it waits for those that it has started, and drops the others.
#[derive(Debug)]
pub(crate) struct Finisher {
    shared: Arc<Shared>,
    results: (Sender<Finished>, Receiver<Finished>),
    threads: Vec<JoinHandle<()>>,
    /// Files whose results have not been taken.
    unfinished: usize,
    waker: Waker,
}

impl Finisher {
    /// `waker` wakes the thread that takes the results.
    pub(crate) fn new(waker: Waker) -> Self {
        let (shared, results) = (Arc::default(), mpsc::channel());
        Self { shared, results, threads: Vec::new(), unfinished: 0, waker }
    }

    /// Finishes a file: compares its hash, writes it to the disk and gives it its name.
    pub(crate) fn start(&mut self, id: SessionId, output: Output) {
        self.unfinished += 1;
        if self.threads.len() < THREADS.min(self.unfinished) {
            self.add_thread();
        }
        if self.threads.is_empty() {
            // The system cannot start a thread.
            let _ = self.results.0.send((id, output.finish()));
        } else {
            self.shared.lock().waiting.push_back((id, output));
            self.shared.more.notify_one();
        }
    }

    fn add_thread(&mut self) {
        let (shared, results, waker) = (Arc::clone(&self.shared), self.results.0.clone(), self.waker.clone());
        let work = move || {
            while let Some((id, output)) = shared.next() {
                // The receiving end is gone only when no result is taken any more.
                let _ = results.send((id, output.finish()));
                waker.wake();
            }
        };
        self.threads.extend(thread::Builder::new().name("finish".to_owned()).spawn(work));
    }

    /// Takes back a file that no thread has started.
    pub(crate) fn withdraw(&mut self, id: SessionId) -> Option<Output> {
        let mut queue = self.shared.lock();
        let place = queue.waiting.iter().position(|(of, _)| *of == id)?;
        let (_, output) = queue.waiting.remove(place)?;
        drop(queue);
        self.unfinished -= 1;
        Some(output)
    }

    /// The result of a finished file.
    pub(crate) fn take(&mut self) -> Option<Finished> {
        let finished = self.results.1.try_recv().ok()?;
        self.unfinished -= 1;
        Some(finished)
    }
}

impl Drop for Finisher {
    fn drop(&mut self) {
        let waiting = {
            let mut queue = self.shared.lock();
            queue.closed = true;
            std::mem::take(&mut queue.waiting)
        };
        drop(waiting);
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waker::Wakes;
    use anabranch_host::{Manifest, ObjectName};
    use cap_std::ambient_authority;
    use cap_std::fs::Dir;

    fn output(directory: &Dir, n: u64) -> Output {
        let bytes = n.to_le_bytes();
        let name = ObjectName::new(&format!("{n}")).expect("a name");
        let manifest = Manifest { hash: *blake3::hash(&bytes).as_bytes(), size: 8, name, signature: None };
        let mut output = Output::create(directory, &manifest, false).expect("room");
        output.write_at(0, &bytes).expect("written");
        output
    }

    /// A session for each number.
    fn ids(count: u64) -> Vec<SessionId> {
        let mut host =
            anabranch_host::Host::new(anabranch_host::HostConfig::new(anabranch_host::Protection::None), [1; 32]);
        let peer = ([10, 0, 0, 1], 7).into();
        let wanted = || anabranch_host::wire::Object::Hash([0; 32]);
        (0..count).map(|_| host.fetch(anabranch_transport::Time::ZERO, wanted(), &[peer]).expect("a session")).collect()
    }

    #[test]
    fn each_file_is_finished_or_given_back_or_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a directory");
        let directory = Dir::open_ambient_dir(folder.path(), ambient_authority()).expect("opened");
        let wakes = Wakes::new().expect("a pipe");
        let (ids, mut finisher) = (ids(60), Finisher::new(wakes.waker()));
        for (n, &id) in ids.iter().enumerate() {
            finisher.start(id, output(&directory, n as u64));
        }
        let back: Vec<SessionId> = ids[30..40].iter().copied().filter(|&id| finisher.withdraw(id).is_some()).collect();
        let mut finished = Vec::new();
        // Some are finished, and the others are dropped.
        while finished.len() <= 20 {
            wakes.take().expect("woken");
            finished.extend(std::iter::from_fn(|| finisher.take()));
        }
        for (id, result) in &finished {
            assert!(result.is_ok() && !back.contains(id));
        }
        drop(finisher);
        let names: Vec<String> = std::fs::read_dir(folder.path())
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
            .collect();
        assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");
        assert!(names.len() >= finished.len() && names.len() <= 60 - back.len());
    }
}
