//! Files that are signed, and hosts that take no others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::program::{Place, Program, names, run};

/// A place with two keys that sign, `ours` and `theirs`.
fn place(size: usize) -> Place {
    let place = Place::new(size);
    for name in ["ours", "theirs"] {
        assert_eq!(run(place.path(), &format!("key --sign {name}")).code, Some(0));
    }
    place
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("there")
}

/// The first line of an event.
fn event(text: &str, name: &str) -> Value {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.into_iter().find(|line| line["event"] == name).unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[test]
fn a_key_that_signs_is_for_its_owner_and_its_public_half_for_all() {
    let place = place(10);
    let mode = |name: &str| fs::metadata(place.file(name)).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode("ours"), 0o600);
    // Less what the user's mask takes away.
    assert_eq!(mode("ours.pub") & 0o700, 0o600);
    let (secret, public) = (read(&place.file("ours")), read(&place.file("ours.pub")));
    assert!(public.starts_with("scdp-verify-1:") && public.trim_end().len() == "scdp-verify-1:".len() + 64);
    assert!(secret.contains("\nscdp-sign-1:") && secret.contains(public.trim_end()), "the public half is in both");
    assert_ne!(public, read(&place.file("theirs.pub")));

    let again = run(place.path(), "key --sign ours");
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.text.starts_with("error: ours: exists\nhint: "), "{again:?}");
    fs::remove_file(place.file("ours")).expect("removed");
    let half = run(place.path(), "key --sign ours");
    assert_eq!(half.code, Some(2), "{half:?}");
    assert!(half.text.starts_with("error: ours.pub: exists\nhint: ") && !place.file("ours").exists(), "{half:?}");
    assert_eq!(read(&place.file("ours.pub")), public);

    let printed = run(place.path(), "key --sign -");
    assert!(printed.text.contains("scdp-verify-1:") && printed.text.contains("scdp-sign-1:"), "{printed:?}");
    assert!(!place.file("-").exists() && !place.file("-.pub").exists());
    assert_eq!(run(place.path(), "key --sign").code, Some(0));
    assert!(place.file("scdp-sign.key.pub").exists());
}

#[test]
fn a_receiver_takes_what_those_it_trusts_have_signed_and_nothing_else() {
    let place = place(1_000_000);
    let public = read(&place.file("ours.pub"));
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once --json --signed-by ours.pub");
    let (either, other) = Program::listen(
        place.path(),
        &format!(
            "receive --dir b --key k --count 2 --json --force --signed-by theirs.pub --signed-by {}",
            public.trim_end()
        ),
    );
    let send = format!("send rivers.bin --key k --to {to}");

    let unsigned = run(place.path(), &send);
    assert_eq!(unsigned.code, Some(1), "{unsigned:?}");
    let said = "not signed, and this host takes only what is signed";
    assert!(unsigned.text.contains(&format!("rivers.bin: {to} refuses it: {said}")), "{unsigned:?}");
    assert!(unsigned.text.contains("\nhint: --sign FILE signs"), "{unsigned:?}");
    let wrong = run(place.path(), &format!("{send},{other} --sign theirs --json"));
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let lines: Vec<Value> = wrong.text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |host: &str| lines.iter().find(|line| line["event"] == "receiver" && line["host"] == host).expect("told");
    let theirs = read(&place.file("theirs.pub"));
    let expected = format!("signed with a key that this host does not trust, {}", theirs.trim_end());
    assert_eq!((&of(&to)["outcome"], &of(&to)["reason"]), (&"refused".into(), &expected.as_str().into()));
    assert_eq!(of(&other)["outcome"], "verified");
    assert_eq!(names(&place.file("a")), Vec::<String>::new());

    // Neither has counted: the receiver is still there.
    let right = run(place.path(), &format!("{send},{other} --sign ours"));
    assert_eq!(right.code, Some(0), "{right:?}");
    let (ended, both) = (receiver.end(), either.end());
    assert_eq!((ended.code, both.code), (Some(0), Some(0)), "{ended:?} {both:?}");
    assert!(place.has("a") && place.has("b"));
    let declined = event(&ended.text, "declined");
    assert_eq!((&declined["name"], &declined["reason"]), (&"rivers.bin".into(), &said.into()), "{ended:?}");
    assert_eq!(ended.text.matches("\"declined\"").count(), 2, "{ended:?}");
    assert_eq!(event(&ended.text, "began")["signer"], public.trim_end());
    assert_eq!(event(&both.text, "began")["signer"], theirs.trim_end());
}

#[test]
fn a_fetch_takes_what_is_signed_from_the_servers_that_have_it() {
    let place = place(2_000_000);
    for folder in ["a", "b"] {
        fs::copy(place.file("rivers.bin"), place.file(folder).join("rivers.bin")).expect("copied");
    }
    // Not the same file, and nobody knows but by the signature.
    fs::write(place.file("a").join("rivers.bin"), vec![7; 2_000_000]).expect("written");
    let (_rogue, forged) = Program::listen(place.path(), "serve a --key k --sign theirs");
    let (_right, right) = Program::listen(place.path(), "serve b --key k --sign ours");
    let fetch = |from: &str| {
        run(place.path(), &format!("fetch rivers.bin --from {from} --key k --signed-by ours.pub -o c --json"))
    };
    let refused = fetch(&forged);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let error = event(&refused.text, "error");
    let why = format!("rivers.bin: {forged}: signed with a key that this host does not trust");
    assert!(error["message"].as_str().expect("text").starts_with(&why), "{refused:?}");
    assert!(error["hint"].as_str().expect("text").contains("scdp serve --sign"), "{refused:?}");
    assert_eq!(names(&place.file("c")), Vec::<String>::new());
    let fetched = fetch(&format!("{forged},{right}"));
    assert_eq!(fetched.code, Some(0), "{fetched:?}");
    assert!(place.has("c"));
    assert_eq!(event(&fetched.text, "began")["signer"], read(&place.file("ours.pub")).trim_end());
}

#[test]
fn signatures_hold_without_the_shared_key() {
    let place = place(10_000);
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --insecure --once --signed-by ours.pub");
    let sent = run(place.path(), &format!("send rivers.bin --insecure --to {to}"));
    assert_eq!(sent.code, Some(1), "{sent:?}");
    let sent = run(place.path(), &format!("send rivers.bin --insecure --sign ours --to {to}"));
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let ended = receiver.end();
    assert!(
        ended.text.contains("rivers.bin: 127.0.0.1:") && ended.text.contains("offers it in vain: not signed"),
        "{ended:?}"
    );
    assert!(ended.code == Some(0) && place.has("a"), "{ended:?}");
}

#[test]
fn keys_that_are_none_are_named() {
    let place = place(10);
    for (arguments, expected) in [
        ("send rivers.bin --key k --to 127.0.0.1 --sign k", "error: k: line 1: expected `scdp-sign-1:`"),
        ("serve . --key k --sign no.key", "error: no.key: No such file"),
        ("receive --key k --signed-by ours", "error: ours: line 2: expected `scdp-verify-1:`"),
        (
            "fetch x --from 127.0.0.1 --key k --signed-by scdp-verify-1:12",
            "error: --signed-by scdp-verify-1:12: line 1: ",
        ),
    ] {
        let ended = run(place.path(), arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.text.starts_with(expected) && ended.text.contains("\nhint: "), "{ended:?}");
        assert!(!ended.text.contains("scdp-sign-1:0") && ended.text.lines().count() == 2, "{ended:?}");
    }
}
