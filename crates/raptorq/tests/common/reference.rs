//! RFC 6330 read aloud: dense matrices, Gaussian elimination over GF(256), nothing clever, nothing shared.
//!
//! It uses no code and no table of the crate: the tables come from the files in `tests/data`, the arithmetic is that of
//! polynomials, the matrix `A` of §5.3.3.4.2 is assembled from its named parts, and `G_HDPC` is the product of the two
//! matrices `MT` and `GAMMA`. So it finds what two codecs that know each other could both have wrong. Its cost is cubic:
//! it is for blocks of some tens of symbols.

/// One of the files of `tests/data/rfc6330`: its rows of numbers, without comments and the line of names.
fn table(text: &str) -> impl Iterator<Item = Vec<u32>> {
    text.lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
        .map(|line| line.split(',').map(|field| field.parse().expect("a number")).collect())
}

/// §5.6, Table 2: K', J, S, H, W, a row for each of the 477 K'.
pub(crate) fn systematic_indices() -> Vec<[u32; 5]> {
    let rows = table(include_str!("../data/rfc6330/table2_systematic_indices.csv"));
    rows.map(|row| row.try_into().expect("five columns")).collect()
}

/// GF(256), §5.7: the product of two polynomials modulo x^8 + x^4 + x^3 + x^2 + 1.
fn multiply(a: u8, b: u8) -> u8 {
    let mut product = 0;
    for bit in (0..8).rev() {
        let overflow = product & 0x80 != 0;
        product <<= 1;
        if overflow {
            product ^= 0b0001_1101;
        }
        if b >> bit & 1 == 1 {
            product ^= a;
        }
    }
    product
}

/// `alpha ^^ exponent`, alpha being 2 (§5.3.3.3).
fn alpha(exponent: u32) -> u8 {
    (0..exponent).fold(1, |power, _| multiply(power, 2))
}

/// 1 / `value`, by search.
fn inverse(value: u8) -> u8 {
    (1..=255).find(|&candidate| multiply(candidate, value) == 1).expect("only 0 has no inverse")
}

/// `row += factor * other`.
fn add_multiple(row: &mut [u8], factor: u8, other: &[u8]) {
    for (a, &b) in row.iter_mut().zip(other) {
        *a ^= multiply(factor, b);
    }
}

/// The code for one K', in the RFC's letters.
#[allow(non_snake_case, reason = "the RFC's letters")]
pub(crate) struct Reference {
    K: u32,
    J: u32,
    S: u32,
    H: u32,
    W: u32,
    L: u32,
    P: u32,
    P1: u32,
    V: [Vec<u32>; 4],
    f: Vec<u32>,
}

#[allow(non_snake_case, clippy::many_single_char_names, reason = "the RFC's letters")]
impl Reference {
    /// The code of the smallest K' that is at least `source_symbols`.
    pub(crate) fn new(source_symbols: u32) -> Self {
        let rows = systematic_indices();
        let &[K, J, S, H, W] = rows.iter().find(|row| row[0] >= source_symbols).expect("K is at most 56403");
        let L = K + S + H;
        let P = L - W;
        let P1 = (P..2 * P).find(|n| (2..*n).all(|d| n % d != 0)).expect("there is a prime between P and 2P");
        let random: Vec<Vec<u32>> = table(include_str!("../data/rfc6330/rand_tables_v0_v1_v2_v3.csv")).collect();
        let V = [1, 2, 3, 4].map(|column| random.iter().map(|row| row[column]).collect());
        let f = table(include_str!("../data/rfc6330/degree_distribution.csv")).map(|row| row[1]).collect();
        Self { K, J, S, H, W, L, P, P1, V, f }
    }

    /// K'.
    pub(crate) fn extended_symbols(&self) -> u32 {
        self.K
    }

    /// L: how many intermediate symbols there are.
    pub(crate) fn intermediate_symbols(&self) -> usize {
        self.L as usize
    }

    /// §5.3.5.1: `Rand[y, i, m]`.
    fn rand(&self, y: u32, i: u32, m: u32) -> u32 {
        let x = |table: usize, divisor: u32| self.V[table][((y / divisor + i) % 256) as usize];
        (x(0, 1) ^ x(1, 1 << 8) ^ x(2, 1 << 16) ^ x(3, 1 << 24)) % m
    }

    /// §5.3.5.2: `Deg[v]`.
    fn degree(&self, v: u32) -> u32 {
        let d = (1..self.f.len()).find(|&d| self.f[d - 1] <= v && v < self.f[d]).expect("v is below 2^20");
        (d as u32).min(self.W - 2)
    }

    /// The LT degree `d` of §5.3.5.4's tuple for the internal symbol id `X`, and `y`, which the rest of it comes from.
    fn lt_degree(&self, X: u32) -> (u32, u32) {
        let mut A = 53_591 + self.J * 997;
        if A.is_multiple_of(2) {
            A += 1;
        }
        let B = 10_267 * (self.J + 1);
        let y = ((u64::from(B) + u64::from(X) * u64::from(A)) % (1 << 32)) as u32;
        (self.degree(self.rand(y, 0, 1 << 20)), y)
    }

    /// The LT degree of the repair symbol `esi` of a block of `source_symbols`.
    pub(crate) fn repair_degree(&self, source_symbols: u32, esi: u32) -> u32 {
        self.lt_degree(esi + self.K - source_symbols).0
    }

    /// §5.3.5.3 with the tuple of §5.3.5.4: the row of `G_ENC` for the internal symbol id `X`, as L octets.
    fn enc_row(&self, X: u32) -> Vec<u8> {
        let (d, y) = self.lt_degree(X);
        let a = 1 + self.rand(y, 1, self.W - 1);
        let mut b = self.rand(y, 2, self.W);
        let d1 = if d < 4 { 2 + self.rand(X, 3, 2) } else { 2 };
        let a1 = 1 + self.rand(X, 4, self.P1 - 1);
        let mut b1 = self.rand(X, 5, self.P1);

        let mut row = vec![0; self.L as usize];
        row[b as usize] ^= 1;
        for _ in 1..d {
            b = (b + a) % self.W;
            row[b as usize] ^= 1;
        }
        while b1 >= self.P {
            b1 = (b1 + a1) % self.P1;
        }
        row[(self.W + b1) as usize] ^= 1;
        for _ in 1..d1 {
            b1 = (b1 + a1) % self.P1;
            while b1 >= self.P {
                b1 = (b1 + a1) % self.P1;
            }
            row[(self.W + b1) as usize] ^= 1;
        }
        row
    }

    /// §5.3.3.3, the LDPC relations: S rows whose products with the intermediate symbols are zero.
    fn ldpc_rows(&self) -> Vec<Vec<u8>> {
        let [S, W, P] = [self.S, self.W, self.P].map(|n| n as usize);
        let B = W - S;
        let mut D = vec![vec![0; self.L as usize]; S];
        for (i, row) in D.iter_mut().enumerate() {
            row[B + i] ^= 1;
        }
        #[allow(clippy::needless_range_loop, reason = "the loop of the RFC")]
        for i in 0..B {
            let a = 1 + i / S;
            let mut b = i % S;
            D[b][i] ^= 1;
            b = (b + a) % S;
            D[b][i] ^= 1;
            b = (b + a) % S;
            D[b][i] ^= 1;
        }
        for (i, row) in D.iter_mut().enumerate() {
            row[W + i % P] ^= 1;
            row[W + (i + 1) % P] ^= 1;
        }
        D
    }

    /// §5.3.3.3, the HDPC relations: `[MT * GAMMA, I_H]`.
    fn hdpc_rows(&self) -> Vec<Vec<u8>> {
        let (H, columns) = (self.H, self.K + self.S);
        let n = columns as usize;
        let mut MT = vec![vec![0u8; n]; H as usize];
        for j in 0..columns - 1 {
            let first = self.rand(j + 1, 6, H);
            let second = (first + self.rand(j + 1, 7, H - 1) + 1) % H;
            MT[first as usize][j as usize] = 1;
            MT[second as usize][j as usize] = 1;
        }
        for i in 0..H {
            MT[i as usize][n - 1] = alpha(i);
        }
        let mut GAMMA = vec![vec![0u8; n]; n];
        for i in 0..columns {
            for j in 0..=i {
                // alpha has order 255.
                GAMMA[i as usize][j as usize] = alpha((i - j) % 255);
            }
        }
        let mut rows = vec![vec![0u8; self.L as usize]; H as usize];
        for (i, row) in rows.iter_mut().enumerate() {
            for (j, &factor) in MT[i].iter().enumerate() {
                add_multiple(&mut row[..n], factor, &GAMMA[j]);
            }
            row[n + i] = 1;
        }
        rows
    }

    /// §5.3.3.4.2 and §5.4.2.1: `A`, the S + H relations and below them a row for each internal symbol id.
    pub(crate) fn matrix(&self, isis: impl IntoIterator<Item = u32>) -> Vec<Vec<u8>> {
        let mut A = self.ldpc_rows();
        A.extend(self.hdpc_rows());
        A.extend(isis.into_iter().map(|isi| self.enc_row(isi)));
        A
    }

    /// The intermediate symbols that give `symbols`, each with its internal symbol id; `None` if they are not determined.
    pub(crate) fn solve(&self, symbols: &[(u32, Vec<u8>)]) -> Option<Vec<Vec<u8>>> {
        let size = symbols.first()?.1.len();
        let zero = vec![0; size];
        let relations = std::iter::repeat_n(&zero, (self.S + self.H) as usize);
        let D = relations.chain(symbols.iter().map(|(_, symbol)| symbol));
        let A = self.matrix(symbols.iter().map(|&(isi, _)| isi));
        // A row of `A` and its symbol go through the elimination as one.
        let mut rows: Vec<Vec<u8>> = A.into_iter().zip(D).map(|(row, symbol)| [&row, &symbol[..]].concat()).collect();
        let rank = eliminate(&mut rows, self.L as usize);
        (rank == self.L as usize).then(|| rows.drain(..rank).map(|mut row| row.split_off(self.L as usize)).collect())
    }

    /// §5.3.5.3: the encoding symbol with the internal symbol id `isi`.
    pub(crate) fn encode(&self, intermediate: &[Vec<u8>], isi: u32) -> Vec<u8> {
        let mut symbol = vec![0; intermediate[0].len()];
        for (&factor, c) in self.enc_row(isi).iter().zip(intermediate) {
            add_multiple(&mut symbol, factor, c);
        }
        symbol
    }
}

/// Brings the first `columns` columns to reduced row echelon form and returns their rank.
pub(crate) fn eliminate(rows: &mut [Vec<u8>], columns: usize) -> usize {
    let mut rank = 0;
    for column in 0..columns {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else { continue };
        rows.swap(rank, pivot);
        let scale = inverse(rows[rank][column]);
        let pivot: Vec<u8> = rows[rank].iter().map(|&octet| multiply(scale, octet)).collect();
        for (index, row) in rows.iter_mut().enumerate() {
            if index != rank && row[column] != 0 {
                let factor = row[column];
                add_multiple(row, factor, &pivot);
            }
        }
        rows[rank] = pivot;
        rank += 1;
    }
    rank
}
