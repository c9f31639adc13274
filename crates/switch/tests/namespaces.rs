//! A switch between hosts that are network namespaces, whose kernels check every checksum. Needs root; skipped elsewhere.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::ops::ControlFlow;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use anabranch_switch::{Config, Counters, Driver};
use nix::sys::socket::{setsockopt, sockopt::UdpGsoSegment};
use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// How long nothing may come: far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(30);

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    let error = || format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim());
    if output.status.success() { Ok(()) } else { Err(error()) }
}

/// Two hosts, 10.77.0.1 and 10.77.0.2, and a switch between them.
struct Lab {
    name: String,
    stop: Arc<AtomicBool>,
    switch: Option<JoinHandle<Vec<Counters>>>,
}

impl Lab {
    /// None, and the reason is printed, where namespaces cannot be made.
    fn start(config: &str) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("abs{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut lab = Self { name, stop: Arc::default(), switch: None };
        if let Err(reason) = ip(&format!("netns add {}-s", lab.name)) {
            eprintln!("skipped: network namespaces cannot be made here: {reason}");
            return None;
        }
        lab.wire().expect("the hosts are wired");
        let (namespace, stop, config) = (lab.namespace("s"), Arc::clone(&lab.stop), config.to_owned());
        let (ready, is_ready) = channel();
        lab.switch = Some(spawn(move || {
            enter(&namespace);
            let config = Config::parse(&config).expect("a configuration");
            let mut driver = Driver::open(&config, &["p1".to_owned(), "p2".to_owned()]).expect("a switch");
            assert_eq!(driver.down().count(), 0);
            ready.send(()).expect("somebody waits");
            let flow = || if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            driver.run(flow).expect("it forwards");
            driver.counters().map(|(_, counters)| counters).collect()
        }));
        is_ready.recv().expect("the switch is there");
        Some(lab)
    }

    fn wire(&self) -> Result<(), String> {
        let name = &self.name;
        for host in ["1", "2"] {
            ip(&format!("netns add {name}-{host}"))?;
            ip(&format!("link add p{host} netns {name}-s type veth peer name eth0 netns {name}-{host}"))?;
            ip(&format!("-n {name}-s link set p{host} up"))?;
            ip(&format!("-n {name}-{host} address add 10.77.0.{host}/24 dev eth0"))?;
            ip(&format!("-n {name}-{host} link set eth0 up"))?;
        }
        Ok(())
    }

    fn namespace(&self, which: &str) -> String {
        format!("{}-{which}", self.name)
    }

    /// Does something as a host.
    fn on<T: Send + 'static>(&self, host: u8, what: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let namespace = self.namespace(&host.to_string());
        spawn(move || {
            enter(&namespace);
            what()
        })
    }

    /// A UDP socket of a host, at port 7000.
    fn udp(&self, host: u8) -> UdpSocket {
        let bind = move || {
            let socket = UdpSocket::bind(address(host)).expect("bound");
            socket.set_read_timeout(Some(LIMIT)).expect("a timeout");
            socket
        };
        self.on(host, bind).join().expect("a socket")
    }

    /// Stops the switch; its counters.
    fn stop(mut self) -> Vec<Counters> {
        self.stop.store(true, Ordering::Relaxed);
        self.switch.take().expect("it runs").join().expect("the switch has not failed")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(switch) = self.switch.take() {
            let _ = switch.join();
        }
        for which in ["1", "2", "s"] {
            let _ = ip(&format!("netns delete {}", self.namespace(which)));
        }
    }
}

/// This thread is in a namespace from now on.
fn enter(namespace: &str) {
    let file = File::open(format!("/run/netns/{namespace}")).expect("the namespace");
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("entered");
}

fn address(host: u8) -> SocketAddr {
    (Ipv4Addr::new(10, 77, 0, host), 7000).into()
}

fn payload(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n % 251) as u8).collect()
}

/// The next datagrams that come.
fn received(socket: &UdpSocket, datagrams: usize) -> Vec<Vec<u8>> {
    let mut buffer = [0; 2048];
    (0..datagrams)
        .map(|n| match socket.recv(&mut buffer) {
            Ok(length) => buffer[..length].to_vec(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("{n} of {datagrams} datagrams arrived"),
            Err(error) => panic!("{error}"),
        })
        .collect()
}

#[test]
fn datagrams_pass_whole() {
    let Some(lab) = Lab::start("") else { return };
    let (one, two) = (lab.udp(1), lab.udp(2));
    for length in [0, 1, 100, 1472] {
        one.send_to(&payload(length), address(2)).expect("sent");
        assert_eq!(received(&two, 1), [payload(length)]);
    }
    // Fragments, of which the kernel completes the checksum itself.
    two.send_to(&payload(2000), address(1)).expect("sent");
    assert_eq!(received(&one, 1), [payload(2000)]);
    let counters = lab.stop();
    assert_eq!(counters[1].port.out_errors, 0);
    assert!(counters[1].port.out_unicast >= 4, "{counters:?}");
}

#[test]
fn datagrams_with_segmentation_offload_are_segmented() {
    let Some(lab) = Lab::start("") else { return };
    let (one, two) = (lab.udp(1), lab.udp(2));
    setsockopt(&one, UdpGsoSegment, &1000).expect("segmentation offload");
    one.send_to(&payload(5500), address(2)).expect("sent");
    let arrived = received(&two, 6);
    assert_eq!(arrived.iter().map(Vec::len).collect::<Vec<_>>(), [1000, 1000, 1000, 1000, 1000, 500]);
    assert_eq!(arrived.concat(), payload(5500));
}

#[test]
fn a_stream_passes_with_segmentation_offload() {
    let Some(lab) = Lab::start("queue = '2MB'") else { return };
    let listener = lab.on(2, || TcpListener::bind(address(2)).expect("bound")).join().expect("a socket");
    let sent = payload(3_000_000);
    let copy = sent.clone();
    let sender = lab.on(1, move || {
        let mut stream = TcpStream::connect_timeout(&address(2), LIMIT).expect("connected");
        stream.write_all(&copy).expect("sent");
    });
    let (mut stream, _) = listener.accept().expect("accepted");
    stream.set_read_timeout(Some(LIMIT)).expect("a timeout");
    let mut arrived = Vec::new();
    stream.read_to_end(&mut arrived).expect("all arrived");
    sender.join().expect("no panic");
    assert!(arrived == sent);
    let counters = lab.stop();
    assert_eq!((counters[0].port.in_errors, counters[1].port.out_errors), (0, 0));
    assert!(counters[1].port.out_unicast > 3_000_000 / 1460, "no frame is larger than the MTU");
}

#[test]
fn a_trimmed_datagram_arrives_shortened() {
    // 1442 bytes take 115 ms: one is on the link, two wait, and what comes meanwhile is trimmed.
    let Some(lab) = Lab::start("rate = '100kbps'\nqueue = '3kB'\ntrim = 128") else { return };
    let (one, two) = (lab.udp(1), lab.udp(2));
    one.send_to(b"who are you?", address(2)).expect("sent");
    assert_eq!(received(&two, 1), [b"who are you?"]);
    for _ in 0..10 {
        one.send_to(&payload(1400), address(2)).expect("sent");
    }
    let arrived = received(&two, 10);
    // 128 bytes of IP packet are 100 of the datagram.
    let trimmed = arrived.iter().filter(|datagram| **datagram == payload(100)).count();
    let whole = arrived.iter().filter(|datagram| **datagram == payload(1400)).count();
    assert_eq!(trimmed + whole, 10);
    assert!(whole >= 3 && trimmed >= 1, "{whole} whole, {trimmed} trimmed");
    let counters = lab.stop()[1].data_queue;
    assert_eq!((counters.trimmed_packets, counters.sent_trimmed_packets), (trimmed as u64, trimmed as u64));
}

#[test]
fn nothing_arrives_before_its_delay() {
    let Some(lab) = Lab::start("delay = '20ms'\nrate = '1Mbps'") else { return };
    let (one, two) = (lab.udp(1), lab.udp(2));
    one.send_to(b"who are you?", address(2)).expect("sent");
    received(&two, 1);
    // Both links have been idle for a while: that must not be taken for time in which they could have carried the datagram.
    two.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    two.recv(&mut [0]).expect_err("nothing comes");
    two.set_read_timeout(Some(LIMIT)).expect("a timeout");
    #[allow(clippy::disallowed_methods, reason = "only how long it takes at least is looked at")]
    let sent = std::time::Instant::now();
    one.send_to(&payload(958), address(2)).expect("sent");
    received(&two, 1);
    two.send_to(&payload(958), address(1)).expect("sent");
    received(&one, 1);
    // Twice 20 ms, and twice 1000 bytes at 1 Mbit/s.
    assert!(sent.elapsed() >= Duration::from_millis(56), "{:?}", sent.elapsed());
}
