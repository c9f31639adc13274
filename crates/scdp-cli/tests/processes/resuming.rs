//! Who was killed, or lost its peer, goes on from what has come.

use std::fs;

use crate::program::{Place, Program, names, run};

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
    let line = sent.text.lines().find(|line| line.contains("\"sent\"")).expect("it was sent");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert!(line["sent_bytes"].as_u64().expect("a number") < 40_000_000 - KEPT + 4_000_000, "{line}");
    // One of the two was not received.
    assert_eq!(receiver.end().code, Some(1));
    assert!(place.has("a"));
    assert_eq!(names(&place.file("a")), ["rivers.bin"]);
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
