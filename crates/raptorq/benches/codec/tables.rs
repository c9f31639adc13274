//! The measurements that the codec is judged by: four tasks, by K and T.

use crate::bench::{Bench, Process, Speed};
use crate::measure::{Stats, Timed};
use crate::objects::{PeerReceive, PeerSend, Plans, Receive, Send};
use crate::ours::{self, Target};
use crate::peer;
use crate::report::{heading, table};
use crate::workload::{Workload, losses};

use anabranch_raptorq::Level;
use std::fmt::Write as _;

/// A task, and its name in identifiers and tables.
struct Task {
    name: &'static str,
    title: &'static str,
    kind: Kind,
    /// The project's targets in Gbit/s, by K, for T = 1280.
    targets: &'static [(u32, f64)],
    /// How many times as fast as the peer it must be, by K, for every T. Elsewhere it must not be slower.
    floors: &'static [(u32, f64)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// With so many repair packets for each hundred source packets.
    Send(u32),
    /// With so many per cent of the source packets lost.
    Receive(u32, Plans),
    /// The same, on a processor that has AVX2 and nothing newer.
    ReceiveAvx2(u32),
    EncodeWithPlan,
    EncodeFromScratch,
    /// With so many per cent of the source symbols lost.
    Decode(u32),
}

const TASKS: [Task; 9] = [
    Task {
        name: "send-5",
        title: "`Encoder`, all packets and 5 % for repair",
        kind: Kind::Send(5),
        targets: &[],
        floors: &[],
    },
    Task {
        name: "receive-5",
        title: "`Decoder`, 5 % lost",
        kind: Kind::Receive(5, Plans::Made),
        targets: &[],
        floors: &[(100, 10.0), (1000, 4.5), (10_000, 3.5)],
    },
    Task {
        name: "receive-5-avx2",
        title: "`Decoder`, 5 % lost, AVX2 only",
        kind: Kind::ReceiveAvx2(5),
        targets: &[],
        floors: &[],
    },
    Task {
        name: "receive-5-new",
        title: "`Decoder`, 5 % lost, first of its size",
        kind: Kind::Receive(5, Plans::New),
        targets: &[],
        floors: &[],
    },
    Task {
        name: "receive-30",
        title: "`Decoder`, 30 % lost",
        kind: Kind::Receive(30, Plans::Made),
        targets: &[],
        floors: &[],
    },
    Task {
        name: "encode-plan",
        title: "block encoder, plan made",
        kind: Kind::EncodeWithPlan,
        targets: &[(10, 25.0), (100, 50.0), (1000, 38.0), (10_000, 18.0), (50_000, 7.5)],
        floors: &[(100, 3.0), (1000, 3.0)],
    },
    Task {
        name: "encode-scratch",
        title: "block encoder, plan included",
        kind: Kind::EncodeFromScratch,
        targets: &[(10, 12.0), (100, 25.0), (1000, 20.0), (10_000, 12.0), (50_000, 5.0)],
        floors: &[],
    },
    Task {
        name: "decode-5",
        title: "block decoder, plan made, memory kept, 5 % lost",
        kind: Kind::Decode(5),
        targets: &[(10, 40.0), (100, 60.0), (1000, 28.0), (10_000, 10.0), (50_000, 5.0)],
        floors: &[(100, 3.0), (1000, 3.0)],
    },
    Task {
        name: "decode-30",
        title: "block decoder, plan made, memory kept, 30 % lost",
        kind: Kind::Decode(30),
        targets: &[(10, 25.0), (100, 25.0), (1000, 12.0), (10_000, 8.0), (50_000, 4.0)],
        floors: &[],
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
        let floors = TASKS[self.task].floors.iter();
        floors.clone().find(|floor| floor.0 == self.source_symbols).map_or(1.0, |floor| floor.1)
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
        if matches!(kind, Kind::ReceiveAvx2(_)) && !Level::Avx2.is_available() {
            continue;
        }
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
    let plan = ours::plan(source_symbols);
    let per_cent = match task {
        Kind::Send(per_cent) | Kind::Receive(per_cent, _) | Kind::ReceiveAvx2(per_cent) | Kind::Decode(per_cent) => {
            per_cent
        }
        Kind::EncodeWithPlan | Kind::EncodeFromScratch => 0,
    };
    let lost = losses(source_symbols, per_cent);
    let workload = Workload::new(source_symbols, symbol_size, lost, EXTRA, |block, repairs| {
        ours::repairs(&plan, source_symbols, block, repairs);
    });
    let patterns = workload.patterns.len();
    let receive = |plans, level| {
        let contenders: [Box<dyn Timed>; 2] =
            [Box::new(Receive::new(&workload, plans, level)), Box::new(PeerReceive::new(&workload))];
        process.compete(patterns, contenders)
    };
    match task {
        Kind::Send(_) => {
            let [ours, peer] = [(), ()].map(|()| Send { workload: &workload, repairs: lost });
            process.compete(1, [Box::new(ours), Box::new(PeerSend(peer))])
        }
        Kind::Receive(_, plans) => receive(plans, Level::best()),
        Kind::ReceiveAvx2(_) => receive(Plans::Made, Level::Avx2),
        Kind::Decode(_) => {
            let ours = ours::Decode::new(&plan, Level::best(), &workload, Target::InPlace);
            process.compete(patterns, [Box::new(ours), Box::new(peer::Decode::new(&workload))])
        }
        Kind::EncodeWithPlan | Kind::EncodeFromScratch => {
            let block = &workload.block;
            let mut expected = vec![0; symbol_size];
            ours::repairs(&plan, source_symbols, block, &mut expected);
            let ours = ours::Encode::new(&plan, Level::best(), source_symbols, block, &expected);
            let peer_plan = peer::plan(source_symbols);
            let peer_plan = (task == Kind::EncodeWithPlan).then_some(&peer_plan);
            let peer = peer::Encode::new(peer_plan, source_symbols, block, &expected);
            match peer_plan {
                Some(_) => process.compete(1, [Box::new(ours), Box::new(peer)]),
                None => process.compete(1, [Box::new(ours::EncodeFromScratch(ours)), Box::new(peer)]),
            }
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
    let missed: Vec<String> = cells
        .iter()
        .filter(|cell| cell.ratio() < cell.floor())
        .map(|cell| format!("{} of {}x", describe(cell), cell.floor()))
        .collect();
    let floors: Vec<String> = TASKS
        .iter()
        .flat_map(|task| task.floors.iter().map(|(k, floor)| format!("{floor}x for {} at K = {k}", task.title)))
        .collect();
    _ = writeln!(
        text,
        "\nThe floors are {}, and elsewhere the peer's speed. Of {} cells measured, {}.",
        floors.join(", "),
        cells.len(),
        if missed.is_empty() {
            "all keep theirs".to_owned()
        } else {
            format!("these miss theirs: {}", missed.join("; "))
        }
    );
    let slowest = cells.iter().min_by(|a, b| a.ratio().total_cmp(&b.ratio())).expect("there are cells");
    _ = writeln!(text, "The smallest ratio is {}.", describe(slowest));
}
