//! Transfers as futures, over real sockets on the loopback.
#![cfg(feature = "tokio")]

use std::fs;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use anabranch_net::tokio::{AsyncEndpoint, Reports};
use anabranch_net::{
    Endpoint, Failure, HostConfig, Input, NetError, ObjectName, Outcome, Protection, Psk, ReceiveOptions, Report,
    Wanted,
};
use anabranch_transport::{Duration, Rate};
use tempfile::{TempDir, tempdir};

fn config() -> HostConfig {
    HostConfig::new(Protection::Psk(Psk::new([5; 32]).expect("not zero")))
}

fn bind(config: HostConfig) -> AsyncEndpoint {
    let endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), config).expect("a socket");
    AsyncEndpoint::new(endpoint).expect("a thread")
}

fn directory() -> TempDir {
    tempdir().expect("a directory")
}

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

fn wanted(name: &str) -> Wanted {
    Wanted::Name(ObjectName::new(name).expect("a name"))
}

/// Runs on this thread alone, without timers and IO.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// The first report of this kind.
async fn until(reports: &mut Reports, is_it: impl Fn(&Report) -> bool) -> Report {
    loop {
        let report = reports.next().await.expect("it comes before the end");
        if is_it(&report) {
            return report;
        }
    }
}

/// All that is left of them.
async fn rest(mut reports: Reports) -> Vec<Report> {
    let mut all = Vec::new();
    while let Some(report) = reports.next().await {
        all.push(report);
    }
    all
}

fn has_come_far(report: &Report) -> bool {
    matches!(report, Report::Progress { bytes: 1.., .. })
}

/// Threads of an endpoint that this process has, where the system tells.
fn threads_of(address: SocketAddr) -> Option<usize> {
    let name = format!("scdp-{}\n", address.port());
    let tasks = fs::read_dir("/proc/self/task").ok()?.filter_map(Result::ok);
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    Some(names.filter(|comm| *comm == name).count())
}

/// Whether it has so many, or soon has: one that was joined is listed a moment longer.
fn has_threads(address: SocketAddr, count: usize) -> bool {
    (0..1000).any(|look| {
        std::thread::sleep(std::time::Duration::from_millis(if look > 0 { 10 } else { 0 }));
        threads_of(address).is_none_or(|found| found == count)
    })
}

#[test]
fn transfers_go_on_at_once_on_a_runtime_with_one_thread() {
    let (from, into) = (directory(), [directory(), directory()]);
    let contents = [content(1, 3_000_000), content(2, 2_000_000)];
    let files = contents.each_ref().map(|bytes| file(from.path(), &format!("{}.bin", bytes.len()), bytes));
    run(async {
        // Two that receive until they are dropped, and two that send to them: all four at the same time.
        let mut tasks = Vec::new();
        for (input, into) in files.iter().zip(&into) {
            let (mut receiver, mut sender) = (bind(config()), bind(config()));
            let (to, file, into) = (vec![receiver.local_address()], input.clone(), into.path().to_owned());
            tasks.push(tokio::spawn(async move {
                let (receiving, mut reports) = receiver.receive_dir(into, ReceiveOptions::default());
                until(&mut reports, |report| matches!(report, Report::Received { .. })).await;
                drop(receiving);
                receiver.close().await;
                Vec::new()
            }));
            tasks.push(tokio::spawn(async move { sender.send_files(vec![file], to, None).0.await.expect("sent") }));
        }
        for (n, task) in tasks.into_iter().enumerate() {
            let outcomes = task.await.expect("no panic");
            assert!(n % 2 == 0 || outcomes == [[Some(Outcome::Verified)]], "{n}: {outcomes:?}");
        }
    });
    for (bytes, into) in contents.iter().zip(&into) {
        assert!(fs::read(into.path().join(format!("{}.bin", bytes.len()))).expect("there") == *bytes);
    }
}

#[test]
fn a_transfer_that_is_dropped_is_cancelled_and_its_endpoint_goes_on() {
    let (from, into) = (directory(), directory());
    let (large, small) =
        (file(from.path(), "large.bin", &content(3, 5_000_000)), file(from.path(), "small.bin", &content(4, 1000)));
    run(async {
        let mut receiver = bind(config());
        let to = vec![receiver.local_address()];
        let (_receiving, mut received) = receiver.receive_dir(into.path(), ReceiveOptions::default());
        let mut sender = bind(HostConfig { rate: Some(Rate::from_mbps(10)), ..config() });
        let address = sender.local_address();

        let (sending, mut reports) = sender.send_files(vec![large], to.clone(), None);
        until(&mut reports, has_come_far).await;
        drop(sending);
        let Report::NotReceived { why, .. } = until(&mut received, Report::is_outcome).await else { panic!("lost") };
        assert_eq!(why, Failure::Cancelled, "it was told");
        // The end of the reports is that of the transfer.
        let left = rest(reports).await;
        assert!(
            matches!(left.iter().find(|report| report.is_outcome()), Some(Report::Receiver { outcome, .. }) if *outcome == Outcome::Failed(Failure::Stopped)),
            "{left:?}"
        );

        assert!(has_threads(address, 1));
        let outcomes = sender.send_files(vec![small], to, None).0.await.expect("sent");
        assert_eq!(outcomes, [[Some(Outcome::Verified)]]);
        let endpoint = sender.close().await;
        assert!(has_threads(address, 0) && endpoint.local_address().expect("it is open") == address);
    });
    let names: Vec<_> =
        fs::read_dir(into.path()).expect("a directory").map(|entry| entry.expect("one").file_name()).collect();
    assert_eq!(names, ["small.bin"]);
}

#[test]
fn a_receiver_that_is_dropped_tells_its_sender() {
    let (from, into) = (directory(), directory());
    let file = file(from.path(), "large.bin", &content(5, 5_000_000));
    run(async {
        let mut receiver = bind(config());
        let to = vec![receiver.local_address()];
        let mut sender = bind(HostConfig { rate: Some(Rate::from_mbps(10)), ..config() });
        let (sending, _) = sender.send_files(vec![file], to, None);
        {
            let (_receiving, mut reports) = receiver.receive_dir(into.path(), ReceiveOptions::default());
            until(&mut reports, has_come_far).await;
        }
        assert_eq!(sending.await.expect("sent"), [[Some(Outcome::Failed(Failure::Cancelled))]]);
        let address = receiver.local_address();
        receiver.close().await;
        assert!(has_threads(address, 0));
    });
    assert_eq!(fs::read_dir(into.path()).expect("a directory").count(), 0, "nothing is left of it");
}

#[test]
fn reports_that_nobody_reads_hold_nothing_up_and_no_outcome_is_lost() {
    const FILES: usize = 400;
    let (from, into) = (directory(), directory());
    let files: Vec<Input> =
        (0..FILES).map(|n| file(from.path(), &format!("{n}.bin"), &content(n as u64, 500))).collect();
    run(async {
        let (mut receiver, mut sender) = (bind(config()), bind(config()));
        let to = vec![receiver.local_address()];
        let options = ReceiveOptions { limit: Some(FILES as u64), ..ReceiveOptions::default() };
        let (receiving, received) = receiver.receive_dir(into.path(), options);
        let (sending, reports) = sender.send_files(files, to, None);
        assert_eq!(sending.await.expect("sent"), vec![[Some(Outcome::Verified)]; FILES]);
        let sent = rest(reports).await;
        let count = |reports: &[Report], kind: fn(&Report) -> bool| reports.iter().filter(|one| kind(one)).count();
        assert_eq!(count(&sent, |report| matches!(report, Report::Sent { .. })), FILES);
        assert_eq!(count(&sent, |report| matches!(report, Report::Receiver { .. })), FILES);
        let begun = count(&sent, |report| matches!(report, Report::Sending { .. }));
        assert!(begun > 100 && begun < FILES, "{begun}: of what leads there, the last");
        drop(receiving);
        let received = rest(received).await;
        assert_eq!(count(&received, |report| matches!(report, Report::Received { .. })), FILES);
    });
}

#[test]
fn an_object_is_fetched_and_one_that_is_not_there_is_an_error() {
    let (shelf, into) = (directory(), directory());
    let bytes = content(6, 2_000_000);
    file(shelf.path(), "rivers.bin", &bytes);
    run(async {
        let (mut server, mut client) = (bind(config()), bind(config()));
        let from = vec![server.local_address()];
        let (serving, mut reports) = server.serve(shelf.path());
        let options = ReceiveOptions::default();
        let (fetching, _) = client.fetch(wanted("rivers.bin"), from.clone(), into.path(), options.clone());
        assert_eq!(fetching.await.expect("fetched").size, 2_000_000);
        let (fetching, _) = client.fetch(wanted("seas.bin"), from, into.path(), options);
        let error = fetching.await.expect_err("it is not there");
        assert!(
            matches!(&error, NetError::Session(Failure::Refused(why)) if why.contains("no such object")),
            "{error}"
        );
        until(&mut reports, |report| matches!(report, Report::Served { .. })).await;
        drop(serving);
        server.close().await;
    });
    assert!(fs::read(into.path().join("rivers.bin")).expect("there") == bytes);
}

#[test]
fn an_endpoint_that_is_dropped_ends_its_thread_and_transfers_wait_for_what_was_cancelled() {
    let (from, into) = (directory(), directory());
    let file = file(from.path(), "large.bin", &content(7, 5_000_000));
    // Nobody is there: who stops tells that to nobody, and does not wait for an answer.
    let gone = bind(config()).local_address();
    run(async {
        let mut sender = bind(HostConfig {
            give_up_after: Duration::from_secs(600),
            stall_after: Duration::from_secs(600),
            ..config()
        });
        for _ in 0..3 {
            let (sending, mut reports) = sender.send_files(vec![file.clone()], vec![gone], None);
            until(&mut reports, |report| matches!(report, Report::Sending { .. })).await;
            drop(sending);
        }
        // Cancelled before it began.
        let (never, reports) = sender.receive_dir(into.path(), ReceiveOptions::default());
        drop(never);
        let (serving, serves) = sender.serve("/no/such/folder");
        let error = serving.await.expect_err("there is no such folder");
        assert!(matches!(error, NetError::Open { .. }), "{error}");
        assert!(rest(reports).await.is_empty() && rest(serves).await.is_empty());
        let (sending, mut reports) = sender.send_files(vec![file], vec![gone], None);
        until(&mut reports, |report| matches!(report, Report::Sending { .. })).await;
        // Its destructor never runs: that of the endpoint stops it.
        std::mem::forget(sending);
        let address = sender.local_address();
        drop(sender);
        // The last thing of the thread that anybody can see but its end.
        let left = rest(reports).await;
        assert!(left.iter().all(|report| !matches!(report, Report::Progress { bytes: 1.., .. })), "{left:?}");
        // It has nothing left to do but end.
        assert!(has_threads(address, 0));
    });
}

#[test]
fn a_transfer_that_was_forgotten_ends_when_the_next_one_begins() {
    let into = directory();
    run(async {
        let mut endpoint = bind(config());
        let (receiving, _) = endpoint.receive_dir(into.path(), ReceiveOptions::default());
        // Its destructor never runs, and it would receive for ever.
        std::mem::forget(receiving);
        let (serving, _) = endpoint.serve("/no/such/folder");
        assert!(matches!(serving.await, Err(NetError::Open { .. })));
        endpoint.close().await;
    });
}

#[test]
fn transfers_can_move_to_other_threads() {
    fn is_send<T: Send>(_: &T) {}
    let mut endpoint = bind(config());
    is_send(&endpoint);
    let (serving, reports) = endpoint.serve("/no/such/folder");
    is_send(&serving);
    is_send(&reports);
}
