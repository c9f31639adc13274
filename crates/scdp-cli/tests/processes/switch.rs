//! The switch as a process: what it says when it begins, when it is stopped, and what is wrong with its file.

use rustix::process::Signal;

use super::namespace::Namespace;
use super::program::run;

/// A network namespace with a pair of interfaces, one of them down. None where none can be made.
fn namespace() -> Option<Namespace> {
    let namespace = Namespace::new("pair")?;
    namespace.ip("link add p0 type veth peer name p1");
    namespace.ip("link set p0 up");
    Some(namespace)
}

#[test]
fn a_switch_runs_until_it_is_stopped_and_tells_what_it_counted() {
    let Some(namespace) = namespace() else { return };
    let folder = tempfile::tempdir().expect("a directory");

    let mut switch = namespace.start(folder.path(), "switch --port p0 --port p1 --json --counters counters.json");
    let down = switch.wait_for("\"warning\"");
    assert!(down.contains("p1 is down") && down.contains("ip link set dev p1 up"), "{down}");
    let line: serde_json::Value = serde_json::from_str(&switch.wait_for("listening")).expect("JSON");
    assert_eq!(line["ports"], serde_json::json!(["p0", "p1"]));
    switch.signal(Signal::TERM);
    let ended = switch.end();
    assert_eq!(ended.code, Some(0), "{}", ended.text);
    let last: Vec<serde_json::Value> = ended
        .text
        .lines()
        .filter(|line| line.contains("\"counters\""))
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(last.iter().map(|event| &event["port"]).collect::<Vec<_>>(), ["p0", "p1"]);
    let file = std::fs::read_to_string(folder.path().join("counters.json")).expect("written");
    let file: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!(file["p0"], last[0]["counters"]);

    let missing = namespace.start(folder.path(), "switch --port p0 --port p7").end();
    assert_eq!(missing.code, Some(2));
    assert!(missing.text.contains("p7: no such network interface here; there are"), "{}", missing.text);
    assert!(missing.text.contains("hint: a switch has the interfaces of one network namespace"), "{}", missing.text);
}

#[test]
fn a_wrong_file_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a directory");
    for (text, expected) in [
        ("rate = '1Mbps'\nquue = '1MB'", "lab.toml: TOML parse error at line 2, column 1"),
        ("rate = '1'", "the unit is missing"),
        ("[port.p9]\nrate = '1Mbps'", "lab.toml: port.p9: there is no such port; there are p0, p1"),
        ("[port.p1]\ntrim = 3000", "lab.toml: port.p1.trim: expected 80 to 1024"),
    ] {
        std::fs::write(folder.path().join("lab.toml"), text).expect("written");
        let ended = run(folder.path(), "switch lab.toml --port p0 --port p1 --check");
        assert_eq!(ended.code, Some(2), "{}", ended.text);
        assert!(ended.text.contains(expected), "{}", ended.text);
    }
}
