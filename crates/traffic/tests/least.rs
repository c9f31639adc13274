//! No bins finer than what a file tells: polls, rows, whole-second stamps. And frames whose headers are not understood.

#![allow(clippy::format_collect, reason = "small tables, written as text")]

use crate::common::{Packet, bins, packets, pcap, read};
use anabranch_traffic::{Ingested, Request, Want};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;
const MINUTE: i64 = 60 * SECOND;

fn good(request: &Request, text: &str) -> Ingested {
    read(request, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn bad(request: &Request, text: &str) -> String {
    read(request, text.as_bytes()).expect_err("must not be read").to_string()
}

fn widths(outcome: &Ingested) -> Vec<i64> {
    outcome.series.iter().map(|series| series.bin_ns).collect()
}

/// A counter that is polled every so many seconds, a little late each time.
fn polled(step_s: u64, late_ms: u64) -> String {
    let rows: String = (0..200_u64)
        .map(|i| {
            let ms = 1_717_200_000_000 + i * (step_s * 1000 + late_ms);
            format!("{}.{:03},{}\n", ms / 1000, ms % 1000, 10_000_000_000_000 + i * i * 1_000_000)
        })
        .collect();
    format!("time,ifHCInOctets\n{rows}")
}

#[test]
fn polls_make_no_bins_finer_than_themselves() {
    for (step, late, own) in [(300, 0, 300), (300, 400, 301), (60, 0, 60), (10, 20, 11), (1, 0, 1)] {
        let table = polled(step, late);
        let outcome = good(&Request::default(), &table);
        assert_eq!(widths(&outcome), [own * SECOND], "{step} {late}");
        let least = &outcome.series[0].least;
        assert_eq!(least.bin_ns, own * SECOND);
        assert!(least.why.starts_with("polls come about every "), "{}", least.why);
        for asked in [5 * MS, own * SECOND / 2] {
            let error = bad(&bins(&[asked]), &table);
            assert!(error.contains("are finer than what is known: polls come about every"), "{error}");
            assert!(error.contains(&format!("\nhint: choose bins of {own}")), "{error}");
        }
    }
    // A poller that is late by less than a tenth is asked for what it was meant to do.
    assert_eq!(widths(&good(&bins(&[300 * SECOND]), &polled(300, 2500))), [300 * SECOND]);
}

#[test]
fn rows_of_volumes_tell_their_own_interval() {
    let rows: String = (0..100).map(|i| format!("{},{}\n", 1_717_200_000 + i * 300, 1000 + i % 7)).collect();
    let outcome = good(&Request::default(), &format!("time,bytes\n{rows}"));
    assert_eq!((widths(&outcome), outcome.series[0].least.bin_ns), (vec![300 * SECOND], 300 * SECOND));
}

fn nfdump(stamp: impl Fn(u64) -> String) -> String {
    let rows: String =
        (0..40_u64).map(|i| format!("{},{},2.5,10.0.0.1,10.0.0.2,1,2,TCP,9,900\n", stamp(i), stamp(i + 3))).collect();
    format!("ts,te,td,sa,da,sp,dp,pr,ipkt,ibyt\n{rows}")
}

#[test]
fn flows_of_whole_seconds_fill_no_shorter_bins() {
    for shown in ["", ".000"] {
        let table = nfdump(|i| format!("2024-06-01 00:{:02}:{:02}{shown}", i / 20, i % 20 * 3));
        assert_eq!(good(&Request::default(), &table).series[0].least.bin_ns, SECOND);
        assert_eq!(widths(&good(&bins(&[SECOND]), &table)), [SECOND]);
        let error = bad(&bins(&[100 * MS]), &table);
        assert!(
            error.contains("bins of 100 ms are finer than what is known: the time stamps are whole seconds"),
            "{error}"
        );
        assert!(error.contains("\nhint: choose bins of 1 s or wider"), "{error}");
    }
    let fine = nfdump(|i| format!("2024-06-01 00:{:02}:{:02}.{:03}", i / 20, i % 20 * 3, i * 7));
    assert_eq!(good(&Request::default(), &fine).series[0].least.bin_ns, 0);
    assert_eq!(widths(&good(&bins(&[100 * MS]), &fine)), [100 * MS]);
}

#[test]
fn packets_of_whole_seconds_or_minutes_likewise() {
    let table = |step: u64, count: u64| -> String {
        let rows: String =
            (0..count).map(|i| format!("{},{}\n", 1_717_200_000 + (i * i % 977) * step, 60 + i % 1400)).collect();
        format!("time,length\n{rows}")
    };
    assert_eq!(widths(&good(&Request::default(), &table(1, 900))), [SECOND, 5 * SECOND]);
    assert_eq!(widths(&good(&Request::default(), &table(60, 900))), [MINUTE]);
    assert!(bad(&bins(&[SECOND]), &table(60, 900)).contains("the time stamps are whole minutes"));
    // Half a year in whole minutes: no 5 ms bins are begun, of which there would be too many.
    assert_eq!(widths(&good(&Request::default(), &table(60 * 241, 900))), [MINUTE]);
    // Finer stamps that come later change the answer, and not the bins that were begun.
    let later: String =
        (0..900).map(|i| format!("{},60\n", 1_717_200_000 + if i < 100 { i * i % 977 * 60 } else { i })).collect();
    let outcome = good(&Request::default(), &format!("time,length\n{later}"));
    assert_eq!((widths(&outcome), outcome.series[0].least.bin_ns), (vec![MINUTE], SECOND));
    assert_eq!(outcome.series[0].bytes.iter().sum::<i64>(), 900 * 60);
    // A handful of round numbers tells nothing.
    assert_eq!(widths(&good(&Request::default(), &table(1, 9))).len(), 4);
    let fraction = table(1, 900) + "1717200000.25,60\n";
    assert_eq!(widths(&good(&bins(&[100 * MS]), &fraction)), [100 * MS]);
}

#[test]
fn captures_of_whole_seconds_likewise() {
    let whole = pcap(&packets(50, 1_000_000_000, 60), false, 0xa1b2_c3d4, 1);
    let outcome = read(&Request::default(), &whole).expect("good");
    assert_eq!(widths(&outcome), [SECOND, 5 * SECOND]);
    assert!(read(&bins(&[5 * MS]), &whole).expect_err("too fine").to_string().contains("whole seconds"));
    let usual = pcap(&packets(50, 1_000_000, 60), false, 0xa1b2_c3d4, 1);
    assert_eq!(widths(&read(&Request::default(), &usual).expect("good")).len(), 4);
}

/// Frames with a packet of UDP from 10.0.0.1 to port 8000 of 192.0.2.9, behind some header.
fn carried(kind: u16, header: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0x80, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 192, 0, 2, 9];
    ip.extend([0x03, 0xe8, 0x1f, 0x40, 0, 0x6c, 0, 0]);
    let frame = [&[2; 12][..], &kind.to_be_bytes(), header, &ip].concat();
    let packet = |i: u64| Packet { ns: 1_700_000_000_000_000_000 + i * 7_000_000, wire: 150, data: frame.clone() };
    pcap(&(0..20).map(packet).collect::<Vec<_>>(), false, 0xa1b2_c3d4, 1)
}

#[test]
fn what_carries_ip_is_looked_into_and_what_is_not_understood_is_undecided() {
    let known: [(u16, &[u8]); 4] = [
        (0x8864, &[0x11, 0, 0, 1, 0, 0x82, 0, 0x21]),
        (0x8100, &[0, 100, 0x88, 0x64, 0x11, 0, 0, 1, 0, 0x82, 0, 0x21]),
        (0x88e7, &[0, 0, 0, 100, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0]),
        (0x88, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
    ];
    // MACsec, a type nobody knows, compressed headers in PPPoE.
    let unknown: [(u16, &[u8]); 3] = [(0x88e5, &[0; 8]), (0x9999, &[]), (0x8864, &[0x11, 0, 0, 1, 0, 0x82, 0, 0x2d])];
    let cases = known.iter().map(|case| (case, 20, 0)).chain(unknown.iter().map(|case| (case, 0, 20)));
    for ((kind, header), matching, undecided) in cases {
        let file = carried(*kind, header);
        let count = |filter: &str| {
            let outcome =
                read(&Request { filter: Some(filter.to_owned()), ..Request::default() }, &file).expect("good");
            let counted: i64 = outcome.series[0].packets.iter().flatten().sum();
            (counted, outcome.files[0].undecided)
        };
        assert_eq!(count("port 8000"), (matching, undecided), "{kind:#06x}");
        assert_eq!(count("not port 8000"), (0, undecided), "{kind:#06x}");
        assert_eq!(count("ip"), (matching, undecided), "{kind:#06x}");
        let split =
            Request { direction: Some(Want::Split), inside: vec!["10.0.0.0/8".to_owned()], ..Request::default() };
        match read(&split, &file) {
            Ok(outcome) => {
                let out = outcome.series.iter().find(|series| series.name.ends_with(" out")).expect("two directions");
                assert_eq!(out.packets.iter().flatten().sum::<i64>(), matching, "{kind:#06x}");
                assert_eq!((outcome.files[0].undecided, outcome.files[0].left_out), (0, 0), "{kind:#06x}");
            }
            Err(error) => {
                let text = error.to_string();
                assert!(matching == 0 && text.contains("no record says which way it went"), "{kind:#06x}: {text}");
                assert!(text.contains("\nhint: the headers with the addresses were not captured"), "{text}");
            }
        }
    }
}
