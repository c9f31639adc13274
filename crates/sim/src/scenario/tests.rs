use super::*;
use crate::workload::context::tests::racks;
use crate::workload::{Mode, generate};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const MINIMAL: &str = r#"
[fabric]
topology = "star"
hosts = 4
[transport]
name = "scdp"
[[workload]]
name = "web"
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "random" }
sessions = 10
"#;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub(super) fn plan(text: &str, overrides: &[&str]) -> Result<Plan, String> {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    parse("test.toml", text, &overrides).map_err(|e| e.to_string())
}

/// The whole message of a scenario with one mistake.
fn error(text: &str) -> String {
    plan(text, &[]).unwrap_err()
}

/// [`MINIMAL`] with one piece replaced.
fn with(from: &str, to: &str) -> String {
    assert!(MINIMAL.contains(from));
    MINIMAL.replace(from, to)
}

#[test]
fn the_smallest_scenario_has_defaults_for_the_rest() {
    let plan = plan(MINIMAL, &[]).unwrap();
    assert_eq!(plan.runs.len(), 1);
    let (run, scenario) = (&plan.runs[0], &plan.runs[0].scenario);
    assert_eq!((run.name().as_str(), run.seed, scenario.name.as_str()), ("p000-s1", 1, "test"));
    assert_eq!(scenario.switch, SwitchConfig::default());
    assert_eq!(scenario.host.jitter, crate::fabric::jitter::Jitter::NONE);
    assert_eq!(scenario.run.stop, Stop::Foreground);
    assert_eq!(plan.warnings, []);
}

#[test]
fn unknown_keys_say_where_and_what_was_meant() {
    assert_eq!(
        error(&with("hosts = 4", "hosts = 4\nratee = \"1Gbps\"")),
        "error: test.toml:5:1: fabric.ratee: unknown key `ratee`; expected one of topology, hosts, rate, delay\n  |\n5 | \
         ratee = \"1Gbps\"\n  | ^^^^^\nhint: did you mean `rate`?"
    );
    // A slip in a required key is one mistake, not two.
    assert_eq!(
        error(&with("[transport]", "[transprt]")).lines().map(|l| &l[..l.len().min(60)]).collect::<Vec<_>>(),
        [
            "error: test.toml:5:2: transprt: unknown key `transprt`; expe",
            "  |",
            "5 | [transprt]",
            "  |  ^^^^^^^^",
            "hint: did you mean `transport`?"
        ]
    );
}

#[test]
fn keys_of_tagged_tables_are_those_of_the_variant() {
    assert_eq!(
        error(&with("size = \"1MB\"", "sice = \"1MB\"")),
        "error: test.toml:9:26: workload[0].sizes.sice: unknown key `sice`; expected one of law, size\n  |\n\
         9 | sizes = { law = \"fixed\", sice = \"1MB\" }\n  |                          ^^^^\nhint: did you mean `size`?"
    );
    assert_eq!(
        error(&with("\"fixed\"", "\"fixd\"")),
        "error: test.toml:9:17: workload[0].sizes.law: unknown value \"fixd\"; expected one of \"fixed\", \"cdf\", \"pareto\", \
         \"log-normal\", \"endless\", \"volumes\"\n  |\n9 | sizes = { law = \"fixd\", size = \"1MB\" }\n  |                 ^^^^^^\n\
         hint: did you mean \"fixed\"?"
    );
    assert_eq!(
        error(&with("law = \"fixed\", ", "")),
        "error: test.toml:9:1: workload[0].sizes.law: is missing; expected one of \"fixed\", \"cdf\", \"pareto\", \
         \"log-normal\", \"endless\", \"volumes\"\n  |\n9 | sizes = { size = \"1MB\" }\n  | ^^^^^"
    );
}

#[test]
fn quantities_say_how_they_are_written() {
    let first_line = |text: &str| error(text).lines().next().unwrap_or_default().to_owned();
    assert_eq!(
        first_line(&with("\"1MB\"", "1000000")),
        "error: test.toml:9:33: workload[0].sizes.size: expected a number of bytes in quotes, like \"1.5MB\", found the \
         number 1000000"
    );
    assert_eq!(
        first_line(&with("hosts = 4", "hosts = 4\ndelay = \"10\"")),
        "error: test.toml:5:9: fabric.delay: \"10\" is not a time: the unit is missing; one of ps, ns, us, µs, ms, s \
         (write it like \"10us\")"
    );
    assert_eq!(
        error(&with("hosts = 4", "hosts = 4\ndelay = 10us")),
        "error: test.toml:5:9: not TOML: string values must be quoted, expected literal string\n  |\n5 | delay = 10us\n  \
           |         ^^^^\nhint: in quotes: \"10us\""
    );
    assert_eq!(
        first_line(&format!("{MINIMAL}[switch]\nbuffer = \"100 pakets\"")),
        "error: test.toml:13:10: switch.buffer: \"100 pakets\" is not a buffer size: write it like \"100 packets\", \
         \"150KB\", \"unlimited\" or \"auto\""
    );
}

#[test]
fn types_and_ranges() {
    let says = |text: String, part: &str| {
        let error = error(&text);
        assert!(error.contains(part), "{error}");
    };
    says(with("hosts = 4", "hosts = \"4\""), "fabric.hosts: expected a whole number, found the string \"4\"");
    says(with("hosts = 4", "hosts = \"4\""), "hint: without quotes: 4");
    says(with("hosts = 4", "hosts = 4.5"), "fabric.hosts: expected a whole number, found the number 4.5");
    says(with("hosts = 4", "hosts = -4"), "fabric.hosts: must be at least 2, not -4");
    says(with("hosts = 4", "hosts = 5000000000"), "fabric.hosts: must be at most 4294967295, not 5000000000");
    says(with("hosts = 4", "hosts = 99999999999999999999"), "the number is too large");
    says(with("[[workload]]", "[workload]"), "hint: write `[[workload]]`, in double brackets");
    says(format!("repeat = 0\n{MINIMAL}"), "test.toml:1:10: repeat: must be at least 1, not 0");
    says(format!("name = 2024-01-01\n{MINIMAL}"), "name: expected a string, found the date 2024-01-01");
    says(format!("{MINIMAL}arrivals = {{ law = \"poisson\", rate = nan }}"), "must be a finite number, not NaN");
    says(format!("{MINIMAL}[measure]\nqueues = \"true\""), "hint: without quotes: true");
    says(with("{ pattern = \"random\" }", "\"random\""), "hint: { pattern = \"random\" }");
    says(String::new(), "test.toml:1:1: fabric: is missing; expected a table with `topology`");
}

#[test]
fn all_errors_are_reported_in_the_order_of_the_file() {
    let text =
        "sed = 3\n".to_owned() + &with("hosts = 4", "hosts = true").replace("1MB", "1MX") + "[run]\nstop = \"some\"\n";
    let errors = parse("test.toml", &text, &[]).unwrap_err().0;
    let found: Vec<(usize, usize, &str)> = errors.iter().map(|e| (e.line, e.column, e.key.as_str())).collect();
    assert_eq!(found, [(1, 1, "sed"), (5, 9, "fabric.hosts"), (10, 33, "workload[0].sizes.size"), (14, 8, "run.stop")]);
    assert!(errors.iter().all(|e| e.file == "test.toml" && !e.warning));
}

#[test]
fn impossible_values_name_their_line() {
    let cases: &[(&str, String, &str)] = &[
        ("fabric.k", with("\"star\"\nhosts = 4", "\"fat-tree\"\nk = 5"), "must be even, not 5"),
        ("fabric.rate", with("hosts = 4", "hosts = 4\nrate = \"0bps\""), "expected a bit rate above zero"),
        ("workload[0].sizes.size", with("1MB", "0B"), "an object has at least one byte"),
        (
            "workload",
            with("[[workload]]", "[sink]").replace("[sink]", "[[workload]]").split("[[").next().unwrap().to_owned(),
            "is missing",
        ),
        (
            "workload[0].arrivals.load",
            with("sessions = 10", "sessions = 10\narrivals = { law = \"poisson\", load = 0.0 }"),
            "must be above 0",
        ),
        (
            "transport.scdp.priority_thresholds",
            with("name = \"scdp\"", "name = \"scdp\"\nscdp = { priority_thresholds = [\"10KB\", \"10KB\"] }"),
            "10KB does not exceed 10KB before it",
        ),
        (
            "transport.ndp.initial_window",
            with("name = \"scdp\"", "name = \"scdp\"\nndp = { initial_window = 0 }"),
            "0 is not 1 to 16384 packets",
        ),
        (
            "workload[0].sizes.file",
            with("\"fixed\", size = \"1MB\"", "\"cdf\", file = \"no.csv\""),
            "cannot read no.csv",
        ),
        (
            "workload[0].sizes.name",
            with("\"fixed\", size = \"1MB\"", "\"cdf\", name = \"x\""),
            "no built-in distribution",
        ),
        (
            "workload[1].name",
            MINIMAL.to_owned() + "[[workload]]\nname = \"web\"\ntrace = { file = \"a.cm\" }",
            "is named \"web\" already",
        ),
        ("workload[0].mode", with("sessions = 10", "sessions = 10\nmode = \"one_to_many\""), "makes unicast sessions"),
        (
            "failure[0].switch",
            MINIMAL.to_owned() + "[[failure]]\nat = \"1ms\"\nlink = \"a-b\"\nswitch = \"c\"\naction = \"cut\"",
            "not both",
        ),
        (
            "failure[0].action",
            MINIMAL.to_owned() + "[[failure]]\nat = \"1ms\"\nlink = \"a-b\"\naction = \"slow\"",
            "needs a `rate`",
        ),
        ("measure", MINIMAL.to_owned() + "[measure]\nqueues = true", "need an `interval`"),
        ("switch.priorities", MINIMAL.to_owned() + "[switch]\npriorities = 9", "must be at most 8, not 9"),
        ("workload", with("\"fixed\", size = \"1MB\"", "\"endless\""), "waits for no session"),
    ];
    for (key, text, message) in cases {
        let errors = parse("test.toml", text, &[]).unwrap_err().0;
        let found = errors.iter().find(|e| e.key == *key).unwrap_or_else(|| panic!("{key}: {errors:?}"));
        assert!(found.message.contains(message), "{key}: {found}");
        assert!(found.line > 0, "{key}: {found}");
    }
}

#[test]
fn priority_thresholds_are_refused_in_every_table_that_a_transport_may_take_them_from() {
    let eight = "\"1KB\", \"2KB\", \"3KB\", \"4KB\", \"5KB\", \"6KB\", \"7KB\", \"8KB\"";
    let bad = [
        (eight, "8 thresholds; expected at most 7, as switches have 8 priorities"),
        ("\"2KB\", \"1KB\"", "1KB does not exceed 2KB before it; expected each to exceed the one before"),
        ("\"2KB\", \"2KB\"", "2KB does not exceed 2KB before it"),
    ];
    // PIAS and NDP+ take SCDP's where they have none of their own.
    for (name, table) in [("scdp", "scdp"), ("pias", "scdp"), ("pias", "tcp"), ("ndp+", "scdp"), ("ndp+", "ndp")] {
        for (thresholds, message) in bad {
            let transport = format!("name = \"{name}\"\n{table} = {{ priority_thresholds = [{thresholds}] }}");
            let error = error(&with("name = \"scdp\"", &transport));
            let place = "test.toml:7:";
            assert!(error.contains(place), "{error}");
            assert!(error.contains(&format!("transport.{table}.priority_thresholds: {message}")), "{error}");
            assert!(error.contains("\nhint: priority_thresholds = [\"10kB\""), "{error}");
        }
    }
}

#[test]
fn faults_of_data_files_name_both_lines() {
    let dir = std::env::temp_dir().join(format!("anabranch-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("sizes.csv"), "# interpolation: linear\n10,0.5\n5,1\n").unwrap();
    std::fs::write(dir.join("s.toml"), with("\"fixed\", size = \"1MB\"", "\"cdf\", file = \"sizes.csv\"")).unwrap();
    let errors = load(&dir.join("s.toml"), &[]).unwrap_err().0;
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!((errors[0].line, errors[0].key.as_str()), (9, "workload[0].sizes.file"));
    assert_eq!(errors[0].message, "sizes.csv:3: sizes must ascend: 5 comes after 10");
    let missing = load(Path::new("nowhere/none.toml"), &[]).unwrap_err().to_string();
    assert!(missing.starts_with("error: nowhere/none.toml: cannot read the file: "), "{missing}");
}

#[test]
fn a_load_above_one_is_a_warning() {
    let text = with("sessions = 10", "sessions = 10\narrivals = { law = \"poisson\", load = 1.5 }");
    let plan = plan(&text, &[]).unwrap();
    let warning = plan.warnings[0].to_string();
    assert!(warning.starts_with("warning: test.toml:12:38: workload[0].arrivals.load: 1.5 is more than"), "{warning}");
}

#[test]
fn overrides_are_toml_or_else_strings() {
    let overrides = [
        "fabric.rate=10Gbps",
        "repeat=3",
        "workload.web.sessions=7",
        "workload[0].sizes={law=\"fixed\", size=\"2KB\"}",
        "run.stop=all",
    ];
    let plan = plan(MINIMAL, &overrides).unwrap();
    let scenario = &plan.runs[0].scenario;
    assert!(serde_json::to_string(&scenario.fabric).unwrap().contains("10Gbps"));
    assert_eq!(plan.runs.iter().map(|r| r.seed).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(scenario.workload[0].sessions, Some(7));
    assert_eq!(scenario.run.stop, Stop::All);
    assert_eq!(serde_json::to_value(&scenario.workload[0].sizes).unwrap()["size"], "2KB");
    assert_eq!(plan.text, MINIMAL, "the text is kept as it was");
}

#[test]
fn errors_in_overrides_point_at_the_command_line() {
    let names = TransportName::ALL.iter().map(|t| format!("{:?}", t.name())).collect::<Vec<_>>().join(", ");
    assert_eq!(
        plan(MINIMAL, &["transport.name=scpd"]).unwrap_err(),
        format!(
            "error: command line:1:16: transport.name: unknown value \"scpd\"; expected one of {names}\n  |\n\
             1 | transport.name=scpd\n  |                ^^^^\nhint: did you mean \"scdp\"?"
        )
    );
    let line = |o: &str| plan(MINIMAL, &[o]).unwrap_err().lines().next().unwrap().to_owned();
    assert!(line("fabric.host=9").starts_with("error: command line:1:1: fabric.host: unknown key `host`"));
    assert_eq!(line("repeat"), "error: command line:1:1: expected `key=value`");
    assert_eq!(line("a..b=1"), "error: command line:1:1: \"a..b\" is not a key: a part is empty");
    assert!(line("workload.3.sessions=1").contains("`workload` has 1 elements, and none is numbered or named \"3\""));
    assert!(line("fabric.hosts.x=1").contains("`fabric.hosts` is not a table"));
}

const SWEEP: &str = r#"
repeat = 2
[fabric]
topology = "star"
hosts = 9
[transport]
name = "scdp"
[[workload]]
name = "w"
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "incast", senders = 1 }
[sweep]
"workload.w.placement.senders" = [4, 2]
"transport.name, switch.buffer" = [["ndp", "8 packets"], ["scdp", "20 packets"], ["newreno", "100 packets"]]
"#;

#[test]
fn sweeps_keep_the_order_of_the_file_and_the_last_key_is_fastest() {
    let plan = plan(SWEEP, &[]).unwrap();
    let shown: Vec<String> = plan
        .runs
        .iter()
        .map(|r| {
            let values: Vec<String> = r.point.values().map(|v| v.to_string().replace('"', "")).collect();
            format!("{} {}", r.name(), values.join(" "))
        })
        .collect();
    assert_eq!(shown.len(), 2 * 3 * 2);
    assert_eq!(
        shown[..7],
        [
            "p000-s1 4 ndp 8 packets",
            "p000-s2 4 ndp 8 packets",
            "p001-s1 4 scdp 20 packets",
            "p001-s2 4 scdp 20 packets",
            "p002-s1 4 newreno 100 packets",
            "p002-s2 4 newreno 100 packets",
            "p003-s1 2 ndp 8 packets",
        ]
    );
    let keys: Vec<&str> = plan.runs[0].point.keys().map(String::as_str).collect();
    assert_eq!(keys, ["workload.w.placement.senders", "transport.name", "switch.buffer"]);
    assert_eq!(plan.sweep.iter().map(|s| s.1.len()).collect::<Vec<_>>(), [2, 3, 3]);
    let last = &plan.runs[11].scenario;
    assert_eq!((last.transport.name, last.switch.buffer), (TransportName::Newreno, BufferSize::Packets(100)));
    assert!(last.sweep.is_empty());
}

#[test]
fn an_override_takes_its_key_out_of_the_sweep() {
    let plan = plan(SWEEP, &["transport.name=dctcp", "workload.0.placement.senders=3"]).unwrap();
    assert_eq!(plan.runs.len(), 3 * 2, "only the buffer is swept");
    assert!(plan.runs.iter().all(|r| r.scenario.transport.name == TransportName::Dctcp));
    assert_eq!(plan.runs[0].point.keys().collect::<Vec<_>>(), ["switch.buffer"]);
}

#[test]
fn errors_in_sweeps_point_into_the_sweep() {
    let first = |text: String| error(&text).lines().next().unwrap_or_default().to_owned();
    assert!(
        first(SWEEP.replace("\"newreno\"", "\"newrino\""))
            .starts_with("error: test.toml:14:83: transport.name: unknown value")
    );
    assert!(
        first(SWEEP.replace("w.placement.senders", "w.placement.sender"))
            .starts_with("error: test.toml:13:1: workload[0].placement.sender: unknown key `sender`")
    );
    assert!(first(SWEEP.replace("[4, 2]", "4")).ends_with("expected a list of values"));
    assert!(first(SWEEP.replace("[4, 2]", "[]")).ends_with("at least one value is needed"));
    assert!(
        first(SWEEP.replace("[\"ndp\", \"8 packets\"]", "\"ndp\""))
            .ends_with("expected a list of 2 values, one for each key")
    );
    assert!(first(SWEEP.replace("[4, 2]", "[4, 0]")).ends_with("workload[0].placement.senders: must be at least 1"));
    assert!(first(SWEEP.replace("workload.w.placement.senders", "seed")).ends_with("`seed` cannot be swept"));
    // Other errors are told together with those of the sweep, and each once, however many points find it.
    let errors = parse("test.toml", &SWEEP.replace("[4, 2]", "4").replace("hosts = 9", "host = 9"), &[]).unwrap_err().0;
    assert_eq!(errors.iter().map(|e| e.line).collect::<Vec<_>>(), [5, 13]);
    let errors = parse("test.toml", &SWEEP.replace("hosts = 9", "hosts = 0"), &[]).unwrap_err().0;
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn faults_of_the_fabric_find_their_line_later() {
    let plan = plan(SWEEP, &[]).unwrap();
    let run = &plan.runs[0];
    let fault = generate(&[run.scenario.workload[0].workload()], &racks(1, 3), run.seed).unwrap_err();
    let error = plan.workload_error(run, &fault).to_string();
    assert!(
        error.starts_with("error: test.toml:13:35: workload[0].placement.senders: an incast of 4 senders"),
        "{error}"
    );
}

#[test]
fn resolved_scenarios_round_trip() {
    for name in ["demo", "hello", "incast", "all-reduce", "barrier", "permutation", "one-to-many"] {
        let plan = load(&repository(&format!("scenarios/examples/{name}.toml")), &[]).unwrap_or_else(|e| panic!("{e}"));
        for run in plan.runs {
            let json = serde_json::to_string(&*run.scenario).unwrap();
            assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), *run.scenario);
            let text = toml::to_string(&*run.scenario).unwrap();
            let again = parse("again.toml", &text, &[]).unwrap_or_else(|e| panic!("{text}\n{e}"));
            assert_eq!(again.runs[0].scenario, run.scenario);
            assert_eq!(again.runs[0].scenario.canonical_json(run.seed), run.scenario.canonical_json(run.seed));
        }
    }
}

#[test]
fn a_deadline_and_a_port_are_checked_and_leave_the_hashes_of_others_alone() {
    let error = |over: &[&str]| plan(MINIMAL, over).unwrap_err();
    assert!(error(&["workload.0.deadline=0s"]).contains("must be above 0"));
    assert!(error(&["workload.0.port=0"]).contains("port"));
    assert!(error(&["workload.0.port=65536"]).contains("port"));
    let endless = ["workload.0.sizes={ law = \"endless\" }", "workload.0.deadline=1ms", "transport.name=d2tcp"];
    assert!(error(&endless).contains("sessions without end have none"));
    let hash = |over: &[&str]| plan(MINIMAL, over).unwrap().runs[0].hash.clone();
    let hashes = [hash(&[]), hash(&["workload.0.deadline=1ms"]), hash(&["workload.0.port=22"])];
    assert_ne!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
}

#[test]
fn the_hash_depends_on_what_the_run_depends_on() {
    let hash = |overrides: &[&str]| plan(MINIMAL, overrides).unwrap().runs[0].hash.clone();
    let base = hash(&[]);
    assert_eq!(base, hash(&["name=other", "description=x", "repeat=3"]));
    assert_eq!(base, hash(&["fabric.rate=1000Mbps"]), "the same value, written differently");
    let others = [hash(&["seed=2"]), hash(&["fabric.hosts=5"]), hash(&["transport.name=ndp"])];
    assert!(others.iter().all(|h| *h != base && h.len() == 32));
    // Guards against an accidental change of the canonical form, which would orphan recorded hashes.
    let scenario = &plan(MINIMAL, &[]).unwrap().runs[0].scenario;
    assert!(scenario.canonical_json(1).starts_with(concat!(
        r#"{"auto":[{"background":false,"buffer_packets":20,"queue":"mlfq-trim","routing":"per-packet","transport":"scdp"}],"#,
        r#""fabric":{"delay":"10us","hosts":4,"rate":"1Gbps","topology":"star"},"host":{"jitter":"#
    )));
    assert_eq!(base, hash(&["transport.scdp.initial_window=12", "switch.priorities=5", "run.stop=foreground"]));
    assert_ne!(base, hash(&["transport.scdp.initial_window=13"]));
}

/// Every default that there is stands in what is hashed, so that none can change without another hash.
#[test]
fn the_hash_has_every_default() {
    for name in TransportName::ALL {
        let text = MINIMAL.replace("\"scdp\"", &format!("{:?}", name.name()));
        let scenario = plan(&text, &[]).unwrap().runs[0].scenario.clone();
        let mut hashed: serde_json::Value = serde_json::from_str(&scenario.canonical_json(7)).unwrap();
        let mut all = serde_json::to_value(&*scenario).unwrap();
        for key in ["name", "description", "repeat", "sweep", "seed"] {
            all.as_object_mut().unwrap().remove(key);
        }
        let map = hashed.as_object_mut().unwrap();
        assert_eq!(map.remove("seed"), Some(7.into()));
        assert_eq!(map.remove("auto").unwrap()[0]["transport"], name.name());
        assert_eq!(hashed, all);
        // Those of each part, whichever is used.
        for (table, defaults) in [
            ("switch", serde_json::to_value(SwitchConfig::default()).unwrap()),
            ("host", serde_json::to_value(HostConfig::default()).unwrap()),
            ("routing", serde_json::to_value(RoutingConfig::default()).unwrap()),
            ("transport", serde_json::to_value(TransportConfig::by_default(*name)).unwrap()),
        ] {
            assert_eq!(hashed[table], defaults, "{table}");
        }
    }
}

#[test]
fn the_examples_generate_their_sessions() {
    let sessions = |name: &str, index: usize| {
        let plan = load(&repository(&format!("scenarios/examples/{name}.toml")), &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(plan.warnings, [], "{name}");
        let run = &plan.runs[index];
        (plan.runs.len(), plan.prepare(run).unwrap().sessions)
    };
    let (runs, demo) = sessions("demo", 0);
    assert_eq!((runs, demo.len()), (20, 5000));
    // Common random numbers: the first seed of every transport has the same sessions.
    assert_eq!(demo, sessions("demo", 15).1);
    assert_eq!(sessions("hello", 0).1.len(), 1);
    assert_eq!(sessions("incast", 74).1.len(), 70);
    assert_eq!(sessions("permutation", 0).1.len(), 128);
    let (runs, many) = sessions("one-to-many", 0);
    assert_eq!((runs, many.len()), (10, 2000 + 75));
    // Every transport is asked for the same writes.
    assert_eq!(many, sessions("one-to-many", 5).1);
    let writes: Vec<_> = many.iter().filter(|s| s.group == 0).collect();
    assert!(writes.iter().all(|s| s.mode == Mode::OneToMany));
}

#[test]
fn scenarios_beyond_the_papers_are_possible() {
    for (name, runs) in [
        ("trimming", 20),
        ("stragglers", 15),
        ("coexistence", 60),
        ("fast-links", 60),
        ("line-rate", 48),
        ("k16", 10),
        ("topologies", 90),
        ("pull-order", 30),
    ] {
        let plan =
            load(&repository(&format!("scenarios/scdp/{name}/{name}.toml")), &[]).unwrap_or_else(|e| panic!("{e}"));
        // Windows and decoders that do not fit are what some of them compare.
        let told =
            |message: &str| plan.runs[..].iter().flat_map(|run| &run.remarks[..]).any(|r| r.fault.message == message);
        let warnings: Vec<_> = plan.warnings.iter().filter(|warning| !told(&warning.message)).collect();
        assert_eq!((plan.runs.len(), warnings), (runs, vec![]), "{name}");
        for run in plan.runs.iter().filter(|run| run.seed == 1 && name != "k16") {
            plan.network(run).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

#[test]
fn multicast_trimming_without_trimming_is_a_warning() {
    let warns = |queue: &str| {
        let text = format!("{MINIMAL}[switch]\nqueue = \"{queue}\"\ntrim_multicast = false\n");
        plan(&text, &[]).unwrap().warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(warns("mlfq-trim").is_empty() && warns("auto").is_empty() && warns("fair").is_empty());
    assert!(warns("drop-tail")[0].contains("switch.trim_multicast: has no effect"), "{:?}", warns("drop-tail"));
}

/// What a discipline does not look at is told of, unless the transport chooses the discipline.
#[test]
fn keys_without_effect_on_the_queue_are_warnings() {
    let warns = |queue: &str, key: &str| {
        let text = format!("{MINIMAL}[switch]\nqueue = \"{queue}\"\n{key}\n");
        let warnings = plan(&text, &[]).unwrap().warnings;
        warnings.iter().any(|w| w.key.starts_with("switch.") && w.message.starts_with("has no effect"))
    };
    for (key, heeded_by) in [
        ("ecn_threshold = \"10 packets\"", &["ecn", "mlfq", "mlfq-trim"][..]),
        ("header_buffer = \"9KB\"", &["trim", "mlfq-trim"]),
        ("weight = 300", &["trim", "mlfq-trim"]),
        ("priorities = 3", &["mlfq", "mlfq-trim"]),
        ("victim = \"arriving\"", &["trim", "mlfq", "mlfq-trim"]),
        ("red = { weight = 0.01 }", &["red"]),
    ] {
        for queue in ["drop-tail", "ecn", "red", "trim", "mlfq", "mlfq-trim"] {
            assert_eq!(warns(queue, key), !heeded_by.contains(&queue), "{key} with {queue}");
        }
        for queue in ["auto", "fair"] {
            assert_eq!(warns(queue, key), key.starts_with("red"), "{key} with {queue}");
        }
    }
}

#[test]
fn thresholds_of_random_early_detection_make_sense() {
    let error = |red: &str| plan(&format!("{MINIMAL}[switch]\nqueue = \"red\"\nred = {{ {red} }}\n"), &[]).unwrap_err();
    assert!(error("min_threshold = \"20 packets\"").contains("switch.red.max_threshold: 15 packets is not above"));
    let mixed = error("min_threshold = \"20KB\"");
    assert!(mixed.contains("must both be packets or both be bytes") && mixed.contains("hint:"), "{mixed}");
    assert!(error("weight = 0.0").contains("switch.red.weight: must be above 0 and at most 1"));
    assert!(error("max_probability = 1.5").contains("switch.red.max_probability"));
}

#[test]
fn the_congestion_control_is_the_transport_s_name() {
    let text = with("name = \"scdp\"", "name = \"dctcp\"\ntcp = { congestion = \"cubic\" }");
    let error = plan(&text, &[]).unwrap_err();
    assert!(error.starts_with("error: test.toml:7:9: transport.tcp.congestion: unknown key"), "{error}");
    assert!(
        error.ends_with("hint: the transport's name is its congestion control: transport.name = \"cubic\""),
        "{error}"
    );
    let error = plan(MINIMAL, &["transport.tcp.congestion=cubic"]).unwrap_err();
    assert!(error.contains("transport.name = \"cubic\""), "{error}");
}

#[test]
fn hosts_that_relay_have_no_fair_queues() {
    let bcube = ["fabric={ topology = \"bcube\", n = 4, k = 1 }", "switch.queue=\"fair\""];
    let error = plan(MINIMAL, &bcube).unwrap_err();
    assert!(error.contains("switch.queue") && error.contains("relay"), "{error}");
    assert!(plan(MINIMAL, &bcube[..1]).is_ok() && plan(MINIMAL, &bcube[1..]).is_ok());
}

#[test]
fn the_reference_tells_the_keys_of_lists_of_tables() {
    let page = super::reference();
    for (list, key) in [("admission", "verdict"), ("thresholds", "length"), ("weights", "to"), ("schedule", "from")] {
        let section = page.split_once(&format!("`[[controller.{list}]]`")).expect("a section of its own").1;
        let section = section.split("###").next().expect("its text");
        assert!(section.contains(&format!("| `{key}` |")), "{list}: {section}");
    }
    assert!(page.contains("`dctcp`: C T / 7"), "symbols are no words");
}

#[test]
fn scenario_reference_page_is_current() {
    let file = repository("docs/reference/scenario.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, reference()).unwrap();
    }
    let page = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        page == reference(),
        "docs/reference/scenario.md is out of date: run `UPDATE=1 cargo test -p anabranch-sim scenario_reference`"
    );
}

proptest! {
    #[test]
    fn hostile_text_never_panics(text in "\\PC{0,120}", keys in "[a-z.\\[\\]0-9\"=, ]{0,30}") {
        let _ = plan(&text, &[&keys]);
        let _ = plan(MINIMAL, &[&keys]);
        let _ = plan(&format!("{MINIMAL}[sweep]\n{keys:?} = [1, \"a\"]"), &[]);
    }

    #[test]
    fn a_damaged_scenario_is_an_error_with_a_place_or_still_valid(at in 0_usize..400, put in "\\PC{0,2}", cut in 0_usize..12) {
        let start = (0..=at.min(SWEEP.len())).rev().find(|i| SWEEP.is_char_boundary(*i)).unwrap_or(0);
        let end = (start + cut).min(SWEEP.len());
        let text = format!("{}{put}{}", &SWEEP[..start], &SWEEP[end..]);
        if let Err(errors) = parse("test.toml", &text, &[]) {
            let shown = errors.to_string();
            prop_assert!(errors.0.iter().all(|e| e.line > 0), "{}", shown);
        }
    }
}

#[test]
fn a_key_that_belongs_one_table_deeper_is_told_its_place() {
    for (to, hint) in [
        ("name = \"scdp\"\nrto_min = \"1ms\"", "hint: it belongs to a table: transport.tcp.rto_min"),
        ("name = \"ndp\"\nincrease_factor = 1", ""),
        ("name = \"ndp\"\nrto = \"1ms\"", "transport.ndp.rto"),
        ("name = \"ndp\"\nquorum = 2", "hint: it belongs to a table: transport.scdp.straggler.quorum"),
    ] {
        let error = error(&with("name = \"scdp\"", to));
        assert!(error.contains("unknown key"), "{error}");
        assert!(error.lines().last().is_some_and(|line| line.contains(hint)), "{error}");
    }
    // On the command line, too; and a slip of the pen comes first.
    let line = plan(MINIMAL, &["transport.rto_min=1ms"]).unwrap_err();
    assert!(line.ends_with("transport.tcp.rto_min"), "{line}");
    assert!(plan(MINIMAL, &["transport.nane=ndp"]).unwrap_err().ends_with("did you mean `name`?"));
}

#[test]
fn a_failure_of_no_link_shows_one_of_this_fabric() {
    for (fabric, link, hint) in [
        (LEAF_SPINE, "edge0-core1", "links have names like \"leaf0-spine0\""),
        (LEAF_SPINE, "leaf0-leaf1", "links have names like \"leaf0-spine0\""),
        (LEAF_SPINE, "spine1-h0", "links have names like \"spine1-leaf0\""),
        (LEAF_SPINE, "leaf0-spine7", "did you mean \"spine0\"?"),
        ("topology = \"fat-tree\"\nk = 4", "leaf0-spine0", "links have names like \"edge0.0-agg0.0\""),
    ] {
        let failure = format!("\n[[failure]]\nat = \"1ms\"\nlink = \"{link}\"\naction = \"cut\"\n");
        let error = error(&(with("topology = \"star\"\nhosts = 4", fabric) + &failure));
        assert!(error.ends_with(&format!("hint: {hint}")), "{error}");
    }
}

const LEAF_SPINE: &str = "topology = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2";
