//! `scdp send` to `scdp receive`.

use std::fs;
use std::net::UdpSocket;

use rustix::process::Signal;

use super::program::{Place, Program, content, multicast_loops, names, run};

#[test]
fn three_hosts_get_a_file() {
    let place = Place::new(3_000_000);
    let receivers =
        ["a", "b", "c"].map(|d| Program::listen(place.path(), &format!("receive --dir {d} --key k --once")));
    let to = receivers.each_ref().map(|(_, address)| address.clone()).join(",");
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to}"));
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(
        sent.text.starts_with("rivers.bin: 2.86 MiB in ") && sent.text.contains("; verified by 3 of 3 receivers; "),
        "{sent:?}"
    );
    for ((receiver, _), folder) in receivers.into_iter().zip(["a", "b", "c"]) {
        let ended = receiver.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.text.contains("rivers.bin: 2.86 MiB in ") && place.has(folder), "{ended:?}");
    }
}

#[test]
fn jumbo_frames_are_for_both_ends() {
    let place = Place::new(3_000_000);
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --mtu 9000 --once");
    let (small, other) = Program::listen(place.path(), "receive --dir b --key k");
    let sent = run(place.path(), &format!("send rivers.bin --key k --mtu 9000 --to {to},{other}"));
    assert_eq!((sent.code, receiver.end().code), (Some(1), Some(0)), "{sent:?}");
    assert!(sent.text.contains("\nhint: give `scdp receive` the same --mtu"), "{sent:?}");
    assert!(place.has("a") && names(&place.file("b")).is_empty());
    drop(small);
}

#[test]
fn a_group_costs_the_sender_one_copy() {
    let place = Place::new(3_000_000);
    if !multicast_loops(place.path()) {
        return;
    }
    // A port that is free now: all members of a group have the same.
    let port = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a socket").port();
    let group = format!("--group 239.255.72.18:{port} --interface 127.0.0.1 --key k --json");
    let receivers =
        ["a", "b", "c"].map(|d| Program::listen(place.path(), &format!("receive --dir {d} --once {group}")));
    let to = receivers.each_ref().map(|(_, address)| address.clone()).join(",");
    let sent = run(place.path(), &format!("send rivers.bin --to {to} {group}"));
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let line = sent.text.lines().find(|line| line.contains("\"sent\"")).expect("it was sent");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    // What is lost is sent again: but for a second copy, a lot would have to be.
    let copies = line["sent_bytes"].as_f64().expect("a number") / 3e6;
    assert!((1.0..1.9).contains(&copies), "{copies} copies");
    for (receiver, _) in receivers {
        assert_eq!(receiver.end().code, Some(0));
    }
    assert!(["a", "b", "c"].iter().all(|folder| place.has(folder)));
}

#[test]
fn a_receiver_that_is_killed_is_named_and_the_others_have_the_file() {
    let place = Place::new(6_000_000);
    let mut receivers =
        ["a", "b", "c"].map(|d| Program::listen(place.path(), &format!("receive --dir {d} --key k --once --json")));
    let to = receivers.each_ref().map(|(_, address)| address.clone());
    let list = to.join(",");
    let send = format!("send rivers.bin --key k --to {list} --rate 60Mbps --timeout 1s");
    let sender = Program::start(place.path(), &send);
    receivers[1].0.wait_for_progress();
    let [(a, _), (b, dead), (c, _)] = receivers;
    b.kill();
    let sent = sender.end();
    assert_eq!(sent.code, Some(1), "{sent:?}");
    assert!(sent.text.contains(&format!("error: {dead} does not have rivers.bin\nhint: ")), "{sent:?}");
    assert!(sent.text.contains("; verified by 2 of 3 receivers; "), "{sent:?}");
    for (address, outcome) in to.iter().zip(["verified", "no answer", "verified"]) {
        let row = |line: &str| {
            line.split_whitespace().collect::<Vec<_>>().join(" ") == format!("rivers.bin {address} {outcome}")
        };
        assert!(sent.text.lines().any(row), "{address} {outcome}: {sent:?}");
    }
    assert_eq!((a.end().code, c.end().code), (Some(0), Some(0)));
    assert!(place.has("a") && place.has("c"));
}

#[test]
fn nothing_is_left_when_the_sender_is_killed() {
    let place = Place::new(6_000_000);
    let (mut receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once --json --timeout 500ms");
    let sender = Program::start(place.path(), &format!("send rivers.bin --key k --to {to} --rate 20Mbps"));
    receiver.wait_for_progress();
    sender.kill();
    let ended = receiver.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.text.contains(r#"{"event":"not_received","name":"rivers.bin","reason":"no answer","#), "{ended:?}");
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
}

#[test]
fn a_quorum_is_enough_if_it_is_asked_for() {
    let place = Place::new(300_000);
    // More than are under way at once: the last ones begin when it is known who does not answer.
    let seas: Vec<String> = (0..20).map(|n| format!("sea{n:02}.bin")).collect();
    for (n, sea) in seas.iter().enumerate() {
        fs::write(place.file(sea), content(7 + n as u64, 1000)).expect("written");
    }
    // Bound, and never answered: nobody else gets that port meanwhile.
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let silent_at = silent.local_addr().expect("an address");
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --count 42");
    let send = format!("send rivers.bin {} --key k --to {to},{silent_at} --timeout 500ms", seas.join(" "));
    let all = run(place.path(), &send);
    assert_eq!(all.code, Some(1), "{all:?}");
    assert!(
        all.text.contains(&format!("error: {silent_at} does not have every file\nhint: is `scdp receive` running")),
        "{all:?}"
    );
    let row = |name: &str, said: &str| {
        all.text
            .lines()
            .any(|line| line.starts_with(name) && line.contains(&silent_at.to_string()) && line.ends_with(said))
    };
    assert!(row("rivers.bin", "no answer") && row("sea19.bin", "not tried: it did not answer before"), "{all:?}");
    let one = run(place.path(), &format!("{send} --quorum 1"));
    assert_eq!(one.code, Some(0), "{one:?}");
    assert!(one.text.contains("had it already") && !one.text.contains("error:"), "{one:?}");
    let ended = receiver.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.text.contains("sea19.bin: was here already"), "{ended:?}");
    assert_eq!(names(&place.file("a")).len(), 21);
}

#[test]
fn every_line_of_json_is_an_event() {
    let place = Place::new(2_000_000);
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once --json");
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to} --rate 50Mbps --json"));
    let reference =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/scdp.md")).expect("there");
    let mut seen = Vec::new();
    for line in sent.text.lines().chain(receiver.end().text.lines()) {
        let event: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let name = event["event"].as_str().expect("a name").to_owned();
        assert!(reference.contains(&format!("| `{name}` |")), "{name} is in the reference");
        seen.push(name);
    }
    for expected in ["sending", "progress", "receiver", "sent", "listening", "began", "received"] {
        assert!(seen.iter().any(|name| name == expected), "{expected} in {seen:?}");
    }
}

#[test]
fn a_quorum_does_not_wait_for_a_receiver_that_stands_still() {
    let place = Place::new(6_000_000);
    let mut receivers =
        ["a", "b", "c"].map(|d| Program::listen(place.path(), &format!("receive --dir {d} --key k --once --json")));
    let to = receivers.each_ref().map(|(_, address)| address.clone());
    // A timeout that would be far longer than this test may take: the one that stands still is given up for another reason.
    let send = format!(
        "send rivers.bin --key k --to {} --rate 60Mbps --stragglers drop --quorum 2 --timeout 300s",
        to.join(",")
    );
    let sender = Program::start(place.path(), &send);
    receivers[1].0.wait_for_progress();
    receivers[1].0.signal(Signal::STOP);
    let sent = sender.end();
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(sent.text.contains(&format!("rivers.bin: {}: too slow", to[1])), "{sent:?}");
    assert!(place.has("a") && place.has("c") && !place.has("b"));
}

#[test]
fn of_two_that_send_under_one_name_the_second_waits_or_is_refused_at_once() {
    let place = Place::new(3_000_000);
    fs::create_dir(place.file("other")).expect("made");
    fs::write(place.file("other/rivers.bin"), content(7, 3_000_000)).expect("written");
    for force in ["", "--force"] {
        let (mut receiver, to) = Program::listen(place.path(), &format!("receive --dir a --key k --json {force}"));
        let first = Program::start(place.path(), &format!("send rivers.bin --key k --to {to} --rate 10Mbps"));
        receiver.wait_for_progress();
        let other = run(place.path(), &format!("send other/rivers.bin --key k --to {to}"));
        assert_eq!(other.code, Some(1), "{other:?}");
        assert!(other.text.contains("another file is being received under the name rivers.bin"), "{other:?}");
        receiver.wait_for("\"declined\"");
        if force.is_empty() {
            let same = run(place.path(), &format!("send rivers.bin --key k --to {to} --json"));
            assert!(same.code == Some(0) && same.text.contains("\"already_there\""), "{same:?}");
        }
        assert_eq!(first.end().code, Some(0));
        assert!(place.has("a"), "{:?}", names(&place.file("a")));
        fs::remove_file(place.file("a/rivers.bin")).expect("there");
    }
}
