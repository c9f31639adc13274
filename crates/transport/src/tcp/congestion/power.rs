//! Powers that are the same on every machine: D2TCP's, L2DCT's and FA-DCTCP's reductions are by `alpha^exponent`.

/// `base^exponent` for a base from 0 to 1 and an exponent of 0 or more, from square roots, which IEEE 754 rounds the same on
/// every machine: the bits of the exponent say which of the base's 2^-k-th powers are factors.
pub(super) fn power(base: f64, exponent: f64) -> f64 {
    let (mut root, mut weight, mut rest, mut product) = (base, 1.0, exponent, 1.0);
    while rest >= 1.0 {
        product *= base;
        rest -= 1.0;
    }
    for _ in 0..32 {
        (root, weight) = (root.sqrt(), weight / 2.0);
        if rest >= weight {
            product *= root;
            rest -= weight;
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_library() {
        for base in [0.0, 1e-9, 0.01, 0.3, 0.6, 0.999, 1.0f64] {
            for exponent in [0.125, 0.5, 0.625, 0.8, 1.0, 1.1, 1.9, 2.0, 2.5, 6.0] {
                let (own, exact) = (power(base, exponent), base.powf(exponent));
                assert!((own - exact).abs() <= 1e-8 * exact, "{base}^{exponent}: {own}, not {exact}");
            }
        }
    }
}
