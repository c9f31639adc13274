//! Runs scenarios of the how-to pages; `tests/python/howtos.py` makes this an example of the simulator in its copy. Prints for
//! each run its sweep point and when its flows ended, in seconds.

use anabranch_sim::measure::RunRecord;
use anabranch_sim::scenario::load;
use std::path::Path;

fn main() {
    for file in std::env::args().skip(1) {
        let plan = load(Path::new(&file), &[]).unwrap_or_else(|errors| panic!("{errors}"));
        for run in &plan.runs {
            let mut network = plan.network(run).unwrap_or_else(|error| panic!("{error}"));
            let ending = network.run(|_| true);
            let record = RunRecord::take(&mut network, ending);
            let ends = record.flows.iter().map(|flow| flow.end.map_or("never".into(), |end| format!("{:.4}", end.0 as f64 / 1e12)));
            println!("{}: {}", run.name(), ends.collect::<Vec<String>>().join(" "));
        }
    }
}
