//! A network interface of this machine, of which all frames are read and written as they are.
//!
//! Two packet sockets (packet(7)): the one that receives has with each frame the offloads that its sender left to the network card; the one that sends
//! has no protocol, so that nothing arrives there. The interface is promiscuous while it is open.
//!
//! Options of packet sockets are declared with nix's macros, whose system calls are theirs: there is no `unsafe` here.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::sockopt::{self, GetStruct, SetBool, SetStruct};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SetSockOpt, SockFlag, SockProtocol, SockType, SockaddrLike,
    bind, getsockopt, recvmsg, setsockopt, socket,
};
use nix::sys::time::TimeSpec;
use nix::{cmsg_space, getsockopt_impl, setsockopt_impl};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::error::SwitchError;
use crate::offload::Offload;

/// The largest frame that is read, with the header in front of it: segmentation offload makes frames of 64 KiB.
const MAX_FRAME: usize = 128 << 10;
/// Bytes of the kernel's buffers for received frames, and for those to be sent.
const BUFFER: usize = 16 << 20;

#[derive(Clone, Copy, Debug)]
struct OffloadHeader;
setsockopt_impl!(OffloadHeader, libc::SOL_PACKET, libc::PACKET_VNET_HDR, bool, SetBool);

#[derive(Clone, Copy, Debug)]
struct IgnoreOutgoing;
setsockopt_impl!(IgnoreOutgoing, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool, SetBool);

#[derive(Clone, Copy, Debug)]
struct AddMembership;
setsockopt_impl!(
    AddMembership,
    libc::SOL_PACKET,
    libc::PACKET_ADD_MEMBERSHIP,
    libc::packet_mreq,
    SetStruct<libc::packet_mreq>
);

#[derive(Clone, Copy, Debug)]
struct Statistics;
getsockopt_impl!(
    Statistics,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    libc::tpacket_stats,
    GetStruct<libc::tpacket_stats>
);

/// An interface that is open.
#[derive(Debug)]
pub(crate) struct Interface {
    receiver: OwnedFd,
    sender: OwnedFd,
    is_up: bool,
}

/// What was received.
#[derive(Debug)]
pub(crate) enum Received {
    /// A frame, the offloads that its sender left to do, and when the kernel received it, by the wall clock.
    Frame(Vec<u8>, Offload, Option<TimeSpec>),
    /// A frame larger than the buffer.
    Oversize,
}

impl Interface {
    /// Opens an interface of this network namespace.
    pub(crate) fn open(name: &str) -> Result<Self, SwitchError> {
        let refused = |what| {
            move |error: Errno| match error {
                Errno::EPERM | Errno::EACCES => SwitchError::NotAllowed { interface: name.to_owned() },
                _ => SwitchError::Interface { interface: name.to_owned(), what, error: error.into() },
            }
        };
        let (address, is_up) = find(name)?;
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let make = |protocol: Option<SockProtocol>| -> Result<OwnedFd, SwitchError> {
            socket(AddressFamily::Packet, SockType::Raw, flags, protocol).map_err(refused("open a packet socket"))
        };
        let sender = make(None)?;
        bind(sender.as_raw_fd(), &address).map_err(refused("bind a packet socket"))?;
        let receiver = make(Some(SockProtocol::EthAll))?;
        set(&receiver, OffloadHeader, &true).map_err(refused("learn of offloads (PACKET_VNET_HDR)"))?;
        set(&receiver, IgnoreOutgoing, &true).map_err(refused("ignore what leaves (Linux 4.20 and later can)"))?;
        bind(receiver.as_raw_fd(), &address).map_err(refused("bind a packet socket"))?;
        set(&receiver, sockopt::ReceiveTimestampns, &true).map_err(refused("get timestamps of frames"))?;
        // Until it was bound it had frames of all interfaces.
        drain(&receiver);
        let promiscuous = libc::packet_mreq {
            mr_ifindex: address.ifindex() as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&receiver, AddMembership, &promiscuous).map_err(refused("see frames of other stations"))?;
        // The first needs more rights; what the second grants may be less. Bursts are lost in the kernel then, and counted.
        if set(&receiver, sockopt::RcvBufForce, &BUFFER).is_err() {
            let _ = set(&receiver, sockopt::RcvBuf, &BUFFER);
        }
        let _ = set(&sender, sockopt::SndBuf, &BUFFER);
        Ok(Self { receiver, sender, is_up })
    }

    /// Whether it was up when it was opened.
    pub(crate) fn is_up(&self) -> bool {
        self.is_up
    }

    /// The socket that is readable when frames have arrived.
    pub(crate) fn receiver(&self) -> &OwnedFd {
        &self.receiver
    }

    /// The next frame that was received; none if no more are queued in the kernel.
    pub(crate) fn receive(&self, buffer: &mut Buffer) -> io::Result<Option<Received>> {
        let mut vectors = [IoSliceMut::new(&mut buffer.frame)];
        let received =
            recvmsg::<()>(self.receiver.as_raw_fd(), &mut vectors, Some(&mut buffer.control), MsgFlags::MSG_TRUNC);
        let (length, stamp) = match received {
            Ok(message) => {
                (message.bytes, message.cmsgs().ok().and_then(|mut all| all.find_map(|message| stamp(&message))))
            }
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(match buffer.frame.get(..length).and_then(|bytes| bytes.split_first_chunk()) {
            Some((header, frame)) => Received::Frame(frame.to_vec(), Offload::of_header(header), stamp),
            None => Received::Oversize,
        }))
    }

    /// Sends a frame.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<()> {
        send(&self.sender, frame, SendFlags::DONTWAIT).map(drop).map_err(Into::into)
    }

    /// Frames that arrived since the last call and found the receive buffer full.
    pub(crate) fn kernel_drops(&self) -> u64 {
        getsockopt(&self.receiver, Statistics).map_or(0, |statistics| u64::from(statistics.tp_drops))
    }
}

/// A buffer for one frame.
#[derive(Debug)]
pub(crate) struct Buffer {
    frame: Box<[u8]>,
    control: Vec<u8>,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self { frame: vec![0; MAX_FRAME].into(), control: cmsg_space!(TimeSpec) }
    }
}

fn stamp(message: &ControlMessageOwned) -> Option<TimeSpec> {
    match message {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(*stamp),
        _ => None,
    }
}

fn set<O: SetSockOpt>(socket: &OwnedFd, option: O, value: &O::Val) -> nix::Result<()> {
    setsockopt(socket, option, value)
}

fn drain(socket: &OwnedFd) {
    let mut few = [0; 16];
    while recv(socket, &mut few[..], RecvFlags::empty()).is_ok() {}
}

/// The address to bind to of an interface, and whether it is up.
fn find(name: &str) -> Result<(LinkAddr, bool), SwitchError> {
    let all = getifaddrs().map_err(|error| SwitchError::Interface {
        interface: name.to_owned(),
        what: "list the interfaces",
        error: error.into(),
    })?;
    let link =
        |interface: &InterfaceAddress| interface.address.as_ref().and_then(|address| address.as_link_addr().copied());
    let links: Vec<_> = all.filter_map(|interface| Some((link(&interface)?, interface))).collect();
    let Some((address, interface)) = links.iter().find(|(_, interface)| interface.interface_name == name) else {
        let found: Vec<&str> = links.iter().map(|(_, interface)| interface.interface_name.as_str()).collect();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        return Err(SwitchError::NoInterface { interface: name.to_owned(), found });
    };
    debug_assert_eq!(address.family(), Some(AddressFamily::Packet));
    if address.hatype() != libc::ARPHRD_ETHER {
        return Err(SwitchError::NotEthernet { interface: name.to_owned() });
    }
    Ok((*address, interface.flags.contains(InterfaceFlags::IFF_UP)))
}
