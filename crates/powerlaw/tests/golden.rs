//! `SciPy` finds the same distances, and so the same `x_min`; the Python package `powerlaw` 1.5 the same exponents and comparisons.
//! `golden.json` is written by `tools/powerlaw-golden`.

use anabranch_powerlaw::{Alternative, DiscretePowerLaw, Inconclusive, PowerLaw, Sample, XMin};
use serde_json::Value;

/// Numbers in (0, 1) of `SplitMix64`.
fn uniform(mut state: u64, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            ((z >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        })
        .collect()
}

/// The series of a description; `tools/powerlaw-golden` does the same.
fn generate(spec: &Value) -> Vec<f64> {
    let number = |key: &str| spec[key].as_f64().unwrap();
    let (a, b, n) = (number("a"), number("b"), number("n") as usize);
    let u = uniform(spec["seed"].as_u64().unwrap(), 2 * n);
    let normal = |u: f64, v: f64| (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
    let draw = |(&u, &v): (&f64, &f64)| match spec["law"].as_str().unwrap() {
        "lognormal" => b.mul_add(normal(u, v), a).exp(),
        "weibull" => a * (-u.ln()).powf(1.0 / b),
        "normal" => a + b * normal(u, v),
        "uniform" => a + b * u,
        "counts" => (a * (-u.ln()).powf(1.0 / b)).floor() + 1.0,
        "tailed" if v < 0.5 => a * (0.1 + 0.9 * u),
        "pareto" | "tailed" => a * u.powf(-1.0 / (b - 1.0)),
        law => panic!("{law}"),
    };
    u[..n].iter().zip(&u[n..]).map(draw).collect()
}

fn golden() -> Vec<Value> {
    serde_json::from_str(include_str!("golden.json")).unwrap()
}

/// To three digits, or to 0.001 where the expected number is small.
fn close(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-3 * expected.abs().max(1.0)
}

/// Every series under both rules: calls back with its name, sample, fit and what the package found.
fn each(mut visit: impl FnMut(&str, &Sample, PowerLaw, &Value)) {
    for entry in golden() {
        let sample = Sample::new(&generate(&entry)).unwrap();
        for (rule, x_min) in [("fitted", XMin::Fitted), ("whole", XMin::At(sample.sorted()[0]))] {
            let name = format!("{}, {rule}", entry["name"].as_str().unwrap());
            visit(&name, &sample, sample.fit(x_min).unwrap(), &entry[rule]);
        }
    }
}

#[test]
fn alpha_x_min_and_distance_are_equal_to_nine_digits() {
    each(|name, _, fit, expected| {
        for (key, value) in [("alpha", fit.alpha), ("x_min", fit.x_min), ("distance", fit.distance)] {
            let expected = expected[key].as_f64().unwrap();
            assert!((value / expected - 1.0).abs() < 1e-9, "{name}: {key} {value}, expected {expected}");
        }
        assert_eq!(Some(fit.n_tail as u64), expected["n_tail"].as_u64(), "{name}");
    });
}

#[test]
fn of_whole_numbers_too() {
    let mut series = 0;
    for entry in golden().iter().filter(|entry| entry["law"] == "counts") {
        let sample = Sample::new(&generate(entry)).unwrap();
        for (rule, x_min) in [("fitted", XMin::Fitted), ("whole", XMin::At(sample.sorted()[0]))] {
            let DiscretePowerLaw { alpha, x_min, distance, n_tail } = sample.fit_discrete(x_min).unwrap();
            let expected = &entry["discrete"][rule];
            // The reference takes the derivative of the zeta function by differences.
            for (key, value, digits) in [("alpha", alpha, 1e-6), ("x_min", x_min, 1e-12), ("distance", distance, 1e-6)]
            {
                let expected = expected[key].as_f64().unwrap();
                assert!((value / expected - 1.0).abs() < digits, "{entry}: {key} {value}, expected {expected}");
            }
            assert_eq!(Some(n_tail as u64), expected["n_tail"].as_u64(), "{entry}");
            series += 1;
        }
    }
    assert_eq!(series, 4);
}

#[test]
fn ratios_and_p_values_are_equal_or_the_alternative_is_fitted_better() {
    let (mut equal, mut better, mut degenerate) = (0, 0, 0);
    each(|name, sample, fit, expected| {
        for alternative in [Alternative::Exponential, Alternative::LogNormal, Alternative::Weibull, Alternative::CutOff]
        {
            let theirs = &expected["against"][alternative.name()];
            let number = |key: &str| theirs[key].as_f64().unwrap_or(f64::NEG_INFINITY);
            match fit.compare(sample, alternative) {
                Ok(ours) if close(ours.normalised, number("r")) && close(ours.p, number("p")) => equal += 1,
                // Otherwise it answers NaN, its search stopped early, or its densities underflowed: ours are the more likely parameters, by more than
                // a search's tolerance, or its likelihood is not the one that its parameters have.
                Ok(ours) => {
                    let exact = number("exact");
                    let wrong = theirs["r"].is_null() || (number("ln_likelihood") - exact).abs() > 1e-4;
                    let gain = ours.ln_likelihood - exact;
                    assert!(gain > 1e-7 || (wrong && gain > -1e-6), "{name}, {alternative:?}: {ours:?} {theirs}");
                    better += 1;
                }
                // The alternative becomes the power law: nothing that the package found is more likely than the power law.
                Err(Inconclusive::SameAsPowerLaw) => {
                    let power_law = expected["ln_likelihood"].as_f64().unwrap_or(f64::INFINITY);
                    assert!(number("exact") <= power_law + 1e-6, "{name}, {alternative:?}: {theirs}");
                    degenerate += 1;
                }
                Err(reason) => panic!("{name}, {alternative:?}: {reason}"),
            }
        }
    });
    println!("{equal} equal, {better} fitted better here, {degenerate} where the alternative becomes the power law");
    assert!(equal >= 70, "{equal} equal, {better} better, {degenerate} degenerate");
}
