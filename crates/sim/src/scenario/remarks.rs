//! What a run's author should know before trusting it: windows that don't fill the fabric, decoders slower than it, loads that it
//! doesn't carry. Nothing of this is wrong; the run says it beside its results.

use super::fabric::Fabrics;
use super::windows::{Paths, symbols_per_pull};
use super::{QueueKind, Scenario, TransportName};
use crate::fabric::routing::{LongestPath, MOST_VLANS, RoutingMode};
use crate::host::protocol::{Protocol, Transport};
use crate::host::scdp::ScdpSettings;
use crate::workload::{Fault, Mode};
use anabranch_transport::roce::{Congestion, RoceConfig, Variant};
use anabranch_transport::scdp::{ScdpConfig, WindowControl};
use anabranch_transport::tcp::{Algorithm, TcpConfig};
use anabranch_transport::{Bytes, Duration, Rate};
use std::path::Path;

/// What to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The key that decides it, and the sentence.
    pub fault: Fault,
    /// Whether it is so grave that it is told before the run, too.
    pub grave: bool,
}

impl Remark {
    pub(super) fn new(key: &str, text: String, hint: &str, grave: bool) -> Self {
        Self { fault: Fault::new(key, text).hint(hint).warn(), grave }
    }
}

/// What makes windows follow the fabric.
const FOLLOW: &str = "transport.window = \"bdp\" makes the windows of all transports follow the fabric";

impl Scenario {
    /// All that is to say, the gravest first; nothing of a scenario that is wrong.
    pub(super) fn remarks(&self, base: &Path, fabrics: &Fabrics) -> Vec<Remark> {
        let Ok(paths) = fabrics.paths(&self.fabric, base) else { return Vec::new() };
        let mut remarks: Vec<Remark> = self.overload(base, &paths).into_iter().chain(self.misfits(&paths)).collect();
        if self.routing.mode == RoutingMode::Spain
            && let Ok(graph) = fabrics.get(&self.fabric, base)
        {
            let text = format!(
                "spain: its paths take {} VLANs, of which Ethernet has {MOST_VLANS}",
                self.routing.spain.needs(&graph).0
            );
            remarks.push(Remark::new("routing.spain.k", text, "fewer paths take fewer VLANs", false));
        }
        remarks.sort_by_key(|remark| !remark.grave);
        remarks
    }

    /// Windows, decoders and timeouts that do not fit the fabric.
    #[allow(clippy::match_wildcard_for_single_variants)] // one today
    pub(super) fn misfits(&self, paths: &Paths) -> Vec<Remark> {
        let mut remarks = self.misfits_of_presets(&paths.graph);
        remarks.extend(self.short_pauses(&paths.graph));
        for name in self.transports() {
            let transport = self.carrier(name, Some(paths));
            let Some(path) = self.longest_path(name, &transport, paths) else { continue };
            remarks.extend(self.misfits_of_roce(name, &transport));
            remarks.extend(self.misfits_of_order(name, &transport));
            remarks.extend(self.thresholds(name, &transport, path));
            let window = Window { transport: &transport, path };
            match &transport.protocol {
                Protocol::Ndp(config) => {
                    remarks.extend(window.packets("ndp.initial_window", "a window", config.initial_window, 1));
                    remarks.extend(late(&transport, path, "ndp.rto_initial", config.rto_initial));
                }
                Protocol::Homa(config) => {
                    remarks.extend(window.payload("homa.rtt_bytes", "RTTbytes", config.rtt_bytes));
                    remarks.extend(late(&transport, path, "homa.resend_timeout", config.resend_timeout));
                    remarks.extend(self.few_bands(&transport, config.priorities));
                }
                Protocol::Phost(config) => {
                    remarks.extend(window.packets("phost.window", "a window", config.window, 1));
                    remarks.extend(late(&transport, path, "phost.resend_timeout", config.resend_timeout));
                    remarks.extend(self.few_bands(&transport, config.priorities));
                }
                Protocol::Scdp(config) => {
                    remarks.extend(self.windows_of_scdp(name, config, &window));
                    if name.decoding(&self.transport).is_some() {
                        remarks.extend(slow_decoder(config, &transport, path));
                    }
                    remarks.extend(late(&transport, path, "scdp.pull_timeout", config.pull_timeout));
                }
                Protocol::Tcp(config) => remarks.extend(windows_of_tcp(config, &window)),
                Protocol::Roce(config) => remarks.extend(target_of_timely(config, &window)),
                Protocol::Multipath(config) => remarks.extend(receive_window(&window, config.receive_window())),
                // UDP has no window, and a transport that is added need not have one.
                _ => {}
            }
        }
        remarks
    }

    /// The transports of the workloads, each once.
    fn transports(&self) -> Vec<TransportName> {
        let mut names = Vec::new();
        for workload in &self.workload {
            let name = self.transport_of(workload);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Priorities that a transport gives its packets and switches do not tell apart.
    fn few_bands(&self, transport: &Transport, needed: u8) -> Option<Remark> {
        let switch = &self.switch;
        let queue = if switch.queue == QueueKind::Auto { self.transport.name.queue() } else { switch.queue };
        let (bands, key, hint) = match (&switch.pfc, queue) {
            (Some(pfc), _) => (pfc.priorities, "switch.pfc.priorities", "in [switch.pfc], priorities = 8"),
            (None, QueueKind::Mlfq | QueueKind::MlfqTrim) => {
                (switch.priorities, "switch.priorities", "in [switch], priorities = 8, or queue = \"priority\"")
            }
            // Of `fair`, the queue of this transport.
            (None, QueueKind::Priority | QueueKind::Fair) => return None,
            (None, _) => (1, "switch.queue", "in [switch], queue = \"priority\""),
        };
        let text = || {
            let name = &transport.name;
            format!("{name}: uses {needed} priorities, the switches have {bands}: all below the last share it")
        };
        (bands < needed).then(|| Remark::new(key, text(), hint, true))
    }

    fn windows_of_scdp(&self, name: TransportName, config: &ScdpConfig, window: &Window<'_>) -> Vec<Remark> {
        if config.window_control == WindowControl::Bbr {
            return window.packets("scdp.window_limit", "a window limit", config.window_limit, 1).into_iter().collect();
        }
        let mode = |workload: &super::WorkloadConfig| {
            let law = workload.placement.as_ref().map(|placement| placement.law().mode(workload.mode));
            law.and_then(Result::ok).unwrap_or(Mode::Unicast)
        };
        let used = self.workload.iter().filter(|workload| self.transport_of(workload) == name);
        let (reads, others): (Vec<_>, Vec<_>) = used.partition(|workload| mode(workload) == Mode::ManyToOne);
        let mut remarks = Vec::new();
        if !others.is_empty() {
            remarks.extend(window.packets("scdp.initial_window", "a window", config.initial_window, 1));
            remarks.extend(many_pulls(config, window.transport, self.receivers_of_a_session()));
        }
        if !reads.is_empty() {
            let (own, senders) = (config.initial_window_many_to_one, self.senders_of_a_session());
            remarks.extend(window.packets("scdp.initial_window_many_to_one", "a window", own, senders));
        }
        remarks
    }
}

fn windows_of_tcp(config: &TcpConfig, window: &Window<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if config.congestion == Algorithm::Pfabric {
        let (name, own) = ("pfabric.initial_window", config.initial_window);
        remarks.extend(window.packets(name, "an initial window", own, 1));
        // The only timeout that does not grow with the round trips that are measured.
        remarks.extend(late(window.transport, window.path, "pfabric.rto", config.rto_min));
    } else {
        remarks.extend(late(window.transport, window.path, "tcp.rto_initial", config.rto_initial));
    }
    if let Some(swift) = &config.swift {
        let switches = u64::from(window.path.links.saturating_sub(1));
        let target = swift.base_target + swift.hop_target * switches;
        remarks.extend(short_target(window, "swift.base_target", target));
    }
    remarks.extend(receive_window(window, config.receive_window));
    remarks
}

fn receive_window(window: &Window<'_>, own: Bytes) -> Option<Remark> {
    window.payload("tcp.receive_window", "a receive window", own)
}

/// What a transport may have on the longest path.
struct Window<'a> {
    transport: &'a Transport,
    path: LongestPath,
}

impl Window<'_> {
    /// A window of `own` packets for each of `senders`, if that is too little: `what` names it.
    fn packets(&self, key: &str, what: &str, own: u32, senders: u32) -> Option<Remark> {
        let packet = self.transport.packet_bytes();
        let all = u64::from(own) * u64::from(senders);
        let needed = self.path.bdp().0.div_ceil(packet.max(1));
        let each = needed.div_ceil(u64::from(senders.max(1)));
        let tail = if senders > 1 { format!(" for each of {senders} senders") } else { String::new() };
        let own = format!("{what} of {own} packet{}{tail}", if own == 1 { "" } else { "s" });
        self.remark(key, &own, all.saturating_mul(packet), all < needed, &each.to_string())
    }

    /// A window of so many bytes of payload, if it is too small: `what` names it.
    fn payload(&self, key: &str, what: &str, own: Bytes) -> Option<Remark> {
        let (full, header) = (self.transport.packet_bytes(), self.transport.header_bytes());
        let payload = full.saturating_sub(header).max(1);
        let needed = self.path.bdp().0.div_ceil(full.max(1)).saturating_mul(payload);
        let on_the_wire = u128::from(own.0) * u128::from(full) / u128::from(payload);
        let on_the_wire = u64::try_from(on_the_wire).unwrap_or(u64::MAX);
        let text = format!("{what} of {own}");
        self.remark(key, &text, on_the_wire, own.0 < needed, &Bytes(needed).to_string())
    }

    fn remark(&self, key: &str, own: &str, bytes: u64, short: bool, needed: &str) -> Option<Remark> {
        let share = bytes as f64 / self.path.bdp().0.max(1) as f64;
        let text = || {
            let percent = percent(share.min(0.99));
            let (name, LongestPath { round_trip, rate, .. }) = (&self.transport.name, self.path);
            let path = format!("{} at {rate}", rounded(round_trip));
            format!("{name}: {own} fills {percent} % of the longest path (needs {needed}: {path})")
        };
        // A last packet that is not quite full makes no difference.
        (short && share < 0.995).then(|| Remark::new(&format!("transport.{key}"), text(), FOLLOW, share < 0.5))
    }
}

/// A share in percent, to two digits if it is below 10.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent >= 9.95 {
        0
    } else if percent >= 0.995 {
        1
    } else {
        2
    };
    let text = format!("{percent:.digits$}");
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// A time to three digits.
pub(super) fn rounded(time: Duration) -> Duration {
    let unit = 10_u64.pow(time.ps().checked_ilog10().unwrap_or(0).saturating_sub(2));
    Duration((time.ps().saturating_add(unit / 2)) / unit * unit)
}

/// A decoder that takes longer for a block than the longest path takes to carry it.
fn slow_decoder(config: &ScdpSettings, transport: &Transport, path: LongestPath) -> Option<Remark> {
    let latency = config.decoding.latency(config.block_symbols, Bytes(config.symbol_bytes()));
    let symbols = u64::from(config.block_symbols);
    let carried = path.rate.transmit_time(symbols.saturating_mul(transport.packet_bytes()));
    let cores = config.decoding.decode_cores;
    if latency <= carried * u64::from(cores) {
        return None;
    }
    let bits = u128::from(symbols) * u128::from(config.symbol_bytes()) * 8 * u128::from(cores);
    let bps = bits * u128::from(anabranch_transport::units::PS_PER_S) / u128::from(latency.ps());
    let text = format!(
        "{}: decodes at {}{}, slower than the longest path's {}: a block that has lost symbols takes {} more",
        transport.name,
        rounded_rate(Rate(u64::try_from(bps).unwrap_or(u64::MAX))),
        if cores > 1 { format!(" on {cores} cores") } else { String::new() },
        path.rate,
        rounded(latency)
    );
    let hint = "transport.scdp.decode_table = \"measured\" is this project's codec, decode_polynomial = [0.0] none, decode_cores how many decode";
    Some(Remark::new("transport.scdp.decode_rate", text, hint, true))
}

/// Pulls of a group that do not fit on the link to their sender.
fn many_pulls(config: &ScdpConfig, transport: &Transport, receivers: u32) -> Option<Remark> {
    let (packet, header) = (transport.packet_bytes(), transport.header_bytes());
    let own = config.symbols_per_pull.unwrap_or(1).min(config.initial_window / 2).max(1);
    let share = f64::from(receivers) * header as f64 / (f64::from(own) * packet.max(1) as f64);
    let text = || {
        let (percent, needed) = (percent(share), symbols_per_pull(receivers, packet, header));
        let name = &transport.name;
        format!(
            "{name}: the pulls of {receivers} receivers take {percent} % of the link to their sender (half of it with {needed} symbols per pull)"
        )
    };
    (share > 1.0).then(|| Remark::new("transport.scdp.symbols_per_pull", text(), FOLLOW, true))
}

/// A rate to three digits.
fn rounded_rate(rate: Rate) -> Rate {
    let unit = 10_u64.pow(rate.bps().checked_ilog10().unwrap_or(0).saturating_sub(2));
    Rate(rate.bps().saturating_add(unit / 2) / unit * unit)
}

/// TIMELY's threshold above which all rates fall, or its reference.
fn target_of_timely(config: &RoceConfig, window: &Window<'_>) -> Option<Remark> {
    let Some(Congestion::Timely(timely)) = &config.congestion else { return None };
    match timely.variant {
        Variant::Gradient | Variant::PerRtt => short_target(window, "timely.t_high", timely.t_high),
        Variant::Patched => short_target(window, "timely.t_low", timely.t_low),
    }
}

/// A round trip that a congestion control aims at, and that is over before an answer can be there.
fn short_target(window: &Window<'_>, key: &str, target: Duration) -> Option<Remark> {
    let text = || {
        let (name, round_trip) = (&window.transport.name, rounded(window.path.round_trip));
        format!(
            "{name}: the round trip that it aims at ({}) is shorter than one of the longest path without queues ({round_trip}): flows leave links idle",
            rounded(target)
        )
    };
    let is_short = target < window.path.round_trip;
    is_short.then(|| Remark::new(&format!("transport.{key}"), text(), "more than that round trip", true))
}

/// A timeout that is over before an answer can be there.
fn late(transport: &Transport, path: LongestPath, key: &str, timeout: Duration) -> Option<Remark> {
    let text = || {
        let (name, round_trip) = (&transport.name, rounded(path.round_trip));
        format!(
            "{name}: a timeout of {timeout} is shorter than a round trip of the longest path ({round_trip}): what is on its way is sent again"
        )
    };
    let hint = "a few round trips";
    (timeout < path.round_trip).then(|| Remark::new(&format!("transport.{key}"), text(), hint, true))
}
