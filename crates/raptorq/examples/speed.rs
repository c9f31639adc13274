#![allow(clippy::all, clippy::pedantic, clippy::disallowed_methods, missing_docs, unsafe_code)]
use anabranch_raptorq::*;
use std::sync::Arc;
use std::time::Instant;
fn med(mut f: impl FnMut()) -> f64 {
    f();
    let t = Instant::now();
    f();
    let one = t.elapsed().as_secs_f64().max(1e-9);
    let n = ((0.02 / one) as usize).clamp(1, 100000);
    let mut v: Vec<f64> = (0..7)
        .map(|_| {
            let t = Instant::now();
            for _ in 0..n {
                f();
            }
            t.elapsed().as_secs_f64() / n as f64
        })
        .collect();
    v.sort_by(f64::total_cmp);
    v[1]
}
fn main() {
    let t: usize = std::env::var("T").map_or(1280, |v| v.parse().unwrap());
    let ks: Vec<u32> = std::env::args()
        .nth(1)
        .map_or(vec![10, 100, 1000, 10000, 50000], |v| v.split(',').map(|k| k.parse().unwrap()).collect());
    let losses: Vec<f64> =
        std::env::args().nth(2).map_or(vec![0.05, 0.3], |v| v.split(',').map(|k| k.parse().unwrap()).collect());
    for k in ks {
        let block: Vec<u8> = (0..k as usize * t).map(|i| (131 * i + 17 * (i / 128) + 5) as u8).collect();
        let plan = Arc::new(EncodingPlan::generate(k).unwrap());
        let bits = block.len() as f64 * 8e-9;
        print!("K {k:6}");
        let mut e = SourceBlockEncoder::new(plan.clone(), k, t).unwrap();
        if std::env::args().nth(2).is_none() {
            let gen_ = med(|| {
                std::hint::black_box(EncodingPlan::generate(k).unwrap());
            });
            let s = med(|| e.load(&block).unwrap());
            print!(" plan {:9.1} us encode {:6.1} scratch {:6.1}", gen_ * 1e6, bits / s, bits / (s + gen_));
        }
        e.load(&block).unwrap();
        for &loss in &losses {
            let lost = if loss >= 1.0 { loss as u32 } else { ((k as f64 * loss).round() as u32).max(1) };
            // random losses
            let mut ids: Vec<u32> = (0..k).collect();
            let mut s = 12345u64;
            for i in 0..k as usize {
                s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let j = i + (s >> 33) as usize % (k as usize - i);
                ids.swap(i, j);
            }
            let mut got: Vec<u32> = ids[lost as usize..].to_vec();
            got.sort();
            got.extend((0..lost + 2).map(|i| k + i));
            let mut rep = vec![0; (lost as usize + 2) * t];
            e.repair_into(k, &mut rep).unwrap();
            print!("  {lost:5} lost:");
            for route in std::env::var("R").unwrap_or("solve,plan,dense,auto".into()).split(',') {
                if route == "dense" && lost > 400 || route == "plan" && lost > 4000 {
                    print!("   -- ");
                    continue;
                }
                let mut d = SourceBlockDecoder::new(plan.clone(), k, t).unwrap();
                d.force(route);
                let s = med(|| {
                    d.clear();
                    for &i in &got {
                        let sym = if i < k { &block[i as usize * t..][..t] } else { &rep[(i - k) as usize * t..][..t] };
                        d.add_symbol(i, sym).unwrap();
                    }
                    d.try_decode().unwrap();
                });
                assert!(d.try_decode().unwrap() == block);
                print!(" {:5.1}", bits / s);
            }
        }
        println!();
    }
}
