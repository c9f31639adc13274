//! What a run says of windows, decoders, timeouts and loads that do not fit its fabric.

use anabranch_sim::scenario::{Plan, list, load, parse};
use std::path::Path;

const FABRIC: &str = r#"
    [fabric]
    topology = "leaf-spine"
    leaves = 2
    spines = 2
    hosts_per_leaf = 4
    rate = "100Gbps"
    delay = "1us"
"#;

fn plan(text: &str, overrides: &[&str]) -> Plan {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    parse("test.toml", text, &overrides).unwrap_or_else(|e| panic!("{overrides:?}: {e}"))
}

/// The sentences of the first run.
fn remarks(text: &str, overrides: &[&str]) -> Vec<String> {
    plan(text, overrides).runs[0].remarks.iter().map(|remark| remark.fault.message.clone()).collect()
}

fn one_flow() -> String {
    format!(
        "{FABRIC}\n[transport]\nname = \"ndp\"\n[[workload]]\nname = \"w\"\nsizes = {{ law = \"fixed\", size = \"10MB\" }}\n\
         placement = {{ pattern = \"pairs\", pairs = [[0, 4]] }}\n"
    )
}

#[test]
fn the_vlans_of_spain_are_told() {
    let of = |k: &str| remarks(&one_flow(), &["transport.window=bdp", "routing.mode=spain", k]);
    assert_eq!(of("routing.spain.k=4"), ["spain: its paths take 2 VLANs, of which Ethernet has 4094"]);
    assert_eq!(of("routing.spain.k=1"), ["spain: its paths take 1 VLANs, of which Ethernet has 4094"]);
}

#[test]
fn windows_that_do_not_fill_the_longest_path_are_told() {
    let of = |overrides: &[&str]| remarks(&one_flow(), overrides);
    assert_eq!(of(&[]), ["ndp: a window of 12 packets fills 17 % of the longest path (needs 71: 8500ns at 100Gbps)"]);
    let expected = [
        ("scdp", "scdp: a window of 12 packets fills 17 % of the longest path (needs 71: "),
        (
            "dctcp",
            "dctcp: a receive window of 65535B fills 63 % of the longest path (needs 103660B: 8490ns at 100Gbps)",
        ),
        ("cubic", "cubic: a receive window of 65535B fills 63 %"),
        ("mptcp", "mptcp: a receive window of 65535B fills 65 %"),
        ("front-back", "front-back: a receive window of 65535B fills 63 %"),
        ("homa", "homa: RTTbytes of 9700B fills 9.5 %"),
        ("pfabric", "pfabric: an initial window of 12 packets fills 17 %"),
        ("ndp+", "ndp+: a window of 12 packets fills 17 %"),
        ("polyraptor", "polyraptor: a window of 12 packets fills 17 %"),
    ];
    for (name, text) in expected {
        let found = of(&[&format!("transport.name={name}")]);
        assert!(found.iter().any(|remark| remark.starts_with(text)), "{name}: {found:?}");
        for window in ["bdp", "2 bdp"] {
            let found = of(&[&format!("transport.name={name}"), &format!("transport.window={window}")]);
            assert!(found.iter().all(|remark| !remark.contains("window")), "{name}: {found:?}");
        }
        assert!(
            of(&[&format!("transport.name={name}"), "transport.window=0.25 bdp"])
                .iter()
                .any(|r| r.contains("fills 25 %"))
        );
    }
    assert_eq!(of(&["transport.name=udp"]), [""; 0]);
}

#[test]
fn the_share_follows_packets_rates_and_delays() {
    let of = |overrides: &[&str]| remarks(&one_flow(), overrides).concat();
    assert!(of(&["transport.ndp.packet=9000B"]).contains("12 packets fills 79 % of the longest path (needs 16: "));
    assert!(of(&["transport.ndp.packet=512B"]).contains("12 packets fills 6 % of the longest path (needs 200: "));
    assert!(of(&["fabric.delay=100us"]).contains("fills 0.18 % of the longest path (needs 6671: 801us at 100Gbps)"));
    assert!(of(&["fabric.rate=400Gbps", "transport.ndp.initial_window=100"]).contains("100 packets fills 37 %"));
    assert_eq!(of(&["fabric.rate=1Gbps"]), "", "12 packets are more than 58 us at 1 Gbps");
    assert_eq!(of(&["transport.ndp.initial_window=71"]), "");
    assert_eq!(of(&["transport.name=cubic", "transport.tcp.receive_window=1MB"]), "");
}

#[test]
fn what_is_grave_is_told_before_the_run_too() {
    let warnings = |overrides: &[&str]| -> Vec<String> {
        plan(&one_flow(), overrides).warnings.iter().map(ToString::to_string).collect()
    };
    let told = warnings(&[]).concat();
    assert!(told.contains("transport.ndp.initial_window: ndp: a window of 12 packets fills 17 %"), "{told}");
    assert!(told.contains("hint: transport.window = \"bdp\""), "{told}");
    assert!(warnings(&["transport.name=cubic"]).is_empty(), "more than half is no warning");
    let given = warnings(&["transport.window=bdp", "transport.ndp.initial_window=30"]).concat();
    assert!(given.contains("transport.ndp.initial_window: has no effect with window = \"bdp\""), "{given}");
}

#[test]
fn slow_decoders_and_short_timeouts_are_told() {
    let of = |overrides: &[&str]| remarks(&one_flow(), overrides);
    let scdp = of(&["transport.name=scdp", "transport.window=bdp"]);
    assert_eq!(scdp.len(), 1, "{scdp:?}");
    assert!(scdp[0].starts_with("scdp: decodes at 1300Mbps, slower than the longest path's 100Gbps: "), "{scdp:?}");
    for fast in ["transport.scdp.decode_rate=200Gbps", "transport.scdp.decode_polynomial=[0.0]"] {
        assert_eq!(of(&["transport.name=scdp", "transport.window=bdp", fast]), [""; 0], "{fast}");
    }
    assert_eq!(of(&["transport.name=scdp", "fabric.rate=1Gbps"]), [""; 0]);
    let cores =
        |n: u32| of(&["transport.name=scdp", "transport.window=bdp", &format!("transport.scdp.decode_cores={n}")]);
    assert!(cores(70).concat().starts_with("scdp: decodes at 91Gbps on 70 cores, slower than"), "{:?}", cores(70));
    assert_eq!(cores(77), [""; 0]);
    // Four links of 10 ms, both ways.
    for (name, timeout) in [("scdp", "2ms"), ("ndp", "50ms"), ("pfabric", "45us")] {
        let found = of(&[&format!("transport.name={name}"), "fabric.delay=10ms", "transport.window=bdp"]).concat();
        let text = format!("{name}: a timeout of {timeout} is shorter than a round trip of the longest path (80ms)");
        assert!(found.contains(&text), "{found}");
    }
}

#[test]
fn targets_below_the_path_s_own_round_trip_are_told() {
    let of = |overrides: &[&str]| remarks(&one_flow(), overrides).concat();
    // Three switches on the path: 20 us and three times 3.053 us. Four links of 10 ms, both ways.
    for (name, target) in [("swift", "29200ns"), ("timely", "500us")] {
        let name = [&*format!("transport.name={name}"), "fabric.delay=10ms"];
        let found = of(&name);
        let text = format!(
            "the round trip that it aims at ({target}) is shorter than one of the longest path without queues (80ms)"
        );
        assert!(found.contains(&text), "{found}");
    }
    // One of 80 us is below the upper threshold, and above the reference.
    let told = |variant: &str| {
        of(&["transport.name=timely", "fabric.delay=10us", &format!("transport.timely.variant={variant}")])
            .contains("the round trip that it aims at")
    };
    assert_eq!((told("gradient"), told("patched")), (false, true));
}

#[test]
fn priorities_that_switches_do_not_tell_apart_are_told() {
    let of = |overrides: &[&str]| {
        let homa = ["transport.name=homa", "fabric.rate=1Gbps"];
        remarks(&one_flow(), &[homa.as_slice(), overrides].concat()).concat()
    };
    for all in ["auto", "priority", "fair"] {
        assert_eq!(of(&[&format!("switch.queue={all}")]), "", "{all}");
    }
    let told = |bands| format!("homa: uses 8 priorities, the switches have {bands}: all below the last share it");
    assert_eq!(of(&["switch.queue=mlfq"]), told(5));
    assert_eq!(of(&["switch.queue=mlfq", "switch.priorities=8"]), "");
    assert_eq!(of(&["switch.queue=mlfq", "transport.homa.priorities=5"]), "");
    assert_eq!(of(&["switch.queue=drop-tail"]), told(1));
    assert_eq!(of(&["switch.queue=drop-tail", "transport.homa.priorities=1"]), "");
    assert_eq!(of(&["switch.queue=drop-tail", "switch.pfc.priorities=3"]), told(3));
    assert_eq!(of(&["switch.queue=drop-tail", "switch.pfc.priorities=8"]), "");
}

#[test]
fn readers_of_several_senders_add_their_windows_up() {
    let reads = format!(
        "{FABRIC}\n[transport]\nname = \"scdp\"\nscdp = {{ decode_polynomial = [0.0] }}\n[[workload]]\nsessions = 5\n\
         sizes = {{ law = \"fixed\", size = \"1MB\" }}\nplacement = {{ pattern = \"replicas\", replicas = 3, access = \"read\" }}\n"
    );
    let text = "scdp: a window of 6 packets for each of 3 senders fills 25 % of the longest path (needs 24: 8500ns at 100Gbps)";
    assert_eq!(remarks(&reads, &[]), [text]);
    assert_eq!(remarks(&reads, &["transport.scdp.initial_window_many_to_one=24"]), [""; 0]);
    assert_eq!(remarks(&reads, &["transport.window=bdp"]), [""; 0]);
}

#[test]
fn pulls_that_fill_the_link_to_their_sender_are_told() {
    let writes = format!(
        "{FABRIC}\n[transport]\nname = \"scdp\"\nwindow = \"bdp\"\nscdp = {{ decode_polynomial = [0.0], symbols_per_pull = 1 }}\n\
         [[workload]]\nsessions = 5\nmode = \"one_to_many\"\nsizes = {{ law = \"fixed\", size = \"1MB\" }}\n\
         placement = {{ pattern = \"replicas\", replicas = 7, policy = \"random\" }}\n"
    );
    let text =
        "scdp: the pulls of 7 receivers take 112 % of the link to their sender (half of it with 3 symbols per pull)";
    let small = ["transport.scdp.packet=400B"];
    assert_eq!(remarks(&writes, &small), [text]);
    assert_eq!(remarks(&writes, &["transport.scdp.packet=450B"]), [""; 0], "99.6 %");
    assert_eq!(remarks(&writes, &[small[0], "transport.scdp.symbols_per_pull=2"]), [""; 0]);
}

/// `hosts` hosts a leaf, four leaves, two spines.
fn poisson(load: f64, oversubscription: f64, placement: &str) -> String {
    format!(
        "[fabric]\ntopology = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 8\noversubscription = {oversubscription}\n\
         rate = \"10Gbps\"\ndelay = \"1us\"\n[transport]\nname = \"dctcp\"\nwindow = \"bdp\"\n[[workload]]\nname = \"web\"\n\
         arrivals = {{ law = \"poisson\", load = {load} }}\nsizes = {{ law = \"fixed\", size = \"100KB\" }}\n\
         placement = {placement}\nsessions = 20\n"
    )
}

#[test]
fn uplinks_that_are_asked_for_too_much_are_told() {
    let text = poisson(0.8, 2.0, "{ pattern = \"random\" }");
    // 0.8 of what eight hosts send, 24 of 31 parts of which leave the rack, over half the capacity.
    assert_eq!(
        remarks(&text, &[]),
        ["web: the load asks for 124 % of what leaf0-spine0 carries, and 15 more links for more than they carry: \
          queues grow as long as requests arrive"]
    );
    let warned = plan(&text, &[]).warnings[0].to_string();
    assert!(warned.contains("workload[0].arrivals.load: web: the load asks for 124 %"), "{warned}");
    // 1500 B on the wire for 1460 B of payload: 0.8 / 1.2726.
    assert!(warned.contains("hint: load = 0.62 fits"), "{warned}");
    assert_eq!(remarks(&text, &["workload.web.arrivals.load=0.62"]), [""; 0]);
    let little = remarks(&text, &["workload.web.arrivals.load=0.64"]).concat();
    assert!(little.contains("asks for 99 % of what leaf0-spine0 carries, 102 % with headers"), "{little}");
    assert_eq!(remarks(&text, &["fabric.oversubscription=1"]), [""; 0]);
    let by_rate = ["workload.web.arrivals={ law = \"poisson\", rate = 320000 }"];
    assert!(remarks(&text, &by_rate).concat().contains("124 %"), "as many requests by rate");
    let by_interval = ["workload.web.arrivals={ law = \"interval\", every = \"3125ns\" }"];
    assert!(remarks(&text, &by_interval).concat().contains("124 %"), "as many at equal times");
    assert_eq!(remarks(&text, &["workload.web.arrivals={ law = \"synchronised\" }"]), [""; 0], "a burst has no load");
}

#[test]
fn traffic_within_racks_does_not_load_the_uplinks() {
    let rack_aware = |same: f64| format!("{{ pattern = \"rack-aware\", same_rack = {same} }}");
    assert_eq!(remarks(&poisson(0.8, 2.0, &rack_aware(1.0)), &[]), [""; 0]);
    assert_eq!(remarks(&poisson(0.8, 2.0, &rack_aware(0.5)), &[]), [""; 0]);
    let outside = remarks(&poisson(0.8, 2.0, &rack_aware(0.0)), &[]).concat();
    assert!(outside.contains("asks for 160 % of what leaf0-spine0 carries"), "{outside}");
    let neighbours = "{ pattern = \"stride\", by = 1 }";
    assert_eq!(remarks(&poisson(0.8, 2.0, neighbours), &[]), [""; 0], "one host in eight sends out of its rack");
    let far = remarks(&poisson(0.6, 2.0, "{ pattern = \"stride\", by = 8 }"), &[]).concat();
    assert!(far.contains("asks for 120 % of what"), "{far}");
}

#[test]
fn a_permutation_is_known_exactly() {
    // One link of 10 Gbps for each host, all of which send to one host each.
    let text = poisson(0.97, 1.0, "{ pattern = \"permutation\" }");
    assert_eq!(remarks(&text, &[]), [""; 0]);
    let full = remarks(&text, &["workload.web.arrivals.load=0.98"]).concat();
    assert!(full.contains("asks for 98 % of what h0-leaf0 carries, 101 % with headers"), "{full}");
}

#[test]
fn the_receiver_of_an_incast_is_told() {
    let incast = |load: f64| poisson(load, 1.0, "{ pattern = \"incast\", senders = 8, receiver = 3 }");
    let found = remarks(&incast(0.3), &[]).concat();
    assert!(found.starts_with("web: the load asks for about 960 % of what leaf0-h3 carries"), "{found}");
    assert_eq!(remarks(&incast(0.03), &[]), [""; 0]);
    let anyone = poisson(0.8, 1.0, "{ pattern = \"incast\", senders = 8 }");
    assert_eq!(remarks(&anyone, &[]), [""; 0], "some receive more in a sample, none in the long run");
}

#[test]
fn few_hosts_are_no_pattern() {
    for seed in 1..20 {
        let text = format!(
            "seed = {seed}\n[fabric]\ntopology = \"star\"\nhosts = 2\n[transport]\nname = \"ndp\"\n[[workload]]\n\
             arrivals = {{ law = \"poisson\", load = 0.8 }}\nsizes = {{ law = \"fixed\", size = \"1MB\" }}\n\
             placement = {{ pattern = \"incast\", senders = 1 }}\n"
        );
        assert_eq!(remarks(&text, &[]), [""; 0], "seed {seed}");
    }
}

#[test]
fn several_workloads_load_a_link_together() {
    let second = "[[workload]]\nname = \"more\"\narrivals = { law = \"poisson\", load = 0.4 }\nsizes = { law = \"fixed\", size = \"1MB\" }\n\
                  placement = { pattern = \"random\" }\nsessions = 20\n";
    let first = poisson(0.4, 2.0, "{ pattern = \"random\" }");
    assert_eq!(remarks(&first, &[]), [""; 0]);
    let both = remarks(&(first + second), &[]).concat();
    assert!(both.contains("asks for 124 % of what leaf0-spine0 carries"), "{both}");
}

#[test]
fn replicas_are_carried_as_the_transport_does() {
    let write = |name: &str, load: &str| {
        let text = poisson(0.25, 1.0, "{ pattern = \"replicas\", replicas = 3 }");
        remarks(&text, &[&format!("transport.name={name}"), &format!("workload.web.arrivals.load={load}")]).concat()
    };
    // Three copies leave the sender one by one, or one leaves it and is copied in the fabric.
    let copies = write("dctcp", "0.5");
    assert!(copies.contains("asks for about 150 % of what") && copies.contains("79 more links"), "{copies}");
    assert!(
        !write("dctcp", "0.31").contains("asks for"),
        "three copies of 0.31, with headers 0.96: chance is no overload"
    );
    assert!(!write("scdp", "0.25").contains("asks for"));
}

const FAT_TREE: &str = r#"
    [fabric]
    topology = "fat-tree"
    k = 4
    rate = "10Gbps"
    [transport]
    name = "ndp"
    window = "bdp"
    [[workload]]
    name = "w"
    arrivals = { law = "poisson", load = 0.6 }
    sizes = { law = "fixed", size = "100KB" }
    placement = { pattern = "random" }
    sessions = 20
"#;

#[test]
fn a_slow_link_gets_its_share_all_the_same() {
    assert_eq!(remarks(FAT_TREE, &[]), [""; 0]);
    let slow = |at: &str, more: &str| {
        let failure =
            format!("\n[[failure]]\nat = \"{at}\"\nlink = \"edge0.0-agg0.1\"\naction = \"slow\"\nrate = \"1Gbps\"\n");
        remarks(&(FAT_TREE.to_owned() + &failure + more), &[])
    };
    // Two hosts of a rack send 1.2 of a link, 14 of 15 parts to other racks, half of it by this port.
    let found = slow("0us", "").concat();
    assert!(
        found.starts_with("w: the load asks for 560 % of what edge0.0-agg0.1 carries, and one more link"),
        "{found}"
    );
    let later = slow("5ms", "").concat();
    assert!(later.contains("560 % of what edge0.0-agg0.1 carries from 5ms on"), "{later}");
    // Where packets don't choose evenly, the racks' uplinks together are what is known.
    let single = slow("0us", "[routing]\nmode = \"leftmost\"\n").concat();
    assert!(single.contains("the uplinks of edge0.0 carry"), "{single}");
}

#[test]
fn a_cut_link_leaves_its_load_to_the_others() {
    let cut = "\n[[failure]]\nat = \"0us\"\nlink = \"edge0.0-agg0.1\"\naction = \"cut\"\n";
    let found = remarks(&(FAT_TREE.to_owned() + cut), &["workload.w.arrivals.load=0.6"]).concat();
    assert!(found.contains("asks for 112 % of what edge0.0-agg0.0 carries"), "{found}");
}

#[test]
fn a_sweep_keeps_the_remarks_of_each_point_and_warns_once() {
    let text =
        poisson(0.8, 2.0, "{ pattern = \"random\" }") + "[sweep]\n\"workload.web.arrivals.load\" = [0.4, 0.8, 0.9]\n";
    let plan = plan(&text, &[]);
    let counts: Vec<usize> = plan.runs.iter().map(|run| run.remarks.len()).collect();
    assert_eq!(counts, [0, 1, 1]);
    assert_eq!(plan.warnings.len(), 1, "{:?}", plan.warnings);
}

#[test]
fn a_list_has_the_same_runs_without_remarks() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/scdp/floors/floors.toml");
    let (plan, listed) = (load(&file, &[]).unwrap(), list(&file, &[]).unwrap());
    assert!(plan.runs.iter().any(|run| !run.remarks.is_empty()) && !plan.warnings.is_empty(), "remarks to leave out");
    assert!(listed.runs.iter().all(|run| run.remarks.is_empty()) && listed.warnings.is_empty());
    let runs =
        |plan: &Plan| plan.runs.iter().map(|run| (run.name(), run.point.clone(), run.hash.clone())).collect::<Vec<_>>();
    assert_eq!(runs(&listed), runs(&plan));
}
