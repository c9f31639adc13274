//! Runs a switch between network interfaces of Linux.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::time::Instant;

use anabranch_transport::{Duration, Time};
use nix::sys::time::TimeSpec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::config::Config;
use crate::counters::Counters;
use crate::error::SwitchError;
use crate::interface::{Buffer, Interface, Received};
use crate::offload::Offload;
use crate::switch::Switch;

/// Frames that are read of one port before the next port is polled.
const READ_BATCH: usize = 32;
/// How often the caller is asked whether to go on, at least.
const MAX_WAIT: Duration = Duration::from_ms(100);
/// How much later than asked for the kernel may wake the switch; its default is 50 us (`PR_SET_TIMERSLACK`).
const TIMER_SLACK: NonZeroU64 = NonZeroU64::new(1000).unwrap();

/// A frame that was received.
#[derive(Debug)]
struct IngressFrame {
    arrival: Time,
    port: usize,
    frame: Vec<u8>,
    offload: Offload,
}

/// A switch between interfaces of this network namespace.
#[derive(Debug)]
pub struct Driver {
    names: Vec<String>,
    interfaces: Vec<Interface>,
    switch: Switch,
    started: Instant,
}

impl Driver {
    /// Opens the interfaces, each of which becomes a port, and makes them promiscuous. Nothing is forwarded yet.
    ///
    /// # Errors
    ///
    /// If the configuration does not fit the ports, an interface is not there or is not of Ethernet, or the system forbids packet sockets:
    /// root may open them, and programs with `CAP_NET_RAW`.
    #[allow(clippy::disallowed_methods, reason = "this is the driver: the switch is told the time")]
    pub fn open(config: &Config, names: &[String]) -> Result<Self, SwitchError> {
        let switch = Switch::new(config, names)?;
        let interfaces = names.iter().map(|name| Interface::open(name)).collect::<Result<_, _>>()?;
        Ok(Self { names: names.to_vec(), interfaces, switch, started: Instant::now() })
    }

    /// Interfaces that were down when they were opened. Frames pass as soon as somebody sets them up.
    pub fn down(&self) -> impl Iterator<Item = &str> {
        self.names
            .iter()
            .zip(&self.interfaces)
            .filter(|(_, interface)| !interface.is_up())
            .map(|(name, _)| name.as_str())
    }

    /// The ports and their counters.
    pub fn counters(&self) -> impl Iterator<Item = (&str, Counters)> {
        self.names.iter().enumerate().map(|(port, name)| (name.as_str(), self.switch.counters(port)))
    }

    /// Forwards frames until it is told to stop: `flow` is asked ten times a second, and after a signal.
    ///
    /// # Errors
    ///
    /// If the system call that waits for frames fails.
    pub fn run(&mut self, mut flow: impl FnMut() -> ControlFlow<()>) -> Result<(), SwitchError> {
        // Without it the switch wakes a little later, and sends what was due until then.
        let _ = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK));
        let mut buffer = Buffer::new();
        while flow().is_continue() {
            let ready = self.wait()?;
            let mut ingress = Vec::new();
            for (port, _) in ready.into_iter().enumerate().filter(|(_, ready)| *ready) {
                self.read(port, &mut buffer, &mut ingress);
            }
            self.receive(ingress);
            self.send();
        }
        for (port, interface) in self.interfaces.iter().enumerate() {
            self.switch.counters_mut(port).port.in_discards += interface.kernel_drops();
        }
        Ok(())
    }

    fn now(&self) -> Time {
        Time(self.started.elapsed().as_nanos() as u64 * 1000)
    }

    /// Waits until a frame arrives or one is to be sent; for each port, whether frames arrived.
    fn wait(&self) -> Result<Vec<bool>, SwitchError> {
        let due = self.switch.poll_timeout().map_or(MAX_WAIT, |due| due.since(self.now()).min(MAX_WAIT));
        // A nanosecond late is better than one early.
        let nanoseconds = due.ps().div_ceil(1000);
        let limit = Timespec { tv_sec: 0, tv_nsec: nanoseconds as i64 };
        let mut sockets: Vec<_> =
            self.interfaces.iter().map(|interface| PollFd::new(interface.receiver(), PollFlags::IN)).collect();
        match poll(&mut sockets, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(SwitchError::Wait(error.into())),
        }
        Ok(sockets.iter().map(|socket| !socket.revents().is_empty()).collect())
    }

    /// Reads some frames of a port.
    fn read(&mut self, port: usize, buffer: &mut Buffer, ingress: &mut Vec<IngressFrame>) {
        for _ in 0..READ_BATCH {
            match self.interfaces[port].receive(buffer) {
                Ok(Some(Received::Frame(frame, offload, stamp))) => {
                    // By the wall clock, which may be set: how long ago is what counts.
                    let age = stamp.map_or(Duration::ZERO, |stamp| age(stamp).min(MAX_WAIT));
                    let arrival = Time(self.now().ps().saturating_sub(age.ps()));
                    ingress.push(IngressFrame { arrival, port, frame, offload });
                }
                Ok(Some(Received::Oversize)) => self.switch.counters_mut(port).port.in_errors += 1,
                Ok(None) => return,
                // It went down, or is gone. If it comes back, so do its frames.
                Err(_) => {
                    self.switch.counters_mut(port).port.in_errors += 1;
                    return;
                }
            }
        }
    }

    /// Gives the frames of all ports to the switch, in the order of their arrival.
    fn receive(&mut self, mut ingress: Vec<IngressFrame>) {
        ingress.sort_by_key(|frame| frame.arrival);
        for IngressFrame { arrival, port, frame, offload } in ingress {
            if offload.apply(frame, |frame| self.switch.receive(port, frame, arrival)).is_err() {
                self.switch.counters_mut(port).port.in_errors += 1;
            }
        }
    }

    fn send(&mut self) {
        let now = self.now();
        while let Some((port, frame)) = self.switch.poll_transmit(now) {
            if self.interfaces[port].send(&frame).is_err() {
                self.switch.counters_mut(port).port.out_errors += 1;
            }
        }
    }
}

/// How long ago that was, by the wall clock.
fn age(stamp: TimeSpec) -> Duration {
    let now = clock_gettime(ClockId::Realtime);
    let nanoseconds = (now.tv_sec - stamp.tv_sec()) * 1_000_000_000 + (now.tv_nsec - stamp.tv_nsec());
    Duration::from_ps(u64::try_from(nanoseconds).unwrap_or(0).saturating_mul(1000))
}
