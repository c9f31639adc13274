//! How long the fit takes: `cargo bench -p anabranch-powerlaw`. One thread. `tools/powerlaw-golden` names the peer.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::time::Instant;

use anabranch_powerlaw::{Alternative, Effort, Sample, XMin, goodness};

/// Log-normal numbers with mu 15 and sigma 0.4, by the quantiles of a shuffled grid: a bench needs no more randomness.
fn lognormal(n: usize) -> Vec<f64> {
    let mut state = 1_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    (0..n)
        .map(|_| {
            let (u, v) = (uniform(), uniform());
            0.4f64.mul_add((-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos(), 15.0).exp()
        })
        .collect()
}

/// A power law with exponent 2.5: every candidate is about as good as the best, which is the worst case for pruning.
fn pareto(n: usize) -> Vec<f64> {
    lognormal(n).iter().enumerate().map(|(i, _)| ((i as f64 + 0.5) / n as f64).powf(-1.0 / 1.5)).collect()
}

fn timed<T>(work: impl Fn() -> T) -> f64 {
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(work());
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[2]
}

fn main() {
    println!("median of 5, seconds");
    println!("{:>12} {:>8} {:>12} {:>12} {:>12} {:>12}", "data", "n", "scan", "whole", "comparisons", "p, 100 reps");
    for n in [9_000, 18_000, 180_000, 1_000_000] {
        for (name, numbers) in [("log-normal", lognormal(n)), ("power law", pareto(n))] {
            let scan = timed(|| Sample::new(&numbers).map(|s| s.fit(XMin::Fitted)));
            // Whole numbers from about a hundred on: many are equal, and many are not.
            let whole: Vec<f64> = numbers.iter().map(|x| (x * 100.0 / numbers[0]).ceil()).collect();
            let discrete = timed(|| Sample::new(&whole).map(|s| s.fit_discrete(XMin::Fitted)));
            let Ok(sample) = Sample::new(&numbers) else { continue };
            let Ok(whole) = sample.fit(XMin::At(sample.sorted()[0])) else { continue };
            let compare = timed(|| Alternative::ALL.iter().map(|a| whole.compare(&sample, *a)).collect::<Vec<_>>());
            let p = if n > 20_000 {
                String::from("-")
            } else {
                let effort = Effort { replicates: 100, seed: 1, threads: 1 };
                format!("{:.3}", timed(|| goodness(&sample, XMin::Fitted, effort)))
            };
            println!("{name:>12} {n:>8} {scan:>12.4} {discrete:>12.4} {compare:>12.4} {p:>12}");
        }
    }
}
