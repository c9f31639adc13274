//! The measurements that the codec is judged by: four tasks, by K and T.

use crate::bench::{Bench, Process, Speed};
use crate::measure::Stats;
use crate::ours::{self, Target};
use crate::peer;
use crate::report::{heading, table};
use crate::workload::{Workload, losses};

use anabranch_raptorq::Level;
use std::fmt::Write as _;

/// A task, its name in identifiers and tables, and the project's target in Gbit/s for T = 1280 and each K.
struct Task {
    name: &'static str,
    title: &'static str,
    kind: Kind,
    targets: [(u32, f64); 5],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    EncodeWithPlan,
    EncodeFromScratch,
    /// With so many per cent of the source symbols lost.
    Decode(u32),
}

const TASKS: [Task; 4] = [
    Task {
        name: "encode-plan",
        title: "encode with plan",
        kind: Kind::EncodeWithPlan,
        targets: [(10, 25.0), (100, 50.0), (1000, 38.0), (10_000, 18.0), (50_000, 7.5)],
    },
    Task {
        name: "encode-scratch",
        title: "encode from scratch",
        kind: Kind::EncodeFromScratch,
        targets: [(10, 12.0), (100, 25.0), (1000, 20.0), (10_000, 12.0), (50_000, 5.0)],
    },
    Task {
        name: "decode-5",
        title: "decode, 5 % lost",
        kind: Kind::Decode(5),
        targets: [(10, 40.0), (100, 60.0), (1000, 28.0), (10_000, 10.0), (50_000, 5.0)],
    },
    Task {
        name: "decode-30",
        title: "decode, 30 % lost",
        kind: Kind::Decode(30),
        targets: [(10, 25.0), (100, 25.0), (1000, 12.0), (10_000, 8.0), (50_000, 4.0)],
    },
];

/// Repair symbols that arrive beyond the losses.
pub(crate) use anabranch_codec_bench::latency::EXTRA;

/// A measurement: which task, K and T, and the speeds of both codecs.
struct Cell {
    task: usize,
    source_symbols: u32,
    symbol_size: usize,
    ours: Speed,
    peer: Speed,
}

impl Cell {
    fn ratio(&self) -> f64 {
        self.ours.gbit / self.peer.gbit
    }

    /// The ratio that must be reached.
    fn floor(&self) -> f64 {
        let kind = TASKS[self.task].kind;
        let thrice =
            [100, 1000].contains(&self.source_symbols) && [Kind::EncodeWithPlan, Kind::Decode(5)].contains(&kind);
        if thrice { 3.0 } else { 1.0 }
    }
}

/// All tables, one for each T, and how they stand against the targets.
pub(crate) fn section(bench: &Bench) -> String {
    let mut text = String::new();
    let mut cells = Vec::new();
    for &symbol_size in &bench.options.symbol_sizes {
        for &source_symbols in &bench.options.source_symbols {
            measure(bench, source_symbols, symbol_size, &mut cells);
        }
        let rows: Vec<Vec<String>> = TASKS
            .iter()
            .enumerate()
            .map(|(task, Task { title, .. })| {
                let cells = bench.options.source_symbols.iter().map(|&source_symbols| {
                    let found = cells.iter().find(|cell| {
                        cell.task == task && cell.source_symbols == source_symbols && cell.symbol_size == symbol_size
                    });
                    found.map_or_else(String::new, |cell| {
                        format!("{} / {} = **{:.2}x**", cell.ours, cell.peer, cell.ratio())
                    })
                });
                std::iter::once((*title).to_owned()).chain(cells).collect()
            })
            .filter(|row: &Vec<String>| row[1..].iter().any(|cell| !cell.is_empty()))
            .collect();
        if !rows.is_empty() {
            text += &heading(&format!("Symbols of {symbol_size} bytes"));
            text += &table(&bench.source_symbol_columns("ours / peer, Gbit/s"), &rows);
        }
    }
    against_targets(bench, &cells, &mut text);
    text
}

fn measure(bench: &Bench, source_symbols: u32, symbol_size: usize, cells: &mut Vec<Cell>) {
    for (task, Task { name, kind, .. }) in TASKS.iter().enumerate() {
        let name = format!("main/T={symbol_size}/K={source_symbols}/{name}");
        let stats = bench.measure(&name, |process| compete(process, *kind, source_symbols, symbol_size));
        if let Some(stats) = stats {
            let block = source_symbols as usize * symbol_size;
            let [ours, peer] = [stats[0], stats[1]].map(|stats| Speed::new(block, stats));
            cells.push(Cell { task, source_symbols, symbol_size, ours, peer });
        }
    }
}

fn compete(process: Process, task: Kind, source_symbols: u32, symbol_size: usize) -> Vec<Stats> {
    let level = Level::best();
    let plan = ours::plan(source_symbols);
    let encode = |block: &[u8], repairs: &mut [u8]| ours::repairs(&plan, source_symbols, block, repairs);
    let per_cent = if let Kind::Decode(per_cent) = task { per_cent } else { 0 };
    let workload = Workload::new(source_symbols, symbol_size, losses(source_symbols, per_cent), EXTRA, encode);
    let block = &workload.block;
    let mut first_repair = vec![0; symbol_size];
    encode(block, &mut first_repair);
    let ours_encode = || ours::Encode::new(&plan, level, source_symbols, block, &first_repair);
    let peer_encode = |plan| peer::Encode::new(plan, source_symbols, block, &first_repair);
    match task {
        Kind::EncodeWithPlan => {
            let peer_plan = peer::plan(source_symbols);
            process.compete(1, [Box::new(ours_encode()), Box::new(peer_encode(Some(&peer_plan)))])
        }
        Kind::EncodeFromScratch => {
            process.compete(1, [Box::new(ours::EncodeFromScratch(ours_encode())), Box::new(peer_encode(None))])
        }
        Kind::Decode(_) => {
            let ours = ours::Decode::new(&plan, level, &workload, Target::InPlace);
            process.compete(workload.patterns.len(), [Box::new(ours), Box::new(peer::Decode::new(&workload))])
        }
    }
}

/// The targets are those of the project for T = 1280; the floor is what every T must reach.
fn against_targets(bench: &Bench, cells: &[Cell], text: &mut String) {
    const TARGET_SYMBOL_SIZE: usize = 1280;
    let rows: Vec<Vec<String>> = TASKS
        .iter()
        .enumerate()
        .map(|(task, Task { title, targets, .. })| {
            let cells = bench.options.source_symbols.iter().map(|&source_symbols| {
                let target = targets.iter().find(|target| target.0 == source_symbols);
                let cell = cells.iter().find(|cell| {
                    (cell.task, cell.source_symbols, cell.symbol_size) == (task, source_symbols, TARGET_SYMBOL_SIZE)
                });
                target.zip(cell).map_or_else(String::new, |((_, target), cell)| {
                    format!("{:.1} of {target} ({:.0} %)", cell.ours.gbit, 100.0 * cell.ours.gbit / target)
                })
            });
            std::iter::once((*title).to_owned()).chain(cells).collect()
        })
        .filter(|row: &Vec<String>| row[1..].iter().any(|cell| !cell.is_empty()))
        .collect();
    if !rows.is_empty() {
        *text += &heading(&format!("Against the project's targets, symbols of {TARGET_SYMBOL_SIZE} bytes"));
        *text += &table(&bench.source_symbol_columns("ours of target, Gbit/s"), &rows);
    }
    if cells.is_empty() {
        return;
    }
    let describe = |cell: &Cell| {
        let task = TASKS[cell.task].title;
        format!("{task} at K = {}, T = {}: {:.2}x", cell.source_symbols, cell.symbol_size, cell.ratio())
    };
    let missed: Vec<String> = cells.iter().filter(|cell| cell.ratio() < cell.floor()).map(describe).collect();
    let thrice = cells.iter().filter(|cell| cell.floor() > 1.0).count();
    _ = writeln!(
        text,
        "\nThe floor is 3x the peer at K = 100 and 1000 for encoding with a plan and decoding with 5 % lost, and nowhere \
         slower than it. Of {} cells measured, {thrice} of them with 3x as the floor, {}.",
        cells.len(),
        if missed.is_empty() { "all keep it".to_owned() } else { format!("these miss it: {}", missed.join("; ")) }
    );
    let slowest = cells.iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio())).expect("there are cells");
    _ = writeln!(text, "The smallest ratio is {}.", describe(slowest));
}
