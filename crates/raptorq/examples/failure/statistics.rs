//! Confidence intervals for probabilities, and what theory says of the random linear fountain.

/// The exact interval of Clopper and Pearson (Biometrika 26, 1934) for a probability of which `count` in `trials` is an
/// observation. It covers the true value at least as often as `level` says. For a count of 0 it is 0 to
/// 1 - (1/2 - level/2)^(1/trials): 3.7 / trials at 95 %.
pub(crate) fn clopper_pearson(count: u64, trials: u64, level: f64) -> (f64, f64) {
    let tail = (1.0 - level) / 2.0;
    let (x, n) = (count as f64, trials as f64);
    let low = if count == 0 { 0.0 } else { beta_quantile(x, n - x + 1.0, tail) };
    let high = if count == trials { 1.0 } else { beta_quantile(x + 1.0, n - x, 1.0 - tail) };
    (low, high)
}

/// The probability that K + o random rows over a field of q elements have not rank K:
/// 1 - ∏ (1 - q^-i), i = o + 1, .., K + o.
pub(crate) fn random_linear_failure(q: f64, k: u32, o: u32) -> f64 {
    // By logarithms: 1 - product would lose all digits of small probabilities. Terms far out are zero.
    let terms = (o + 1..=k + o).map(|i| (-q.powf(-f64::from(i))).ln_1p());
    let logarithm: f64 = terms.take_while(|&term| term != 0.0).sum();
    -logarithm.exp_m1()
}

/// The x at which the regularized incomplete beta function of `a` and `b` is `p`.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    // In the logarithm of x: quantiles here may be 1e-9, and 60 halvings leave no visible error.
    let (mut low, mut high) = (-80.0f64, 0.0f64);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if incomplete_beta(a, b, middle.exp()) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (0.5 * (low + high)).exp()
}

/// The regularized incomplete beta function of `a` and `b` at `x`.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp();
    // The fraction converges fast on one side of the mean, and the function is symmetric.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
#[allow(clippy::many_single_char_names, reason = "the names of DLMF and of Lentz's method")]
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = result;
        for coefficient in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + coefficient * d);
            c = away_from_zero(1.0 + coefficient / c);
            result *= c * d;
        }
        if (result / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

/// The logarithm of the gamma function for a positive argument: Stirling's series (DLMF 5.11.1) above 10, and
/// recurrence below.
fn ln_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r / 1188.0)))) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-5 * b.abs()
    }

    #[test]
    fn intervals_without_failures_are_known_in_closed_form() {
        for n in [1, 10, 1000, 1_000_000, 1_000_000_000] {
            let (low, high) = clopper_pearson(0, n, 0.95);
            assert!(low <= 0.0);
            assert!(close(high, -(0.025f64.ln() / n as f64).exp_m1()), "{n}: {high}");
            let (low, high) = clopper_pearson(n, n, 0.95);
            assert!(high >= 1.0);
            assert!(close(low, (0.025f64.ln() / n as f64).exp()), "{n}: {low}");
        }
        assert!((clopper_pearson(0, 1_000_000, 0.95).1 - 3.69e-6).abs() < 0.01e-6);
    }

    #[test]
    fn intervals_are_where_binomial_tails_say() {
        // The definition: with p = low, `count` or more has the probability 2.5 %; with p = high, `count` or fewer.
        for (count, n) in [(1u64, 10u64), (5, 10), (3, 50), (17, 60), (59, 60)] {
            let (low, high) = clopper_pearson(count, n, 0.95);
            let probability = |p: f64, x: u64| {
                let choose: f64 = (0..x).map(|i| (n - i) as f64 / (i + 1) as f64).product();
                choose * p.powi(x as i32) * (1.0 - p).powi((n - x) as i32)
            };
            let above: f64 = (count..=n).map(|x| probability(low, x)).sum();
            let below: f64 = (0..=count).map(|x| probability(high, x)).sum();
            assert!(close(above, 0.025) && close(below, 0.025), "{count} of {n}: {above} {below}");
        }
        // With 10,000 failures the normal approximation is good to 1 % of its width.
        let (low, high) = clopper_pearson(10_000, 1_000_000, 0.95);
        let half = 1.96 * (0.01f64 * 0.99 / 1e6).sqrt();
        assert!((low - 0.01 + half).abs() < 0.015 * half && (high - 0.01 - half).abs() < 0.015 * half, "{low} {high}");
    }

    #[test]
    fn random_rows() {
        assert!(close(random_linear_failure(2.0, 1, 0), 0.5));
        assert!(close(random_linear_failure(2.0, 2, 0), 1.0 - 0.5 * 0.75));
        assert!(close(random_linear_failure(256.0, 1, 2), 256.0f64.powi(-3)));
        // The well-known limit for square binary matrices.
        assert!((random_linear_failure(2.0, 1000, 0) - (1.0 - 0.288_788_095)).abs() < 1e-9);
    }
}
