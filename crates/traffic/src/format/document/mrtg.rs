//! The log of MRTG: the counters in the first line, then mean rates in octets per second, the newest first.
//!
//! A row is `end of the interval, mean in, mean out, largest in, largest out`. The first days have rows of five minutes;
//! older ones are means of half an hour, two hours and a day (mrtg-logfile(1)). Those are no five-minute samples: a
//! percentile of both would be one of nothing, so they are left out, and that is told.

use super::super::unit::BYTES_PER_SECOND;
use super::super::{Format, Start};
use super::{Kind, Table, place, read};
use crate::collect::Collector;
use crate::error::ReadError;
use crate::input::Input;
use crate::stamp;
use std::io::Write as _;

pub(in crate::format) struct Mrtg;

/// Rows of a preview.
const ROWS: usize = 8;

fn numbers(line: &[u8]) -> Option<Vec<i64>> {
    let text = std::str::from_utf8(line).ok()?;
    text.split(' ').filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

impl Format for Mrtg {
    fn name(&self) -> &'static str {
        "mrtg"
    }

    /// Three numbers, and then five in each line, with times that go back.
    fn recognises(&self, start: &Start<'_>) -> bool {
        let mut lines = start.bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let dated = |numbers: &[i64]| numbers.first().is_some_and(|at| *at > 100_000_000);
        let head = lines.next().and_then(numbers).filter(|numbers| numbers.len() == 3 && dated(numbers));
        let rows: Vec<Option<Vec<i64>>> = lines.filter(|line| !line.is_empty()).take(ROWS).map(numbers).collect();
        let rows: Option<Vec<Vec<i64>>> = rows.into_iter().collect();
        head.is_some()
            && rows.is_some_and(|rows| {
                rows.len() >= 2
                    && rows.iter().all(|row| row.len() == 5)
                    && rows.windows(2).all(|pair| pair[1][0] <= pair[0][0])
            })
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Collector<'_>) -> Result<(), ReadError> {
        read(input, out, |text, input, _| table(text, input))
    }
}

fn table(text: &[u8], input: &Input<'_>) -> Result<Table, ReadError> {
    let mut rows: Vec<(i64, i64, i64)> = Vec::new();
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    for (number, line) in lines.skip(1).filter(|(_, line)| !line.is_empty()) {
        let row = numbers(line).filter(|row| row.len() == 5);
        let Some([at, inbound, outbound, _, _]) = row.as_deref() else {
            let message = format!("line {}: no row of an MRTG log: expected five numbers", number + 1);
            return Err(ReadError::data(place(input, 0), message));
        };
        rows.push((*at, *inbound, *outbound));
    }
    // From the oldest on, with the begin of each: the end of the row before.
    rows.reverse();
    rows.retain(|(at, ..)| *at > 0);
    let mut steps: Vec<i64> = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|step| *step > 0).collect();
    // The newest rows are the finest; the very newest is that of the last poll, whenever it was.
    let newest = steps.split_off(steps.len().saturating_sub(ROWS));
    let mut sorted = newest.clone();
    sorted.sort_unstable();
    let Some(step) = sorted.get(sorted.len() / 2).copied() else {
        return Err(ReadError::data(place(input, 0), "an MRTG log without rows"));
    };
    let mut text = b"time,in,out\n".to_vec();
    let (mut coarse, mut oldest) = (0_u64, None);
    for pair in rows.windows(2) {
        let (from, (to, inbound, outbound)) = (pair[0].0, pair[1]);
        // Rows of five minutes end at whole ones; the last poll is of a part of one, and is there again as a whole.
        if to - from == step && to % step == 0 {
            // Memory takes any write.
            let _ = writeln!(text, "{from},{inbound},{outbound}");
            oldest = oldest.or(Some(from));
        } else {
            coarse += u64::from(to - from > step);
        }
    }
    let mut notes = Vec::new();
    if coarse > 0 {
        let (every, since) = (stamp::duration((step * stamp::SECOND).unsigned_abs()), oldest.unwrap_or_default());
        notes.push(format!(
            "{coarse} older rows are means of longer than {every}: left out, read from {} on",
            stamp::show(since.saturating_mul(stamp::SECOND))
        ));
    }
    Ok(Table { kind: Kind::Volumes(Some((BYTES_PER_SECOND, "B/s, as MRTG logs them".to_owned()))), text, notes })
}
