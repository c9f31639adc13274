//! Ctrl-C at each end: the other one is told, and nothing is left.

use std::fs;

use rustix::process::Signal;

use super::program::{Ended, Place, Program, names};

/// Far longer than these tests may take: who is told ends at once.
const PATIENT: &str = "--timeout 300s";

/// Interrupts a program in the middle of a file.
fn stopped(program: Program) -> Ended {
    program.signal(Signal::INT);
    let ended = program.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let (lines, json) =
        ("; the other hosts were told; not complete: rivers.bin (", r#""unfinished":[{"name":"rivers.bin""#);
    assert!(ended.text.contains("stopped by SIGINT") || ended.text.contains(r#""signal":"SIGINT""#), "{ended:?}");
    assert!(ended.text.contains(lines) || ended.text.contains(json), "{ended:?}");
    assert!(!ended.text.contains("error"), "{ended:?}");
    ended
}

/// Ends a program that waits.
fn ended(program: Program, signal: Signal, words: &str) {
    program.signal(signal);
    let ended = program.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.text.ends_with(words) && !ended.text.contains("error"), "{ended:?}");
}

/// A sender and a receiver in the middle of a file.
fn sending(place: &Place) -> (Program, Program) {
    let (mut receiver, to) = Program::listen(place.path(), &format!("receive --dir a --key k --once --json {PATIENT}"));
    let sender = Program::start(place.path(), &format!("send rivers.bin --key k --to {to} --rate 10Mbps {PATIENT}"));
    receiver.wait_for_progress();
    (sender, receiver)
}

/// A server and one who fetches, in the middle of a file.
fn fetching(place: &Place) -> (Program, Program) {
    let (server, from) = Program::listen(place.path(), &format!("serve . --key k --json --rate 10Mbps {PATIENT}"));
    let fetch = format!("fetch rivers.bin --from {from} --key k -o a --json {PATIENT}");
    let mut fetching = Program::start(place.path(), &fetch);
    fetching.wait_for_progress();
    (server, fetching)
}

#[test]
fn a_sender_that_is_interrupted_tells_the_receiver() {
    let place = Place::new(6_000_000);
    let (sender, receiver) = sending(&place);
    stopped(sender);
    let ended = receiver.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.text.contains("cancelled by the other side"), "{ended:?}");
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
}

#[test]
fn a_receiver_that_is_interrupted_tells_the_sender() {
    let place = Place::new(6_000_000);
    let (sender, receiver) = sending(&place);
    stopped(receiver);
    let ended = sender.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.text.contains("cancelled by the other side"), "{ended:?}");
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
}

#[test]
fn one_who_fetches_and_is_interrupted_tells_the_server() {
    let place = Place::new(6_000_000);
    let (mut server, fetching) = fetching(&place);
    stopped(fetching);
    let served = server.wait_for("\"served\"");
    assert!(served.contains("cancelled by the other side"), "{served}");
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
    server.signal(Signal::INT);
    assert_eq!(server.end().code, Some(0), "nothing is on its way any more");
}

#[test]
fn a_server_that_is_interrupted_tells_who_fetches() {
    let place = Place::new(6_000_000);
    let (server, fetching) = fetching(&place);
    stopped(server);
    let ended = fetching.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.text.contains("cancelled by the other side"), "{ended:?}");
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
}

#[test]
fn a_receiver_that_waits_ends_at_once() {
    let place = Place::new(10);
    fs::remove_file(place.file("rivers.bin")).expect("removed");
    for (signal, words) in
        [(Signal::INT, "stopped by SIGINT"), (Signal::TERM, "stopped by SIGTERM"), (Signal::HUP, "stopped by SIGHUP")]
    {
        for command in ["receive --dir a --key k", "serve a --key k"] {
            ended(Program::listen(place.path(), command).0, signal, words);
        }
    }
    // It was to receive a file, and has not.
    let (receiver, _) = Program::listen(place.path(), "receive --dir a --key k --once");
    receiver.signal(Signal::TERM);
    let stopped = receiver.end();
    assert!(stopped.code == Some(143) && stopped.text.ends_with("stopped by SIGTERM"), "{stopped:?}");
}
