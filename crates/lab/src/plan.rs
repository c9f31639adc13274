//! A lab file, checked, as the runs that it stands for.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anabranch_transport::Rate;
use serde::Deserialize;

use crate::discipline::Chain;
use crate::error::{FileError, LabError};
use crate::file::{HostConfig, Hosts, LabFile, Setting, Words};
use crate::source::Source;
use crate::{suggest, sweep, template};

/// Hosts of a lab, at most.
const MOST_HOSTS: usize = 64;
/// Names of interfaces (Linux's IFNAMSIZ, less the final zero): the switch's ports are named after the hosts.
const LONGEST_NAME: usize = 15;
/// Names that mean something else.
const RESERVED: [&str; 9] = ["address", "dir", "host", "lab", "seed", "lo", "switch", "files", "output"];

/// The name of where the switch is, among those of hosts.
pub(crate) const SWITCH: &str = "switch";

/// Names that no interface can have: the kernel keeps settings of all interfaces under them (`ip-sysctl`, `conf/all`, `conf/default`).
const NO_INTERFACE: [&str; 2] = ["all", "default"];

/// What a lab file asks for: runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The lab's name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What varies, as headings of a table.
    pub columns: Vec<String>,
    /// One for each combination and repetition, in order.
    pub runs: Vec<Run>,
}

/// One combination of the sweep, with one seed.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its number, from 1.
    pub number: usize,
    /// Which combination, from 0.
    pub point: usize,
    /// The cells below the plan's columns.
    pub values: Vec<String>,
    /// The seed of its files, and of its switch.
    pub seed: u64,
    pub(crate) lab: Arc<Lab>,
}

/// A lab with all its values.
#[derive(Clone, Debug)]
pub(crate) struct Lab {
    pub(crate) file: LabFile,
    pub(crate) hosts: Vec<LabHost>,
    pub(crate) switch: Switch,
    /// The folder of the lab file.
    pub(crate) folder: PathBuf,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabHost {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    /// What its link carries in each direction.
    pub(crate) rate: Option<Rate>,
    /// Disciplines of the bridge's end of the link, and of the host's.
    pub(crate) down: Option<Chain>,
    pub(crate) up: Option<Chain>,
}

/// Which switch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Switch {
    Bridge {
        /// Whether packets may be several segments (TSO, GSO).
        offload: bool,
    },
    /// The file of `scdp switch`.
    Scdp(toml::Table),
}

impl Plan {
    /// Reads a lab file.
    ///
    /// # Errors
    /// [`LabError::Path`] if it cannot be read, [`LabError::File`] if something in it is wrong: the first such thing.
    pub fn load(path: &Path) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(path).map_err(LabError::path(path))?;
        let whole = std::path::absolute(path).map_err(LabError::path(path))?;
        // With a slash at its end.
        let folder = whole.parent().unwrap_or(Path::new("/")).join("");
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self::parse(&path.display().to_string(), &text, &stem, &folder)?)
    }

    /// Reads the text of a lab file that is called `file` in errors. `name` is the lab's unless the text has one; `folder` is `{lab}`.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(file: &str, text: &str, name: &str, folder: &Path) -> Result<Self, FileError> {
        let source = Source { name: file.to_owned(), text: text.to_owned() };
        let written: LabFile = source.decode()?;
        let tree: toml::Table = source.decode()?;
        if written.repeat == 0 || written.repeat > 1000 {
            return Err(source.error(&["repeat"], "expected 1 to 1000"));
        }
        let (columns, points) = sweep::points(&source, &written.sweep)?;
        let mut runs = Vec::new();
        for (index, point) in points.into_iter().enumerate() {
            let lab = Arc::new(resolve(&source, &tree, &point, folder)?);
            for repetition in 0..written.repeat {
                runs.push(Run {
                    number: runs.len() + 1,
                    point: index,
                    values: point.shown.clone(),
                    seed: written.seed.wrapping_add(u64::from(repetition)),
                    lab: Arc::clone(&lab),
                });
            }
        }
        let name = if written.name.is_empty() { name.to_owned() } else { written.name };
        Ok(Self { name, description: written.description, columns, runs })
    }

    /// The names of the hosts, in order.
    pub fn hosts(&self) -> Vec<String> {
        let first = self.runs.first().into_iter();
        first.flat_map(|run| run.lab.hosts.iter().map(|host| host.name.clone())).collect()
    }
}

/// The lab at one point of the sweep, checked.
fn resolve(source: &Source, tree: &toml::Table, point: &sweep::Point, folder: &Path) -> Result<Lab, FileError> {
    let mut tree = tree.clone();
    for (_, path, value) in &point.sets {
        sweep::set(&mut tree, path, value.clone());
    }
    // A value that one entry of the sweep set is told by its place in there.
    let blame = |path: &str| {
        let swept = point.sets.iter().find(|(_, set, _)| path.starts_with(&set.join(".")));
        swept.map(|(key, _, _)| key.clone())
    };
    let file: LabFile = serde_path_to_error::deserialize(toml::Value::Table(tree)).map_err(|error| {
        let (path, (message, hint)) = (error.path().to_string(), suggest::explained(error.inner().message()));
        let key = blame(&path);
        let at: Vec<&str> = key.as_deref().map_or_else(|| path.split('.').collect(), |key| vec!["sweep", key]);
        source.error(&at, format!("{path}: {message}")).hint(hint)
    })?;
    let at = |path: &[&str]| -> Vec<String> {
        blame(&path.join("."))
            .map_or_else(|| path.iter().map(|part| (*part).to_owned()).collect(), |key| vec!["sweep".to_owned(), key])
    };
    let bad = |path: &[&str], message: String| {
        let path = at(path);
        source.error(&path.iter().map(String::as_str).collect::<Vec<_>>(), message)
    };
    if !(576..=9000).contains(&file.mtu) {
        return Err(bad(&["mtu"], "expected 576 to 9000".to_owned()));
    }
    let kind = match file.switch.get("kind") {
        None => "scdp",
        Some(toml::Value::String(kind)) if kind == "scdp" || kind == "bridge" => kind.as_str(),
        Some(_) => return Err(bad(&["switch", "kind"], "expected \"scdp\" or \"bridge\"".to_owned())),
    };
    let hosts = hosts(source, &file, kind == "bridge", &bad)?;
    let switch = if kind == "bridge" {
        Switch::Bridge { offload: offload(&file.switch, &bad)? }
    } else {
        Switch::Scdp(switch_file(&file, &bad)?)
    };
    let lab = Lab { file, hosts, switch, folder: folder.to_owned() };
    check_settings(&lab, &bad)?;
    check_names(&lab, &bad)?;
    check_commands(&lab, &bad)?;
    Ok(lab)
}

type Bad<'b> = dyn Fn(&[&str], String) -> FileError + 'b;

fn hosts(source: &Source, file: &LabFile, bridge: bool, bad: &Bad<'_>) -> Result<Vec<LabHost>, FileError> {
    if !(2..=MOST_HOSTS).contains(&file.hosts.len()) {
        return Err(bad(&["hosts"], format!("expected 2 to {MOST_HOSTS} hosts, found {}", file.hosts.len()))
            .hint(file.hosts.is_empty().then(|| "[hosts.a] is a host with all its defaults".to_owned())));
    }
    if bridge {
        only_of_bridge(&file.switch, &["switch"], &BRIDGE_KEYS, bad)?;
    }
    let chains = |table: &toml::Table, path: &[&str]| -> Result<_, FileError> {
        Ok(if bridge { [chain(table, path, "down", bad)?, chain(table, path, "up", bad)?] } else { [None, None] })
    };
    let [default_down, default_up] = chains(&file.switch, &["switch"])?;
    let default = rate(&file.switch, &["switch"], bad)?;
    let given: BTreeSet<Ipv4Addr> = file.hosts.values().filter_map(|host| host.address).collect();
    let mut free = (1..=254).map(|last| Ipv4Addr::new(10, 0, 0, last)).filter(|address| !given.contains(address));
    let mut used = BTreeSet::new();
    let mut hosts = Vec::new();
    for name in source.keys("hosts") {
        let Some(HostConfig { address, link }) = file.hosts.get(&name) else { continue };
        let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !plain || name.len() > LONGEST_NAME || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
            return Err(bad(
                &["hosts", &name],
                format!(
                    "a host's name is a small letter and then at most {} small letters, digits and hyphens",
                    LONGEST_NAME - 1
                ),
            ));
        }
        if NO_INTERFACE.contains(&name.as_str()) {
            let message = format!("{name:?} is not a name of an interface, which the switch has for each host");
            return Err(bad(&["hosts", &name], message).hint(Some(format!("another name does: [hosts.{name}1]"))));
        }
        if address.is_some_and(|address| address.octets()[..3] != [10, 0, 0] || matches!(address.octets()[3], 0 | 255))
        {
            return Err(bad(&["hosts", &name, "address"], "expected 10.0.0.1 to 10.0.0.254".to_owned()));
        }
        // Each default is taken by one of at most 64 hosts: the addresses last.
        let address = address.or_else(|| free.next()).unwrap_or(Ipv4Addr::UNSPECIFIED);
        if !used.insert(address) {
            return Err(bad(&["hosts", &name, "address"], format!("another host has {address}")));
        }
        let path = ["hosts", &name, "link"];
        if bridge {
            only_of_bridge(link, &path, &LINK_KEYS, bad)?;
        }
        let [down, up] = chains(link, &path)?;
        let (down, up) = (down.or_else(|| default_down.clone()), up.or_else(|| default_up.clone()));
        // The switch that has its own idea of what comes from a host needs no help.
        let uplink = link.contains_key("uplink") || file.switch.contains_key("uplink");
        let rate = rate(link, &path, bad)?.or(default).filter(|_| !uplink);
        if rate.is_some() && (down.is_some() || up.is_some()) {
            let hint = "an \"htb\" or \"tbf\" in \"down\" and \"up\" limits a link".to_owned();
            let key: &[&str] =
                if link.contains_key("rate") { &["hosts", &name, "link", "rate"] } else { &["switch", "rate"] };
            return Err(bad(key, "expected either \"rate\" or \"down\" and \"up\"".to_owned()).hint(Some(hint)));
        }
        hosts.push(LabHost { name, address, rate, down, up });
    }
    Ok(hosts)
}

/// What the kernel's bridge knows, and what each of its links.
const BRIDGE_KEYS: [&str; 5] = ["kind", "rate", "down", "up", "offload"];
const LINK_KEYS: [&str; 3] = ["rate", "down", "up"];

fn only_of_bridge(table: &toml::Table, path: &[&str], known: &[&str], bad: &Bad<'_>) -> Result<(), FileError> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let key_path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
            let hint = suggest::nearest(key, known.iter().copied())
                .unwrap_or_else(|| "kind = \"scdp\" is a switch that knows more than rates".to_owned());
            Err(bad(&key_path, format!("the bridge of the kernel knows no {key:?}")).hint(Some(hint)))
        }
    }
}

/// Whether the kernel may send several segments as one packet.
fn offload(table: &toml::Table, bad: &Bad<'_>) -> Result<bool, FileError> {
    match table.get("offload") {
        None => Ok(false),
        Some(toml::Value::Boolean(offload)) => Ok(*offload),
        Some(_) => Err(bad(&["switch", "offload"], "expected true or false".to_owned())),
    }
}

/// The disciplines of one end of a link.
fn chain(table: &toml::Table, path: &[&str], key: &str, bad: &Bad<'_>) -> Result<Option<Chain>, FileError> {
    let path: Vec<&str> = path.iter().copied().chain([key]).collect();
    let Some(value) = table.get(key) else { return Ok(None) };
    let list = Vec::<String>::deserialize(value.clone()).map_err(|_| {
        let hint = format!("{key} = [\"htb rate 100mbit burst 15k\", \"bfifo limit 30kB\"]");
        bad(&path, "expected a list of disciplines in the words of tc".to_owned()).hint(Some(hint))
    })?;
    Chain::new(&list).map(Some).map_err(|why| bad(&path, why))
}

/// Settings are of the network, each namespace's own: others would be changed for the whole machine.
fn check_settings(lab: &Lab, bad: &Bad<'_>) -> Result<(), FileError> {
    for (name, value) in &lab.file.sysctl {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if !name.starts_with("net.ipv4.") || !name.bytes().all(plain) || name.contains("..") {
            let hint = "others would be changed for the whole machine".to_owned();
            return Err(bad(&["sysctl", name], "expected a setting below net.ipv4".to_owned()).hint(Some(hint)));
        }
        if matches!(value, Setting::Text(text) if text.contains('\n')) {
            return Err(bad(&["sysctl", name], "expected one line".to_owned()));
        }
    }
    Ok(())
}

/// The rate of a link, which the lab gives the host's end, too.
fn rate(table: &toml::Table, path: &[&str], bad: &Bad<'_>) -> Result<Option<Rate>, FileError> {
    let path: Vec<&str> = path.iter().copied().chain(["rate"]).collect();
    match table.get("rate") {
        None => Ok(None),
        Some(value) => match Rate::deserialize(value.clone()) {
            Ok(rate) if rate.bps() >= 8000 => Ok(Some(rate)),
            Ok(_) => Err(bad(&path, "expected at least 8kbps".to_owned())),
            Err(error) => Err(bad(&path, suggest::explained(error.message()).0)),
        },
    }
}

/// What `scdp switch` reads: the switch's table without what is the lab's, and a table for each link with keys of its own.
fn switch_file(file: &LabFile, bad: &Bad<'_>) -> Result<toml::Table, FileError> {
    let mut made = file.switch.clone();
    made.remove("kind");
    for (name, host) in file.hosts.iter().filter(|(_, host)| !host.link.is_empty()) {
        let ports = made.entry("port").or_insert_with(|| toml::Table::new().into());
        let Some(ports) = ports.as_table_mut() else {
            return Err(bad(&["switch", "port"], "expected tables of ports".to_owned()));
        };
        if ports.insert(name.clone(), host.link.clone().into()).is_some() {
            return Err(bad(
                &["hosts", name, "link"],
                format!("\"switch.port.{name}\" says the same: write one of them"),
            ));
        }
    }
    Ok(made)
}

/// Every placeholder means one thing.
fn check_names(lab: &Lab, bad: &Bad<'_>) -> Result<(), FileError> {
    let mut taken: BTreeMap<&str, &str> = RESERVED.iter().map(|name| (*name, "a name of the lab itself")).collect();
    let named = lab.file.hosts.keys().map(|name| ("hosts", "a host", name));
    let named = named.chain(lab.file.files.keys().map(|name| ("files", "a file", name)));
    for (table, what, name) in named.chain(lab.file.variables.keys().map(|name| ("variables", "a variable", name))) {
        if let Some(other) = taken.insert(name, what) {
            return Err(bad(&[table, name], format!("{name:?} is {other} already")));
        }
        if name.contains(['{', '}', '/', '.']) || name.is_empty() {
            return Err(bad(&[table, name], "a name has no braces, slashes and dots".to_owned()));
        }
    }
    Ok(())
}

/// Expands everything once, so that a slip in the last step is not found after an hour.
fn check_commands(lab: &Lab, bad: &Bad<'_>) -> Result<(), FileError> {
    let scope = Scope { lab, seed: 0, folder: Path::new("/") };
    let names = || Some(format!("names are {}", scope.names().join(", ")));
    for (name, file) in &lab.file.files {
        match (&file.size, &file.command) {
            (Some(size), None) if size.0 > 1 << 40 => {
                return Err(bad(&["files", name, "size"], "expected at most 1 TiB".to_owned()));
            }
            (Some(_), None) => {}
            (None, Some(command)) => {
                scope.words(command, None).map_err(|why| bad(&["files", name, "command"], why).hint(names()))?;
            }
            _ => return Err(bad(&["files", name], "expected either \"size\" or \"command\"".to_owned())),
        }
    }
    let commands =
        lab.file.program.iter().enumerate().map(|(index, program)| ("program", index, &program.on, &program.command));
    let steps = lab.file.step.iter().enumerate().map(|(index, step)| ("step", index, &step.on, &step.command));
    for (table, index, on, command) in commands.chain(steps) {
        let index = index.to_string();
        check_hosts(lab, on).map_err(|(message, hint)| bad(&[table, &index, "on"], message).hint(hint))?;
        for host in on.names() {
            scope.words(command, Some(host)).map_err(|why| bad(&[table, &index, "command"], why).hint(names()))?;
        }
    }
    for (index, check) in lab.file.check.iter().enumerate() {
        let index = index.to_string();
        if check.same.len() < 2 {
            return Err(bad(&["check", &index, "same"], "expected at least two files".to_owned()));
        }
        for text in &check.same {
            scope.text(text).map_err(|why| bad(&["check", &index, "same"], why).hint(names()))?;
        }
    }
    Ok(())
}

fn check_hosts(lab: &Lab, on: &Hosts) -> Result<(), (String, Option<String>)> {
    let hosts = || lab.hosts.iter().map(|host| host.name.as_str());
    let known = || hosts().chain([SWITCH]);
    if on.names().is_empty() {
        return Err(("expected at least one host".to_owned(), None));
    }
    let mut once = BTreeSet::new();
    if let Some(name) = on.names().iter().find(|name| !once.insert(*name)) {
        let hint = "a table of its own runs it there again".to_owned();
        return Err((format!("{name:?} is in the list twice"), Some(hint)));
    }
    match on.names().iter().find(|name| !known().any(|known| known == *name)) {
        None => Ok(()),
        Some(name) => {
            let hint = suggest::nearest(name, known());
            Err((format!("there is no host {name:?}; hosts are {}", hosts().collect::<Vec<_>>().join(", ")), hint))
        }
    }
}

/// What placeholders mean in one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'l> {
    pub(crate) lab: &'l Lab,
    pub(crate) seed: u64,
    /// The run's folder.
    pub(crate) folder: &'l Path,
}

impl Scope<'_> {
    /// The folder of a host.
    pub(crate) fn dir(&self, host: &str) -> PathBuf {
        self.folder.join(host)
    }

    /// The folder of a file of the lab, where it is alone.
    pub(crate) fn file_dir(&self, name: &str) -> PathBuf {
        self.folder.join("files").join(name)
    }

    /// Where a file of the lab is.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.file_dir(name).join(name)
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.lab.file.variables.get(name).cloned()
    }

    fn value(&self, name: &str, on: Option<&str>) -> Option<String> {
        let host = |name: &str| self.lab.hosts.iter().find(|host| host.name == name);
        let shown = |path: PathBuf| path.display().to_string();
        match name {
            "seed" => return Some(self.seed.to_string()),
            "lab" => return Some(shown(self.lab.folder.clone())),
            "host" => return on.map(str::to_owned),
            "address" => return Some(host(on?)?.address.to_string()),
            "dir" => return on.map(|on| shown(self.dir(on))),
            _ => {}
        }
        if let Some(host) = host(name) {
            return Some(host.address.to_string());
        }
        let is_file = |name: &str| self.lab.file.files.contains_key(name);
        match name.strip_suffix(".dir") {
            Some(name) if host(name).is_some() => Some(shown(self.dir(name))),
            Some(name) if is_file(name) => Some(shown(self.file_dir(name))),
            _ => is_file(name).then(|| shown(self.file(name))),
        }
    }

    /// The words of a command on a host, or of none.
    pub(crate) fn words(&self, command: &Words, on: Option<&str>) -> Result<Vec<String>, String> {
        template::words(command, &|name| self.variable(name), &|name| self.value(name, on))
    }

    /// A text of no host.
    pub(crate) fn text(&self, text: &str) -> Result<String, String> {
        template::expand(text, &|name| self.variable(name).or_else(|| self.value(name, None)))
    }

    fn names(&self) -> Vec<String> {
        let fixed = ["address", "dir", "host", "lab", "seed"].map(str::to_owned).into_iter();
        let hosts = self.lab.hosts.iter().flat_map(|host| [host.name.clone(), format!("{}.dir", host.name)]);
        let files = self.lab.file.files.keys().flat_map(|name| [name.clone(), format!("{name}.dir")]);
        let others = files.chain(self.lab.file.variables.keys().cloned());
        fixed.chain(hosts).chain(others).map(|name| format!("{{{name}}}")).collect()
    }
}

#[cfg(test)]
mod tests;
