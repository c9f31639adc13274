//! htsim connection matrices: `Nodes N`, `Connections M`, then lines `src->dst start T size S`.
//!
//! As htsim's own reader (`sim/datacenter/connection_matrix.cpp`) the words after the pair may come in any order, and
//! `size 0` means without end. `id`, `prio`, `send_done_trigger` and `recv_done_trigger` are read and have no effect
//! here. Connections that wait for a trigger, and failures, are refused: dropping them would change the experiment.

use super::{Request, StartUnit, parse_time};
use crate::workload::error::Fault;
use anabranch_transport::Bytes;
use std::path::Path;

/// What the header promises.
#[derive(Default)]
struct Header {
    nodes: Option<u32>,
    connections: Option<u64>,
}

/// Reads all connections; `file` is its name for error messages.
pub(super) fn parse(text: &str, file: &Path, unit: StartUnit) -> Result<Vec<Request>, Fault> {
    let mut header = Header::default();
    let mut requests = Vec::new();
    let mut last_line = 0;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first().filter(|word| !word.starts_with('#')) else { continue };
        last_line = number;
        let fault = |message: String| Fault::in_file(file, number, message);
        let count = || match words.get(1).map(|word| word.parse::<u64>()) {
            Some(Ok(n)) => Ok(n),
            _ => Err(fault(format!("expected a whole number after `{first}`"))),
        };
        match *first {
            "Nodes" => {
                let nodes = u32::try_from(count()?).map_err(|_| fault("too many nodes".to_owned()))?;
                header.nodes = Some(nodes);
            }
            "Connections" => header.connections = Some(count()?),
            "Triggers" => _ = count()?,
            "Failures" => {
                if count()? > 0 {
                    return Err(fault("failures in a connection matrix are not supported".to_owned())
                        .hint("write them as `[[failure]]` in the scenario"));
                }
            }
            // A declaration; a connection that waits for it is refused below.
            "trigger" => {}
            pair if pair.contains("->") => {
                let mut request = connection(&words, unit).map_err(fault)?;
                request.line = number;
                if let Some(nodes) = header.nodes
                    && (request.source >= nodes || request.sink >= nodes)
                {
                    return Err(fault(format!("`{pair}` names a host beyond `Nodes {nodes}`")));
                }
                requests.push(request);
            }
            other => return Err(fault(format!("expected `src->dst start T size S`, found {other:?}"))),
        }
    }
    if header.nodes.is_none() {
        return Err(Fault::in_file(file, 0, "the line `Nodes N` is missing"));
    }
    match header.connections {
        Some(promised) if promised == requests.len() as u64 => Ok(requests),
        Some(promised) => {
            let found = requests.len();
            Err(Fault::in_file(file, last_line, format!("`Connections {promised}`, but the file has {found}")))
        }
        None => Err(Fault::in_file(file, 0, "the line `Connections M` is missing")),
    }
}

fn connection(words: &[&str], unit: StartUnit) -> Result<Request, String> {
    let host = |text: &str| text.parse::<u32>().map_err(|_| format!("expected a host number, found {text:?}"));
    let (source, sink) = words[0].split_once("->").ok_or("expected `src->dst`")?;
    let (source, sink) = (host(source)?, host(sink)?);
    let (mut start, mut size) = (None, None);
    let mut rest = words[1..].iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().copied().ok_or_else(|| format!("nothing follows `{word}`"));
        match *word {
            "start" => {
                let text = value()?;
                // htsim itself writes `0.000000`: picoseconds have no fraction, so zeros after the point are dropped.
                let whole = text.trim_end_matches('0').strip_suffix('.').filter(|w| !w.is_empty());
                let ps = if text.contains('.') { whole.unwrap_or(text) } else { text };
                start = Some(match unit {
                    StartUnit::Ps => parse_time(ps, "ps")?,
                    StartUnit::Us => parse_time(text, "us")?,
                });
            }
            "size" => {
                let text = value()?;
                let bytes: u64 =
                    text.parse().map_err(|_| format!("size must be a whole number of bytes, not {text:?}"))?;
                size = Some((bytes > 0).then_some(Bytes(bytes)));
            }
            "id" | "prio" | "send_done_trigger" | "recv_done_trigger" => {
                let text = value()?;
                text.parse::<u64>().map_err(|_| format!("{word} must be a whole number, not {text:?}"))?;
            }
            "trigger" | "addon" => {
                return Err("connections that wait for a trigger are not supported: give each a start time".to_owned());
            }
            other => return Err(format!("unknown word {other:?}; known are start, size, id, prio")),
        }
    }
    let start = start.ok_or("`start` is missing")?;
    // A connection without `size` runs for ever in htsim.
    Ok(Request { line: 0, start, source, sink, size: size.flatten() })
}
