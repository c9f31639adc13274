//! Options of switches and hosts, from the scenario to what packets meet: that they arrive where they work.

use anabranch_sim::measure::{FlowRow, RunRecord};
use anabranch_sim::network::Ending;
use anabranch_sim::scenario::parse;

/// Ten objects at once to a host that also receives two long ones.
const INCAST: &str = r#"
[fabric]
topology = "star"
hosts = 13
rate = "1Gbps"
delay = "1us"
[switch]
buffer = "8 packets"
[transport]
name = "scdp"
[[workload]]
name = "long"
sizes = { law = "fixed", size = "3MB" }
placement = { pattern = "pairs", pairs = [[11, 0], [12, 0]] }
[[workload]]
name = "short"
sizes = { law = "fixed", size = "17KB" }
arrivals = { law = "explicit", times = ["3ms"] }
placement = { pattern = "incast", senders = 10, receiver = 0 }
"#;

fn short(options: &[&str]) -> Vec<FlowRow> {
    let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
    let plan = parse("test.toml", INCAST, &options).unwrap_or_else(|e| panic!("{e}"));
    let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{e}"));
    let ending = network.run(|_| true);
    let record = RunRecord::take(&mut network, ending);
    assert_eq!(record.ending, Ending::Complete);
    assert!(record.conservation.holds());
    record.flows.into_iter().filter(|flow| &*flow.workload == "short").collect()
}

fn trimmed(flows: &[FlowRow]) -> u64 {
    flows.iter().map(|flow| flow.packets_trimmed).sum()
}

fn last(flows: &[FlowRow]) -> f64 {
    let times = flows.iter().map(|flow| flow.end.expect("complete").since(flow.start).as_secs_f64());
    times.fold(0.0, f64::max)
}

#[test]
fn pushed_windows_go_first() {
    for queue in ["auto", "fair"] {
        for name in ["scdp", "ndp", "ndp+"] {
            let common = [format!("switch.queue={queue}"), format!("transport.name={name}")];
            let with = |option| short(&[&common[0], &common[1], option]);
            let (plain, first) = (with("switch.pushed_first=false"), with("switch.pushed_first=true"));
            assert!(trimmed(&plain) > 20 && trimmed(&first) == 0, "{queue} {name}: {}", trimmed(&plain));
            assert!(last(&first) < last(&plain), "{queue} {name}");
        }
    }
}

#[test]
fn what_arrives_is_trimmed() {
    // Long flows fill the buffer; urgent packets that arrive take the place of theirs, or are trimmed themselves.
    let trimmed_of = |victim| trimmed(&short(&[victim]));
    assert!(trimmed_of("switch.victim=arriving") > trimmed_of("switch.victim=lowest"));
    // Without priorities either is trimmed with probability 1/2.
    let ndp = |victim| short(&["transport.name=ndp", victim]).iter().map(|flow| flow.end).collect::<Vec<_>>();
    assert_eq!(ndp("switch.victim=auto"), ndp("switch.victim=lowest"));
    assert_ne!(ndp("switch.victim=auto"), ndp("switch.victim=arriving"));
}

#[test]
fn urgent_sessions_pull_first() {
    let with = |order| last(&short(&["switch.buffer=100 packets", "workload.short.sizes.size=100KB", order]));
    let (turns, priority) = (with("host.pull_order=turns"), with("host.pull_order=priority"));
    // They are 8.4 ms of the link; of its turns the long ones have some until the short are through.
    assert!(priority < 0.985 * turns, "{turns} {priority}");
}
