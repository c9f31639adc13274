//! Measurements beyond the main tables, for T = 1280 unless said otherwise.

use crate::clock::Clock;
use crate::measure::Timed;
use crate::ours::{self, Target};
use crate::peer;
use crate::report::table;
use crate::tables::EXTRA;
use crate::workload::{Workload, losses};
use crate::{Bench, heading, progress};
use anabranch_raptorq::Level;
use std::sync::Barrier;

/// K of the measurements that go through few block sizes only.
const SOME_SOURCE_SYMBOLS: [u32; 3] = [100, 1000, 10_000];

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

/// A section, unless none of its measurements was wanted.
fn unless_empty(title: &str, about: &str, head: &[String], rows: &[Vec<String>]) -> String {
    if rows.is_empty() { String::new() } else { heading(title) + about + "\n\n" + &table(head, rows) }
}

/// Making plans.
pub(crate) fn plans(bench: &Bench) -> String {
    let mut rows = Vec::new();
    for &source_symbols in &bench.options.source_symbols {
        let name = format!("plan/K={source_symbols}");
        if bench.wants(&name) {
            let contenders: [Box<dyn Timed>; 2] =
                [Box::new(ours::Generate(source_symbols)), Box::new(peer::Generate(source_symbols))];
            let stats = bench.stats(&name, 1, contenders);
            let [ours, peer] = [stats[0], stats[1]].map(|stats| stats.median * 1e6);
            rows.push(vec![
                source_symbols.to_string(),
                format!("{ours:.1} ±{:.0} %", stats[0].spread()),
                format!("{peer:.1} ±{:.0} %", stats[1].spread()),
                format!("**{:.2}x**", peer / ours),
                format!("{:.3}", ours / f64::from(source_symbols)),
            ]);
        }
    }
    let head = strings(["K", "ours, us", "peer, us", "ratio", "ours, us per symbol"]);
    unless_empty("Making a plan", "Once per K', for all threads and blocks.", &head, &rows)
}

/// Repair symbols of a block that is encoded already.
pub(crate) fn repairs(bench: &Bench) -> String {
    const COUNT: usize = 100;
    let symbol_size = bench.options.symbol_sizes[0];
    let mut rows = Vec::new();
    for &source_symbols in &bench.options.source_symbols {
        let name = format!("repairs/T={symbol_size}/K={source_symbols}");
        if !bench.wants(&name) {
            continue;
        }
        let plan = ours::plan(source_symbols);
        let workload = Workload::new(source_symbols, symbol_size, 0, 0, |_, _| ());
        let block = &workload.block;
        let mut expected = vec![0; COUNT * symbol_size];
        ours::repairs(&plan, source_symbols, block, &mut expected);
        let contenders: [Box<dyn Timed + '_>; 2] = [
            Box::new(ours::Repairs::new(&plan, source_symbols, block, &expected)),
            Box::new(peer::Repairs::new(source_symbols, block, &expected)),
        ];
        let speeds = bench.speeds(&name, expected.len(), 4, contenders);
        let per_second = speeds[0].gbit * 1e3 / (symbol_size as f64 * 8.0);
        rows.push(vec![
            source_symbols.to_string(),
            speeds[0].to_string(),
            speeds[1].to_string(),
            format!("**{:.2}x**", speeds[0].gbit / speeds[1].gbit),
            format!("{per_second:.2}"),
        ]);
    }
    let head = strings(["K", "ours, Gbit/s", "peer, Gbit/s", "ratio", "ours, million symbols/s"]);
    let about = format!("{COUNT} at a time, {symbol_size} bytes each; Gbit/s of repair symbols.");
    unless_empty("Repair symbols once the block is encoded", &about, &head, &rows)
}

/// Decoding, by how much is lost.
pub(crate) fn decoding(bench: &Bench) -> String {
    let symbol_size = bench.options.symbol_sizes[0];
    let mut rows = Vec::new();
    for source_symbols in SOME_SOURCE_SYMBOLS.into_iter().filter(|k| bench.options.source_symbols.contains(k)) {
        let mut lost: Vec<u32> = vec![0, 1];
        lost.extend([1, 2, 5, 10, 15, 20, 30, 50, 100].map(|per_cent| losses(source_symbols, per_cent)));
        lost.dedup();
        let name = |lost| format!("decode/T={symbol_size}/K={source_symbols}/lost={lost}");
        lost.retain(|&lost| bench.wants(&name(lost)));
        if lost.is_empty() {
            continue;
        }
        let plan = ours::plan(source_symbols);
        let encode = |block: &[u8], repairs: &mut [u8]| ours::repairs(&plan, source_symbols, block, repairs);
        for lost in lost {
            let workload = Workload::new(source_symbols, symbol_size, lost, EXTRA, encode);
            let ours = |target| ours::Decode::new(&plan, Level::best(), &workload, target);
            let contenders: [Box<dyn Timed + '_>; 3] = [
                Box::new(ours(Target::InPlace)),
                Box::new(ours(Target::Copied)),
                Box::new(peer::Decode::new(&workload)),
            ];
            let speeds = bench.speeds(&name(lost), workload.block.len(), workload.patterns.len(), contenders);
            let mut row = vec![source_symbols.to_string(), lost.to_string()];
            row.extend(speeds.iter().map(ToString::to_string));
            row.push(format!("**{:.2}x**", speeds[0].gbit / speeds[2].gbit));
            rows.push(row);
        }
    }
    let head = strings(["K", "lost", "in place, Gbit/s", "to a buffer, Gbit/s", "peer, Gbit/s", "ratio"]);
    let about = format!(
        "Symbols of {symbol_size} bytes, {EXTRA} more than were lost. In place, the block is then in the decoder's memory; \
         to a buffer, it is copied from there to the caller's. The ratio is that of in place and peer."
    );
    unless_empty("Decoding by losses", &about, &head, &rows)
}

/// Instruction sets.
pub(crate) fn levels(bench: &Bench) -> String {
    let symbol_size = bench.options.symbol_sizes[0];
    let mut rows = Vec::new();
    for source_symbols in [100, 1000].into_iter().filter(|k| bench.options.source_symbols.contains(k)) {
        let plan = ours::plan(source_symbols);
        let encode = |block: &[u8], repairs: &mut [u8]| ours::repairs(&plan, source_symbols, block, repairs);
        for level in Level::available() {
            let name = format!("level/{level}/K={source_symbols}");
            if !bench.wants(&name) {
                continue;
            }
            let [few, many] = [5, 30].map(|per_cent| {
                Workload::new(source_symbols, symbol_size, losses(source_symbols, per_cent), EXTRA, encode)
            });
            let mut first_repair = vec![0; symbol_size];
            encode(&few.block, &mut first_repair);
            let decode = |workload| ours::Decode::new(&plan, level, workload, Target::InPlace);
            let contenders: [Box<dyn Timed + '_>; 3] = [
                Box::new(ours::Encode::new(&plan, level, source_symbols, &few.block, &first_repair)),
                Box::new(decode(&few)),
                Box::new(decode(&many)),
            ];
            let speeds = bench.speeds(&name, few.block.len(), few.patterns.len(), contenders);
            let mut row = vec![source_symbols.to_string(), level.to_string()];
            row.extend(speeds.iter().map(ToString::to_string));
            rows.push(row);
        }
    }
    let head = strings(["K", "level", "encode with plan, Gbit/s", "decode, 5 % lost", "decode, 30 % lost"]);
    unless_empty("Instruction sets", &format!("Ours, symbols of {symbol_size} bytes."), &head, &rows)
}

/// Lets several threads measure at the same time.
struct Pace {
    barrier: Barrier,
    clock: Clock,
    seconds: f64,
}

impl Pace {
    /// What one thread gets done while the others are at work too.
    fn gbit_per_second(&self, mut contender: Box<dyn Timed + '_>, bytes: usize, warm_up: usize) -> f64 {
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
        (done * bytes) as f64 * 8e-9 / busy
    }
}

/// Several blocks at a time, one to a thread.
pub(crate) fn threads(bench: &Bench) -> String {
    let symbol_size = bench.options.symbol_sizes[0];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|&n| n < cores).collect();
    counts.push(cores);
    let mut rows = Vec::new();
    for source_symbols in [100, 1000].into_iter().filter(|k| bench.options.source_symbols.contains(k)) {
        let plan = ours::plan(source_symbols);
        let peer_plan = peer::plan(source_symbols);
        let encode = |block: &[u8], repairs: &mut [u8]| ours::repairs(&plan, source_symbols, block, repairs);
        let lost = losses(source_symbols, 5);
        for &count in &counts {
            let name = format!("threads/{count}/K={source_symbols}");
            if !bench.wants(&name) {
                continue;
            }
            // Each thread has a block and codecs of its own; the plans are shared.
            let speeds: [f64; 4] = std::array::from_fn(|which| {
                let pace = Pace { barrier: Barrier::new(count), clock: Clock::of_day(), seconds: bench.together() };
                let thread = || {
                    let workload = Workload::new(source_symbols, symbol_size, lost, EXTRA, encode);
                    let mut first_repair = vec![0; symbol_size];
                    encode(&workload.block, &mut first_repair);
                    let (block, level) = (&workload.block, Level::best());
                    let contender: Box<dyn Timed + '_> = match which {
                        0 => Box::new(ours::Encode::new(&plan, level, source_symbols, block, &first_repair)),
                        1 => Box::new(peer::Encode::new(Some(&peer_plan), source_symbols, block, &first_repair)),
                        2 => Box::new(ours::Decode::new(&plan, level, &workload, Target::InPlace)),
                        _ => Box::new(peer::Decode::new(&workload)),
                    };
                    pace.gbit_per_second(contender, block.len(), workload.patterns.len())
                };
                std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..count).map(|_| scope.spawn(thread)).collect();
                    threads.into_iter().map(|thread| thread.join().expect("a thread that measures")).sum()
                })
            });
            progress(&name, &speeds.map(|gbit| format!("{gbit:.1}")).join(" "));
            let mut row = vec![source_symbols.to_string(), count.to_string()];
            row.extend(speeds.map(|gbit| format!("{gbit:.1}")));
            rows.push(row);
        }
    }
    let head = strings(["K", "threads", "encode, ours", "encode, peer", "decode, ours", "decode, peer"]);
    let about = "Gbit/s of all threads together, by the time of day; encoding with a plan, decoding with 5 % lost.";
    unless_empty("Several blocks at a time", about, &head, &rows)
}
