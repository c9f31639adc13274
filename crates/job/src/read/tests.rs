use super::*;
use crate::Settings;
use crate::job::Action;
use crate::progress::driving::{drive, ended_us};
use crate::{Peers, loggops};
use anabranch_transport::{Bytes, Duration, Time};
use proptest::prelude::*;
use std::sync::Arc;

const CM: Format = Format::ConnectionMatrix { us: false };

fn goal(text: &str) -> Result<Job, String> {
    read(text.as_bytes(), Format::Goal).map_err(|e| format!("{}: {e}", e.line))
}

fn matrix(text: &str) -> Result<Job, String> {
    read(text.as_bytes(), CM).map_err(|e| format!("{}: {e}", e.line))
}

/// When the operations of a job end, in microseconds, if each message is there after one, and acknowledged at once.
fn ends(job: Job) -> Vec<u64> {
    ended_us(&drive(job, Settings::default(), |_| Duration::from_us(1), Duration::ZERO))
}

#[test]
fn goal_with_all_that_it_knows() {
    let text = "// a comment\nnum_ranks 3\n\nrank 0 {\nl1: send 8b to 1 tag 7 cpu 2 nic 0\nl2 : calc 3000\nl2 requires l1 /* not\n\
                yet: calc 1 */\nsend 5b to 2\n}\nrank 1 { \nl1: recv 8b from -1 tag -1\nl2: calc 5 cpu 1\nl2 irequires l1 }\nrank 2 {\n\
                recv 5b from 0\n}\n";
    let job = goal(text).unwrap();
    let actions: Vec<_> = job.operations().iter().map(|o| (o.rank, o.stream, o.place.line(), o.action)).collect();
    assert_eq!(
        actions,
        [
            (0, 2, 5, Action::Send { to: Peers::One(1), bytes: Bytes(8), tag: 7 }),
            (0, 0, 6, Action::Calc(Duration::from_us(3))),
            (0, 0, 9, Action::Send { to: Peers::One(2), bytes: Bytes(5), tag: 0 }),
            (1, 0, 12, Action::Receive { from: None, bytes: Bytes(8), tag: None }),
            (1, 1, 13, Action::Calc(Duration::from_ns(5))),
            (2, 0, 16, Action::Receive { from: Some(0), bytes: Bytes(5), tag: Some(0) }),
        ]
    );
    assert_eq!((job.after_end(0), job.after_start(3), job.ranks()), (&[1][..], &[4][..], 3));
}

#[test]
fn goal_errors_name_the_line() {
    let error = |body: &str| goal(&format!("num_ranks 2\nrank 0 {{\n{body}\n}}\n")).unwrap_err();
    assert_eq!(error("sent 8b to 1"), "3: expected send, recv or calc, found \"sent\"");
    assert_eq!(error("send 8 to 1"), "3: expected a size such as `8b`, found \"8\"");
    assert_eq!(error("send 8b from 1"), "3: expected `to <rank>`, found \"from\"");
    assert_eq!(error("send 8b to -1"), "3: a message is for one rank, not for -1");
    assert_eq!(error("send 8b to 2"), "3: there is no rank 2: ranks are numbered 0 to 1");
    assert_eq!(error("send 8b to 1 nic 1"), "3: `nic 1`: a rank has one network interface, 0");
    assert_eq!(error("send 8b to 1 tag"), "3: nothing follows \"tag\"");
    assert_eq!(error("calc 8 tag 1"), "3: a computation has no tag");
    assert_eq!(error("a: calc 8\na: calc 8"), "4: an operation of this rank above is labelled \"a\", too");
    assert_eq!(error("a: calc 8\na requires b"), "4: no operation of this rank above is labelled \"b\"");
    assert_eq!(
        error("a: calc 8\na requires a"),
        "3: operations wait for each other in a circle: rank 0, line 3: compute for 8ns"
    );
    assert_eq!(error("send 8b to 1"), "3: rank 0: send 8B to 1 with tag 0: nobody receives it (1 sent, 0 received)");
    assert_eq!(goal("rank 0 {\n}").unwrap_err(), "1: expected `num_ranks N`, found \"rank 0 {\"");
    assert_eq!(goal("").unwrap_err(), "0: the line `num_ranks N` is missing");
    assert_eq!(goal("num_ranks 1\nrank 1 {\n}").unwrap_err(), "2: there is no rank 1: `num_ranks` says 1");
    assert_eq!(goal("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}").unwrap_err(), "4: rank 0 has been described before");
    assert_eq!(goal("num_ranks 1\nrank 0 {\n").unwrap_err(), "2: `rank 0 {` has no `}`");
    assert_eq!(goal("num_ranks 1\n/* rank 0 {\n").unwrap_err(), "2: `/*` has no `*/`");
}

#[test]
fn triggers_begin_connections() {
    let text = "Nodes 4\nConnections 4\nTriggers 2\n0->1 id 1 start 0 size 8 send_done_trigger 1\n\
                1->2 id 2 trigger 1 size 8 recv_done_trigger 2\n0->2 id 3 start 4000000 size 8 send_done_trigger 2\n\
                2->3 id 4 trigger 2 size 8\ntrigger id 1 oneshot\ntrigger id 2 barrier count 2\n";
    let job = matrix(text).unwrap();
    // Sends and receives of each connection, a wait for the start at 4 us, and one for each trigger.
    assert_eq!(ends(job), [1, 1, 2, 2, 5, 5, 4, 6, 6, 1, 5]);
}

#[test]
fn triggers_that_cannot_go_off_are_refused() {
    let error = |rows: &str, triggers: &str| {
        let (connections, count) = (rows.lines().count(), triggers.lines().count());
        let text = format!("Nodes 4\nConnections {connections}\nTriggers {count}\n{rows}\n{triggers}\n");
        matrix(&text).unwrap_err()
    };
    let two = "0->1 start 0 size 8 send_done_trigger 1\n0->2 start 0 size 8 send_done_trigger 1\n1->2 trigger 1 size 8";
    assert_eq!(error(two, "trigger id 1 oneshot"), "7: trigger 1 is `oneshot`, but 2 connections call it");
    assert_eq!(error(two, "trigger id 1 barrier count 3"), "7: trigger 1 is a barrier of 3, but 2 connections call it");
    assert_eq!(
        error(two, "trigger id 1 multishot"),
        "7: trigger 1 is a `multishot` with several callers, which is not supported"
    );
    assert_eq!(error(two, "trigger id 1 barrier"), "7: a barrier needs its `count`");
    assert_eq!(error(two, "trigger id 2 oneshot"), "0: trigger 1 is not declared");
    let never = "1->2 trigger 1 size 8";
    assert_eq!(error(never, "trigger id 1 oneshot"), "5: trigger 1 is never called: 1 connections would never begin");
    assert_eq!(
        error("1->2 trigger 1 start 0 size 8", "trigger id 1 oneshot"),
        "4: `start` and `trigger` exclude each other"
    );
    assert_eq!(error("1->2 start 0", ""), "4: `size` is missing or 0: a message of a job has an end");
    assert_eq!(
        error("1->2 trigger 1 size 8 send_done_trigger 1", "trigger id 1 oneshot").split(':').nth(1),
        Some(" operations wait for each other in a circle")
    );
}

/// What `LogGOPSim`'s own writer makes of a text (its `Goal::SerializeSchedule`) is read as the text.
#[test]
fn binary_goal_is_read_as_its_text() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let bytes = std::fs::read(folder.join("goal-small.bin")).expect("it is beside the tests");
    let text = "num_ranks 3\nrank 0 {\na: send 8b to 1 tag 7 cpu 2\nb: calc 3000\nb requires a\nsend 5b to 2\n}\n\
                rank 1 {\na: recv 8b from 0 tag 7\nb: calc 5 cpu 1\nb irequires a\n}\nrank 2 {\nrecv 5b from 0\n}\n";
    let (binary, text) = (read(&bytes, Format::Goal).unwrap(), goal(text).unwrap());
    let bare = |job: &Job| {
        job.operations().iter().map(|o| crate::Operation { place: crate::job::Place::None, ..*o }).collect::<Vec<_>>()
    };
    assert_eq!(bare(&binary), bare(&text));
    for op in 0..binary.operations().len() as u32 {
        assert_eq!((binary.after_end(op), binary.after_start(op)), (text.after_end(op), text.after_start(op)));
    }
    for cut in 0..bytes.len() {
        assert!(read(&bytes[..cut], Format::Goal).is_err(), "{cut} bytes");
    }
}

/// Files of the field.
#[test]
fn public_files_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it is beside the tests");
    let incast = goal(&text("goal-incast_8_1_2MiB.goal")).unwrap();
    assert_eq!((incast.ranks(), incast.operations().len(), incast.sends().len()), (16, 4, 2));
    let compute = goal(&text("goal-comp.goal")).unwrap();
    let end = loggops::estimate(&Arc::new(compute), &loggops::LogGops::default())[0].ended;
    // The computation, o + L, then o and all but one of the bytes at 6 ns each.
    assert_eq!(end.map(|t| t.since(Time::ZERO)), Some(Duration::from_ns(8000 + 1500 + 2500 + 1500 + 79_999_999 * 6)));
    let serial = matrix(&text("htsim-alltoall_serial_16n.cm")).unwrap();
    assert_eq!((serial.ranks(), serial.sends().len()), (16, 240));
    // Each rank sends to 15 others, one after the other.
    assert_eq!(ends(serial).into_iter().max(), Some(15));
    let ring = matrix(&text("htsim-ring_allreduce_8n_1MB.cm")).unwrap();
    assert_eq!(ring.sends().len(), 120);
    assert_eq!(ends(ring).into_iter().max(), Some(15), "2 x 8 - 1 hops for each chunk");
}

proptest! {
    #[test]
    fn hostile_texts_never_panic(text in "\\PC{0,200}") {
        let _ = (goal(&text), matrix(&text));
    }

    #[test]
    fn almost_valid_texts_never_panic(
        lines in prop::collection::vec(
            "(num_ranks [0-9]|rank [0-3] \\{|\\}|[a-c]: (send|recv) [0-9]b (to|from) [0-3]( (tag|cpu|nic) [0-9]){0,2}|\
             [a-c] i?requires [a-c]|calc [0-9]{1,22}|/\\*|\\*/)", 0..12),
    ) {
        let _ = goal(&lines.join("\n"));
    }

    #[test]
    fn damaged_binaries_never_panic(at in 8_usize..344, byte: u8, cut in 8_usize..345) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let mut bytes = std::fs::read(folder.join("goal-small.bin")).expect("it is beside the tests");
        bytes[at] = byte;
        bytes.truncate(cut);
        let _ = read(&bytes, Format::Goal);
    }

    #[test]
    fn almost_valid_matrices_never_panic(
        lines in prop::collection::vec(
            "(Nodes|Connections|Triggers|trigger|Failures|[0-9]{1,3}->[0-9]{1,11})\
             ( (start|size|id|prio|trigger|send_done_trigger|oneshot|barrier|count|[0-9.]{1,22})){0,7}", 0..8)
    ) {
        let _ = matrix(&lines.join("\n"));
    }
}
