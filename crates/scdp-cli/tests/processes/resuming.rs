//! Who was killed, or lost its peer, goes on from what has come.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use super::program::{Place, Program, names, run};

/// What is kept, at least.
const KEPT: u64 = 16 << 20;

/// Waits until so much has come.
fn wait_for_bytes(program: &mut Program, bytes: u64) {
    loop {
        let line: serde_json::Value = serde_json::from_str(&program.wait_for("\"progress\"")).expect("JSON");
        let of = |field: &str| line[field].as_u64().expect("a number");
        assert!(of("size_bytes") == 0 || of("bytes") < of("size_bytes"), "it was too fast: {line}");
        if of("bytes") >= bytes {
            return;
        }
    }
}

/// From where the file was gone on with, as `fetch` or `receive` said.
fn resumed(said: &str) -> u64 {
    let line = said.lines().find(|line| line.contains("\"began\"")).expect("it began");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    line["resumed_bytes"].as_u64().unwrap_or(0)
}

fn fetch(place: &Place, from: &str) -> Program {
    Program::start(place.path(), &format!("fetch rivers.bin --from {from} --key k -o a --json --timeout 500ms"))
}

#[test]
fn one_who_fetched_and_was_killed_goes_on() {
    let place = Place::new(40_000_000);
    let (_server, from) = Program::listen(place.path(), "serve . --key k --json --rate 300Mbps");
    let mut first = fetch(&place, &from);
    wait_for_bytes(&mut first, KEPT + 2_000_000);
    first.kill();
    let second = fetch(&place, &from).end();
    assert_eq!(second.code, Some(0), "{second:?}");
    assert!(resumed(&second.text) >= KEPT - 142_000, "{second:?}");
    assert!(place.has("a"));
    assert_eq!(names(&place.file("a")), ["rivers.bin"]);
}

#[test]
fn one_whose_server_was_killed_goes_on_with_another() {
    let place = Place::new(40_000_000);
    let (server, from) = Program::listen(place.path(), "serve . --key k --json --rate 300Mbps");
    let mut first = fetch(&place, &from);
    wait_for_bytes(&mut first, KEPT + 2_000_000);
    server.kill();
    let ended = first.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.text.contains("kept_bytes"), "{ended:?}");
    let (_server, from) = Program::listen(place.path(), "serve . --key k --json");
    let second = fetch(&place, &from).end();
    assert_eq!(second.code, Some(0), "{second:?}");
    assert!(resumed(&second.text) >= KEPT, "{second:?}");
    assert!(place.has("a"));
}

#[test]
fn a_receiver_whose_sender_was_killed_goes_on() {
    let place = Place::new(40_000_000);
    let receive = "receive --dir a --key k --count 2 --json --timeout 500ms";
    let (mut receiver, to) = Program::listen(place.path(), receive);
    let sender = Program::start(place.path(), &format!("send rivers.bin --key k --to {to} --rate 300Mbps"));
    wait_for_bytes(&mut receiver, KEPT + 2_000_000);
    sender.kill();
    receiver.wait_for("not_received");
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to} --json"));
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(sent_bytes(&sent.text) < 40_000_000 - KEPT + 4_000_000, "{sent:?}");
    // One of the two was not received.
    assert_eq!(receiver.end().code, Some(1));
    assert!(place.has("a"));
    assert_eq!(names(&place.file("a")), ["rivers.bin"]);
}

/// Bytes that `send` says it has sent.
fn sent_bytes(said: &str) -> u64 {
    let line = said.lines().find(|line| line.contains("\"sent\"")).expect("it was sent");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    line["sent_bytes"].as_u64().expect("a number")
}

/// Sends to two receivers, kills the sender, and one receiver perhaps, and sends again. All say the rest of what `--group` needs.
fn two_go_on(group: &str, copies: u64, kills: bool) {
    let place = Place::new(60_000_000);
    let receive = |folder: &str| format!("receive --dir {folder} --key k --count 2 --json --timeout 2s {group}");
    let (mut one, to_one) = Program::listen(place.path(), &receive("a"));
    let (mut other, to_other) = Program::listen(place.path(), &receive("b"));
    let send = format!("send rivers.bin --key k --to {to_one},{to_other} {group}");
    let sender = Program::start(place.path(), &format!("{send} --rate 300Mbps"));
    wait_for_bytes(&mut one, KEPT + 4_000_000);
    wait_for_bytes(&mut other, KEPT + 4_000_000);
    sender.kill();
    one.wait_for("not_received");
    let to_other = if kills {
        other.kill();
        let (again, to) = Program::listen(place.path(), &receive("b"));
        other = again;
        to
    } else {
        other.wait_for("not_received");
        to_other
    };
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to_one},{to_other} {group} --json"));
    assert_eq!(sent.code, Some(0), "{sent:?}");
    one.wait_for("\"received\"");
    other.wait_for("\"received\"");
    for said in [one.said(), other.said()] {
        let last = said.iter().rfind(|line| line.contains("\"began\"")).expect("it began");
        assert!(resumed(last) >= KEPT - 142_000, "{last}");
    }
    let most = copies * (60_000_000 - KEPT) + 6_000_000;
    assert!(sent_bytes(&sent.text) < most, "{} of at most {most}", sent_bytes(&sent.text));
    assert!(place.has("a") && place.has("b"));
}

#[test]
fn two_receivers_whose_sender_was_killed_go_on_together() {
    two_go_on("", 2, false);
}

#[test]
fn two_receivers_of_whom_one_was_killed_too_go_on_together() {
    two_go_on("", 2, true);
}

#[test]
fn a_group_whose_sender_was_killed_goes_on() {
    // A port that is free now: all members of a group have the same.
    let port = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let member = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    if let Err(error) = member.join_multicast_v4(&Ipv4Addr::new(239, 255, 72, 19), &Ipv4Addr::LOCALHOST) {
        return eprintln!("skipped: no multicast on the loopback: {error}");
    }
    two_go_on(&format!("--group 239.255.72.19:{port} --interface 127.0.0.1"), 1, true);
}

#[test]
fn what_is_kept_and_was_damaged_is_found_and_not_kept_again() {
    let place = Place::new(40_000_000);
    let (_server, from) = Program::listen(place.path(), "serve . --key k --json --rate 300Mbps");
    let mut first = fetch(&place, &from);
    wait_for_bytes(&mut first, KEPT + 2_000_000);
    first.kill();
    let part = place.file("a").join(&names(&place.file("a"))[0]);
    let mut bytes = fs::read(&part).expect("kept");
    bytes[1_000_000] ^= 1;
    fs::write(&part, bytes).expect("damaged");
    let second = fetch(&place, &from).end();
    assert_eq!(second.code, Some(1), "{second:?}");
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
    let third = fetch(&place, &from).end();
    assert_eq!((third.code, resumed(&third.text)), (Some(0), 0), "{third:?}");
    assert!(place.has("a"));
}

#[test]
fn a_sender_that_was_killed_and_is_started_again_at_once_goes_on_and_leaves_nothing() {
    let place = Place::new(60_000_000);
    let (mut receiver, to) = Program::listen(place.path(), "receive --dir a --key k --json");
    let sender = Program::start(place.path(), &format!("send rivers.bin --key k --to {to} --rate 300Mbps"));
    wait_for_bytes(&mut receiver, KEPT + 4_000_000);
    sender.kill();
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to} --json"));
    assert_eq!(sent.code, Some(0), "{sent:?}");
    receiver.wait_for("\"received\"");
    let said = receiver.said();
    let last = said.iter().rfind(|line| line.contains("\"began\"")).expect("it began");
    assert!(resumed(last) >= KEPT, "{last}");
    assert!(place.has("a"), "{:?}", names(&place.file("a")));
}

#[test]
fn partial_files_are_removed_after_as_many_days_as_was_said() {
    let place = Place::new(1000);
    let day = Duration::from_secs(24 * 3600);
    let put = |name: &str, days: u32| {
        let file = fs::File::create(place.file("a").join(name)).expect("made");
        let modified = file.metadata().and_then(|found| found.modified()).expect("a time") - day * days;
        file.set_modified(modified).expect("set");
    };
    for (name, days) in [
        (".old.0123456789ab.part", 4),
        (".of an earlier version.0123456789ab.0.part", 4),
        (".young.0123456789ab.part", 2),
        (".mine.part", 4),
        ("plain.part", 4),
    ] {
        put(name, days);
    }
    let (receiver, _) = Program::listen(place.path(), "receive --dir a --key k --keep-parts 3");
    while names(&place.file("a")).len() > 3 {
        std::thread::sleep(Duration::from_millis(20));
    }
    receiver.signal(rustix::process::Signal::TERM);
    assert_eq!(receiver.end().code, Some(0));
    assert_eq!(names(&place.file("a")), [".mine.part", ".young.0123456789ab.part", "plain.part"]);
}
