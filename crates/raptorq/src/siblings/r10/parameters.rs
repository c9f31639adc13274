//! The numbers that K determines, and which intermediate symbols make an encoding symbol: RFC 5053 §5.4.

use super::tables::{J, RANDOM};
pub(super) use super::tables::{MAX_SOURCE_SYMBOLS, MIN_SOURCE_SYMBOLS};

/// §3.2 (the ESI has 16 bits): how many encoding symbols a block has.
pub(super) const ENCODING_SYMBOLS: u32 = 1 << 16;

/// §5.4.4.4: Q, the largest prime below 2^16.
const Q: u32 = 65_521;

/// The parameters of one K, in the RFC's letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameters {
    /// K: source symbols.
    pub(super) k: u32,
    /// S: LDPC symbols.
    pub(super) s: u32,
    /// H: half symbols.
    pub(super) h: u32,
    /// L = K + S + H: intermediate symbols.
    pub(super) l: u32,
    /// L': the smallest prime that is at least L.
    l_prime: u32,
    /// J(K): the systematic index.
    j: u32,
}

impl Parameters {
    /// The parameters for `k` source symbols, `k` being in range (§5.4.2.3).
    #[allow(clippy::many_single_char_names, reason = "the RFC's letters")]
    pub(super) fn new(k: u32) -> Self {
        let x = (1..=k).find(|x| x * (x - 1) >= 2 * k).expect("K (K - 1) is at least 2 K from K = 3 on");
        let s = prime_at_least(k.div_ceil(100) + x);
        let h = (1..k + s).find(|&h| choose(h, h.div_ceil(2)) >= k + s).expect("binomials grow faster");
        let l = k + s + h;
        let j = u32::from(J[(k - MIN_SOURCE_SYMBOLS) as usize]);
        Self { k, s, h, l, l_prime: prime_at_least(l), j }
    }

    /// §5.4.2.3: hands the LDPC symbols that intermediate symbol `i` below K is part of to `each`. They are distinct.
    pub(super) fn ldpc(&self, i: u32, mut each: impl FnMut(u32)) {
        let a = 1 + (i / self.s) % (self.s - 1);
        let mut b = i % self.s;
        each(b);
        b = (b + a) % self.s;
        each(b);
        b = (b + a) % self.s;
        each(b);
    }

    /// §5.4.2.3: `m[0, H']`, `m[1, H']`, .. `m[K+S-1, H']`. Bit h of `m[j, H']` says whether intermediate symbol j is part
    /// of half symbol h.
    pub(super) fn half(&self) -> impl Iterator<Item = u32> {
        let ones = self.h.div_ceil(2);
        // g[i], a Gray code, of which m is the subsequence with H' bits set.
        (0u32..).map(|i| i ^ (i >> 1)).filter(move |g| g.count_ones() == ones).take((self.k + self.s) as usize)
    }

    /// §5.4.4.3 and §5.4.4.4: hands the intermediate symbols that make encoding symbol `id` to `each`. They are distinct.
    pub(super) fn columns(&self, id: u32, mut each: impl FnMut(u32)) {
        let (d, a, mut b) = self.triple(id);
        let (l, l_prime) = (self.l, self.l_prime);
        let step = |b: u32| if b + a >= l_prime { b + a - l_prime } else { b + a };
        while b >= l {
            b = step(b);
        }
        each(b);
        for _ in 1..d.min(l) {
            b = step(b);
            while b >= l {
                b = step(b);
            }
            each(b);
        }
    }

    /// §5.4.4.4: `Trip[K, X]`, (d, a, b).
    fn triple(&self, x: u32) -> (u32, u32, u32) {
        let a = (53_591 + self.j * 997) % Q;
        let b = 10_267 * (self.j + 1) % Q;
        // Below 2^16 * 2^16 + 2^16: not in 32 bits.
        let y = ((u64::from(b) + u64::from(x) * u64::from(a)) % u64::from(Q)) as u32;
        (degree(rand(y, 0, 1 << 20)), 1 + rand(y, 1, self.l_prime - 1), rand(y, 2, self.l_prime))
    }
}

/// §5.4.4.1: `Rand[X, i, m]`, a value below `m`.
fn rand(x: u32, i: u32, m: u32) -> u32 {
    (RANDOM[0][((x + i) % 256) as usize] ^ RANDOM[1][((x / 256 + i) % 256) as usize]) % m
}

/// §5.4.4.2: `Deg[v]` for `v` below 2^20.
fn degree(v: u32) -> u32 {
    match v {
        0..10_241 => 1,
        10_241..491_582 => 2,
        491_582..712_794 => 3,
        712_794..831_695 => 4,
        831_695..948_446 => 10,
        948_446..1_032_189 => 11,
        _ => 40,
    }
}

/// `n` over `k`; saturates far above what is compared with it.
fn choose(n: u32, k: u32) -> u32 {
    // Each product is n over i + 1, times i + 1: divisible.
    (0..k).fold(1u64, |product, i| product * u64::from(n - i) / u64::from(i + 1)).try_into().unwrap_or(u32::MAX)
}

fn prime_at_least(n: u32) -> u32 {
    let is_prime = |&n: &u32| n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
    (n..2 * n).find(is_prime).expect("there is a prime between n and 2 n")
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn sorted(parameters: &Parameters, id: u32) -> Vec<u32> {
        let mut columns = Vec::new();
        parameters.columns(id, |column| columns.push(column));
        columns.sort_unstable();
        columns
    }

    // The RFC has no test vectors. These are published with other implementations: the values of the next three tests
    // are those of github.com/google/gofountain, raptor_test.go, which names a paper of Luby and Shokrollahi as the origin
    // of those for K = 10.

    #[test]
    fn functions_of_the_rfc() {
        assert_eq!(rand(1, 4, 150), 50);
        assert_eq!(rand(20_005, 19, 25), 6);
        assert_eq!(rand(2_180, 11, 1_383_483), 1_166_141);
        let degrees =
            [(0, 1), (10_240, 1), (10_241, 2), (715_000, 4), (1_000_000, 11), (1_034_300, 40), (1_048_575, 40)];
        assert!(degrees.iter().all(|&(v, d)| degree(v) == d));
        for (k, l, s, h) in [(10, 23, 7, 6), (13, 26, 7, 6), (14, 28, 7, 7), (500, 553, 41, 12), (5000, 5166, 151, 15)]
        {
            let parameters = Parameters::new(k);
            assert_eq!((parameters.l, parameters.s, parameters.h), (l, s, h), "K = {k}");
        }
    }

    #[test]
    fn triples_and_columns() {
        let triples =
            [(4, 0, (10, 13, 1)), (4, 4, (4, 6, 2)), (500, 514, (2, 107, 279)), (1000, 52_918, (3, 1070, 121))];
        for (k, x, triple) in triples {
            assert_eq!(Parameters::new(k).triple(x), triple, "Trip[{k}, {x}]");
        }
        let columns = [
            (4, 0, vec![1, 2, 3, 4, 6, 7, 8, 10, 11, 12]),
            (4, 4, vec![2, 3, 8, 9]),
            (100, 1, vec![51, 104]),
            (1000, 727, vec![306, 687, 1040]),
            (10, 57_279, vec![19, 20, 21, 22]),
        ];
        for (k, id, columns) in columns {
            assert_eq!(sorted(&Parameters::new(k), id), columns, "K = {k}, symbol {id}");
        }
    }

    #[test]
    fn ldpc_rows_for_k_10() {
        let parameters = Parameters::new(10);
        let mut rows = vec![Vec::new(); 7];
        for i in 0..10 {
            parameters.ldpc(i, |row| rows[row as usize].push(i));
        }
        assert_eq!(rows[0], [0, 5, 6, 7]);
        assert_eq!(rows[3], [1, 2, 3, 8]);
        assert_eq!(rows[4], [2, 3, 4, 7, 9]);
    }

    #[test]
    fn columns_are_distinct_and_exist_for_all_k() {
        for k in (MIN_SOURCE_SYMBOLS..=200).chain((200..=MAX_SOURCE_SYMBOLS).step_by(97)).chain([MAX_SOURCE_SYMBOLS]) {
            let parameters = Parameters::new(k);
            for id in (0..50).chain([ENCODING_SYMBOLS - 1]) {
                let columns = sorted(&parameters, id);
                assert!(columns.windows(2).all(|pair| pair[0] < pair[1]), "K = {k}, symbol {id}");
                assert!(columns.last().is_some_and(|&last| last < parameters.l));
            }
            for i in 0..k {
                let mut rows = Vec::new();
                parameters.ldpc(i, |row| rows.push(row));
                assert!(rows[0] != rows[1] && rows[1] != rows[2] && rows[0] != rows[2], "K = {k}, symbol {i}");
            }
            let half: Vec<u32> = parameters.half().collect();
            assert_eq!(half.len() as u32, k + parameters.s);
            assert!(half.iter().all(|&m| m < 1 << parameters.h && m.count_ones() == parameters.h.div_ceil(2)));
        }
    }

    #[test]
    fn symbols_repeat_after_q() {
        // Trip[K, X] depends on X modulo Q: the last 15 symbols are the first 15 once more.
        let parameters = Parameters::new(100);
        assert!((Q..ENCODING_SYMBOLS).all(|id| parameters.triple(id) == parameters.triple(id - Q)));
        assert_ne!(parameters.triple(15), parameters.triple(16));
    }
}
