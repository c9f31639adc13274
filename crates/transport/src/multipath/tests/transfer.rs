//! Transfers over a simulated pair: one link each way, shared by all subflows.

use crate::endpoint::{Endpoint, Transmit};
use crate::multipath::{
    Connection, FrontBackConfig, Header, MptcpConfig, MptcpScheduler, MultipathConfig, Scheduler, SubflowControl,
    Subflows,
};
use crate::tcp::{self, Algorithm, FlowSpec, TcpConfig};
use crate::testing::{Fate, Pair, Slow};
use crate::units::{Bytes, Duration, Time};
use proptest::prelude::*;

pub(super) const END: Time = Time(Duration::from_secs(3000).0);

pub(super) fn tcp() -> TcpConfig {
    TcpConfig { rto_min: Duration::from_ms(10), rto_initial: Duration::from_ms(20), ..TcpConfig::default() }
}

pub(super) fn front_back(subflows: u8, scheduler: Scheduler, tcp: &TcpConfig) -> MultipathConfig {
    let congestion = SubflowControl::Newreno;
    FrontBackConfig { subflows: Subflows::Count(subflows), scheduler, congestion }.over(tcp)
}

pub(super) fn mptcp(
    subflows: u8,
    scheduler: MptcpScheduler,
    congestion: SubflowControl,
    tcp: &TcpConfig,
) -> MultipathConfig {
    MptcpConfig { subflows: Subflows::Count(subflows), scheduler, congestion, ..MptcpConfig::default() }.over(tcp)
}

pub(super) fn pair(
    config: &MultipathConfig,
    bytes: u64,
    policy: impl FnMut(u64, usize, &Transmit<Header>) -> Fate + 'static,
) -> Pair<Connection> {
    let flow = FlowSpec::of(Some(bytes));
    let ends = vec![Connection::connect(config, flow, Time::ZERO), Connection::listen(config, flow)];
    Pair::new(ends, Duration::from_us(10), 1, Duration::from_us(12), policy)
}

fn all_kinds(subflows: u8, tcp: &TcpConfig) -> Vec<MultipathConfig> {
    let schedulers = [Scheduler::FrontBack, Scheduler::Divide, Scheduler::RoundRobin];
    let mut kinds: Vec<_> = schedulers.map(|s| front_back(subflows, s, tcp)).into();
    let controls = [SubflowControl::Lia, SubflowControl::Olia, SubflowControl::Cubic, SubflowControl::Dctcp];
    kinds.extend(controls.map(|control| mptcp(subflows, MptcpScheduler::MinRtt, control, tcp)));
    kinds.push(mptcp(subflows, MptcpScheduler::RoundRobin, SubflowControl::Reno, tcp));
    kinds
}

#[test]
fn every_kind_delivers_and_closes() {
    for subflows in [1, 2, 3, 5] {
        for config in all_kinds(subflows, &tcp()) {
            for bytes in [0, 1, 1460, 10_000, 300_001] {
                let mut pair = pair(&config, bytes, |_, _, _| Fate::Deliver);
                assert!(pair.run(END), "{config:?}: {}", pair.nodes[0].waiting_for());
                assert!(pair.completed_at(1).is_some(), "{bytes} B, {config:?}: {}", pair.nodes[1].waiting_for());
                assert_eq!(pair.nodes[1].stats().bytes_delivered, bytes);
                assert_eq!((pair.nodes[0].stats().retransmitted, pair.nodes[0].stats().timeouts), (0, 0), "{config:?}");
                for node in 0..2 {
                    let closed = pair.events[node].iter().filter(|e| e.1 == crate::Event::Closed).count();
                    assert_eq!(closed, 1, "{bytes} B, {config:?}: {}", pair.nodes[node].waiting_for());
                }
                assert!(
                    pair.now < Time::ZERO + Duration::from_ms(15),
                    "nobody waits for a timer: {:?} {config:?}",
                    pair.now
                );
            }
        }
    }
}

/// One subflow is TCP, packet by packet, losses and all.
#[test]
fn one_front_back_subflow_is_tcp() {
    for (sack, prr, hystart) in [(false, false, false), (true, false, false), (true, true, true)] {
        for seed in 0..20u64 {
            let config = TcpConfig { sack, prr, hystart, congestion: Algorithm::NewReno, ..tcp() };
            let fate = move |n: u64| {
                let hash = (n + 1).wrapping_mul(seed * 2 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
                if hash.is_multiple_of(if sack { 80 } else { 25 }) { Fate::Drop } else { Fate::Deliver }
            };
            // A short last segment waits for room for a full one here, and for its own size there.
            let bytes = (140 + seed) * 1460;
            let mut plain = Pair::new(
                vec![tcp::Connection::connect(&config, Some(bytes), Time::ZERO), tcp::Connection::listen(&config)],
                Duration::from_us(10),
                1,
                Duration::from_us(12),
                move |n, _, _| fate(n),
            );
            // Two SACK blocks instead of three: no ACK has more here.
            let mut ours = pair(&front_back(1, Scheduler::FrontBack, &config), bytes, move |n, _, _| fate(n));
            assert!(plain.run(END) && ours.run(END));
            let theirs: Vec<_> =
                plain.log.iter().map(|(at, from, _, t, _)| (*at, *from, t.header.seq, t.header.len)).collect();
            let log: Vec<_> = ours
                .log
                .iter()
                .map(|(at, from, _, t, _)| {
                    let segment = t.header.segment();
                    (*at, *from, segment.seq, segment.len)
                })
                .collect();
            let differs = theirs.iter().zip(&log).position(|(a, b)| a != b);
            assert_eq!((differs, theirs.len()), (None, log.len()), "seed {seed}, sack {sack}");
        }
    }
}

#[test]
fn packets_have_the_bytes_that_their_options_need() {
    let sizes = |config: &MultipathConfig| {
        let mut pair = pair(config, 1_000_000, |_, _, _| Fate::Deliver);
        assert!(pair.run(END));
        let mut sizes: Vec<_> = pair.log.iter().map(|(_, from, _, t, _)| (*from, t.subflow.min(1), t.size)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let both = |sizes: &[(usize, u8, u32)], wanted: &[(usize, u8, u32)]| {
        for size in wanted {
            assert!(sizes.contains(size), "{size:?} of {sizes:?}");
        }
    };
    let mptcp = sizes(&mptcp(2, MptcpScheduler::RoundRobin, SubflowControl::Lia, &tcp()));
    both(&mptcp, &[(0, 0, 44), (1, 0, 52), (0, 1, 52), (1, 1, 56), (0, 0, 1500), (1, 1, 52)]);
    let front_back = sizes(&front_back(2, Scheduler::FrontBack, &tcp()));
    both(&front_back, &[(0, 0, 40), (1, 0, 40), (0, 1, 1500), (1, 1, 40)]);
    assert!(mptcp.iter().chain(&front_back).all(|size| size.2 <= 1500));
}

#[test]
fn mptcp_joins_once_the_first_subflow_is_established_and_front_back_opens_all_at_once() {
    let opened = |config: &MultipathConfig| {
        let mut pair = pair(config, 1_000_000, |_, _, _| Fate::Deliver);
        assert!(pair.run(END));
        let first = |subflow| pair.log.iter().find(|l| l.1 == 0 && l.3.subflow == subflow).map(|l| l.0).unwrap();
        [first(0), first(1), first(2)]
    };
    let at_once = opened(&front_back(3, Scheduler::FrontBack, &tcp()));
    assert_eq!(at_once, [Time::ZERO; 3]);
    let [first, second, third] = opened(&mptcp(3, MptcpScheduler::MinRtt, SubflowControl::Lia, &tcp()));
    assert!(first == Time::ZERO && second == third && second > first + Duration::from_us(20));
}

#[test]
fn blocks_that_come_little_by_little_are_each_sent_front_and_back() {
    for config in all_kinds(2, &tcp()) {
        let provides = [(1u64, 10_001u64), (3, 30_002), (5, 60_003)];
        let flow = FlowSpec::of(Some(60_003));
        let times = provides.map(|(ms, bytes)| (Time::ZERO + Duration::from_ms(ms), bytes));
        let ends = vec![
            Slow::new(Connection::connect(&config, flow, Time::ZERO), times),
            Slow::new(Connection::listen(&config, flow), []),
        ];
        let mut pair = Pair::new(ends, Duration::from_us(10), 1, Duration::from_us(12), |_, _, _| Fate::Deliver);
        for (ms, before) in [(1, 0), (2, 10_001), (4, 30_002), (6, 60_003)] {
            pair.run(Time::ZERO + Duration::from_us(ms * 1000 - 1));
            assert_eq!(pair.nodes[1].stats().bytes_delivered, before, "before {ms} ms: {config:?}");
        }
        assert!(pair.run(END));
        assert!(pair.log[0].0 >= times[0].0, "opened when there is something to send");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever is lost, late or doubled, every kind delivers every byte, and neither end hangs.
    #[test]
    fn every_byte_arrives(
        subflows in 1u8..6,
        bytes in 0u64..120_000,
        sack in any::<bool>(),
        delayed_ack in any::<bool>(),
        fates in proptest::collection::vec(0u8..40, 1..200),
    ) {
        let tcp = TcpConfig { sack, delayed_ack, retries: 30, receive_window: Bytes(30_000), ..tcp() };
        for config in all_kinds(subflows, &tcp) {
            let fates = fates.clone();
            let mut pair = pair(&config, bytes, move |n, _, _| match fates.get(n as usize) {
                Some(0..=3) => Fate::Drop,
                Some(4) => Fate::Late(Duration::from_ms(3)),
                Some(5) => Fate::Late(Duration::from_us(100)),
                Some(6) => Fate::Duplicate,
                Some(7) => Fate::Trim,
                Some(8) => Fate::Mark,
                _ => Fate::Deliver,
            });
            prop_assert!(pair.run(END), "{:?}: {}", config, pair.nodes[0].waiting_for());
            prop_assert!(pair.completed_at(1).is_some(), "{:?}: {}", config, pair.nodes[1].waiting_for());
            prop_assert_eq!(pair.nodes[1].stats().bytes_delivered, bytes);
            for node in 0..2 {
                let closed = pair.events[node].iter().filter(|e| e.1 == crate::Event::Closed).count();
                prop_assert_eq!(closed, 1, "{:?}: {}", &config, pair.nodes[node].waiting_for());
            }
        }
    }
}

/// Go-back-N makes full segments of formerly short ones: where their bytes belong in several places, each place has its own packet.
#[test]
fn a_segment_whose_bytes_belong_apart_is_several_packets() {
    let config = front_back(2, Scheduler::FrontBack, &tcp());
    let bytes = 12_000;
    let flow = FlowSpec::of(Some(bytes));
    let provides: Vec<_> = (1..=12).map(|i| (Time::ZERO + Duration::from_us(300 * i), 1000 * i)).collect();
    let ends = vec![
        Slow::new(Connection::connect(&config, flow, Time::ZERO), provides),
        Slow::new(Connection::listen(&config, flow), []),
    ];
    // All data of the second to the tenth block is lost.
    let mut data = 0;
    let policy = move |_: u64, from: usize, t: &Transmit<Header>| {
        data += u64::from(from == 0 && t.header.segment().len > 0);
        if from == 0 && t.size > 40 && (2..=10).contains(&data) { Fate::Drop } else { Fate::Deliver }
    };
    let mut pair = Pair::new(ends, Duration::from_us(10), 1, Duration::from_us(12), policy);
    assert!(pair.run(END));
    assert_eq!(pair.nodes[1].stats().bytes_delivered, bytes);
    let lengths: Vec<u16> = pair.log.iter().filter(|l| l.1 == 0).map(|l| l.3.header.segment().len).collect();
    assert!(lengths.contains(&460), "of 1460 B, 1000 belong in one place and 460 in another: {lengths:?}");
    assert!(pair.log.iter().all(|l| l.3.size == 40 + u32::from(l.3.header.segment().len)), "{:?}", pair.log);
}
