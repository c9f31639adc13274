//! Tables of packets, volumes, counters and flows.

#![allow(clippy::format_collect, reason = "small tables, written as text")]

use crate::common::{bins, read};
use anabranch_traffic::{Align, Ingested, Request, Series, Want};

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;

fn good(request: &Request, text: &str) -> Ingested {
    read(request, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn bad(request: &Request, text: &str) -> String {
    read(request, text.as_bytes()).expect_err("must not be read").to_string()
}

/// Bytes per bin, `None` where unknown.
fn known(outcome: &Ingested, series: usize) -> Vec<Option<i64>> {
    let series = &outcome.series[series];
    series.bytes.iter().zip(&series.missing).map(|(&bytes, &missing)| (!missing).then_some(bytes)).collect()
}

#[test]
fn packets_with_and_without_names_and_separators() {
    let lines = [("0.001340", 1090), ("0.001508", 174), ("0.5", 162), ("2.25", 60), ("2.0", 40)];
    for (head, separator) in
        [("", " "), ("", ","), ("frame.time_epoch\tframe.len\n", "\t"), ("# note\ntime;length\n", ";")]
    {
        let body: Vec<String> = lines.iter().map(|(t, n)| format!("{t}{separator}{n}")).collect();
        let request = Request { format: Some("csv-packets".to_owned()), ..bins(&[SECOND]) };
        let outcome = good(&request, &format!("{head}{}\r\n", body.join("\r\n")));
        assert_eq!(known(&outcome, 0), [Some(1426), Some(40), Some(60)]);
        assert_eq!((outcome.series[0].start_ns, outcome.files[0].out_of_order), (1_340_000, 1));
    }
    // Recognised by a column that can only be a length, or by irregular times.
    assert_eq!(good(&bins(&[SECOND]), "ts,len\n1.5,60\n").files[0].format, "csv-packets");
    let irregular: String = (0..20).map(|i| format!("{}.{}, {}\n", i, i * 37 % 97, 60 + i * 7 % 20)).collect();
    assert_eq!(good(&bins(&[SECOND]), &irregular).files[0].format, "csv-packets");
}

#[test]
fn volumes_keep_holes_and_join_into_wider_bins() {
    let text = "time,bytes\n2024-05-01 00:00:00,100\n2024-05-01 00:05:00,200.4\n2024-05-01 00:10:00,\n\
                2024-05-01 00:20:00,400\n2024-05-01 00:25:00,300\n2024-05-01 00:30:00,600\n";
    let outcome = good(&bins(&[5 * MINUTE, 10 * MINUTE]), text);
    assert_eq!(outcome.files[0].format, "csv-volumes");
    let fine = [Some(100), Some(200), None, None, Some(400), Some(300), Some(600)];
    assert_eq!(known(&outcome, 0), fine);
    assert_eq!(known(&outcome, 1), [Some(300), None, Some(700), Some(600)]);
    assert!(outcome.series[0].complete && !outcome.series[1].complete);
    assert_eq!(outcome.series[0].packets, None);
    assert_eq!(outcome.files[0].rounded, 1);
    // The file's own interval unless others are asked for.
    assert_eq!(good(&Request::default(), text).series[0].bin_ns, 5 * MINUTE);
    let error = bad(&bins(&[MINUTE]), text);
    assert_eq!(
        error,
        "memory: bins of 60 s are finer than the table, which has one row for every 300 s\nhint: choose bins of 300 s or a multiple"
    );
}

#[test]
fn tables_that_do_not_tell_are_what_they_are_said_to_be() {
    let text = "time,bytes\n2024-05-01 00:00,10\n2024-05-01 00:05,20\n2024-05-01 00:15,40\n";
    assert!(bad(&Request::default(), text).contains("cannot tell what this table holds"));
    let volumes = Request { if_unclear: Some("csv-volumes".into()), ..Request::default() };
    // Of the steps of 5 and 10 minutes the smaller is the width: a row is missing.
    assert_eq!(known(&good(&volumes, text), 0), [Some(10), Some(20), None, Some(40)]);
    assert_eq!(good(&volumes, "time,length\n0,60\n0.1,1500\n5,60\n").files[0].format, "csv-packets");
    let unknown = Request { if_unclear: Some("pcap".into()), ..Request::default() };
    assert!(bad(&unknown, text).contains("format \"pcap\" is not known"));
}

#[test]
fn fractions_are_kept_in_parts_of_a_byte() {
    let text = "time,bytes\n0,0.25\n1,7\n2,1.5\n3,0.125\n";
    let whole = good(&Request::default(), text);
    assert_eq!((known(&whole, 0), whole.files[0].rounded), (vec![Some(0), Some(7), Some(2), Some(0)], 3));
    let parts = good(&Request { parts: Some(1000), ..Request::default() }, text);
    assert_eq!(known(&parts, 0), [Some(250), Some(7000), Some(1500), Some(125)]);
    assert_eq!(parts.files[0].rounded, 0);
    assert!(bad(&Request { parts: Some(0), ..Request::default() }, text).contains("parts of a byte"));
}

#[test]
fn stamps_that_stray_are_put_onto_the_grid() {
    // As polls do: a few seconds late, more and more.
    let text: String =
        (0..100).map(|i| format!("{},{}\n", 1_375_308_176 + i * 300 + i * i % 7, 1000 + i * i % 13)).collect();
    let outcome = good(&Request { format: Some("csv-volumes".to_owned()), ..Request::default() }, &text);
    let expected: Vec<Option<i64>> = (0..100).map(|i| Some(1000 + i * i % 13)).collect();
    assert_eq!((outcome.series[0].bin_ns, known(&outcome, 0)), (5 * MINUTE, expected));
}

#[test]
fn rates_and_units_become_bytes() {
    let rows = |name: &str| format!("time,{name}\n0,8\n60,16\n120,8\n");
    let sum = |request: &Request, name: &str| good(request, &rows(name)).series[0].bytes.clone();
    assert_eq!(sum(&Request::default(), "rx_KBps"), [480_000, 960_000, 480_000]);
    assert_eq!(sum(&Request::default(), "gbit"), [1_000_000_000, 2_000_000_000, 1_000_000_000]);
    assert_eq!(sum(&Request { unit: Some("kbps".to_owned()), ..Request::default() }, "x"), [60_000, 120_000, 60_000]);
    let error = bad(&Request { unit: Some("parsecs".to_owned()), ..Request::default() }, &rows("x"));
    assert!(error.contains("\"parsecs\" is not a unit of volume\nhint: for example"), "{error}");
}

#[test]
fn numbered_bins_need_an_interval() {
    let text = "bin,bytes\n0,4858\n1,5020\n2,462\n4,10\n";
    assert!(bad(&Request::default(), text).contains("--interval 10ms"));
    let outcome = good(&Request { interval_ns: Some(10_000_000), ..bins(&[10_000_000, 20_000_000]) }, text);
    assert_eq!(known(&outcome, 0), [Some(4858), Some(5020), Some(462), None, Some(10)]);
    assert_eq!(known(&outcome, 1), [Some(9878), None, Some(10)]);
}

#[test]
fn several_columns_keys_and_rows() {
    let text = "time,vm,rx_bytes,rx_packets,tx_bytes,tx_packets\n\
                0,a,10,1,100,5\n0,b,20,2,200,6\n60,a,11,3,110,7\n60,b,21,4,190,8\n120,a,9,5,120,9\n120,b,22,6,220,10\n";
    let request = Request { format: Some("csv-volumes".to_owned()), ..Request::default() };
    let outcome = good(&request, text);
    let view = |s: &Series| (s.name.clone(), s.bytes.clone(), s.packets.clone().unwrap_or_default());
    let found: Vec<_> = outcome.series.iter().map(view).collect();
    assert_eq!(
        found,
        [
            ("memory a rx_bytes".to_owned(), vec![10, 11, 9], vec![1, 3, 5]),
            ("memory a tx_bytes".to_owned(), vec![100, 110, 120], vec![5, 7, 9]),
            ("memory b rx_bytes".to_owned(), vec![20, 21, 22], vec![2, 4, 6]),
            ("memory b tx_bytes".to_owned(), vec![200, 190, 220], vec![6, 8, 10]),
        ]
    );
    let request =
        Request { columns: vec!["tx_bytes".to_owned()], rows: vec![("vm".to_owned(), "b".to_owned())], ..request };
    let outcome = good(&request, text);
    assert_eq!((outcome.series.len(), known(&outcome, 0)), (1, vec![Some(200), Some(190), Some(220)]));
    let error = bad(&Request { columns: vec!["rx".to_owned()], ..request.clone() }, text);
    assert!(error.contains("there is no column \"rx\"\nhint: columns: time, vm, rx_bytes"), "{error}");
    // Without a key two rows fall into one bin.
    let error =
        bad(&Request { format: Some("csv-volumes".to_owned()), ..Request::default() }, &text.replace("vm", "class"));
    assert!(error.contains("memory: line 3 (byte 66): the row is in the same bin as the one before"), "{error}");
    assert!(error.contains("--by COLUMN"), "{error}");
}

/// Counters at irregular polls: bins get exact shares, and their sum is what the counter moved.
#[test]
fn counters_are_spread_exactly() {
    let polls = [0_i64, 9, 21, 30, 41, 50, 61, 70, 79, 91, 100];
    let rate = 1_000_000_i64; // bytes per second, so that shares can be told
    let start = 513_501_526_760_237_u64;
    let text: String = polls
        .iter()
        .map(|t| format!("{}.5,Hu0,{},{}\n", 1_558_249_392 + t, start + (t * rate) as u64, 7_000_000_000 + t * 10))
        .collect();
    let text = format!("time,interface,bytes_received,packets_received\n{text}");
    let outcome = good(&bins(&[10 * SECOND, 20 * SECOND]), &text);
    assert_eq!((outcome.files[0].format, outcome.series[0].name.as_str()), ("counters", "memory Hu0"));
    assert_eq!(known(&outcome, 0), [Some(10_000_000); 10]);
    assert_eq!(outcome.series[0].packets.as_deref(), Some(&[100; 10][..]));
    assert_eq!(known(&outcome, 1), [Some(20_000_000); 5]);
    assert_eq!(outcome.files[0].bytes, 100_000_000);
}

#[test]
fn counters_wrap_are_reset_and_lose_polls() {
    let text = |values: &[(i64, u64)]| {
        let rows: String = values.iter().map(|(t, value)| format!("{t},{value}\n")).collect();
        format!("time,ifInOctets\n{rows}")
    };
    let request = Request { format: Some("counters".to_owned()), ..bins(&[10 * SECOND]) };
    // A wrap of 32 bits, and of 64.
    let wrap = [(0, 4_294_967_000), (10, 4_294_967_290), (20, 94), (30, 194), (40, 200)];
    let outcome = good(&request, &text(&wrap));
    assert_eq!(known(&outcome, 0), [Some(290), Some(100), Some(100), Some(6)]);
    assert!(outcome.files[0].notes.iter().any(|note| note == "1 counter wrap"));
    let wide = [(0, u64::MAX - 10), (10, u64::MAX), (20, 89), (30, 90)];
    assert_eq!(known(&good(&request, &text(&wide)), 0), [Some(10), Some(90), Some(1)]);
    // A reset is unknown, not zero and not 4 GB.
    let reset = [(0, 1000), (10, 2000), (20, 50), (30, 150), (40, 151)];
    let outcome = good(&request, &text(&reset));
    assert_eq!(known(&outcome, 0), [Some(1000), None, Some(100), Some(1)]);
    assert_eq!(outcome.series[0].gaps[0].why, "counter reset");
    let reset64 = [(0, 1 << 40), (10, (1 << 40) + 5), (20, 100), (30, 150), (40, 151)];
    assert_eq!(known(&good(&request, &text(&reset64)), 0), [Some(5), None, Some(50), Some(1)]);
    // Said to have 32 bits, the same wraps.
    let forced = Request { counter_bits: Some(64), ..request.clone() };
    assert_eq!(known(&good(&forced, &text(&wrap)), 0)[1], None);
    // Four polls lost: 50 s in one interval count only where the whole interval is.
    let lost = [(0, 0), (10, 10), (20, 20), (30, 30), (80, 530), (90, 540), (100, 550)];
    let outcome = good(&Request { bins_ns: vec![10 * SECOND, 100 * SECOND], ..request.clone() }, &text(&lost));
    let mut expected = vec![Some(10); 10];
    expected[3..8].fill(None);
    assert_eq!(known(&outcome, 0), expected);
    assert_eq!(known(&outcome, 1), [Some(550)]);
    assert_eq!(outcome.series[0].gaps[0].why, "missing poll");
    // A poll that comes late is in the interval around it already.
    let late = [(0, 0), (10, 10), (20, 20), (15, 14), (30, 30), (40, 40)];
    let outcome = good(&request, &text(&late));
    assert_eq!((known(&outcome, 0), outcome.files[0].out_of_order), (vec![Some(10); 4], 1));
    assert!(
        bad(&request, &text(&[(0, 1)]).replace(",1\n", ",-1\n")).contains("line 2 (byte 16): \"-1\" is not a count")
    );
}

const FLOWS_16: &str = "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out\n\
    2024-06-28 23:17:40,2024-06-28 23:17:40,0.000,10.0.0.1,38.250.154.56,5,80,TCP,........,0,0,1,60,2,140,1,2\n\
    2024-06-28 23:17:41.000,2024-06-28 23:17:44.000,3.000,128.14.118.163,38.250.154.56,443,10693,UDP,........,66,24,9,9000,0,0,435,471\n\
    2024-06-28 23:17:43,2024-06-28 23:17:43,0.000,38.250.154.56,10.0.0.1,0,3.1,ICMP,........,0,0,1,28,0,0,1,2\n\
    Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n3,9228,13,1,1,1\n";

const FLOWS_17: &str = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n\
    2024-06-28 23:17:41.000,00:00:03.000,UDP,128.14.118.163,443,38.250.154.56,10693,9,9000,1\n\
    2024-06-28 23:17:40.000,0.000,6,2001:db8::1,5,2001:db8::2,80,1,60,1\n";

#[test]
fn flows_are_spread_over_their_time() {
    let outcome = good(&bins(&[SECOND]), FLOWS_16);
    assert_eq!((outcome.files[0].format, outcome.files[0].records), ("nfdump", 4));
    assert_eq!(known(&outcome, 0), [Some(200), Some(3000), Some(3000), Some(3028), Some(0)]);
    assert_eq!(outcome.series[0].packets.as_deref(), Some(&[3, 3, 3, 4, 0][..]));
    let filtered = |text: &str| {
        good(&Request { filter: Some(text.to_owned()), ..bins(&[10 * SECOND]) }, FLOWS_16).series[0].bytes[0]
    };
    assert_eq!(
        [filtered("tcp"), filtered("src port 80"), filtered("net 10.0.0.0/8"), filtered("icmp")],
        [200, 140, 228, 28]
    );
    let request =
        Request { direction: Some(Want::Split), inside: vec!["10.0.0.0/8".to_owned()], ..bins(&[10 * SECOND]) };
    let outcome = good(&request, FLOWS_16);
    assert_eq!((outcome.series[0].bytes[0], outcome.series[1].bytes[0], outcome.files[0].left_out), (168, 60, 1));
    let outcome = good(&bins(&[SECOND]), FLOWS_17);
    assert_eq!(known(&outcome, 0), [Some(60), Some(3000), Some(3000), Some(3000), Some(0)]);
    let outcome = good(&Request { filter: Some("ip6 and dst port 80".to_owned()), ..bins(&[SECOND]) }, FLOWS_17);
    assert_eq!(known(&outcome, 0), [Some(60), Some(0), Some(0), Some(0), Some(0)]);
    // The first row is not the earliest flow: what came before it in the first bin of 10 s is not known.
    assert_eq!(known(&good(&bins(&[10 * SECOND]), FLOWS_17), 0), [None, Some(9000)]);
    assert_eq!(good(&Request::default(), FLOWS_17).series[0].bin_ns, 5 * MINUTE);
}

#[test]
fn on_the_clock_rows_are_shared_out() {
    let text = "time,bytes\n30,100\n90,300\n150,200\n";
    let outcome = good(&Request { align: Align::Clock, ..bins(&[MINUTE]) }, text);
    assert_eq!(outcome.series[0].start_ns, 0);
    // Half of each row in each bin; the first was not covered whole, the last says so.
    assert_eq!(known(&outcome, 0), [None, Some(200), Some(250), Some(100)]);
    assert!(!outcome.series[0].complete);
}

#[test]
fn bad_rows_are_named() {
    let packets = Request { format: Some("csv-packets".to_owned()), ..bins(&[SECOND]) };
    for (text, part) in [
        ("time,length\n1,60\nnever,60\n", "memory: line 3 (byte 17): \"never\" is not a time\nhint: expected a number"),
        (
            "time,length\n1,60\n\n# x\n2\n",
            "memory: line 5 (byte 22): the row has 1 fields: column \"length\" is missing",
        ),
        ("time,length\n1,sixty\n", "\"sixty\" is not a count"),
        ("time,length\n1,99999999999\n", "\"99999999999\" is not the length of a packet"),
        ("when,length\n1,60\n", "no column looks like a time: when, length\nhint: name it: --time COLUMN"),
    ] {
        let error = bad(&packets, text);
        assert!(error.contains(part), "{error}");
    }
    let kept = good(&Request { keep_partial: true, ..packets }, "time,length\n1,60\nnever,60\n");
    assert_eq!((kept.files[0].records, kept.series[0].bytes.as_slice()), (1, &[60][..]));
}
