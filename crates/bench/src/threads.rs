//! Single runs on several threads, by the clock, in turns with runs on one.

use crate::cases::Case;
use crate::process;
use std::process::{Command, ExitCode};

/// The cases where it is to pay, and `small` ones, where it can hardly: it is to cost nothing there.
const CASES: [&str; 17] = [
    "ndp-k16",
    "scdp-k16",
    "ndp-k32",
    "scdp-k32",
    "ndp-k16-100g",
    "scdp-k16-100g",
    "ndp-k32-100g",
    "scdp-k32-100g",
    "dctcp-k8-web",
    "ndp-k8-web",
    "scdp-k8-web",
    "dctcp-k16-web",
    "ndp-k16-web",
    "scdp-k16-web",
    "dctcp-k8-small",
    "ndp-k8-small",
    "scdp-k8-small",
];

/// What one run of a case measured.
#[derive(Clone, Copy)]
struct Measured {
    wall_s: f64,
    cpu_s: f64,
    peak_mb: f64,
    /// Millions of events, and the fingerprint in two halves, which a float can hold.
    events: f64,
    fingerprint: (f64, f64),
    /// How many times as fast it could be by how the events are divided, the share of events in parts, and windows.
    bound: f64,
    share: f64,
    windows: f64,
}

/// Runs a case on so many threads, which others may need if they are `spare`, in this process and prints its numbers, for the parent to read.
pub(crate) fn once(case: &Case, threads: usize, spare: bool) -> ExitCode {
    let mut network = case.network();
    let (wall, cpu) = (process::wall_seconds(), process::user_seconds());
    let outcome = if spare { network.run_on_spare(threads, |_| true) } else { network.run_on(threads, |_| true) };
    let division = match outcome {
        Ok((_, division)) => division,
        Err(why) => {
            eprintln!("error: {why:?}");
            return ExitCode::FAILURE;
        }
    };
    let (wall, cpu) = (process::wall_seconds() - wall, process::user_seconds() - cpu);
    let (events, in_parts) = (network.events(), division.events.iter().sum::<u64>());
    println!(
        "{wall} {cpu} {} {events} {} {} {} {} {}",
        process::peak_megabytes(),
        network.fingerprint() >> 32,
        network.fingerprint() as u32,
        events as f64 / (events - in_parts + division.critical) as f64,
        in_parts as f64 / events as f64,
        division.windows,
    );
    ExitCode::SUCCESS
}

fn in_own_process(case: &Case, threads: usize, spare: bool) -> Option<Measured> {
    let program = std::env::current_exe().ok()?;
    let how = spare.then_some("--spare");
    let output = Command::new(program).args(how).args(["--once-on", &threads.to_string(), case.name]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let numbers: Vec<f64> = text.split_whitespace().map_while(|n| n.parse().ok()).collect();
    let &[wall_s, cpu_s, peak_mb, events, high, low, bound, share, windows] = numbers.as_slice() else { return None };
    Some(Measured { wall_s, cpu_s, peak_mb, events, fingerprint: (high, low), bound, share, windows })
}

/// Prints a Markdown table of these cases, or of all where several threads are to pay.
pub(crate) fn table(cases: &[&Case], threads: usize, spare: bool, runs: usize) -> ExitCode {
    let all = CASES.iter().filter_map(|name| Case::find(name));
    let cases: Vec<&Case> = if cases.is_empty() { all.collect() } else { cases.to_vec() };
    println!(
        "Runs on one thread and on {threads}, in turns, by the clock: median of {runs} each. At best: by how the events are divided.\n"
    );
    println!(
        "| case | events | 1 thread, s | {threads} threads, s | times as fast (least-most) | at best | events in parts | windows | CPU s, 1 and {threads} | peak MB, 1 and {threads} |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for case in cases {
        let turn = |_| Some((in_own_process(case, 1, false)?, in_own_process(case, threads, spare)?));
        let Some(mut both) = (0..runs).map(turn).collect::<Option<Vec<_>>>() else {
            eprintln!("error: case {} failed", case.name);
            return ExitCode::FAILURE;
        };
        if both.iter().any(|(one, several)| (one.events, one.fingerprint) != (several.events, several.fingerprint)) {
            eprintln!("error: case {} is another run on {threads} threads", case.name);
            return ExitCode::FAILURE;
        }
        let ratio = |(one, several): &(Measured, Measured)| one.wall_s / several.wall_s;
        both.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let median = |of: fn(&(Measured, Measured)) -> f64| {
            let mut values: Vec<f64> = both.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[runs / 2]
        };
        let (one, several) = both[runs / 2];
        println!(
            "| {} | {:.1} M | {:.2} | {:.2} | **{:.2}** ({:.2}-{:.2}) | {:.2} | {:.1} % | {} | {:.2}, {:.2} | {:.0}, {:.0} |",
            case.name,
            one.events / 1e6,
            median(|pair| pair.0.wall_s),
            median(|pair| pair.1.wall_s),
            ratio(&both[runs / 2]),
            ratio(&both[0]),
            ratio(&both[runs - 1]),
            several.bound,
            several.share * 100.0,
            several.windows,
            median(|pair| pair.0.cpu_s),
            median(|pair| pair.1.cpu_s),
            one.peak_mb,
            several.peak_mb,
        );
    }
    ExitCode::SUCCESS
}
