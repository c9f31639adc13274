//! Worst-case traffic of every scheme on FT(16, 3) and FT(32, 3), timed once each: `cargo bench -p anabranch-routing`.
//!
//! Arguments: m of the trees, and names of schemes; `switches` adds the switches of the top level.

use anabranch_routing::findings::tree;
use anabranch_routing::number::{Exact, Scalar};
use anabranch_routing::schemes::make;
use anabranch_routing::worst::WorstCase;

const SCHEMES: [&str; 10] =
    ["nr", "d-mod-k", "s-mod-k", "dnvr", "balanced", "virtual-tables", "mdnvr-k:2", "ecmp", "mdnvr", "vlb"];

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let sizes: Vec<u32> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let named: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| make_name(a)).collect();
    let switches = arguments.iter().any(|a| a == "switches");
    println!("{:8}  {:16}  {:>9}  {:>6}  {:>14}  {:>8}", "fabric", "scheme", "place", "load", "examined", "seconds");
    for m in if sizes.is_empty() { vec![16, 32] } else { sizes } {
        let start = std::time::Instant::now();
        let fabric = tree(m, 3).expect("a tree");
        println!("FT({m}, 3)  built in {:.2} s", start.elapsed().as_secs_f64());
        for name in if named.is_empty() { SCHEMES.to_vec() } else { named.clone() } {
            let scheme = make::<Exact>(name, &fabric, 1).expect("a scheme of trees");
            let start = std::time::Instant::now();
            let cases = WorstCase::new(&fabric, scheme.as_ref()).expect("bounds");
            let show = |place: &str,
                        found: anabranch_routing::error::RoutingResult<anabranch_routing::worst::Worst<Exact>>,
                        start: std::time::Instant| {
                let seconds = start.elapsed().as_secs_f64();
                match found {
                    Ok(worst) => {
                        let examined = format!("{} of {}", worst.examined.0, worst.examined.1);
                        println!(
                            "FT({m}, 3)  {name:16}  {place:>9}  {:>6}  {examined:>14}  {seconds:>8.2}",
                            worst.value.text()
                        );
                    }
                    Err(error) => println!("FT({m}, 3)  {name:16}  {place:>9}  {error}"),
                }
            };
            show("links", cases.links(), start);
            if switches {
                for t in 0..2 {
                    let start = std::time::Instant::now();
                    show(&format!("switch {t}"), cases.switches_at(t), start);
                }
            }
        }
    }
}

fn make_name(text: &str) -> bool {
    text.parse::<u32>().is_err() && text != "switches"
}
