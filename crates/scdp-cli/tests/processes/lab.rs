//! `scdp lab` with real networks: what it measures, and that nothing is left of it, however it ends.
//!
//! Where namespaces are not permitted, these tests say so and do nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::program::{Ended, Program, names};
use super::tutorial::masked;

/// Looks at something that takes time: so often, and so long between.
const LOOKS: usize = 6000;
const BETWEEN: Duration = Duration::from_millis(10);

const HOSTS: &str = "[switch]\nkind = \"bridge\"\nrate = \"200Mbps\"\n[hosts.a]\n[hosts.b]\n[hosts.c]\n";

/// A folder with a lab file, and one for all temporary files of the lab.
struct Place {
    folder: TempDir,
}

impl Place {
    /// None, with the reason on stdout, where no networks can be made.
    fn new(more: &str) -> Option<Self> {
        let place = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(place.temporary()).expect("made");
        fs::write(place.path().join("lab.toml"), HOSTS).expect("written");
        let probe = place.run("lab lab.toml");
        let reasons = ["error: a lab needs", "is missing", "error: `ip netns add"];
        if reasons.iter().any(|reason| probe.text.contains(reason)) {
            println!("skipped: {}", probe.text);
            return None;
        }
        assert_eq!(probe.code, Some(0), "{}", probe.text);
        fs::write(place.path().join("lab.toml"), format!("{HOSTS}{more}")).expect("written");
        Some(place)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn temporary(&self) -> PathBuf {
        self.path().join("temporary")
    }

    fn start(&self, arguments: &str) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scdp"));
        command.args(arguments.split_whitespace()).current_dir(self.path()).env("TMPDIR", self.temporary());
        Program::spawn(&mut command)
    }

    fn run(&self, arguments: &str) -> Ended {
        let program = self.start(arguments);
        let pid = program.pid();
        let ended = program.end();
        self.assert_nothing_is_left(pid);
        ended
    }

    fn assert_nothing_is_left(&self, pid: u32) {
        assert_eq!(namespaces(pid), [""; 0]);
        assert_eq!(names(&self.temporary()), [""; 0]);
    }

    /// The content of a file that a step has written, when it is there.
    fn wait_for_file(&self, lab: u32, path: &str) -> String {
        for _ in 0..LOOKS {
            let labs = names(&self.temporary()).into_iter().filter(|name| name.starts_with(&format!("scdplab-{lab}-")));
            let found =
                labs.map(|name| self.temporary().join(name).join(path)).find_map(|path| fs::read_to_string(path).ok());
            if let Some(text) = found.filter(|text| text.ends_with('\n')) {
                return text.trim().to_owned();
            }
            thread::sleep(BETWEEN);
        }
        panic!("no {path} in {}", self.temporary().display());
    }
}

/// Names of the namespaces of a lab. A user's own are not among them: they go with their processes.
fn namespaces(pid: u32) -> Vec<String> {
    let entries = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("scdplab-{pid}-"))).collect()
}

/// Waits until a process is gone, or a zombie that nobody waits for.
fn wait_for_end(pid: &str) {
    for _ in 0..LOOKS {
        match fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) if !stat.contains(") Z ") => thread::sleep(BETWEEN),
            _ => return,
        }
    }
    panic!("process {pid} goes on");
}

fn json(ended: &Ended) -> Vec<Value> {
    ended
        .text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

const REPLICATE: &str = r#"
[files]
data = { size = "1MiB" }
key = { command = "scdp key {key}" }
[sweep]
"variables.how" = { multicast = "--group 239.1.1.1 --interface {address}", unicast = "" }
[[program]]
on = ["b", "c"]
command = "scdp receive --once --json --key {key} --bind {address} {how}"
ready = "listening"
wait = "30s"
[[step]]
on = "a"
command = "scdp send {data} --to {b},{c} --key {key} --bind {address} {how}"
[[check]]
same = ["{data}", "{b.dir}/data", "{c.dir}/data"]
"#;

#[test]
fn a_file_is_replicated_and_multicast_spares_the_uplink() {
    let Some(place) = Place::new(REPLICATE) else { return };
    let ended = place.run("lab lab.toml --json -o results.json --keep kept");
    assert_eq!(ended.code, Some(0), "{}", ended.text);
    let lines = json(&ended);
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(kinds, ["run", "run", "combination", "combination"]);
    let sent: Vec<u64> = lines[..2].iter().map(|line| line["sent_bytes"]["a"].as_u64().expect("a number")).collect();
    // Of 1 MiB, one copy and two. Repair symbols and headers take a few percent; what is lost is sent again.
    assert!((1 << 20..3 << 19).contains(&sent[0]), "{sent:?}");
    assert!(sent[1] >= 2 << 20, "{sent:?}");
    // At 200 Mbit/s 1 MiB takes 42 ms, of which the burst of the shaper is less than one.
    assert!(lines[0]["seconds"].as_f64().expect("a number") > 0.041, "{}", lines[0]);

    let file = fs::read_to_string(place.path().join("results.json")).expect("it is there");
    let results: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!(results["runs"][1]["values"]["how"], "unicast");
    assert_eq!(results["combinations"][0]["ok"], 1);
    let said = fs::read_to_string(place.path().join("kept/run-1/output/step-1-a.log")).expect("it is kept");
    assert!(said.contains("verified by 2 of 2 receivers"), "{said}");
    assert_eq!(names(&place.path().join("kept/run-2/c")), ["data"]);
}

#[test]
fn what_fails_is_told_with_its_last_lines_and_the_others_go_on() {
    let steps = "[sweep]\n\"variables.end\" = [\"0\", \"3\"]\n[[step]]\non = [\"a\", \"b\"]\n\
                 command = [\"sh\", \"-c\", \"echo first; echo last of {host} >&2; exit {end}\"]\n";
    let Some(place) = Place::new(steps) else { return };
    let ended = place.run("lab lab.toml");
    assert_eq!(ended.code, Some(1), "{}", ended.text);
    for expected in [
        "run 1, end 0: 0.",
        "run 2, end 3: step 1 on a: ",
        "ended with 3\n  | first\n  | last of a\n",
        "error: 1 of 2 runs failed",
    ] {
        assert!(ended.text.contains(expected), "no {expected} in\n{}", ended.text);
    }
}

#[test]
fn every_way_to_fail_is_a_failure() {
    for (more, expected) in [
        ("[[step]]\non = \"a\"\ncommand = \"sleep 600\"\ntime_limit = \"200ms\"\n", "takes longer than 0.2 s"),
        ("[[step]]\non = \"a\"\ncommand = \"true\"\nexpect = 1\n", "ended with 0, not with 1"),
        ("[[step]]\non = \"a\"\ncommand = \"no-such-program\"\n", "no-such-program"),
        (
            "[[program]]\non = \"a\"\ncommand = \"echo no\"\nready = \"yes\"\n",
            "ended with 0 before it said \"yes\"\n  | no",
        ),
        (
            "[[program]]\non = \"a\"\ncommand = \"sleep 600\"\nready = \"yes\"\ntime_limit = \"200ms\"\n",
            "does not say \"yes\" in 0.2 s",
        ),
        ("[[program]]\non = \"a\"\ncommand = \"sleep 600\"\nwait = \"200ms\"\n", "takes longer than 0.2 s"),
        ("[[program]]\non = \"a\"\ncommand = \"false\"\nwait = \"20s\"\n", "program 1 on a: \"false\" ended with 1"),
        ("[files.x]\ncommand = \"false\"\n", "the command of file x: \"false\" ended with 1"),
        (
            "[files]\nx = { size = \"1kB\" }\ny = { size = \"1kB\" }\n[[check]]\nsame = [\"{x}\", \"{y}\"]\n",
            "check 1: ",
        ),
    ] {
        let Some(place) = Place::new(more) else { return };
        let ended = place.run("lab lab.toml");
        assert_eq!(ended.code, Some(1), "{more}\n{}", ended.text);
        assert!(ended.text.contains(expected), "no {expected} in\n{}", ended.text);
    }
}

#[test]
fn who_interrupts_it_leaves_nothing() {
    let step = "[[step]]\non = \"b\"\ncommand = [\"sh\", \"-c\", \"setsid sh -c 'echo $$ > {dir}/deep; exec sleep 600' & echo $$ > {dir}/pid; exec sleep 600\"]\n";
    let Some(place) = Place::new(step) else { return };
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let program = place.start("lab lab.toml");
        let lab = program.pid();
        let pids = [place.wait_for_file(lab, "run-1/b/pid"), place.wait_for_file(lab, "run-1/b/deep")];
        program.signal(signal);
        let ended = program.end();
        assert_eq!(ended.code, Some(code), "{}", ended.text);
        assert!(ended.text.contains("stopped; the network is taken down"), "{}", ended.text);
        place.assert_nothing_is_left(lab);
        for pid in pids {
            wait_for_end(&pid);
        }
    }
}

#[test]
fn a_shell_does_not_keep_it_from_being_stopped() {
    use std::os::unix::fs::PermissionsExt;
    let Some(place) = Place::new("") else { return };
    let shell = place.path().join("shell");
    // Interactive shells ignore SIGTERM, and this one SIGHUP, too.
    fs::write(&shell, "#!/bin/sh\ntrap '' TERM HUP\necho $$ > pid\nwhile :; do sleep 600; done\n").expect("written");
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).expect("set");
    let mut command = Command::new(env!("CARGO_BIN_EXE_scdp"));
    command.args(["lab", "lab.toml", "--shell", "a"]).current_dir(place.path());
    let program = Program::spawn(command.env("TMPDIR", place.temporary()).env("SHELL", &shell));
    let (lab, pid) = (program.pid(), place.wait_for_file(program.pid(), "run-1/a/pid"));
    program.signal(Signal::TERM);
    let ended = program.end();
    assert_eq!(ended.code, Some(143), "{}", ended.text);
    place.assert_nothing_is_left(lab);
    wait_for_end(&pid);
}

#[test]
fn results_go_where_they_can_and_else_nothing_runs() {
    let Some(place) = Place::new("[[step]]\non = \"a\"\ncommand = \"touch {lab}/has-run\"\n") else { return };
    let ended = place.run("lab lab.toml -o none/results.json");
    assert_eq!(ended.code, Some(2), "{}", ended.text);
    assert!(ended.text.contains("none/results.json: No such file"), "{}", ended.text);
    assert!(!place.path().join("has-run").exists());
    assert_eq!(place.run("lab lab.toml -o /dev/null").code, Some(0));
    assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
}

#[test]
fn what_a_killed_lab_leaves_is_cleaned_and_the_living_is_not() {
    let program = "[[program]]\non = \"a\"\ncommand = [\"sh\", \"-c\", \"echo $$ > {dir}/pid; echo up; exec sleep 600\"]\nready = \"up\"\n";
    let Some(place) = Place::new(program) else { return };
    let mut living = place.start("lab lab.toml --hold");
    let mut killed = place.start("lab lab.toml --hold");
    for lab in [&mut living, &mut killed] {
        lab.wait_for("folders are in");
    }
    let (lives, dies) = (living.pid(), killed.pid());
    let (standing, pid) = (namespaces(lives), place.wait_for_file(dies, "run-1/a/pid"));
    killed.kill();
    assert_eq!(namespaces(dies).len(), standing.len());

    let cleaned = place.start("lab --clean").end();
    assert_eq!(cleaned.code, Some(0), "{}", cleaned.text);
    assert!(
        cleaned.text.contains(&format!("removed {}/scdplab-{dies}-", place.temporary().display())),
        "{}",
        cleaned.text
    );
    assert_eq!(namespaces(dies), [""; 0]);
    wait_for_end(&pid);
    assert_eq!(namespaces(lives).len(), standing.len());
    living.signal(Signal::INT);
    assert_eq!(living.end().code, Some(0));
    place.assert_nothing_is_left(lives);
    assert!(place.run("lab --clean").text.contains("nothing was left"));
}

/// A block of a page: what is before it, it, and what is after it.
fn block<'p>(page: &'p str, begin: &str) -> (&'p str, &'p str, &'p str) {
    let at = page.find(begin).unwrap_or_else(|| panic!("no {begin:?}")) + begin.len();
    let end = at + page[at..].find("```\n").expect("a block ends");
    (&page[..at], &page[at..end], &page[end..])
}

/// What is the same each time: columns are as wide as their figures.
fn same_each_time(text: &str) -> Vec<String> {
    masked(text).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_how_to_shows_what_the_program_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/run-a-lab.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let Some(place) = Place::new("") else { return };
    fs::write(place.path().join("first.toml"), block(&page, "<!-- first.toml -->\n\n```toml\n").1).expect("written");
    let (before, old, after) = block(&page, "<!-- made by running it -->\n\n```console\n");
    let mut made = String::new();
    for command in old.lines().filter_map(|line| line.strip_prefix("$ scdp ")) {
        let ended = place.run(command);
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.text);
        // On a terminal, runs are told before the table of all.
        let (runs, table): (Vec<&str>, Vec<&str>) = ended.text.lines().partition(|line| line.starts_with("run "));
        let command = format!("$ scdp {command}");
        for line in [command.as_str()].iter().chain(&runs).chain(&table) {
            made.extend([line, "\n"]);
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{before}{made}{after}")).expect("the repository can be written");
    } else {
        assert_eq!(same_each_time(old), same_each_time(&made), "UPDATE=1 cargo test -p scdp-cli how_to");
    }
}
