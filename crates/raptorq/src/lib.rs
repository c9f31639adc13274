//! RaptorQ, the forward error correction code of RFC 6330.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod block;
mod kernels;
mod memory;
mod rfc;
mod solve;

pub use block::{
    Added, BlockError, DecodeError, ENCODING_SYMBOL_IDS, EncodingPlan, NotYet, RepairMatrix, SourceBlockDecoder,
    SourceBlockEncoder,
};
pub use kernels::{Level, LevelError};

#[cfg(test)]
mod quick {
    use alloc::{format, string::String, sync::Arc, vec::Vec};

    use super::*;

    #[test]
    fn decodes() {
        for k in [1u32, 2, 9, 10, 50, 100, 101, 257, 1000] {
            let t = 100;
            let block: Vec<u8> = (0..k as usize * t).map(|i| (131 * i + 17 * (i / 128) + 5) as u8).collect();
            let plan = Arc::new(EncodingPlan::generate(k).unwrap());
            let mut encoder = SourceBlockEncoder::new(plan.clone(), k, t).unwrap();
            encoder.load(&block).unwrap();
            let mut decoder = SourceBlockDecoder::new(plan, k, t).unwrap();
            for lost in [0, 1, 5, k / 10, k / 3, k] {
                let lost = lost.min(k);
                for route in ["solve", "plan", "dense"] {
                    decoder.force(route);
                    decoder.clear();
                    let mut out = [0; 100];
                    for i in 0..k - lost {
                        let esi = (i * 7 + 3) % k;
                        let esi = if k % 7 == 0 { i } else { esi };
                        decoder.add_symbol(esi, &block[esi as usize * t..][..t]).unwrap();
                    }
                    for i in 0..lost + 2 {
                        encoder.encode_into(k + i * 3, &mut out).unwrap();
                        decoder.add_symbol(k + i * 3, &out).unwrap();
                    }
                    assert!(decoder.may_decode());
                    assert!(decoder.try_decode().unwrap() == block, "{k} {lost} {route}");
                }
            }
        }
    }

    #[test]
    fn vectors() {
        for (k, esi, hex) in [
            (10u32, 10, "6873b15e2b5cb31d719351bebec9a018"),
            (10, 17, "c55d80cccb7945c2f4b46925398b6330"),
            (100, 100, "407cca428677a93a93c6c4189d0f8c3a"),
            (100, 107, "01e581fbe962dd2bb14842dc268684ff"),
            (1000, 1000, "9ad7bc3b151682d7a9fcc54dad37435c"),
            (1000, 1007, "a10b5a72bd8b7a5b5355cc59fa83e757"),
        ] {
            let block: Vec<u8> = (0..k as usize * 16).map(|i| (131 * i + 17 * (i / 128) + 5) as u8).collect();
            let plan = Arc::new(EncodingPlan::generate(k).unwrap());
            std::println!("k {k} u {} free {}", plan.program.inactive.len(), plan.program.free.len());
            let mut encoder = SourceBlockEncoder::new(plan, k, 16).unwrap();
            encoder.load(&block).unwrap();
            let mut out = [0; 16];
            encoder.encode_into(3, &mut out).unwrap();
            assert_eq!(out[..], block[48..64], "systematic");
            encoder.encode_into(esi, &mut out).unwrap();
            let got: String = out.iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(got, hex, "K {k}, ESI {esi}");
        }
    }
}
