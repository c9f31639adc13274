//! Tables as operators have them: idle ports, resets, failed polls, columns that are no volumes. A wrong bill is worse
//! than none, so where two readings are possible nothing is read.

#![allow(clippy::format_collect, reason = "small tables, written as text")]

use crate::common::read;
use anabranch_traffic::{Ingested, Request, Series};

const SECOND: i64 = 1_000_000_000;
/// 2024-06-01.
const JUNE: i64 = 1_717_200_000;

fn good(request: &Request, text: &str) -> Ingested {
    read(request, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn bad(request: &Request, text: &str) -> String {
    read(request, text.as_bytes()).expect_err("must not be read").to_string()
}

/// A table of polls every five minutes.
fn polls(names: &str, rows: impl IntoIterator<Item = String>) -> String {
    let rows: String = (0_i64..).zip(rows).map(|(i, row)| format!("{},{row}\n", JUNE + i * 300)).collect();
    format!("time,{names}\n{rows}")
}

fn counter(name: &str, values: impl IntoIterator<Item = u64>) -> String {
    polls(name, values.into_iter().map(|value| value.to_string()))
}

/// The distinct bytes of the bins that are known, and how many are not.
fn volumes(series: &Series) -> (Vec<i64>, usize) {
    let known = series.bytes.iter().zip(&series.missing).filter(|(_, missing)| !**missing).map(|(bytes, _)| *bytes);
    let mut distinct: Vec<i64> = known.collect();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct, series.missing.iter().filter(|missing| **missing).count())
}

fn request(set: impl FnOnce(&mut Request)) -> Request {
    let mut request = Request::default();
    set(&mut request);
    request
}

#[test]
fn a_column_named_as_a_counter_is_one_whatever_its_first_rows_do() {
    for name in ["ifHCInOctets", "ifInOctets", "in_octets", "rx_bytes_total", "IF-MIB::ifHCOutOctets.7", "INOCTETS"] {
        let idle = counter(name, std::iter::repeat_n(5_555_555_555_555, 200));
        let outcome = good(&Request::default(), &idle);
        assert_eq!((outcome.files[0].format, volumes(&outcome.series[0])), ("counters", (vec![0], 0)), "{name}");
        let late = counter(name, (0..200).map(|i: u64| 5_555_555_555_555 + i.saturating_sub(150) * 900));
        assert_eq!(volumes(&good(&Request::default(), &late).series[0]).0, [0, 900], "{name}");
        let assumed = outcome.files[0].assumed.as_deref().unwrap_or_default();
        assert!(assumed.contains("counters of bytes, polled every 300 s"), "{assumed}");
    }
    // One wrap, one reset in the first rows; and an idle port among others.
    let wrap = counter("ifInOctets", (0..40_u64).map(|i| (4_280_000_000 + i * 3_750_000) % (1 << 32)));
    assert_eq!(volumes(&good(&Request::default(), &wrap).series[0]), (vec![3_750_000], 0));
    let reset = (0..40_u64).map(|i| if i < 9 { 10_000_000_000_000 + i * 1875 } else { (i - 9) * 1875 });
    assert_eq!(volumes(&good(&Request::default(), &counter("ifHCInOctets", reset)).series[0]), (vec![1875], 1));
    let unit = request(|request| request.unit = Some("Mbps".to_owned()));
    let error = bad(&unit, &counter("ifInOctets", 0..20));
    assert!(error.contains("--unit Mbps does not apply") && error.contains("--format csv-volumes"), "{error}");
}

#[test]
fn rows_and_columns_are_chosen_before_anything_is_guessed() {
    let both: String = (0_u64..120)
        .flat_map(|i| [("eth0", 1_000_000_000_000 + i * 3_750_000), ("eth1", 5_000_000_000_000 + i * 77)])
        .enumerate()
        .map(|(row, (port, value))| format!("{},{port},{value}\n", JUNE + row as i64 / 2 * 300))
        .collect();
    for (head, key) in [("time,interface,ifHCInOctets\n", "interface"), ("time,who,rx_bytes\n", "who")] {
        let eth0 = request(|request| request.rows = vec![(key.to_owned(), "eth0".to_owned())]);
        let outcome = good(&eth0, &format!("{head}{both}"));
        assert_eq!((outcome.series.len(), volumes(&outcome.series[0])), (1, (vec![3_750_000], 0)), "{key}");
    }
    let text = polls("packets,rx_bytes,load", (0..60).map(|i| format!("{},{},{}", i % 3, i * 100, 10 + i % 7)));
    let load = request(|request| request.columns = vec!["load".to_owned()]);
    assert_eq!(good(&load, &text).files[0].format, "csv-volumes");
    let bytes = request(|request| request.columns = vec!["rx_bytes".to_owned()]);
    assert_eq!(good(&bytes, &text).files[0].format, "counters");
}

#[test]
fn where_two_readings_are_possible_format_decides() {
    let grows = |i: u64| format!("{},{}", 1_000_000 + i * 375, 2_000_000 + i * 750);
    let late = |i: u64| format!("{0},{0}", 7_000_000 + i.saturating_sub(100) * 10);
    let resets = |i: u64| format!("{0},{0}", 7_000 + i % 50 * 10);
    let still = |_: u64| "5555,5555".to_owned();
    for names in ["in,out", "traffic_in,received", "WAN1,WAN2", "bytes,x"] {
        for (what, text) in [
            ("grows", polls(names, (0..150).map(grows))),
            ("late", polls(names, (0..200).map(late))),
            ("resets", polls(names, (0..150).map(resets))),
            ("still", polls(names, (0..100).map(still))),
        ] {
            for unclear in [None, Some("csv-volumes".to_owned())] {
                let error = bad(&request(|request| request.if_unclear = unclear), &text);
                assert!(
                    error.contains("--format counters") && error.contains("--format csv-volumes"),
                    "{what}: {error}"
                );
            }
            let said = |format: &str| request(|request| request.format = Some(format.to_owned()));
            assert_eq!(good(&said("csv-volumes"), &text).files[0].format, "csv-volumes", "{names} {what}");
            if what == "grows" {
                let outcome = good(&said("counters"), &text);
                assert_eq!(volumes(&outcome.series[0]).0, [375]);
            }
        }
    }
    // Volumes that go up and down, and an empty port, are read.
    let noise = polls("in,out", (0..150_u64).map(|i| format!("{},0", 500 + i * i % 97)));
    assert_eq!(good(&Request::default(), &noise).series.len(), 2);
    // A rate is none of a counter, however it grows.
    let rate = polls("in_Mbps", (0..150).map(|i| i.to_string()));
    assert_eq!(good(&Request::default(), &rate).files[0].format, "csv-volumes");
    // A counter of megabytes would be read as one of bytes.
    let counters =
        Request { columns: vec!["in_MB".to_owned()], format: Some("counters".to_owned()), ..Request::default() };
    assert!(bad(&counters, &polls("in_MB", (0..20).map(|i| i.to_string()))).contains("is in MB by its name"));
    let error = bad(&Request::default(), &polls("ifHCInOctets,out_bps", (0..20).map(|i| format!("{i},5"))));
    assert!(error.contains("is a counter and \"out_bps\" a rate"), "{error}");
}

#[test]
fn words_for_unknown_are_unknown_in_counters_and_rates() {
    for word in ["", "NULL", "null", "nan", "-nan", "NaN", "U", "N/A", "n/a", "\\N", "None", "-"] {
        let poll = |i: u64| {
            if [20, 90].contains(&i) { word.to_owned() } else { (7_000_000_000_000 + i * 15_000_000).to_string() }
        };
        let outcome = good(&Request::default(), &polls("ifHCInOctets", (0..120).map(poll)));
        assert_eq!(volumes(&outcome.series[0]), (vec![15_000_000], 4), "{word:?}");
        let rate = |i: u64| if [0, 20, 90].contains(&i) { word.to_owned() } else { format!("{}.5", 100 + i % 7) };
        let outcome = good(&Request::default(), &polls("in_bps,out_bps", (0..120).map(|i| format!("{},7", rate(i)))));
        assert_eq!(
            outcome.series[0].missing.iter().filter(|missing| **missing).count()
                + usize::from(outcome.series[0].bytes.len() == 119),
            3,
            "{word:?}"
        );
    }
    let error = bad(&Request::default(), &polls("ifHCInOctets", ["1", "two", "3"].map(str::to_owned)));
    assert!(error.contains("\"two\" is not a count"), "{error}");
}

#[test]
fn what_a_port_cannot_carry_is_unknown() {
    let jump = |i: u64| 1_000_000 + i * 1_000 + if i > 50 { 80_000_000_000 } else { 0 };
    let text = counter("in_octets", (0..100).map(jump));
    assert_eq!(volumes(&good(&Request::default(), &text).series[0]).0, [1_000, 80_000_001_000]);
    let limited = request(|request| request.line_rate_bps = Some(1e9));
    let outcome = good(&limited, &text);
    assert_eq!(volumes(&outcome.series[0]), (vec![1_000], 1));
    assert!(outcome.files[0].notes.iter().any(|note| note == "1 increase is more than the line carries: unknown"));
    for (speed, value) in [("ifSpeed", "1000000000"), ("ifHighSpeed", "1000")] {
        let rows = (0..100).map(|i| format!("{},{value}", jump(i)));
        let outcome = good(&Request::default(), &polls(&format!("ifHCInOctets,{speed}"), rows));
        assert_eq!((outcome.series.len(), volumes(&outcome.series[0])), (1, (vec![1_000], 1)), "{speed}");
        let rows =
            (0..100).map(|i| format!("{},{value}", if i == 50 { 40_000_000_000_u64 } else { 4_000 + i % 7 * 80 }));
        let outcome = good(&Request::default(), &polls(&format!("in_bps,{speed}"), rows));
        assert_eq!(volumes(&outcome.series[0]).1, 1, "{speed}");
    }
    let error = read(&limited, &crate::common::pcap(&crate::common::packets(9, 1_000_000, 60), false, 0xa1b2_c3d4, 1));
    assert!(error.expect_err("no table").to_string().contains("--line-rate does not apply to pcap"));
}

#[test]
fn columns_that_are_no_volumes_are_left_out_by_name() {
    let names = "in_bps,n_flows,ifSpeed,util_percent,ifInErrors,in_discards,in_ucast_pkts,temp";
    let text = polls(names, (0..40).map(|i| format!("{},3,1000000000,{},0,0,17,40", 5_000 + i % 7 * 8, i % 9)));
    let outcome = good(&Request::default(), &text);
    assert_eq!(outcome.series.len(), 1);
    assert!(outcome.files[0].notes[0].starts_with("left out, no volumes by their names: n_flows, util_percent"));
    for name in ["n_flows", "util_percent", "ifInErrors"] {
        let asked = request(|request| request.columns = vec![name.to_owned()]);
        let error = bad(&asked, &text);
        assert!(error.contains("is no volume by its name") && error.contains("--unit"), "{error}");
        let said = request(|request| (request.columns, request.unit) = (vec![name.to_owned()], Some("B".to_owned())));
        if name == "util_percent" {
            assert_eq!(good(&said, &text).series.len(), 1);
        }
    }
    let error = bad(&Request::default(), &polls("util_percent,errors", (0..40).map(|i| format!("{},0", i % 9))));
    assert!(error.contains("no column holds volumes, by its name: time, util_percent, errors"), "{error}");
    let error = bad(&Request::default(), &polls("in_Mbps,out", (0..40).map(|i| format!("{},5", i % 9))));
    assert!(error.contains("column \"out\" has no unit in its name, and others have"), "{error}");
}

#[test]
fn units_are_read_in_names_and_what_was_assumed_is_told() {
    // 8 each of the unit, in 300 s.
    for (name, bytes, told) in [
        ("traffic_Mbps_in", 300_000_000, "mean rates of 300 s in Mbps"),
        ("ifInOctets_rate", 2_400, "mean rates of 300 s in bytes/s"),
        ("In MB/s", 2_400_000_000, "mean rates of 300 s in MB/s"),
        ("Inbound bits/sec", 300, "mean rates of 300 s in bits/sec"),
        ("rx_kbps", 300_000, "mean rates of 300 s in kbps"),
        ("rx_kbit", 1_000, "volumes of 300 s in kbit"),
        ("in", 8, "bytes in each row of 300 s, as no name and no --unit says otherwise"),
    ] {
        let rows = polls(&format!("\"{name}\""), (0..40).map(|i| (8 + i % 2 * 8).to_string()));
        let outcome = good(&Request::default(), &rows);
        assert_eq!(outcome.series[0].bytes[0], bytes, "{name}");
        assert_eq!(outcome.files[0].assumed.as_deref(), Some(&*format!("{name}: {told}")));
    }
    for name in ["IN_MBPS", "in_rate"] {
        let error = bad(&Request::default(), &polls(name, (0..40).map(|i| (i % 3).to_string())));
        assert!(error.contains("can be of bits or of bytes") && error.contains("--unit"), "{error}");
    }
}

#[test]
fn without_names_the_second_column_counts() {
    for head in ["", "# a comment\n"] {
        let rows: String = (0..30).map(|i| format!("2024-05-01 00:{i:02},{},50\n", 90 + i % 3 * 5)).collect();
        let outcome = good(&Request::default(), &format!("{head}{rows}"));
        assert_eq!((outcome.series.len(), outcome.series[0].bytes[..3].to_vec()), (1, vec![90, 95, 100]));
        assert!(outcome.files[0].notes[0].contains("the second is read, the third is left out"));
        let third = request(|request| request.columns = vec!["3".to_owned()]);
        let third = Request { format: Some("csv-volumes".to_owned()), ..third };
        assert_eq!(good(&third, &format!("{head}{rows}")).series[0].bytes[..2], [50, 50]);
    }
    // A log whose second column is text.
    let log: String = (0..30).map(|i| format!("{}.0\tC{i}\t10.0.0.1\t443\n", JUNE + i * 10)).collect();
    assert!(bad(&Request::default(), &log).contains("is not a volume"));
}

#[test]
fn local_time_needs_its_zone() {
    // Polls every five minutes of real time around the end of summer time, as a clock in Berlin shows them.
    let begin = 1_729_972_800 + 3_600; // 2024-10-26 21:00 UTC
    let change = 1_729_990_800; // 01:00 UTC
    let stamp = |at: i64| {
        let of_day = (at + if at < change { 7_200 } else { 3_600 } - 1_729_900_800).rem_euclid(86_400);
        let day = if at < 1_729_980_000 { 26 } else { 27 };
        format!("2024-10-{day} {:02}:{:02}:00", of_day / 3600, of_day / 60 % 60)
    };
    let table = |name: &str, value: &dyn Fn(i64) -> i64| {
        let rows: String = (0..100).map(|i| format!("{},{}\n", stamp(begin + i * 300), value(i))).collect();
        format!("time,{name}\n{rows}")
    };
    let berlin = request(|request| request.time_zone = Some("Europe/Berlin".to_owned()));
    for (name, value) in
        [("ifHCInOctets", (&|i: i64| i * 3_750_000) as &dyn Fn(i64) -> i64), ("in_bps", &|_: i64| 100_000)]
    {
        let text = table(name, value);
        let error = bad(&Request::default(), &text);
        assert!(error.contains("the hour 2024-10-27 02:00 to 03:00 of a local time"), "{error}");
        assert!(error.contains("hint: say whose time it is: --time-zone"), "{error}");
        let outcome = good(&berlin, &text);
        let series = &outcome.series[0];
        assert_eq!((volumes(series), series.start_ns), ((vec![3_750_000], 0), begin * SECOND), "{name}");
        assert_eq!(series.bytes.len(), if name == "in_bps" { 100 } else { 99 });
        assert_eq!((series.claimed_twice, outcome.files[0].out_of_order), (0, 0));
    }
    // The hour that summer time leaves out: polled every hour, nobody knows whether one was lost.
    let rows: String = (0..48).map(|i| format!("2024-03-3{} {:02}:00:00,{}\n", i / 24, i % 24, i * 3_600)).collect();
    let hourly = format!("time,ifHCInOctets\n{}", rows.replace("2024-03-31 02:00:00", "skip"));
    let hourly: String =
        hourly.lines().filter(|line| !line.starts_with("skip")).map(|line| format!("{line}\n")).collect();
    assert_eq!(volumes(&good(&Request::default(), &hourly).series[0]), (vec![3_600], 2));
    assert!(
        bad(&berlin, &format!("{hourly}2024-04-01 00:00:00,9\n").replace("03-30 05:00", "03-31 02:30"))
            .contains("never was in Europe/Berlin")
    );
    let real: String = hourly
        .lines()
        .enumerate()
        .map(|(i, line)| match line.split_once(',') {
            Some((stamp, _)) if i > 0 => format!("{stamp},{}\n", i * 3_600),
            _ => format!("{line}\n"),
        })
        .collect();
    assert_eq!(volumes(&good(&berlin, &real).series[0]), (vec![3_600], 0));
    let error = bad(&request(|request| request.time_zone = Some("Mars/Olympus".to_owned())), "time,x\n");
    assert!(error.contains("time zone \"Mars/Olympus\" is not known"), "{error}");
}

#[test]
fn dates_and_fractions_of_other_countries() {
    let rows: String =
        (0..30).map(|i| format!("01.05.2024 {:02}:{:02};{},5\n", i / 12, i % 12 * 5, 10 + i % 3)).collect();
    let text = format!("Zeit;in_Mbps\n{rows}");
    let error = bad(&request(|request| request.time = Some("Zeit".to_owned())), &text);
    assert!(error.contains("--time-format '%d.%m.%Y %H:%M'"), "{error}");
    let german = request(|request| {
        (request.time, request.time_format) = (Some("Zeit".to_owned()), Some("%d.%m.%Y %H:%M".to_owned()));
    });
    for text in [text.clone(), format!("sep=;\n{text}")] {
        let series = &good(&german, &text).series[0];
        assert_eq!((series.start_ns, &series.bytes[..2]), (1_714_521_600 * SECOND, &[393_750_000, 431_250_000][..]));
    }
    let rows: String =
        (0..30).map(|i| format!("05/01/2024 {:02}:{:02} PM,{}\n", i / 12 + 1, i % 12 * 5, 10 + i % 3)).collect();
    let american = request(|request| request.time_format = Some("%m/%d/%Y %I:%M %p".to_owned()));
    let series = &good(&american, &format!("time,in_Mbps\n{rows}")).series[0];
    assert_eq!((series.start_ns, series.bytes.len()), ((1_714_521_600 + 13 * 3600) * SECOND, 30));
    // Three digits behind a comma are a fraction or a thousand.
    let rows: String = (0..30).map(|i| format!("2024-05-01 00:{i:02};1,{}\n", 100 + i % 3)).collect();
    let text = format!("time;in_Mbps\n{rows}");
    assert!(bad(&Request::default(), &text).contains("hint: --decimal comma"));
    let comma = request(|request| request.decimal = Some(anabranch_traffic::DecimalMark::Comma));
    assert_eq!(good(&comma, &text).series[0].bytes[0], 8_250_000);
}

#[test]
fn units_in_cells_are_read() {
    let cell = |i: u64| ["12.5 Mb/s", "850 kb/s", "1.2 Gb/s", "0 b/s", "null"][(i % 5) as usize];
    let rows: String = (0..40).map(|i| format!("\"2024-05-01 00:{i:02}:00\",\"{}\"\n", cell(i))).collect();
    let outcome = good(&Request::default(), &format!("\"Time\",\"eth0 in\"\n{rows}"));
    let series = &outcome.series[0];
    assert_eq!(series.bytes[..4], [93_750_000, 6_375_000, 9_000_000_000, 0]);
    assert!(series.missing[4]);
    assert!(outcome.files[0].assumed.as_deref().is_some_and(|assumed| assumed.contains("as each cell says")));
    let error = bad(&request(|request| request.unit = Some("Mbps".to_owned())), &format!("Time,in\n{rows}"));
    assert!(error.contains("has a unit, and the column of \"in\" is in Mbps"), "{error}");
    let mixed = format!("Time,in\n{rows}2024-05-01 00:41:00,5 MB\n");
    assert!(bad(&Request::default(), &mixed).contains("some cells are rates, and others volumes"));
}
