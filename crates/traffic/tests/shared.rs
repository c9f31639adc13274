//! The captures that may be at hand beside the repository: totals as `capinfos` gives them.

use anabranch_traffic::{Outcome, Request, Watch, ingest};
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

fn read(request: Request, path: &Path) -> Outcome {
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
