//! The solver against the matrix of RFC 6330 §5.3.3.4.2, written out and solved densely; and its limits.

use alloc::vec;
use alloc::vec::Vec;

use super::peel::Peeling;
use super::{Received, Skeleton, Solver, Work, row_columns};
use crate::kernels::Kernels;
use crate::kernels::execute::{Chunk, Emission, Layout, Rows, Task, chunks};
use crate::kernels::program::{GatherList, MOST_SLOTS};
use crate::rfc::Parameters;
use crate::rfc::octet::{double, inverse, multiply};
use crate::rfc::parameters::MAX_SOURCE_SYMBOLS;
use crate::rfc::tuple::rand;
use crate::threads::Threads;

/// One more than the largest internal symbol id that all K' have.
const IDS: u32 = 1 << 24;

/// Numbers without pattern (`SplitMix64`).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % u64::from(bound)) as u32
    }
}

/// Which symbols of a block of K' = K arrive: all source symbols but `lost`, and repair symbols from anywhere.
fn arrivals(numbers: &mut Numbers, k: u32, lost: u32, repairs: u32) -> (Vec<u32>, Vec<u32>) {
    let mut sources: Vec<u32> = (0..k).collect();
    let mut missing: Vec<u32> =
        (0..lost).map(|_| sources.swap_remove(numbers.below(sources.len() as u32) as usize)).collect();
    missing.sort_unstable();
    let first = k + numbers.below(IDS - k - repairs);
    (missing, (first..first + repairs).collect())
}

/// The rows that are always there: LDPC, with the identity of §5.3.3.3's `I_S`, and HDPC, as the product of the matrices
/// `MT` and `GAMMA`, with `I_H`.
fn constraints(parameters: &Parameters) -> Vec<Vec<u8>> {
    let &Parameters { k_prime, s, h, w, l, p, .. } = parameters;
    let mut rows = vec![vec![0; l as usize]; (s + h) as usize];
    for i in 0..parameters.b() {
        let a = 1 + i / s;
        for row in [i % s, (i % s + a) % s, (i % s + 2 * a) % s] {
            rows[row as usize][i as usize] ^= 1;
        }
    }
    for i in 0..s {
        for column in [parameters.b() + i, w + i % p, w + (i + 1) % p] {
            rows[i as usize][column as usize] ^= 1;
        }
    }
    let width = (k_prime + s) as usize;
    let alpha = |exponent: usize| (0..exponent).fold(1, |power, _| double(power));
    let mut mt = vec![vec![0; width]; h as usize];
    for y in 1..k_prime + s {
        for row in [rand(y, 6, h), (rand(y, 6, h) + rand(y, 7, h - 1) + 1) % h] {
            mt[row as usize][y as usize - 1] = 1;
        }
    }
    for (i, row) in mt.iter_mut().enumerate() {
        row[width - 1] = alpha(i);
    }
    for i in 0..h as usize {
        let row = &mut rows[s as usize + i];
        for (j, &entry) in mt[i].iter().enumerate().filter(|(_, entry)| **entry != 0) {
            // Row j of GAMMA: alpha^(j - column) up to the diagonal.
            let mut power = entry;
            for column in (0..=j).rev() {
                row[column] ^= power;
                power = double(power);
            }
        }
        row[width + i] ^= 1;
    }
    rows
}

/// The rank of `rows`.
fn rank(mut rows: Vec<Vec<u8>>) -> usize {
    let mut rank = 0;
    for column in 0..rows[0].len() {
        let Some(found) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else { continue };
        rows.swap(rank, found);
        let (above, below) = rows.split_at_mut(rank + 1);
        let pivot = &above[rank];
        let scale = inverse(pivot[column]);
        for row in below.iter_mut().filter(|row| row[column] != 0) {
            let factor = multiply(scale, row[column]);
            row.iter_mut().zip(pivot).for_each(|(to, &from)| *to ^= multiply(factor, from));
        }
        rank += 1;
    }
    rank
}

/// All rows that a receiver has: constraints, then received ones.
fn dense_matrix(skeleton: &Skeleton, received: Received<'_>) -> Vec<Vec<u8>> {
    let parameters = &skeleton.parameters;
    let mut rows = constraints(parameters);
    let sources = (0..parameters.k_prime).filter(|isi| !received.lost.contains(isi));
    for isi in sources.chain(received.repairs.iter().copied()) {
        let mut row = vec![0; parameters.l as usize];
        row_columns(parameters, isi, |column| row[column as usize] ^= 1);
        rows.push(row);
    }
    rows
}

#[test]
fn programs_solve_what_the_dense_matrix_says_they_can() {
    let kernels = Kernels::best();
    let mut numbers = Numbers(1);
    let mut solver = Solver::default();
    let mut failures = 0;
    let (sizes, trials): (&[u32], u32) = if cfg!(miri) { (&[10], 2) } else { (&[10, 12, 26, 55, 101], 120) };
    for &k in sizes {
        let skeleton = Skeleton::new(Parameters::of(k).unwrap());
        let k = skeleton.parameters.k_prime;
        for trial in 0..trials {
            let lost = [k, 1 + numbers.below(k)][trial as usize % 2];
            // Often too few, or just enough.
            let repairs = (lost + numbers.below(4)).saturating_sub(1);
            let (lost, repairs) = arrivals(&mut numbers, k, lost, repairs);
            let received = Received { lost: &lost, repairs: &repairs };
            let matrix = dense_matrix(&skeleton, received);
            let missing = matrix[0].len() - rank(matrix.clone());
            let what = alloc::format!("K' = {k}, {} lost, {} repair symbols", lost.len(), repairs.len());
            if let Err(deficit) = solver.solve(kernels, &skeleton, received, &mut Work::unlimited()) {
                assert!(deficit.symbols >= 1 && deficit.symbols as usize <= missing, "{what}: {deficit:?}");
                failures += 1;
            } else {
                assert_eq!(missing, 0, "{what}");
                solves(kernels, &skeleton, &solver, received, &matrix, &mut numbers, &what);
            }
        }
    }
    assert!(cfg!(miri) || failures > 50, "only {failures} failures");
}

/// Runs the solver's program over symbols that the rows of `matrix` may have, and puts the result into those rows.
fn solves(
    kernels: Kernels,
    skeleton: &Skeleton,
    solver: &Solver,
    received: Received<'_>,
    matrix: &[Vec<u8>],
    numbers: &mut Numbers,
    what: &str,
) {
    let Parameters { k_prime, s, h, l, .. } = skeleton.parameters;
    // Any symbols that a block can have will do, and those of an encoder are such: its intermediate symbols are what
    // the constraints leave free.
    let mut plan = Solver::default();
    plan.solve(kernels, skeleton, Received { lost: &[], repairs: &[] }, &mut Work::unlimited()).unwrap();
    let mut block: Vec<u8> = (0..k_prime).map(|_| numbers.below(256) as u8).collect();
    let expected = intermediate(kernels, skeleton, &plan, &block, &[]);
    let symbols: Vec<u8> =
        matrix.iter().map(|row| row.iter().zip(&expected).fold(0, |sum, (&a, &c)| sum ^ multiply(a, c))).collect();
    let (zero, symbols) = symbols.split_at((s + h) as usize);
    assert!(zero.iter().all(|&byte| byte == 0), "{what}: the constraints hold");
    let (sources, repairs) = symbols.split_at((k_prime as usize) - received.lost.len());
    let kept = (0..k_prime).filter(|isi| !received.lost.contains(isi));
    kept.zip(sources).for_each(|(isi, &symbol)| assert_eq!(symbol, block[isi as usize], "{what}: systematic"));
    // What was lost must not matter.
    received.lost.iter().for_each(|&isi| block[isi as usize] ^= 0x5a);
    let found = intermediate(kernels, skeleton, solver, &block, repairs);
    assert_eq!(found.len(), l as usize);
    assert!(found == expected, "{what}: other intermediate symbols");
}

/// The intermediate symbols that the solver's program makes of symbols of one byte. The work area is full of what no
/// program may read.
fn intermediate(kernels: Kernels, skeleton: &Skeleton, solver: &Solver, block: &[u8], repairs: &[u8]) -> Vec<u8> {
    let program = solver.program();
    let (width, layout) = (2, Layout::Keep);
    let task = Task {
        program,
        hdpc: &skeleton.hdpc,
        symbol_size: 1,
        block: Rows::Read(block),
        repairs: Rows::Read(repairs),
        emit: &GatherList::default(),
        emission: Emission::Block,
        width,
        layout,
        threads: Threads::default(),
    };
    let mut area = vec![Chunk([0xc3; 64]); chunks(&task)];
    kernels.execute(task, &mut area);
    area.chunks(width).take(program.columns).map(|slot| slot[0].0[0]).collect()
}

#[test]
fn columns_are_peeled_in_an_order_in_which_each_row_has_one_left() {
    let mut numbers = Numbers(2);
    let mut peeling = Peeling::default();
    let sizes: &[u32] = if cfg!(miri) { &[10] } else { &[10, 101, 1002, 5008] };
    for &k in sizes {
        let skeleton = Skeleton::new(Parameters::of(k).unwrap());
        let Parameters { w, l, k_prime, .. } = skeleton.parameters;
        for lost in [0, 1, k_prime / 10, k_prime / 2, k_prime] {
            let (lost, repairs) = arrivals(&mut numbers, k_prime, lost, lost + 2);
            peeling.start(&skeleton, lost.iter().copied());
            for &isi in &repairs {
                peeling.add_row(w as u16, |columns| {
                    row_columns(&skeleton.parameters, isi, |column| columns.push(column as u16));
                });
            }
            assert!(peeling.run(&skeleton, l as usize, &mut Work::unlimited()));
            // Every column has one fate, and those from W on are never peeled.
            let mut fates = vec![0; l as usize];
            peeling.inactive.iter().for_each(|&column| fates[column as usize] += 1);
            peeling.pivots.iter().for_each(|pivot| fates[pivot.column as usize] += 1);
            assert!(fates.iter().all(|&fate| fate == 1));
            assert!(peeling.inactive.ends_with(&(w as u16..l as u16).collect::<Vec<_>>()));
            // In a peeled row the other columns are known: set aside, or peeled before.
            let mut known = vec![false; l as usize];
            peeling.inactive.iter().for_each(|&column| known[column as usize] = true);
            let mut used = vec![false; skeleton.rows() + repairs.len()];
            for pivot in &peeling.pivots {
                let row = peeling.row(&skeleton, pivot.row);
                assert!(row.contains(&pivot.column));
                assert!(row.iter().all(|&column| known[column as usize] != (column == pivot.column)));
                assert!(!lost.contains(&pivot.row), "row {} was not received", pivot.row);
                assert!(!core::mem::replace(&mut used[pivot.row as usize], true), "row {} twice", pivot.row);
                known[pivot.column as usize] = true;
            }
            // What is left is left over.
            let residual: Vec<u32> = peeling.residual_rows().collect();
            assert_eq!(residual.len() + peeling.pivots.len() + lost.len(), used.len());
            assert!(residual.iter().all(|&row| !used[row as usize] && !lost.contains(&row)));
        }
    }
}

/// The `count` ids from K' on whose rows have the most columns.
fn long_rows(parameters: &Parameters, count: usize) -> Vec<u32> {
    let mut ids = Vec::with_capacity(count);
    for isi in parameters.k_prime..IDS {
        let mut columns = 0;
        row_columns(parameters, isi, |_| columns += 1);
        if columns >= 30 {
            ids.push(isi);
            if ids.len() == count {
                break;
            }
        }
    }
    ids
}

#[test]
fn ids_that_leave_no_short_row_are_refused_before_they_take_all_time_and_memory() {
    let kernels = Kernels::best();
    let mut solver = Solver::default();
    let sizes: &[u32] = if cfg!(miri) { &[] } else { &[101, 1002, 20_000, MAX_SOURCE_SYMBOLS] };
    for &k in sizes {
        let skeleton = Skeleton::new(Parameters::of(k).unwrap());
        let k = skeleton.parameters.k_prime;
        let lost: Vec<u32> = (0..k).collect();
        let repairs = long_rows(&skeleton.parameters, k as usize + 4);
        let solved =
            solver.solve(kernels, &skeleton, Received { lost: &lost, repairs: &repairs }, &mut Work::unlimited());
        // Such rows are as independent as any, so that nothing but the limit can refuse them.
        assert_eq!(solved.is_ok(), k < 5000, "K' = {k}: {solved:?}");
        assert!(solved.is_err() || solver.program().slots() <= MOST_SLOTS);
        // The solver goes on as if nothing had been.
        let (lost, repairs) = arrivals(&mut Numbers(k.into()), k, k / 10, k / 10 + 5);
        assert_eq!(
            solver.solve(kernels, &skeleton, Received { lost: &lost, repairs: &repairs }, &mut Work::unlimited()),
            Ok(())
        );
    }
}

#[test]
fn ordinary_losses_stay_far_from_the_limits() {
    let kernels = Kernels::best();
    let mut solver = Solver::default();
    let sizes: &[u32] = if cfg!(miri) { &[] } else { &[1002, 10_017, MAX_SOURCE_SYMBOLS] };
    for &k in sizes {
        let skeleton = Skeleton::new(Parameters::of(k).unwrap());
        let k = skeleton.parameters.k_prime;
        for lost in [0, k / 100, k / 20, k / 3, k / 2, k] {
            let (lost, repairs) = arrivals(&mut Numbers(lost.into()), k, lost, lost + 4);
            assert_eq!(
                solver.solve(kernels, &skeleton, Received { lost: &lost, repairs: &repairs }, &mut Work::unlimited()),
                Ok(())
            );
            let inactive = solver.program().inactive.len();
            assert!(inactive < super::solver::MOST_INACTIVE / 3, "K' = {k}, {} lost: {inactive}", lost.len());
        }
    }
}
