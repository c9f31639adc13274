//! Input that could be taken for something else: which column counts, stamps that must be damaged, text that is no table.

#![allow(clippy::format_collect, reason = "small tables, written as text")]

use crate::common::{bins, packets, pcap, read};
use anabranch_traffic::{IngestError, Ingested, Request, Watch, ingest};
use std::io::Write as _;

const SECOND: i64 = 1_000_000_000;

fn good(request: &Request, text: &str) -> Ingested {
    read(request, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn bad(request: &Request, text: impl AsRef<[u8]>) -> String {
    read(request, text.as_ref()).expect_err("must not be read").to_string()
}

fn columns(names: &[&str]) -> Request {
    Request { columns: names.iter().map(|&name| name.to_owned()).collect(), ..Request::default() }
}

/// Volumes that go up and down, as `n_bytes`, beside a number of the bin and a sequence number that only grow.
fn aggregated(rows: u64) -> String {
    let volume = |i: u64| 1_000_000 + i * i * 7919 % 500_000;
    let rows: String = (0..rows)
        .map(|i| format!("{},{},{},{},{}\n", i, 1_696_896_000 + i * 600, i * 3, 10 + i % 7, volume(i)))
        .collect();
    format!("id_time,time,sequence,n_packets,n_bytes\n{rows}")
}

#[test]
fn a_column_is_a_counter_only_if_it_grows_itself() {
    for request in [columns(&["n_bytes"]), Request { bins_ns: vec![3600 * SECOND], ..columns(&["n_bytes"]) }] {
        let outcome = good(&request, &aggregated(144));
        assert_eq!(outcome.files[0].format, "csv-volumes");
        assert_eq!(outcome.files[0].bytes, (0..144).map(|i| 1_000_000 + i * i * 7919 % 500_000).sum::<i64>());
        assert_eq!(outcome.series[0].packets.as_deref().map(|packets| packets.iter().sum::<i64>()), Some(1866));
        assert!(outcome.series[0].missing.iter().all(|missing| !missing));
    }
    // The counter of a table that has one is still found, and so is one among volumes when it is named.
    let rows: String = (0..20).map(|i| format!("{},{},{}\n", i * 10, 500 + i * 1000, 10 + i % 3)).collect();
    let mixed = format!("time,ifInOctets,load\n{rows}");
    assert_eq!(good(&columns(&["ifInOctets"]), &mixed).files[0].format, "counters");
    assert_eq!(good(&columns(&["load"]), &mixed).files[0].format, "csv-volumes");
}

#[test]
fn among_many_columns_one_that_grows_by_chance_is_no_counter() {
    let names: String = (0..500).map(|i| format!(",c{i}_bytes")).collect();
    let row = |i: u64| (0..500).map(|c| format!(",{}", 1000 + i * i * (c + 1) % 977)).collect::<String>();
    let rows: String = (0..6).map(|i| format!("{}{}\n", i * 300, row(i))).collect();
    assert_eq!(good(&Request::default(), &format!("time{names}\n{rows}")).files[0].format, "csv-volumes");
}

#[test]
fn numbers_of_bins_are_a_time_and_no_volume() {
    let rows: String = (0..10).map(|i| format!("{i},{},{}\n", i % 3, 100 + i % 4)).collect();
    let text = format!("id_time,n_flows,n_bytes\n{rows}");
    assert!(bad(&Request::default(), &text).contains("--interval"));
    let outcome = good(&Request { interval_ns: Some(600 * SECOND), ..Request::default() }, &text);
    assert_eq!(outcome.series.len(), 1);
    assert_eq!(outcome.files[0].notes, ["left out, no volumes by their names: n_flows"]);
    assert_eq!(outcome.series[0].bytes[..3], [100, 101, 102]);
    // Beside a time they are an identifier.
    let outcome = good(&Request::default(), &aggregated(20).replace("sequence", "flow_id"));
    assert_eq!(outcome.series.len(), 1, "n_packets goes with n_bytes, and the identifiers are left out");
}

#[test]
fn what_goes_down_again_and_again_is_no_counter() {
    let value = |i: i64| 1000 + i * 10 - if i % 15 == 14 { 500 } else { 0 };
    let rows: String = (0..150).map(|i| format!("{},{}\n", i * 10, value(i))).collect();
    let request = Request { format: Some("counters".to_owned()), ..Request::default() };
    let error = bad(&request, format!("time,in_octets\n{rows}"));
    assert!(error.contains("column \"in_octets\" goes down in 10 of 149 intervals: it is no counter"), "{error}");
    assert!(error.contains("hint: --format csv-volumes"), "{error}");
    // A device that restarts now and then is one.
    let value = |i: i64| 1000 + i % 75 * 10;
    let rows: String = (0..300).map(|i| format!("{},{}\n", i * 10, value(i))).collect();
    let outcome = good(&request, &format!("time,in_octets\n{rows}"));
    assert_eq!(outcome.series[0].missing.iter().filter(|missing| **missing).count(), 3);
}

#[test]
fn one_damaged_stamp_makes_no_series_of_nothing() {
    let table = |damaged: usize, stamp: i64| {
        let rows: String = (0..2016)
            .map(|i| format!("{},{}\n", if i == damaged { stamp } else { 1_714_521_600 + i as i64 * 300 }, 10 + i % 7))
            .collect();
        format!("time,bytes\n{rows}")
    };
    for (damaged, stamp, way) in
        [(1000, 2_071_521_600, "after"), (2015, 2_071_521_600, "after"), (1000, 0, "before"), (0, 0, "after")]
    {
        let text = table(damaged, stamp);
        let error = bad(&Request::default(), &text);
        let line = if damaged == 0 { 3 } else { damaged + 2 };
        assert!(error.starts_with(&format!("memory: line {line} (")), "{error}");
        assert!(error.contains(way) && error.contains("rows of 300 s would be missing"), "{error}");
        // Who says how many bins there may be gets them.
        let outcome = good(&Request { max_bins: Some(20_000_000), ..Request::default() }, &text);
        assert!(outcome.series[0].bytes.len() > 1_000_000);
    }
    // Two months without rows are a hole, and no damage.
    let rows: String = (0..4032).map(|i| format!("{},{}\n", (i + i / 2016 * 17_000) * 300, 10 + i % 7)).collect();
    assert_eq!(good(&Request::default(), &format!("time,bytes\n{rows}")).series[0].bytes.len(), 4032 + 17_000);
    let polls: String = (0..100).map(|i| format!("{},{}\n", i * 10 + i / 60 * 100_000_000, i * 1000)).collect();
    let error = bad(&Request::default(), format!("time,ifInOctets\n{polls}"));
    assert!(error.contains("line 62 ") && error.contains("would be missing"), "{error}");
}

#[test]
fn a_damaged_stamp_of_a_capture_is_told() {
    let mut all = packets(1000, 1_000_000, 60);
    all[500].ns += 6_000 * 1_000_000_000;
    let outcome = read(&bins(&[5_000_000]), &pcap(&all, false, 0xa1b2_c3d4, 1)).expect("readable");
    assert!(outcome.files[0].notes.iter().any(|note| note.contains("is a time stamp damaged?")), "{:?}", outcome.files);
    let calm = read(&bins(&[5_000_000]), &pcap(&packets(1000, 1_000_000, 60), false, 0xa1b2_c3d4, 1));
    assert!(calm.expect("readable").files[0].notes.is_empty());
}

#[test]
fn times_with_and_without_a_zone_are_not_mixed() {
    let table = |third: &str| {
        format!("time,bytes\n2024-05-01 00:00:00,1\n2024-05-01 00:05:00,3\n{third},2\n2024-05-01 00:15:00,5\n")
    };
    let error = bad(&Request::default(), table("2024-05-01T00:10:00Z"));
    assert!(error.contains("line 4 (") && error.contains("has a time zone, and the times before have none"), "{error}");
    let error = bad(&Request::default(), "time,bytes\n2024-05-01T00:00Z,1\n2024-05-01T00:05Z,3\n2024-05-01 00:10,2\n");
    assert!(error.contains("has no time zone, and the times before have one"), "{error}");
    assert_eq!(good(&Request::default(), &table("2024-05-01 00:10:00")).series[0].bytes, [1, 3, 2, 5]);
    // Summer time ends: two zones, one clock.
    let zones = "time,bytes\n2024-10-27T02:55:00+02:00,1\n2024-10-27T02:00:00+01:00,3\n2024-10-27T02:05:00+01:00,2\n";
    assert_eq!(good(&Request::default(), zones).series[0].bytes, [1, 3, 2]);
}

#[test]
fn hints_know_the_usual_mistakes() {
    let volumes = Request { format: Some("csv-volumes".to_owned()), ..Request::default() };
    for (stamp, hint) in [
        ("1714521600000", "--time-unit ms"),
        ("1714521600000000", "--time-unit us"),
        ("1714521600000000000", "--time-unit ns"),
        ("05/01/2024 12:00", "the year first"),
        ("01.05.2024", "the year first"),
        ("yesterday", "such as 2024-05-01 12:00:00.5"),
    ] {
        for head in ["time,bytes\n", ""] {
            if head.is_empty() && stamp == "yesterday" {
                continue;
            }
            let error = bad(&volumes, format!("{head}{stamp},1\n{stamp},2\n"));
            assert!(error.contains("is not a time\nhint: ") && error.contains(hint), "{error}");
        }
    }
    let utf16: Vec<u8> = "time,bytes\n0,1\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for text in [[&[0xff, 0xfe][..], &utf16].concat(), utf16] {
        for request in [Request::default(), volumes.clone()] {
            let error = bad(&request, &text);
            assert!(error.contains("line 1 (byte 0): the text is UTF-16") && error.contains("hint: iconv"), "{error}");
        }
    }
}

#[test]
fn what_is_no_text_is_named_where_it_stands() {
    let rows: String = (0..60).map(|i| format!("{},{}\n", i * 300, 10 + i % 7)).collect();
    let mut text = format!("time,bytes\n{rows}").into_bytes();
    let at = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(50).map_or(0, |(at, _)| at) + 2;
    text[at] = 0;
    let error = bad(&Request::default(), &text);
    assert!(error.starts_with(&format!("memory: line 52 (byte {at}): byte 00 is no text")), "{error}");
    // What never was a table is told as before.
    assert!(bad(&Request::default(), [0_u8; 100]).contains("byte 0: not a format known here"));
}

#[test]
fn messages_are_short_however_long_the_lines_are() {
    let long = "x".repeat(200_000);
    let many: Vec<String> = (0..20_000).map(|i| format!("column{i}")).collect();
    for text in [
        format!("{long},{long}\n1,2\n"),
        format!("time,{long}\n0,{long}\n"),
        format!("time,bytes\n0,{long}\n"),
        format!("time,bytes\n{long},1\n"),
        format!("{}\n1,2\n", many.join(",")),
        format!("time,{}\n1\n", many.join(",")),
    ] {
        for format in [None, Some("csv-volumes"), Some("csv-packets"), Some("counters")] {
            let request = Request { format: format.map(str::to_owned), ..Request::default() };
            let error = bad(&request, &text);
            assert!(error.len() < 1000, "{} bytes: {}", error.len(), &error[..300]);
        }
        let error = bad(&Request { time: Some("nowhere".to_owned()), ..Request::default() }, &text);
        assert!(error.len() < 1000, "{} bytes: {}", error.len(), &error[..300]);
    }
}

#[test]
fn a_wrong_checksum_of_a_small_compressed_file_is_told() {
    // All of it is read to find out what it is: the damage must not be forgotten by then.
    let plain = pcap(&packets(20, 1_000_000_000, 60), false, 0xa1b2_c3d4, 1);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).expect("memory");
    let mut bytes = gzip.finish().expect("memory");
    let at = bytes.len() - 8;
    bytes[at] ^= 1;
    assert!(bad(&Request::default(), &bytes).contains("the gzip data is damaged"));
    let kept = read(&Request { keep_partial: true, ..Request::default() }, &bytes).expect("kept");
    assert_eq!((kept.files[0].records, kept.files[0].damaged.is_some()), (20, true));
}

#[test]
fn all_series_together_have_a_bound() {
    // A hundred columns of 5 000 bins: not more than allowed each, but together.
    let names: String = (0..100).map(|i| format!(",c{i}_bytes")).collect();
    let rows: String = (0..5000).map(|i| format!("{i}{}\n", [",7", ",8"][i % 2].repeat(100))).collect();
    let text = format!("time{names}\n{rows}");
    let error = bad(&Request { max_bins: Some(10_000), ..Request::default() }, &text);
    assert!(error.contains("all series together have more than 20000 bins") && error.contains("--column"), "{error}");
    assert_eq!(good(&Request::default(), &text).series.len(), 100);
}

#[cfg(unix)]
#[test]
fn devices_and_folders_are_no_files() {
    for (path, what) in [("/dev/zero", "is a device"), ("/dev/urandom", "is a device"), ("/tmp", "is a folder")] {
        let request = Request { files: vec![path.to_owned()], ..Request::default() };
        match ingest(&request, &Watch::new()) {
            Err(IngestError::Io { source, .. }) => assert!(source.to_string().contains(what), "{source}"),
            other => panic!("{other:?}"),
        }
    }
}
