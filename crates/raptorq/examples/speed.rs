#![allow(clippy::all, clippy::pedantic, clippy::disallowed_methods, missing_docs, unsafe_code)]
use anabranch_raptorq::*;
use std::sync::Arc;
use std::time::Instant;
fn med(mut f: impl FnMut()) -> f64 {
    f();
    let t = Instant::now();
    f();
    let one = t.elapsed().as_secs_f64().max(1e-9);
    let n = ((0.03 / one) as usize).clamp(1, 100000);
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
    for k in ks {
        let block: Vec<u8> = (0..k as usize * t).map(|i| (131 * i + 17 * (i / 128) + 5) as u8).collect();
        let plan = Arc::new(EncodingPlan::generate(k).unwrap());
        let gen_ = med(|| {
            std::hint::black_box(EncodingPlan::generate(k).unwrap());
        });
        let bits = block.len() as f64 * 8e-9;
        print!("K {k:6} plan {:9.1} us", gen_ * 1e6);
        for w in [1, 2, 4, 8] {
            unsafe { std::env::set_var("W", w.to_string()) };
            let mut e = SourceBlockEncoder::new(plan.clone(), k, t).unwrap();
            let s = med(|| e.load(&block).unwrap());
            print!("  w{w} {:6.1}", bits / s);
        }
        println!();
    }
}
