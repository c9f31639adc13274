//! A thread for work that takes long, piece by piece: while it works, sessions go on.
//!
//! Each owner of work has an equal share of the thread, and the pieces of one owner have their turns: so small work is soon done, however much is asked
//! for by others. How much of an owner's work may wait is limited.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::waker::Waker;

/// Work of one owner, and of all, at most.
const OF_ONE: usize = 16;
const OF_ALL: usize = 256;

/// For whom work is done: a peer, or this host itself.
pub(crate) type Owner = Option<IpAddr>;

/// The owner of what a peer asks for: its address, or its 64-bit subnet of IPv6 (RFC 4291 §2.5.4), which one peer is likely to control.
pub(crate) fn network(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Work that is done in pieces.
pub(crate) trait Work: Send + 'static {
    /// What comes of it.
    type Output: Send + 'static;

    /// Does a piece, and may give something. Returns the bytes that it has read, or `None` if that was the last piece.
    fn piece(&mut self, give: &mut dyn FnMut(Self::Output)) -> Option<u64>;
}

/// Identifies work. Never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkId(u64);

/// What the thread and its user share.
#[derive(Debug)]
struct Shared<W> {
    queue: Mutex<Queue<W>>,
    more: Condvar,
    read: AtomicU64,
}

#[derive(Debug)]
struct Queue<W> {
    /// Work that waits for its turn, but for the piece that is done now.
    lines: BTreeMap<Owner, VecDeque<(WorkId, W)>>,
    /// Owners with work, in order of their turns.
    turns: VecDeque<Owner>,
    /// What the thread is doing.
    now: Option<(WorkId, Owner)>,
    /// The thread is to drop what it is doing.
    withdrawn: bool,
    closed: bool,
    /// Wakes the thread that takes the results.
    waker: Option<Waker>,
}

impl<W> Queue<W> {
    fn of(&self, owner: Owner) -> usize {
        let now = self.now.is_some_and(|(_, of)| of == owner);
        self.lines.get(&owner).map_or(0, VecDeque::len) + usize::from(now)
    }

    fn push(&mut self, owner: Owner, id: WorkId, work: W) {
        let line = self.lines.entry(owner).or_default();
        if line.is_empty() {
            self.turns.push_back(owner);
        }
        line.push_back((id, work));
    }

    /// The next piece, whose owner then waits for its next turn.
    fn pop(&mut self) -> Option<(Owner, WorkId, W)> {
        let owner = self.turns.pop_front()?;
        let line = self.lines.get_mut(&owner)?;
        let (id, work) = line.pop_front()?;
        if line.is_empty() {
            self.lines.remove(&owner);
        } else {
            self.turns.push_back(owner);
        }
        self.now = Some((id, owner));
        Some((owner, id, work))
    }

    fn remove(&mut self, id: WorkId) {
        if self.now.is_some_and(|(now, _)| now == id) {
            self.withdrawn = true;
        }
        self.lines.values_mut().for_each(|line| line.retain(|(other, _)| *other != id));
        self.lines.retain(|_, line| !line.is_empty());
        let lines = &self.lines;
        self.turns.retain(|owner| lines.contains_key(owner));
    }
}

impl<W> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, Queue<W>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Both ends of the channel for what comes of work.
type Results<T> = (Sender<(WorkId, T)>, Receiver<(WorkId, T)>);

/// Does work on a thread of its own. On drop, the thread ends after its current piece, and nobody waits for it: a disk may not answer.
#[derive(Debug)]
pub(crate) struct Worker<W: Work> {
    shared: Arc<Shared<W>>,
    results: Results<W::Output>,
    is_running: bool,
    next: u64,
}

impl<W: Work> Worker<W> {
    /// The thread begins with the first work.
    pub(crate) fn new() -> Self {
        let queue = Queue {
            lines: BTreeMap::new(),
            turns: VecDeque::new(),
            now: None,
            withdrawn: false,
            closed: false,
            waker: None,
        };
        let shared = Shared { queue: Mutex::new(queue), more: Condvar::new(), read: AtomicU64::new(0) };
        Self { shared: Arc::new(shared), results: mpsc::channel(), is_running: false, next: 0 }
    }

    /// `waker` wakes the thread that takes the results.
    pub(crate) fn set_waker(&mut self, waker: Waker) {
        self.shared.lock().waker = Some(waker);
    }

    /// Whether there is room for more work of that owner. What this host wants for itself always has room.
    pub(crate) fn has_room(&self, owner: Owner) -> bool {
        let queue = self.shared.lock();
        let of_peers =
            queue.lines.iter().filter(|(owner, _)| owner.is_some()).map(|(_, line)| line.len()).sum::<usize>();
        owner.is_none() || queue.of(owner) < OF_ONE && of_peers < OF_ALL
    }

    /// Begins work.
    pub(crate) fn start(&mut self, owner: Owner, work: W) -> WorkId {
        let id = WorkId(self.next);
        self.next += 1;
        if !self.is_running {
            self.is_running = self.run();
        }
        if self.is_running {
            self.shared.lock().push(owner, id, work);
            self.shared.more.notify_one();
        } else {
            // The system cannot start a thread.
            let mut work = work;
            while work.piece(&mut |output| _ = self.results.0.send((id, output))).is_some() {}
        }
        id
    }

    fn run(&self) -> bool {
        let (shared, results) = (Arc::clone(&self.shared), self.results.0.clone());
        let loops = move || {
            let mut queue = shared.lock();
            loop {
                queue = shared
                    .more
                    .wait_while(queue, |queue| queue.turns.is_empty() && !queue.closed)
                    .unwrap_or_else(PoisonError::into_inner);
                if queue.closed {
                    return;
                }
                let Some((owner, id, mut work)) = queue.pop() else { continue };
                drop(queue);
                let mut gives = false;
                let read = work.piece(&mut |output| {
                    gives = true;
                    // The receiving end is gone only when no result is taken any more.
                    let _ = results.send((id, output));
                });
                shared.read.fetch_add(read.unwrap_or(0), Ordering::Relaxed);
                queue = shared.lock();
                queue.now = None;
                if !std::mem::take(&mut queue.withdrawn) && read.is_some() {
                    queue.push(owner, id, work);
                }
                if let Some(waker) = queue.waker.as_ref().filter(|_| gives) {
                    waker.wake();
                }
            }
        };
        thread::Builder::new().name("read".to_owned()).spawn(loops).is_ok()
    }

    /// Gives work up.
    pub(crate) fn withdraw(&mut self, id: WorkId) {
        self.shared.lock().remove(id);
    }

    /// The next result. Withdrawn work may still give one.
    pub(crate) fn take(&mut self) -> Option<(WorkId, W::Output)> {
        self.results.1.try_recv().ok()
    }

    /// Waits for the next result.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<(WorkId, W::Output)> {
        self.results.1.recv_timeout(limit).ok()
    }

    /// Bytes that were read for anybody so far.
    pub(crate) fn read(&self) -> u64 {
        self.shared.read.load(Ordering::Relaxed)
    }
}

impl<W: Work> Drop for Worker<W> {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.closed = true;
        let dropped = (std::mem::take(&mut queue.lines), std::mem::take(&mut queue.turns));
        drop(queue);
        drop(dropped);
        self.shared.more.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// Work that gives its name after so many pieces, each of which waits until it is allowed.
    struct Slow {
        name: &'static str,
        pieces: u64,
        allowed: Arc<Mutex<Receiver<()>>>,
    }

    impl Work for Slow {
        type Output = &'static str;

        fn piece(&mut self, give: &mut dyn FnMut(Self::Output)) -> Option<u64> {
            self.allowed.lock().expect("no panic").recv().ok()?;
            self.pieces -= 1;
            if self.pieces > 0 {
                return Some(10);
            }
            give(self.name);
            None
        }
    }

    struct Scene {
        worker: Worker<Slow>,
        allow: Sender<()>,
        allowed: Arc<Mutex<Receiver<()>>>,
    }

    fn scene() -> Scene {
        let (allow, allowed) = mpsc::channel();
        Scene { worker: Worker::new(), allow, allowed: Arc::new(Mutex::new(allowed)) }
    }

    fn peer(n: u8) -> Owner {
        Owner::from(IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)))
    }

    impl Scene {
        fn start(&mut self, owner: Owner, name: &'static str, pieces: u64) -> WorkId {
            let allowed = Arc::clone(&self.allowed);
            self.worker.start(owner, Slow { name, pieces, allowed })
        }

        fn allow(&self, pieces: u64) {
            (0..pieces).for_each(|_| self.allow.send(()).expect("it works"));
        }

        fn wait(&mut self) -> &'static str {
            self.worker.wait(Duration::from_secs(60)).expect("a result").1
        }
    }

    #[test]
    fn owners_have_equal_shares_and_small_work_overtakes_large_work() {
        let mut scene = scene();
        scene.start(peer(1), "huge", u64::MAX);
        for name in ["a", "b", "c", "d"] {
            scene.start(peer(1), name, 2);
        }
        scene.start(peer(2), "of another", 3);
        scene.start(None, "own", 3);
        scene.allow(1000);
        let order: Vec<&str> = (0..6).map(|_| scene.wait()).collect();
        let place = |name: &str| order.iter().position(|other| *other == name).expect("there");
        assert!(place("of another") < place("a") && place("own") < place("a"), "{order:?}");
        assert!(place("a") < place("b") && place("c") < place("d"), "{order:?}");
        assert!(scene.worker.take().is_none(), "the huge one goes on");
    }

    #[test]
    fn no_owner_queues_much_and_all_together_neither() {
        let mut scene = scene();
        // No piece is allowed: nothing is ever done.
        for n in 0..OF_ONE {
            assert!(scene.worker.has_room(peer(1)), "{n}");
            scene.start(peer(1), "waits", 1);
        }
        assert!(!scene.worker.has_room(peer(1)) && scene.worker.has_room(peer(2)) && scene.worker.has_room(None));
        for n in 2..=(OF_ALL / OF_ONE) as u8 + 1 {
            (0..OF_ONE).filter(|_| scene.worker.has_room(peer(n))).count();
            for _ in 0..OF_ONE {
                if scene.worker.has_room(peer(n)) {
                    scene.start(peer(n), "waits", 1);
                }
            }
        }
        assert!(!scene.worker.has_room(peer(200)) && scene.worker.has_room(None));
    }

    #[test]
    fn what_is_withdrawn_is_not_done_and_its_room_is_free() {
        let mut scene = scene();
        let first = scene.start(peer(1), "first", u64::MAX);
        let others: Vec<WorkId> = (1..OF_ONE).map(|_| scene.start(peer(1), "others", 1)).collect();
        for &id in &others {
            scene.worker.withdraw(id);
        }
        assert!(scene.worker.has_room(peer(1)));
        scene.worker.withdraw(first);
        scene.start(peer(1), "last", 2);
        // One piece of the first may be under way.
        scene.allow(3);
        assert_eq!(scene.wait(), "last");
        assert!(scene.worker.take().is_none());
    }

    #[test]
    fn whoever_drops_it_does_not_wait_for_a_piece_that_lasts_for_ever() {
        let mut scene = scene();
        scene.start(peer(1), "never", 1);
        let Scene { worker, allow, .. } = scene;
        drop(worker);
        drop(allow);
    }
}
