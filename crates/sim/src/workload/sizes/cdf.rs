//! Empirical size distributions, built in or from a file `size_bytes,cdf`.
//!
//! The comment `# interpolation: linear|step` in the file is part of the meaning. `linear`: draw u, interpolate the
//! size between the two rows around u. `step`: take the first row whose cdf is at least u.

use super::{SizeLaw, Sizes, whole_bytes};
use crate::random::Stream;
use crate::workload::error::Fault;
use anabranch_transport::Bytes;
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

mod built_in;

pub use built_in::BUILT_IN;
pub(crate) use built_in::markdown as built_in_table;

/// An empirical distribution: give either `name` or `file`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cdf {
    /// A distribution that is [built in](#distributions-that-are-built-in).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A CSV file with the columns `size_bytes,cdf` and a comment `# interpolation: linear` or `step`; relative to the
    /// scenario file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// How to read a size between two rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// Straight lines between the rows.
    Linear,
    /// Only the sizes of the rows occur.
    Step,
}

/// A table of sizes and the share of objects that are at most so large.
#[derive(Clone, Debug, PartialEq)]
pub struct CdfTable {
    interpolation: Interpolation,
    /// (size in bytes, cdf), both ascending; the last cdf is 1.
    rows: Vec<(f64, f64)>,
}

/// A last row this close to 1 is 1: tables are printed with few digits.
const END_TOLERANCE: f64 = 1e-6;
/// Sizes are limited to 1 PB, far above any object and far below where `f64` loses whole bytes.
const SIZE_MAX: f64 = 1e15;

impl CdfTable {
    /// Reads a table; `file` is its name for error messages.
    ///
    /// # Errors
    /// Empty, not two numbers a row, negative, descending, not ending at 1, a share of objects of less than one byte, or
    /// without a rule of interpolation.
    pub fn parse(text: &str, file: &Path) -> Result<Self, Fault> {
        let fault = |line: usize, message: String| Fault::in_file(file, line, message);
        let mut interpolation = None;
        let mut rows: Vec<(f64, f64)> = Vec::new();
        let mut last_line = 0;
        for (index, line) in text.lines().enumerate() {
            let (number, line) = (index + 1, line.trim());
            if let Some(comment) = line.strip_prefix('#') {
                if let Some(rule) = comment.trim().strip_prefix("interpolation:") {
                    interpolation = Some(match rule.split_whitespace().next() {
                        Some("linear") => Interpolation::Linear,
                        Some("step") => Interpolation::Step,
                        other => {
                            let found = other.unwrap_or("nothing");
                            return Err(fault(
                                number,
                                format!("interpolation must be `linear` or `step`, not {found:?}"),
                            ));
                        }
                    });
                }
                continue;
            }
            if line.is_empty() || (rows.is_empty() && line.replace(' ', "") == "size_bytes,cdf") {
                continue;
            }
            let mut fields = line.split(',').map(|f| f.trim().parse::<f64>());
            let (Some(Ok(size)), Some(Ok(cdf)), None) = (fields.next(), fields.next(), fields.next()) else {
                return Err(fault(number, format!("expected two numbers `size_bytes,cdf`, found {line:?}")));
            };
            if !(0.0..=SIZE_MAX).contains(&size) {
                return Err(fault(number, format!("size must be from 0 to {SIZE_MAX:e} bytes, not {size}")));
            }
            if !(0.0..=1.0 + END_TOLERANCE).contains(&cdf) {
                let error = fault(number, format!("cdf must be from 0 to 1, not {cdf}"));
                return Err(if cdf > 1.0 {
                    error.hint("if the column is in per cent, divide it by 100")
                } else {
                    error
                });
            }
            // Size 0 with a cdf of 0 is where a first segment begins; a share of objects without a byte is none.
            if size < 1.0 && cdf > 0.0 {
                return Err(fault(
                    number,
                    format!("a share of {cdf} of the objects has {size} bytes: at least 1 byte"),
                )
                .hint(
                    "leave these objects out and scale the others: (cdf - c) / (1 - c) for a share c of empty ones",
                ));
            }
            if let Some((size_before, cdf_before)) = rows.last() {
                if size < *size_before {
                    return Err(fault(number, format!("sizes must ascend: {size} comes after {size_before}")));
                }
                if cdf < *cdf_before {
                    return Err(fault(number, format!("the cdf must ascend: {cdf} comes after {cdf_before}")));
                }
            }
            rows.push((size, cdf.min(1.0)));
            last_line = number;
        }
        let Some(last) = rows.last_mut() else {
            return Err(fault(0, "no rows: expected lines `size_bytes,cdf`".to_owned()));
        };
        if last.1 < 1.0 - END_TOLERANCE {
            return Err(fault(last_line, format!("the cdf must end at 1, not {}", last.1)));
        }
        last.1 = 1.0;
        let interpolation = interpolation.ok_or_else(|| {
            fault(0, "the rule of interpolation is missing".to_owned())
                .hint("add a line `# interpolation: linear` or `# interpolation: step` at the top")
        })?;
        Ok(Self { interpolation, rows })
    }

    /// Reads a built-in table.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn built_in(name: &str) -> Result<Self, Fault> {
        let Some((_, text)) = BUILT_IN.iter().find(|b| b.0 == name) else {
            let near = BUILT_IN
                .iter()
                .map(|b| b.0)
                .max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)));
            let fault =
                Fault::new("name", format!("no built-in distribution {name:?}; there are {}", built_in::names()));
            return Err(match near {
                Some(near) if strsim::jaro_winkler(name, near) > 0.7 => fault.hint(format!("did you mean {near:?}?")),
                _ => fault.hint("for a file of your own use `file`"),
            });
        };
        Self::parse(text, Path::new(name))
    }

    /// The size below which a share `u` of the objects lies, `u` in [0, 1].
    pub fn quantile(&self, u: f64) -> f64 {
        // First row with cdf >= u: the last one has 1, so there is one.
        let above = self.rows.partition_point(|row| row.1 < u).min(self.rows.len() - 1);
        let (size, cdf) = self.rows[above];
        // A first row with a cdf above zero is an atom: that share of the objects has exactly its size.
        if above == 0 || self.interpolation == Interpolation::Step {
            return size;
        }
        let (size_below, cdf_below) = self.rows[above - 1];
        size_below + (size - size_below) * (u - cdf_below) / (cdf - cdf_below)
    }
}

impl Sizes for CdfTable {
    /// Linear: the mean of each segment is its midpoint. Step: the mean of the rows. The first row is an atom.
    fn mean(&self) -> Option<f64> {
        let (first_size, first_cdf) = self.rows[0];
        let segments = self.rows.windows(2).map(|pair| {
            let ((size_a, cdf_a), (size_b, cdf_b)) = (pair[0], pair[1]);
            let middle = match self.interpolation {
                Interpolation::Linear => f64::midpoint(size_a, size_b),
                Interpolation::Step => size_b,
            };
            (cdf_b - cdf_a) * middle
        });
        // A first segment may begin at 0, but no object has less than one byte, so neither has their mean.
        Some((first_size * first_cdf + segments.sum::<f64>()).max(1.0))
    }

    fn draw(&self, rng: &mut Stream) -> Option<Bytes> {
        Some(whole_bytes(self.quantile(rng.random::<f64>())))
    }
}

impl SizeLaw for Cdf {
    fn check(&self) -> Vec<Fault> {
        match (&self.name, &self.file) {
            (Some(name), None) => CdfTable::built_in(name).err().into_iter().collect(),
            (None, Some(file)) if file.is_empty() => vec![Fault::new("file", "the file name is empty")],
            (None, Some(_)) => Vec::new(),
            (None, None) => vec![
                Fault::new("", "a cdf needs `name` (built in) or `file`")
                    .hint(format!("built in: {}", built_in::names())),
            ],
            (Some(_), Some(_)) => vec![Fault::new("file", "give either `name` or `file`, not both")],
        }
    }

    fn open(&self, base: &Path) -> Result<Box<dyn Sizes>, Fault> {
        let table = match (&self.name, &self.file) {
            (Some(name), _) => CdfTable::built_in(name)?,
            (None, Some(file)) => {
                let text = crate::workload::read_file(base, file).map_err(|f| f.under("file"))?;
                CdfTable::parse(&text, Path::new(file)).map_err(|f| f.under("file"))?
            }
            (None, None) => return Err(Fault::new("", "a cdf needs `name` (built in) or `file`")),
        };
        Ok(Box::new(table))
    }

    fn data_file(&self) -> Option<&str> {
        self.file.as_deref()
    }
}

#[cfg(test)]
mod tests;
