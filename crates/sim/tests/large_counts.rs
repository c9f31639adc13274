//! Counts beyond 32 bits: what waits at a host, and for how long.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Ending;
use anabranch_sim::scenario::parse;

/// Five gigabytes that are handed over at once wait in the host's queue. Its bytes are more than 32 bits hold; a sender that
/// takes them for few believes that all has left, and that what has not arrived a second later is lost.
#[test]
fn five_gigabytes_in_a_host_s_queue_arrive() {
    let text = r#"
        transport = { name = "udp", udp = { packet = "65535B" } }
        workload = [{ sizes = { law = "fixed", size = "5GB" }, placement = { pattern = "pairs", pairs = [[0, 1]] } }]
        [fabric]
        topology = "star"
        hosts = 2
        rate = "10Gbps"
        delay = "1us"
        [switch]
        buffer = "unlimited"
    "#;
    let plan = parse("test.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete);
    assert!(record.flows[0].end.is_some(), "declared lost although every packet arrived");
    let longest = record.links.iter().map(|link| link.queue_max_bytes).max();
    assert!(longest > Some(4_999_000_000), "{longest:?} bytes");
}
