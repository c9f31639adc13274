//! The format of a lab file. The descriptions are those of docs/reference/lab.md.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use anabranch_transport::{Bytes, Duration};
use schemars::JsonSchema;
use serde::Deserialize;

/// A lab: hosts around one switch, and what runs in them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabFile {
    /// Name for people; the file's name by default.
    #[serde(default)]
    pub name: String,
    /// What question the lab answers.
    #[serde(default)]
    pub description: String,
    /// The seed of the first repetition: of the bytes of files, and of the switch unless `switch.seed` says otherwise.
    #[serde(default = "one")]
    pub seed: u64,
    /// How often each combination runs, with seeds `seed`, `seed + 1` and so on. 1 to 1000.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 1000))]
    pub repeat: u32,
    /// Bytes of an IP packet that the links carry. 576 to 9000.
    #[serde(default = "ethernet")]
    #[schemars(range(min = 576, max = 9000))]
    pub mtu: u16,
    /// The switch in the middle. `kind = "scdp"` (by default) is `scdp switch`, to which all other keys go; `kind = "bridge"` is the
    /// bridge of the kernel, which multicasts by IGMP snooping and knows `rate`, of all links and both ways; or, instead, `down` and
    /// `up`: what a link has towards the host and from it, as a list of queueing disciplines in the words of tc(8), each inside the one
    /// before (`["htb rate 100mbit burst 15k", "bfifo limit 30kB"]`). `offload = true` lets the kernel send several segments as one packet.
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub switch: toml::Table,
    /// Settings of the kernel in each host, by their names for sysctl(8): `"net.ipv4.tcp_ecn" = 1`.
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub sysctl: BTreeMap<String, Setting>,
    /// The hosts by their names: a small letter first, then at most 14 small letters, digits and hyphens. 2 to 64.
    #[serde(default)]
    pub hosts: BTreeMap<String, HostConfig>,
    /// Files made before the runs. `{NAME}` is the path of one.
    #[serde(default)]
    pub files: BTreeMap<String, FileConfig>,
    /// Texts that stand for `{NAME}` in commands: with spaces, they are several words. They may contain placeholders themselves.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Keys that take several values: every combination runs, the last key varying fastest. `"switch.loss" = ["0%", "1%"]`;
    /// `"variables.how" = { unicast = "", multicast = "--group 239.1.1.1" }` gives values a name for the table of results;
    /// `"switch.rate, switch.queue" = [["10Mbps", "15kB"], ["100Mbps", "150kB"]]` varies two keys together. Keys of `switch`, `variables`,
    /// `files` and of a host's `link`, and `mtu`, can vary.
    #[serde(default)]
    pub sweep: BTreeMap<String, SweepValues>,
    /// What runs in the background meanwhile, started in this order before the steps of each run, and stopped after them.
    #[serde(default)]
    pub program: Vec<ProgramConfig>,
    /// What is done, one after the other, and measured.
    #[serde(default)]
    pub step: Vec<StepConfig>,
    /// What must be so after the steps.
    #[serde(default)]
    pub check: Vec<CheckConfig>,
}

/// A host: a network namespace with one interface, `eth0`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// Its address in 10.0.0.0/24. By default 10.0.0.1 for the first host of the file, and so on.
    #[serde(default)]
    pub address: Option<Ipv4Addr>,
    /// Its link, where it differs from `switch`: the keys of one port of the switch. `rate` holds for both directions.
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub link: toml::Table,
}

/// A value of a setting of the kernel.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged, expecting = "expected a whole number or a text")]
pub enum Setting {
    /// One number.
    Number(i64),
    /// Anything else: `"4096 131072 6291456"`.
    Text(String),
}

/// A file: either of `size` random bytes, or made by a command.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileConfig {
    /// So many random bytes, the same for the same seed.
    #[serde(default)]
    pub size: Option<Bytes>,
    /// A command that makes it, outside all hosts. `scdp key {key}`
    #[serde(default)]
    pub command: Option<Words>,
}

/// A program in the background.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgramConfig {
    /// The host it runs in, or a list of hosts. `"switch"` is where the switch is, with an interface of each host's name.
    pub on: Hosts,
    /// What is run, without a shell: a text that is split at spaces (quotation marks keep together), or a list of words.
    pub command: Words,
    /// It is ready when it prints a line that contains this. By default at once.
    #[serde(default)]
    pub ready: Option<String>,
    /// How long it may take to be ready.
    #[serde(default = "ten_seconds")]
    pub time_limit: Duration,
    /// How long to wait after the steps until it ends by itself, with exit code 0. By default it is stopped then: SIGTERM, and SIGKILL
    /// 2 s later.
    #[serde(default)]
    pub wait: Option<Duration>,
}

/// A step, which must succeed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// The host it runs in, or a list of hosts: there it runs at the same time.
    pub on: Hosts,
    /// What is run, as that of a program.
    pub command: Words,
    /// How long it may take.
    #[serde(default = "one_minute")]
    pub time_limit: Duration,
    /// The exit code that is a success.
    #[serde(default)]
    pub expect: i32,
    /// Whether its time counts in `seconds` of the results.
    #[serde(default = "yes")]
    pub measure: bool,
}

/// A condition.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckConfig {
    /// Files that must be there and the same, byte for byte: at least two.
    #[schemars(length(min = 2))]
    pub same: Vec<String>,
}

/// One host, or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a host's name, or a list of them")]
pub enum Hosts {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Hosts {
    pub(crate) fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

/// A command.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a command: a text, or a list of words")]
pub enum Words {
    /// To be split.
    Text(String),
    /// Split.
    List(Vec<String>),
}

/// What a key of a sweep takes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a list of values, or a table of named values")]
pub enum SweepValues {
    /// Values.
    List(#[schemars(with = "Vec<serde_json::Value>")] Vec<toml::Value>),
    /// Values with names.
    Named(#[schemars(with = "serde_json::Map<String, serde_json::Value>")] toml::Table),
}

fn one() -> u64 {
    1
}
fn once() -> u32 {
    1
}
fn ethernet() -> u16 {
    1500
}
fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}
fn one_minute() -> Duration {
    Duration::from_secs(60)
}
fn yes() -> bool {
    true
}
