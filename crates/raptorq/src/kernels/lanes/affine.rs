//! Multiplication by a constant as an 8x8 bit matrix, for the Galois field instructions.
//!
//! `vgf2p8mulb` multiplies modulo another polynomial (0x11B) and is of no use here. The affine transformation
//! `vgf2p8affineqb` takes any matrix, and multiplication by a constant is linear over GF(2).

use crate::rfc::octet::multiply;

/// The matrix of each coefficient: byte `7 - i` is row `i`, whose bit `j` says whether bit `j` of the operand
/// contributes to bit `i` of the product (Intel's SDM, GF2P8AFFINEQB).
pub(crate) static MATRICES: [u64; 256] = {
    let mut matrices = [0; 256];
    let mut coefficient = 0;
    while coefficient < 256 {
        let mut j = 0;
        while j < 8 {
            let column = multiply(coefficient as u8, 1 << j);
            let mut i = 0;
            while i < 8 {
                if column >> i & 1 == 1 {
                    matrices[coefficient] |= 1 << (8 * (7 - i) + j);
                }
                i += 1;
            }
            j += 1;
        }
        coefficient += 1;
    }
    matrices
};
