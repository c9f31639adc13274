//! Measurements beyond the main tables, for the first T.

use crate::bench::{Bench, Process, Speed};
use crate::clock::Clock;
use crate::measure::{Stats, Timed};
use crate::ours::{self, Target};
use crate::peer;
use crate::report::{heading, table};
use crate::tables::EXTRA;
use crate::workload::{Workload, losses};
use anabranch_raptorq::Level;
use std::sync::Barrier;

/// Repair symbols that are made at a time once the block is encoded.
const REPAIRS: usize = 100;

/// Those of `source_symbols` that are measured at all.
fn measured<const N: usize>(bench: &Bench, source_symbols: [u32; N]) -> impl Iterator<Item = u32> {
    source_symbols.into_iter().filter(|k| bench.options.source_symbols.contains(k))
}

/// A section, unless none of its measurements was done.
fn unless_empty<const N: usize>(title: &str, about: &str, head: [&str; N], rows: &[Vec<String>]) -> String {
    let head = head.map(str::to_owned);
    if rows.is_empty() { String::new() } else { heading(title) + about + "\n\n" + &table(&head, rows) }
}

/// How many times faster ours is.
fn ratio(ours: Stats, peer: Stats) -> String {
    format!("**{:.2}x**", peer.median / ours.median)
}

/// Speeds as they are shown.
fn speeds(bytes: usize, stats: &[Stats]) -> impl Iterator<Item = String> {
    stats.iter().map(move |&stats| Speed::new(bytes, stats).to_string())
}

/// Making plans.
pub(crate) fn plans(bench: &Bench) -> String {
    let mut rows = Vec::new();
    for &source_symbols in &bench.options.source_symbols {
        let stats = bench.measure(&format!("plan/K={source_symbols}"), |process| {
            process.compete(1, [Box::new(ours::Generate(source_symbols)), Box::new(peer::Generate(source_symbols))])
        });
        let Some(stats) = stats else { continue };
        let mut row = vec![source_symbols.to_string()];
        row.extend(stats.iter().map(|stats| format!("{:.1} ±{:.0} %", stats.median * 1e6, stats.spread())));
        row.push(ratio(stats[0], stats[1]));
        row.push(format!("{:.3}", stats[0].median * 1e6 / f64::from(source_symbols)));
        rows.push(row);
    }
    let head = ["K", "ours, us", "peer, us", "ratio", "ours, us per symbol"];
    unless_empty("Making a plan", "Once per K', for all threads and blocks.", head, &rows)
}

/// Repair symbols of a block that is encoded already.
pub(crate) fn repairs(bench: &Bench) -> String {
    let symbol_size = bench.options.symbol_sizes[0];
    let bytes = REPAIRS * symbol_size;
    let mut rows = Vec::new();
    for &source_symbols in &bench.options.source_symbols {
        let stats = bench.measure(&format!("repairs/T={symbol_size}/K={source_symbols}"), |process| {
            let plan = ours::plan(source_symbols);
            let workload = Workload::new(source_symbols, symbol_size, 0, 0, |_, _| ());
            let block = &workload.block;
            let mut expected = vec![0; bytes];
            ours::repairs(&plan, source_symbols, block, &mut expected);
            let ours = ours::Repairs::new(&plan, source_symbols, block, &expected);
            process.compete(4, [Box::new(ours), Box::new(peer::Repairs::new(source_symbols, block, &expected))])
        });
        let Some(stats) = stats else { continue };
        let mut row = vec![source_symbols.to_string()];
        row.extend(speeds(bytes, &stats));
        row.push(ratio(stats[0], stats[1]));
        row.push(format!("{:.2}", REPAIRS as f64 * 1e-6 / stats[0].median));
        rows.push(row);
    }
    let head = ["K", "ours, Gbit/s", "peer, Gbit/s", "ratio", "ours, million symbols/s"];
    let about = format!("{REPAIRS} at a time, {symbol_size} bytes each; Gbit/s of repair symbols.");
    unless_empty("Repair symbols once the block is encoded", &about, head, &rows)
}

/// Few repair symbols, straight from the block or by its intermediate symbols.
pub(crate) fn matrices(bench: &Bench) -> String {
    let symbol_size = bench.options.symbol_sizes[0];
    let mut rows = Vec::new();
    for source_symbols in measured(bench, [10, 100, 1000, 10_000]) {
        for count in [1, 4, 10, 20, 40] {
            let stats = bench.measure(&format!("matrix/N={count}/K={source_symbols}"), |process| {
                let plan = ours::plan(source_symbols);
                let peer_plan = peer::plan(source_symbols);
                let mut expected = vec![0; count as usize * symbol_size];
                let workload = Workload::new(source_symbols, symbol_size, 0, 0, |_, _| ());
                let block = &workload.block;
                ours::repairs(&plan, source_symbols, block, &mut expected);
                let encode = ours::Encode::new(&plan, Level::best(), source_symbols, block, &expected);
                process.compete(
                    1,
                    [
                        Box::new(ours::Matrix::new(&plan, source_symbols, count, block, &expected)),
                        Box::new(encode),
                        Box::new(peer::Encode::new(Some(&peer_plan), source_symbols, block, &expected)),
                    ],
                )
            });
            let Some(stats) = stats else { continue };
            let mut row = vec![source_symbols.to_string(), count.to_string()];
            row.extend(speeds(source_symbols as usize * symbol_size, &stats));
            row.push(ratio(stats[0], stats[2]));
            rows.push(row);
        }
    }
    let head = ["K", "repair symbols", "`RepairMatrix`, Gbit/s", "`SourceBlockEncoder`", "peer, with plan", "ratio"];
    let about = format!(
        "From a block to so many repair symbols of {symbol_size} bytes; matrix and plans made beforehand. Gbit/s of \
         source data. The ratio is that of the matrix and the peer."
    );
    unless_empty("Few repair symbols", &about, head, &rows)
}

/// Decoding, by how much is lost.
pub(crate) fn decoding(bench: &Bench) -> String {
    let symbol_size = bench.options.symbol_sizes[0];
    let mut rows = Vec::new();
    for source_symbols in measured(bench, [100, 1000, 10_000]) {
        let mut lost: Vec<u32> = vec![0, 1];
        lost.extend([1, 2, 5, 10, 15, 20, 30, 50, 100].map(|per_cent| losses(source_symbols, per_cent)));
        lost.dedup();
        for lost in lost {
            let name = format!("decode/T={symbol_size}/K={source_symbols}/lost={lost}");
            let stats = bench.measure(&name, |process| {
                let plan = ours::plan(source_symbols);
                let workload = Workload::new(source_symbols, symbol_size, lost, EXTRA, |block, repairs| {
                    ours::repairs(&plan, source_symbols, block, repairs);
                });
                let ours = |target| ours::Decode::new(&plan, Level::best(), &workload, target);
                process.compete(
                    workload.patterns.len(),
                    [
                        Box::new(ours(Target::InPlace)),
                        Box::new(ours(Target::Copied)),
                        Box::new(peer::Decode::new(&workload)),
                    ],
                )
            });
            let Some(stats) = stats else { continue };
            let mut row = vec![source_symbols.to_string(), lost.to_string()];
            row.extend(speeds(source_symbols as usize * symbol_size, &stats));
            row.push(ratio(stats[0], stats[2]));
            rows.push(row);
        }
    }
    let head = ["K", "lost", "in place, Gbit/s", "to a buffer, Gbit/s", "peer, Gbit/s", "ratio"];
    let about = format!(
        "Symbols of {symbol_size} bytes, {EXTRA} more than were lost. In place, the block is then in the decoder's memory; \
         to a buffer, it is copied from there to the caller's. The ratio is that of in place and peer."
    );
    unless_empty("Decoding by losses", &about, head, &rows)
}

/// Instruction sets.
pub(crate) fn levels(bench: &Bench) -> String {
    let symbol_size = bench.options.symbol_sizes[0];
    let mut rows = Vec::new();
    for source_symbols in measured(bench, [100, 1000]) {
        for level in Level::available() {
            let stats = bench.measure(&format!("level/{level}/K={source_symbols}"), |process| {
                let plan = ours::plan(source_symbols);
                let encode = |block: &[u8], repairs: &mut [u8]| ours::repairs(&plan, source_symbols, block, repairs);
                let [few, many] = [5, 30].map(|per_cent| {
                    Workload::new(source_symbols, symbol_size, losses(source_symbols, per_cent), EXTRA, encode)
                });
                let mut first_repair = vec![0; symbol_size];
                encode(&few.block, &mut first_repair);
                let decode = |workload| ours::Decode::new(&plan, level, workload, Target::InPlace);
                process.compete(
                    few.patterns.len(),
                    [
                        Box::new(ours::Encode::new(&plan, level, source_symbols, &few.block, &first_repair)),
                        Box::new(decode(&few)),
                        Box::new(decode(&many)),
                    ],
                )
            });
            let Some(stats) = stats else { continue };
            let mut row = vec![source_symbols.to_string(), level.to_string()];
            row.extend(speeds(source_symbols as usize * symbol_size, &stats));
            rows.push(row);
        }
    }
    let head = ["K", "level", "encode with plan, Gbit/s", "decode, 5 % lost", "decode, 30 % lost"];
    unless_empty("Instruction sets", &format!("Ours, symbols of {symbol_size} bytes."), head, &rows)
}

/// Several blocks at a time, one to a thread.
pub(crate) fn threads(bench: &Bench) -> String {
    let symbol_size = bench.options.symbol_sizes[0];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < cores).collect();
    counts.push(cores);
    let mut rows = Vec::new();
    for source_symbols in measured(bench, [100, 1000]) {
        for &count in &counts {
            let stats = bench.measure(&format!("threads/{count}/K={source_symbols}"), |process| {
                side_by_side(process, bench.options.together(), count, source_symbols, symbol_size)
            });
            let Some(stats) = stats else { continue };
            let mut row = vec![source_symbols.to_string(), count.to_string()];
            row.extend(speeds(source_symbols as usize * symbol_size, &stats));
            rows.push(row);
        }
    }
    let head = ["K", "threads", "encode, ours, Gbit/s", "encode, peer", "decode, ours", "decode, peer"];
    let about = "Gbit/s of all threads together, by the time of day; encoding with a plan, decoding with 5 % lost.";
    unless_empty("Several blocks at a time", about, head, &rows)
}

/// Seconds for a block when `count` threads are at work, by contender. Each thread has a block and codecs of its own;
/// the plans are shared.
fn side_by_side(process: Process, seconds: f64, count: usize, source_symbols: u32, symbol_size: usize) -> Vec<Stats> {
    let plan = ours::plan(source_symbols);
    let peer_plan = peer::plan(source_symbols);
    let encode = |block: &[u8], repairs: &mut [u8]| ours::repairs(&plan, source_symbols, block, repairs);
    let thread = |contender, pace: &Pace| {
        process.shift_heap();
        let workload = Workload::new(source_symbols, symbol_size, losses(source_symbols, 5), EXTRA, encode);
        let mut first_repair = vec![0; symbol_size];
        encode(&workload.block, &mut first_repair);
        let (block, level) = (&workload.block, Level::best());
        let contender: Box<dyn Timed + '_> = match contender {
            0 => Box::new(ours::Encode::new(&plan, level, source_symbols, block, &first_repair)),
            1 => Box::new(peer::Encode::new(Some(&peer_plan), source_symbols, block, &first_repair)),
            2 => Box::new(ours::Decode::new(&plan, level, &workload, Target::InPlace)),
            _ => Box::new(peer::Decode::new(&workload)),
        };
        pace.blocks_per_second(contender, workload.patterns.len())
    };
    let samples = process.sampling.samples.min(3);
    let mut taken = [const { Vec::new() }; 4];
    for _ in 0..samples {
        for (contender, taken) in taken.iter_mut().enumerate() {
            let pace = Pace { barrier: Barrier::new(count), clock: Clock::of_day(), seconds };
            let blocks: f64 = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..count).map(|_| scope.spawn(|| thread(contender, &pace))).collect();
                threads.into_iter().map(|thread| thread.join().expect("a thread that measures")).sum()
            });
            taken.push(1.0 / blocks);
        }
    }
    taken.into_iter().map(Stats::of).collect()
}

/// Lets several threads measure at the same time.
struct Pace {
    barrier: Barrier,
    clock: Clock,
    seconds: f64,
}

impl Pace {
    /// What one thread gets done while the others are at work too.
    fn blocks_per_second(&self, mut contender: Box<dyn Timed + '_>, warm_up: usize) -> f64 {
        contender.time(self.clock, warm_up);
        let once = contender.time(self.clock, warm_up) / warm_up as f64;
        let count = (0.01 / once).ceil() as usize;
        self.barrier.wait();
        let (mut done, mut busy) = (0, 0.0);
        let elapsed = self.clock.start();
        while elapsed() < self.seconds {
            busy += contender.time(self.clock, count);
            done += count;
        }
        done as f64 / busy
    }
}
