//! Mutated, cut and invented input: never a panic, never much memory, and totals that agree with themselves.

use crate::common::{Bytes, block, enhanced, erf, interface, packets, pcap, section};
use anabranch_traffic::{Align, Ingested, Request, Want, Watch, ingest_bytes};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::io::Write as _;

/// Good files of every kind, small enough that a few mutations hit something.
fn seeds() -> Vec<Vec<u8>> {
    let mut packets = packets(12, 40_000_000, 80);
    for packet in &mut packets {
        packet.data[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
        packet.data[23] = 6;
    }
    let mut png = [section(true), interface(true, 1, &[(9, vec![9]), (14, vec![0; 8])])].concat();
    for packet in &packets {
        png.extend(enhanced(true, 0, packet.ns, packet, Some(1)));
    }
    let mut old = Bytes::new(true);
    let later = packets[11].ns + 1000;
    old.u16(0).u16(0).u32((later >> 32) as u32).u32(later as u32).u32(4).u32(60).u32(0);
    png.extend(block(true, 2, &old.bytes));
    png.extend(block(true, 3, &[0, 0, 0, 60, 1, 2, 3, 4]));
    let plain = pcap(&packets, false, 0xa1b2_c3d4, 1);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).expect("memory");
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(0)).expect("options");
    xz.write_all(&plain).expect("memory");
    let zstd = ruzstd::encoding::compress_to_vec(plain.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    let tables = [
        "time,length\n1.5,60\n1.7,1500\n2.25,40\n",
        "time,bytes\n2024-05-01 00:00:00,100\n2024-05-01 00:05:00,20.5\n2024-05-01 00:10:00,\n2024-05-01 00:20:00,4e2\n",
        "time,interface,ifInOctets,ifInPackets\n0,a,4294967000,1\n0,b,5,1\n10,a,100,2\n11,b,1,2\n20,a,300,3\n22,b,9,3\n",
        "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt\n\
         2024-06-28 23:17:41.000,2024-06-28 23:17:44.000,3.0,1.2.3.4,10.0.0.1,443,10693,UDP,.,6,2,9,9000,1,60\nSummary\n1\n",
        "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n2024-06-28 23:17:41.000,00:00:03.0,TCP,::1,1,::2,2,9,9000,1\n",
        "Zeit;time;in_Mbps;ifSpeed\nx;2024-10-27 02:55;1,5;9\nx;2024-10-27 03:00;NULL;9\nx;2024-10-27 03:05;2,5;4294967295\n",
        "\"Time\",\"in\"\n2024-05-01 00:00:00,12.5 Mb/s\n2024-05-01 00:01:00,850 kb/s\n2024-05-01 00:02:00,1 Gb/s\n",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{\"__name__\":\"rx_bytes_total\"},\
         \"values\":[[0,\"5\"],[60.5,\"9\"],[120,\"4294967299\"]]}]}}",
        "      traffic_in    traffic_out\n\n300: 1.5e+02 -nan\n600: 2.5e+02 7\n900: 1 1\n",
        "<?xml version=\"1.0\"?><xport><meta><start>300</start><step>300</step><legend><entry>a&amp;b</entry></legend></meta>\
         <data><row><v>1e2</v></row><row><t>600</t><v>NaN</v></row><row><v>3</v></row></data></xport>",
        "{ \"meta\": { \"start\": 300, \"end\": 900, \"step\": 300, \"legend\": [\"a\"] }, \"data\": [ [1.5], [null], [3] ] }",
        "1714521617 5 6\n1714521617 1 1 2 2\n1714521600 3 4 5 6\n1714521300 2 4 5 6\n1714521000 2 4 5 6\n",
        "\"Title:\",\"x\"\n\"Vertical Label:\",\"bits per second\"\n\n\"Date\",\"in\"\n2024-05-01 00:00,80\n2024-05-01 00:05,90\n2024-05-01 00:10,70\n",
    ];
    let mut all = vec![
        plain,
        pcap(&packets, true, 0xa1b2_3c4d, 101),
        pcap(&packets, false, 0xa1b2_cd34, 113),
        png,
        erf(&packets),
        gzip.finish().expect("memory"),
        xz.finish().expect("memory"),
        zstd,
    ];
    all.extend(tables.iter().map(|text| text.as_bytes().to_vec()));
    all
}

/// Requests that lead through all the code.
fn requests() -> Vec<Request> {
    let base = Request { max_bins: Some(10_000), keep_partial: true, ..Request::default() };
    let insist =
        |format: &str| Request { format: Some(format.to_owned()), bins_ns: vec![1_000_000_000, 7], ..base.clone() };
    let mut all = vec![
        base.clone(),
        Request { keep_partial: false, ..base.clone() },
        Request { bins_ns: vec![1, 3_000_000, 5_000_000_000], align: Align::Clock, ..base.clone() },
        Request { filter: Some("tcp port 80 or net 10.0.0.0/8 or vlan 3".to_owned()), overhead: true, ..base.clone() },
        Request { direction: Some(Want::Split), inside: vec!["10.0.0.0/8".to_owned()], ..base.clone() },
        Request { direction: Some(Want::In), gap_ns: Some(50_000_000), ..base.clone() },
    ];
    all.extend(anabranch_traffic::formats().into_iter().map(insist));
    all
}

fn consistent(outcome: &Ingested) {
    for series in &outcome.series {
        assert_eq!(series.bytes.len(), series.missing.len());
        assert!(series.bytes.len() <= 10_001 && !series.bytes.is_empty());
        assert!(series.packets.as_ref().is_none_or(|packets| packets.len() == series.bytes.len()));
        assert!(series.bytes.iter().all(|bytes| *bytes >= 0));
        let known = series.bytes.iter().zip(&series.missing);
        assert!(known.into_iter().all(|(bytes, missing)| !missing || *bytes == 0));
    }
}

fn mutate(mut bytes: Vec<u8>, changes: &[(usize, u8, u8)], cut: Option<usize>) -> Vec<u8> {
    for &(at, value, how) in changes {
        let length = bytes.len().max(1);
        match how % 4 {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(at % length) {
                    *byte = if how % 4 == 0 { value } else { *byte ^ (1 << (value % 8)) };
                }
            }
            2 => bytes.insert(at % length, value),
            _ if bytes.is_empty() => {}
            _ => drop(bytes.remove(at % length)),
        }
    }
    if let Some(cut) = cut {
        bytes.truncate(cut % (bytes.len() + 1));
    }
    bytes
}

#[test]
fn mutated_files_never_panic() {
    let (seeds, requests) = (seeds(), requests());
    let config = Config { cases: 4000, failure_persistence: None, ..Config::default() };
    // The same cases every time.
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    let strategy = (
        0..seeds.len(),
        0..requests.len(),
        prop::collection::vec(any::<(u16, u8, u8)>(), 0..8),
        prop::option::weighted(0.3, any::<u16>()),
    );
    runner
        .run(&strategy, |(seed, request, changes, cut)| {
            let changes: Vec<_> = changes.into_iter().map(|(at, value, how)| (usize::from(at), value, how)).collect();
            let bytes = mutate(seeds[seed].clone(), &changes, cut.map(usize::from));
            if let Ok(outcome) = ingest_bytes(&requests[request], "mutated", &bytes, &Watch::new()) {
                consistent(&outcome);
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_good_files_are_good_in_every_way_of_reading_them() {
    // With UPDATE=1 they become the seeds of the fuzz target.
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/files");
    let update = std::env::var_os("UPDATE").is_some();
    for (i, seed) in seeds().iter().enumerate() {
        if update {
            std::fs::create_dir_all(&folder).expect("the repository can be written");
            std::fs::write(folder.join(format!("{i:02}")), [&[1][..], seed].concat())
                .expect("the repository can be written");
        }
        let outcome = ingest_bytes(&Request::default(), "seed", seed, &Watch::new());
        let outcome = outcome.unwrap_or_else(|error| panic!("seed {i}: {error}"));
        assert!(outcome.files[0].records >= 1, "seed {i}");
        assert!(!outcome.series.is_empty(), "seed {i}");
    }
}
