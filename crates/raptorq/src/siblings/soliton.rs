//! The degree distributions of LT codes: the ideal and the robust soliton (Luby, *LT codes*, FOCS 2002).
//!
//! Sender and receiver must draw the same degrees, bit for bit. So the logarithm and the square root in the robust
//! soliton are computed here, by additions, multiplications and divisions alone, which IEEE 754 rounds the same way
//! everywhere. (A system's mathematical library promises no such thing, and `core` has none.)

use alloc::vec::Vec;

use crate::fountain::FountainError;

/// Probabilities are multiples of 2^-53.
const ONE: u64 = 1 << 53;

/// A degree distribution, but for the number of source symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Soliton {
    /// p(1) = 1/K and p(d) = 1/(d (d - 1)): on average one symbol of degree 1 at each step of the decoder. Any deviation
    /// ends decoding; it is here because it is where the robust one comes from.
    Ideal,
    /// The ideal one with a surplus, so that R = c ln(K/δ) √K symbols of degree 1 are expected at each step.
    Robust {
        /// Scales R; above 0, at most 100. Analysis asks for a constant, practice for something like 0.01 to 0.2.
        c: f64,
        /// The failure probability that the analysis allows for; above 0 and below 1.
        delta: f64,
    },
}

impl Soliton {
    /// That the parameters are in range.
    pub(super) fn check(self) -> Result<Self, FountainError> {
        let Self::Robust { c, delta } = self else { return Ok(self) };
        if !(c > 0.0 && c <= 100.0) {
            return Err(FountainError::Parameter { name: "c", given: c, rule: "above 0 and at most 100" });
        }
        if !(delta > 0.0 && delta < 1.0) {
            return Err(FountainError::Parameter { name: "delta", given: delta, rule: "above 0 and below 1" });
        }
        Ok(self)
    }

    /// The weights of the degrees 1, 2, .. K; they need not add up to 1.
    fn weights(self, k: u32) -> impl Iterator<Item = f64> {
        let n = f64::from(k);
        // Luby 2002, definition 11: R, and tau(1) .. tau(K/R).
        let (surplus, spike) = match self {
            Self::Ideal => (0.0, 0),
            Self::Robust { c, delta } => {
                let r = c * ln(n / delta) * sqrt(n);
                // K/R is no whole number; for small K it may not even be a degree.
                (r, (n / r).clamp(1.0, n) as u32)
            }
        };
        let at_spike = match self {
            Self::Robust { delta, .. } if surplus > delta => surplus * ln(surplus / delta) / n,
            _ => 0.0,
        };
        (1..=k).map(move |d| {
            // Definition 9: rho.
            let ideal = if d == 1 { 1.0 / n } else { 1.0 / (f64::from(d) * f64::from(d - 1)) };
            let extra = match d {
                d if d < spike => surplus / (f64::from(d) * n),
                d if d == spike => at_spike,
                _ => 0.0,
            };
            ideal + extra
        })
    }
}

/// A distribution over degrees 1 to K, ready to be drawn from.
#[derive(Clone, Debug)]
pub(super) struct Degrees {
    /// At d - 1: the probability of a degree of at most d, in units of 2^-53. The last entry is 1.
    cumulative: Vec<u64>,
}

impl Degrees {
    /// The distribution for `k` source symbols, `k` above 0.
    pub(super) fn new(soliton: Soliton, k: u32) -> Self {
        let total: f64 = soliton.weights(k).sum();
        let mut sum = 0.0;
        let mut cumulative: Vec<u64> = soliton
            .weights(k)
            .map(|weight| {
                sum += weight;
                // A sum may exceed the total by rounding, as it is taken in the same order: it cannot by more.
                ((sum / total * ONE as f64) as u64).min(ONE)
            })
            .collect();
        if let Some(last) = cumulative.last_mut() {
            *last = ONE;
        }
        Self { cumulative }
    }

    /// The degree that 64 uniform bits stand for.
    pub(super) fn draw(&self, bits: u64) -> u32 {
        let bits = bits >> 11;
        self.cumulative.partition_point(|&at_most| at_most <= bits) as u32 + 1
    }

    /// The expected degree: the cost of a symbol.
    #[cfg(test)]
    fn mean(&self) -> f64 {
        // The sum over d of P(degree >= d).
        let below = core::iter::once(&0).chain(&self.cumulative);
        below.take(self.cumulative.len()).map(|&p| 1.0 - p as f64 / ONE as f64).sum()
    }
}

/// The natural logarithm of a positive, normal number, to about 1e-15.
fn ln(x: f64) -> f64 {
    // x = m 2^e with m in [1/√2, √2), and ln m = 2 artanh((m - 1)/(m + 1)).
    let bits = x.to_bits();
    let mut exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > core::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    let t = (m - 1.0) / (m + 1.0);
    let t2 = t * t;
    // |t| < 0.172: the term with t^23 is below 1e-18.
    let series = (0..=11).rev().fold(0.0, |sum, i| sum * t2 + 1.0 / f64::from(2 * i + 1));
    f64::from(exponent) * core::f64::consts::LN_2 + 2.0 * t * series
}

/// The square root of a number of at least 1.
fn sqrt(x: f64) -> f64 {
    // Newton's iteration, from above, falls until rounding stops it.
    let mut root = x;
    loop {
        let next = 0.5 * (root + x / root);
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROBUST: Soliton = Soliton::Robust { c: 0.1, delta: 0.5 };

    #[test]
    fn logarithm_and_root_agree_with_the_standard_library() {
        for i in 1..200_000u32 {
            let x = f64::from(i) * 0.37 + 0.63;
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1.0), "ln {x}");
            assert!((sqrt(x) / x.sqrt() - 1.0).abs() < 5e-16, "sqrt {x}");
        }
        assert!((ln(1e-9) - 1e-9f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn the_ideal_soliton_is_1_over_d_d_minus_1() {
        let degrees = Degrees::new(Soliton::Ideal, 100);
        let p = |d: usize| {
            (degrees.cumulative[d - 1] - if d > 1 { degrees.cumulative[d - 2] } else { 0 }) as f64 / ONE as f64
        };
        assert!((p(1) - 0.01).abs() < 1e-12);
        assert!((p(2) - 0.5).abs() < 1e-12);
        assert!((p(100) - 1.0 / 9900.0).abs() < 1e-12);
        // The expected degree is the harmonic number of K.
        let harmonic: f64 = (1..=100).map(|d| 1.0 / f64::from(d)).sum();
        assert!((degrees.mean() - harmonic).abs() < 1e-9);
    }

    #[test]
    fn the_robust_soliton_has_its_surplus_and_its_spike() {
        // MacKay, "Fountain codes" (IEE Proc. Commun. 152, 2005), figure 2: K = 10000, c = 0.2, delta = 0.05 give
        // R = 244, K/R = 41 and beta of about 1.3.
        let soliton = Soliton::Robust { c: 0.2, delta: 0.05 };
        let weights: Vec<f64> = soliton.weights(10_000).collect();
        let beta: f64 = weights.iter().sum();
        assert!((beta - 1.3).abs() < 0.05, "{beta}");
        let r: f64 = 0.2 * (10_000.0f64 / 0.05).ln() * 100.0;
        assert!((r - 244.0).abs() < 1.0);
        assert!((weights[0] - (1e-4 + r / 1e4)).abs() < 1e-12);
        // The spike is at 40, as K/R is 40.97, and holds R ln(R/delta) / K.
        assert!((weights[39] - r * (r / 0.05).ln() / 1e4 - 1.0 / (40.0 * 39.0)).abs() < 1e-12);
        assert!(weights[39] > 100.0 * weights[38] && weights[39] > 100.0 * weights[40]);
        // Above it there is nothing but the ideal one.
        assert!((weights[40] - 1.0 / (41.0 * 40.0)).abs() < 1e-15);
    }

    #[test]
    fn draws_follow_the_distribution_and_never_leave_it() {
        for k in [1, 2, 3, 10, 1000] {
            for soliton in [Soliton::Ideal, ROBUST] {
                let degrees = Degrees::new(soliton, k);
                assert_eq!(degrees.cumulative.len(), k as usize);
                assert!(degrees.cumulative.is_sorted());
                assert_eq!(degrees.draw(0), 1);
                assert!((1..=k).contains(&degrees.draw(u64::MAX)));
            }
        }
        let degrees = Degrees::new(ROBUST, 1000);
        let mut random = crate::siblings::random::SplitMix64::of_symbol(1, 1000, 0);
        let n = 100_000;
        let drawn: f64 = (0..n).map(|_| f64::from(degrees.draw(random.next()))).sum::<f64>() / f64::from(n);
        // The standard deviation of the degree is about 30 here, that of the mean of 1e5 of them 0.1.
        assert!((drawn - degrees.mean()).abs() < 0.5, "{drawn} against {}", degrees.mean());
    }

    #[test]
    fn parameters_are_checked() {
        for (c, delta) in
            [(0.0, 0.5), (-1.0, 0.5), (f64::NAN, 0.5), (101.0, 0.5), (0.1, 0.0), (0.1, 1.0), (0.1, f64::NAN)]
        {
            assert!(
                matches!(Soliton::Robust { c, delta }.check(), Err(FountainError::Parameter { .. })),
                "{c} {delta}"
            );
        }
        assert!(ROBUST.check().is_ok());
        // Extreme ones still give a distribution.
        for (c, delta) in [(1e-300, 0.5), (100.0, 1e-300), (1e-9, 0.999)] {
            let degrees = Degrees::new(Soliton::Robust { c, delta }.check().unwrap(), 64);
            assert!(degrees.cumulative.is_sorted() && (1..=64).contains(&degrees.draw(u64::MAX / 3)));
        }
    }
}
