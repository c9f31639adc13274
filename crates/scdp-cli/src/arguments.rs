//! Options that several commands have.

use std::net::SocketAddr;
use std::path::PathBuf;

use anabranch_net::Dscp;
use anabranch_transport::Duration;
use clap::Args;

use crate::addresses::{HostPort, PORT};

/// The smallest packet size that can be chosen: IPv6 requires it of all paths (RFC 8200 §5).
pub(crate) const LEAST_MTU: u16 = 1280;

/// The options of every command that runs sessions: whose signature `S` is about, and which socket `B` binds.
#[derive(Debug, Args)]
pub(crate) struct Session<S: Args, B: Args> {
    #[command(flatten)]
    pub(crate) secret: Secret,
    #[command(flatten)]
    pub(crate) signature: S,
    #[command(flatten)]
    pub(crate) socket: B,
    #[command(flatten)]
    pub(crate) packets: Packets,
    #[command(flatten)]
    pub(crate) timeout: Timeout,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// The socket of a command that others find by its port.
#[derive(Debug, Args)]
pub(crate) struct Listening {
    /// Listen on this address; port 0 picks a free port, `[::]` is IPv6 and IPv4
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "0.0.0.0:7217", value_parser = bind)]
    pub(crate) bind: SocketAddr,
}

/// The socket of a command that finds others.
#[derive(Debug, Args)]
pub(crate) struct Sending {
    /// Send from this address [default: any, any port]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = bind_any_port)]
    pub(crate) bind: Option<SocketAddr>,
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
    let host: HostPort = text.parse()?;
    let address = host
        .name
        .parse()
        .map_err(|_| "expected an address of this host, such as 10.0.0.1 or 10.0.0.1:7217".to_owned())?;
    Ok(SocketAddr::new(address, host.port.unwrap_or(port)))
}
