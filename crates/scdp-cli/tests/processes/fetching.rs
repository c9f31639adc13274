//! `scdp fetch` from `scdp serve`.

use std::fs;
use std::io::Write;
use std::path::Path;

use rustix::process::Signal;

use super::program::{Place, Program, content, names, run};

/// Three servers of `rivers.bin`, in the folders `a`, `b` and `c`.
fn servers(place: &Place, options: &str) -> [(Program, String); 3] {
    ["a", "b", "c"].map(|folder| {
        fs::write(place.file(folder).join("rivers.bin"), &place.content).expect("written");
        Program::listen(place.path(), &format!("serve {folder} --key k --json {options}"))
    })
}

fn list(servers: &[(Program, String)]) -> String {
    servers.iter().map(|(_, address)| address.as_str()).collect::<Vec<_>>().join(",")
}

#[test]
fn a_file_is_fetched_by_name_and_by_hash() {
    let place = Place::new(3_000_000);
    let mut servers = servers(&place, "");
    let from = list(&servers);
    let by_name = run(place.path(), &format!("fetch rivers.bin --from {from} --key k -o fetched.bin"));
    assert_eq!(by_name.code, Some(0), "{by_name:?}");
    assert!(by_name.text.starts_with("fetched.bin: 2.86 MiB in "), "{by_name:?}");
    assert!(fs::read(place.file("fetched.bin")).expect("there") == place.content);
    let hash = blake3::hash(&place.content).to_hex();
    // Files are hashed before it listens, if that takes less than a second.
    let indexed = |line: &&&str| line.contains("\"indexed\"") && line.contains(hash.as_str());
    if servers[0].0.said().iter().find(indexed).is_none() {
        servers[0].0.wait_for("\"indexed\"");
    }
    fs::create_dir(place.file("d")).expect("made");
    let by_hash = run(place.path(), &format!("fetch blake3:{hash} --from {from} --key k -o d"));
    assert_eq!(by_hash.code, Some(0), "{by_hash:?}");
    assert!(place.has("d"));
    let nobody = run(place.path(), &format!("fetch seas.bin --from {from} --key k"));
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(
        nobody.text.starts_with("error: seas.bin: ") && nobody.text.matches(": no such object").count() == 3,
        "{nobody:?}"
    );
}

#[test]
fn the_others_make_up_for_a_server_that_is_killed() {
    let place = Place::new(6_000_000);
    let mut servers = servers(&place, "--rate 10Mbps");
    fs::create_dir(place.file("d")).expect("made");
    let fetch = format!("fetch rivers.bin --from {} --key k -o d --json --timeout 1s", list(&servers));
    let mut fetching = Program::start(place.path(), &fetch);
    servers[1].0.wait_for("\"serving\"");
    fetching.wait_for_progress();
    let [_a, (b, _), _c] = servers;
    b.kill();
    let ended = fetching.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(place.has("d"));
}

#[test]
fn replicas_that_differ_are_not_mixed() {
    // Time enough for the one that has to read its file again.
    let place = Place::new(2_000_000);
    let first = servers(&place, "--rate 1Mbps");
    fs::write(place.file("b/rivers.bin"), content(99, 2_000_000)).expect("written");
    fs::create_dir(place.file("d")).expect("made");
    let fetched = run(place.path(), &format!("fetch rivers.bin --from {} --key k -o d", list(&first)));
    assert_eq!(fetched.code, Some(1), "{fetched:?}");
    assert!(fetched.text.contains("the replicas differ\nhint: fetch it by its hash"), "{fetched:?}");
    assert_eq!(names(&place.file("d")), Vec::<String>::new());
}

/// Rewrites a file that a server is sending, so that the server does not see it: as a broken disk would.
fn damage(server: &mut Program, file: &Path, seed: u64, size: usize) {
    server.wait_for("\"serving\"");
    server.signal(Signal::STOP);
    let modified = fs::metadata(file).expect("there").modified().expect("a time");
    fs::OpenOptions::new().write(true).open(file).expect("there").write_all(&content(seed, size)).expect("written");
    fs::File::options().write(true).open(file).expect("there").set_modified(modified).expect("set");
    server.signal(Signal::CONT);
}

#[test]
fn a_server_of_wrong_bytes_is_named_and_the_others_deliver() {
    let place = Place::new(6_000_000);
    let mut servers = servers(&place, "--rate 10Mbps");
    let path = place.file("b").join("rivers.bin");
    fs::create_dir(place.file("d")).expect("made");
    let fetch = format!("fetch rivers.bin --from {} --key k -o d --json", list(&servers));
    let fetching = Program::start(place.path(), &fetch);
    damage(&mut servers[1].0, &path, 99, 6_000_000);
    let fetched = fetching.end();
    assert_eq!(fetched.code, Some(0), "{fetched:?}");
    assert!(place.has("d"));
    let line = fetched.text.lines().find(|line| line.contains("\"excluded\"")).expect("one is left out");
    assert!(line.contains(&servers[1].1) && line.contains("bytes that are not of the object"), "{line}");
    assert_eq!(fetched.text.matches("\"excluded\"").count(), 1, "{fetched:?}");

    let fetching =
        Program::start(place.path(), &format!("fetch rivers.bin --from {} --key k -o d --force", servers[1].1));
    damage(&mut servers[1].0, &path, 98, 6_000_000);
    let alone = fetching.end();
    assert_eq!(alone.code, Some(1), "{alone:?}");
    assert!(alone.text.contains("sent bytes that are not of the announced object"), "{alone:?}");
}

#[test]
fn a_file_that_is_rewritten_between_two_fetches_is_served_as_it_is_and_no_server_is_left_out() {
    let place = Place::new(3_000_000);
    let servers = servers(&place, "");
    fs::create_dir(place.file("d")).expect("made");
    let fetch = format!("fetch rivers.bin --from {} --key k -o d --json --force", list(&servers));
    for seed in 0..4 {
        let new = content(100 + seed, 3_000_000);
        for folder in ["a", "b", "c"] {
            // In place, with its size and its time restored.
            let path = place.file(folder).join("rivers.bin");
            let modified = fs::metadata(&path).expect("there").modified().expect("a time");
            let mut file = fs::OpenOptions::new().write(true).open(&path).expect("there");
            file.write_all(&new).expect("written");
            file.set_modified(modified).expect("set");
        }
        let fetched = run(place.path(), &fetch);
        assert!(fetched.code == Some(0) && !fetched.text.contains("\"excluded\""), "{fetched:?}");
        assert!(fs::read(place.file("d/rivers.bin")).expect("there") == new);
    }
}
