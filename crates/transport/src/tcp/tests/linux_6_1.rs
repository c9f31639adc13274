//! The window by the rules of Linux 6.1. What is expected is computed by hand from `tcp_input.c`, `tcp_cong.c` and `tcp_dctcp.c`.

use super::*;
use crate::Bytes;
use crate::tcp::WindowRules;

fn config(congestion: Algorithm) -> TcpConfig {
    TcpConfig {
        congestion,
        ecn: true,
        sack: true,
        prr: true,
        initial_window: 10,
        receive_window: Bytes(1 << 20),
        handshake: false,
        window_rules: WindowRules::Linux61,
        ..TcpConfig::default()
    }
}

/// A sender that has sent its first ten segments.
fn ten_sent(congestion: Algorithm) -> Connection {
    let config = config(congestion);
    assert_eq!(config.validate(), Ok(()));
    let mut sender = Connection::connect(&config, None, Time::ZERO);
    while sender.poll_transmit(Time::ZERO).is_some() {}
    sender
}

/// An ACK of everything before a segment, which tells of others as well: the window in segments, and what leaves.
fn acknowledge(sender: &mut Connection, una: u64, ece: bool, sacked: Option<(u64, u64)>) -> (u64, Vec<u64>) {
    let flags = Flags::ACK | Flags::ECE.when(ece);
    let mut header = Segment { ack: una * MSS, window: 1 << 20, flags, ..Segment::default() };
    if let Some((start, end)) = sacked {
        header.push_sack(start * MSS, end * MSS);
    }
    sender.handle_packet(Time::ZERO, &crate::Arrival { header, from: 0, trimmed: false, ce: false, returned: false });
    let sent = std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).map(|p| p.header.seq / MSS).collect();
    let cwnd = sender.cwnd().unwrap();
    assert_eq!(cwnd % MSS, 0, "whole segments");
    (cwnd / MSS, sent)
}

/// The window, and how many segments leave, with each ACK of one more.
fn one_by_one(sender: &mut Connection, acks: std::ops::RangeInclusive<u64>) -> Vec<(u64, usize)> {
    acks.map(|una| acknowledge(sender, una, false, None)).map(|(cwnd, sent)| (cwnd, sent.len())).collect()
}

/// The first ACK leaves alpha at 15/16 and the window at 11. The second has the echo: `ssthresh` = 11 - 5. In flight are ten, and
/// `sndcnt` = ceil(6 n / 11) for the n-th ACK, less what has left, until six are in flight.
#[test]
fn an_echo_takes_the_window_down_over_a_round_trip() {
    let mut sender = ten_sent(Algorithm::Dctcp);
    assert_eq!(acknowledge(&mut sender, 1, false, None), (11, vec![10, 11]));
    assert_eq!(acknowledge(&mut sender, 2, true, None), (11, vec![12]));
    let way = [(11, 1), (10, 0), (10, 1), (9, 0), (9, 1), (8, 0), (8, 1), (7, 0), (6, 0), (6, 1)];
    assert_eq!(one_by_one(&mut sender, 3..=12), way);
    // Beyond what had been sent the state is over: the window is `ssthresh`, and the sixth ACK in it adds a segment.
    assert_eq!(one_by_one(&mut sender, 13..=18), [(6, 1), (6, 1), (6, 1), (6, 1), (6, 1), (7, 2)]);
}

/// `tcp_enter_cwr`: once. The next echo counts beyond what had been sent: 6 - floor(6 * alpha / 2), with `alpha` still above 2/3.
#[test]
fn a_window_of_data_is_reduced_once() {
    let mut sender = ten_sent(Algorithm::Dctcp);
    acknowledge(&mut sender, 1, false, None);
    for una in 2..=12 {
        acknowledge(&mut sender, una, true, None);
    }
    assert_eq!(acknowledge(&mut sender, 12, true, None).0, 6);
    let windows: Vec<u64> = (13..=19).map(|una| acknowledge(&mut sender, una, una == 13, None).0).collect();
    assert_eq!(windows.last(), Some(&4), "{windows:?}");
}

/// `tcp_slow_start` adds all that an ACK acknowledges, up to `ssthresh`; `tcp_cong_avoid_ai` counts the rest.
#[test]
fn growth_is_by_the_segments_that_are_acknowledged() {
    let mut sender = ten_sent(Algorithm::NewReno);
    assert_eq!(acknowledge(&mut sender, 4, false, None).0, 14);
    assert_eq!(acknowledge(&mut sender, 5, true, None).0, 14, "ssthresh is seven");
    for una in 6..=19 {
        acknowledge(&mut sender, una, false, None);
    }
    // The ACK of the 19th ends the state and counts one, this one six more: a window of seven.
    assert_eq!(acknowledge(&mut sender, 25, false, None).0, 8);
}

/// A loss takes half of the window, in whole segments, and not of what is in flight: of eleven it leaves five.
#[test]
fn a_loss_halves_the_window() {
    let mut sender = ten_sent(Algorithm::NewReno);
    acknowledge(&mut sender, 1, false, None);
    acknowledge(&mut sender, 1, false, Some((2, 4)));
    assert_eq!(acknowledge(&mut sender, 1, false, Some((2, 5))).1, [1]);
    assert_eq!(acknowledge(&mut sender, 14, false, None).0, 5);
}

/// `tcp_enter_recovery`: in the CWR state the reduction goes on. Reno's threshold stays half of eleven; DCTCP's becomes half of what
/// the window is by then (`dctcp_react_to_loss`).
#[test]
fn a_loss_in_the_reduction_for_an_echo_goes_on_with_it() {
    for (congestion, window) in [(Algorithm::NewReno, 5), (Algorithm::Dctcp, 4)] {
        let mut sender = ten_sent(congestion);
        acknowledge(&mut sender, 1, false, None);
        acknowledge(&mut sender, 2, true, None);
        for una in 3..=6 {
            acknowledge(&mut sender, una, false, None);
        }
        // Of 6 to 14 the first is lost, the others arrive.
        let arrived = [8, 9, 10, 11, 12].map(|end| acknowledge(&mut sender, 6, false, Some((7, end))).1);
        assert_eq!(arrived.iter().filter(|sent| sent.contains(&6)).count(), 1, "{congestion:?}: {arrived:?}");
        assert!(arrived.iter().all(|sent| sent.len() <= 1), "{congestion:?}: no burst, {arrived:?}");
        assert_eq!(acknowledge(&mut sender, 16, false, None).0, window, "{congestion:?}");
    }
}

/// `tcp_enter_loss`: a timeout while the window falls leaves the threshold: slow start goes on to half of ten.
#[test]
fn a_timeout_in_a_reduction_leaves_the_threshold() {
    let mut sender = ten_sent(Algorithm::NewReno);
    acknowledge(&mut sender, 1, true, None);
    let timeout = Time::ZERO + Duration::from_secs(1);
    sender.handle_timeout(timeout);
    assert!(sender.poll_transmit(timeout).is_some());
    let windows: Vec<u64> = (2..=7).map(|una| acknowledge(&mut sender, una, false, None).0).collect();
    assert_eq!(windows, [2, 3, 4, 5, 5, 5]);
}

/// Half of the window is lost behind a mark: a window that is cut at once lets nothing more leave, so that nothing tells of the loss
/// but the timer. One that falls in proportion goes on.
#[test]
fn an_echo_before_a_loss_of_half_a_window_is_no_timeout() {
    for (rules, timeouts) in [(WindowRules::Rfc, 1), (WindowRules::Linux61, 0)] {
        let config = TcpConfig { window_rules: rules, ..config(Algorithm::Dctcp) };
        let mut losses = lose(&[6, 7, 8, 9, 10, 11].map(|segment| (segment * MSS, 1)));
        let pair = transfer(&config, 40 * MSS, move |n, from, packet| match losses(n, from, packet) {
            Fate::Deliver if from == SENDER && packet.header.seq == MSS && packet.header.len > 0 => Fate::Mark,
            fate => fate,
        });
        assert_delivered(&pair, 40 * MSS);
        assert_eq!(pair.nodes[SENDER].stats().timeouts, timeouts, "{rules:?}");
    }
}

#[test]
fn it_needs_sack_and_proportional_reduction() {
    let field = |config: TcpConfig| config.validate().err().map(|error| error.field);
    assert_eq!(field(TcpConfig { sack: false, ..config(Algorithm::Reno) }), Some("window_rules"));
    assert_eq!(field(TcpConfig { prr: false, ..config(Algorithm::Reno) }), Some("window_rules"));
    assert_eq!(field(TcpConfig { hystart: true, ..config(Algorithm::Reno) }), Some("window_rules"));
    assert_eq!(field(config(Algorithm::Cubic)), Some("window_rules"));
}
