//! Transfers over IPv6: to a host, from a host, and by a multicast group.

use std::fs;
use std::net::{Ipv6Addr, UdpSocket};

use super::namespace::Namespace;
use super::program::{Program, run};

/// A file that is sent, and the key for it.
fn prepare(folder: &std::path::Path) -> Vec<u8> {
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(folder.join("rivers.bin"), &bytes).expect("written");
    assert_eq!(run(folder, "key shared.key").code, Some(0));
    bytes
}

#[test]
fn a_file_goes_to_a_host_and_comes_from_it() {
    if let Err(error) = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)) {
        return eprintln!("skipped: no IPv6 on the loopback: {error}");
    }
    let folder = tempfile::tempdir().expect("a directory");
    let bytes = prepare(folder.path());
    let address = |program: &mut Program| {
        let line = program.wait_for("listening");
        let start = line.find("[::1]:").unwrap_or_else(|| panic!("an address in {line}"));
        line[start..].split([',', ' ']).next().expect("a part").to_owned()
    };
    fs::create_dir(folder.path().join("in")).expect("made");
    let mut receiver = Program::start(folder.path(), "receive --dir in --key shared.key --once --bind [::1]:0");
    let to = address(&mut receiver);
    let sent = run(folder.path(), &format!("send rivers.bin --to {to} --key shared.key"));
    assert_eq!(sent.code, Some(0), "{}", sent.text);
    assert_eq!(receiver.end().code, Some(0));
    assert!(fs::read(folder.path().join("in/rivers.bin")).expect("there") == bytes);

    let mut server = Program::start(folder.path(), "serve in --key shared.key --bind [::1]:0");
    let from = address(&mut server);
    let fetched = run(folder.path(), &format!("fetch rivers.bin --from {from} --key shared.key -o copy.bin"));
    assert_eq!(fetched.code, Some(0), "{}", fetched.text);
    assert!(fs::read(folder.path().join("copy.bin")).expect("there") == bytes);
}

#[test]
fn a_group_gets_a_file_for_the_price_of_one() {
    let hosts: Option<Vec<Namespace>> = ["switch", "a", "b", "c"].into_iter().map(Namespace::new).collect();
    let Some([switch, hosts @ ..]) = hosts.as_deref() else { return };
    if fs::metadata("/proc/net/if_inet6").is_err() {
        return eprintln!("skipped: this kernel has no IPv6");
    }
    let folder = tempfile::tempdir().expect("a directory");
    let bytes = prepare(folder.path());
    // It floods what goes to groups: the hosts' membership reports are the business of the switch, and tested with it.
    switch.ip("link add bridge0 type bridge mcast_snooping 0");
    switch.ip("link set bridge0 up");
    for (n, host) in hosts.iter().enumerate() {
        host.ip(&format!("link add link0 type veth peer name port{n} netns {}", switch.name()));
        switch.ip(&format!("link set port{n} master bridge0 up"));
        host.ip(&format!("addr add fd77::{n}1/64 dev link0 nodad"));
        host.ip("link set link0 up");
    }
    let receivers: Vec<Program> = (1..3)
        .map(|n| {
            fs::create_dir(folder.path().join(format!("in{n}"))).expect("made");
            let group =
                format!("--bind [fd77::{n}1]:7217 --group ff15::77 --interface {}", ["", "link0", "fd77::21"][n]);
            let mut receiver =
                hosts[n].start(folder.path(), &format!("receive --dir in{n} --key shared.key --once {group}"));
            receiver.wait_for("listening");
            receiver
        })
        .collect();
    let to = "--to [fd77::11]:7217,[fd77::21]:7217 --group ff15::77 --interface link0";
    for (command, more) in [("send rivers.bin", to), ("receive --dir in1 --bind [::]:0", "--group ff15::77")] {
        let more = more.replace(" --interface link0", "");
        let lacks = format!("{command} {more} --interface fd77::99 --key shared.key");
        let lacks = hosts[0].start(folder.path(), &lacks).end();
        assert_eq!(lacks.code, Some(2), "{}", lacks.text);
        assert!(lacks.text.contains("error: --interface fd77::99: no interface of this host"), "{}", lacks.text);
        assert!(lacks.text.contains("link0 (fd77::1"), "{}", lacks.text);
    }
    let sent = hosts[0].start(folder.path(), &format!("send rivers.bin {to} --key shared.key --json")).end();
    assert_eq!(sent.code, Some(0), "{}", sent.text);
    for (receiver, n) in receivers.into_iter().zip(1..) {
        assert_eq!(receiver.end().code, Some(0));
        assert!(fs::read(folder.path().join(format!("in{n}/rivers.bin"))).expect("there") == bytes);
    }
    let last = sent.text.lines().find(|line| line.contains("\"sent\"")).expect("told");
    let last: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let times = last["sent_bytes"].as_f64().expect("a number") / bytes.len() as f64;
    assert!(times < 1.3, "the file left {times} times");
}
