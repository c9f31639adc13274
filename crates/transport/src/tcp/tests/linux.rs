//! The window by the rules of Linux 3.2, a sender driven by hand.

use super::*;
use crate::Bytes;
use crate::tcp::WindowRules;

fn config(congestion: Algorithm) -> TcpConfig {
    let receive_window = Bytes(1 << 20);
    let window_rules = WindowRules::Linux32;
    TcpConfig {
        congestion,
        ecn: true,
        initial_window: 10,
        receive_window,
        handshake: false,
        window_rules,
        ..TcpConfig::default()
    }
}

/// A sender that has sent its first ten segments.
fn ten_sent(config: &TcpConfig) -> Connection {
    let mut sender = Connection::connect(config, None, Time::ZERO);
    while sender.poll_transmit(Time::ZERO).is_some() {}
    sender
}

/// Acknowledges so many segments in all, with or without echo, and lets it send: the window in segments, and how many left.
fn acknowledge(sender: &mut Connection, segments: u64, ece: bool) -> (u64, usize) {
    let flags = Flags::ACK | Flags::ECE.when(ece);
    let header = Segment { ack: segments * MSS, window: 1 << 20, flags, ..Segment::default() };
    sender.handle_packet(Time::ZERO, &crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false });
    let sent = std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).count();
    let cwnd = sender.cwnd().unwrap();
    assert_eq!(cwnd % MSS, 0, "whole segments");
    (cwnd / MSS, sent)
}

fn windows(sender: &mut Connection, acks: impl Iterator<Item = u64>) -> Vec<u64> {
    acks.map(|segments| acknowledge(sender, segments, false).0).collect()
}

/// `tcp_enter_cwr` of Stanford's patch cuts at once, and nothing grows until an ACK beyond what had been sent, that one included. Then
/// `snd_cwnd <= snd_ssthresh` allows a segment, and `tcp_cong_avoid_ai` one for a window of ACKs and one more. Not the kernel's is the 5:
/// its `tcp_may_raise_cwnd` lets the ACK with the echo add a segment in slow start, and 11 - 5 are 6.
#[test]
fn dctcp_s_window_stands_still_for_a_round_trip_after_an_echo() {
    let mut sender = ten_sent(&config(Algorithm::Dctcp));
    assert_eq!(acknowledge(&mut sender, 1, true), (5, 0), "alpha begins with 1");
    assert_eq!(windows(&mut sender, 2..=11), [5; 10]);
    assert_eq!(windows(&mut sender, 12..=18), [6; 7]);
    assert_eq!(windows(&mut sender, 19..=20), [7; 2]);
    // By the RFCs' rules it grows with the ACKs that carry no echo.
    let mut sender = ten_sent(&TcpConfig { window_rules: WindowRules::Rfc, ..config(Algorithm::Dctcp) });
    let cwnd = |sender: &mut Connection, segments| {
        let header = Segment {
            ack: segments * MSS,
            window: 1 << 20,
            flags: Flags::ACK | Flags::ECE.when(segments == 1),
            ..Segment::default()
        };
        sender
            .handle_packet(Time::ZERO, &crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false });
        while sender.poll_transmit(Time::ZERO).is_some() {}
        sender.cwnd().unwrap() / MSS
    };
    assert_eq!([1, 6].map(|segments| cwnd(&mut sender, segments)), [5, 6]);
}

/// Echoes in the CWR state are not heeded; the first beyond it begins another.
#[test]
fn a_window_of_data_is_reduced_once() {
    let mut sender = ten_sent(&config(Algorithm::Dctcp));
    assert_eq!(acknowledge(&mut sender, 1, true).0, 5);
    assert_eq!((2..=10).map(|n| acknowledge(&mut sender, n, true).0).collect::<Vec<_>>(), [5; 9]);
    assert_eq!(acknowledge(&mut sender, 11, true).0, 3, "5 - 2.5, whole segments subtracted");
}

/// `tcp_cwnd_down`: one for each second ACK, so that a segment leaves for every other one that is acknowledged. Ours ends at ssthresh,
/// the kernel's at half of it (`tcp_cwnd_min`).
#[test]
fn without_dctcp_the_window_falls_by_a_segment_with_each_second_ack() {
    let mut sender = ten_sent(&config(Algorithm::NewReno));
    assert_eq!(acknowledge(&mut sender, 1, true), (10, 1));
    let steps: Vec<_> = (2..=10).map(|segments| acknowledge(&mut sender, segments, false)).collect();
    assert_eq!(steps, [(9, 0), (9, 1), (8, 0), (8, 1), (7, 0), (7, 1), (6, 0), (6, 1), (5, 0)]);
    assert_eq!(windows(&mut sender, 11..=12), [5, 6], "beyond what had been sent, it may grow again");
}

/// `tcp_abc` = 0: an ACK of two segments counts as one, so that delayed ACKs halve the growth.
#[test]
fn growth_counts_acks_and_not_bytes() {
    let mut sender = ten_sent(&config(Algorithm::NewReno));
    acknowledge(&mut sender, 1, true);
    windows(&mut sender, 2..=12);
    let grown = windows(&mut sender, (14..=40).step_by(2));
    assert_eq!(grown, [6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7]);
}

#[test]
fn hystart_is_not_for_the_slow_start_of_linux_3_2() {
    let config = TcpConfig { hystart: true, ..config(Algorithm::Dctcp) };
    assert_eq!(config.validate().map_err(|error| error.field), Err("window_rules"));
    assert_eq!(TcpConfig { window_rules: WindowRules::Rfc, ..config }.validate(), Ok(()));
}

#[test]
fn other_controls_have_no_rules_of_linux_3_2() {
    for &congestion in Algorithm::ALL {
        let known = [Algorithm::Reno, Algorithm::NewReno, Algorithm::Dctcp, Algorithm::FaDctcp].contains(&congestion);
        let error = config(congestion).validate().err();
        assert_eq!(error.map(|e| e.field), (!known).then_some("window_rules"), "{congestion:?}");
    }
}
