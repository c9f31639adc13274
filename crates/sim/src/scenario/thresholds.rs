//! Numbers of switches and of Homa that hold at some rate and round trip, and are too small for those of the fabric: marks that come too soon,
//! buffers that run empty, messages that wait for their first grant.

use super::queue::QueueKind;
use super::remarks::{Remark, percent, rounded};
use super::{BufferSize, Scenario, SwitchConfig, TransportName};
use crate::fabric::routing::LongestPath;
use crate::host::protocol::{Protocol, Transport};
use anabranch_transport::Bytes;
use anabranch_transport::tcp::Algorithm;

impl Scenario {
    /// What of a transport and its switches is too small for its longest path.
    pub(super) fn thresholds(&self, name: TransportName, transport: &Transport, path: LongestPath) -> Vec<Remark> {
        // Fair queues are made of those of the transports.
        let queue = if self.switch.queue == QueueKind::Fair { QueueKind::Auto } else { self.switch.queue };
        let own = SwitchConfig { queue, ..self.switch.clone() };
        let switch = own.resolve(name, path.rate, transport.packet_bytes());
        let threshold = switch.ecn_threshold.filter(|_| self.switch.ecn_threshold != BufferSize::Auto);
        let marks = threshold.and_then(|threshold| early_marks(transport, path, switch.queue, threshold));
        let single = self.switch.shared_buffer.is_none() && switch.queue == QueueKind::DropTail;
        let buffer = if single { short_buffer(transport, path, switch.buffer) } else { None };
        marks.into_iter().chain(buffer).chain(few_unscheduled(transport, path)).collect()
    }
}

fn bytes(size: BufferSize, packet: u64) -> Option<u64> {
    match size {
        BufferSize::Packets(n) => Some(u64::from(n).saturating_mul(packet)),
        BufferSize::Bytes(Bytes(n)) => Some(n),
        BufferSize::Auto | BufferSize::Unlimited => None,
    }
}

/// What the path is that a number is too small for.
fn of(path: LongestPath) -> String {
    format!("{} at {}", rounded(path.round_trip), path.rate)
}

/// A threshold from which on DCTCP's kin cut windows so early that the queue runs empty: below C T / 7 (Joy 2015, equation 4), for any number of
/// flows. What ECN* needs depends on how many there are (equation 3).
fn early_marks(transport: &Transport, path: LongestPath, queue: QueueKind, threshold: BufferSize) -> Option<Remark> {
    let Protocol::Tcp(tcp) = &transport.protocol else { return None };
    let kin = [Algorithm::Dctcp, Algorithm::D2tcp, Algorithm::FaDctcp, Algorithm::L2dct];
    let instantaneous = matches!(queue, QueueKind::Ecn | QueueKind::Mlfq | QueueKind::MlfqTrim);
    if !kin.contains(&tcp.congestion) || !instantaneous {
        return None;
    }
    let (packet, needed) = (transport.packet_bytes(), path.bdp().0 / 7);
    bytes(threshold, packet).filter(|given| *given < needed)?;
    let text = format!(
        "{}: marks from {threshold} on come before a queue has a seventh of what the longest path carries in a round trip ({}): after a cut of the window the link idles",
        transport.name,
        of(path)
    );
    let hint = format!("ecn_threshold = \"{} packets\"", needed.div_ceil(packet));
    Some(Remark::new("switch.ecn_threshold", text, &hint, false))
}

/// A buffer that runs empty when one flow shrinks its window for a loss: to a half, and CUBIC's to 0.7 (RFC 5681 §3.1, RFC 9438 §4.6).
fn short_buffer(transport: &Transport, path: LongestPath, buffer: BufferSize) -> Option<Remark> {
    let Protocol::Tcp(tcp) = &transport.protocol else { return None };
    let kept = match tcp.congestion {
        Algorithm::Reno | Algorithm::NewReno => 0.5,
        Algorithm::Cubic => 0.7,
        _ => return None,
    };
    let (bdp, packet) = (path.bdp().0 as f64, transport.packet_bytes());
    // A window that the receiver keeps smaller than that loses nothing, and is told elsewhere.
    let given = bytes(buffer, packet)? as f64;
    // The window is what the path and the buffer hold, and what is left of it must fill the path.
    if (given + bdp) * kept >= bdp || (tcp.receive_window.0 as f64) < bdp + given {
        return None;
    }
    let (name, needs) = (&transport.name, (bdp * (1.0 / kept - 1.0) / packet as f64).ceil());
    let text = format!(
        "{name}: a buffer of {buffer} is {} % of what the longest path carries in a round trip ({}): when one flow has a loss and takes its window to {kept}, its link idles",
        percent(given / bdp),
        of(path)
    );
    Some(Remark::new(
        "switch.buffer",
        text,
        &format!("buffer = \"{needs} packets\", or several flows on each link"),
        false,
    ))
}

/// Messages of Homa that begin with less than the path carries until they are granted more.
fn few_unscheduled(transport: &Transport, path: LongestPath) -> Option<Remark> {
    let Protocol::Homa(config) = &transport.protocol else { return None };
    let given = config.unscheduled_bytes.filter(|given| *given < config.rtt_bytes)?;
    let (full, header) = (transport.packet_bytes(), transport.header_bytes());
    let payload = full.saturating_sub(header).max(1);
    let packets = given.0.div_ceil(payload);
    let share = packets.saturating_mul(full) as f64 / path.bdp().0.max(1) as f64;
    if share >= 0.995 {
        return None;
    }
    let text = format!(
        "{}: a message begins with {given} and waits for its first grant, {} % of a round trip of the longest path ({}) without data",
        transport.name,
        percent(1.0 - share),
        of(path)
    );
    Some(Remark::new("transport.homa.unscheduled_bytes", text, "leave it out: then it is rtt_bytes", false))
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Plan, parse};

    /// A round trip of 8.5 us at 100 Gbps: 106 KB, 71 packets.
    const TEXT: &str = r#"
fabric = { topology = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2, rate = "100Gbps", delay = "1us" }
transport = { name = "dctcp", window = "4 bdp" }
[[workload]]
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "pairs", pairs = [[0, 3]] }
"#;

    fn plan(overrides: &[&str]) -> Plan {
        let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
        parse("thresholds.toml", TEXT, &overrides).unwrap_or_else(|e| panic!("{overrides:?}: {e}"))
    }

    fn told(overrides: &[&str], key: &str) -> Option<String> {
        let plan = plan(overrides);
        let found = plan.runs[0].remarks.iter().find(|remark| remark.fault.key == key);
        found.map(|remark| format!("{} ({})", remark.fault.message, remark.fault.hint.as_deref().unwrap_or_default()))
    }

    #[test]
    fn marks_that_come_too_soon() {
        let marks = |overrides: &[&str]| told(overrides, "switch.ecn_threshold");
        assert_eq!(marks(&[]), None, "auto");
        // A seventh of 71 packets is 10.1.
        assert_eq!(marks(&["switch.ecn_threshold=11 packets"]), None);
        let text = marks(&["switch.ecn_threshold=10 packets"]).expect("it is told");
        assert!(
            text.contains(
                "dctcp: marks from 10 packets on come before a queue has a seventh of what the longest path carries"
            ),
            "{text}"
        );
        assert!(text.ends_with("(ecn_threshold = \"11 packets\")"), "{text}");
        // ECN* needs more for one flow, and less for many; NewReno answers no marks.
        assert_eq!(marks(&["transport.name=ecn-star", "switch.ecn_threshold=1 packets"]), None);
        assert_eq!(marks(&["transport.name=newreno", "switch.queue=ecn", "switch.ecn_threshold=1 packets"]), None);
        // Of an average that RED computes the rule says nothing.
        assert_eq!(marks(&["switch.queue=linux-red", "switch.ecn_threshold=10 packets"]), None);
    }

    #[test]
    fn buffers_that_run_empty() {
        let buffer = |overrides: &[&str]| told(overrides, "switch.buffer");
        let reno = |size: &str| buffer(&["transport.name=reno", &format!("switch.buffer={size} packets")]);
        assert_eq!((buffer(&["transport.name=reno"]), reno("71")), (None, None));
        let text = reno("70").expect("it is told");
        assert!(text.starts_with("reno: a buffer of 70 packets is 99 % of what"), "{text}");
        assert!(text.ends_with("(buffer = \"71 packets\", or several flows on each link)"), "{text}");
        // 71 (1 / 0.7 - 1) are 30.3.
        let cubic = |size: &str| buffer(&["transport.name=cubic", &format!("switch.buffer={size} packets")]);
        assert_eq!((cubic("31"), cubic("30").is_some()), (None, true));
        assert_eq!(buffer(&["switch.buffer=70 packets"]), None, "DCTCP goes by marks");
        assert_eq!(
            buffer(&["transport.name=reno", "switch.buffer=10 packets", "transport.window=given"]),
            None,
            "its window is the limit"
        );
        assert_eq!(buffer(&["transport.name=reno", "switch.buffer=10 packets", "switch.shared_buffer=1MB"]), None);
    }

    #[test]
    fn messages_that_wait_for_their_first_grant() {
        let few = |bytes: &str| {
            let bytes = format!("transport.homa.unscheduled_bytes={bytes}");
            told(&["transport.name=homa", "transport.window=bdp", &bytes], "transport.homa.unscheduled_bytes")
        };
        assert_eq!(told(&["transport.name=homa"], "transport.homa.unscheduled_bytes"), None);
        assert_eq!(few("200KB"), None);
        // 42 packets of 71.
        let text = few("60KB").expect("it is told");
        assert!(
            text.contains("homa: a message begins with 60KB and waits for its first grant, 41 % of a round trip"),
            "{text}"
        );
    }
}
