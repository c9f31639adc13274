//! Figures 4.3, 4.4 and 4.6 of Song's dissertation, and a search for counter-examples to its Conjecture 4.1, without a network.
//!
//! ```console
//! $ cargo run -q -p anabranch-transport --example front_back -- fig4.3 > fig4.3.csv
//! $ cargo run -q -p anabranch-transport --example front_back -- conjecture
//! ```

use anabranch_transport::multipath::Scheduler::{self, Divide, FrontBack, RoundRobin};
use anabranch_transport::multipath::pair::{Completion, Estimates, Path, Transfer, run};
use std::process::ExitCode;

/// Segments of Examples 1 and 2, and segments per second that the sender believes each path to carry.
const SEGMENTS: u64 = 200_000;
const BELIEVED: u64 = 10;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("fig4.3") => by_error(2, 1),
        Some("fig4.4") => by_size(2, 1),
        Some("fig4.6a") => by_error(4, 0),
        Some("fig4.6b") => by_size(4, 0),
        Some("conjecture") => conjecture(),
        _ => {
            eprintln!("expected one of fig4.3, fig4.4, fig4.6a, fig4.6b, conjecture");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// All paths are believed to carry `BELIEVED`; for the one that is `wrong` this is `error` percent off: it carries
/// `BELIEVED / (1 + error / 100)`. Time runs `100 + error` times as fast, so that all rates are whole.
fn example(
    scheduler: Scheduler,
    estimates: Estimates,
    paths: usize,
    wrong: usize,
    error: i64,
    segments: u64,
) -> Completion {
    let scale = u64::try_from(100 + error).expect("an error above -100 %");
    let rate = |path| if path == wrong { 100 * BELIEVED } else { scale * BELIEVED };
    let paths = (0..paths).map(|path| Path::new(BELIEVED, rate(path))).collect();
    run(&Transfer { scheduler, segments, estimates, paths })
}

const HEADER: &str = "scheduler,estimates,error_percent,segments,context_switches,finish_s,best_finish_s";

fn rows(paths: usize, wrong: usize, error: i64, segments: u64) {
    for scheduler in [FrontBack, Divide, RoundRobin] {
        for estimates in [Estimates::Fixed, Estimates::Measured] {
            let outcome = example(scheduler, estimates, paths, wrong, error, segments);
            let seconds = |time: f64| time * (100 + error) as f64;
            let (name, switches) = (name(scheduler), outcome.context_switches);
            let (finish, best) = (seconds(outcome.finish_time()), seconds(outcome.best_finish_time()));
            let kind = if estimates == Estimates::Fixed { "fixed" } else { "measured" };
            println!("{name},{kind},{error},{segments},{switches},{finish:.3},{best:.3}");
        }
    }
}

fn name(scheduler: Scheduler) -> &'static str {
    match scheduler {
        FrontBack => "front-back",
        Divide => "divide",
        RoundRobin => "round-robin",
    }
}

fn by_error(paths: usize, wrong: usize) {
    println!("{HEADER}");
    (-90..=100).step_by(10).for_each(|error| rows(paths, wrong, error, SEGMENTS));
}

fn by_size(paths: usize, wrong: usize) {
    println!("{HEADER}");
    for thousands in [1, 2, 5, 10, 20, 50, 100, 200] {
        rows(paths, wrong, 50, thousands * 1000);
    }
}

/// What the search found, of a number of instances.
#[derive(Default)]
struct Found {
    instances: u64,
    later: u64,
    switched: u64,
    beaten: u64,
    worst_excess: f64,
    most_switches: u64,
    first: [Option<String>; 3],
}

impl Found {
    /// Compares FBN with the best that whole segments allow, which has no switches (N contiguous parts), and with `DivideN`, which
    /// knows no more than FBN.
    fn try_one(&mut self, segments: u64, estimates: Estimates, paths: &[Path]) {
        let of = |scheduler| run(&Transfer { scheduler, segments, estimates, paths: paths.to_vec() });
        let (ours, rival) = (of(FrontBack), of(Divide));
        let slowest = paths.iter().map(|p| p.changes.iter().map(|c| c.1).chain([p.rate]).min().unwrap_or(1)).min();
        let excess = (ours.finish_time() - ours.best_finish_time()) * slowest.unwrap_or(1) as f64;
        self.instances += 1;
        self.worst_excess = self.worst_excess.max(excess);
        self.most_switches = self.most_switches.max(ours.context_switches);
        let later = ours.finish > ours.best_finish;
        let switched = ours.context_switches > 0;
        let beaten = rival.context_switches < ours.context_switches && rival.finish <= ours.finish;
        for (kind, found) in [later, switched, beaten].into_iter().enumerate() {
            if found && self.first[kind].is_none() {
                let rates: Vec<_> = paths.iter().map(|p| (p.estimate, p.rate, &p.changes)).collect();
                self.first[kind] = Some(format!(
                    "{segments} segments, {estimates:?} estimates, paths (estimate, rate, changes) {rates:?}: finish {:.3} (best \
                     {:.3}, divide {:.3}), switches {} (divide {})",
                    ours.finish_time(),
                    ours.best_finish_time(),
                    rival.finish_time(),
                    ours.context_switches,
                    rival.context_switches
                ));
            }
        }
        self.later += u64::from(later);
        self.switched += u64::from(switched);
        self.beaten += u64::from(beaten);
    }

    fn report(&self, what: &str) {
        println!("{what}: {} instances", self.instances);
        println!("  later than the best whole-segment assignment: {}", self.later);
        println!("  more context switches than it (none): {}; at most {}", self.switched, self.most_switches);
        println!("  DivideN has fewer switches and is no later: {}", self.beaten);
        println!("  largest excess, in segments of the slowest path: {:.3}", self.worst_excess);
        for (label, first) in ["later", "switched", "beaten"].into_iter().zip(&self.first) {
            println!("  first {label}: {}", first.as_deref().unwrap_or("none"));
        }
    }
}

/// All combinations of `n` numbers from 1 to `most`.
fn combinations(n: usize, most: u64) -> impl Iterator<Item = Vec<u64>> {
    (0..most.pow(n as u32)).map(move |code| (0..n).map(|i| 1 + code / most.pow(i as u32) % most).collect())
}

fn conjecture() {
    for n in 2..=4 {
        let mut known = Found::default();
        let mut changed = Found::default();
        for segments in 1..=12 {
            for rates in combinations(n, 4) {
                let paths: Vec<Path> = rates.iter().map(|&rate| Path::new(rate, rate)).collect();
                known.try_one(segments, Estimates::Fixed, &paths);
            }
            for rates in combinations(n, 3) {
                for (path, to) in (0..n).flat_map(|path| (1..=3).map(move |to| (path, to))) {
                    for halves in 1..=6 {
                        let mut paths: Vec<Path> = rates.iter().map(|&rate| Path::new(rate, rate)).collect();
                        paths[path].changes.push(((halves, 2), to));
                        changed.try_one(segments, Estimates::Measured, &paths);
                    }
                }
            }
        }
        known.report(&format!("{n} paths, rates 1-4 known and constant, 1-12 segments"));
        changed.report(&format!("{n} paths, rates 1-3 known at first, one changes once, 1-12 segments"));
    }
    let mut random = Found::default();
    let mut state = 1u64;
    let mut draw = |most: u64| {
        // Knuth's linear congruential generator: the search is the same everywhere.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % most
    };
    for _ in 0..2000 {
        let n = 2 + draw(15) as usize;
        let paths: Vec<Path> = (0..n).map(|_| Path::new(draw(10), draw(10))).collect();
        random.try_one(draw(5000), Estimates::Measured, &paths);
    }
    random.report("3 to 17 paths, rates and estimates 1-10, to 5000 segments, drawn");
}
