//! The captures that may be at hand beside the repository: totals as `capinfos` gives them.

use anabranch_traffic::{Ingested, Request, Want, Watch, ingest};
use std::path::{Path, PathBuf};

/// Packets and bytes by `capinfos -M -T -r -c -d FILE` (Wireshark 4.0.17).
const CAPTURES: [(&str, u64, i64); 4] = [
    ("ics_cip_only.pcap", 18_798, 2_420_857),
    ("ics_eip_ipaddresschange.pcap", 4_154, 2_011_990),
    ("ndpi_alexa-app.pcapng", 3_103, 1_171_135),
    ("zeek_ftp_cwd-navigation.pcap", 8_317, 654_497),
];

/// A file of traces beside the repository, if it is there.
fn trace(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/traces").join(name);
    if !path.exists() {
        eprintln!("skipped: ../shared/data/traces/{name} is not there");
    }
    path.exists().then_some(path)
}

fn read(request: Request, path: &Path) -> Ingested {
    let files = vec![path.to_string_lossy().into_owned()];
    ingest(&Request { files, ..request }, &Watch::new()).expect("a good file")
}

#[test]
fn totals_are_those_of_capinfos() {
    for (name, packets, bytes) in CAPTURES {
        let Some(path) = trace(&format!("pcap/{name}")) else { continue };
        let outcome = read(Request::default(), &path);
        assert_eq!((outcome.files[0].records, outcome.files[0].bytes), (packets, bytes), "{name}");
        assert_eq!(
            outcome.series.iter().map(|s| s.bin_ns).collect::<Vec<_>>(),
            [5_000_000, 100_000_000, 1_000_000_000, 5_000_000_000]
        );
        for series in &outcome.series {
            assert_eq!(series.bytes.iter().sum::<i64>(), bytes, "{name}, bins of {} ns", series.bin_ns);
            let counted = series.packets.as_ref().map(|packets| packets.iter().sum::<i64>());
            assert_eq!(counted, Some(packets as i64), "{name}");
            assert!(!series.complete && series.missing.iter().all(|missing| !missing), "{name}");
        }
    }
}

/// What `tcpdump -r FILE -w OUT EXPRESSION` (4.99.3) keeps, by `capinfos -M -T -r -c -d OUT`. Ranges of ports are
/// `portrange` there.
const FILTERED: [(&str, &str, u64, i64); 9] = [
    ("ndpi_alexa-app.pcapng", "net 52.84.0.0/14 and tcp port 443", 403, 211_614),
    ("ndpi_alexa-app.pcapng", "ip6", 12, 936),
    ("ndpi_alexa-app.pcapng", "src host 172.16.42.216 and not tcp", 44, 3_086),
    ("ndpi_alexa-app.pcapng", "not ip and not ip6", 29, 1_390),
    ("ndpi_alexa-app.pcapng", "udp port 53 or icmp", 64, 6_775),
    ("ndpi_alexa-app.pcapng", "(tcp and dst port 80-443) or udp", 1_686, 498_930),
    ("ics_eip_ipaddresschange.pcap", "udp", 89, 10_272),
    ("ics_eip_ipaddresschange.pcap", "dst net 192.168.10.128/25 and tcp", 1_959, 1_808_988),
    ("zeek_ftp_cwd-navigation.pcap", "src port 21", 4_178, 385_479),
];

#[test]
fn filters_keep_what_tcpdump_keeps() {
    for (name, expression, packets, bytes) in FILTERED {
        let Some(path) = trace(&format!("pcap/{name}")) else { continue };
        let outcome = read(Request { filter: Some(expression.to_owned()), ..Request::default() }, &path);
        let counted = outcome.series[0].packets.iter().flatten().sum::<i64>() as u64;
        assert_eq!((counted, outcome.series[0].bytes.iter().sum::<i64>()), (packets, bytes), "{name}: {expression}");
        let file = &outcome.files[0];
        assert_eq!((file.undecided, file.left_out), (0, file.records - packets), "{name}: {expression}");
    }
}

/// `tshark -q -z endpoints,ip` on the same file: 9437 packets, 1 170 035 bytes to 192.168.0.30 and 9361, 1 250 822 from it.
#[test]
fn directions_are_those_of_tshark() {
    let Some(path) = trace("pcap/ics_cip_only.pcap") else { return };
    let inside = vec!["192.168.0.30".to_owned()];
    let outcome = read(
        Request { direction: Some(Want::Split), inside, bins_ns: vec![1_000_000_000], ..Request::default() },
        &path,
    );
    let found: Vec<(i64, i64)> =
        outcome.series.iter().map(|s| (s.packets.iter().flatten().sum(), s.bytes.iter().sum())).collect();
    assert_eq!(found, [(9_437, 1_170_035), (9_361, 1_250_822)]);
}

/// The first and last reading of each counter are `zcat FILE | grep NAME, | sed -n '1p;$p'`.
#[test]
fn counters_of_a_router_add_up_to_what_they_moved() {
    let Some(path) = trace("cisco_leaf7_100g_counters.csv.gz") else { return };
    let second = 1_000_000_000;
    let outcome = read(Request { bins_ns: vec![12 * second, 60 * second, 300 * second], ..Request::default() }, &path);
    let port: Vec<_> = outcome.series.iter().filter(|s| s.name.ends_with("Hu0/0/0/0 bytes_received")).collect();
    assert_eq!(port.len(), 3);
    for series in port {
        assert_eq!(series.bytes.iter().sum::<i64>(), 586_388_180_949_898 - 513_501_526_760_237, "{} ns", series.bin_ns);
        assert!(series.missing.iter().all(|missing| !missing) && !series.complete);
    }
    assert_eq!((outcome.series.len(), outcome.files[0].compression), (12 * 2 * 3, Some("gzip")));
}

/// Bins of the first look of the project's data page: complete ones, that is one less than there are.
#[test]
fn tables_have_the_bins_that_were_counted_before() {
    let Some(path) = trace("bellcore_pAug89_first100k.csv.gz") else { return };
    let outcome = read(Request::default(), &path);
    let bins: Vec<usize> = outcome.series.iter().map(|series| series.bytes.len() - 1).collect();
    assert_eq!((outcome.files[0].format, &bins[..3]), ("csv-packets", &[50_416, 2_520, 252][..]));
    // `zcat FILE | grep -v '^[#t]' | awk -F, '{s += $2} END {print NR, s}'`
    assert_eq!((outcome.files[0].records, outcome.files[0].bytes), (100_001, 46_417_808));
}
