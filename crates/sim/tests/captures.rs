//! Packet captures: they change nothing, and what is in them is what links and flows count.

use anabranch_sim::capture::CaptureRow;
use anabranch_sim::measure::RunRecord;
use anabranch_sim::scenario::{Plan, parse};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Three senders, one receiver, short queues.
const TEXT: &str = r#"
    name = "incast"
    fabric = { topology = "star", hosts = 4 }
    transport = { name = "dctcp" }
    switch = { buffer = "20 packets" }
    measure = { packets = ["edge0", "h0", "h1", "h2", "h3"] }
    [[workload]]
    sizes = { law = "fixed", size = "100KB" }
    placement = { pattern = "incast", senders = 3, receiver = 0 }
"#;

/// Every name of a transport that has headers of its own, or writes options of its own.
const TRANSPORTS: [&str; 10] =
    ["dctcp", "newreno", "mptcp", "front-back", "pfabric", "ndp", "ndp+", "scdp", "pias", "hull"];

/// Files in memory, by name.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

struct InMemory(Memory, String);

impl Write for InMemory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.0.lock().expect("nobody panics").get_mut(&self.1).expect("it is open").extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What became of a run.
struct Ran {
    record: RunRecord,
    captures: Vec<CaptureRow>,
    files: BTreeMap<String, Vec<u8>>,
}

fn plan(text: &str, overrides: &[&str]) -> Plan {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    parse("test.toml", text, &overrides).expect("the scenario is right")
}

/// Runs the first run of a scenario; after each `events` events, writes.
fn ran(text: &str, overrides: &[&str], events: u32) -> Ran {
    let plan = plan(text, overrides);
    let mut network = plan.network(&plan.runs[0]).expect("it can be built");
    let captures = plan.captures(&plan.runs[0], network.graph()).expect("the names are right");
    let memory = Memory::default();
    if !captures.is_empty() {
        let files = memory.clone();
        let open = move |name: &str| {
            files.0.lock().expect("nobody panics").insert(name.to_owned(), Vec::new());
            Ok(Box::new(InMemory(files.clone(), name.to_owned())) as Box<dyn Write + Send>)
        };
        network.capture(captures, Box::new(open)).expect("memory takes all");
    }
    let ending = loop {
        if let Some(ending) = network.advance(events) {
            break ending;
        }
    };
    let mut record = RunRecord::take(&mut network, ending);
    let captures = std::mem::replace(&mut record.captures, Ok(Vec::new())).expect("memory takes all");
    let files = std::mem::take(&mut *memory.0.lock().expect("nobody panics"));
    Ran { record, captures, files }
}

fn run(overrides: &[&str]) -> Ran {
    ran(TEXT, overrides, 16_384)
}

/// A packet of a capture.
struct Packet<'a> {
    interface: usize,
    time_ns: u64,
    length: u32,
    data: &'a [u8],
}

impl Packet<'_> {
    fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.data[at], self.data[at + 1]])
    }
    fn u32(&self, at: usize) -> u32 {
        u32::from(self.u16(at)) << 16 | u32::from(self.u16(at + 2))
    }
    /// The sum over the IPv4 header, which is all ones if its checksum is right (RFC 1071).
    fn header_sum(&self) -> u16 {
        let sum: u32 = (0..10).map(|n| u32::from(self.u16(2 * n))).sum();
        (sum % 0xffff) as u16
    }
}

fn packets(file: &[u8]) -> Vec<Packet<'_>> {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        if number(at) == 6 {
            let kept = number(at + 20) as usize;
            found.push(Packet {
                interface: number(at + 8) as usize,
                time_ns: u64::from(number(at + 12)) << 32 | u64::from(number(at + 16)),
                length: number(at + 24),
                data: &file[at + 28..at + 28 + kept],
            });
        }
        at += number(at + 4) as usize;
    }
    found
}

#[test]
fn a_capture_changes_no_run_and_has_the_packets_that_links_count() {
    for transport in TRANSPORTS {
        let name = format!("transport.name={transport}");
        let without = run(&[&name, "measure.packets=[]"]).record;
        let Ran { record, captures, files } = run(&[&name]);
        assert_eq!((record.fingerprint, &record.links), (without.fingerprint, &without.links), "{transport}");
        assert_eq!(record.flows, without.flows, "{transport}");
        assert_eq!(captures.len(), 8);
        let mut dropped = 0;
        for link in &record.links {
            // At either end of the link.
            for (file, interface) in
                [(format!("{}-{}.pcapng", link.src, link.dst), 0), (format!("{}-{}.pcapng", link.dst, link.src), 1)]
            {
                let packets = packets(&files[&file]);
                let own = || packets.iter().filter(|packet| packet.interface == interface);
                assert_eq!(own().count() as u64, link.packets, "{transport} {file}");
                // A SYN with options is longer than what the simulator counts.
                let grown = own().map(|p| u64::from(p.length)).sum::<u64>() - link.bytes;
                let most = if ["pfabric"].contains(&transport) { 8 * link.packets } else { 0 };
                assert!(grown <= most, "{transport} {file}: {grown} B more");
                assert!(packets.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns), "{transport} {file}");
            }
            let lost = files.get(&format!("{}-{}.dropped.pcapng", link.src, link.dst));
            let lost = lost.map_or(0, |file| packets(file).iter().filter(|p| p.interface == 0).count());
            dropped += lost;
            assert_eq!(lost as u64, link.dropped, "{transport}");
        }
        assert_eq!(dropped as u64, record.conservation.dropped, "{transport}");
    }
}

#[test]
fn headers_are_right() {
    for transport in TRANSPORTS.into_iter().chain(["udp", "newreno"]) {
        let Ran { files, .. } = run(&[&format!("transport.name={transport}"), "transport.tcp.sack=true"]);
        for (name, file) in &files {
            for packet in packets(file) {
                let total = u32::from(packet.u16(2));
                assert_eq!((packet.data[0], packet.header_sum()), (0x45, 0), "{transport} {name}");
                assert!(total <= packet.length && packet.data.len() as u32 <= total, "{transport} {name}");
                match packet.data[9] {
                    6 => assert!(
                        packet.data.len() >= 40 && usize::from(packet.data[32] >> 4) * 4 + 20 == packet.data.len()
                    ),
                    17 => assert_eq!(u32::from(packet.u16(24)), total - 20, "{transport} {name}"),
                    other => panic!("{transport} {name}: protocol {other}"),
                }
            }
        }
    }
}

#[test]
fn how_often_a_run_is_looked_at_makes_no_difference() {
    for jitter in ["0 packets", "1us"] {
        let jitter = format!("host.jitter={jitter}");
        let overrides: &[&str] = if jitter.contains("us") { &[&jitter] } else { &[] };
        let (often, once) = (ran(TEXT, overrides, 7), ran(TEXT, overrides, 1 << 20));
        assert!(often.files == once.files, "{jitter}");
    }
}

#[test]
fn sequence_numbers_cover_every_byte_of_a_flow() {
    let Ran { files, record, .. } = run(&["transport.name=newreno"]);
    for host in 1..=3 {
        let packets = packets(&files[&format!("h{host}-edge0.pcapng")]);
        let mut have = vec![false; 100_000];
        let mut sent = (0, 0);
        for packet in packets.iter().filter(|packet| packet.interface == 0) {
            let (start, len) = (packet.u32(24) as usize, usize::from(packet.u16(2)) - 40);
            let again = len > 0 && have[start - 1];
            sent = (sent.0 + u64::from(len > 0), sent.1 + u64::from(again));
            if len > 0 {
                have[start - 1..start - 1 + len].fill(true);
            }
        }
        assert!(have.iter().all(|&byte| byte), "h{host}");
        let flow = record.flows.iter().find(|flow| flow.src_host == host).expect("it sends");
        assert_eq!((flow.packets_sent, flow.packets_retransmitted), sent, "h{host}");
    }
    assert!(record.flows.iter().any(|flow| flow.packets_retransmitted > 0), "a run with losses");
}

#[test]
fn ecn_is_in_the_ip_header() {
    let Ran { files, record, .. } = run(&[]);
    let packets = packets(&files["h0-edge0.pcapng"]);
    let marked = packets.iter().filter(|p| p.interface == 1 && p.data[1] & 3 == 3).count() as u64;
    assert_eq!(marked, record.flows.iter().map(|flow| flow.packets_marked).sum::<u64>());
    assert!(marked > 0);
    let ecn = |p: &Packet| p.data[1] % 4;
    assert!(packets.iter().filter(|p| p.interface == 0).all(|p| ecn(p) == 0), "pure ACKs are not ECN-capable");
}

#[test]
fn what_is_lost_with_a_link_is_told() {
    let cut = r#"failure=[{ at = "500us", link = "h0-edge0", action = "cut" }]"#;
    let restored = r#"failure=[{ at = "500us", link = "h0-edge0", action = "cut" }, { at = "2ms", link = "h0-edge0", action = "restore" }]"#;
    for (failure, open) in [(cut, false), (restored, true)] {
        let stop = ["run.time_limit=20ms", failure, "transport.name=ndp"];
        let Ran { record, files, .. } = run(&stop);
        let lost: usize =
            files.iter().filter(|(name, _)| name.contains("dropped")).map(|(_, f)| packets(f).len()).sum();
        // What is lost at a link is in the files of both ends. What finds no way to its host is lost at no link.
        let dropped: u64 = record.links.iter().map(|link| link.dropped).sum();
        assert!(lost as u64 == 2 * dropped && dropped > 5, "restored: {open}, {lost} {dropped}");
        let text = |what: &str| files.values().any(|f| f.windows(what.len()).any(|w| w == what.as_bytes()));
        assert!(text("lost when edge0-h0 was cut"));
    }
}

#[test]
fn names_that_the_fabric_has_not_are_errors() {
    for (names, key, message, hint) in [
        (r#"["h9"]"#, "measure.packets[0]", "no node \"h9\"", "did you mean \"h"),
        (r#"["h0", "switch"]"#, "measure.packets[1]", "no node \"switch\"", "\"edge0-h0\" a port"),
        (r#"["h0-h1"]"#, "measure.packets[0]", "no link joins h0 and h1", "\"h0-edge0\" is a port"),
        (r#"["edge0-h7"]"#, "measure.packets[0]", "no node \"h7\"", "did you mean \"h"),
        (r#"["h0", "h0"]"#, "measure.packets[1]", "is there already", ""),
    ] {
        let overrides = [format!("measure.packets={names}")];
        let errors = parse("test.toml", TEXT, &overrides).expect_err(names).0;
        assert_eq!((errors.len(), errors[0].key.as_str()), (1, key), "{names}: {errors:?}");
        assert!(errors[0].message.contains(message), "{}", errors[0].message);
        assert!(errors[0].hint.as_deref().unwrap_or_default().contains(hint), "{:?}", errors[0].hint);
    }
    let many = ["fabric={ topology = \"star\", hosts = 101 }".to_owned(), "measure.packets=[\"edge0\"]".to_owned()];
    let errors = parse("test.toml", TEXT, &many).expect_err("too many").0;
    assert!(errors[0].message.contains("101 ports; at most 100"), "{errors:?}");
    for (key, value) in [("packets_limit", "0 packets"), ("packets_snap", "19B"), ("packets_snap", "70KB")] {
        let errors = parse("test.toml", TEXT, &[format!("measure.{key}={value}")]).expect_err(value).0;
        assert_eq!(errors[0].key, format!("measure.{key}"));
    }
}

#[test]
fn headers_that_are_too_short_for_a_capture_are_told() {
    let warnings =
        |overrides: &[&str]| plan(TEXT, overrides).warnings.iter().map(|w| w.message.clone()).collect::<Vec<_>>();
    assert_eq!(warnings(&[]), [""; 0]);
    let short = warnings(&["transport.name=ndp", "transport.ndp.header=40B"]);
    assert!(short.len() == 1 && short[0].contains("40B here and 64B in a capture"), "{short:?}");
    let Ran { record, files, .. } = run(&["transport.name=ndp", "transport.ndp.header=40B"]);
    let link = record.links.iter().find(|link| link.src == "h0").expect("there is one");
    let length = |file: &str| {
        packets(&files[file]).iter().filter(|p| p.interface == 0).map(|p| u64::from(p.length)).sum::<u64>()
    };
    assert_eq!(length("h0-edge0.pcapng"), link.bytes + 24 * link.packets);
    let unused = warnings(&["measure.packets=[]", "measure.packets_snap=64B"]);
    assert!(unused.len() == 1 && unused[0].contains("nothing is captured"), "{unused:?}");
}

#[test]
fn less_of_each_packet_is_stored_where_that_is_asked_for() {
    let Ran { files, .. } = run(&["measure.packets_snap=28B"]);
    assert!(packets(&files["h0-edge0.pcapng"]).iter().all(|packet| packet.data.len() == 28));
}
