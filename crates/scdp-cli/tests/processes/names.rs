//! Names that others choose: what a terminal gets to see of them, and which are taken.

use std::fs;
use std::process::Command;

use super::program::{Ended, Place, Program, names, run};

/// Characters that move or hide text, or end a line.
const UNSAFE: [char; 8] =
    ['\u{202e}', '\u{2066}', '\u{2028}', '\u{2029}', '\u{200e}', '\u{61c}', '\u{feff}', '\u{200b}'];

/// Sends a file whose name may have spaces of any kind.
fn send(place: &Place, name: &str, arguments: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scdp"));
    command.args(["send", name]).args(arguments.split_whitespace()).current_dir(place.path());
    Program::spawn(&mut command).end()
}

#[test]
fn nothing_that_moves_or_hides_text_reaches_a_terminal_and_json_has_it_escaped() {
    let place = Place::new(10);
    for (n, c) in UNSAFE.into_iter().enumerate() {
        let name = format!("rtl{c}gnp{n}.exe");
        fs::write(place.file(&name), "x").expect("written");
        let shown = format!("rtl\\u{{{:x}}}gnp{n}.exe", u32::from(c));
        let escaped = format!("rtl\\u{:04x}gnp{n}.exe", u32::from(c));
        let (mut people, to) = Program::listen(place.path(), "receive --dir a --key k");
        let (mut program, also) = Program::listen(place.path(), "receive --dir b --key k --json");
        for (json, expected) in [("", &shown), ("--json", &escaped)] {
            // The second time it is there already, and the third time another file is.
            for content in ["x", "x", "other"] {
                fs::write(place.file(&name), content).expect("written");
                let sent = send(&place, &name, &format!("--key k --to {to},{also} {json}"));
                assert!(sent.text.contains(expected.as_str()) && !sent.text.contains(c), "{sent:?}");
            }
            fs::remove_file(place.file("a").join(&name)).expect("there");
            fs::remove_file(place.file("b").join(&name)).expect("there");
        }
        for (receiver, expected) in [(&mut people, &shown), (&mut program, &escaped)] {
            receiver.wait_for(expected);
            receiver.wait_for("not");
            assert!(receiver.said().iter().all(|line| !line.contains(c)), "{:?}", receiver.said());
        }
    }
    let missing = send(&place, "no\u{1b}[2J\u{202e}file", "--to 127.0.0.1 --key k");
    assert!(missing.text.contains(r"no\u{1b}[2J\u{202e}file") && !missing.text.contains('\u{202e}'), "{missing:?}");
    let forged = send(&place, "x\nhint: run this", "--to 127.0.0.1 --key k");
    assert!(forged.text.starts_with(r"error: x\u{a}hint: run this: "), "{forged:?}");
}

#[test]
fn hidden_files_are_refused_unless_asked_for_and_both_ends_are_told() {
    let place = Place::new(10);
    fs::write(place.file(".bashrc"), "alias").expect("written");
    let (mut receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once");
    let sent = run(place.path(), &format!("send .bashrc --key k --to {to}"));
    assert_eq!(sent.code, Some(1), "{sent:?}");
    assert!(sent.text.contains(".bashrc begins with a dot: hidden files are not taken here"), "{sent:?}");
    assert!(sent.text.contains("\nhint: `scdp receive --allow-hidden` takes hidden files"), "{sent:?}");
    receiver.wait_for("offers it in vain: .bashrc begins with a dot");
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
    // It does not count.
    assert_eq!(run(place.path(), &format!("send rivers.bin --key k --to {to}")).code, Some(0));
    assert_eq!(receiver.end().code, Some(0));
    let (receiver, to) = Program::listen(place.path(), "receive --dir b --key k --once --allow-hidden");
    let sent = run(place.path(), &format!("send .bashrc --key k --to {to}"));
    assert_eq!((sent.code, receiver.end().code), (Some(0), Some(0)), "{sent:?}");
    assert_eq!(names(&place.file("b")), [".bashrc"]);
    // A name that the user gives is asked for.
    let (_server, from) = Program::listen(place.path(), "serve . --key k");
    assert_eq!(run(place.path(), &format!("fetch rivers.bin --key k --from {from} -o c/.mine")).code, Some(0));
    assert_eq!(names(&place.file("c")), [".mine"]);
}

/// Whether a text begins with a time such as `2026-11-25T22:42:38.017Z`.
fn begins_with_time(text: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:dd.dddZ";
    text.len() >= form.len()
        && text.chars().zip(form.chars()).all(|(c, f)| if f == 'd' { c.is_ascii_digit() } else { c == f })
}

#[test]
fn events_have_times_and_lines_if_asked_for() {
    let place = Place::new(1000);
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once --timestamps");
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to} --json"));
    for line in sent.text.lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(begins_with_time(event["time"].as_str().expect("a text")), "{line}");
    }
    let ended = receiver.end();
    assert!(ended.text.lines().count() >= 2 && ended.text.lines().all(begins_with_time), "{ended:?}");
}

#[test]
fn a_file_that_was_there_has_no_rate() {
    let place = Place::new(1_000_000);
    let (_first, one) = Program::listen(place.path(), "receive --dir a --key k");
    let (_second, two) = Program::listen(place.path(), "receive --dir b --key k");
    let send = |to: &str| run(place.path(), &format!("send rivers.bin --key k --to {to}")).text;
    let line = |text: String| text.lines().find(|line| line.contains("receivers")).expect("a line").to_owned();
    assert!(line(send(&one)).contains("verified by 1 of 1 receivers; "));
    let again = line(send(&one));
    assert!(again.starts_with("rivers.bin: 977 KiB; 1 of 1 receivers had it already; "), "{again}");
    assert!(!again.contains("bit/s") && !again.contains("verified"), "{again}");
    let mixed = line(send(&format!("{one},{two}")));
    assert!(mixed.contains("bit/s; verified by 1 of 2 receivers, 1 had it already; "), "{mixed}");
    let json = run(place.path(), &format!("send rivers.bin --key k --to {one},{two} --json")).text;
    assert!(json.contains(r#""verified":2,"already_there":2"#), "{json}");
}

#[test]
fn an_interface_must_be_one_of_this_host_and_needs_a_group() {
    let place = Place::new(10);
    for command in ["send rivers.bin --to 127.0.0.1", "receive --dir a --bind 127.0.0.1:0"] {
        for (group, interface) in [("239.1.2.3", "192.0.2.7"), ("ff15::77", "2001:db8::7"), ("239.1.2.3", "none0")] {
            let bind = if group.contains(':') { "[::1]" } else { "127.0.0.1" };
            let command = command.replace("127.0.0.1", bind);
            let lacks = run(place.path(), &format!("{command} --key k --group {group} --interface {interface}"));
            assert_eq!(lacks.code, Some(2), "{lacks:?}");
            assert!(lacks.text.contains(&format!("--interface {interface}: no interface of this host")), "{lacks:?}");
            assert!(lacks.text.contains("\nhint: it has ") && lacks.text.contains("127.0.0.1"), "{lacks:?}");
        }
        let alone = run(place.path(), &format!("{command} --key k --interface 127.0.0.1"));
        assert!(alone.code == Some(2) && alone.text.contains("--group"), "{alone:?}");
    }
}
