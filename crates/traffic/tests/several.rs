//! Several files, compressed files, files on disk.

#![allow(clippy::format_collect, reason = "small tables, written as text")]

use crate::common::{Packet, bins, check, packets, pcap, read};
use anabranch_traffic::{IngestError, Ingested, Request, Watch, ingest};
use std::io::Write as _;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).expect("options");
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

type Pack = fn(&[u8]) -> Vec<u8>;
const PACKS: [(&str, Pack); 3] = [("gzip", gzip), ("xz", xz), ("zstd", zstd)];

#[test]
fn compressed_files_are_read_as_if_they_were_not() {
    let packets = packets(20_000, 1_234_000, 96);
    let plain = pcap(&packets, false, 0xa1b2_c3d4, 1);
    let (first, second) = plain.split_at(777_777);
    for (name, pack) in PACKS {
        // In one piece, and in two that are put together.
        for packed in [pack(&plain), [pack(first), pack(second)].concat()] {
            let outcome = read(&bins(&[100_000_000]), &packed).expect("good");
            assert_eq!((outcome.files[0].format, outcome.files[0].compression), ("pcap", Some(name)));
            check(&outcome, &packets, 1000);
        }
    }
    // Skippable frames of Zstandard hold no data.
    let skip = [&[0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"hello"].concat();
    let packed = [skip.clone(), zstd(&plain), skip].concat();
    check(&read(&bins(&[100_000_000]), &packed).expect("good"), &packets, 1000);
}

#[test]
fn cut_and_damaged_compressed_files_say_where_in_what_they_hold() {
    let packets = packets(20_000, 1_234_000, 96);
    let plain = pcap(&packets, false, 0xa1b2_c3d4, 1);
    for (name, pack) in PACKS {
        let whole = pack(&plain);
        let cut = &whole[..whole.len() / 2];
        let error = read(&bins(&[100_000_000]), cut).expect_err("cut").to_string();
        assert!(error.starts_with("memory: byte ") && error.contains(" of the decompressed data: "), "{name}: {error}");
        assert!(error.contains(name) && error.contains("\nhint: --keep-partial"), "{name}: {error}");
        let kept = read(&Request { keep_partial: true, ..bins(&[100_000_000]) }, cut).expect("the part before");
        let count = kept.files[0].records as usize;
        assert!((3000..=15_000).contains(&count), "{name}: {count} packets of the first half");
        check(&kept, &packets[..count], 1000);
        let mut damaged = whole.clone();
        let at = damaged.len() - 3;
        damaged[at] ^= 0x55;
        assert!(read(&bins(&[100_000_000]), &damaged).is_err(), "{name}: the checksum");
    }
}

fn write(folder: &Path, name: &str, packets: &[Packet]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, pcap(packets, false, 0xa1b2_c3d4, 1)).expect("a temporary folder");
    path.to_string_lossy().into_owned()
}

fn read_files(files: &[&String], request: &Request) -> Result<Ingested, IngestError> {
    let files = files.iter().map(|&file| file.clone()).collect();
    ingest(&Request { files, ..request.clone() }, &Watch::new())
}

#[test]
fn files_in_any_order_and_on_any_number_of_threads_make_one_series() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let all = packets(9000, 1_000_000, 60);
    let parts = [&all[..2000], &all[2000..2500], &all[2500..]];
    let files: Vec<String> =
        parts.iter().enumerate().map(|(i, part)| write(folder.path(), &format!("{i}.pcap"), part)).collect();
    let widths = bins(&[5_000_000, 7_000_000, SECOND as i64]);
    let mut outcomes = Vec::new();
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        for threads in [1, 2, 3] {
            let request = Request { threads, ..widths.clone() };
            let mut outcome = read_files(&order.map(|i| &files[i]), &request).expect("good");
            assert_eq!(
                outcome.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>(),
                order.map(|i| files[i].clone())
            );
            for series in &mut outcome.series {
                assert_eq!(series.name, format!("{}.pcap and 2 more", order[0]));
                series.name.clear();
            }
            outcomes.push(outcome.series);
        }
    }
    let whole = read(&widths, &pcap(&all, false, 0xa1b2_c3d4, 1)).expect("good");
    for series in &outcomes {
        for (one, other) in series.iter().zip(&whole.series) {
            assert_eq!((one.start_ns, &one.bytes, &one.packets), (other.start_ns, &other.bytes, &other.packets));
            assert!(one.gaps.is_empty(), "the files follow each other");
        }
        assert_eq!(series, &outcomes[0]);
    }
    let each = read_files(&[&files[1], &files[0]], &Request { each: true, ..widths }).expect("good");
    let found: Vec<(&str, Vec<usize>)> = each.series.iter().map(|s| (s.name.as_str(), s.files.clone())).collect();
    assert_eq!(found[0], ("1.pcap", vec![0]));
    assert_eq!(found[3], ("0.pcap", vec![1]));
    assert_eq!(each.series[0].start_ns, all[2000].ns as i64);
}

#[test]
fn a_pause_between_files_is_unknown_unless_files_know_such_silence() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut all = packets(200, 100_000_000, 60);
    for packet in &mut all[100..] {
        packet.ns += 30 * SECOND;
    }
    let files = [write(folder.path(), "a", &all[..100]), write(folder.path(), "b", &all[100..])];
    let request = bins(&[SECOND as i64]);
    let outcome = read_files(&[&files[0], &files[1]], &request).expect("good");
    let series = &outcome.series[0];
    assert_eq!((series.gaps.len(), series.gaps[0].why.as_str()), (1, "between files"));
    // 9.9 s to 40.0 s: the bin in which the pause begins, and 30 more.
    assert_eq!(series.missing.iter().filter(|missing| **missing).count(), 31);
    let allowed = read_files(&[&files[0], &files[1]], &Request { gap_ns: Some(60 * SECOND as i64), ..request.clone() });
    assert!(allowed.expect("good").series[0].gaps.is_empty());
    // A file with a silence of its own of a minute says that such is usual here.
    let quiet = [Packet::new(all[199].ns + SECOND, 60, 60), Packet::new(all[199].ns + 61 * SECOND, 60, 60)];
    let third = write(folder.path(), "c", &quiet);
    assert!(read_files(&[&files[0], &files[1], &third], &request).expect("good").series[0].gaps.is_empty());
}

#[test]
fn tables_of_several_files_join_on_one_grid_or_say_why_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = |name: &str, start: i64, rows: i64, step: i64| {
        let text: String = (0..rows).map(|i| format!("{},{}\n", start + i * step, 100 + i % 3)).collect();
        let path = folder.path().join(name);
        std::fs::write(&path, format!("time,bytes\n{text}")).expect("a temporary folder");
        path.to_string_lossy().into_owned()
    };
    let (a, b) = (table("a.csv", 0, 10, 300), table("b.csv", 3600, 10, 300));
    let (shifted, slower) = (table("c.csv", 7300, 10, 300), table("d.csv", 0, 10, 600));
    let series = &read_files(&[&b, &a], &Request::default()).expect("good").series[0];
    assert_eq!((series.start_ns, series.bytes.len(), series.gaps.len()), (0, 22, 1));
    assert_eq!(series.missing.iter().filter(|missing| **missing).count(), 2);
    let error = |files: &[&String]| {
        read_files(files, &Request { threads: 1, ..Request::default() }).expect_err("differ").to_string()
    };
    assert!(
        error(&[&a, &shifted])
            .contains("c.csv: has bins that begin at other moments than the files before\nhint: add --align clock")
    );
    assert!(error(&[&a, &slower]).contains("d.csv: has another interval than the files before\nhint: choose the bins"));
    // The same rows twice claim bins twice, and that is said.
    let twin = table("e.csv", 0, 10, 300);
    assert_eq!(read_files(&[&a, &twin], &Request::default()).expect("good").series[0].claimed_twice, 10);
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = write(folder.path(), "a", &packets(2, 1000, 60));
    let error = |request: Request| read_files(&[&file], &request).expect_err("no sense").to_string();
    assert!(error(bins(&[0])).contains("bins of 0 ns"));
    assert!(
        error(Request { format: Some("word".to_owned()), ..Request::default() }).contains("hint: one of pcap, pcapng")
    );
    assert!(error(Request { filter: Some("tcp tcp".to_owned()), ..Request::default() }).contains("column 5"));
    assert!(error(Request { inside: vec!["10.0.0.0/8".to_owned()], ..Request::default() }).contains("--direction"));
    assert!(
        read_files(&[&file, &file], &Request::default()).expect_err("twice").to_string().contains("is named twice")
    );
    let gone = folder.path().join("gone").to_string_lossy().into_owned();
    assert!(matches!(read_files(&[&gone], &Request::default()), Err(IngestError::Io { path, .. }) if path == gone));
    let dir = folder.path().to_string_lossy().into_owned();
    assert!(matches!(read_files(&[&dir], &Request::default()), Err(IngestError::Io { .. })));
}

#[test]
fn a_reader_stops_when_asked_to() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = write(folder.path(), "a", &packets(100, 1000, 60));
    let watch = Watch::new();
    watch.interrupt();
    let request = Request { files: vec![file.clone()], ..Request::default() };
    assert!(matches!(ingest(&request, &watch), Err(IngestError::Interrupted)));
    let watch = Watch::new();
    ingest(&request, &watch).expect("good");
    let size = std::fs::metadata(&file).expect("there").len();
    assert_eq!((watch.files_done(), watch.bytes_read(), watch.bytes_total()), (1, size, size));
}
