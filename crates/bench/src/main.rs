//! `anabranch-bench`: how fast the simulator is, and how much memory it takes.
//!
//! The unit is the *data packet-hop*: one full-size data packet delivered to the application, times the links on its
//! path. ACKs, pulls, trimmed headers and retransmissions are overhead and are not counted. The rate is per second of
//! user CPU time on one thread. Each case runs in a process of its own, so that peak memory is its own.
//!
//! `anabranch-bench` runs every case and prints a Markdown table; `anabranch-bench CASE` runs one and prints one line of
//! numbers; `anabranch-bench --list` lists them; `--runs N` takes the median of N; `--threads N` compares runs on one
//! thread with such on N, by the clock; `--memory RANKS` tells what the messages of a job take; `--spare` before it: on N that other programs may need. `--events` or `--windows` before `--once CASE` says how events are scheduled.

mod cases;
mod memory;
mod process;
mod threads;

use anabranch_sim::network::Scheduling;
use cases::{CASES, Case, FAST};
use std::process::{Command, ExitCode};

/// What one run of a case measured.
#[derive(Clone, Copy, Debug)]
struct Measured {
    packet_hops: u64,
    events: u64,
    user_s: f64,
    peak_mb: f64,
    simulated_s: f64,
    unfinished: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut runs, mut threads) = (3, 1);
    let (mut scheduling, mut spare) = (Scheduling::Auto, false);
    let mut names = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--list" => {
                for case in CASES.iter().chain(FAST) {
                    println!("{:<16} {}", case.name, case.what);
                }
                return ExitCode::SUCCESS;
            }
            "--runs" => match rest.next().and_then(|n| n.parse().ok()) {
                Some(n) if n > 0 => runs = n,
                _ => return usage("--runs needs a number, at least 1"),
            },
            "--spare" => spare = true,
            "--memory" => match rest.next().and_then(|n| n.parse().ok()) {
                Some(ranks) if (2..=memory::RANKS_MAX).contains(&ranks) => return memory_of(ranks),
                _ => return usage(&format!("--memory needs a number of ranks, 2 to {}", memory::RANKS_MAX)),
            },
            "--events" => scheduling = Scheduling::Events,
            "--windows" => scheduling = Scheduling::Windows,
            "--once" => match rest.next().and_then(|n| Case::find(n)) {
                Some(case) => return once(case, scheduling),
                None => return usage("--once needs the name of a case"),
            },
            "--threads" => match rest.next().and_then(|n| n.parse().ok()) {
                Some(n) if n > 1 => threads = n,
                _ => return usage("--threads needs a number, at least 2"),
            },
            "--once-on" => match (rest.next().and_then(|n| n.parse().ok()), rest.next().and_then(|n| Case::find(n))) {
                (Some(threads), Some(case)) if scheduling == Scheduling::Auto => {
                    return threads::once(case, threads, spare);
                }
                (Some(_), Some(_)) => {
                    return usage("--events and --windows come before --once CASE, and concern nothing else");
                }
                _ => return usage("--once-on needs a number of threads and the name of a case"),
            },
            name => match Case::find(name) {
                Some(case) => names.push(case),
                None => return usage(&format!("no case is called {name:?}")),
            },
        }
    }
    if scheduling != Scheduling::Auto {
        return usage("--events and --windows come before --once CASE, and concern nothing else");
    }
    if threads > 1 {
        return threads::table(&names, threads, spare, runs);
    }
    if names.is_empty() {
        names = CASES.iter().collect();
    }
    table(&names, runs)
}

fn memory_of(ranks: u64) -> ExitCode {
    match memory::table(ranks) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!(
        "error: {problem}\n  hint: anabranch-bench [--list] [--runs N] [[--spare] --threads N] [CASE ...], or [--events | --windows] --once CASE"
    );
    ExitCode::from(2)
}

/// Runs a case in this process and prints its numbers, for the parent to read.
fn once(case: &Case, scheduling: Scheduling) -> ExitCode {
    let mut network = case.network();
    network.schedule_in(scheduling);
    let before = process::user_seconds();
    network.run(|_| true);
    let user_s = process::user_seconds() - before;
    println!(
        "{} {} {user_s} {} {} {}",
        case.packet_hops(&network),
        network.events(),
        process::peak_megabytes(),
        network.now().as_secs_f64(),
        network.unfinished(),
    );
    ExitCode::SUCCESS
}

fn table(cases: &[&Case], runs: usize) -> ExitCode {
    println!("| case | data packet-hops | events/dph | user s | M dph/s | M events/s | peak MB | unfinished |");
    println!("|---|---|---|---|---|---|---|---|");
    for case in cases {
        let mut all: Vec<Measured> = (0..runs).filter_map(|_| in_own_process(case)).collect();
        if all.len() < runs {
            eprintln!("error: case {} failed", case.name);
            return ExitCode::FAILURE;
        }
        all.sort_by(|a, b| a.user_s.total_cmp(&b.user_s));
        let m = all[runs / 2];
        println!(
            "| {} ({:.3} s simulated) | {:.2} M | {:.2} | {:.2} ({:.2}-{:.2}) | {:.2} | {:.1} | {:.0} | {} |",
            case.name,
            m.simulated_s,
            m.packet_hops as f64 / 1e6,
            m.events as f64 / m.packet_hops as f64,
            m.user_s,
            all[0].user_s,
            all[runs - 1].user_s,
            m.packet_hops as f64 / m.user_s / 1e6,
            m.events as f64 / m.user_s / 1e6,
            m.peak_mb,
            m.unfinished,
        );
    }
    ExitCode::SUCCESS
}

fn in_own_process(case: &Case) -> Option<Measured> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args(["--once", case.name]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let numbers: Vec<f64> = text.split_whitespace().map_while(|n| n.parse().ok()).collect();
    let &[packet_hops, events, user_s, peak_mb, simulated_s, unfinished] = numbers.as_slice() else { return None };
    Some(Measured {
        packet_hops: packet_hops as u64,
        events: events as u64,
        user_s,
        peak_mb,
        simulated_s,
        unfinished: unfinished as u64,
    })
}
