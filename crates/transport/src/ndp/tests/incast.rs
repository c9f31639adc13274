//! Many senders, one receiving host, and a switch whose header queue overflows too.
//!
//! Everything that a real incast loses is lost here: data and headers beyond the queues. All connections must finish,
//! and the host's link must not idle for long.

use super::*;
use crate::Arrival;
use crate::pull::PullQueue;
use std::collections::{BTreeMap, VecDeque};

/// What is to happen: in order of time, then of scheduling.
enum Step {
    /// A packet reaches the switch's port to the receiving host.
    AtSwitch(usize, Transmit<Header>),
    /// The port may send the next packet.
    PortFree,
    /// A packet reaches the receiving host.
    AtHost(usize, Arrival<Header>),
    /// A packet reaches a sender.
    AtSender(usize, Arrival<Header>),
}

/// The port: a data queue and a header queue served 10:1 (NDP §3.1).
#[derive(Default)]
struct Port {
    data: VecDeque<(usize, Transmit<Header>)>,
    headers: VecDeque<(usize, Transmit<Header>)>,
    headers_in_a_row: u32,
    busy: bool,
    lost: u64,
}

struct Incast {
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    turns: PullQueue<usize>,
    queued: Vec<bool>,
    uplinks: Vec<Time>,
    port: Port,
    header_room: usize,
    return_to_sender: bool,
    steps: BTreeMap<(Time, u64), Step>,
    order: u64,
    now: Time,
    finished: Vec<Option<Time>>,
    closed: usize,
}

impl Incast {
    fn new(cfg: &NdpConfig, senders: usize, object: u64, header_room: usize) -> Self {
        Self {
            senders: (0..senders).map(|_| Sender::new(cfg, Some(object))).collect(),
            receivers: (0..senders).map(|_| Receiver::new(cfg)).collect(),
            turns: PullQueue::new(PACKET),
            queued: vec![false; senders],
            uplinks: vec![Time::ZERO; senders],
            port: Port::default(),
            header_room,
            return_to_sender: cfg.return_to_sender,
            steps: BTreeMap::new(),
            order: 0,
            now: Time::ZERO,
            finished: vec![None; senders],
            closed: 0,
        }
    }

    fn at(&mut self, time: Time, step: Step) {
        self.order += 1;
        self.steps.insert((time, self.order), step);
    }

    fn drain_sender(&mut self, i: usize) {
        while let Some(t) = self.senders[i].poll_transmit(self.now) {
            let sent = self.uplinks[i].max(self.now) + Duration::from_ns(u64::from(t.size) * 8);
            self.uplinks[i] = sent;
            self.at(sent + DELAY, Step::AtSwitch(i, t));
        }
        while let Some(event) = self.senders[i].poll_event() {
            assert_eq!(event, Event::Closed, "sender {i}");
            self.closed += 1;
        }
    }

    fn drain_receiver(&mut self, i: usize) {
        // The way back is idle: control packets take the delay of two links and their time on the wire.
        let back = CONTROL * 2 + DELAY * 2;
        while let Some(t) = self.receivers[i].poll_transmit(self.now) {
            self.at(self.now + back, Step::AtSender(i, whole(t.header)));
        }
        while let Some(event) = self.receivers[i].poll_event() {
            match event {
                Event::Completed { at } => self.finished[i] = Some(at),
                Event::Closed => self.closed += 1,
                other => panic!("receiver {i}: {other:?}"),
            }
        }
        if self.receivers[i].pending_pulls() > 0 && !self.queued[i] {
            self.queued[i] = true;
            self.turns.push(i, 0);
        }
    }

    fn pull(&mut self) {
        while let Some(i) = self.turns.poll(self.now) {
            self.queued[i] = false;
            match self.receivers[i].poll_pull(self.now) {
                Some(t) => self.at(self.now + CONTROL * 2 + DELAY * 2, Step::AtSender(i, whole(t.header))),
                None => self.turns.refund(self.now),
            }
            self.drain_receiver(i);
        }
    }

    fn enqueue(&mut self, i: usize, t: Transmit<Header>) {
        if self.port.data.len() < 8 {
            self.port.data.push_back((i, t));
        } else if self.port.headers.len() < self.header_room {
            self.port.headers.push_back((i, t));
        } else if self.return_to_sender {
            let arrival = Arrival { trimmed: true, returned: true, ..whole(t.header) };
            self.at(self.now + CONTROL + DELAY, Step::AtSender(i, arrival));
        } else {
            self.port.lost += 1;
        }
        if !self.port.busy {
            self.serve();
        }
    }

    fn serve(&mut self) {
        let port = &mut self.port;
        let data_turn = port.headers.is_empty() || (port.headers_in_a_row >= 10 && !port.data.is_empty());
        let next = if data_turn {
            port.headers_in_a_row = 0;
            port.data.pop_front().map(|(i, t)| (i, t.size, whole(t.header)))
        } else {
            port.headers_in_a_row += 1;
            let cut = |t: Transmit<Header>| Arrival { trimmed: true, ..whole(t.header) };
            port.headers.pop_front().map(|(i, t)| (i, t.trimmed_size, cut(t)))
        };
        port.busy = next.is_some();
        if let Some((i, size, arrival)) = next {
            let time = Duration::from_ns(u64::from(size) * 8);
            self.at(self.now + time, Step::PortFree);
            self.at(self.now + time + DELAY, Step::AtHost(i, arrival));
        }
    }

    fn run(&mut self, end: Time) {
        for i in 0..self.senders.len() {
            self.drain_sender(i);
        }
        loop {
            let step = self.steps.keys().next().map(|k| k.0);
            let timers = self.senders.iter().filter_map(Endpoint::poll_timeout);
            let timer = timers.chain(self.receivers.iter().filter_map(Endpoint::poll_timeout)).min();
            let Some(next) = [step, timer, self.turns.poll_timeout()].into_iter().flatten().min() else { return };
            assert!(next <= end, "still running: {}", self.waiting());
            self.now = self.now.max(next);
            if step == Some(next) {
                match self.steps.pop_first().unwrap().1 {
                    Step::AtSwitch(i, t) => self.enqueue(i, t),
                    Step::PortFree => self.serve(),
                    Step::AtHost(i, arrival) => {
                        self.receivers[i].handle_packet(self.now, &arrival);
                        self.drain_receiver(i);
                    }
                    Step::AtSender(i, arrival) => {
                        self.senders[i].handle_packet(self.now, &arrival);
                        self.drain_sender(i);
                    }
                }
            } else if timer == Some(next) {
                for i in 0..self.senders.len() {
                    self.senders[i].handle_timeout(self.now);
                    self.receivers[i].handle_timeout(self.now);
                    self.drain_sender(i);
                    self.drain_receiver(i);
                }
            }
            self.pull();
        }
    }

    fn waiting(&self) -> String {
        let open = (0..self.senders.len()).filter(|&i| self.finished[i].is_none()).take(3);
        let lines = open.map(|i| format!("{}; {}", self.senders[i].waiting_for(), self.receivers[i].waiting_for()));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn whole(header: Header) -> Arrival<Header> {
    Arrival { header, from: 0, trimmed: false, ce: false, returned: false }
}

/// Runs an incast to its end. Returns when the last connection completed over the time that the host's link needs.
fn slowdown(cfg: &NdpConfig, senders: usize, packets: u64, header_room: usize) -> f64 {
    let object = packets * PAYLOAD;
    let mut incast = Incast::new(cfg, senders, object, header_room);
    incast.run(Time::ZERO + Duration::from_secs(1000));
    assert_eq!(incast.closed, 2 * senders);
    assert!(incast.receivers.iter().all(|r| r.stats().bytes_delivered == object));
    assert!(incast.return_to_sender || incast.port.lost > 0, "the incast was too small to lose headers");
    let last = incast.finished.iter().map(|at| at.expect("completed")).max().unwrap();
    last.as_secs_f64() / (PACKET * packets * senders as u64).as_secs_f64()
}

/// The first timeout as short as the others: where headers are lost before anything arrives, nothing else ends the silence.
fn soon() -> NdpConfig {
    config(|c| c.rto_initial = c.rto)
}

#[test]
fn a_hundred_to_one_ends_although_most_first_windows_vanish_with_their_headers() {
    let s = slowdown(&soon(), 100, 50, 8);
    assert!(s < 1.05, "{s}");
}

#[test]
fn with_the_default_first_timeout_it_ends_as_surely_and_later() {
    // 60 ms of the link. Who lost all its first packets tries with one packet every 50 ms.
    let s = slowdown(&NdpConfig::default(), 100, 50, 8);
    assert!(s > 2.0 && s < 6.0, "{s}");
}

#[test]
fn even_when_no_header_is_ever_kept() {
    let s = slowdown(&soon(), 60, 30, 0);
    assert!(s < 2.5, "{s}");
}

#[test]
fn and_with_headers_returned_to_their_senders() {
    let s = slowdown(&config(|c| c.return_to_sender = true), 100, 50, 8);
    assert!(s < 1.01, "{s}");
}
