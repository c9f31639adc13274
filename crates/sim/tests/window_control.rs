//! SCDP without trimming: receivers that find their windows themselves, on a drop-tail bottleneck of 100 Mbps and 10 ms.

use crate::common::*;
use anabranch_sim::fabric::graph::Graph;
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::host::protocol::Protocol;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::{Ending, Network};
use anabranch_sim::scenario::parse;
use anabranch_sim::workload::{Mode, Session};
use anabranch_transport::scdp::{ScdpConfig, WindowControl};
use anabranch_transport::{Duration, Rate};

/// Packets that fill the path: 100 Mbps for 10.2 ms.
const PRODUCT: u32 = 85;

/// What came of a run.
struct Shares {
    /// Mbps of each flow, in order.
    rates: Vec<f64>,
    /// Packets in the bottleneck's queue on average, and at most.
    queue: f64,
    most: u32,
    /// Part of the packets that were dropped there.
    dropped: f64,
}

/// Which windows SCDP has, and what the switch does.
#[derive(Clone, Copy, Debug)]
enum Setting {
    Bbr,
    Fixed,
    Marks,
}

/// Flows without end, `(transport, from, to)`, behind a buffer of so many packets, for so many seconds.
fn share(buffer: u32, seconds: u32, flows: &[(&str, u32, u32)], setting: Setting) -> Shares {
    let (control, queue, threshold) = match setting {
        Setting::Bbr => ("window_control = \"bbr\"", "drop-tail", ""),
        Setting::Fixed => ("", "drop-tail", ""),
        Setting::Marks => ("window_control = \"bbr\"\necn = true", "ecn", "ecn_threshold = \"20 packets\""),
    };
    let workload = |(i, (transport, from, to)): (usize, &(&str, u32, u32))| {
        format!(
            "[[workload]]\nname = \"{i}\"\ntransport = \"{transport}\"\nsizes = {{ law = \"endless\" }}\n\
             placement = {{ pattern = \"pairs\", pairs = [[{from}, {to}]] }}\n"
        )
    };
    let workloads: String = flows.iter().enumerate().map(workload).collect();
    let text = format!(
        r#"
        [fabric]
        topology = "dumbbell"
        left = 3
        right = 3
        rate = "1Gbps"
        delay = "50us"
        bottleneck_rate = "100Mbps"
        bottleneck_delay = "5ms"
        [transport]
        name = "scdp"
        [transport.scdp]
        {control}
        pull_timeout = "50ms"
        probe_timeout = "200ms"
        [transport.tcp]
        receive_window = "10MB"
        [switch]
        queue = "{queue}"
        buffer = "{buffer} packets"
        {threshold}
        [run]
        time_limit = "{seconds}s"
        [measure]
        warmup = "1s"
        {workloads}
        "#
    );
    let plan = parse("test.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut network: Network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete);
    assert!(record.conservation.holds());
    let rates = record.flows.iter().map(|f| f.size_bytes as f64 * 8e6 / f.measured_ps as f64).collect();
    let link =
        record.links.iter().find(|l| (l.src.as_str(), l.dst.as_str()) == ("left", "right")).expect("the bottleneck");
    let shares = Shares {
        rates,
        queue: link.queue_mean_bytes / 1500.0,
        most: link.queue_max_packets,
        dropped: link.dropped as f64 / (link.packets + link.dropped) as f64,
    };
    let Shares { rates, queue, most, dropped } = &shares;
    println!(
        "{flows:?} buffer {buffer} {seconds}s {setting:?}: {rates:.1?} Mbps, queue {queue:.1} at most {most}, dropped {:.2} %",
        dropped * 100.0
    );
    shares
}

const ALONE: [(&str, u32, u32); 1] = [("scdp", 0, 3)];
const BESIDE_CUBIC: [(&str, u32, u32); 2] = [("scdp", 0, 3), ("cubic", 1, 4)];
const TWO: [(&str, u32, u32); 2] = [("scdp", 0, 3), ("scdp", 1, 4)];

/// What a link of 100 Mbps carries of objects: 1436 of 1500 bytes.
const ALL: f64 = 95.7;

/// Jain's index of fairness.
fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), r| (sum + r, squares + r * r));
    sum * sum / (rates.len() as f64 * squares)
}

#[test]
fn a_session_alone_fills_the_link_and_leaves_the_buffer() {
    for buffer in [PRODUCT / 4, PRODUCT / 2, PRODUCT, 2 * PRODUCT, 10 * PRODUCT] {
        let shares = share(buffer, 30, &ALONE, Setting::Bbr);
        assert!(shares.rates[0] >= 0.9 * ALL, "{}", shares.rates[0]);
        // A bandwidth-delay product waits, if there is room for it.
        assert!(
            shares.queue <= f64::from(PRODUCT) * 1.1 && shares.queue <= f64::from(buffer) * 0.6,
            "{}",
            shares.queue
        );
        assert!(shares.dropped < 0.01, "{}", shares.dropped);
    }
    // The window of the papers is too short for this path, and without control a longer one is never right.
    let fixed = share(PRODUCT, 10, &ALONE, Setting::Fixed);
    assert!(fixed.rates[0] < 0.2 * ALL);
}

#[test]
fn marks_keep_the_queue_short() {
    let shares = share(2 * PRODUCT, 30, &ALONE, Setting::Marks);
    assert!(shares.rates[0] >= 0.9 * ALL, "{}", shares.rates[0]);
    assert!(shares.queue < 25.0 && shares.dropped == 0.0, "{} {}", shares.queue, shares.dropped);
}

#[test]
fn neither_it_nor_cubic_is_starved() {
    for buffer in [PRODUCT / 4, PRODUCT / 2, PRODUCT, 2 * PRODUCT, 4 * PRODUCT, 10 * PRODUCT] {
        let shares = share(buffer, 60, &BESIDE_CUBIC, Setting::Bbr);
        assert!(shares.rates.iter().all(|&rate| rate >= 0.2 * ALL), "{:?}", shares.rates);
        assert!(shares.rates.iter().sum::<f64>() >= 0.9 * ALL);
    }
}

#[test]
fn sessions_share_the_link() {
    for buffer in [PRODUCT / 4, PRODUCT / 2, PRODUCT, 2 * PRODUCT, 10 * PRODUCT] {
        let shares = share(buffer, 30, &TWO, Setting::Bbr);
        assert!(jain(&shares.rates) >= 0.9, "{:?}", shares.rates);
        assert!(shares.rates.iter().sum::<f64>() >= 0.9 * ALL);
    }
}

/// A star with delays of a millisecond, whose host 3 has a tenth of the others' rate.
fn one_slow() -> Graph {
    let mut graph = star(4);
    graph.links.iter_mut().for_each(|link| link.delay = ms(1));
    graph.links[3].rate = Rate::from_mbps(100);
    graph
}

fn bbr() -> Protocol {
    let config = ScdpConfig { window_control: WindowControl::Bbr, pull_timeout: ms(20), ..ScdpConfig::default() };
    Protocol::Scdp(config.into())
}

/// Mbps of a transfer of so many bytes.
fn rate(record: &RunRecord, bytes: u64) -> f64 {
    let longest = (0..record.flows.len()).map(|n| fct(record, n)).fold(Duration::ZERO, Duration::max);
    bytes as f64 * 8.0 / longest.as_secs_f64() / 1e6
}

#[test]
fn a_group_goes_at_the_rate_of_its_slowest_receiver() {
    let bytes = 40_000_000;
    for buffer in [20, 100] {
        let session = |sinks: Vec<u32>| Session { mode: Mode::OneToMany, sinks: sinks.into(), ..unicast(0, 1, bytes) };
        let record = complete(setup(one_slow(), drop_tail(buffer), bbr(), Single, vec![session(vec![1, 2, 3])]));
        let alone = complete(setup(one_slow(), drop_tail(buffer), bbr(), Single, vec![unicast(0, 3, bytes)]));
        let fast = complete(setup(one_slow(), drop_tail(buffer), bbr(), Single, vec![session(vec![1, 2])]));
        let rates = [&record, &alone, &fast].map(|record| rate(record, bytes));
        println!("buffer {buffer}: {rates:.1?} Mbps with the slow one, to it alone, to two fast ones");
        assert!(rates[0] >= 0.9 * rates[1] && rates[0] >= 0.85 * ALL, "{rates:?}");
        assert!(rates[2] >= 0.8 * 10.0 * ALL, "{rates:?}");
    }
}

#[test]
fn each_sender_of_several_has_a_window_of_its_own() {
    // Host 3 gives a tenth of what each of the others could; the receiver's link is the bottleneck of all.
    let bytes = 120_000_000;
    let mut graph = one_slow();
    graph.links[1].delay = ms(3);
    let session =
        Session { mode: Mode::ManyToOne, sources: vec![1, 2, 3].into(), sinks: vec![0].into(), ..unicast(1, 0, bytes) };
    let record = complete(setup(graph, drop_tail(100), bbr(), Single, vec![session]));
    let rate = rate(&record, bytes);
    println!("{rate:.1} Mbps from three senders, {} dropped", record.conservation.dropped);
    assert!(rate >= 0.8 * 10.0 * ALL, "{rate}");
}
