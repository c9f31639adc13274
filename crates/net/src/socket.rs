//! A UDP socket: batches in, batches out, explicit congestion notification, multicast groups.
//!
//! System calls are what a fast sender spends its time on. So datagrams for one address leave together (UDP segmentation
//! offload where the kernel has it), and those that have arrived are taken together (`recvmmsg`, receive offload).

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Socket as Options, Type};

/// The largest datagram, or run of datagrams that the kernel put together.
const LARGEST: usize = 65_535;
/// Most routers that a multicast packet may pass: it stays in the data centre.
const MULTICAST_HOPS: u32 = 8;

/// A UDP socket that never blocks.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl Socket {
    /// Bytes that are asked of the kernel for each direction: 16 ms at 2 Gbit/s. It may grant fewer (`net.core.rmem_max` and
    /// `net.core.wmem_max` on Linux).
    pub const BUFFER: usize = 4 << 20;

    /// A socket of this address; port 0 picks one.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::from_options(&open(address)?, address)
    }

    /// A socket that gets what is sent to a multicast group (IGMP, or MLD with IPv6) on the interface that has this address,
    /// or on the one that the system chooses if it is unspecified. Several processes may share a group's port.
    ///
    /// # Errors
    ///
    /// What the system says; [`io::ErrorKind::InvalidInput`] if `group` is not a multicast address.
    pub fn join(group: SocketAddr, interface: IpAddr) -> io::Result<Self> {
        if !group.ip().is_multicast() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{} is not a multicast address", group.ip()),
            ));
        }
        let options = open(group)?;
        options.set_reuse_address(true)?;
        // Bound to the group's address, it gets nothing that is sent to others.
        let joined = Self::from_options(&options, group)?;
        match (group.ip(), interface) {
            (IpAddr::V4(group), IpAddr::V4(interface)) => joined.socket.join_multicast_v4(&group, &interface)?,
            (IpAddr::V4(group), IpAddr::V6(_)) => joined.socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?,
            // IPv6 names interfaces by number: the scope of the group's address, or the system's choice.
            (IpAddr::V6(address), _) => joined.socket.join_multicast_v6(&address, scope(group))?,
        }
        Ok(joined)
    }

    fn from_options(options: &Options, address: SocketAddr) -> io::Result<Self> {
        options.bind(&SockAddr::from(address))?;
        let socket = UdpSocket::from(options.try_clone()?);
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        Ok(Self { socket, state })
    }

    /// Sends multicast on the interface that has this address.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_multicast_interface(&self, interface: Ipv4Addr) -> io::Result<()> {
        socket2::SockRef::from(&self.socket).set_multicast_if_v4(&interface)
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Bytes that the kernel keeps for arriving datagrams.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn receive_buffer(&self) -> io::Result<usize> {
        self.state.recv_buffer_size(UdpSockRef::from(&self.socket))
    }

    /// Bytes that the kernel keeps for datagrams that leave.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn send_buffer(&self) -> io::Result<usize> {
        self.state.send_buffer_size(UdpSockRef::from(&self.socket))
    }

    /// Datagrams that the kernel may hand over as one: more than 1 where it has receive offload.
    pub fn received_segments(&self) -> usize {
        self.state.gro_segments()
    }

    /// Datagrams that one call of [`send`](Self::send) may carry.
    pub fn segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends the datagrams of `segment` bytes that `contents` consists of, of which the last may be shorter. False if the
    /// kernel has no room now: try again when the socket is writable.
    ///
    /// # Errors
    ///
    /// What the system says. An address that cannot be reached now is one of them: protocols have timers for that.
    pub fn send(&self, to: SocketAddr, ect: bool, segment: usize, contents: &[u8]) -> io::Result<bool> {
        let transmit = Transmit {
            destination: to,
            ecn: ect.then_some(EcnCodepoint::Ect0),
            contents,
            segment_size: (segment < contents.len()).then_some(segment),
            src_ip: None,
        };
        match self.state.try_send(UdpSockRef::from(&self.socket), &transmit) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            // The device may just have been found not to segment.
            Err(_) if transmit.segment_size.is_some() && self.segments() == 1 => {
                for datagram in contents.chunks(segment) {
                    let one = Transmit { contents: datagram, segment_size: None, ..transmit };
                    match self.state.try_send(UdpSockRef::from(&self.socket), &one) {
                        Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                        _ => {}
                    }
                }
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes a batch of what has arrived out of the kernel, in place of what was taken before. False if nothing had.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn receive(&self, arrivals: &mut Arrivals) -> io::Result<bool> {
        arrivals.count = 0;
        let mut buffers = arrivals.buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
        arrivals.count = match self.state.recv(UdpSockRef::from(&self.socket), &mut buffers, &mut arrivals.meta) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            // An earlier datagram found nobody (ICMP): that is not this socket's fault.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(true),
            Err(error) => return Err(error),
        };
        Ok(true)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What has arrived, and memory for it: some 2 MB.
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
    /// Hands over each datagram, once: from whom, whether congestion was experienced, and its bytes.
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
    // Smaller ones do: they only cost throughput.
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

    fn pair() -> (Socket, Socket) {
        let loopback = (Ipv4Addr::LOCALHOST, 0).into();
        (Socket::bind(loopback).expect("a socket"), Socket::bind(loopback).expect("a socket"))
    }

    /// What arrives, waited for at most a second for each batch.
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
        assert!(a.send(b.local_address().expect("an address"), true, 1000, &contents).expect("sent"));
        let found = collect(&b, 3);
        assert_eq!(found, [(false, vec![0; 1000]), (false, vec![1; 1000]), (false, vec![2; 500])]);
    }

    #[test]
    fn nothing_to_receive_is_no_error() {
        let (a, b) = pair();
        assert!(!a.receive(&mut Arrivals::default()).expect("no error"));
        // Port 9 of the loopback discards, or answers that nobody is there; the next call must not fail for it.
        let gone = b.local_address().expect("an address");
        drop(b);
        assert!(a.send(gone, false, 10, &[0; 10]).expect("sent"));
        assert_eq!(collect(&a, 1), []);
    }

    #[test]
    fn a_group_must_be_one() {
        let error = Socket::join((Ipv4Addr::LOCALHOST, 0).into(), Ipv4Addr::UNSPECIFIED.into()).expect_err("no group");
        assert!(error.to_string().contains("not a multicast address"), "{error}");
    }
}
