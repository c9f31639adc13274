//! Probes: datagrams of several sizes for receivers that no symbol reaches, and that ask for them (RFC 8899).
//!
//! A receiver has shown that it is at its address before it can ask. Its questions are few: further ones are not answered, so that nobody can make a
//! sender busy with them. Never more than the last question asks for is waiting, and a session's rate counts.

use std::collections::VecDeque;
use std::net::SocketAddr;

use anabranch_transport::{Duration, Peer, Time};

use super::{Outgoing, Phase, failure};
use crate::session::narrow::common_below;
use crate::session::{Failure, Narrow, Outcome};
use crate::wire::{Control, MIN_OPEN_BYTES, PROBE, SYMBOL_HEADER};

/// Questions of one receiver that are answered: at once, after a long time without any, and later one in each of these intervals. A look at a path
/// takes about twelve, or three times as many where one datagram in three is lost.
const QUESTIONS: u64 = 48;
const INTERVAL: Duration = Duration::from_ms(250);

/// Probes that are to be sent.
#[derive(Debug)]
pub(super) struct Probes {
    /// To whom, and of which size.
    waiting: VecDeque<(usize, u16)>,
    /// When each receiver's allowance of questions is whole again.
    whole_at: Vec<Time>,
}

impl Probes {
    pub(super) fn new(now: Time, receivers: usize) -> Self {
        Self { waiting: VecDeque::new(), whole_at: vec![now; receivers] }
    }

    /// A receiver asks for datagrams of these sizes. What it has asked for before is forgotten.
    fn ask(&mut self, now: Time, index: usize, sizes: impl Iterator<Item = u16>) {
        let whole_at = self.whole_at[index].max(now) + INTERVAL;
        if whole_at.since(now) > INTERVAL * QUESTIONS {
            return;
        }
        self.whole_at[index] = whole_at;
        self.waiting.retain(|(other, _)| *other != index);
        self.waiting.extend(sizes.map(|bytes| (index, bytes)));
    }
}

impl Outgoing {
    /// Bytes of a datagram with a whole symbol.
    fn datagram_bytes(&self) -> u16 {
        self.options.symbol_bytes + self.sealer.symbol_overhead() as u16
    }

    /// A receiver asks which sizes reach it: the session's, all common ones, and the smallest that a session can have. The last one is as small as
    /// can be: where it arrives, all before it have had their time.
    pub(super) fn on_ask_probes(&mut self, now: Time, index: usize, all: bool) {
        let (largest, least) = (self.datagram_bytes(), MIN_OPEN_BYTES as u16);
        let common = common_below(self.peer(index), largest).filter(|_| all);
        let smallest = [least, 0].into_iter().filter(|&bytes| bytes < largest);
        self.probes.ask(now, index, std::iter::once(largest).chain(common).chain(smallest));
    }

    /// Appends the next probe. Returns whether there is one.
    pub(super) fn poll_probe(
        &mut self,
        now: Time,
        out: &mut Vec<u8>,
        to: &mut Vec<SocketAddr>,
    ) -> Result<bool, Failure> {
        while let Some((index, bytes)) = self.probes.waiting.pop_front() {
            if self.remotes.get(index).phase() != Phase::Active {
                continue;
            }
            let tag = self.sealer.symbol_overhead() - SYMBOL_HEADER;
            let padding = usize::from(bytes).saturating_sub(PROBE + tag) as u16;
            let before = out.len();
            let sealer = self.remotes.get_mut(index).sealer().unwrap_or(&mut self.sealer);
            sealer.control(self.session, Control::Probe { padding }, out).map_err(failure)?;
            to.push(self.peer(index));
            self.pay(out.len() - before);
            if let Some(pace) = &mut self.pace {
                pace.spend(now, (out.len() - before) as u64);
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// A receiver that has not answered yet says that it opens nothing for small packets: these arrive.
    pub(super) fn on_unpadded_answered(&mut self, now: Time, index: usize) {
        if self.remotes.change(index).on_unpadded_answered(now) {
            let narrow = Narrow::new(self.peer(index), true, MIN_OPEN_BYTES as u16, 0);
            self.end(now, index, Failure::Narrow(narrow));
        }
    }

    /// A receiver has found that its path carries datagrams of at most `bytes` bytes. The receiver can forget the session once it knows that its
    /// message has arrived.
    pub(super) fn on_narrow(&mut self, now: Time, index: usize, bytes: u16) {
        self.remotes.change(index).tell(Control::Narrow { bytes });
        let narrow = Narrow::new(self.peer(index), true, self.datagram_bytes(), bytes);
        self.remotes.set_outcome(index, Outcome::Failed(Failure::Narrow(narrow)));
        self.sender.drop_receiver(now, index as Peer);
        self.drain(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_few_and_the_last_one_counts() {
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        let mut probes = Probes::new(at(0), 2);
        let mut answered = |index, ms| {
            probes.ask(at(ms), index, [1472, 0].into_iter());
            let sizes: Vec<u16> =
                probes.waiting.iter().filter(|(to, _)| *to == index).map(|(_, bytes)| *bytes).collect();
            if index == 0 {
                probes.waiting.clear();
            }
            sizes
        };
        assert_eq!((answered(1, 0), answered(1, 0)), (vec![1472, 0], vec![1472, 0]));
        let count = |answered: &mut dyn FnMut(usize, u64) -> Vec<u16>, from: u64, to: u64| {
            (from..to).filter(|&ms| !answered(0, ms).is_empty()).count()
        };
        assert_eq!(count(&mut answered, 1, 100), 48, "at once");
        assert_eq!(count(&mut answered, 100, 10_100), 40, "four a second");
        assert_eq!(count(&mut answered, 60_000, 60_100), 48);
    }
}
