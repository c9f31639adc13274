//! What the documents show is what the program prints: each block after a mark is made by running it, and compared but for its numbers.
//!
//! The program runs on the loopback; addresses are replaced by the names that the text gives to the hosts.

use std::fs;
use std::path::Path;

use super::program::{Place, Program, multicast_loops, run};

const MARK: &str = "<!-- made by running it: ";
/// Bytes of the file: enough for a rate, not for patience.
const SIZE: usize = 32 << 20;

/// A folder where `rivers.bin` is called `model.bin`, and what was printed there.
struct Scene {
    place: Place,
    shown: String,
    /// Addresses, and the hosts that have them.
    hosts: Vec<(String, char)>,
}

impl Scene {
    fn new(size: usize) -> Self {
        let place = Place::new(size);
        fs::rename(place.file("rivers.bin"), place.file("model.bin")).expect("renamed");
        fs::rename(place.file("k"), place.file("scdp.key")).expect("renamed");
        Self { place, shown: String::new(), hosts: Vec::new() }
    }

    /// Starts something on the hosts b, c and d, which have the folders a, b and c for `folder`.
    fn listen(&mut self, command: &str, folder: &str) -> Vec<Program> {
        let place = &self.place;
        let start = |own: &str| Program::listen(place.path(), &command.replace(folder, own));
        let (programs, addresses): (Vec<_>, Vec<_>) = ["a", "b", "c"].map(start).into_iter().unzip();
        self.hosts = addresses.into_iter().zip(['b', 'c', 'd']).collect();
        programs
    }

    /// `--to` or `--from`.
    fn list(&self) -> String {
        self.hosts.iter().map(|(address, _)| address.as_str()).collect::<Vec<_>>().join(",")
    }

    /// A command as a person types it on a host, and what it printed there.
    fn show(&mut self, host: char, command: &str, said: &str) {
        let mut said = said.replace("folder a", "folder incoming").replace("folder incoming (", "folder models (");
        for (address, name) in &self.hosts {
            said = said.replace(&format!("listening on {address}"), "listening on 0.0.0.0:7217");
            // The columns of tables are as wide as their cells.
            said = said.replace(&format!("{address}  "), &format!("{name:8}  ")).replace(address, &name.to_string());
        }
        said = said.replace(&format!("receiver{}outcome", " ".repeat(9)), "receiver  outcome");
        let first = if self.shown.is_empty() { "" } else { "\n" };
        self.shown = format!("{}{first}{host}$ {command}\n{}\n", self.shown, said.trim_end());
    }
}

/// Nothing where the loopback carries no multicast.
fn sending() -> Option<String> {
    let mut scene = Scene::new(SIZE);
    if !multicast_loops(scene.place.path()) {
        return None;
    }
    // A port of this process alone: what other tests send to the group does not come.
    let port = 20_000 + std::process::id() % 20_000;
    let group = format!("--group 239.1.2.3:{port} --interface 127.0.0.1");
    let receivers = scene.listen(&format!("receive --dir incoming --key scdp.key --once {group}"), "incoming");
    let send = format!("send model.bin --to {} --key scdp.key {group}", scene.list());
    let sent = run(scene.place.path(), &send);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let received = receivers.into_iter().map(Program::end).next().expect("three").text;
    let received = on_terminal(&received).replace(&format!("239.1.2.3:{port}"), "239.1.2.3:7218");
    scene.show('b', "scdp receive --dir incoming --key scdp.key --group 239.1.2.3", &received);
    scene.show('a', "scdp send model.bin --to b,c,d --key scdp.key --group 239.1.2.3", &sent.text);
    Some(scene.shown)
}

fn serving(scene: &mut Scene, options: &str) -> Vec<Program> {
    for folder in ["a", "b", "c"] {
        fs::copy(scene.place.file("model.bin"), scene.place.file(folder).join("model.bin")).expect("copied");
    }
    scene.listen(&format!("serve models --key scdp.key {options}"), "models")
}

fn fetching() -> String {
    let mut scene = Scene::new(SIZE);
    let mut servers = serving(&mut scene, "");
    let fetch = format!("fetch model.bin --from {} --key scdp.key -o fetched", scene.list());
    let fetched = run(scene.place.path(), &fetch);
    assert_eq!(fetched.code, Some(0), "{fetched:?}");
    servers[0].wait_for(" has it");
    // Who fetches has an address that nobody knows before.
    let said = servers[0].said().join("\n");
    let peer = said.split("127.0.0.1:").last().expect("an address");
    let peer = format!("127.0.0.1:{}", &peer[..peer.find(' ').expect("more words")]);
    let said = said.replace(&peer, "10.0.0.5:40312");
    scene.show('b', "scdp serve models --key scdp.key", &said);
    let printed = fetched.text.replace("fetched: ", "model.bin: ");
    scene.show('e', "scdp fetch model.bin --from b,c,d --key scdp.key", &printed);
    scene.shown
}

fn dying() -> String {
    let mut scene = Scene::new(SIZE / 8);
    let mut receivers = scene.listen("receive --dir incoming --key scdp.key --once --json", "incoming");
    let send = "send model.bin --key scdp.key --timeout 2s --rate 30Mbps --to";
    let sender = Program::start(scene.place.path(), &format!("{send} {}", scene.list()));
    receivers[2].wait_for_progress();
    receivers.pop().expect("host d").kill();
    let sent = sender.end();
    assert_eq!(sent.code, Some(1), "{sent:?}");
    // On a busy machine the others may be late, too: a process that does not run for long looks like a slow one.
    let killed = format!("{} goes on alone", scene.hosts[2].0);
    let of_others = |line: &&str| !line.contains(" goes on alone") || line.contains(&killed);
    let told: Vec<&str> = sent.text.lines().filter(of_others).collect();
    let said = format!("{}\n1", on_terminal(&told.join("\n")));
    scene.show('a', "scdp send model.bin --to b,c,d --key scdp.key --timeout 2s --rate 30Mbps; echo $?", &said);
    scene.shown
}

fn wrong_key() -> String {
    let mut scene = Scene::new(1000);
    let receivers = scene.listen("receive --dir incoming --key scdp.key", "incoming");
    assert_eq!(run(scene.place.path(), "key other.key").code, Some(0));
    let (to, _) = &scene.hosts[0];
    let sent = run(scene.place.path(), &format!("send model.bin --to {to} --key other.key --timeout 1s"));
    assert_eq!(sent.code, Some(1), "{sent:?}");
    scene.show('a', "scdp send model.bin --to b --key other.key --timeout 1s", &on_terminal(&sent.text));
    drop(receivers);
    scene.shown
}

fn unsigned() -> String {
    let mut scene = Scene::new(1000);
    assert_eq!(run(scene.place.path(), "key --sign sign.key").code, Some(0));
    let receivers = scene.listen("receive --dir incoming --key scdp.key --signed-by sign.key.pub", "incoming");
    let (to, _) = &scene.hosts[0];
    let send = format!("send model.bin --to {to} --key scdp.key");
    let (signed, sent) = (run(scene.place.path(), &format!("{send} --sign sign.key")), run(scene.place.path(), &send));
    assert_eq!((signed.code, sent.code), (Some(0), Some(1)), "{signed:?} {sent:?}");
    scene.show('a', "scdp send model.bin --to b --key scdp.key --sign sign.key", &signed.text);
    scene.show('c', "scdp send model.bin --to b --key scdp.key", &on_terminal(&sent.text));
    drop(receivers);
    scene.shown
}

/// What was said on both its streams, in the order in which a terminal shows it: what happens, results, the error.
fn on_terminal(said: &str) -> String {
    let place = |line: &&str| match line {
        line if line.starts_with("error:") || line.starts_with("hint:") => 2,
        line if line.starts_with("listening") || line.contains(" refuses it: ") => 0,
        line if line.ends_with(": no answer") && !line.contains("  ") => 0,
        _ => 1,
    };
    let mut lines: Vec<&str> = said.lines().collect();
    // Stable: each stream stays in its order.
    lines.sort_by_key(place);
    lines.join("\n")
}

/// A text without what another run would print otherwise: numbers, and the units that go with them.
pub(crate) fn masked(text: &str) -> String {
    let word = |word: &str| {
        let unit = ["bytes", "KiB", "MiB", "GiB", "bit/s"]
            .iter()
            .any(|unit| word.trim_end_matches([',', ';']).ends_with(unit));
        if unit || word.contains(|c: char| c.is_ascii_digit()) { "#".to_owned() } else { word.to_owned() }
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn documents_show_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scenes = [
        ("sending", sending()),
        ("fetching", Some(fetching())),
        ("dying", Some(dying())),
        ("wrong key", Some(wrong_key())),
        ("unsigned", Some(unsigned())),
    ];
    let mut seen = 0;
    for page in ["docs/tutorial/replicate-a-file.md", "README.md"] {
        let text = fs::read_to_string(root.join(page)).expect("the page is there");
        let (mut renewed, mut rest) = (String::new(), text.as_str());
        while let Some((before, after)) = rest.split_once(MARK) {
            let (name, after) = after.split_once(" -->\n\n```text\n").expect("a mark, and a block of text");
            let (old, after) = after.split_once("```\n").expect("a block ends");
            let made = &scenes.iter().find(|scene| scene.0 == name).unwrap_or_else(|| panic!("no scene {name}")).1;
            let made = made.as_deref().unwrap_or(old);
            if std::env::var_os("UPDATE").is_none() {
                let (old, made) = (masked(old), masked(made));
                assert!(
                    old == made,
                    "{page}: UPDATE=1 cargo test -p scdp-cli documents\nis:\n{old}\nshould be:\n{made}"
                );
            }
            renewed = format!("{renewed}{before}{MARK}{name} -->\n\n```text\n{made}```\n");
            rest = after;
            seen += 1;
        }
        if std::env::var_os("UPDATE").is_some() {
            fs::write(root.join(page), renewed + rest).expect("the repository can be written");
        }
    }
    assert_eq!(seen, 6, "blocks in all pages");
}

#[test]
fn masks_hide_numbers_and_nothing_else() {
    assert_eq!(masked("m: 1.00 MiB in 0.2 s, 866 Mbit/s; 3 of"), "m: # # in # s, # # # of");
    assert_ne!(masked("b: no answer"), masked("c: no answer"));
}
