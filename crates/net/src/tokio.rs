//! Transfers as futures, for programs that run on tokio (feature `tokio`).
//!
//! An [`AsyncEndpoint`] is an [`Endpoint`] whose sessions run on a thread of its own, named `scdp-PORT`. Its methods are the functions of the crate's
//! root; each returns a [`Transfer`], a future of that function's result, and [`Reports`], a stream of what happens meanwhile. A transfer that is
//! dropped is cancelled, and its peers are notified.
//!
//! Why a thread: an endpoint sends at times that are tens of microseconds apart and spends short waits polling the socket, while tokio's timers have
//! a resolution of [milliseconds](https://docs.rs/tokio/latest/tokio/time/fn.sleep.html) and its tasks must not block a thread. So the loop stays as
//! it is, and a [`Waker`] and channels connect to it. The channels are from tokio's `sync` only: any executor will do, and a runtime needs neither
//! timers nor IO.
//!
//! Everything else is synchronous: [`Input::open`], which reads a whole file, belongs on
//! [`spawn_blocking`](https://docs.rs/tokio/latest/tokio/task/fn.spawn_blocking.html).
//!
//! ```
//! use anabranch_net::tokio::AsyncEndpoint;
//! use anabranch_net::{Endpoint, HostConfig, Input, Protection, ReceiveOptions, Report};
//!
//! async fn replicate() -> Result<(), Box<dyn std::error::Error>> {
//!     // Both ends need the same key: `Protection::Psk`. Without one, anybody can send anything.
//!     let address = "127.0.0.1:0".parse()?;
//!     let bind = || AsyncEndpoint::new(Endpoint::bind(address, HostConfig::new(Protection::None))?);
//!     let (source, target) = (tempfile::tempdir()?, tempfile::tempdir()?);
//!     std::fs::write(source.path().join("rivers.txt"), "where they meet")?;
//!
//!     let mut receiver = bind()?;
//!     let to = vec![receiver.local_address()];
//!     let (receiving, mut received) = receiver.receive_dir(target.path(), ReceiveOptions::default());
//!
//!     let mut sender = bind()?;
//!     let path = source.path().join("rivers.txt");
//!     let file = tokio::task::spawn_blocking(move || Input::open(&path, None)).await??;
//!     let (sending, _) = sender.send_files(vec![file], to, None);
//!     let outcomes = sending.await?;
//!     assert!(outcomes[0][0].as_ref().is_some_and(|outcome| outcome.is_success()));
//!
//!     while let Some(report) = received.next().await {
//!         if let Report::Received { manifest } = report {
//!             println!("{}: {} B", manifest.name, manifest.size);
//!             break;
//!         }
//!     }
//! // It would receive forever.
//!     drop(receiving);
//!     receiver.close().await;
//!     assert_eq!(std::fs::read_to_string(target.path().join("rivers.txt"))?, "where they meet");
//!     Ok(())
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! tokio::runtime::Builder::new_current_thread().build()?.block_on(replicate())
//! # }
//! ```

mod reports;

use std::future::Future;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, ready};
use std::thread::{self, JoinHandle};

use ::tokio::sync::oneshot;
use anabranch_host::Manifest;

use crate::{
    Endpoint, Input, NetError, Outcomes, ReceiveOptions, Report, Shelf, Waker, Wanted, fetch, receive_dir, send_files,
    serve, serve_shelf,
};
pub use reports::Reports;

/// Work for the thread.
type Job = Box<dyn FnOnce(&mut Endpoint) + Send>;

/// An [`Endpoint`] whose sessions run on a thread of its own, one [`Transfer`] at a time.
///
/// On drop, it cancels the current transfer without waiting: its thread notifies the peers, which may take two seconds, finishes writing complete
/// files to the disk, and ends. [`close`](Self::close) waits for that.
#[derive(Debug)]
pub struct AsyncEndpoint {
    address: SocketAddr,
    waker: Waker,
    /// `None` when there will be no more jobs.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<Endpoint>>,
    /// Closed when the thread ends.
    ended: oneshot::Receiver<()>,
    /// Stops the last transfer.
    stop: Stop,
}

/// A transfer in progress: a future of its result. It proceeds whether it is polled or not; on drop it is cancelled.
#[derive(Debug)]
#[must_use = "a transfer that is dropped is cancelled"]
pub struct Transfer<'a, T> {
    result: oneshot::Receiver<Result<T, NetError>>,
    waker: Waker,
    stop: Stop,
    /// Only one transfer at a time.
    endpoint: PhantomData<&'a mut AsyncEndpoint>,
}

/// Whether a transfer is to be stopped.
#[derive(Clone, Debug, Default)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Stops the transfer now, if the endpoint is running it.
    fn stop(&self, waker: &Waker) {
        self.0.store(true, Ordering::Release);
        waker.interrupt();
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.0.load(Ordering::Acquire) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl AsyncEndpoint {
    /// Runs an endpoint, which may have joined groups, on a thread of its own.
    ///
    /// # Errors
    ///
    /// [`NetError::Socket`]: the system cannot start a thread, or the socket has no address.
    pub fn new(mut endpoint: Endpoint) -> Result<Self, NetError> {
        let (address, waker) = (endpoint.local_address()?, endpoint.waker());
        let (jobs, queue) = mpsc::channel::<Job>();
        let (ends, ended) = oneshot::channel::<()>();
        let work = move || {
            let _ends = ends;
            while let Ok(job) = queue.recv() {
                job(&mut endpoint);
            }
            endpoint
        };
        let thread = thread::Builder::new().name(format!("scdp-{}", address.port())).spawn(work);
        let thread = thread.map_err(|error| NetError::Socket { what: "start a thread".to_owned(), error })?;
        Ok(Self { address, waker, jobs: Some(jobs), thread: Some(thread), ended, stop: Stop::default() })
    }

    /// The address that the endpoint is bound to.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// As [`send_files`].
    pub fn send_files(
        &mut self,
        files: Vec<Input>,
        to: Vec<SocketAddr>,
        group: Option<SocketAddr>,
    ) -> (Transfer<'_, Vec<Outcomes>>, Reports) {
        self.start(move |endpoint, report| send_files(endpoint, &files, &to, group, report))
    }

    /// As [`receive_dir`]: until it is dropped.
    pub fn receive_dir(
        &mut self,
        directory: impl Into<PathBuf>,
        options: ReceiveOptions,
    ) -> (Transfer<'_, ()>, Reports) {
        let directory = directory.into();
        self.start(move |endpoint, report| receive_dir(endpoint, &directory, &options, report))
    }

    /// As [`fetch`].
    pub fn fetch(
        &mut self,
        object: Wanted,
        from: Vec<SocketAddr>,
        directory: impl Into<PathBuf>,
        options: ReceiveOptions,
    ) -> (Transfer<'_, Manifest>, Reports) {
        let directory = directory.into();
        self.start(move |endpoint, report| fetch(endpoint, &object, &from, &directory, &options, report))
    }

    /// As [`serve`]: until it is dropped.
    pub fn serve(&mut self, directory: impl Into<PathBuf>) -> (Transfer<'_, ()>, Reports) {
        let directory = directory.into();
        self.start(move |endpoint, report| serve(endpoint, &directory, report))
    }

    /// As [`serve_shelf`]: until it is dropped.
    pub fn serve_shelf(&mut self, mut shelf: Shelf) -> (Transfer<'_, ()>, Reports) {
        self.start(move |endpoint, report| serve_shelf(endpoint, &mut shelf, report))
    }

    /// Ends the thread and returns its endpoint, with no session left. Waits for transfers that were cancelled before.
    ///
    /// # Panics
    ///
    /// If the thread has panicked: with the same message.
    pub async fn close(mut self) -> Endpoint {
        self.end();
        let _ = (&mut self.ended).await;
        let thread = self.thread.take().expect("it is taken here alone");
        // The thread has finished all its work.
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Cancels the current transfer; no further one begins.
    fn end(&mut self) {
        self.jobs = None;
        self.stop.stop(&self.waker);
    }

    /// The thread runs this job after the earlier ones.
    fn start<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Endpoint, &mut dyn FnMut(Report) -> ControlFlow<()>) -> Result<T, NetError> + Send + 'static,
    ) -> (Transfer<'_, T>, Reports) {
        let (tell, result) = oneshot::channel();
        let (reporter, reports) = reports::channel();
        let stop = Stop::default();
        // A transfer that was leaked (`mem::forget`) is still running, and nothing else could end it. Other transfers are over, or stopped.
        std::mem::replace(&mut self.stop, stop.clone()).stop(&self.waker);
        let transfer = Transfer { result, waker: self.waker.clone(), stop: stop.clone(), endpoint: PhantomData };
        let job = move |endpoint: &mut Endpoint| {
            if stop.flow().is_break() {
                return;
            }
            let result = work(endpoint, &mut |report| {
                reporter.push(report);
                stop.flow()
            });
            drop(reporter);
            // The transfer may have been dropped.
            let _ = tell.send(result);
        };
        // If the thread has panicked, the transfer finds that out.
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Box::new(job));
        }
        (transfer, reports)
    }
}

impl Drop for AsyncEndpoint {
    fn drop(&mut self) {
        self.end();
    }
}

impl<T> Future for Transfer<'_, T> {
    type Output = Result<T, NetError>;

    /// # Panics
    ///
    /// If the endpoint's thread has panicked.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(Pin::new(&mut self.result).poll(context));
        Poll::Ready(result.expect("the thread of the endpoint has panicked"))
    }
}

impl<T> Drop for Transfer<'_, T> {
    fn drop(&mut self) {
        if !self.result.is_terminated() {
            self.stop.stop(&self.waker);
        }
    }
}
