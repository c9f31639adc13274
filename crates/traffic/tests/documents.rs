//! Exports of Prometheus, `RRDtool`, MRTG and Cacti.

#![allow(clippy::format_collect, reason = "small documents, written as text")]

use crate::common::read;
use anabranch_traffic::{Ingested, Request};

const SECOND: i64 = 1_000_000_000;
const MAY: i64 = 1_714_521_600;

fn good(request: &Request, text: &str) -> Ingested {
    read(request, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn bad(request: &Request, text: &str) -> String {
    read(request, text.as_bytes()).expect_err("must not be read").to_string()
}

fn unit(text: &str) -> Request {
    Request { unit: Some(text.to_owned()), ..Request::default() }
}

fn known(outcome: &Ingested, series: usize) -> Vec<Option<i64>> {
    let series = &outcome.series[series];
    series.bytes.iter().zip(&series.missing).map(|(&bytes, &missing)| (!missing).then_some(bytes)).collect()
}

/// An answer to `query_range`: series with labels, every 60 s.
fn prometheus(series: &[(&str, &dyn Fn(i64) -> String)]) -> String {
    let one = |(metric, value): &(&str, &dyn Fn(i64) -> String)| {
        let values: Vec<String> = (0..20).map(|i| format!("[{}.5,\"{}\"]", MAY + i * 60, value(i))).collect();
        format!("{{\"metric\":{{{metric}}},\"values\":[{}]}}", values.join(","))
    };
    let series: Vec<String> = series.iter().map(one).collect();
    format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{}]}}}}\n", series.join(","))
}

#[test]
fn prometheus_counters_are_known_by_their_names() {
    let name = |way: &str, device: &str| {
        format!("\"__name__\":\"node_network_{way}_bytes_total\",\"device\":\"{device}\",\"job\":\"node\"")
    };
    let (inbound, outbound) = (name("receive", "eth0"), name("transmit", "eth0"));
    let text = prometheus(&[
        (&inbound, &|i| (7_000_000_000_000 + i * 600).to_string()),
        (&outbound, &|i| format!("{}", 9_000 + i * 60)),
    ]);
    let outcome = good(&Request::default(), &text);
    let names: Vec<&str> = outcome.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["memory node_network_receive_bytes_total", "memory node_network_transmit_bytes_total"]);
    assert_eq!((known(&outcome, 0), known(&outcome, 1)), (vec![Some(600); 19], vec![Some(60); 19]));
    assert_eq!((outcome.files[0].format, outcome.files[0].reader), ("prometheus", "counters"));
    let (a, b) = (name("receive", "eth0"), name("receive", "eth1"));
    let two = prometheus(&[(&a, &|i| (i * 600).to_string()), (&b, &|i| (i * 60).to_string())]);
    let row = Request { rows: vec![("series".to_owned(), "eth1".to_owned())], ..Request::default() };
    assert_eq!(known(&good(&row, &two), 0), vec![Some(60); 19]);
    assert!(bad(&unit("bps"), &two).contains("--unit does not apply"));
}

#[test]
fn prometheus_expressions_need_a_unit() {
    let text =
        prometheus(&[("\"device\":\"eth0\"", &|i| if i == 3 { "NaN".to_owned() } else { (800 + i).to_string() })]);
    assert!(bad(&Request::default(), &text).contains("--unit bps or --unit B/s"));
    let outcome = good(&unit("bps"), &text);
    assert_eq!(known(&outcome, 0)[..5], [Some(6000), Some(6008), Some(6015), None, Some(6030)]);
    assert_eq!(outcome.series[0].start_ns, MAY * SECOND + SECOND / 2);
    for (name, what) in
        [("node_netstat_errors_total", "is no volume by its name"), ("up", "does not say what its values are")]
    {
        let metric = format!("\"__name__\":\"{name}\"");
        assert!(bad(&Request::default(), &prometheus(&[(&metric, &|i| i.to_string())])).contains(what), "{name}");
    }
    let error = bad(&Request::default(), "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse error\"}");
    assert!(error.contains("Prometheus answered with an error: parse error"), "{error}");
    let vector = "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{},\"value\":[1,\"2\"]}]}}";
    assert!(bad(&Request::default(), vector).contains("query_range"));
}

#[test]
fn other_json_is_no_table() {
    for text in [
        "{\"a\": [1, 2, 3], \"b\": 5}",
        "[[1,2],[3,4]]",
        "[{\"time\": 5, \"bytes\": 7}]",
        "<?xml version=\"1.0\"?><a/>",
    ] {
        let error = bad(&Request::default(), text);
        assert!(error.contains("that is not known here\nhint: known are") && !error.contains("columns"), "{error}");
    }
}

#[test]
fn rrdtool_fetch_has_rates_at_the_end_of_their_steps() {
    let row = |i: i64| {
        let value = if i == 3 { "-nan".to_owned() } else { format!("{}.5000000000e+02", 1 + i % 2) };
        format!("{}: {value} 2.0000000000e+00\n", MAY + (i + 1) * 300)
    };
    let rows: String = (0..20).map(row).collect();
    for names in ["traffic_in traffic_out", "INOCTETS OUTOCTETS", "ds0 ds1"] {
        let outcome =
            good(&Request::default(), &format!("                 {}\n\n{rows}", names.replace(' ', "           ")));
        assert_eq!(known(&outcome, 0)[..4], [Some(45_000), Some(75_000), Some(45_000), None], "{names}");
        assert_eq!((outcome.series[0].start_ns, outcome.files[0].format), (MAY * SECOND, "rrd-fetch"));
        assert!(outcome.files[0].assumed.as_deref().is_some_and(|assumed| assumed.contains("--unit bps")));
        let bits = good(&unit("bps"), &format!("  {names}\n\n{rows}"));
        assert_eq!(known(&bits, 1)[0], Some(75));
    }
    assert!(
        bad(&Request::default(), &format!("a b\n\n{rows}1714600000: 5\n"))
            .contains("line 23: 1 values, and 2 data sources")
    );
}

#[test]
fn rrdtool_xport_is_read_as_xml_and_json() {
    let value = |i: i64| if i == 2 { "NaN".to_owned() } else { format!("1.{i}e+02") };
    let head = format!(
        "<start>{}</start><end>{}</end><step>300</step><rows>9</rows><columns>2</columns>",
        MAY + 300,
        MAY + 2700
    );
    for times in [true, false] {
        let rows: String = (0..9)
            .map(|i| {
                let time = if times { format!("<t>{}</t>", MAY + (i + 1) * 300) } else { String::new() };
                format!("<row>{time}<v>{}</v><v>7</v></row>\n", value(i))
            })
            .collect();
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n<xport>\n<meta>{head}<legend><entry>In &amp; more</entry>\
             <entry>Out</entry></legend></meta>\n<data>\n{rows}</data>\n</xport>\n"
        );
        let outcome = good(&Request::default(), &text);
        assert_eq!(known(&outcome, 0)[..4], [Some(30_000), Some(33_000), None, Some(39_000)]);
        assert_eq!((outcome.series[0].start_ns, outcome.series[0].name.as_str()), (MAY * SECOND, "memory In & more"));
    }
    let rows: Vec<String> = (0..9).map(|i| format!("[ {}, 7 ]", value(i).replace("NaN", "null"))).collect();
    let json = format!(
        "{{ \"about\": \"RRDtool graph JSON output\",\n \"meta\": {{ \"start\": {}, \"end\": {}, \"step\": 300, \"legend\": \
         [\"In\", \"Out\"] }},\n \"data\": [ {} ]\n}}\n",
        MAY + 300,
        MAY + 2700,
        rows.join(",\n")
    );
    assert_eq!(known(&good(&Request::default(), &json), 0)[..4], [Some(30_000), Some(33_000), None, Some(39_000)]);
    assert!(bad(&Request::default(), "<xport><meta><step>x</step></meta></xport>").contains("is no stamp"));
}

#[test]
fn mrtg_logs_are_read_as_far_as_they_have_five_minutes() {
    let last = MAY + 40 * 300 + 17;
    let mut text = format!("{last} 123456789 987654321\n{last} 80 90 80 90\n");
    let fine = (1..=40).rev().map(|i| format!("{} {} 5 {} 9\n", MAY + i * 300, 100 + i % 3, 200 + i));
    let coarse = (0..5).map(|i| format!("{} 70 5 900 9\n", MAY - i * 1800));
    text.extend(fine.chain(coarse));
    let outcome = good(&Request::default(), &text);
    assert_eq!((outcome.files[0].format, outcome.series.len()), ("mrtg", 2));
    let inbound = known(&outcome, 0);
    assert_eq!((inbound.len(), inbound[0], inbound[1]), (40, Some(101 * 300), Some(102 * 300)));
    assert_eq!((outcome.series[0].start_ns, outcome.series[1].bytes[0]), (MAY * SECOND, 1500));
    assert!(
        outcome.files[0]
            .notes
            .iter()
            .any(|note| note.contains("4 older rows are means of longer than 300 s: left out"))
    );
}

#[test]
fn cacti_says_its_unit_in_the_label() {
    let text = |label: &str| {
        let rows: String =
            (0..30).map(|i| format!("\"2024-05-01 00:{i:02}:00\",\"{}.5\",\"80\"\n", 800 + i % 7)).collect();
        format!(
            "\"Title:\",\"router - Traffic\"\n\"Vertical Label:\",\"{label}\"\n\"Start Date:\",\"2024-05-01 00:00:00\"\n\
             \"Step:\",\"60\"\n\n\"Date\",\"Inbound\",\"Outbound\"\n{rows}"
        )
    };
    for (label, bytes) in [("bits per second", 6004), ("bytes per second", 48030), ("Mbps", 6_003_750_000)] {
        let outcome = good(&Request::default(), &text(label));
        assert_eq!((outcome.series.len(), outcome.series[0].bytes[0]), (2, bytes), "{label}");
        assert!(outcome.files[0].assumed.as_deref().is_some_and(|assumed| assumed.contains(label)), "{label}");
    }
    assert!(bad(&Request::default(), &text("percent")).contains("is no volume"));
    assert!(bad(&Request::default(), &text("things")).contains("--unit bps or --unit B/s"));
    assert_eq!(good(&unit("bps"), &text("things")).series[0].bytes[0], 6004);
}
