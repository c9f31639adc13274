//! A UDP socket: batches in, batches out, traffic classes and explicit congestion notification, multicast groups.
//!
//! A fast sender spends its time on system calls. So datagrams for one address are sent together (UDP segmentation offload where the kernel has it),
//! and those that have arrived are received together (`recvmmsg`, receive offload).

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use anabranch_host::Marking;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Socket as Options, Type};

/// The largest datagram, or run of datagrams that the kernel has coalesced.
const LARGEST: usize = 65_535;
/// Maximum number of routers that a multicast packet may pass: it stays in the data centre.
const MULTICAST_HOPS: u32 = 8;

/// A UDP socket that never blocks.
#[derive(Debug)]
pub struct Socket {
    udp: UdpSocket,
    state: UdpSocketState,
    /// Datagrams that one call may send.
    segments: AtomicUsize,
}

impl Socket {
    /// Requested size of each kernel buffer: 16 ms at 2 Gbit/s. The kernel may grant less (`net.core.rmem_max` and `net.core.wmem_max` on Linux).
    pub const BUFFER: usize = 4 << 20;

    /// A socket bound to this address; port 0 picks a free port.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::from_options(&open(address)?, address)
    }

    /// A socket that receives the packets to a multicast group (IGMP, or MLD with IPv6) on the interface that has this address, or on one that the
    /// system chooses if it is unspecified. Several processes may share a group's port.
    ///
    /// # Errors
    ///
    /// Any error of the system; [`io::ErrorKind::InvalidInput`] if `group` is not a multicast address.
    pub fn join(group: SocketAddr, interface: IpAddr) -> io::Result<Self> {
        if !group.ip().is_multicast() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is not a multicast address", group.ip()),
            ));
        }
        let options = open(group)?;
        options.set_reuse_address(true)?;
        // Bound to the group's address, it receives no packets for other addresses.
        let joined = Self::from_options(&options, group)?;
        match (group.ip(), interface) {
            (IpAddr::V4(group), IpAddr::V4(interface)) => joined.udp.join_multicast_v4(&group, &interface)?,
            (IpAddr::V4(group), IpAddr::V6(_)) => joined.udp.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?,
            // IPv6 names interfaces by number: the scope of the group's address, or the system's choice.
            (IpAddr::V6(address), _) => joined.udp.join_multicast_v6(&address, scope(group))?,
        }
        Ok(joined)
    }

    fn from_options(options: &Options, address: SocketAddr) -> io::Result<Self> {
        options.bind(&SockAddr::from(address))?;
        let udp = UdpSocket::from(options.try_clone()?);
        let state = UdpSocketState::new(UdpSockRef::from(&udp))?;
        let segments = state.max_gso_segments().into();
        Ok(Self { udp, state, segments })
    }

    /// Sends multicast on the interface that has this address.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn set_multicast_interface(&self, interface: Ipv4Addr) -> io::Result<()> {
        socket2::SockRef::from(&self.udp).set_multicast_if_v4(&interface)
    }

    /// Sends multicast of IPv6 on the interface with this number.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn set_multicast_interface_v6(&self, index: u32) -> io::Result<()> {
        socket2::SockRef::from(&self.udp).set_multicast_if_v6(index)
    }

    /// The address that the socket is bound to.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Size of the kernel's receive buffer in bytes.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn receive_buffer(&self) -> io::Result<usize> {
        self.state.recv_buffer_size(UdpSockRef::from(&self.udp))
    }

    /// Size of the kernel's send buffer in bytes.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn send_buffer(&self) -> io::Result<usize> {
        self.state.send_buffer_size(UdpSockRef::from(&self.udp))
    }

    /// Datagrams that the kernel may deliver as one: more than 1 if it has receive offload.
    pub fn received_segments(&self) -> usize {
        self.state.gro_segments()
    }

    /// Datagrams that one call of [`send`](Self::send) may carry.
    pub fn segments(&self) -> usize {
        self.segments.load(Ordering::Relaxed)
    }

    /// Sends `contents` as datagrams of `segment` bytes, of which the last may be shorter. False if the kernel has no room now: try again when the
    /// socket is writable.
    ///
    /// # Errors
    ///
    /// Any error of the system, including an address that is unreachable now: protocols have timers for that.
    pub fn send(&self, to: SocketAddr, marking: Marking, segment: usize, contents: &[u8]) -> io::Result<bool> {
        let segmented = segment < contents.len();
        match self.send_once(to, marking, segmented.then_some(segment), contents) {
            Ok(()) => Ok(true),
            Err(Errno::EAGAIN) => Ok(false),
            // The device does not segment, which only this error reveals; or datagrams of that size cannot be sent there, or none at all.
            Err(Errno::EIO | Errno::EINVAL | Errno::EMSGSIZE) if segmented => {
                self.send_each(to, marking, segment, contents)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Sends datagrams one by one after a system call for all of them has failed. The last one may be small enough for the device where the others are
    /// not.
    fn send_each(&self, to: SocketAddr, marking: Marking, segment: usize, contents: &[u8]) -> io::Result<bool> {
        let mut too_large = None;
        for datagram in contents.chunks(segment) {
            if too_large.is_some() && datagram.len() == segment {
                continue;
            }
            match self.send_once(to, marking, None, datagram) {
                Ok(()) | Err(Errno::EAGAIN) => {}
                Err(Errno::EMSGSIZE) => too_large = Some(Errno::EMSGSIZE),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(error) = too_large {
            return Err(error.into());
        }
        self.segments.store(1, Ordering::Relaxed);
        Ok(true)
    }

    /// One system call: datagrams of `segment` bytes, or a single one.
    fn send_once(
        &self,
        to: SocketAddr,
        marking: Marking,
        segment: Option<usize>,
        contents: &[u8],
    ) -> Result<(), Errno> {
        let (octet, class) = (marking.octet(), i32::from(marking.octet()));
        // An IPv6 socket reaches IPv4 addresses by IPv4, and the octet goes into the IPv4 header.
        let class = match to.ip().to_canonical() {
            IpAddr::V4(_) => ControlMessage::Ipv4Tos(&octet),
            IpAddr::V6(_) => ControlMessage::Ipv6TClass(&class),
        };
        let size = segment.map_or(0, |bytes| u16::try_from(bytes).expect("a datagram"));
        let messages = [class, ControlMessage::UdpGsoSegments(&size)];
        let messages = if segment.is_some() { &messages[..] } else { &messages[..1] };
        let (contents, to) = ([IoSlice::new(contents)], SockaddrStorage::from(to));
        loop {
            match sendmsg(self.udp.as_raw_fd(), &contents, messages, MsgFlags::empty(), Some(&to)) {
                Err(Errno::EINTR) => {}
                sent => return sent.map(|_| ()),
            }
        }
    }

    /// Receives a batch of datagrams from the kernel, replacing the previous batch. False if nothing had arrived.
    ///
    /// # Errors
    ///
    /// Any error of the system.
    pub fn receive(&self, arrivals: &mut Arrivals) -> io::Result<bool> {
        arrivals.count = 0;
        let mut buffers = arrivals.buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
        arrivals.count = match self.state.recv(UdpSockRef::from(&self.udp), &mut buffers, &mut arrivals.meta) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            // An earlier datagram was not delivered (ICMP): that is not this socket's fault.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(true),
            Err(error) => return Err(error),
        };
        Ok(true)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.udp.as_fd()
    }
}

/// A batch of received datagrams, and memory for it: some 2 MB.
#[derive(Debug)]
pub struct Arrivals {
    /// Buffers in use.
    count: usize,
    buffers: [Box<[u8]>; BATCH_SIZE],
    meta: [RecvMeta; BATCH_SIZE],
}

impl Default for Arrivals {
    fn default() -> Self {
        let buffers = std::array::from_fn(|_| vec![0; LARGEST].into_boxed_slice());
        Self { count: 0, buffers, meta: [RecvMeta::default(); BATCH_SIZE] }
    }
}

impl Arrivals {
    /// Hands over each datagram once: its source, whether congestion was experienced, and its bytes.
    pub fn take(&mut self, mut take: impl FnMut(SocketAddr, bool, &mut [u8])) {
        let count = std::mem::take(&mut self.count);
        for (meta, buffer) in self.meta[..count].iter().zip(&mut self.buffers) {
            let congested = meta.ecn == Some(EcnCodepoint::Ce);
            for datagram in buffer[..meta.len].chunks_mut(meta.stride.max(1)) {
                take(meta.addr, congested, datagram);
            }
        }
    }
}

fn open(address: SocketAddr) -> io::Result<Options> {
    let options = Options::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // Smaller buffers work, too: they only cost throughput.
    let _ = options.set_recv_buffer_size(Socket::BUFFER);
    let _ = options.set_send_buffer_size(Socket::BUFFER);
    if address.is_ipv4() {
        options.set_multicast_ttl_v4(MULTICAST_HOPS)?;
    } else {
        options.set_multicast_hops_v6(MULTICAST_HOPS)?;
    }
    Ok(options)
}

fn scope(address: SocketAddr) -> u32 {
    match address {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(address) => address.scope_id(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_host::{Dscp, Ecn};
    use nix::sys::socket::{ControlMessageOwned, recvmsg, setsockopt, sockopt};

    const ECT: Marking = Marking { dscp: Dscp::BEST_EFFORT, ecn: Ecn::Ect0 };

    fn pair() -> (Socket, Socket) {
        let loopback = (Ipv4Addr::LOCALHOST, 0).into();
        (Socket::bind(loopback).expect("a socket"), Socket::bind(loopback).expect("a socket"))
    }

    /// Collects datagrams, with a wait of at most a second for each batch.
    fn collect(socket: &Socket, datagrams: usize) -> Vec<(bool, Vec<u8>)> {
        let (mut arrivals, mut found) = (Arrivals::default(), Vec::new());
        while found.len() < datagrams {
            let mut poll = [rustix::event::PollFd::new(socket, rustix::event::PollFlags::IN)];
            let limit = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };
            if rustix::event::poll(&mut poll, Some(&limit)).expect("poll") == 0 {
                break;
            }
            socket.receive(&mut arrivals).expect("datagrams");
            arrivals.take(|_, ce, bytes| found.push((ce, bytes.to_vec())));
        }
        found
    }

    #[test]
    fn a_batch_arrives_as_its_datagrams() {
        let (a, b) = pair();
        let contents: Vec<u8> = (0..2500).map(|i| (i / 1000) as u8).collect();
        assert!(a.send(b.local_address().expect("an address"), ECT, 1000, &contents).expect("sent"));
        let found = collect(&b, 3);
        assert_eq!(found, [(false, vec![0; 1000]), (false, vec![1; 1000]), (false, vec![2; 500])]);
    }

    #[test]
    fn an_address_that_takes_nothing_does_not_make_sending_to_others_slower() {
        let (a, b) = pair();
        let segments = a.segments();
        // A forged source port cannot be answered.
        let nowhere = (Ipv4Addr::LOCALHOST, 0).into();
        for contents in [&[0; 1200][..], &[0; 600]] {
            let error = a.send(nowhere, ECT, 600, contents).expect_err("no port");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        assert_eq!(a.segments(), segments);
        assert!(a.send(b.local_address().expect("an address"), ECT, 600, &[0; 1200]).expect("sent"));
        assert_eq!(collect(&b, 2).len(), 2);
    }

    /// The octet of the IP header that the next datagram came with.
    fn arrived_octet(socket: &Socket) -> u8 {
        let mut poll = [rustix::event::PollFd::new(socket, rustix::event::PollFlags::IN)];
        let limit = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(&mut poll, Some(&limit)), Ok(1));
        let (mut bytes, mut space) = ([0; 2000], nix::cmsg_space!([u8; 256]));
        let mut buffer = [IoSliceMut::new(&mut bytes)];
        let descriptor = socket.as_fd().as_raw_fd();
        let message = recvmsg::<SockaddrStorage>(descriptor, &mut buffer, Some(&mut space), MsgFlags::empty());
        let octet = |message| match message {
            ControlMessageOwned::Ipv4Tos(octet) => Some(octet),
            ControlMessageOwned::Ipv6TClass(class) => Some(class as u8),
            _ => None,
        };
        message.expect("a datagram").cmsgs().expect("whole").find_map(octet).expect("the octet")
    }

    #[test]
    fn datagrams_have_their_marking_by_ipv4_by_ipv6_and_by_ipv4_from_an_ipv6_socket() {
        let any = |address: &str| Socket::bind(address.parse().expect("an address"));
        for (from, to) in [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "[::1]:0"), ("[::]:0", "127.0.0.1:0")] {
            let (Ok(from), Ok(to)) = (any(from), any(to)) else {
                eprintln!("skipped: this host has no IPv6");
                continue;
            };
            let mut target = to.local_address().expect("an address");
            if target.is_ipv4() {
                setsockopt(&to, sockopt::IpRecvTos, &true).expect("an option");
                if let (true, IpAddr::V4(ip)) = (from.local_address().expect("an address").is_ipv6(), target.ip()) {
                    target.set_ip(ip.to_ipv6_mapped().into());
                }
            } else {
                setsockopt(&to, sockopt::Ipv6RecvTClass, &true).expect("an option");
            }
            let dscp = "AF41".parse().expect("a class");
            for marking in [Marking { dscp, ecn: Ecn::Ect0 }, Marking { dscp, ecn: Ecn::NotEct }, Marking::default()] {
                // One, and two in one call.
                assert!(from.send(target, marking, 600, &[0; 600]).expect("sent"));
                assert_eq!(arrived_octet(&to), marking.octet(), "to {target}");
                assert!(from.send(target, marking, 600, &[0; 1200]).expect("sent"));
                assert_eq!(arrived_octet(&to), marking.octet(), "to {target}");
                while collect_now(&to) {}
            }
        }
    }

    /// Discards a batch that is there. Returns whether there was one.
    fn collect_now(socket: &Socket) -> bool {
        socket.receive(&mut Arrivals::default()).expect("no error")
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_fragmented() {
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(socket) = Socket::bind(address.parse().expect("an address")) else {
                eprintln!("skipped: this host has no IPv6");
                continue;
            };
            assert!(!socket.state.may_fragment(), "{address}");
        }
    }

    #[test]
    fn nothing_to_receive_is_no_error() {
        let (a, b) = pair();
        assert!(!a.receive(&mut Arrivals::default()).expect("no error"));
        // Port 9 of the loopback discards, or answers that the port is unreachable; the next call must not fail for it.
        let gone = b.local_address().expect("an address");
        drop(b);
        assert!(a.send(gone, Marking::default(), 10, &[0; 10]).expect("sent"));
        assert_eq!(collect(&a, 1), []);
    }

    #[test]
    fn a_group_must_be_one() {
        let error = Socket::join((Ipv4Addr::LOCALHOST, 0).into(), Ipv4Addr::UNSPECIFIED.into()).expect_err("no group");
        assert!(error.to_string().contains("not a multicast address"), "{error}");
    }
}
