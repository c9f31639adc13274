//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use anabranch_net::{Dscp, StragglerPolicy};
use anabranch_transport::{Bytes, Duration, Rate};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::addresses::{Group, Host};
use crate::lab::{self, Lab};
use crate::switch::Switch;

/// The UDP port of receivers and servers.
pub(crate) const PORT: u16 = 7217;
/// The smallest packet size that can be chosen: IPv6 requires it of all paths (RFC 8200 §5).
pub(crate) const LEAST_MTU: u16 = 1280;
/// The UDP port of multicast groups.
pub(crate) const GROUP_PORT: u16 = 7218;

/// Copies files to many hosts at once, and from many replicas at once.
#[derive(Debug, Parser)]
#[command(
    name = "scdp",
    version,
    arg_required_else_help = true,
    after_help = "Start with `scdp key`, and `scdp COMMAND --help` for examples.\n\
                  Exit codes: 0 done, 1 not done for all, 2 wrong arguments, 130 stopped by Ctrl-C."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes a key: one shared by all hosts that exchange files, or one that signs files
    #[command(after_help = "Examples:\n  \
        scdp key scdp.key && scp -p scdp.key b: && scp -p scdp.key c:\n  \
        scdp key --sign sign.key && scp sign.key.pub b: && scp sign.key.pub c:\n\n\
        Whoever has the shared key can send in anybody's name. A signing key stays on the host that files come from: `send --sign`, `serve --sign`.\n\
        Hosts that require its signature, `receive --signed-by` and `fetch --signed-by`, accept files from nobody else.")]
    Key(Key),
    /// Sends files to hosts that run `scdp receive`, to all of them at once
    #[command(after_help = "Examples:\n  \
        scdp send model.bin --to b,c,d --key scdp.key\n  \
        scdp send model.bin --to b,c,d --key scdp.key --group 239.1.2.3 --rate 900Mbps\n\n\
        Without --group each receiver gets a copy of its own; with it, the network copies, and the uplink carries the file once.\n\
        Holes of a sparse file are sent as zeros, and are holes again at the receivers.\n\
        Exit code 0 only if all receivers (or --quorum of them) have verified the hash of every file.")]
    Send(Send),
    /// Receives the files that others send, into a folder
    #[command(after_help = "Examples:\n  \
        scdp receive --dir incoming --key scdp.key\n  \
        scdp receive --dir incoming --key scdp.key --group 239.1.2.3 --interface 10.0.0.2 --once\n\n\
        A file gets its name when it is complete, its hash matches and it is on the disk. Until then it is called .NAME.ID.part.\n\
        It has the permission bits of the sender's file, as far as the umask allows, also if it replaces another one with --force. \
        Until it is complete, and if the sender is of an earlier version, only its owner may read it. \
        A file that was there already stays as it is, with its permission bits.\n\
        Zeros are not stored: a sparse file stays sparse. But there must be room for it as if it had no holes.\n\
        When the transfer of a large file fails, its partial file is kept if it has 16 MiB or more, and the next transfer resumes from it. \
        A group resumes from the least that any of its receivers has.\n\
        One sender at a time sends under a name. Another one of the same file waits until that is over; of another file, it is refused.")]
    Receive(Receive),
    /// Serves the files of a folder to hosts that fetch them
    #[command(after_help = "Example:\n  scdp serve /srv/models --key scdp.key\n\n\
        Files in subfolders and files that begin with a dot are not served. Files are hashed while the server runs: a request for one \
        that is not hashed yet, or has changed, waits for that.")]
    Serve(Serve),
    /// Fetches a file from all hosts that serve it, a share from each
    #[command(after_help = "Examples:\n  \
        scdp fetch model.bin --from b,c,d --key scdp.key\n  \
        scdp fetch blake3:0f3c... --from b,c,d --key scdp.key -o model.bin\n\n\
        The other servers make up for one that is slow or dies. A hash finds the file under any name.")]
    Fetch(Fetch),
    /// Checks what this host and its network offer, and says what to change
    #[command(
        after_help = "Example:\n  scdp doctor\n\nNeeds no privileges, changes nothing. Exit code 0 whatever it finds."
    )]
    Doctor(Doctor),
    /// Connects network interfaces by a software switch, for tests: rates, queues, packet trimming, delay, loss
    #[command(after_help = "Examples:\n  \
        scdp switch --port p0 --port p1 --port p2 --rate 100Mbps --queue 30kB --trim 128\n  \
        scdp switch lab.toml --port p0 --port p1 --loss 1%\n\n\
        Flags override the top of the file, and [port.NAME] overrides both. docs/fidelity/software-switch.md has all settings.\n\
        Runs until Ctrl-C, prints its counters, and exits with 0. Linux only; needs CAP_NET_RAW.")]
    Switch(Switch),
    /// Runs commands in hosts around one switch, made of network namespaces of this machine
    #[command(after_help = lab::EXAMPLES)]
    Lab(Lab),
    /// Prints the completions of a shell
    #[command(after_help = "Example:\n  scdp completions bash > ~/.local/share/bash-completion/completions/scdp")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Writes the manual pages into a folder
    #[command(after_help = "Example:\n  scdp man ~/.local/share/man/man1 && man scdp-send")]
    Man {
        /// The folder; it must exist
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

impl Command {
    pub(crate) fn json(&self) -> bool {
        self.form().is_some_and(|form| form.json)
    }

    pub(crate) fn timestamps(&self) -> bool {
        self.form().is_some_and(|form| form.timestamps)
    }

    fn form(&self) -> Option<&Json> {
        match self {
            Self::Send(Send { json, .. })
            | Self::Receive(Receive { json, .. })
            | Self::Serve(Serve { json, .. })
            | Self::Fetch(Fetch { json, .. })
            | Self::Lab(Lab { json, .. })
            | Self::Doctor(Doctor { json })
            | Self::Switch(Switch { json, .. }) => Some(json),
            Self::Key(_) | Self::Completions { .. } | Self::Man { .. } => None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Key {
    #[arg(
        help = "Where to put it, readable by its owner only; `-` prints it. A file that exists is never replaced [default: scdp.key, or \
        scdp-sign.key with --sign]"
    )]
    pub(crate) file: Option<PathBuf>,
    /// Make a key that signs files, and FILE.pub with its public half
    #[arg(long)]
    pub(crate) sign: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// Files; of a folder, make an archive first
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Receivers, separated by commas: names or addresses; IPv6 addresses go in brackets before a port [default port: 7217]
    #[arg(long, required = true, value_delimiter = ',', value_name = "HOST[:PORT],...")]
    pub(crate) to: Vec<Host>,
    /// Send through this multicast group [default port: 7218]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) group: Option<Group>,
    /// Send multicast on this interface: its name, or one of its addresses [default: the system chooses]
    #[arg(long, value_name = "INTERFACE", requires = "group")]
    pub(crate) interface: Option<String>,
    /// Highest rate of all files together, such as 900Mbps or 9.5Gbps [default: as fast as receivers ask]
    #[arg(long)]
    pub(crate) rate: Option<Rate>,
    /// What to do about receivers that hold the others back
    #[arg(long, value_parser = straggler_policy(), default_value = StragglerPolicy::Detach.name(), value_name = "WHAT")]
    pub(crate) stragglers: StragglerPolicy,
    /// How many receivers must have every file for this to be a success [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) quorum: Option<u16>,
    #[command(flatten)]
    pub(crate) secret: Secret,
    #[command(flatten)]
    pub(crate) sign: Sign,
    /// Send from this address [default: any, any port]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = bind_any_port)]
    pub(crate) bind: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) packets: Packets,
    #[command(flatten)]
    pub(crate) timeout: Timeout,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Receive {
    /// The folder to put files into
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Receive from this multicast group, too [default port: 7218]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) group: Option<Group>,
    /// Join the group on this interface: its name, or one of its addresses [default: the system chooses]
    #[arg(long, value_name = "INTERFACE", requires = "group")]
    pub(crate) interface: Option<String>,
    /// Replace existing files; by default an existing file is kept, and the sender is told so
    #[arg(long)]
    pub(crate) force: bool,
    /// Take files whose names begin with a dot, too: programs may obey them, as shells do `.bashrc`
    #[arg(long)]
    pub(crate) allow_hidden: bool,
    /// Refuse larger files; the room for a file is reserved when its sender has shown that it is there
    #[arg(long, value_name = "SIZE", default_value = "1TB")]
    pub(crate) max_size: Bytes,
    /// Remove partial files to which nothing was written for so many days: at the start, and once an hour
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub(crate) keep_parts: u32,
    /// Receive one file and stop: --count 1
    #[arg(long, conflicts_with = "count")]
    pub(crate) once: bool,
    /// Receive N files, refuse more, and stop when all are received or failed; exit code 1 if one failed [default: never stop]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) secret: Secret,
    #[command(flatten)]
    pub(crate) signers: SignedBy,
    /// Listen on this address; port 0 picks a free port, `[::]` is IPv6 and IPv4
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "0.0.0.0:7217", value_parser = bind)]
    pub(crate) bind: SocketAddr,
    #[command(flatten)]
    pub(crate) packets: Packets,
    #[command(flatten)]
    pub(crate) timeout: Timeout,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The folder to serve
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Highest rate for each request, such as 900Mbps [default: as fast as receivers ask]
    #[arg(long)]
    pub(crate) rate: Option<Rate>,
    #[command(flatten)]
    pub(crate) secret: Secret,
    #[command(flatten)]
    pub(crate) sign: Sign,
    /// Listen on this address; port 0 picks a free port, `[::]` is IPv6 and IPv4
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "0.0.0.0:7217", value_parser = bind)]
    pub(crate) bind: SocketAddr,
    #[command(flatten)]
    pub(crate) packets: Packets,
    #[command(flatten)]
    pub(crate) timeout: Timeout,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// File to fetch: its name, or `blake3:` and the 64 hexadecimal digits of its hash
    #[arg(value_name = "NAME|blake3:HEX")]
    pub(crate) object: String,
    /// Servers, separated by commas: names or addresses; IPv6 addresses go in brackets before a port [default port: 7217]
    #[arg(long, required = true, value_delimiter = ',', value_name = "HOST[:PORT],...")]
    pub(crate) from: Vec<Host>,
    /// Where to put it: a file, or an existing folder [default: this folder, under the name that the servers have for it]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// With blake3:HEX and without -o FILE: take it even if the servers' name for it begins with a dot
    #[arg(long)]
    pub(crate) allow_hidden: bool,
    #[command(flatten)]
    pub(crate) secret: Secret,
    #[command(flatten)]
    pub(crate) signers: SignedBy,
    /// Send requests from this address [default: any, any port]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = bind_any_port)]
    pub(crate) bind: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) packets: Packets,
    #[command(flatten)]
    pub(crate) timeout: Timeout,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Secret {
    #[arg(help = "File with the shared key, made by `scdp key` [env: SCDP_KEY_FILE]")]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) key: Option<PathBuf>,
    /// Use no key: anybody can read the files, and send and fetch others. Both ends must use this
    #[arg(long)]
    pub(crate) insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Sign {
    /// Sign the files with the key in this file, made by `scdp key --sign`
    #[arg(long, value_name = "FILE")]
    pub(crate) sign: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SignedBy {
    #[arg(
        help = "Accept only files signed by this key: scdp-verify-1:HEX, or a file that contains it, FILE.pub of `scdp key --sign FILE`. Given \
        several times: by any of them"
    )]
    #[arg(long, value_name = "KEY|FILE")]
    pub(crate) signed_by: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Packets {
    /// Largest IP packet that is sent or accepted, in bytes, 1280 to 9000; for jumbo frames 9000, at both ends. If a path carries less, that is
    /// found out in about half a second, and the transfer begins again with smaller packets
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(i64::from(LEAST_MTU)..=9000))]
    pub(crate) mtu: u16,
    /// DSCP of packets with the file's bytes, which switches may drop or trim: 0 to 63, or a name such as AF11 or LE [default: 0]
    #[arg(long, value_name = "DSCP")]
    pub(crate) dscp: Option<Dscp>,
    /// DSCP of all other packets, which are small and better not lost: 0 to 63, or a name such as CS5 [default: as --dscp]
    #[arg(long, value_name = "DSCP")]
    pub(crate) control_dscp: Option<Dscp>,
}

#[derive(Debug, Args)]
pub(crate) struct Timeout {
    /// How long a host may be silent before it counts as dead, such as 500ms or 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = timeout)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Json {
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Begin each line with the time, in UTC; events of --json have it in any case
    #[arg(long, conflicts_with = "json")]
    pub(crate) timestamps: bool,
}

/// The names of the policies, and what each does in this program.
fn straggler_policy() -> impl TypedValueParser<Value = StragglerPolicy> {
    let values = StragglerPolicy::ALL.map(|policy| {
        PossibleValue::new(policy.name()).help(match policy {
            StragglerPolicy::Wait => "Keep the pace of the slowest receiver",
            StragglerPolicy::Detach => "Send separately to receivers that fall behind",
            StragglerPolicy::Drop => {
                "Keep the pace of the --quorum fastest receivers, and give the others up a second after these have the file"
            }
        })
    });
    PossibleValuesParser::new(values).map(|name| {
        StragglerPolicy::ALL.into_iter().find(|policy| policy.name() == name).expect("one of the possible values")
    })
}

fn timeout(text: &str) -> Result<Duration, String> {
    let found: Duration = text.parse().map_err(|error| format!("{error}"))?;
    let allowed = Duration::from_ms(100)..=Duration::from_secs(86_400);
    if allowed.contains(&found) { Ok(found) } else { Err("expected 100ms to 86400s".to_owned()) }
}

fn bind(text: &str) -> Result<SocketAddr, String> {
    bind_with(text, PORT)
}

fn bind_any_port(text: &str) -> Result<SocketAddr, String> {
    bind_with(text, 0)
}

fn bind_with(text: &str, port: u16) -> Result<SocketAddr, String> {
    let host: Host = text.parse()?;
    let address = host
        .name
        .parse()
        .map_err(|_| "expected an address of this host, such as 10.0.0.1 or 10.0.0.1:7217".to_owned())?;
    Ok(SocketAddr::new(address, host.port.unwrap_or(port)))
}
