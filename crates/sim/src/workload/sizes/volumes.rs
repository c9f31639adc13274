//! Objects whose bytes become available along a volume series: background traffic as it was measured, or as a model of it
//! draws it.
//!
//! The comment `# bin: 100ms` in the file says how wide its bins are.

use super::{SizeLaw, Sizes};
use crate::random::Stream;
use crate::workload::error::Fault;
use crate::workload::supply::{Series, Spread, Supply};
use anabranch_transport::{Bytes, Duration};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The volumes of a series, each session all of them. Such a workload is background traffic unless it says otherwise. For
/// unicast sessions of transports whose senders can wait for their application: all but SCDP and Polyraptor. With `udp`
/// the packets leave as the series says, whatever becomes of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Volumes {
    /// A CSV file with a comment `# bin: 100ms` (any time), a line of names, and a column `bytes`: bytes on the wire in each
    /// bin, headers included; relative to the scenario file. A column `start_ns`, if there is one, must rise by a bin from
    /// row to row. `anabranch traffic generate` writes such files.
    pub file: String,
    /// Factor of all volumes, above 0.
    #[serde(default = "one")]
    pub scale: f64,
    /// The bin with which sessions begin.
    #[serde(default)]
    pub start: Start,
    /// Where in its bin a chunk is written.
    #[serde(default)]
    pub spread: Spread,
    /// Bytes on the wire that the application writes at once: above 0, at most 1 GB. Default 1500 B, a full packet.
    #[serde(default = "packet")]
    pub chunk: Bytes,
}

/// The bin with which a session begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// The first.
    #[default]
    Begin,
    /// Each session has a random one of its own; after the last bin it goes on with the first.
    Random,
}

/// A packet, the usual chunk.
const PACKET: Bytes = Bytes(1500);
/// Largest chunk; keeps sums far from overflow.
const CHUNK_MAX: Bytes = Bytes(1_000_000_000);
/// Volumes of a bin, and of all bins together, are limited to 1 EB: far above any link, and below what 64 bits hold.
const BYTES_MAX: f64 = 1e18;

/// All bins together last at most so long: times are counted in 64 bits of picoseconds.
const SPAN_MAX: Duration = Duration::from_secs(10_000_000);

fn one() -> f64 {
    1.0
}

fn packet() -> Bytes {
    PACKET
}

/// A file of volumes.
#[derive(Clone, Debug, PartialEq)]
struct Table {
    bin: Duration,
    bytes: Vec<f64>,
}

impl Table {
    /// Reads a table; `file` is its name for error messages.
    fn parse(text: &str, file: &Path) -> Result<Self, Fault> {
        let fault = |line: usize, message: String| Fault::in_file(file, line, message);
        let (mut bin, mut columns, mut bytes, mut starts) = (None, None, Vec::new(), Vec::new());
        let text = text.strip_prefix('\u{feff}').unwrap_or(text); // as spreadsheets write it
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            if let Some(comment) = line.strip_prefix('#') {
                if let Some(width) = comment.trim().strip_prefix("bin:") {
                    let width: Duration = width.trim().parse().map_err(|e| fault(number, format!("bin: {e}")))?;
                    if width == Duration::ZERO {
                        return Err(fault(number, "a bin must be wider than 0".to_owned()));
                    }
                    if bin.replace(width).is_some() {
                        return Err(fault(number, "the width of a bin is told twice".to_owned()));
                    }
                }
                continue;
            }
            if line.is_empty() {
                continue;
            }
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let Some((place, start)) = columns else {
                let named = |wanted| fields.iter().position(|&name| name == wanted);
                let Some(place) = named("bytes") else {
                    return Err(fault(number, format!("expected names of columns, one of them `bytes`, not {line:?}")));
                };
                columns = Some((place, named("start_ns")));
                continue;
            };
            if let Some(start) = start {
                let Some(Ok(start)) = fields.get(start).map(|start| start.parse()) else {
                    let message = format!("expected whole nanoseconds in the column `start_ns`, found {line:?}");
                    return Err(fault(number, message));
                };
                starts.push((number, start));
            }
            match fields.get(place).map(|volume| volume.parse::<f64>()) {
                Some(Ok(volume)) if (0.0..=BYTES_MAX).contains(&volume) => bytes.push(volume),
                Some(Ok(volume)) => {
                    return Err(fault(number, format!("bytes must be from 0 to {BYTES_MAX:e}, not {volume}")));
                }
                _ => {
                    return Err(fault(number, format!("expected a number in the column `bytes`, found {line:?}"))
                        .hint("a volume that is not known cannot be sent: fill it in, or leave the bin out"));
                }
            }
        }
        let bin = bin.ok_or_else(|| {
            fault(0, "the width of a bin is missing".to_owned()).hint("add a line like `# bin: 100ms` at the top")
        })?;
        if bytes.is_empty() {
            return Err(fault(0, "no volumes: expected a line of names, one of them `bytes`, and rows".to_owned()));
        }
        if let Some((number, message)) = out_of_step(&starts, bin) {
            return Err(fault(number, message).hint("every row is one bin; write those without traffic, too, with 0"));
        }
        Ok(Self { bin, bytes })
    }
}

/// The line of the first row that does not begin where the one before it ends, and what is wrong.
fn out_of_step(starts: &[(usize, i64)], bin: Duration) -> Option<(usize, String)> {
    let step = |pair: &[(usize, i64)]| i128::from(pair[1].1) - i128::from(pair[0].1);
    let wrong = starts.windows(2).find(|pair| step(pair) * 1000 != i128::from(bin.ps()))?;
    Some((wrong[1].0, format!("start_ns is {} after the row before, but the bins are {bin} wide", step(wrong))))
}

impl SizeLaw for Volumes {
    fn check(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.file.is_empty() {
            faults.push(Fault::new("file", "the file name is empty"));
        }
        if !(self.scale > 0.0 && self.scale.is_finite()) {
            faults.push(Fault::new("scale", format!("must be above 0, not {}", self.scale)));
        }
        if !(1..=CHUNK_MAX.0).contains(&self.chunk.0) {
            let message = format!("must be from 1B to {CHUNK_MAX}, not {}", self.chunk);
            faults.push(Fault::new("chunk", message).hint("chunk = \"1500B\""));
        }
        faults
    }

    fn open(&self, base: &Path) -> Result<Box<dyn Sizes>, Fault> {
        let file = Path::new(&self.file);
        let text = crate::workload::read_file(base, &self.file).map_err(|f| f.under("file"))?;
        let table = Table::parse(&text, file).map_err(|f| f.under("file"))?;
        let offered: f64 = table.bytes.iter().sum();
        let total = offered * self.scale;
        if total > BYTES_MAX {
            return Err(Fault::new("scale", format!("{total:e} bytes in all are more than {BYTES_MAX:e}")));
        }
        if offered < 1.0 {
            return Err(Fault::in_file(file, 0, "all volumes are 0: there is nothing to send").under("file"));
        }
        if total.round() < 1.0 {
            return Err(Fault::new("scale", format!("of {offered} bytes in all less than one is left")));
        }
        if u128::from(table.bin.ps()) * table.bytes.len() as u128 > u128::from(SPAN_MAX.ps()) {
            return Err(Fault::in_file(file, 0, format!("the bins last longer than {SPAN_MAX}")).under("file"));
        }
        // Sums are rounded, not volumes: small ones add up to what they are.
        let (mut sum, mut before) = (0.0, 0);
        let mut whole = |volume: &f64| {
            sum += volume * self.scale;
            let up_to = sum.round() as u64;
            up_to - std::mem::replace(&mut before, up_to)
        };
        let bytes = table.bytes.iter().map(&mut whole).collect();
        let series = Series { bin: table.bin, bytes, chunk: self.chunk.0, spread: self.spread };
        Ok(Box::new(Opened { series: Arc::new(series), start: self.start }))
    }

    fn data_file(&self) -> Option<&str> {
        Some(&self.file)
    }
}

/// The law with its file read.
struct Opened {
    series: Arc<Series>,
    start: Start,
}

impl Sizes for Opened {
    /// On the wire: the payload is less, by how much depends on the transport.
    fn mean(&self) -> Option<f64> {
        Some(self.series.total() as f64)
    }

    fn draw(&self, _: &mut Stream) -> Option<Bytes> {
        Some(Bytes(self.series.total()))
    }

    fn supply(&self, rng: &mut Stream) -> Option<Supply> {
        let first = match self.start {
            Start::Begin => 0,
            Start::Random => rng.random_range(0..self.series.bytes.len()) as u32,
        };
        Some(Supply { series: Arc::clone(&self.series), first, seed: rng.random() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    fn parse(text: &str) -> Result<Table, String> {
        Table::parse(text, Path::new("series.csv")).map_err(|f| f.to_string())
    }

    fn law(text: &str, scale: f64, start: Start) -> Result<Box<dyn Sizes>, String> {
        let folder = std::env::temp_dir().join(format!("anabranch-volumes-{}-{:p}", std::process::id(), text));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("series.csv"), text).unwrap();
        let law = Volumes { file: "series.csv".to_owned(), scale, start, spread: Spread::Even, chunk: PACKET };
        let opened = law.open(&folder).map_err(|f| f.to_string());
        std::fs::remove_dir_all(&folder).unwrap();
        opened
    }

    #[test]
    fn the_column_is_found_by_its_name() {
        let text =
            "# drawn, seed 1\n# bin: 100ms\nstart_ns, bytes ,packets\n\n0,100,1\n100000000,0,0\n200000000,25e1,2\n";
        assert_eq!(parse(text), Ok(Table { bin: Duration::from_ms(100), bytes: vec![100.0, 0.0, 250.0] }));
        assert_eq!(parse("bytes\n# bin: 5 us\n7").map(|t| t.bin), Ok(Duration::from_us(5)));
    }

    #[test]
    fn scaling_loses_nothing() {
        let many = format!("# bin: 1ms\nbytes\n{}", "125\n".repeat(1000));
        let total = |scale: f64| law(&many, scale, Start::Begin).unwrap().mean().unwrap();
        assert_eq!((total(0.01), total(1.0), total(0.33)), (1250.0, 125_000.0, 41_250.0));
        assert!(law(&many, 1e-9, Start::Begin).is_err_and(|e| e.contains("less than one is left")));
        assert!(law("# bin: 1s\nbytes\n0\n", 1.0, Start::Begin).is_err_and(|e| e.contains("all volumes are 0")));
        let long = format!("# bin: 10000s\nbytes\n{}", "125\n".repeat(1001));
        assert!(law(&long, 1.0, Start::Begin).is_err_and(|e| e.contains("the bins last longer than")));
        assert_eq!(parse("\u{feff}# bin: 1s\nbytes\n7").map(|t| t.bytes), Ok(vec![7.0]));
        assert!(parse("# bin: 1s\nbytes\n7\n# bin: 2s").is_err_and(|e| e.contains("told twice")));
    }

    #[test]
    fn errors_name_file_and_line() {
        let error = |text: &str| parse(text).unwrap_err().lines().next().unwrap_or_default().to_owned();
        assert_eq!(error("bytes\n1\n"), "series.csv: the width of a bin is missing");
        let none = "series.csv: no volumes: expected a line of names, one of them `bytes`, and rows";
        assert_eq!(error("# bin: 1s\nbytes\n"), none);
        assert_eq!(error("# bin: 1s\n"), none);
        assert_eq!(
            error("# bin: 1s\ntime,volume\n1,2\n"),
            "series.csv:2: expected names of columns, one of them `bytes`, not \"time,volume\""
        );
        assert_eq!(error("# bin: 0s\nbytes\n1\n"), "series.csv:1: a bin must be wider than 0");
        assert!(error("# bin: soon\n").starts_with("series.csv:1: bin: "));
        assert_eq!(error("# bin: 1s\nbytes\n-1\n"), "series.csv:3: bytes must be from 0 to 1e18, not -1");
        assert_eq!(error("# bin: 1s\nbytes\nNaN\n"), "series.csv:3: bytes must be from 0 to 1e18, not NaN");
        for missing in ["t,bytes\n0,\n", "t,bytes\n0\n", "t,bytes\n0,x\n"] {
            assert!(
                error(&format!("# bin: 1s\n{missing}")).starts_with("series.csv:3: expected a number"),
                "{missing}"
            );
        }
    }

    #[test]
    fn rows_follow_one_another() {
        let error = |starts: [&str; 3]| {
            let rows = starts.map(|start| format!("7,{start}")).join("\n");
            parse(&format!("# bin: 5us\nbytes,start_ns\n{rows}")).unwrap_err().lines().next().unwrap().to_owned()
        };
        assert!(parse("# bin: 5us\nbytes,start_ns\n7,-5000\n7,0\n7,5000\n").is_ok());
        let message = "start_ns is 10000 after the row before, but the bins are 5us wide";
        assert_eq!(error(["0", "5000", "15000"]), format!("series.csv:5: {message}"));
        assert!(error(["5000", "0", "5000"]).contains("start_ns is -5000 after"));
        assert!(error(["0", "0.5", "1"]).starts_with("series.csv:4: expected whole nanoseconds"));
    }

    #[test]
    fn every_session_has_the_whole_series() {
        let text = "# bin: 1s\nbytes\n1000\n0\n501\n";
        let sizes = law(text, 0.5, Start::Begin).unwrap();
        let mut rng = stream(1, "sizes");
        assert_eq!((sizes.mean(), sizes.draw(&mut rng)), (Some(751.0), Some(Bytes(751))));
        let supply = sizes.supply(&mut rng).unwrap();
        assert_eq!((supply.first, supply.series.bytes.as_slice()), (0, [500, 0, 251].as_slice()));
    }

    #[test]
    fn random_starts_are_anywhere() {
        let sizes = law("# bin: 1s\nbytes\n1\n2\n3\n", 1.0, Start::Random).unwrap();
        let mut rng = stream(1, "sizes");
        let mut starts: Vec<u32> = (0..100).map(|_| sizes.supply(&mut rng).unwrap().first).collect();
        starts.sort_unstable();
        starts.dedup();
        assert_eq!(starts, [0, 1, 2]);
    }

    #[test]
    fn a_series_without_traffic_and_impossible_parameters_are_refused() {
        let error = |text, scale| law(text, scale, Start::Begin).err().unwrap_or_default();
        assert!(error("# bin: 1s\nbytes\n0\n0\n", 1.0).ends_with("all volumes are 0: there is nothing to send"));
        assert!(error("# bin: 1s\nbytes\n1\n", 0.1).contains("less than one is left"));
        assert!(error("# bin: 1s\nbytes\n1e17\n", 100.0).starts_with("scale: "));
        let bad =
            Volumes { file: String::new(), scale: -1.0, start: Start::Begin, spread: Spread::Even, chunk: Bytes(0) };
        assert_eq!(bad.check().iter().map(|f| f.key.as_str()).collect::<Vec<_>>(), ["file", "scale", "chunk"]);
        let gone = Volumes { file: "gone.csv".to_owned(), chunk: PACKET, scale: 1.0, ..bad };
        assert_eq!(gone.open(Path::new("")).err().map(|f| f.key), Some("file".to_owned()));
    }
}
