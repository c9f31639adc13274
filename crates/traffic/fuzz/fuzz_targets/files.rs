//! Any bytes as a file, read in a way that the first byte chooses.
#![no_main]

use anabranch_traffic::{Align, Request, Want, Watch, formats, ingest_bytes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&how, file)) = bytes.split_first() else { return };
    let chosen = |bit: u8| how >> bit & 1 == 1;
    let names = formats();
    let request = Request {
        max_bins: Some(1000),
        keep_partial: chosen(0),
        align: if chosen(1) { Align::Clock } else { Align::First },
        bins_ns: if chosen(2) { vec![1_000_000_000, 7_000_000, 300_000_000_000] } else { Vec::new() },
        filter: chosen(3).then(|| "tcp port 80 or src net 10.0.0.0/8 or vlan 3 or not ip6".to_owned()),
        direction: chosen(4).then_some(Want::Split),
        inside: if chosen(4) && chosen(1) { vec!["10.0.0.0/8".to_owned()] } else { Vec::new() },
        format: chosen(5).then(|| names[usize::from(how >> 6) * 2 % names.len()].to_owned()),
        gap_ns: chosen(6).then_some(1_000_000),
        overhead: chosen(7),
        ..Request::default()
    };
    let Ok(outcome) = ingest_bytes(&request, "fuzz", file, &Watch::new()) else { return };
    for series in &outcome.series {
        assert!(!series.bytes.is_empty() && series.bytes.len() <= 1001);
        assert_eq!(series.bytes.len(), series.missing.len());
        assert!(series.packets.as_ref().is_none_or(|packets| packets.len() == series.bytes.len()));
        assert!(series.bytes.iter().zip(&series.missing).all(|(&bytes, &missing)| bytes >= 0 && (!missing || bytes == 0)));
    }
});
