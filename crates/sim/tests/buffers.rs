//! Buffers of ports and of switches, as scenarios ask for them.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::network::Ending;
use anabranch_sim::scenario::parse;

/// An incast at 100 Mbps with round trips of 900 us, as in Joy's thesis (2015), Table 1, but for the buffer.
const INCAST: &str = r#"
fabric = { topology = "star", hosts = 11, rate = "100Mbps", delay = "225us" }
switch = { ecn_threshold = "5 packets" }
transport = { name = "dctcp" }
[[workload]]
sizes = { law = "fixed", size = "250KB" }
arrivals = { law = "synchronised" }
placement = { pattern = "incast", senders = 10, receiver = 0 }
sessions = 10
"#;

/// Drops and the longest queue, in bytes, of the port to the receiver.
fn bottleneck(overrides: &[&str]) -> (u64, u64) {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    let plan = parse("buffers.toml", INCAST, &overrides).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|_| true);
    assert_eq!(ending, Ending::Complete);
    let record = RunRecord::take(&mut network, ending);
    assert!(record.conservation.holds());
    let port = record.links.iter().find(|l| l.dst == "h0").expect("a downlink");
    (port.dropped, port.queue_max_bytes)
}

#[test]
fn a_port_s_buffer_is_in_packets_or_in_bytes() {
    // Tables 2 and 3: 25 packets. Table 1: 4 MB. Ten initial windows of ten packets arrive at once.
    let (dropped, longest) = bottleneck(&["switch.buffer=25 packets"]);
    assert!(dropped > 0 && longest == 25 * 1500, "{dropped} {longest}");
    let (dropped, longest) = bottleneck(&["switch.buffer=4MB"]);
    assert!(dropped == 0 && longest > 80 * 1500, "{dropped} {longest}");
}

#[test]
fn a_switch_s_memory_is_shared_by_its_ports() {
    let (dropped, longest) = bottleneck(&["switch.shared_buffer=4MB"]);
    assert!(dropped == 0 && longest > 80 * 1500, "as with all of it at the port: {dropped} {longest}");
    // alpha = 1: the one port that is busy has half of 100 packets, the packet that it sends included.
    let (dropped, longest) = bottleneck(&["switch.shared_buffer=150KB"]);
    assert!(dropped > 0 && (48 * 1500..=51 * 1500).contains(&longest), "{dropped} {longest}");
    // alpha = 1/4: a fifth.
    let (_, longest) = bottleneck(&["switch.shared_buffer=150KB", "switch.shared_alpha=0.25"]);
    assert!((18 * 1500..=21 * 1500).contains(&longest), "{longest}");
    // A port's own limit stays.
    let (_, longest) = bottleneck(&["switch.shared_buffer=4MB", "switch.buffer=25 packets"]);
    assert_eq!(longest, 25 * 1500);
}

#[test]
fn a_controller_that_watches_flows_leaves_shared_memory_as_it_is() {
    // It looks for the first time when the run is over: nothing is to be different from a run without it.
    let overrides = ["switch.shared_buffer=150KB", r#"controller=[{ law = "ecn-adaptation", period = "1000s" }]"#];
    assert_eq!(bottleneck(&overrides), bottleneck(&overrides[..1]));
}

/// 32 initial windows of 20 packets at once: far more headers than 12 KB hold, fewer than the data buffer's bytes hold.
#[test]
fn the_headers_of_large_packets_have_the_memory_of_their_data() {
    let incast = |packet: &str, more: &[&str]| {
        let text = r#"
            fabric = { topology = "star", hosts = 33, rate = "100Gbps", delay = "1us" }
            switch = { buffer = "8 packets" }
            transport = { name = "ndp", ndp = { initial_window = 20 } }
            [[workload]]
            sizes = { law = "fixed", size = "500KB" }
            placement = { pattern = "incast", senders = 32, receiver = 0 }
        "#;
        let packet = format!("transport.ndp.packet={packet}");
        let overrides: Vec<String> = std::iter::once(packet).chain(more.iter().map(|o| (*o).to_owned())).collect();
        let plan = parse("headers.toml", text, &overrides).unwrap_or_else(|e| panic!("{e}"));
        let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
        let ending = network.run(|_| true);
        RunRecord::take(&mut network, ending).conservation.dropped
    };
    assert_eq!(incast("9000B", &[]), 0);
    assert!(incast("9000B", &["switch.header_buffer=12KB"]) > 100, "room for 187 headers");
    // In bytes the two buffers are alike without a word about packets.
    assert_eq!(incast("9000B", &["switch.buffer=72KB"]), 0);
    assert_eq!(incast("1500B", &[]), incast("1500B", &["switch.header_buffer=12KB"]));
    assert_eq!(incast("512B", &[]), incast("512B", &["switch.header_buffer=4096B"]));
}
