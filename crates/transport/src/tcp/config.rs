//! Parameters of a TCP connection.

use super::algorithm::Algorithm;
use super::swift::SwiftConfig;
use crate::PriorityBy;
use crate::config::{ConfigError, check_time};
use crate::demotion;
use crate::units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Duplicate ACKs that mean a loss (RFC 5681 §3.2).
pub(super) const DUP_THRESHOLD: u32 = 3;

/// What tells FA-DCTCP that a flow is a long one (Joy 2015, §3.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LongFlowBy {
    /// The bytes that wait in its socket's buffer: more than `long_flow_size` at some time. Once long, always long.
    #[default]
    Queued,
    /// Its destination port: one of `long_flow_ports`.
    Port,
    /// Either of them.
    Either,
}

/// By which rules the congestion window moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WindowRules {
    /// Those of the RFCs: bytes; growth by the bytes acknowledged, with each ACK that carries no echo (RFC 5681, 3168, 8257).
    #[default]
    #[serde(rename = "rfc")]
    Rfc,
    /// Growth, and reductions for echoes, nearly as in Linux 3.2 with Stanford's DCTCP patch: whole segments; growth by the number of
    /// ACKs, and none from an echo until what was sent by then is acknowledged (CWR state). Losses and timeouts reduce it by the RFCs, in bytes.
    #[serde(rename = "linux-3.2")]
    Linux32,
    /// As in Linux 6.1: whole segments; growth by the segments that are acknowledged; an echo takes the window down over a round trip, in
    /// proportion to what arrives, and the recovery of a loss that is found meanwhile goes on with that (CWR state). With `rack`, the
    /// probe for a single segment waits `rto_min` more (`tcp_schedule_loss_probe`), instead of the time of a delayed ACK.
    #[serde(rename = "linux-6.1")]
    Linux61,
}

impl WindowRules {
    /// Whether they are the RFCs': scenarios that do not say keep the hashes of their runs.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's way to ask")]
    fn is_default(&self) -> bool {
        *self == Self::Rfc
    }

    /// As in scenario files.
    fn name(self) -> &'static str {
        match self {
            Self::Rfc => "rfc",
            Self::Linux32 => "linux-3.2",
            Self::Linux61 => "linux-6.1",
        }
    }
}

/// Scenarios that do not ask for a feature keep the hashes of their runs.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's way to ask")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's way to ask")]
fn is_true(value: &bool) -> bool {
    *value
}

/// Parameters of a TCP connection; both ends take the same ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, named as in the scenario file")]
pub struct TcpConfig {
    /// A full packet on the wire, headers included: more than `header`, at most 65535 B. Default 1500 B (Ethernet).
    pub packet: Bytes,
    /// Headers of every packet, and the size of a pure ACK: 1 B or more. Default 40 B (IPv4 and TCP without options).
    /// SACK blocks come on top. The payload of a full packet is `packet - header`.
    pub header: Bytes,
    /// Initial congestion window in segments: 1 to 1000. Default 10 (RFC 6928).
    pub initial_window: u32,
    /// Receive window: `packet - header` to 1 GiB (RFC 7323 §2.3). Default 65535 B; more means window scaling.
    pub receive_window: Bytes,
    /// Lower bound of the retransmission timeout: above 0. Default 200 ms (Linux; RFC 6298 §2.4 asks for 1 s).
    pub rto_min: Duration,
    /// Retransmission timeout before the first round-trip sample; `rto_min` if that is longer.
    /// Default 1 s (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// Timeout of a SYN or SYN-ACK, doubled each time: above 0, at most `rto_max`. Default: that of `rto_initial`. After a
    /// repeated SYN data begins with 3 s, or `rto_initial` if that is less (RFC 6298 §5.7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syn_timeout: Option<Duration>,
    /// Upper bound of the backed-off retransmission timeout, at least `rto_min`. Default 60 s (RFC 6298 §2.5).
    pub rto_max: Duration,
    /// Clock granularity G of RFC 6298 §2: the least margin between the smoothed round-trip time and the timeout. Timers of `rack` fire so
    /// much later than computed. Default 1 us; Linux 6.1 adds 2 ms to those of RACK, and rounds up to clock ticks.
    pub clock_granularity: Duration,
    /// Acknowledge every second full segment, or after `delayed_ack_timeout` (RFC 5681 §4.2). Default false.
    pub delayed_ack: bool,
    /// Longest delay of an ACK: above 0, at most 500 ms (RFC 5681 §4.2). Default 40 ms (Linux).
    pub delayed_ack_timeout: Duration,
    /// The first data segments of a connection that are acknowledged at once in spite of `delayed_ack`, so that a small first window
    /// does not wait for the delay. Default 0; ns-3 up to 3.14 has 1, Linux up to 16 (`TCP_MAX_QUICKACKS`).
    pub quick_acks: u16,
    /// Selective acknowledgements (RFC 2018) and the recovery of RFC 6675. Default false.
    pub sack: bool,
    /// Send a new segment on each of the first two duplicate ACKs (RFC 3042). Default true.
    pub limited_transmit: bool,
    /// Whether duplicate ACKs, and selective ones, tell of losses, which then are repaired before the retransmission timer fires (RFC 5681 §3.2, RFC
    /// 6675). Default true. False: only the timer does, as where packets take several paths and none is lost (`DeTail`); not with `rack`.
    #[serde(skip_serializing_if = "is_true")]
    pub fast_retransmit: bool,
    /// Proportional rate reduction in recovery (RFC 9937), with any congestion control, with and without `sack`. Default false:
    /// recovery as in RFC 6675 and RFC 6582.
    pub prr: bool,
    /// Loss detection by time, and tail loss probes (RACK-TLP, RFC 8985), with any congestion control but `pfabric`; needs `sack`.
    /// Default false: losses are found by duplicate ACKs (RFC 6675), and by the retransmission timer.
    #[serde(skip_serializing_if = "is_false")]
    pub rack: bool,
    /// `HyStart++` in the initial slow start (RFC 9406), with any congestion control. Default false: standard slow start.
    pub hystart: bool,
    /// Least rise of the round-trip time in a round that makes `HyStart++` leave slow start: above 0. Default 4 ms (RFC 9406 §4.3), which is longer
    /// than the queues of most data centres: it has to be shorter than a full queue lasts.
    pub hystart_min_rtt_thresh: Duration,
    /// The rise that always does, however long the round-trip time; between these two, an eighth of it. At least
    /// `hystart_min_rtt_thresh`. Default 16 ms (RFC 9406 §4.3).
    pub hystart_max_rtt_thresh: Duration,
    /// Explicit congestion notification (RFC 3168). Default false; DCTCP uses ECN whatever this says.
    pub ecn: bool,
    /// Congestion control. Default `newreno`. No key of a scenario: there the transport's name says it.
    #[serde(skip)]
    pub congestion: Algorithm,
    /// pFabric: consecutive timeouts after which a flow probes. No key of a scenario: `transport.pfabric` has it.
    #[serde(skip)]
    pub probe_after: u8,
    /// Swift's own parameters. No key of a scenario: `transport.swift` has them.
    #[serde(skip)]
    pub swift: Option<Box<SwiftConfig>>,
    /// DCTCP's estimation gain g: above 0, at most 1. Default 1/16 (RFC 8257 §4.2).
    pub dctcp_gain: f64,
    /// FA-DCTCP: what tells long flows.
    pub long_flow_by: LongFlowBy,
    /// FA-DCTCP: a flow is long once more than this has waited in its socket's buffer, with `long_flow_by = "queued"` or
    /// `"either"`. Default 1 MB (Joy 2015, §3.3.1).
    pub long_flow_size: Bytes,
    /// FA-DCTCP: flows to these ports (`workload.port`) are long, with `long_flow_by = "port"` or `"either"`. Default none.
    pub long_flow_ports: Vec<u16>,
    /// FA-DCTCP: exponent of alpha for short flows: 1 (DCTCP) to 16. Default: 2 while alpha is above 0.6, otherwise 3 (Joy 2015,
    /// Algorithm 1). The thesis tried 2 to 6 (§3.3.3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_flow_beta: Option<f64>,
    /// Bytes of a flow after which its packets fall to the next lower priority, as PIAS tags them: strictly increasing, at
    /// most 7. ACKs and the handshake keep the highest. Default none, except in `pias`, which then takes those of
    /// `transport.scdp`.
    pub priority_thresholds: Vec<Bytes>,
    /// What priorities follow: the bytes sent, or the size of the flow.
    pub priority_by: PriorityBy,
    /// Consecutive timeouts after which a flow counts its bytes from zero again, so that a starved one regains the highest
    /// priority; 0: never. Default 3 (PIAS's kernel module, `PIAS_TIMEOUT_THRESH`). Of no effect where priorities follow
    /// sizes.
    pub priority_reset: u8,
    /// Simulate the three-way handshake. Default true; without it data leaves at once and both ends agree beforehand.
    pub handshake: bool,
    /// A round trip that both ends know before the first segment, as if it had been measured: of a connection that has been open for some
    /// time. Not above the path's least: `rack` takes an ACK that comes sooner for that of an earlier copy. Above 0, at most 100 s; only without `handshake`. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_rtt: Option<Duration>,
    /// By which rules the congestion window grows, and shrinks for echoes: Linux's for `reno`, `newreno`, `ecn-star`, `dctcp` and
    /// `fa-dctcp`, without `hystart`; `linux-6.1` with `sack` and `prr`. Default `rfc`.
    #[serde(skip_serializing_if = "WindowRules::is_default")]
    pub window_rules: WindowRules,
    /// Consecutive timeouts without progress after which an end gives up: 1 to 255. Default 15 (Linux `tcp_retries2`).
    pub retries: u8,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            packet: Bytes(1500),
            header: Bytes(40),
            initial_window: 10,
            receive_window: Bytes(65_535),
            rto_min: Duration::from_ms(200),
            rto_initial: Duration::from_secs(1),
            syn_timeout: None,
            rto_max: Duration::from_secs(60),
            clock_granularity: Duration::from_us(1),
            delayed_ack: false,
            delayed_ack_timeout: Duration::from_ms(40),
            quick_acks: 0,
            sack: false,
            limited_transmit: true,
            fast_retransmit: true,
            prr: false,
            rack: false,
            hystart: false,
            hystart_min_rtt_thresh: Duration::from_ms(4),
            hystart_max_rtt_thresh: Duration::from_ms(16),
            ecn: false,
            congestion: Algorithm::NewReno,
            probe_after: 5,
            swift: None,
            dctcp_gain: 1.0 / 16.0,
            long_flow_by: LongFlowBy::Queued,
            long_flow_size: Bytes(1_000_000),
            long_flow_ports: Vec::new(),
            short_flow_beta: None,
            priority_thresholds: Vec::new(),
            priority_by: PriorityBy::Sent,
            priority_reset: 3,
            handshake: true,
            known_rtt: None,
            window_rules: WindowRules::Rfc,
            retries: 15,
        }
    }
}

impl TcpConfig {
    /// Checks ranges and the relations between values.
    ///
    /// # Errors
    /// The first value that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |good: bool, field: &'static str, problem: String| {
            if good { Ok(()) } else { Err(ConfigError { field, problem }) }
        };
        let (packet, header, window) = (self.packet, self.header, self.receive_window);
        check(header.0 >= 1, "header", "must be at least 1B".into())?;
        check(packet > header, "packet", format!("{packet} leaves no room for data beside the header of {header}"))?;
        check(packet.0 <= 65_535, "packet", format!("{packet} is larger than an IP packet can be (65535B)"))?;
        check(
            (1..=1000).contains(&self.initial_window),
            "initial_window",
            format!("{} segments; must be 1 to 1000", self.initial_window),
        )?;
        check(
            window.0 >= self.mss(),
            "receive_window",
            format!("{window} is smaller than one segment of {}B", self.mss()),
        )?;
        check(window.0 <= 1 << 30, "receive_window", format!("{window} is above the 1GiB that RFC 7323 allows"))?;
        check(self.rto_min > Duration::ZERO, "rto_min", "must be above 0".into())?;
        check(self.rto_initial > Duration::ZERO, "rto_initial", "must be above 0".into())?;
        check(self.syn_timeout != Some(Duration::ZERO), "syn_timeout", "must be above 0".into())?;
        if let Some(timeout) = self.syn_timeout {
            let problem = format!("{timeout} is above rto_max = {}", self.rto_max);
            check(timeout <= self.rto_max, "syn_timeout", problem)?;
        }
        if let Some(rtt) = self.known_rtt {
            check_time("known_rtt", rtt)?;
            check(!self.handshake, "known_rtt", "the handshake measures it: only with handshake = false".into())?;
        }
        check(self.hystart_min_rtt_thresh > Duration::ZERO, "hystart_min_rtt_thresh", "must be above 0".into())?;
        check(
            self.hystart_max_rtt_thresh >= self.hystart_min_rtt_thresh,
            "hystart_max_rtt_thresh",
            format!(
                "{} is below hystart_min_rtt_thresh = {}",
                self.hystart_max_rtt_thresh, self.hystart_min_rtt_thresh
            ),
        )?;
        check(
            self.rto_max >= self.rto_min,
            "rto_max",
            format!("{} is below rto_min = {}", self.rto_max, self.rto_min),
        )?;
        check(
            self.delayed_ack_timeout > Duration::ZERO && self.delayed_ack_timeout <= Duration::from_ms(500),
            "delayed_ack_timeout",
            format!("{}; must be above 0 and at most 500ms (RFC 5681)", self.delayed_ack_timeout),
        )?;
        check(
            self.dctcp_gain > 0.0 && self.dctcp_gain <= 1.0,
            "dctcp_gain",
            format!("{}; must be above 0 and at most 1", self.dctcp_gain),
        )?;
        let by_port = self.long_flow_by != LongFlowBy::Queued;
        check(
            !by_port || !self.long_flow_ports.is_empty(),
            "long_flow_by",
            "goes by port, but long_flow_ports names none: no flow would be long by its port".into(),
        )?;
        if let Some(beta) = self.short_flow_beta {
            check((1.0..=16.0).contains(&beta), "short_flow_beta", format!("{beta}; must be from 1 to 16"))?;
        }
        check(!self.rack || self.sack, "rack", "tells losses by what SACK says has arrived: needs sack = true".into())?;
        check(
            !self.rack || self.congestion != Algorithm::Pfabric,
            "rack",
            "not with pfabric, in which only timeouts tell of losses".into(),
        )?;
        check(
            self.fast_retransmit || !self.rack,
            "fast_retransmit",
            "rack tells losses by time: it has no duplicate ACKs to ignore".into(),
        )?;
        self.validate_window_rules().map_err(|problem| ConfigError { field: "window_rules", problem })?;
        check(self.retries >= 1, "retries", "must be at least 1".into())?;
        demotion::validate(&self.priority_thresholds)
    }

    fn validate_window_rules(&self) -> Result<(), String> {
        let rules = self.window_rules.name();
        if self.window_rules == WindowRules::Rfc {
            return Ok(());
        }
        if !matches!(self.congestion, Algorithm::Reno | Algorithm::NewReno | Algorithm::Dctcp | Algorithm::FaDctcp) {
            let control = self.congestion.name();
            return Err(format!("{rules} has rules for reno, newreno, dctcp and fa-dctcp, not for {control}"));
        }
        if self.hystart {
            return Err(format!("{rules} has a slow start of its own: not with hystart"));
        }
        if self.window_rules == WindowRules::Linux61 && !(self.sack && self.prr) {
            return Err(format!(
                "{rules} reduces windows in proportion to what SACK tells: needs sack = true and prr = true"
            ));
        }
        Ok(())
    }

    /// TCP as Swift has it: what its parameters do not say is as here. Selective ACKs tell of losses.
    #[must_use]
    pub fn with_swift(&self, swift: &SwiftConfig) -> Self {
        Self { congestion: Algorithm::Swift, sack: true, swift: Some(Box::new(swift.clone())), ..self.clone() }
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u64 {
        self.packet.0 - self.header.0
    }

    /// Whether the connection asks for ECN.
    pub(super) fn wants_ecn(&self) -> bool {
        self.ecn || self.congestion.needs_ecn()
    }
}
