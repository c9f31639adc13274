//! Waits for sockets without sleeping where data arrives soon.
//!
//! In a virtual machine an idle core takes 50 to 100 us to wake, and two hosts that wait for each other's batches pay that each time. So a wait that
//! will probably be short is spent polling, as the kernel does for sockets with `SO_BUSY_POLL`, and a hypervisor before it halts
//! (`Documentation/virt/kvm/halt-polling.rst` of Linux).

use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io;

use crate::clock::Clock;

/// Maximum polling time of a wait. A wait polls only if the last one was shorter than this.
const LONGEST: Duration = Duration::from_micros(100);

/// Waits for sockets.
#[derive(Debug)]
pub(crate) struct BusyPoll {
    /// How long the last wait was, if a socket ended it.
    last: Duration,
}

impl Default for BusyPoll {
    fn default() -> Self {
        Self { last: Duration::MAX }
    }
}

impl BusyPoll {
    /// Waits until a socket is ready, but no longer than `limit`. Returns how many are ready. Polls without sleeping only if something `is_going_on`.
    ///
    /// # Errors
    ///
    /// Those of poll(2).
    pub(crate) fn wait(&mut self, sockets: &mut [PollFd<'_>], limit: Duration, is_going_on: bool) -> io::Result<usize> {
        let began = Clock::start();
        let mut ready = 0;
        if is_going_on && self.last < LONGEST {
            while ready == 0 && began.elapsed() < LONGEST.min(limit) {
                // Other threads that wait for this core go first.
                thread::yield_now();
                ready = poll(sockets, Some(&timespec(Duration::ZERO)))?;
            }
        }
        let left = limit.saturating_sub(began.elapsed());
        if ready == 0 {
            ready = poll(sockets, Some(&timespec(left)))?;
        }
        self.last = if ready > 0 { began.elapsed() } else { Duration::MAX };
        Ok(ready)
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::PollFlags;
    use std::io::{Read, Write};

    #[test]
    fn it_waits_as_poll_does_whether_the_last_wait_was_short_or_long() {
        let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
        for last in [Duration::ZERO, Duration::MAX] {
            let mut busy_poll = BusyPoll { last };
            let mut wait = |reader: &std::io::PipeReader, ms| {
                busy_poll
                    .wait(&mut [PollFd::new(reader, PollFlags::IN)], Duration::from_millis(ms), true)
                    .expect("polled")
            };
            let began = Clock::start();
            assert_eq!(wait(&reader, 3), 0);
            assert!(began.elapsed() >= Duration::from_millis(3));
            writer.write_all(b"x").expect("written");
            assert_eq!(wait(&reader, 60_000), 1);
            let read = reader.read(&mut [0; 8]).expect("read");
            assert_eq!((read, wait(&reader, 0)), (1, 0));
        }
    }
}
