//! `scdp switch`: network interfaces joined by a switch whose links have configurable rate, buffers and loss.

use std::path::PathBuf;
use std::process::ExitCode;

use anabranch_switch::{Config, Counters, Probability, Settings};
use anabranch_transport::{Bytes, Duration, Rate};
use clap::Args;
use serde_json::{Map, Value};

use crate::arguments::Json;
use crate::events::Event;
use crate::failure::CliError;
use crate::output::Output;
use crate::save::{self, save};
use crate::table;

#[derive(Debug, Args)]
pub(crate) struct Switch {
    /// TOML file with settings for all ports, and for single ports under [port.NAME]
    #[arg(value_name = "CONFIG.toml")]
    config: Option<PathBuf>,
    /// An interface of this network namespace to use as a port; give this 2 to 64 times
    #[arg(long = "port", required_unless_present = "check", value_name = "INTERFACE")]
    ports: Vec<String>,
    /// Rate of the links to the hosts, such as 100Mbps
    #[arg(long)]
    rate: Option<Rate>,
    /// Queue of each link for whole packets, in bytes [default: 150kB]
    #[arg(long, value_name = "SIZE")]
    queue: Option<Bytes>,
    /// Trim IP packets to this many bytes when the queue is full, 80 to 1024; 0 drops them
    #[arg(long, value_name = "BYTES")]
    trim: Option<u16>,
    /// Mark ECN-capable packets while the queue holds this many bytes, such as 30kB
    #[arg(long, value_name = "SIZE")]
    ecn: Option<Bytes>,
    /// Delay of the links to the hosts, such as 50us
    #[arg(long, value_name = "TIME")]
    delay: Option<Duration>,
    /// Probability of loss on the links to the hosts, such as 1%
    #[arg(long, value_name = "PERCENT")]
    loss: Option<Probability>,
    /// Rate of the links from the hosts
    #[arg(long, value_name = "RATE")]
    uplink: Option<Rate>,
    /// Seed of all random events [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write the counters of all ports to this file at the end, as JSON
    #[arg(long, value_name = "FILE")]
    counters: Option<PathBuf>,
    /// Only check the configuration
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

impl Switch {
    /// The configuration from the file and the flags.
    fn config(&self) -> Result<Config, CliError> {
        let config = match &self.config {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| CliError::of_path(path, error))?;
                Config::parse(&text).map_err(|error| CliError::of_path(path, error))?
            }
            None => Config::default(),
        };
        let flags = Settings {
            rate: self.rate,
            queue: self.queue,
            trim: self.trim,
            ecn: self.ecn,
            delay: self.delay,
            loss: self.loss,
            uplink: self.uplink,
            seed: self.seed,
            ..Settings::default()
        };
        // The file is valid by itself, so the flag is wrong.
        config.with(flags).map_err(|error| CliError::usage(format!("--{error}")))
    }
}

pub(crate) fn run(arguments: &Switch, output: &Output) -> Result<ExitCode, CliError> {
    let config = arguments.config()?;
    if !(arguments.check && arguments.ports.is_empty()) {
        config.check_ports(&arguments.ports).map_err(|error| match &arguments.config {
            Some(path) if matches!(error, anabranch_switch::ConfigError::UnknownPort { .. }) => {
                CliError::of_path(path, error)
            }
            _ => CliError::usage(error).hint("each interface is given once: --port p0 --port p1"),
        })?;
    }
    if arguments.check {
        output.tell(&Event::Check { check: "configuration", ok: true, found: "is right".to_owned(), hint: None });
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &arguments.counters {
        save::check(file).map_err(|error| CliError::of_path(file, error))?;
    }
    let counters = forward(arguments, &config, output)?;
    if let Some(file) = &arguments.counters {
        save(file, saved(&counters).as_bytes()).map_err(|error| CliError::of_path(file, error))?;
    }
    output.text(&report(&counters));
    for (port, counters) in counters {
        if !output.is_text() {
            output.tell(&Event::Counters { port, counters: Box::new(counters) });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Forwards frames until a signal arrives.
#[cfg(target_os = "linux")]
fn forward(arguments: &Switch, config: &Config, output: &Output) -> Result<Vec<(String, Counters)>, CliError> {
    let signals = crate::signals::Signals::catch()?;
    let mut driver = anabranch_switch::Driver::open(config, &arguments.ports).map_err(explain)?;
    signals.busy();
    for name in driver.down() {
        output.tell(&Event::Warning {
            message: format!("{name} is down: nothing passes"),
            hint: Some(format!("ip link set dev {name} up")),
        });
    }
    output.tell(&Event::Forwarding { ports: arguments.ports.clone() });
    driver.run(|| signals.flow()).map_err(explain)?;
    Ok(driver.counters().map(|(name, counters)| (name.to_owned(), counters)).collect())
}

#[cfg(not(target_os = "linux"))]
fn forward(_: &Switch, _: &Config, _: &Output) -> Result<Vec<(String, Counters)>, CliError> {
    Err(CliError::failed("the switch needs packet sockets, which Linux alone has").hint("run it in a virtual machine"))
}

#[cfg(target_os = "linux")]
fn explain(error: anabranch_switch::SwitchError) -> CliError {
    use anabranch_switch::SwitchError::{Config, NoInterface, NotAllowed, NotEthernet};
    match &error {
        Config(_) => CliError::usage(error),
        NoInterface { .. } => CliError::usage(error)
            .hint("a switch has the interfaces of one network namespace: ip netns exec NAME scdp switch ..."),
        NotEthernet { .. } => CliError::usage(error).hint("`veth` interfaces do: ip link add a type veth peer name b"),
        NotAllowed { .. } => CliError::failed(error).hint(
            "run it as root or with CAP_NET_RAW; `unshare --user --map-root-user --net` gives a network of one's own",
        ),
        _ => CliError::failed(error),
    }
}

/// The counters of all ports, in the format of the output file.
fn saved(counters: &[(String, Counters)]) -> String {
    let all: Map<String, Value> = counters.iter().map(|(name, counters)| (name.clone(), value(counters))).collect();
    format!("{:#}\n", Value::Object(all))
}

fn value(counters: &Counters) -> Value {
    serde_json::to_value(counters).expect("counters are numbers")
}

/// A row for each counter that is not zero at all ports; a column for each port.
fn report(counters: &[(String, Counters)]) -> String {
    let flat: Vec<Vec<(String, u64)>> = counters.iter().map(|(_, counters)| flatten(&value(counters))).collect();
    let heading: Vec<&str> = std::iter::once("counter").chain(counters.iter().map(|(name, _)| name.as_str())).collect();
    let rows: Vec<Vec<String>> = (0..flat.first().map_or(0, Vec::len))
        .filter(|row| flat.iter().any(|port| port[*row].1 > 0))
        .map(|row| {
            let name = flat[0][row].0.clone();
            std::iter::once(name).chain(flat.iter().map(|port| port[row].1.to_string())).collect()
        })
        .collect();
    table::render(&heading, &rows)
}

/// The counters in their order; those of a queue are prefixed with its name, since both queues have the same.
fn flatten(counters: &Value) -> Vec<(String, u64)> {
    let parts = counters.as_object().into_iter().flatten();
    let named = parts.flat_map(|(part, values)| {
        let queue = part.strip_suffix("_queue");
        values.as_object().into_iter().flatten().map(move |(name, value)| {
            let name = queue.map_or_else(|| name.clone(), |queue| format!("{name} ({queue})"));
            (name, value.as_u64().unwrap_or(0))
        })
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Vec<(String, Counters)> {
        let (mut a, b) = (Counters::default(), Counters::default());
        a.port.in_octets = 1000;
        a.data_queue.queue.packets = 7;
        a.header_queue.packets = 8;
        a.link.lost_packets = 9;
        vec![("p0".to_owned(), a), ("p1".to_owned(), b)]
    }

    #[test]
    fn a_report_leaves_out_what_is_zero() {
        let expected = "\
counter                          p0    p1
SAI_PORT_STAT_IF_IN_OCTETS       1000  0
SAI_QUEUE_STAT_PACKETS (data)    7     0
SAI_QUEUE_STAT_PACKETS (header)  8     0
lost_packets                     9     0
";
        assert_eq!(report(&some()), expected);
    }

    #[test]
    fn counters_are_saved_whole() {
        let read: Value = serde_json::from_str(&saved(&some())).expect("JSON");
        assert_eq!(read["p0"]["header_queue"]["SAI_QUEUE_STAT_PACKETS"], 8);
        assert_eq!(read["p1"]["port"]["SAI_PORT_STAT_IF_OUT_OCTETS"], 0);
    }
}
