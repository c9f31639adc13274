//! Transfers over paths of their own: rates, queues, a path that dies, a bottleneck that is shared.

use super::transfer::{END, front_back, mptcp, tcp};
use crate::endpoint::{Arrival, Endpoint, Event, Transmit};
use crate::multipath::{
    Connection, Header, MptcpConfig, MptcpScheduler, MultipathConfig, Scheduler, SubflowControl, Subflows,
};
use crate::tcp::{FlowSpec, TcpConfig};
use crate::units::{Bytes, Duration, Time};
use std::collections::BTreeMap;

/// A path: a queue with a rate and a delay; ACKs come back after the same delay.
#[derive(Clone, Copy, Debug)]
struct Path {
    mbps: u64,
    delay: Duration,
    /// Packets that its queue holds; from half full, some packets are dropped early.
    queue: u64,
    dies: Time,
}

fn path(mbps: u64, delay_ms: u64, queue: u64) -> Path {
    Path { mbps, delay: Duration::from_ms(delay_ms), queue, dies: Time::MAX }
}

/// Connections over paths: subflow `s` of connection `c` takes path `route[c][s]`.
struct World {
    now: Time,
    paths: Vec<Path>,
    busy: Vec<Time>,
    route: Vec<Vec<usize>>,
    ends: Vec<[Connection; 2]>,
    completed: Vec<Option<Time>>,
    failed: bool,
    /// Arrivals, in order of time and then of sending.
    wire: BTreeMap<(Time, u64), (usize, usize, Transmit<Header>)>,
    sent: u64,
    /// Data packets by connection and subflow.
    carried: Vec<Vec<u64>>,
    switches: Vec<u64>,
}

impl World {
    fn new(paths: Vec<Path>, flows: Vec<(MultipathConfig, Option<u64>, Vec<usize>)>) -> Self {
        let ends = |(config, bytes, _): &(MultipathConfig, Option<u64>, Vec<usize>)| {
            let flow = FlowSpec::of(*bytes);
            [Connection::connect(config, flow, Time::ZERO), Connection::listen(config, flow)]
        };
        Self {
            now: Time::ZERO,
            busy: vec![Time::ZERO; paths.len()],
            ends: flows.iter().map(ends).collect(),
            completed: vec![None; flows.len()],
            failed: false,
            carried: flows.iter().map(|flow| vec![0; flow.2.len()]).collect(),
            switches: vec![0; flows.len()],
            route: flows.into_iter().map(|flow| flow.2).collect(),
            wire: BTreeMap::new(),
            sent: 0,
            paths,
        }
    }

    fn send(&mut self, c: usize, side: usize, out: Transmit<Header>) {
        let p = self.route[c][usize::from(out.subflow)];
        let path = self.paths[p];
        self.sent += 1;
        if self.now >= path.dies {
            return;
        }
        let mut at = self.now;
        if side == 0 {
            let full = Duration(12_000_000_000 / path.mbps);
            let queued = self.busy[p].since(self.now).ps() / full.ps();
            let chance = (self.sent.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 100;
            let early = queued.saturating_sub(path.queue / 2) * 10 / (path.queue / 2).max(1);
            if queued >= path.queue || chance < early {
                return;
            }
            self.carried[c][usize::from(out.subflow)] += u64::from(out.size > 100);
            self.busy[p] = self.busy[p].max(self.now) + Duration(u64::from(out.size) * 8_000_000 / path.mbps);
            at = self.busy[p];
        }
        self.wire.insert((at + path.delay, self.sent), (c, 1 - side, out));
    }

    fn drain(&mut self, c: usize, side: usize) {
        while let Some(out) = self.ends[c][side].poll_transmit(self.now) {
            self.send(c, side, out);
        }
        while let Some(event) = self.ends[c][side].poll_event() {
            match event {
                Event::Completed { at } => self.completed[c] = Some(at),
                Event::Failed(_) => self.failed = true,
                _ => {}
            }
        }
    }

    /// Runs until nothing is left to happen, or until that time.
    fn run(&mut self, end: Time) {
        for c in 0..self.ends.len() {
            self.drain(c, 0);
        }
        loop {
            let timer = self.ends.iter().flatten().filter_map(Endpoint::poll_timeout).min();
            let wire = self.wire.keys().next().map(|key| key.0);
            let Some(next) = timer.into_iter().chain(wire).min() else { return };
            if next > end {
                return;
            }
            self.now = self.now.max(next);
            while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (c, side, out) = entry.remove();
                let arrival = Arrival { header: out.header, from: 0, trimmed: false, ce: false, returned: false };
                self.ends[c][side].handle_packet(self.now, &arrival);
                self.drain(c, side);
            }
            for c in 0..self.ends.len() {
                for side in 0..2 {
                    if self.ends[c][side].poll_timeout().is_some_and(|at| at <= self.now) {
                        self.ends[c][side].handle_timeout(self.now);
                        self.drain(c, side);
                    }
                }
                self.switches[c] = self.ends[c][0].context_switches();
            }
        }
    }

    fn delivered(&self, c: usize) -> u64 {
        self.ends[c][1].stats().bytes_delivered
    }
}

/// Selective ACKs, a window that is no limit.
fn wide() -> TcpConfig {
    TcpConfig { sack: true, receive_window: Bytes(1 << 28), rto_min: Duration::from_ms(200), ..tcp() }
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

/// 20 MB over 80 and 20 Mbps. At these rates, headers apart, 1.64 s.
#[test]
fn two_paths_carry_what_they_can() {
    let paths = vec![path(80, 1, 60), path(20, 1, 60)];
    let kinds = [
        front_back(2, Scheduler::FrontBack, &wide()),
        front_back(2, Scheduler::Divide, &wide()),
        mptcp(2, MptcpScheduler::MinRtt, SubflowControl::Newreno, &wide()),
        mptcp(2, MptcpScheduler::RoundRobin, SubflowControl::Newreno, &wide()),
    ];
    for config in kinds {
        let mut world = World::new(paths.clone(), vec![(config.clone(), Some(20_000_000), vec![0, 1])]);
        world.run(END);
        let seconds = world.completed[0].expect("it completes").since(Time::ZERO).as_secs_f64();
        assert!((1.64..2.1).contains(&seconds), "{seconds} s: {config:?}");
        let share = world.carried[0][1] as f64 / world.carried[0].iter().sum::<u64>() as f64;
        assert!((0.14..0.26).contains(&share), "the slow path carries {share}: {config:?}");
        if config == front_back(2, Scheduler::FrontBack, &wide()) {
            assert_eq!(world.switches[0], 0, "Lemma 4.2");
        }
    }
}

#[test]
fn four_paths_of_different_rates_make_few_context_switches() {
    let paths = vec![path(10, 1, 40), path(20, 1, 40), path(30, 1, 40), path(40, 1, 40)];
    let switches = |scheduler| {
        let flow = (front_back(4, scheduler, &wide()), Some(20_000_000), vec![0, 1, 2, 3]);
        let mut world = World::new(paths.clone(), vec![flow]);
        world.run(END);
        let seconds = world.completed[0].expect("it completes").since(Time::ZERO).as_secs_f64();
        assert!((1.64..2.1).contains(&seconds), "{seconds} s");
        world.switches[0]
    };
    let [front_back, divide, alternating] =
        [Scheduler::FrontBack, Scheduler::Divide, Scheduler::RoundRobin].map(switches);
    assert!(front_back < 20 && divide < 40 && alternating > 5000, "{front_back}, {divide}, {alternating}");
}

/// The second path dies after 300 ms.
fn dying() -> Vec<Path> {
    let second = path(50, 5, 50);
    vec![path(50, 5, 50), Path { dies: Time::ZERO + Duration::from_ms(300), ..second }]
}

#[test]
fn mptcp_survives_a_path_that_dies() {
    for scheduler in [MptcpScheduler::MinRtt, MptcpScheduler::RoundRobin] {
        for control in [SubflowControl::Lia, SubflowControl::Olia, SubflowControl::Cubic] {
            let config = mptcp(2, scheduler, control, &wide());
            let mut world = World::new(dying(), vec![(config, Some(10_000_000), vec![0, 1])]);
            world.run(END);
            let seconds = world.completed[0].expect("it completes").since(Time::ZERO).as_secs_f64();
            // 300 ms at 100 Mbps at most, and the rest at 50.
            assert!((1.3..2.5).contains(&seconds), "{seconds} s: {scheduler:?}, {control:?}");
            assert!(!world.failed);
            assert!(world.now < at(20), "the dead subflow holds nobody: {:?}", world.now);
        }
    }
}

#[test]
fn mptcp_survives_the_loss_of_its_first_subflow() {
    let mut paths = dying();
    paths.swap(0, 1);
    let config = mptcp(2, MptcpScheduler::MinRtt, SubflowControl::Lia, &wide());
    let mut world = World::new(paths, vec![(config, Some(10_000_000), vec![0, 1])]);
    world.run(END);
    assert!(world.completed[0].is_some() && !world.failed);
}

/// The dissertation has no reinjection: data given to a path waits for that path.
#[test]
fn front_back_waits_for_a_path_that_dies() {
    let tcp = TcpConfig { retries: 3, ..wide() };
    let config = front_back(2, Scheduler::FrontBack, &tcp);
    let mut world = World::new(dying(), vec![(config, Some(10_000_000), vec![0, 1])]);
    world.run(END);
    assert!(world.completed[0].is_none() && world.failed);
}

/// With the connection's receive window full, nothing moves before the dead path's data is sent on the other: after a
/// timeout, or at once.
#[test]
fn a_dead_path_fills_the_window_for_one_timeout_unless_it_is_opened_before() {
    for opportunistic in [false, true] {
        let tcp = TcpConfig { receive_window: Bytes(100_000), ..wide() };
        let config = MptcpConfig { subflows: Subflows::Count(2), opportunistic, ..MptcpConfig::default() }.over(&tcp);
        let mut world = World::new(dying(), vec![(config, Some(5_000_000), vec![0, 1])]);
        world.run(Time::ZERO + Duration::from_ms(350));
        let (before, sent) = (world.delivered(0), world.ends[0][0].stats());
        world.run(Time::ZERO + Duration::from_ms(450));
        assert_eq!(world.delivered(0) > before, opportunistic, "otherwise the window is full");
        world.run(END);
        assert!(world.completed[0].is_some());
        assert!(world.ends[0][0].stats().retransmitted > sent.retransmitted, "by the other path");
    }
}

/// Long-run goodput of a connection with two subflows over one TCP's (`NewReno`) beside it.
fn share_beside_tcp(control: SubflowControl) -> f64 {
    let single = front_back(1, Scheduler::FrontBack, &wide());
    let double = mptcp(2, MptcpScheduler::MinRtt, control, &wide());
    let mut world = World::new(vec![path(30, 10, 100)], vec![(single, None, vec![0]), (double, None, vec![0, 0])]);
    world.run(at(20));
    let before = [0, 1].map(|c| world.delivered(c));
    world.run(at(220));
    let [one, two] = [0, 1].map(|c| (world.delivered(c) - before[c]) as f64);
    // Both together fill the link.
    let goodput = (one + two) * 8.0 / 200e6;
    assert!(goodput > 25.0, "{goodput} Mbps");
    two / one
}

/// RFC 6356, goal 2: "a multipath flow should not take up more capacity from any of the resources shared by its different paths
/// than if it were a single flow using only one of these paths". Uncoupled, two subflows are two flows.
#[test]
fn coupled_subflows_are_one_flow_at_a_shared_bottleneck_and_others_are_two() {
    let shares = [SubflowControl::Lia, SubflowControl::Olia, SubflowControl::Newreno].map(share_beside_tcp);
    let [lia, olia, uncoupled] = shares;
    assert!((0.75..1.35).contains(&lia), "LIA: {shares:?}");
    assert!((0.65..1.35).contains(&olia), "OLIA: {shares:?}");
    assert!((1.65..2.35).contains(&uncoupled), "uncoupled: {shares:?}");
}

/// RFC 6356, goal 3: "a multipath flow should move as much traffic as possible off its most-congested paths".
#[test]
fn coupled_subflows_leave_the_congested_path() {
    let share_on_congested = |control| {
        let single = || front_back(1, Scheduler::FrontBack, &wide());
        let double = mptcp(2, MptcpScheduler::MinRtt, control, &wide());
        let mut flows = vec![(double, None, vec![0, 1])];
        flows.extend((0..4).map(|_| (single(), None, vec![1])));
        let mut world = World::new(vec![path(20, 10, 60), path(20, 10, 60)], flows);
        world.run(at(200));
        world.carried[0][1] as f64 / world.carried[0].iter().sum::<u64>() as f64
    };
    let shares = [SubflowControl::Olia, SubflowControl::Lia, SubflowControl::Newreno].map(share_on_congested);
    let [olia, lia, uncoupled] = shares;
    assert!(olia < uncoupled && lia < uncoupled && olia <= lia, "OLIA, LIA, uncoupled: {shares:?}");
}

/// A round trip of 2 ms and one of 40 ms, and a window that the second alone would fill.
#[test]
fn min_rtt_keeps_a_small_window_for_the_short_path() {
    let tcp = TcpConfig { receive_window: Bytes(30_000), ..wide() };
    let outcome = |scheduler| {
        let config = mptcp(2, scheduler, SubflowControl::Newreno, &tcp);
        let mut world =
            World::new(vec![path(100, 20, 100), path(100, 1, 100)], vec![(config, Some(3_000_000), vec![0, 1])]);
        world.run(END);
        let seconds = world.completed[0].expect("it completes").since(Time::ZERO).as_secs_f64();
        (world.carried[0][1] as f64 / world.carried[0].iter().sum::<u64>() as f64, seconds)
    };
    let (short, turns) = (outcome(MptcpScheduler::MinRtt), outcome(MptcpScheduler::RoundRobin));
    assert!(short.0 > 0.9 && turns.0 < 0.6, "shares of the short path: {short:?}, {turns:?}");
    assert!(short.1 * 2.0 < turns.1, "and times: {short:?}, {turns:?}");
}

/// A stream without end has no back to send from.
#[test]
fn a_stream_without_end_goes_over_both_paths_in_order() {
    let config = front_back(2, Scheduler::FrontBack, &wide());
    let mut world = World::new(vec![path(20, 1, 50), path(20, 1, 50)], vec![(config, None, vec![0, 1])]);
    world.run(at(10));
    let mbps = world.delivered(0) as f64 * 8.0 / 10e6;
    assert!((35.0..40.0).contains(&mbps), "{mbps} Mbps in order");
}
