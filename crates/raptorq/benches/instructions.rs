//! Fixed work, to have its instructions counted: `instructions CASE COUNT` does the case so many times.
//!
//! The difference between two counts is free of what it takes to start the program and to prepare the case.
//! `benches/instructions`, at the root of the workspace, runs this under callgrind.

use anabranch_raptorq::{EncodingPlan, Level, SourceBlockDecoder, SourceBlockEncoder};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

const SOURCE_SYMBOLS: u32 = 100;
const SYMBOL_SIZE: usize = 1280;

/// Names, and how many source symbols are lost where the case is a decode.
const CASES: [(&str, Option<u32>); 4] =
    [("plan", None), ("encode", None), ("decode-5", Some(5)), ("decode-30", Some(30))];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    // Started by `cargo bench` among others, without a case: each once, which shows that they work.
    if arguments.is_empty() {
        for (name, lost) in CASES {
            repeat(name, lost, 1);
        }
        return ExitCode::SUCCESS;
    }
    let case = arguments.first().and_then(|name| CASES.iter().find(|case| case.0 == name));
    let count = arguments.get(1).and_then(|count| count.parse().ok());
    let (Some(&(name, lost)), Some(count), 2) = (case, count, arguments.len()) else {
        eprintln!("error: one of the cases and how often is wanted: {}", CASES.map(|case| case.0).join(", "));
        return ExitCode::from(2);
    };
    if let Err(error) = Level::from_environment() {
        eprintln!("error: {error}");
        return ExitCode::from(2);
    }
    repeat(name, lost, count);
    ExitCode::SUCCESS
}

fn repeat(name: &str, lost: Option<u32>, count: u32) {
    let plan = || Arc::new(EncodingPlan::generate(black_box(SOURCE_SYMBOLS)).expect("K is in range"));
    if name == "plan" {
        (0..count).for_each(|_| drop(black_box(plan())));
        return;
    }
    let plan = plan();
    let block: Vec<u8> =
        (0..SOURCE_SYMBOLS as usize * SYMBOL_SIZE).map(|i| (131 * i + 17 * (i / 128) + 5) as u8).collect();
    let mut encoder = SourceBlockEncoder::new(Arc::clone(&plan), SOURCE_SYMBOLS, SYMBOL_SIZE).expect("a plan for K");
    let Some(lost) = lost else {
        let mut repair = vec![0; SYMBOL_SIZE];
        for _ in 0..count {
            encoder.load(black_box(&block)).expect("K symbols");
            encoder.symbols_into(SOURCE_SYMBOLS, &mut repair).expect("one symbol");
        }
        black_box(repair);
        return;
    };
    encoder.load(&block).expect("K symbols");
    let mut repairs = vec![0; (lost as usize + 2) * SYMBOL_SIZE];
    encoder.symbols_into(SOURCE_SYMBOLS, &mut repairs).expect("whole symbols");
    // 37 and 100 have no common divisor: these are different symbols, spread over the block.
    let missing: Vec<u32> = (0..lost).map(|i| i * 37 % SOURCE_SYMBOLS).collect();
    let kept = (0..SOURCE_SYMBOLS).zip(block.chunks(SYMBOL_SIZE)).filter(|(esi, _)| !missing.contains(esi));
    let received: Vec<(u32, &[u8])> = kept.chain((SOURCE_SYMBOLS..).zip(repairs.chunks(SYMBOL_SIZE))).collect();
    let mut decoder = SourceBlockDecoder::new(plan, SOURCE_SYMBOLS, SYMBOL_SIZE).expect("a plan for K");
    for _ in 0..count {
        decoder.clear();
        for &(esi, symbol) in &received {
            decoder.add_symbol(esi, black_box(symbol)).expect("a symbol of T bytes");
        }
        black_box(decoder.try_decode().expect("two symbols more than needed"));
    }
    assert!(decoder.try_decode().is_ok_and(|decoded| decoded == block), "other bytes are decoded");
}
