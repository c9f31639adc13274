//! What lab files stand for, and what is said about wrong ones.

use std::path::Path;

use super::*;

const HOSTS: &str = "[hosts.b]\n[hosts.a]\n[hosts.c]\nlink = { rate = \"10Mbps\" }\n";

fn parse(text: &str) -> Result<Plan, FileError> {
    Plan::parse("lab.toml", text, "lab", Path::new("/labs/"))
}

/// The plan of hosts, and of more.
fn plan(more: &str) -> Plan {
    let text = format!("{more}\n{HOSTS}");
    parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// The message and the hint about a text, which is wrong.
fn wrong(text: &str) -> (String, String) {
    let error = parse(text).expect_err("it is wrong");
    (error.to_string(), error.hint.unwrap_or_default())
}

#[test]
fn hosts_have_the_order_and_the_addresses_of_the_file() {
    let plan = plan("");
    assert_eq!(plan.hosts(), ["b", "a", "c"]);
    let addresses =
        |plan: &Plan| plan.runs[0].lab.hosts.iter().map(|host| host.address.to_string()).collect::<Vec<_>>();
    assert_eq!(addresses(&plan), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    // An address that is given is not given away.
    let given = parse("[hosts.x]\n[hosts.y]\naddress = \"10.0.0.1\"\n").expect("it is right");
    assert_eq!(addresses(&given), ["10.0.0.2", "10.0.0.1"]);
}

#[test]
fn both_ends_of_a_link_have_its_rate() {
    let rates = |more: &str| {
        let hosts = plan(more).runs[0].lab.hosts.clone();
        hosts.iter().map(|host| host.rate.map(Rate::bps)).collect::<Vec<_>>()
    };
    assert_eq!(rates("[switch]\nrate = \"1Gbps\"\n"), [Some(1_000_000_000), Some(1_000_000_000), Some(10_000_000)]);
    assert_eq!(rates(""), [None, None, Some(10_000_000)]);
    // The switch limits that end itself.
    assert_eq!(rates("[switch]\nrate = \"1Gbps\"\nuplink = \"1Gbps\"\n"), [None; 3]);
}

#[test]
fn the_switch_gets_all_but_what_is_the_labs() {
    let plan = plan("[switch]\nkind = \"scdp\"\nanything = [1, 2]\nport.a.loss = \"1%\"\n");
    let Switch::Scdp(table) = &plan.runs[0].lab.switch else { panic!("another switch") };
    let expected: toml::Table =
        "anything = [1, 2]\nport.a.loss = \"1%\"\nport.c.rate = \"10Mbps\"".parse().expect("TOML");
    assert_eq!(*table, expected);
}

#[test]
fn every_combination_runs_and_the_last_key_varies_fastest() {
    let plan = plan(
        "seed = 7\nrepeat = 2\n[variables]\nhow = \"\"\n[sweep]\n\"switch.loss\" = [\"0%\", \"1%\"]\n\
         \"variables.how\" = { with = \"--group 239.1.1.1\", alone = \"\" }\n\"mtu, hosts.c.link.rate\" = [[1500, \"1Gbps\"]]\n",
    );
    assert_eq!(plan.columns, ["loss", "how", "mtu", "rate"]);
    let runs: Vec<(usize, u64, String)> =
        plan.runs.iter().map(|run| (run.point, run.seed, run.values.join(" "))).collect();
    let expected = [(0, "0% with"), (1, "0% alone"), (2, "1% with"), (3, "1% alone")]
        .into_iter()
        .flat_map(|(point, values)| [7, 8].map(|seed| (point, seed, format!("{values} 1500 1Gbps"))));
    assert_eq!(runs, expected.collect::<Vec<_>>());
    assert_eq!(plan.runs[0].lab.file.variables["how"], "--group 239.1.1.1");
    assert_eq!(plan.runs[0].lab.hosts[2].rate.map(Rate::bps), Some(1_000_000_000));
    assert_eq!(plan.runs.iter().map(|run| run.number).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
}

#[test]
fn columns_with_one_last_part_have_the_whole_key() {
    let plan = plan("[sweep]\n\"switch.rate\" = [\"1Gbps\"]\n\"hosts.c.link.rate\" = [\"1Mbps\"]\n");
    assert_eq!(plan.columns, ["switch.rate", "hosts.c.link.rate"]);
}

#[test]
fn placeholders_mean_what_the_reference_says() {
    let plan = plan("[files.data]\nsize = \"1kB\"\n[variables]\nhow = \"--to {a} x\"\n[switch]\n");
    let run = &plan.runs[0];
    let scope = Scope { lab: &run.lab, seed: 5, folder: Path::new("/w") };
    let words = |text: &str| scope.words(&Words::Text(text.to_owned()), Some("b")).expect("it is right");
    assert_eq!(
        words("{host} {address} {dir} {c} {c.dir} {data} {data.dir} {how} {seed} {lab}x"),
        [
            "b",
            "10.0.0.1",
            "/w/b",
            "10.0.0.3",
            "/w/c",
            "/w/files/data/data",
            "/w/files/data",
            "--to",
            "10.0.0.2",
            "x",
            "5",
            "/labs/x"
        ]
    );
    // Outside of hosts there is no own address.
    assert!(scope.text("{address}").is_err());
}

#[test]
fn slips_are_told_with_place_and_hint() {
    let (message, hint) = wrong(&format!("{HOSTS}[[step]]\nonn = \"a\"\ncommand = \"x\"\n"));
    assert!(message.starts_with("lab.toml:6:1: step[0].onn: unknown field \"onn\""), "{message}");
    assert!(message.ends_with("\n  |\n6 | onn = \"a\"\n  | ^^^"), "{message}");
    assert_eq!(hint, "did you mean \"on\"?");

    let (message, hint) =
        wrong(&format!("{HOSTS}[hosts.sender]\n[[step]]\non = [\"a\", \"sendr\"]\ncommand = \"x\"\n"));
    assert!(
        message.starts_with("lab.toml:7:1: step[0].on: there is no host \"sendr\"; hosts are b, a, c, sender"),
        "{message}"
    );
    assert_eq!(hint, "did you mean \"sender\"?");

    let (message, hint) = wrong(&format!("{HOSTS}[[step]]\non = \"a\"\ncommand = \"send {{d}}\"\n"));
    assert!(message.starts_with("lab.toml:7:11: step[0].command: nothing is called {d}"), "{message}");
    assert!(hint.contains("{dir}") && hint.contains("{c.dir}"), "{hint}");

    let (message, hint) = wrong(&format!("{HOSTS}[[step]]\non = \"a\"\ncommand = \"x\"\ntime_limit = 10s\n"));
    assert!(message.starts_with("lab.toml:8:14: not TOML"), "{message}");
    assert_eq!(hint, "in quotes: \"10s\"");
}

#[test]
fn values_of_a_sweep_are_told_where_they_are_written() {
    let (message, _) = wrong(&format!("[sweep]\nmtu = [1500, 70000]\n{HOSTS}"));
    assert!(message.starts_with("lab.toml:2:1: sweep.mtu: mtu: "), "{message}");
    let (message, _) = wrong(&format!("[switch]\nkind = \"bridge\"\n[sweep]\n\"switch.loss\" = [\"0%\"]\n{HOSTS}"));
    assert!(
        message.starts_with("lab.toml:4:1: sweep.\"switch.loss\": the bridge of the kernel knows no \"loss\""),
        "{message}"
    );
    let (message, hint) = wrong(&format!("[sweep]\n\"step.0.command\" = [\"x\"]\n{HOSTS}"));
    assert!(message.contains("\"step.0.command\" cannot vary"), "{message}");
    assert!(hint.contains("hosts.NAME.link"), "{hint}");
    let (message, _) = wrong(&format!("[sweep]\n\"mtu, switch.loss\" = [[1500]]\n{HOSTS}"));
    assert!(message.contains("expected a list of 2 values for each"), "{message}");
    assert!(wrong(&format!("[sweep]\nmtu = []\n{HOSTS}")).0.contains("at least one value"));
    let many = (0..200).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!("[sweep]\n\"switch.a\" = [{many}]\n\"switch.b\" = [{many}]\n{HOSTS}");
    assert!(wrong(&text).0.contains("more than 10000 combinations"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (text, expected) in [
        ("", "hosts: expected 2 to 64 hosts, found 0"),
        ("[hosts.a]\n", "found 1"),
        ("[hosts.a]\n[hosts.A]\n", "a host's name is a small letter"),
        ("[hosts.a]\n[hosts.abcdefghijklmnop]\n", "at most 14"),
        ("[hosts.a]\n[hosts.switch]\n", "a name of the lab itself"),
        ("[hosts.a]\n[hosts.b]\naddress = \"10.0.1.1\"\n", "expected 10.0.0.1 to 10.0.0.254"),
        ("[hosts.a]\naddress = \"10.0.0.9\"\n[hosts.b]\naddress = \"10.0.0.9\"\n", "another host has 10.0.0.9"),
        ("[hosts.a]\nlink.rate = \"1bps\"\n[hosts.b]\n", "at least 8kbps"),
        ("[hosts.a]\nlink.rate = \"fast\"\n[hosts.b]\n", "is not a bit rate"),
        ("[hosts.a]\nlink.x = 1\n[hosts.b]\n[switch.port.a]\nx = 2\n", "\"switch.port.a\" says the same"),
        ("mtu = 100\n[hosts.a]\n[hosts.b]\n", "expected 576 to 9000"),
        ("repeat = 0\n[hosts.a]\n[hosts.b]\n", "expected 1 to 1000"),
        ("switch.kind = \"ovs\"\n[hosts.a]\n[hosts.b]\n", "expected \"scdp\" or \"bridge\""),
        ("[hosts.a]\n[hosts.b]\n[files.a]\nsize = \"1B\"\n", "\"a\" is a host already"),
        ("[hosts.a]\n[hosts.b]\n[files.x]\n", "expected either \"size\" or \"command\""),
        ("[hosts.a]\n[hosts.b]\n[files.x]\nsize = \"2000TB\"\n", "expected at most 1 TiB"),
        ("[hosts.a]\n[hosts.b]\n[files.\"../x\"]\nsize = \"1B\"\n", "no braces, slashes and dots"),
        ("[hosts.a]\n[hosts.b]\n[[step]]\non = []\ncommand = \"x\"\n", "at least one host"),
        ("[hosts.a]\n[hosts.all]\n", "hosts.all: \"all\" is not a name of an interface"),
        ("[hosts.a]\n[hosts.default]\n", "hosts.default: \"default\" is not a name of an interface"),
        (
            "[hosts.a]\n[hosts.b]\n[[step]]\non = [\"a\", \"a\"]\ncommand = \"x\"\n",
            "step[0].on: \"a\" is in the list twice",
        ),
        (
            "[hosts.a]\n[hosts.b]\n[[program]]\non = [\"b\", \"a\", \"b\"]\ncommand = \"x\"\n",
            "program[0].on: \"b\" is in the list twice",
        ),
        ("[hosts.a]\n[hosts.b]\n[[step]]\non = \"a\"\ncommand = \"\"\n", "the command has no words"),
        ("[hosts.a]\n[hosts.b]\n[[check]]\nsame = [\"x\"]\n", "at least two files"),
        ("[hosts.a]\n[hosts.b]\n[[check]]\nsame = [\"{dir}/x\", \"{a.dir}/x\"]\n", "nothing is called {dir}"),
    ] {
        let (message, _) = wrong(text);
        assert!(message.contains(expected), "{text}\ngives\n{message}\nand not\n{expected}");
    }
}

#[test]
fn too_many_combinations_are_refused_before_they_are_made() {
    // 8.1 billion: no machine has room for them.
    let values = vec!["1"; 90_000].join(",");
    let text = format!("[hosts.a]\n[hosts.b]\n[sweep]\n\"variables.x\" = [{values}]\n\"variables.y\" = [{values}]\n");
    assert!(wrong(&text).0.contains("more than 10000 combinations"));
}

/// Joy's dumbbell (`labs/dumbbell.toml`) in short: what the kernel is told, which needs no rights to see.
const DUMBBELL: &str = "[switch]\nkind = \"bridge\"\nup = [\"netem delay 300us\"]\n[sysctl]\n\"net.ipv4.tcp_ecn\" = 1\n[hosts.s]\n[hosts.r]\n\
    link = { down = [\"htb rate 100mbit\", \"red limit 37850 min 4542 max 4543 avpkt 1514 ecn\"] }\n\
    [[program]]\non = \"switch\"\ncommand = \"tc -s qdisc show dev r\"\n";

#[test]
fn ends_of_links_have_the_disciplines_of_the_file() {
    let plan = parse(DUMBBELL).unwrap_or_else(|error| panic!("{error}"));
    let lab = &plan.runs[0].lab;
    let batch = |chain: &Option<Chain>| chain.as_ref().map(|chain| chain.batch("x")).unwrap_or_default();
    assert_eq!(batch(&lab.hosts[0].down), "");
    assert_eq!(batch(&lab.hosts[0].up), "qdisc add dev x root handle 1: netem delay 300us\n");
    assert_eq!(batch(&lab.hosts[1].up), batch(&lab.hosts[0].up));
    let expected = "qdisc add dev x root handle 1: htb default 1\nclass add dev x parent 1: classid 1:1 htb rate 100mbit\n\
                    qdisc add dev x parent 1:1 handle 2: red limit 37850 min 4542 max 4543 avpkt 1514 ecn\n";
    assert_eq!(batch(&lab.hosts[1].down), expected);
    assert_eq!(lab.switch, Switch::Bridge { offload: false });
    assert_eq!(lab.file.sysctl["net.ipv4.tcp_ecn"], Setting::Number(1));
}

#[test]
fn wrong_disciplines_and_settings_are_explained() {
    let cases = [
        (
            "up = [\"netem delay 300us\"]",
            "up = \"netem\"",
            "switch.up: expected a list of disciplines in the words of tc",
            "up = [\"htb",
        ),
        ("up = [\"netem delay 300us\"]", "up = [\"\"]", "switch.up: expected a discipline in the words of tc", ""),
        ("up = [", "uo = [", "switch.uo: the bridge of the kernel knows no \"uo\"", "up"),
        ("up = [", "offload = 1\nup = [", "switch.offload: expected true or false", ""),
        ("up = [", "rate = \"1Gbps\"\nup = [", "switch.rate: expected either \"rate\" or \"down\" and \"up\"", "htb"),
        ("net.ipv4.tcp_ecn", "kernel.panic", "sysctl.\"kernel.panic\": expected a setting below net.ipv4", "machine"),
        ("\"switch\"\ncommand", "\"swich\"\ncommand", "there is no host \"swich\"; hosts are s, r", "switch"),
    ];
    for (from, to, message, hint) in cases {
        let (told, hinted) = wrong(&DUMBBELL.replacen(from, to, 1));
        assert!(told.contains(message) && hinted.contains(hint), "{told}\n{hinted}");
    }
}
