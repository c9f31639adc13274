//! Traffic matrices from text: `source, destination, amount` on each line.

use super::TrafficMatrix;
use crate::error::{RoutingError, RoutingResult, nearest};
use anabranch_sim::fabric::graph::Graph;
use std::collections::BTreeMap;

impl TrafficMatrix {
    /// Reads lines of `source,destination,amount`: host names or numbers, and a decimal or a fraction (`16/3`). A first line
    /// `source,destination,amount` and what follows `#` are skipped; pairs that occur again are added up.
    ///
    /// # Errors
    ///
    /// File, line, what it says and what was expected.
    pub fn from_csv(text: &str, file: &str, graph: &Graph) -> RoutingResult<Self> {
        let names: BTreeMap<&str, u32> = (0..graph.hosts).map(|h| (graph.nodes[h as usize].name.as_str(), h)).collect();
        let mut tm = Self::empty(graph.hosts);
        for (number, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default().trim().trim_start_matches('\u{feff}');
            if content.is_empty() || (number == 0 && is_header(content)) {
                continue;
            }
            let at = |e: RoutingError| RoutingError { message: format!("{file}:{}: {}", number + 1, e.message), ..e };
            let cells: Vec<&str> = content.split(',').map(|c| c.trim().trim_matches('"')).collect();
            let [source, destination, amount] = cells.as_slice() else {
                return Err(at(RoutingError::new(format!(
                    "{} cells: expected source,destination,amount",
                    cells.len()
                ))
                .hint("one pair of hosts a line: h0,h5,16/3")));
            };
            let (s, d) = (host(source, &names).map_err(at)?, host(destination, &names).map_err(at)?);
            if s == d {
                return Err(at(RoutingError::new(format!("{source} sends to itself: expected two different hosts"))));
            }
            let amount = amount.parse().map_err(|e: String| at(RoutingError::new(e)))?;
            tm.add(s, d, amount).map_err(at)?;
        }
        if tm.is_empty() {
            return Err(RoutingError::new(format!("{file}: no traffic: expected lines of source,destination,amount")));
        }
        Ok(tm)
    }
}

fn is_header(line: &str) -> bool {
    let cells: Vec<String> = line.split(',').map(|c| c.trim().trim_matches('"').to_lowercase()).collect();
    matches!(cells.as_slice(), [s, d, a] if (s.starts_with('s') || s == "from") && (d.starts_with('d') || d == "to") && a.parse::<f64>().is_err() && !a.contains('/'))
}

fn host(text: &str, names: &BTreeMap<&str, u32>) -> RoutingResult<u32> {
    if let Some(&host) = names.get(text) {
        return Ok(host);
    }
    let count = names.len();
    if let Ok(number) = text.parse::<u32>() {
        return if (number as usize) < count {
            Ok(number)
        } else {
            Err(RoutingError::new(format!("host {number}: expected 0 to {}, or a name", count - 1)))
        };
    }
    let error = RoutingError::new(format!(
        "{text:?} is no host of this fabric: expected a name, or a number from 0 to {}",
        count - 1
    ));
    Err(match nearest(text, names.keys().copied()) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Exact;

    #[test]
    fn names_numbers_fractions_and_comments() {
        let graph = Graph::with_hosts(4, |_| None);
        let text = "source,destination,amount\nh0,h1,16/3 # a third\n\n2,h3,0.5\n2,3,0.5\n";
        let tm = TrafficMatrix::from_csv(text, "tm.csv", &graph).unwrap();
        assert_eq!(tm.iter().collect::<Vec<_>>(), [(0, 1, Exact::new(16, 3)), (2, 3, Exact::ONE)]);
    }

    #[test]
    fn faults_name_file_line_and_what_was_expected() {
        let graph = Graph::with_hosts(4, |_| None);
        let error = |text: &str| TrafficMatrix::from_csv(text, "tm.csv", &graph).unwrap_err().to_string();
        assert_eq!(
            error("h0,h1"),
            "tm.csv:1: 2 cells: expected source,destination,amount\nhint: one pair of hosts a line: h0,h5,16/3"
        );
        assert_eq!(
            error("h0,h1,1\nh0,H2,1"),
            "tm.csv:2: \"H2\" is no host of this fabric: expected a name, or a number from 0 to 3\nhint: did you mean h2?"
        );
        assert_eq!(error("h0,9,1"), "tm.csv:1: host 9: expected 0 to 3, or a name");
        assert_eq!(error("h0,h0,1"), "tm.csv:1: h0 sends to itself: expected two different hosts");
        assert!(error("h0,h1,-1").starts_with("tm.csv:1: \"-1\" is no amount"));
        assert_eq!(error("# nothing\n"), "tm.csv: no traffic: expected lines of source,destination,amount");
    }
}
