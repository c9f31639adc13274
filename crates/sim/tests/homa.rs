//! Homa: messages that share receivers and senders, at switches with strict priorities.

use crate::common::*;
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Change, Setup, Stop, Target};
use anabranch_sim::scenario::parse;
use anabranch_sim::workload::Session;
use anabranch_transport::homa::HomaConfig;
use anabranch_transport::{Bytes, Duration};

/// Application bytes of a full packet.
const PAYLOAD: u64 = 1442;

/// On a star of links of 1 Gbps and 10 us, where a full packet and its grant take 65 us: 5.4 packets.
fn homa(change: impl FnOnce(&mut HomaConfig)) -> Protocol {
    let mut config = HomaConfig { unscheduled_priorities: Some(4), ..HomaConfig::default() };
    change(&mut config);
    assert_eq!(config.validate(), Ok(()));
    Protocol::Homa(config)
}

/// Messages on a star of so many hosts.
fn on_a_star(hosts: u32, protocol: Protocol, sessions: Vec<Session>) -> Setup {
    setup(star(hosts), priority(200), protocol, Single, sessions)
}

fn late(us: u64, session: Session) -> Session {
    Session { start: at(us), ..session }
}

/// Full packets, one after the other, through one switch.
fn idle(packets: u64) -> Duration {
    FULL * (packets + 1) + DELAY * 2
}

fn fcts(record: &RunRecord) -> Vec<Duration> {
    (0..record.flows.len()).map(|n| fct(record, n)).collect()
}

#[test]
fn a_message_alone_takes_what_its_packets_take() {
    for packets in [1, 6, 7, 8, 100] {
        let record = complete(on_a_star(2, homa(|_| {}), vec![unicast(0, 1, packets * PAYLOAD)]));
        assert_eq!(fcts(&record), [idle(packets)], "{packets} packets");
    }
}

/// By hand: 20 and 40 packets begin at once, of which 7 each are unscheduled and come in turns. Then only grants decide: both messages are granted a
/// window, those of the short one at a higher priority, so that all of it comes before the rest of the long one.
#[test]
fn the_shorter_of_two_messages_to_a_receiver_goes_first() {
    let two = |change: fn(&mut HomaConfig)| {
        let sessions = vec![unicast(1, 0, 40 * PAYLOAD), unicast(2, 0, 20 * PAYLOAD)];
        fcts(&complete(on_a_star(3, homa(change), sessions)))
    };
    let both = two(|_| {});
    assert_eq!(both[0], idle(60), "the link is never idle");
    // Behind seven unscheduled packets of the other, and what was granted to that before it was known which is the shorter: both have as much left until
    // the first packets are there.
    assert!(both[1] >= idle(27) && both[1] <= idle(29), "{}", both[1]);
    // With one priority the packets of both windows come as they arrive.
    let mixed = two(|c| (c.priorities, c.unscheduled_priorities, c.overcommitment) = (1, Some(1), Some(2)));
    assert!(mixed[1] > idle(35) && mixed[0] <= idle(61), "{mixed:?}");
}

/// Each that comes is shorter than those before it: it is granted at a level above theirs, and nothing of it waits.
#[test]
fn a_shorter_message_goes_before_those_that_are_under_way() {
    let sizes = [300, 200, 100, 50];
    let sessions = (0..4).map(|n| late(200 * u64::from(n), unicast(n + 1, 0, sizes[n as usize] * PAYLOAD))).collect();
    let took = fcts(&complete(on_a_star(5, homa(|_| {}), sessions)));
    assert_eq!(took[0], idle(650), "the link is never idle");
    for (n, beyond) in [(1, 350), (2, 150), (3, 50)] {
        // What is in the port's queue at its own level or above when it comes, and a packet for each change of levels.
        assert!(took[n] >= idle(beyond) && took[n] <= idle(beyond + 12), "{n}: {}", took[n]);
    }
}

/// A weakness of the lowest levels first: a message that is alone is granted at the lowest. If longer ones come, it is granted at higher levels than
/// theirs, but what it was granted before waits behind them.
#[test]
fn what_was_granted_at_a_low_level_waits_for_longer_messages_that_come_later() {
    let sizes = [300, 50, 200, 100];
    let ends = |overcommitment| {
        let sessions = (1..5).map(|h| unicast(h, 0, sizes[h as usize - 1] * PAYLOAD)).collect();
        fcts(&complete(on_a_star(5, homa(|c| c.overcommitment = overcommitment), sessions)))
    };
    let several = ends(None);
    assert!(several[1] > several[3], "the shortest after the second: {several:?}");
    // One at a time have one level.
    let one = ends(Some(1));
    assert!(one[1] < one[3] && one[3] < one[2] && one[2] < one[0], "{one:?}");
}

#[test]
fn short_messages_beside_long_ones_are_nearly_as_fast_as_alone() {
    let endless = |source| Session { size: None, ..unicast(source, 0, 0) };
    let mut sessions = vec![endless(1), endless(2)];
    sessions.extend((0..20).map(|n| late(10_000 + 2_000 * n, unicast(3, 0, 6 * PAYLOAD))));
    // What is granted to the second waits long behind the first: it would be taken for lost.
    let patient = homa(|c| c.resend_timeout = ms(100));
    let setup = Setup { stop: Stop::Limit, time_limit: at(60_000), ..on_a_star(4, patient, sessions) };
    let record = run(setup);
    let took: Vec<Duration> = (2..22).map(|n| fct(&record, n)).collect();
    // A packet that is being sent is not interrupted.
    assert!(took.iter().all(|&took| took >= idle(6) && took <= idle(7)), "{took:?}");
    let downlink = record.links.iter().find(|l| l.dst == "h0").expect("host 0 has a downlink");
    assert!(downlink.utilisation > 0.99, "{}", downlink.utilisation);
}

#[test]
fn a_host_sends_its_shortest_message_first() {
    let sessions = vec![
        unicast(0, 1, 700 * PAYLOAD),
        late(1000, unicast(0, 2, 3 * PAYLOAD)),
        late(1000, unicast(0, 3, 30 * PAYLOAD)),
    ];
    let took = fcts(&complete(on_a_star(4, homa(|_| {}), sessions)));
    assert!(took[1] <= idle(3 + 1), "at most one packet of the long one before: {}", took[1]);
    // Its grants are there in time: it is never without a packet.
    assert!(took[2] <= idle(33 + 1), "{}", took[2]);
    assert!(took[0] <= idle(733), "{}", took[0]);
}

/// The short message's sender is cut off while its receiver has granted to it. With a second message granted at the same time the link is used at once,
/// else when the silence has lasted for `resend_timeout`.
#[test]
fn with_overcommitment_a_silent_sender_costs_nothing_and_without_a_timeout() {
    let other = |overcommitment| {
        let sessions = vec![unicast(1, 0, 60 * PAYLOAD), unicast(2, 0, 300 * PAYLOAD)];
        let changes = vec![(at(300), Change::Cut(Target::Link(1))), (at(12_000), Change::Restore(Target::Link(1)))];
        let record =
            complete(Setup { changes, ..on_a_star(3, homa(|c| c.overcommitment = Some(overcommitment)), sessions) });
        assert!(record.flows[0].timeouts > 0);
        fct(&record, 1)
    };
    assert!(other(1) > us(5_300) && other(1) < us(5_300) + idle(300), "{}", other(1));
    assert!(other(2) < idle(300 + 60), "{}", other(2));
}

#[test]
fn a_receiver_grants_to_one_message_of_each_sender() {
    // Two messages of one sender, the second the shorter, and one of another: of two that are granted, one is the other sender's, although it is the
    // longest. So it goes on when the first sender is cut off, for less than a timeout.
    let sessions = vec![
        unicast(1, 0, 100 * PAYLOAD),
        late(100, unicast(1, 0, 80 * PAYLOAD)),
        late(300, unicast(2, 0, 120 * PAYLOAD)),
    ];
    let changes = vec![(at(500), Change::Cut(Target::Link(1))), (at(5_000), Change::Restore(Target::Link(1)))];
    let two = homa(|c| c.overcommitment = Some(2));
    let took = fcts(&complete(Setup { changes, ..on_a_star(3, two, sessions) }));
    assert!(took[0] > us(5_000) && took[1] > us(4_900), "{took:?}");
    assert!(took[2] <= idle(120 + 30), "besides what the other sender had on its way: {took:?}");
}

#[test]
fn what_a_full_buffer_drops_comes_again() {
    let sessions = (1..16).map(|h| unicast(h, 0, 20 * PAYLOAD)).collect();
    let record = complete(setup(star(16), priority(20), homa(|_| {}), Single, sessions));
    let (again, timeouts) =
        record.flows.iter().fold((0, 0), |sum, flow| (sum.0 + flow.packets_retransmitted, sum.1 + flow.timeouts));
    assert!(again > 50 && timeouts > 0, "{again} packets, {timeouts} timeouts");
    // Without loss, the buffer of the last port holds the unscheduled packets of all.
    let sessions = (1..16).map(|h| unicast(h, 0, 20 * PAYLOAD)).collect();
    let record = complete(on_a_star(16, homa(|_| {}), sessions));
    assert_eq!(record.flows.iter().map(|flow| flow.packets_retransmitted).sum::<u64>(), 0);
    assert_eq!(fcts(&record).into_iter().max(), Some(idle(300)));
}

#[test]
fn rtt_bytes_bound_what_a_granted_message_has_on_its_way() {
    // Less than a round trip: the link is idle for the rest of it. 3 packets in 64.9 us.
    let sessions = vec![unicast(0, 1, 100 * PAYLOAD)];
    let record = complete(on_a_star(2, homa(|c| c.rtt_bytes = Bytes(3 * PAYLOAD)), sessions));
    let round = (FULL * 2 + Duration::from_ns(464) * 2 + DELAY * 4) * 33;
    assert!(fct(&record, 0) >= round && fct(&record, 0) <= round + idle(3), "{}", fct(&record, 0));
}

/// The fabric of the paper's simulations with the sizes of Facebook's Hadoop cluster (W4, in another digitisation): "even at 80% network load, Homa
/// provides 99th-percentile tail latencies for short messages within a factor of 2.2x of an unloaded network" (`HomaSimulation`, README).
#[test]
fn short_messages_at_high_load_take_little_longer_than_alone() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/fidelity/homa.toml");
    let text = std::fs::read_to_string(file).expect("it is there");
    let fewer = ["repeat=1", "workload.messages.sessions=3000", "measure.warmup=0s", "sweep={}"].map(str::to_owned);
    // NDP needs a short buffer, to trim.
    let p99 = |name: &str, buffer: &str| {
        let given = [format!("transport.name={name}"), format!("switch.buffer={buffer}")];
        let plan = parse(file, &text, &[fewer.as_slice(), &given].concat()).expect("it is right");
        let mut network = plan.network(&plan.runs[0]).expect("it is possible");
        let ending = network.run(|_| true);
        let record = RunRecord::take(&mut network, ending);
        let short = record.flows.iter().enumerate().filter(|(_, flow)| flow.size_bytes <= 10_000);
        let mut slowdowns: Vec<f64> =
            short.map(|(n, flow)| fct(&record, n).ps() as f64 / flow.ideal_ps as f64).collect();
        slowdowns.sort_unstable_by(f64::total_cmp);
        slowdowns[slowdowns.len() * 99 / 100]
    };
    let (homa, ndp) = (p99("homa", "unlimited"), p99("ndp", "auto"));
    assert!(homa < 2.2, "{homa}");
    assert!(ndp > 2.0 * homa, "Figure 8 has NDP far behind: {ndp}, Homa {homa}");
}
