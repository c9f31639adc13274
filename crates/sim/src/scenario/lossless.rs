//! What is wrong with a scenario whose switches pause who sends to them.

use super::remarks::Remark;
use super::{BufferSize, QueueKind, Scenario, TransportName};
use crate::fabric::graph::Graph;
use crate::fabric::pfc::Pfc;
use crate::host::protocol::{Protocol, Transport};
use crate::workload::Fault;

impl Scenario {
    /// Priority flow control, if there is any.
    pub(super) fn pfc(&self, graph: &Graph) -> Option<Pfc> {
        let switch = &self.switch;
        switch
            .pfc
            .as_ref()
            .map(|pfc| pfc.resolve(switch.shared_buffer, switch.shared_alpha, graph, self.packet_bytes()))
    }

    /// What is wrong with priority flow control, if there is any; keys relative to the document.
    pub(super) fn check_pfc(&self, graph: &Graph) -> Vec<Fault> {
        let Some(pfc) = &self.switch.pfc else { return Vec::new() };
        let (switch, packet) = (&self.switch, self.packet_bytes());
        let (memory, alpha) = (switch.shared_buffer, switch.shared_alpha);
        let mut faults = pfc.check(memory, alpha, graph, packet);
        if faults.is_empty() {
            faults = pfc.check_memory(memory, alpha, graph, packet);
        }
        let mut faults: Vec<Fault> = faults.into_iter().map(|fault| fault.under("switch.pfc")).collect();
        let pausable = |kind| matches!(kind, QueueKind::DropTail | QueueKind::Ecn | QueueKind::Red);
        let used = self.workload.iter().map(|workload| self.transport_of(workload));
        let kind = |name| {
            if switch.queue == QueueKind::Auto {
                switch.resolve(name, graph.links[0].rate, packet).queue
            } else {
                switch.queue
            }
        };
        if !graph.links.is_empty() && !used.map(kind).all(pausable) {
            let message = "priority flow control does not go with this queue discipline, which trims, drops or reorders what waits";
            faults.push(Fault::new("switch.queue", message).hint("queue = \"drop-tail\", \"ecn\" or \"red\""));
        }
        if !matches!(switch.buffer, BufferSize::Auto | BufferSize::Unlimited) {
            let message = "with priority flow control memory counts by the port by which packets come";
            faults.push(Fault::new("switch.buffer", message).hint("in [switch.pfc], xoff and headroom say how much"));
        }
        let to_hosts = graph.links.iter().any(|link| graph.is_host(link.a) && graph.is_host(link.b));
        let refused = [
            (switch.pushed_first, "switch.pushed_first", "pushed packets cannot pass others"),
            (graph.multi_homed() || to_hosts, "fabric", "hosts need one link each, to a switch"),
            (!self.failure.is_empty(), "failure", "links cannot fail or change"),
            (!self.controller.is_empty(), "controller", "controllers cannot watch or change switches"),
            (!self.measure.packets.is_empty(), "measure.packets", "packets cannot be captured"),
        ];
        for (_, key, what) in refused.into_iter().filter(|(there, ..)| *there) {
            faults.push(Fault::new(key, format!("{what} in a fabric with priority flow control")));
        }
        faults
    }

    /// Pauses that leave links idle.
    pub(super) fn short_pauses(&self, graph: &Graph) -> Option<Remark> {
        let switch = &self.switch;
        switch.pfc.as_ref()?.remark(switch.shared_buffer, switch.shared_alpha, graph, self.packet_bytes())
    }

    /// What a run with RoCE should know, which is made for fabrics that lose nothing and keep the order of packets.
    pub(super) fn misfits_of_roce(&self, name: TransportName, transport: &Transport) -> Vec<Remark> {
        if !matches!(transport.protocol, Protocol::Roce(_)) {
            return Vec::new();
        }
        let (roce, mode) = (&transport.name, self.routing.resolve(name));
        let mut remarks = Vec::new();
        match &self.switch.pfc {
            None if transport.goes_back() => {
                let text =
                    format!("{roce}: switches may lose packets, and it then sends all that came after them again");
                remarks.push(Remark::new(
                    "switch.pfc",
                    text,
                    "an empty table [switch.pfc] makes the fabric lose none",
                    false,
                ));
            }
            Some(pfc) if pfc.priorities > 1 => {
                let (text, hint) =
                    (format!("{roce}: all of its data have priority 0"), "other priorities take headroom only");
                remarks.push(Remark::new("switch.pfc.priorities", text, hint, false));
            }
            _ => {}
        }
        if mode.reorders() {
            let repeats = if transport.goes_back() { "sends most of them again" } else { "takes those for lost" };
            let text = format!("{roce}: packets that take several paths overtake each other, and it {repeats}");
            remarks.push(Remark::new("routing.mode", text, "mode = \"per-flow\"", true));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use crate::fabric::pfc::Threshold;
    use crate::scenario::{Plan, parse, tests};

    /// Each port has a link of 10 Gbps and 1 us: a headroom of 2500 + 1 + 4500 + 64 B, of four ports 28 260 B.
    const TEXT: &str = r#"
fabric = { topology = "star", hosts = 4, rate = "10Gbps", delay = "1us" }
transport = { name = "newreno" }
[switch.pfc]
[[workload]]
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "random" }
"#;

    fn plan(overrides: &[&str]) -> Result<Plan, String> {
        tests::plan(TEXT, overrides)
    }

    #[test]
    fn what_cannot_work_is_refused_and_says_why() {
        assert!(plan(&[]).is_ok_and(|plan| plan.warnings.is_empty()));
        for (overrides, expected) in [
            (&["switch.pfc.xoff=1KB"][..], "is less than a full packet of 1500 B"),
            (&["switch.pfc.xoff=unlimited"], "cannot be unlimited"),
            (&["switch.pfc.xoff=15KB", "switch.pfc.xon=15KB"], "is not below xoff"),
            (&["switch.pfc.headroom=1KB"], "is less than a full packet"),
            (&["switch.pfc.xon=3KB", "switch.shared_buffer=1MB"], "xon is three packets below it"),
            (&["switch.pfc.priorities=9"], "priorities"),
            (&["switch.shared_buffer=28KB"], "headroom of all ports of"),
            (&["switch.shared_buffer=100KB", "switch.pfc.xoff=20KB"], "xoff and headroom of all ports of"),
            (&["switch.queue=trim"], "does not go with this queue discipline"),
            (&["transport.name=scdp"], "does not go with this queue discipline"),
            (&["switch.queue=fair"], "does not go with this queue discipline"),
            (&["switch.buffer=100 packets"], "memory counts by the port by which packets come"),
            (&["switch.pushed_first=true"], "pushed packets cannot pass others"),
            (&[r#"fabric={ topology = "bcube", n = 2, k = 1 }"#], "hosts need one link each"),
            (&[r#"failure=[{ link = "h0-edge0", at = "1ms", action = "down" }]"#], "failure"),
            (&[r#"controller=[{ law = "ecn-adaptation" }]"#], "controllers cannot watch"),
            (&[r#"measure.packets=["h0"]"#], "packets cannot be captured"),
        ] {
            let found = plan(overrides).err().unwrap_or_else(|| panic!("{overrides:?} is refused"));
            assert!(found.contains(expected), "{overrides:?}: {found}");
        }
        // Of 28 260 B of headroom 1500 B are left, or with half of it 3000 B.
        for (memory, alpha, possible) in
            [(29_760, 1.0, true), (29_759, 1.0, false), (31_260, 0.5, true), (31_259, 0.5, false)]
        {
            let found = plan(&[&format!("switch.shared_buffer={memory}B"), &format!("switch.shared_alpha={alpha}")]);
            assert_eq!(found.is_ok(), possible, "{memory}");
            assert!(found.err().is_none_or(|found| found.contains("is less than a full packet")));
        }
    }

    #[test]
    fn pauses_begin_where_no_link_idles() {
        let xoff = |fabric: &str| {
            let plan = plan(&[&format!("fabric={{ topology = \"star\", hosts = 3, {fabric} }}")]).expect("a scenario");
            let scenario = &plan.runs[0].scenario;
            let graph = plan.fabrics.get(&scenario.fabric, &plan.base).expect("a fabric");
            scenario.pfc(&graph).expect("it pauses").threshold
        };
        let fixed = |xoff| Threshold::Fixed { xoff, xon: xoff - 4500 };
        assert_eq!(xoff("rate = \"10Gbps\", delay = \"1us\""), fixed(15 * 1500));
        // Two delays of 5 us at 12 500 B/us and a byte, three full packets and a frame of 64 B; and three packets more.
        assert_eq!(xoff("rate = \"100Gbps\", delay = \"5us\""), fixed(125_001 + 4500 + 64 + 4500));
    }

    #[test]
    fn pauses_after_which_links_idle_are_told() {
        let told = |overrides: &[&str]| {
            let fabric = r#"fabric={ topology = "star", hosts = 3, rate = "100Gbps", delay = "5us" }"#;
            let plan = plan(&[&[fabric], overrides].concat()).expect("a scenario");
            let pauses = plan.runs[0].remarks.iter().find(|remark| remark.fault.message.contains("when a pause ends"));
            pauses.map(|remark| (remark.fault.clone(), remark.grave, !plan.warnings.is_empty()))
        };
        // Two delays of 5 us at 12 500 B/us and a byte, a packet and a frame: 126 565 B must be left when a pause ends.
        for quiet in [&[][..], &["switch.pfc.xoff=131065B"], &["switch.pfc.xoff=1MB", "switch.pfc.xon=126565B"]] {
            assert_eq!(told(quiet), None, "{quiet:?}");
        }
        let (fault, grave, warned) = told(&["switch.pfc.xoff=15 packets"]).expect("it is told");
        let expected = "with 15 packets switches hold 18KB of a link's packets when a pause ends, less than 100Gbps over 5us carries until more \
                        come (126565B): it idles after each pause, and two senders to a host lose about 21 % of its link";
        assert_eq!((fault.key.as_str(), fault.message.as_str()), ("switch.pfc.xoff", expected));
        assert_eq!((fault.hint.as_deref(), grave, warned), (Some("xoff = \"auto\" follows the links"), true, true));
        // What lasts for two senders may not for one by a faster link: that is no grave matter.
        let (fault, grave, _) = told(&["switch.pfc.xoff=1MB", "switch.pfc.xon=70KB"]).expect("it is told");
        assert!(fault.key == "switch.pfc.xon" && !grave && fault.message.ends_with("it idles after each pause"));
        assert_eq!(
            told(&["switch.pfc.xoff=15 packets", "switch.shared_buffer=1MB"]).map(|told| told.0.key),
            Some("switch.pfc.xoff".to_owned())
        );
        // Of 1 MB headroom takes 3 x 129 565 B, and each of two senders may have a third of the rest.
        assert_eq!(told(&["switch.shared_buffer=1MB"]), None);
        let (fault, grave, _) = told(&["switch.shared_buffer=500KB"]).expect("it is told");
        assert!(fault.key == "switch.shared_buffer" && grave, "{fault:?}");
        assert!(fault.message.starts_with("with 500KB switches hold 32601B of"), "{fault:?}");
    }

    #[test]
    fn roce_says_what_it_does_not_go_with() {
        let remarks = |text: &str, key: &str| {
            let overrides = ["transport.name=dcqcn".to_owned(), key.to_owned()];
            let plan = parse("roce.toml", text, &overrides).expect("a scenario");
            plan.runs[0].remarks.iter().map(|remark| remark.fault.key.clone()).collect::<Vec<_>>()
        };
        let lossy = TEXT.replace("[switch.pfc]\n", "");
        for (text, key, expected) in [
            (TEXT, "switch.pfc.priorities=1", &[][..]),
            (TEXT, "switch.pfc.priorities=2", &["switch.pfc.priorities"]),
            (TEXT, "routing.mode=per-packet", &["routing.mode"]),
            (&lossy, "routing.mode=per-flow", &["switch.pfc"]),
            (&lossy, "transport.roce.repeat=selective", &[]),
        ] {
            assert_eq!(remarks(text, key), expected, "{key}");
        }
    }

    #[test]
    fn headroom_that_may_lose_packets_is_a_warning() {
        for (headroom, warnings) in [("7065B", 0), ("7064B", 1)] {
            let plan = plan(&[&format!("switch.pfc.headroom={headroom}")]).expect("a scenario");
            assert_eq!(plan.warnings.len(), warnings, "{headroom}");
        }
    }
}
