use super::*;
use crate::workload::context::tests::racks;
use proptest::prelude::*;

fn config(file: &str) -> TraceConfig {
    TraceConfig { file: file.to_owned(), format: None, start_unit: None }
}

fn parse(file: &str, text: &str) -> Result<Vec<Session>, String> {
    config(file).parse(text, &racks(4, 4), 3).map_err(|f| f.to_string())
}

#[test]
fn csv_gives_exact_times_in_either_unit_and_any_column_order() {
    let sessions = parse("a.csv", "# who\nstart_us,src,dst,size_bytes\n0,0,1,1000\n1.5, 2, 3, 7\n").unwrap();
    assert_eq!((sessions[0].start, sessions[0].size), (Time(0), Some(Bytes(1000))));
    assert_eq!(
        (sessions[1].start, &sessions[1].sources[..], &sessions[1].sinks[..]),
        (Time(1_500_000), &[2][..], &[3][..])
    );
    assert_eq!(sessions[1].group, 3);
    let sessions = parse("a.csv", "dst,src,size_bytes,start_ns\n1,0,9,0.001\n").unwrap();
    assert_eq!((sessions[0].start, sessions[0].sources[0]), (Time(1), 0));
}

#[test]
fn csv_errors_name_the_line() {
    let error = |rows: &str| parse("a.csv", &format!("start_us,src,dst,size_bytes\n{rows}")).unwrap_err();
    assert_eq!(error("0,0,1\n"), "a.csv:2: expected 4 fields, found 3");
    assert_eq!(error("0,0,16,5\n"), "a.csv:2: there is no host 16: hosts are numbered 0 to 15");
    assert_eq!(error("\n0,1,1,5\n"), "a.csv:3: host 1 cannot send to itself");
    assert_eq!(error("0,0,1,0\n"), "a.csv:2: size_bytes must be at least 1");
    assert_eq!(error("0,0,-1,5\n"), "a.csv:2: dst must be a whole number, not \"-1\"");
    assert_eq!(error("soon,0,1,5\n"), "a.csv:2: start must be a time in us, not \"soon\"");
    assert!(parse("a.csv", "").unwrap_err().starts_with("a.csv: no header; columns are"));
    assert!(
        parse("a.csv", "start,src,dst,size_bytes\n").unwrap_err().starts_with("a.csv:1: the header must name one of")
    );
    assert!(parse("a.csv", "start_us,src,dst,size_bytes,port\n").unwrap_err().contains("unknown column `port`"));
}

#[test]
fn connection_matrices_in_the_dialects_of_htsim() {
    let text = "Nodes 16\nConnections 3\n# comment\n0->13 start 0 size 2000000\n\
                1->0 id 1 start 5000000 size 7 prio 2\n2->0 start 0.000000 size 0\n\n";
    let sessions = parse("a.cm", text).unwrap();
    assert_eq!((sessions[0].sources[0], sessions[0].sinks[0], sessions[0].size), (0, 13, Some(Bytes(2_000_000))));
    assert_eq!(sessions[1].start, Time(5_000_000), "picoseconds unless told otherwise");
    assert_eq!((sessions[2].start, sessions[2].size), (Time(0), None), "size 0 runs for ever");
    let us = TraceConfig { start_unit: Some(StartUnit::Us), ..config("a.cm") };
    let early = us.parse("Nodes 2\nConnections 1\n0->1 start 2.500000 size 5\n", &racks(1, 2), 0).unwrap();
    assert_eq!(early[0].start, Time(2_500_000));
}

#[test]
fn connection_matrix_errors_name_the_line() {
    let error = |rows: &str| parse("a.cm", &format!("Nodes 16\nConnections 1\n{rows}")).unwrap_err();
    assert_eq!(error("0->13 size 5\n"), "a.cm:3: `start` is missing");
    assert_eq!(error("0->13 start 0 size\n"), "a.cm:3: nothing follows `size`");
    assert_eq!(
        error("0->13 start 0 sise 5\n"),
        "a.cm:3: unknown word \"sise\"; known are start, trigger, size, id, prio, send_done_trigger, recv_done_trigger"
    );
    assert_eq!(error("0->99 start 0 size 5\n"), "a.cm:3: `0->99` names a host beyond `Nodes 16`");
    assert_eq!(error("0-13 start 0 size 5\n"), "a.cm:3: expected `src->dst start T size S`, found \"0-13\"");
    assert!(error("0->1 start 0.5 size 5\n").contains("finer than the smallest unit"));
    assert!(error("0->1 id 1 trigger 4 size 5\n").starts_with("a.cm:3: a trace begins connections at times"));
    assert_eq!(error("0->1 start 0 size 5\n0->2 start 0 size 5\n"), "a.cm:4: `Connections 1`, but the file has 2");
    assert_eq!(parse("a.cm", "").unwrap_err(), "a.cm: the line `Nodes N` is missing");
    assert!(parse("a.cm", "Nodes 4\nConnections 0\nFailures 1\n").unwrap_err().contains("[[failure]]"));
    let bigger = parse("a.cm", "Nodes 99\nConnections 1\n0->98 start 0 size 5\n").unwrap_err();
    assert_eq!(bigger, "a.cm:3: there is no host 98: hosts are numbered 0 to 15");
}

#[test]
fn the_ending_tells_the_format() {
    assert_eq!(config("a.txt").check()[0].key, "file");
    assert_eq!(TraceConfig { format: Some(Format::Cm), ..config("a.txt") }.check(), []);
    assert_eq!(TraceConfig { start_unit: Some(StartUnit::Us), ..config("a.csv") }.check()[0].key, "start_unit");
}

proptest! {
    #[test]
    fn hostile_files_never_panic(text in "\\PC{0,200}", cm: bool) {
        let _ = parse(if cm { "a.cm" } else { "a.csv" }, &text);
    }

    #[test]
    fn almost_valid_matrices_never_panic(
        lines in prop::collection::vec("(Nodes|Connections|Triggers|trigger|Failures|[0-9]{1,3}->[0-9]{1,11})( (start|size|id|prio|trigger|[0-9.]{1,22})){0,5}", 0..8)
    ) {
        let _ = parse("a.cm", &lines.join("\n"));
    }

    #[test]
    fn almost_valid_csv_never_panics(rows in prop::collection::vec("[0-9.,e-]{0,40}", 0..8)) {
        let _ = parse("a.csv", &format!("start_us,src,dst,size_bytes\n{}", rows.join("\n")));
    }
}
