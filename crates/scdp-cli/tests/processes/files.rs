//! Files that exist, folders that cannot be written, disks that are full.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::program::{Place, Program, names, run};

/// `nobody`, who may write nothing of the one who runs the tests.
const NOBODY: u32 = 65_534;

#[test]
fn a_file_that_exists_is_kept_unless_force_is_asked_for() {
    let place = Place::new(50_000);
    fs::write(place.file("a/rivers.bin"), "old").expect("written");
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once");
    let send = |to: &str| run(place.path(), &format!("send rivers.bin --key k --to {to}"));
    let refused = send(&to);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.text.contains(&format!("rivers.bin: {to} refuses it: rivers.bin exists")), "{refused:?}");
    assert!(refused.text.contains("\nhint: `scdp receive --force` replaces files"), "{refused:?}");
    let ended = receiver.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(fs::read_to_string(place.file("a/rivers.bin")).expect("there"), "old");

    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once --force");
    assert_eq!((send(&to).code, receiver.end().code), (Some(0), Some(0)));
    assert!(place.has("a"));

    let (server, from) = Program::listen(place.path(), "serve a --key k");
    fs::write(place.file("b/rivers.bin"), "old").expect("written");
    let kept = run(place.path(), &format!("fetch rivers.bin --from {from} --key k -o b"));
    assert_eq!(kept.code, Some(1), "{kept:?}");
    assert!(kept.text.contains("exists") && kept.text.contains("hint: --force replaces it"), "{kept:?}");
    assert_eq!(run(place.path(), &format!("fetch rivers.bin --from {from} --key k -o b --force")).code, Some(0));
    assert!(place.has("b"));
    drop(server);
}

/// The program for a user who may not write everywhere: root may.
fn powerless(place: &Place, arguments: &str) -> Option<Command> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scdp"));
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
        if Command::new(env!("CARGO_BIN_EXE_scdp")).uid(NOBODY).gid(NOBODY).arg("--version").output().is_err() {
            eprintln!("skipped: another user than root cannot run {}", env!("CARGO_BIN_EXE_scdp"));
            return None;
        }
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("changed");
        std::os::unix::fs::chown(place.file("a"), Some(NOBODY), Some(NOBODY)).expect("changed");
    }
    command.args(arguments.split_whitespace()).current_dir(place.path());
    Some(command)
}

fn set_mode(folder: &Path, mode: u32) {
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("changed");
}

#[test]
fn a_folder_that_cannot_be_written_is_found_early_and_told_later() {
    let place = Place::new(50_000);
    let receive = "receive --dir a --insecure --once --bind 127.0.0.1:0";
    let Some(mut command) = powerless(&place, receive) else { return };
    let mut receiver = Program::spawn(&mut command);
    let to = receiver.address();
    set_mode(&place.file("a"), 0o555);
    let sent = run(place.path(), &format!("send rivers.bin --insecure --to {to}"));
    assert_eq!(sent.code, Some(1), "{sent:?}");
    assert!(sent.text.contains("refuses it: cannot create rivers.bin: "), "{sent:?}");
    assert_eq!(receiver.end().code, Some(1));

    let early = Program::spawn(&mut powerless(&place, receive).expect("as before")).end();
    assert_eq!(early.code, Some(2), "{early:?}");
    assert!(early.text.contains("error: a: files cannot be put there: Permission denied"), "{early:?}");
    set_mode(&place.file("a"), 0o755);
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_nothing() {
    let place = Place::new(3_000_000);
    // A limit of the shell stands for a full disk: the system refuses to make the file longer than 1 MiB.
    let script = r#"trap "" XFSZ; ulimit -f 1024; exec "$0" receive --dir a --key k --once --bind 127.0.0.1:0"#;
    let mut receiver =
        Program::spawn(Command::new("bash").args(["-c", script, env!("CARGO_BIN_EXE_scdp")]).current_dir(place.path()));
    let to = receiver.address();
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to}"));
    assert_eq!(sent.code, Some(1), "{sent:?}");
    assert!(
        sent.text.contains(&format!("rivers.bin: {to} refuses it: ")) && sent.text.contains("too large"),
        "{sent:?}"
    );
    assert_eq!(receiver.end().code, Some(1));
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
}

#[test]
fn what_is_larger_than_allowed_is_refused_before_room_is_made_for_it() {
    let place = Place::new(3_000_000);
    let (mut receiver, to) = Program::listen(place.path(), "receive --dir a --key k --max-size 1MB");
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to}"));
    assert_eq!(sent.code, Some(1), "{sent:?}");
    let refused = format!("rivers.bin: {to} refuses it: larger than the 1000000 B that this host takes");
    assert!(sent.text.contains(&refused), "{sent:?}");
    receiver.wait_for("offers it in vain: larger than the 1000000 B that this host takes");
    receiver.kill();
    assert_eq!(names(&place.file("a")), Vec::<String>::new());
}

#[test]
fn a_full_disk_is_told() {
    let place = Place::new(3_000_000);
    let disk = place.file("a");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "scdp-test"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no small file system can be mounted here (it takes root)");
        return;
    }
    let unmount = Unmount(&disk);
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once");
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to}"));
    assert_eq!(sent.code, Some(1), "{sent:?}");
    assert!(sent.text.contains("No space left on device"), "{sent:?}");
    assert_eq!(receiver.end().code, Some(1));
    assert_eq!(names(&disk), Vec::<String>::new());
    drop(unmount);
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

#[test]
fn a_server_shows_neither_hidden_files_nor_subfolders() {
    let place = Place::new(1000);
    fs::write(place.file("a/.hidden"), "secret").expect("written");
    fs::create_dir(place.file("a/sub")).expect("made");
    let (server, from) = Program::listen(place.path(), "serve a --key k --timeout 1s");
    for name in [".hidden", "sub"] {
        let fetched = run(place.path(), &format!("fetch {name} --from {from} --key k"));
        assert_eq!(fetched.code, Some(1), "{fetched:?}");
        assert!(fetched.text.contains("no such object"), "{fetched:?}");
    }
    server.signal(Signal::TERM);
    let ended = server.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.text.matches("asks in vain").count(), 2, "{ended:?}");
}

#[test]
fn a_receiver_for_ipv6_and_ipv4_takes_packets_of_both() {
    let place = Place::new(50_000);
    if std::net::UdpSocket::bind("[::1]:0").is_err() {
        return eprintln!("skipped: this host has no IPv6");
    }
    let mut receiver = Program::start(place.path(), "receive --dir a --key k --count 2 --force --bind [::]:0");
    let line = receiver.wait_for("listening");
    let port = line.split("[::]:").nth(1).and_then(|rest| rest.split(',').next()).expect("a port").to_owned();
    for host in ["127.0.0.1", "[::1]"] {
        let sent = run(place.path(), &format!("send rivers.bin --key k --to {host}:{port}"));
        assert_eq!(sent.code, Some(0), "{host}: {sent:?}");
    }
    assert_eq!(receiver.end().code, Some(0));
    assert!(place.has("a"));
}

#[test]
fn a_pipe_in_a_folder_keeps_nobody_waiting_and_the_program_ends_when_it_is_told() {
    let place = Place::new(1000);
    for folder in ["a", "b"] {
        let made = Command::new("mkfifo").arg(place.file(folder).join("pipe")).status().expect("`mkfifo` is there");
        assert!(made.success());
    }
    fs::write(place.file("a/good"), "content").expect("written");
    fs::write(place.file("pipe"), "").expect("written");
    let (mut server, from) = Program::listen(place.path(), "serve a --key k");
    let fetch = |name: &str| run(place.path(), &format!("fetch {name} --from {from} --key k -o c")).code;
    assert_eq!((fetch("pipe"), fetch("good")), (Some(1), Some(0)));
    server.wait_for("asks in vain: pipe: is no regular file, but a named pipe");
    let (receiver, to) = Program::listen(place.path(), "receive --dir b --key k");
    let sent = run(place.path(), &format!("send pipe --key k --to {to}"));
    assert!(sent.code == Some(1) && sent.text.contains("pipe is a named pipe here"), "{sent:?}");
    let itself = run(place.path(), &format!("send b/pipe --key k --to {to}"));
    assert!(itself.code == Some(2) && itself.text.contains("but a named pipe"), "{itself:?}");
    assert_eq!(run(place.path(), &format!("send rivers.bin --key k --to {to}")).code, Some(0));
    for program in [server, receiver] {
        program.signal(Signal::TERM);
        assert_eq!(program.end().code, Some(0));
    }
}

#[test]
fn a_folder_is_not_replaced_by_a_file_and_that_is_said_at_once() {
    let place = Place::new(3_000_000);
    fs::create_dir(place.file("a/rivers.bin")).expect("made");
    let (receiver, to) = Program::listen(place.path(), "receive --dir a --key k --once --force");
    let sent = run(place.path(), &format!("send rivers.bin --key k --to {to} --rate 1Mbps --json"));
    assert!(sent.code == Some(1) && sent.text.contains("rivers.bin is a directory here"), "{sent:?}");
    let sent: Vec<&str> = sent.text.lines().filter(|line| line.contains("\"sent\"")).collect();
    let sent: serde_json::Value = serde_json::from_str(sent[0]).expect("JSON");
    assert!(sent["sent_bytes"].as_u64().expect("a number") < 100_000, "the first window alone: {sent}");
    assert_eq!(receiver.end().code, Some(1));
    assert_eq!(names(&place.file("a")), ["rivers.bin"]);
}

/// A command of the program that may have few files open.
fn with_few_descriptors(place: &Place, arguments: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", &format!(r#"ulimit -n 48; exec "$0" {arguments}"#), env!("CARGO_BIN_EXE_scdp")]);
    command.current_dir(place.path());
    command
}

#[test]
fn there_may_be_more_files_than_a_process_may_open() {
    let place = Place::new(1000);
    let files: Vec<String> = (0..200).map(|n| format!("f{n:03}")).collect();
    for (n, name) in files.iter().enumerate() {
        fs::write(place.file("a").join(name), vec![n as u8; n]).expect("written");
    }
    let mut server = Program::spawn(&mut with_few_descriptors(&place, "serve a --key k --json --bind 127.0.0.1:0"));
    let from = server.address();
    for name in [&files[0], &files[199]] {
        let fetched = run(place.path(), &format!("fetch {name} --from {from} --key k -o b"));
        assert_eq!(fetched.code, Some(0), "{fetched:?}");
    }
    let (receiver, to) = Program::listen(place.path(), "receive --dir c --key k --count 200");
    let sent = Program::spawn(&mut with_few_descriptors(&place, &format!("send a/f* --key k --to {to}"))).end();
    assert_eq!((sent.code, receiver.end().code), (Some(0), Some(0)), "{sent:?}");
    for name in &files {
        let content = |folder: &str| fs::read(place.file(folder).join(name)).expect("there");
        assert!(content("a") == content("c"), "{name}");
    }
}
