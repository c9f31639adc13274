//! HULL: phantom queues and pacing, against DCTCP over its marking queue.

use crate::common::{at, ecn, fct, run, setup, star, tcp, unicast, us};
use anabranch_sim::fabric::queue::phantom::Phantom;
use anabranch_sim::fabric::queue::{Limit, Queue};
use anabranch_sim::fabric::routing::RoutingMode::Single;
use anabranch_sim::measure::{LinkRow, RunRecord};
use anabranch_sim::network::{Sampling, Stop};
use anabranch_sim::workload::Session;
use anabranch_transport::tcp::Algorithm;

fn phantom(drain: f64) -> impl Fn(u32) -> Queue + Send {
    move |_| Queue::Phantom(Box::new(Phantom::new(Limit::Packets(250), drain, 1000)))
}

/// Two flows without end to host 0 at 1 Gbps, and 20 KB from a third host after 50 ms, of 100 ms.
fn contend(congestion: Algorithm, queue: impl Fn(u32) -> Queue + Send + 'static) -> RunRecord {
    let endless = |source| Session { size: None, ..unicast(source, 0, 0) };
    let short = Session { start: at(50_000), ..unicast(3, 0, 20_000) };
    let mut setup = setup(star(4), queue, tcp(congestion), Single, vec![endless(1), endless(2), short]);
    (setup.stop, setup.time_limit) = (Stop::Limit, at(100_000));
    setup.sampling = Sampling { interval: us(100), queues: true, ..Sampling::default() };
    run(setup)
}

fn bottleneck(record: &RunRecord) -> &LinkRow {
    record.links.iter().find(|l| l.dst == "h0").expect("host 0 has a downlink")
}

/// Mean queue at the bottleneck after 20 ms, in packets: what has no sample had an empty queue.
fn mean_queue(record: &RunRecord) -> f64 {
    let port = bottleneck(record).link;
    let late =
        |s: &&anabranch_sim::network::Sample| s.metric == "queue_packets" && s.id == port && s.time > us(20_000).ps();
    record.series.iter().filter(late).map(|s| s.value).sum::<f64>() / 800.0
}

#[test]
fn hull_gives_up_a_little_of_the_link_and_the_queue_with_it() {
    let dctcp = contend(Algorithm::Dctcp, ecn(250, 20));
    let hull = contend(Algorithm::Hull, phantom(0.95));
    let (long, short) = (mean_queue(&dctcp), mean_queue(&hull));
    let used = [&dctcp, &hull].map(|record| bottleneck(record).utilisation);
    assert!(long > 10.0 && short < 2.0, "{long} and {short} packets");
    assert!(used[0] > 0.98 && (0.85..0.96).contains(&used[1]), "{used:?}");
    // A short flow need not wait in it.
    assert!(fct(&hull, 2).ps() * 10 < fct(&dctcp, 2).ps() * 8, "{} and {}", fct(&hull, 2), fct(&dctcp, 2));
    assert_eq!(bottleneck(&hull).dropped, 0);
}

#[test]
fn pacing_spares_phantom_queues_bursts() {
    let [bursts, paced] = [Algorithm::Dctcp, Algorithm::Hull].map(|congestion| contend(congestion, phantom(0.95)));
    assert!(mean_queue(&paced) < mean_queue(&bursts), "{} and {}", mean_queue(&paced), mean_queue(&bursts));
    assert!(bottleneck(&paced).queue_max_packets <= bottleneck(&bursts).queue_max_packets);
}

#[test]
fn the_virtual_link_bounds_what_the_port_carries() {
    for drain in [0.8, 0.9] {
        let used = bottleneck(&contend(Algorithm::Hull, phantom(drain))).utilisation;
        assert!(used < drain + 0.01 && used > drain - 0.1, "drain {drain}: {used}");
    }
}
