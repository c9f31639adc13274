//! Memory that runs out is an error, and memory is taken in proportion to what has arrived. This test's allocator can be told
//! to refuse what is large.
#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
#[cfg(feature = "std")]
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_raptorq::{BlockStatus, Decoder, DecoderError, Encoder, ObjectTransmissionInformation, PayloadId};

struct Refusing;

/// The largest size that is granted.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Bytes allocated now.
static NOW: AtomicUsize = AtomicUsize::new(0);
/// The most of them since it was set.
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn granted(size: usize) -> bool {
    if size > MOST.load(Relaxed) {
        return false;
    }
    PEAK.fetch_max(NOW.fetch_add(size, Relaxed) + size, Relaxed);
    true
}

// SAFETY: it is the system's allocator, but for requests that it refuses.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        if granted(layout.size()) { unsafe { System.alloc(layout) } } else { std::ptr::null_mut() }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// One test at a time: the allocator is everyone's.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `work` returns when no allocation is larger than `most`.
fn with_at_most<T>(most: usize, work: impl FnOnce() -> T) -> T {
    MOST.store(most, Relaxed);
    let result = work();
    MOST.store(usize::MAX, Relaxed);
    result
}

fn object(length: usize) -> Vec<u8> {
    (0..length).map(|i| ((i * i) >> 9) as u8).collect()
}

fn id(esi: u32) -> PayloadId {
    PayloadId::new(0, esi).unwrap()
}

/// Blocks of 1000 symbols of 1000 bytes.
fn encoder(object: &[u8]) -> Encoder<&[u8]> {
    let oti = ObjectTransmissionInformation::new(object.len() as u64, 1000, 1, 1, 1).unwrap();
    Encoder::new(object, oti).unwrap()
}

#[test]
fn no_memory_for_symbols_is_an_error_and_the_packet_can_be_repeated() {
    let _turn = alone();
    let object = object(1_000_000);
    let encoder = encoder(&object);
    let block = encoder.block_encoder(0).unwrap();
    // Source and repair symbols: the limit is between the block's size and an eighth of it, or below that.
    for (first, most) in [(0, 300_000), (0, 90_000), (1000, 300_000), (1000, 90_000)] {
        let mut decoder = Decoder::new(encoder.config()).unwrap();
        encoder.plans().iter().for_each(|plan| decoder.add_plan(plan));
        let mut refused = 0;
        for esi in first..first + 1000 {
            let packet = block.packet(esi).unwrap();
            // The last packet completes the block, and is another matter.
            let most = if esi == first + 999 { usize::MAX } else { most };
            let found = with_at_most(most, || decoder.add_symbol(id(esi), packet.data()));
            if let Err(error) = found {
                assert!(matches!(error, DecoderError::Memory { bytes } if bytes > most as u64), "{error}");
                refused += 1;
                let there = decoder.source_symbol_into(id(esi.min(999)), &mut [0; 1000]).unwrap();
                assert!(!there, "the packet is lost, and nothing else");
                decoder.add_symbol(id(esi), packet.data()).unwrap();
            }
        }
        assert!(refused > 0, "ESIs from {first}, allocations of {most} bytes");
        for esi in 5000..5004 {
            if !decoder.is_complete() {
                decoder.add_symbol(id(esi), block.packet(esi).unwrap().data()).unwrap();
            }
        }
        assert!(decoder.try_result().unwrap() == object);
    }
}

#[test]
fn memory_grows_with_what_arrives() {
    let _turn = alone();
    // 200 MB in one block, and one packet of it: the last.
    let oti = ObjectTransmissionInformation::new(200_000_000, 50_000, 1, 1, 1).unwrap();
    for esi in [0, 3999, 4000, (1 << 24) - 1] {
        let before = NOW.load(Relaxed);
        PEAK.store(before, Relaxed);
        let mut decoder = Decoder::new(oti).unwrap();
        decoder.add_symbol(id(esi), &vec![7; 50_000]).unwrap();
        assert!(matches!(decoder.block_status(0), Some(BlockStatus::Collecting { missing: 3999 })));
        // The plan is most of it.
        let taken = PEAK.load(Relaxed) - before;
        assert!(taken < 8 << 20, "{taken} bytes for one symbol, {esi}");
    }
    // Of every symbol that arrives early what was sent can be read, before and after the block gets its memory.
    let object = object(1_000_000);
    let mut decoder = Decoder::new(encoder(&object).config()).unwrap();
    let before = NOW.load(Relaxed);
    for (count, esi) in (1..).zip((0..1000u32).map(|i| (i * 617 + 999) % 1000)) {
        let sent = &object[esi as usize * 1000..][..1000];
        decoder.add_symbol(id(esi), sent).unwrap();
        let mut symbol = [0; 1000];
        assert!(decoder.source_symbol_into(id(esi), &mut symbol).unwrap() && symbol == sent);
        assert!(decoder.source_symbol_into(id(999), &mut symbol).unwrap() && symbol == object[999_000..]);
        let taken = NOW.load(Relaxed).saturating_sub(before);
        assert!(taken <= 700_000 + 12 * 1000 * count, "{taken} bytes for {count} symbols");
    }
    assert!(decoder.try_result().unwrap() == object);
}

#[cfg(feature = "std")]
#[test]
fn threads_are_made_for_blocks_that_are_ready_only() {
    let _turn = alone();
    let mut decoder = Decoder::new(encoder(&object(1_000_000)).config()).unwrap();
    let most = NonZeroUsize::new(usize::MAX).unwrap();
    // A thread's stack and handle would be allocated.
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    decoder.decode_ready_on(most).unwrap();
    assert_eq!(PEAK.load(Relaxed), before, "nothing is ready");
    let object = object(1_000_000);
    let encoder = encoder(&object);
    let mut decoder = Decoder::new(encoder.config()).unwrap();
    for packet in encoder.packets(0).unwrap() {
        decoder.collect_packet(&packet.unwrap().serialize()).unwrap();
    }
    decoder.decode_ready_on(most).unwrap();
    assert!(decoder.try_result().unwrap() == object);
}

#[test]
fn a_decode_that_fails_leaves_nothing_behind() {
    use anabranch_raptorq::{EncodingPlan, SourceBlockDecoder, SourceBlockEncoder};
    use std::sync::Arc;

    let _turn = alone();
    // Repair symbols with coefficient 0 for source symbol 0: a block of zeros but for a 1 there shows them.
    let (k, size) = (5000, 1);
    let plan = Arc::new(EncodingPlan::generate(k).unwrap());
    let mut unit = vec![0; k as usize];
    unit[0] = 1;
    let mut encoder = SourceBlockEncoder::new(Arc::clone(&plan), k, size).unwrap();
    encoder.load(&unit).unwrap();
    let mut decoder = SourceBlockDecoder::new(plan, k, size).unwrap();
    let (mut coefficient, mut esi) = ([0], k);
    while decoder.symbols_missing() > 0 {
        encoder.encode_into(esi, &mut coefficient).unwrap();
        if coefficient == [0] {
            decoder.add_symbol(esi, &[0]).unwrap();
        }
        esi += 1;
    }
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    assert!(decoder.try_decode().is_err());
    let (after, most) = (NOW.load(Relaxed), PEAK.load(Relaxed));
    assert!(most - before > 1 << 19, "an attempt takes {} bytes", most - before);
    assert!(after <= before, "it keeps {} bytes", after - before);
}
