//! Work that lasts: whoever asks for it waits, and nobody else does. Files without content are so large here that nobody ever reads them to the end.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anabranch_host::{HostEvent, Object};
use anabranch_net::{
    Endpoint, HostConfig, Input, Manifest, NetError, ObjectName, Outcome, Protection, Psk, ReceiveOptions, Report,
    Wanted, fetch, receive_dir, send_file, serve,
};
use tempfile::TempDir;

/// Bytes of a file that is never read to the end.
const ENDLESS: u64 = 900_000_000_000;

/// How long some hosts here wait for a silent one.
const SILENCE_MS: u64 = 2000;

fn endpoint() -> Endpoint {
    let give_up_after = anabranch_transport::Duration::from_ms(SILENCE_MS);
    let protection = Protection::Psk(Psk::new([3; 32]).expect("not zero"));
    let config = HostConfig { give_up_after, ..HostConfig::new(protection) };
    Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), config).expect("a socket")
}

/// An endpoint that waits for others as long as usual.
fn patient() -> Endpoint {
    let config = HostConfig::new(Protection::Psk(Psk::new([3; 32]).expect("not zero")));
    Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), config).expect("a socket")
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn endless(directory: &Path, name: &str) {
    File::create(directory.join(name)).and_then(|file| file.set_len(ENDLESS)).expect("made");
}

fn name(name: &str) -> ObjectName {
    ObjectName::new(name).expect("a name")
}

fn file(directory: &Path, name: &str, content: &[u8]) -> Input {
    let path = directory.join(name);
    fs::write(&path, content).expect("written");
    Input::open(&path, None).expect("read")
}

/// An object that nobody reads.
struct Claimed(u64);

impl Object for Claimed {
    fn size(&self) -> u64 {
        self.0
    }

    fn read_at(&self, _: u64, bytes: &mut [u8]) -> io::Result<()> {
        bytes.fill(1);
        Ok(())
    }
}

/// Offers an object that is no file.
fn offer(endpoint: &mut Endpoint, called: &str, size: u64, to: SocketAddr) {
    let manifest = Manifest { hash: [9; 32], size, name: name(called), signature: None };
    let now = endpoint.now();
    endpoint.host().send(now, Box::new(Claimed(size)), manifest, &[to], None).expect("a session");
}

/// Runs an endpoint for some time; the outcomes of what it sends.
fn run(endpoint: &mut Endpoint, time: Duration) -> Vec<Outcome> {
    let (mut outcomes, end) =
        (Vec::new(), endpoint.now() + anabranch_transport::Duration::from_ms(time.as_millis() as u64));
    while endpoint.now() < end {
        let outcome = |event| if let HostEvent::Receiver { outcome, .. } = event { Some(outcome) } else { None };
        endpoint.turn(Duration::from_millis(20), |_, _, _, event| outcomes.extend(outcome(event))).expect("a turn");
    }
    outcomes
}

/// What is done beside a host that receives into a folder, or serves it; and what that host has reported.
fn beside<T>(
    host: impl FnOnce(&mut Endpoint, &mut dyn FnMut(Report) -> ControlFlow<()>) -> Result<(), NetError> + Send,
    act: impl FnOnce(SocketAddr, &AtomicBool, &Mutex<Vec<Report>>) -> T,
) -> (T, Vec<Report>) {
    beside_one(patient(), host, act)
}

fn beside_one<T>(
    mut endpoint: Endpoint,
    host: impl FnOnce(&mut Endpoint, &mut dyn FnMut(Report) -> ControlFlow<()>) -> Result<(), NetError> + Send,
    act: impl FnOnce(SocketAddr, &AtomicBool, &Mutex<Vec<Report>>) -> T,
) -> (T, Vec<Report>) {
    let (stop, reports) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let address = endpoint.local_address().expect("an address");
    let result = thread::scope(|scope| {
        let (stop, reports) = (&stop, &reports);
        scope.spawn(move || {
            let mut report = |report| {
                reports.lock().expect("no panic").push(report);
                if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            host(&mut endpoint, &mut report).expect("it works");
        });
        // The host ends whatever happens here.
        let stops = Stops(stop);
        let result = act(address, stop, reports);
        drop(stops);
        result
    });
    (result, reports.into_inner().expect("no panic"))
}

struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn receiving<'a>(
    into: &'a Path,
    options: &'a ReceiveOptions,
) -> impl FnOnce(&mut Endpoint, &mut dyn FnMut(Report) -> ControlFlow<()>) -> Result<(), NetError> + Send + 'a {
    move |endpoint, report| receive_dir(endpoint, into, options, report)
}

/// Fetches an object, unless it is stopped.
fn get(
    endpoint: &mut Endpoint,
    object: &Wanted,
    from: SocketAddr,
    into: &Path,
    stop: &AtomicBool,
) -> Result<Manifest, NetError> {
    let options = ReceiveOptions { overwrite: true, ..ReceiveOptions::default() };
    fetch(endpoint, object, &[from], into, &options, |_| {
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

fn go_on(_: Report) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn whoever_offers_a_large_file_that_may_be_there_waits_and_nobody_else_does() {
    let (from, into) = (directory(), directory());
    endless(into.path(), "large");
    let options = ReceiveOptions::default();
    let (offered, reports) = beside(receiving(into.path(), &options), |to, stop, _| {
        let mut offering = endpoint();
        offer(&mut offering, "large", ENDLESS, to);
        assert_eq!(run(&mut offering, Duration::from_millis(100)), []);
        for n in 0..3 {
            let file = file(from.path(), &format!("small {n}"), &vec![n; 300_000]);
            assert_eq!(send_file(&mut patient(), &file, &[to], None, go_on).expect("sent"), [Outcome::Verified]);
        }
        let waits = run(&mut offering, Duration::from_millis(SILENCE_MS * 5 / 4));
        stop.store(true, Ordering::Relaxed);
        (waits, run(&mut offering, Duration::from_secs(1)))
    });
    assert_eq!(offered.0, [], "it reads, and says so");
    assert!(matches!(&offered.1[..], [Outcome::Refused(why)] if why.text() == "this host stops"), "{:?}", offered.1);
    assert_eq!(reports.iter().filter(|report| matches!(report, Report::Received { .. })).count(), 3);
}

#[test]
fn an_offer_whose_sender_is_not_there_is_not_worth_any_work() {
    let into = directory();
    endless(into.path(), "large");
    let opened = || {
        let open = fs::read_dir("/proc/self/fd").expect("Linux").filter_map(Result::ok);
        open.filter(|file| {
            fs::read_link(file.path()).is_ok_and(|to| to.starts_with(into.path()) && to.ends_with("large"))
        })
        .count()
    };
    let options = ReceiveOptions::default();
    beside(receiving(into.path(), &options), |to, _, _| {
        let mut offering = endpoint();
        offer(&mut offering, "large", ENDLESS, to);
        // It sends its offer, and reads no answer.
        let (now, mut offers, mut addresses) = (offering.now(), Vec::new(), Vec::new());
        offering.host().poll_transmit(now, &mut offers, &mut addresses).expect("an offer");
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for _ in 0..20 {
            socket.send_to(&offers, to).expect("sent");
            thread::sleep(Duration::from_millis(10));
            assert_eq!(opened(), 0, "it reads the file");
        }
        // It is worth it for one that is there.
        let mut offering = endpoint();
        offer(&mut offering, "large", ENDLESS, to);
        while opened() == 0 {
            assert_eq!(run(&mut offering, Duration::from_millis(20)), []);
        }
    });
}

#[test]
fn whoever_asks_for_a_large_file_waits_and_nobody_else_does() {
    let (shelf, into) = (directory(), directory());
    fs::write(shelf.path().join("small"), vec![5; 300_000]).expect("written");
    endless(shelf.path(), "large");
    let by_hash = Wanted::Hash([1; 32]);
    // It waits for hashes half as long as for a silent host.
    let ((), reports) = beside_one(
        endpoint(),
        |endpoint, report| serve(endpoint, shelf.path(), report),
        |from, _, _| {
            let (never, enough) = (AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|scope| {
                let large = scope.spawn(|| {
                    get(&mut endpoint(), &Wanted::Name(name("large")), from, into.path(), &enough)
                        .expect_err("it waits")
                });
                for _ in 0..3 {
                    get(&mut patient(), &Wanted::Name(name("small")), from, into.path(), &never).expect("at once");
                    thread::sleep(Duration::from_millis(SILENCE_MS / 2));
                }
                let none = get(&mut patient(), &by_hash, from, into.path(), &never).expect_err("nobody has it");
                assert!(none.to_string().contains("no such object"), "{none}");
                assert!(!large.is_finished(), "it waits, since the server says that it reads");
                enough.store(true, Ordering::Relaxed);
                assert!(matches!(large.join().expect("no panic"), NetError::Stopped));
            });
            fs::remove_file(shelf.path().join("large")).expect("removed");
            let none =
                get(&mut patient(), &Wanted::Name(name("large")), from, into.path(), &never).expect_err("it is gone");
            assert!(none.to_string().contains("no such object"), "{none}");
            // The file is closed after the piece that was being read.
            let is_open = || {
                let mut open = fs::read_dir("/proc/self/fd").expect("Linux").filter_map(Result::ok);
                open.any(|file| {
                    fs::read_link(file.path())
                        .is_ok_and(|to| to.starts_with(shelf.path()) && to.to_string_lossy().contains("large"))
                })
            };
            while is_open() {
                thread::sleep(Duration::from_millis(10));
            }
        },
    );
    assert_eq!(reports.iter().filter(|report| matches!(report, Report::Serving { .. })).count(), 3);
}

#[test]
fn a_file_that_came_or_changed_later_is_found_by_its_hash_and_nobody_serves_an_old_hash() {
    let (shelf, into) = (directory(), directory());
    let path = shelf.path().join("file");
    let options = ReceiveOptions { overwrite: true, ..ReceiveOptions::default() };
    beside(
        |endpoint, report| serve(endpoint, shelf.path(), report),
        |from, _, _| {
            let get = |object| fetch(&mut patient(), &object, &[from], into.path(), &options, go_on);
            let mut last = [0; 32];
            for n in 0..6_u8 {
                // The same size each time, and from the second time on the time of change is restored.
                let modified = fs::metadata(&path).and_then(|found| found.modified()).ok();
                let content = vec![n; 200_000];
                fs::write(&path, &content).expect("written");
                if let Some(modified) = modified {
                    File::options().write(true).open(&path).and_then(|file| file.set_modified(modified)).expect("set");
                }
                let hash = *blake3::hash(&content).as_bytes();
                if n % 2 == 0 {
                    assert_eq!(get(Wanted::Hash(hash)).expect("by hash").hash, hash);
                }
                assert_eq!(get(Wanted::Name(name("file"))).expect("by name").hash, hash);
                assert_eq!(get(Wanted::Hash(hash)).expect("by hash").hash, hash);
                assert!(fs::read(into.path().join("file")).expect("there") == content);
                if n == 5 {
                    assert!(get(Wanted::Hash(last)).is_err(), "that content is gone");
                }
                last = hash;
            }
        },
    );
}

#[test]
fn a_sender_that_has_not_shown_that_it_is_there_keeps_no_name_from_others() {
    let (from, into) = (directory(), directory());
    let options = ReceiveOptions::default();
    let ((), reports) = beside(receiving(into.path(), &options), |to, _, reports| {
        let mut offering = endpoint();
        offer(&mut offering, "file", 1000, to);
        let (now, mut offers, mut addresses) = (offering.now(), Vec::new(), Vec::new());
        offering.host().poll_transmit(now, &mut offers, &mut addresses).expect("an offer");
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.send_to(&offers, to).expect("sent");
        while !reports.lock().expect("no panic").iter().any(|report| matches!(report, Report::Began { .. })) {
            thread::sleep(Duration::from_millis(5));
        }
        let file = file(from.path(), "file", &vec![5; 300_000]);
        assert_eq!(send_file(&mut patient(), &file, &[to], None, go_on).expect("sent"), [Outcome::Verified]);
    });
    let lost = |report: &Report| matches!(report, Report::Declined { why, .. } if why.contains("nothing has shown"));
    assert_eq!(reports.iter().filter(|report| lost(report)).count(), 1);
    assert!(fs::read(into.path().join("file")).expect("there") == vec![5; 300_000]);
}

/// Sends a recorded offer of a file of that name and size to a host, from that address. Its sender is not there.
fn replay(called: &str, size: u64, from: [u8; 4], to: SocketAddr) {
    let mut offering = endpoint();
    offer(&mut offering, called, size, to);
    let (now, mut offers, mut addresses) = (offering.now(), Vec::new(), Vec::new());
    offering.host().poll_transmit(now, &mut offers, &mut addresses).expect("an offer");
    std::net::UdpSocket::bind((Ipv4Addr::from(from), 0)).and_then(|socket| socket.send_to(&offers, to)).expect("sent");
}

fn wait_for_began(reports: &Mutex<Vec<Report>>, count: usize) {
    let began = |reports: &[Report]| reports.iter().filter(|report| matches!(report, Report::Began { .. })).count();
    while began(&reports.lock().expect("no panic")) < count {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_offer_whose_sender_is_not_there_takes_neither_room_nor_the_only_place_nor_all_places() {
    use std::os::unix::fs::MetadataExt;
    let stored = |into: &Path| -> u64 {
        let entries = fs::read_dir(into).expect("a directory").map(|entry| entry.expect("an entry"));
        entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.blocks() * 512).sum()
    };
    // The only place, and more offers than there are places.
    for (limit, offers) in [(Some(1), 1), (None, 140)] {
        let (from, into) = (directory(), directory());
        let options = ReceiveOptions { limit, ..ReceiveOptions::default() };
        let ((), reports) = beside(receiving(into.path(), &options), |to, _, reports| {
            for n in 0..offers {
                // One address may begin 64 sessions.
                replay(&format!("large{n}"), 50_000_000, [127, 0, 0, 2 + n as u8 / 50], to);
            }
            wait_for_began(reports, offers.min(128));
            assert!(stored(into.path()) < 1_000_000, "{} bytes", stored(into.path()));
            let file = file(from.path(), "file", &vec![5; 300_000]);
            assert_eq!(send_file(&mut patient(), &file, &[to], None, go_on).expect("sent"), [Outcome::Verified]);
        });
        assert!(fs::read(into.path().join("file")).expect("there") == vec![5; 300_000]);
        assert!(reports.iter().all(|report| !matches!(report, Report::NotReceived { .. })), "{reports:?}");
    }
}

#[test]
fn hidden_files_are_taken_only_where_that_is_asked_for() {
    let from = directory();
    for called in [".bashrc", ".a.txt", "...", "..a"] {
        let file = file(from.path(), called, b"alias ls='rm'");
        for allow_hidden in [false, true] {
            let into = directory();
            let options = ReceiveOptions { allow_hidden, overwrite: true, ..ReceiveOptions::default() };
            let (outcomes, reports) = beside(receiving(into.path(), &options), |to, _, _| {
                send_file(&mut patient(), &file, &[to], None, go_on).expect("answered")
            });
            if allow_hidden {
                assert_eq!(outcomes, [Outcome::Verified], "{called}");
                continue;
            }
            let [Outcome::Refused(refusal)] = &*outcomes else { panic!("{outcomes:?}") };
            assert!(refusal.text().contains("begins with a dot"), "{}", refusal.text());
            assert!(reports.iter().any(|report| matches!(report, Report::Declined { .. })), "{reports:?}");
            assert_eq!(fs::read_dir(into.path()).expect("a directory").count(), 0);
        }
    }
}

#[test]
fn one_sender_at_a_time_has_a_name_and_the_second_is_told_at_once_or_waits() {
    for same in [true, false] {
        let (from, into) = (directory(), directory());
        let file = |folder: &str, byte: u8| {
            fs::create_dir_all(from.path().join(folder)).expect("made");
            file(&from.path().join(folder), "file", &vec![byte; 1_000_000])
        };
        let (first, second) = (file("first", 1), file("second", if same { 1 } else { 2 }));
        // Also with overwriting: both would say that it was verified.
        let options = ReceiveOptions { overwrite: !same, ..ReceiveOptions::default() };
        beside(receiving(into.path(), &options), |to, _, reports| {
            let slow = HostConfig {
                rate: Some(anabranch_transport::Rate::from_mbps(4)),
                ..HostConfig::new(Protection::Psk(Psk::new([3; 32]).expect("not zero")))
            };
            let mut slow = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), slow).expect("a socket");
            thread::scope(|scope| {
                let sending = scope.spawn(move || send_file(&mut slow, &first, &[to], None, go_on).expect("sent"));
                let began = |report: &Report| matches!(report, Report::Progress { bytes: 1.., .. });
                while !reports.lock().expect("no panic").iter().any(began) {
                    thread::sleep(Duration::from_millis(5));
                }
                let outcomes = send_file(&mut patient(), &second, &[to], None, go_on).expect("answered");
                if same {
                    assert_eq!(outcomes, [Outcome::AlreadyThere]);
                } else {
                    let refused = "another file is being received under the name file, from ";
                    assert!(
                        matches!(&outcomes[..], [Outcome::Refused(why)] if why.text().starts_with(refused)),
                        "{outcomes:?}"
                    );
                    assert!(!sending.is_finished(), "at once");
                }
                assert_eq!(sending.join().expect("no panic"), [Outcome::Verified]);
            });
        });
        assert!(fs::read(into.path().join("file")).expect("there") == vec![1; 1_000_000]);
        assert_eq!(fs::read_dir(into.path()).expect("a directory").count(), 1, "nothing else is left");
    }
}

#[test]
fn what_is_no_file_is_refused_and_named_and_the_rest_goes_on() {
    use rustix::fs::{CWD, Mode, mkfifoat};
    let (shelf, into) = (directory(), directory());
    for folder in [&shelf, &into] {
        mkfifoat(CWD, folder.path().join("pipe"), Mode::RWXU).expect("made");
        fs::create_dir(folder.path().join("folder")).expect("made");
        std::os::unix::fs::symlink("pipe", folder.path().join("link")).expect("made");
    }
    fs::write(shelf.path().join("file"), "content").expect("written");
    let fetched = directory();
    let ((), reports) = beside(
        |endpoint, report| serve(endpoint, shelf.path(), report),
        |from, _, _| {
            for object in ["pipe", "folder", "link", "file"] {
                let options = ReceiveOptions::default();
                let wanted = Wanted::Name(name(object));
                let found = fetch(&mut patient(), &wanted, &[from], fetched.path(), &options, go_on);
                assert_eq!(found.is_ok(), object == "file", "{object}: {found:?}");
            }
        },
    );
    for (object, kind) in [("pipe", "named pipe"), ("folder", "directory"), ("link", "named pipe")] {
        let named = |report: &Report| matches!(report, Report::NotServed { why, .. } if why.contains(object) && why.contains(kind));
        assert!(reports.iter().any(named), "{object}: {reports:?}");
    }

    for overwrite in [false, true] {
        let options = ReceiveOptions { overwrite, ..ReceiveOptions::default() };
        let from = directory();
        beside(receiving(into.path(), &options), |to, _, _| {
            for (object, content) in
                [("pipe", &b""[..]), ("pipe", b"content"), ("folder", b"content"), ("other", b"content")]
            {
                let object =
                    format!("{object}{}", if object == "other" { overwrite.to_string() } else { String::new() });
                let file = file(from.path(), &object, content);
                let outcomes = send_file(&mut patient(), &file, &[to], None, go_on).expect("answered");
                if object.starts_with("other") {
                    assert_eq!(outcomes, [Outcome::Verified]);
                } else {
                    let text = "only regular files are replaced";
                    assert!(
                        matches!(&outcomes[..], [Outcome::Refused(why)] if why.text().contains(text)),
                        "{outcomes:?}"
                    );
                }
            }
        });
    }
}
