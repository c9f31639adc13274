//! Which intermediate symbols make an encoding symbol: RFC 6330 §5.3.5.

use super::Parameters;
use super::tables::{DEGREE, RANDOM};

/// §5.3.5.1: `Rand[y, i, m]`, a value below `m`.
pub(crate) fn rand(y: u32, i: u32, m: u32) -> u32 {
    let at = |table: usize, shift: u32| RANDOM[table][((y >> shift).wrapping_add(i) & 0xff) as usize];
    (at(0, 0) ^ at(1, 8) ^ at(2, 16) ^ at(3, 24)) % m
}

/// §5.3.5.2: `Deg[v]`, the LT degree for `v` below 2^20.
pub(crate) fn degree(v: u32, w: u32) -> u32 {
    // Half of all symbols have degree 2, and most of the others little more: a scan from below is short.
    let d = DEGREE.iter().position(|&f| v < f).expect("v is below 2^20, the table's last entry") as u32;
    d.min(w - 2)
}

/// §5.3.5.4: `Tuple[K', X]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuple {
    d: u32,
    a: u32,
    b: u32,
    d1: u32,
    a1: u32,
    b1: u32,
}

impl Tuple {
    /// The tuple of the internal symbol id (ISI) `x`.
    pub(crate) fn new(parameters: &Parameters, x: u32) -> Self {
        let &Parameters { j, w, p1, .. } = parameters;
        let a = 53_591 + j * 997;
        let a = if a.is_multiple_of(2) { a + 1 } else { a };
        let b = 10_267 * (j + 1);
        let y = b.wrapping_add(x.wrapping_mul(a));
        let d = degree(rand(y, 0, 1 << 20), w);
        Self {
            d,
            a: 1 + rand(y, 1, w - 1),
            b: rand(y, 2, w),
            d1: if d < 4 { 2 + rand(x, 3, 2) } else { 2 },
            a1: 1 + rand(x, 4, p1 - 1),
            b1: rand(x, 5, p1),
        }
    }

    /// Hands the columns of the symbol's row to `each`: first those below W, then those of the permanently inactive
    /// symbols (§5.3.5.3, the order of `Enc[]`). No column comes twice.
    #[inline]
    pub(crate) fn columns(self, parameters: &Parameters, mut each: impl FnMut(u32)) {
        let &Parameters { w, p, p1, .. } = parameters;
        let mut b = self.b;
        each(b);
        for _ in 1..self.d {
            b += self.a;
            if b >= w {
                b -= w;
            }
            each(b);
        }
        let mut b1 = self.b1;
        let step = |b1: u32| if b1 + self.a1 >= p1 { b1 + self.a1 - p1 } else { b1 + self.a1 };
        while b1 >= p {
            b1 = step(b1);
        }
        each(w + b1);
        for _ in 1..self.d1 {
            b1 = step(b1);
            while b1 >= p {
                b1 = step(b1);
            }
            each(w + b1);
        }
    }
}
