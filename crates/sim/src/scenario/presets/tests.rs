use super::*;
use crate::measure::RunRecord;
use crate::network::Ending;
use crate::scenario::{Plan, tests};

/// Two racks of two hosts, of which three send.
fn text(rate: &str, rest: &str) -> String {
    format!(
        r#"
fabric = {{ topology = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, rate = "{rate}", delay = "1us" }}
{rest}
[[workload]]
sizes = {{ law = "fixed", size = "200KB" }}
placement = {{ pattern = "pairs", pairs = [[0, 3], [1, 3], [2, 0]] }}
"#
    )
}

fn plan(rest: &str, overrides: &[&str]) -> Result<Plan, String> {
    tests::plan(&text("100Gbps", rest), overrides)
}

fn remarks(plan: &Plan) -> Vec<String> {
    plan.runs[0].remarks.iter().map(|remark| remark.fault.message.clone()).collect()
}

/// Every preset, with each of its transports, at its own rate: it loads, all of its keys are read, nothing of it is remarkable for being at
/// another rate, and all sessions end.
#[test]
fn each_works_where_it_belongs() {
    for preset in presets() {
        assert!(preset.summary.len() > 15 && preset.source.len() > 10 && !preset.transports.is_empty(), "{preset:?}");
        let rate = preset.rate.unwrap_or(Rate::from_gbps(1));
        for name in &preset.transports {
            let text = text(
                &rate.to_string(),
                &format!("transport = {{ name = {:?}, preset = {:?} }}", name.name(), preset.name),
            );
            let plan = tests::plan(&text, &[]).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
            let told: Vec<String> = plan.warnings.iter().map(ToString::to_string).collect();
            assert!(!told.iter().any(|told| told.contains("has no effect")), "{}: {told:?}", preset.name);
            assert!(!remarks(&plan).iter().any(|told| told.contains("its numbers")), "{}", preset.name);
            let mut network = plan.network(&plan.runs[0]).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
            let ending = network.run(|_| true);
            assert_eq!(ending, Ending::Complete, "{} with {}", preset.name, name.name());
            assert!(RunRecord::take(&mut network, ending).conservation.holds());
        }
    }
}

/// Where its numbers come from does not matter to a run: it has the same hash and the same results as with all of them written out.
#[test]
fn a_preset_and_its_keys_by_hand_are_the_same_run() {
    for preset in presets() {
        let rate = preset.rate.unwrap_or(Rate::from_gbps(1)).to_string();
        let text =
            |more: &str| text(&rate, &format!("transport = {{ name = {:?}{more} }}", preset.transports[0].name()));
        let mut keys = Vec::new();
        flatten("", &preset.keys, &mut keys);
        let keys: Vec<String> = keys.iter().map(|key| key.replacen(" = ", "=", 1)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let by_hand = tests::plan(&text(""), &keys).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
        let named = tests::plan(&text(&format!(", preset = {:?}", preset.name)), &[]).expect("as above");
        let (by_hand, named) = (&by_hand.runs[0], &named.runs[0]);
        assert_eq!(by_hand.scenario.canonical_json(1), named.scenario.canonical_json(1), "{}", preset.name);
        assert_eq!(by_hand.hash, named.hash, "{}", preset.name);
        let plain = tests::plan(&text(""), &[]).expect("a scenario");
        assert_ne!(plain.runs[0].hash, named.hash, "{} changes something", preset.name);
    }
}

#[test]
fn what_is_given_wins() {
    let given = "transport = { name = \"hpcc\", preset = \"hpcc-100g\", hpcc = { target = 0.9 } }\nswitch = { shared_alpha = 0.5 }";
    let plan = plan(given, &["transport.roce.packet=4140B"]).expect("a scenario");
    let scenario = &plan.runs[0].scenario;
    let hpcc = &scenario.transport.hpcc;
    assert_eq!((hpcc.target, hpcc.max_stage, scenario.transport.roce.packet.0), (0.9, 0, 4140));
    assert_eq!((scenario.switch.shared_alpha, scenario.switch.shared_buffer.map(|b| b.0)), (0.5, Some(32 << 20)));
}

#[test]
fn presets_are_swept() {
    let swept = "transport = { name = \"dcqcn\" }\n[sweep]\n\"transport.name, transport.preset\" = [[\"dcqcn\", \"dcqcn-100g\"], [\"hpcc\", \"hpcc-100g\"], [\"newreno\", []]]";
    let plan = plan(swept, &[]).expect("a scenario");
    let memory = |run: &crate::scenario::RunPlan| run.scenario.switch.pfc.is_some();
    assert_eq!(plan.runs.iter().map(memory).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(plan.runs[1].point["transport.preset"], "hpcc-100g");
    let alone = "transport = { name = \"hpcc\", preset = \"hpcc-100g\" }";
    assert_eq!(plan.runs[1].hash, super::tests::plan(alone, &[]).expect("a scenario").runs[0].hash);
    assert!(super::tests::plan(swept, &["transport.preset=dcqcn-100g"]).is_err(), "HPCC has others");
}

#[test]
fn workloads_with_transports_of_their_own_have_presets_of_their_own() {
    let two = "transport = { name = \"dcqcn\", preset = [\"dcqcn-100g\", \"timely-100g\"] }\n[[workload]]\nname = \"other\"\ntransport = \"timely\"\nsizes = { law = \"fixed\", size = \"1MB\" }\nplacement = { pattern = \"random\" }";
    let plan = plan(two, &[]).expect("their switches agree");
    let transport = &plan.runs[0].scenario.transport;
    assert_eq!(
        (transport.timely.additive_increase, transport.dcqcn.is_default()),
        ("100Mbps".parse().expect("a rate"), false)
    );
}

#[test]
fn what_cannot_be_is_refused_and_says_why() {
    let one = |preset: &str, rest: &str| {
        let found = plan(&format!("transport = {{ name = \"dcqcn\", preset = {preset} }}\n{rest}"), &[]);
        found.err().unwrap_or_else(|| panic!("{preset} is refused"))
    };
    let error = one("\"dcqcn-100\"", "");
    assert!(error.contains("test.toml:3:40: transport.preset: unknown preset \"dcqcn-100\"; for dcqcn: dcqcn-25g, dcqcn-40g, dcqcn-100g"), "{error}");
    assert!(error.contains("hint: did you mean \"dcqcn-100g\"?"), "{error}");
    let error = one("\"hpcc-100g\"", "");
    assert!(error.contains("\"hpcc-100g\" is for hpcc, which nothing here uses; for dcqcn: dcqcn-25g"), "{error}");
    let error = one("\"dcqcn-40g\"", "switch = { queue = \"ecn\" }");
    assert!(error.contains("switch.queue: preset \"dcqcn-40g\" is for \"red\", not \"ecn\""), "{error}");
    assert!(error.contains("hint: leave out switch.queue, or the preset"), "{error}");
    let error = one("[\"dcqcn-25g\", \"dcqcn-40g\"]", "");
    assert!(
        error.contains("preset dcqcn-25g:")
            && error.contains("\"dcqcn-25g\" has \"55us\", and \"dcqcn-40g\" has \"60us\""),
        "{error}"
    );
    // An error in what a preset and the scenario make together is told where it is written.
    let error = one("\"dcqcn-40g\"", "switch = { red = { min_threshold = \"2MB\" } }");
    assert!(error.contains("preset dcqcn-40g:") && error.contains("is not above min_threshold"), "{error}");
    for wrong in ["7", "[1]", "{ name = \"x\" }"] {
        assert!(one(wrong, "").contains("transport.preset"), "{wrong}");
    }
    let none = plan("transport = { name = \"udp\", preset = \"tcp-linux\" }", &[]).expect_err("it is TCP's");
    assert!(none.contains("there is none for udp"), "{none}");
    assert!(one("\"dcqcn-40g\"", "switch = 3").contains("switch: expected a table"));
}

#[test]
fn another_rate_is_remarked() {
    let told = |rate: &str| {
        let text = text(rate, "transport = { name = \"dcqcn\", preset = \"dcqcn-40g\" }");
        let plan = tests::plan(&text, &[]).expect("a scenario");
        let found = plan.runs[0].remarks.iter().find(|remark| remark.fault.key == "transport.preset").cloned();
        found.map(|remark| (remark.fault.message, remark.fault.hint.unwrap_or_default()))
    };
    assert_eq!([told("20Gbps"), told("40Gbps"), told("80Gbps")], [None, None, None]);
    let (text, hint) = told("100Gbps").expect("it is told");
    assert_eq!(text, "dcqcn-40g: its numbers are for links of 40Gbps, and hosts have 100Gbps");
    assert_eq!(hint, "dcqcn-100g, or give those that depend on the rate yourself");
    assert!(told("10Gbps").is_some_and(|(_, hint)| hint.starts_with("give those")));
}

/// The scenarios of Song's experiments have the same keys written out.
#[test]
fn song_s_experiments_have_song_s_preset() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/song/fig11/fig11.toml");
    let hashes = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
        let plan = crate::scenario::list(&file, &overrides).unwrap_or_else(|e| panic!("{e}"));
        plan.runs.into_iter().map(|run| run.hash).collect::<Vec<_>>()
    };
    let preset = r#"transport={ name = "reno", preset = "tcp-song" }"#;
    assert_eq!(hashes(&[]), hashes(&[preset]));
}

#[test]
fn the_reference_lists_them() {
    let page = crate::scenario::reference();
    assert!(page.contains("| `hpcc-100g` | hpcc | 100Gbps |") && page.contains("`switch.shared_alpha = 0.125`"));
}
