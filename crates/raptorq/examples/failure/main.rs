//! How often a fountain code fails to decode, for a given overhead: measured, with confidence intervals.
//!
//! ```text
//! cargo run --release -p anabranch-raptorq --features fountain --example failure -- \
//!     --code raptorq,r10,lt --k 10,100,1000 --overhead 0,1,2,3 --trials 1e6 --seed 1 --threads 2
//! ```
//!
//! `--help` lists all options. The result depends on the seed and not on the number of threads.

mod arguments;
mod experiment;
mod statistics;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use anabranch_raptorq::fountain::FountainCode;

use arguments::{Arguments, HELP, Overhead};
use experiment::{Case, Pattern};

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("failure: {message}\n  hint: --help lists the options");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("failure: {message}");
            ExitCode::FAILURE
        }
    }
}

const COLUMNS: &str =
    "code,k,pattern,overhead,received,trials,failures,probability,low,high,random_gf2,random_gf256,seed";

fn run(arguments: &Arguments) -> Result<(), String> {
    let mut csv = match &arguments.csv {
        Some(path) => Some(BufWriter::new(File::create(path).map_err(|e| format!("{path}: {e}"))?)),
        None => None,
    };
    if let Some(csv) = &mut csv {
        writeln!(csv, "{COLUMNS}").map_err(|e| e.to_string())?;
    }
    println!("| code | K | received | overhead | trials | failures | P(failure) | 95 % interval | GF(2) | GF(256) |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for code in &arguments.codes {
        for &k in &arguments.k {
            for &pattern in &arguments.patterns {
                one_case(arguments, &**code, k, pattern, &mut csv)?;
            }
        }
    }
    match csv {
        Some(mut csv) => csv.flush().map_err(|e| e.to_string()),
        None => Ok(()),
    }
}

fn one_case(
    arguments: &Arguments,
    code: &dyn FountainCode,
    k: u32,
    pattern: Pattern,
    csv: &mut Option<BufWriter<File>>,
) -> Result<(), String> {
    let mut overheads: Vec<(u32, Overhead)> = arguments.overheads.iter().map(|&o| (o.symbols(k), o)).collect();
    overheads.sort_by_key(|&(symbols, _)| symbols);
    overheads.dedup_by_key(|&mut (symbols, _)| symbols);
    let name = code.name();
    let case = Case { code, k, pattern, overheads: overheads.iter().map(|&(symbols, _)| symbols).collect() };
    let (trials, seed) = (arguments.trials, arguments.seed);
    let progress = |done: u64| show_progress(&format!("{name}, K = {k}, {pattern}"), done, trials);
    let failures = case
        .run(trials, seed, arguments.threads, &progress)
        .map_err(|error| format!("{name}, K = {k}, {pattern}: {error}"))?;
    for (&(symbols, overhead), failures) in overheads.iter().zip(failures) {
        let estimate = failures as f64 / trials as f64;
        let (low, high) = statistics::clopper_pearson(failures, trials, 0.95);
        let [gf2, gf256] = [2.0, 256.0].map(|q| statistics::random_linear_failure(q, k, symbols));
        // No failure is no estimate: the interval is all there is to say.
        let (shown, interval) = if failures == 0 {
            ("-".to_owned(), format!("below {high:.1e}"))
        } else {
            (format!("{estimate:.2e}"), format!("{low:.2e} to {high:.2e}"))
        };
        println!(
            "| {name} | {k} | {pattern} | {overhead} | {trials} | {failures} | {shown} | {interval} | {gf2:.2e} | {gf256:.1e} |"
        );
        if let Some(csv) = csv {
            let received = k + symbols;
            writeln!(
                csv,
                "{name},{k},{pattern},{symbols},{received},{trials},{failures},{estimate:e},{low:e},{high:e},{gf2:e},{gf256:e},{seed}"
            )
            .map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

/// On a terminal one line that counts; in a log a line for each tenth.
fn show_progress(case: &str, done: u64, trials: u64) {
    let mut stderr = io::stderr().lock();
    let percent = done * 100 / trials;
    // Nobody is helped when progress cannot be shown.
    let _ = if stderr.is_terminal() {
        let end = if done == trials { "\n" } else { "" };
        write!(stderr, "\r{case}: {percent:3} %{end}").and_then(|()| stderr.flush())
    } else if percent.is_multiple_of(10) {
        writeln!(stderr, "{case}: {percent} %")
    } else {
        Ok(())
    };
}
