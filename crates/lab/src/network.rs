//! Namespaces, cables and the switch of one run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anabranch_transport::Rate;
use serde_json::Value;

use crate::clock::Watch;
use crate::discipline::Chain;
use crate::error::LabError;
use crate::file::Setting;
use crate::names::Namespace;
use crate::plan::{Lab, LabHost, SWITCH, Switch};
use crate::process::{Process, Stop, Waited};
use crate::tools;

/// What the interface of a host is called.
const INTERFACE: &str = "eth0";
/// What the bridge is called; no host's name has a dot.
const BRIDGE: &str = "bridge.0";
/// For how long a switch may start, and links come up.
const START: Duration = Duration::from_secs(10);
/// How long the queue of a host's interface may get, as in `benches/net`.
const QUEUE: &str = "20ms";

/// How processes get into a namespace.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// This program, which `scdp` in commands means.
    pub(crate) program: PathBuf,
    /// Whether `setpriv` tells processes to die with this one.
    pub(crate) pdeathsig: bool,
}

impl Entry {
    /// A command in a namespace.
    pub(crate) fn command(&self, namespace: &str, words: &[String]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]);
        if self.pdeathsig {
            command.args(["setpriv", "--pdeathsig", "KILL"]);
        }
        command.args(self.resolved(words));
        command
    }

    /// The words with the program's path for `scdp`.
    pub(crate) fn resolved(&self, words: &[String]) -> Vec<String> {
        let mut words = words.to_vec();
        if let Some(first) = words.first_mut().filter(|first| *first == "scdp") {
            *first = self.program.display().to_string();
        }
        words
    }
}

/// A network that stands. Dropping it takes it down.
#[derive(Debug)]
pub(crate) struct Network {
    /// None for the kernel's bridge. Before the namespaces, so that it ends first.
    process: Option<Process>,
    hosts: Vec<(LabHost, Namespace)>,
    /// Its cables go with it.
    switch: Namespace,
}

impl Network {
    /// Makes it.
    pub(crate) fn build(lab: &Lab, seed: u64, entry: &Entry, folder: &Path, stop: Stop<'_>) -> Result<Self, LabError> {
        let switch = Namespace::new("switch")?;
        let mut hosts = Vec::new();
        for host in &lab.hosts {
            let namespace = Namespace::new(&host.name)?;
            let cable = [
                "link",
                "add",
                "name",
                INTERFACE,
                "netns",
                &namespace.name,
                "type",
                "veth",
                "peer",
                "name",
                &host.name,
            ];
            tools::run("ip", &[&cable[..], &["netns", &switch.name]].concat(), "")?;
            hosts.push((host.clone(), namespace));
        }
        tools::run("ip", &["-n", &switch.name, "-batch", "-"], &switch_batch(lab))?;
        for (index, (host, namespace)) in hosts.iter().enumerate() {
            tools::run("ip", &["-n", &namespace.name, "-batch", "-"], &host_batch(lab, index))?;
            if let Some(rate) = host.rate {
                shape(&namespace.name, INTERFACE, rate)?;
                if matches!(lab.switch, Switch::Bridge { .. }) {
                    shape(&switch.name, &host.name, rate)?;
                }
            }
            queue(&switch.name, &host.name, host.down.as_ref())?;
            queue(&namespace.name, INTERFACE, host.up.as_ref())?;
            for (name, value) in &lab.file.sysctl {
                set(&namespace.name, name, value)?;
            }
        }
        let process = match &lab.switch {
            Switch::Bridge { .. } => None,
            Switch::Scdp(table) => Some(start_switch(lab, table, seed, entry, &switch.name, folder, stop)?),
        };
        let network = Self { process, hosts, switch };
        network.wait_for_links(stop)?;
        Ok(network)
    }

    /// The kernel makes interfaces ready a moment after it was told to; until then they drop packets.
    fn wait_for_links(&self, stop: Stop<'_>) -> Result<(), LabError> {
        let watch = Watch::start();
        for (host, namespace) in &self.hosts {
            while interface(&namespace.name)?["operstate"] != "UP" {
                if stop() {
                    return Err(LabError::Stopped);
                }
                if watch.elapsed() > START {
                    let what = format!("the link of {} does not come up in {} s", host.name, START.as_secs());
                    return Err(LabError::Switch { what, hint: None });
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// The namespace of a host, or of the switch.
    pub(crate) fn namespace(&self, host: &str) -> &str {
        if host == SWITCH {
            return &self.switch.name;
        }
        let found = self.hosts.iter().find(|(known, _)| known.name == host);
        &found.expect("the plan has checked the names").1.name
    }

    /// Bytes that each host has sent, headers of Ethernet included. Each packet of the wire counts for itself, as none is larger.
    pub(crate) fn sent_bytes(&self) -> Result<Vec<u64>, LabError> {
        let sent =
            |namespace: &Namespace| Ok(interface(&namespace.name)?["stats64"]["tx"]["bytes"].as_u64().unwrap_or(0));
        self.hosts.iter().map(|(_, namespace)| sent(namespace)).collect()
    }

    /// Fails if the switch is gone.
    pub(crate) fn check_switch(&mut self) -> Result<(), LabError> {
        match self.process.as_mut().and_then(|process| Some((process.ended()?, process.tail()))) {
            None => Ok(()),
            Some((ended, tail)) => Err(switch_error(&format!("the switch {}", ended.how()), &tail)),
        }
    }

    /// Ends the switch, and returns what it counted: in its own words, by the hosts that its ports lead to.
    pub(crate) fn end_switch(&mut self) -> Option<Value> {
        let process = self.process.as_mut()?;
        process.end();
        let lines = process.json().into_iter();
        let counters = lines.filter_map(|mut line| Some((line["port"].as_str()?.to_owned(), line["counters"].take())));
        Some(Value::Object(counters.collect()))
    }
}

/// The interface of a host with its counters.
fn interface(namespace: &str) -> Result<Value, LabError> {
    let text = tools::run("ip", &["-n", namespace, "-s", "-j", "link", "show", "dev", INTERFACE], "")?;
    let found: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(found[0].clone())
}

/// Commands of `ip` for the switch's end of all cables.
fn switch_batch(lab: &Lab) -> String {
    let mut batch = vec!["link set dev lo up".to_owned()];
    let mut master = String::new();
    if matches!(lab.switch, Switch::Bridge { .. }) {
        // It knows who has joined a group, by its own queries (RFC 2236 §3), which are answered within 0.1 s: the default of 10 s is
        // how long it would send groups to everybody first. Times are in 10 ms.
        let querier = "mcast_snooping 1 mcast_querier 1 mcast_query_response_interval 10";
        batch.push(format!("link add name {BRIDGE} type bridge {querier}"));
        batch.push(format!("link set dev {BRIDGE} {}mtu {} up", no_addresses(), lab.file.mtu));
        master = format!(" master {BRIDGE}");
    }
    batch.extend(lab.hosts.iter().map(|host| format!("link set dev {} {}{master} up", host.name, ethernet(lab))));
    batch.join("\n") + "\n"
}

/// What all ends of cables have: no addresses of IPv6, which would talk of themselves; and one packet for each that the wire carries,
/// not several put into one by the kernel, which a switch in user space would get as a packet of 64 KiB.
fn ethernet(lab: &Lab) -> String {
    let segments = if lab.switch == (Switch::Bridge { offload: true }) { "" } else { " gso_max_segs 1" };
    format!("{}mtu {}{segments}", no_addresses(), lab.file.mtu)
}

/// No addresses of IPv6; a kernel without it refuses to be told so.
fn no_addresses() -> &'static str {
    if Path::new("/proc/sys/net/ipv6").exists() { "addrgenmode none " } else { "" }
}

/// Commands of `ip` for a host.
fn host_batch(lab: &Lab, index: usize) -> String {
    // Locally administered (IEEE 802, second bit of the first byte), and the same in each run.
    let mac = |index: usize| format!("02:00:00:00:00:{:02x}", index + 1);
    let mut batch = vec![
        format!("link set dev {INTERFACE} address {} {}", mac(index), ethernet(lab)),
        "link set dev lo up".to_owned(),
        format!("addr add {}/24 broadcast + dev {INTERFACE}", lab.hosts[index].address),
        format!("link set dev {INTERFACE} up"),
        format!("route add 224.0.0.0/4 dev {INTERFACE}"),
    ];
    // A lost ARP request costs a second, which is no property of the transport that is measured.
    for (other, peer) in lab.hosts.iter().enumerate().filter(|(other, _)| *other != index) {
        batch.push(format!("neigh add {} lladdr {} dev {INTERFACE} nud permanent", peer.address, mac(other)));
    }
    batch.join("\n") + "\n"
}

/// Limits what leaves an interface.
fn shape(namespace: &str, device: &str, rate: Rate) -> Result<(), LabError> {
    // What leaves in half a millisecond, so that a timer that is late does not cost rate; two packets of 9000 bytes at least.
    let burst = (rate.bps() / 8 / 2000).max(18_100).to_string();
    let rate = format!("{}bit", rate.bps());
    let discipline = ["root", "tbf", "rate", &rate, "burst", &burst, "latency", QUEUE];
    tools::run("tc", &[&["-n", namespace, "qdisc", "add", "dev", device][..], &discipline].concat(), "").map(drop)
}

/// Gives an interface its disciplines.
fn queue(namespace: &str, device: &str, chain: Option<&Chain>) -> Result<(), LabError> {
    let Some(chain) = chain else { return Ok(()) };
    match tools::run("tc", &["-n", namespace, "-batch", "-"], &chain.batch(device)) {
        Err(LabError::Command { command, said }) if UNKNOWN.iter().any(|unknown| said.contains(unknown)) => {
            let kinds = chain.kinds().collect::<Vec<_>>().join(", ");
            let hint = format!(
                "this kernel may lack a module of {kinds}: tools/linux-vm runs a lab with a kernel that has them"
            );
            Err(LabError::Switch { what: format!("`{command}` failed: {said}"), hint: Some(hint) })
        }
        result => result.map(drop),
    }
}

/// What tc says of a discipline that the kernel does not have.
const UNKNOWN: [&str; 2] = ["qdisc kind is unknown", "No such file or directory"];

/// Sets a setting of the kernel in a namespace.
fn set(namespace: &str, name: &str, value: &Setting) -> Result<(), LabError> {
    let value = match value {
        Setting::Number(number) => number.to_string(),
        Setting::Text(text) => text.clone(),
    };
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    let script = "printf %s \"$1\" > \"$0\"";
    tools::run("ip", &["netns", "exec", namespace, "sh", "-c", script, &path, &value], "").map(drop)
}

fn start_switch(
    lab: &Lab,
    table: &toml::Table,
    seed: u64,
    entry: &Entry,
    namespace: &str,
    folder: &Path,
    stop: Stop<'_>,
) -> Result<Process, LabError> {
    let path = folder.join("switch.toml");
    write_switch(&path, table, seed)?;
    let words = switch_words(&path, lab, &["--json"]);
    let log = folder.join("switch.log");
    let mut process = Process::start("the switch".to_owned(), &mut entry.command(namespace, &words), &log)
        .map_err(LabError::path(&log))?;
    match process.wait_for("\"listening\"", START, stop) {
        Ok(_) => Ok(process),
        Err(Waited::Stopped) => Err(LabError::Stopped),
        Err(Waited::TooLong) => {
            Err(switch_error(&format!("the switch does not start in {} s", START.as_secs()), &process.tail()))
        }
        Err(Waited::Ended(ended)) => Err(switch_error(&format!("the switch {}", ended.how()), &process.tail())),
    }
}

/// Writes the file of `scdp switch`.
pub(crate) fn write_switch(path: &Path, table: &toml::Table, seed: u64) -> Result<(), LabError> {
    let mut table = table.clone();
    // TOML has no larger numbers.
    let seed = toml::Value::Integer((seed & i64::MAX as u64) as i64);
    table.entry("seed").or_insert(seed);
    std::fs::write(path, table.to_string()).map_err(LabError::path(path))
}

/// The command that is the switch.
pub(crate) fn switch_words(file: &Path, lab: &Lab, more: &[&str]) -> Vec<String> {
    let mut words = vec!["scdp".to_owned(), "switch".to_owned(), file.display().to_string()];
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words.extend(lab.hosts.iter().flat_map(|host| ["--port".to_owned(), host.name.clone()]));
    words
}

/// An error of the switch in its own words.
fn switch_error(what: &str, tail: &[String]) -> LabError {
    let (what, hint) = quoted(what, tail);
    LabError::Switch { what, hint }
}

/// What the switch said below what happened, and a hint.
pub(crate) fn quoted(what: &str, tail: &[String]) -> (String, Option<String>) {
    let none = tail.iter().any(|line| line.contains("unrecognized subcommand"));
    let hint = none.then(|| "this `scdp` has no switch: kind = \"bridge\" is the kernel's".to_owned());
    let said = tail.iter().map(|line| format!("\n  | {line}")).collect::<Vec<_>>().concat();
    (format!("{what}{said}"), hint)
}
