//! Permission bits and holes of files at the other end.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use super::program::{Place, Program, names, run};

fn mode(path: &Path) -> u32 {
    path.metadata().expect("there").mode() & 0o7777
}

/// A receiver in a folder of that name, whose files may have what this mask leaves.
fn receiver(place: &Place, umask: &str, arguments: &str) -> (Program, String) {
    let script = format!(r#"umask {umask}; exec "$0" {arguments} --bind 127.0.0.1:0"#);
    let mut receiver = Program::spawn(
        Command::new("bash").args(["-c", &script, env!("CARGO_BIN_EXE_scdp")]).current_dir(place.path()),
    );
    let to = receiver.address();
    (receiver, to)
}

#[test]
fn files_allow_what_the_senders_allow_and_no_more_than_the_mask() {
    let place = Place::new(10);
    let modes = [0o600, 0o644, 0o640, 0o755, 0o700, 0o444, 0o4755, 0o2755, 0o1777, 0o666];
    let files: Vec<String> = modes.iter().map(|mode| format!("f{mode:o}")).collect();
    for (file, mode) in files.iter().zip(modes) {
        fs::write(place.file(file), file).expect("written");
        fs::set_permissions(place.file(file), Permissions::from_mode(mode)).expect("changed");
    }
    let all = files.join(" ");
    for (umask, mask) in [("022", 0o022), ("077", 0o077), ("000", 0)] {
        // Also in place of a file that anybody may read.
        for file in &files {
            fs::write(place.file("a").join(file), "old").expect("written");
            fs::set_permissions(place.file("a").join(file), Permissions::from_mode(0o666)).expect("changed");
        }
        let (running, to) = receiver(&place, umask, "receive --dir a --key k --force");
        let sent = run(place.path(), &format!("send {all} --key k --to {to}"));
        assert_eq!(sent.code, Some(0), "{sent:?}");
        running.kill();
        for (file, sent) in files.iter().zip(modes) {
            assert_eq!(mode(&place.file("a").join(file)), sent & 0o777 & !mask, "{file} with umask {umask}");
        }
    }
    let (_server, from) = Program::listen(place.path(), "serve . --key k");
    for (file, sent) in files.iter().zip(modes) {
        assert_eq!(run(place.path(), &format!("fetch {file} --key k --from {from} -o b")).code, Some(0));
        assert_eq!(mode(&place.file("b").join(file)) & !(sent & 0o777), 0, "{file}");
    }
    assert_eq!(mode(&place.file("b/f600")), 0o600);
}

#[test]
fn an_incomplete_file_is_its_owners_alone_also_when_it_is_resumed() {
    let place = Place::new(40_000_000);
    fs::set_permissions(place.file("rivers.bin"), Permissions::from_mode(0o640)).expect("changed");
    let part = |place: &Place| {
        let parts: Vec<String> = names(&place.file("a")).into_iter().filter(|name| name.contains(".part")).collect();
        (parts.len() == 1).then(|| place.file("a").join(&parts[0]))
    };
    for n in 0..2 {
        let (mut running, to) = Program::listen(place.path(), "receive --dir a --key k --json");
        let sender = Program::start(place.path(), &format!("send rivers.bin --key k --to {to} --rate 200Mbps"));
        running.wait_for_progress();
        let path = part(&place).expect("a partial file");
        assert_eq!(mode(&path), 0o600);
        if n == 1 {
            assert_eq!(sender.end().code, Some(0));
            break;
        }
        while running
            .wait_for("\"progress\"")
            .split("\"bytes\":")
            .nth(1)
            .and_then(|rest| rest.split(',').next().and_then(|bytes| bytes.parse::<u64>().ok()))
            < Some(20_000_000)
        {}
        running.signal(Signal::TERM);
        let ended = running.end();
        assert_eq!(ended.code, Some(143), "{ended:?}");
        assert!(ended.text.contains("the next transfer of the same file goes on"), "{ended:?}");
        sender.end();
        // As an earlier version would have left it.
        fs::set_permissions(part(&place).expect("it is kept"), Permissions::from_mode(0o644)).expect("changed");
    }
    assert!(place.has("a"));
    assert_eq!(mode(&place.file("a/rivers.bin")) & !0o640, 0);
}

#[test]
fn holes_stay_holes() {
    let place = Place::new(10);
    let file = File::create(place.file("sparse")).expect("made");
    file.set_len(30_000_000).expect("longer");
    file.write_all_at(&vec![7; 100_000], 12_345_678).expect("written");
    let stored = |path: &Path| path.metadata().expect("there").blocks() * 512;
    if stored(&place.file("sparse")) > 1_000_000 {
        return eprintln!("skipped: files have no holes here");
    }
    for command in ["receive --dir a --key k --once", "receive --dir a --key k --once --force"] {
        let (running, to) = Program::listen(place.path(), command);
        assert_eq!(run(place.path(), &format!("send sparse --key k --to {to}")).code, Some(0));
        assert_eq!(running.end().code, Some(0));
        let there = place.file("a/sparse");
        assert!(fs::read(&there).expect("there") == fs::read(place.file("sparse")).expect("there"));
        assert!(stored(&there) < 200_000, "{} bytes are stored", stored(&there));
        fs::write(place.file("a/sparse"), "another").expect("written");
    }
}
