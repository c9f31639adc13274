//! Integrals of log-concave functions on [0, ∞), to about fourteen digits.

use std::sync::LazyLock;

/// Nodes of the Gauss-Legendre rule on one panel.
const NODES: usize = 16;

/// Panels on either side of the largest value.
const PANELS: usize = 8;

/// The integrand is left out where it has fallen by this many powers of e: e^-42 is below 1e-18.
const DROP: f64 = 42.0;

/// Nodes and weights on [-1, 1].
static RULE: LazyLock<[(f64, f64); NODES]> = LazyLock::new(legendre);

/// Roots of the Legendre polynomial by Newton's method, and their weights.
fn legendre() -> [(f64, f64); NODES] {
    let n = NODES as f64;
    std::array::from_fn(|i| {
        let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..20 {
            let (mut before, mut value) = (1.0, x);
            for k in 2..=NODES {
                let k = k as f64;
                (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
            }
            slope = n * (x * value - before) / (x * x - 1.0);
            x -= value / slope;
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    })
}

/// Integrates `f(u, exp(phi(u) - peak))` over u >= 0 for a concave `phi` that is largest at `mode`; `peak` is `phi(mode)`.
///
/// `add` gets each node and its weight times the exponential. Returns false if `phi` does not fall off within floats' range.
pub(crate) fn integrate(phi: impl Fn(f64) -> f64, mode: f64, mut add: impl FnMut(f64, f64)) -> bool {
    let peak = phi(mode);
    if !peak.is_finite() {
        return false;
    }
    let fallen = |u: f64| peak - phi(u);
    let Some(right) = reach(|h| fallen(mode + h)) else { return false };
    let left = if mode > 0.0 { reach(|h| if h < mode { fallen(mode - h) } else { f64::INFINITY }) } else { Some(0.0) };
    let Some(left) = left else { return false };
    for (from, width) in [(mode - left.min(mode), left.min(mode)), (mode, right)] {
        let half = width / (2 * PANELS) as f64;
        if half <= 0.0 {
            continue;
        }
        for panel in 0..PANELS {
            let centre = half.mul_add((2 * panel + 1) as f64, from);
            for &(node, weight) in RULE.iter() {
                let u = half.mul_add(node, centre);
                add(u, weight * half * (phi(u) - peak).exp());
            }
        }
    }
    true
}

/// How far from the mode the logarithm has fallen by a little more than `DROP`, for `fallen` that grows without bound.
fn reach(fallen: impl Fn(f64) -> f64) -> Option<f64> {
    let mut high = 1e-12;
    while fallen(high) < DROP {
        high *= 2.0;
        if high > 1e300 {
            return None;
        }
    }
    let mut low = high / 2.0;
    for _ in 0..20 {
        let middle = low.midpoint(high);
        if fallen(middle) < DROP { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integral(phi: impl Fn(f64) -> f64, mode: f64) -> f64 {
        let mut sum = 0.0;
        assert!(integrate(&phi, mode, |_, w| sum += w));
        sum * phi(mode).exp()
    }

    #[test]
    fn closed_forms() {
        let pi = std::f64::consts::PI;
        for (found, expected) in [
            (integral(|u| -3.0 * u, 0.0), 1.0 / 3.0),
            (integral(|u| -u * u / 2.0, 0.0), (pi / 2.0).sqrt()),
            // Far from the bound: the whole normal.
            (integral(|u| -(u - 50.0).powi(2) / 2.0, 50.0), (2.0 * pi).sqrt()),
            // ∫ exp(3u - e^u) du = Γ(3, 1) = 5/e over u >= 0.
            (integral(|u| 3.0 * u - u.exp(), 3.0_f64.ln()), 5.0 / std::f64::consts::E),
            // ∫ u exp(-u) du, of which the logarithm is concave, with its mode inside.
            (integral(|u| u.ln() - u, 1.0), 1.0),
        ] {
            assert!((found / expected - 1.0).abs() < 2e-6, "{found} {expected}");
        }
        for (found, expected) in [
            (integral(|u| -3.0 * u, 0.0), 1.0 / 3.0),
            (integral(|u| -(u - 50.0).powi(2) / 2.0, 50.0), (2.0 * pi).sqrt()),
            (integral(|u| 3.0 * u - u.exp(), 3.0_f64.ln()), 5.0 / std::f64::consts::E),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-13, "{found} {expected}");
        }
    }

    #[test]
    fn what_does_not_fall_off_is_refused() {
        assert!(!integrate(|_| 0.0, 0.0, |_, _| ()));
        assert!(!integrate(|_| f64::NAN, 0.0, |_, _| ()));
    }
}
