//! Time to seal and open one symbol of 1400 B: by the ciphers that SCDP could use, in place, and as a whole packet.
//!
//! `cargo run --release -p anabranch-host --example sealing`

use std::hint::black_box;
use std::time::{Duration, Instant};

use anabranch_host::wire::{Salt, SymbolRepr};
use anabranch_host::{Payload, Protection, Psk, Sealer, Unsealer};
use ring::aead::{AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Bytes of a symbol, and of the header that is authenticated with it.
const SYMBOL: usize = 1400;
const AAD: usize = 28;
const ROUNDS: u64 = 50_000;
const REPEATS: usize = 9;

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// The median of several times of [`ROUNDS`] calls, in nanoseconds per call.
// A measurement needs the clock; nothing that it measures does.
#[allow(clippy::disallowed_methods)]
fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<Duration> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[REPEATS / 2].as_secs_f64() * 1e9 / ROUNDS as f64
}

fn measure(name: &str, algorithm: &'static Algorithm) {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, &[7; 32]).expect("32 bytes"));
    let mut buffer = vec![5; SYMBOL];
    let seal = median(|| {
        for number in 0..ROUNDS {
            let tag = key.seal_in_place_separate_tag(nonce(number), Aad::from([3; AAD]), &mut buffer);
            black_box(tag.expect("short enough").as_ref());
        }
    });
    let mut sealed = vec![5; SYMBOL];
    key.seal_in_place_append_tag(nonce(0), Aad::from([3; AAD]), &mut sealed).expect("short enough");
    let mut copy = sealed.clone();
    let open = median(|| {
        for _ in 0..ROUNDS {
            copy.copy_from_slice(&sealed);
            black_box(key.open_in_place(nonce(0), Aad::from([3; AAD]), &mut copy).expect("as sealed").len());
        }
    });
    show(name, seal, open);
}

fn show(name: &str, seal: f64, open: f64) {
    let rate = |ns: f64| SYMBOL as f64 * 8.0 / ns;
    println!(
        "{name:24} seal {seal:6.0} ns ({:5.1} Gbit/s)   open {open:6.0} ns ({:5.1} Gbit/s)",
        rate(seal),
        rate(open)
    );
}

/// From a symbol to its datagram, and back.
fn packets(name: &str, protection: &Protection) {
    let symbol = SymbolRepr { block: 1, esi: 2, lane: 0, index: 2, syn: false };
    let payload = [5; SYMBOL];
    let keys = || protection.opener(Salt([1; 16]));
    let mut sealer = Sealer::new(keys());
    let mut out = Vec::with_capacity(2 * SYMBOL);
    let seal = median(|| {
        for _ in 0..ROUNDS {
            out.clear();
            sealer.symbol(7, &symbol, black_box(&payload), &mut out).expect("valid");
            black_box(&out);
        }
    });
    // Of each repetition another receiver, to which all are new.
    let mut sealer = Sealer::new(keys());
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        sealer.symbol(7, &symbol, &payload, &mut all).expect("valid");
    }
    let size = all.len() / ROUNDS as usize;
    let open = median(|| {
        let mut unsealer = Unsealer::new(keys());
        for datagram in all.chunks_exact(size) {
            out.clear();
            out.extend_from_slice(datagram);
            let (_, payload) = unsealer.symbol(&mut out).expect("as sealed");
            assert!(matches!(black_box(payload), Payload::Whole(_)));
        }
    });
    show(name, seal, open);
}

fn main() {
    measure("AES-256-GCM", &AES_256_GCM);
    measure("ChaCha20-Poly1305", &CHACHA20_POLY1305);
    let key = [9; 32];
    let header = [1; AAD];
    let mac = median(|| {
        for _ in 0..ROUNDS {
            black_box(blake3::keyed_hash(&key, black_box(&header)));
        }
    });
    println!("{:24} {mac:11.0} ns for {AAD} B", "keyed BLAKE3");
    packets("symbol with a key", &Protection::Psk(Psk::new([1; 32]).expect("not zero")));
    packets("symbol without a key", &Protection::None);
}
