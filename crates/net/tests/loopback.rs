//! Files over real sockets, on the loopback.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anabranch_net::{
    Endpoint, Failure, HostConfig, Input, NetError, ObjectName, Outcome, Protection, Psk, ReceiveOptions, Report,
    SigningKey, Wanted, fetch, receive_dir, send_file, send_files, serve,
};
use tempfile::TempDir;

fn config() -> HostConfig {
    HostConfig::new(Protection::Psk(Psk::new([3; 32]).expect("not zero")))
}

fn endpoint() -> Endpoint {
    Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), config()).expect("a socket")
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Bytes that no two files share.
fn content(seed: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn file(directory: &Path, name: &str, bytes: &[u8]) -> Input {
    let path = directory.join(name);
    fs::write(&path, bytes).expect("written");
    Input::open(&path, None).expect("read")
}

/// A thread that receives into a directory until it has so many objects, or was refused or failed so often.
fn receiver(into: &Path, objects: usize) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let mut endpoint = endpoint();
    let (address, into) = (endpoint.local_address().expect("an address"), into.to_owned());
    let thread = thread::spawn(move || {
        let mut seen = Vec::new();
        receive_dir(&mut endpoint, &into, &ReceiveOptions::default(), |report| {
            match report {
                Report::Received { manifest } => seen.push(format!("received {}", manifest.name)),
                Report::AlreadyThere { manifest } => seen.push(format!("has {}", manifest.name)),
                Report::NotReceived { name, why, .. } => seen.push(format!("lost {name}: {why}")),
                _ => {}
            }
            if seen.len() < objects { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .expect("received");
        seen
    });
    (address, thread)
}

#[test]
fn a_file_goes_to_three_hosts() {
    let (from, into) = (directory(), [directory(), directory(), directory()]);
    let bytes = content(1, 10_000_000);
    let file = file(from.path(), "rivers.bin", &bytes);
    let receivers = into.each_ref().map(|into| receiver(into.path(), 1));
    let to = receivers.each_ref().map(|(address, _)| *address);
    let outcomes = send_file(&mut endpoint(), &file, &to, None, |_| ControlFlow::Continue(())).expect("sent");
    assert_eq!(outcomes, [Outcome::Verified, Outcome::Verified, Outcome::Verified]);
    for ((_, thread), into) in receivers.into_iter().zip(&into) {
        assert_eq!(thread.join().expect("no panic"), ["received rivers.bin"]);
        assert!(fs::read(into.path().join("rivers.bin")).expect("there") == bytes);
        assert_eq!(fs::read_dir(into.path()).expect("a directory").count(), 1, "nothing else is left");
    }
}

#[test]
fn files_of_all_sizes_one_after_the_other() {
    let (from, into) = (directory(), directory());
    let sizes = [0, 1, 1419, 1420, 1421, 142_000, 142_001, 3_000_000];
    let (address, thread) = receiver(into.path(), sizes.len());
    let mut endpoint = endpoint();
    for size in sizes {
        let file = file(from.path(), &format!("{size}.bin"), &content(size as u64, size));
        let outcomes = send_file(&mut endpoint, &file, &[address], None, |_| ControlFlow::Continue(())).expect("sent");
        assert_eq!(outcomes, [Outcome::Verified], "{size} bytes");
    }
    assert_eq!(thread.join().expect("no panic").len(), sizes.len());
    for size in sizes {
        assert!(fs::read(into.path().join(format!("{size}.bin"))).expect("there") == content(size as u64, size));
    }
}

#[test]
fn a_file_comes_from_three_servers() {
    let (shelves, into) = ([directory(), directory(), directory()], directory());
    let bytes = content(2, 10_000_000);
    let stop = AtomicBool::new(false);
    let flow = || if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    thread::scope(|scope| {
        let servers: Vec<SocketAddr> = shelves
            .iter()
            .map(|shelf| {
                fs::write(shelf.path().join("rivers.bin"), &bytes).expect("written");
                let mut endpoint = endpoint();
                let address = endpoint.local_address().expect("an address");
                scope.spawn(move || serve(&mut endpoint, shelf.path(), |_| flow()).expect("served"));
                address
            })
            .collect();
        let name = Wanted::Name(ObjectName::new("rivers.bin").expect("a name"));
        let hash = Wanted::Hash(*blake3::hash(&bytes).as_bytes());
        for wanted in [name, hash] {
            let options = ReceiveOptions { overwrite: true, ..ReceiveOptions::default() };
            let found = fetch(&mut endpoint(), &wanted, &servers, into.path(), &options, |_| ControlFlow::Continue(()));
            assert_eq!(found.expect("fetched").size, bytes.len() as u64);
            assert!(fs::read(into.path().join("rivers.bin")).expect("there") == bytes);
        }
        let none = Wanted::Name(ObjectName::new("seas.bin").expect("a name"));
        let options = ReceiveOptions::default();
        let error = fetch(&mut endpoint(), &none, &servers, into.path(), &options, |_| ControlFlow::Continue(()));
        assert!(error.expect_err("nobody has it").to_string().contains("no such object"));
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn what_exists_is_kept_and_the_sender_is_told() {
    let (from, into) = (directory(), directory());
    let (old, new) = (content(3, 5000), content(4, 5000));
    fs::write(into.path().join("other.bin"), &old).expect("written");
    fs::write(into.path().join("same.bin"), &new).expect("written");
    let (address, thread) = receiver(into.path(), 2);
    let mut endpoint = endpoint();
    let mut send = |name: &str| {
        let file = file(from.path(), name, &new);
        send_file(&mut endpoint, &file, &[address], None, |_| ControlFlow::Continue(())).expect("sent").remove(0)
    };
    let refused = send("other.bin");
    assert!(matches!(&refused, Outcome::Refused(why) if why.text().contains("exists")), "{refused}");
    assert_eq!(send("same.bin"), Outcome::AlreadyThere);
    assert_eq!(thread.join().expect("no panic").len(), 2);
    assert!(fs::read(into.path().join("other.bin")).expect("there") == old);
}

#[test]
fn nobody_there_is_said_in_time() {
    let from = directory();
    let file = file(from.path(), "rivers.bin", &content(5, 100_000));
    let gone = endpoint().local_address().expect("an address");
    let impatient = HostConfig { give_up_after: anabranch_transport::Duration::from_ms(300), ..config() };
    let mut endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), impatient).expect("a socket");
    let outcomes = send_file(&mut endpoint, &file, &[gone], None, |_| ControlFlow::Continue(())).expect("sent");
    assert_eq!(outcomes, [Outcome::Failed(Failure::TimedOut)]);
}

#[test]
fn a_sender_that_is_stopped_leaves_nothing_behind() {
    let (from, into) = (directory(), directory());
    let file = file(from.path(), "rivers.bin", &content(6, 5_000_000));
    let (address, thread) = receiver(into.path(), 1);
    let slow = HostConfig { rate: Some(anabranch_transport::Rate::from_mbps(10)), ..config() };
    let mut endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), slow).expect("a socket");
    let stopped = send_file(&mut endpoint, &file, &[address], None, |report| match report {
        Report::Progress { bytes: 1.., .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(stopped, Err(NetError::Stopped)));
    assert_eq!(thread.join().expect("no panic"), ["lost rivers.bin: cancelled by the other side"]);
    assert_eq!(fs::read_dir(into.path()).expect("a directory").count(), 0);
}

#[test]
fn small_files_go_several_at_once() {
    let (from, into) = (directory(), [directory(), directory()]);
    // Two have the same content.
    let contents: Vec<Vec<u8>> = (0..40).map(|n| content(n / 2 * 2, 5000 + n as usize / 2)).collect();
    let files: Vec<Input> =
        contents.iter().enumerate().map(|(n, bytes)| file(from.path(), &format!("{n}.bin"), bytes)).collect();
    let receivers = into.each_ref().map(|into| receiver(into.path(), files.len()));
    let to = receivers.each_ref().map(|(address, _)| *address);
    let (mut sending, mut sent, mut most, mut bytes_sent) = (0, 0, 0, 0);
    let outcomes = send_files(&mut endpoint(), &files, &to, None, |report| {
        match report {
            Report::Sending { file } => {
                assert_eq!(file, sending, "in order");
                sending += 1;
            }
            Report::Sent { outcomes, sent_bytes, .. } => {
                assert_eq!(outcomes, [Some(Outcome::Verified), Some(Outcome::Verified)]);
                sent += 1;
                bytes_sent += sent_bytes;
            }
            _ => {}
        }
        most = most.max(sending - sent);
        ControlFlow::Continue(())
    });
    assert_eq!(outcomes.expect("sent"), vec![vec![Some(Outcome::Verified); 2]; files.len()]);
    assert_eq!((sending, sent), (files.len(), files.len()));
    assert!((2..=16).contains(&most), "{most} at once");
    let size: u64 = contents.iter().map(|bytes| bytes.len() as u64).sum();
    assert!((2 * size..4 * size).contains(&bytes_sent), "{bytes_sent} bytes for {size} to two");
    for ((_, thread), into) in receivers.into_iter().zip(&into) {
        assert_eq!(thread.join().expect("no panic").len(), files.len());
        for (n, bytes) in contents.iter().enumerate() {
            assert!(fs::read(into.path().join(format!("{n}.bin"))).expect("there") == *bytes);
        }
        assert_eq!(fs::read_dir(into.path()).expect("a directory").count(), files.len(), "nothing else is left");
    }
}

#[test]
fn a_waker_ends_a_wait_before_it_and_during_it() {
    let mut endpoint = endpoint();
    let waker = endpoint.waker();
    waker.wake();
    waker.wake();
    let none = |_: &mut _, _, _, event| panic!("{event:?}");
    // Whoever waits for an hour here was not woken.
    endpoint.turn(Duration::from_secs(3600), none).expect("a turn");
    let thread = thread::spawn(move || waker.wake());
    endpoint.turn(Duration::from_secs(3600), none).expect("a turn");
    thread.join().expect("no panic");
}

#[test]
fn whoever_interrupts_is_answered_at_once() {
    // Without, a report comes ten times a second: so many would take half a minute.
    const TIMES: usize = 300;
    let into = directory();
    let mut endpoint = endpoint();
    let (waker, (tell, told)) = (endpoint.waker(), channel());
    let began = endpoint.now();
    let asking = thread::spawn(move || {
        for _ in 0..TIMES {
            waker.interrupt();
            told.recv().expect("a report");
        }
    });
    receive_dir(&mut endpoint, into.path(), &ReceiveOptions::default(), |_| match tell.send(()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    })
    .expect("received");
    asking.join().expect("no panic");
    let took = endpoint.now().since(began);
    assert!(took < anabranch_transport::Duration::from_secs(TIMES as u64 / 20), "{took:?}");
}

#[test]
fn who_has_no_room_is_asked_again() {
    let (from, into) = (directory(), directory());
    let files: Vec<Input> = (0..60).map(|n| file(from.path(), &format!("{n}.bin"), &content(n, 3000))).collect();
    // Room for two sessions of one address, and two senders there with up to 16 each.
    let few = HostConfig { max_sessions: 8, max_sessions_per_address: 2, ..config() };
    let mut endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), few).expect("a socket");
    let to = endpoint.local_address().expect("an address");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let flow = || if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            receive_dir(&mut endpoint, into.path(), &ReceiveOptions::default(), |_| flow()).expect("received");
        });
        let senders = [&files[..30], &files[30..]].map(|files| {
            scope.spawn(|| {
                let mut sender = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), config()).expect("a socket");
                send_files(&mut sender, files, &[to], None, |_| ControlFlow::Continue(())).expect("sent")
            })
        });
        let outcomes = senders.map(thread::ScopedJoinHandle::join);
        stop.store(true, Ordering::Relaxed);
        for outcomes in outcomes {
            assert_eq!(outcomes.expect("no panic"), vec![vec![Some(Outcome::Verified)]; 30]);
        }
    });
    assert_eq!(fs::read_dir(into.path()).expect("a directory").count(), 60);
}

#[test]
fn no_more_is_taken_than_was_asked_for() {
    let (from, into) = (directory(), directory());
    let files: Vec<Input> = (0..40).map(|n| file(from.path(), &format!("{n}.bin"), &content(n, 1000))).collect();
    let mut endpoint = endpoint();
    let to = endpoint.local_address().expect("an address");
    let stop = AtomicBool::new(false);
    let received = thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let mut received = 0;
            let options = ReceiveOptions { limit: Some(3), ..ReceiveOptions::default() };
            receive_dir(&mut endpoint, into.path(), &options, |report| {
                received += usize::from(matches!(report, Report::Received { .. }));
                if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .expect("received");
            received
        });
        let mut sender = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), config()).expect("a socket");
        let outcomes = send_files(&mut sender, &files, &[to], None, |_| ControlFlow::Continue(())).expect("sent");
        stop.store(true, Ordering::Relaxed);
        let verified = |outcomes: &&Vec<Option<Outcome>>| outcomes[0] == Some(Outcome::Verified);
        assert_eq!(outcomes.iter().filter(verified).count(), 3);
        assert!(
            outcomes
                .iter()
                .flatten()
                .flatten()
                .all(|outcome| outcome.is_success() || outcome.to_string().contains("no more files"))
        );
        stop.store(true, Ordering::Relaxed);
        receiver.join().expect("no panic")
    });
    assert_eq!((received, fs::read_dir(into.path()).expect("a directory").count()), (3, 3));
}

#[test]
fn nothing_is_kept_of_what_a_rogue_sends_under_a_genuine_signature() {
    let (from, into) = (directory(), directory());
    let bytes = content(30, 40_000_000);
    let key = SigningKey::from_seed(&[4; 32]);
    let signed = |directory: &Path| {
        let mut input = file(directory, "rivers.bin", &bytes);
        input.sign(&key);
        input
    };
    let config = HostConfig { signers: vec![key.public()], ..config() };
    let mut receiver = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), config).expect("a socket");
    let to = [receiver.local_address().expect("an address")];
    thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let mut seen = Vec::new();
            receive_dir(&mut receiver, into.path(), &ReceiveOptions::default(), |report| {
                match report {
                    Report::Began { from, .. } => seen.push(if from > 0 { "goes on" } else { "begins" }),
                    Report::NotReceived { why: Failure::WrongBytes { .. }, kept: 0, .. } => seen.push("is wrong"),
                    Report::Received { .. } => seen.push("is there"),
                    _ => {}
                }
                if seen.last() == Some(&"is there") { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .expect("received");
            seen
        });
        // A member that has the signature, as every receiver has, and sends something else under it.
        let rogue = directory();
        let forged = signed(rogue.path());
        let path = rogue.path().join("rivers.bin");
        let modified = fs::metadata(&path).expect("there").modified().expect("a time");
        fs::write(&path, content(31, bytes.len())).expect("written");
        fs::File::options().write(true).open(&path).expect("there").set_modified(modified).expect("set");
        let send =
            |file: &Input| send_file(&mut endpoint(), file, &to, None, |_| ControlFlow::Continue(())).expect("sent");
        assert_eq!(send(&forged), [Outcome::Failed(Failure::Hash)]);

        let genuine = signed(from.path());
        assert_eq!(send(&genuine), [Outcome::Verified]);
        let seen = receiving.join().expect("no panic");
        assert_eq!(seen, ["begins", "is wrong", "begins", "is there"]);
    });
    assert!(fs::read(into.path().join("rivers.bin")).expect("there") == bytes);
    assert_eq!(fs::read_dir(into.path()).expect("a directory").count(), 1, "nothing else is left");
}
