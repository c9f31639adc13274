//! Runs a scenario file and prints one line for each sweep point and workload: a look without Python and tables.
//!
//! `run_scenario FILE [key=value ...]` prints, over all seeds together: rows (one for each receiver), how many were
//! completed, goodput in Gbit/s (mean, median, and the worst 5 % and 1 %), what the switches trimmed and dropped,
//! timeouts, symbols beyond the number of source symbols, and stragglers detached and given up. The second table is wall
//! time for each sweep point.

use anabranch_sim::experiment::{Progress, run_all};
use anabranch_sim::measure::{FlowRow, RunRecord};
use anabranch_sim::network::{Ending, Straggler};
use anabranch_sim::scenario::{Plan, load};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: run_scenario FILE [key=value ...]");
        std::process::exit(2);
    };
    if let Err(problem) = run(&file, &arguments.collect::<Vec<_>>()) {
        eprintln!("{problem}");
        std::process::exit(1);
    }
}

/// What is kept of a run: the rest would fill the memory of large sweeps.
struct Kept {
    flows: Vec<FlowRow>,
    ending: Ending,
    events: u64,
    wall: f64,
}

fn run(file: &str, overrides: &[String]) -> Result<(), String> {
    let plan = load(Path::new(file), overrides).map_err(|e| e.to_string())?;
    for warning in &plan.warnings {
        eprintln!("{warning}");
    }
    let kept: Vec<Mutex<Option<Kept>>> = plan.runs.iter().map(|_| Mutex::new(None)).collect();
    let progress = Progress::new(plan.runs.len());
    let build = |i: usize| plan.network(&plan.runs[i]).map_err(|e| e.to_string());
    let ended = |i: usize, record: RunRecord, wall: std::time::Duration| {
        let RunRecord { flows, ending, events, .. } = record;
        let run = Kept { flows, ending, events, wall: wall.as_secs_f64() };
        *kept[i].lock().map_err(|e| e.to_string())? = Some(run);
        Ok(())
    };
    run_all(plan.runs.len(), 0, &progress, build, ended)?;
    let kept: Vec<_> = kept.into_iter().filter_map(|slot| slot.into_inner().ok().flatten()).collect();
    print(&plan, &kept);
    Ok(())
}

fn print(plan: &Plan, kept: &[Kept]) {
    let mut points: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, run) in plan.runs.iter().enumerate().take(kept.len()) {
        points.entry(run.index).or_default().push(i);
    }
    let name = |i: usize| {
        let point = &plan.runs[i].point;
        point.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    };
    println!(
        "workload         rows  done   mean median    p5    p1  trimmed  dropped timeouts overhead stragglers  point"
    );
    for runs in points.values() {
        let mut workloads: BTreeMap<&str, Vec<(usize, &FlowRow)>> = BTreeMap::new();
        for &i in runs {
            kept[i].flows.iter().for_each(|f| workloads.entry(f.workload.as_str()).or_default().push((i, f)));
        }
        for (workload, rows) in workloads {
            println!("{}  {}", summary(workload, &rows), name(runs[0]));
        }
    }
    println!("\n  events    wall s  ending");
    for runs in points.values() {
        let (events, wall) = runs.iter().fold((0, 0.0), |(e, w), &i| (e + kept[i].events, w + kept[i].wall));
        let endings = runs.iter().map(|&i| &kept[i].ending);
        let bad: Vec<_> = endings.filter(|e| **e != Ending::Complete).map(|e| format!("{e:?}")).collect();
        println!(
            "{events:9} {wall:9.2}  {}  {}",
            if bad.is_empty() { "complete".into() } else { bad.join("; ") },
            name(runs[0])
        );
    }
}

/// `rows` with the number of the run that each is from.
fn summary(workload: &str, rows: &[(usize, &FlowRow)]) -> String {
    let done = rows.iter().filter(|(_, f)| f.end.is_some()).count();
    let counts = |f: &FlowRow| (f.end.is_some() || f.background) && f.measured_ps > 0;
    let gbps = |f: &FlowRow| f.size_bytes as f64 * 8e3 / f.measured_ps as f64;
    let mut goodput: Vec<f64> = rows.iter().filter(|(_, f)| counts(f)).map(|(_, f)| gbps(f)).collect();
    goodput.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| goodput.get((share * goodput.len() as f64) as usize).copied().unwrap_or(f64::NAN);
    let mean = goodput.iter().sum::<f64>() / goodput.len() as f64;
    // Every row of a session repeats the session's counters.
    let mut seen = BTreeSet::new();
    let sessions: Vec<_> = rows.iter().filter(|(run, f)| seen.insert((*run, f.session))).collect();
    let sum = |counter: fn(&FlowRow) -> u64| sessions.iter().map(|(_, f)| counter(f)).sum::<u64>();
    let stragglers = |what| rows.iter().filter(|(_, f)| f.straggler == Some(what)).count();
    let stragglers = format!("{}+{}", stragglers(Straggler::Detached), stragglers(Straggler::Dropped));
    let overhead: u64 = rows.iter().map(|(_, f)| f.overhead_symbols).sum();
    format!(
        "{workload:14} {:6} {done:5} {mean:6.3} {:6.3} {:5.3} {:5.3} {:8} {:8} {:8} {overhead:8} {stragglers:>10}",
        rows.len(),
        at(0.5),
        at(0.05),
        at(0.01),
        sum(|f| f.packets_trimmed),
        sum(|f| f.packets_dropped),
        sum(|f| f.timeouts),
    )
}
