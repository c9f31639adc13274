//! Decode latencies by name: the file formats of `transport.scdp.decode_table`, and what a run used.

use super::Scenario;
use crate::host::decode_table::{DecodeLatency, DecodeTable};
use crate::host::decoder::DecodeModel;
use crate::workload::Fault;
use anabranch_transport::Duration;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Tables that come with the program.
const BUILT_IN: [(&str, &str); 1] = [("measured", include_str!("../../data/decoding/measured.json"))];

/// The text of a table that comes with the program.
pub(super) fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}

/// What `anabranch codec bench --latency-table` writes, as far as it counts here.
#[derive(Deserialize)]
struct Measured {
    #[serde(default)]
    machine: String,
    #[serde(default)]
    level: String,
    #[serde(default)]
    date: String,
    entries: Vec<Entry>,
}

/// A block of `source_symbols` of which `lost` are replaced by repair symbols.
#[derive(Deserialize)]
struct Entry {
    symbol_size: u64,
    source_symbols: u32,
    lost: u32,
    decode_ns: Distribution,
}

#[derive(Deserialize)]
struct Distribution {
    median: u64,
}

/// Reads the table that `table` names, if it names one, for blocks of up to `block_symbols` symbols of `symbol_bytes`. File
/// names start at `base`.
pub(super) fn read(table: &mut DecodeTable, base: &Path, symbol_bytes: u64, block_symbols: u32) -> Result<(), Fault> {
    let Some(name) = &table.name else { return Ok(()) };
    let text = match built_in(name) {
        Some(text) => text.to_owned(),
        None => crate::workload::read_file(base, name).map_err(|fault| {
            let names: Vec<String> = BUILT_IN.iter().map(|(own, _)| format!("{own:?}")).collect();
            fault.hint(format!(
                "a file that `anabranch codec bench --latency-table FILE` wrote, or {}",
                names.join(" or ")
            ))
        })?,
    };
    let (rows, origin) = parse(&text, Path::new(name), symbol_bytes)?;
    covers(&rows, block_symbols).map_err(|message| {
        let hint = format!("measure them: `anabranch codec bench --k 1,10,50,{block_symbols} --latency-table FILE`");
        Fault::in_file(Path::new(name), 0, message).hint(hint)
    })?;
    (table.rows, table.origin) = (rows, origin);
    Ok(())
}

/// The slowest loss of each K, and where it was measured.
///
/// Decoding takes a part that does not depend on the symbols' size and one in proportion to it. So the latencies of the
/// smallest size that is at least the scenario's, or of the largest one in proportion, are never too short.
fn parse(text: &str, file: &Path, symbol_bytes: u64) -> Result<(Vec<DecodeLatency>, String), Fault> {
    let fault = |message: &str| Fault::in_file(file, 0, message);
    let table: Measured = serde_json::from_str(text).map_err(|e| {
        Fault::in_file(file, e.line(), format!("not a table of decode latencies: {e}"))
            .hint("`anabranch codec bench --latency-table FILE` writes one")
    })?;
    if table.entries.iter().any(|e| e.symbol_size == 0 || e.source_symbols == 0) {
        return Err(fault("symbol_size and source_symbols must be at least 1"));
    }
    // A block that lost nothing is not decoded.
    let decoded = || table.entries.iter().filter(|e| e.lost > 0);
    let sizes = || decoded().map(|e| e.symbol_size);
    let size = sizes().filter(|&size| size >= symbol_bytes).min().or(sizes().max());
    let size = size.ok_or_else(|| fault("the table has no entry with a lost symbol"))?;
    let mut slowest = BTreeMap::new();
    for entry in decoded().filter(|e| e.symbol_size == size) {
        let ns: &mut u64 = slowest.entry(entry.source_symbols).or_default();
        *ns = entry.decode_ns.median.max(*ns);
    }
    let latency = |ns: u64| {
        let ps = u128::from(ns) * 1000 * u128::from(symbol_bytes.max(size)) / u128::from(size);
        u64::try_from(ps).map(Duration).map_err(|_| fault("a latency is too long"))
    };
    let rows: Result<_, _> =
        slowest.into_iter().map(|(symbols, ns)| Ok(DecodeLatency { symbols, latency: latency(ns)? })).collect();
    let about = [table.machine, table.level, table.date].into_iter().filter(|part| !part.is_empty());
    Ok((rows?, about.collect::<Vec<_>>().join(", ")))
}

/// Says so if there are blocks smaller or larger than all that were measured: what is measured is not guessed.
fn covers(rows: &[DecodeLatency], block_symbols: u32) -> Result<(), String> {
    let [Some(least), Some(most)] = [rows.first(), rows.last()].map(|row| row.map(|r| r.symbols)) else {
        return Ok(());
    };
    if least > 1 || most < block_symbols {
        return Err(format!(
            "latencies of {least} to {most} source symbols, but blocks have 1 to {block_symbols} (transport.scdp.block_symbols)"
        ));
    }
    Ok(())
}

/// What decides the decode latency, for people.
pub(super) fn describe(model: &DecodeModel) -> String {
    let latency = describe_latency(model);
    if model.decode_cores > 1 { format!("{latency}, on {} cores", model.decode_cores) } else { latency }
}

fn describe_latency(model: &DecodeModel) -> String {
    let table = &model.decode_table;
    match &table.name {
        Some(name) if table.origin.is_empty() => format!("table {name:?}"),
        Some(name) => format!("table {name:?}, measured on {}", table.origin),
        None if table.is_given() => "the scenario's own table".to_owned(),
        None if !model.decode_polynomial.is_empty() => {
            let coefficients = &model.decode_polynomial;
            let free = coefficients.iter().all(|&c| c == 0.0);
            if free { "none".to_owned() } else { format!("polynomial of K with coefficients {coefficients:?} in us") }
        }
        None if model.decode_rate == DecodeModel::default().decode_rate => {
            format!("rate {}, the default (SCDP §V-C)", model.decode_rate)
        }
        None => format!("rate {}", model.decode_rate),
    }
}

impl Scenario {
    /// Where the decode latency of this scenario comes from, for people; `None` if nothing is decoded.
    pub fn decode_latency(&self) -> Option<String> {
        self.workload.iter().find_map(|workload| self.transport_of(workload).decoding(&self.transport))
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::Fnv;
    use super::super::{RunPlan, load};
    use super::*;
    use anabranch_transport::Bytes;

    const TABLE: &str = r#"{"machine": "M", "level": "avx2", "date": "2026-01-01", "load": "0.1", "entries": [
        {"symbol_size": 1000, "source_symbols": 10, "lost": 0, "decode_ns": {"median": 900}},
        {"symbol_size": 1000, "source_symbols": 10, "lost": 1, "decode_ns": {"median": 100, "p90": 5000}},
        {"symbol_size": 1000, "source_symbols": 10, "lost": 5, "decode_ns": {"median": 300}},
        {"symbol_size": 1000, "source_symbols": 10, "lost": 9, "decode_ns": {"median": 200}},
        {"symbol_size": 1000, "source_symbols": 1, "lost": 1, "decode_ns": {"median": 50}},
        {"symbol_size": 2000, "source_symbols": 1, "lost": 1, "decode_ns": {"median": 70}},
        {"symbol_size": 2000, "source_symbols": 5, "lost": 5, "decode_ns": {"median": 90}}]}"#;

    fn rows(symbol_bytes: u64) -> Vec<(u32, u64)> {
        let (rows, origin) = parse(TABLE, Path::new("t.json"), symbol_bytes).expect("a table");
        assert_eq!(origin, "M, avx2, 2026-01-01");
        rows.iter().map(|r| (r.symbols, r.latency.ps())).collect()
    }

    #[test]
    fn the_slowest_loss_counts_and_size_is_never_to_the_good() {
        assert_eq!(rows(1000), [(1, 50_000), (10, 300_000)]);
        assert_eq!(rows(1), rows(1000));
        assert_eq!(rows(1001), [(1, 70_000), (5, 90_000)]);
        assert_eq!(rows(4000), [(1, 140_000), (5, 180_000)]);
    }

    #[test]
    fn faults_name_the_file() {
        let error = |text: &str| parse(text, Path::new("t.json"), 1436).expect_err("a fault").to_string();
        assert!(error("{}").starts_with("t.json:1: not a table of decode latencies: missing field `entries`"));
        assert_eq!(error(r#"{"entries": []}"#), "t.json: the table has no entry with a lost symbol");
        assert!(error(&TABLE.replace("\"source_symbols\": 5", "\"source_symbols\": 0")).contains("at least 1"));
        assert!(error(&TABLE.replace("90}", "18446744073709551615}")).contains("too long"));
        let mut table = DecodeTable { name: Some("none.json".to_owned()), ..DecodeTable::default() };
        let fault = read(&mut table, Path::new("folder"), 1436, 100).expect_err("no such file");
        assert!(fault.to_string().contains("none.json") && fault.to_string().contains("\"measured\""), "{fault}");
    }

    #[test]
    fn what_comes_with_the_program_reads() {
        for (name, _) in BUILT_IN {
            let mut table = DecodeTable { name: Some(name.to_owned()), ..DecodeTable::default() };
            read(&mut table, Path::new(""), 1436, 10_000).expect("a table");
            assert!(table.rows.len() > 10 && !table.origin.is_empty(), "{table:?}");
            assert!(table.rows.iter().all(|r| r.latency > Duration::ZERO));
        }
    }

    const SCENARIO: &str = r#"
        [fabric]
        topology = "star"
        hosts = 4
        [transport]
        name = "scdp"
        scdp = { decode_table = "t.json", block_symbols = 5 }
        [[workload]]
        sizes = { law = "fixed", size = "1MB" }
        placement = { pattern = "random" }
        sessions = 10"#;

    /// A run with [`SCENARIO`] and [`TABLE`], changed, in a folder of their own.
    fn run(name: &str, table: &str, overrides: &[&str]) -> Result<RunPlan, String> {
        let dir = std::env::temp_dir().join(format!("anabranch-decoding-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        std::fs::write(dir.join("t.json"), table).expect("a file");
        std::fs::write(dir.join("s.toml"), SCENARIO).expect("a file");
        let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
        let plan = load(&dir.join("s.toml"), &overrides);
        std::fs::remove_dir_all(&dir).expect("the folder");
        plan.map(|mut plan| plan.runs.remove(0)).map_err(|e| e.to_string())
    }

    #[test]
    fn a_scenario_names_a_table_beside_it() {
        let run = |overrides: &[&str]| run("beside", TABLE, overrides).expect("a scenario").scenario;
        let scenario = run(&[]);
        assert_eq!(scenario.transport.scdp.decoding.latency(5, Bytes(1436)), Duration(90_000));
        assert_eq!(scenario.decode_latency().as_deref(), Some("table \"t.json\", measured on M, avx2, 2026-01-01"));
        let small = run(&["transport.scdp.packet=\"1064B\"", "transport.scdp.block_symbols=10"]);
        assert_eq!(small.transport.scdp.decoding.latency(10, Bytes(1000)), Duration(300_000));
        let measured = run(&["transport.scdp.decode_table=measured"]);
        assert!(measured.decode_latency().is_some_and(|text| text.starts_with("table \"measured\", measured on ")));
        let own = run(&["transport.scdp.decode_table=[{symbols = 5, latency = \"1us\"}]"]);
        assert_eq!(own.decode_latency().as_deref(), Some("the scenario's own table"));
        let rate = run(&["transport.scdp.decode_table=[]"]);
        assert_eq!(rate.decode_latency().as_deref(), Some("rate 1300Mbps, the default (SCDP §V-C)"));
        let other = run(&["transport.scdp.decode_table=[]", "transport.scdp.decode_rate=1Gbps"]);
        assert_eq!(other.decode_latency().as_deref(), Some("rate 1Gbps"));
        let cores = run(&["transport.scdp.decode_table=measured", "transport.scdp.decode_cores=4"]).decode_latency();
        assert!(cores.is_some_and(|text| text.ends_with(", on 4 cores")));
        let polynomial = |p: &str| run(&["transport.scdp.decode_table=[]", p]).decode_latency();
        assert_eq!(polynomial("transport.scdp.decode_polynomial=[0]").as_deref(), Some("none"));
        let text = polynomial("transport.scdp.decode_polynomial=[1, 0.5]");
        assert_eq!(text.as_deref(), Some("polynomial of K with coefficients [1.0, 0.5] in us"));
        assert_eq!(run(&["transport.name=ndp"]).decode_latency(), None);
        let ours = ["transport.name=ndp", "workload.0.transport=scdp"];
        assert!(run(&ours).decode_latency().is_some(), "one workload decodes");
    }

    #[test]
    fn the_hash_depends_on_every_byte_of_the_table() {
        let hash = |table: &str, overrides: &[&str]| run("hash", table, overrides).expect("a scenario").hash;
        let inline = ["transport.scdp.decode_table=[]"];
        let base = hash(TABLE, &[]);
        assert_eq!(base, hash(TABLE, &[]));
        assert_ne!(base, hash(&TABLE.replace("70}", "71}"), &[]));
        assert_ne!(base, hash(TABLE, &inline));
        assert_eq!(hash(TABLE, &inline), hash("", &inline), "a file that is not named does not count");
        assert_ne!(base, hash(TABLE, &["transport.scdp.decode_table=measured"]));
        // What is built in counts by its bytes too, for another version may have measured others.
        let run = run("bytes", TABLE, &["transport.scdp.decode_table=measured"]).expect("a scenario");
        assert_ne!(run.hash, run.scenario.hash(run.seed, &Fnv::new().hex()));
    }

    #[test]
    fn a_table_that_cannot_be_read_is_one_mistake() {
        let error = |overrides: &[&str]| run("faulty", TABLE, overrides).expect_err("a mistake");
        let missing = error(&["transport.scdp.decode_table=none.json"]);
        assert!(missing.contains("transport.scdp.decode_table: cannot read"), "{missing}");
        assert!(missing.contains("or \"measured\"") && missing.matches("error:").count() == 1, "{missing}");
        let short = error(&["transport.scdp.block_symbols=6"]);
        assert!(short.contains("t.json: latencies of 1 to 5 source symbols, but blocks have 1 to 6"), "{short}");
        assert!(short.contains("--k 1,10,50,6 "), "{short}");
        let both = error(&["transport.scdp.decode_polynomial=[1]"]);
        assert!(both.contains("give a table or a polynomial, not both"), "{both}");
        let kind = error(&["transport.scdp.decode_table=5"]);
        assert!(kind.contains("expected a string or a list, found the number 5"), "{kind}");
    }
}
