//! A network whose switch silently drops packets that are too large for one of its ports, though all hosts have interfaces of 1500 bytes.

use std::fs;
use std::path::Path;

use super::namespace::Namespace;
use super::program::{Ended, Program, content, run};

/// Hosts `a`, `b` and `c` around a switch; the port of `b` has this MTU.
struct Network {
    switch: Namespace,
    hosts: Vec<Namespace>,
    is_ipv4: bool,
}

impl Network {
    /// None, and the reason is printed, where none can be made.
    fn new(name: &str, is_ipv4: bool, mtu: u32) -> Option<Self> {
        if !is_ipv4 && fs::metadata("/proc/net/if_inet6").is_err() {
            eprintln!("skipped: this kernel has no IPv6");
            return None;
        }
        let switch = Namespace::new(&format!("{name}-switch"))?;
        let hosts: Option<Vec<Namespace>> =
            ["a", "b", "c"].iter().map(|host| Namespace::new(&format!("{name}-{host}"))).collect();
        let network = Self { switch, hosts: hosts?, is_ipv4 };
        // It floods what goes to groups.
        network.switch.ip("link add bridge0 type bridge mcast_snooping 0");
        network.switch.ip("link set bridge0 up");
        for (n, host) in network.hosts.iter().enumerate() {
            host.ip(&format!("link add link0 type veth peer name port{n} netns {}", network.switch.name()));
            // A bridge does not look at the size of packets that are still to be segmented.
            host.ip("link set link0 gso_max_segs 1");
            network.switch.ip(&format!("link set port{n} master bridge0 up"));
            let length = if is_ipv4 { "24" } else { "64 nodad" };
            host.ip(&format!("addr add {}/{length} dev link0", network.address(n)));
            host.ip("link set link0 up");
            if is_ipv4 {
                host.ip("route add 224.0.0.0/4 dev link0");
            }
        }
        network.shrink(mtu);
        Some(network)
    }

    fn shrink(&self, mtu: u32) {
        self.switch.ip(&format!("link set port1 mtu {mtu}"));
    }

    fn address(&self, n: usize) -> String {
        if self.is_ipv4 { format!("10.77.0.{}", n + 1) } else { format!("fd77::{}", n + 1) }
    }

    /// An address with a port.
    fn at(&self, n: usize, port: u16) -> String {
        if self.is_ipv4 { format!("{}:{port}", self.address(n)) } else { format!("[{}]:{port}", self.address(n)) }
    }

    fn group(&self) -> &str {
        if self.is_ipv4 { "239.7.7.7" } else { "ff15::77" }
    }

    /// A receiver of so many files at one of the hosts.
    fn receiver(&self, folder: &Path, n: usize, files: u32) -> Program {
        fs::create_dir(folder.join(format!("in{n}"))).expect("made");
        let (bind, group, interface) = (self.at(n, 7217), self.group(), self.address(n));
        let arguments = format!(
            "receive --dir in{n} --key shared.key --count {files} --bind {bind} --group {group} --interface {interface}"
        );
        let mut receiver = self.hosts[n].start(folder, &arguments);
        receiver.wait_for("listening");
        receiver
    }

    /// What a command of host `a` says.
    fn run(&self, folder: &Path, arguments: &str) -> Ended {
        self.hosts[0].start(folder, &format!("{arguments} --key shared.key --bind {}", self.at(0, 0))).end()
    }
}

/// The program tells that packets of 1500 bytes do not arrive, and which do.
fn names_1400(ended: &Ended, command: &str) {
    assert!(ended.text.contains("packets of 1500 B"), "{}", ended.text);
    assert!(ended.text.contains("packets of 1400 B do"), "{}", ended.text);
    assert!(ended.text.contains(&format!("`scdp {command} --mtu 1400`")), "{}", ended.text);
}

fn transfers_by(is_ipv4: bool) {
    let Some(network) = Network::new(if is_ipv4 { "mtu4" } else { "mtu6" }, is_ipv4, 1400) else { return };
    let folder = tempfile::tempdir().expect("a directory");
    let folder = folder.path();
    assert_eq!(run(folder, "key shared.key").code, Some(0));
    let (one, two) = (content(1, 2_000_000), content(2, 2_000_000));
    fs::write(folder.join("one.bin"), &one).expect("written");
    fs::write(folder.join("two.bin"), &two).expect("written");
    let receivers = [network.receiver(folder, 1, 2), network.receiver(folder, 2, 1)];
    let (b, c) = (network.at(1, 7217), network.at(2, 7217));

    let sent = network.run(folder, &format!("send one.bin --to {b}"));
    assert_eq!(sent.code, Some(0), "{}", sent.text);
    names_1400(&sent, "send");
    let sent = network.run(folder, &format!("send two.bin --to {b},{c} --group {}", network.group()));
    assert_eq!(sent.code, Some(0), "{}", sent.text);
    names_1400(&sent, "send");
    for receiver in receivers {
        let ended = receiver.end();
        assert_eq!(ended.code, Some(0), "{}", ended.text);
    }
    assert!(fs::read(folder.join("in1/one.bin")).expect("there") == one);
    assert!([1, 2].into_iter().all(|n| fs::read(folder.join(format!("in{n}/two.bin"))).expect("there") == two));

    let mut server = network.hosts[1].start(folder, &format!("serve in1 --key shared.key --bind {b}"));
    server.wait_for("listening");
    let fetched = network.run(folder, &format!("fetch one.bin --from {b} -o copy.bin"));
    assert_eq!(fetched.code, Some(0), "{}", fetched.text);
    names_1400(&fetched, "fetch");
    assert!(fs::read(folder.join("copy.bin")).expect("there") == one);

    // With a size that is right from the beginning, nothing is to be told.
    let fetched = network.run(folder, &format!("fetch two.bin --from {b} -o other.bin --mtu 1400"));
    assert!(fetched.code == Some(0) && !fetched.text.contains("do not arrive"), "{}", fetched.text);

    // Not even opening packets arrive.
    network.shrink(1000);
    let sent = network.run(folder, &format!("send one.bin --to {b}"));
    assert_eq!(sent.code, Some(1));
    assert!(sent.text.contains("small ones do") && sent.text.contains("1280 B"), "{}", sent.text);
}

#[test]
fn transfers_begin_again_with_packets_that_arrive_over_ipv4() {
    transfers_by(true);
}

#[test]
fn transfers_begin_again_with_packets_that_arrive_over_ipv6() {
    transfers_by(false);
}

#[test]
fn packets_that_the_senders_own_interface_does_not_take() {
    let Some(host) = Namespace::new("mtu-lo") else { return };
    let folder = tempfile::tempdir().expect("a directory");
    let folder = folder.path();
    assert_eq!(run(folder, "key shared.key").code, Some(0));
    let bytes = content(3, 2_000_000);
    fs::write(folder.join("rivers.bin"), &bytes).expect("written");
    for (mtu, ask, expected) in [(1400, 1500, 1400), (1500, 9000, 1500)] {
        host.ip(&format!("link set lo mtu {mtu} up"));
        fs::create_dir(folder.join(format!("in{mtu}"))).expect("made");
        let arguments = format!("receive --dir in{mtu} --key shared.key --count 4 --mtu {ask} --bind 127.0.0.1:7217");
        let mut receiver = host.start(folder, &arguments);
        receiver.wait_for("listening");
        // Several files are under way together, and the path is told of once.
        (0..3).for_each(|n| fs::write(folder.join(format!("small{n}.bin")), content(n, 20_000)).expect("written"));
        let files = "small0.bin small1.bin small2.bin rivers.bin";
        let sent = host.start(folder, &format!("send {files} --key shared.key --mtu {ask} --to 127.0.0.1:7217")).end();
        assert_eq!(sent.code, Some(0), "{}", sent.text);
        assert_eq!(sent.text.matches(&format!("packets of {ask} B")).count(), 1, "{}", sent.text);
        assert!(sent.text.contains(&format!("`scdp send --mtu {expected}`")), "{}", sent.text);
        assert_eq!(receiver.end().code, Some(0));
        assert!(fs::read(folder.join(format!("in{mtu}/rivers.bin"))).expect("there") == bytes);
    }
}
