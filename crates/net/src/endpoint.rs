//! One UDP socket and its sessions: the loop that drives the host layer.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_host::{Host, HostConfig, HostEvent, Marking, Received, SessionId};
use anabranch_transport::Time;
use rustix::event::{PollFd, PollFlags};

use crate::NetError;
use crate::busy_poll::BusyPoll;
use crate::clock::Clock;
use crate::interface::Interface;
use crate::socket::{Arrivals, Socket};
use crate::waker::{Waker, Wakes};

/// Maximum number of bytes sent in one system call: the size limit of an IP packet, which the kernel segments.
const BATCH_BYTES: usize = 65_000;

/// Batches that are received before anything is sent: packets that arrive faster than they are answered must not delay pulls.
const BATCHES: usize = 4;

/// A batch that the kernel had no room for.
#[derive(Debug, Default)]
struct Batch {
    contents: Vec<u8>,
    /// Bytes of each datagram; the last may be shorter.
    segment: usize,
    marking: Marking,
    /// Destinations that have not got it yet.
    to: VecDeque<SocketAddr>,
}

/// A multicast group that the endpoint receives.
#[derive(Debug)]
struct Group {
    address: SocketAddr,
    interface: IpAddr,
    /// `None` while the endpoint has left the group.
    joined: Option<Socket>,
    arrivals: Arrivals,
}

/// A UDP socket with its sessions.
#[derive(Debug)]
pub struct Endpoint {
    host: Host,
    socket: Socket,
    groups: Vec<Group>,
    /// A session has begun or ended, or left its group: groups may have to be left or joined again.
    groups_change: bool,
    clock: Clock,
    arrivals: Arrivals,
    batch: Batch,
    /// The first datagram after the batch.
    next: Vec<u8>,
    next_to: Vec<SocketAddr>,
    next_marking: Marking,
    /// The system's last error for a datagram that was sent. Sessions have timers for that; the error explains why they fail.
    send_error: Option<io::Error>,
    sent_bytes: u64,
    busy_poll: BusyPoll,
    wakes: Wakes,
}

impl Endpoint {
    /// An endpoint bound to this address; port 0 picks a free port.
    ///
    /// # Errors
    ///
    /// [`NetError::Socket`] and [`NetError::Config`].
    pub fn bind(address: SocketAddr, config: HostConfig) -> Result<Self, NetError> {
        config.validate().map_err(NetError::Config)?;
        let failed = |what: String| move |error| NetError::Socket { what, error };
        let socket = Socket::bind(address).map_err(failed(format!("bind a UDP socket to {address}")))?;
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| failed("draw random bytes".to_owned())(error.into()))?;
        Ok(Self {
            host: Host::new(config, seed),
            socket,
            groups: Vec::new(),
            groups_change: false,
            clock: Clock::start(),
            arrivals: Arrivals::default(),
            batch: Batch::default(),
            next: Vec::new(),
            next_to: Vec::new(),
            next_marking: Marking::default(),
            send_error: None,
            sent_bytes: 0,
            busy_poll: BusyPoll::default(),
            wakes: Wakes::new().map_err(failed("make a pipe".to_owned()))?,
        })
    }

    /// Receives packets to a multicast group, on the interface that has the address `interface` (unspecified: the system chooses).
    ///
    /// # Errors
    ///
    /// [`NetError::Socket`].
    pub fn join(&mut self, group: SocketAddr, interface: IpAddr) -> Result<(), NetError> {
        let joined = Socket::join(group, interface);
        let joined = joined.map_err(|error| NetError::Socket { what: format!("join the group {group}"), error })?;
        self.groups.push(Group { address: group, interface, joined: Some(joined), arrivals: Arrivals::default() });
        Ok(())
    }

    /// Leaves groups while no packet to them is for this host, and joins them again.
    fn tend_groups(&mut self) {
        let missing = self.groups.iter().any(|group| group.joined.is_none());
        if self.groups.is_empty() || !std::mem::take(&mut self.groups_change) && !missing {
            return;
        }
        let listens = self.host.listens_to_groups();
        for group in &mut self.groups {
            if !listens {
                group.joined = None;
            } else if group.joined.is_none() {
                // If that fails, the next turn tries again; senders send copies meanwhile.
                group.joined = Socket::join(group.address, group.interface).ok();
            }
        }
    }

    /// As [`join`](Self::join), on an interface of this host.
    ///
    /// # Errors
    ///
    /// [`NetError::Socket`]; one of kind [`io::ErrorKind::AddrNotAvailable`] if the group's addresses are of IPv4 and the interface has none.
    pub fn join_on(&mut self, mut group: SocketAddr, interface: &Interface) -> Result<(), NetError> {
        let address = interface.address_for(group.ip()).ok_or_else(|| no_ipv4(interface))?;
        if let SocketAddr::V6(group) = &mut group {
            group.set_scope_id(interface.index);
        }
        self.join(group, address)
    }

    /// Sends multicast on an interface of this host.
    ///
    /// # Errors
    ///
    /// As of [`join_on`](Self::join_on).
    pub fn set_multicast_interface(&mut self, group: SocketAddr, interface: &Interface) -> Result<(), NetError> {
        let set = match group {
            SocketAddr::V4(_) => self.socket.set_multicast_interface(interface.ipv4.ok_or_else(|| no_ipv4(interface))?),
            SocketAddr::V6(_) => self.socket.set_multicast_interface_v6(interface.index),
        };
        set.map_err(|error| NetError::Socket { what: format!("send multicast on {}", interface.name), error })
    }

    /// The address that the endpoint is bound to.
    ///
    /// # Errors
    ///
    /// [`NetError::Socket`].
    pub fn local_address(&self) -> Result<SocketAddr, NetError> {
        let address = self.socket.local_address();
        address.map_err(|error| NetError::Socket { what: "tell the address of a socket".to_owned(), error })
    }

    /// The sessions.
    pub fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    /// The time of the sessions, counted from the creation of the endpoint.
    pub fn now(&self) -> Time {
        Time(u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000))
    }

    /// The system's last error for a datagram that it could not send.
    pub fn send_error(&self) -> Option<&io::Error> {
        self.send_error.as_ref()
    }

    /// Bytes of all datagrams that were handed to the system, without UDP and IP headers. A datagram to a group counts once.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Whether the kernel had no room for a datagram that was to be sent.
    pub(crate) fn is_blocked(&self) -> bool {
        !self.batch.to.is_empty() || !self.next.is_empty()
    }

    /// Ends a [turn](Self::turn)'s wait from another thread.
    pub fn waker(&self) -> Waker {
        self.wakes.waker()
    }

    /// Whether to ask the caller now if it wants to continue.
    pub(crate) fn take_interrupt(&self) -> bool {
        self.wakes.take_interrupt()
    }

    /// Waits until something happens, but no longer than `limit`, and handles it. Hands the events of the sessions to `take`, with the host to answer
    /// them.
    ///
    /// # Errors
    ///
    /// [`NetError::Socket`]: the socket does not work any more.
    pub fn turn(
        &mut self,
        limit: Duration,
        mut take: impl FnMut(&mut Host, Time, SessionId, HostEvent),
    ) -> Result<(), NetError> {
        let blocked = !self.flush();
        self.drain(&mut take);
        let now = self.now();
        let timer =
            self.host.poll_timeout().map_or(limit, |at| Duration::from_nanos(at.since(now).ps().div_ceil(1000)));
        self.wait(timer.min(limit), blocked)?;
        self.receive(&mut take)?;
        let now = self.now();
        if self.host.poll_timeout().is_some_and(|at| at <= now) {
            self.host.handle_timeout(now);
        }
        self.drain(&mut take);
        self.flush();
        self.drain(&mut take);
        self.tend_groups();
        Ok(())
    }

    fn drain(&mut self, take: &mut impl FnMut(&mut Host, Time, SessionId, HostEvent)) {
        let now = self.now();
        while let Some((id, event)) = self.host.poll_event() {
            self.groups_change |= concerns_groups(&event);
            take(&mut self.host, now, id, event);
        }
    }

    /// Waits for a socket, or until `limit` has passed.
    fn wait(&mut self, limit: Duration, blocked: bool) -> Result<(), NetError> {
        let events = if blocked { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let Self { host, busy_poll, wakes, socket, groups, .. } = self;
        let mut sockets = vec![PollFd::new(&*wakes, PollFlags::IN), PollFd::new(&*socket, events)];
        let groups = groups.iter().filter_map(|group| group.joined.as_ref());
        sockets.extend(groups.map(|group| PollFd::new(group, PollFlags::IN)));
        let failed = |error| NetError::Socket { what: "wait for datagrams".to_owned(), error };
        match busy_poll.wait(&mut sockets, limit, host.sessions() > 0) {
            Ok(_) if sockets[0].revents().contains(PollFlags::IN) => wakes.take().map_err(failed),
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Receives what has arrived.
    ///
    /// An offer precedes the symbols that are sent to its group, but arrives at another socket. So packets to groups are taken out of the kernel
    /// first and handled last: by then, the offers of all these symbols have arrived.
    fn receive(&mut self, take: &mut impl FnMut(&mut Host, Time, SessionId, HostEvent)) -> Result<(), NetError> {
        let failed = |error| NetError::Socket { what: "receive datagrams".to_owned(), error };
        let now = self.now();
        let Self { host, socket, groups, groups_change, arrivals, .. } = self;
        for group in groups.iter_mut() {
            if let Some(joined) = &group.joined {
                joined.receive(&mut group.arrivals).map_err(failed)?;
            }
        }
        let mut handle = |arrivals: &mut Arrivals, by_group| {
            arrivals.take(|from, ce, bytes| {
                host.handle_datagram(now, Received { from, ce, by_group }, bytes);
                while let Some((id, event)) = host.poll_event() {
                    *groups_change |= concerns_groups(&event);
                    take(host, now, id, event);
                }
            });
        };
        for _ in 0..BATCHES {
            if !socket.receive(arrivals).map_err(failed)? {
                break;
            }
            handle(arrivals, false);
        }
        for group in groups.iter_mut() {
            handle(&mut group.arrivals, true);
        }
        Ok(())
    }

    /// Sends all datagrams that are due, until the kernel has no room: then returns false.
    fn flush(&mut self) -> bool {
        let now = self.now();
        loop {
            if !self.send_batch() {
                return false;
            }
            // Datagrams of one size for the same addresses, marked alike, leave together.
            let batch = &mut self.batch;
            batch.contents.clear();
            batch.contents.append(&mut self.next);
            batch.segment = batch.contents.len();
            batch.to = std::mem::take(&mut self.next_to).into();
            batch.marking = self.next_marking;
            let (mut to, most) = (Vec::new(), self.socket.segments());
            let mut count = 1;
            loop {
                let before = batch.contents.len();
                if before + batch.segment > BATCH_BYTES || count >= most && before > 0 {
                    break;
                }
                let Some(marking) = self.host.poll_transmit(now, &mut batch.contents, &mut to) else {
                    if before == 0 {
                        return true;
                    }
                    break;
                };
                let size = batch.contents.len() - before;
                if before == 0 {
                    batch.segment = size;
                    (batch.to, batch.marking) = (to.iter().copied().collect(), marking);
                    continue;
                }
                if size > batch.segment || batch.marking != marking || !batch.to.iter().eq(&to) {
                    self.next.extend_from_slice(&batch.contents[before..]);
                    self.next_to.clone_from(&to);
                    self.next_marking = marking;
                    batch.contents.truncate(before);
                    break;
                }
                count += 1;
                if size < batch.segment {
                    break;
                }
            }
        }
    }

    /// Sends the batch to the destinations that have not got it yet.
    fn send_batch(&mut self) -> bool {
        while let Some(&to) = self.batch.to.front() {
            match self.socket.send(to, self.batch.marking, self.batch.segment, &self.batch.contents) {
                Ok(true) => self.sent_bytes += self.batch.contents.len() as u64,
                Ok(false) => return false,
                Err(error) => self.send_error = Some(error),
            }
            self.batch.to.pop_front();
        }
        true
    }
}

fn no_ipv4(interface: &Interface) -> NetError {
    let what = format!("use {} for a group of IPv4: it has no address of IPv4", interface.name);
    NetError::Socket { what, error: io::ErrorKind::AddrNotAvailable.into() }
}

/// Whether an event may change which groups are of use.
fn concerns_groups(event: &HostEvent) -> bool {
    matches!(
        event,
        HostEvent::Offered { .. }
            | HostEvent::Detached
            | HostEvent::Failed(_)
            | HostEvent::Closed { .. }
            | HostEvent::Complete
    )
}
