use super::*;
use crate::workload::arrivals::{ArrivalsConfig, Explicit, Interval, Poisson, Synchronised};
use crate::workload::context::tests::racks;
use crate::workload::placement::{Incast, Pairs, Permutation, PlacementConfig, Random, Receivers, Replicas, Senders};
use crate::workload::sizes::{Cdf, Endless, Fixed, SizesConfig};
use crate::workload::{Access, Mode, Policy};
use anabranch_transport::Bytes;

fn fixed(size: u64) -> SizesConfig {
    SizesConfig::Fixed(Fixed { size: Bytes(size) })
}

fn web_search(load: f64, sessions: u64) -> Workload {
    Workload {
        arrivals: ArrivalsConfig::Poisson(Poisson { rate: None, load: Some(load) }),
        sizes: Some(SizesConfig::Cdf(Cdf { name: Some("websearch_pfabric".to_owned()), file: None })),
        placement: Some(PlacementConfig::Random(Random::default())),
        sessions: Some(sessions),
        ..Workload::default()
    }
}

fn background(share: f64) -> Workload {
    Workload {
        sizes: Some(SizesConfig::Endless(Endless::default())),
        placement: Some(PlacementConfig::Permutation(Permutation { share })),
        ..Workload::default()
    }
}

fn incast(senders: u32, arrivals: ArrivalsConfig) -> Workload {
    Workload {
        arrivals,
        sizes: Some(fixed(70_000)),
        placement: Some(PlacementConfig::Incast(Incast {
            senders,
            receiver: Some(0),
            receivers: Receivers::Random,
            choice: Senders::Random,
        })),
        ..Workload::default()
    }
}

#[test]
fn the_offered_load_is_the_one_asked_for() {
    let fabric = racks(50, 5);
    let sessions = generate(&[web_search(0.6, 40_000)], &fabric, 1).unwrap();
    assert_eq!(sessions.len(), 40_000);
    let bits: f64 = sessions.iter().map(|s| s.size.unwrap().0 as f64 * 8.0).sum();
    let load = bits / sessions.last().unwrap().start.as_secs_f64() / fabric.access_capacity_bps();
    // The sizes have a coefficient of variation near 2.3, the gaps 1: a standard error of 1.3 % over 40 000.
    assert!((load / 0.6 - 1.0).abs() < 0.05, "{load}");
}

#[test]
fn same_seed_same_sessions_and_other_seed_others() {
    let fabric = racks(10, 5);
    let workloads = [web_search(0.5, 500), background(0.3)];
    let first = generate(&workloads, &fabric, 42).unwrap();
    assert_eq!(first, generate(&workloads, &fabric, 42).unwrap());
    assert_ne!(first, generate(&workloads, &fabric, 43).unwrap());
}

#[test]
fn a_workload_does_not_disturb_the_others() {
    let fabric = racks(10, 5);
    let alone = generate(&[web_search(0.5, 500)], &fabric, 42).unwrap();
    let both = generate(&[web_search(0.5, 500), background(0.3)], &fabric, 42).unwrap();
    // Requests are numbered across workloads.
    let unnumbered = |s: Session| Session { request: 0, ..s };
    let first = both.into_iter().filter(|s| s.group == 0).map(unnumbered);
    assert_eq!(alone.into_iter().map(unnumbered).collect::<Vec<_>>(), first.collect::<Vec<_>>());
}

#[test]
fn the_hosts_of_an_exclusive_workload_are_its_own() {
    let fabric = racks(50, 5);
    let alone = Workload { exclusive: true, ..background(0.3) };
    let replicas = Replicas { replicas: 3, policy: Policy::Hdfs, blocks: 1, access: Some(Access::Write) };
    let writes = Workload { placement: Some(PlacementConfig::Replicas(replicas)), ..web_search(0.5, 600) };
    let sessions = generate(&[web_search(0.5, 2_000), alone.clone(), writes], &fabric, 1).unwrap();
    let hosts = |group: u16| -> BTreeSet<u32> {
        let own = sessions.iter().filter(|s| s.group == group);
        own.flat_map(|s| s.sources.iter().chain(&s.sinks).copied()).collect()
    };
    assert_eq!((hosts(0).len(), hosts(1).len(), hosts(2).len()), (175, 75, 175));
    assert!(hosts(1).is_disjoint(&hosts(0)) && hosts(0) == hosts(2));
    // Loads are of the links that are left.
    let rate = |fabric: &Context, workloads: &[Workload]| {
        let sessions = generate(workloads, fabric, 1).unwrap();
        sessions.iter().rfind(|s| s.group == 0).unwrap().start.as_secs_f64()
    };
    let ratio = rate(&fabric, &[web_search(0.5, 2_000), alone]) / rate(&fabric, &[web_search(0.5, 2_000)]);
    assert!((ratio - 250.0 / 175.0).abs() < 1e-6, "{ratio}");
}

#[test]
fn a_host_that_is_taken_cannot_be_named() {
    let pairs = |pairs: Vec<[u32; 2]>, exclusive| Workload {
        sizes: Some(fixed(1_000)),
        placement: Some(PlacementConfig::Pairs(Pairs { pairs })),
        exclusive,
        ..Workload::default()
    };
    let fabric = racks(2, 3);
    let both = |second| generate(&[pairs(second, false), pairs(vec![[0, 3]], true)], &fabric, 1);
    let sessions = both(vec![[1, 5], [5, 2]]).unwrap();
    let ends: Vec<(u32, u32)> = sessions.iter().map(|s| (s.sources[0], s.sinks[0])).collect();
    assert_eq!(ends, [(1, 5), (5, 2), (0, 3)]);
    let error = both(vec![[1, 3]]).unwrap_err();
    assert_eq!((error.workload, error.fault.key.as_str()), (0, "placement.pairs.0"));
    assert!(error.fault.message.contains("exclusive"), "{}", error.fault.message);
    assert!(both(vec![[1, 6]]).unwrap_err().fault.message.contains("0 to 5"));
}

#[test]
fn background_flows_are_endless_and_start_at_once() {
    let sessions = generate(&[background(0.3)], &racks(50, 5), 1).unwrap();
    assert_eq!(sessions.len(), 75);
    assert!(sessions.iter().all(|s| s.size.is_none() && s.start == Time::ZERO && s.mode == Mode::Unicast));
}

#[test]
fn sessions_are_sorted_by_start_then_workload() {
    let every = |us| ArrivalsConfig::Interval(Interval { every: Duration::from_us(us), at: Duration::ZERO });
    let workloads = [incast(2, every(3)), incast(3, every(2))].map(|w| Workload { sessions: Some(6), ..w });
    let sessions = generate(&workloads, &racks(2, 3), 1).unwrap();
    let order: Vec<(u64, u16)> = sessions.iter().map(|s| (s.start.ps() / 1_000_000, s.group)).collect();
    assert!(order.is_sorted());
    assert_eq!(order.iter().filter(|o| **o == (0, 0)).count(), 2, "an incast of two starts together");
    assert_eq!(order.last(), Some(&(6, 0)));
}

#[test]
fn jitter_spreads_each_session_within_its_bound() {
    let jitter = Duration::from_us(10);
    let at = Duration::from_us(100);
    let sessions =
        generate(&[incast(200, ArrivalsConfig::Synchronised(Synchronised { at, jitter }))], &racks(50, 5), 1).unwrap();
    assert_eq!(sessions.len(), 200);
    let starts: Vec<u64> = sessions.iter().map(|s| s.start.ps()).collect();
    assert!(starts[0] >= 100_000_000 && starts[199] <= 110_000_000);
    let mean = starts.iter().sum::<u64>() as f64 / 200.0;
    // Uniform on 10 us: the mean of 200 has a standard deviation of 0.2 us.
    assert!((mean - 105e6).abs() < 0.8e6, "{mean}");
}

#[test]
fn until_ends_the_arrivals() {
    let every = Interval { every: Duration::from_us(10), at: Duration::ZERO };
    let config = Workload {
        until: Some(Duration::from_us(95)),
        placement: Some(PlacementConfig::Random(Random::default())),
        ..incast(1, ArrivalsConfig::Interval(every))
    };
    assert_eq!(generate(&[config], &racks(2, 3), 1).unwrap().len(), 10);
}

#[test]
fn explicit_times_set_the_number_of_sessions() {
    let times = vec![Duration::ZERO, Duration::from_us(7)];
    let sessions = generate(&[incast(3, ArrivalsConfig::Explicit(Explicit { times }))], &racks(2, 3), 1).unwrap();
    assert_eq!(sessions.iter().map(|s| s.start.ps()).collect::<Vec<_>>(), [0, 0, 0, 7_000_000, 7_000_000, 7_000_000]);
}

#[test]
fn load_counts_all_sessions_of_a_request() {
    let fabric = racks(10, 5);
    let arrivals = ArrivalsConfig::Poisson(Poisson { rate: None, load: Some(0.2) });
    let config = Workload { sessions: Some(10 * 4_000), ..incast(10, arrivals) };
    let sessions = generate(&[config], &fabric, 3).unwrap();
    let bits = sessions.len() as f64 * 70_000.0 * 8.0;
    let load = bits / sessions.last().unwrap().start.as_secs_f64() / fabric.access_capacity_bps();
    assert!((load / 0.2 - 1.0).abs() < 0.07, "{load}");
}

#[test]
fn group_sessions_carry_their_mode() {
    let replicas = |mode, access| Workload {
        sizes: Some(fixed(1_000_000)),
        placement: Some(PlacementConfig::Replicas(Replicas { replicas: 3, policy: Policy::Hdfs, blocks: 1, access })),
        sessions: Some(6),
        mode,
        ..Workload::default()
    };
    let ends = |config| generate(&[config], &racks(10, 5), 1).unwrap();
    let written = ends(replicas(Some(Mode::OneToMany), None));
    assert!(written.iter().all(|s| s.mode == Mode::OneToMany && s.sources.len() == 1 && s.sinks.len() == 3));
    let read = ends(replicas(None, Some(Access::Read)));
    assert!(read.iter().all(|s| s.mode == Mode::ManyToOne && s.sources.len() == 3 && s.sinks.len() == 1));
    let multi = ends(replicas(Some(Mode::Unicast), Some(Access::Write)));
    assert_eq!(multi.len(), 6, "two requests of three sessions");
    assert!(multi[..3].iter().all(|s| s.sources == multi[0].sources));
}

#[test]
fn sessions_of_a_request_share_its_number() {
    let poisson = |rate| ArrivalsConfig::Poisson(Poisson { rate: Some(rate), load: None });
    let ahead = Workload {
        arrivals: poisson(2_000.0),
        placement: Some(PlacementConfig::Replicas(Replicas {
            replicas: 3,
            policy: Policy::Hdfs,
            blocks: 3,
            access: Some(Access::Read),
        })),
        sessions: Some(300),
        ..web_search(0.5, 1)
    };
    let workloads = [ahead, Workload { sessions: Some(400), ..incast(4, poisson(1_000.0)) }];
    let sessions = generate(&workloads, &racks(10, 5), 4).unwrap();
    assert_eq!(sessions.len(), 700);
    let mut requests: Vec<Vec<&Session>> = Vec::new();
    for session in &sessions {
        // Requests are numbered in order of arrival, across workloads.
        if session.request as usize == requests.len() {
            requests.push(Vec::new());
        }
        requests[session.request as usize].push(session);
    }
    assert_eq!(requests.len(), 100 + 100);
    for of_one in &requests {
        let first = of_one[0];
        assert_eq!(of_one.len(), if first.group == 0 { 3 } else { 4 });
        let alike =
            |s: &&Session| (s.group, s.start, s.size, &s.sinks) == (first.group, first.start, first.size, &first.sinks);
        assert!(of_one.iter().all(alike), "one client, one size, one time: {of_one:?}");
    }
}

#[test]
fn errors_name_the_workload_and_the_key() {
    let fabric = racks(2, 3);
    let key = |config: Workload| {
        let error = generate(&[web_search(0.5, 1), config], &fabric, 1).unwrap_err();
        assert_eq!(error.workload, 1);
        error.fault.key
    };
    let now = || ArrivalsConfig::default();
    assert_eq!(key(incast(6, now())), "placement.senders");
    assert_eq!(key(Workload { sizes: Some(fixed(0)), ..incast(2, now()) }), "sizes.size");
    assert_eq!(key(Workload { sessions: Some(5), ..incast(2, now()) }), "sessions");
    assert_eq!(key(Workload { sessions: None, ..web_search(0.5, 1) }), "");
    assert_eq!(key(Workload { mode: Some(Mode::OneToMany), ..incast(2, now()) }), "mode");
    assert_eq!(key(Workload::default()), "");
    let endless = Workload { sizes: Some(SizesConfig::Endless(Endless::default())), ..web_search(0.5, 1) };
    assert_eq!(key(endless), "arrivals.load");
    let file = SizesConfig::Cdf(Cdf { name: None, file: Some("missing.csv".to_owned()) });
    assert_eq!(key(Workload { sizes: Some(file), ..incast(2, now()) }), "sizes.file");
}

#[test]
fn mode_of_multi_unicast_counts_towards_sessions() {
    let config = Workload {
        sizes: Some(fixed(1)),
        placement: Some(PlacementConfig::Replicas(Replicas {
            replicas: 3,
            policy: Policy::Random,
            blocks: 1,
            access: Some(Access::Write),
        })),
        sessions: Some(4),
        mode: Some(Mode::Unicast),
        ..Workload::default()
    };
    let fault = generate(&[config], &racks(2, 3), 1).unwrap_err().fault;
    assert_eq!((fault.key.as_str(), fault.hint.as_deref()), ("sessions", Some("sessions = 6")));
}
