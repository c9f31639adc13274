//! The configuration of a switch, a TOML file: keys at the top for all ports, and `[port.NAME]` for one.

use std::collections::BTreeMap;

use anabranch_transport::{Bytes, Duration, Rate};
use serde::Deserialize;
use thiserror::Error;

use crate::impair::{BurstLoss, Impairments};
use crate::port::Link;
use crate::probability::Probability;
use crate::queue::Limits;
use crate::trim;

/// Ports of a switch, at most.
pub(crate) const MAX_PORTS: usize = 64;
/// A queue holds at least a frame of the usual MTU.
const MIN_QUEUE: u64 = 1600;
/// Longer delays are a mistake in the unit.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// How multicast is forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Multicast {
    /// To ports with members of the group, and to routers.
    #[default]
    Snoop,
    /// To all ports.
    Flood,
}

/// Keys of the file; what is not there has its default. The last three are for the top of the file alone.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Rate of the link from the switch to the host. Default: no limit.
    pub rate: Option<Rate>,
    /// Bytes of untrimmed packets that are queued for the link. Default: 150 kB.
    pub queue: Option<Bytes>,
    /// Bytes of trimmed and small packets that are queued, with `trim`. Default: as `queue`.
    pub header_queue: Option<Bytes>,
    /// Bytes of IP packets that are kept when the queue is full, 80 to 1024; 0 turns it off. Default: 0, tail drop.
    pub trim: Option<u16>,
    /// DSCP that trimmed packets get, 0 to 63. Default: what they had.
    pub trim_dscp: Option<u8>,
    /// ECN-capable packets are marked while so many bytes of untrimmed packets are queued. Default: never.
    pub ecn: Option<Bytes>,
    /// Bytes that each frame takes on the link besides its own. Default: 0; a real Ethernet has 24 (preamble, checksum, gap).
    pub overhead: Option<Bytes>,
    /// Time from the end of a frame's transmission to its arrival, at most 10 s. Default: 0.
    pub delay: Option<Duration>,
    /// Probability that a frame is lost on the link to the host. Default: 0%.
    pub loss: Option<Probability>,
    /// Loss in bursts, besides `loss`. Default: none.
    pub burst_loss: Option<BurstLoss>,
    /// Probability that a frame arrives later than those after it. Default: 0%.
    pub reorder: Option<Probability>,
    /// How much later, at most 10 s. Default: 1 ms.
    pub reorder_delay: Option<Duration>,
    /// Probability that a frame arrives twice. Default: 0%.
    pub duplicate: Option<Probability>,
    /// Probability that one bit of a frame is changed. Default: 0%.
    pub corrupt: Option<Probability>,
    /// Rate of the link from the host to the switch. Default: no limit.
    pub uplink: Option<Rate>,
    /// Bytes that are queued in the host for `uplink`, with tail drop. Default: 1.5 MB, about the 1000 packets that Linux queues.
    pub uplink_queue: Option<Bytes>,
    /// Decides on all random events. Default: 0.
    pub seed: Option<u64>,
    /// How multicast is forwarded. Default: by snooping.
    pub multicast: Option<Multicast>,
    /// Settings of single ports, by the names of their interfaces.
    #[serde(default)]
    pub port: BTreeMap<String, Settings>,
}

/// An error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// It is not TOML, or has keys and values that do not exist; the text tells line and column.
    #[error("{0}")]
    Syntax(String),
    /// A value is out of range.
    #[error("{place}{key}: expected {expected}")]
    Range {
        /// `port.NAME.`, or nothing.
        place: String,
        /// The key.
        key: &'static str,
        /// What is allowed.
        expected: String,
    },
    /// There are settings for a port that does not exist.
    #[error("port.{name}: there is no such port; there are {ports}")]
    UnknownPort {
        /// Which.
        name: String,
        /// Those that exist.
        ports: String,
    },
    /// Too few ports, too many, or one twice.
    #[error("{0}")]
    Ports(String),
}

/// A configuration whose values are in range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    settings: Settings,
}

/// All settings of one port.
#[derive(Clone, Copy, Debug)]
pub struct PortConfig {
    pub(crate) link: Link,
    pub(crate) limits: Limits,
    pub(crate) impairments: Impairments,
    pub(crate) uplink: Option<(Rate, u64)>,
}

impl Config {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// If it is not TOML, has unknown keys, or values that are out of range.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::new(toml::from_str(text).map_err(|error| ConfigError::Syntax(error.to_string().trim_end().to_owned()))?)
    }

    /// Checks settings.
    ///
    /// # Errors
    ///
    /// If a value is out of range.
    pub fn new(settings: Settings) -> Result<Self, ConfigError> {
        check("", &settings)?;
        for (name, port) in &settings.port {
            let place = format!("port.{name}.");
            check(&place, port)?;
            let error = |key| {
                Err(ConfigError::Range {
                    place: place.clone(),
                    key,
                    expected: "it at the top of the file only".to_owned(),
                })
            };
            match port {
                Settings { seed: Some(_), .. } => return error("seed"),
                Settings { multicast: Some(_), .. } => return error("multicast"),
                Settings { port, .. } if !port.is_empty() => return error("port"),
                _ => {}
            }
        }
        Ok(Self { settings })
    }

    /// The same with other values at the top of the file, where there are some. Those of single ports stay above them.
    ///
    /// # Errors
    ///
    /// If a value is out of range.
    pub fn with(self, over: Settings) -> Result<Self, ConfigError> {
        Self::new(over.or(&self.settings))
    }

    /// Decides on all random events.
    pub(crate) fn seed(&self) -> u64 {
        self.settings.seed.unwrap_or(0)
    }

    pub(crate) fn multicast(&self) -> Multicast {
        self.settings.multicast.unwrap_or_default()
    }

    /// Checks that a switch can have these ports.
    ///
    /// # Errors
    ///
    /// If they are fewer than two, more than 64 or the same, or if there are settings for others.
    pub fn check_ports(&self, names: &[impl AsRef<str>]) -> Result<(), ConfigError> {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        if !(2..=MAX_PORTS).contains(&names.len()) {
            return Err(ConfigError::Ports(format!("a switch has 2 to {MAX_PORTS} ports, not {}", names.len())));
        }
        if let Some(twice) = names.iter().enumerate().find_map(|(n, name)| names[..n].contains(name).then_some(name)) {
            return Err(ConfigError::Ports(format!("port {twice} is there twice")));
        }
        match self.settings.port.keys().find(|name| !names.contains(&name.as_str())) {
            Some(name) => Err(ConfigError::UnknownPort { name: name.clone(), ports: names.join(", ") }),
            None => Ok(()),
        }
    }

    /// All settings of a port.
    pub fn port(&self, name: &str) -> PortConfig {
        let all = &self.settings;
        let one = self.settings.port.get(name).map_or_else(|| all.clone(), |port| port.clone().or(all));
        let data = one.queue.map_or(150_000, |bytes| bytes.0);
        PortConfig {
            link: Link {
                rate: one.rate,
                overhead: one.overhead.unwrap_or_default().0,
                delay: one.delay.unwrap_or_default(),
                reorder_delay: one.reorder_delay.unwrap_or(Duration::from_ms(1)),
            },
            limits: Limits {
                data,
                headers: one.header_queue.map_or(data, |bytes| bytes.0),
                trim: one.trim.filter(|size| *size > 0),
                trim_dscp: one.trim_dscp,
                ecn: one.ecn.map(|bytes| bytes.0),
            },
            impairments: Impairments {
                loss: one.loss.unwrap_or_default(),
                burst_loss: one.burst_loss,
                reorder: one.reorder.unwrap_or_default(),
                duplicate: one.duplicate.unwrap_or_default(),
                corrupt: one.corrupt.unwrap_or_default(),
            },
            uplink: one.uplink.map(|rate| (rate, one.uplink_queue.map_or(1_500_000, |bytes| bytes.0))),
        }
    }
}

impl Settings {
    /// These, and those of the other where there are none.
    fn or(self, other: &Self) -> Self {
        Self {
            rate: self.rate.or(other.rate),
            queue: self.queue.or(other.queue),
            header_queue: self.header_queue.or(other.header_queue),
            trim: self.trim.or(other.trim),
            trim_dscp: self.trim_dscp.or(other.trim_dscp),
            ecn: self.ecn.or(other.ecn),
            overhead: self.overhead.or(other.overhead),
            delay: self.delay.or(other.delay),
            loss: self.loss.or(other.loss),
            burst_loss: self.burst_loss.or(other.burst_loss),
            reorder: self.reorder.or(other.reorder),
            reorder_delay: self.reorder_delay.or(other.reorder_delay),
            duplicate: self.duplicate.or(other.duplicate),
            corrupt: self.corrupt.or(other.corrupt),
            uplink: self.uplink.or(other.uplink),
            uplink_queue: self.uplink_queue.or(other.uplink_queue),
            seed: self.seed.or(other.seed),
            multicast: self.multicast.or(other.multicast),
            port: if self.port.is_empty() { other.port.clone() } else { self.port },
        }
    }
}

fn check(place: &str, settings: &Settings) -> Result<(), ConfigError> {
    let is_rate = |rate: Option<Rate>| rate.is_none_or(|rate| rate.bps() > 0);
    let is_queue = |bytes: Option<Bytes>| bytes.is_none_or(|bytes| bytes.0 >= MIN_QUEUE);
    let is_delay = |delay: Option<Duration>| delay.is_none_or(|delay| delay <= MAX_DELAY);
    let queue = format!("{MIN_QUEUE}B or more, so that a frame fits");
    let delay = format!("{MAX_DELAY} or less");
    let trims = |size: u16| size == 0 || trim::TRIM_SIZES.contains(&size);
    let rules = [
        ("rate", is_rate(settings.rate), "more than 0bps"),
        ("uplink", is_rate(settings.uplink), "more than 0bps"),
        ("queue", is_queue(settings.queue), &queue),
        ("header_queue", is_queue(settings.header_queue), &queue),
        ("uplink_queue", is_queue(settings.uplink_queue), &queue),
        ("trim", settings.trim.is_none_or(trims), "80 to 1024 (bytes of each IP packet), or 0"),
        ("trim_dscp", settings.trim_dscp.is_none_or(|dscp| dscp < 64), "0 to 63"),
        ("overhead", settings.overhead.is_none_or(|bytes| bytes.0 <= 1000), "1KB or less"),
        ("delay", is_delay(settings.delay), &delay),
        ("reorder_delay", is_delay(settings.reorder_delay), &delay),
    ];
    match rules.into_iter().find(|(_, holds, _)| !holds) {
        Some((key, _, expected)) => {
            Err(ConfigError::Range { place: place.to_owned(), key, expected: expected.to_owned() })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn ports_override_what_is_at_the_top() {
        let text = r#"
            seed = 1
            rate = "100Mbps"
            queue = "150kB"
            trim = 128
            delay = "50us"
            loss = "1%"
            burst_loss = { enter = "0.1%", leave = "20%" }
            [port.p3]
            rate = "10Mbps"
            trim = 0
        "#;
        let config = Config::parse(text).expect("a configuration");
        assert_eq!(config.seed(), 1);
        let (p1, p3) = (config.port("p1"), config.port("p3"));
        assert_eq!((p1.link.rate, p3.link.rate), (Some(Rate::from_mbps(100)), Some(Rate::from_mbps(10))));
        assert_eq!((p1.limits.trim, p3.limits.trim), (Some(128), None));
        assert_eq!((p3.limits.data, p3.limits.headers), (150_000, 150_000));
        assert_eq!(p3.link.delay, Duration::from_us(50));
        assert_eq!(p3.impairments.burst_loss.map(|burst| burst.loss), Some(Probability::ALWAYS));
        let over = Settings { rate: Some(Rate::from_mbps(50)), seed: Some(2), ..Settings::default() };
        let config = config.with(over).expect("in range");
        assert_eq!(config.seed(), 2);
        let rates = ["p1", "p3"].map(|name| config.port(name).link.rate);
        assert_eq!(rates, [Some(Rate::from_mbps(50)), Some(Rate::from_mbps(10))]);
    }

    #[test]
    fn the_page_shows_all_keys_with_their_defaults() {
        let page = include_str!("../../../docs/fidelity/software-switch.md");
        let text = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
        let Settings { rate, queue, header_queue, trim, trim_dscp, ecn, overhead, delay, loss, burst_loss, .. } =
            Config::parse(text).expect("it is right").settings;
        assert!(rate.is_some() && queue == Some(Bytes(150_000)) && header_queue == queue);
        assert!(trim.is_some() && trim_dscp.is_some() && ecn.is_some() && overhead.is_some() && delay.is_some());
        assert!(loss.is_some() && burst_loss.is_some());
        let Settings {
            reorder, reorder_delay, duplicate, corrupt, uplink, uplink_queue, seed, multicast, port, ..
        } = Config::parse(text).expect("it is right").settings;
        assert!(
            reorder.is_some()
                && reorder_delay == Some(Duration::from_ms(1))
                && duplicate.is_some()
                && corrupt.is_some()
        );
        assert!(uplink.is_some() && uplink_queue == Some(Bytes(1_500_000)));
        assert!(seed.is_some() && multicast.is_some() && port.len() == 1);
    }

    #[test]
    fn errors_name_the_place_and_what_is_expected() {
        assert_eq!(error("trim = 79"), "trim: expected 80 to 1024 (bytes of each IP packet), or 0");
        assert_eq!(error("[port.a]\nqueue = '10B'"), "port.a.queue: expected 1600B or more, so that a frame fits");
        assert_eq!(error("[port.a]\nseed = 1"), "port.a.seed: expected it at the top of the file only");
        assert_eq!(error("rate = '0'"), "rate: expected more than 0bps");
        assert_eq!(error("delay = '11s'"), "delay: expected 10s or less");
        assert!(error("seed = 1\nratee = '1Mbps'").contains("line 2") && error("ratee = 1").contains("`rate`"));
        assert!(error("rate = '100'").contains("the unit is missing"));
        assert!(error("loss = '200%'").contains("expected 0% to 100%"));
        assert!(error("[port.a]\nburst_loss = { enter = '1%' }").contains("missing field `leave`"));
        assert!(error("loss = 1").contains("a probability in quotes"));
    }

    #[test]
    fn ports_must_be_some_and_different() {
        let config = Config::parse("[port.p3]\nrate = '1Mbps'").expect("a configuration");
        let error = |names: &[&str]| config.check_ports(names).expect_err("not these").to_string();
        assert_eq!(error(&["p3"]), "a switch has 2 to 64 ports, not 1");
        assert_eq!(error(&["p3", "p1", "p3"]), "port p3 is there twice");
        assert_eq!(error(&["p1", "p2"]), "port.p3: there is no such port; there are p1, p2");
        assert_eq!(config.check_ports(&["p1", "p3"]), Ok(()));
    }
}
