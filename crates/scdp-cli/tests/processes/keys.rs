//! Keys: made, found, wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::Signal;

use super::program::{Place, Program, names, run};

#[test]
fn a_key_is_for_its_owner_and_never_replaced() {
    let place = Place::new(10);
    let path = place.file("k");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    let key = fs::read_to_string(&path).expect("a key");
    assert!(key.starts_with("scdp-key-1:") && key.trim_end().len() == "scdp-key-1:".len() + 64);
    let again = run(place.path(), "key k");
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.text.starts_with("error: k: exists\nhint: "), "{again:?}");
    assert_eq!(fs::read_to_string(&path).expect("a key"), key);
    let printed = run(place.path(), "key -");
    assert!(printed.text.starts_with("scdp-key-1:") && printed.text != key.trim_end(), "another key");
    assert!(!place.file("-").exists());
}

#[test]
fn who_has_another_key_gets_no_answer() {
    let place = Place::new(1000);
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k");
    assert_eq!(run(place.path(), "key other").code, Some(0));
    for wrong in ["--key other", "--insecure"] {
        let sent = run(place.path(), &format!("send rivers.bin --to {to} --timeout 300ms {wrong}"));
        assert_eq!(sent.code, Some(1), "{sent:?}");
        assert!(sent.text.contains("no answer") && sent.text.contains("with the same key"), "{sent:?}");
    }
    let (server, from) = Program::listen(place.path(), "serve . --key k");
    let fetched = run(place.path(), &format!("fetch rivers.bin --from {from} --timeout 300ms --key other -o a"));
    assert_eq!(fetched.code, Some(1), "{fetched:?}");
    assert!(fetched.text.contains("error: rivers.bin: no answer\nhint: is `scdp serve` running there"), "{fetched:?}");
    receiver.signal(Signal::INT);
    let ended = receiver.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
    drop(server);
}

#[test]
fn a_key_of_the_environment_and_one_that_others_can_read() {
    let place = Place::new(1000);
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once");
    fs::set_permissions(place.file("k"), fs::Permissions::from_mode(0o644)).expect("changed");
    let mut command = Command::new(env!("CARGO_BIN_EXE_scdp"));
    command.args(["send", "rivers.bin", "--to", &to]).current_dir(place.path());
    let sent = command.env("SCDP_KEY_FILE", "k").output().expect("it runs");
    let said = String::from_utf8(sent.stderr).expect("UTF-8");
    assert!(
        sent.status.success() && said == "warning: k: other users can use this key (mode 644)\nhint: chmod 600 k\n",
        "{said}"
    );
    assert_eq!(receiver.end().code, Some(0));
    fs::write(place.file("k"), "scdp-key-1:12345\n").expect("written");
    let bad = run(place.path(), &format!("send rivers.bin --key k --to {to}"));
    assert_eq!(bad.code, Some(2), "{bad:?}");
    assert!(bad.text.contains("error: k: line 1: a key has 64 hexadecimal digits, this one has 5"), "{bad:?}");
}
