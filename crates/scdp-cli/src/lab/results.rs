//! Outcomes of runs as events, as a table and as a file.

use anabranch_lab::{Plan, RunResult};
use serde_json::{Map, Value, json};

use crate::events::Event;
use crate::figures;
use crate::table;

/// With more hosts than this, the table has a single column for all of them.
const MOST_COLUMNS: usize = 6;

pub(super) fn event(outcome: &RunResult) -> Event {
    let RunResult { run, values, seed, ok, seconds, steps, sent_bytes, switch, failure, .. } = outcome.clone();
    Event::Run { run, values, seed, ok, seconds, steps, sent_bytes, switch, failure }
}

/// One event for each combination of the sweep.
pub(super) fn combinations(outcomes: &[RunResult]) -> Vec<Event> {
    let groups = outcomes.chunk_by(|one, other| one.point == other.point);
    groups
        .map(|group| {
            let good: Vec<&RunResult> = group.iter().filter(|outcome| outcome.ok).collect();
            let mut seconds: Vec<f64> = good.iter().filter_map(|outcome| outcome.seconds).collect();
            seconds.sort_by(f64::total_cmp);
            let sent = |host: &String| {
                let mut bytes: Vec<u64> =
                    good.iter().filter_map(|outcome| outcome.sent_bytes.get(host)?.as_u64()).collect();
                bytes.sort_unstable();
                Some((host.clone(), Value::from(*bytes.get(bytes.len() / 2)?)))
            };
            let packets = |pointers: &[&str]| {
                let mut each: Vec<u64> =
                    good.iter().filter_map(|outcome| packets(outcome.switch.as_ref()?, pointers)).collect();
                each.sort_unstable();
                each.get(each.len() / 2).copied()
            };
            Event::Combination {
                trimmed_packets: packets(&[TRIMMED]),
                dropped_packets: packets(&DROPPED),
                values: group[0].values.clone(),
                runs: group.len(),
                ok: good.len(),
                median_seconds: median(&seconds),
                least_seconds: seconds.first().copied(),
                most_seconds: seconds.last().copied(),
                sent_bytes: group[0].sent_bytes.keys().filter_map(sent).collect(),
            }
        })
        .collect()
}

/// The switch's counter at each port of packets that its queue has trimmed.
const TRIMMED: &str = "/data_queue/SAI_QUEUE_STAT_TRIM_PACKETS";
/// Packets that found no room, and packets that the link has lost.
const DROPPED: [&str; 3] = [
    "/data_queue/SAI_QUEUE_STAT_DROPPED_PACKETS",
    "/header_queue/SAI_QUEUE_STAT_DROPPED_PACKETS",
    "/link/lost_packets",
];

/// The sum of counters over all ports; `None` if the switch does not have them.
fn packets(switch: &Value, pointers: &[&str]) -> Option<u64> {
    let ports = switch.as_object()?.values();
    ports.flat_map(|port| pointers.iter().map(|pointer| port.pointer(pointer)?.as_u64())).sum()
}

/// The median of sorted values.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len().is_multiple_of(2) { f64::midpoint(sorted[sorted.len() / 2 - 1], upper) } else { upper })
}

/// The combinations as a table for people.
pub(super) fn table(plan: &Plan, combinations: &[Event]) -> String {
    let hosts = plan.hosts();
    let each = hosts.len() <= MOST_COLUMNS;
    let sent: Vec<String> =
        if each { hosts.iter().map(|host| format!("{host} sent")).collect() } else { vec!["sent".to_owned()] };
    // The kernel's bridge counts neither.
    let counted = |event: &Event| matches!(event, Event::Combination { dropped_packets: Some(_), .. });
    let counted = combinations.iter().any(counted);
    let counters: &[&str] = if counted { &["dropped", "trimmed"] } else { &[] };
    let heading: Vec<&str> =
        plan.columns.iter().map(String::as_str).chain(["runs ok", "seconds", "least", "most"]).collect();
    let heading = [heading, sent.iter().map(String::as_str).collect(), counters.to_vec()].concat();
    let row = |event: &Event| {
        let Event::Combination { values, runs, ok, median_seconds, least_seconds, most_seconds, sent_bytes, .. } =
            event
        else {
            return None;
        };
        let mut row: Vec<String> = values.values().map(|value| value.as_str().unwrap_or_default().to_owned()).collect();
        row.push(format!("{ok} of {runs}"));
        row.extend(
            [median_seconds, least_seconds, most_seconds]
                .map(|seconds| seconds.map_or("-".to_owned(), |s| format!("{s:.2}"))),
        );
        row.extend(bytes(sent_bytes, &hosts, each));
        if let (true, Event::Combination { trimmed_packets, dropped_packets, .. }) = (counted, event) {
            row.extend([dropped_packets, trimmed_packets].map(|count| count.map_or("-".to_owned(), |n| n.to_string())));
        }
        Some(row)
    };
    table::render(&heading, &combinations.iter().filter_map(row).collect::<Vec<_>>())
}

fn bytes(sent: &Map<String, Value>, hosts: &[String], each: bool) -> Vec<String> {
    let of = |host: &String| sent.get(host).and_then(Value::as_u64);
    if each {
        hosts.iter().map(|host| of(host).map_or("-".to_owned(), figures::size)).collect()
    } else {
        vec![figures::size(hosts.iter().filter_map(of).sum())]
    }
}

/// All results, in the format of the output file.
pub(super) fn file(plan: &Plan, outcomes: &[RunResult], combinations: &[Event]) -> String {
    let all =
        json!({ "name": plan.name, "description": plan.description, "runs": outcomes, "combinations": combinations });
    format!("{all:#}\n")
}
