//! GF(256) as RFC 6330 §5.7 defines it: polynomials over GF(2) modulo x^8 + x^4 + x^3 + x^2 + 1, of which 2 is a
//! generator.

/// The reduction polynomial, without its leading term.
pub(crate) const POLYNOMIAL: u8 = 0x1d;

/// §5.7.3: `OCT_EXP`, the powers of 2, twice over so that a sum of two logarithms needs no reduction.
pub(crate) const EXP: [u8; 510] = {
    let mut table = [0; 510];
    let mut value = 1u8;
    let mut i = 0;
    while i < 510 {
        table[i] = value;
        value = double(value);
        i += 1;
    }
    table
};

/// §5.7.4: `OCT_LOG`, with an unused entry for 0.
pub(crate) const LOG: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 255 {
        table[EXP[i] as usize] = i as u8;
        i += 1;
    }
    table
};

/// 2 * `value`.
pub(crate) const fn double(value: u8) -> u8 {
    (value << 1) ^ (if value & 0x80 == 0 { 0 } else { POLYNOMIAL })
}

/// §5.7.2: the product.
#[allow(dead_code, reason = "only kernels with tables of products need it, and not every architecture has such")]
pub(crate) const fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 { 0 } else { EXP[LOG[a as usize] as usize + LOG[b as usize] as usize] }
}

/// §5.7.2: 1 / `value`. The inverse of 0 does not exist; this returns 1 for it.
pub(crate) const fn inverse(value: u8) -> u8 {
    EXP[255 - LOG[value as usize] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_powers_are_those_of_the_rfc() {
        // The first line of OCT_EXP in §5.7.3.
        assert_eq!(EXP[..16], [1, 2, 4, 8, 16, 32, 64, 128, 29, 58, 116, 232, 205, 135, 19, 38]);
        assert_eq!(EXP[254], 142);
        assert_eq!(EXP[255], 1);
    }

    #[test]
    fn every_octet_has_its_inverse_and_products_are_those_of_polynomials() {
        for a in 0..=255u8 {
            if a != 0 {
                assert_eq!(multiply(a, inverse(a)), 1);
            }
            for b in 0..=255u8 {
                let (mut product, mut shifted) = (0, a);
                for bit in 0..8 {
                    if b >> bit & 1 == 1 {
                        product ^= shifted;
                    }
                    shifted = double(shifted);
                }
                assert_eq!(multiply(a, b), product);
            }
        }
    }
}
