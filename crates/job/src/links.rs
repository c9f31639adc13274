//! Links of ranks that carry whole messages: each rank sends one at a time, in the order in which they begin, and receives one at a time, in
//! the order in which their first bytes arrive. No packets, and nothing in between that could be full.

use anabranch_transport::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// What a message costs that is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// For how long it takes the links of its ends.
    pub wire: Duration,
    /// From its start until its receiver has all of it, at least `wire`.
    pub takes: Duration,
}

/// What becomes known of a message: not before it happens at its sender, but maybe before `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// One of its receivers, by its place, has all of it then.
    Delivered { message: u32, receiver: u16, at: Time },
    /// All of them have.
    Complete { message: u32, at: Time },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The first byte of a message is at one of its receivers.
    First { message: u32, receiver: u16 },
    /// A rank has sent all of a message.
    Free(u32),
}

/// A message, from its start at its sender until all receivers have it.
#[derive(Clone, Debug)]
struct Flight {
    from: u32,
    to: Vec<(u32, Alone)>,
    left: usize,
    last: Time,
}

#[derive(Clone, Debug, Default)]
struct End {
    busy: bool,
    waiting: VecDeque<u32>,
    /// When its link is free to receive.
    receives: Time,
}

/// The links of all ranks.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    ends: Vec<End>,
    flights: BTreeMap<u32, Flight>,
    due: BinaryHeap<Reverse<(Time, What)>>,
}

impl Links {
    pub(crate) fn new(ranks: u32) -> Self {
        let ends = vec![End::default(); ranks as usize];
        Self { ends, flights: BTreeMap::new(), due: BinaryHeap::new() }
    }

    /// When something happens next.
    pub(crate) fn due(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((when, _))| *when)
    }

    /// A message begins, for these receivers.
    pub(crate) fn send(&mut self, message: u32, from: u32, to: Vec<(u32, Alone)>, now: Time) {
        self.flights.insert(message, Flight { from, left: to.len(), to, last: now });
        let end = &mut self.ends[from as usize];
        if end.busy {
            end.waiting.push_back(message);
        } else {
            end.busy = true;
            self.start(message, now);
        }
    }

    fn start(&mut self, message: u32, now: Time) {
        let Some(flight) = self.flights.get(&message) else { return };
        let wire = flight.to.iter().map(|(_, alone)| alone.wire).max().unwrap_or(Duration::ZERO);
        self.due.push(Reverse((now + wire, What::Free(flight.from))));
        for (receiver, (_, alone)) in (0..).zip(&flight.to) {
            let first = now + Duration(alone.takes.ps().saturating_sub(alone.wire.ps()));
            self.due.push(Reverse((first, What::First { message, receiver })));
        }
    }

    /// The next thing that is due by now, if it is known of a message.
    pub(crate) fn advance(&mut self, now: Time, mut tell: impl FnMut(Known)) {
        while let Some(&Reverse((at, what))) = self.due.peek().filter(|Reverse((when, _))| *when <= now) {
            self.due.pop();
            match what {
                What::Free(rank) => {
                    let end = &mut self.ends[rank as usize];
                    match end.waiting.pop_front() {
                        Some(next) => self.start(next, at),
                        None => end.busy = false,
                    }
                }
                What::First { message, receiver } => {
                    let Some(flight) = self.flights.get_mut(&message) else { continue };
                    let (to, alone) = flight.to[usize::from(receiver)];
                    let free = &mut self.ends[to as usize].receives;
                    *free = at.max(*free) + alone.wire;
                    (flight.left, flight.last) = (flight.left - 1, flight.last.max(*free));
                    tell(Known::Delivered { message, receiver, at: *free });
                    if flight.left == 0 {
                        tell(Known::Complete { message, at: flight.last });
                        self.flights.remove(&message);
                    }
                }
            }
        }
    }
}
