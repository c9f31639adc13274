//! The numbers that a block's symbol count determines (RFC 6330 §5.3.3.3 and §5.6).

use super::tables::SYSTEMATIC;

/// The largest number of source symbols in a block (§5.1.2, `K'_max`).
pub(crate) const MAX_SOURCE_SYMBOLS: u32 = 56_403;

/// The parameters of one K', in the RFC's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case, reason = "the RFC's letters, W and w being different things there")]
pub(crate) struct Parameters {
    /// K': source symbols of the extended block.
    pub(crate) k_prime: u32,
    /// J(K'): the systematic index, which seeds the tuples.
    pub(crate) j: u32,
    /// S(K'): LDPC symbols.
    pub(crate) s: u32,
    /// H(K'): HDPC symbols.
    pub(crate) h: u32,
    /// W(K'): LT symbols, which are the first columns.
    pub(crate) w: u32,
    /// L = K' + S + H: intermediate symbols.
    pub(crate) l: u32,
    /// P = L - W: permanently inactive symbols, the last columns.
    pub(crate) p: u32,
    /// P1: the smallest prime that is at least P.
    pub(crate) p1: u32,
}

impl Parameters {
    /// The parameters for a block of `source_symbols`: those of the smallest K' that is not below it.
    ///
    /// `None` when `source_symbols` is 0 or above [`MAX_SOURCE_SYMBOLS`].
    pub(crate) fn of(source_symbols: u32) -> Option<Self> {
        if source_symbols == 0 {
            return None;
        }
        let row = SYSTEMATIC.partition_point(|row| row.0 < source_symbols);
        let &(k_prime, j, s, h, w) = SYSTEMATIC.get(row)?;
        let l = k_prime + s + h;
        let p = l - w;
        let p1 = (p..2 * p).find(|&n| is_prime(n)).expect("there is a prime between a number and its double");
        Some(Self { k_prime, j, s, h, w, l, p, p1 })
    }

    /// B = W - S: the LT symbols that are not LDPC symbols.
    pub(crate) fn b(&self) -> u32 {
        self.w - self.s
    }
}

fn is_prime(n: u32) -> bool {
    n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_count_gets_the_next_class() {
        assert_eq!(Parameters::of(0), None);
        assert_eq!(Parameters::of(MAX_SOURCE_SYMBOLS + 1), None);
        assert_eq!(Parameters::of(1).unwrap().k_prime, 10);
        assert_eq!(Parameters::of(10).unwrap().k_prime, 10);
        assert_eq!(Parameters::of(11).unwrap().k_prime, 12);
        assert_eq!(Parameters::of(MAX_SOURCE_SYMBOLS).unwrap().k_prime, MAX_SOURCE_SYMBOLS);
    }

    #[test]
    fn the_table_has_the_properties_the_rfc_asks_for() {
        // §5.3.3.3: S and W are primes; and S, H, P1 are as the text derives them.
        for &(k_prime, ..) in &SYSTEMATIC {
            let parameters = Parameters::of(k_prime).unwrap();
            assert_eq!(parameters.k_prime, k_prime);
            assert!(is_prime(parameters.s), "S of {k_prime}");
            assert!(is_prime(parameters.w), "W of {k_prime}");
            assert!(parameters.p1 >= parameters.p && parameters.p >= parameters.h);
            assert!(parameters.l < 1 << 16, "columns must fit 16 bits");
        }
    }
}
